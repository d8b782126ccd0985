"""What a reader hands to a format: a frame of raw cells, or a document, and where it came from.

A raw frame holds what the source holds, under the source's names (or ours, where the caller mapped them): text from
CSV, text and numbers from JSON and Parquet, whatever a caller's own frame has. Nothing is interpreted here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from operator import is_, itemgetter
from typing import Any

import numpy as np
import pandas as pd

from juryrank.columns import Origin
from juryrank.errors import InputError, SettingsError


@dataclass(frozen=True, eq=False)
class Rows:
    """A source of rows: `frame` has one row per source row and text as column names."""

    frame: pd.DataFrame
    origin: Origin = field(default_factory=Origin)
    #: column -> mask of the records that lack the key altogether (for sources whose records may)
    absent: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names found, in their order."""
        return list(self.frame.columns)

    @property
    def size(self) -> str:
        """How much was read, in words."""
        return many(len(self.frame), "row")

    def row_numbers(self) -> np.ndarray:
        """The source row of each row of the frame, from 1."""
        rows = self.origin.rows
        return np.arange(1, len(self.frame) + 1) if rows is None else np.asarray(rows)

    def called(self, **sources: str) -> Origin:
        """The origin for columns that a format renames: our name -> the name that the format reads."""
        names = self.origin.names
        return replace(self.origin, names={**names, **{ours: names.get(own, own) for ours, own in sources.items()}})

    def take(self, positions: np.ndarray) -> Rows:
        """The rows at `positions` (repeats allowed), which keep their source row numbers."""
        origin = replace(self.origin, rows=self.row_numbers()[positions])
        return replace(self, frame=self.frame.take(positions).reset_index(drop=True), origin=origin, absent={})


@dataclass(frozen=True, eq=False)
class Document:
    """A source that is one JSON object."""

    content: Mapping[str, Any]
    origin: Origin = field(default_factory=Origin)
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The keys found."""
        return [str(key) for key in self.content]

    @property
    def size(self) -> str:
        """How much was read, in words."""
        entries = self.content.get("entries")
        return many(len(entries), "entry", "entries") if isinstance(entries, list) else "one object"


def many(number: int, one: str, more: str = "") -> str:
    """`1 row`, `2 rows`."""
    return f"{number} {one if number == 1 else more or one + 's'}"


def listed(names: Collection[object]) -> str:
    """Names as a reader sees them in a message."""
    return ", ".join(map(repr, names)) or "none"


def from_frame(frame: pd.DataFrame, origin: Origin) -> Rows:
    """A caller's frame, under text column names; refuses doubled and layered ones."""
    if isinstance(frame.columns, pd.MultiIndex):
        raise origin.error("its columns have several levels.", hint="Flatten them to one name each.")
    frame = frame.set_axis(pd.Index(map(str, frame.columns), dtype=object), axis=1)
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise origin.error(f"the column {doubled[0]!r} stands there twice.", hint="Every column needs its own name.")
    return Rows(frame, origin)


def from_records(records: Sequence[object], origin: Origin) -> Rows:
    """A list of objects, one row each; a key that a record lacks is an empty cell, and is remembered as absent."""
    return from_chunks([records], origin)


def from_chunks(chunks: Iterable[Sequence[object]], origin: Origin) -> Rows:
    """Records in pieces, so that only one piece is held as objects at a time."""
    pieces: list[dict[str, np.ndarray]] = []
    lengths: list[int] = []
    for chunk in chunks:
        _refuse_other_records(chunk, sum(lengths), origin)
        pieces.append(_cells_by_name(chunk, origin))
        lengths.append(len(chunk))
    names = dict.fromkeys(chain.from_iterable(pieces))
    absent: dict[str, np.ndarray] = {}
    columns = {name: _column(name, pieces, lengths, absent) for name in names}
    index = pd.RangeIndex(sum(lengths))
    return Rows(pd.DataFrame(columns, index=index, columns=pd.Index(list(names), dtype=object)), origin, absent)


def _refuse_other_records(records: Sequence[object], start: int, origin: Origin) -> None:
    if set(map(type, records)) <= {dict}:
        return
    for position, record in enumerate(records, start):
        if not isinstance(record, dict):
            raise origin.error(
                f"expected a record, found {type(record).__name__}.",
                position=position,
                hint="Every row is one object: {column: value}.",
            )


#: what stands in for a key that a record lacks, until the pieces are joined
_ABSENT = object()


def _cells_by_name(records: Sequence[Any], origin: Origin) -> dict[str, np.ndarray]:
    names: dict[Any, None] = dict.fromkeys(chain.from_iterable(records))
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise origin.error(f"the key {odd[0]!r} is of type {type(odd[0]).__name__}; column names are text.")
    return {name: _cells(records, name) for name in names}


def _cells(records: Sequence[Any], name: str) -> np.ndarray:
    try:
        cells = np.fromiter(map(itemgetter(name), records), dtype=object, count=len(records))
    except KeyError:
        cells = np.fromiter((record.get(name, _ABSENT) for record in records), dtype=object, count=len(records))
    if pd.api.types.infer_dtype(cells, skipna=False) != "string":
        return cells
    # The parser makes a new text for every cell: hold each distinct one once.
    codes, texts = pd.factorize(cells)
    return texts[codes]


def _column(
    name: str, pieces: Sequence[Mapping[str, np.ndarray]], lengths: Sequence[int], absent: dict[str, np.ndarray]
) -> pd.Series:
    """One column over all pieces; which records lack it goes into `absent`."""
    cells = np.concatenate(
        [piece.get(name, np.full(n, _ABSENT, dtype=object)) for piece, n in zip(pieces, lengths, strict=True)]
    )
    if pd.api.types.infer_dtype(cells, skipna=False).startswith("mixed"):
        lacking = np.fromiter(map(is_, cells, repeat(_ABSENT)), dtype=bool, count=len(cells))
        if lacking.any():
            absent[name] = lacking
            cells[lacking] = np.nan
    column = pd.Series(cells, dtype=object)
    # Columns of numbers alone are held as such; mixed ones stay as written, so that 1 and "1" can be told apart.
    numeric = pd.api.types.infer_dtype(column, skipna=False) in ("integer", "floating", "boolean")
    return column.infer_objects() if numeric else column


def mapped(rows: Rows, columns: Mapping[str, str], known: Collection[str]) -> Rows:
    """Give the columns the names that the caller mapped (ours -> theirs).

    A column that already has one of our mapped names gives way, and a note says so. Raises `SettingsError` for a name
    that no format reads and `InputError` for a column that is not there.
    """
    unknown = [ours for ours in columns if ours not in known]
    if unknown:
        raise SettingsError(f"no format reads a column {listed(unknown)}; known are {', '.join(sorted(known))}.")
    missing = [f"{theirs!r} (for {ours!r})" for ours, theirs in columns.items() if theirs not in rows.columns]
    if missing:
        raise rows.origin.error(f"no column {', '.join(missing)}; found {listed(rows.columns)}.")
    used = set(columns.values())
    replaced = [ours for ours in columns if ours in rows.columns and ours not in used]
    kept = {name: rows.frame[name] for name in rows.columns if name not in used and name not in columns}
    frame = pd.DataFrame({ours: rows.frame[theirs] for ours, theirs in columns.items()} | kept)
    frame.columns = pd.Index(frame.columns, dtype=object)
    absent = {name: mask for name, mask in rows.absent.items() if name in kept}
    absent |= {ours: rows.absent[theirs] for ours, theirs in columns.items() if theirs in rows.absent}
    notes = [f"The column {ours!r} gave way to {columns[ours]!r}, which was mapped onto it." for ours in replaced]
    return Rows(frame, replace(rows.origin, names=dict(columns)), absent, rows.notes + tuple(notes))


def refuse_nested(rows: Rows, names: Collection[str]) -> None:
    """Refuse lists and objects in the cells of the named columns."""
    for name in names:
        if name not in rows.columns or not pd.api.types.infer_dtype(rows.frame[name]).startswith("mixed"):
            continue
        nested = [kind for kind in set(map(type, rows.frame[name])) if kind.__hash__ is None or kind is tuple]
        if nested:
            position = next(i for i, cell in enumerate(rows.frame[name]) if type(cell) in nested)
            value = rows.frame[name].iloc[position]
            raise rows.origin.error(
                f"{type(value).__name__} is nested there; a cell holds one text or one number.",
                position=position,
                column=name,
            )


def unreadable(source: str, problem: str, hint: str = "") -> InputError:
    """A file that cannot be opened as what it says it is."""
    return InputError.at(source, problem, hint=hint)
