"""Cells of a foreign frame -> typed columns, or a refusal that names source, row, column and value.

Conventions: ids are text. Whole numbers are read as their decimal text; a vocabulary that holds both the number 1
and the text "1" is refused, since the two would merge. Columns that name the same things (both slots of a showing)
share one vocabulary, sorted as text, so that codes compare as the ids do.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from juryrank.errors import InputError


@dataclass(frozen=True)
class Origin:
    """Where a frame came from, so that an error can point at the cell as the user knows it."""

    source: str = "the frame"
    #: source row (from 1, header not counted) of each row of the frame; None = position + 1
    rows: np.ndarray | None = None
    #: our column name -> the name it has in the source
    names: Mapping[str, str] = field(default_factory=dict)

    def row(self, position: int) -> int:
        """The source row of a frame position."""
        return int(position) + 1 if self.rows is None else int(self.rows[position])

    def error(self, problem: str, *, position: int | None = None, column: str | None = None, hint: str = "") -> InputError:
        """An `InputError` at a position of the frame."""
        row = None if position is None else self.row(position)
        return InputError.at(self.source, problem, row=row, column=self.names.get(column or "", column), hint=hint)


def require(frame: pd.DataFrame, columns: Iterable[str], origin: Origin) -> None:
    """Refuse a frame that lacks one of `columns` or has a column twice."""
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise origin.error(f"the column {doubled[0]!r} stands there twice.")
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise origin.error(
            f"no column {', '.join(map(repr, missing))}; found {', '.join(map(repr, frame.columns)) or 'none'}.",
            hint="Name it with a column mapping (--column ours=theirs, or columns={ours: theirs}).",
        )


def first_true(mask: np.ndarray) -> int | None:
    """Position of the first True, or None."""
    return int(np.argmax(mask)) if mask.any() else None


def vocabulary(
    frame: pd.DataFrame, columns: Sequence[str], origin: Origin, *, blank: bool = False
) -> dict[str, pd.Categorical]:
    """Text columns -> ordered categoricals over one shared, sorted vocabulary.

    Nulls are refused, and so are empty or blank texts unless `blank` is allowed.
    """
    factors = {name: _factor(frame[name], name, origin) for name in columns}
    texts: dict[str, tuple[type, str, int]] = {}
    for name, (codes, values) in factors.items():
        for code, value in enumerate(values):
            text = str(value)
            kind = str if isinstance(value, str) else int
            if kind is str and not blank and not text.strip():
                position = int(np.argmax(codes == code))
                raise origin.error("an empty id.", position=position, column=name, hint="Every id needs a text.")
            if texts.setdefault(text, (kind, name, code))[0] is not kind:
                position = int(np.argmax(codes == code))
                raise origin.error(
                    f"the id {text} stands there once as a number and once as text.",
                    position=position,
                    column=name,
                    hint="They would be two ids that print alike: write all of them as text.",
                )
    ordered = sorted(texts)
    place = {text: i for i, text in enumerate(ordered)}
    categories = pd.Index(ordered, dtype=object)
    return {
        name: pd.Categorical.from_codes(
            np.array([place[str(v)] for v in values], dtype=np.int64)[codes] if len(codes) else codes,
            categories=categories,
            ordered=True,
        )
        for name, (codes, values) in factors.items()
    }


def _factor(column: pd.Series, name: str, origin: Origin) -> tuple[np.ndarray, list[str | int]]:
    """One column -> codes into its distinct values, each a text or an int."""
    position = first_true(column.isna().to_numpy())
    if position is not None:
        raise origin.error("no id there.", position=position, column=name, hint="Every row needs one.")
    if isinstance(column.dtype, pd.CategoricalDtype):
        used = column.cat.remove_unused_categories()
        values = pd.Series(used.cat.categories)
        _refuse_odd_types(values, name, origin, positions=used.cat.codes.to_numpy())
        return used.cat.codes.to_numpy(), values.tolist()
    _refuse_odd_types(column, name, origin)
    codes, values = pd.factorize(column)
    return codes, list(values)


def _refuse_odd_types(values: pd.Series, name: str, origin: Origin, positions: np.ndarray | None = None) -> None:
    """Ids are text or whole numbers: True, 1.5 and nested values are refused, since their text is a guess."""
    if not len(values) or pd.api.types.infer_dtype(values, skipna=False) in ("string", "integer"):
        return
    for i, value in enumerate(values):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
        if not whole and not isinstance(value, str):
            position = i if positions is None else int(np.argmax(positions == i))
            raise origin.error(
                f"{value!r} is a {type(value).__name__}; ids are text or whole numbers.", position=position, column=name
            )


def words(frame: pd.DataFrame, name: str, allowed: Mapping[str, int], origin: Origin) -> np.ndarray:
    """A column of agreed words -> their int8 codes; anything else is an error with a suggestion where one is near."""
    _refuse_nested(frame[name], name, origin)
    codes, values = pd.factorize(frame[name], use_na_sentinel=False)
    table = np.array([_word(v, allowed) for v in values], dtype=np.int8)
    known = table[codes] if len(codes) else np.empty(0, np.int8)
    position = first_true(known < 0)
    if position is not None:
        value = frame[name].iloc[position]
        empty = pd.isna(value) if np.isscalar(value) or value is None else False
        seen = "an empty cell" if empty or value == "" else repr(value)
        hint = "A call that gave no answer is written as 'failure'." if "failure" in allowed and seen[0] == "a" else ""
        near = str(value).strip().lower()
        if seen[0] != "a" and near in allowed:
            hint = f"Did you mean {near!r}?"
        raise origin.error(
            f"{seen} is not known here; expected {', '.join(allowed)}.", position=position, column=name, hint=hint
        )
    return known


def _word(value: object, allowed: Mapping[str, int]) -> int:
    return allowed.get(value, -1) if isinstance(value, str) else -1


def numbers(
    frame: pd.DataFrame,
    name: str,
    origin: Origin,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    null: bool = False,
    whole: bool = False,
) -> np.ndarray:
    """A column of numbers in [low, high] -> float64; NaN only where `null` is allowed."""
    column = frame[name]
    _refuse_nested(column, name, origin)
    if pd.api.types.is_bool_dtype(column.dtype) or (
        column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "boolean"
    ):
        raise origin.error("true and false are not numbers.", column=name)
    empty = column.isna().to_numpy()
    if not pd.api.types.is_numeric_dtype(column.dtype):
        empty = empty | (column.astype(object) == "").to_numpy()
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype(object)
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = ~empty & ~((values >= low) & (values <= high) & np.isfinite(values))
    if not null:
        bad = bad | empty
    if whole:
        with np.errstate(invalid="ignore"):
            bad = bad | (~empty & (values != np.floor(values)))
    position = first_true(bad)
    if position is None:
        return values
    kind = "a whole number" if whole else "a finite number"
    bounds = "" if np.isinf(low) else f" of at least {low:g}" if np.isinf(high) else f" between {low:g} and {high:g}"
    seen = "an empty cell" if empty[position] else repr(_plain(frame[name].iloc[position]))
    raise origin.error(f"{seen} is not {kind}{bounds}.", position=position, column=name)


def _refuse_nested(column: pd.Series, name: str, origin: Origin) -> None:
    if column.dtype != object or pd.api.types.infer_dtype(column, skipna=True) != "mixed":
        return
    nested = column.map(lambda value: isinstance(value, (list, dict, set, tuple, np.ndarray))).to_numpy(dtype=bool)
    position = first_true(nested)
    if position is not None:
        raise origin.error(f"{column.iloc[position]!r} is not a single value.", position=position, column=name)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def number_rows(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number equal rows of integer columns alike, in sorted order: (number of each row, the distinct rows)."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        # Renumbering after each column keeps the mixed key under rows**2, whatever the sizes of the vocabularies.
        key = number * (int(column.max(initial=0)) + 1) + column
        uniques, number = np.unique(key, return_inverse=True)
    n = len(uniques) if len(columns[0]) else 0
    first = np.empty(n, np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return number, np.stack([column[first] for column in columns], axis=1)


def value_codes(values: np.ndarray | None) -> list[np.ndarray]:
    """Each column of (rows, columns) numbers as codes of its distinct values; none for None."""
    return [] if values is None else [np.unique(column, return_inverse=True)[1] for column in values.T]


def merged(values: np.ndarray | None, number: np.ndarray, n: int) -> np.ndarray | None:
    """(n, columns): the values of the rows with each number, which are equal; None for None."""
    if values is None:
        return None
    found = np.empty((n, values.shape[1]))
    found[number] = values
    return found


def look_alikes(ids: Iterable[str], kind: str) -> list[str]:
    """Warnings for ids that differ only by case, spaces, invisible characters or Unicode form."""
    same: dict[str, list[str]] = defaultdict(list)
    for text in ids:
        same[_skeleton(text)].append(text)
    return [
        f"{kind} ids that look alike are kept apart: {', '.join(map(repr, group))}."
        for group in same.values()
        if len(group) > 1
    ]


def _skeleton(text: str) -> str:
    if text.isascii():
        return " ".join(text.split()).casefold()
    visible = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return " ".join(visible.split()).casefold()
