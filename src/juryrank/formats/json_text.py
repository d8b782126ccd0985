"""JSON and JSONL text -> records or a document.

The text is parsed in a few large calls; only when one fails is the bad line or record looked for. `NaN` and
`Infinity`, which are not JSON, and keys that stand twice in an object are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from juryrank.columns import Origin
from juryrank.errors import InputError
from juryrank.formats.source import Document, Rows, from_chunks, from_records, unreadable

#: lines parsed in one call
_CHUNK = 2_000
_SPACE = re.compile(r"[ \t\n\r,]*")
_LONE = re.compile("[\ud800-\udfff]")


def read_lines(data: bytes, source: str) -> Rows:
    """JSONL: one object a line; blank lines are skipped, and a row number is a line number. Not for blank files."""
    # Only \n ends a line: splitlines would also cut at U+2028 and its like, which may stand inside a text.
    lines = data.split(b"\n")
    filled = [number for number, line in enumerate(lines) if line and not line.isspace()]
    rows = None if filled[-1] == len(filled) - 1 else np.array(filled) + 1
    if rows is not None:
        lines = [lines[number] for number in filled]
    origin = Origin(source, rows)
    return from_chunks(_parsed(lines[: len(filled)], origin), origin)


def _parsed(lines: list[bytes], origin: Origin) -> Iterator[list[Any]]:
    for start in range(0, len(lines), _CHUNK):
        chunk = lines[start : start + _CHUNK]
        text = b",\n".join(chunk).decode()
        try:
            records = _loads(f"[{text}]")
        except (ValueError, RecursionError):
            records = []
        if len(records) != len(chunk):
            raise _bad_line(chunk, start, origin)
        _refuse_lone_surrogates(text, records, start, origin)
        yield records


def _bad_line(chunk: list[bytes], start: int, origin: Origin) -> InputError:
    for position, line in enumerate(chunk, start):
        try:
            _loads(line.decode())
        except (ValueError, RecursionError) as error:
            return origin.error(_why(error), position=position, hint="JSONL is one object a line.")
    return origin.error("the lines are not one object each.", position=start)


def read_json(text: str, source: str) -> Rows | Document:
    """JSON: a list of records, or one object, which is a document."""
    try:
        content = _loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad_json(text, error, Origin(source)) from None
    if isinstance(content, dict):
        _refuse_lone_surrogates(text, [content], 0, Origin(source))
        return Document(content, Origin(source))
    if not isinstance(content, list):
        raise unreadable(source, f"holds {type(content).__name__}.", "Expected a list of records, or a document.")
    if not content:
        raise unreadable(source, "holds an empty list: there is nothing to read.")
    _refuse_lone_surrogates(text, content, 0, Origin(source))
    return from_records(content, Origin(source))


def _bad_json(text: str, error: Exception, origin: Origin) -> InputError:
    """Name the record of a list that cannot be read, or else the line and column of the text."""
    start = _SPACE.match(text).end()  # type: ignore[union-attr]
    if text[start : start + 1] == "[":
        row, position = 0, start + 1
        while text[(position := _SPACE.match(text, position).end()) :][:1] not in ("]", ""):  # type: ignore[union-attr]
            try:
                _, position = _DECODER.raw_decode(text, position)
            except (ValueError, RecursionError) as bad:
                return origin.error(_why(bad), position=row)
            row += 1
    return origin.error(_why(error))


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})."
    return "nested too deeply." if isinstance(error, RecursionError) else f"{error}."


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} stands there twice")
    return record


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON (write null)")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_refuse_constant)
_loads = _DECODER.decode


def _refuse_lone_surrogates(text: str, records: list[Any], start: int, origin: Origin) -> None:
    r"""An escape such as \ud800 alone is half a character, which no file or page can be written with."""
    if "\\ud" not in text and "\\uD" not in text:
        return
    for position, record in enumerate(records, start):
        if _LONE.search(json.dumps(record, ensure_ascii=False)):
            raise origin.error("an escape stands for half a character (a lone surrogate).", position=position)
