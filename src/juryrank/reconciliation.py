"""Judgments -> comparisons: the passes of one order, then the two orders of one pair.

Conventions: every answer is turned into the frame of the items once, in `_by_order`; from there on 1 means item_a, 0
means item_b, 0.5 a tie, in either order. Within an order the strict plurality of the decisive passes (ties are a value)
decides, by summed weight; a plurality tie is an abstention. Between the orders failure goes before abstention, abstention
before disagreement, disagreement before tie, tie before win. A disagreement keeps p_a = 0.5: it is evidence that the
judge cannot tell the two apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from juryrank.columns import number_rows
from juryrank.errors import SettingsError
from juryrank.tables import (
    ABSTAINED,
    BOTH_BAD,
    DISAGREEMENT,
    FAILED,
    FAILURE,
    FIRST,
    OUTCOMES,
    SECOND,
    STATUSES,
    TIED,
    UNCERTAIN,
    WIN,
    Comparisons,
    Judgments,
    judgments,
)

POLICIES = ("strict", "lenient", "soft")

# What one order says of its pair: a side of the items, a tie, or nothing.
_FOR_B, _TIE, _FOR_A, _ABSTAINS, _FAILS, _NOT_ASKED = range(6)
#: sums of weights closer than this, relatively, are a plurality tie whatever the order of summation
_EQUAL = 1e-12


@dataclass(frozen=True)
class Reconciled:
    """Two answers about one pair, as one opinion: `winner` is an item or None, `p_a` is NaN without an opinion."""

    status: str
    winner: str | None
    p_a: float
    flipped: bool
    completed: bool


def reconcile(source: Judgments | pd.DataFrame | list[dict], policy: str = "strict") -> Comparisons:
    """One opinion per context, judge and pair.

    `policy`: "strict" (a win beside a tie is a disagreement), "lenient" (it is a win), "soft" (the two orders are averaged,
    p' = (p_forward + 1 - p_reverse) / 2, with the judge's own p_first where it gave one).
    """
    _check_policy(policy)
    if isinstance(source, Comparisons):
        raise SettingsError("the source holds comparisons: there is nothing left to reconcile.")
    if not isinstance(source, Judgments):
        source = judgments(pd.DataFrame(source))
    passes = _passes(source.table)
    orders = _by_order(passes, policy)
    combined = combine(orders.value[:, 0], orders.value[:, 1], policy, orders.p)
    table = pd.DataFrame(_keys(source.table, passes) | combined | _bookkeeping(source.table, passes, orders, combined))
    return Comparisons(
        table[_COLUMNS],
        source=source.source,
        notes=source.notes,
        warnings=source.warnings + _split_groups(passes),
        judgments=source,
        policy=policy,
        silent=source.silent,
    )


_COLUMNS = [
    *("context", "judge", "item_a", "item_b", "status", "p_a", "weight", "orders", "slot", "flipped", "completed"),
    *("failures", "group", "count", "both_bad", "showings"),
]


def reconcile_pair(
    forward: str | None, reverse: str | None, policy: str = "strict", items: tuple[str, str] = ("A", "B")
) -> Reconciled:
    """The scalar form: `forward` shows items[0] first, `reverse` shows items[1] first; None is a failure."""
    _check_policy(policy)
    values = []
    for answer, turn in ((forward, False), (reverse, True)):
        if answer is not None and answer not in OUTCOMES:
            raise SettingsError(f"{answer!r} is not an outcome; expected None or one of {', '.join(OUTCOMES)}.")
        code = FAILURE if answer is None else OUTCOMES[answer]
        values.append(np.array([_turned(np.array([code]), np.array([turn]))[0]]))
    row = {name: column[0] for name, column in combine(values[0], values[1], policy).items()}
    won = row["status"] == WIN
    return Reconciled(
        status=list(STATUSES)[row["status"]],
        winner=(items[0] if row["p_a"] > 0.5 else items[1]) if won else None,
        p_a=float(row["p_a"]),
        flipped=bool(row["flipped"]),
        completed=bool(row["completed"]),
    )


def combine(forward: np.ndarray, reverse: np.ndarray, policy: str, p: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """What two orders say, both in the frame of the items -> status, p_a, flipped, completed, orders.

    `p` (rows, 2) are the soft values of the orders; by default those of their verdicts.
    """
    both = np.stack([forward, reverse], axis=1)
    asked = both != _NOT_ASKED
    decisive = both <= _FOR_A
    completed = decisive.all(axis=1)
    flipped = completed & (forward != reverse)
    hard = np.where(decisive, both / 2.0, np.nan)
    mean = np.where(decisive, hard if p is None else p, 0).sum(axis=1) / np.maximum(decisive.sum(axis=1), 1)
    opposed = completed & (np.abs(hard[:, 0] - hard[:, 1]) == 1)
    if policy == "strict":
        mean = np.where(flipped, 0.5, mean)
    elif policy == "lenient":
        mean = np.where(opposed, 0.5, np.where(mean > 0.5, 1.0, np.where(mean < 0.5, 0.0, 0.5)))
    disagree = {"strict": flipped, "lenient": opposed, "soft": np.zeros_like(flipped)}[policy]
    silent = (both == _FAILS).any(axis=1) | (both == _ABSTAINS).any(axis=1)
    status = np.select(
        [(both == _FAILS).any(axis=1), silent, disagree, mean == 0.5],
        [FAILED, ABSTAINED, DISAGREEMENT, TIED],
        default=WIN,
    )
    return {
        "status": status.astype(np.int8),
        "p_a": np.where(silent, np.nan, mean),
        "flipped": flipped,
        "completed": completed,
        "orders": asked.sum(axis=1).astype(np.int8),
    }


def _check_policy(policy: str) -> None:
    if policy not in POLICIES:
        raise SettingsError(f"no policy {policy!r}; expected one of {', '.join(POLICIES)}.")


@dataclass(frozen=True)
class _Passes:
    """Row by row: the comparison it belongs to, the order it showed, its answer in the frame of the items."""

    row: np.ndarray  # position in the judgments table
    comparison: np.ndarray  # 0 .. n - 1, in the order of (context, judge, item_a, item_b)
    n: int
    reverse: np.ndarray  # bool: item_b was shown first
    value: np.ndarray  # _FOR_B .. _FAILS
    both_bad: np.ndarray
    weight: np.ndarray
    p: np.ndarray  # P(item_a better): the judge's own, else its verdict's
    group: np.ndarray
    keys: np.ndarray  # (n, 4) codes of context, judge, item_a, item_b


def _passes(table: pd.DataFrame) -> _Passes:
    weight = table["weight"].to_numpy()
    row = np.flatnonzero(weight > 0)
    codes = {n: _codes(table[n])[row] for n in ("context", "judge", "first", "second", "group")}
    low = np.minimum(codes["first"], codes["second"])
    high = np.maximum(codes["first"], codes["second"])
    comparison, keys = number_rows(codes["context"], codes["judge"], low, high)
    reverse = codes["first"] > codes["second"]
    outcome = table["outcome"].to_numpy()[row]
    value = _turned(outcome, reverse)
    own = table["p_first"].to_numpy()[row]
    p = np.where(np.isnan(own), value / 2.0, np.where(reverse, 1 - own, own))
    return _Passes(row, comparison, len(keys), reverse, value, outcome == BOTH_BAD, weight[row], p, codes["group"], keys)


def _codes(column: pd.Series) -> np.ndarray:
    return column.cat.codes.to_numpy().astype(np.int64)


def _turned(outcome: np.ndarray, reverse: np.ndarray) -> np.ndarray:
    """Outcomes as answered -> the frame of the items. The one place where an answer is turned."""
    value = np.full(len(outcome), _FAILS, np.int8)
    value[outcome == UNCERTAIN] = _ABSTAINS
    value[(outcome == FIRST) & ~reverse | (outcome == SECOND) & reverse] = _FOR_A
    value[(outcome == SECOND) & ~reverse | (outcome == FIRST) & reverse] = _FOR_B
    value[(outcome >= SECOND + 1) & (outcome <= BOTH_BAD)] = _TIE
    return value


@dataclass(frozen=True)
class _Orders:
    """Per comparison and order (column 0 forward, 1 reverse)."""

    value: np.ndarray  # (n, 2)
    p: np.ndarray  # (n, 2)
    both_bad: np.ndarray  # (n, 2) bool: most of the tie passes said so


def _by_order(passes: _Passes, policy: str) -> _Orders:
    cell = passes.comparison * 2 + passes.reverse
    size = passes.n * 2

    def total(mask: np.ndarray, what: np.ndarray | None = None) -> np.ndarray:
        weights = passes.weight[mask] if what is None else what[mask]
        return np.bincount(cell[mask], weights=weights, minlength=size)

    sides = np.stack([total(passes.value == side) for side in (_FOR_B, _TIE, _FOR_A)], axis=1)
    asked = np.bincount(cell, minlength=size) > 0
    abstains = total(passes.value == _ABSTAINS) > 0
    decisive = passes.value <= _FOR_A
    value = np.where(
        sides.sum(axis=1) > 0,
        _plurality(sides),
        np.where(~asked, _NOT_ASKED, np.where(abstains, _ABSTAINS, _FAILS)),
    )
    weight = total(decisive)
    p = value / 2.0
    if policy == "soft":
        spoken = weight > 0
        p[spoken] = total(decisive, passes.p * passes.weight)[spoken] / weight[spoken]
        p = np.where(_judge_gave_p(passes, cell, size), p, value / 2.0)
    bad = total(passes.both_bad)
    return _Orders(
        value=value.astype(np.int8).reshape(-1, 2),
        p=p.reshape(-1, 2),
        both_bad=((bad > 0) & (2 * bad > sides[:, 1])).reshape(-1, 2),
    )


def _plurality(sides: np.ndarray) -> np.ndarray:
    best = sides.max(axis=1, keepdims=True)
    leaders = sides >= best * (1 - _EQUAL)
    return np.where(leaders.sum(axis=1) == 1, leaders.argmax(axis=1), _ABSTAINS)


def _judge_gave_p(passes: _Passes, cell: np.ndarray, size: int) -> np.ndarray:
    """Orders in which some decisive pass carries the judge's own probability; elsewhere the plurality stands."""
    own = (passes.value <= _FOR_A) & (passes.p != passes.value / 2.0)
    return np.bincount(cell[own], minlength=size) > 0


def _keys(table: pd.DataFrame, passes: _Passes) -> dict[str, pd.Categorical]:
    sources = {"context": "context", "judge": "judge", "item_a": "first", "item_b": "second"}
    return {
        name: pd.Categorical.from_codes(passes.keys[:, i], dtype=table[source].dtype)
        for i, (name, source) in enumerate(sources.items())
    }


def _bookkeeping(
    table: pd.DataFrame, passes: _Passes, orders: _Orders, combined: dict[str, np.ndarray]
) -> dict[str, object]:
    n = passes.n
    showings = np.bincount(passes.comparison, minlength=n)
    weight = np.bincount(passes.comparison, weights=passes.weight, minlength=n)
    first_group = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first_group, passes.comparison, passes.group)
    asked = orders.value != _NOT_ASKED
    tied = combined["status"] == TIED
    return {
        "weight": weight / np.maximum(showings, 1),
        "slot": np.where(asked.all(axis=1), 0, np.where(asked[:, 0], 1, -1)).astype(np.int8),
        "failures": np.bincount(passes.comparison[passes.value == _FAILS], minlength=n),
        "group": pd.Categorical.from_codes(first_group, dtype=table["group"].dtype),
        "count": np.ones(n),
        "both_bad": (tied & (orders.both_bad | ~asked).all(axis=1)).astype(float),
        "showings": showings.astype(float),
    }


def _split_groups(passes: _Passes) -> tuple[str, ...]:
    low = np.full(passes.n, np.iinfo(np.int64).max)
    high = np.full(passes.n, -1)
    np.minimum.at(low, passes.comparison, passes.group)
    np.maximum.at(high, passes.comparison, passes.group)
    split = int((low != high).sum())
    if not split:
        return ()
    return (f"{split} pairs have their showings in more than one group; each is counted in the first of its groups.",)
