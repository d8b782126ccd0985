"""Questions of graded difficulty, with the grades integrated out.

    logit P_k(A wins question q) = a_k d_q + c_k,   d_q ~ N(0, 1),  a_k ~ N(1, 1),  c_k ~ N(0, 3^2)
a_k = 1 / sigma_k is the discrimination of judge k, c_k its leaning to system A. Whether all judges lean to A because A is
better, or by taste, no vote can tell: the typical judge counts as neutral. A is better where d_q > d*, with d* the median of
-c_k / a_k over judges, weighted by what they tell. So a panel at one finds for that system, and a judge that always says A
tells nothing, J_k = P_k(A | d* + 1) - P_k(A | d* - 1) = 0 (Youden's index), and moves nothing.

This is BT-sigma with items of their own in every question, made safe for small panels: with few judges, joint maximisation
over the gaps lets one judge dictate (Neyman and Scott 1948; benchmarks/verdict_rules.py), so the gaps are integrated by
quadrature and the judges fitted by expectation-maximisation (Bock and Aitkin 1981). A judge's opinion counts once, however
many showings it rests on; a flip or a tie is half a win each way. Known winners bar the nodes on the other side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.special import chdtrc

#: prior mean and standard deviation of a, standard deviation of c
MEAN_A, SD_A, SD_C = 1.0, 1.0, 3.0
#: standard deviation of a where labels calibrate: then the votes alone do not decide whom to trust
SD_LABELLED = 1.5
#: questions without a label that a trusted label stands for; log-likelihood of labels held out (in FOLDS) that it must
#: gain to be trusted so, and the least probability it is charged for
TRUST, MARGIN, FOLDS, FLOOR = 25.0, 2.0, 5, 0.01
NODES, SPAN = 61, 6.0
#: rounds in which labels and the neutral point settle
ROUNDS = 6
STEPS, TOLERANCE = 500, 1e-7
#: votes in which equal questions are looked for; unlabelled questions that held-out labels are tried with
MOST_CELLS, TRIED = 20_000_000, 2000


@dataclass(frozen=True, eq=False)
class Graded:
    """Posterior of the questions, and the judges."""

    #: (questions,) P(A is better), i.e. P(d > d*)
    p_a: np.ndarray
    #: (judges,) a = 1 / sigma, below 0 for a judge that leans against the rest
    discrimination: np.ndarray
    #: (judges,) Youden's index about the neutral point: what the judge's vote tells
    telling: np.ndarray
    #: (judges,) its standard error
    telling_error: np.ndarray
    #: P of votes as unequal as these from judges that are all alike (likelihood ratio)
    alike: float
    converged: bool


@dataclass(frozen=True, eq=False)
class _Votes:
    """What the climb sees."""

    #: (questions, 2 * judges) weight of the votes for A, for B
    cells: csr_array
    #: (questions,) 1 or 0 where people said who is better, else NaN
    known: np.ndarray
    #: (nodes,) grades
    x: np.ndarray
    #: (questions,) how many equal questions each stands for
    number: np.ndarray
    #: questions without a label that one with a label stands for
    trust: float = 1.0

    @property
    def judges(self) -> int:
        return self.cells.shape[1] // 2

    @property
    def labelled(self) -> np.ndarray:
        return ~np.isnan(self.known)

    @property
    def sd_a(self) -> float:
        return SD_LABELLED if self.labelled.any() else SD_A

    @property
    def heard(self) -> np.ndarray:
        """(questions,) how many questions each stands for."""
        return np.where(self.labelled, self.trust, self.number)

    def of(self, questions: np.ndarray) -> _Votes:
        return replace(
            self, cells=csr_array(self.cells[questions]), known=self.known[questions], number=self.number[questions]
        )

    def together(self) -> _Votes:
        """All judges as one."""
        one = csr_array(np.tile(np.eye(2), (self.judges, 1)))
        return replace(self, cells=csr_array(self.cells @ one))


@dataclass(frozen=True, eq=False)
class _Top:
    """Where a climb ended."""

    parameters: np.ndarray  # (judges, 2) a, c
    posterior: np.ndarray  # (questions, nodes)
    neutral: float
    log_likelihood: float  # of the votes, grades integrated out
    objective: float
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
    known = np.full(questions, np.nan) if known is None else known
    every = _cells(question, judge, value, weight, questions, judges)
    first, pattern, number = _patterns(every, known)
    x = np.linspace(-SPAN, SPAN, NODES)
    votes = _trusting(_Votes(csr_array(every[first]), known[first], x, number))
    top = _best(votes)
    alike = _alike(votes, top, len(np.unique(judge))) if votes.trust == 1 else 0.0
    telling, slope = _youden(top.parameters, top.neutral)
    error = np.sqrt(np.einsum("kp,kpq,kq->k", slope, np.linalg.inv(_curvature(votes, top)), slope))
    return Graded(_beyond(votes, top)[pattern], top.parameters[:, 0], telling, error, alike, top.converged)


def _patterns(cells: csr_array, known: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Questions without a label that got the same votes are one: its first question, who it is, how many it stands for."""
    questions, width = cells.shape
    if questions * width > MOST_CELLS:
        return np.arange(questions), np.arange(questions), np.ones(questions)
    own = np.where(np.isnan(known), -1.0, np.arange(questions))
    _, first, pattern, number = np.unique(
        np.column_stack([cells.toarray(), own]), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return first, pattern.ravel(), number.astype(float)


def _trusting(votes: _Votes) -> _Votes:
    """Labels are heard louder than the votes where that predicts labels held out: where the panel as a whole is misled."""
    if votes.labelled.sum() < FOLDS:
        return votes
    every, votes = votes, _few(votes)
    labelled = np.flatnonzero(votes.labelled)
    louder = replace(votes, trust=TRUST)
    gain = 0.0
    for fold in range(FOLDS):
        out = labelled[fold::FOLDS]
        known = votes.known.copy()
        known[out] = np.nan
        for sign, heard in ((-1, votes), (1, louder)):
            p = _beyond(heard, _best(replace(heard, known=known)))[out]
            gain += sign * np.log(np.clip(np.where(votes.known[out] == 1, p, 1 - p), FLOOR, 1)).sum()
    return replace(every, trust=TRUST) if gain > MARGIN else every


def _few(votes: _Votes) -> _Votes:
    """Enough questions to know the judges by."""
    rest = np.flatnonzero(~votes.labelled)
    kept = rest[:: -(-len(rest) // TRIED)] if len(rest) else rest
    return votes.of(np.sort(np.concatenate([np.flatnonzero(votes.labelled), kept])))


def _alike(votes: _Votes, top: _Top, speakers: int) -> float:
    """P of the likelihood ratio to judges that are all alike."""
    if speakers < 2:
        return 1.0
    ratio = 2 * (top.log_likelihood - _best(votes.together()).log_likelihood)
    return float(chdtrc(2 * (speakers - 1), max(ratio, 0.0)))


def _beyond(votes: _Votes, top: _Top) -> np.ndarray:
    """(questions,) P(A is better): mass beyond the neutral point, whose own node counts by its share."""
    step = votes.x[1] - votes.x[0]
    return top.posterior @ np.clip((votes.x - top.neutral) / step + 0.5, 0, 1)


def _best(votes: _Votes) -> _Top:
    """The better of the climbs from typical judges and, with labels, from the judges that the labels alone show."""
    typical = np.tile([MEAN_A, 0.0], (votes.judges, 1))
    top = _settle(votes, typical)
    if not votes.labelled.any():
        return top
    other = _settle(votes, _settle(votes.of(votes.labelled), typical).parameters)
    return other if other.objective > top.objective else top


def _settle(votes: _Votes, parameters: np.ndarray) -> _Top:
    """Climbs until the neutral point, which says where labels bar, rests; without labels it bars nothing."""
    top = _climb(votes, parameters, 0.0)
    for _ in range(ROUNDS - 1 if votes.labelled.any() else 0):
        top = _climb(votes, top.parameters, top.neutral)
    return top


def _climb(votes: _Votes, parameters: np.ndarray, neutral: float) -> _Top:
    """Expectation-maximisation with the labels barring about `neutral`."""
    barred = _barred(votes, neutral)
    by_cell = csr_array(votes.cells.T)
    for _ in range(STEPS):
        posterior, log_likelihood = _expect(votes, parameters, barred)
        moved = _judges(parameters, votes, by_cell @ (posterior * votes.heard[:, None]))
        done = bool(np.abs(moved - parameters).max(initial=0) < TOLERANCE)
        parameters = moved
        if done:
            break
    penalty = ((parameters - [MEAN_A, 0.0]) ** 2 @ [votes.sd_a**-2, SD_C**-2]).sum() / 2
    neutral = float(np.clip(_neutral(parameters), 1 - SPAN, SPAN - 1))  # nodes remain on both sides
    return _Top(parameters, posterior, neutral, log_likelihood, log_likelihood - penalty, done)


def _expect(votes: _Votes, parameters: np.ndarray, barred: np.ndarray) -> tuple[np.ndarray, float]:
    """Posterior of the nodes (questions, nodes), and the log-likelihood."""
    x = votes.x
    z = parameters[:, :1] * x + parameters[:, 1:]
    table = np.stack([-np.logaddexp(0, -z), -np.logaddexp(0, z)], axis=1).reshape(-1, len(x))
    logs = votes.cells @ table - x**2 / 2 + barred
    top = logs.max(axis=1, keepdims=True)
    posterior = np.exp(logs - top)
    mass = posterior.sum(axis=1, keepdims=True)
    prior = np.log(np.exp(-(x**2) / 2).sum())
    return posterior / mass, float((top + np.log(mass) - prior)[:, 0] @ votes.heard)


def _youden(parameters: np.ndarray, neutral: float) -> tuple[np.ndarray, np.ndarray]:
    """(judges,) P(A | d* + 1) - P(A | d* - 1), and its slope (judges, 2) in a and c."""
    grades = neutral + np.array([1.0, -1.0])
    p = 1 / (1 + np.exp(-(parameters[:, :1] * grades + parameters[:, 1:])))
    bend = p * (1 - p)
    slope = np.stack([bend @ (grades * [1, -1]), bend @ np.array([1.0, -1.0])], axis=1)
    return p[:, 0] - p[:, 1], slope


def _neutral(parameters: np.ndarray) -> float:
    """Weighted median of -c / a: where the typical judge is even. Judges against the rest have no say."""
    own = -parameters[:, 1] / np.where(np.abs(parameters[:, 0]) > 1e-9, parameters[:, 0], 1e-9)
    told = np.tanh(parameters[:, 0] / 2)  # Youden's index about its own even point
    spread = np.abs(parameters[:, 1]) / 2 + 1  # a judge far to one side says little of where the middle is
    weights = np.maximum(told, 0) / spread
    if not weights.sum() > 0:
        return 0.0
    order = np.argsort(own)
    share = np.cumsum(weights[order]) / weights.sum()
    low, high = np.searchsorted(share, 0.5 - 1e-9), np.searchsorted(share, 0.5 + 1e-9)
    return float((own[order[int(low)]] + own[order[min(int(high), len(order) - 1)]]) / 2)


def _cells(
    question: np.ndarray, judge: np.ndarray, value: np.ndarray, weight: np.ndarray, questions: int, judges: int
) -> csr_array:
    """(questions, judges * 2): weight of the votes for A, for B."""
    rows, columns = np.tile(question, 2), np.concatenate([2 * judge, 2 * judge + 1])
    cells = coo_array((np.concatenate([value * weight, (1 - value) * weight]), (rows, columns)), (questions, 2 * judges))
    return csr_array(cells)


def _barred(votes: _Votes, neutral: float) -> np.ndarray:
    """(questions, nodes), or (1, 1) without labels: minus infinity on the side that a label rules out."""
    if not votes.labelled.any():
        return np.zeros((1, 1))
    out = np.zeros((len(votes.known), len(votes.x)))
    out[np.ix_(votes.known == 1, votes.x <= neutral)] = -np.inf
    out[np.ix_(votes.known == 0, votes.x >= neutral)] = -np.inf
    return out


def _judges(parameters: np.ndarray, votes: _Votes, counts: np.ndarray) -> np.ndarray:
    """One Newton step for every judge's (a, c) on its expected counts (2 * judges, nodes)."""
    wins, total, design = *_counted(votes, counts), np.stack([votes.x, np.ones_like(votes.x)])
    p = 1 / (1 + np.exp(-(parameters @ design)))
    precision = np.array([votes.sd_a**-2, SD_C**-2])
    gradient = (wins - total * p) @ design.T - precision * (parameters - np.array([MEAN_A, 0.0]))
    step = np.linalg.solve(_bend(total, p, design, precision), gradient[:, :, None])[:, :, 0]
    return parameters + np.clip(step, -1, 1)


def _curvature(votes: _Votes, top: _Top) -> np.ndarray:
    """(judges, 2, 2) of a and c at a top, given the posterior of the grades."""
    _, total = _counted(votes, csr_array(votes.cells.T) @ (top.posterior * votes.number[:, None]))
    design = np.stack([votes.x, np.ones_like(votes.x)])
    p = 1 / (1 + np.exp(-(top.parameters @ design)))
    return _bend(total, p, design, np.array([votes.sd_a**-2, SD_C**-2]))


def _counted(votes: _Votes, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(judges, nodes) expected wins of A, and expected votes."""
    pairs = counts.reshape(votes.judges, 2, len(votes.x))
    return pairs[:, 0], pairs.sum(axis=1)


def _bend(total: np.ndarray, p: np.ndarray, design: np.ndarray, precision: np.ndarray) -> np.ndarray:
    return np.einsum("kj,pj,qj->kpq", total * p * (1 - p), design, design) + np.diag(precision)
