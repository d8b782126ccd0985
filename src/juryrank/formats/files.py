"""A path -> raw rows or a document, by the file's suffix."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from juryrank.errors import InputError
from juryrank.formats.delimited import read_delimited
from juryrank.formats.json_text import read_json, read_lines
from juryrank.formats.parquet import read_parquet
from juryrank.formats.source import Document, Rows, unreadable

_BOM = b"\xef\xbb\xbf"
_LEDGERS = (".db", ".sqlite", ".sqlite3")
_TEXTS: Mapping[str, Callable[[bytes, str], Rows | Document]] = {
    ".csv": lambda data, source: read_delimited(data, source, ","),
    ".tsv": lambda data, source: read_delimited(data, source, "\t"),
    ".jsonl": lambda data, source: read_lines(data, source),
    ".ndjson": lambda data, source: read_lines(data, source),
    ".json": lambda data, source: read_json(data.decode(), source),
}
ACCEPTED = f"{', '.join(_TEXTS)} (each also with .gz), .parquet"


def read_file(path: str | os.PathLike[str]) -> Rows | Document:
    """Read a file as its suffix says.

    Raises `InputError` for a file that is absent, empty, of an unknown kind, or not what its suffix says, and
    `MissingExtraError` for Parquet without pyarrow.
    """
    source = os.fspath(path)
    if not source or "\0" in source:
        raise unreadable(repr(source), "no such file.")
    name = Path(source).name.lower()
    packed = name.endswith(".gz")
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix in _LEDGERS:
        raise unreadable(source, "ledgers are not read by this version of juryrank.", "Export the judgments first.")
    if suffix not in _TEXTS and (suffix != ".parquet" or packed):
        raise _unknown_kind(source, suffix)
    data = _bytes(source)
    if packed:
        data = _unpacked(data, source)
    if not data.removeprefix(_BOM).strip():
        raise unreadable(source, "the file is empty.")
    if suffix == ".parquet":
        return read_parquet(data, source)
    return _TEXTS[suffix](_text(data, source), source)


def _unknown_kind(source: str, suffix: str) -> InputError:
    path = Path(source)
    if path.is_dir():
        return unreadable(source, "a directory, not a file.")
    if not path.exists():
        return unreadable(source, "no such file.")
    seen = f"files ending in {suffix!r} are" if suffix else "files without a suffix are"
    return unreadable(source, f"{seen} not read.", f"Accepted are {ACCEPTED}.")


def _bytes(source: str) -> bytes:
    try:
        return Path(source).read_bytes()
    except IsADirectoryError:
        raise unreadable(source, "a directory, not a file.") from None
    except FileNotFoundError:
        raise unreadable(source, "no such file.") from None
    except OSError as error:
        raise unreadable(source, f"cannot be opened: {error.strerror or error}.") from None


def _unpacked(data: bytes, source: str) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(source, f"not a whole gzip file: {error}.") from None


def _text(data: bytes, source: str) -> bytes:
    """The bytes, without a byte order mark, once they are known to be UTF-8 text without NULs."""
    data = data.removeprefix(_BOM)
    hint = "Save the file as UTF-8."
    if b"\0" in data:
        place = _place(data, data.index(b"\0"))
        raise unreadable(source, f"a NUL byte stands {place}: this is no UTF-8 text.", hint)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise unreadable(source, f"byte 0x{byte:02x} {_place(data, error.start)} is not UTF-8.", hint) from None
    return data


def _place(data: bytes, position: int) -> str:
    line = data.count(b"\n", 0, position) + 1
    return f"at offset {position} (line {line})"
