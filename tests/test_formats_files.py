"""Tests of the files that `juryrank.formats.read` opens: suffixes, bytes, CSV and Parquet."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from formats_support import ODD_IDS, odd_frame, refusal, same, written

from juryrank.errors import MissingExtraError
from juryrank.formats import read
from juryrank.formats.files import read_file

# Files


def test_every_suffix_is_read_and_zipped_ones_too(tmp_path: Path) -> None:
    """CSV, TSV, JSONL, NDJSON, JSON, Parquet and the zipped texts hold the same judgments."""
    frame = odd_frame()
    records = json.loads(frame.to_json(orient="records"))
    lines = "".join(json.dumps(record) + "\n" for record in records)
    comma, tab = frame.to_csv(index=False), frame.to_csv(index=False, sep="\t")
    texts = {"a.csv": comma, "a.tsv": tab, "a.jsonl": lines, "a.ndjson": lines, "a.JSON": json.dumps(records)}
    expected = read(frame).frame
    for name, text in texts.items():
        same(read(written(tmp_path, name, text)).frame, expected)
        same(read(written(tmp_path, name + ".gz", gzip.compress(text.encode()))).frame, expected)
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    same(read(tmp_path / "a.parquet").frame, expected)


def test_ids_are_kept_exactly_as_written(tmp_path: Path) -> None:
    """NA, None, 007, tie, null, Unicode, commas, quotes and line breaks are ids like any other."""
    path = tmp_path / "odd.csv"
    odd_frame().to_csv(path, index=False)
    assert read(path).frame["first"].tolist() == ODD_IDS


@pytest.mark.parametrize("name", ["run.db", "run.sqlite", "run.sqlite3"])
def test_ledgers_are_refused_by_this_version(name: str) -> None:
    """A ledger's suffix is refused before anything is opened."""
    assert f"{name}: ledgers are not read by this version" in refusal(name)


def test_files_that_are_not_there_or_of_no_known_kind_are_refused(tmp_path: Path) -> None:
    """Absent files, directories and unknown suffixes each have their own sentence."""
    assert "absent.csv: no such file." in refusal(tmp_path / "absent.csv")
    assert "absent: no such file." in refusal(tmp_path / "absent")
    assert "no such file." in refusal("")
    assert "no such file." in refusal("a\0b.csv")
    assert "a directory, not a file." in refusal(tmp_path)
    (tmp_path / "d.csv").mkdir()
    assert "a directory, not a file." in refusal(tmp_path / "d.csv")
    said = refusal(written(tmp_path, "x.xlsx", "x"))
    assert "files ending in '.xlsx' are not read. Accepted are .csv, .tsv, .jsonl" in said
    assert "files without a suffix" in refusal(written(tmp_path, "x", "x"))
    assert "'.parquet'" in refusal(written(tmp_path, "x.parquet.gz", "x"))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "parquet"])
@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff\n"])
def test_empty_files_are_refused(tmp_path: Path, suffix: str, content: str) -> None:
    """A file without content is refused as empty, whatever its kind."""
    said = refusal(written(tmp_path, f"e.{suffix}", content))
    assert "the file is empty" in said or (suffix == "parquet" and "not a Parquet file" in said)


def test_a_header_alone_is_an_empty_table(tmp_path: Path) -> None:
    """A CSV file of a known header without rows gives a table of no rows."""
    for header in ("first,second,outcome", "item_a,item_b,win_a,win_b", "model_a,model_b,winner", "left,right,choice"):
        assert len(read(written(tmp_path, "h.csv", header))) == 0
    for header in ("item_a,item_b,outcome_a,order", "generator_1,generator_2,preference", "item_a,item_b,p_a,flipped"):
        assert len(read(written(tmp_path, "h.csv", header + "\n"))) == 0


def test_bytes_that_are_not_utf8_are_named_by_place(tmp_path: Path) -> None:
    """The first byte that is not UTF-8 is given with its offset and line."""
    for name in ("l.csv", "l.jsonl", "l.json"):
        said = refusal(written(tmp_path, name, b"first,second,outcome\ncaf\xe9,b,tie\n"))
        assert f"{name}: byte 0xe9 at offset 24 (line 2) is not UTF-8." in said


def test_nul_bytes_are_named_by_place(tmp_path: Path) -> None:
    """A NUL byte, as in UTF-16 text, is refused with its offset and line."""
    said = refusal(written(tmp_path, "n.csv", b"first,second,outcome\na,b\x00,tie\n"))
    assert "a NUL byte stands at offset 24 (line 2)" in said
    assert "NUL byte" in refusal(written(tmp_path, "w.csv", "first,second,outcome\n".encode("utf-16")))


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    """Files that begin with a BOM are read like others."""
    csv_text = "\ufefffirst,second,outcome\na,b,tie\n"
    assert len(read(written(tmp_path, "b.csv", csv_text))) == 1
    line = '\ufeff{"first": "a", "second": "b", "outcome": "tie"}\n'
    assert len(read(written(tmp_path, "b.jsonl", line))) == 1
    assert len(read(written(tmp_path, "b.json", f"\ufeff[{line[1:]}]"))) == 1


def test_a_broken_gzip_file_is_refused(tmp_path: Path) -> None:
    """A zipped file that is cut or not zipped is refused."""
    whole = gzip.compress(b"first,second,outcome\na,b,tie\n" * 50)
    assert "not a whole gzip file" in refusal(written(tmp_path, "c.csv.gz", whole[:-12]))
    assert "not a whole gzip file" in refusal(written(tmp_path, "t.csv.gz", "first,second,outcome\n"))


# CSV


@pytest.mark.parametrize(
    ("body", "row", "problem"),
    [
        ("a,b,tie\na,b\n", 2, "2 cells, but the header has 3."),
        ("a,b,tie\n\na,b,tie,x\n", 2, "4 cells, but the header has 3."),
        ('"a\nb",b,tie\na\n', 2, "1 cell, but the header has 3."),
        ('"a,c",b,tie\n\n"d",b\n', 2, "2 cells, but the header has 3."),
        ('"a"",",b\nc,d,tie,x\n', 1, "2 cells, but the header has 3."),
        ("a,b\rtie,x,y\n", 1, "2 cells, but the header has 3."),
        ('a,b,tie\n"a,b,tie\n', 2, "a quotation mark is opened and never closed."),
    ],
)
def test_ragged_rows_are_named(tmp_path: Path, body: str, row: int, problem: str) -> None:
    """A row that is wider or narrower than the header is refused by its number, blank lines not counted."""
    path = written(tmp_path, "r.csv", "first,second,outcome\n" + body)
    assert f"{path}, row {row}: {problem}" in refusal(path)


def test_blank_lines_and_carriage_returns_are_no_rows(tmp_path: Path) -> None:
    """Blank lines are skipped, and every common line ending is known."""
    for text in (
        "\nfirst,second,outcome\n\na,b,tie\n   \n",
        "first,second,outcome\r\na,b,tie\r\n",
        "first,second,outcome\ra,b,tie",
    ):
        assert len(read(written(tmp_path, "n.csv", text))) == 1


def test_a_tsv_row_of_empty_cells_is_a_row(tmp_path: Path) -> None:
    """A line that holds separators alone is refused for its empty id, not skipped."""
    path = written(tmp_path, "t.tsv", "first\tsecond\toutcome\na\tb\ttie\n\t\t\n")
    assert f"{path}, row 2, column 'first': an empty id" in refusal(path)


def test_long_cells_are_no_obstacle(tmp_path: Path) -> None:
    """A cell beyond the standard library's limit is read, and the limit is left as it was."""
    limit = csv.field_size_limit()
    path = tmp_path / "long.csv"
    pd.DataFrame([{"first": "a", "second": "b", "outcome": "tie", "why": 'x, "' * 50_000}]).to_csv(path, index=False)
    assert len(read(path).frame["why"][0]) == 200_000
    assert csv.field_size_limit() == limit


def test_a_name_that_stands_twice_in_the_header_is_refused(tmp_path: Path) -> None:
    """Doubled columns are refused in files and in frames."""
    path = written(tmp_path, "d.csv", "first,second,outcome,first\na,b,tie,c\n")
    assert f"{path}: the column 'first' stands there twice." in refusal(path)
    frame = pd.DataFrame([["a", "b", "tie", "c"]], columns=["first", "second", "outcome", "first"])
    assert "the frame: the column 'first' stands there twice." in refusal(frame)
    frame.columns = pd.MultiIndex.from_tuples([("x", c) for c in "abcd"])
    assert "several levels" in refusal(frame)


def test_another_separator_is_guessed_in_the_refusal_only(tmp_path: Path) -> None:
    """A semicolon file is refused with a hint at its separator."""
    said = refusal(written(tmp_path, "s.csv", "first;second;outcome\na;b;tie\n"))
    assert "separated by ';'" in said


def test_empty_cells_are_errors_where_a_value_is_needed(tmp_path: Path) -> None:
    """Empty ids, judges, outcomes and weights are refused, an empty context is not."""
    head = "context,judge,first,second,outcome,weight\n"
    for line, column in (
        (",j,,b,tie,1", "first"),
        (",,a,b,tie,1", "judge"),
        (",j,a,b,,1", "outcome"),
        (",j,a,b,tie,", "weight"),
    ):
        path = written(tmp_path, "e.csv", f"{head},j,x,y,tie,1\n{line}\n")
        assert f"{path}, row 2, column '{column}': an empty " in refusal(path)
    assert read(written(tmp_path, "e.csv", head + ",j,a,b,tie,1\n")).frame["context"].tolist() == [""]


# Parquet


def test_dictionary_columns_are_read_as_codes(tmp_path: Path) -> None:
    """Parquet texts come as categoricals, whether the writer stored plain texts or a dictionary."""
    frame = odd_frame()
    frame.to_parquet(tmp_path / "p.parquet", index=False)
    frame.astype({"first": "category", "outcome": "category"}).to_parquet(tmp_path / "d.parquet", index=False)
    expected = read(frame).frame
    for name in ("p.parquet", "d.parquet"):
        raw = read_file(tmp_path / name)
        assert isinstance(raw.frame["first"].dtype, pd.CategoricalDtype)  # type: ignore[union-attr]
        same(read(tmp_path / name).frame, expected)


def test_the_index_of_a_frame_is_no_column(tmp_path: Path) -> None:
    """A Parquet file of a frame with an unnamed index has no column of it."""
    odd_frame().set_index(pd.Index(range(5, 18))).to_parquet(tmp_path / "i.parquet")
    assert list(read(tmp_path / "i.parquet").frame.columns) == list(read(odd_frame()).frame.columns)


def test_nulls_in_parquet_texts_are_refused_by_row(tmp_path: Path) -> None:
    """A null id and a null outcome in Parquet are errors with row and column."""
    for column, seen in (("first", "no id there"), ("outcome", "an empty cell is not known here")):
        frame = odd_frame()
        frame.loc[3, column] = None
        frame.to_parquet(tmp_path / "n.parquet")
        assert f"row 4, column '{column}': {seen}" in refusal(tmp_path / "n.parquet")


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    """A text file under a Parquet name is refused as such."""
    assert "not a Parquet file that can be read" in refusal(written(tmp_path, "t.parquet", "first,second,outcome\n"))


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyarrow the error says which extra to install."""
    path = written(tmp_path, "t.parquet", b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"juryrank\[parquet\]"):
        read(path)
