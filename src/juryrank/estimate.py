"""The result of a fit: strengths, sigmas, slot biases, and what can be said of any two items.

Conventions: strengths are logits, centred to mean 0 within each component (and context); the geometric mean of sigma is
1, so that a gap is what a judge of average sharpness sees, at equal covariates where there are some. An item that no
opinion reached is NaN. Without a prior, an item whose gap to some other has no finite maximum is +inf, -inf or, where
both, NaN: never a bare finite number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import breadth_first_order

from juryrank.coefficients import coefficient_frame
from juryrank.counts import Graph, PairCounts
from juryrank.errors import SettingsError
from juryrank.evidence import Evidence, evidence
from juryrank.information import Covariance, covariance, explained
from juryrank.layout import Layout
from juryrank.likelihoods import probabilities
from juryrank.objective import TIE, Parameters
from juryrank.prior import Prior
from juryrank.spread import Spread, check_level, grouping, reach, spread, two_sided
from juryrank.tables import Comparisons, Judgments

Item = str | tuple[str, str]


@dataclass(frozen=True)
class Contrast:
    """A gap s_a - s_b in logits; an end that the data leave open is infinite, an undefined gap is NaN."""

    a: Item
    b: Item
    estimate: float
    stderr: float
    low: float
    high: float
    p: float
    level: float
    #: degrees of freedom of Student's t; infinite where the error is not clustered
    freedom: float = math.inf


@dataclass(frozen=True, eq=False)
class Optimum:
    """One local maximum of the objective, in the gauge of the report."""

    objective: float
    strengths: pd.Series
    sigmas: pd.Series


@dataclass(frozen=True, eq=False)
class Steadied:
    """A fit with half a win more each way on every pair: what a one-way gap is tested by.

    At the estimate itself such a gap is so large that Wald's error says nothing, and says less the clearer the case is
    (Hauck and Donner 1977); with half a win each way it is at home (Agresti and Coull 1998).
    """

    ties: str
    layout: Layout
    at: Parameters

    @cached_property
    def covariance(self) -> Covariance | None:
        """From the expected information of the observed rows at the steadied strengths."""
        return covariance(self.ties, self.layout, self.at)

    def gap(self, one: int, other: int) -> tuple[float, float]:
        """Gap between two nodes, and its standard error."""
        a, b = int(self.layout.place[one]), int(self.layout.place[other])
        flat = self.at.strength.reshape(-1)
        if self.covariance is None:
            return float(flat[a] - flat[b]), float("nan")
        return float(flat[a] - flat[b]), float(_root(np.array(self.covariance.of_difference(a, b))))


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and the settings that made it."""

    strengths: pd.Series
    sigmas: pd.Series
    slot_biases: pd.Series
    #: Davidson's nu, Rao-Kupper's theta, None where ties are half wins
    tie_parameter: float | None
    log_likelihood: float
    objective: float
    gradient_norm: float
    converged: bool
    iterations: int
    prior: Prior
    ties: str
    contexts: str
    disagreements: str
    judge_sigma: bool
    hard: bool
    #: judges with a slot bias of their own
    slot_judges: tuple[str, ...]
    #: weight of each judge's opinions
    weights: pd.Series
    #: further columns that were fitted, and whether their coefficients are shared by "all" judges or each "judge"'s own
    covariates: tuple[str, ...]
    covariates_by: str
    #: opinions behind the fit
    opinions: int
    optima: tuple[Optimum, ...]
    warnings: tuple[str, ...]
    counts: PairCounts = field(repr=False)
    graph: Graph = field(repr=False)
    layout: Layout = field(repr=False)
    #: parameters in the gauge of the report
    reported: Parameters = field(repr=False)
    #: the table that was fitted; None for pair counts, which have lost single rows and groups
    source: Comparisons | Judgments | None = field(default=None, repr=False)
    #: None where every gap is measured both ways
    steadied: Steadied | None = field(default=None, repr=False)
    _spreads: dict[tuple[str, str], Spread] = field(default_factory=dict, init=False, repr=False)

    @property
    def model(self) -> str:
        """`bt-sigma` where judges have sigmas of their own, else `bt`."""
        return "bt-sigma" if self.judge_sigma else "bt"

    @cached_property
    def likelihood(self) -> str:
        """The tie rule that was fitted: a tie parameter without ties is fixed, and the rest is plain Bradley-Terry."""
        return self.ties if self.layout.problem.free[TIE] else "half"

    @cached_property
    def model_covariance(self) -> Covariance | None:
        """From the expected information; None where it is not defined, or the block is too wide."""
        return None if self.explained else covariance(self.likelihood, self.layout, self.reported)

    @cached_property
    def explained(self) -> dict[str, str]:
        """Covariates that the data cannot tell from something else, and from what: "strengths" or "others"."""
        of_items, of_all = explained(self.likelihood, self.layout, self.reported)
        return {
            name: "strengths" if of_items[place].any() else "others"
            for name, place in zip(self.covariates, self.layout.beta.T, strict=True)
            if of_all[place].any()
        }

    @property
    def coefficients(self) -> pd.DataFrame:
        """`coefficient_frame` with errors from the expected information, at level 0.95; empty without covariates."""
        return self.coefficient_frame()

    def coefficient_frame(self, kind: str = "model", by: str | Sequence[str] = "group", level: float = 0.95) -> pd.DataFrame:
        """Rows by covariate (and judge): estimate, stderr, low, high per unit of the source, effect per root mean square.

        In logits towards the item with the larger value; `judge` is None where all share the coefficient. `kind` and `by`
        as in `spread`, and its errors. NaN where there is no coefficient or no error: see `juryrank.coefficients`.
        """
        own = tuple(self.sigmas.index) if self.covariates_by == "judge" else ()
        used = self.spread(kind, by)
        return coefficient_frame(self.covariates, own, self.layout, self.reported, used, level)

    @cached_property
    def evidence(self) -> Evidence:
        """The single opinions behind the fit; `SettingsError` for pair counts."""
        if self.source is None:
            raise SettingsError(
                "pair counts have lost single rows and groups: sandwich and cluster covariances need the comparisons or "
                "judgments themselves."
            )
        return evidence(
            self.source,
            self.counts,
            self.graph,
            self.weights.to_numpy(),
            ties=self.likelihood,
            hard=self.hard,
            disagreements=self.disagreements,
        )

    def spread(self, kind: str = "model", by: str | Sequence[str] = "group") -> Spread:
        """Covariances of all parameters.

        `kind`: "model" (expected information), "sandwich" (opinions independent, the likelihood not trusted) or "cluster"
        (`by` "group", "judge", "both" ways, or "opinion": all showings of one pair to one judge). Raises `SettingsError`
        for pair counts, for fewer than two clusters, and where contexts are separate.
        """
        key = (kind, grouping(kind, by))
        if key[1] == "opinion" and isinstance(self.source, Comparisons):
            raise SettingsError("every comparison is an opinion of its own: kind='sandwich' takes them as independent.")
        if key not in self._spreads:
            known = self.model_covariance
            self._spreads[key] = spread(*key, known, self.likelihood, self.layout, self.reported, lambda: self.evidence)
        return self._spreads[key]

    @property
    def stderr(self) -> pd.Series:
        """Standard errors of the centred strengths (reference: the mean of the component); NaN where unknown."""
        return self.standard_errors()

    def standard_errors(self, kind: str = "model", by: str | Sequence[str] = "group") -> pd.Series:
        """`stderr` under any covariance of `spread`."""
        values = np.full(len(self.strengths), np.nan)
        seen, known = self.layout.place >= 0, self.spread(kind, by).covariance
        if known is not None:
            values[seen] = _root(known.variance(self.layout.place[seen]))
        values[np.isinf(self.strengths)] = np.nan
        return pd.Series(values, index=self.strengths.index)

    @property
    def log_sigma_stderr(self) -> pd.Series:
        """Standard errors of log sigma; NaN for a judge without one."""
        return self._by_judge(self.layout.t)

    @property
    def slot_stderr(self) -> pd.Series:
        """Standard errors of the slot biases."""
        return self._by_judge(self.layout.b)

    @property
    def tie_stderr(self) -> float:
        """Standard error of the logarithm of the tie parameter."""
        return float("nan") if self.model_covariance is None else float(_root(self.model_covariance.border[TIE, TIE]))

    def _by_judge(self, where: np.ndarray) -> pd.Series:
        if self.model_covariance is None or len(self.sigmas) != len(self.layout.t):
            return pd.Series(np.nan, index=self.sigmas.index)
        return pd.Series(_root(np.diagonal(self.model_covariance.border)[where]), index=self.sigmas.index)

    def covariance(self, kind: str = "model", by: str | Sequence[str] = "group") -> pd.DataFrame:
        """Covariance of the centred strengths as a frame over items; zero between separate contexts, NaN where unknown."""
        known = self.spread(kind, by).covariance
        names, n = self.strengths.index, len(self.strengths)
        matrix = np.full((n, n), np.nan)
        seen = np.flatnonzero(self.layout.place >= 0)
        if known is not None:
            width = self.layout.problem.node.shape[1]
            block, place = np.divmod(self.layout.place[seen], width)
            values = known.strengths[block[:, None], place[:, None], place[None, :]]
            matrix[np.ix_(seen, seen)] = np.where(block[:, None] == block[None, :], values, 0.0)
        endless = np.isinf(self.strengths.to_numpy())
        matrix[endless], matrix[:, endless] = np.nan, np.nan
        return pd.DataFrame(matrix, index=names, columns=names)

    def contrast(
        self, a: Item, b: Item, *, level: float = 0.95, kind: str = "model", by: str | Sequence[str] = "group"
    ) -> Contrast:
        """The gap between two items (with separate contexts: (context, item) each), with an interval and p.

        `kind` and `by` as in `spread`; clustered intervals use Student's t. An end without a finite maximum is open, and the
        other end is that of the model with half a win more each way (`Steadied`); a gap across components is undefined.
        """
        check_level(level)
        used = self.spread(kind, by)
        one, other = self.node(a), self.node(b)
        if one == other or self.graph.label[one] != self.graph.label[other] or not self._seen(one, other):
            zero = 0.0 if one == other else float("nan")
            return Contrast(a, b, zero, zero, zero, zero, float("nan"), level)
        gap, error = self._gap(one, other), self._gap_stderr(one, other, used)
        freedom = float(used.freedom(np.array(one), np.array(other)))
        up, down = self._open(one, other)
        if up or down:
            return self._one_way(Contrast(a, b, gap, error, -math.inf, math.inf, float("nan"), level), one, other, up, down)
        far = float(reach(level, np.array(freedom))) * error
        finite = math.isfinite(gap) and math.isfinite(error)
        return Contrast(
            a,
            b,
            estimate=gap,
            stderr=error,
            low=gap - far if finite else -math.inf,
            high=gap + far if finite else math.inf,
            p=two_sided(gap / error, freedom) if error > 0 else float("nan"),
            level=level,
            freedom=freedom,
        )

    def _one_way(self, open_: Contrast, one: int, other: int, up: bool, down: bool) -> Contrast:
        """A gap that the data bound on one side at most: that end, and p, from the steadied fit."""
        if self.steadied is None or (up and down):
            return open_
        gap, error = self.steadied.gap(one, other)
        if not error > 0:
            return open_
        far = float(reach(open_.level, np.array(np.inf), one_sided=True)) * error
        low, high = (gap - far, math.inf) if up else (-math.inf, gap + far)
        return replace(open_, low=low, high=high, p=two_sided(gap / error, math.inf))

    def probability(self, a: Item, b: Item, judge: str | None = None) -> float:
        """P(a beats b) at equal covariates, by default for a judge of geometric-mean sigma without slot bias.

        NaN where it is undefined.
        """
        one, other = self.node(a), self.node(b)
        if one != other and (self.graph.label[one] != self.graph.label[other] or not self._seen(one, other)):
            return float("nan")
        if judge is not None and judge not in self.sigmas.index:
            raise SettingsError(f"no judge {judge!r}; known: {', '.join(self.sigmas.index)}.")
        z = self._gap(one, other) / (1.0 if judge is None else float(self.sigmas[judge]))
        wins, _, _ = probabilities(self.likelihood, np.asarray(z), self.reported.border[TIE])
        return float(wins)

    def node(self, item: Item) -> int:
        """Position of an item, or (context, item), in `strengths`; `SettingsError` where there is none."""
        try:
            place = self.strengths.index.get_loc(item)
        except (KeyError, TypeError, pd.errors.InvalidIndexError):
            place = None
        if not isinstance(place, int):
            wanted = "an item" if self.contexts == "pooled" else "a (context, item)"
            raise SettingsError(f"{item!r} is not {wanted} of this fit.")
        return place

    def _seen(self, *nodes: int) -> bool:
        return bool((self.layout.place[list(nodes)] >= 0).all())

    def _gap(self, one: int, other: int) -> float:
        up, down = self._open(one, other)
        if (up or down) and not self.prior.bounds_strengths:
            return float("nan") if up and down else math.inf if up else -math.inf
        flat = self.reported.strength.reshape(-1)
        return float(flat[self.layout.place[one]] - flat[self.layout.place[other]])

    def _gap_stderr(self, one: int, other: int, used: Spread) -> float:
        if used.covariance is None or math.isinf(self._gap(one, other)):
            return float("nan")
        variance = used.covariance.of_difference(self.layout.place[one], self.layout.place[other])
        return float(_root(np.array([variance]))[0])

    def _open(self, one: int, other: int) -> tuple[bool, bool]:
        """Whether the gap has no finite maximum upwards, downwards: some chain of wins leads only one way."""
        if self.graph.strong[one] == self.graph.strong[other]:
            return False, False
        ahead, behind = self._reaches(one, other), self._reaches(other, one)
        return not behind, not ahead

    def _reaches(self, one: int, other: int) -> bool:
        return bool((breadth_first_order(self.graph.arrows, one, return_predecessors=False) == other).any())


def _root(variances: np.ndarray) -> np.ndarray:
    """Square roots; a variance of zero or less is no knowledge but a direction without information."""
    return np.sqrt(np.where(variances > 0, variances, np.nan))
