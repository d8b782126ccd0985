"""What must not matter to the A/B report: which system is called a, the order of rows, and every name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_verdicts_report import RULES, Row, ask, close, ordered, panels, report

import juryrank as jr

#: fitted numbers stop at a tolerance; everything else is exact
FITTED = 1e-4


def panel(seed: int, questions: int = 24, accuracies: tuple[float, ...] = (0.9, 0.8, 0.7, 0.6)) -> list[Row]:
    """Judges of given accuracies, each order answered on its own; some answers are ties and failures."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for q in range(questions):
        truth = rng.random() < 0.6
        for k, accuracy in enumerate(accuracies):
            answers = []
            for forward in (True, False):
                for_x = truth if rng.random() < accuracy else not truth
                word = "first" if for_x == forward else "second"
                answers.append(str(rng.choice([word, "tie", "failure"], p=[0.9, 0.07, 0.03])))
            rows += ask(f"q{q}", f"j{k}", *answers)
    return rows


def alike(one: Row, other: Row, *, winners: bool = True) -> None:
    """Two documents agree: fitted numbers to `FITTED`, the others exactly; texts of warnings aside."""
    for left, right in zip(one["judges"], other["judges"], strict=True):
        for name in ("weight", "sigma"):
            x, y = left.pop(name), right.pop(name)
            assert (x is None) == (y is None), (left["judge"], name, x, y)
            assert x is None or x == pytest.approx(y, abs=FITTED), (left["judge"], name)
    x, y = one.pop("p_a_beats_b"), other.pop("p_a_beats_b")
    assert x == pytest.approx(y, abs=FITTED)
    for document in (one, other):
        document["warnings"] = len(document["warnings"])
        document.get("without", []).sort(key=lambda row: row["left_out"])
    close(one, other)


def mirrored(document: Row) -> Row:
    """The document as it must read with a and b exchanged."""
    low, high = document["interval"]
    turned = document | {"a": document["b"], "b": document["a"]}
    turned |= {"interval": [None if x is None else 1 - x for x in (high, low)], "p_a_beats_b": 1 - document["p_a_beats_b"]}
    for row in (turned, turned["weighted"]):
        row["a_win_rate"], row["b_win_rate"] = row["b_win_rate"], row["a_win_rate"]
    for row in turned["judges"]:
        row["a_rate"], row["b_rate"] = row["b_rate"], row["a_rate"]
    for row in turned.get("without", []):
        row["a_wins"], row["b_wins"] = row["b_wins"], row["a_wins"]
    return turned


def renamed(rows: list[Row], names: dict[str, str]) -> list[Row]:
    """Every id that `names` knows, replaced."""
    return [{key: names.get(value, value) if isinstance(value, str) else value for key, value in r.items()} for r in rows]


def named(value: Any, names: dict[str, str]) -> Any:
    """`renamed` for a document, keys of votes too."""
    if isinstance(value, dict):
        return {names.get(key, key): named(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [named(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", [0, 1])
def test_exchanging_a_and_b_mirrors_the_report(rule, seed):
    """With a and b exchanged every rate, interval, winner and weight of a noisy panel is the mirror image."""
    rows = panel(seed)
    alike(mirrored(report(rows, "sysX", "sysY", aggregation=rule)), report(rows, "sysY", "sysX", aggregation=rule))


@given(rows=panels())
@settings(max_examples=12, deadline=None)
def test_exchanging_a_and_b_mirrors_small_panels(rows):
    """Under the default rule the mirror image holds for panels of all shapes, weighted winners included."""
    alike(mirrored(report(rows, "sysX", "sysY")), report(rows, "sysY", "sysX"))


@pytest.mark.parametrize("rule", RULES)
def test_shuffled_rows_give_the_same_report(rule):
    """The order of rows changes nothing, under any rule."""
    rows = panel(2)
    frame = pd.DataFrame(rows)
    for seed in range(2):
        shuffled = frame.sample(frac=1, random_state=seed).to_dict("records")
        alike(report(rows, aggregation=rule), report(shuffled, aggregation=rule))


@given(rows=panels(), data=st.data())
@settings(max_examples=10, deadline=None)
def test_shuffled_rows_of_small_panels_give_the_same_report(rows, data):
    """The order of rows changes nothing for panels of all shapes."""
    alike(report(rows), report(data.draw(st.permutations(rows))))


NAMES = {"sysX": "zeta", "sysY": "alpha", "j0": "m 9", "j1": "m 10", "j2": "ünï", "j3": "A", "q0": "why?", "q1": "Q\n1"}


@pytest.mark.parametrize("rule", RULES)
def test_renamed_things_give_the_same_report_under_other_names(rule):
    """Systems, judges and questions of other names, in another alphabetical order, have the same numbers."""
    rows = panel(3)
    expected = ordered(named(report(rows, aggregation=rule), NAMES))
    alike(expected, report(renamed(rows, NAMES), "zeta", "alpha", aggregation=rule))


@given(rows=panels())
@settings(max_examples=12, deadline=None)
def test_renamed_small_panels_give_the_same_report_under_other_names(rows):
    """Names do not matter for panels of all shapes."""
    alike(ordered(named(report(rows), NAMES)), report(renamed(rows, NAMES), "zeta", "alpha"))


def test_a_comparison_of_weight_k_is_k_equal_rows():
    """In a table of opinions a row of weight 3 counts as three equal rows, in every number."""
    rng = np.random.default_rng(4)
    cells = [(f"q{q}", j) for q in range(12) for j in "uvw"]
    keys = [{"context": q, "judge": j, "item_a": "sysX", "item_b": "sysY"} for q, j in cells]
    light = [key | {"p_a": float(rng.choice([0, 0.5, 1])), "weight": int(rng.integers(1, 4))} for key in keys]
    heavy = [row | {"weight": 1} for row in light for _ in range(row["weight"])]
    alike(report(light), report(heavy))


def test_opinions_and_their_showings_agree():
    """A panel read as showings and read as the opinions that they reconcile to has the same verdicts and rates."""
    rows = panel(5)
    opinions = jr.reconcile(pd.DataFrame(rows)).frame
    kept = ["context", "judge", "item_a", "item_b", "status", "p_a", "orders", "slot", "flipped", "completed"]
    one, other = report(rows), report(opinions[kept].to_dict("records"))
    for document in (one, other):
        for row in document["judges"]:
            for name in ("judgments", "failures", "first_share", "consistency", "consistency_raw"):
                row.pop(name)
    alike(one, other)


def test_shuffling_repeated_opinions_changes_no_vote():
    """Where one judge has several opinions on a question, its vote in the report does not depend on their order."""
    base = {"context": "q", "judge": "u", "item_a": "sysX", "item_b": "sysY"}
    rows = [base | {"p_a": 1.0}, base | {"p_a": 1.0}, base | {"p_a": 0.0}]
    assert report(rows)["questions"] == report(rows[::-1])["questions"]


def test_rows_of_other_systems_and_of_weight_zero_change_nothing():
    """Questions on which only other systems meet, their judges too, and rows of weight zero, leave the report alone."""
    rows = panel(6, questions=8)
    frame = pd.DataFrame(rows).assign(weight=1.0)
    others = pd.DataFrame(
        ask("elsewhere", "j0", "first", "first", "sysY", "third") + ask("far", "j1", "tie", "tie", "p", "q")
    )
    absent = pd.DataFrame(ask("q0", "j0", "second", "first")).assign(weight=0.0, repetition=1)
    more = pd.concat([frame, others.assign(weight=1.0), absent], ignore_index=True)
    alike(report(rows), report(more.to_dict("records")))


def test_a_source_is_not_changed_and_the_same_call_gives_the_same_report():
    """C-31: comparing twice gives equal documents and leaves the frame as it was."""
    frame = pd.DataFrame(panel(7))
    before = frame.copy(deep=True)
    one, two = (jr.compare_systems(frame, a="sysX", b="sysY").to_dict() for _ in range(2))
    assert one == two
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("kind", ["frame", "dicts", "judgments", "comparisons", "csv"])
def test_every_kind_of_source_gives_the_same_verdicts(kind, tmp_path):
    """A path, a frame, a list of dicts, Judgments and Comparisons are compared alike."""
    rows = panel(8, questions=10)
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    judgments = jr.read(frame)
    sources = {"frame": frame, "dicts": rows, "judgments": judgments, "comparisons": jr.reconcile(judgments)}
    seen = jr.compare_systems((sources | {"csv": tmp_path / "rows.csv"})[kind], a="sysX", b="sysY").to_dict()
    assert ordered(seen) == report(rows)
