"""Tests of our own two tables, wins tables and outcome tables as sources."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from formats_support import odd_frame, refusal, same, written

from juryrank.formats import read
from juryrank.tables import Comparisons, Judgments

# Our own tables


def test_every_outcome_of_judgments_is_counted() -> None:
    """The note on judgments counts each outcome once."""
    made = read(odd_frame())
    assert isinstance(made, Judgments)
    assert made.notes[1] == "Counted 2 first, 2 second, 3 tie, 2 both_bad, 2 uncertain, 2 failure."


def test_an_unknown_outcome_names_file_row_column_and_value(tmp_path: Path) -> None:
    """An outcome that is not in the vocabulary is refused with its place, never taken for a tie."""
    path = written(tmp_path, "j.csv", "first,second,outcome\na,b,tie\na,b,Tie\n")
    assert f"{path}, row 2, column 'outcome': 'Tie' is not known here" in refusal(path)


def test_self_comparisons_and_bad_weights_are_refused_by_row() -> None:
    """C-17 and C-18: an item against itself, and weights below zero or not finite, are errors with the row."""
    good = {"first": "a", "second": "b", "outcome": "tie", "weight": 1}
    assert "row 2, column 'first': 'b' is compared with itself" in refusal([good, {**good, "first": "b"}])
    for weight in (-1, float("nan"), float("inf"), "x"):
        assert "row 2, column 'weight'" in refusal([good, {**good, "weight": weight}])


def comparisons_frame() -> pd.DataFrame:
    columns = ["context", "judge", "item_a", "item_b", "p_a", "status", "flipped", "completed"]
    rows = [
        ("q", "NA", "b", "a", 1, "win", False, True),
        ("q", "j", "a", "b", 0.5, "disagreement", True, True),
        ("", "j", "None", "b", None, "failure", False, False),
        ("r", "j", "a", "b", 0.5, "tie", False, True),
        ("r", "k", "a", "b", None, "uncertain", False, False),
    ]
    optional = {"weight": 1.5, "orders": 1, "slot": -1, "failures": 2, "count": 3, "both_bad": 1, "showings": 4.0}
    return pd.DataFrame(rows, columns=columns).assign(**optional)


def test_the_frame_of_comparisons_reads_back_as_it_was(tmp_path: Path) -> None:
    """Comparisons survive CSV, JSONL and Parquet with every column."""
    made = read(comparisons_frame())
    assert isinstance(made, Comparisons)
    assert made.notes[1] == "Counted 1 win, 1 tie, 1 uncertain, 1 disagreement, 1 failure."
    made.frame.to_csv(tmp_path / "c.csv", index=False)
    made.frame.to_json(tmp_path / "c.jsonl", orient="records", lines=True)
    made.frame.to_parquet(tmp_path / "c.parquet", index=False)
    for name in ("c.csv", "c.jsonl", "c.parquet"):
        same(read(tmp_path / name).frame, made.frame)
    same(read(made.frame).frame, made.frame)


@pytest.mark.parametrize(("written_flag", "meant"), [("TRUE", True), ("1", True), (1.0, True), ("false", False), (0, False)])
def test_flags_are_read_as_programs_write_them(written_flag: object, meant: bool) -> None:
    """True and false are known in the spellings of spreadsheets, R and pandas."""
    made = read([{"item_a": "a", "item_b": "b", "p_a": 0.5, "status": "disagreement", "flipped": written_flag}])
    assert made.frame["flipped"].tolist() == [meant]


def test_an_unknown_flag_is_refused() -> None:
    """A flag that is neither true nor false is an error, not a false."""
    said = refusal([{"item_a": "a", "item_b": "b", "p_a": 1, "flipped": "yes"}])
    assert "row 1, column 'flipped': 'yes' is not known here; expected true or false" in said


def test_comparisons_without_a_status_say_so() -> None:
    """A frame of probabilities alone is read, and remembered as having no status."""
    made = read([{"item_a": "b", "item_b": "a", "p_a": 0.25}])
    assert isinstance(made, Comparisons)
    assert not made.has_status
    assert made.frame[["item_a", "p_a"]].values.tolist() == [["a", 0.75]]


# Wins tables


def test_a_wins_table_becomes_one_row_per_kind_of_result(tmp_path: Path) -> None:
    """Counts become weights of a win each way and a tie, and zeros make no row."""
    path = written(tmp_path, "w.csv", "item_a,item_b,win_a,tie,win_b,judge\nA,B,3,2,1,j\nB,C,0,0.5,0,k\n")
    made = read(path)
    frame = made.frame
    assert frame[["item_a", "item_b", "status", "p_a", "weight", "judge"]].values.tolist() == [
        ["A", "B", "win", 1.0, 3.0, "j"],
        ["A", "B", "win", 0.0, 1.0, "j"],
        ["A", "B", "tie", 0.5, 2.0, "j"],
        ["B", "C", "tie", 0.5, 0.5, "k"],
    ]
    assert frame["slot"].tolist() == [0] * 4
    assert made.notes[1:] == ("Counted 3 win_a, 1 win_b, 2.5 tie.",)


def test_rows_without_any_count_are_skipped_and_counted(tmp_path: Path) -> None:
    """A row whose counts are all blank or NA was not compared, and the notes say how many there were."""
    path = written(tmp_path, "w.csv", "item_a,item_b,win_a,win_b,tie\nA,B,NA,NA,NA\nA,B,,,\nA,B,1,0,0\nC,D,nan,NaN,\n")
    made = read(path)
    assert made.items == ["A", "B"]
    assert made.notes[2] == "3 rows without counts were skipped."
    frame = pd.DataFrame({"item_a": ["A", "A"], "item_b": "B", "win_a": [None, 2], "win_b": [np.nan, 1.0]})
    assert read(frame).notes[2] == "1 row without counts was skipped."
    frame = frame.astype({"win_a": "Int64"})
    assert read(frame).frame["weight"].tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    ("line", "column", "problem"),
    [
        ("A,B,1,NA", "win_b", "a count is missing while another one of the row is there."),
        ("A,B,,1", "win_a", "a count is missing"),
        ("A,B,-1,0", "win_a", "'-1' is not a finite number of at least 0."),
        ("A,B,0,inf", "win_b", "'inf' is not a finite number"),
        ("A,B,x,0", "win_a", "'x' is not a finite number"),
        ("A,A,1,0", "item_a", "'A' is compared with itself"),
        (",B,1,0", "item_a", "an empty id"),
    ],
)
def test_bad_counts_name_their_source_row(tmp_path: Path, line: str, column: str, problem: str) -> None:
    """Errors in a wins table name the row of the file, although rows are skipped and expanded."""
    path = written(tmp_path, "w.csv", f"item_a,item_b,win_a,win_b\nC,D,NA,NA\nA,B,5,5\n{line}\n")
    assert f"{path}, row 3, column '{column}': {problem}" in refusal(path)


def test_an_expanded_row_keeps_its_row_and_its_columns_name(tmp_path: Path) -> None:
    """An error that is found after expansion names the source's row and the user's column."""
    path = written(tmp_path, "w.csv", "x,y,win_a,win_b,who\nA,B,5,5,j\nA,B,1,1,\n")
    said = refusal(path, columns={"item_a": "x", "item_b": "y", "judge": "who"})
    assert f"{path}, row 2, column 'who': an empty id" in said


def test_weights_and_groups_of_a_wins_table_count() -> None:
    """A weight multiplies the counts of its row, and a group and further columns go with each of them."""
    record = {
        "item_a": "b",
        "item_b": "a",
        "win_a": 2,
        "win_b": 1,
        "weight": 3,
        "group": "g",
        "context": "c",
        "year": 7,
    }
    made = read([record]).frame
    assert made["weight"].tolist() == [6.0, 3.0]
    assert made["p_a"].tolist() == [0.0, 1.0]
    assert made[["group", "context", "year"]].values.tolist() == [["g", "c", 7]] * 2


def test_foreign_columns_of_our_names_are_left_out_with_a_note() -> None:
    """A column whose name means something else in our table is not taken over by accident."""
    made = read([{"item_a": "a", "item_b": "b", "win_a": 2, "win_b": 1, "slot": "left", "orders": 9}])
    assert made.frame["orders"].tolist() == [1, 1]
    assert "Left out, for the name has another meaning here: 'slot', 'orders'." in made.notes


def test_orientation_changes_nothing() -> None:
    """C-05: winner-first rows and any other orientation hold the same opinions."""
    a = read([{"item_a": "A", "item_b": "B", "win_a": 3, "win_b": 1}]).frame
    b = read([{"item_a": "B", "item_b": "A", "win_a": 1, "win_b": 3}]).frame
    key = ["item_a", "item_b", "p_a", "weight"]
    same(a[key], b[key].sort_values("p_a", ascending=False, ignore_index=True))


# Outcome tables


def test_an_outcome_table_without_an_order_holds_comparisons(tmp_path: Path) -> None:
    """Outcomes 1, 0.5 and 0 are a win, a tie and a loss of item_a, in no known order."""
    text = "item_a,item_b,outcome_a,judge\nB,A,1,j\nB,A,0.50,j\nA,B,0.0,j\nA,B,0.0,j\n"
    made = read(written(tmp_path, "o.csv", text))
    assert isinstance(made, Comparisons)
    assert made.has_status
    assert made.frame["p_a"].tolist() == [0.0, 0.5, 0.0, 0.0]
    assert made.frame["status"].tolist() == ["win", "tie", "win", "win"]
    assert made.frame["slot"].tolist() == [0] * 4
    assert made.notes[1] == "Counted 1 won by item_a, 2 won by item_b, 1 tie."


def test_an_outcome_table_with_an_order_holds_judgments() -> None:
    """C-33: outcomes are turned to the slots in which the items were shown."""
    records = [
        {"item_a": "B", "item_b": "A", "outcome_a": outcome, "order": order, "rep": 3, "judge": "j", "weight": 2}
        for order in (0, 1)
        for outcome in (1, 0, 0.5)
    ]
    made = read([{**record, "context": str(i)} for i, record in enumerate(records)])
    assert isinstance(made, Judgments)
    assert made.frame[["first", "second", "outcome"]].values.tolist() == [
        ["B", "A", "first"],
        ["B", "A", "second"],
        ["B", "A", "tie"],
        ["A", "B", "second"],
        ["A", "B", "first"],
        ["A", "B", "tie"],
    ]
    assert made.frame["repetition"].tolist() == [3] * 6
    assert made.frame["weight"].tolist() == [2.0] * 6
    assert "rep" not in made.frame.columns


def test_repeated_showings_of_an_outcome_table_are_numbered() -> None:
    """Without a repetition column equal showings are numbered, with one they are an error naming both rows."""
    record = {"item_a": "A", "item_b": "B", "outcome_a": 1, "order": 1}
    assert read([record, record]).frame["repetition"].tolist() == [0, 1]
    said = refusal([{**record, "rep": 1}, {**record, "rep": 1}])
    assert "row 2, column 'rep': the showing of row 1 again" in said


@pytest.mark.parametrize("outcome", ["", "2", "0.7", "tie", "NA", None, True, -1, float("nan")])
def test_outcomes_that_are_not_one_half_or_nothing_are_refused(outcome: object) -> None:
    """Anything but 1, 0.5 and 0, a blank among them, is an error and never a tie."""
    said = refusal([{"item_a": "a", "item_b": "b", "outcome_a": value} for value in ("1", outcome)])
    assert "row 2, column 'outcome_a'" in said
    assert "expected 1, 0.5 or 0." in said


@pytest.mark.parametrize("order", ["", "2", "ab", None, 0.5])
def test_orders_that_are_not_zero_or_one_are_refused(order: object) -> None:
    """An unknown order is an error with row and column."""
    said = refusal([{"item_a": "a", "item_b": "b", "outcome_a": 1, "order": value} for value in (1, order)])
    assert "row 2, column 'order'" in said
    assert "expected 0 (item_a first) or 1 (item_b first)" in said
