"""`fit_bt`: pair counts and a likelihood -> a Fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial

import numpy as np
import pandas as pd

from juryrank.counts import Graph, PairCounts, graph, held_by_flips, tally
from juryrank.diagnostics.consistency import consistency_weights, repetition_consistency
from juryrank.errors import InputError, NoVerdictError, SettingsError
from juryrank.estimate import Fit, Optimum
from juryrank.layout import Layout, arrange
from juryrank.likelihoods import TIES, Parameters, Problem
from juryrank.optima import at_saddle, distinct, others, principled
from juryrank.prior import MAXIMUM_LIKELIHOOD, Prior
from juryrank.solver import GRADIENT, Damping, Solution, solve
from juryrank.tables import Comparisons, Judgments, comparisons

Source = Comparisons | Judgments | PairCounts | pd.DataFrame | list[dict]

#: a plain fit is concave: full Newton steps are safe there
CONCAVE = Damping(start=1e-3)
DAMPED = Damping(start=1.0)


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
    items: Iterable[str] | None = None,
    seed: int = 0,
) -> Fit:
    """Fit Bradley-Terry, with a sigma per judge unless `judge_sigma=False` (BT-sigma, arXiv:2602.16610).

    `source`: comparisons, judgments (then the showings are fitted, one row each), pair counts, or a frame `judge,
    item_a, item_b, p_a, weight`. `hard`: p becomes 1[p > 1/2], exact halves stay. `slot_bias`: True for every judge with
    one-order rows, or the names of some. `ties`: "half", "davidson", "rao-kupper". `prior=None`: maximum likelihood.
    `weights`: a Series by judge, or "consistency" (repetitions needed). `contexts`: "pooled", or "separate" (strengths per
    context; sigma and slot bias shared). `disagreements`: "half" a win each way, or "drop". `items`: the roster.

    Raises `NoVerdictError` where nothing enters the fit, `InputError` for an item that is not on the roster, and
    `SettingsError` for options without a meaning together. A fit that did not converge says so in `converged` and in a
    warning.
    """
    _check(ties, disagreements)
    prior = prior or MAXIMUM_LIKELIHOOD
    source = _opened(source)
    counts = _counts(source, contexts, hard, ties, disagreements, items)
    by_judge, said = _weights(source, counts, weights)
    counts = counts.weighted(by_judge.to_numpy())
    if not len(counts):
        raise NoVerdictError("not one usable verdict: every opinion is an abstention, a failure or dropped.")
    spoke = np.bincount(counts.judge, minlength=len(counts.judges)) > 0
    judge_sigma, more = _may_have_sigma(judge_sigma, spoke, prior)
    slots = _slot_judges(slot_bias, counts)
    fit_tie, tie_said = _tie(ties, counts)
    task = _Task(counts, graph(counts), ties, judge_sigma, slots, fit_tie, prior, spoke)
    solutions, returned = _solutions(task, seed)
    told = said + more + tie_said + _graph_warnings(task) + _solution_warnings(task, solutions, returned)
    return _report(task, solutions, returned, told, by_judge, hard=hard, disagreements=disagreements)


def _check(ties: str, disagreements: str) -> None:
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
    items: Iterable[str] | None,
) -> PairCounts:
    counts = tally(source, contexts=contexts, hard=hard)
    if disagreements == "drop":
        counts = counts.without_flips()
    if ties != "half" and counts.soft:
        raise SettingsError(f"ties={ties!r} needs verdicts, and there are soft values between 0 and 1; use ties='half'.")
    return counts if items is None else on_roster(counts, items)


def on_roster(counts: PairCounts, items: Iterable[str]) -> PairCounts:
    """The counts with every item of a roster as a node; an item that is not on it is an error."""
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


def _consistency(
    source: Comparisons | Judgments | PairCounts, name: str
) -> tuple[pd.Series | None, tuple[str, ...]]:
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


class _Task:
    """What is to be fitted, settled and checked."""

    def __init__(
        self,
        counts: PairCounts,
        seen: Graph,
        ties: str,
        judge_sigma: bool,
        slots: np.ndarray,
        fit_tie: bool,
        prior: Prior,
        spoke: np.ndarray,
    ) -> None:
        self.all_counts, self.graph, self.ties, self.judge_sigma = counts, seen, ties, judge_sigma
        self.slots, self.fit_tie, self.prior, self.spoke = slots, fit_tie, prior, spoke
        self.likelihood = ties if fit_tie else "half"
        self.open = not seen.connected and not prior.bounds_strengths
        #: gaps exist within these: components, or strongly connected groups where nothing bounds the rest
        self.together = seen.strong if self.open else seen.label
        kept = counts.keep(seen.strong[counts.a] == seen.strong[counts.b]) if self.open else counts
        self.counts = kept.pool(judges=not (judge_sigma or slots.any()), slots=not slots.any())
        self.jit = _worth_compiling(self.counts)
        self.layout = self._arrange()

    def _arrange(self) -> Layout:
        judges = len(self.counts.judges)
        sigma_of = self.spoke if self.judge_sigma else np.zeros(judges, bool)
        return arrange(
            self.counts,
            self.graph,
            ties=self.likelihood,
            sigma_of=sigma_of[:judges],
            slot_of=self.slots if self.slots.any() else np.zeros(judges, bool),
            fit_tie=self.fit_tie,
            prior=self.prior,
            together=self.together,
            pad=self.jit,
        )

    def start(self) -> Parameters:
        none = np.zeros(self.layout.judges)
        tie = 0.0
        if self.fit_tie:
            share = float(self.counts.tie.sum() / self.counts.total.sum())
            tie = np.log(2 * share / (1 - share)) if self.ties == "davidson" else np.log((1 + share) / (1 - share))
        return self.layout.parameters(np.zeros(len(self.counts.node_item)), none, none, float(tie))

    def climb(self, damping: Damping) -> Callable[[Problem, Parameters], Solution]:
        return partial(self._climb, damping)

    def _climb(self, damping: Damping, problem: Problem, start: Parameters) -> Solution:
        return solve(self.likelihood, problem, start, damping, self.tolerance(), jit=self.jit)

    def tolerance(self) -> float:
        """1e-9 of the largest weight that rests on one parameter."""
        rows = self.layout.problem.rows
        weight = rows.wins_a + rows.wins_b + rows.ties
        by_node = np.bincount(np.concatenate([rows.a, rows.b]), weights=np.tile(weight, 2))
        on_judge = np.bincount(rows.judge, weights=weight).max(initial=0) if self.judge_sigma or self.slots.any() else 0.0
        return GRADIENT * max(1.0, float(by_node.max(initial=0)), float(on_judge))


def _worth_compiling(counts: PairCounts) -> bool:
    return len(counts) * len(counts.judges) > 200_000


def _solutions(task: _Task, seed: int) -> tuple[list[Solution], Solution]:
    """All that were found, and the one to return: the best of the principled starts."""
    if not task.judge_sigma:
        only = task.climb(CONCAVE)(task.layout.problem, task.start())
        return [only], only
    climb = task.climb(DAMPED)
    found = principled(task.layout, task.start(), climb)
    best = max(found, key=lambda s: (s.converged, float(s.evaluation.value)))
    more = others(task.layout, found[1].at, climb, seed)
    return [*found, *more], best


def _graph_warnings(task: _Task) -> tuple[str, ...]:
    said = []
    seen = task.graph
    pieces = len(np.unique(seen.label[seen.observed]))
    contexts = len(np.unique(task.all_counts.node_context[seen.observed]))
    if pieces > contexts:
        where = "" if task.all_counts.contexts == "pooled" else f" in {contexts} contexts"
        said.append(f"{pieces} groups of items{where} have no comparison between them: gaps across groups are undefined.")
    if not seen.connected:
        n = int((seen.unbounded_above | seen.unbounded_below)[seen.observed].sum())
        told = (
            "their gaps have no finite maximum and are given as infinite or unknown"
            if task.open
            else "how far they stand from the others comes from the prior alone"
        )
        said.append(f"{n} items never lost, or never won, against some others: {told}.")
    held = held_by_flips(task.all_counts)
    if held:
        groups = "; ".join(", ".join(group[:5]) + (" ..." if len(group) > 5 else "") for group in held[:5])
        said.append(f"held together by disagreements alone: {groups}.")
    return tuple(said)


def _solution_warnings(task: _Task, solutions: list[Solution], returned: Solution) -> tuple[str, ...]:
    said = []
    if not returned.converged:
        said.append(
            f"the fit has NOT converged: gradient {returned.gradient_norm:.3g} after {returned.iterations} iterations; "
            "do not rely on these numbers."
        )
    if not task.judge_sigma:
        return tuple(said)
    if at_saddle(returned):
        said.append(
            "the fit stands on a saddle: judges contradict each other so evenly that the data do not say whom to "
            "believe; see optima."
        )
    rivals = [s for s in distinct(solutions, task.layout) if s is not returned and orders_otherwise(task, returned, s)]
    value = float(returned.evaluation.value)
    better = [s for s in rivals if float(s.evaluation.value) >= value - 1e-7 * (1 + abs(value))]
    if better:
        gain = float(better[0].evaluation.value) - value
        said.append(
            f"another optimum is {'as good' if gain < 1e-6 * (1 + abs(value)) else f'better by {gain:.3g}'} and orders the "
            "items otherwise (see optima): the returned one is the best from principled starts."
        )
    return tuple(said)


def orders_otherwise(task: _Task, one: Solution, other: Solution) -> bool:
    """Whether some neighbours in the order of one solution stand otherwise, or level, in the other."""
    first, second = task.layout.strengths(one.at), task.layout.strengths(other.at)
    seen = np.flatnonzero(task.graph.observed)
    order = seen[np.lexsort((-first[seen], task.graph.label[seen]))]
    together = np.diff(task.graph.label[order]) == 0
    scale = 1e-6 * (1 + np.abs(first[order]).max(initial=0))
    signs = [np.sign(np.where(np.abs(d) < scale, 0, d)) for d in (np.diff(first[order]), np.diff(second[order]))]
    return bool((together & (signs[0] != signs[1])).any())


def _report(
    task: _Task,
    solutions: list[Solution],
    returned: Solution,
    told: tuple[str, ...],
    weights: pd.Series,
    *,
    hard: bool,
    disagreements: str,
) -> Fit:
    reported = gauged(task, returned.at)
    judges = pd.Index(task.all_counts.judges, dtype=object)
    return Fit(
        strengths=_strengths(task, reported),
        sigmas=_sigmas(task, reported, judges),
        slot_biases=pd.Series(
            np.where(task.slots, _by_judge(task, reported, task.layout.b), 0.0) if task.slots.any() else 0.0, index=judges
        ),
        tie_parameter=_tie_parameter(task, reported),
        log_likelihood=float(returned.evaluation.log_likelihood),
        objective=float(returned.evaluation.value),
        gradient_norm=returned.gradient_norm,
        converged=returned.converged,
        iterations=returned.iterations,
        prior=task.prior,
        ties=task.ties,
        contexts=task.all_counts.contexts,
        disagreements=disagreements,
        judge_sigma=task.judge_sigma,
        hard=hard,
        slot_judges=tuple(judges[task.slots]),
        weights=weights,
        opinions=int(task.all_counts.opinions.sum()),
        optima=_optima(task, solutions, judges),
        warnings=told,
        counts=task.all_counts,
        graph=task.graph,
        layout=task.layout,
        reported=reported,
    )


def gauged(task: _Task, at: Parameters) -> Parameters:
    """Into the gauge of the report: geometric mean of sigma 1, strengths centred within what hangs together."""
    layout = task.layout
    border = at.border.copy()
    free = np.flatnonzero(layout.problem.free[layout.t])
    shift = float(border[free].mean()) if len(free) else 0.0
    border[free] -= shift
    flat = at.strength.reshape(-1) * np.exp(-shift)
    seen = layout.place >= 0
    place, label = layout.place[seen], task.together[seen]
    means = np.bincount(label, weights=flat[place]) / np.maximum(np.bincount(label), 1)
    flat[place] -= means[label]
    return Parameters(flat.reshape(at.strength.shape), border)


def _strengths(task: _Task, reported: Parameters) -> pd.Series:
    values = task.layout.strengths(reported)
    if task.open:
        above, below = task.graph.unbounded_above, task.graph.unbounded_below
        values = np.select([above & below, above, below], [np.nan, np.inf, -np.inf], default=values)
    return pd.Series(values, index=task.all_counts.node_index)


def _by_judge(task: _Task, reported: Parameters, where: slice) -> np.ndarray:
    return reported.border[where]


def _sigmas(task: _Task, reported: Parameters, judges: pd.Index) -> pd.Series:
    if not task.judge_sigma:
        return pd.Series(np.where(task.spoke, 1.0, np.nan), index=judges)
    return pd.Series(np.where(task.spoke, np.exp(reported.border[task.layout.t]), np.nan), index=judges)


def _tie_parameter(task: _Task, reported: Parameters) -> float | None:
    if task.ties == "half":
        return None
    if task.fit_tie:
        return float(np.exp(reported.border[-1]))
    return 0.0 if task.ties == "davidson" else 1.0


def _optima(task: _Task, solutions: list[Solution], judges: pd.Index) -> tuple[Optimum, ...]:
    found = []
    for solution in distinct(solutions, task.layout):
        at = gauged(task, solution.at)
        value = float(solution.evaluation.value)
        found.append(Optimum(value, _strengths(task, at), _sigmas(task, at, judges)))
    return tuple(found)
