"""Tests of JSON, JSONL and lists of records as sources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from formats_support import refusal, written

from juryrank.formats import read

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
    lines = [json.dumps({"first": f"i{n % 7}", "second": "z", "outcome": "first", "repetition": n}) for n in range(45_000)]
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
    assert read([{"first": 10, "second": "b", "outcome": "tie"}, {"first": 9, "second": 1, "outcome": "tie"}]).items == [
        "1",
        "10",
        "9",
        "b",
    ]


def test_records_must_have_text_keys() -> None:
    """A key that is no text is refused."""
    assert "the key 3 is of type int" in refusal([{"first": "a", "second": "b", "outcome": "tie", 3: 1}])


def test_a_missing_key_is_an_empty_cell() -> None:
    """A record without an optional number takes no number, and one without an id is refused by row."""
    good = {"first": "a", "second": "b", "outcome": "tie"}
    made = read([{**good, "p_first": 0.5}, good])
    assert made.frame["p_first"].isna().tolist() == [False, True]
    assert "row 2, column 'judge': no id there" in refusal([{**good, "judge": "j"}, good])
