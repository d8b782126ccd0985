"""Dawid and Skene (1979): a latent winner per question, a confusion matrix per judge, by expectation-maximisation.

    P(answers | winner w) = product over answers of m[k, slot, w, answer],  w in {A, B},  answer in {A, B, neither}
A judge that answers alike whoever is better has equal rows and carries no information: Youden's index
J = P(A | A) + P(B | B) - 1 is 0 for it, 1 for a perfect judge. Rows have a Dirichlet prior towards the panel's own mean
matrix, so that a judge of few answers is like the others. Known winners are clamped: they calibrate the judges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: answers of the panel's mean matrix that each row of a judge's matrix starts with
PRIOR = 2.0
STEPS = 500
TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Latent:
    """Posterior of the winners and matrices of the judges."""

    #: (questions,) P(A is better)
    p_a: np.ndarray
    #: (judges, conditions, 2 winners, 3 answers)
    matrices: np.ndarray
    converged: bool

    @property
    def youden(self) -> np.ndarray:
        """(judges,) Youden's index, averaged over the conditions."""
        return (self.matrices[:, :, 0, 0] + self.matrices[:, :, 1, 1] - 1).mean(axis=1)


def dawid_skene(
    question: np.ndarray,
    judge: np.ndarray,
    condition: np.ndarray,
    answer: np.ndarray,
    weight: np.ndarray,
    *,
    questions: int,
    judges: int,
    conditions: int = 1,
    known: np.ndarray | None = None,
) -> Latent:
    """Fit by EM from the shares of the votes.

    `answer` (rows,): 0 for A, 1 for B, 2 for neither; `weight` (rows,): answers that a row stands for;
    `condition` (rows,): e.g. which system was shown first; `known`
    (questions,): P(A is better) where people said so, NaN elsewhere.
    """
    cell = (judge * conditions + condition) * 3 + answer
    size = judges * conditions * 3
    clamped = np.zeros(questions, bool) if known is None else ~np.isnan(known)
    p = _shares(question, answer, weight, questions)
    if known is not None:
        p[clamped] = known[clamped]
    matrices, done = np.empty((judges, conditions, 2, 3)), False
    for _ in range(STEPS):
        matrices = _matrices(p, question, cell, weight, size).reshape(judges, conditions, 2, 3)
        prior = float(np.clip(p.mean(), 1e-6, 1 - 1e-6))
        logs = np.log(matrices).transpose(0, 1, 3, 2).reshape(size, 2)
        lean = np.bincount(question, weights=weight * (logs[:, 0] - logs[:, 1])[cell], minlength=questions)
        new = 1 / (1 + np.exp(-np.clip(lean + np.log(prior / (1 - prior)), -700, 700)))
        if known is not None:
            new[clamped] = known[clamped]
        done = bool(np.abs(new - p).max(initial=0) < TOLERANCE)
        p = new
        if done:
            break
    return Latent(p, matrices, done)


def _shares(question: np.ndarray, answer: np.ndarray, weight: np.ndarray, questions: int) -> np.ndarray:
    """Share of A among the answers of a question; a neither is half of each."""
    value = np.where(answer == 0, 1.0, np.where(answer == 1, 0.0, 0.5))
    total = np.bincount(question, weights=weight, minlength=questions)
    return (np.bincount(question, weights=weight * value, minlength=questions) + 0.5) / (total + 1)


def _matrices(p: np.ndarray, question: np.ndarray, cell: np.ndarray, weight: np.ndarray, size: int) -> np.ndarray:
    """(judges * conditions, 2, 3) smoothed answer shares given each winner."""
    weights = weight * np.stack([p, 1 - p])[:, question]
    counts = np.stack([np.bincount(cell, weights=w, minlength=size) for w in weights])
    counts = counts.reshape(2, -1, 3).transpose(1, 0, 2)
    mean = counts.sum(axis=0) + 1e-3
    mean = mean / mean.sum(axis=1, keepdims=True)
    smoothed = counts + PRIOR * mean[None]
    return smoothed / smoothed.sum(axis=2, keepdims=True)
