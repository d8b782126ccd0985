"""What every total order must contradict at least, and some order at most, where exact search is too long.

lower   every cycle of three has a majority that any order contradicts; cycles share majorities by weight, so that
        weights y_c with sum of y_c over the cycles through a majority <= its margin add up to a bound (the dual of
        the linear relaxation of the linear ordering problem), taken greedily, the heaviest cycle first
upper   an order that no move of one node improves
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from juryrank.conflicts.triples import triples

#: cycles of three in the packing; where there are more, a sample of all triples, which is a bound still
CYCLES = 200_000
#: passes over the nodes in the search for a better order
PASSES = 50
#: gains below this part of the whole are rounding
GAIN = 1e-12


def least_at_least(margin: np.ndarray) -> float:
    """A lower bound of the total of `margin[i, j]`, (n, n), over pairs that an order puts the wrong way round."""
    winner, loser = np.nonzero(margin > 0)
    found = triples(winner, loser, np.random.default_rng(0), CYCLES).going_round(np.ones(len(winner), np.int8))
    left = margin[winner, loser]
    heaviest = np.argsort(-left[found].min(axis=1, initial=np.inf), kind="stable")
    return _packed(found[heaviest].tolist(), left.tolist())


def _packed(cycles: list[list[int]], left: list[float]) -> float:
    total = 0.0
    for one, two, three in cycles:
        share = min(left[one], left[two], left[three])
        if share > 0:
            total += share
            for edge in (one, two, three):
                left[edge] -= share
    return total


def least_at_most(margin: np.ndarray, starts: Sequence[np.ndarray]) -> float:
    """The total that the best of some orders contradicts, each improved by moving one node at a time."""
    return min(_against(margin, _improved(margin, np.asarray(start))) for start in starts)


def _against(margin: np.ndarray, order: np.ndarray) -> float:
    return float(np.tril(margin[np.ix_(order, order)]).sum())


def _improved(margin: np.ndarray, order: np.ndarray) -> np.ndarray:
    slack = GAIN * float(margin.sum())
    for _ in range(PASSES):
        before = order
        for node in before:
            order = _moved(margin, order, int(node), slack)
        if np.array_equal(order, before):
            break
    return order


def _moved(margin: np.ndarray, order: np.ndarray, node: int, slack: float) -> np.ndarray:
    """The order with one node where it contradicts least; where it stands if that is as good."""
    here = int(np.flatnonzero(order == node)[0])
    rest = np.delete(order, here)
    cost = np.concatenate(([0.0], np.cumsum(margin[node, rest] - margin[rest, node])))
    best = int(cost.argmin())
    return np.insert(rest, best, node) if cost[best] < cost[here] - slack else order
