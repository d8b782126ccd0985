"""Alpaca annotations: a preference between two generators, coded 1 to 2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from juryrank import tables
from juryrank.columns import first_true, numbers
from juryrank.formats.cells import counted
from juryrank.formats.format import Format, carried
from juryrank.formats.source import Rows
from juryrank.tables import COMPARISON_COLUMNS, Comparisons

_LABELS = ("for generator_1", "for generator_2", "tie", "failure (no preference)")
_STATUS = np.array(["win", "win", "tie", "failure"], dtype=object)
#: theirs -> ours, where the source does not have ours already
_RENAMED = {"annotator": "judge", "instruction": "context"}


def _annotations(rows: Rows) -> Comparisons:
    code = _preferences(rows)
    p_a = np.where(code == 0, 0.5, 2.0 - code)
    kind = np.select([np.isnan(p_a), p_a == 0.5, p_a > 0.5], [3, 2, 0], 1)
    renamed = {theirs: ours for theirs, ours in _RENAMED.items() if theirs in rows.columns and ours not in rows.columns}
    consumed = ("generator_1", "generator_2", "preference", *renamed)
    columns, notes = carried(rows, consumed, ("judge", "context", "weight", "group"), COMPARISON_COLUMNS)
    made = {
        "item_a": rows.frame["generator_1"],
        "item_b": rows.frame["generator_2"],
        "p_a": p_a,
        "status": _STATUS[kind],
    } | {ours: rows.frame[theirs] for theirs, ours in renamed.items()}
    names = {ours: theirs for theirs, ours in renamed.items()}
    origin = rows.called(item_a="generator_1", item_b="generator_2", p_a="preference", **names)
    result = tables.comparisons(pd.DataFrame(columns | made), origin, notes)
    return replace(result, notes=(counted(kind, _LABELS), *result.notes))


def _preferences(rows: Rows) -> np.ndarray:
    """The codes: 0, or 1 to 2, or NaN for none."""
    code = numbers(rows.frame, "preference", rows.origin, null=True)
    position = first_true((code != 0) & ((code < 1) | (code > 2)))
    if position is not None:
        raise rows.origin.error(
            f"{code[position]:g} is not a preference; expected 1 (generator_1 is better) to 2 (generator_2 is better), "
            "1.5 or 0 for a tie, or nothing for a call that failed.",
            position=position,
            column="preference",
        )
    return code


ALPACA = Format(
    name="alpaca",
    title="alpaca annotations",
    needs=("generator_1", "generator_2", "preference"),
    takes=("annotator", "instruction", "judge", "context", "weight", "group"),
    make=_annotations,
)
