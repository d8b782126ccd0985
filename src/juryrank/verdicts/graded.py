"""Questions of graded difficulty, with the grades integrated out.

    logit P_k(A wins question q) = a_k d_q + c_k,   d_q ~ N(0, 1),  a_k ~ N(1, 1),  c_k ~ N(0, 1.5^2)
a_k = 1 / sigma_k is the discrimination of judge k, c_k its taste for system A: a judge that always says A has a_k near 0.
This is BT-sigma with items of their own in every question, made safe for small panels: with few judges, joint
maximisation over the gaps lets one judge dictate (Neyman and Scott 1948; benchmarks/verdict_rules.py), so the gaps are
integrated by quadrature and the judges fitted by expectation-maximisation (Bock and Aitkin 1981). A judge's opinion
counts once, however many showings it rests on; a flip or a tie is half a win each way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

#: prior mean and standard deviations of a and c
MEAN_A, SD_A, SD_C = 1.0, 1.0, 1.5
NODES, SPAN = 41, 5.0
STEPS, TOLERANCE = 500, 1e-7


@dataclass(frozen=True, eq=False)
class Graded:
    """Posterior of the questions, and the judges."""

    #: (questions,) P(A is better), i.e. P(d > 0)
    p_a: np.ndarray
    #: (judges,) a = 1 / sigma (below 0 for a judge that leans against the rest), c = taste for A
    discrimination: np.ndarray
    taste: np.ndarray
    converged: bool


def fit_graded(
    question: np.ndarray,
    judge: np.ndarray,
    value: np.ndarray,
    weight: np.ndarray,
    *,
    questions: int,
    judges: int,
    known: np.ndarray | None = None,
) -> Graded:
    """`value` (rows,): 1 for A, 0 for B, 1/2; `known` (questions,): 1 or 0 where people said who is better, else NaN."""
    x = np.linspace(-SPAN, SPAN, NODES)
    prior = -(x**2) / 2
    votes = _votes(question, judge, value, weight, questions, judges)
    by_cell = csr_array(votes.T)
    barred = _barred(x, known, questions)
    parameters, posterior, done = np.stack([np.full(judges, MEAN_A), np.zeros(judges)], axis=1), np.empty(0), False
    for _ in range(STEPS):
        z = parameters[:, :1] * x + parameters[:, 1:]
        table = np.stack([-np.logaddexp(0, -z), -np.logaddexp(0, z)], axis=1).reshape(2 * judges, NODES)
        logs = votes @ table + prior + barred
        posterior = np.exp(logs - logs.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        moved = _judges(parameters, x, (by_cell @ posterior).reshape(judges, 2, NODES))
        done = bool(np.abs(moved - parameters).max(initial=0) < TOLERANCE)
        parameters = moved
        if done:
            break
    p_a = posterior @ ((x > 0) + (x == 0) / 2)
    return Graded(p_a, parameters[:, 0], parameters[:, 1], done)


def _votes(
    question: np.ndarray, judge: np.ndarray, value: np.ndarray, weight: np.ndarray, questions: int, judges: int
) -> csr_array:
    """(questions, judges * 2): weight of the votes for A, for B."""
    rows, columns = np.tile(question, 2), np.concatenate([2 * judge, 2 * judge + 1])
    cells = coo_array((np.concatenate([value * weight, (1 - value) * weight]), (rows, columns)), (questions, 2 * judges))
    return csr_array(cells)


def _barred(x: np.ndarray, known: np.ndarray | None, questions: int) -> np.ndarray:
    """(questions, nodes) or a scalar: minus infinity on the side that a label rules out."""
    if known is None or np.isnan(known).all():
        return np.zeros((1, 1))
    out = np.zeros((questions, len(x)))
    out[np.ix_(known == 1, x <= 0)] = -np.inf
    out[np.ix_(known == 0, x >= 0)] = -np.inf
    return out


def _judges(parameters: np.ndarray, x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """One Newton step for every judge's (a, c) on its expected counts (judges, 2, nodes)."""
    total, wins = counts.sum(axis=1), counts[:, 0]
    p = 1 / (1 + np.exp(-(parameters[:, :1] * x + parameters[:, 1:])))
    slope, bend = wins - total * p, total * p * (1 - p)
    design = np.stack([x, np.ones_like(x)])
    precision = np.array([SD_A**-2, SD_C**-2])
    gradient = slope @ design.T - precision * (parameters - np.array([MEAN_A, 0.0]))
    curvature = np.einsum("kj,pj,qj->kpq", bend, design, design) + np.diag(precision)
    step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
    return parameters + np.clip(step, -1, 1)
