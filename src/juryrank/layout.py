"""Pair counts -> the arrays of a problem, padded to a few sizes so that a growing log does not compile again.

Conventions: contexts are blocks of equal width; node = block * width + place. The last place of the border is never
fitted: it stands for the log sigma, or the slot bias, of a judge that has none, and of pseudo-wins (sigma = 1, no
slot).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from juryrank.counts import Graph, PairCounts
from juryrank.errors import InputError
from juryrank.objective import TIE, Parameters, Precisions, Problem, Rows
from juryrank.prior import Prior

Size = Callable[[int], int]

#: cells of dense pair matrices that a fit may hold (0.5 GB each, a handful at a time): 8,000 items in one context
MOST_CELLS = 64_000_000


@dataclass(frozen=True, eq=False)
class Layout:
    """A problem, and where each node and judge went."""

    problem: Problem
    #: (nodes,) flat place of each node, -1 where it was not observed
    place: np.ndarray
    #: (judges,) border places of log sigma and slot bias; the last place of the border where a judge has none
    t: np.ndarray
    b: np.ndarray
    #: (judges, covariates) border place of each coefficient, the last place of the border where there is none
    beta: np.ndarray
    #: (covariates,) what each covariate was divided by
    unit: np.ndarray

    def start(self, tie: float) -> Parameters:
        """All zeros but the tie parameter."""
        border = np.zeros(len(self.problem.free))
        border[TIE] = tie
        return Parameters(np.zeros(self.problem.node.shape), border)

    def strengths(self, at: Parameters) -> np.ndarray:
        """(nodes,) strengths, NaN where a node was not observed."""
        return np.where(self.place >= 0, at.strength.reshape(-1)[self.place], np.nan)


def arrange(
    counts: PairCounts,
    graph: Graph,
    *,
    ties: str,
    sigma_of: np.ndarray,
    slot_of: np.ndarray,
    coefficient_of: np.ndarray,
    unit: np.ndarray,
    fit_tie: bool,
    prior: Prior,
    together: np.ndarray,
    pad: bool,
) -> Layout:
    """`sigma_of`, `slot_of`: (judges,) which judges have one fitted; `together`: (nodes,) label within which gaps exist.

    `coefficient_of`: (judges, covariates) number of the coefficient, -1 where there is none; `unit`: (covariates,) what to
    divide the covariates by.
    """
    size: Size = bucket if pad else int
    sigmas, slots, coefficients = int(sigma_of.sum()), int(slot_of.sum()), int(coefficient_of.max(initial=-1)) + 1
    border = size(1 + sigmas + slots + coefficients + 1)
    t, b = np.full(len(counts.judges), border - 1), np.full(len(counts.judges), border - 1)
    t[sigma_of] = 1 + np.arange(sigmas)
    b[slot_of] = 1 + sigmas + np.arange(slots)
    beta = np.where(coefficient_of >= 0, 1 + sigmas + slots + coefficient_of, border - 1)
    fitted = beta[coefficient_of >= 0]
    log_sigma, free, precision = np.zeros(border), np.zeros(border), np.zeros(border)
    log_sigma[t[sigma_of]] = free[t[sigma_of]] = free[b[slot_of]] = free[fitted] = 1.0
    free[TIE] = fit_tie
    precision[t[sigma_of]], precision[b[slot_of]] = _precision(prior.log_sigma_sd), _precision(prior.slot_sd)
    precision[fitted] = _precision(prior.covariate_sd)
    place, blocks, width = _places(counts, graph, size)
    rows = _rows(counts, place, t if sigmas else None, b if slots else None, ties, prior.pseudo_wins, border - 1, size)
    rows = _with_covariates(rows, counts, beta, unit, border - 1) if coefficients else rows
    node = np.zeros(blocks * width)
    node[place[place >= 0]] = 1.0
    component = np.full(blocks * width, -1)
    component[place[place >= 0]] = together[place >= 0]
    # Any positive gauge weight is right; these stand on the scale of the curvature, so that factors stay well scaled.
    weight = max(1.0, float(rows.weight.sum()))
    problem = Problem(
        rows,
        Precisions(
            strength=_precision(prior.strength_sd),
            border=precision,
            gauge_strength=weight / max(1.0, node.sum()) / width if prior.strength_sd is None else 0.0,
            gauge_log_sigma=weight / border**2 if prior.log_sigma_sd is None else 0.0,
        ),
        node.reshape(blocks, width),
        component.reshape(blocks, width),
        free,
        log_sigma,
        # Pseudo-wins are seen at sigma = 1: they do not scale.
        scalable=float(prior.pseudo_wins == 0 and sigmas > 0),
    )
    return Layout(problem, place, t, b, beta, unit)


def bucket(n: int) -> int:
    """Round up to 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, ...: quarters of a power of two."""
    step = 1 << max(0, int(n - 1).bit_length() - 3)
    return -(-n // step) * step


def _precision(sd: float | None) -> float:
    return 0.0 if sd is None else sd**-2


def _places(counts: PairCounts, graph: Graph, size: Size) -> tuple[np.ndarray, int, int]:
    seen = np.flatnonzero(graph.observed)
    _, block = np.unique(counts.node_context[seen], return_inverse=True)
    starts = np.searchsorted(block, np.arange(block.max(initial=0) + 1))
    within = np.arange(len(seen)) - starts[block]
    blocks, width = size(int(block.max(initial=0)) + 1), size(int(within.max(initial=0)) + 1)
    if blocks * width**2 > MOST_CELLS:
        raise InputError(
            f"{int(within.max()) + 1} items in one of {int(block.max()) + 1} contexts are too many for the dense fit of "
            f"this version, which holds {MOST_CELLS:,} cells (8,000 items in one context)."
        )
    place = np.full(len(counts.node_item), -1)
    place[seen] = block * width + within
    return place, blocks, width


def _rows(
    counts: PairCounts,
    place: np.ndarray,
    t: np.ndarray | None,
    b: np.ndarray | None,
    ties: str,
    pseudo_wins: float,
    unfitted: int,
    size: Size,
) -> Rows:
    as_wins = (counts.flip + (counts.tie if ties == "half" else 0)) / 2
    pairs = np.unique(np.stack([counts.a, counts.b], axis=1), axis=0) if pseudo_wins else np.empty((0, 2), np.int64)
    half, none = np.full(len(pairs), pseudo_wins / 2), np.zeros(len(pairs))
    filler = size(len(counts) + len(pairs)) - len(counts) - len(pairs)

    def column(data: np.ndarray, more: np.ndarray, fill: float = 0) -> np.ndarray:
        return np.concatenate([data, more, np.full(filler, fill, dtype=data.dtype)])

    def judges(border: np.ndarray | None) -> np.ndarray | None:
        return None if border is None else column(border[counts.judge], np.full(len(pairs), unfitted), unfitted)

    return Rows(
        a=column(place[counts.a], place[pairs[:, 0]]),
        b=column(place[counts.b], place[pairs[:, 1]]),
        t=judges(t),
        bias=judges(b),
        slot=column(counts.slot.astype(float), none),
        wins_a=column(counts.win_a + as_wins, half),
        wins_b=column(counts.win_b + as_wins, half),
        ties=column(np.zeros(len(counts)) if ties == "half" else counts.tie, none),
        observed=column(np.ones(len(counts)), none),
    )


def _with_covariates(rows: Rows, counts: PairCounts, beta: np.ndarray, unit: np.ndarray, unfitted: int) -> Rows:
    """Pseudo-wins and padding, which follow the counts, have covariates of 0."""
    assert counts.x is not None
    more = ((0, len(rows.a) - len(counts)), (0, 0))
    return rows._replace(
        x=np.pad(counts.x / unit, more),
        beta=np.pad(beta[counts.judge], more, constant_values=unfitted),
    )
