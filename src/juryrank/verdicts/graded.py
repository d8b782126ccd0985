"""Questions of graded difficulty, with the grades integrated out.

    logit P_k(A wins question q) = a_k d_q + c_k,   d_q ~ N(0, 1),  a_k ~ N(1, 0.5^2),  c_k ~ N(0, 3^2)
a_k = 1 / sigma_k is the discrimination of judge k, c_k its leaning to system A. Whether all judges lean to A because A is
better, or by taste, no vote can tell: the typical judge counts as neutral. A is better where d_q > d*, with d* the median of
-c_k / a_k over judges, weighted by what they tell. So a panel at one finds for that system, and a judge that always says A
tells nothing, J_k = P_k(A | d* + 1) - P_k(A | d* - 1) = 0 (Youden's index), and moves nothing.

This is BT-sigma with items of their own in every question, made safe for small panels: with few judges, joint maximisation
over the gaps lets one judge dictate (Neyman and Scott 1948; benchmarks/verdict_rules.py), so the gaps are integrated by
quadrature and the judges fitted by expectation-maximisation (Bock and Aitkin 1981). A judge's opinion counts once, however
many showings it rests on; a flip or a tie is half a win each way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

#: prior mean and standard deviation of a, standard deviation of c
MEAN_A, SD_A, SD_C = 1.0, 0.5, 3.0
#: standard deviation of a where labels calibrate: then the votes alone do not decide whom to trust
SD_LABELLED = 1.5
NODES, SPAN = 61, 6.0
#: rounds in which labels and the neutral point settle
ROUNDS = 6
STEPS, TOLERANCE = 500, 1e-7


@dataclass(frozen=True, eq=False)
class Graded:
    """Posterior of the questions, and the judges."""

    #: (questions,) P(A is better), i.e. P(d > d*)
    p_a: np.ndarray
    #: (judges,) a = 1 / sigma, below 0 for a judge that leans against the rest
    discrimination: np.ndarray
    #: (judges,) Youden's index about the neutral point: what the judge's vote tells
    telling: np.ndarray
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
    votes = _votes(question, judge, value, weight, questions, judges)
    labelled = known is not None and not np.isnan(known).all()
    neutral, done = 0.0, False
    parameters = np.stack([np.full(judges, MEAN_A), np.zeros(judges)], axis=1)
    for _ in range(ROUNDS if labelled else 1):
        barred = _barred(x - neutral, known, questions) if labelled else np.zeros((1, 1))
        parameters, posterior, done = _climb(votes, x, barred, parameters, SD_LABELLED if labelled else SD_A)
        neutral = float(np.clip(_neutral(parameters), 1 - SPAN, SPAN - 1))  # nodes remain on both sides
    beyond = np.clip((x - neutral) / (x[1] - x[0]) + 0.5, 0, 1)  # a node's share of mass beyond the neutral point
    return Graded(posterior @ beyond, parameters[:, 0], _youden(parameters, neutral), done)


def _climb(
    votes: csr_array, x: np.ndarray, barred: np.ndarray, parameters: np.ndarray, sd_a: float
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Expectation-maximisation: judges (judges, 2), posterior of the nodes (questions, nodes), whether it converged."""
    by_cell, judges = csr_array(votes.T), len(parameters)
    for _ in range(STEPS):
        z = parameters[:, :1] * x + parameters[:, 1:]
        table = np.stack([-np.logaddexp(0, -z), -np.logaddexp(0, z)], axis=1).reshape(2 * judges, len(x))
        logs = votes @ table - x**2 / 2 + barred
        posterior = np.exp(logs - logs.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        moved = _judges(parameters, x, (by_cell @ posterior).reshape(judges, 2, len(x)), sd_a)
        done = bool(np.abs(moved - parameters).max(initial=0) < TOLERANCE)
        parameters = moved
        if done:
            break
    return parameters, posterior, done


def _youden(parameters: np.ndarray, neutral: float) -> np.ndarray:
    above, below = (1 / (1 + np.exp(-(parameters[:, 0] * (neutral + d) + parameters[:, 1]))) for d in (1, -1))
    return above - below


def _neutral(parameters: np.ndarray) -> float:
    """Weighted median of -c / a: where the typical judge is even. Judges against the rest have no say."""
    own = -parameters[:, 1] / np.where(np.abs(parameters[:, 0]) > 1e-9, parameters[:, 0], 1e-9)
    weights = np.maximum(np.array([_youden(row[None], point)[0] for row, point in zip(parameters, own, strict=True)]), 0)
    spread = np.abs(parameters[:, 1]) / 2 + 1  # a judge far to one side says little of where the middle is
    weights = weights / spread
    if not weights.sum() > 0:
        return 0.0
    order = np.argsort(own)
    share = np.cumsum(weights[order]) / weights.sum()
    low, high = np.searchsorted(share, 0.5 - 1e-9), np.searchsorted(share, 0.5 + 1e-9)
    return float((own[order[int(low)]] + own[order[min(int(high), len(order) - 1)]]) / 2)


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


def _judges(parameters: np.ndarray, x: np.ndarray, counts: np.ndarray, sd_a: float) -> np.ndarray:
    """One Newton step for every judge's (a, c) on its expected counts (judges, 2, nodes)."""
    total, wins = counts.sum(axis=1), counts[:, 0]
    p = 1 / (1 + np.exp(-(parameters[:, :1] * x + parameters[:, 1:])))
    slope, bend = wins - total * p, total * p * (1 - p)
    design = np.stack([x, np.ones_like(x)])
    precision = np.array([sd_a**-2, SD_C**-2])
    gradient = slope @ design.T - precision * (parameters - np.array([MEAN_A, 0.0]))
    curvature = np.einsum("kj,pj,qj->kpq", bend, design, design) + np.diag(precision)
    step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
    return parameters + np.clip(step, -1, 1)
