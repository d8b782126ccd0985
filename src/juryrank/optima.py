"""Where BT-sigma may end: principled starts, which decide what is returned, and others, which tell what else there is.

Principled: damped steps from zeros, damped steps from the plain Bradley-Terry fit, and a continuation that frees log sigma
from a small prior width up to its own. Others: one start a judge that trusts this judge above all (a lone, perfectly
consistent dissenter can own the global optimum), and random ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from juryrank.layout import Layout
from juryrank.objective import Parameters, Problem, sum_at
from juryrank.solver import Solution

#: widths of log sigma on the way from plain Bradley-Terry to the prior's own
WIDTHS = (0.1, 0.3)
#: judges that get a start of their own, at most
TRUSTED = 16
RANDOM = 8
FEWEST = 3
#: rows and border cells that extra starts may cost, summed over starts
WORK = 3_000_000
#: log sigma of a trusted judge, and of the others
TRUST, DISTRUST = -1.5, 0.75

Climb = Callable[[Problem, Parameters], Solution]


def principled(layout: Layout, start: Parameters, climb: Climb) -> list[Solution]:
    """Solutions from zeros, from the plain fit and by continuation, in this order."""
    plain = climb(_held(layout), start).at
    found = [climb(layout.problem, start), climb(layout.problem, plain)]
    at = plain
    for width in _widths(layout):
        at = climb(_narrow(layout.problem, width), at).at
    return [*found, climb(layout.problem, at)]


def others(
    layout: Layout, found: list[Solution], coarse: Climb, fine: Climb, seed: int, starts: int | None
) -> list[Solution]:
    """Solutions that the extra starts reach and that are not found yet.

    A coarse climb tells most of them apart; only what is new is climbed to the end.
    """
    plain = found[1].at
    new: list[Solution] = []
    number = _affordable(layout) if starts is None else starts
    for start in islice(_other_starts(layout, plain, coarse, seed), number):
        end = coarse(layout.problem, start)
        if not any(_same(end, other, 1e-5, 1e-2) for other in [*found, *new]):
            new.append(fine(layout.problem, end.at))
    return new


def _affordable(layout: Layout) -> int:
    """Fewer extra starts where each is dear; there the data are many and seldom leave two opinions."""
    work = len(layout.problem.rows.a) + layout.problem.node.size * len(layout.problem.free)
    return max(FEWEST, WORK // work)


def _other_starts(layout: Layout, plain: Parameters, climb: Climb, seed: int) -> Iterator[Parameters]:
    """Random and trusting starts in turn, the judge with most votes first."""
    free = np.flatnonzero(layout.problem.log_sigma)
    rows = layout.problem.rows
    weight = sum_at(rows.t, rows.weight, len(layout.problem.free))
    trusted = sorted(free, key=lambda k: -weight[k])[:TRUSTED]
    random = np.random.default_rng(seed)
    spread = max(1.0, float(np.std(plain.strength)))
    for turn in range(max(RANDOM, len(trusted))):
        border = plain.border.copy()
        if turn < RANDOM:
            border[free] = random.normal(0, 1, len(free))
            yield Parameters(random.normal(0, spread, plain.strength.shape) * layout.problem.node, border)
        if turn < len(trusted):
            border = plain.border.copy()
            border[free] = DISTRUST
            border[trusted[turn]] = TRUST
            yield climb(_held(layout), Parameters(plain.strength, border)).at


def _held(layout: Layout) -> Problem:
    """The problem with every sigma held where it starts."""
    problem = layout.problem
    return problem._replace(free=problem.free * (1 - problem.log_sigma), scalable=0.0)


def _widths(layout: Layout) -> tuple[float, ...]:
    own = float((layout.problem.prior.border * layout.problem.log_sigma).max())
    return tuple(w for w in WIDTHS if w**-2 > own)


def _narrow(problem: Problem, width: float) -> Problem:
    border = np.where(problem.log_sigma > 0, width**-2, problem.prior.border)
    return problem._replace(prior=problem.prior._replace(border=border))


def distinct(solutions: list[Solution], layout: Layout) -> list[Solution]:
    """Best first; two that agree in objective and strengths are one."""
    kept: list[Solution] = []
    for solution in sorted((s for s in solutions if s.converged), key=lambda s: -float(s.evaluation.value)):
        if not any(_same(solution, other) for other in kept):
            kept.append(solution)
    return kept


def _same(one: Solution, other: Solution, value: float = 1e-7, strength: float = 1e-4) -> bool:
    """Whether objective and strengths agree, each relatively."""
    scale, width = 1 + abs(float(one.evaluation.value)), 1 + np.abs(one.at.strength).max()
    if abs(float(one.evaluation.value) - float(other.evaluation.value)) > value * scale:
        return False
    return bool(np.abs(one.at.strength - other.at.strength).max() <= strength * width)


def at_saddle(solution: Solution) -> bool:
    """Whether the objective still rises in some direction at a point without gradient."""
    if not solution.converged:
        return False
    blocks, side, border = solution.evaluation.curvature
    try:
        across = np.linalg.solve(blocks, side)
    except np.linalg.LinAlgError:
        return False
    schur = border - np.einsum("cwi,cwj->ij", side, across)
    values = np.linalg.eigvalsh(schur)
    return bool(values[0] < -1e-9 * max(1.0, float(np.abs(values[-1]))))
