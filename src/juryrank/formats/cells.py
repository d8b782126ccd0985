"""Agreed words and numbers in cells -> small codes, and what was counted, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from juryrank.columns import Origin, first_true

UNKNOWN = -1


def coded(frame: pd.DataFrame, name: str, code_of: Callable[[Any], int], expected: str, origin: Origin) -> np.ndarray:
    """A column of agreed cells -> int8 codes; the first cell without a code is an error that names it."""
    codes, values = pd.factorize(frame[name], use_na_sentinel=False)
    known = np.array([code_of(value) for value in values], dtype=np.int8)[codes]
    position = first_true(known == UNKNOWN)
    if position is not None:
        value = frame[name].iloc[position]
        seen = "an empty cell" if blank(value) else repr(value.item() if isinstance(value, np.generic) else value)
        raise origin.error(f"{seen} is not known here; expected {expected}.", position=position, column=name)
    return known


def blank(value: Any) -> bool:
    """Whether a cell holds nothing: a null, or the empty text."""
    return value is None or value is pd.NA or (isinstance(value, str) and value == "") or bool(value != value)


def by_word(codes: Mapping[str, int], null: int = UNKNOWN) -> Callable[[Any], int]:
    """Codes of texts, matched exactly; `null` is the code of an empty cell."""

    def code_of(value: Any) -> int:
        if blank(value):
            return null
        return codes.get(value, UNKNOWN) if isinstance(value, str) else UNKNOWN

    return code_of


def by_number(codes: Mapping[float, int]) -> Callable[[Any], int]:
    """Codes of numbers, or of texts that write them (`1`, `1.0`)."""

    def code_of(value: Any) -> int:
        number = _number(value)
        return UNKNOWN if number is None else codes.get(number, UNKNOWN)

    return code_of


def _number(value: Any) -> float | None:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (str, int, float, Decimal, np.number)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def by_flag(value: Any) -> int:
    """0 or 1 for the ways in which files write false and true."""
    return {"true": 1, "1": 1, "1.0": 1, "false": 0, "0": 0, "0.0": 0}.get(str(value).lower(), UNKNOWN)


def counted(codes: np.ndarray, labels: Sequence[str]) -> str:
    """`Counted 20 model_a, 15 model_b.`, without the labels that never occur."""
    numbers = np.bincount(codes, minlength=len(labels))
    parts = [f"{number} {label}" for number, label in zip(numbers, labels, strict=True) if number]
    return f"Counted {', '.join(parts)}." if parts else "Counted nothing."
