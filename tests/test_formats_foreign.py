"""Tests of arena battles, left/right choices and alpaca annotations as sources."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from formats_support import refusal, same, written

from juryrank.formats import read
from juryrank.tables import Comparisons, Judgments

# Arena battles


def test_arena_battles_show_model_a_first() -> None:
    """A battle is a comparison in one order, and its slot turns with the items."""
    winners = ["model_a", "model_b", "tie", "tie (bothbad)"]
    made = read([{"model_a": "b", "model_b": "a", "winner": w, "weight": 2} for w in winners])
    assert isinstance(made, Comparisons)
    frame = made.frame
    assert frame["item_a"].tolist() == ["a"] * 4
    assert frame["p_a"].tolist() == [0.0, 1.0, 0.5, 0.5]
    assert frame["status"].tolist() == ["win", "win", "tie", "tie"]
    assert frame["winner"].tolist() == ["b", "a", None, None]
    assert frame["slot"].tolist() == [-1] * 4
    assert frame["orders"].tolist() == [1] * 4
    assert frame["both_bad"].tolist() == [0.0, 0.0, 0.0, 2.0]
    assert frame["showings"].tolist() == [2.0] * 4
    assert read([{"model_a": "a", "model_b": "b", "winner": "tie"}]).frame["slot"].tolist() == [1]


def test_both_bad_is_a_tie_with_its_own_count() -> None:
    """C-06: a win and a "tie (bothbad)" are three quarters of the points, and both_bad is one."""
    frame = read([{"model_a": "A", "model_b": "B", "winner": w} for w in ("model_a", "tie (bothbad)")]).frame
    assert frame["p_a"].mean() == 0.75
    assert frame["both_bad"].sum() == 1


@pytest.mark.parametrize("winner", ["both_bad", "Tie", "", None, "a", "model_c", float("nan"), 1])
def test_winners_that_are_not_known_are_refused(winner: object) -> None:
    """C-06 and C-38: an unknown or missing winner is an error with row and column, never a tie."""
    said = refusal([{"model_a": "a", "model_b": "b", "winner": w} for w in ("tie", winner)])
    assert "row 2, column 'winner'" in said
    assert "expected model_a, model_b, tie, tie (bothbad)." in said


# Left/right choices


def test_choices_are_judgments_and_null_is_a_failure(tmp_path: Path) -> None:
    """Left and right are slots, and null, an empty cell and a missing value are failures."""
    choices = ["left", "right", "tie", "uncertain", None]
    records = [{"left": "a", "right": "b", "choice": c, "judge": "j", "repetition": i} for i, c in enumerate(choices)]
    outcomes = ["first", "second", "tie", "uncertain", "failure"]
    made = read(records)
    assert isinstance(made, Judgments)
    assert made.frame["outcome"].tolist() == outcomes
    assert made.notes[1] == "Counted 1 left, 1 right, 1 tie, 1 uncertain, 1 failure (no choice)."
    pd.DataFrame(records).to_csv(tmp_path / "c.csv", index=False)
    pd.DataFrame(records).to_parquet(tmp_path / "c.parquet", index=False)
    written(tmp_path, "c.jsonl", "\n".join(map(json.dumps, records)))
    for source in (pd.DataFrame(records), *(tmp_path / name for name in ("c.csv", "c.parquet", "c.jsonl"))):
        same(read(source).frame, made.frame)


def test_a_record_without_the_key_choice_is_refused(tmp_path: Path) -> None:
    """A record that lacks the key is an error with its line, for only null says that a call failed."""
    lines = ['{"left": "a", "right": "b", "choice": null}', "", '{"left": "a", "right": "b"}']
    path = written(tmp_path, "c.jsonl", "\n".join(lines))
    assert f"{path}, row 3, column 'choice': the record has no such key." in refusal(path)
    assert "row 2, column 'pick'" in refusal(
        [{"left": "a", "right": "b", "pick": None}, {"left": "a", "right": "b"}], columns={"choice": "pick"}
    )


@pytest.mark.parametrize("choice", ["first", "Left", "null", "None", "both_bad", 0, False])
def test_choices_that_are_not_known_are_refused(choice: object) -> None:
    """An unknown choice is an error with row, column and value, not a failure."""
    said = refusal([{"left": "a", "right": "b", "choice": c} for c in ("tie", choice)])
    assert f"row 2, column 'choice': {choice!r} is not known here" in said


def test_errors_in_choices_name_the_columns_of_the_source() -> None:
    """An empty id and a self-comparison are named left and right, as the source has them."""
    assert "column 'right': an empty id" in refusal([{"left": "a", "right": " ", "choice": "tie"}])
    assert "column 'left': 'a' is compared with itself" in refusal([{"left": "a", "right": "a", "choice": "tie"}])
    assert "column 'l': no id" in refusal([{"l": None, "right": "a", "choice": "tie"}], columns={"left": "l"})


# Alpaca annotations


def alpaca(*codes: object, **more: object) -> list[dict[str, object]]:
    return [{"generator_1": "g1", "generator_2": "g2", "preference": code, **more} for code in codes]


def test_preference_codes_give_the_published_means() -> None:
    """C-43: codes 2, 1, 0, 2 mean 0.625 for generator_2, and 2, null, 0 mean 0.75 over two."""
    assert 1 - read(alpaca(2, 1, 0, 2)).frame["p_a"].mean() == 0.625
    usable = read(alpaca(2, None, 0)).frame["p_a"].dropna()
    assert (1 - usable.mean(), len(usable)) == (0.75, 2)


def test_preferences_keep_soft_values_and_statuses() -> None:
    """Codes between 1 and 2 are probabilities, 1.5 and 0 ties, and null a failure."""
    made = read(alpaca(1, 2, 1.25, 1.75, 1.5, 0, None, annotator="gpt", instruction="q"))
    assert isinstance(made, Comparisons)
    frame = made.frame
    assert frame["p_a"].tolist()[:6] == [1.0, 0.0, 0.75, 0.25, 0.5, 0.5]
    assert frame["status"].tolist() == ["win", "win", "win", "win", "tie", "tie", "failure"]
    assert set(frame["judge"]) == {"gpt"}
    assert set(frame["context"]) == {"q"}
    assert set(frame["slot"]) == {0}
    assert set(frame["orders"]) == {1}
    assert made.notes[1] == "Counted 2 for generator_1, 2 for generator_2, 2 tie, 1 failure (no preference)."


def test_text_codes_are_read_like_numbers(tmp_path: Path) -> None:
    """Codes in CSV are numbers, and an empty cell is a failure."""
    made = read(written(tmp_path, "a.csv", "generator_1,generator_2,preference\nx,y,1.0\nx,y,\nx,y,2\n"))
    assert made.frame["status"].tolist() == ["win", "failure", "win"]


@pytest.mark.parametrize("code", [3, 0.5, -1, "x", 2.0001, float("inf")])
def test_codes_outside_the_declared_set_are_refused(code: object) -> None:
    """C-43: a code outside 0 and 1 to 2 is an error with row and column."""
    assert "row 2, column 'preference'" in refusal(alpaca(1, code))


def test_a_given_judge_and_context_go_before_annotator_and_instruction() -> None:
    """Where judge and context are there, annotator and instruction are further columns."""
    frame = read(alpaca(1, annotator="x", judge="j", instruction="i", context="c")).frame
    assert frame[["judge", "context", "annotator", "instruction"]].values.tolist() == [["j", "c", "x", "i"]]
    assert "row 1, column 'annotator'" in refusal(alpaca(1, annotator=""))
