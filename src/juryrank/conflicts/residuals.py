"""Pairs whose outcome the fitted model did not expect.

For each pair, over the judges: wins of a (a tie or a disagreement is half a win), the sum of the wins that the model
expects, and

    residual = (wins - expected) / sqrt(sum w p (1 - p)),   p the chance of each vote, w the weight of one vote

with w^2 in place of w where a weight is no whole number of votes, and ties of a tie model taken off the variance. The
p-value is no normal tail, for most pairs have a handful of votes: it is binomial, twice the smaller tail at the mean
chance of the pair's votes, and rather too large than too small.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from juryrank.conflicts.ballots import Ballots
from juryrank.conflicts.expectation import outlook
from juryrank.conflicts.simultaneous import holm, two_sided
from juryrank.estimate import Fit

COLUMNS = ["context", "item_a", "item_b", "wins_a", "expected", "n", "residual", "p", "p_holm"]


def surprises(fit: Fit, ballots: Ballots, most: int) -> pd.DataFrame:
    """The `most` pairs with the largest residuals, columns as in `COLUMNS`; `p_holm` is over all pairs, kept or not.

    `wins_a`, `expected` and `n` are sums of weights. `context` is None where contexts are pooled. A disagreement counts
    unless the fit dropped them; opinions that the fit says nothing about do not.
    """
    a, b = ballots.a[ballots.pair], ballots.b[ballots.pair]
    share, variance = outlook(fit, a, b, ballots.judge, ballots.slot, ballots.x).share()
    known = ~np.isnan(share) & ~(ballots.flip & (fit.disagreements == "drop"))

    def total(values: np.ndarray) -> np.ndarray:
        return ballots.by_pair(np.where(known, values, 0.0))

    weight, votes, won = ballots.weight, ballots.votes, ballots.lean + 0.5
    rows = {"wins_a": total(weight * won), "expected": total(weight * share), "n": total(weight)}
    rows["residual"] = _ratio(rows["wins_a"] - rows["expected"], np.sqrt(total(weight**2 / votes * variance)))
    cast = total(votes)
    rows["p"] = two_sided(total(votes * won), cast, _ratio(total(votes * share), cast))
    frame = pd.DataFrame(rows)[cast > 0].assign(**_names(ballots, cast > 0))
    frame["p_holm"] = holm(frame["p"].to_numpy())
    frame["size"] = -frame["residual"].abs()
    kept = frame.sort_values(["size", "context", "item_a", "item_b"], kind="stable").head(most)
    return kept[COLUMNS].reset_index(drop=True)


def _names(ballots: Ballots, chosen: np.ndarray) -> dict[str, object]:
    a, b = (ballots.names[end[chosen]] for end in (ballots.a, ballots.b))
    if a.nlevels == 1:
        return {"context": None, "item_a": a, "item_b": b}
    return {"context": a.get_level_values(0), "item_a": a.get_level_values(1), "item_b": b.get_level_values(1)}


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """A certain outcome that came about is no surprise."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
