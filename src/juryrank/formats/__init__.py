"""The door for foreign files: `read` finds out what a source is and makes it judgments or comparisons.

A source that fits several formats is read as the first of `FORMATS` that it fits (our own tables before foreign
ones), and a note names the others. A new format is one file here and one more entry in `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from juryrank.columns import Origin
from juryrank.errors import InputError, SettingsError
from juryrank.formats.alpaca import ALPACA
from juryrank.formats.arena import ARENA
from juryrank.formats.choice import CHOICE
from juryrank.formats.evaluatorq import EVALUATORQ
from juryrank.formats.files import ACCEPTED, read_file
from juryrank.formats.format import Format
from juryrank.formats.outcomes import OUTCOMES_TABLE
from juryrank.formats.own import COMPARISONS, JUDGMENTS
from juryrank.formats.source import Document, Rows, from_frame, from_records, listed, mapped, refuse_nested
from juryrank.formats.wins import WINS
from juryrank.tables import Comparisons, Judgments

__all__ = ["ACCEPTED", "FORMATS", "Format", "read"]

FORMATS: tuple[Format, ...] = (JUDGMENTS, COMPARISONS, OUTCOMES_TABLE, WINS, CHOICE, ARENA, ALPACA, EVALUATORQ)


def read(source: Any, *, format: str = "auto", columns: Mapping[str, str] | None = None) -> Judgments | Comparisons:
    """Read a path, a frame, a list of dicts or an evaluatorq document; a table that is made already is returned as is.

    `format` is "auto" or the name of one of `FORMATS`; `columns` maps our column names to those of the source. The
    notes of the result say what was recognised and what was counted as what.

    Raises `InputError` (naming source, row, column and value) for anything in the source that is not known,
    `SettingsError` for an unknown format or mapped name, and `MissingExtraError` for Parquet without pyarrow.
    """
    chosen = _named(format)
    made_from = getattr(source, "data", None)  # an earlier result holds the table that it was made from
    source = made_from if isinstance(made_from, (Judgments, Comparisons)) else source
    if isinstance(source, (Judgments, Comparisons)):
        return _as_it_is(source, chosen, columns)
    raw = _opened(source)
    if columns:
        raw = _mapped(raw, columns)
    fitting = _fitting(raw, chosen)
    kind = fitting[0]
    if isinstance(raw, Rows):
        refuse_nested(raw, kind.needs + kind.takes)
    made = kind.make(raw)
    first = f"Read {raw.origin.source} as {kind.title} (format {kind.name!r}): {raw.size}."
    return replace(made, notes=(first, *_others(fitting), *raw.notes, *made.notes))


def _named(format: str) -> Format | None:
    if format == "auto":
        return None
    for kind in FORMATS:
        if kind.name == format:
            return kind
    raise SettingsError(f"{format!r} is no format; known are auto, {', '.join(kind.name for kind in FORMATS)}.")


def _as_it_is(
    source: Judgments | Comparisons, chosen: Format | None, columns: Mapping[str, str] | None
) -> Judgments | Comparisons:
    own = JUDGMENTS if isinstance(source, Judgments) else COMPARISONS
    if columns or chosen not in (None, own):
        raise SettingsError(f"{own.title} that are read already take no other format and no column mapping.")
    return source


def _opened(source: Any) -> Rows | Document:
    if isinstance(source, pd.DataFrame):
        return from_frame(source, Origin("the frame"))
    if isinstance(source, Mapping):
        return Document(source, Origin("the document"))
    if isinstance(source, (list, tuple)):
        if not source:
            raise InputError.at("the records", "an empty list: there is nothing to read.")
        return from_records(source, Origin("the records"))
    if isinstance(source, (str, os.PathLike)):
        return read_file(source)
    raise InputError(
        f"{type(source).__name__} is no source; expected a path, a pandas frame, a list of dicts, an evaluatorq "
        "document, or judgments or comparisons that are read already."
    )


def _mapped(raw: Rows | Document, columns: Mapping[str, str]) -> Rows:
    if isinstance(raw, Document):
        raise SettingsError(f"{raw.origin.source}: a document has no columns to map.")
    known = {name for kind in FORMATS if not kind.document for name in kind.needs + kind.takes}
    return mapped(raw, {ours: str(theirs) for ours, theirs in columns.items()}, known)


def _fitting(raw: Rows | Document, chosen: Format | None) -> list[Format]:
    """The formats that fit, the one to take first; never none."""
    if chosen is not None:
        if not chosen.fits(raw):
            raise _unfit(raw, chosen)
        return [chosen]
    fitting = [kind for kind in FORMATS if kind.fits(raw)]
    if not fitting:
        raise _unknown(raw)
    return fitting


def _others(fitting: list[Format]) -> list[str]:
    names = ", ".join(repr(kind.name) for kind in fitting[1:])
    return [f"Its columns also fit {names}: give the format to have it read so."] if names else []


def _unfit(raw: Rows | Document, chosen: Format) -> InputError:
    if isinstance(raw, Document) != chosen.document:
        shape = "one JSON object" if chosen.document else "rows"
        return raw.origin.error(f"{chosen.name} is {shape}, which this is not; found {listed(raw.columns)}.")
    return raw.origin.error(
        f"no column {listed(chosen.missing(raw))}; found {listed(raw.columns)}.", hint=f"{chosen.wants()}. {_HINT}"
    )


_HINT = "Name columns with a mapping (--column ours=theirs, or columns={ours: theirs})."


def _unknown(raw: Rows | Document) -> InputError:
    found = listed(raw.columns)
    if isinstance(raw, Document):
        saved = str(raw.content.get("schema", "")).startswith("juryrank.")
        hint = (
            "A saved report is opened with juryrank.load." if saved else f"Rows are a list of records; {EVALUATORQ.wants()}."
        )
        return raw.origin.error(f"a JSON object of no known kind; found the keys {found}.", hint=hint)
    wants = "; ".join(kind.wants() for kind in FORMATS if not kind.document)
    split = [sep for sep in (";", "\t", "|") if len(raw.columns) == 1 and sep in raw.columns[0]]
    hint = f"The cells look as if they were separated by {split[0]!r}. " if split else ""
    return raw.origin.error(f"the columns fit no format; found {found}.", hint=f"{hint}{wants}. {_HINT}")
