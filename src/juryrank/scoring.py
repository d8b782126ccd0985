"""How well probabilities foretold opinions.

Conventions: p is what was said of a pair (1, 0, or a share between, one half for ties and disagreements), q what was
foretold, a logit log q - log(1 - q). Every mean is over weights, so that a row of weight k is k equal rows. Losses are in
nats.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

#: a q this close to one half is no decision: rounding must not decide
EVEN = 1e-9
BINS = 10


def log_loss(p: np.ndarray, log_q: np.ndarray, log_not: np.ndarray) -> np.ndarray:
    """(rows,) -(p log q + (1 - p) log(1 - q)); an outcome of probability 0 costs nothing where it did not happen."""
    return -(_times(p, log_q) + _times(1 - p, log_not))


def _times(share: np.ndarray, log: np.ndarray) -> np.ndarray:
    return np.where(share > 0, share * np.where(share > 0, log, 0.0), 0.0)


def accuracy(p: np.ndarray, q: np.ndarray, weight: np.ndarray) -> float:
    """Share of the decided rows (p is not one half) on whose side q stands; q at one half is half right. NaN without any."""
    decided = p != 0.5
    right = np.where(np.abs(q - 0.5) <= EVEN, 0.5, (q > 0.5) == (p > 0.5))
    total = weight[decided].sum()
    return float((weight * right)[decided].sum() / total) if total > 0 else float("nan")


def calibration_slope(p: np.ndarray, logit: np.ndarray, weight: np.ndarray) -> float:
    """The slope b at which logistic(b * logit) foretells p best (logistic regression through the origin).

    1 is perfect, under 1 overconfident. NaN where it is not finite: every row stands wholly on the side foretold, or wholly
    on the other, or nothing was foretold.
    """
    used = (logit != 0) & (weight > 0)
    x, p, weight = logit[used], p[used], weight[used]
    miss = np.abs(p - (x > 0))
    if not used.any() or (miss == 0).all() or (miss == 1).all():
        return float("nan")
    slope = 0.0
    # The curvature is greatest at 0 and falls away from it, so that Newton's steps from 0 never pass the optimum.
    for _ in range(200):
        q = expit(slope * x)
        step = float((weight * x * (p - q)).sum() / (weight * x**2 * q * (1 - q)).sum())
        slope += step
        if abs(step) <= 1e-10 * (1 + abs(slope)):
            return slope
    return float("nan")


def calibration_error(p: np.ndarray, q: np.ndarray, weight: np.ndarray, bins: int = BINS) -> float:
    """Mean distance between what was foretold and what was said, over equal bins of q (expected calibration error)."""
    place = np.minimum((q * bins).astype(np.int64), bins - 1)
    excess = np.bincount(place, weights=weight * (q - p), minlength=bins)
    return float(np.abs(excess).sum() / weight.sum())


def mean_and_error(value: np.ndarray, weight: np.ndarray, group: np.ndarray) -> tuple[float, float]:
    """Weighted mean, and its standard error where only the groups are independent; NaN from one group.

    Linearised ratio: G / (G - 1) * sum over groups (sum of w (v - mean))^2 / (sum of w)^2.
    """
    total = float(weight.sum())
    mean = float((weight * value).sum() / total)
    sums = np.bincount(group, weights=weight * (value - mean))
    groups = len(np.unique(group))
    if groups < 2:
        return mean, float("nan")
    return mean, float(np.sqrt(groups / (groups - 1) * (sums**2).sum()) / total)
