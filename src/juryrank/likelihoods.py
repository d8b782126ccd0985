"""Likelihoods of one row: wins of a, wins of b and ties, at a logit z.

Conventions: natural logarithms; z is the whole logit that a beats b, sigma and slot bias included; c is the tie
parameter. Each likelihood gives its value and its derivatives by z and c, side by side; None stands for a derivative that is
zero throughout.

    half         logistic(z); a tie is half a win each way and reaches the row as such; c is not used
    davidson     P(a) : P(b) : P(tie) = e^{z/2} : e^{-z/2} : nu,  c = log nu          (Davidson 1970)
    rao-kupper   P(a) = logistic(z - c), P(b) = logistic(-z - c),  c = log theta > 0  (Rao and Kupper 1967)

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
    zz: Array
    c: Array | None = None
    zc: Array | None = None
    cc: Array | None = None


def half(z: Array, c: Array, wins_a: Array, wins_b: Array, ties: Array) -> Pieces:
    """Bradley-Terry; ties have become half wins before they come here."""
    xp = namespace(z)
    log_a, log_b = -xp.logaddexp(0.0, -z), -xp.logaddexp(0.0, z)
    a, b = xp.exp(log_a), xp.exp(log_b)
    return Pieces(
        value=wins_a * log_a + wins_b * log_b,
        z=wins_a * b - wins_b * a,
        zz=-(wins_a + wins_b) * a * b,
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


def log_share(ties: str, z: Array, c: Array) -> Array:
    """log(P(a wins) + P(tie) / 2) at logit z, without cancellation; by symmetry that of b is the same at -z."""
    xp = namespace(z)
    if ties == "davidson":
        return xp.logaddexp(z / 2, c - np.log(2)) - xp.logaddexp(xp.logaddexp(z / 2, -z / 2), c)
    threshold = c if ties == "rao-kupper" else 0.0
    # The share is the mean of P(a wins) = logistic(z - c) and 1 - P(b wins) = logistic(z + c).
    return xp.logaddexp(-xp.logaddexp(0.0, threshold - z), -xp.logaddexp(0.0, -threshold - z)) - np.log(2)


def namespace(x: Array) -> Any:
    """The library of an array."""
    return x.__array_namespace__() if hasattr(x, "__array_namespace__") else np
