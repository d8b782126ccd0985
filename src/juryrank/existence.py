"""Does a maximum exist? A linear programme over the directions in which no row's likelihood ever falls.

Conventions: a direction moves the strengths, slot biases, coefficients of covariates and the tie parameter that no prior
holds; dz is what it does to a row's logit. Far along it no likelihood falls if, with dc the move of the tie parameter on
the scale of z,

    won one way:  +-dz >= dc >= 0      won both ways:  dz = dc = 0      tied:  dc >= |dz|

and the supremum is out of reach exactly if some such direction moves a logit or the tie parameter (Albert and
Anderson 1984 for the logistic case). Plain Bradley-Terry needs no programme: strong connectivity tells (Ford 1957).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array, vstack

from juryrank.layout import Layout
from juryrank.objective import TIE, Parameters, view

#: a maximum that exists has no logit beyond this unless it is carried by some exp(8) = 3,000 votes
SUSPECT = 8.0
#: dc of the programme is this many times the move of log nu (Davidson: c meets z / 2) or log theta
ON_LOGIT = {"half": 1.0, "davidson": 2.0, "rao-kupper": 1.0}


def out_of_reach(ties: str, layout: Layout, at: Parameters) -> bool:
    """Whether strengths and the border but sigmas grow without end: checked only where they already are large."""
    problem = layout.problem
    if not _limits(layout).any():
        return False
    used = problem.rows.weight > 0
    large = np.abs(view(problem.rows, at).z[used]).max(initial=0) > SUSPECT or abs(at.border[TIE]) > SUSPECT
    return bool(large) and _direction_exists(ties, layout, at, used)


def _direction_exists(ties: str, layout: Layout, at: Parameters, used: np.ndarray) -> bool:
    rows, problem = layout.problem.rows, layout.problem
    from scipy.optimize import linprog  # a slow import that few fits need

    moves = _moves(layout, at, used)
    number = np.arange(moves.shape[0])
    last = np.full(len(number), moves.shape[1] - 1)
    tie = csr_array(coo_array((np.full(len(number), ON_LOGIT[ties]), (number, last)), shape=moves.shape))
    a, b, tied = (x[used] for x in (rows.wins_a > 0, rows.wins_b > 0, rows.ties > 0))
    never_falls = vstack([tie[a] - moves[a], tie[b] + moves[b], moves[tied] - tie[tied]])
    never_falls = vstack([never_falls, -moves[tied] - tie[tied]])
    gain = np.asarray(moves[a & ~b].sum(axis=0) - moves[b & ~a].sum(axis=0)).ravel()
    gain[-1] += float(problem.free[TIE])
    limit = _limits(layout)
    found = linprog(-gain, A_ub=never_falls, b_ub=np.zeros(never_falls.shape[0]), bounds=np.stack([-limit, limit], axis=1))
    return found.status == 0 and -found.fun > 1e-6


def _moves(layout: Layout, at: Parameters, used: np.ndarray) -> csr_array:
    """(rows, strengths + border + 1): what each parameter does to the logit of each row; the last column is dc."""
    rows, nodes = layout.problem.rows, layout.problem.node.size
    number = np.arange(int(used.sum()))
    scale = view(rows, at).scale[used]
    entries = [(number, rows.a[used], scale), (number, rows.b[used], -scale)]
    entries += [(number, nodes + place[used], value[used]) for place, value in rows.linear]
    row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
    return csr_array(coo_array((value, (row, column)), shape=(len(number), nodes + len(layout.problem.free) + 1)))


def _limits(layout: Layout) -> np.ndarray:
    """How far the programme may move each parameter: not at all where a prior holds it."""
    problem = layout.problem
    strengths = np.full(problem.node.size, float(problem.prior.strength == 0))
    border = problem.free * (1 - problem.log_sigma) * (problem.prior.border == 0)
    border[TIE] = 0.0
    return np.concatenate([strengths, border, [float(problem.free[TIE])]])
