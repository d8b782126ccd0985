"""Who holds the first places of a fit, and whether another has passed.

Conventions: an item has passed another where it is strictly ahead, by more than rounding, and both are still compared, in
one component. Where nothing bounds the strengths, a chain of wins that leads one way only puts one ahead of the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from juryrank.estimate import Fit

#: logits: a lead smaller than this is the rounding of a fit
ROUNDING = 1e-7


@dataclass(frozen=True, eq=False)
class Places:
    """The first places, as nodes of a fit."""

    #: (k,) who holds them, best first, and (others,) who does not, both of one component
    holders: np.ndarray
    others: np.ndarray

    def passed(self, fit: Fit) -> tuple[int, int] | None:
        """A holder and another that has passed it, the widest gap first; None where all places are held."""
        strength = fit.layout.strengths(fit.reported)
        best: tuple[float, int, int] | None = None
        for holder in self.holders:
            ahead = self.others[_ahead(fit, int(holder), strength)[self.others]]
            for other in ahead[np.argsort(-strength[ahead], kind="stable")][:1]:
                gap = float(strength[other] - strength[holder])
                best = (gap, int(holder), int(other)) if best is None or gap > best[0] else best
        return None if best is None else best[1:]

    def lead(self, fit: Fit) -> float:
        """The smallest gap between a holder and another, negative where one has passed; NaN where none is finite."""
        pairs, strength = self.pairs(fit), fit.layout.strengths(fit.reported)
        return float((strength[pairs[:, 0]] - strength[pairs[:, 1]]).min()) if len(pairs) else np.nan

    def shared(self, fit: Fit) -> int | None:
        """The other that stands level with the last holder; None where there is none."""
        strength = fit.layout.strengths(fit.reported)
        last = self.holders[-1]
        level = self.others[np.abs(strength[self.others] - strength[last]) <= ROUNDING]
        level = level if finite(fit) else level[fit.graph.strong[level] == fit.graph.strong[last]]
        return int(level[0]) if len(level) else None

    def pairs(self, fit: Fit) -> np.ndarray:
        """(pairs, 2) holders and others with a finite gap between them as reported."""
        pairs = np.stack([np.repeat(self.holders, len(self.others)), np.tile(self.others, len(self.holders))], axis=1)
        label = fit.graph.label if finite(fit) else fit.graph.strong
        seen = fit.graph.observed[pairs].all(axis=1)
        return pairs[seen & (label[pairs[:, 0]] == label[pairs[:, 1]])]

    def measured(self, fit: Fit) -> np.ndarray:
        """(pairs, 2) those of `pairs` whose gap the votes bound from both sides, whatever the prior."""
        pairs, strong = self.pairs(fit), fit.graph.strong
        return pairs[strong[pairs[:, 0]] == strong[pairs[:, 1]]]


def finite(fit: Fit) -> bool:
    """Whether all gaps within a component are finite."""
    return fit.prior.bounds_strengths or fit.graph.connected


def _ahead(fit: Fit, node: int, strength: np.ndarray) -> np.ndarray:
    """(nodes,) which are strictly ahead of one."""
    graph = fit.graph
    if not graph.observed[node]:
        return np.zeros(len(strength), bool)
    higher = graph.observed & (strength > strength[node] + ROUNDING)
    if finite(fit):
        return higher & (graph.label == graph.label[node])
    one_way = _reached(graph.arrows.T.tocsr(), node) & ~_reached(graph.arrows, node)
    return np.where(graph.strong == graph.strong[node], higher, one_way)


def _reached(arrows: csr_array, node: int) -> np.ndarray:
    """(nodes,) which some arrows lead to from one."""
    found = np.zeros(arrows.shape[0], bool)
    found[breadth_first_order(arrows, node, return_predecessors=False)] = True
    return found
