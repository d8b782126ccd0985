"""Exact tails of a count of votes, and many tests at once."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc


def two_sided(won: np.ndarray, votes: np.ndarray, chance: np.ndarray | float) -> np.ndarray:
    """Twice the smaller binomial tail of `won` among `votes` at a chance, at most 1.

    Halves are taken to the side of the larger p. Where chances differ from vote to vote and `chance` is their mean, the
    tails beyond the mean are too large rather than too small (Hoeffding 1956, Ann. Math. Stat. 27:713).
    """
    upper = _at_least(np.floor(won), votes, chance)
    lower = _at_least(np.floor(votes - won), votes, 1 - np.asarray(chance))
    return np.minimum(1.0, 2 * np.minimum(upper, lower))


def _at_least(won: np.ndarray, votes: np.ndarray, chance: np.ndarray | float) -> np.ndarray:
    """P(X >= won) for X binomial."""
    some = np.maximum(won, 1)
    return np.where(won < 1, 1.0, betainc(some, np.maximum(votes - some, 0) + 1, chance))


def holm(p: np.ndarray) -> np.ndarray:
    """Adjusted p-values of Holm's step-down (1979, Scand. J. Stat. 6:65): those at most 1 - level hold all at once."""
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    adjusted = np.empty(len(p))
    adjusted[order] = stepped
    return adjusted
