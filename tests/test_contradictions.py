"""Contradictions beside chance: implied cycle rates, certified cycles, surprising pairs; the doors."""

import json

import numpy as np
import pandas as pd
import pytest
from conflicts_support import RING, drawn, found, rings, wins
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

import juryrank as jr
from juryrank import tables
from juryrank.cli import run
from juryrank.conflicts import contradictions
from juryrank.conflicts.ballots import ballots
from juryrank.conflicts.implied import implied
from juryrank.conflicts.simultaneous import holm, two_sided
from juryrank.conflicts.triples import triples
from juryrank.errors import SettingsError

# What the model implies


def test_p_values_are_even_where_the_model_is_true():
    """Of 40 draws from the model itself few have p at most 0.05, and about half at most 0.5."""
    ps = [found(drawn(seed), draws=60).p_value for seed in range(40)]
    assert np.mean(np.array(ps) <= 0.05) <= 0.15
    assert 0.25 <= np.mean(np.array(ps) <= 0.5) <= 0.75


def test_one_vote_on_every_pair_says_nothing():
    """With one vote on every pair cycles follow from the scores, so that the implied rate is near the one seen."""
    results = [found(drawn(seed, items=10, judges=1), draws=60) for seed in range(15)]
    gaps = [result.cycle_rate - result.implied_rate for result in results]
    assert abs(np.mean(gaps)) < 0.015
    assert min(result.p_value for result in results) > 0.05


def test_sure_wins_among_disagreements_are_drawn_as_sure_as_they_are():
    """Disagreements make fitted gaps small; redraws of the accepted wins go round no more often for it."""
    gaps = []
    for seed in range(15):
        source = jr.reconcile(jr.simulate(items=12, judges=3, seed=seed).judgments)
        result = contradictions(jr.fit_bt(source, extra_starts=0), source, draws=40)
        gaps.append(result.cycle_rate - result.implied_rate)
    assert abs(np.mean(gaps)) < 0.02


def test_planted_rings_are_more_than_chance():
    """Eight contexts that all go round have the smallest p there is; the model implies one triad in four."""
    result = found(rings(8), fit={"contexts": "separate"}, draws=200)
    assert result.cycle_rate == 1.0
    assert result.implied_rate == pytest.approx(0.25, abs=0.05)
    assert result.p_value == pytest.approx(1 / 201)
    assert "more than the model explains" in result.summary[0]


def test_one_triad_goes_round_by_coin_flips():
    """A single planted ring is no evidence as a rate, for one triad goes round one time in four anyway."""
    result = found(wins(*RING), draws=400)
    assert result.cycle_rate == 1.0
    assert result.implied_rate == pytest.approx(0.25, abs=0.08)
    assert result.p_value > 0.15


def test_the_rate_seen_is_that_of_the_diagnostics():
    """With contexts pooled the observed rate is `cycle_rate`; with separate ones triads lie within contexts."""
    made = jr.simulate(items=6, judges=2, contexts=3, tie_rate=0.2, seed=4)
    source = jr.reconcile(made.judgments)
    assert contradictions(jr.fit_bt(source), source, draws=5).cycle_rate == jr.cycle_rate(source)
    apart = contradictions(jr.fit_bt(source, contexts="separate"), source, draws=5).cycle_rate
    table = source.table
    parts = [
        jr.diagnostics.triads(tables.Comparisons(table[(table["context"] == name).to_numpy()]))
        for name in table["context"].cat.categories
    ]
    assert apart == sum(part.strict for part in parts) / sum(part.decided for part in parts)


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_every_tie_rule_can_be_drawn(ties):
    """Each tie rule has an implied rate within its own band, between 0 and 1."""
    source = jr.reconcile(jr.simulate(items=8, judges=2, tie_rate=0.3, seed=2).judgments)
    result = contradictions(jr.fit_bt(source, ties=ties), source, draws=40)
    assert 0 <= result.implied_low <= result.implied_rate <= result.implied_high <= 1
    assert 0 < result.p_value <= 1


def test_fits_of_showings_expect_the_mean_of_both_orders():
    """A pair answered in both orders by a judge that favours a slot is expected as the mean of the two showings."""
    made = jr.simulate(items=6, judges=2, slot_sd=2.0, seed=3)
    source = jr.reconcile(made.judgments)
    fit = jr.fit_bt(made.judgments, slot_bias=True)
    top = contradictions(fit, source, draws=5, most=100).surprises.iloc[0]
    gap = fit.strengths[top["item_a"]] - fit.strengths[top["item_b"]]
    z = [gap / fit.sigmas[j] + sign * fit.slot_biases[j] for j in fit.sigmas.index for sign in (1, -1)]
    assert top["expected"] == pytest.approx(sum(1 / (1 + np.exp(-value)) for value in z) / 2)


def test_nothing_to_assess_is_none():
    """Without a triad there is no rate, nothing implied and no p-value; with draws=0 only the rate is left."""
    result = found(wins(("A", "B", 3), ("B", "C", 2)))
    assert (result.cycle_rate, result.implied_rate, result.implied_low, result.implied_high, result.p_value) == (None,) * 5
    undrawn = found(wins(*RING), draws=0)
    assert (undrawn.cycle_rate, undrawn.implied_rate, undrawn.p_value) == (1.0, None, None)


def test_infinite_gaps_are_certain():
    """Without a prior, wins that only go one way are drawn as they are: an order without a loss implies no cycle."""
    source = wins(("A", "B", 3), ("B", "C", 3), ("A", "C", 3))
    result = found(source, fit={"prior": None})
    assert (result.cycle_rate, result.implied_rate, result.implied_high, result.p_value) == (0.0, 0.0, 0.0, 1.0)
    assert result.surprises["residual"].abs().max() == 0
    assert result.violations_of_ranking == 0


def test_a_judge_of_weight_zero_stays_as_it_is():
    """Opinions of a judge that the fit left out are not drawn again and no surprise is read off them."""
    rows = [{"item_a": a, "item_b": b, "p_a": 1, "judge": j} for j in "xyz" for a, b in ("AB", "BC", "CA")]
    source = tables.comparisons(pd.DataFrame(rows))
    fit = jr.fit_bt(source, judge_sigma=False, weights=pd.Series({"x": 1.0, "y": 1.0, "z": 0.0}))
    result = contradictions(fit, source, draws=20)
    assert result.surprises["n"].sum() == 6
    assert result.wins == 9
    assert result.p_value is not None
    assert contradictions(fit, source.frame[source.frame["judge"] == "z"], draws=20).p_value is None


def test_weights_are_numbers_of_votes():
    """A row of weight k and k equal rows give the same findings, redraws included."""
    many = tables.comparisons(
        pd.DataFrame(
            [{"item_a": a, "item_b": b, "p_a": 1} for a, b, w in (*RING, ("A", "D", 7), ("D", "B", 4)) for _ in range(w)]
        )
    )
    few = wins(*RING, ("A", "D", 7), ("D", "B", 4))
    one, other = found(many).to_dict(), found(few).to_dict()
    assert one.keys() == other.keys()
    assert json.loads(json.dumps(one), parse_float=lambda x: round(float(x), 6)) == json.loads(
        json.dumps(other), parse_float=lambda x: round(float(x), 6)
    )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(seed):
    """Shuffled rows give the same document."""
    source = drawn(seed, items=5)
    shuffled = tables.comparisons(source.frame.sample(frac=1, random_state=seed))
    one, other = (found(table, draws=10).to_dict() for table in (source, shuffled))
    assert one["p_value"] == other["p_value"]
    assert one["surprises"][0]["residual"] == pytest.approx(other["surprises"][0]["residual"], abs=1e-6)
    assert one["violations_least"] == other["violations_least"]


def test_names_do_not_matter():
    """Renamed items have the same rate, residuals, certified majorities and violations, and nearly the same implied rate."""
    source = drawn(5, items=8, judges=3)
    frame = source.frame
    names = dict(zip(map(str, range(8)), "hbgcafde", strict=True))
    renamed = tables.comparisons(frame.assign(item_a=frame["item_a"].map(names), item_b=frame["item_b"].map(names)))
    one, other = (found(table, draws=200) for table in (source, renamed))
    assert one.cycle_rate == other.cycle_rate
    assert one.certified_edges == other.certified_edges
    assert np.allclose(one.surprises["residual"].abs(), other.surprises["residual"].abs(), atol=1e-6)
    for name in ("violations_least", "violations_bound", "violations_of_ranking", "minority_wins"):
        assert getattr(one, name) == getattr(other, name)
    assert one.implied_rate == pytest.approx(other.implied_rate, abs=0.02)


def test_the_seed_decides_the_redraws():
    """Equal seeds give equal documents, other seeds other redraws."""
    source = drawn(1)
    assert found(source, seed=3).to_dict() == found(source, seed=3).to_dict()
    assert found(source, seed=3).implied_rate != found(source, seed=4).implied_rate


def test_a_sample_of_the_triples_will_do(monkeypatch):
    """Where there are too many triples, a sample of them implies nearly the same rate."""
    source = drawn(2, items=30)
    fit = jr.fit_bt(source)
    whole = implied(fit, ballots(fit, source), 50, 0)
    monkeypatch.setattr("juryrank.conflicts.triples.LOOKED_AT", 3000)
    monkeypatch.setattr("juryrank.conflicts.implied.TRIPLES", 2000)
    part = implied(fit, ballots(fit, source), 50, 0)
    assert part.rate == pytest.approx(whole.rate, abs=0.02)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 9), st.floats(0.2, 1.0))
def test_triples_are_counted_as_the_diagnostics_count(seed, n, density):
    """Cycles and decided triples of random signs are those of `triads`."""
    rng = np.random.default_rng(seed)
    a, b = np.triu_indices(n, 1)
    kept = rng.random(len(a)) < density
    a, b = a[kept], b[kept]
    signs = rng.integers(-1, 2, len(a))
    rows = [{"item_a": f"{x}", "item_b": f"{y}", "p_a": (1 + s) / 2} for x, y, s in zip(a, b, signs, strict=True)]
    if not rows:
        return
    slow = jr.diagnostics.triads(rows)
    fast = triples(a, b, rng).count(signs[:, None])
    assert (fast[0][0], fast[1][0]) == (slow.strict, slow.decided)
    assert len(triples(a, b, rng).going_round(signs)) == slow.strict


# Certified cycles


def test_a_strong_ring_is_certified():
    """Thirty wins to five three times over are a cycle with simultaneous confidence."""
    result = found(wins(*RING))
    assert result.certified_cycle == ["A", "B", "C", "A"]
    assert (result.certified_edges, result.pairs) == (3, 3)


def test_three_votes_certify_nothing():
    """C-16 a: A > B > C > A once each is one cycle of one triad, and none that is certain."""
    result = found(wins(("A", "B", 1), ("B", "C", 1), ("C", "A", 1)))
    assert (result.cycle_rate, result.certified_cycle, result.certified_edges) == (1.0, [], 0)


def test_a_longer_ring_is_certified():
    """Four majorities in a ring without a triad are found as well."""
    result = found(wins(("A", "B", 20), ("B", "C", 20), ("C", "D", 20), ("D", "A", 20)))
    assert result.certified_cycle == ["A", "B", "C", "D", "A"]


def test_the_surest_ring_is_shown():
    """Of several certified rings the one whose weakest majority is the surest is shown."""
    weak = [(a.lower(), b.lower(), w - 7 if w == 30 else w) for a, b, w in RING]
    assert found(wins(*weak, *RING, ("A", "a", 1))).certified_cycle == ["A", "B", "C", "A"]


def test_a_certified_ring_has_its_context():
    """With separate contexts the cycle names items, and its context stands beside."""
    result = found(rings(2), fit={"contexts": "separate"})
    assert result.certified_cycle == ["A", "B", "C", "A"]
    assert result.certified_context == "0"
    assert "in 0:" in result.summary[1]


def test_importance_weights_are_no_votes():
    """A row of a weight that is no whole number is one opinion, however heavy."""
    heavy = wins(("A", "B", 30.5), ("B", "C", 30.5), ("C", "A", 30.5))
    assert found(heavy).certified_edges == 0


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40))
def test_even_chances_are_tested_exactly(won, lost):
    """The sign test is the exact two-sided binomial test."""
    assert two_sided(np.array([won]), np.array([won + lost]), 0.5)[0] == pytest.approx(
        binomtest(won, won + lost, 0.5).pvalue if won + lost else 1.0
    )


def test_holm_steps_down():
    """The adjusted p-values of 0.01, 0.04, 0.03 are 0.03, 0.06, 0.06."""
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    assert len(holm(np.array([]))) == 0


# Surprising pairs


def test_residuals_by_hand():
    """Nine wins to three where equal strengths expect six: residual 3 / sqrt(3), and the exact p of a fair coin."""
    source = wins(("A", "B", 9), ("B", "A", 3), ("B", "C", 9), ("C", "B", 3), ("C", "A", 9), ("A", "C", 3))
    frame = found(source).surprises
    assert frame[["item_a", "item_b"]].to_numpy().tolist() == [["A", "B"], ["A", "C"], ["B", "C"]]
    assert frame["wins_a"].tolist() == [9, 3, 9]
    assert frame["n"].tolist() == [12] * 3
    assert frame["expected"].to_numpy() == pytest.approx(6, abs=1e-6)
    assert frame["residual"].to_numpy() == pytest.approx(np.array([1, -1, 1]) * 3 / np.sqrt(3), abs=1e-6)
    assert frame["p"].to_numpy() == pytest.approx(binomtest(3, 12).pvalue, abs=1e-6)
    assert frame["p_holm"].to_numpy() == pytest.approx(3 * binomtest(3, 12).pvalue, abs=1e-6)


def test_ties_and_disagreements_are_half_a_win():
    """One win, one tie and one disagreement are two of three; dropped disagreements are not counted."""
    rows = [
        {"item_a": "A", "item_b": "B", "p_a": p, "status": s} for p, s in ((1, "win"), (0.5, "tie"), (0.5, "disagreement"))
    ]
    source = tables.comparisons(pd.DataFrame(rows))
    assert found(source).surprises[["wins_a", "n"]].to_numpy().tolist() == [[2, 3]]
    assert found(source, fit={"disagreements": "drop"}).surprises[["wins_a", "n"]].to_numpy().tolist() == [[1.5, 2]]


def test_only_the_largest_residuals_are_kept():
    """`most` pairs are kept, largest first, and adjusted for all of them."""
    source = drawn(3, votes=4)
    every, few = found(source, most=1000).surprises, found(source, most=4).surprises
    assert len(every) == 36
    assert (every["residual"].abs().diff().dropna() <= 0).all()
    assert few.equals(every.head(4))


def test_one_upset_is_no_certainty():
    """A single upset against long odds has the p of those odds, not of its huge residual."""
    source = wins(("A", "B", 60), ("B", "A", 1), ("B", "C", 60), ("C", "B", 1), ("C", "A", 1))
    top = found(source).surprises.iloc[0]
    assert (top["item_a"], top["item_b"]) == ("A", "C")
    assert abs(top["residual"]) > 10
    assert top["p"] == pytest.approx(2 * (1 - top["expected"]), rel=1e-6)


# Doors


def test_documents_are_json():
    """`to_dict` survives JSON without NaN, and `str` says every sentence."""
    for source in (wins(("A", "B", 1)), wins(*RING), drawn(1)):
        result = found(source, draws=5)
        assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()
        assert str(result).splitlines() == result.summary


def test_the_door_takes_any_source():
    """`jr.contradictions` ranks rows and earlier results, and passes settings on."""
    rows = [{"item_a": a, "item_b": b, "p_a": 1.0, "weight": w} for a, b, w in RING]
    one = jr.contradictions(rows, draws=20, seed=1, level=0.9)
    again = jr.contradictions(jr.rank(rows), draws=20, seed=1, level=0.9)
    assert isinstance(one, jr.Contradictions)
    assert one.to_dict() == again.to_dict()
    assert (one.level, one.seed, one.draws) == (0.9, 1, 20)
    judged = jr.simulate(items=6, judges=2, seed=1).judgments
    assert jr.contradictions(judged, on="showings", policy="lenient", draws=5).p_value is not None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"draws": -1}, "draws is -1"),
        ({"draws": 2.5}, "draws is 2.5"),
        ({"seed": -3}, "seed is -3"),
        ({"most": True}, "most is True"),
        ({"level": 1.0}, "level is 1.0"),
    ],
)
def test_bad_settings_are_named(options, says):
    """A setting out of range is an error that names it and its value."""
    with pytest.raises(SettingsError, match=says):
        found(wins(*RING), **{"draws": 5} | options)


def test_foreign_comparisons_are_refused():
    """Comparisons of an item that the fit does not know are an error with its name; judgments must be reconciled first."""
    fit = jr.fit_bt(wins(*RING), judge_sigma=False)
    with pytest.raises(SettingsError, match="'Z' was compared and is not in the fit"):
        contradictions(fit, wins(("A", "Z", 1)))
    with pytest.raises(SettingsError, match="reconcile"):
        contradictions(fit, jr.simulate(items=3, judges=1).judgments)


def test_audit_says_whether_it_is_chance(tmp_path, capfd):
    """`juryrank audit` has a section on chance, its JSON an object; `--draws 0` has neither."""
    path = tmp_path / "ring.csv"
    path.write_text("item_a,item_b,win_a,win_b\nA,B,30,5\nB,C,30,5\nC,A,30,5\n")
    assert run(["audit", str(path), "--draws", "20"]) == 0
    out = capfd.readouterr().out
    assert "Is that more than chance?" in out
    assert "A beats B beats C beats A; 3 of 3 majorities are certain" in out
    assert run(["audit", str(path), "--json", "--draws", "20"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["contradictions"] == jr.contradictions(path, draws=20).to_dict()
    assert run(["audit", str(path), "--json", "--draws", "0"]) == 0
    assert json.loads(capfd.readouterr().out)["contradictions"] is None
    assert run(["audit", str(path), "--draws", "0"]) == 0
    assert "more than chance" not in capfd.readouterr().out
