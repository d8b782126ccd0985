"""Which covariance, and how far an interval reaches under it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from juryrank.clusters import Robust, both_ways, clustered, sandwich
from juryrank.columns import number_rows
from juryrank.errors import SettingsError
from juryrank.evidence import Evidence
from juryrank.information import Covariance
from juryrank.layout import Layout
from juryrank.objective import Parameters

#: share of the model's variance under which clusters that agree to the last vote say nothing of errors
FLOOR = 1e-5

KINDS = ("model", "sandwich", "cluster")
GROUPINGS = ("group", "judge", "both", "opinion")


@dataclass(frozen=True, eq=False)
class Spread:
    """A covariance in the gauge of the report, and the clusters that it rests on."""

    kind: str
    #: what the clusters are; "" where every opinion stands for itself
    by: str
    #: None where it is not defined
    covariance: Covariance | None
    #: (nodes,) clusters in the node's component; None where there are none
    clusters: np.ndarray | None = None
    #: (nodes,) clusters that each node occurs in, and variance of its strength
    clusters_of: np.ndarray | None = None
    variance_of: np.ndarray | None = None

    def freedom(self, one: np.ndarray, other: np.ndarray | None = None) -> np.ndarray:
        """Degrees of freedom of a node's strength, or of the gap between two; infinite without clusters.

        One less than the clusters that a node occurs in; for a gap Welch's mean of the two (1947); at most one less than all
        clusters.
        """
        if self.clusters_of is None or self.variance_of is None or self.clusters is None:
            return np.full(np.broadcast_shapes(one.shape, () if other is None else other.shape), np.inf)
        own = np.maximum(self.clusters_of - 1.0, 1.0)
        found = own[one] if other is None else _welch(self.variance_of, own, one, other)
        return np.clip(found, 1.0, np.maximum(self.clusters[one] - 1.0, 1.0))


def _welch(variance: np.ndarray, own: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    v, w = variance[one], variance[other]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (v + w) ** 2 / (v**2 / own[one] + w**2 / own[other])
    return np.where(np.isfinite(found), found, np.minimum(own[one], own[other]))


def grouping(kind: str, by: str | Sequence[str]) -> str:
    """The one word for `by`, "" where it does not matter."""
    if kind not in KINDS:
        raise SettingsError(f"no covariance {kind!r}; expected one of {', '.join(KINDS)}.")
    several = isinstance(by, (list, tuple, set, frozenset))
    word = "both" if several and sorted(map(str, by)) == ["group", "judge"] else by
    if word not in GROUPINGS:
        raise SettingsError(f"clusters by {word!r}; expected one of {', '.join(GROUPINGS)}.")
    return word if kind == "cluster" else ""


def spread(
    kind: str,
    by: str,
    model: Covariance | None,
    ties: str,
    layout: Layout,
    at: Parameters,
    rows: Callable[[], Evidence],
) -> Spread:
    """The covariance of one kind; `by` as `grouping` gives it."""
    if kind == "model":
        return Spread(kind, by, model)
    found = rows()
    if len(layout.problem.node) > 1:
        raise SettingsError(f"a {kind} covariance needs items that recur over contexts: contexts='pooled'.")
    if model is None:
        return Spread(kind, by, None)
    seen = layout.place >= 0
    variance, expected = (np.full(len(layout.place), np.nan) for _ in range(2))
    expected[seen] = model.variance(layout.place[seen])
    if kind == "sandwich":
        alone = sandwich(ties, found, layout, at, model)
        return Spread(kind, by, None if _still(alone.variance(layout.place[seen]), expected[seen]) else alone)
    robust = _clustered(by, ties, found, layout, at, model)
    variance[seen] = robust.covariance.variance(layout.place[seen])
    covariance = None if _still(variance[seen], expected[seen]) else robust.covariance
    return Spread(kind, by, covariance, robust.clusters, robust.clusters_of, variance)


def _still(variance: np.ndarray, expected: np.ndarray) -> bool:
    """Whether the variance of some node is that of rounding: all that speaks of it says the same to the last vote."""
    return bool((variance < FLOOR * expected).any())


def _clustered(by: str, ties: str, found: Evidence, layout: Layout, at: Parameters, model: Covariance) -> Robust:
    if by != "both":
        number = {"group": found.group, "judge": found.judge, "opinion": found.opinion}[by]
        if number.min() == number.max():
            raise SettingsError(f"one {by} alone: a covariance clustered by {by} needs at least two.")
        return clustered(ties, found, layout, at, model, number)
    crossed, _ = number_rows(found.group, found.judge)
    group, judge = (_clustered(one, ties, found, layout, at, model) for one in ("group", "judge"))
    return both_ways(group, judge, clustered(ties, found, layout, at, model, crossed))


def check_level(level: float) -> None:
    """Refuses what is no level of an interval."""
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < level < 1:
        raise SettingsError(f"level is {level!r}; expected a number between 0 and 1, say 0.95.")


def whole_number(value: object, name: str, least: int) -> None:
    """Refuses what is no whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise SettingsError(f"{name} is {value!r}; expected a whole number of at least {least}.")


def reach(level: float, freedom: np.ndarray, *, one_sided: bool = False) -> np.ndarray:
    """Standard errors from the estimate to the end of an interval: Student's t, normal where freedom is infinite."""
    p = level if one_sided else 0.5 + level / 2
    return np.where(np.isinf(freedom), ndtri(p), stdtrit(np.where(np.isinf(freedom), 1, freedom), p))


def normal_score(ratio: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """The normal deviate with the tail probability of a ratio of an estimate to its standard error."""
    known = np.isfinite(freedom) & np.isfinite(ratio)
    tail = stdtr(np.where(known, freedom, 1), -np.abs(np.where(known, ratio, 0)))
    with np.errstate(divide="ignore"):
        return np.where(known, -np.sign(ratio) * ndtri(tail), ratio)


def two_sided(ratio: float, freedom: float) -> float:
    """p-value of a ratio of an estimate to its standard error."""
    return float(2 * (ndtr(-abs(ratio)) if np.isinf(freedom) else stdtr(freedom, -abs(ratio))))
