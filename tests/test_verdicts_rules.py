"""What the weighted rules promise: who gets weight, who decides, when a rule gives up, and how right the default is."""

from __future__ import annotations

import gzip
import io
import warnings
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from conftest import SHARED
from test_verdicts_report import RULES, Row, ask, report

import juryrank as jr
from juryrank.verdicts.dawid_skene import dawid_skene

X, Y = "sysX", "sysY"


def answers(for_x: bool) -> tuple[str, str]:
    """What a judge that holds to its opinion says in the two orders."""
    return ("first", "second") if for_x else ("second", "first")


def simulated(seed: int, questions: int, accuracies: list[float], balanced: bool = True) -> tuple[list[Row], np.ndarray]:
    """Judges j0, j1, ... of given accuracies that hold to their opinion; and whether sysX is better."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(questions) % 2 == 0) if balanced else rng.random(questions) < 0.6
    rows: list[Row] = []
    for q, better in enumerate(truth):
        for k, accuracy in enumerate(accuracies):
            rows += ask(f"q{q}", f"j{k}", *answers(bool(better) == (rng.random() < accuracy)))
    return rows, truth


def right(document: Row, truth: np.ndarray, column: str, without: set[str] = frozenset()) -> float:
    """Questions decided rightly; a tie or an inconclusive one is half right."""
    score = 0.0
    for row in document["questions"]:
        if row["context"] in without:
            continue
        better = X if truth[int(row["context"][1:])] else Y
        score += {better: 1.0, "tie": 0.5, "inconclusive": 0.5}.get(row[column], 0.0)
    return score


def weights(document: Row) -> dict[str, float | None]:
    return {row["judge"]: row["weight"] for row in document["judges"]}


def said(document: Row, *words: str) -> bool:
    """Whether one warning has all the words."""
    return any(all(word in text for word in words) for text in document["warnings"])


# opposed judges, and two that differ in sharpness


@pytest.mark.parametrize("rule", ["auto", *RULES])
def test_two_judges_exactly_opposed_decide_nothing(rule):
    """Two judges that contradict each other on every question leave all inconclusive at 0.5, and a warning says so."""
    rows = [row for i in range(20) for j in "uv" for row in ask(f"q{i}", j, *answers((i % 2 == 0) == (j == "u")))]
    seen = report(rows, aggregation=rule)
    assert seen["inconclusive_rate"] == seen["weighted"]["inconclusive_rate"] == 1.0
    assert seen["p_a_beats_b"] == pytest.approx(0.5, abs=1e-6)
    assert seen["warnings"]


@pytest.mark.parametrize("rule", ["auto", *RULES])
def test_two_one_sided_judges_exactly_opposed_decide_nothing(rule):
    """An always-sysX and an always-sysY judge leave all inconclusive at 0.5, and a warning says so."""
    rows = [row for i in range(20) for j in "uv" for row in ask(f"q{i}", j, *answers(j == "u"))]
    seen = report(rows, aggregation=rule)
    assert seen["inconclusive_rate"] == seen["weighted"]["inconclusive_rate"] == 1.0
    assert seen["p_a_beats_b"] == pytest.approx(0.5, abs=1e-6)
    assert seen["warnings"]


def records(n: int) -> pd.DataFrame:
    """Judge u says sysX in 60 %, judge v in 70 % of n votes."""
    wins = {"u": 0.6, "v": 0.7}
    rows = [(j, float(i < round(n * share))) for j, share in wins.items() for i in range(n)]
    frame = pd.DataFrame(rows, columns=["judge", "p_a"])
    return frame.assign(context=[f"q{i % n}" for i in range(2 * n)], item_a=X, item_b=Y, weight=1.0)


WIDE = jr.Prior(strength_sd=10, log_sigma_sd=10)


def test_sixty_and_seventy_percent_give_the_geometric_mean_of_the_logits():
    """Judges at 60/40 and 70/30 give P(sysX beats sysY) = .6425 to 1e-3 at 100 votes, and closer with more."""
    logit = np.log([0.6 / 0.4, 0.7 / 0.3])
    exact = 1 / (1 + np.exp(-np.sqrt(logit.prod())))
    assert exact == pytest.approx(0.6425, abs=5e-5)
    off = [abs(jr.fit_bt(records(n), hard=True, prior=WIDE).probability(X, Y) - exact) for n in (100, 1000, 10000)]
    assert off[0] < 1e-3 and off[2] < off[1] < off[0]


def test_shuffled_and_split_records_do_not_move_the_fit():
    """The same votes in another order, halved into twice as many records, or merged, give the same probability."""
    frame = records(100)
    forms = [frame, frame.sample(frac=1, random_state=1), pd.concat([frame, frame]).assign(weight=0.5)]
    forms.append(frame.groupby(["judge", "p_a", "item_a", "item_b"], as_index=False)["weight"].sum())
    fitted = [jr.fit_bt(form, hard=True, prior=WIDE).probability(X, Y) for form in forms]
    assert fitted == pytest.approx([fitted[0]] * 4, abs=1e-7)


def test_the_report_has_the_probability_of_a_judge_of_mean_sigma():
    """The report's own probability is that of the geometric mean of the logits, up to its prior, whatever the order."""
    frame = records(100)
    seen = [report(form.to_dict("records"))["p_a_beats_b"] for form in (frame, frame.sample(frac=1, random_state=2))]
    assert seen[0] == pytest.approx(0.6425, abs=5e-3)
    assert seen[0] == pytest.approx(seen[1], abs=1e-9)


# who gets weight


def test_always_a_does_not_take_over():
    """Two 90 % judges beside one that says sysX 99 times of 100: the default is right at least as often as the plurality."""
    weighted = plain = 0.0
    for seed in range(5):
        rows, truth = simulated(seed, 100, [0.9, 0.9])
        rows += [row for q in range(100) for row in ask(f"q{q}", "always", *answers(q != seed))]
        seen = report(rows)
        weighted, plain = weighted + right(seen, truth, "weighted_winner"), plain + right(seen, truth, "winner")
        assert weights(seen)["always"] < 0.1, weights(seen)
    assert weighted >= plain


def fresh_rows(seed: int, questions: int = 200, repetitions: int = 1) -> tuple[list[Row], np.ndarray]:
    """Two 85 % judges that err on each showing anew, and always-sysX, a coin, and a coin that holds to its opinion."""
    rng = np.random.default_rng(seed)
    truth = np.arange(questions) % 2 == 0
    rows: list[Row] = []
    for q in range(questions):
        held = bool(rng.random() < 0.5)
        for r in range(repetitions):
            for first, second in ((X, Y), (Y, X)):
                base = {"context": f"q{q}", "first": first, "second": second, "repetition": r}
                votes = {f"good{k}": truth[q] == (rng.random() < 0.85) for k in range(2)}
                votes |= {"always": True, "coin": rng.random() < 0.5, "held": held}
                rows += [
                    base | {"judge": j, "outcome": "first" if v == (first == X) else "second"} for j, v in votes.items()
                ]
    return rows, truth


@pytest.mark.parametrize("judge", ["always", "coin", "held"])
def test_chance_agreement_earns_no_weight(judge):
    """Under the default a judge that tosses a coin, or always says sysX, ends near zero beside two 85 % judges."""
    rows = [row for row in fresh_rows(0)[0] if row["judge"] in (judge, "good0", "good1")]
    seen = weights(report(rows))
    assert seen[judge] < 0.15, seen
    assert min(seen["good0"], seen["good1"]) > 0.5, seen


def test_three_useless_judges_of_five_weigh_next_to_nothing():
    """Two 85 % judges beside an always-sysX judge, a coin and a coin that holds to its toss carry nearly all the weight."""
    seen = weights(report(fresh_rows(0)[0]))
    assert max(seen[judge] for judge in ("always", "coin", "held")) < 0.2, seen
    assert min(seen["good0"], seen["good1"]) > 0.5, seen


def test_a_stubborn_judge_does_not_make_more_wrong_winners():
    """Two 85 % judges and an always-sysX with two repetitions: the default has no more wrong winners than the plurality."""
    for seed in range(3):
        rows, truth = fresh_rows(seed, 100, repetitions=2)
        seen = report([row for row in rows if row["judge"] in ("always", "good0", "good1")])
        wrong = {"winner": 0, "weighted_winner": 0}
        for row in seen["questions"]:
            worse = Y if truth[int(row["context"][1:])] else X
            for column in wrong:
                wrong[column] += row[column] == worse
        assert wrong["weighted_winner"] <= wrong["winner"], (seed, wrong, weights(seen))


def test_the_weights_of_consistency_are_the_shrunk_figures():
    """Under `consistency` weights are max(shrunk, .05) over their maximum, and an unmeasured judge has the median, named."""
    rows = [row for row in fresh_rows(1, 30, repetitions=3)[0] if row["judge"] != "held"]
    rows += [row for q in range(30) for row in ask(f"q{q}", "once", *answers(q % 3 == 0))]
    seen = report(rows, aggregation="consistency")
    shrunk = np.maximum(jr.repetition_consistency(pd.DataFrame(rows))["shrunk"], 0.05)
    expected = shrunk.fillna(shrunk.median()) / shrunk.max()
    assert weights(seen) == pytest.approx(expected.to_dict())
    assert said(seen, "once", "median") and not said(seen, "coin")


def test_the_weights_of_bt_sigma_leave_one_sided_judges_out():
    """Under `bt-sigma` weights are 1 / sigma over their maximum, and a one-sided judge is named, at the median."""
    rows = simulated(3, 60, [0.95, 0.8, 0.6], balanced=False)[0]
    rows += [row for q in range(60) for row in ask(f"q{q}", "always", *answers(True))]
    seen = report(rows, aggregation="bt-sigma")
    sigma = {row["judge"]: row["sigma"] for row in seen["judges"]}
    assert sigma.pop("always") is None and said(seen, "always", "median")
    inverse = {judge: 1 / s for judge, s in sigma.items()}
    expected = inverse | {"always": float(np.median(list(inverse.values())))}
    assert weights(seen) == pytest.approx({judge: w / max(expected.values()) for judge, w in expected.items()})
    assert np.prod(list(sigma.values())) == pytest.approx(1)


def assert_one_story(document: Row) -> None:
    """Whoever has clearly more weight has no clearly larger sigma."""
    judges = [row for row in document["judges"] if row["sigma"] is not None]
    for one, other in permutations(judges, 2):
        assert one["weight"] <= other["weight"] + 0.05 or one["sigma"] <= other["sigma"] * 1.05, (one, other)


@pytest.mark.parametrize("rule", RULES)
def test_weight_and_sigma_tell_one_story(rule):
    """Of two judges the one with clearly more weight has no clearly larger sigma."""
    for seed in (0, 1):
        rows = [row for row in fresh_rows(seed, 80)[0] if row["judge"] != "always"]
        assert_one_story(report(rows, aggregation=rule))


def test_weight_and_sigma_tell_one_story_of_an_always_a_judge():
    """An always-sysX judge of weight near zero is not shown as sharper than judges that weigh more."""
    assert_one_story(report(fresh_rows(0, 100)[0]))


def test_dawid_skene_recovers_planted_matrices():
    """With 3000 questions the planted confusion matrices, one per judge and slot, come back to within .05."""
    rng = np.random.default_rng(0)
    n, planted = 3000, np.empty((4, 2, 2, 3))
    for judge, condition in np.ndindex(4, 2):
        good = 0.6 + 0.08 * judge
        planted[judge, condition] = [[good, 0.9 - good, 0.1], [0.85 - good, good, 0.15]]
        planted[judge, condition, :, 0] += 0.05 * condition
        planted[judge, condition, :, 1] -= 0.05 * condition
    truth = (rng.random(n) > 0.6).astype(int)
    question, judge, condition = (grid.ravel() for grid in np.meshgrid(range(n), range(4), range(2), indexing="ij"))
    edges = planted[judge, condition, truth[question]].cumsum(axis=1)
    answer = (rng.random(len(question))[:, None] > edges[:, :2]).sum(axis=1)
    rows = {"question": question, "judge": judge, "condition": condition, "answer": answer, "weight": np.ones(len(answer))}
    found = dawid_skene(**rows, questions=n, judges=4, conditions=2)
    assert found.converged
    assert np.abs(found.matrices - planted).max() < 0.05
    assert ((found.p_a > 0.5) == (truth == 0)).mean() > 0.9


def test_labels_do_not_hurt_a_simulated_panel():
    """Twenty random labels cost the default no right answer on the questions without a label, on average over draws."""
    gained = []
    for seed in range(4):
        rows, truth = simulated(seed, 100, [0.9, 0.75, 0.7, 0.6, 0.55])
        chosen = np.random.default_rng([seed, 1]).choice(100, 20, replace=False)
        labels = {f"q{q}": X if truth[q] else Y for q in chosen}
        one, other = report(rows), report(rows, labels=labels)
        plain, told = (right(seen, truth, "weighted_winner", set(labels)) for seen in (one, other))
        gained.append(told - plain)
        assert gained[-1] >= -2, gained
    assert np.mean(gained) >= 0, gained


def test_labels_lift_the_right_judge_out_of_a_wrong_majority():
    """Where two judges share one error and a third is right, labels on both sides give the third the most weight."""
    rng = np.random.default_rng(0)
    truth, other = rng.random(80) < 0.5, rng.random(80) < 0.5
    held = {"right": truth, "wrong1": other, "wrong2": other}
    rows = [row for q in range(80) for judge, vote in held.items() for row in ask(f"q{q}", judge, *answers(bool(vote[q])))]
    labels = {f"q{q}": X if truth[q] else Y for q in range(20)}
    seen = report(rows, labels=labels)
    assert weights(seen)["right"] == 1
    assert right(seen, truth, "weighted_winner", set(labels)) == 60


# fallbacks, in words


def test_consistency_falls_back_without_repetitions_without_orders_and_with_one_measured_judge():
    """Without repeated passes, both orders or two measured judges `consistency` is the plurality, and says why."""
    rows = simulated(0, 12, [0.9, 0.7, 0.6])[0]
    again = [row | {"repetition": 1} for row in rows if row["judge"] == "j0"]
    single = [row | {"repetition": r} for row in rows if row["first"] == X for r in range(2)]
    for source in (rows, rows + again, single):
        seen = report(source, aggregation="consistency")
        assert said(seen, "consistency"), seen["warnings"]
        assert all(row["weighted_winner"] == row["winner"] for row in seen["questions"])
        assert set(weights(seen).values()) == {1.0}


def test_bt_sigma_falls_back_where_all_judges_are_one_sided():
    """Where fewer than two judges vote for both systems `bt-sigma` is the plurality, and says why."""
    rows = [row for q in range(8) for j in "uvw" for row in ask(f"q{q}", j, *answers(j != "w"))]
    for more in ([], [row for q in range(8) for row in ask(f"q{q}", "both", *answers(q % 2 == 0))]):
        seen = report(rows + more, aggregation="bt-sigma")
        assert said(seen, "bt-sigma"), seen["warnings"]
        assert all(row["weighted_winner"] == row["winner"] for row in seen["questions"])
        assert {row["sigma"] for row in seen["judges"]} == {None}


@pytest.mark.parametrize("rule", ["auto", *RULES])
def test_a_lone_judge_decides_as_it_votes(rule):
    """With one judge that never flips every rule has the winners of its votes."""
    rows = [row for q in range(9) for row in ask(f"q{q}", "only", *answers(q % 3 == 0))]
    seen = report(rows, aggregation=rule)
    assert [row["weighted_winner"] for row in seen["questions"]] == [row["winner"] for row in seen["questions"]]


def test_a_verdict_that_one_judge_carries_is_named():
    """Where the winner turns when one judge is left out a warning names that judge and the other system."""
    rows = [row for q in range(8) for row in ask(f"own{q}", "heavy", *answers(True))]
    rows += [row for j in ("light", "last") for q in range(6) for row in ask(f"rest{q}", j, *answers(False))]
    seen = report(rows)
    assert seen["a_win_rate"] == pytest.approx(8 / 14)
    assert said(seen, "rests on heavy", Y) and not said(seen, "light"), seen["warnings"]


# real data


@pytest.mark.shared
def test_two_camps_of_raters_are_shown():
    """Crowd and experts on SummEval agree within and not across, and the report names the two camps."""
    frame = pd.read_csv(io.BytesIO(gzip.decompress((SHARED / "ratings" / "summeval_human_ratings.csv.gz").read_bytes())))
    wide = frame.pivot_table(index=["context", "item"], columns="judge", values="coherence").sort_index()
    rng = np.random.default_rng(0)
    documents = rng.choice(sorted(frame["context"].unique()), 40, replace=False)
    rows = []
    for document in documents:
        scores = wide.loc[document]
        for one, other in combinations(scores.index, 2):
            if rng.random() < 0.85:
                continue
            left, right_ = (one, other) if rng.random() < 0.5 else (other, one)
            gap = scores.loc[left] - scores.loc[right_]
            question = {"context": f"{document} {left} {right_}", "item_a": "left", "item_b": "right"}
            rows += [question | {"judge": j, "p_a": (np.sign(g) + 1) / 2} for j, g in gap.dropna().items()]
    seen = report(rows, "left", "right")
    crowd = sorted(j for j in wide.columns if not j.startswith("expert"))
    assert len(seen["judges"]) == 8 and len(crowd) == 5
    assert said(seen, "camp", *wide.columns), seen["warnings"]
    camp = next(text for text in seen["warnings"] if "camp" in text)
    sides = camp.split(" against ")[:2]
    assert {all(j in side for j in crowd) for side in sides} == {True, False}
    assert {any(j in side for j in crowd) for side in sides} == {True, False}


@pytest.mark.shared
def test_the_default_is_right_on_llmbar():
    """Without labels the default decides at least 86 % of LLMBar as the gold labels do, equal strengths half right."""
    frame = pd.read_csv(SHARED / "llm" / "llmbar_main.csv.gz")
    one_first, picked_one = frame["order"] == 0, frame["outcome_item1"]
    words = np.where(one_first == (picked_one == 1), "first", "second")
    words = np.where(picked_one.isna(), "failure", np.where(picked_one == 0.5, "tie", words))
    rows = pd.DataFrame({"context": frame["context"], "judge": frame["judge_llm"] + "/" + frame["judge_prompt"]})
    rows = rows.assign(first=np.where(one_first, "one", "two"), second=np.where(one_first, "two", "one"), outcome=words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = jr.compare_systems(rows, a="one", b="two").frame.set_index("context")
    gold = frame.drop_duplicates("context").set_index("context")["label_item"].map({1: "one", 2: "two"}).reindex(seen.index)
    equal = seen["weighted_winner"].isin(["tie", "inconclusive"])
    score = ((seen["weighted_winner"] == gold) + 0.5 * equal).mean()
    assert len(seen) == 419 and rows["judge"].nunique() == 65
    assert score >= 0.86, score
