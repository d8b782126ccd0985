"""Pair counts -> the arrays of a problem, padded to a few sizes so that a growing log does not compile again.

Conventions: contexts are blocks of equal width; node = block * width + place. One judge more than there are stands at
the end and is never fitted: it sees pseudo-wins (sigma = 1, no slot) and padding rows (weight 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from juryrank.counts import Graph, PairCounts
from juryrank.likelihoods import Parameters, Precisions, Problem, Rows
from juryrank.prior import Prior


@dataclass(frozen=True, eq=False)
class Layout:
    """A problem, and where each node and judge went."""

    problem: Problem
    #: (nodes,) flat place of each node, -1 where it was not observed
    place: np.ndarray
    judges: int  # judges of the data
    slots: int  # judges of the problem: one never-fitted judge and padding included

    @property
    def t(self) -> slice:
        """Border places of log sigma."""
        return slice(0, self.judges)

    @property
    def b(self) -> slice:
        """Border places of the slot biases."""
        return slice(self.slots, self.slots + self.judges)

    def parameters(self, strength: np.ndarray, log_sigma: np.ndarray, slot: np.ndarray, tie: float) -> Parameters:
        """Values by node and judge -> padded arrays."""
        strengths = np.zeros(self.problem.node.size)
        seen = self.place >= 0
        strengths[self.place[seen]] = strength[seen]
        border = np.zeros(2 * self.slots + 1)
        border[self.t], border[self.b], border[-1] = log_sigma, slot, tie
        return Parameters(strengths.reshape(self.problem.node.shape), border)

    def strengths(self, at: Parameters) -> np.ndarray:
        """(nodes,) strengths, NaN where a node was not observed."""
        return np.where(self.place >= 0, at.strength.reshape(-1)[self.place], np.nan)


def arrange(
    counts: PairCounts,
    graph: Graph,
    *,
    ties: str,
    sigma_of: np.ndarray,
    slot_of: np.ndarray,
    fit_tie: bool,
    prior: Prior,
    together: np.ndarray,
    pad: bool,
) -> Layout:
    """`sigma_of`, `slot_of`: (judges,) which judges have one fitted; `together`: (nodes,) label within which gaps exist."""
    size = bucket if pad else int
    judges = len(counts.judges)
    slots = size(judges + 1)
    place, blocks, width = _places(counts, graph, size)
    rows = _rows(counts, place, ties, prior.pseudo_wins, judges, size)
    node = np.zeros(blocks * width)
    node[place[place >= 0]] = 1.0
    component = np.full(blocks * width, -1)
    component[place[place >= 0]] = together[place >= 0]
    free = np.zeros(2 * slots + 1)
    free[:judges], free[slots : slots + judges], free[-1] = sigma_of, slot_of, fit_tie
    weight = float(rows.wins_a.sum() + rows.wins_b.sum() + rows.ties.sum())
    # Any positive gauge weight is right; these stand on the scale of the curvature, so that factors stay well scaled.
    gauge = max(weight, 1.0) / max(1.0, node.sum()) / width
    problem = Problem(
        rows,
        Precisions(
            strength=_precision(prior.strength_sd),
            log_sigma=_precision(prior.log_sigma_sd),
            slot=_precision(prior.slot_sd),
            gauge_strength=gauge if prior.strength_sd is None else 0.0,
            gauge_log_sigma=max(weight, 1.0) / slots**2 if prior.log_sigma_sd is None else 0.0,
        ),
        node.reshape(blocks, width),
        component.reshape(blocks, width),
        free,
        # Pseudo-wins are seen at sigma = 1: they do not scale.
        scalable=1.0 if prior.pseudo_wins == 0 and sigma_of.any() else 0.0,
    )
    return Layout(problem, place, judges, slots)


def bucket(n: int) -> int:
    """The smallest of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... that is not under n."""
    power = 1 << max(0, int(n - 1).bit_length())
    return 3 * power // 4 if power >= 4 and n <= 3 * power // 4 else power


def _precision(sd: float | None) -> float:
    return 0.0 if sd is None else sd**-2


def _places(counts: PairCounts, graph: Graph, size: type[int] | object) -> tuple[np.ndarray, int, int]:
    seen = np.flatnonzero(graph.observed)
    _, block = np.unique(counts.node_context[seen], return_inverse=True)
    starts = np.searchsorted(block, np.arange(block.max(initial=0) + 1))
    within = np.arange(len(seen)) - starts[block]
    blocks, width = size(int(block.max(initial=0)) + 1), size(int(within.max(initial=0)) + 1)  # type: ignore[operator]
    place = np.full(len(counts.node_item), -1)
    place[seen] = block * width + within
    return place, blocks, width


def _rows(
    counts: PairCounts, place: np.ndarray, ties: str, pseudo_wins: float, judges: int, size: type[int] | object
) -> Rows:
    as_wins = (counts.flip + (counts.tie if ties == "half" else 0)) / 2
    pairs = np.unique(np.stack([counts.a, counts.b], axis=1), axis=0) if pseudo_wins else np.empty((0, 2), np.int64)
    extra = len(pairs)
    half = np.full(extra, pseudo_wins / 2)
    none = np.zeros(extra)
    filler = size(len(counts) + extra) - len(counts) - extra  # type: ignore[operator]

    def column(data: np.ndarray, more: np.ndarray, fill: float) -> np.ndarray:
        return np.concatenate([data, more, np.full(filler, fill, dtype=data.dtype)])

    return Rows(
        a=column(place[counts.a], place[pairs[:, 0]], 0),
        b=column(place[counts.b], place[pairs[:, 1]], 0),
        judge=column(counts.judge, np.full(extra, judges), judges),
        slot=column(counts.slot.astype(float), none, 0.0),
        wins_a=column(counts.win_a + as_wins, half, 0.0),
        wins_b=column(counts.win_b + as_wins, half, 0.0),
        ties=column(np.zeros(len(counts)) if ties == "half" else counts.tie, none, 0.0),
        observed=column(np.ones(len(counts)), none, 0.0),
    )
