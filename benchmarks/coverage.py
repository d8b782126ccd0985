"""Do the intervals and rank sets cover what they promise?

Data sets with known truth: 8, 30 or 100 items; a sparse design with 12 opinions an item on random neighbours, and a full one
with every pair in 60, 12 or 2 rounds; one judge, or six whose log sigmas have a standard deviation of 0.4; independent
opinions, a random effect of the context (0.7 logits on every item), or of the judge (0.5). The truth of a clustered cell is
what endless data of its kind would give. Of each data set: the share of all contrasts whose 95 % interval holds the truth,
the mean width, and whether all true ranks lie in the simultaneous 95 % rank sets.

    python benchmarks/coverage.py            1,000 data sets a cell, hours
    python benchmarks/coverage.py 1000 8,30  without 100 items, half an hour on a free core

Measured (1,000 data sets a cell, 200 where (200) stands; contrasts covered in percent, Monte Carlo error 0.1 to 0.3, and
mean width in logits; by judge there are six clusters, and one judge has none; ranks of 100 items in 100 data sets at most):

                                    model           sandwich        by context      by judge        ranks: model, by context
     8 sparse, 1 judge, independent  97.3   4.11    96.3   4.05     98.4   4.87                      100.0  100.0
                        context      96.5   3.96    95.4   3.90     98.0   4.72                      100.0  100.0
       sparse, 6 judges, independent 95.3   5.26    86.0   4.20 !   95.6   5.80     96.8  24.1       100.0  100.0
                         context     94.5   5.00    84.1   4.02 !   95.3   5.58     96.2  21.2       100.0   99.9
                         judge       96.1   3.93    94.9   3.88     97.5   4.62     97.3   5.49      100.0   99.9
       full, 1 judge, independent    94.8   0.62    94.8   0.62     95.0   0.64                       99.8   99.8
                      context        90.4   0.59 !  90.3   0.59 !   95.3   0.72                       98.8   99.7
       full, 6 judges, independent   94.8   0.61    94.7   0.61     95.0   0.62     95.9   0.77       99.6   99.9
                       context       89.7   0.58 !  89.6   0.58 !   94.9   0.69     92.9   0.73 !     99.1   99.9
                       judge         66.6   0.61 !  66.5   0.61 !   67.3   0.62 !   95.0   1.52       77.6   79.1 !
    30 sparse, 1 judge, independent  95.6   4.44    94.4   4.37     97.8   5.47                      100.0  100.0
                        context      94.9   4.29    93.7   4.24     97.6   5.38                      100.0  100.0
       sparse, 6 judges, independent 91.6   6.68 !  80.2   5.37 !   94.1   7.62     95.7  34.5       100.0  100.0
                         context     90.3   6.07 !  78.7   4.97 !   93.7   7.09     94.9  22.5        99.9  100.0
                         judge       95.0   4.30    93.9   4.25     97.4   5.28     96.7   6.12      100.0  100.0
       full, 1 judge, independent    94.8   0.71    94.8   0.71     94.7   0.72                       99.9   99.8
                      context        85.1   0.68 !  85.1   0.68 !   94.7   0.94                       96.4   99.9
       full, 6 judges, independent   94.9   0.66    94.8   0.66     94.7   0.68     94.9   0.82      100.0   99.9
                       context       84.6   0.64 !  84.6   0.64 !   94.5   0.89     88.1   0.81 !     95.3  100.0
                       judge         71.0   0.69 !  71.0   0.69 !   71.7   0.70 !   94.8   1.57       72.8   76.6 !
   100 sparse, 1 judge, independent  95.1   4.47                    97.8   5.54                      100.0  100.0
                        context      94.4   4.33                    97.7   5.46                      100.0  100.0
       sparse, 6 judges, independent 90.5   9.00 !                  96.0  11.15                      100.0  100.0
                         context     89.2   7.94 !                  95.6  10.00                      100.0  100.0
                         judge       94.3   4.42                    97.5   5.47                      100.0  100.0
       full, 1 judge, independent    95.2   0.94                    93.6   0.96        (200)         100.0  100.0
                      context        76.6   0.91 !                  89.9   1.51 !                     71.0   99.0
       full, 6 judges, independent   94.8   0.88                    93.2   0.90        (200)         100.0  100.0
                       context       75.6   0.87 !                  89.5   1.44 !      (200)          70.0   98.0
                       judge         80.1   0.92 !                  78.9   0.94 !      (200)         100.0   96.0
    (! below 93 %)

Conclusion: where opinions share a context, intervals that take them as independent cover 76 to 90 %, and those clustered by
context 93.5 to 98 %: `rank` clusters by itself where groups repeat and are many. They cost up to 20 % of width where
opinions are independent after all, on sparse designs; on full ones next to nothing. The exception is the full design of 100
items, whose 100 contexts each hold about all pairs of one item: half of what is known of an item then comes from one
cluster, and 99 clusters of one row are counted beside it as degrees of freedom; 90 %, and 76 % under the model. Degrees of
freedom from the effective number of clusters would mend that. Where judges differ by taste (a
random effect of the judge), only errors by judge cover; six clusters make them twice as wide. `rank` does not choose that by
itself. Six judges with sigmas of their own and 30 opinions each cover 90 to 92 % under the model: sigmas are overfitted and
gaps come out too large; a sandwich of single opinions is far worse there, as the few opinions that decide a sigma have
small residuals by construction. Simultaneous rank sets are conservative. Chosen on these cells: clusters left with their
leverage (CR2) and Welch's degrees of freedom. Before the correction (plain sums) 30 items on a sparse design by judge
covered 91 %, and a full one by judge 90 %; with the jackknife (CR3) and the fewest clusters of any item as degrees of
freedom everything sparse covered 99 % and more.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import rankdata

import juryrank as jr
from juryrank.rank_sets import Gaps, places
from juryrank.spread import Spread, reach
from juryrank.tables import comparisons

LEVEL = 0.95
#: truths that the data sets of a cell are drawn from
TRUTHS = 20
#: standard deviations of strengths, of log sigma, of what a context and of what a judge adds to a strength
SPREAD, LOG_SIGMA, CONTEXT, JUDGE = 1.0, 0.4, 0.7, 0.5
#: rounds of every pair in a full design; a sparse one has 12 opinions an item, on random neighbours
ROUNDS = {8: 60, 30: 12, 100: 2}
CONTEXTS = {"sparse": {8: 20, 30: 30, 100: 100}, "full": {8: 60, 30: 60, 100: 100}}
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
COVARIANCES = {
    "model": ("model", "group"),
    "sandwich": ("sandwich", "group"),
    "by context": ("cluster", "group"),
    "by judge": ("cluster", "judge"),
}

#: covariances, and data sets of each truth, whose rank sets are looked at
RANKED, MOST_RANKED = ("model", "by context"), {8: 50, 30: 50, 100: 5}


@dataclass(frozen=True)
class Cell:
    """A kind of data; "context" and "judge" add a random effect on every item."""

    items: int
    design: str
    judges: int
    clusters: str

    @property
    def heterogeneous(self) -> bool:
        """Whether judges differ in sigma, and are fitted so."""
        return self.judges > 1 and self.clusters != "judge"

    def __str__(self) -> str:
        return (
            f"{self.items:3d} items, {self.design:6s}, {self.judges} judge{'s' * (self.judges > 1):1s}, {self.clusters:11s}"
        )


CELLS = [
    Cell(*kind)
    for kind in product((8, 30, 100), ("sparse", "full"), (1, 6), ("independent", "context", "judge"))
    if kind[2:] != (1, "judge")
]


@dataclass(frozen=True)
class Truth:
    """Strengths, sigmas, and who is asked what: (opinions,) items, judge, context."""

    strength: np.ndarray
    sigma: np.ndarray
    a: np.ndarray
    b: np.ndarray
    judge: np.ndarray
    context: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """(opinions,) difference of strengths."""
        return self.strength[self.a] - self.strength[self.b]


def truth(cell: Cell, seed: int) -> Truth:
    """One truth of a cell."""
    rng = np.random.default_rng(seed)
    n = cell.items
    if cell.design == "full":
        a, b = (np.tile(side, ROUNDS[n]) for side in np.triu_indices(n, 1))
    else:
        ring = np.stack([rng.permutation(n) for _ in range(6)])
        a, b = ring.ravel(), np.roll(ring, 1, axis=1).ravel()
    log_sigma = LOG_SIGMA * cell.heterogeneous * rng.standard_normal(cell.judges)
    place = np.arange(len(a))
    return Truth(
        SPREAD * rng.standard_normal(n),
        np.exp(log_sigma - log_sigma.mean()),
        np.minimum(a, b),
        np.maximum(a, b),
        rng.permutation(place % cell.judges),
        place * CONTEXTS[cell.design][n] // len(a),
    )


def draw(cell: Cell, known: Truth, seed: int) -> pd.DataFrame:
    """Opinions of one data set."""
    rng = np.random.default_rng(seed)
    gap = known.gap
    for name, sd, where in (("context", CONTEXT, known.context), ("judge", JUDGE, known.judge)):
        if cell.clusters == name:
            added = sd * rng.standard_normal((where.max() + 1, cell.items))
            gap = gap + added[where, known.a] - added[where, known.b]
    return opinions(known, (rng.random(len(gap)) < logistic(gap / known.sigma[known.judge])).astype(float))


def opinions(known: Truth, p: np.ndarray) -> pd.DataFrame:
    """A frame with some p_a."""
    names = np.array([f"i{k:03d}" for k in range(len(known.strength))])
    where = {"context": np.char.add("c", known.context.astype(str)), "judge": np.char.add("j", known.judge.astype(str))}
    return pd.DataFrame({**where, "item_a": names[known.a], "item_b": names[known.b], "p_a": p})


def target(cell: Cell, known: Truth) -> np.ndarray:
    """Strengths that endless data of this kind would give: the fit to the probabilities themselves."""
    sd = np.sqrt(2) * {"independent": 0.0, "context": CONTEXT, "judge": JUDGE}[cell.clusters]
    z = (known.gap[:, None] + sd * NODES) / known.sigma[known.judge][:, None]
    p = logistic(z) @ (WEIGHTS / WEIGHTS.sum())
    return jr.fit_bt(opinions(known, p), judge_sigma=cell.heterogeneous, extra_starts=0).strengths.to_numpy()


def logistic(z: np.ndarray) -> np.ndarray:
    """1 / (1 + e^-z)."""
    return 1 / (1 + np.exp(-z))


def contrasts(fit: jr.Fit, wanted: np.ndarray, used: Spread) -> tuple[float, float]:
    """Share of the pairs whose interval holds, and mean width of those that are closed."""
    i, j = np.triu_indices(len(wanted), 1)
    error = gaps(fit, used).error[i, j]
    gap = np.subtract(*fit.strengths.to_numpy()[[i, j]])
    off, far = gap - (wanted[i] - wanted[j]), reach(LEVEL, used.freedom(i, j)) * error
    closed = fit.graph.strong[i] == fit.graph.strong[j]
    one_sided = np.sign(gap) * off <= reach(LEVEL, used.freedom(i, j), one_sided=True) * error
    held = np.where(closed, np.abs(off) <= far, one_sided)
    return float(held.mean()), float(2 * far[closed].mean()) if closed.any() else np.nan


def gaps(fit: jr.Fit, used: Spread) -> Gaps:
    """All pairs, in the order of the nodes."""
    nodes = np.arange(len(fit.strengths))
    covariance = used.covariance.strengths[0][np.ix_(fit.layout.place, fit.layout.place)]
    measured = np.ones((len(nodes), len(nodes)), bool)
    return Gaps(fit.strengths.to_numpy(), covariance, used.freedom(nodes[:, None], nodes), measured)


def all_ranks_held(fit: jr.Fit, wanted: np.ndarray, used: Spread) -> float:
    """Whether every true rank lies in its simultaneous set."""
    order = np.argsort(-fit.strengths.to_numpy())
    found, known = gaps(fit, used), rankdata(-wanted)[order]
    turned = Gaps(
        found.strength[order], *(part[np.ix_(order, order)] for part in (found.covariance, found.freedom)), found.measured
    )
    sets = places(turned, LEVEL, 1, seed=0)
    return float(((sets.low <= known) & (known <= sets.high)).all())


def measure(cell: Cell, sets: int) -> pd.DataFrame:
    """One row per data set and covariance: coverage of contrasts, width, whether all ranks are held."""
    rows = []
    for seed in range(TRUTHS):
        known = truth(cell, seed)
        wanted = target(cell, known)
        for k in range(sets // TRUTHS):
            fit = jr.fit_bt(comparisons(draw(cell, known, 1000 * seed + k)), judge_sigma=cell.heterogeneous, extra_starts=0)
            for name, kind in COVARIANCES.items():
                used = fit.spread(*kind) if name != "by judge" or cell.judges > 1 else None
                if used is not None and used.covariance is not None:
                    ranked = name in RANKED and k < MOST_RANKED[cell.items]
                    held = all_ranks_held(fit, wanted, used) if ranked else np.nan
                    rows.append((name, *contrasts(fit, wanted, used), held))
    return pd.DataFrame(rows, columns=["covariance", "contrasts", "width", "ranks"])


def shown(part: pd.DataFrame) -> str:
    """Coverage of contrasts and of all ranks, in percent with Monte Carlo errors, and the mean width."""
    mean, error = 100 * part.mean(numeric_only=True), 100 * part.sem(numeric_only=True)
    cell = partial("{:5.1f}/{:.1f}".format)
    ranks = f" {cell(mean['ranks'], error['ranks'])}" if np.isfinite(mean["ranks"]) else ""
    return f"{cell(mean['contrasts'], error['contrasts'])} {mean['width'] / 100:5.2f}{ranks}"


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    sizes = set(map(int, sys.argv[2].split(","))) if len(sys.argv) > 2 else {8, 30, 100}
    print(f"{sets} data sets a cell; contrasts covered, width, all ranks covered")
    for cell in (cell for cell in CELLS if cell.items in sizes):
        start = time.perf_counter()
        parts = measure(cell, sets).groupby("covariance", sort=False)
        columns = " | ".join(f"{name} {shown(part)}" for name, part in parts)
        print(f"{cell} | {columns} [{time.perf_counter() - start:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
