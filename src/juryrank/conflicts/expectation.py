"""What a fit expects of an opinion.

Conventions: z = scale * (s_a - s_b) / sigma_k + slot * b_k + x . beta_k in logits, as in the fit, which has scale 1. Where a
fit without a prior has an infinite gap, the side that won has probability 1. NaN: the fit does not say, because it left
out the judge or the item, or has no comparison between the two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from juryrank.estimate import Fit
from juryrank.likelihoods import probabilities
from juryrank.objective import TIE

#: logits from here on are certainty
FAR = 1e3


class Outlook(NamedTuple):
    """The model's view of some opinions."""

    likelihood: str
    #: logarithm of the tie parameter
    tie: float
    #: (rows,) (s_a - s_b) / sigma_k
    gap: np.ndarray
    #: (rows,) slot * b_k + x . beta_k
    bias: np.ndarray
    #: (rows,) b_k where an opinion joins both orders of a fit on single showings, else 0
    spread: np.ndarray

    def outcomes(self, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(rows,) each: P(a wins), P(b wins), P(tie)."""
        return self._chances(self._scaled(scale) + self.bias)

    def share(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows,) each: the mean of p_a and its variance for one vote, a tie being half a win."""
        z = self._scaled(1.0) + self.bias
        first, second = (self._chances(z + sign * self.spread) for sign in (1, -1))
        won, _, tied = ((one + other) / 2 for one, other in zip(first, second, strict=True))
        mean = won + tied / 2
        return mean, mean * (1 - mean) - tied / 4

    def _chances(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        within = np.clip(np.nan_to_num(z), -FAR, FAR)
        won, lost, tied = probabilities(self.likelihood, within, self.tie)
        unknown = np.isnan(z)
        won[unknown] = lost[unknown] = tied[unknown] = np.nan
        return won, lost, tied

    def _scaled(self, scale: float) -> np.ndarray:
        return self.gap if scale == 1 else np.multiply(scale, self.gap, out=self.gap.copy(), where=np.isfinite(self.gap))


def outlook(
    fit: Fit, a: np.ndarray, b: np.ndarray, judge: np.ndarray, slot: np.ndarray, x: np.ndarray | None = None
) -> Outlook:
    """What the fit expects of opinions of judges (-1: unknown) on nodes a and b, shown in a slot (+1, -1, 0).

    `x` (rows, covariates of the fit): of a minus of b; None without covariates.
    """
    sigma, bias = (np.append(values.to_numpy(np.float64), np.nan)[judge] for values in (fit.sigmas, fit.slot_biases))
    # Where every opinion fitted was one showing, an opinion without a slot joins the two orders of a pair.
    joined = (slot == 0) & bool((fit.counts.slot != 0).all())
    gap = gaps(fit, a, b) / sigma
    moved = slot * bias if x is None else slot * bias + _swayed(fit, judge, x)
    return Outlook(fit.likelihood, float(fit.reported.border[TIE]), gap, moved, np.where(joined, bias, 0.0))


def _swayed(fit: Fit, judge: np.ndarray, x: np.ndarray) -> np.ndarray:
    place = fit.layout.beta[np.zeros_like(judge) if len(fit.layout.beta) == 1 else judge]
    return (x / fit.layout.unit * fit.reported.border[place]).sum(axis=1)


def gaps(fit: Fit, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(pairs,) s_a - s_b in logits; infinite where only the wins of one side link two groups and no prior bounds them."""
    strength = fit.layout.strengths(fit.reported)
    gap = np.where(fit.graph.label[a] == fit.graph.label[b], strength[a] - strength[b], np.nan)
    if fit.prior.bounds_strengths or fit.graph.connected:
        return gap
    ahead, behind = (np.asarray(fit.graph.arrows[one, other]).reshape(-1) != 0 for one, other in ((a, b), (b, a)))
    linked = np.select([ahead, behind], [np.inf, -np.inf], default=np.nan)
    return np.where(fit.graph.strong[a] == fit.graph.strong[b], gap, linked)
