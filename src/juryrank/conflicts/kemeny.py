"""How much of the votes no total order can follow: Kemeny's problem, piece by piece.

What an order contradicts are the accepted wins of a node over one that it ranks higher, by weight. Of two nodes with x and
y wins over each other, any order contradicts at least min(x, y); the rest, |x - y|, is the margin of their majority, and
some margin must be contradicted only where majorities go round, within a strongly connected piece of the majority graph.
So each piece is solved by itself: exactly up to `EXACT` nodes, between bounds beyond.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from juryrank.conflicts.ballots import Ballots
from juryrank.conflicts.bounds import least_at_least, least_at_most
from juryrank.conflicts.exact import least_exact
from juryrank.conflicts.expectation import gaps
from juryrank.estimate import Fit

#: the largest piece that is searched exactly
EXACT = 12
#: strengths this near are level
EQUAL = 1e-9


@dataclass(frozen=True)
class Violations:
    """Accepted wins, by weight, that orders contradict."""

    #: accepted wins in all
    wins: float
    #: against the majority of their own pair: an order that followed every majority would contradict these
    minority: float
    #: no total order contradicts fewer: exact, or a lower bound
    least: float
    #: the best order found contradicts this; `least` where that is exact
    bound: float
    exact: bool
    #: against the fitted order; nodes of equal strength count half
    of_ranking: float


def violations(fit: Fit, ballots: Ballots) -> Violations:
    """What any order contradicts, and what the fitted one does."""
    for_a, for_b = (ballots.by_pair(ballots.weight * side) for side in (ballots.for_a, ballots.for_b))
    gap = gaps(fit, ballots.a, ballots.b)
    against = np.select([gap > EQUAL, gap < -EQUAL], [for_b, for_a], default=(for_a + for_b) / 2)
    minority = float(np.minimum(for_a, for_b).sum())
    strength = np.nan_to_num(fit.layout.strengths(fit.reported))
    low = high = minority
    for nodes, margin in _pieces(ballots, for_a - for_b):
        least, most = _bounds(margin, strength[nodes])
        low, high = low + least, high + most
    exact = high - low <= EQUAL * max(1.0, high)
    wins = float((for_a + for_b).sum())
    return Violations(wins, minority, low, low if exact else high, exact, float(against.sum()))


def _pieces(ballots: Ballots, lead: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Strongly connected pieces of more than one node: its nodes, and margins (n, n) of the row over the column."""
    decided = np.flatnonzero(lead)
    a, b, lead = ballots.a[decided], ballots.b[decided], lead[decided]
    winner, loser, n = np.where(lead > 0, a, b), np.where(lead > 0, b, a), len(ballots.names)
    graph = coo_array((np.ones(len(winner), np.int8), (winner, loser)), shape=(n, n)).tocsr()
    _, label = connected_components(graph, directed=True, connection="strong")
    inside = np.flatnonzero(label[winner] == label[loser])
    inside = inside[np.argsort(label[winner[inside]], kind="stable")]
    for edges in np.split(inside, np.flatnonzero(np.diff(label[winner[inside]])) + 1) if len(inside) else ():
        nodes = np.unique(winner[edges])
        margin = np.zeros((len(nodes), len(nodes)))
        margin[np.searchsorted(nodes, winner[edges]), np.searchsorted(nodes, loser[edges])] = np.abs(lead[edges])
        yield nodes, margin


def _bounds(margin: np.ndarray, strength: np.ndarray) -> tuple[float, float]:
    if len(margin) <= EXACT:
        least = least_exact(margin)
        return least, least
    net = margin.sum(axis=1) - margin.sum(axis=0)
    starts = [np.argsort(-score, kind="stable") for score in (strength, net)]
    return least_at_least(margin), least_at_most(margin, starts)
