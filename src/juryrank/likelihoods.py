"""Bradley-Terry, BT-sigma, slot bias and ties: value, gradient and curvature of the penalised log-likelihood.

Conventions:
    z = (s_a - s_b) / sigma_k + slot * b_k        logits; sigma_k = exp(t_k); natural logarithms throughout
    objective = sum of row log-likelihoods - |s|^2 / (2 v_s) - |t|^2 / (2 v_t) - |b|^2 / (2 v_b) - gauge
    gauge     = kappa_s / 2 * sum over components (sum of s)^2 + kappa_t / 2 * (sum of t)^2
The gauge terms are nonzero only under flat priors, where moving s (or s and sigma together) changes no probability: they
choose one point of the flat line and leave the maximum as it is. Parameters: strengths s in (blocks, width), a block being
a context; border = (t of each judge, b of each judge, tie parameter c). A row has wins of a, wins of b and ties.

Ties, with W = wins + ties of a row:
    half         a tie is half a win each way: it reaches the row as such, and c is not used
    davidson     P(a) : P(b) : P(tie) = e^{z/2} : e^{-z/2} : nu,  c = log nu          (Davidson 1970)
    rao-kupper   P(a) = logistic(z - c), P(b) = logistic(-z - c),  c = log theta > 0  (Rao and Kupper 1967)
BT-sigma: arXiv:2602.16610; for e = p - logistic(z): dL/ds_i = sum e / sigma_k, dL/dt_k = -sum e (s_a - s_b) / sigma_k.

The functions take numpy or JAX arrays alike: the array says which library computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = Any  # numpy or JAX array


class Pieces(NamedTuple):
    """Log-likelihood of each row and its derivatives by z and c."""

    value: Array
    z: Array
    c: Array
    zz: Array
    zc: Array
    cc: Array


def half(z: Array, c: Array, wins_a: Array, wins_b: Array, ties: Array) -> Pieces:
    """Bradley-Terry; ties have become half wins before they come here."""
    xp = namespace(z)
    log_a, log_b = -xp.logaddexp(0.0, -z), -xp.logaddexp(0.0, z)
    a, b = xp.exp(log_a), xp.exp(log_b)
    none = xp.zeros_like(z)
    return Pieces(
        value=wins_a * log_a + wins_b * log_b,
        z=wins_a * b - wins_b * a,
        c=none,
        zz=-(wins_a + wins_b) * a * b,
        zc=none,
        cc=none,
    )


def davidson(z: Array, c: Array, wins_a: Array, wins_b: Array, ties: Array) -> Pieces:
    """Davidson's ties: an exponential family in (z / 2, log nu)."""
    xp = namespace(z)
    total = wins_a + wins_b + ties
    log_sum = xp.logaddexp(xp.logaddexp(z / 2, -z / 2), c)
    a, b, tie = xp.exp(z / 2 - log_sum), xp.exp(-z / 2 - log_sum), xp.exp(c - log_sum)
    lean = (a - b) / 2
    return Pieces(
        value=(wins_a - wins_b) * z / 2 + ties * c - total * log_sum,
        z=(wins_a - wins_b) / 2 - total * lean,
        c=ties - total * tie,
        zz=-total * ((a + b) / 4 - lean**2),
        zc=total * lean * tie,
        cc=-total * tie * (1 - tie),
    )


def rao_kupper(z: Array, c: Array, wins_a: Array, wins_b: Array, ties: Array) -> Pieces:
    """Rao and Kupper's threshold: P(tie) = (theta^2 - 1) P(a) P(b), concave in (z, log theta)."""
    xp = namespace(z)
    log_a, log_b = -xp.logaddexp(0.0, c - z), -xp.logaddexp(0.0, c + z)
    not_a, not_b = xp.exp(-xp.logaddexp(0.0, z - c)), xp.exp(-xp.logaddexp(0.0, -z - c))
    for_a, for_b = wins_a + ties, wins_b + ties
    bend_a, bend_b = for_a * not_a * (1 - not_a), for_b * not_b * (1 - not_b)
    shrink = -xp.expm1(-2 * c)  # 1 - theta^-2
    return Pieces(
        value=for_a * log_a + for_b * log_b + ties * (2 * c + xp.log(shrink)),
        z=for_a * not_a - for_b * not_b,
        c=-for_a * not_a - for_b * not_b + 2 * ties / shrink,
        zz=-bend_a - bend_b,
        zc=bend_a - bend_b,
        cc=-bend_a - bend_b - 4 * ties * xp.exp(-2 * c) / shrink**2,
    )


Likelihood = Callable[[Array, Array, Array, Array, Array], Pieces]
TIES: dict[str, Likelihood] = {"half": half, "davidson": davidson, "rao-kupper": rao_kupper}


def probabilities(ties: str, z: Array, c: Array) -> tuple[Array, Array, Array]:
    """P(a wins), P(b wins), P(tie) at logit z; they sum to one."""
    xp = namespace(z)
    if ties == "davidson":
        log_sum = xp.logaddexp(xp.logaddexp(z / 2, -z / 2), c)
        return xp.exp(z / 2 - log_sum), xp.exp(-z / 2 - log_sum), xp.exp(c - log_sum)
    threshold = c if ties == "rao-kupper" else 0.0
    a, b = xp.exp(-xp.logaddexp(0.0, threshold - z)), xp.exp(-xp.logaddexp(0.0, threshold + z))
    return a, b, 1 - a - b if ties == "rao-kupper" else xp.zeros_like(z)


def namespace(x: Array) -> Any:
    """The library of an array."""
    return x.__array_namespace__() if hasattr(x, "__array_namespace__") else np


class Rows(NamedTuple):
    """Data of a fit. Padding rows have weight 0."""

    a: Array  # flat node = block * width + place
    b: Array
    judge: Array
    slot: Array
    wins_a: Array
    wins_b: Array
    ties: Array
    observed: Array  # 1 for data, 0 for pseudo-wins and padding


class Precisions(NamedTuple):
    """Precisions 1 / v and gauge weights; all scalars."""

    strength: Array
    log_sigma: Array
    slot: Array
    gauge_strength: Array
    gauge_log_sigma: Array


class Problem(NamedTuple):
    """Everything that a fit needs but its start."""

    rows: Rows
    prior: Precisions
    node: Array  # (blocks, width) 1 where a node exists
    component: Array  # (blocks, width) label, any value where there is no node
    free: Array  # (border,) 1 where a border parameter is fitted
    scalable: Array  # 1 where scaling all strengths and sigmas together changes no likelihood, else 0


class Parameters(NamedTuple):
    """Strengths (blocks, width) and border (t per judge, b per judge, c)."""

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
    c: Array


def view(rows: Rows, at: Parameters) -> View:
    """Logits of all rows."""
    xp = namespace(at.border)
    judges = (at.border.shape[0] - 1) // 2
    strength = at.strength.reshape(-1)
    scale = xp.exp(-at.border[:judges])[rows.judge]
    gap = (strength[rows.a] - strength[rows.b]) * scale
    z = gap + rows.slot * at.border[judges : 2 * judges][rows.judge]
    return View(scale, gap, z, at.border[-1])


def evaluate(ties: str, problem: Problem, at: Parameters) -> Evaluation:
    """Objective, gradient and negative Hessian."""
    xp = namespace(at.border)
    rows, prior = problem.rows, problem.prior
    seen = view(rows, at)
    pieces = TIES[ties](seen.z, seen.c, rows.wins_a, rows.wins_b, rows.ties)
    strength, border = gradient(rows, seen, pieces, at)
    curved = curvature(rows, seen, pieces, at)
    judges = (at.border.shape[0] - 1) // 2
    t, b = at.border[:judges] * problem.free[:judges], at.border[judges : 2 * judges]
    same = _same_component(problem)
    pull = (same @ at.strength[:, :, None])[:, :, 0] * prior.gauge_strength
    penalty = (
        prior.strength * (at.strength**2).sum()
        + (at.strength * pull).sum()
        + prior.log_sigma * (t**2).sum()
        + prior.gauge_log_sigma * t.sum() ** 2
        + prior.slot * (b**2).sum()
    )
    push = xp.concatenate(
        [prior.log_sigma * t + prior.gauge_log_sigma * t.sum(), prior.slot * b, xp.zeros_like(at.border[-1:])]
    )
    log_likelihood = (pieces.value * rows.observed).sum()
    return Evaluation(
        value=pieces.value.sum() - penalty / 2,
        log_likelihood=log_likelihood,
        strength=(strength - prior.strength * at.strength - pull) * problem.node,
        border=(border - push) * problem.free,
        curvature=_free(_penalised(curved, problem, same), problem),
    )


def settled(problem: Problem, at: Parameters) -> Parameters:
    """The best of all points with the same likelihood: centred components, and the best common scale."""
    same = _same_component(problem)
    size = namespace(at.border).maximum(same.sum(axis=2), 1.0)
    mean = (same @ at.strength[:, :, None])[:, :, 0] / size
    return _rescaled(problem, Parameters(at.strength - mean, at.border))


def _rescaled(problem: Problem, at: Parameters) -> Parameters:
    """The best point of the line on which strengths and sigmas scale together: only the priors tell its points apart.

    With a = e^x: minimise a^2 |s|^2 / (2 v_s) + |t + x|^2 / (2 v_t), a convex problem in x, by Newton steps. Without
    this the climb follows a long curved valley.
    """
    xp = namespace(at.border)
    judges = (at.border.shape[0] - 1) // 2
    free = problem.free[:judges]
    prior = problem.prior
    flat = prior.log_sigma <= 0
    pull = xp.where(flat, 0.0, prior.strength * (at.strength**2).sum())
    keep = xp.where(flat, 1.0, prior.log_sigma)
    count, total = xp.maximum(free.sum(), 1.0), (at.border[:judges] * free).sum()
    x = -total / count
    for _ in range(12):
        grown = pull * xp.exp(2 * x)
        x = x - (grown + keep * (count * x + total)) / (2 * grown + keep * count)
    x = x * problem.scalable * xp.minimum(free.sum(), 1.0)
    shift = xp.concatenate([free * x, xp.zeros_like(at.border[judges:])])
    return Parameters(at.strength * xp.exp(x), at.border + shift)


def gradient(rows: Rows, seen: View, pieces: Pieces, at: Parameters) -> tuple[Array, Array]:
    """Gradient of the log-likelihood alone: by strengths (blocks, width) and by border."""
    xp = namespace(at.border)
    judges = (at.border.shape[0] - 1) // 2
    by_node = sum_at(xp.concatenate([rows.a, rows.b]), _both(pieces.z * seen.scale), at.strength.size)
    by_t = sum_at(rows.judge, -pieces.z * seen.gap, judges)
    by_b = sum_at(rows.judge, pieces.z * rows.slot, judges)
    return by_node.reshape(at.strength.shape), xp.concatenate([by_t, by_b, pieces.c.sum()[None]])


def curvature(rows: Rows, seen: View, pieces: Pieces, at: Parameters) -> Curvature:
    """Negative Hessian of the log-likelihood alone.

    With expected counts in the rows and `pieces.z` = 0 the same sums are the expected (Fisher) information.
    """
    xp = namespace(at.border)
    judges = (at.border.shape[0] - 1) // 2
    blocks, width = at.strength.shape
    bend, lean = -pieces.zz, pieces.z
    ends = xp.concatenate([rows.a, rows.b])
    on_pair = bend * seen.scale**2
    across = sum_at(rows.a * width + rows.b % width, -on_pair, blocks * width * width).reshape(blocks, width, width)
    alone = sum_at(ends, xp.concatenate([on_pair, on_pair]), blocks * width).reshape(blocks, width)
    own = across + xp.swapaxes(across, 1, 2) + alone[:, :, None] * xp.eye(width)
    cell = ends * judges + xp.concatenate([rows.judge, rows.judge])
    by_t = sum_at(cell, _both((lean - bend * seen.gap) * seen.scale), blocks * width * judges)
    by_b = sum_at(cell, _both(bend * rows.slot * seen.scale), blocks * width * judges)
    by_c = sum_at(ends, _both(-pieces.zc * seen.scale), blocks * width)
    side = xp.concatenate(
        [x.reshape(blocks, width, -1) for x in (by_t, by_b, by_c)],
        axis=2,
    )
    tt = xp.diag(sum_at(rows.judge, bend * seen.gap**2 - lean * seen.gap, judges))
    tb = xp.diag(sum_at(rows.judge, -bend * seen.gap * rows.slot, judges))
    bb = xp.diag(sum_at(rows.judge, bend * rows.slot**2, judges))
    tc = sum_at(rows.judge, pieces.zc * seen.gap, judges)[:, None]
    bc = sum_at(rows.judge, -pieces.zc * rows.slot, judges)[:, None]
    cc = -pieces.cc.sum()[None, None]
    border = xp.concatenate(
        [
            xp.concatenate([tt, tb, tc], axis=1),
            xp.concatenate([tb, bb, bc], axis=1),
            xp.concatenate([tc.T, bc.T, cc], axis=1),
        ]
    )
    return Curvature(own, side, border)


def sum_at(index: Array, values: Array, size: int) -> Array:
    """Sum values by index: numpy's counter on the host, a scatter on a device."""
    if isinstance(values, np.ndarray):
        return np.bincount(index, weights=values, minlength=size)
    return namespace(values).zeros(size, values.dtype).at[index].add(values)


def _both(values: Array) -> Array:
    """A term enters at a as it is and at b turned."""
    return namespace(values).concatenate([values, -values])


def _same_component(problem: Problem) -> Array:
    same = problem.component[:, :, None] == problem.component[:, None, :]
    return same * problem.node[:, :, None] * problem.node[:, None, :]


def _penalised(curved: Curvature, problem: Problem, same: Array) -> Curvature:
    xp = namespace(curved.border)
    prior = problem.prior
    judges = (curved.border.shape[0] - 1) // 2
    place = xp.arange(curved.border.shape[0])
    is_t = (place < judges) * problem.free
    on_diagonal = prior.log_sigma * is_t + prior.slot * ((place >= judges) & (place < 2 * judges))
    return Curvature(
        curved.blocks + prior.strength * xp.eye(same.shape[1]) + prior.gauge_strength * same,
        curved.side,
        curved.border + xp.diag(on_diagonal) + prior.gauge_log_sigma * is_t[:, None] * is_t[None, :],
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
