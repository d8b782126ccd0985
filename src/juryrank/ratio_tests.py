"""Likelihood-ratio tests between nested models, and how many parameters the data can tell apart.

Conventions: both models are fitted by maximum likelihood on all rows, ties and disagreements half a win each way; the
statistic is twice the difference of their log-likelihoods and is referred to chi-squared. That is valid where rows are
independent and large in number; half wins vary less than wins do and make it careful, repeats and the two orders of one
pair make it bold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import chi2

from juryrank.counts import Graph, PairCounts, graph, tally
from juryrank.errors import SettingsError
from juryrank.estimate import Fit
from juryrank.fitting import fit_bt
from juryrank.prior import Prior
from juryrank.remarks import confounded
from juryrank.tables import Comparisons, Judgments

#: a larger model that fits worse than the smaller by more than this ended in a poorer optimum
ROUNDING = 1e-6
SOFT = "the rows hold probabilities, not verdicts: twice the gain in likelihood has no known distribution."
UNBOUNDED = "some items never lost, or never won, against the others: their strengths have no maximum likelihood."

Table = Comparisons | Judgments


@dataclass(frozen=True)
class LikelihoodRatio:
    """`statistic` on `df` degrees of freedom; where the test has no meaning `p` is None and `reason` says why.

    Then the statistic is that of fits with the prior: a description, NaN where there is none.
    """

    statistic: float
    df: int
    p: float | None
    reason: str = ""


def heterogeneity(source: Table, contexts: str, prior: Prior) -> LikelihoodRatio | None:
    """Have judges sigmas of their own? Plain Bradley-Terry against BT-sigma; df = judges that spoke - 1.

    None where there is nothing to compare: one judge, or no two that share a group of connected items.
    """
    counts = tally(source, contexts=contexts)
    df = len(np.unique(counts.judge)) - scales(counts, graph(counts))
    if df < 1:
        return None
    models = _Nested(source, contexts, {"judge_sigma": False}, {"judge_sigma": True})
    return models.ratio(df, prior, counts)


def slot_bias(source: Table, contexts: str, prior: Prior) -> LikelihoodRatio | None:
    """Do judges lean towards a slot? BT-sigma without and with slot biases; df = judges with one-order rows.

    None where no row has a slot. A lone judge is tested with plain Bradley-Terry.
    """
    counts = tally(source, contexts=contexts)
    df = len(np.unique(counts.judge[counts.slot != 0]))
    if not df:
        return None
    base = {"judge_sigma": len(np.unique(counts.judge)) > 1}
    models = _Nested(source, contexts, base, base | {"slot_bias": True})
    return models.ratio(df, prior, counts)


@dataclass(frozen=True, eq=False)
class _Nested:
    """Two models of one table, as options of `fit_bt`, of which the larger holds the smaller."""

    source: Table
    contexts: str
    small: dict[str, bool]
    large: dict[str, bool]

    def ratio(self, df: int, prior: Prior, counts: PairCounts) -> LikelihoodRatio:
        """The test by maximum likelihood; where that does not exist, the statistic under the prior."""
        if counts.soft or not graph(counts).connected:
            return self._described(df, prior, SOFT if counts.soft else UNBOUNDED)
        try:
            small, large = self._fits(None)
        except SettingsError as error:
            return self._described(df, prior, str(error))
        reason = _meaningless(small, large)
        if reason:
            return self._described(df, prior, reason)
        statistic = _statistic(small, large)
        return LikelihoodRatio(statistic, df, float(chi2.sf(max(statistic, 0.0), df)))

    def _described(self, df: int, prior: Prior, reason: str) -> LikelihoodRatio:
        try:
            return LikelihoodRatio(_statistic(*self._fits(prior)), df, None, reason)
        except SettingsError:
            return LikelihoodRatio(float("nan"), df, None, reason)

    def _fits(self, prior: Prior | None) -> tuple[Fit, Fit]:
        def fitted(options: dict[str, bool]) -> Fit:
            return fit_bt(self.source, contexts=self.contexts, prior=prior, extra_starts=0, **options)  # type: ignore[arg-type]

        return fitted(self.small), fitted(self.large)


def _statistic(small: Fit, large: Fit) -> float:
    return 2 * (large.log_likelihood - small.log_likelihood)


def _meaningless(small: Fit, large: Fit) -> str:
    """Why the ratio of two maximum-likelihood fits says nothing; empty where it says something."""
    if not (small.converged and large.converged):
        return "a maximum-likelihood fit did not converge, as where a sigma or a slot bias grows without end."
    if confounded(large):
        return "slot bias and strengths cannot be told apart in these data."
    if _statistic(small, large) < -ROUNDING * (1 + abs(small.log_likelihood)):
        return "the larger model ended in a poorer optimum than the smaller."
    return ""


def free_parameters(fit: Fit) -> int:
    """Parameters that the data can tell apart: gaps, sigmas up to one scale, slot biases, the tie parameter."""
    seen = fit.graph.observed
    gaps = int(seen.sum()) - len(np.unique(fit.graph.label[seen]))
    fixed = scales(fit.counts, fit.graph) if fit.judge_sigma else 0
    return gaps + int(fit.layout.problem.free.sum()) - fixed


def scales(counts: PairCounts, seen: Graph) -> int:
    """In how many parts strengths and sigmas can be scaled together: judges and groups of items, by who spoke on what."""
    judges, groups = len(counts.judges), int(seen.label.max(initial=-1)) + 1
    speakers, spoken_on = counts.judge, judges + seen.label[counts.a]
    links = coo_array((np.ones(len(speakers), np.int8), (speakers, spoken_on)), shape=(judges + groups,) * 2)
    _, part = connected_components(links.tocsr(), directed=False)
    return len(np.unique(part[speakers]))
