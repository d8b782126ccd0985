"""Known winners of some questions, and what the comparison of two systems must refuse."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from test_verdicts_report import RULES, ask, report
from test_verdicts_symmetry import panel

import juryrank as jr
from juryrank.cli import run


def split_panel():
    """Ten questions: u and v say sysX on all of them, w says sysY on all but the last."""
    rows = [row for i in range(10) for j in "uv" for row in ask(f"q{i}", j, "first", "second")]
    return rows + [
        row for i in range(10) for row in ask(f"q{i}", "w", *(("second", "first") if i < 9 else ("first", "second")))
    ]


@pytest.mark.parametrize("rule", RULES)
def test_a_label_stands_or_the_rule_says_that_it_does_not_use_labels(rule):
    """A labelled question has the labelled system as weighted winner, or a warning names the rule that cannot use labels."""
    seen = report(split_panel(), labels={"q0": "sysY", "q1": "sysX"}, aggregation=rule)
    winners = {row["context"]: row["weighted_winner"] for row in seen["questions"]}
    said = any("label" in text for text in seen["warnings"])
    assert (winners["q0"], winners["q1"]) == ("sysY", "sysX") or said


@pytest.mark.parametrize("rule", ["auto", "dawid-skene"])
def test_labels_leave_the_plurality_alone_and_calibrate_the_weights(rule):
    """Labels for all questions but one give the lone right judge the largest weight, and the headline does not move."""
    labels = {f"q{i}": "sysY" if i < 9 else "sysX" for i in range(10)}
    plain, seen = report(split_panel(), aggregation=rule), report(split_panel(), labels=labels, aggregation=rule)
    weight = {row["judge"]: row["weight"] for row in seen["judges"]}
    assert weight["w"] == 1 and max(weight["u"], weight["v"]) < 0.5
    assert [row["winner"] for row in seen["questions"]] == ["sysX"] * 10
    assert [seen[key] for key in ("a_win_rate", "interval", "p_value")] == [
        plain[key] for key in ("a_win_rate", "interval", "p_value")
    ]
    assert seen["weighted"]["a_win_rate"] == 0.1


def test_labels_calibrate_questions_without_one():
    """Where two of three judges are wrong on the labelled half, the third decides the other half."""
    labels = {f"q{i}": "sysY" for i in range(8)}
    seen = report(split_panel(), labels=labels)
    winners = {row["context"]: row["weighted_winner"] for row in seen["questions"]}
    assert winners["q8"] == "sysY" and winners["q9"] == "sysX"


def test_accuracy_is_the_share_of_right_picks_on_labelled_questions():
    """A judge's accuracy counts labelled questions on which it picked a side, and is null where there are none."""
    rows = split_panel() + ask("q0", "x", "first", "first") + ask("q5", "y", "first", "second")
    seen = report(rows, labels={"q0": "sysX", "q1": "sysY", "q2": "sysX", "q9": "sysX"})
    assert {row["judge"]: row["accuracy"] for row in seen["judges"]} == {
        "u": 0.75,
        "v": 0.75,
        "w": 0.5,
        "x": None,
        "y": None,
    }
    assert {row["accuracy"] for row in report(rows)["judges"]} == {None}


def test_labels_mirror():
    """Exchanging a and b leaves accuracies and labelled winners as they are."""
    rows, labels = panel(0), {"q0": "sysX", "q1": "sysY", "q2": "sysX"}
    one, two = report(rows, "sysX", "sysY", labels=labels), report(rows, "sysY", "sysX", labels=labels)
    assert [row["accuracy"] for row in one["judges"]] == [row["accuracy"] for row in two["judges"]]
    assert [row["weighted_winner"] for row in one["questions"]] == [row["weighted_winner"] for row in two["questions"]]


def test_no_labels_are_like_none():
    """An empty mapping of labels is the same as no labels."""
    assert report(split_panel(), labels={}) == report(split_panel())


@pytest.mark.parametrize(
    ("labels", "said"),
    [({"nowhere": "sysX"}, "'nowhere'"), ({"q0": "A"}, "'A'"), ({"q0": "tie?"}, "'tie?'"), ({"q0": 1}, "1")],
)
def test_unknown_labels_are_refused(labels, said):
    """A label of a question that is not there, or for no system, is an error that shows it."""
    with pytest.raises(jr.JuryrankError, match=said.replace("?", r"\?")):
        report(split_panel(), labels=labels)


def test_labels_from_a_file_on_the_command_line(tmp_path, capfd):
    """`juryrank compare --labels` gives the same document as `labels=`."""
    pd.DataFrame(split_panel()).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "labels.csv").write_text("context,winner\nq0,sysY\nq1,sysX\n")
    names = ["--a", "sysX", "--b", "sysY", "--labels", str(tmp_path / "labels.csv"), "--json"]
    assert run(["compare", str(tmp_path / "rows.csv"), *names]) == 0
    seen = json.loads(capfd.readouterr().out)
    labels = {"q0": "sysY", "q1": "sysX"}
    assert seen == jr.compare_systems(tmp_path / "rows.csv", a="sysX", b="sysY", labels=labels).to_dict()


# bad input


@pytest.mark.parametrize("missing", ["sysZ", "sysx", "", "A"])
@pytest.mark.parametrize("side", ["a", "b"])
def test_a_system_that_never_appears_is_refused(missing, side):
    """A name that no row holds is an error that shows it and what there is."""
    names = {"a": "sysX", "b": "sysY"} | {side: missing}
    with pytest.raises(jr.JuryrankError) as caught:
        report(split_panel(), **names)
    assert repr(missing) in str(caught.value) and "sysX" in str(caught.value)


def test_one_system_twice_is_refused():
    """The same name for a and b is an error."""
    with pytest.raises(jr.JuryrankError, match="'sysX'"):
        report(split_panel(), "sysX", "sysX")


def test_systems_that_never_meet_are_refused():
    """Two systems that are there, and never compared with each other, are an error that names both."""
    rows = ask("q", "j", "first", "second", "x", "y") + ask("p", "j", "first", "second", "y", "z")
    with pytest.raises(jr.InputError, match=r"'x'.*'z'"):
        report(rows, "x", "z")


def test_a_question_with_three_items_is_refused():
    """A third item beside the two in one question is an error that names question and item."""
    with pytest.raises(jr.InputError, match=r"'q0'.*'third'"):
        report(split_panel() + ask("q0", "u", "first", "second", "sysX", "third"))


@pytest.mark.parametrize("option", [{"quorum": 0}, {"quorum": 1.5}, {"quorum": True}, {"level": 0}, {"level": 1}])
@pytest.mark.parametrize("more", [{}, {"aggregation": "plurality"}])
def test_bad_settings_are_refused(option, more):
    """A quorum below 1 or broken, and a level that is not inside (0, 1), are errors that name the setting."""
    with pytest.raises(jr.SettingsError, match=next(iter(option))):
        report(split_panel(), **option, **more)


@pytest.mark.parametrize("level", [float("nan"), -1, 95])
def test_a_level_that_is_no_share_is_refused(level):
    """A level in percent, below 0 or NaN is an error."""
    with pytest.raises(jr.SettingsError, match="level"):
        report(split_panel(), level=level)


@pytest.mark.parametrize("rule", ["majority", "", "BT-sigma", None])
def test_an_unknown_aggregation_is_refused_with_the_known_ones(rule):
    """An unknown rule is an error that lists the rules."""
    with pytest.raises(jr.SettingsError, match="bt-sigma-questions, consistency, dawid-skene"):
        report(split_panel(), aggregation=rule)


@pytest.mark.parametrize("rule", ["auto", "plurality", *RULES])
def test_a_judge_with_no_completed_pair_has_no_bias(rule):
    """Orders that fail or were not asked leave position bias null, never 0, under each rule."""
    rows = split_panel() + ask("q0", "once", "first", None) + ask("q0", "failing", "first", "failure")
    seen = {row["judge"]: row for row in report(rows, aggregation=rule)["judges"]}
    assert seen["once"]["position_bias"] is None and seen["failing"]["position_bias"] is None
    assert (seen["once"]["a_rate"], seen["failing"]["a_rate"], seen["failing"]["b_rate"]) == (1.0, None, None)
    assert seen["u"]["position_bias"] == 0.0


@pytest.mark.parametrize("rule", RULES)
def test_a_judge_who_never_spoke_has_no_weight(rule):
    """A judge all of whose answers failed was not measured: weight and sigma are null under each weighted rule."""
    rows = split_panel() + [row for i in range(10) for row in ask(f"q{i}", "dead", "failure", "failure")]
    seen = next(row for row in report(rows, aggregation=rule)["judges"] if row["judge"] == "dead")
    assert (seen["weight"], seen["sigma"]) == (None, None)


@pytest.mark.parametrize("rule", ["auto", "plurality", *RULES])
def test_zero_decided_questions_are_null_and_not_zero(rule):
    """Where all is flips or ties, win rates, interval and p-value are null and the rates over all questions are not."""
    flips = [row for i in range(4) for j in "uv" for row in ask(f"q{i}", j, "first", "first")]
    ties = [row for i in range(4) for j in "uv" for row in ask(f"q{i}", j, "tie", "tie")]
    for rows, tie_rate, agreement in ((flips, 0.0, None), (ties, 1.0, 1.0)):
        seen = report(rows, aggregation=rule)
        assert (seen["comparisons"], seen["decided"]) == (4, 0)
        assert [seen[k] for k in ("a_win_rate", "b_win_rate", "interval", "p_value")] == [None, None, [None, None], None]
        assert (seen["tie_rate"], seen["inconclusive_rate"]) == (tie_rate, 1 - tie_rate)
        assert seen["weighted"]["a_win_rate"] is None and seen["weighted"]["b_win_rate"] is None
        assert seen["mean_agreement"] == agreement and seen["chance_corrected_agreement"] is None
        assert seen["p_a_beats_b"] == pytest.approx(0.5)
        assert all(row["a_rate"] is None for row in seen["judges"])


@pytest.mark.parametrize("answer", ["failure", "uncertain"])
def test_not_one_verdict_is_an_error_of_its_own(answer, tmp_path, capfd):
    """A source of failures or abstentions alone is NoVerdictError, and exit code 3."""
    rows = [row for j in "uv" for row in ask("q", j, answer, answer)]
    with pytest.raises(jr.NoVerdictError):
        report(rows)
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    assert run(["compare", str(tmp_path / "rows.csv"), "--a", "sysX", "--b", "sysY"]) == 3


@pytest.mark.parametrize("name", ["tie", "inconclusive"])
def test_a_system_named_like_a_verdict_cannot_be_confused_with_it(name):
    """A system called tie or inconclusive is refused, since its wins could not be told from the word."""
    rows = [row for i in range(3) for row in ask(f"q{i}", "j", "first", "second", name, "sysY")]
    with pytest.raises(jr.JuryrankError, match=name):
        report(rows, name, "sysY")


def test_a_verdict_of_few_questions_is_called_too_few():
    """C-25: five of five cannot reach the threshold, and the report says too few, which is not tied."""
    few = [row for i in range(5) for row in ask(f"q{i}", "j", "first", "second")]
    many = [row for i in range(50) for row in ask(f"q{i}", "j", *(("first", "second") if i % 2 else ("second", "first")))]
    assert any("too few" in text for text in report(few)["warnings"])
    assert not any("too few" in text for text in report(many)["warnings"])


def test_null_numbers_of_the_frames_are_not_zeros():
    """In the report's own frames a thing that was not measured is missing, and not 0."""
    made = jr.compare_systems(split_panel() + ask("q0", "once", "first", None), a="sysX", b="sysY")
    judges = made.judges.set_index("judge")
    assert np.isnan(judges.loc["once", "position_bias"]) and judges["consistency"].isna().all()
    assert list(made.frame.columns) == ["context", "winner", "weighted_winner", "order_dependent", "votes"]
