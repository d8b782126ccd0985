"""What can be said of ranks: sets that hold for one item or for all, and probabilities of places.

Conventions: all arrays are over the items of one component, best first. t_ij is the gap between two items over its standard
error. A gap is certain for all pairs at once where |t_ij| exceeds the quantile of the maximum over all pairs of |t|, drawn
from the covariance of the strengths; pairs that are certain are then left out of the maximum until no more are found (max-t,
step-down: Romano and Wolf 2005; rank sets from it: Mogstad, Romano, Shaikh and Wilhelm 2024; Fan et al. 2022). For one item
alone the maximum is over its own pairs. Under Student's t, t_ij is first turned into the normal deviate of its tail.
Probabilities of places are shares of draws about the estimates (a confidence distribution; no prior enters).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from juryrank.spread import normal_score, reach

#: draws at most, and pairs of items times draws that are affordable
DRAWS, WORK = 4000, 300_000_000
FEWEST = 200
#: gap, in logits, under which neither of two items wins more than 60 % against the other
SMALL = float(np.log(0.6 / 0.4))
AHEAD, TIED, TOO_FEW = "ahead", "tied", "too few to tell"


@dataclass(frozen=True, eq=False)
class Places:
    """Ranks of the items of one component, each (items,)."""

    #: holds for all items at once, and for the item alone
    low: np.ndarray
    high: np.ndarray
    low_alone: np.ndarray
    high_alone: np.ndarray
    tier: np.ndarray
    expected: np.ndarray
    p_best: np.ndarray
    p_top_k: np.ndarray
    #: how the item stands to the next one: `AHEAD`, `TIED`, `TOO_FEW`; None for the last
    against_next: list[str | None]


@dataclass(frozen=True, eq=False)
class Gaps:
    """All pairs of one component."""

    strength: np.ndarray  # (items,) best first
    covariance: np.ndarray  # (items, items)
    freedom: np.ndarray  # (items, items)
    #: (items, items) whether the gap has a finite maximum, or a prior that gives it one
    measured: np.ndarray
    #: (items, items) whether it is known one way only, and what such gaps are tested by
    one_way: np.ndarray | None = None
    steadied: Gaps | None = None

    @property
    def error(self) -> np.ndarray:
        """(items, items) standard errors; NaN where there is none."""
        own = np.diagonal(self.covariance)
        variance = own[:, None] + own[None, :] - 2 * self.covariance
        return np.sqrt(np.where((variance > 0) & self.measured, variance, np.nan))

    @property
    def score(self) -> np.ndarray:
        """(items, items) gap over error as a normal deviate; 0 where nothing is known."""
        ratio = (self.strength[:, None] - self.strength[None, :]) / self.error
        found = normal_score(np.nan_to_num(ratio), self.freedom)
        if self.steadied is None or self.one_way is None:
            return found
        return np.where(self.one_way, self.steadied.score, found)


def places(gaps: Gaps, level: float, top_k: int, seed: int) -> Places:
    """Rank sets, tiers and probabilities; `seed` draws about the estimates."""
    n = len(gaps.strength)
    # Where some gap is known one way only, the steadied strengths say how far noise reaches.
    sane = gaps if gaps.steadied is None else gaps.steadied
    drawn = _drawn(sane, seed)
    score = gaps.score
    above, alone = _certain(score, np.nan_to_num(1 / sane.error), drawn, level)
    rank = _ranks(sane, drawn, seed) if gaps.measured.all() else np.full(drawn.shape, np.nan)
    return Places(
        low=1.0 + above.sum(axis=0),
        high=n - above.sum(axis=1).astype(float),
        low_alone=1.0 + (score > alone).sum(axis=0),
        high_alone=n - (score > alone[:, None]).sum(axis=1).astype(float),
        tier=_tiers(above),
        expected=rank.mean(axis=0),
        p_best=np.where(np.isnan(rank[0]), np.nan, (rank == 1).mean(axis=0)),
        p_top_k=np.where(np.isnan(rank[0]), np.nan, (rank <= top_k).mean(axis=0)),
        against_next=_against_next(gaps, level),
    )


def _drawn(gaps: Gaps, seed: int) -> np.ndarray:
    """(draws, items) from the normal distribution of the estimates about the truth.

    The symmetric root of the covariance changes little where that changes little, so that the order of rows in a file,
    which moves its last digits, does not move the draws.
    """
    n = len(gaps.strength)
    number = int(np.clip(WORK // n**2, FEWEST, DRAWS))
    values, vectors = np.linalg.eigh(gaps.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return np.random.default_rng(seed).standard_normal((number, n)) @ root


def _certain(score: np.ndarray, scale: np.ndarray, drawn: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """(items, items) row certainly above column, all pairs at once; (items,) critical value for each item alone."""
    most, pairs = _maxima(scale, drawn), (scale > 0).sum(axis=1)
    alone = np.where(pairs > 1, _quantile(most, level), ndtri(0.5 + level / 2))
    above = np.zeros(scale.shape, bool)
    left = scale > 0
    while left.any():
        critical = _quantile(most.max(axis=1), level) if left.sum() > 2 else ndtri(0.5 + level / 2)
        more = left & (score > critical)
        if not more.any():
            break
        above |= more
        left &= ~(more | more.T)
        most = _maxima(scale * left, drawn)
    return above, alone


def _quantile(most: np.ndarray, level: float) -> np.ndarray:
    """Critical values of the largest |t|, over draws."""
    place = min(len(most) - 1, int(np.ceil(level * len(most))))
    return np.partition(most, place, axis=0)[place]


def _maxima(scale: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """(draws, items) largest |t| of each item against the others; `scale` is 1 / error, 0 for pairs left out."""
    by_item = np.ascontiguousarray(drawn.T, dtype=np.float32)
    most = np.zeros_like(by_item)
    for i, row in enumerate(scale.astype(np.float32)):
        others = np.flatnonzero(row)
        if len(others):
            most[i] = (np.abs(by_item[others] - by_item[i]) * row[others, None]).max(axis=0)
    return most.T


def _ranks(gaps: Gaps, drawn: np.ndarray, seed: int) -> np.ndarray:
    """(draws, items) rank of each item in each draw; NaN where some gap is not measured."""
    known = np.isfinite(gaps.error) | np.eye(len(gaps.strength), dtype=bool)
    if not (gaps.measured & known).all():
        return np.full(drawn.shape, np.nan)
    finite = gaps.freedom[np.isfinite(gaps.freedom)]
    if len(finite):
        freedom = finite.max()
        drawn = drawn * np.sqrt(freedom / np.random.default_rng(seed + 1).chisquare(freedom, (len(drawn), 1)))
    order = np.argsort(-(gaps.strength + drawn), axis=1)
    return np.argsort(order, axis=1) + 1.0


def _tiers(above: np.ndarray) -> np.ndarray:
    """Fewest groups of neighbours without a certain difference inside."""
    tier, start, number = np.empty(len(above)), 0, 1
    for i in range(len(above)):
        if above[start:i, i].any():
            start, number = i, number + 1
        tier[i] = number
    return tier


def _against_next(gaps: Gaps, level: float) -> list[str | None]:
    """Each pair of neighbours by itself: apart, equal for all that matters, or neither."""
    upper = np.arange(len(gaps.strength) - 1)
    gap = -np.diff(gaps.strength)
    error = np.nan_to_num(gaps.error[upper, upper + 1], nan=np.inf)
    if gaps.steadied is not None and gaps.one_way is not None:
        one_way, other = gaps.one_way[upper, upper + 1], gaps.steadied
        gap = np.where(one_way, -np.diff(other.strength), gap)
        error = np.where(one_way, np.nan_to_num(other.error[upper, upper + 1], nan=np.inf), error)
    far = reach(level, gaps.freedom[upper, upper + 1]) * error
    words = np.select([gap > far, gap + far < SMALL], [AHEAD, TIED], default=TOO_FEW)
    return [*map(str, words), None]
