"""Outcome tables: one row per opinion (or, with an order column, per showing), 1, 0.5 or 0 for the first-named item."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from juryrank import tables
from juryrank.columns import vocabulary
from juryrank.formats.cells import by_number, coded, counted
from juryrank.formats.format import Format, carried
from juryrank.formats.source import Rows
from juryrank.tables import COMPARISON_COLUMNS, JUDGMENT_COLUMNS, Comparisons, Judgments

_WON, _LOST, _TIE = range(3)
_LABELS = ("won by item_a", "won by item_b", "tie")


def _outcomes(rows: Rows) -> Judgments | Comparisons:
    result = coded(rows.frame, "outcome_a", by_number({1: _WON, 0: _LOST, 0.5: _TIE}), "1, 0.5 or 0", rows.origin)
    made = _showings(rows, result) if "order" in rows.columns else _opinions(rows, result)
    return replace(made, notes=(counted(result, _LABELS), *made.notes))


def _opinions(rows: Rows, result: np.ndarray) -> Comparisons:
    keeps = ("item_a", "item_b", "judge", "context", "weight", "group")
    columns, notes = carried(rows, ("outcome_a",), keeps, COMPARISON_COLUMNS)
    p = np.array([1.0, 0.0, 0.5])[result]
    status = np.array(["win", "win", "tie"], dtype=object)[result]
    return tables.comparisons(pd.DataFrame(columns | {"p_a": p, "status": status}), rows.called(p_a="outcome_a"), notes)


def _showings(rows: Rows, result: np.ndarray) -> Judgments:
    """`order` 0 showed item_a first, 1 showed item_b first."""
    expected = "0 (item_a first) or 1 (item_b first)"
    swapped = coded(rows.frame, "order", by_number({0: 0, 1: 1}), expected, rows.origin) == 1
    ids = vocabulary(rows.frame, ("item_a", "item_b"), rows.origin)
    a, b = ids["item_a"], ids["item_b"]
    slot = np.where(result == _TIE, 2, (result == _LOST) ^ swapped)
    made: dict[str, object] = {
        "first": pd.Categorical.from_codes(np.where(swapped, b.codes, a.codes), dtype=a.dtype),
        "second": pd.Categorical.from_codes(np.where(swapped, a.codes, b.codes), dtype=a.dtype),
        "outcome": np.array(["first", "second", "tie"], dtype=object)[slot],
    }
    passes = "repetition" if "repetition" in rows.columns else "rep"
    if passes in rows.columns:
        made["repetition"] = rows.frame[passes]
    consumed = ("item_a", "item_b", "outcome_a", "order", passes)
    columns, notes = carried(rows, consumed, ("judge", "context", "weight", "group"), JUDGMENT_COLUMNS)
    columns = tables.paired(columns, ("_a", "_b"), ("_first", "_second"), swapped)
    made["turned"] = swapped
    origin = rows.called(first="item_a", second="item_b", outcome="outcome_a", repetition=passes)
    return tables.judgments(pd.DataFrame(columns | made), origin, notes)


OUTCOMES_TABLE = Format(
    name="outcomes",
    title="an outcome table",
    needs=("item_a", "item_b", "outcome_a"),
    takes=("judge", "order", "context", "weight", "group", "rep", "repetition"),
    make=_outcomes,
)
