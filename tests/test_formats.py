"""Tests of the door `juryrank.formats.read`: every format, every refusal, and what the notes say."""

from __future__ import annotations

import ast
import csv
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from juryrank import formats
from juryrank.errors import InputError, MissingExtraError, SettingsError
from juryrank.formats import FORMATS, read
from juryrank.tables import Comparisons, Judgments

SHARED = Path("../shared/data")
ODD_IDS = [
    "NA",
    "None",
    "007",
    "tie",
    "null",
    "nan",
    "é – 模型",
    "a,b",
    'say "x"',
    "two\nlines",
    " lead",
    "True",
    "1.0",
]


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(source: object, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read(source, **options)  # type: ignore[arg-type]
    return str(caught.value)


def same(left: pd.DataFrame, right: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(left, right, check_dtype=False)


def odd_frame() -> pd.DataFrame:
    """Judgments whose ids are all that a reader might take for something else."""
    n = len(ODD_IDS)
    return pd.DataFrame(
        {
            "context": [f"q{i % 3}" for i in range(n)],
            "judge": ["NA", "None"] * (n // 2) + ["007"] * (n % 2),
            "first": ODD_IDS,
            "second": ODD_IDS[1:] + ODD_IDS[:1],
            "outcome": ["first", "second", "tie", "both_bad", "uncertain", "failure"] * 2 + ["tie"],
            "p_first": [None if i % 4 else i / n for i in range(n)],
        }
    )


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


# JSON and JSONL

GOOD = '{"first": "a", "second": "b", "outcome": "tie"}'


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"first": "a", "second": ', "not JSON"),
        ("{'first': 1}", "not JSON"),
        (GOOD + "," + GOOD, "not JSON: Extra data"),
        ('["a", "b"]', "expected a record, found list."),
        ("null", "expected a record, found NoneType."),
        (GOOD.replace('"tie"', "NaN"), "NaN is not JSON (write null)."),
        (GOOD.replace('"tie"', "-Infinity"), "-Infinity is not JSON"),
        (GOOD[:-1] + ', "first": "c"}', "the key 'first' stands there twice."),
        (GOOD.replace('"a"', r'"\ud800"'), "lone surrogate"),
        (GOOD.replace('"a"', "[" * 100_000), "n"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, line: str, problem: str) -> None:
    """A JSONL line that is no object is refused by its line number, blank lines counted."""
    path = written(tmp_path, "b.jsonl", f"{GOOD}\n\n{GOOD}\n{line}\n{GOOD}\n")
    said = refusal(path)
    assert f"{path}, row 4: " in said
    assert problem in said


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_the_last_line_may_end_in_any_way(tmp_path: Path, ending: str) -> None:
    """JSONL is read with and without a final line break."""
    assert len(read(written(tmp_path, "l.jsonl", f"{GOOD}{ending or chr(10)}{GOOD}{ending}"))) == 2


def test_lines_that_only_together_make_objects_are_refused(tmp_path: Path) -> None:
    """An object that is spread over two lines is not JSONL."""
    said = refusal(written(tmp_path, "t.jsonl", '{"first": "a"\n"second": "b", "outcome": "tie"}\n'))
    assert "row 1: not JSON" in said


def test_a_line_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    """U+2028 and U+0085 belong to an id like any other character."""
    record = {"first": "a\u2028b", "second": "c\x85d", "outcome": "tie"}
    made = read(written(tmp_path, "u.jsonl", json.dumps(record, ensure_ascii=False)))
    assert made.items == ["a\u2028b", "c\x85d"]


def test_jsonl_beyond_one_piece_keeps_rows_and_columns_together(tmp_path: Path) -> None:
    """Files longer than one parsed piece are read whole, with columns that begin late, and errors keep their lines."""
    lines = [
        json.dumps({"first": f"i{n % 7}", "second": "z", "outcome": "first", "repetition": n}) for n in range(45_000)
    ]
    lines[44_000] = lines[44_000][:-1] + ', "cost": 1.5}'
    made = read(written(tmp_path, "l.jsonl", "\n".join(lines)))
    assert len(made) == 45_000
    assert made.frame["cost"].notna().to_numpy().nonzero()[0].tolist() == [44_000]
    lines[41_234] = lines[41_234].replace('"first", "rep', '"left", "rep')
    said = refusal(written(tmp_path, "l.jsonl", "\n\n".join(lines)))
    assert f"row {2 * 41_234 + 1}, column 'outcome': 'left' is not known here" in said


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"[{GOOD}, 3]", "row 2: expected a record, found int."),
        (f"[{GOOD}, {GOOD[:-1]}, ]", "row 2: not JSON"),
        (f"[{GOOD}, {GOOD.replace(chr(34) + 'tie' + chr(34), 'NaN')}]", "row 2: NaN is not JSON"),
        (f"[{GOOD}, {GOOD}", "not JSON: Expecting"),
        (f"{GOOD} {GOOD}", "not JSON: Extra data (line 1"),
        ("[]", "holds an empty list"),
        ("3", "holds int."),
        (
            '{"a": 1}',
            "a JSON object of no known kind; found the keys 'a'. Rows are a list of records; evaluatorq wants entries",
        ),
        ('{"schema": "juryrank.ranking/1"}', "A saved report is opened with juryrank.load."),
    ],
)
def test_json_that_is_no_list_of_records_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    """JSON files are lists of records or known documents, and anything else is refused with its place."""
    assert problem in refusal(written(tmp_path, "j.json", text))


@pytest.mark.parametrize("column", ["first", "outcome", "weight", "judge", "context"])
@pytest.mark.parametrize("cell", [["a"], {"a": 1}, ("a", ["b"])])
def test_nested_cells_are_refused(column: str, cell: object) -> None:
    """A list or an object in a column that is read is refused with row and column."""
    good = {"first": "a", "second": "b", "outcome": "tie", "weight": 1, "judge": "j", "context": "c"}
    assert f"row 2, column '{column}': {type(cell).__name__} is nested there" in refusal([good, {**good, column: cell}])


def test_nested_cells_of_further_columns_are_kept() -> None:
    """A further column may hold anything."""
    made = read([{"first": "a", "second": "b", "outcome": "tie", "usage": {"tokens": [1, 2]}}])
    assert made.frame["usage"][0] == {"tokens": [1, 2]}


@pytest.mark.parametrize(
    ("ids", "seen"),
    [
        ((1, "1"), "the id 1 stands there once as a number and once as text"),
        ((1, 2.5), "2.5 is a float"),
        ((1, True), "True is a bool"),
        ((1, None), "no id there"),
    ],
)
def test_ids_of_mixed_type_are_refused_where_they_stand(ids: tuple[object, object], seen: str) -> None:
    """C-49i: ids that differ by type are refused by row, and never merged."""
    records = [{"first": i, "second": "z", "outcome": "tie"} for i in ids]
    said = refusal(records)
    assert "row 2, column 'first'" in said
    assert seen in said


def test_whole_numbers_and_texts_may_stand_side_by_side() -> None:
    """C-49i: integer ids are read as text, in a stable order."""
    assert read(
        [{"first": 10, "second": "b", "outcome": "tie"}, {"first": 9, "second": 1, "outcome": "tie"}]
    ).items == ["1", "10", "9", "b"]


def test_records_must_have_text_keys() -> None:
    """A key that is no text is refused."""
    assert "the key 3 is of type int" in refusal([{"first": "a", "second": "b", "outcome": "tie", 3: 1}])


def test_a_missing_key_is_an_empty_cell() -> None:
    """A record without an optional number takes no number, and one without an id is refused by row."""
    good = {"first": "a", "second": "b", "outcome": "tie"}
    made = read([{**good, "p_first": 0.5}, good])
    assert made.frame["p_first"].isna().tolist() == [False, True]
    assert "row 2, column 'judge': no id there" in refusal([{**good, "judge": "j"}, good])


# Parquet


def test_dictionary_columns_are_read_as_codes(tmp_path: Path) -> None:
    """Parquet texts come as categoricals, whether the writer stored plain texts or a dictionary."""
    frame = odd_frame()
    frame.to_parquet(tmp_path / "p.parquet", index=False)
    frame.astype({"first": "category", "outcome": "category"}).to_parquet(tmp_path / "d.parquet", index=False)
    expected = read(frame).frame
    for name in ("p.parquet", "d.parquet"):
        raw = formats.read_file(tmp_path / name)
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


@pytest.mark.parametrize(
    ("written_flag", "meant"), [("TRUE", True), ("1", True), (1.0, True), ("false", False), (0, False)]
)
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


# evaluatorq documents


def vote(
    model: str, verdict: str | None, *seen: tuple[str, int, str | None], failures: int = 0, **more: object
) -> dict[str, object]:
    """A vote as evaluatorq 1.82.0 saves it."""
    observations = [
        {"ordering": o, "repetition": r, "verdict": v, "explanation": None, "raw_output": None} for o, r, v in seen
    ]
    base = {"model": model, "vote": verdict, "flipped": False, "completed": True, "replacement": False}
    return base | {"explanation": "", "observations": observations, "repetition_failures": failures} | more


UNMEASURED = ("token_usage", "judge_latency_ms", "trace_id")


def run(*entries: tuple[str, list[dict[str, object]]], **more: object) -> dict[str, object]:
    """A PairwiseRun document of entries (question, votes)."""
    return {
        "judging": "pairwise",
        "run_name": "r",
        "created_at": "2026-01-01T00:00:00Z",
        "label_a": "sysX",
        "label_b": "sysY",
        "judges": [],
        "criteria": "",
        "swap": True,
        "entries": [
            {
                "question": question,
                "response_a": "P",
                "response_b": "Z",
                "comparison": {"winner": "A", "votes": votes} | dict.fromkeys(UNMEASURED),
                "metrics_a": None,
                "metrics_b": None,
            }
            for question, votes in entries
        ],
        "report": None,
    } | more


def test_observations_are_turned_to_the_slots_in_which_they_were_shown() -> None:
    """A ba observation stands in the items' frame, so its verdict A is the second slot."""
    seen = [(o, 0, v) for o, v in (("ab", "A"), ("ba", "A"))]
    ties = [("ab", 0, "tie"), ("ba", 0, "B")]
    made = read(run(("Q", [vote("m", "A", *seen), vote("n", None, *ties, flipped=True)])))
    assert isinstance(made, Judgments)
    assert made.frame[["judge", "first", "second", "outcome"]].values.tolist() == [
        ["m", "sysX", "sysY", "first"],
        ["m", "sysY", "sysX", "second"],
        ["n", "sysX", "sysY", "tie"],
        ["n", "sysY", "sysX", "first"],
    ]
    assert made.notes == (
        "Read the document as an evaluatorq document (format 'evaluatorq'): 1 entry.",
        "2 votes, 4 observations.",
        "Counted 2 first, 1 second, 1 tie.",
    )


def test_null_verdicts_are_failures_as_far_as_the_vote_counts_them() -> None:
    """As many nulls as repetition_failures says are failures, and the others abstentions."""
    seen = [("ab", 0, "A"), ("ab", 1, None), ("ba", 0, None), ("ba", 1, None)]
    outcomes = [read(run(("Q", [vote("m", None, *seen, failures=n)]))).frame["outcome"].tolist()[1:] for n in range(5)]
    assert [o.count("failure") for o in outcomes] == [0, 1, 2, 3, 3]
    assert [o.count("uncertain") for o in outcomes] == [3, 2, 1, 0, 0]


def test_entries_are_questions_even_where_their_text_repeats() -> None:
    """Equal questions become contexts of their own, and no made-up name meets a question that is there."""
    one = [vote("m", "A", ("ab", 0, "A"))]
    made = read(run(("Q", one), ("Q", one), ("Q #2", one), ("", one), ("Q", one), ("", one)))
    assert made.frame["context"].tolist() == ["Q", "Q #3", "Q #2", "", "Q #4", " #2"]
    assert made.frame["repetition"].tolist() == [0] * 6


def test_votes_without_observations_are_opinions() -> None:
    """A document without observations holds comparisons, by the votes as they were reconciled."""
    votes = [
        vote("a", "A"),
        vote("b", "B"),
        vote("c", "tie"),
        vote("d", None, flipped=True),
        vote("e", None),
        vote("f", None, failures=1),
    ]
    made = read(run(("Q", votes)))
    assert isinstance(made, Comparisons)
    frame = made.frame
    assert frame["status"].tolist() == ["win", "win", "tie", "disagreement", "uncertain", "failure"]
    assert frame["winner"].tolist() == ["sysX", "sysY", None, None, None, None]
    assert frame["flipped"].tolist() == [False, False, False, True, False, False]
    assert frame["completed"].tolist() == [True, True, True, True, False, False]
    assert frame["orders"].tolist() == [2] * 6
    turned = read(run(("Q", votes), label_a="z")).frame
    assert turned["p_a"].tolist()[:4] == [0.0, 1.0, 0.5, 0.5]


def test_without_the_swap_an_opinion_has_one_order() -> None:
    """A run without the swap showed A first, and no pair was completed."""
    frame = read(run(("Q", [vote("a", "A", completed=False)]), swap=False)).frame
    assert frame[["orders", "slot", "completed"]].values.tolist() == [[1, 1, False]]
    shown = read(run(("Q", [vote("a", "A", ("ab", 0, "A"), completed=False)]), swap=False))
    assert len(shown) == 1


def test_a_mixed_document_is_read_as_opinions_throughout() -> None:
    """One vote without observations makes all votes opinions, and a note says so."""
    made = read(run(("Q", [vote("a", "A", ("ab", 0, "A"), ("ba", 0, "A")), vote("b", "B")]), ("R", [])))
    assert isinstance(made, Comparisons)
    assert made.frame["winner"].tolist() == ["sysX", "sysY"]
    assert "1 entry has no votes." in made.notes
    assert any(
        note.startswith("1 vote has no observations, so every vote is read as the opinion") for note in made.notes
    )


def test_documents_are_read_from_files_and_without_optional_keys(tmp_path: Path) -> None:
    """A document in a file reads like the dict, and labels default to A and B."""
    document = run(("Q", [vote("m", "A", ("ab", 0, "A"))]))
    path = written(tmp_path, "run.json", json.dumps(document))
    same(read(path).frame, read(document).frame)
    for key in ("label_a", "label_b", "swap", "report", "judges"):
        del document[key]
    assert read(document, format="evaluatorq").items == ["A", "B"]
    assert len(read(run())) == 0


def test_documents_take_no_columns_and_rows_are_no_documents() -> None:
    """A mapping or a rows format does not go with a document, nor the reverse."""
    with pytest.raises(SettingsError, match="no columns to map"):
        read(run(), columns={"first": "x"})
    assert "wins is rows, which this is not" in refusal(run(), format="wins")
    assert "evaluatorq is one JSON object" in refusal([{"entries": 1}], format="evaluatorq")


def first_vote(entry: dict[str, Any]) -> dict[str, Any]:
    return entry["comparison"]["votes"][0]


def first_seen(entry: dict[str, Any]) -> dict[str, Any]:
    return first_vote(entry)["observations"][0]


SEEN = "comparison.votes[0].observations[0]"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: e.pop("comparison"), "'comparison': no key 'comparison' there."),
        (lambda e: e.update(question=None), "'question': expected str, found None."),
        (lambda e: e["comparison"].update(votes={}), "'comparison.votes': expected list, found {}."),
        (lambda e: e["comparison"]["votes"].append(3), "expected an object, found 3."),
        (
            lambda e: first_vote(e).update(vote="C"),
            "'comparison.votes[0].vote': 'C' is not known here; expected A, B, tie",
        ),
        (lambda e: first_vote(e).pop("vote"), "'comparison.votes[0].vote': no key 'vote' there."),
        (lambda e: first_vote(e).update(model=7), "'comparison.votes[0].model': expected str, found 7."),
        (lambda e: first_vote(e).update(model=""), "'model': an empty id."),
        (lambda e: first_vote(e).update(repetition_failures=-1), "-1 is not a whole number of at least 0."),
        (
            lambda e: first_seen(e).update(ordering="AB"),
            f"'{SEEN}.ordering': 'AB' is not known here; expected ab or ba.",
        ),
        (lambda e: first_seen(e).update(verdict="a"), f"'{SEEN}.verdict': 'a' is not known here; expected A, B, tie"),
        (lambda e: first_seen(e).update(repetition=True), f"'{SEEN}.repetition': True is not a whole number"),
        (lambda e: first_vote(e)["observations"].append(first_seen(e)), "'repetition': the showing of row 2 again"),
    ],
)
def test_unknown_things_in_a_document_are_named_by_entry_and_path(change: Any, said: str) -> None:
    """Whatever is missing or unknown in a document is refused with entry and path."""
    entry = ("Q", [vote("m", "A", ("ab", 0, "A"))])
    document = json.loads(json.dumps(run(entry, entry)))
    change(document["entries"][1])
    seen = refusal(document)
    assert seen.startswith("the document, row 2, column '")
    assert said in seen


def test_labels_must_differ_and_be_texts() -> None:
    """Two systems of one name cannot be told apart and are refused."""
    entry = ("Q", [vote("m", "A", ("ab", 0, "A"))])
    assert "'s' is compared with itself" in refusal(run(entry, label_a="s", label_b="s"))
    assert "column 'label_a': expected str, found 3" in refusal(run(entry, label_a=3))
    assert "column 'entries': expected list, found 3" in refusal({"entries": 3})


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
@pytest.mark.skipif(not SHARED.exists(), reason="the shared data are absent")
def test_the_shared_tables_are_recognised() -> None:
    """The shared data read as what they are, with the counts of their own documentation."""
    cems = read(SHARED / "classic/cems.csv")
    assert cems.notes[1:] == ("Counted 2595 win_a, 1372 win_b, 487 tie.", "91 rows without counts were skipped.")
    assert isinstance(read(SHARED / "crowd/llmfao.csv.gz"), Judgments)
    assert isinstance(read(SHARED / "classic/baseball.csv"), Comparisons)
    said = refusal(SHARED / "llm/posbias_repetition_mtbench.csv.gz")
    assert "row 720, column 'outcome_a': an empty cell is not known here" in said
