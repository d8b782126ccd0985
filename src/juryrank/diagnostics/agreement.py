"""Do the judges agree with each other? Raw and chance-corrected agreement, with its coverage.

A unit is a pair of items in a context; the classes are the two items and the tie. A judge has at most one opinion on a
unit: where it has several accepted rows (wins or ties), its one opinion is spread over the classes in proportion to
their `count`, so that many rows never make one judge into many. A unit is measured where two judges have an opinion.

    mean              mean over measured units of the largest class's share of the opinions
    coverage          measured units / units asked (any status)
    chance_corrected  Krippendorff's nominal alpha (2004, Content Analysis, ch. 11) over the measured units:
                      1 - D_o / D_e,  D_o = 1 - (1/n) sum_u sum_c [pairs of judges that agree on c] / (m_u - 1),
                      D_e = 1 - sum_c n_c (n_c - 1) / (n (n - 1)), n_c opinions for class c, n in all, m_u in unit u

Which item of a pair is `item_a` is only the order of the alphabet, and plain alpha changes when items are renamed. So
n_a and n_b both enter as (n_a + n_b) / 2: two judges who agree no more often than a coin have 0, whatever the names.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from juryrank.diagnostics.cycles import Source, as_comparisons
from juryrank.tables import TIED, WIN

CLASSES = ["a", "b", "tie"]


@dataclass(frozen=True)
class Agreement:
    """Agreement of a panel; None where nothing was measured."""

    #: mean share of the largest class; None without a measured unit
    mean: float | None
    #: measured units / units asked; None if nothing was asked
    coverage: float | None
    #: Krippendorff's alpha with equal sides; None without a measured unit, or if nothing but ties was said
    chance_corrected: float | None
    #: units with opinions of at least two judges
    units: int
    #: units that any judge was asked about
    asked: int


def agreement(source: Source, *, level: bool = True) -> Agreement:
    """Agreement between judges over the units (context, pair) that at least two of them decided.

    `level=False` is Krippendorff's own alpha, for two systems whose sides are named and mean the same in every unit.
    """
    opinions, asked = _opinions(as_comparisons(source).table)
    totals = _measured(opinions)
    units = len(totals)
    shares = totals[CLASSES].max(axis=1) / totals["judges"]
    return Agreement(
        mean=float(shares.mean()) if units else None,
        coverage=units / asked if asked else None,
        chance_corrected=_alpha(totals, level=level),
        units=units,
        asked=asked,
    )


def follows(source: Source) -> pd.Series:
    """By judge (sorted): how often another judge's opinion equals its own, averaged over the units they share.

    NaN for a judge that shares no unit.
    """
    comparisons = as_comparisons(source)
    opinions, _ = _opinions(comparisons.table)
    totals = _measured(opinions)
    own = opinions[opinions["unit"].isin(totals.index)]
    others = totals.loc[own["unit"], CLASSES].to_numpy() - own[CLASSES].to_numpy()
    equal = (own[CLASSES].to_numpy() * others).sum(axis=1) / (totals["judges"].loc[own["unit"]].to_numpy() - 1)
    by_judge = pd.Series(equal, dtype=np.float64).groupby(own["judge"].to_numpy()).mean()
    names = pd.Index(comparisons.judges, dtype=object, name="judge")
    return pd.Series(by_judge.reindex(np.arange(len(names))).to_numpy(np.float64), index=names, name="follows")


def _opinions(table: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """One row per (unit, judge): its opinion as shares of `CLASSES`; and the number of units asked."""
    table = table[((table["weight"] > 0) & (table["count"] > 0)).to_numpy()]
    place = [table[name].cat.codes.to_numpy() for name in ("context", "item_a", "item_b")]
    unit = pd.DataFrame(dict(enumerate(place))).groupby([0, 1, 2]).ngroup().to_numpy(np.int64)
    status, p, count = (table[name].to_numpy() for name in ("status", "p_a", "count"))
    classes = (status == WIN) & (p > 0.5), (status == WIN) & (p < 0.5), status == TIED
    rows = {name: np.where(chosen, count, 0.0) for name, chosen in zip(CLASSES, classes, strict=True)}
    rows |= {"unit": unit, "judge": table["judge"].cat.codes.to_numpy(np.int64)}
    accepted = np.logical_or.reduce(classes)
    sums = pd.DataFrame(rows)[accepted].groupby(["unit", "judge"])[CLASSES].sum()
    return sums.div(sums.sum(axis=1), axis=0).reset_index(), int(unit.max(initial=-1)) + 1


def _measured(opinions: pd.DataFrame) -> pd.DataFrame:
    """By unit with at least two judges: opinions for each class, `judges`, and `alike`.

    `alike` counts ordered pairs of distinct judges that agree: sum_c (t_c^2 - sum_j q_jc^2), t_c the opinions for c.
    """
    by_unit = opinions.groupby("unit")
    totals = by_unit[CLASSES].sum().assign(judges=by_unit.size())
    own = (opinions[CLASSES] ** 2).sum(axis=1).groupby(opinions["unit"]).sum()
    totals["alike"] = (totals[CLASSES] ** 2).sum(axis=1) - own
    return totals[totals["judges"] >= 2]


def _alpha(totals: pd.DataFrame, *, level: bool) -> float | None:
    """Krippendorff's nominal alpha of measured units; `level` makes the marginals of the two items equal."""
    n = int(totals["judges"].sum())
    if not n:
        return None
    observed = 1 - float((totals["alike"] / (totals["judges"] - 1)).sum()) / n
    a, b, tie = totals[CLASSES].sum()
    chosen = np.array([(a + b) / 2, (a + b) / 2, tie] if level else [a, b, tie])
    expected = 1 - float((chosen * (chosen - 1)).sum()) / (n * (n - 1))
    return 1 - observed / expected if expected > 1e-12 else None
