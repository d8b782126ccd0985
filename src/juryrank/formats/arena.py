"""Arena battles: two models shown side by side, model_a first, and who won."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from juryrank import tables
from juryrank.columns import numbers
from juryrank.formats.cells import by_word, coded, counted
from juryrank.formats.format import Format, carried
from juryrank.formats.source import Rows
from juryrank.tables import COMPARISON_COLUMNS, Comparisons

_WINNERS = {"model_a": 0, "model_b": 1, "tie": 2, "tie (bothbad)": 3}
_BOTH_BAD = 3


def _battles(rows: Rows) -> Comparisons:
    winner = coded(rows.frame, "winner", by_word(_WINNERS), ", ".join(_WINNERS), rows.origin)
    weight = numbers(rows.frame, "weight", rows.origin, low=0) if "weight" in rows.columns else np.ones(len(winner))
    consumed = ("model_a", "model_b", "winner")
    columns, notes = carried(rows, consumed, ("judge", "context", "group", "weight"), COMPARISON_COLUMNS)
    made = {
        "item_a": rows.frame["model_a"],
        "item_b": rows.frame["model_b"],
        "p_a": np.array([1.0, 0.0, 0.5, 0.5])[winner],
        "status": np.array(["win", "win", "tie", "tie"], dtype=object)[winner],
        "orders": np.ones(len(winner), np.int8),
        "slot": np.ones(len(winner), np.int8),
        "showings": weight,
        "both_bad": np.where(winner == _BOTH_BAD, weight, 0.0),
    }
    origin = rows.called(item_a="model_a", item_b="model_b", p_a="winner")
    result = tables.comparisons(pd.DataFrame(columns | made), origin, notes)
    return replace(result, notes=(counted(winner, list(_WINNERS)), *result.notes))


ARENA = Format(
    name="arena",
    title="arena battles",
    needs=("model_a", "model_b", "winner"),
    takes=("judge", "context", "group", "weight"),
    make=_battles,
)
