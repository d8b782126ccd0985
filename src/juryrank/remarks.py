"""What a fit has to say about itself, in sentences."""

from __future__ import annotations

import numpy as np

from juryrank.counts import held_by_flips
from juryrank.estimate import Fit
from juryrank.information import WIDEST
from juryrank.optima import at_saddle, distinct
from juryrank.solver import Solution
from juryrank.task import Task


def graph_warnings(task: Task) -> tuple[str, ...]:
    said = []
    seen = task.graph
    pieces = len(np.unique(seen.label[seen.observed]))
    contexts = len(np.unique(task.counts.node_context[seen.observed]))
    if pieces > contexts:
        where = "" if task.counts.contexts == "pooled" else f" in {contexts} contexts"
        said.append(f"{pieces} groups of items{where} have no comparison between them: gaps across groups are undefined.")
    if not seen.connected:
        n = int((seen.unbounded_above | seen.unbounded_below).sum())
        told = (
            "their gaps have no finite maximum and are given as infinite or unknown"
            if task.unbounded
            else "how far they stand from the others comes from the prior alone"
        )
        said.append(f"{n} items never lost, or never won, against the others: {told}.")
    held = held_by_flips(task.counts)
    if held:
        groups = "; ".join(", ".join(group[:5]) + (" ..." if len(group) > 5 else "") for group in held[:5])
        said.append(f"held together by disagreements alone: {groups}.")
    return tuple(said)


def confounded(fit: Fit) -> tuple[str, ...]:
    """Where slot biases or covariates are fitted, whether the data tell them from the strengths."""
    if fit.covariates:
        said = _without_information(fit)
        if fit.explained:
            return (*said, *(_EXPLAINED[by].format(name) for name, by in fit.explained.items()))
        return said + _confounded_slots(fit)
    return _confounded_slots(fit)


_EXPLAINED = {
    "strengths": (
        "the covariate {0!r} is a function of the items in these data (the same difference whenever a pair is judged, and "
        "differences that add up): it cannot be told from the strengths; what each of them explains is the prior's choice, "
        "and there are no standard errors."
    ),
    "others": (
        "the covariate {0!r} cannot be told from strengths, slot biases and other coefficients in these data (say, it is "
        "one constant per slot, or repeats another one): what each of them explains is the prior's choice, and there are no "
        "standard errors."
    ),
}


def _without_information(fit: Fit) -> tuple[str, ...]:
    none = fit.layout.beta == len(fit.layout.problem.free) - 1
    return tuple(
        f"the covariate {name!r} is 0 in every opinion that counts: it has no coefficient."
        for name, silent in zip(fit.covariates, none.all(axis=0), strict=True)
        if silent
    )


def _confounded_slots(fit: Fit) -> tuple[str, ...]:
    if not fit.slot_judges or fit.model_covariance is not None or fit.layout.problem.node.shape[1] > WIDEST:
        return ()
    return (
        "slot bias and strengths cannot be told apart in these data (say, a pair is always shown one way round): what each "
        "of them explains is the prior's choice, and there are no standard errors.",
    )


def solution_warnings(task: Task, solutions: list[Solution], returned: Solution) -> tuple[str, ...]:
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


def orders_otherwise(task: Task, one: Solution, other: Solution) -> bool:
    """Whether some neighbours in the order of one solution stand otherwise, or level, in the other."""
    first, second = task.layout.strengths(one.at), task.layout.strengths(other.at)
    seen = np.flatnonzero(task.graph.observed)
    order = seen[np.lexsort((-first[seen], task.graph.label[seen]))]
    together = np.diff(task.graph.label[order]) == 0
    scale = 1e-6 * (1 + np.abs(first[order]).max(initial=0))
    signs = [np.sign(np.where(np.abs(d) < scale, 0, d)) for d in (np.diff(first[order]), np.diff(second[order]))]
    return bool((together & (signs[0] != signs[1])).any())
