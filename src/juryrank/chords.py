"""Plain Bradley-Terry on many resamples at once, by Newton steps with the one curvature of the full data.

    s <- s + K^-1 g(s),    g_i = sum_j (W_ij - N_ij logistic(s_i - s_j)) - s_i / v_s

with W the wins of a resample, N = W + W^T and K the curvature at the optimum of the full data. A resample's own curvature is
near that, so that a few such chords do what Newton steps do without a factorisation each; what they cannot do shows in a
step that does not die away. Dense in the pairs: no scatter, which is what the general climb spends its time on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array

from juryrank.likelihoods import Array
from juryrank.objective import Parameters, Problem, evaluate

STEPS, LONGEST = 80, 1.0
#: items beyond which pairs are too many to be held densely
WIDEST = 1500

_jitted: Any = None


def fits(ties: str, problem: Problem) -> bool:
    """Whether a problem has strengths alone, in one block of bearable width."""
    plain = ties == "half" and problem.rows.t is None and not problem.rows.linear
    return plain and problem.node.shape[0] == 1 and problem.node.shape[1] <= WIDEST


def chords(problem: Problem, wins: np.ndarray, start: Parameters, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Strengths (resamples, width) and whether each arrived; `wins` (resamples, 3, rows)."""
    import jax

    rows, width = problem.rows, problem.node.shape[1]
    curved = evaluate("half", problem, start).curvature.blocks[0]
    places = np.concatenate([rows.a * width + rows.b, rows.b * width + rows.a])
    spread = coo_array((np.ones(len(places)), (np.arange(len(places)), places)), (len(places), width * width)).tocsr()
    dense = (np.concatenate([wins[:, 0], wins[:, 1]], axis=1) @ spread).reshape(-1, width, width)
    with jax.enable_x64(True):
        ended = _compiled()(dense, start.strength[0], np.linalg.inv(curved), problem.prior.strength, tolerance)
        at, step = jax.tree.map(np.array, ended)
    return at, step <= tolerance


def _compiled() -> Any:
    # Made at first use, so that importing this module does not import jax.
    global _jitted
    if _jitted is None:
        import jax

        _jitted = jax.jit(jax.vmap(_climb, in_axes=(0, None, None, None, None)))
    return _jitted


def _climb(wins: Array, start: Array, inverse: Array, precision: Array, tolerance: Array) -> tuple[Array, Array]:
    """Strengths (width,) and the longest coordinate of the last step."""
    import jax

    xp = jax.numpy
    total, won = wins + wins.T, wins.sum(axis=1)

    def unfinished(state: tuple[Array, Array, Array]) -> Array:
        _, step, count = state
        return (step > tolerance) & (count < STEPS)

    def advance(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        at, _, count = state
        expected = (total * jax.nn.sigmoid(at[:, None] - at[None, :])).sum(axis=1)
        step = inverse @ (won - expected - precision * at)
        longest = xp.abs(step).max()
        return at + step * xp.minimum(1.0, LONGEST / longest), longest, count + 1

    at, step, _ = jax.lax.while_loop(unfinished, advance, (xp.asarray(start), xp.inf, 0))
    return at, step
