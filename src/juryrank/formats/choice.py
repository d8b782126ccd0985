"""Left/right choice records: two candidates side by side, and the side that was chosen; null is a call that failed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from juryrank import tables
from juryrank.columns import first_true
from juryrank.formats.cells import by_word, coded, counted
from juryrank.formats.format import Format, carried
from juryrank.formats.source import Rows
from juryrank.tables import JUDGMENT_COLUMNS, Judgments

_CHOICES = {"left": 0, "right": 1, "tie": 2, "uncertain": 3}
_FAILED = 4
_OUTCOMES = np.array(["first", "second", "tie", "uncertain", "failure"], dtype=object)
_LABELS = ("left", "right", "tie", "uncertain", "failure (no choice)")


def _choices(rows: Rows) -> Judgments:
    _refuse_records_without_the_key(rows)
    expected = "left, right, tie, uncertain, or nothing for a call that failed"
    choice = coded(rows.frame, "choice", by_word(_CHOICES, null=_FAILED), expected, rows.origin)
    keeps = ("context", "judge", "repetition", "weight", "p_first", "group")
    columns, notes = carried(rows, ("left", "right", "choice"), keeps, JUDGMENT_COLUMNS)
    made = {"first": rows.frame["left"], "second": rows.frame["right"], "outcome": _OUTCOMES[choice]}
    origin = rows.called(first="left", second="right", outcome="choice")
    result = tables.judgments(pd.DataFrame(columns | made), origin, notes)
    return replace(result, notes=(counted(choice, _LABELS), *result.notes))


def _refuse_records_without_the_key(rows: Rows) -> None:
    position = first_true(rows.absent.get("choice", np.zeros(1, bool)))
    if position is not None:
        raise rows.origin.error(
            "the record has no such key.",
            position=position,
            column="choice",
            hint="A call that failed is written as null.",
        )


CHOICE = Format(
    name="choice",
    title="left/right choices",
    needs=("left", "right", "choice"),
    takes=("context", "judge", "repetition", "weight", "p_first", "group"),
    make=_choices,
)
