"""The penalised log-likelihood of Bradley-Terry and BT-sigma over all rows: value, gradient, curvature.

Conventions:
    z = (s_a - s_b) / sigma_k + slot * b_k + sum over covariates of x_j beta_jk        logits; sigma_k = exp(t_k)
    objective = sum of row log-likelihoods - |s|^2 / (2 v_s) - |t|^2 / (2 v_t) - |b|^2 / (2 v_b) - |beta|^2 / (2 v_beta)
                - gauge
    gauge     = kappa_s / 2 * sum over components (sum of s)^2 + kappa_t / 2 * (sum of t)^2
For e = p - logistic(z): dL/ds_i = sum e / sigma_k, dL/dt_k = -sum e (s_a - s_b) / sigma_k (arXiv:2602.16610). The gauge
terms are nonzero only under flat priors, where moving s, or s and sigma together, changes no probability: they choose one
point of the flat line and leave the maximum as it is.

Parameters: strengths s in (blocks, width), a block being a context; border = (c, then t and b of the judges that have one,
then beta, for each covariate one or one a judge, then places that are never fitted). The curvature is block-diagonal in the
strengths, with the border across.

The functions take numpy or JAX arrays alike: the array says which library computes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from juryrank.likelihoods import TIES, Array, Pieces, namespace

#: place of the tie parameter in the border
TIE = 0


class Rows(NamedTuple):
    """Data of a fit. Padding rows have weight 0."""

    a: Array  # flat node = block * width + place
    b: Array
    t: Array | None  # border place of the judge's log sigma; None where no judge has one
    bias: Array | None  # border place of the judge's slot bias; None where no judge has one
    slot: Array
    wins_a: Array
    wins_b: Array
    ties: Array
    observed: Array  # 1 for data, 0 for pseudo-wins and padding
    x: Array | None = None  # (rows, covariates) of a minus of b, on the scale of the fit; None without covariates
    beta: Array | None = None  # (rows, covariates) border place of the coefficient

    @property
    def linear(self) -> list[tuple[Array, Array]]:
        """Border place and value of each term that stands in the logit as it is: slot bias, then covariates."""
        terms = [] if self.bias is None else [(self.bias, self.slot)]
        if self.x is not None and self.beta is not None:
            terms += [(self.beta[:, j], self.x[:, j]) for j in range(self.x.shape[1])]
        return terms

    @property
    def weight(self) -> Array:
        """Wins and ties together."""
        return self.wins_a + self.wins_b + self.ties


class Precisions(NamedTuple):
    """Precisions 1 / v and gauge weights."""

    strength: Array
    border: Array  # (border,)
    gauge_strength: Array
    gauge_log_sigma: Array


class Problem(NamedTuple):
    """Everything that a fit needs but its start."""

    rows: Rows
    prior: Precisions
    node: Array  # (blocks, width) 1 where a node exists
    component: Array  # (blocks, width) label, any value where there is no node
    free: Array  # (border,) 1 where a border parameter is fitted
    log_sigma: Array  # (border,) 1 where it is a log sigma
    scalable: Array  # 1 where scaling all strengths and sigmas together changes no likelihood, else 0


class Parameters(NamedTuple):
    """Strengths (blocks, width) and border (border,)."""

    strength: Array
    border: Array


class Curvature(NamedTuple):
    """A symmetric matrix over (strengths, border), block-diagonal in the strengths."""

    blocks: Array  # (blocks, width, width)
    side: Array  # (blocks, width, border)
    border: Array  # (border, border)


class Evaluation(NamedTuple):
    """The objective at one point, with its gradient and the negative Hessian."""

    value: Array
    log_likelihood: Array
    strength: Array  # gradient
    border: Array  # gradient
    curvature: Curvature


class View(NamedTuple):
    """What each row sees of the parameters."""

    scale: Array  # 1 / sigma
    gap: Array  # (s_a - s_b) / sigma
    z: Array


def view(rows: Rows, at: Parameters) -> View:
    """Logits of all rows."""
    xp = namespace(at.border)
    strength = at.strength.reshape(-1)
    scale = xp.ones_like(rows.slot) if rows.t is None else xp.exp(-at.border)[rows.t]
    z = gap = (strength[rows.a] - strength[rows.b]) * scale
    for place, value in rows.linear:
        z = z + value * at.border[place]
    return View(scale, gap, z)


def evaluate(ties: str, problem: Problem, at: Parameters) -> Evaluation:
    """Objective, gradient and negative Hessian."""
    rows, prior = problem.rows, problem.prior
    seen = view(rows, at)
    pieces = TIES[ties](seen.z, at.border[TIE], rows.wins_a, rows.wins_b, rows.ties)
    by_strength, by_border = gradient(rows, seen, pieces, at)
    same = _same_component(problem)
    pull = prior.strength * at.strength + prior.gauge_strength * _times(same, at.strength)
    border = at.border * problem.free
    push = prior.border * border + prior.gauge_log_sigma * problem.log_sigma * (problem.log_sigma * border).sum()
    return Evaluation(
        value=pieces.value.sum() - ((at.strength * pull).sum() + (border * push).sum()) / 2,
        log_likelihood=(pieces.value * rows.observed).sum(),
        strength=(by_strength - pull) * problem.node,
        border=(by_border - push) * problem.free,
        curvature=_free(_penalised(curvature(rows, seen, pieces, at), problem, same), problem),
    )


def gradient(rows: Rows, seen: View, pieces: Pieces, at: Parameters) -> tuple[Array, Array]:
    """Gradient of the log-likelihood alone: by strengths (blocks, width) and by border (border,)."""
    xp = namespace(at.border)
    by_node = sum_at(xp.concatenate([rows.a, rows.b]), _both(pieces.z * seen.scale), at.strength.size)
    by_border = xp.zeros_like(at.border)
    if rows.t is not None:
        by_border = by_border + sum_at(rows.t, -pieces.z * seen.gap, at.border.size)
    for place, value in rows.linear:
        by_border = by_border + sum_at(place, pieces.z * value, at.border.size)
    if pieces.c is not None:
        by_border = by_border + pieces.c.sum() * (xp.arange(at.border.size) == TIE)
    return by_node.reshape(at.strength.shape), by_border


def curvature(rows: Rows, seen: View, pieces: Pieces, at: Parameters) -> Curvature:
    """Negative Hessian of the log-likelihood alone.

    With expected counts in the rows and `pieces.z` = 0 the same sums are the expected (Fisher) information.
    """
    xp = namespace(at.border)
    blocks, width = at.strength.shape
    on_pair = -pieces.zz * seen.scale**2
    across = sum_at(rows.a * width + rows.b % width, -on_pair, blocks * width * width).reshape(blocks, width, width)
    alone = sum_at(xp.concatenate([rows.a, rows.b]), xp.concatenate([on_pair, on_pair]), blocks * width)
    own = across + xp.swapaxes(across, 1, 2) + alone.reshape(blocks, width)[:, :, None] * xp.eye(width)
    return Curvature(own, _side(rows, seen, pieces, at), _border(rows, seen, pieces, at))


def _side(rows: Rows, seen: View, pieces: Pieces, at: Parameters) -> Array:
    """(blocks, width, border): strengths against border parameters."""
    xp = namespace(at.border)
    bend, lean, size = -pieces.zz, pieces.z, at.border.size
    side = xp.zeros((at.strength.size * size,), at.border.dtype)
    terms = []
    if rows.t is not None:
        terms.append((rows.t, (lean - bend * seen.gap) * seen.scale))
    terms += [(place, bend * value * seen.scale) for place, value in rows.linear]
    if pieces.zc is not None:
        terms.append((xp.zeros_like(rows.a) + TIE, -pieces.zc * seen.scale))
    for place, value in terms:
        cell = xp.concatenate([rows.a * size + place, rows.b * size + place])
        side = side + sum_at(cell, _both(value), at.strength.size * size)
    return side.reshape(*at.strength.shape, size)


def _border(rows: Rows, seen: View, pieces: Pieces, at: Parameters) -> Array:
    """(border, border): border parameters among themselves."""
    xp = namespace(at.border)
    bend, lean, size = -pieces.zz, pieces.z, at.border.size
    upper = xp.zeros((size * size,), at.border.dtype)  # each mixed term once, and half of each square

    def add(one: Array, other: Array, value: Array) -> None:
        nonlocal upper
        upper = upper + sum_at(one * size + other, value, size * size)

    tie = xp.zeros_like(rows.a) + TIE
    if rows.t is not None:
        add(rows.t, rows.t, (bend * seen.gap**2 - lean * seen.gap) / 2)
    for i, (place, value) in enumerate(rows.linear):
        add(place, place, bend * value**2 / 2)
        if rows.t is not None:
            add(rows.t, place, -bend * seen.gap * value)
        for other, factor in rows.linear[:i]:
            add(place, other, bend * value * factor)
    if pieces.zc is not None and pieces.cc is not None:
        add(tie, tie, -pieces.cc / 2)
        if rows.t is not None:
            add(rows.t, tie, pieces.zc * seen.gap)
        for place, value in rows.linear:
            add(place, tie, -pieces.zc * value)
    square = upper.reshape(size, size)
    return square + square.T


def sum_at(index: Array, values: Array, size: int) -> Array:
    """Sum values by index: numpy's counter on the host, a scatter on a device."""
    if isinstance(values, np.ndarray):
        return np.bincount(index, weights=values, minlength=size)
    return namespace(values).zeros(size, values.dtype).at[index].add(values)


def settled(problem: Problem, at: Parameters) -> Parameters:
    """The best of all points with the same likelihood: centred components, and the best common scale."""
    same = _same_component(problem)
    size = namespace(at.border).maximum(same.sum(axis=2), 1.0)
    return _rescaled(problem, Parameters(at.strength - _times(same, at.strength) / size, at.border))


def _rescaled(problem: Problem, at: Parameters) -> Parameters:
    """The best point of the line on which strengths and sigmas scale together: only the priors tell its points apart.

    With a = e^x: minimise a^2 |s|^2 / (2 v_s) + |t + x|^2 / (2 v_t), a convex problem in x, by Newton steps. Without
    this the climb follows a long curved valley.
    """
    xp = namespace(at.border)
    sigmas = problem.log_sigma * problem.free
    keep = (problem.prior.border * sigmas).max()
    flat = keep <= 0
    pull = xp.where(flat, 0.0, problem.prior.strength * (at.strength**2).sum())
    keep = xp.where(flat, 1.0, keep)
    count, total = xp.maximum(sigmas.sum(), 1.0), (at.border * sigmas).sum()
    x = -total / count
    for _ in range(12):
        grown = pull * xp.exp(2 * x)
        x = x - (grown + keep * (count * x + total)) / (2 * grown + keep * count)
    x = x * problem.scalable
    return Parameters(at.strength * xp.exp(x), at.border + sigmas * x)


def _both(values: Array) -> Array:
    """A term enters at a as it is and at b turned."""
    return namespace(values).concatenate([values, -values])


def _times(matrices: Array, vectors: Array) -> Array:
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _same_component(problem: Problem) -> Array:
    same = problem.component[:, :, None] == problem.component[:, None, :]
    return same * problem.node[:, :, None] * problem.node[:, None, :]


def _penalised(curved: Curvature, problem: Problem, same: Array) -> Curvature:
    xp = namespace(curved.border)
    prior, sigma = problem.prior, problem.log_sigma
    return Curvature(
        curved.blocks + prior.strength * xp.eye(same.shape[1]) + prior.gauge_strength * same,
        curved.side,
        curved.border + xp.diag(prior.border) + prior.gauge_log_sigma * sigma[:, None] * sigma[None, :],
    )


def _free(curved: Curvature, problem: Problem) -> Curvature:
    """Give every parameter that is not fitted an equation of its own, step = 0."""
    xp = namespace(curved.border)
    node, free = problem.node, problem.free
    return Curvature(
        curved.blocks * node[:, :, None] * node[:, None, :] + (1 - node)[:, :, None] * xp.eye(node.shape[1]),
        curved.side * node[:, :, None] * free[None, None, :],
        curved.border * free[:, None] * free[None, :] + xp.diag(1 - free),
    )
