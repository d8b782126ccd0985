"""How far each vote holds two items apart, and the votes whose removal should close the gap.

To first order, taking away an opinion with score u moves the parameters by -C u, and the gap between i and j by

    -(e_i - e_j)^T C u

with C the inverse of the expected information plus the prior's precision, in the gauge of the report. The most influential
set adds up the largest of these until the gap is used up: "AMIP" of Broderick, Giordano and Meager (2020, arXiv:2011.14999),
whose sum is exact to first order and too small where the set is large; a refit says what is true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from juryrank.estimate import Fit
from juryrank.influence.standing import Places
from juryrank.influence.units import Units

#: cells of dense matrices that are held at a time
CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class Aim:
    """The units to take for one pair, the most telling first."""

    #: nodes: the one ahead, the one behind
    pair: tuple[int, int]
    #: (units that help,) in the order in which they go, and the copies of each that can
    unit: np.ndarray
    copies: np.ndarray
    #: copies that close the gap to first order; None where all of them do not
    needed: int | None
    #: for choosing between pairs: `needed`, or how many there would have to be
    cost: float

    @property
    def available(self) -> int:
        """Copies that help."""
        return int(self.copies.sum())

    def first(self, size: int, base: np.ndarray) -> np.ndarray:
        """(units,) the first `size` copies, beside what is gone already."""
        taken = base.copy()
        taken[self.unit] += np.clip(size - (np.cumsum(self.copies) - self.copies), 0, self.copies)
        return taken


def lever(fit: Fit) -> np.ndarray | None:
    """(parameters, parameters) how parameters answer to scores; None where the information has no inverse."""
    known = fit.model_covariance
    if known is None:
        return None
    problem, whole = fit.layout.problem, known.whole
    prior = np.concatenate([problem.node.reshape(-1) * problem.prior.strength, problem.prior.border])
    return np.linalg.solve(np.eye(len(whole)) + whole * prior, whole)


def aims(units: Units, fit: Fit, taken: np.ndarray, places: Places, most: int) -> list[Aim]:
    """The pairs whose gap takes the fewest units at a fit without those `taken`, at most `most` of them."""
    pairs, by = places.measured(fit), lever(fit)
    if by is None or not len(pairs):
        return []
    said, left = units.scores(fit), units.copies - taken
    strength = fit.layout.strengths(fit.reported)
    gap = np.maximum(strength[pairs[:, 0]] - strength[pairs[:, 1]], 0.0)
    at_least = _at_least(said[left > 0], by, fit, pairs, gap)
    found: list[Aim] = []
    for place in np.argsort(at_least, kind="stable"):
        if len(found) >= most and at_least[place] > found[most - 1].cost:
            break
        push = said @ _along(by, fit, pairs[place : place + 1])[:, 0]
        found = sorted([*found, _aim(pairs[place], push, left, float(gap[place]))], key=lambda aim: aim.cost)
    return [aim for aim in found[:most] if aim.available]


def again(pair: tuple[int, int], units: Units, fit: Fit, taken: np.ndarray, before: Fit | None = None) -> Aim | None:
    """One pair aimed at from another fit; pushes are averaged with those `before`, if given. None: no finite gap there."""
    push = pushes(pair, units, fit)
    first = push if before is None else pushes(pair, units, before)
    strength = fit.layout.strengths(fit.reported)[list(pair)]
    if push is None or first is None or not np.isfinite(strength).all():
        return None
    return _aim(np.array(pair), (push + first) / 2, units.copies - taken, max(float(strength[0] - strength[1]), 0.0))


def pushes(pair: tuple[int, int], units: Units, fit: Fit) -> np.ndarray | None:
    """(units,) by how much one copy of each holds a pair apart; None where a fit does not say."""
    by = lever(fit)
    if by is None or (fit.layout.place[list(pair)] < 0).any():
        return None
    return units.scores(fit) @ _along(by, fit, np.array([pair]))[:, 0]


def _along(by: np.ndarray, fit: Fit, pairs: np.ndarray) -> np.ndarray:
    """(parameters, pairs) the direction in which scores move each gap."""
    place = fit.layout.place[pairs]
    return by[:, place[:, 0]] - by[:, place[:, 1]]


def _at_least(said: csr_array, by: np.ndarray, fit: Fit, pairs: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """(pairs,) units that a gap takes if all were as telling as the first."""
    step = max(1, CELLS // max(1, said.shape[0]))
    parts = [
        (said @ _along(by, fit, pairs[start : start + step])).max(axis=0, initial=0.0)
        for start in range(0, len(pairs), step)
    ]
    strongest = np.concatenate(parts)
    return np.divide(gap, strongest, out=np.full(len(gap), np.inf), where=strongest > 0)


def _aim(pair: np.ndarray, push: np.ndarray, left: np.ndarray, gap: float) -> Aim:
    # Rounding must not choose between equal votes, which stand in the order of their cells.
    floor = 1e-9 * float(np.abs(push).max(initial=0.0))
    helps = np.flatnonzero((push > floor) & (left > 0))
    coarse = np.rint(push[helps] / floor) if floor else push[helps]
    unit = helps[np.argsort(-coarse, kind="stable")]
    closed = np.cumsum(push[unit] * left[unit])
    total, copies = float(closed[-1]) if len(unit) else 0.0, left[unit]
    if total <= gap:
        cost = float(copies.sum()) * gap / total if total else np.inf
        return Aim((int(pair[0]), int(pair[1])), unit, copies, None, cost)
    last = int(np.searchsorted(closed, gap, side="right"))
    before = closed[last] - push[unit[last]] * copies[last]
    needed = int(copies[:last].sum()) + int(np.floor((gap - before) / push[unit[last]])) + 1
    needed = min(needed, int(copies[: last + 1].sum()))
    return Aim((int(pair[0]), int(pair[1])), unit, copies, needed, float(needed))
