"""Repeated showings are not votes: how much R passes of one showing are worth.

    effective number = R / (1 + (R - 1) rho_k)      rho_k: correlation, within a showing, of what judge k says (Kish 1965)
    rho_k            = sum over showings of sum_{i < j} e_i e_j / sum over showings of R (R - 1) / 2 * v

with e the residual of a pass and v its variance under a first fit that counts every pass. A judge at temperature 0 repeats
itself (rho = 1: R passes are one), one whose passes are drawn anew has rho = 0. Each judge is shrunk towards all by one pair
of passes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from juryrank.columns import number_rows
from juryrank.estimate import Fit
from juryrank.evidence import pull
from juryrank.tables import UNCERTAIN, Judgments

#: variance of a pass between equals, the unit of shrinkage
EVEN = 0.25


def effective(source: Judgments, fit: Fit) -> tuple[Judgments, pd.Series] | None:
    """Judgments whose repeated showings weigh as much as they tell, and rho by judge; None where nothing is repeated.

    `fit` is a fit on the showings of `source`.
    """
    spoken, showing = _showings(source)
    weight = source.table["weight"].to_numpy()
    total = np.bincount(showing, weights=weight[spoken])[showing]
    if not (total > 1).any():
        return None
    rho = _correlation(fit)
    judge = source.table["judge"].cat.codes.to_numpy()[spoken]
    worth = weight.astype(float).copy()
    worth[spoken] /= 1 + np.maximum(total - 1, 0) * rho[judge]
    return replace(source, table=source.table.assign(weight=worth)), pd.Series(rho, index=fit.sigmas.index)


def _showings(source: Judgments) -> tuple[np.ndarray, np.ndarray]:
    """Rows that answer, and the number of the showing that each of them is a pass of."""
    table = source.table
    spoken = np.flatnonzero((table["outcome"].to_numpy() < UNCERTAIN) & (table["weight"].to_numpy() > 0))
    columns = (table[name].cat.codes.to_numpy().astype(np.int64)[spoken] for name in ("context", "judge", "first", "second"))
    return spoken, number_rows(*columns)[0]


def _correlation(fit: Fit) -> np.ndarray:
    """(judges,) rho."""
    found = fit.evidence
    said = pull(fit.likelihood, found, fit.layout, fit.reported)
    showing, keys = number_rows(found.opinion, found.slot.astype(np.int64) + 1, found.judge)
    judges, judge = len(fit.sigmas), keys[:, 2]

    def by_showing(values: np.ndarray) -> np.ndarray:
        return np.bincount(showing, weights=found.count * values)

    number, lean = by_showing(np.ones(len(found))), by_showing(said.lean)
    together = np.bincount(judge, weights=(lean**2 - by_showing(said.lean**2)) / 2, minlength=judges)
    room = np.bincount(judge, weights=np.maximum(number - 1, 0) / 2 * by_showing(said.bend), minlength=judges)
    pooled = together.sum() / max(room.sum(), 1e-300)
    return np.clip((together + EVEN * pooled) / (room + EVEN), 0, 1)
