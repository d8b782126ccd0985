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
    same = (problem.component[:, :, None] == problem.component[:, None, :]) * _outer(problem.node)
    try:
        return _constrained(info, problem.node, same, known, scaled, at.strength)
    except np.linalg.LinAlgError:
        return None


def _informed(info: Curvature, layout: Layout) -> np.ndarray:
    rows, size = layout.problem.rows, len(layout.problem.free)
    weight = np.zeros(size)
    for place in (rows.t, rows.bias):
        if place is not None:
            weight += sum_at(place, rows.weight, size)
    weight[TIE] = rows.weight.sum()
    return (layout.problem.free > 0) & (np.diagonal(info.border) > NONE * weight)


def _outer(node: np.ndarray) -> np.ndarray:
    return node[:, :, None] * node[:, None, :]


def _constrained(
    info: Curvature, node: np.ndarray, same: np.ndarray, known: np.ndarray, scaled: np.ndarray, r: np.ndarray
) -> Covariance:
    width = node.shape[1]
    eye = np.eye(width)
    ridge = max(float(np.einsum("cii->", info.blocks)) / max(node.sum(), 1.0), 1e-12)
    share = same / np.maximum(same.sum(axis=2, keepdims=True), 1)
    blocks = info.blocks + ridge * share + (1 - node)[:, :, None] * eye
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
