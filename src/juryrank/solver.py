"""A damped Newton method for the problems of `objective`, on JAX or, for small problems, on numpy.

Conventions: one step solves (M + mu D) d = g with g the gradient, M the negative Hessian and D the positive part of its
diagonal on the scale of the data; mu falls after a good step and rises after a bad one (Levenberg 1944, Marquardt
1963). M is block-diagonal in the strengths with the judges' parameters as a border: blocks are factored one by one, the
border by its Schur complement. A fit has converged when max |g| <= 1e-9 * max(1, largest weight on one parameter) *and*
the step that remains is under 1e-9. The loop is the same on both libraries; only factorisations differ.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from juryrank.likelihoods import Array, namespace
from juryrank.objective import Curvature, Evaluation, Parameters, Problem, evaluate, settled

STEP = 1e-9
GRADIENT = 1e-9
#: a step is never longer than this in any coordinate: long first steps are how BT-sigma lands in poor optima
LONGEST = 2.0
#: gains below this share of the objective drown in rounding; there the gradient decides
ROUNDING = 1e-12


class Damping(NamedTuple):
    """mu: where it starts, by what it falls and rises; iterations at most; the step that counts as none."""

    start: float = 1.0
    fall: float = 0.2
    rise: float = 4.0
    iterations: int = 300
    step: float = STEP


class State(NamedTuple):
    """The machine between two steps."""

    at: Parameters
    now: Evaluation
    mu: Array
    step: Array  # longest coordinate of the step that was computed last
    iteration: Array
    done: Array


class Solution(NamedTuple):
    """Where the method stopped."""

    at: Parameters
    evaluation: Evaluation
    gradient_norm: float
    step: float
    iterations: int
    converged: bool


def solve(ties: str, problem: Problem, start: Parameters, damping: Damping, tolerance: float, *, jit: bool) -> Solution:
    """Climb from `start`. `tolerance` is the largest gradient that counts as none."""
    if jit:
        import jax

        with jax.enable_x64(True):
            ended = _compiled()(ties, problem, start, damping, tolerance)
            ended = jax.tree.map(np.asarray, ended)
    else:
        with np.errstate(all="ignore"):
            ended = _climb_on_host(ties, problem, start, damping, tolerance)
    norm = float(gradient_norm(ended.now))
    return Solution(
        at=ended.at,
        evaluation=ended.now,
        gradient_norm=norm,
        step=float(ended.step),
        iterations=int(ended.iteration),
        converged=norm <= tolerance and float(ended.step) <= damping.step,
    )


def gradient_norm(now: Evaluation) -> Array:
    """Largest absolute coordinate of the gradient."""
    xp = namespace(now.border)
    return xp.maximum(xp.abs(now.strength).max(), xp.abs(now.border).max())


def solve_many(
    ties: str, problem: Problem, wins: np.ndarray, start: Parameters, damping: Damping, tolerance: float
) -> tuple[Parameters, np.ndarray]:
    """One problem with many outcomes (problems, 3, rows): wins of a, wins of b, ties. Optima, and whether each converged."""
    import jax

    with jax.enable_x64(True):
        ended = _compiled(many=True)(ties, problem, wins, start, damping, tolerance)
        at, norm, step = jax.tree.map(np.asarray, ended)
    return at, (norm <= tolerance) & (step <= damping.step)


_jitted: dict[bool, Any] = {}


def _compiled(*, many: bool = False) -> Any:
    # Made at first use, so that importing this module does not import jax.
    if many not in _jitted:
        import jax

        _jitted[many] = jax.jit(_climb_many if many else _climb_jitted, static_argnums=(0,))
    return _jitted[many]


def _climb_jitted(ties: str, problem: Problem, start: Parameters, damping: Damping, tolerance: Array) -> State:
    import jax

    first = _first(ties, problem, start, damping)
    return jax.lax.while_loop(
        partial(_running, damping, tolerance), partial(_advance, ties, problem, damping, tolerance), first
    )


def _climb_many(
    ties: str, problem: Problem, wins: Array, start: Parameters, damping: Damping, tolerance: Array
) -> tuple[Parameters, Array, Array]:
    import jax

    def one(said: Array) -> tuple[Parameters, Array, Array]:
        rows = problem.rows._replace(wins_a=said[0], wins_b=said[1], ties=said[2])
        ended = _climb_jitted(ties, problem._replace(rows=rows), start, damping, tolerance)
        return ended.at, gradient_norm(ended.now), ended.step

    return jax.vmap(one)(wins)


def _climb_on_host(ties: str, problem: Problem, start: Parameters, damping: Damping, tolerance: float) -> State:
    state = _first(ties, problem, start, damping)
    while _running(damping, tolerance, state):
        state = _advance(ties, problem, damping, tolerance, state)
    return state


def _first(ties: str, problem: Problem, start: Parameters, damping: Damping) -> State:
    xp = namespace(problem.free)
    start = Parameters(xp.asarray(start.strength), xp.asarray(start.border))
    zero = xp.asarray(0)
    mu = xp.asarray(damping.start, dtype=start.border.dtype)
    return State(start, evaluate(ties, problem, start), mu, xp.asarray(np.inf, dtype=mu.dtype), zero, zero > 1)


def _running(damping: Damping, tolerance: Array, state: State) -> Array:
    return ~state.done & (state.iteration < damping.iterations)


def _advance(ties: str, problem: Problem, damping: Damping, tolerance: Array, state: State) -> State:
    xp = namespace(state.mu)
    now = state.now
    step = newton_step(now, state.mu)
    length = xp.maximum(xp.abs(step.strength).max(), xp.abs(step.border).max())
    solved = xp.isfinite(length)
    shrink = xp.where(solved, xp.minimum(1.0, LONGEST / xp.maximum(length, STEP)), 0.0)
    moved = Parameters(
        state.at.strength + shrink * xp.where(solved, step.strength, 0.0),
        state.at.border + shrink * xp.where(solved, step.border, 0.0),
    )
    moved = settled(problem, moved)
    then = evaluate(ties, problem, moved)
    promised = shrink * ((now.strength * step.strength).sum() + (now.border * step.border).sum())
    gained = then.value - now.value
    drowned = promised <= ROUNDING * (1 + xp.abs(now.value))
    better = xp.where(drowned, gradient_norm(then) <= gradient_norm(now), gained >= 1e-4 * promised)
    good = solved & better & xp.isfinite(then.value)
    arrived = solved & (length <= damping.step) & (gradient_norm(now) <= tolerance)
    # Near the end, where the quadratic model foretold the gain, damping may go quickly; earlier that only costs rejections.
    fall = xp.where((state.mu < 1e-2) & (gained >= promised / 3), damping.fall**2, damping.fall)
    mu = xp.where(good, xp.maximum(state.mu * fall, 1e-14), xp.maximum(state.mu * damping.rise, 1e-9))
    take = good & ~arrived
    return State(
        at=_choose(take, moved, state.at),
        now=_choose(take, then, now),
        mu=mu,
        step=xp.where(solved, length, state.step),
        iteration=state.iteration + 1,
        done=arrived | (mu > 1e15),
    )


def _choose(take: Array, yes: Any, no: Any) -> Any:
    """`yes` or `no`, field by field."""
    if hasattr(yes, "_fields"):
        return type(yes)(*(_choose(take, y, n) for y, n in zip(yes, no, strict=True)))
    return namespace(take).where(take, yes, no)


def newton_step(now: Evaluation, mu: Array) -> Parameters:
    """Solve the damped Newton equations; NaN where the damped matrix is not positive definite."""
    xp = namespace(now.border)
    blocks, side, border = now.curvature
    count, width, size = side.shape
    on_blocks = xp.diagonal(blocks, axis1=1, axis2=2)
    on_border = xp.maximum(xp.diagonal(border), border_scale(now.curvature))
    damped = blocks + mu * on_blocks[:, :, None] * xp.eye(width)
    solved = _solve(damped, xp.concatenate([side, now.strength[:, :, None]], axis=2))
    flat = side.reshape(count * width, size).T @ solved.reshape(count * width, size + 1)
    schur = border + mu * xp.diag(on_border) - flat[:, :-1]
    step = _solve(schur[None], (now.border - flat[:, -1])[None, :, None])[0, :, 0]
    return Parameters(solved[:, :, -1] - solved[:, :, :-1] @ step, step)


def border_scale(curved: Curvature) -> Array:
    """A positive scale for damping border parameters that are flat where they start: what the strengths could explain."""
    xp = namespace(curved.border)
    on_blocks = xp.diagonal(curved.blocks, axis1=1, axis2=2)
    return (curved.side**2 / xp.maximum(on_blocks, 1e-300)[:, :, None]).sum(axis=(0, 1)) + 1e-6


def _solve(matrices: Array, right: Array) -> Array:
    """Solve positive definite systems, one a block; NaN where one is not positive definite."""
    if not isinstance(matrices, np.ndarray):
        import jax

        factor = namespace(matrices).linalg.cholesky(matrices)
        half = jax.lax.linalg.triangular_solve(factor, right, left_side=True, lower=True)
        return jax.lax.linalg.triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True)
    try:
        if len(matrices) == 1:
            return scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrices[0], lower=True), right[0])[None]
        np.linalg.cholesky(matrices)
        return np.linalg.solve(matrices, right)
    except (np.linalg.LinAlgError, ValueError):
        return np.full_like(right, np.nan)
