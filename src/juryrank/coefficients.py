"""What covariates do to a judge's logit: coefficients, with intervals, per unit of the source.

Conventions: a coefficient is in logits per unit by which the covariate of one item exceeds that of the other; `effect` is
the same per root mean square of that difference over the opinions, which makes covariates comparable. Standard errors come
from the covariance that is asked for; clustered intervals use Student's t with one degree of freedom less than clusters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from juryrank.layout import Layout
from juryrank.objective import Parameters
from juryrank.spread import Spread, reach, two_sided

COLUMNS = ["covariate", "judge", "estimate", "effect", "stderr", "low", "high", "p"]


def coefficient_frame(
    covariates: Sequence[str], judges: Sequence[str], layout: Layout, at: Parameters, spread: Spread, level: float
) -> pd.DataFrame:
    """One row per covariate, and judge; columns as in `COLUMNS`.

    `judges`: those that have coefficients of their own, empty where all share one: `judge` is None then. NaN: there is none,
    for the covariate is 0 in all that was said, or its error is not defined.
    """
    shared = not len(judges)
    place = layout.beta[:1] if shared else layout.beta
    names = [(covariate, judge) for covariate in covariates for judge in ([None] if shared else judges)]
    unit, place = np.repeat(layout.unit, len(place)), place.T.ravel()
    fitted = place < len(at.border) - 1
    effect = np.where(fitted, at.border[place], np.nan)
    error = (
        np.where(fitted, _errors(spread)[place], np.nan) if spread.covariance is not None else np.full(len(place), np.nan)
    )
    freedom = np.inf if spread.clusters is None else max(float(spread.clusters.max()) - 1.0, 1.0)
    far = reach(level, np.full(len(place), freedom)) * error
    known = error > 0
    p = [two_sided(e / s, freedom) if k else np.nan for e, s, k in zip(effect, error, known, strict=True)]
    values = {"estimate": effect / unit, "effect": effect, "stderr": error / unit}
    values |= {"low": (effect - far) / unit, "high": (effect + far) / unit, "p": np.array(p, dtype=float)}
    text = {"covariate": [name for name, _ in names], "judge": pd.Series([judge for _, judge in names], dtype=object)}
    return pd.DataFrame(text | values, columns=COLUMNS)


def _errors(spread: Spread) -> np.ndarray:
    assert spread.covariance is not None
    variance = np.diagonal(spread.covariance.border)
    return np.sqrt(np.where(variance > 0, variance, np.nan))
