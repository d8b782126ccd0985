"""What may sway a judge beside the merit of the items (the length of an answer, say), read from the further columns.

Conventions: the value of a covariate is that of item_a minus that of item_b, whoever was shown first. A column `x` holds
the difference as its row names the two items: first minus second for showings, item_a minus item_b for opinions and for
outcome tables, where the table says by `turned` which rows were written the other way round; columns `x_first` and
`x_second`, or `x_a` and `x_b`, hold the two values. An opinion that was reconciled has the mean over its decisive showings,
by their weights.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from juryrank.columns import Origin, number_rows, numbers
from juryrank.errors import SettingsError
from juryrank.tables import BOTH_BAD, COMPARISON_COLUMNS, JUDGMENT_COLUMNS, Comparisons, Judgments

SHOWN, COMPARED = ("_first", "_second"), ("_a", "_b")


def named(covariates: Iterable[str] | None) -> tuple[str, ...]:
    """The names of covariates; `SettingsError` for a bare text, a name twice, and names with another meaning."""
    if isinstance(covariates, str):
        raise SettingsError(f"covariates={covariates!r} is one text; expected the names of columns, one by one.")
    names = tuple(covariates or ())
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise SettingsError(f"the covariate {name!r} is no name of a column.")
        if name in names[:i]:
            raise SettingsError(f"the covariate {name!r} is named twice.")
        if name in JUDGMENT_COLUMNS + COMPARISON_COLUMNS:
            raise SettingsError(f"the column {name!r} has a meaning of its own and is no covariate.")
    return names


def differences(source: Comparisons | Judgments, names: tuple[str, ...], rows: np.ndarray) -> np.ndarray:
    """(rows, names) values in the frame of the items; `rows`: positions in the table.

    Raises `InputError` for a column that is not there, and for a cell of these rows that is no finite number.
    """
    found = [
        _of_showings(source, n, rows) if isinstance(source, Judgments) else _of_opinions(source, n, rows) for n in names
    ]
    return np.column_stack(found) + 0.0  # no -0.0, which would not merge with 0.0


def _of_opinions(source: Comparisons, name: str, rows: np.ndarray) -> np.ndarray:
    if source.judgments is None or _columns(source.table, name, COMPARED):
        return _written(source, name, COMPARED, rows)
    return _averaged(source, source.judgments, name, rows)


def _of_showings(source: Judgments, name: str, rows: np.ndarray) -> np.ndarray:
    shown = _written(source, name, SHOWN, rows)
    first, second = (source.table[end].cat.codes.to_numpy()[rows] for end in ("first", "second"))
    return np.where(first < second, shown, -shown)


def _written(source: Comparisons | Judgments, name: str, ends: tuple[str, str], rows: np.ndarray) -> np.ndarray:
    """(rows,) differences as the table names the two items: first minus second, or item_a minus item_b."""
    table = source.table
    labels = table.index.to_numpy()[rows]
    origin = Origin(source.source, labels + 1 if source.rows is None else source.rows[labels])
    columns = _columns(table, name, ends)
    if not columns:
        known = [c for c in map(str, table.columns) if c not in JUDGMENT_COLUMNS + COMPARISON_COLUMNS]
        raise origin.error(
            f"no column {name!r} for the covariate, nor {name + ends[0]!r} and {name + ends[1]!r}; further columns are "
            f"{', '.join(map(repr, known)) or 'none'}."
        )
    values = [numbers(table[[column]].iloc[rows], column, origin) for column in columns]
    if len(values) == 2:
        with np.errstate(over="ignore"):
            gap = pd.DataFrame({name: values[0] - values[1]})
        return numbers(gap, name, origin)  # two finite numbers may be infinitely far apart
    turned = table["turned"].to_numpy()[rows] if "turned" in table.columns else np.zeros(len(rows), bool)
    return np.where(turned, -values[0], values[0])


def _columns(table: pd.DataFrame, name: str, ends: tuple[str, str]) -> list[str]:
    """The column of differences, or the two columns of values, or none."""
    if name in table.columns:
        return [name]
    both = [name + end for end in ends]
    return both if all(column in table.columns for column in both) else []


def _averaged(source: Comparisons, judgments: Judgments, name: str, rows: np.ndarray) -> np.ndarray:
    """(rows,) means over the decisive showings behind each opinion."""
    table = judgments.table
    decisive = np.flatnonzero((table["outcome"].to_numpy() <= BOTH_BAD) & (table["weight"].to_numpy() > 0))
    opinion, showing = _matched(source, judgments, rows, decisive)
    behind = np.isin(showing, opinion)
    shown = decisive[behind]
    weight, size = table["weight"].to_numpy()[shown], int(max(opinion.max(initial=0), showing.max(initial=0))) + 1
    values = _of_showings(judgments, name, shown)
    total = np.bincount(showing[behind], weights=weight * values, minlength=size)
    return (total / np.maximum(np.bincount(showing[behind], weights=weight, minlength=size), np.finfo(float).tiny))[opinion]


def _matched(
    source: Comparisons, judgments: Judgments, rows: np.ndarray, shown: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One number for each (context, judge, pair): that of some opinions, and that of some showings."""
    compared, asked = source.table, judgments.table
    keys = []
    for name in ("context", "judge"):
        keys.append(np.concatenate([_codes(compared[name], asked[name])[rows], _codes(asked[name])[shown]]))
    a, b = (_codes(compared[end], asked["first"])[rows] for end in ("item_a", "item_b"))
    first, second = (_codes(asked[end])[shown] for end in ("first", "second"))
    keys += [np.concatenate([a, np.minimum(first, second)]), np.concatenate([b, np.maximum(first, second)])]
    number, _ = number_rows(*keys)
    return number[: len(rows)], number[len(rows) :]


def _codes(column: pd.Series, like: pd.Series | None = None) -> np.ndarray:
    """Codes of a column, in the vocabulary of another one if there is one that holds the same texts."""
    codes = column.cat.codes.to_numpy().astype(np.int64)
    if like is None or like.dtype == column.dtype:
        return codes
    return like.cat.categories.get_indexer(column.cat.categories)[codes]
