"""Does a judge answer the same when shown the same again? Repetition consistency, raw and shrunk.

For a comparison (context, judge, pair) and an ordering with n >= 2 decisive passes (first, second, tie; `both_bad` is
a tie), the share of equal unordered pairs of passes is sum_c n_c (n_c - 1) / (n (n - 1)). Averaged over the orderings
that have one, then over comparisons, it is `raw`. `d` is the same after each comparison is multiplied by
(passes - failures) / passes over both orderings. `shrunk` = (n d + m) / (n + 1), with n the judge's measured
comparisons and m = sum(n d) / sum(n) over the panel: one pseudo-comparison at the panel's mean.

A pass of weight 0 is absent; other weights do not matter here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from juryrank.errors import SettingsError
from juryrank.tables import BOTH_BAD, FAILURE, FIRST, SECOND, TIE, Comparisons, Judgments, judgments

COMPARISON = ["context", "judge", "low", "high"]


def repetition_consistency(source: Judgments | pd.DataFrame | list[dict[str, Any]]) -> pd.DataFrame:
    """Frame indexed by judge (sorted): raw, shrunk (NaN without repeated answers), comparisons (measured ones)."""
    answers = _as_judgments(source)
    measured = _per_comparison(_per_ordering(_passes(answers.table)))
    by_judge = measured.groupby("judge")
    table = pd.DataFrame({"raw": by_judge["share"].mean(), "d": by_judge["discounted"].mean(), "n": by_judge.size()})
    table = table.reindex(np.arange(len(answers.judges)))
    n = table["n"].fillna(0)
    # the mean over measured comparisons is the evidence-weighted mean of the judges' d
    panel = measured["discounted"].mean()
    return pd.DataFrame(
        {
            "raw": table["raw"].to_numpy(np.float64),
            "shrunk": ((n * table["d"] + panel) / (n + 1)).to_numpy(np.float64),
            "comparisons": n.to_numpy(np.int64),
        },
        index=pd.Index(answers.judges, dtype=object, name="judge"),
    )


def consistency_weights(table: pd.DataFrame) -> tuple[pd.Series | None, tuple[str, ...]]:
    """Weights by judge from `repetition_consistency`, and warnings.

    A judge without repeats takes the median of the measured; with fewer than two measured judges there are none.
    """
    shrunk = table["shrunk"]
    measured = int(shrunk.notna().sum())
    if measured < 2:
        return None, (
            f"Consistency weights are not used: {measured} of {len(table)} judges answered a showing twice; two must.",
        )
    weights = shrunk.fillna(shrunk.median()).rename("weight")
    unmeasured = [str(judge) for judge in table.index[shrunk.isna()]]
    if not unmeasured:
        return weights, ()
    names = ", ".join(map(repr, unmeasured))
    return weights, (f"No repeated answers of {names}: the median consistency of the other judges is the weight.",)


def _as_judgments(source: object) -> Judgments:
    if isinstance(source, Judgments):
        return source
    if isinstance(source, Comparisons):
        raise SettingsError("repetitions are gone once reconciled: this takes judgments, not comparisons.")
    if isinstance(source, (pd.DataFrame, list, tuple)):
        return judgments(pd.DataFrame(source))
    raise SettingsError(f"this takes judgments, a frame or a list of dicts, not a {type(source).__name__}.")


def _passes(table: pd.DataFrame) -> pd.DataFrame:
    """One row per pass: codes of its comparison and ordering, and 0/1 columns for what was answered."""
    table = table[(table["weight"] > 0).to_numpy()]
    first, second = (table[name].cat.codes.to_numpy() for name in ("first", "second"))
    outcome = table["outcome"].to_numpy()
    return pd.DataFrame(
        {
            "context": table["context"].cat.codes.to_numpy(),
            "judge": table["judge"].cat.codes.to_numpy(),
            "low": np.minimum(first, second),
            "high": np.maximum(first, second),
            "swapped": first > second,
            "first": (outcome == FIRST).astype(np.int64),
            "second": (outcome == SECOND).astype(np.int64),
            "tie": ((outcome == TIE) | (outcome == BOTH_BAD)).astype(np.int64),
            "failures": (outcome == FAILURE).astype(np.int64),
            "passes": np.ones(len(table), np.int64),
        }
    )


def _per_ordering(passes: pd.DataFrame) -> pd.DataFrame:
    """One row per comparison and ordering, with `share`: equal pairs of decisive passes / pairs, NaN below two."""
    orderings = passes.groupby([*COMPARISON, "swapped"]).sum()
    chosen = orderings[["first", "second", "tie"]]
    n = chosen.sum(axis=1)
    return orderings.assign(share=(chosen * (chosen - 1)).sum(axis=1) / (n * (n - 1)).where(n >= 2))


def _per_comparison(orderings: pd.DataFrame) -> pd.DataFrame:
    """One row per measured comparison: `share`, and `discounted` by the share of passes that did not fail."""
    comparisons = orderings.groupby(COMPARISON).agg({"share": "mean", "passes": "sum", "failures": "sum"})
    measured = comparisons[comparisons["share"].notna()]
    completed = (measured["passes"] - measured["failures"]) / measured["passes"]
    return measured.assign(discounted=measured["share"] * completed)
