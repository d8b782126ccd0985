"""Contradictions in the majorities: who beats whom, how many triads go round, and one cycle to show.

The rows of one pair (accepted wins and ties) combine by weighted mean of p_a, then sign; contexts are pooled. A triad
of items is read off the three majorities between them:

    strict cycle   x > y > z > x
    weak cycle     goes round by wins and ties, with at least one of each: x > y > z = x, or x > y = z = x; the triad
                   breaks Suzumura's consistency (1976, Economica 43:381) though no strict cycle does
    decided        all three pairs were judged and none is tied; what the cycle rate divides by
    judged         all three pairs were judged, ties included
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy import sparse

from juryrank.errors import SettingsError
from juryrank.tables import TIED, WIN, Comparisons, Judgments, comparisons

#: a mean this near one half is a tie: sums of weights that cancel on paper need not cancel to the last bit
HALF_WIDTH = 1e-12
#: entries of an intermediate product held at once
BLOCK = 2**24
#: sparse steps cost about this many dense multiply-adds
SPARSE_COST = 500

Source: TypeAlias = Comparisons | pd.DataFrame | list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class MajorityGraph:
    """Who beats whom: `winners[i]` beats `losers[i]`, `tied[j]` are level; codes into the sorted `items`."""

    items: list[str]
    #: (edges,) codes, sorted by winner, then loser
    winners: np.ndarray
    #: (edges,) codes
    losers: np.ndarray
    #: (ties, 2) codes, the lower first, sorted
    tied: np.ndarray


@dataclass(frozen=True)
class Triads:
    """How many triads of items are what; the words stand at the head of this file."""

    strict: int
    weak: int
    decided: int
    judged: int

    @property
    def rate(self) -> float | None:
        """Strict cycles / decided triads; None if no triad is decided."""
        return self.strict / self.decided if self.decided else None


def as_comparisons(source: Source) -> Comparisons:
    """Opinions from a table of them, a frame or a list of dicts; showings hold no opinion yet and are refused."""
    if isinstance(source, Comparisons):
        return source
    if isinstance(source, Judgments):
        raise SettingsError("this takes comparisons, not judgments: call reconcile(judgments) first.")
    if isinstance(source, (pd.DataFrame, list, tuple)):
        return comparisons(pd.DataFrame(source))
    raise SettingsError(f"this takes comparisons, a frame or a list of dicts, not a {type(source).__name__}.")


def majority(source: Source, judge: str | None = None) -> MajorityGraph:
    """The sign of the weighted mean of p_a - 1/2 for each pair, of one judge or of all judges pooled."""
    opinions = as_comparisons(source)
    table = opinions.table
    if judge is not None:
        if judge not in opinions.judges:
            raise SettingsError(f"no judge {judge!r} there; found {', '.join(map(repr, opinions.judges)) or 'none'}.")
        table = table[(table["judge"] == judge).to_numpy()]
    return _graph(opinions.items, _leans(table, len(opinions.items), apart=False))


def triads(source: Source, judge: str | None = None) -> Triads:
    """Count strict cycles, weak cycles, decided and judged triads (C-16 of the known cases)."""
    return _count(majority(source, judge))


def cycle_rate(source: Source, judge: str | None = None) -> float | None:
    """Directed 3-cycles / triads with three untied majorities; None if there is no such triad.

    On complete untied data the numerator is C(n, 3) - sum_i C(wins_i, 2) (Kendall and Babington Smith 1940).
    """
    return _count(majority(source, judge), ties=False).rate


def cycle_rates_by_judge(source: Source) -> pd.Series:
    """`cycle_rate` of each judge, NaN where no triad can be assessed; index `judge`, sorted."""
    opinions = as_comparisons(source)
    leans = _leans(opinions.table, len(opinions.items), apart=True)
    ends = np.searchsorted(leans["judge"], np.arange(len(opinions.judges) + 1))
    graphs = (_graph(opinions.items, leans[start:end]) for start, end in pairwise(ends))
    rates = [_count(graph, ties=False).rate for graph in graphs]
    index = pd.Index(opinions.judges, dtype=object, name="judge")
    return pd.Series(rates, index=index, dtype=np.float64, name="cycle_rate")


def cycle_witness(source: Source, judge: str | None = None) -> list[str]:
    """A cycle of majorities as items whose first and last are equal, [] if there is none.

    Depth-first over sorted items and sorted edges; the first edge back into the path closes the cycle.
    """
    graph = majority(source, judge)
    size = len(graph.items)
    starts = np.searchsorted(graph.winners, np.arange(size + 1))
    edges = sparse.csr_array((np.ones(len(graph.losers), np.int8), graph.losers, starts), shape=(size, size))
    pieces, _ = sparse.csgraph.connected_components(edges, directed=True, connection="strong")
    if pieces == size:
        return []
    return [graph.items[code] for code in _first_cycle(starts.tolist(), graph.losers.tolist())]


def _leans(table: pd.DataFrame, size: int, *, apart: bool) -> pd.DataFrame:
    """One row per (judge if `apart`, pair), sorted: codes `judge`, `a`, `b`, and `lean`, the mean of p_a less 1/2."""
    # a source without statuses has them from p, so every row of it that has a p is here too
    taken = table["status"].isin((WIN, TIED)).to_numpy() & (table["weight"] > 0).to_numpy()
    table = table[taken]
    judge, a, b = (table[name].cat.codes.to_numpy(np.int64) for name in ("judge", "item_a", "item_b"))
    key = (judge * size + a) * size + b if apart else a * size + b
    weight = table["weight"].to_numpy()
    sums = pd.DataFrame({"weight": weight, "lean": weight * (table["p_a"].to_numpy() - 0.5)}).groupby(key).sum()
    codes = sums.index.to_numpy(np.int64)
    lean = (sums["lean"] / sums["weight"]).to_numpy()
    wide = max(size, 1)
    return pd.DataFrame({"judge": codes // wide**2, "a": codes // wide % wide, "b": codes % wide, "lean": lean})


def _graph(items: list[str], leans: pd.DataFrame) -> MajorityGraph:
    """Signs of the leans as edges and ties."""
    a, b, lean = (leans[name].to_numpy() for name in ("a", "b", "lean"))
    decided = np.abs(lean) > HALF_WIDTH
    winners = np.where(lean > 0, a, b)[decided]
    losers = np.where(lean > 0, b, a)[decided]
    order = np.lexsort((losers, winners))
    return MajorityGraph(items, winners[order], losers[order], np.column_stack((a, b))[~decided])


def _count(graph: MajorityGraph, *, ties: bool = True) -> Triads:
    """Triads of a graph; `weak` and `judged` leave ties out where they are not asked for.

    With F+ and F- the wins of the lower and of the higher place in an order of the items, and closed(P, Q, R) the sum
    over u < v < w of P_uv Q_vw R_uw, strict cycles are closed(+, +, -) + closed(-, -, +). With ties in both F+ and F-
    the same sum has the weak cycles too, and each triad of three ties twice.
    """
    tied = graph.tied if ties else graph.tied[:0]
    low, high, kind = _placed(graph, tied)
    size = int(high.max(initial=-1)) + 1
    steps = _steps(low, high, size)
    dense = size**3 <= SPARSE_COST * int(steps.sum())
    blocks = list(_blocks(np.full(size, size) if dense else steps))

    def closed(first: np.ndarray, second: np.ndarray, third: np.ndarray) -> int:
        made = [_matrix(low[mask], high[mask], size, dense) for mask in (first, second, third)]
        return _closed(made[0], made[1], made[2], blocks)

    up, down, level = kind > 0, kind < 0, kind == 0
    strict = closed(up, up, down) + closed(down, down, up)
    decided = closed(~level, ~level, ~level)
    if not level.any():
        return Triads(strict, 0, decided, decided)
    round_trips = closed(~down, ~down, ~up) + closed(~up, ~up, ~down)
    everything = np.ones_like(level)
    weak = round_trips - strict - 2 * closed(level, level, level)
    return Triads(strict, weak, decided, closed(everything, everything, everything))


def _placed(graph: MajorityGraph, tied: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(low, high, kind) of every pair: places of its items, fewest pairs first, and +1 if the lower place won, 0 tied.

    Ordering items by how many pairs they are in keeps the paths low - middle - high few even where one item met all
    others (Chiba and Nishizeki 1985): at most pairs * sqrt(2 * pairs).
    """
    first = np.concatenate((graph.winners, tied[:, 0]))
    second = np.concatenate((graph.losers, tied[:, 1]))
    seen = np.bincount(np.concatenate((first, second)), minlength=len(graph.items))
    place = np.empty(len(seen), np.int64)
    place[np.argsort(seen, kind="stable")] = np.arange(len(seen)) - int((seen == 0).sum())
    first, second = place[first], place[second]
    won = np.arange(len(first)) < len(graph.winners)
    return np.minimum(first, second), np.maximum(first, second), np.where(won, np.sign(second - first), 0)


def _steps(low: np.ndarray, high: np.ndarray, size: int) -> np.ndarray:
    """(size,) paths low - middle - high that start at each place: what a sparse product of that row costs."""
    onward = np.bincount(low, minlength=size)
    return np.bincount(low, weights=onward[high], minlength=size).astype(np.int64)


def _blocks(cost: np.ndarray) -> Iterator[slice]:
    """Runs of rows whose products cost at most about `BLOCK` each."""
    part = np.cumsum(cost) // BLOCK
    ends = np.append(np.flatnonzero(np.diff(part, prepend=-1)), len(cost))
    return (slice(start, end) for start, end in pairwise(ends))


def _matrix(low: np.ndarray, high: np.ndarray, size: int, dense: bool) -> Any:
    """(size, size) matrix of ones at (low, high)."""
    if not dense:
        return sparse.csr_array((np.ones(len(low), np.int64), (low, high)), shape=(size, size))
    # entries of a product are whole numbers up to `size`, exact in single precision below 2^24
    matrix = np.zeros((size, size), np.float32)
    matrix[low, high] = 1
    return matrix


def _closed(first: Any, second: Any, third: Any, blocks: list[slice]) -> int:
    """Sum over u, v, w of first_uv * second_vw * third_uw, a block of u at a time."""
    kind = np.int64 if sparse.issparse(first) else np.float64
    return sum(int(((first[rows] @ second) * third[rows]).sum(dtype=kind)) for rows in blocks)


def _first_cycle(starts: list[int], ends: list[int]) -> list[int]:
    """The first cycle that depth-first search closes; edges of x are ends[starts[x]:starts[x + 1]]."""
    new, on_path, done = 0, 1, 2
    state = bytearray(len(starts) - 1)
    cursor = list(starts)
    for root in range(len(state)):
        path = [root] if state[root] == new else []
        while path:
            here = path[-1]
            state[here] = on_path
            if cursor[here] == starts[here + 1]:
                state[path.pop()] = done
                continue
            there = ends[cursor[here]]
            cursor[here] += 1
            if state[there] == on_path:
                return path[path.index(there) :] + [there]
            if state[there] == new:
                path.append(there)
    return []
