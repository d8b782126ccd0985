"""A fit that is settled and checked: counts, graph, which parameters are free, and how to climb."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from juryrank.counts import Graph, PairCounts
from juryrank.layout import Layout, arrange
from juryrank.objective import TIE, Parameters, Problem
from juryrank.optima import Climb
from juryrank.prior import Prior
from juryrank.solver import GRADIENT, STEP, Damping, Solution, solve

#: a plain fit is concave: full Newton steps are safe there
CONCAVE = Damping(start=1e-3)
#: BT-sigma is not: long first steps land in poor optima
DAMPED = Damping(start=1.0)
#: enough to tell which optimum a start leads to
COARSE = Damping(start=1.0, iterations=60, step=1e-3)


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be fitted.

    Where nothing bounds the strengths, an arrow of the win graph without a way back has an infinite gap at the maximum and a
    likelihood of 1 whatever else is true: such rows are left out, and gaps exist within strongly connected groups only.
    """

    counts: PairCounts
    graph: Graph
    ties: str
    judge_sigma: bool
    #: (judges,) whether each has a slot bias, and whether any of its opinions is counted
    slots: np.ndarray
    spoke: np.ndarray
    fit_tie: bool
    prior: Prior
    #: whether coefficients of covariates are shared by "all" judges, or each "judge" has its own
    covariates_by: str = "all"

    @property
    def likelihood(self) -> str:
        """The tie rule that is fitted: without ties its parameter is fixed, and the rest is plain Bradley-Terry."""
        return self.ties if self.fit_tie else "half"

    @property
    def unbounded(self) -> bool:
        """Whether some gaps have no finite maximum."""
        return not (self.graph.connected or self.prior.bounds_strengths)

    @property
    def together(self) -> np.ndarray:
        """(nodes,) label within which gaps exist."""
        return self.graph.strong if self.unbounded else self.graph.label

    @cached_property
    def _fitted(self) -> PairCounts:
        counts, strong = self.counts, self.graph.strong
        kept = counts.keep(strong[counts.a] == strong[counts.b]) if self.unbounded else counts
        return kept.pool(judges=not self.has_judges, slots=not self.slots.any())

    @property
    def has_judges(self) -> bool:
        """Whether anything is fitted per judge."""
        own = bool(self.counts.covariates) and self.covariates_by == "judge"
        return self.judge_sigma or bool(self.slots.any()) or own

    @cached_property
    def jit(self) -> bool:
        """Whether the work outweighs a compilation."""
        return len(self._fitted) * len(self._fitted.judges) > 200_000

    @cached_property
    def unit(self) -> np.ndarray:
        """(covariates,) root mean square of each over the opinions, by their weights; 1 for one that is 0 throughout."""
        x = np.empty((len(self.counts), 0)) if self.counts.x is None else np.abs(self.counts.x)
        most = x.max(axis=0, initial=0)
        most[most == 0] = 1.0
        share = self.counts.total / self.counts.total.sum()
        size = most * np.sqrt(share @ (x / most) ** 2)
        return np.where(size > 0, size, 1.0)

    @cached_property
    def coefficient_of(self) -> np.ndarray:
        """(judges, covariates) number of the coefficient; -1 where the covariate is 0 in all that the judge said."""
        fitted = self._fitted
        x = np.empty((len(fitted), 0)) if fitted.x is None else fitted.x
        said = np.zeros((len(fitted.judges), x.shape[1]), bool)
        row, column = np.nonzero(x)
        said[fitted.judge[row], column] = True
        if self.covariates_by == "all":
            seen = said.any(axis=0)
            return np.tile(np.where(seen, np.cumsum(seen) - 1, -1), (len(said), 1))
        number = np.cumsum(said.T).reshape(said.T.shape).T - 1
        return np.where(said, number, -1)

    @cached_property
    def layout(self) -> Layout:
        """The arrays of the problem."""
        judges = len(self._fitted.judges)
        none = np.zeros(judges, bool)
        return arrange(
            self._fitted,
            self.graph,
            ties=self.likelihood,
            sigma_of=self.spoke if self.judge_sigma else none,
            slot_of=self.slots if self.slots.any() else none,
            coefficient_of=self.coefficient_of,
            unit=self.unit,
            fit_tie=self.fit_tie,
            prior=self.prior,
            together=self.together,
            pad=self.jit,
        )

    def start(self) -> Parameters:
        """Zeros; the tie parameter where equal items would tie as often as was seen."""
        tie = 0.0
        if self.fit_tie:
            share = min(0.99, float(self._fitted.tie.sum() / self._fitted.total.sum()))
            tie = np.log(2 * share / (1 - share)) if self.ties == "davidson" else np.log((1 + share) / (1 - share))
        return self.layout.start(float(tie))

    def start_near(self, layout: Layout, at: Parameters) -> Parameters:
        """Where a fit over the same nodes and judges ended."""
        own, strength = self.start(), layout.strengths(at)
        flat, border, seen = own.strength.reshape(-1).copy(), own.border.copy(), self.layout.place >= 0
        flat[self.layout.place[seen]] = np.nan_to_num(strength[seen])
        if len(layout.t) == len(self.layout.t):
            border[self.layout.t] = at.border[layout.t] if self.judge_sigma else 0.0
            border[self.layout.b] = at.border[layout.b] if self.slots.any() else border[self.layout.b]
        if self.fit_tie:
            border[TIE] = at.border[TIE]
        return Parameters(flat.reshape(own.strength.shape), border * self.layout.problem.free)

    def climb(self, damping: Damping) -> Climb:
        """A climber from a problem and a start to a solution; its gradient may be as coarse as its last step."""
        return partial(self._climb, damping, self.tolerance * damping.step / STEP)

    def _climb(self, damping: Damping, tolerance: float, problem: Problem, start: Parameters) -> Solution:
        return solve(self.likelihood, problem, start, damping, tolerance, jit=self.jit)

    @cached_property
    def tolerance(self) -> float:
        """Largest gradient that counts as none: 1e-9 of the largest weight that rests on one parameter."""
        rows = self.layout.problem.rows
        on_node = np.bincount(np.concatenate([rows.a, rows.b]), weights=np.tile(rows.weight, 2))
        on_judge = [np.bincount(place, weights=rows.weight) for place in (rows.t, rows.bias) if place is not None]
        if rows.x is not None and rows.beta is not None:
            on_judge.append(np.bincount(rows.beta.ravel(), weights=(rows.weight[:, None] * np.abs(rows.x)).ravel()))
        return GRADIENT * max(1.0, *(float(weight.max(initial=0)) for weight in (on_node, *on_judge)))

    def gauged(self, at: Parameters) -> Parameters:
        """Into the gauge of the report: geometric mean of sigma 1, strengths centred within what hangs together."""
        layout = self.layout
        border = at.border.copy()
        free = np.flatnonzero(layout.problem.log_sigma)
        shift = float(border[free].mean()) if len(free) else 0.0
        border[free] -= shift
        flat = at.strength.reshape(-1) * np.exp(-shift)
        seen = layout.place >= 0
        place, label = layout.place[seen], self.together[seen]
        means = np.bincount(label, weights=flat[place]) / np.maximum(np.bincount(label), 1)
        flat[place] -= means[label]
        return Parameters(flat.reshape(at.strength.shape), border)
