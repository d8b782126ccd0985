"""How often majorities would go round if the fitted model were all there is: a parametric bootstrap.

Each accepted opinion is drawn again from the fitted chances of its own judge, pair and slot; disagreements stay where they
are, and so do ties where the model has no chance of one. Majorities and triads are then read off as in
`diagnostics.cycles`.

Strengths estimated from few votes are spread wider than the true ones, so that redraws from them go round too seldom and
the data would look contradictory by construction: with one vote on every pair the number of cycles is a function of the
scores alone (Kendall and Babington Smith 1940), which the fit reproduces. So all gaps are multiplied by the one `scale` at
which the net wins of the nodes are expected to vary, from redraw to redraw, just as much as they are seen to:

    sum_i E[w_i^2 | scale] / v_i = sum_i w_i^2 / v_i,    w_i net wins of node i, v_i their variance between equals

(moments in place of the constrained estimate of Louis 1984, JASA 79:393). Below 1 it takes out what the strengths owe to
noise; above 1 it makes up for disagreements that count half a win each way, which makes accepted wins surer than fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from juryrank.columns import merged, number_rows, value_codes
from juryrank.conflicts.ballots import Ballots
from juryrank.conflicts.expectation import Outlook, outlook
from juryrank.conflicts.triples import triples
from juryrank.diagnostics.cycles import HALF_WIDTH
from juryrank.estimate import Fit

#: triples that are followed through the redraws; where there are more, an even sample
TRIPLES = 200_000
#: entries of an intermediate table of cells and redraws
BLOCK = 2**23
#: the largest scale: two answers that must agree are twice as sure as one in logits, and more where slots are favoured
LARGEST = 10.0
HALVINGS = 40


@dataclass(frozen=True)
class Implied:
    """Cycle rates of redraws; None where no triad can be assessed or no opinion can be drawn."""

    rate: float | None = None
    #: ends of the middle 95 % of the redraws
    low: float | None = None
    high: float | None = None
    #: one-sided: the chance of a rate at least as high as the one seen
    p_value: float | None = None
    #: what the fitted gaps were multiplied by
    scale: float | None = None


@dataclass(frozen=True, eq=False)
class _Cells:
    """Votes that are drawn alike: one pair, judge, slot, weight, and covariates."""

    pair: np.ndarray
    votes: np.ndarray
    #: what one vote adds to the lean of its pair
    stake: np.ndarray
    outlook: Outlook


def implied(fit: Fit, ballots: Ballots, draws: int, seed: int) -> Implied:
    """The cycle rates of `draws` redraws; `p_value` = (1 + redraws at least as cyclic) / (redraws with a triad + 1).

    The strengths come from the same opinions, so the p-value is approximate, however many redraws there are.
    """
    rng = np.random.default_rng(seed)
    found = triples(ballots.a, ballots.b, rng, TRIPLES) if len(ballots.a) else None
    cells, kept = _cells(fit, ballots)
    if not draws or not found or not len(cells.pair):
        return Implied()
    weight = ballots.by_pair(ballots.weight * ~ballots.flip)
    seen = ballots.by_pair(ballots.weight * ballots.lean * ~ballots.flip)
    scale = _scale(ballots, cells, kept, seen)
    step = max(1, BLOCK // max(len(cells.pair), len(ballots.a)))
    leans = (_redraw(cells, kept, scale, min(step, draws - done), rng) for done in range(0, draws, step))
    counted = [found.count(_signs(lean, weight)) for lean in (seen[:, None], *leans)]
    cyclic, decided = (np.concatenate(part) for part in zip(*counted, strict=True))
    return _judged(cyclic, decided, scale)


def _judged(cyclic: np.ndarray, decided: np.ndarray, scale: float) -> Implied:
    """The first entry is what was seen, the rest are redraws."""
    usable = decided[1:] > 0
    if not decided[0] or not usable.any():
        return Implied()
    observed = cyclic[0] / decided[0]
    rates = cyclic[1:][usable] / decided[1:][usable]
    low, high = np.quantile(rates, [0.025, 0.975])
    p_value = (1 + int((rates >= observed - HALF_WIDTH).sum())) / (len(rates) + 1)
    return Implied(float(rates.mean()), float(low), float(high), p_value, scale)


def _cells(fit: Fit, ballots: Ballots) -> tuple[_Cells, np.ndarray]:
    """What is drawn, and (pairs,) the lean of what stays."""
    drawn = ~ballots.flip & ~(ballots.tie & (fit.likelihood == "half"))
    a, b = ballots.a[ballots.pair], ballots.b[ballots.pair]
    view = outlook(fit, a, b, ballots.judge, ballots.slot, ballots.x)
    drawn &= ~np.isnan(view.gap + view.bias)
    size = np.where(ballots.tie, 0.5, np.abs(ballots.lean)) * ballots.weight / ballots.votes
    stakes, stake = np.unique(size[drawn], return_inverse=True)
    x = None if ballots.x is None else ballots.x[drawn]
    alike = (ballots.pair[drawn], ballots.judge[drawn], ballots.slot[drawn] + 1, stake)
    number, keys = number_rows(*alike, *value_codes(x))
    pair, judge, slot = keys[:, 0], keys[:, 1], keys[:, 2] - 1
    votes = np.bincount(number, weights=ballots.votes[drawn], minlength=len(keys)).astype(np.int64)
    values = merged(x, number, len(keys))
    cells = _Cells(pair, votes, stakes[keys[:, 3]], outlook(fit, ballots.a[pair], ballots.b[pair], judge, slot, values))
    return cells, ballots.by_pair(ballots.weight * ballots.lean * ~(drawn | ballots.flip))


def _scale(ballots: Ballots, cells: _Cells, kept: np.ndarray, seen: np.ndarray) -> float:
    """Where the expected spread of net wins meets the one seen, by halving; 0 or `LARGEST` where it never does."""
    a, b, n = ballots.a, ballots.b, len(ballots.names)

    def by_pair(values: np.ndarray) -> np.ndarray:
        return np.bincount(cells.pair, weights=values, minlength=len(a))

    def by_node(values: np.ndarray, sign: int) -> np.ndarray:
        return np.bincount(a, weights=values, minlength=n) + sign * np.bincount(b, weights=values, minlength=n)

    even = by_node(by_pair(cells.votes * cells.stake**2), 1)
    counted = even > 0

    def spread(net: np.ndarray, variance: np.ndarray | float) -> float:
        return float(((by_node(net, -1) ** 2 + variance)[counted] / even[counted]).sum())

    def expected(scale: float) -> float:
        won, lost, _ = cells.outlook.outcomes(scale)
        lean = won - lost
        net, variance = cells.votes * cells.stake * lean, cells.votes * cells.stake**2 * (won + lost - lean**2)
        return spread(kept + by_pair(net), by_node(by_pair(variance), 1))

    wanted, low, high = spread(seen, 0.0), 0.0, LARGEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if expected(middle) >= wanted else (middle, high)
    return (low + high) / 2


def _redraw(cells: _Cells, kept: np.ndarray, scale: float, draws: int, rng: np.random.Generator) -> np.ndarray:
    """(pairs, draws) leans of the pairs."""
    won, lost, _ = (np.clip(chance, 0, 1)[:, None] for chance in cells.outlook.outcomes(scale))
    shape = (len(cells.pair), draws)
    wins = rng.binomial(cells.votes[:, None], won, size=shape)
    left = cells.votes[:, None] - wins
    losses = left
    if cells.outlook.likelihood != "half":
        losses = rng.binomial(left, np.clip(lost / np.maximum(1 - won, np.finfo(float).tiny), 0, 1))
    cell = np.arange(len(cells.pair))
    sums = csr_array((cells.stake, (cells.pair, cell)), shape=(len(kept), len(cell)))
    return kept[:, None] + sums @ (wins - losses).astype(np.float64)


def _signs(lean: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(pairs, draws) who has the majority."""
    return np.where(np.abs(lean) > HALF_WIDTH * weight[:, None], np.sign(lean), 0).astype(np.int8)
