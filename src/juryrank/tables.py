"""The two tables: judgments (one row per showing) and comparisons (one row per judge's opinion on a pair).

Conventions: `first` and `second` are item ids as shown; `item_a` < `item_b` as text; `p_a` is in the frame of the
items, never of the slots; `slot` is +1 where only one order was asked and showed `item_a` first, -1 where it showed
`item_b` first, 0 where both orders were asked or none is known. Text is held as ordered categoricals
over sorted ids (`.table`); `.frame` is the same with plain text, made when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from juryrank.columns import Origin, first_true, look_alikes, numbers, require, vocabulary, words

OUTCOMES = {"first": 0, "second": 1, "tie": 2, "both_bad": 3, "uncertain": 4, "failure": 5}
FIRST, SECOND, TIE, BOTH_BAD, UNCERTAIN, FAILURE = range(6)

STATUSES = {"win": 0, "tie": 1, "uncertain": 2, "disagreement": 3, "failure": 4}
WIN, TIED, ABSTAINED, DISAGREEMENT, FAILED = range(5)

LONE_JUDGE = "judge"
LONE_CONTEXT = ""

#: the columns that have a meaning in each table; every other column is kept as it is
JUDGMENT_COLUMNS = (
    *("context", "judge", "first", "second", "outcome", "p_first", "repetition", "weight", "group"),
    "turned",
)
COMPARISON_COLUMNS = (
    *("context", "judge", "item_a", "item_b", "status", "winner", "p_a", "weight", "orders", "slot"),
    *("flipped", "completed", "failures", "group", "count", "both_bad", "showings", "turned"),
)


@dataclass(frozen=True, eq=False)
class Judgments:
    """Answers to showings.

    `table` columns: context, judge, first, second (categoricals; first and second share their categories), outcome
    (int8 code of `OUTCOMES`), p_first (float, NaN = not given), repetition (int64), weight (float), group
    (categorical), then whatever else the source had, and, where that is not all the same way round, turned (bool: the
    source names the second item before the first).
    """

    table: pd.DataFrame
    source: str = "the frame"
    #: what the reader recognised and counted, one sentence each
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    #: contexts that were asked and have no row
    silent: tuple[str, ...] = ()
    #: source row of each row as it was read, by its label in `table`; None = label + 1
    rows: np.ndarray | None = field(default=None, repr=False)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per showing, as plain text and numbers."""
        return _plain(self.table, {"outcome": OUTCOMES})

    @property
    def items(self) -> list[str]:
        """Every id that was shown, sorted."""
        return list(self.table["first"].cat.categories)

    @property
    def judges(self) -> list[str]:
        """Every judge that was asked, sorted."""
        return list(self.table["judge"].cat.categories)

    def __len__(self) -> int:
        return len(self.table)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Opinions on pairs.

    `table` columns: context, judge, item_a, item_b (categoricals; both items share their categories), status (int8 code of
    `STATUSES`), p_a, weight (float), orders, slot (int8), flipped, completed (bool), failures (int64), group
    (categorical), count (pairs asked that the row stands for), both_bad (how many of them), showings (calls behind the
    row, NaN = unknown), then whatever else the source had (pairs of columns `x_a`, `x_b` turned with the items), and, where
    that is not all the same way round, turned (bool: the source names item_b first).
    """

    table: pd.DataFrame
    source: str = "the frame"
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    #: the judgments that were reconciled, None for a source of opinions
    judgments: Judgments | None = field(default=None, repr=False)
    policy: str = "strict"
    #: whether the source said which of its rows are ties
    has_status: bool = True
    #: contexts that were asked and have no row
    silent: tuple[str, ...] = ()
    #: source row of each row as it was read, by its label in `table`; None = label + 1
    rows: np.ndarray | None = field(default=None, repr=False)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per opinion, as plain text and numbers, with `winner` (an item id or None)."""
        plain = _plain(self.table, {"status": STATUSES})
        winner = np.full(len(plain), None, dtype=object)
        won = self.table["status"].to_numpy() == WIN
        for_a = self.table["p_a"].to_numpy() > 0.5
        winner[won & for_a] = plain["item_a"].to_numpy()[won & for_a]
        winner[won & ~for_a] = plain["item_b"].to_numpy()[won & ~for_a]
        plain.insert(5, "winner", pd.Series(winner, dtype=object, index=plain.index))
        return plain

    @property
    def items(self) -> list[str]:
        """Every id that was compared, sorted."""
        return list(self.table["item_a"].cat.categories)

    @property
    def judges(self) -> list[str]:
        """Every judge that was asked, sorted."""
        return list(self.table["judge"].cat.categories)

    def warn(self, *sentences: str) -> Comparisons:
        """The same table with more warnings."""
        return replace(self, warnings=self.warnings + sentences)

    def __len__(self) -> int:
        return len(self.table)


def _plain(table: pd.DataFrame, words_of: Mapping[str, Mapping[str, int]]) -> pd.DataFrame:
    plain = {}
    for name, column in table.items():
        if name in words_of:
            labels = np.array(list(words_of[str(name)]), dtype=object)
            column = pd.Series(labels[column.to_numpy()], index=column.index, dtype=object)
        elif isinstance(column.dtype, pd.CategoricalDtype):
            texts = np.asarray(column.cat.categories, dtype=object)
            column = pd.Series(texts[column.cat.codes.to_numpy()], index=column.index, dtype=object)
        plain[name] = column
    return pd.DataFrame(plain)


def judgments(frame: pd.DataFrame, origin: Origin | None = None, notes: tuple[str, ...] = ()) -> Judgments:
    """Check a frame of showings and make it a `Judgments`.

    Raises `InputError` naming source, row, column and value for unknown outcomes, empty, mixed-type or self-compared
    ids, weights or probabilities out of range, and repeated keys.
    """
    origin = origin or Origin()
    require(frame, ("first", "second", "outcome"), origin)
    frame = frame.reset_index(drop=True)
    columns: dict[str, object] = dict(_context_and_judge(frame, origin))
    columns |= vocabulary(frame, ("first", "second"), origin)
    _refuse_self_comparison(columns["first"], columns["second"], "first", origin)
    columns["outcome"] = words(frame, "outcome", OUTCOMES, origin)
    columns["p_first"] = (
        numbers(frame, "p_first", origin, low=0, high=1, null=True)
        if "p_first" in frame.columns
        else np.full(len(frame), np.nan)
    )
    keys = pd.DataFrame({name: _codes(columns[name]) for name in ("context", "judge", "first", "second")})
    columns["repetition"], said = _repetitions(frame, keys, origin)
    columns["weight"] = _weights(frame, origin)
    columns["group"] = _groups(frame, columns["context"], origin)
    rest = {str(name): frame[name] for name in frame.columns if name not in columns and name not in JUDGMENT_COLUMNS}
    rest |= _facing(rest, _flags(frame, "turned", origin))
    return Judgments(
        pd.DataFrame(columns | rest),
        origin.source,
        notes + said,
        _alike(columns, ("first", "judge")),
        rows=origin.rows,
    )


def comparisons(frame: pd.DataFrame, origin: Origin | None = None, notes: tuple[str, ...] = ()) -> Comparisons:
    """Check a frame of opinions (`item_a, item_b, p_a`, and any other column of a comparisons table).

    Rows are turned so that item_a < item_b; p_a and slot turn with them. Without a `status`, p = 0.5 is a tie, a
    missing p an abstention, and anything else a win. Each row of weight k counts as k pairs asked, unless a `count`
    says otherwise.
    """
    origin = origin or Origin()
    require(frame, ("item_a", "item_b", "p_a"), origin)
    frame = frame.reset_index(drop=True)
    columns: dict[str, object] = dict(_context_and_judge(frame, origin))
    items = vocabulary(frame, ("item_a", "item_b"), origin)
    _refuse_self_comparison(items["item_a"], items["item_b"], "item_a", origin)
    turned = items["item_a"].codes > items["item_b"].codes
    columns["item_a"], columns["item_b"] = _turn(items["item_a"], items["item_b"], turned)
    p = numbers(frame, "p_a", origin, low=0, high=1, null=True)
    p = np.where(turned, 1 - p, p)
    status = words(frame, "status", STATUSES, origin) if "status" in frame.columns else _status_of(p)
    _refuse_contradictions(status, p, origin)
    columns |= {"status": status, "p_a": np.where(np.isin(status, (ABSTAINED, FAILED)), np.nan, p)}
    columns["weight"] = _weights(frame, origin)
    columns["orders"] = _small(frame, "orders", origin, 1, 2, 1)
    slot = _small(frame, "slot", origin, -1, 1, 0)
    columns["slot"] = np.where(turned, -slot, slot).astype(np.int8)
    for name in ("flipped", "completed"):
        columns[name] = _flags(frame, name, origin)
    columns["failures"] = _small(frame, "failures", origin, 0, np.inf, 0).astype(np.int64)
    columns["group"] = _groups(frame, columns["context"], origin)
    columns["count"] = numbers(frame, "count", origin, low=0) if "count" in frame.columns else columns["weight"]
    both_bad = numbers(frame, "both_bad", origin, low=0) if "both_bad" in frame.columns else np.zeros(len(frame))
    columns["both_bad"] = both_bad
    columns["showings"] = (
        numbers(frame, "showings", origin, low=0, null=True) if "showings" in frame.columns else np.full(len(frame), np.nan)
    )
    rest = {str(name): frame[name] for name in frame.columns if name not in columns and name not in COMPARISON_COLUMNS}
    rest = paired(rest, ("_a", "_b"), ("_a", "_b"), turned) | _facing(rest, _flags(frame, "turned", origin) ^ turned)
    return Comparisons(
        pd.DataFrame(columns | rest),
        origin.source,
        notes,
        _alike(columns, ("item_a", "judge")),
        has_status="status" in frame.columns,
        rows=origin.rows,
    )


def paired(
    columns: Mapping[str, pd.Series], old: tuple[str, str], new: tuple[str, str], turned: np.ndarray
) -> dict[str, pd.Series]:
    """The columns, those that say something of each of two items (`x_a`, `x_b`) turned with the items and renamed."""
    found = {}
    for name, column in columns.items():
        end = 0 if name.endswith(old[0]) else 1
        stem = name.removesuffix(old[end])
        other = columns.get(stem + old[1 - end]) if stem != name else None
        if other is None:
            found[name] = column
        else:
            found[stem + new[end]] = _exchanged(column, other, turned) if turned.any() else column
    return found


def _exchanged(one: pd.Series, other: pd.Series, turned: np.ndarray) -> pd.Series:
    if not all(pd.api.types.is_numeric_dtype(column.dtype) for column in (one, other)):
        one, other = one.astype(object), other.astype(object)
    return one.where(~turned, other)


def _facing(rest: Mapping[str, object], turned: np.ndarray) -> dict[str, np.ndarray]:
    """Whether further columns that are differences stand the other way round: kept only where it tells something."""
    return {"turned": turned} if rest and turned.any() else {}


def _context_and_judge(frame: pd.DataFrame, origin: Origin) -> dict[str, pd.Categorical]:
    found: dict[str, pd.Categorical] = {}
    for name, lone in (("context", LONE_CONTEXT), ("judge", LONE_JUDGE)):
        if name in frame.columns:
            found |= vocabulary(frame, (name,), origin, blank=name == "context")
        else:
            found[name] = constant(lone, len(frame))
    return found


def constant(text: str, length: int) -> pd.Categorical:
    """A categorical column that holds one text throughout."""
    return pd.Categorical.from_codes(np.zeros(length, np.int8), categories=pd.Index([text], dtype=object), ordered=True)


def _codes(column: object) -> np.ndarray:
    return np.asarray(column.codes, dtype=np.int64)  # type: ignore[attr-defined]


def _alike(columns: Mapping[str, object], names: tuple[str, str]) -> tuple[str, ...]:
    kinds = ("item", "judge")
    return tuple(
        sentence
        for kind, name in zip(kinds, names, strict=True)
        for sentence in look_alikes(columns[name].categories, kind)  # type: ignore[attr-defined]
    )


def _refuse_self_comparison(a: object, b: object, column: str, origin: Origin) -> None:
    position = first_true(_codes(a) == _codes(b))
    if position is not None:
        item = a[position]  # type: ignore[index]
        raise origin.error(f"{item!r} is compared with itself.", position=position, column=column)


def _repetitions(frame: pd.DataFrame, keys: pd.DataFrame, origin: Origin) -> tuple[np.ndarray, tuple[str, ...]]:
    if "repetition" not in frame.columns:
        number = keys.groupby(list(keys.columns), sort=False).cumcount().to_numpy(dtype=np.int64)
        repeated = int((number > 0).sum())
        said = f"{repeated} rows show the same pair in the same order again; they are numbered as repetitions."
        return number, (said,) if repeated else ()
    number = numbers(frame, "repetition", origin, low=0, whole=True).astype(np.int64)
    keys = keys.assign(repetition=number)
    again = first_true(keys.duplicated().to_numpy())
    if again is not None:
        before = first_true((keys == keys.iloc[again]).all(axis=1).to_numpy())
        raise origin.error(
            f"the showing of row {origin.row(before or 0)} again (same context, judge, first, second and "
            f"repetition {number[again]}).",
            position=again,
            column="repetition",
            hint="Give each pass its own repetition, or leave the column out to have them numbered.",
        )
    return number, ()


def _weights(frame: pd.DataFrame, origin: Origin) -> np.ndarray:
    return numbers(frame, "weight", origin, low=0) if "weight" in frame.columns else np.ones(len(frame))


def _groups(frame: pd.DataFrame, context: object, origin: Origin) -> object:
    return vocabulary(frame, ("group",), origin, blank=True)["group"] if "group" in frame.columns else context


def _small(frame: pd.DataFrame, name: str, origin: Origin, low: float, high: float, default: int) -> np.ndarray:
    if name not in frame.columns:
        return np.full(len(frame), default, np.int8)
    values = numbers(frame, name, origin, low=low, high=high, whole=True)
    return values.astype(np.int64 if np.isinf(high) else np.int8)


def _flags(frame: pd.DataFrame, name: str, origin: Origin) -> np.ndarray:
    if name not in frame.columns:
        return np.zeros(len(frame), bool)
    if pd.api.types.is_bool_dtype(frame[name].dtype):
        return frame[name].to_numpy(dtype=bool)
    spelled = pd.DataFrame({name: frame[name].astype(object).map(lambda value: str(value).lower())})
    return words(spelled, name, {"false": 0, "true": 1, "0": 0, "1": 1}, origin).astype(bool)


def _turn(a: pd.Categorical, b: pd.Categorical, turned: np.ndarray) -> tuple[pd.Categorical, pd.Categorical]:
    low = np.where(turned, b.codes, a.codes)
    high = np.where(turned, a.codes, b.codes)
    return pd.Categorical.from_codes(low, dtype=a.dtype), pd.Categorical.from_codes(high, dtype=a.dtype)


def _status_of(p: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(p), ABSTAINED, np.where(p == 0.5, TIED, WIN)).astype(np.int8)


def _refuse_contradictions(status: np.ndarray, p: np.ndarray, origin: Origin) -> None:
    """A win needs a side, a tie and a disagreement stand at one half (a soft disagreement has no meaning)."""
    position = first_true((status == WIN) & ~(np.abs(p - 0.5) > 0))
    if position is not None:
        raise origin.error(f"a win with p_a = {p[position]:g} has no winner.", position=position, column="p_a")
    position = first_true(np.isin(status, (TIED, DISAGREEMENT)) & ~(p == 0.5))
    if position is not None:
        word = list(STATUSES)[status[position]]
        raise origin.error(
            f"a {word} has p_a = 0.5, not {p[position]:g}.",
            position=position,
            column="p_a",
            hint="Mend one of the two.",
        )
