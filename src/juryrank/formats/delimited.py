"""CSV and TSV text -> rows of text cells, exactly as written.

Every cell is text, so `NA`, `None`, `007` and the empty cell stay what they are. Blank lines are no rows; a row number
counts the rows under the header from 1, whatever line breaks their cells hold.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd

from juryrank.columns import Origin
from juryrank.errors import InputError
from juryrank.formats.source import Rows, from_frame, many, unreadable


def read_delimited(data: bytes, source: str, separator: str) -> Rows:
    """Read UTF-8 bytes whose first row is the header; every row must be as wide as the header."""
    frame = _cells(data, source, separator)
    _refuse_short_rows(data, frame, source, separator)
    header = pd.Index(frame.iloc[0].tolist(), dtype=object)
    body = frame.iloc[1:].reset_index(drop=True).set_axis(header, axis=1)
    return from_frame(body, Origin(source))


def _cells(data: bytes, source: str, separator: str) -> pd.DataFrame:
    """All rows, the header among them: only so are doubled names and overlong rows seen as they are."""
    try:
        return pd.read_csv(io.BytesIO(data), header=None, dtype=object, keep_default_na=False, sep=separator)
    except pd.errors.EmptyDataError:
        raise unreadable(source, "the file is empty.") from None
    except pd.errors.ParserError as error:
        raise _parser_error(str(error), data, source, separator) from None


def _parser_error(message: str, data: bytes, source: str, separator: str) -> InputError:
    opened = re.search(r"EOF inside string starting at row (\d+)", message)
    if opened:
        return InputError.at(source, "a quotation mark is opened and never closed.", row=int(opened[1]))
    return _ragged(data, source, separator) or unreadable(source, f"cannot be split into cells: {message.strip()}")


def _refuse_short_rows(data: bytes, frame: pd.DataFrame, source: str, separator: str) -> None:
    """The parser pads short rows with empty cells: refuse them, for nobody wrote those."""
    if b'"' not in data and data.count(separator.encode()) == frame.shape[0] * (frame.shape[1] - 1):
        return
    error = _ragged(data, source, separator)
    if error is not None:
        raise error


def _ragged(data: bytes, source: str, separator: str) -> InputError | None:
    """The error for the first row that is not as wide as the header, if there is one."""
    with _any_width():
        widths = _widths(data, separator)
        header = next(widths, 0)
        for row, width in enumerate(widths, 1):
            if width != header:
                problem = f"{many(width, 'cell')}, but the header has {header}."
                return InputError.at(source, problem, row=row, hint="A cell that holds the separator needs quotes.")
    return None


def _widths(data: bytes, separator: str) -> Iterator[int]:
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    for cells in csv.reader(lines, delimiter=separator):
        if len(cells) > 1 or (cells and cells[0].strip(" \t")):
            yield len(cells)


@contextmanager
def _any_width() -> Iterator[None]:
    """Explanations may be longer than the standard library's limit for a cell."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)
