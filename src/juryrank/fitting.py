"""`fit_bt`: pair counts and a likelihood -> a Fit."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from juryrank.counts import PairCounts, graph, tally
from juryrank.covariates import named
from juryrank.diagnostics.consistency import consistency_weights, repetition_consistency
from juryrank.errors import InputError, NoVerdictError, SettingsError
from juryrank.estimate import Fit, Optimum, Steadied
from juryrank.existence import out_of_reach
from juryrank.likelihoods import TIES
from juryrank.objective import TIE, Parameters
from juryrank.optima import distinct, others, principled
from juryrank.prior import MAXIMUM_LIKELIHOOD, Prior
from juryrank.remarks import confounded, graph_warnings, solution_warnings
from juryrank.solver import Solution
from juryrank.tables import Comparisons, Judgments, comparisons
from juryrank.task import COARSE, CONCAVE, DAMPED, Task

COVARIATES_BY = ("all", "judge")

Source: TypeAlias = Comparisons | Judgments | PairCounts | pd.DataFrame | list[dict]


def fit_bt(
    source: Source,
    *,
    judge_sigma: bool = True,
    hard: bool = False,
    slot_bias: bool | Collection[str] = False,
    ties: str = "half",
    prior: Prior | None = Prior(),  # noqa: B008  (frozen)
    weights: str | pd.Series | None = None,
    contexts: str = "pooled",
    disagreements: str = "half",
    covariates: Iterable[str] | None = None,
    covariates_by: str = "all",
    items: Iterable[str] | None = None,
    extra_starts: int | None = None,
    start: Fit | None = None,
    seed: int = 0,
) -> Fit:
    """Fit Bradley-Terry, with a sigma per judge unless `judge_sigma=False` (BT-sigma, arXiv:2602.16610).

    `source`: comparisons, judgments (then the showings are fitted, one row each), pair counts, or a frame `judge,
    item_a, item_b, p_a, weight`. `hard`: p becomes 1[p > 1/2], exact halves stay. `slot_bias`: True for every judge with
    one-order rows, or the names of some. `ties`: "half", "davidson", "rao-kupper". `prior=None`: maximum likelihood.
    `weights`: a Series by judge, or "consistency" (repetitions needed). `contexts`: "pooled", or "separate" (strengths per
    context; sigma and slot bias shared). `disagreements`: "half" a win each way, or "drop". `items`: the roster.
    `covariates`: further columns that may sway a judge (say `length`, or `length_first` and `length_second`; see
    `juryrank.covariates`), each with a coefficient shared by "all" judges or, `covariates_by="judge"`, one a judge;
    strengths are then those at equal values (the style control of Li, Angelopoulos and Chiang 2024, "Does style matter?").
    `extra_starts`: how many starts beside the principled ones look for other optima of BT-sigma (None: what the size of the
    data affords), drawn with `seed`; they never change what is returned.
    `start`: a fit over the same items and judges, of nearly the same data; BT-sigma then climbs from where that ended, and
    from nowhere else.

    Raises `NoVerdictError` where nothing enters the fit, `InputError` for an item that is not on the roster and for a
    covariate that is not there or no finite number in a row that counts, and `SettingsError` for options without a meaning
    together. A fit that did not converge says so in `converged` and in a warning.
    """
    _check(ties, disagreements, covariates_by)
    prior = prior or MAXIMUM_LIKELIHOOD
    source = _opened(source)
    counts = _counts(source, contexts, hard, ties, disagreements, named(covariates), items)
    by_judge, said = _weights(source, counts, weights)
    if len(counts.items) < 2:
        raise InputError(f"{len(counts.items)} item{'s' * (len(counts.items) != 1)}: a ranking needs at least two.")
    counts = counts.weighted(by_judge.to_numpy())
    if not len(counts):
        raise NoVerdictError("not one usable verdict: every opinion is an abstention, a failure or dropped.")
    spoke = np.bincount(counts.judge, minlength=len(counts.judges)) > 0
    judge_sigma, more = _may_have_sigma(judge_sigma, spoke, prior)
    slots = _slot_judges(slot_bias, counts)
    fit_tie, tie_said = _tie(ties, counts)
    task = Task(counts, graph(counts), ties, judge_sigma, slots, spoke, fit_tie, prior, covariates_by)
    solutions, returned = _solutions(task, extra_starts, seed) if start is None else _near(task, start)
    if out_of_reach(task.likelihood, task.layout, returned.at):
        also = ", covariates" if counts.covariates else ""
        raise SettingsError(
            f"the maximum likelihood does not exist: strengths, slot biases{also} or the tie parameter grow together "
            f"without end. Give a prior, or leave the slot bias{also} or the tie parameter out."
        )
    told = said + more + tie_said + graph_warnings(task) + solution_warnings(task, solutions, returned)
    fit = _report(task, solutions, returned, told, by_judge, hard=hard, disagreements=disagreements)
    table = None if isinstance(source, PairCounts) else source
    return replace(fit, source=table, warnings=fit.warnings + confounded(fit))


def _check(ties: str, disagreements: str, covariates_by: str) -> None:
    if covariates_by not in COVARIATES_BY:
        raise SettingsError(f"no covariates_by={covariates_by!r}; expected one of {', '.join(COVARIATES_BY)}.")
    if ties not in TIES:
        raise SettingsError(f"no ties={ties!r}; expected one of {', '.join(TIES)}.")
    if disagreements not in ("half", "drop"):
        raise SettingsError(f"no disagreements={disagreements!r}; expected half or drop.")


def _opened(source: Source) -> Comparisons | Judgments | PairCounts:
    if isinstance(source, Comparisons | Judgments | PairCounts):
        return source
    return comparisons(pd.DataFrame(source))


def _counts(
    source: Comparisons | Judgments | PairCounts,
    contexts: str,
    hard: bool,
    ties: str,
    disagreements: str,
    covariates: tuple[str, ...],
    items: Iterable[str] | None,
) -> PairCounts:
    counts = tally(source, contexts=contexts, hard=hard, covariates=covariates)
    if disagreements == "drop":
        counts = counts.without_flips()
    if ties != "half" and counts.soft:
        raise SettingsError(f"ties={ties!r} needs verdicts, and there are soft values between 0 and 1; use ties='half'.")
    return counts if items is None else on_roster(counts, items)


def on_roster(counts: PairCounts, items: Iterable[str]) -> PairCounts:
    """The counts with every item of a roster as a node; an item that is not on it is an error."""
    if isinstance(items, str):
        raise SettingsError(f"items={items!r} is one text; expected the ids of the roster, one by one.")
    roster = {str(item) for item in items}
    unknown = sorted(set(counts.items) - roster)
    if unknown:
        raise InputError(f"{unknown[0]!r} was compared and is not among the items given ({len(roster)} ids).")
    return counts if counts.contexts == "separate" else counts.with_items(sorted(roster))


def _weights(
    source: Comparisons | Judgments | PairCounts, counts: PairCounts, weights: str | pd.Series | None
) -> tuple[pd.Series, tuple[str, ...]]:
    judges = pd.Index(counts.judges, dtype=object)
    even = pd.Series(1.0, index=judges)
    if weights is None:
        return even, ()
    if isinstance(weights, str):
        found, said = _consistency(source, weights)
        return (even, said) if found is None else (found.reindex(judges), said)
    given = pd.Series(weights, dtype=float)
    given.index = given.index.astype(str)
    chosen = given.reindex(judges)
    bad = chosen.index[~(np.isfinite(chosen.to_numpy()) & (chosen.to_numpy() >= 0))]
    if len(bad):
        raise SettingsError(f"the weight of judge {bad[0]!r} is {chosen[bad[0]]}; every judge needs one of at least 0.")
    return chosen, ()


def _consistency(source: Comparisons | Judgments | PairCounts, name: str) -> tuple[pd.Series | None, tuple[str, ...]]:
    if name != "consistency":
        raise SettingsError(f"no weights={name!r}; expected 'consistency', a Series by judge, or None.")
    judgments = source if isinstance(source, Judgments) else getattr(source, "judgments", None)
    if judgments is None:
        raise SettingsError("weights='consistency' needs judgments with repetitions; this source has opinions only.")
    return consistency_weights(repetition_consistency(judgments))


def _may_have_sigma(wanted: bool, spoke: np.ndarray, prior: Prior) -> tuple[bool, tuple[str, ...]]:
    if not wanted:
        return False, ()
    if spoke.sum() < 2:
        return False, ("a lone judge has no sigma: this is plain Bradley-Terry.",)
    if prior.log_sigma_sd is None and prior.strength_sd is not None:
        raise SettingsError(
            "strength_sd without log_sigma_sd has no maximum: strengths and sigmas shrink together for ever. "
            "Give both, or neither."
        )
    return True, ()


def _slot_judges(slot_bias: bool | Collection[str], counts: PairCounts) -> np.ndarray:
    has_slot = np.bincount(counts.judge, weights=np.abs(counts.slot), minlength=len(counts.judges)) > 0
    if isinstance(slot_bias, bool):
        return has_slot & slot_bias
    return has_slot & np.isin(np.asarray(counts.judges, dtype=object), list(slot_bias))


def _tie(ties: str, counts: PairCounts) -> tuple[bool, tuple[str, ...]]:
    if ties == "half":
        return False, ()
    if not counts.tie.any():
        return False, (f"no ties in the data: the {ties} parameter is fixed where a tie is impossible.",)
    if not (counts.win_a + counts.win_b + counts.flip).any():
        raise SettingsError(f"every usable opinion is a tie: the {ties} parameter has no maximum; use ties='half'.")
    return True, ()


def _solutions(task: Task, extra_starts: int | None, seed: int) -> tuple[list[Solution], Solution]:
    """All that were found, and the one to return: the best of the principled starts."""
    if not task.judge_sigma:
        only = task.climb(CONCAVE)(task.layout.problem, task.start())
        return [only], only
    climb = task.climb(DAMPED)
    found = principled(task.layout, task.start(), climb)
    best = max(found, key=lambda s: (s.converged, float(s.evaluation.value)))
    more = others(task.layout, found, task.climb(COARSE), climb, seed, extra_starts)
    return [*found, *more], best


def _near(task: Task, start: Fit) -> tuple[list[Solution], Solution]:
    """The one solution that a climb from an earlier fit leads to."""
    if not start.counts.node_index.equals(task.counts.node_index) or start.counts.judges != task.counts.judges:
        raise SettingsError("start is a fit over other items or judges; give one over the same.")
    climb = task.climb(DAMPED if task.judge_sigma else CONCAVE)
    only = climb(task.layout.problem, task.start_near(start.layout, start.reported))
    return [only], only


def _report(
    task: Task,
    solutions: list[Solution],
    returned: Solution,
    told: tuple[str, ...],
    weights: pd.Series,
    *,
    hard: bool,
    disagreements: str,
) -> Fit:
    reported = task.gauged(returned.at)
    judges = pd.Index(task.counts.judges, dtype=object)
    return Fit(
        strengths=_strengths(task, reported),
        sigmas=_sigmas(task, reported, judges),
        slot_biases=pd.Series(
            np.where(task.slots, reported.border[task.layout.b], 0.0) if task.slots.any() else 0.0,
            index=judges,
        ),
        tie_parameter=_tie_parameter(task, reported),
        log_likelihood=float(returned.evaluation.log_likelihood),
        objective=float(returned.evaluation.value),
        gradient_norm=returned.gradient_norm,
        converged=returned.converged,
        iterations=returned.iterations,
        prior=task.prior,
        ties=task.ties,
        contexts=task.counts.contexts,
        disagreements=disagreements,
        judge_sigma=task.judge_sigma,
        hard=hard,
        slot_judges=tuple(judges[task.slots]),
        weights=weights,
        covariates=task.counts.covariates,
        covariates_by=task.covariates_by,
        opinions=int(task.counts.opinions.sum()),
        optima=_optima(task, solutions, judges),
        warnings=told,
        counts=task.counts,
        graph=task.graph,
        layout=task.layout,
        reported=reported,
        steadied=None if task.graph.connected else _steadied(task),
    )


def _steadied(task: Task) -> Steadied:
    """The same fit with half a win more each way on every pair seen: where that stands, errors of one-way gaps are sane."""
    prior = task.prior
    widths = {"log_sigma_sd": prior.log_sigma_sd or Prior().log_sigma_sd, "slot_sd": prior.slot_sd or Prior().slot_sd}
    more = replace(task, prior=replace(prior, pseudo_wins=prior.pseudo_wins + 1, **widths))
    found = more.climb(DAMPED if more.judge_sigma else CONCAVE)(more.layout.problem, more.start())
    return Steadied(more.likelihood, more.layout, more.gauged(found.at))


def _strengths(task: Task, reported: Parameters) -> pd.Series:
    values = task.layout.strengths(reported)
    if task.unbounded:
        above, below = task.graph.unbounded_above, task.graph.unbounded_below
        values = np.select([above & below, above, below], [np.nan, np.inf, -np.inf], default=values)
    return pd.Series(values, index=task.counts.node_index)


def _sigmas(task: Task, reported: Parameters, judges: pd.Index) -> pd.Series:
    if not task.judge_sigma:
        return pd.Series(np.where(task.spoke, 1.0, np.nan), index=judges)
    return pd.Series(np.where(task.spoke, np.exp(reported.border[task.layout.t]), np.nan), index=judges)


def _tie_parameter(task: Task, reported: Parameters) -> float | None:
    if task.ties == "half":
        return None
    if task.fit_tie:
        return float(np.exp(min(reported.border[TIE], 700.0)))
    return 0.0 if task.ties == "davidson" else 1.0


def _optima(task: Task, solutions: list[Solution], judges: pd.Index) -> tuple[Optimum, ...]:
    found = []
    for solution in distinct(solutions, task.layout):
        at = task.gauged(solution.at)
        value = float(solution.evaluation.value)
        found.append(Optimum(value, _strengths(task, at), _sigmas(task, at, judges)))
    return tuple(found)
