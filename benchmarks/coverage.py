"""Do the intervals and rank sets cover what they promise?"""

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
