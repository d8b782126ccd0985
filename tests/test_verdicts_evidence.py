"""What the weighted rules must show: lopsided, stubborn and random judges, camps, and real judges with gold labels."""

import numpy as np
import pandas as pd
import pytest
from conftest import SHARED

import juryrank as jr

N = 100


def panel(*kinds, seed=0, repetitions=1):
    """Judges as (kind, chance): `right` answers rightly with that chance, `A` says A with it, `coin` flips one."""
    rng = np.random.default_rng(seed)
    truth = np.tile([0, 1], N // 2)
    parts = []
    for number, (kind, chance) in enumerate(kinds):
        for order in (0, 1):
            for repetition in range(repetitions):
                hit = rng.random(N) < chance
                pick = {"right": np.where(hit, truth, 1 - truth), "A": (~hit).astype(int)}.get(kind, rng.integers(2, size=N))
                part = pd.DataFrame({"context": [f"q{i:03d}" for i in range(N)], "judge": f"j{number}"})
                part["first"], part["second"] = ("a", "b") if order == 0 else ("b", "a")
                part["outcome"], part["repetition"] = np.where(pick == order, "first", "second"), repetition
                parts.append(part)
    return pd.concat(parts, ignore_index=True), truth


def right(winners, truth):
    """Share of questions decided rightly; an undecided one is half right."""
    names = np.array(["a", "b"])[truth]
    return float(np.where(np.isin(winners, ["a", "b"]), winners == names, 0.5).mean())


def scores(kinds, repetitions=1, seeds=10):
    """Mean correctness of plurality and of the default rule, and the mean weights under it."""
    rows, weights = [], []
    for seed in range(seeds):
        frame, truth = panel(*kinds, seed=seed, repetitions=repetitions)
        report = jr.compare_systems(frame, a="a", b="b")
        rows.append([right(report.frame[c].to_numpy(), truth) for c in ("winner", "weighted_winner")])
        weights.append(report.judges["weight"].to_numpy())
    return *np.mean(rows, axis=0), np.mean(weights, axis=0)


def test_a_judge_that_says_a_ninety_nine_times_is_not_believed():
    """Beside two judges that are right 90 % of the time, an always-A judge gets next to no weight and does no harm."""
    plurality, weighted, weights = scores([("right", 0.9), ("right", 0.9), ("A", 0.99)])
    assert weighted >= plurality - 0.01
    assert weights[2] < 0.1 and weights[:2].min() > 0.9


def test_a_stubborn_judge_is_not_rewarded():
    """An always-A judge that repeats itself perfectly does not outweigh two 85 % judges with two repetitions."""
    plurality, weighted, weights = scores([("right", 0.85), ("right", 0.85), ("A", 1.0)], repetitions=2)
    assert weighted >= plurality and weights[2] < 0.1


def test_coin_flippers_weigh_next_to_nothing():
    """Judges that flip a coin end near weight 0, and the verdict gains over plurality."""
    plurality, weighted, weights = scores([("right", 0.85)] * 3 + [("coin", 0)] * 2)
    assert weights[3:].max() < 0.15 and weighted >= plurality


def test_a_panel_at_one_finds_for_its_system():
    """Where every accepted vote is for one system, no question is turned to the other by a flip."""
    made = jr.simulate(items=2, judges=4, contexts=60, seed=3).judgments
    report = jr.compare_systems(made, a="item-001", b="item-002")
    assert report.a_win_rate == 1 and set(report.frame["weighted_winner"]) == {"item-001"}


def _opposed(count_one, count_two):
    rows = [("one", p, w) for p, w in zip((1.0, 0.0), count_one, strict=True)]
    rows += [("two", p, w) for p, w in zip((1.0, 0.0), count_two, strict=True)]
    return pd.DataFrame(rows, columns=["judge", "p_a", "weight"]).query("weight > 0").assign(item_a="A", item_b="B")


def test_two_opposed_judges_are_inconclusive():
    """Two judges that contradict each other in every question decide none, and it is said that the data do not tell."""
    frame = pd.concat([_opposed((1, 0), (0, 1)).assign(context=f"q{i}") for i in range(30)], ignore_index=True)
    report = jr.compare_systems(frame, a="A", b="B", aggregation="bt-sigma")
    assert report.decided == 0 and report.weighted["inconclusive_rate"] == 1
    assert report.p_a_beats_b == pytest.approx(0.5)
    assert any("saddle" in w or "for one system only" in w or "both systems" in w for w in report.warnings)


@pytest.mark.parametrize("times", [1, 100])
def test_two_judges_of_unequal_lead(times):
    """60/40 and 70/30 give P(A beats B) = .6425, the geometric mean of the two logits, however the records are split."""
    frame = _opposed((60 * times, 40 * times), (70 * times, 30 * times))
    halves = pd.concat([frame.assign(weight=frame["weight"] / 2)] * 2).sample(frac=1, random_state=1)
    prior = jr.Prior(strength_sd=10, log_sigma_sd=10)
    whole, split = jr.fit_bt(frame, prior=prior), jr.fit_bt(halves, prior=prior)
    expected = 1 / (1 + np.exp(-np.sqrt(np.log(0.6 / 0.4) * np.log(0.7 / 0.3))))
    assert whole.probability("A", "B") == pytest.approx(expected, abs=1e-3)
    assert split.probability("A", "B") == pytest.approx(whole.probability("A", "B"), abs=1e-9)


def test_consistency_falls_back_in_words():
    """Without repetitions the consistency rule weighs all judges alike, and says so."""
    frame, _ = panel(("right", 0.9), ("right", 0.8))
    report = jr.compare_systems(frame, a="a", b="b", aggregation="consistency")
    assert report.judges["weight"].tolist() == [1, 1]
    assert any("fewer than two judges have repeated showings" in w for w in report.warnings)


def test_a_verdict_that_rests_on_one_judge_is_said():
    """Where leaving one judge out turns the verdict, a warning names the judge."""
    rows = [(f"q{i}", judge, "a", "b", won) for i in range(9) for judge, won in (("x", 1.0), ("y", float(i < 3)))]
    frame = pd.DataFrame(rows, columns=["context", "judge", "item_a", "item_b", "p_a"])
    frame = pd.concat([frame, frame[frame["judge"] == "y"].assign(judge="z")], ignore_index=True)
    frame.loc[(frame["judge"] == "z") & (frame["context"].isin(["q5", "q6"])), "p_a"] = 1.0
    report = jr.compare_systems(frame, a="a", b="b")
    assert any("rests on x" in w for w in report.warnings)


def test_more_labels_are_needed_for_closer_judges():
    """The number of labels that would separate two judges grows as their accuracies come closer."""
    frame, truth = panel(("right", 0.95), ("right", 0.6), ("right", 0.55), ("right", 0.95), seed=5)
    labels = {f"q{i:03d}": "ab"[truth[i]] for i in range(60)}
    report = jr.compare_systems(frame, a="a", b="b", labels=labels)
    far, near = report.labels_to_separate("j0", "j1"), report.labels_to_separate("j1", "j2")
    assert far is not None and (near is None or near > far)
    accuracy = report.truth.set_index("judge")
    assert accuracy.loc["j1", "low"] < accuracy.loc["j1", "accuracy"] < accuracy.loc["j1", "high"]


@pytest.mark.shared
def test_two_camps_are_shown_and_not_crowned():
    """SummEval's five crowd raters agree with each other and not with the three experts: the report names the two camps."""
    ratings = pd.read_csv(SHARED / "ratings" / "summeval_human_ratings.csv.gz")
    wide = ratings.pivot_table(index=["context", "item"], columns="judge", values="coherence").reset_index()
    rng = np.random.default_rng(0)
    rows = []
    for document, group in wide.groupby("context"):
        for _ in range(4):
            one, other = rng.choice(len(group), 2, replace=False)
            for judge in wide.columns.drop(["context", "item"]):
                lead = np.sign(group.iloc[one][judge] - group.iloc[other][judge])
                rows.append((f"{document}/{one}/{other}", judge, "left", "right", (1 + lead) / 2))
    frame = pd.DataFrame(rows, columns=["context", "judge", "item_a", "item_b", "p_a"])
    report = jr.compare_systems(frame.drop_duplicates(["context", "judge"]), a="left", b="right")
    said = [w for w in report.warnings if "two camps" in w]
    assert len(said) == 1 and "expert1, expert2, expert3" in said[0] and "labels" in said[0]


@pytest.mark.shared
def test_the_default_rule_on_llmbar():
    """Without labels the default is right on 86 % of LLMBar, where plurality has under 66 %; 20 labels do not hurt."""
    frame = pd.read_csv(SHARED / "llm" / "llmbar_main.csv.gz")
    first = (frame["outcome_item1"] == 1) ^ (frame["order"] == 1)
    outcome = np.where(frame["outcome_item1"].isna(), "failure", np.where(first, "first", "second"))
    shown = {"first": np.where(frame["order"] == 0, "1", "2"), "second": np.where(frame["order"] == 0, "2", "1")}
    judge = frame["judge_llm"] + "/" + frame["judge_prompt"]
    votes = jr.read(pd.DataFrame({"context": frame["context"], "judge": judge, **shown, "outcome": outcome}))
    gold = frame.drop_duplicates("context").set_index("context")["label_item"].astype(str)
    report = jr.compare_systems(votes, a="1", b="2")
    seen = report.frame.set_index("context")
    share = {c: np.where(seen[c].isin(["1", "2"]), seen[c] == gold[seen.index], 0.5).mean() for c in seen.columns[:2]}
    assert share["winner"] < 0.66 and share["weighted_winner"] >= 0.86
    known = gold.sample(20, random_state=1)
    helped = jr.compare_systems(votes, a="1", b="2", labels=known.to_dict()).frame.set_index("context")["weighted_winner"]
    rest = gold.index.difference(known.index)
    assert (helped[rest] == gold[rest]).mean() >= (seen["weighted_winner"][rest] == gold[rest]).mean() - 0.01
