"""Cycles that noise does not explain: majorities that hold all at once, and go round.

A majority is certified where an exact sign test on the accepted wins of its pair (ties left out) rejects an even chance
with Holm's step-down over all pairs. Any cycle of certified majorities is then real with at least the confidence asked
for, so long as opinions are independent: repeated answers of one judge and opinions of one group count as many.
"""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np

from juryrank.conflicts.ballots import Ballots
from juryrank.conflicts.simultaneous import holm, two_sided
from juryrank.conflicts.triples import triples


@dataclass(frozen=True)
class Certified:
    """What holds simultaneously."""

    #: nodes, the first and the last equal; [] where no cycle is certified
    cycle: list[int]
    #: certified majorities, and the pairs with an accepted opinion that they are among
    edges: int
    pairs: int


def certified(ballots: Ballots, level: float) -> Certified:
    """The certified cycle whose weakest majority is the surest: of three nodes if there is one, else any."""
    won, lost = (ballots.by_pair(ballots.votes * side) for side in (ballots.for_a, ballots.for_b))
    accepted = ballots.by_pair(~ballots.flip) > 0
    p = two_sided(won, won + lost, 0.5)
    adjusted = np.ones(len(p))
    adjusted[accepted] = holm(p[accepted])
    chosen = np.flatnonzero(accepted & (adjusted <= 1 - level))
    a, b, ahead = ballots.a[chosen], ballots.b[chosen], (won > lost)[chosen]
    cycle = _of_three(a, b, ahead, p[chosen]) or _longer(np.where(ahead, a, b), np.where(ahead, b, a))
    return Certified(cycle, len(chosen), int(accepted.sum()))


def _of_three(a: np.ndarray, b: np.ndarray, ahead: np.ndarray, p: np.ndarray) -> list[int]:
    if len(a) < 3:
        return []
    rounds = triples(a, b, np.random.default_rng(0)).going_round(np.where(ahead, 1, -1))
    if not len(rounds):
        return []
    members = np.sort(np.concatenate((a[rounds], b[rounds]), axis=1), axis=1)[:, ::2]
    best = np.lexsort((*members.T[::-1], p[rounds].max(axis=1)))[0]
    edges = rounds[best]
    beats = dict(zip(np.where(ahead, a, b)[edges].tolist(), np.where(ahead, b, a)[edges].tolist(), strict=True))
    start = min(beats)
    return [start, beats[start], beats[beats[start]], start]


def _longer(winners: np.ndarray, losers: np.ndarray) -> list[int]:
    graph = nx.DiGraph()
    graph.add_nodes_from(sorted({*winners.tolist(), *losers.tolist()}))
    graph.add_edges_from(sorted(zip(winners.tolist(), losers.tolist(), strict=True)))
    try:
        found = [winner for winner, _ in nx.find_cycle(graph)]
    except nx.NetworkXNoCycle:
        return []
    first = found.index(min(found))
    return [*found[first:], *found[: first + 1]]
