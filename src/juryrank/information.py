"""Covariances from the expected (Fisher) information of the observed rows, on the space that the data identify.

Conventions: the information I is taken at the reported parameters, without prior and pseudo-wins. I has null directions D
that change no probability: a shift of each component, and (r, 1), which scales strengths r with all sigmas. The report
fixes them by V: strengths of a component sum to zero, log sigmas sum to zero. With M = I + kappa V V^T (any kappa > 0) and
Q = 1 - D (V^T D)^-1 V^T, the constrained covariance is exactly Q M^-1 Q^T: nothing is shrunk, the ridge acts on
directions that Q removes. A border parameter without any information is held where it is and has no error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from juryrank.layout import Layout
from juryrank.likelihoods import TIES, probabilities
from juryrank.objective import TIE, Curvature, Parameters, curvature, sum_at, view

#: a judge's parameter with less information than this share of its votes is not estimated at all
NONE = 1e-10
#: a pivot this small, on the scale of its own diagonal, is rounding and no information
NOT_IDENTIFIED = 1e-12
#: a coefficient with less than this share of its information left, once others may explain it, is not identified
EXPLAINED = 1e-8
#: nodes of one block whose dense covariance is still affordable
WIDEST = 4000


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariances in the gauge of the report; NaN where nothing is known."""

    #: (blocks, width, width) strengths within each block
    strengths: np.ndarray
    #: (blocks, width, border) strengths against log sigma (sum zero), slot bias, tie parameter
    side: np.ndarray
    #: (border, border) these among themselves
    border: np.ndarray

    def variance(self, places: np.ndarray) -> np.ndarray:
        """Variance of single strengths at flat places."""
        block, place = np.divmod(places, self.strengths.shape[1])
        return self.strengths[block, place, place]

    def of_difference(self, a: int, b: int) -> float:
        """Variance of the gap between two places of one block."""
        width = self.strengths.shape[1]
        (block, i), (_, j) = divmod(a, width), divmod(b, width)
        matrix = self.strengths[block]
        return float(matrix[i, i] + matrix[j, j] - 2 * matrix[i, j])

    @property
    def whole(self) -> np.ndarray:
        """(width + border, width + border) of a single block; 0 where nothing is known."""
        (strengths,), (side,) = self.strengths, self.side
        return np.nan_to_num(np.block([[strengths, side], [side.T, self.border]]))

    def with_whole(self, matrix: np.ndarray) -> Covariance:
        """Another matrix over the same single block, unknown where this is."""
        width = self.strengths.shape[1]
        known = np.where(np.isnan(np.diagonal(self.border)), np.nan, 1.0)
        return Covariance(
            strengths=matrix[None, :width, :width],
            side=matrix[None, :width, width:] * known,
            border=matrix[width:, width:] * known[:, None] * known,
        )


def information(ties: str, layout: Layout, at: Parameters) -> Curvature:
    """Expected information of the observed rows at some parameters."""
    rows = layout.problem.rows
    seen = view(rows, at)
    total, c = rows.weight * rows.observed, at.border[TIE]
    a, b, tie = probabilities(ties, seen.z, c)
    pieces = TIES[ties](seen.z, c, total * a, total * b, total * tie)
    flat = pieces._replace(z=np.zeros_like(seen.z))
    return curvature(rows, seen, flat, at)


def covariance(ties: str, layout: Layout, at: Parameters) -> Covariance | None:
    """Model-based covariance at the reported parameters; None where it is too large or not defined."""
    problem = layout.problem
    if problem.node.shape[1] > WIDEST:
        return None
    info = information(ties, layout, at)
    known = _informed(info, layout)
    scaled = known & (problem.log_sigma > 0)
    try:
        return _constrained(info, problem.node, problem.component, known, scaled, at.strength)
    except np.linalg.LinAlgError:
        return None


def explained(ties: str, layout: Layout, at: Parameters) -> tuple[np.ndarray, np.ndarray]:
    """(border,) coefficients that the strengths explain; those that strengths, slot biases and earlier ones explain.

    Asked of the design alone, at equal strengths and sigmas: where judges differ in sigma a covariate of the items can be
    told from their strengths, but by nothing that the data say of it.
    """
    problem, size = layout.problem, len(layout.problem.free)
    none = np.zeros(size, bool)
    places = np.unique(layout.beta[layout.beta < size - 1])
    if not len(places) or problem.node.shape[1] > WIDEST:
        return none, none
    info = information(ties, layout, layout.start(float(at.border[TIE])))
    q = np.flatnonzero(_informed(info, layout))
    blocks, _ = _grounded(info, problem.node, problem.component)
    side = info.side[:, :, q]
    left = info.border[np.ix_(q, q)] - np.einsum("cwi,cwj->ij", side, np.linalg.solve(blocks, side))
    unit = 1 / np.sqrt(np.diagonal(info.border)[q])
    left = left * unit[:, None] * unit
    wanted = np.isin(np.arange(size), places)
    by_strengths, by_all = none.copy(), none.copy()
    by_strengths[q] = np.diagonal(left) < EXPLAINED
    by_all[q] = _in_turn(left)
    return by_strengths & wanted, by_all & wanted


def _in_turn(matrix: np.ndarray) -> np.ndarray:
    """Which rows of a correlation matrix those before them explain, by elimination."""
    left, found = matrix.copy(), np.zeros(len(matrix), bool)
    for i in range(len(left)):
        if left[i, i] < EXPLAINED:
            found[i] = True
        else:
            left -= np.outer(left[:, i], left[i] / left[i, i])
    return found


def _informed(info: Curvature, layout: Layout) -> np.ndarray:
    rows, size = layout.problem.rows, len(layout.problem.free)
    weight = np.zeros(size)
    for place in (rows.t, rows.bias):
        if place is not None:
            weight += sum_at(place, rows.weight, size)
    if rows.x is not None and rows.beta is not None:
        weight += sum_at(rows.beta.ravel(), (rows.weight[:, None] * rows.x**2).ravel(), size)
    weight[TIE] = rows.weight.sum()
    return (layout.problem.free > 0) & (np.diagonal(info.border) > NONE * weight)


def _grounded(info: Curvature, node: np.ndarray, component: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Information on the strengths with a ridge on the mean of each component; the projection onto those means."""
    same = (component[:, :, None] == component[:, None, :]) * node[:, :, None] * node[:, None, :]
    ridge = max(float(np.einsum("cii->", info.blocks)) / max(node.sum(), 1.0), 1e-12)
    share = same / np.maximum(same.sum(axis=2, keepdims=True), 1)
    return info.blocks + ridge * share + (1 - node)[:, :, None] * np.eye(node.shape[1]), share


def _constrained(
    info: Curvature, node: np.ndarray, component: np.ndarray, known: np.ndarray, scaled: np.ndarray, r: np.ndarray
) -> Covariance:
    blocks, share = _grounded(info, node, component)
    eye = np.eye(node.shape[1])
    inverse = _inverse(blocks)
    q = np.flatnonzero(known)
    side = info.side[:, :, q]
    across = inverse @ side
    border = info.border[np.ix_(q, q)] - np.einsum("cwi,cwj->ij", side, across)
    scale = scaled[q].astype(float)
    if scale.any():
        border = border + float(np.trace(info.border)) / len(q) * np.outer(scale, scale)
    below = _inverse(border[None])[0] if len(q) else border
    centred = eye - share
    strengths = centred @ (inverse + across @ below @ np.swapaxes(across, 1, 2)) @ np.swapaxes(centred, 1, 2)
    side = -centred @ across @ below
    if scale.any():
        mean = scale / scale.sum()
        rho = side @ mean
        strengths = strengths - r[:, :, None] * rho[:, None, :] - rho[:, :, None] * r[:, None, :]
        strengths = strengths + float(mean @ below @ mean) * r[:, :, None] * r[:, None, :]
        gauge = np.eye(len(q)) - np.outer(scale, mean)
        side = (side - r[:, :, None] * (mean @ below)) @ gauge.T
        below = gauge @ below @ gauge.T
    return Covariance(strengths, _spread(side, known), _spread(_spread(below, known).T, known))


def _spread(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The last axis back at the places that are known; NaN elsewhere."""
    out = np.full((*values.shape[:-1], len(known)), np.nan)
    out[..., known] = values
    return out


def _inverse(matrices: np.ndarray) -> np.ndarray:
    """Inverse of positive definite matrices; LinAlgError where one is not."""
    scale = 1 / np.sqrt(np.maximum(np.einsum("cii->ci", matrices), 1e-300))
    unit = scale[:, :, None] * scale[:, None, :]
    pivots = np.einsum("cii->ci", np.linalg.cholesky(matrices * unit)) ** 2
    if pivots.min(initial=1.0) < NOT_IDENTIFIED:
        raise np.linalg.LinAlgError("a direction is not identified")
    return np.linalg.inv(matrices * unit) * unit
