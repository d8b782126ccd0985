"""Judges that do not differ detectably weigh the same: what noise alone sets apart must not decide a question."""

from __future__ import annotations

import numpy as np

#: standard errors from which two groups are held apart (benchmarks/verdict_rules.py)
APART = 2.0


def pooled(value: np.ndarray, error: np.ndarray) -> np.ndarray:
    """(n,) values, neighbours closer than APART standard errors replaced by the mean of their group.

    Agglomerative on the line: the two nearest neighbouring groups, in standard errors of their precision-weighted means,
    are joined until every two are apart.
    """
    groups = [np.array([i]) for i in np.argsort(value)]
    while len(groups) > 1:
        means, variances = zip(*(_mean(value[group], error[group]) for group in groups), strict=True)
        distance = np.diff(means) / np.sqrt(np.add(variances[1:], variances[:-1]))
        nearest = int(np.argmin(distance))
        if distance[nearest] > APART:
            break
        groups[nearest : nearest + 2] = [np.concatenate(groups[nearest : nearest + 2])]
    out = np.array(value, dtype=float)
    for group in groups:
        out[group] = value[group].mean()
    return out


def _mean(value: np.ndarray, error: np.ndarray) -> tuple[float, float]:
    """Precision-weighted mean and its variance."""
    precision = error**-2.0
    return float(value @ precision / precision.sum()), float(1 / precision.sum())
