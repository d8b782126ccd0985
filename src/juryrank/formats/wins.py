"""Wins tables: how often each of two items won, counted already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from juryrank import tables
from juryrank.columns import first_true, numbers, vocabulary
from juryrank.formats.format import Format, carried
from juryrank.formats.source import Rows, many
from juryrank.tables import COMPARISON_COLUMNS, Comparisons

#: what a table of counts writes where a pair was not compared
_NOT_COUNTED = ("", "na", "n/a", "nan", "null", "none")
_KINDS = {"win_a": (1.0, "win"), "win_b": (0.0, "win"), "tie": (0.5, "tie")}


def _wins(rows: Rows) -> Comparisons:
    kinds = [name for name in _KINDS if name in rows.columns]
    ids = vocabulary(rows.frame, ("item_a", "item_b"), rows.origin)
    asked = _asked(rows, kinds)
    skipped = len(asked) - int(asked.sum())
    some = replace(rows, frame=rows.frame.assign(**ids)).take(np.flatnonzero(asked))
    counts = np.column_stack([numbers(some.frame, name, some.origin, low=0) for name in kinds])
    weight = numbers(some.frame, "weight", some.origin, low=0) if "weight" in some.columns else np.ones(len(counts))
    source_row, kind = np.nonzero(counts)
    made = _expanded(some.take(source_row), kind, kinds, (counts * weight[:, None])[source_row, kind])
    totals = ", ".join(f"{total:g} {name}" for total, name in zip(counts.sum(axis=0), kinds, strict=True))
    skips = f"{many(skipped, 'row')} without counts {'was' if skipped == 1 else 'were'} skipped."
    return replace(made, notes=(f"Counted {totals}.", *([skips] if skipped else ()), *made.notes))


def _asked(rows: Rows, kinds: list[str]) -> np.ndarray:
    """Mask of the rows that have counts; refuses rows that have some of them."""
    missing = np.column_stack([_missing(rows.frame[name]) for name in kinds])
    none = np.logical_and.reduce(missing, axis=1)
    position = first_true(np.logical_or.reduce(missing, axis=1) & ~none)
    if position is not None:
        raise rows.origin.error(
            "a count is missing while another one of the row is there.",
            position=position,
            column=kinds[int(np.argmax(missing[position]))],
            hint="Write 0, or leave all counts of the row empty where the pair was not compared.",
        )
    return ~none


def _missing(column: pd.Series) -> np.ndarray:
    codes, values = pd.factorize(column, use_na_sentinel=False)
    empty = [bool(pd.isna(v)) or (isinstance(v, str) and v.strip().lower() in _NOT_COUNTED) for v in values]
    return np.array(empty, dtype=bool)[codes]


def _expanded(rows: Rows, kind: np.ndarray, kinds: list[str], weight: np.ndarray) -> Comparisons:
    keeps = ("item_a", "item_b", "judge", "context", "group")
    columns, notes = carried(rows, (*kinds, "weight"), keeps, COMPARISON_COLUMNS)
    p, status = zip(*(_KINDS[name] for name in kinds), strict=True)
    made = {"p_a": np.array(p)[kind], "status": np.array(status, dtype=object)[kind], "weight": weight}
    return tables.comparisons(pd.DataFrame(columns | made), rows.origin, notes)


WINS = Format(
    name="wins",
    title="a wins table",
    needs=("item_a", "item_b", "win_a", "win_b"),
    takes=("tie", "judge", "context", "weight", "group"),
    make=_wins,
)
