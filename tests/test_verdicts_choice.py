"""When judges may weigh apart: only where they differ detectably, and never between two camps on their votes alone."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_verdicts_report import ask, report
from test_verdicts_rules import X, Y, answers, right, said, simulated, weights

import juryrank as jr
from juryrank.verdicts.pools import pooled


def two_camps(seed: int = 0, questions: int = 80):
    """Three judges follow one thing at 90 %, two follow another at 90 %; and the first thing."""
    rng = np.random.default_rng(seed)
    one, two = rng.random((2, questions)) < 0.5
    rows = []
    for k, follows in enumerate([one] * 3 + [two] * 2):
        for q in range(questions):
            rows += ask(f"q{q}", f"j{k}", *answers(bool(follows[q]) == (rng.random() < 0.9)))
    return rows, one


@pytest.mark.parametrize("seed", range(6))
def test_equal_judges_mostly_weigh_the_same(seed):
    """Equal judges weigh the same with a warning that gives the p-value, or the test at 10 % says that they differ."""
    rows, _ = simulated(seed, 100, [0.7] * 5)
    seen = report(rows)
    alike = set(weights(seen).values()) == {1.0}
    assert alike == said(seen, "do not differ detectably", "p = ")
    assert not alike or {row["sigma"] for row in seen["judges"]} == {1.0}


def test_equal_judges_are_called_different_about_as_often_as_the_level_says():
    """Over 60 panels of equal judges whose errors are independent the gate opens in at most a fifth."""
    opened = [not said(report(simulated(seed, 60, [0.75] * 4)[0]), "do not differ") for seed in range(60)]
    assert np.mean(opened) <= 0.2


def test_sharp_judges_among_dull_ones_weigh_most():
    """Two judges of .95 outweigh three of .55, which decides more questions rightly."""
    rows, truth = simulated(3, 150, [0.95, 0.95, 0.55, 0.55, 0.55])
    seen = report(rows)
    weight = weights(seen)
    assert weight["j0"] + weight["j1"] > weight["j2"] + weight["j3"] + weight["j4"]
    assert right(seen, truth, "weighted_winner") > right(seen, truth, "winner") + 10


def test_judges_within_two_errors_of_each_other_are_pooled():
    """Values within two standard errors share one mean, whatever their order; distant ones stay apart."""
    assert pooled(np.array([0.5, 0.1, 0.52, 0.12]), np.full(4, 0.05)).tolist() == pytest.approx([0.51, 0.11, 0.51, 0.11])
    assert pooled(np.array([0.2, 0.8]), np.array([0.01, 0.01])).tolist() == [0.2, 0.8]
    assert pooled(np.array([0.2, 0.8]), np.array([0.5, 0.5])).tolist() == [0.5, 0.5]
    assert pooled(np.array([0.3]), np.array([0.1])).tolist() == [0.3]


def test_two_camps_are_not_weighed_against_each_other():
    """Between two camps all judges weigh the same, and the warning names both."""
    seen = report(two_camps()[0])
    assert set(weights(seen).values()) == {1.0} and seen["weighted"]["rule"] == "plurality"
    assert said(seen, "two camps", "j0, j1, j2", "j3, j4", "All judges weigh the same")


def test_labels_that_tell_the_camps_apart_end_the_stalemate():
    """Labels on which one camp is right give its judges the weight, and the camps are still named."""
    rows, truth = two_camps()
    labels = {f"q{q}": X if truth[q] else Y for q in range(30)}
    seen = report(rows, labels=labels)
    weight = weights(seen)
    assert min(weight[f"j{k}"] for k in range(3)) > 0.8 and max(weight["j3"], weight["j4"]) < 0.3
    assert said(seen, "two camps") and not said(seen, "All judges weigh the same")


def test_few_labels_do_not_choose_a_camp():
    """Two labels cannot tell two camps apart, so that all judges go on to weigh the same."""
    rows, truth = two_camps()
    seen = report(rows, labels={f"q{q}": X if truth[q] else Y for q in range(2)})
    assert set(weights(seen).values()) == {1.0}


@pytest.mark.parametrize("rule", ["dawid-skene", "bt-sigma-questions", "consistency", "bt-sigma", "auto"])
def test_a_quorum_holds_under_every_rule(rule):
    """A question with fewer decisive votes than the quorum has no weighted winner."""
    rows = simulated(1, 40, [0.9, 0.8, 0.7])[0] + ask("alone", "j0", *answers(True))
    winners = {q["context"]: q["weighted_winner"] for q in report(rows, aggregation=rule, quorum=2)["questions"]}
    assert winners["alone"] == "inconclusive"
    assert X in winners.values() and Y in winners.values()


def test_a_quorum_holds_for_large_panels():
    """From 20 judges on, where strengths decide, a question under the quorum has no weighted winner either."""
    rows = simulated(1, 12, [0.8] * 22)[0] + ask("alone", "j0", *answers(True))
    winners = {q["context"]: q["weighted_winner"] for q in report(rows, quorum=3)["questions"]}
    assert winners["alone"] == "inconclusive" and X in winners.values()


def test_a_quorum_may_be_a_numpy_integer():
    """A quorum that comes from an array is a whole number as any other."""
    rows, _ = simulated(1, 10, [0.9, 0.8])
    assert report(rows, quorum=np.int64(2)) == report(rows, quorum=2)


def test_an_earlier_result_is_a_source():
    """A report and a ranking can be compared, ranked and audited again, with the same outcome as their source."""
    rows, _ = simulated(2, 30, [0.9, 0.8, 0.7])
    first = jr.compare_systems(rows, a=X, b=Y)
    ranking = jr.rank(first)
    assert jr.compare_systems(ranking, a=X, b=Y).to_dict() == first.to_dict()
    assert jr.rank(ranking).to_dict() == jr.rank(rows).to_dict()
    assert jr.diagnose(first).cycle_rate == jr.diagnose(rows).cycle_rate


def test_a_report_prints_as_a_sentence_that_names_the_systems():
    """`print(report)` says who is better by name, or that nothing certain can be said, with counts."""
    rows, _ = simulated(4, 60, [0.9, 0.9], balanced=False)
    sentence = str(jr.compare_systems(rows, a=X, b=Y))
    assert X in sentence and "sign test p" in sentence and sentence.endswith(".")
    flips = [row for i in range(4) for row in ask(f"q{i}", "j", "first", "first")]
    assert str(jr.compare_systems(flips, a=X, b=Y)) == f"Not one question is decided between {X} and {Y}."


def test_counts_in_the_document_are_whole_numbers():
    """Labelled questions, judgments and failures are written as whole numbers."""
    rows, truth = simulated(5, 20, [0.9, 0.7])
    document = json.loads(json.dumps(report(rows, labels={f"q{q}": X if truth[q] else Y for q in range(6)})))
    assert [type(row["labelled"]) for row in document["labelled"]] == [int, int]
    assert {type(row[name]) for row in document["judges"] for name in ("judgments", "failures")} == {int}


@pytest.mark.parametrize("seed", range(4))
def test_camps_of_a_hundred_and_fifty_questions_are_not_crowned(seed):
    """Three judges follow the truth and five another thing, all at 85 %: no judge is weighed by its votes."""
    rng = np.random.default_rng(seed)
    truth, other = rng.random((2, 150)) < 0.5
    rows = []
    for k, follows in enumerate([truth] * 3 + [other] * 5):
        for q in range(150):
            rows += ask(f"q{q}", f"j{k}", *answers(bool(follows[q]) == (rng.random() < 0.85)))
    seen = report(rows)
    assert set(weights(seen).values()) == {1.0} and said(seen, "two camps", "j0, j1, j2")


def test_labels_that_show_a_misled_panel_end_its_say():
    """Where labels show all judges to be wrong, no question without a label has a weighted winner, and a warning says so."""
    rows, truth = simulated(6, 120, [0.2, 0.2, 0.2])
    labels = {f"q{q}": X if truth[q] else Y for q in range(60)}
    seen = report(rows, labels=labels)
    winners = {row["context"]: row["weighted_winner"] for row in seen["questions"]}
    assert {winners[f"q{q}"] for q in range(60, 120)} == {"inconclusive"}
    assert all(winners[question] == winner for question, winner in labels.items())
    assert said(seen, "the labels show that the panel misleads")
    assert not said(seen, " against .")


def test_a_word_on_labels_that_stand_as_winners():
    """The report says how many questions have their weighted winner from a label."""
    rows, _ = simulated(7, 20, [0.8, 0.8])
    assert said(report(rows, labels={"q0": X, "q1": Y}), "2 questions have the weighted winner that the labels name")


def test_a_file_without_questions_is_refused():
    """Many opinions of a judge without a question column are no comparison of two systems; the error says what to map."""
    rows = [row | {"question_id": f"q{i}"} for i in range(20) for row in ask("", "j", *answers(i < 13))]
    rows = [{name: value for name, value in row.items() if name not in ("context", "repetition")} for row in rows]
    with pytest.raises(jr.InputError, match="no column says which question"):
        report(rows)
    mapped = jr.compare_systems(rows, a=X, b=Y, columns={"context": "question_id"})
    assert (mapped.decided, mapped.a_win_rate) == (20, 0.65)


def test_two_opposed_judges_are_called_so():
    """Two judges that agree on fewer questions than chance would give are called opposed."""
    rows = [row for i in range(20) for j in "uv" for row in ask(f"q{i}", j, *answers((i % 2 == 0) == (j == "u")))]
    assert said(report(rows), "u and v are opposed: they agree on 0 of 20")


def test_a_verdict_that_loses_its_certainty_rests_on_a_judge():
    """A certain verdict that one judge carries is said to rest on it; an uncertain one that wavers by noise is not."""
    carried = [row for i in range(10) for row in ask(f"q{i}", "u", *answers(True))]
    for j, first in (("v", True), ("w", False)):
        carried += [row for i in range(10) for row in ask(f"q{i}", j, *answers((i < 5) == first))]
    assert said(report(carried), "the verdict rests on u: without it there is no certain difference")
    rows, _ = simulated(8, 400, [0.7, 0.7, 0.7])
    even = report(rows)
    assert even["p_value"] > 0.05 and not said(even, "rests on")


def test_several_opinions_of_a_judge_are_one_vote_in_pairs():
    """Agreement of two judges does not depend on the order of rows where a judge spoke several times on a question."""
    said_so = [(f"q{q}", j, p) for q in range(6) for j in "uv" for p in (1.0, 1.0, 0.0)]
    said_so += [(f"p{q}", j, float(j == "u")) for q in range(4) for j in "uv"]
    rows = [{"context": q, "judge": j, "item_a": X, "item_b": Y, "p_a": p} for q, j, p in said_so]
    found = [jr.compare_systems(order, a=X, b=Y).pairs["equal"].tolist() for order in (rows, rows[::-1])]
    assert found == [[0.6], [0.6]]


@pytest.mark.parametrize("option", [{"labels": "labels.csv"}, {"labels": ["q0"]}, {"families": [("j0", "f")]}])
def test_labels_and_families_are_mappings(option):
    """Anything but a mapping is an error that names the option."""
    with pytest.raises(jr.SettingsError, match=next(iter(option))):
        jr.compare_systems(simulated(9, 10, [0.8, 0.8])[0], a=X, b=Y, **option)


def test_an_unknown_judge_in_a_family_is_refused():
    """A family of a judge that is not there is an error that names the judge."""
    with pytest.raises(jr.InputError, match="'nobody'"):
        jr.compare_systems(simulated(9, 10, [0.8, 0.8])[0], a=X, b=Y, families={"nobody": "f"})


def test_a_clean_sweep_says_that_its_size_is_the_priors():
    """Where every vote goes one way P(a beats b) is finite by the prior alone, and a warning says so."""
    seen = report([row for i in range(6) for row in ask(f"q{i}", "j", *answers(True))])
    assert 0.5 < seen["p_a_beats_b"] < 1 and said(seen, "comes from the prior alone")
    assert seen["judges"][0]["sigma"] is None
