"""Our own two tables, as they are written by `.frame`: judgments and comparisons."""

from __future__ import annotations

from dataclasses import replace

from juryrank import tables
from juryrank.formats.cells import by_flag, coded, counted
from juryrank.formats.format import Format
from juryrank.formats.source import Rows
from juryrank.tables import COMPARISON_COLUMNS, JUDGMENT_COLUMNS, OUTCOMES, STATUSES, Comparisons, Judgments


def _judgments(rows: Rows) -> Judgments:
    result = tables.judgments(rows.frame, rows.origin)
    note = counted(result.table["outcome"].to_numpy(), list(OUTCOMES))
    return replace(result, notes=(note, *result.notes))


def _comparisons(rows: Rows) -> Comparisons:
    flags = {
        name: coded(rows.frame, name, by_flag, "true or false", rows.origin).astype(bool)
        for name in ("flipped", "completed", "turned")
        if name in rows.columns
    }
    result = tables.comparisons(rows.frame.assign(**flags), rows.origin)
    return replace(result, notes=(counted(result.table["status"].to_numpy(), list(STATUSES)),))


_SHOWN = ("first", "second", "outcome")
_COMPARED = ("item_a", "item_b", "p_a")

JUDGMENTS = Format(
    name="judgments",
    title="judgments",
    needs=_SHOWN,
    takes=tuple(name for name in JUDGMENT_COLUMNS if name not in _SHOWN),
    make=_judgments,
)

COMPARISONS = Format(
    name="comparisons",
    title="comparisons",
    needs=_COMPARED,
    takes=tuple(name for name in COMPARISON_COLUMNS if name not in _COMPARED),
    make=_comparisons,
)
