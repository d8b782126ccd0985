"""Which covariance, and how far an interval reaches under it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from juryrank.clusters import Robust, both_ways, clustered, sandwich
from juryrank.columns import number_rows
from juryrank.errors import SettingsError
from juryrank.evidence import Evidence
from juryrank.information import Covariance
from juryrank.layout import Layout
from juryrank.objective import Parameters

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
    #: clusters in all; None where there are none
    clusters: int | None = None
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
        return np.clip(found, 1.0, max(self.clusters - 1.0, 1.0))


def _welch(variance: np.ndarray, own: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    v, w = variance[one], variance[other]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (v + w) ** 2 / (v**2 / own[one] + w**2 / own[other])
    return np.where(np.isfinite(found), found, np.minimum(own[one], own[other]))


def grouping(kind: str, by: str | Sequence[str]) -> str:
    """The one word for `by`, "" where it does not matter."""
    if kind not in KINDS:
        raise SettingsError(f"no covariance {kind!r}; expected one of {', '.join(KINDS)}.")
    word = by if isinstance(by, str) else "both" if sorted(by) == ["group", "judge"] else ", ".join(map(str, by))
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
    if kind == "sandwich":
        return Spread(kind, by, sandwich(ties, found, layout, at, model))
    robust = _clustered(by, ties, found, layout, at, model)
    variance = np.full(len(layout.place), np.nan)
    seen = layout.place >= 0
    variance[seen] = robust.covariance.variance(layout.place[seen])
    return Spread(kind, by, robust.covariance, robust.clusters, robust.clusters_of, variance)


def _clustered(by: str, ties: str, found: Evidence, layout: Layout, at: Parameters, model: Covariance) -> Robust:
    if by != "both":
        number = {"group": found.group, "judge": found.judge, "opinion": found.opinion}[by]
        if number.min() == number.max():
            raise SettingsError(f"one {by} alone: a covariance clustered by {by} needs at least two.")
        return clustered(ties, found, layout, at, model, number)
    crossed, _ = number_rows(found.group, found.judge)
    group, judge = (_clustered(one, ties, found, layout, at, model) for one in ("group", "judge"))
    return both_ways(group, judge, clustered(ties, found, layout, at, model, crossed))


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
