"""Tests of the door `juryrank.formats.read`: recognition, mappings, notes."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import SHARED
from formats_support import refusal, same, written

from juryrank import formats
from juryrank.errors import SettingsError
from juryrank.formats import FORMATS, read
from juryrank.tables import Comparisons, Judgments

# The door


def test_a_path_a_frame_and_records_give_the_same_table(tmp_path: Path) -> None:
    """A source reads alike as CSV, as a frame and as a list of dicts."""
    records = [{"first": "a", "second": "b", "outcome": "first"}, {"first": "b", "second": "a", "outcome": "tie"}]
    path = tmp_path / "j.csv"
    pd.DataFrame(records).to_csv(path, index=False)
    expected = read(records).frame
    same(read(path).frame, expected)
    same(read(str(path)).frame, expected)
    same(read(pd.DataFrame(records)).frame, expected)


def test_tables_that_are_read_already_come_back_as_they_are() -> None:
    """Judgments and Comparisons pass through the door unchanged, and refuse options that would change them."""
    made = read([{"first": "a", "second": "b", "outcome": "first"}])
    opinions = read([{"item_a": "a", "item_b": "b", "p_a": 1}])
    assert read(made) is made
    assert read(opinions, format="comparisons") is opinions
    with pytest.raises(SettingsError, match="read already"):
        read(made, format="wins")
    with pytest.raises(SettingsError, match="no column mapping"):
        read(made, columns={"first": "x"})


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    """A format name that is not registered is a SettingsError that lists the names."""
    with pytest.raises(SettingsError, match="'battles' is no format; known are auto, judgments, .*evaluatorq"):
        read([{"a": 1}], format="battles")


def test_other_kinds_of_source_are_refused() -> None:
    """A source that is no path, frame, list or document is refused by its type."""
    assert "int is no source; expected a path" in refusal(3)
    assert "an empty list" in refusal([])


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_an_explicit_format_that_does_not_fit_says_what_it_wants(kind: formats.Format) -> None:
    """Every format that is asked for by name refuses a source without its columns, and names them."""
    said = refusal([{"x": 1}], format=kind.name)
    assert "found 'x'" in said
    assert kind.document or (f"no column '{kind.needs[0]}'" in said and f"{kind.name} wants {kind.needs[0]}" in said)


def test_columns_that_fit_no_format_are_listed_beside_those_that_would() -> None:
    """An unknown source is refused with the columns found and each format's columns."""
    said = refusal(pd.DataFrame({"p": [1], "q": [2]}))
    assert "the frame: the columns fit no format; found 'p', 'q'" in said
    for kind in FORMATS:
        assert kind.document or f"{kind.name} wants {', '.join(kind.needs)}" in said
    assert "--column ours=theirs" in said


def test_an_ambiguous_source_is_read_by_the_documented_order() -> None:
    """A source that fits two formats is read as the first of FORMATS, and a note names the other."""
    both = [{"item_a": "a", "item_b": "b", "p_a": 0.25, "win_a": 3, "win_b": 1}]
    made = read(both)
    assert made.frame["p_a"].tolist() == [0.25]
    assert "Its columns also fit 'wins': give the format to have it read so." in made.notes
    assert read(both, format="wins").frame["weight"].tolist() == [3.0, 1.0]


def test_the_notes_begin_with_the_format_and_the_rows(tmp_path: Path) -> None:
    """The first note names source, format and rows, the second what was counted."""
    path = written(tmp_path, "b.csv", "model_a,model_b,winner\nx,y,model_a\nx,y,tie (bothbad)\ny,x,model_b\n")
    notes = read(path).notes
    assert notes[0] == f"Read {path} as arena battles (format 'arena'): 3 rows."
    assert notes[1] == "Counted 1 model_a, 1 model_b, 1 tie (bothbad)."


def test_reading_changes_nothing_in_the_callers_frame() -> None:
    """A frame that was read is the same afterwards."""
    frame = pd.DataFrame({"l": ["a"], "r": ["b"], "choice": ["left"], 5: [1]})
    before = frame.copy(deep=True)
    read(frame, columns={"left": "l", "right": "r"})
    pd.testing.assert_frame_equal(frame, before)


# Column mappings


def test_mapped_columns_are_read_under_our_names_and_named_by_theirs(tmp_path: Path) -> None:
    """A mapping renames columns, and an error still names the user's column."""
    path = written(tmp_path, "m.csv", "l,r,verdict\na,b,first\na,b,fist\n")
    columns = {"first": "l", "second": "r", "outcome": "verdict"}
    said = refusal(path, columns=columns)
    assert f"{path}, row 2, column 'verdict': 'fist' is not known here" in said
    path.write_text("l,r,verdict\na,b,first\n")
    assert read(path, columns=columns).frame["first"].tolist() == ["a"]


def test_a_mapped_column_that_is_absent_is_refused_with_the_columns_found() -> None:
    """A mapping to a missing column lists what is there."""
    said = refusal([{"x": "a", "second": "b", "outcome": "tie"}], columns={"first": "model_a"})
    assert "no column 'model_a' (for 'first'); found 'x', 'second', 'outcome'" in said


def test_a_mapped_name_that_no_format_reads_is_refused() -> None:
    """A misspelt name on our side of a mapping is a SettingsError, not a further column."""
    with pytest.raises(SettingsError, match="no format reads a column 'frist'"):
        read([{"x": "a", "second": "b", "outcome": "tie"}], columns={"frist": "x"})


def test_a_column_gives_way_to_the_one_that_is_mapped_onto_it() -> None:
    """A mapping onto an existing name replaces that column, once, and says so."""
    records = [{"first": "a", "second": "b", "outcome": "tie", "context": "old", "question": "new"}]
    made = read(records, columns={"context": "question"})
    assert made.frame["context"].tolist() == ["new"]
    assert list(made.frame.columns).count("context") == 1
    assert "The column 'context' gave way to 'question', which was mapped onto it." in made.notes


def test_two_names_can_be_swapped_and_one_column_can_serve_two() -> None:
    """Mappings apply all at once, and two of our columns may share one of theirs."""
    records = [{"first": "a", "second": "b", "outcome": "first", "q": "k"}]
    made = read(records, columns={"first": "second", "second": "first", "context": "q", "group": "q"})
    row = made.frame.iloc[0]
    assert (row["first"], row["second"], row["context"], row["group"]) == ("b", "a", "k", "k")


def test_columns_of_a_frame_may_be_numbers() -> None:
    """A frame without names is mapped by its column numbers."""
    frame = pd.DataFrame([["a", "b", "tie"]])
    assert len(read(frame, columns={"first": 0, "second": 1, "outcome": 2})) == 1  # type: ignore[dict-item]


# The house


def test_this_room_imports_nothing_but_errors_columns_and_tables() -> None:
    """No file of the room imports jax or another room of ours."""
    allowed = {"juryrank", "juryrank.errors", "juryrank.columns", "juryrank.tables"}
    for path in Path(formats.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert not name.startswith("jax")
                assert not name.startswith("juryrank") or name in allowed or name.startswith("juryrank.formats"), path


def test_a_hundred_thousand_rows_are_read_without_fuss(tmp_path: Path) -> None:
    """A large table comes back whole from each kind of file."""
    rng = np.random.default_rng(0)
    n = 100_000
    frame = pd.DataFrame(
        {
            "judge": rng.choice(["j1", "j2"], n),
            "first": rng.choice([f"i{k}" for k in range(0, 50, 2)], n),
            "second": rng.choice([f"i{k}" for k in range(1, 50, 2)], n),
            "outcome": rng.choice(["first", "second", "tie"], n),
            "repetition": np.arange(n),
        }
    )
    frame.to_csv(tmp_path / "l.csv", index=False)
    frame.to_json(tmp_path / "l.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "l.parquet", index=False)
    expected = read(frame).frame
    for name in ("l.csv", "l.jsonl", "l.parquet"):
        same(read(tmp_path / name).frame, expected)


@pytest.mark.shared
@pytest.mark.shared
def test_the_shared_tables_are_recognised() -> None:
    """The shared data read as what they are, with the counts of their own documentation."""
    cems = read(SHARED / "classic/cems.csv")
    assert cems.notes[1:] == ("Counted 2595 win_a, 1372 win_b, 487 tie.", "91 rows without counts were skipped.")
    assert isinstance(read(SHARED / "crowd/llmfao.csv.gz"), Judgments)
    assert isinstance(read(SHARED / "classic/baseball.csv"), Comparisons)
    said = refusal(SHARED / "llm/posbias_repetition_mtbench.csv.gz")
    assert "row 720, column 'outcome_a': an empty cell is not known here" in said
