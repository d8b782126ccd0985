"""Models on held-out opinions: slow recomputation, planted truth, groups that stay whole, refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import juryrank as jr
from juryrank.cli import run
from juryrank.formats.write import write
from juryrank.prior import MAXIMUM_LIKELIHOOD
from juryrank.ratio_tests import free_parameters, heterogeneity
from juryrank.ratio_tests import slot_bias as slot_test

NAMES = ["bt", "bt-sigma", "bt-sigma+slot", "bt+davidson", "bt-sigma+slot+rao-kupper"]


@pytest.fixture(scope="module")
def made():
    """Ties, failures, slots that pull, judges unlike each other."""
    return jr.simulate(items=6, judges=3, contexts=12, slot_sd=1.0, tie_rate=0.3, failure_rate=0.05, seed=11).judgments


@pytest.fixture(scope="module")
def compared(made):
    """Five models on the showings."""
    return jr.compare_models(made, NAMES, on="showings")


def share(fit, a, b, judge, slot):
    """P(a wins) + P(tie) / 2 from the published numbers of a fit."""
    z = (fit.strengths[a] - fit.strengths[b]) / fit.sigmas[judge] + slot * fit.slot_biases[judge]
    win, lose, tie = math.exp(z / 2), math.exp(-z / 2), 0.0
    if fit.ties == "davidson":
        tie = fit.tie_parameter
    elif fit.ties == "rao-kupper":
        one, other = 1 / (1 + fit.tie_parameter * math.exp(-z)), 1 / (1 + fit.tie_parameter * math.exp(z))
        win, lose, tie = one, other, 1 - one - other
    return (win + tie / 2) / (win + lose + tie)


OPTIONS = {
    "bt": {"judge_sigma": False},
    "bt-sigma": {},
    "bt-sigma+slot": {"slot_bias": True},
    "bt+davidson": {"judge_sigma": False, "ties": "davidson"},
    "bt-sigma+slot+rao-kupper": {"slot_bias": True, "ties": "rao-kupper"},
}


def by_hand(result, name):
    """(rows,) losses and shares: fit the rows outside each fold as a plain frame, then walk over the rows inside."""
    rows = result.predictions
    losses, shares = np.zeros(len(rows)), np.zeros(len(rows))
    for fold in range(result.folds):
        outside = rows[rows["fold"] != fold].rename(columns={"p": "p_a"})
        fit = jr.fit_bt(outside[["context", "judge", "item_a", "item_b", "p_a", "weight", "slot"]], **OPTIONS[name])
        for i, row in rows[rows["fold"] == fold].iterrows():
            q = share(fit, row["item_a"], row["item_b"], row["judge"], row["slot"])
            losses[i], shares[i] = -(row["p"] * math.log(q) + (1 - row["p"]) * math.log(1 - q)), q
    return losses, shares


def test_the_figures_are_those_of_slow_loops(compared):
    """Loss, paired difference, its clustered error and accuracy are what loops over folds, rows and contexts give."""
    rows = compared.predictions
    first, _ = by_hand(compared, "bt")
    for name, row in compared.frame.set_index("model").iterrows():
        losses, shares = by_hand(compared, name)
        np.testing.assert_allclose(rows[f"q_{name}"], shares, rtol=1e-7)
        assert row["loss"] == pytest.approx(losses.mean(), abs=1e-8)
        gap = losses - first
        assert row["difference"] == pytest.approx(gap.mean(), abs=1e-8)
        sums = [(gap - gap.mean())[(rows["context"] == context).to_numpy()].sum() for context in set(rows["context"])]
        error = math.sqrt(12 / 11 * sum(s**2 for s in sums)) / len(rows)
        assert row["difference_stderr"] == pytest.approx(error, abs=1e-8)
        decided = (rows["p"] != 0.5).to_numpy()
        assert row["accuracy"] == pytest.approx(((shares > 0.5) == (rows["p"] > 0.5))[decided].mean())
    assert compared.frame["model"].tolist() == NAMES


def test_the_rows_are_those_that_enter_a_fit(made, compared):
    """Failures are not scored; every other showing is, in the order of the source, with a tie at one half."""
    shown = made.frame[made.frame["outcome"] != "failure"]
    assert compared.predictions["judge"].tolist() == shown["judge"].tolist()
    assert ((compared.predictions["p"] == 0.5).to_numpy() == (shown["outcome"] == "tie").to_numpy()).all()
    assert compared.opinions == len(shown)


def test_disagreements_are_scored_at_one_half(made):
    """A model that drops flips is scored on them like any other."""
    result = jr.compare_models(made, ["bt-sigma", {"name": "no flips", "disagreements": "drop"}])
    opinions = jr.reconcile(made).frame
    flips = int((opinions["status"] == "disagreement").sum())
    assert flips and result.opinions == opinions["p_a"].notna().sum()
    assert (result.predictions["p"] == 0.5).sum() == flips + (opinions["status"] == "tie").sum()
    assert result.fits["no flips"].disagreements == "drop"


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"by": "context"}, ["context"]),
        ({"by": "pair"}, ["item_a", "item_b"]),
        ({"contexts": "separate"}, ["context", "item_a", "item_b"]),
    ],
    ids=["context", "pair", "separate"],
)
@pytest.mark.parametrize("on", ["comparisons", "showings"])
def test_groups_are_never_split(made, on, options, keys):
    """All rows of a context, or of a pair in both orders and by all judges, lie in one fold; folds differ by one group."""
    result = jr.compare_models(made, ["bt"], on=on, **options)
    rows = result.predictions
    assert rows.groupby(keys)["fold"].nunique().max() == 1
    assert result.groups == rows.groupby(keys).ngroups == rows["group"].nunique()
    sizes = rows.groupby("fold")["group"].nunique()
    assert len(sizes) == 5 and sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(
    ("contexts", "number", "folds", "by"),
    [("pooled", 10, 5, "context"), ("pooled", 9, 5, "pair"), ("separate", 10, 5, "pair"), ("pooled", 4, 2, "context")],
)
def test_auto_holds_out_contexts_where_there_are_enough(contexts, number, folds, by):
    """The context is held out where contexts are pooled and number twice the folds, else the pair."""
    made = jr.simulate(items=5, judges=1, contexts=number, seed=2).judgments
    assert jr.compare_models(made, ["bt"], contexts=contexts, folds=folds).by == by


@pytest.mark.parametrize("by", ["context", "pair"])
def test_the_order_of_rows_plays_no_part(made, by):
    """Shuffled rows give the same figures and the same folds."""
    shuffled = made.frame.sample(frac=1, random_state=3)
    one, other = (jr.compare_models(source, NAMES[:3], on="showings", by=by) for source in (made.frame, shuffled))
    pd.testing.assert_frame_equal(one.frame, other.frame, rtol=1e-7, atol=1e-9)
    folds = [r.predictions.groupby(["context", "item_a", "item_b"])["fold"].first() for r in (one, other)]
    pd.testing.assert_series_equal(*folds)
    assert (one.best, one.simplest) == (other.best, other.simplest)
    assert one.heterogeneity.p == pytest.approx(other.heterogeneity.p, rel=1e-5)


def test_the_seed_deals_the_groups(made):
    """Another seed gives other folds."""
    folds = [jr.compare_models(made, ["bt"], seed=seed).predictions["fold"] for seed in (0, 1)]
    assert (folds[0] != folds[1]).any()


def test_weight_is_so_many_equal_rows():
    """A row of weight three gives the figures of three equal rows."""
    frame = jr.reconcile(jr.simulate(items=6, judges=3, contexts=10, seed=4).judgments).frame
    frame = frame[["context", "judge", "item_a", "item_b", "p_a"]].dropna()
    frame["weight"] = np.where(np.arange(len(frame)) % 4 == 0, 3.0, 1.0)
    repeated = frame.loc[frame.index.repeat(frame["weight"].astype(int))].assign(weight=1.0)
    one, other = (jr.compare_models(rows, NAMES[:2]) for rows in (frame, repeated))
    pd.testing.assert_frame_equal(one.frame, other.frame, rtol=1e-7, atol=1e-9)
    assert one.opinions == other.opinions == len(repeated)
    assert one.heterogeneity.statistic == pytest.approx(other.heterogeneity.statistic, abs=1e-6)


def test_a_planted_slot_bias_is_found():
    """Where judges lean to a slot, a model with slots wins on held-out showings and the test rejects."""
    made = jr.simulate(items=8, judges=4, contexts=12, slot_sd=1.0, seed=1).judgments
    result = jr.compare_models(made, on="showings")
    assert result.best == result.simplest == "bt-sigma+slot"
    row = result.frame.set_index("model").loc["bt-sigma+slot"]
    assert row["difference"] < -4 * row["difference_stderr"]
    assert result.slot_bias.df == 4 and result.slot_bias.p < 1e-10
    assert "bt-sigma+slot foretells held-out opinions best" in str(result)


def test_no_slot_bias_no_finding():
    """Without slot bias the test's p has the spread of a uniform number, and slots gain nothing that counts."""
    values = []
    for seed in range(20):
        made = jr.simulate(items=6, judges=3, contexts=6, slot_sd=0, log_sigma_sd=0, seed=seed).judgments
        values.append(slot_test(made, "pooled", jr.Prior()).p)
    assert min(values) > 1e-3 and 0.25 < np.mean(values) < 0.75


def p_of_heterogeneity(sd, seed):
    """The test on judges whose log sigma has this spread."""
    made = jr.simulate(items=6, judges=4, contexts=8, slot_sd=0, log_sigma_sd=sd, seed=seed).judgments
    return heterogeneity(made, "pooled", jr.Prior()).p


def test_equal_judges_are_not_told_apart():
    """Over twenty seeds with equal sigmas, p has the spread of a uniform number."""
    values = [p_of_heterogeneity(0.0, seed) for seed in range(20)]
    assert min(values) > 1e-3 and 0.25 < np.mean(values) < 0.75


def test_unequal_judges_are_told_apart():
    """Judges whose sigmas differ threefold and more are told apart on nearly every seed."""
    values = [p_of_heterogeneity(0.8, seed) for seed in range(10)]
    assert np.median(values) < 1e-6 and sum(p < 0.01 for p in values) >= 9


def test_the_statistic_is_that_of_another_optimiser():
    """Twice the gain in log-likelihood is what a quasi-Newton method on the written-out likelihoods finds."""
    made = jr.simulate(items=4, judges=3, contexts=15, log_sigma_sd=0.6, seed=3).judgments
    rows = jr.compare_models(made, ["bt"], on="showings").predictions
    a, b = (rows[end].str[-1].astype(int).to_numpy() - 1 for end in ("item_a", "item_b"))
    judge, p = rows["judge"].str[-1].astype(int).to_numpy() - 1, rows["p"].to_numpy()

    def loss(values, sigmas):
        t = np.append(0.0, values[3:]) if sigmas else np.zeros(3)
        s = np.append(0.0, values[:3])
        z = (s[a] - s[b]) * np.exp(-t[judge])
        return (p * np.logaddexp(0, -z) + (1 - p) * np.logaddexp(0, z)).sum()

    plain, sigma = (minimize(loss, np.zeros(n), args=(n > 3,), tol=1e-9).fun for n in (3, 5))
    found = jr.compare_models(made, ["bt"], on="showings").heterogeneity
    assert found.df == 2 and found.statistic == pytest.approx(2 * (plain - sigma), abs=1e-5)


def test_a_lone_judge_has_no_heterogeneity():
    """One judge, or judges on items that nothing connects, cannot be told apart; one judge may still lean to a slot."""
    lone = jr.compare_models(jr.simulate(items=5, judges=1, contexts=10, seed=1).judgments, ["bt"], on="showings")
    assert lone.heterogeneity is None and lone.slot_bias.df == 1
    apart = [{"judge": "x", "item_a": "a", "item_b": "b", "p_a": p} for p in (1, 0, 1)]
    apart += [{"judge": "y", "item_a": "c", "item_b": "d", "p_a": p} for p in (1, 0, 0)]
    assert jr.compare_models(apart, ["bt"], folds=2).heterogeneity is None


def test_unbounded_items_have_no_test():
    """Where an item never lost, p is None, a sentence says why, and the statistic comes from the prior."""
    rows = [{"judge": judge, "item_a": "a", "item_b": b, "p_a": 1} for judge in "xy" for b in "bc"]
    rows += [{"judge": judge, "item_a": "b", "item_b": "c", "p_a": p} for judge in "xy" for p in (0, 1)]
    found = jr.compare_models(rows, ["bt"], folds=2).heterogeneity
    assert found.p is None and "never lost" in found.reason and math.isfinite(found.statistic)


def test_slots_that_say_what_strengths_say_have_no_test():
    """Where each pair is always shown one way round, slot and strength cannot be told apart, and there is no p."""
    outcomes = ["first", "second", "first"]
    rows = [{"first": "a", "second": "b", "outcome": o, "context": str(c)} for c in range(6) for o in outcomes]
    found = jr.compare_models(rows, ["bt+slot"], on="showings", folds=2).slot_bias
    assert found.p is None and "cannot be told apart" in found.reason


def test_probabilities_have_no_test():
    """Where judges gave probabilities the likelihood ratio has no known distribution, so that p is None."""
    made = jr.simulate(items=5, judges=3, contexts=4, seed=1).judgments.frame
    soft = made.assign(p_first=np.where(made["outcome"] == "first", 0.8, 0.3))
    found = heterogeneity(jr.read(soft), "pooled", jr.Prior())
    assert found.p is None and "not verdicts" in found.reason and math.isfinite(found.statistic)


def test_the_gain_of_sigma_is_the_paired_difference(compared, made):
    """The held-out gain of BT-sigma is the loss of bt less its own; without one of the two there is none."""
    frame = compared.frame.set_index("model")
    assert compared.heterogeneity_cv.gain == pytest.approx(-frame.loc["bt-sigma", "difference"])
    assert compared.heterogeneity_cv.stderr == pytest.approx(frame.loc["bt-sigma", "difference_stderr"])
    assert jr.compare_models(made, ["bt-sigma"]).heterogeneity_cv is None


def test_what_was_never_seen_is_one_half_and_counted():
    """A pair whose items meet nothing else is foretold as one half where it is held out, and its weight is counted."""
    rows = [{"item_a": a, "item_b": b, "p_a": p} for a, b in ("ab", "ac", "bc", "ad", "bd", "cd") for p in (1, 0, 1)]
    rows += [{"item_a": "x", "item_b": "y", "p_a": 1, "weight": 2.5}]
    frame = pd.DataFrame(rows).fillna({"weight": 1.0})
    result = jr.compare_models(frame, ["bt", "bt-sigma"], folds=3)
    assert result.frame["unpredicted"].tolist() == [2.5, 2.5]
    held = result.predictions[result.predictions["item_a"] == "x"]
    assert held["q_bt"].tolist() == [0.5]
    assert "2.5 of 20.5 held-out opinions could not be foretold" in result.warnings[-1]


def test_gaps_without_end_are_not_foretold():
    """Without a prior, an item that only won has no finite gap: one half and counted, where a prior foretells it."""
    rows = [{"context": str(c), "item_a": "a", "item_b": b, "p_a": 1} for c in range(4) for b in "bc"]
    rows += [{"context": str(c), "item_a": "b", "item_b": "c", "p_a": c % 2} for c in range(4)]
    models = [{"name": "free", "prior": None, "judge_sigma": False}, "bt"]
    frame = jr.compare_models(rows, models, folds=2, by="context").frame
    assert frame["unpredicted"].tolist()[1] == 0 and frame["unpredicted"][0] >= 8
    assert frame["loss"][1] < frame["loss"][0]


def test_nothing_foretold_is_said():
    """Where every pair is its own context, nothing can be foretold, the loss is log 2, and the summary says so."""
    made = jr.simulate(items=2, judges=3, contexts=12, seed=1).judgments
    result = jr.compare_models(made, contexts="separate")
    np.testing.assert_allclose(result.frame["loss"], math.log(2))
    assert str(result).startswith("No held-out opinion could be foretold")
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["models"][0]["calibration_slope"] is None


def test_a_judge_that_was_not_seen_is_of_average_sharpness():
    """A judge that spoke in the held-out context alone is foretold with sigma 1 and without a slot bias."""
    made = jr.simulate(items=5, judges=3, contexts=10, seed=6).judgments.frame
    there = made["context"] == "context-003"
    made = made[~there | (made["judge"] == "judge-001")].copy()
    made.loc[there, "judge"] = "newcomer"
    result = jr.compare_models(made, ["bt-sigma+slot"], on="showings", folds=5)
    rows = result.predictions
    new = rows[rows["judge"] == "newcomer"]
    train = made[~made["context"].isin(rows[rows["fold"] == new["fold"].iloc[0]]["context"])]
    fit = jr.fit_bt(jr.read(train), slot_bias=True)
    expected = [fit.probability(a, b) for a, b in zip(new["item_a"], new["item_b"], strict=True)]
    np.testing.assert_allclose(new["q_bt-sigma+slot"], expected, rtol=1e-7)


def test_separate_contexts_have_strengths_of_their_own():
    """With separate contexts a held-out pair is foretold from the other pairs of its context."""
    made = jr.simulate(items=5, judges=3, contexts=6, context_sd=1.5, seed=2).judgments
    result = jr.compare_models(made, ["bt-sigma"], contexts="separate", on="showings")
    rows = result.predictions
    fit = jr.fit_bt(
        rows[rows["fold"] != 0].rename(columns={"p": "p_a"}).drop(columns=["group", "fold"]), contexts="separate"
    )
    held = rows[rows["fold"] == 0].head(20)
    for _, row in held.iterrows():
        a, b = ((row["context"], row[end]) for end in ("item_a", "item_b"))
        assert row["q_bt-sigma"] == pytest.approx(fit.probability(a, b, row["judge"]), rel=1e-7)
    assert not result.frame["unpredicted"].any()


def test_parameters_are_those_the_data_tell_apart(made, compared):
    """Gaps, sigmas up to a scale, slots and the tie parameter are counted; each component loses one gap and one scale."""
    assert compared.frame["parameters"].tolist() == [5, 7, 10, 6, 11]
    rows = [{"judge": judge, "item_a": "a", "item_b": "b", "p_a": p} for judge in "xy" for p in (1, 0)]
    rows += [{"judge": "z", "item_a": "c", "item_b": "d", "p_a": p} for p in (1, 0)]
    assert free_parameters(jr.fit_bt(rows)) == 2 + (3 - 2)


@pytest.mark.parametrize("names", [["bt", "bt-sigma+slot"], ["bt-sigma", "bt"], ["bt+davidson", "bt"]])
def test_best_and_simplest(made, names):
    """The best has the least loss; the simplest is the first, in the order given, within one standard error of it."""
    result = jr.compare_models(made, names, on="showings")
    best, context = result.best, result.predictions["context"].to_numpy()
    assert best == names[result.frame["loss"].argmin()] == names[1]
    behind = by_hand(result, names[0])[0] - by_hand(result, best)[0]
    sums = pd.Series(behind - behind.mean()).groupby(context).sum()
    within = behind.mean() <= math.sqrt(12 / 11 * (sums**2).sum()) / len(behind)
    assert result.simplest == names[0 if within else 1]
    assert ("within one standard error" in result.summary) == within == (names[0] == "bt+davidson")


def test_equal_models_are_the_first_one(made):
    """Where no row has a slot, a slot bias changes nothing: a warning says so, and the first of the two is the best."""
    equal = jr.compare_models(made, ["bt-sigma+slot", "bt-sigma"])
    assert equal.best == equal.simplest == "bt-sigma+slot"
    assert "no row has a slot" in equal.warnings[-1]


REFUSED = {
    "unknown word": ({"models": ["elo"]}, r"no model 'elo'; expected bt or bt-sigma.*\+slot, \+davidson, \+rao-kupper"),
    "unknown addition": ({"models": ["bt+home"]}, "no model 'bt\\+home'"),
    "added twice": ({"models": ["bt+slot+slot"]}, "no model"),
    "two tie rules": ({"models": ["bt+davidson+rao-kupper"]}, "two rules for ties"),
    "not a list": ({"models": "bt"}, "expected a list"),
    "nothing": ({"models": []}, "at least one"),
    "a number": ({"models": [3]}, "no model 3"),
    "twice": ({"models": ["bt", "bt"]}, "given twice"),
    "no name": ({"models": [{"hard": True}]}, "has no name"),
    "a name that is taken": ({"models": [{"name": "bt", "hard": True}]}, "kept for the model"),
    "unknown option": ({"models": [{"name": "x", "contexts": "pooled"}]}, "no option 'contexts'; expected judge_sigma"),
    "bad option": ({"models": [{"name": "x", "ties": "drop"}]}, "model 'x': no ties='drop'"),
    "bad prior": ({"prior": 3}, "expected a Prior"),
    "one fold": ({"folds": 1}, "at least 2"),
    "half a fold": ({"folds": 2.5}, "whole number"),
    "many folds": ({"folds": 11, "by": "pair"}, "10 pairs cannot make 11 folds"),
    "unknown by": ({"by": "judge"}, "no by 'judge'; expected one of auto, context, pair"),
    "unknown on": ({"on": "votes"}, "no on 'votes'"),
    "unknown contexts": ({"contexts": "both"}, "no contexts 'both'"),
    "separate contexts held out": ({"contexts": "separate", "by": "context"}, "use by='pair'"),
    "negative seed": ({"seed": -1}, "seed is -1"),
}


@pytest.mark.parametrize(("options", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_what_has_no_meaning_is_refused(options, says):
    """An option without a meaning is a SettingsError that says what was expected."""
    made = jr.simulate(items=5, judges=2, contexts=6, seed=1).judgments
    with pytest.raises(jr.SettingsError, match=says):
        jr.compare_models(made, **options)


def test_sources_without_verdicts_or_showings_are_refused():
    """Failures alone are no verdict, and wins have no showings behind them."""
    with pytest.raises(jr.NoVerdictError):
        jr.compare_models([{"first": "a", "second": "b", "outcome": "failure"}])
    with pytest.raises(jr.SettingsError, match="needs judgments"):
        jr.compare_models([{"item_a": "a", "item_b": "b", "win_a": 2, "win_b": 1}], on="showings")


def test_the_document_is_json(compared):
    """The document has its schema, a row per model, None for the unknown, and the settings that made it."""
    document = json.loads(json.dumps(compared.to_dict(), allow_nan=False))
    assert document["schema"] == "juryrank.models/1"
    assert [row["model"] for row in document["models"]] == NAMES
    assert document["heterogeneity"] == {
        "statistic": compared.heterogeneity.statistic,
        "df": 2,
        "p": compared.heterogeneity.p,
        "reason": "",
    }
    assert (document["on"], document["by"], document["folds"], document["groups"]) == ("showings", "context", 5, 12)
    free = jr.compare_models(compared.predictions.rename(columns={"p": "p_a"}), ["bt"], prior=None)
    assert free.prior == MAXIMUM_LIKELIHOOD and free.to_dict()["prior"]["strength_sd"] is None


@pytest.fixture
def path(made, tmp_path) -> Path:
    """The judgments as a file."""
    write(made, tmp_path / "votes.csv")
    return tmp_path / "votes.csv"


def test_the_command_prints_the_library_result(path, capfd):
    """`juryrank models --json` prints what the library gives; without it a person sees the verdict and the table."""
    arguments = ["models", str(path), "--models", "bt, bt-sigma+slot", "--on", "showings", "--folds", "3"]
    assert run([*arguments, "--json"]) == 0
    expected = jr.compare_models(path, ["bt", "bt-sigma+slot"], on="showings", folds=3)
    assert json.loads(capfd.readouterr().out) == expected.to_dict()
    assert run(arguments) == 0
    out = capfd.readouterr().out
    assert out.splitlines()[0] == expected.summary and "Leaning to a slot: likelihood ratio" in out


@pytest.mark.parametrize("options", [("--models", "elo"), ("--folds", "1"), ("--by", "judge"), ("--on", "x")], ids=" ".join)
def test_the_command_refuses(path, capfd, options):
    """An option without a meaning ends with exit code 2 and nothing on standard output."""
    assert run(["models", str(path), *options]) == 2
    assert capfd.readouterr().out == ""
