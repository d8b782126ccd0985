"""Do the intervals and rank sets cover what they promise?"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context

import numpy as np
import pandas as pd

import juryrank as jr
from juryrank.spread import reach
from juryrank.tables import comparisons

LEVEL = 0.95
TRUTHS = 20
#: standard deviations of strengths, of log sigma, of what a context and of what a judge adds to a strength
SPREAD, LOG_SIGMA, CONTEXT, JUDGE = 1.0, 0.4, 0.7, 0.5
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(31)


@dataclass(frozen=True)
class Cell:
    """A kind of data."""

    items: int
    design: str  # sparse: 12 opinions an item on pairs at random; full: every pair
    judges: int
    clusters: str  # none, context, judge

    @property
    def contexts(self) -> int:
        return max(60, self.items)

    def __str__(self) -> str:
        return f"{self.items:3d} {self.design:6s} {self.judges} {self.clusters:7s}"


CELLS = [
    Cell(items, design, judges, clusters)
    for items, design, judges, clusters in product((8, 30, 100), ("sparse", "full"), (1, 6), ("none", "context", "judge"))
    if not (judges == 1 and clusters == "judge")
]


@dataclass(frozen=True)
class Truth:
    """What data sets of a cell are drawn from."""

    strength: np.ndarray
    sigma: np.ndarray
    #: (opinions,) items, judge, context
    a: np.ndarray
    b: np.ndarray
    judge: np.ndarray
    context: np.ndarray


def truth(cell: Cell, seed: int) -> Truth:
    """Strengths, sigmas and who is asked what."""
    rng = np.random.default_rng(seed)
    n = cell.items
    i, j = np.triu_indices(n, 1)
    if cell.design == "full":
        rounds = max(1, round(40 / (n - 1)))
        a, b = np.tile(i, rounds), np.tile(j, rounds)
    else:
        ring = np.concatenate([rng.permutation(n) for _ in range(6)]).reshape(6, n)
        a, b = ring.ravel(), np.roll(ring, 1, axis=1).ravel()
    log_sigma = LOG_SIGMA * rng.standard_normal(cell.judges) if cell.clusters != "judge" else np.zeros(cell.judges)
    size = len(a)
    return Truth(
        SPREAD * rng.standard_normal(n),
        np.exp(log_sigma - log_sigma.mean()),
        np.minimum(a, b),
        np.maximum(a, b),
        rng.permutation(np.arange(size) % cell.judges),
        rng.permutation(np.arange(size) % cell.contexts),
    )


def draw(cell: Cell, known: Truth, seed: int) -> pd.DataFrame:
    """Opinions of one data set."""
    rng = np.random.default_rng(seed)
    strength = np.tile(known.strength, (len(known.a), 1))
    rows = np.arange(len(known.a))
    gap = known.strength[known.a] - known.strength[known.b]
    if cell.clusters == "context":
        added = CONTEXT * rng.standard_normal((cell.contexts, cell.items))
        gap = gap + added[known.context, known.a] - added[known.context, known.b]
    if cell.clusters == "judge":
        added = JUDGE * rng.standard_normal((cell.judges, cell.items))
        gap = gap + added[known.judge, known.a] - added[known.judge, known.b]
    del strength, rows
    won = rng.random(len(gap)) < 1 / (1 + np.exp(-gap / known.sigma[known.judge]))
    return frame(known, won.astype(float))


def frame(known: Truth, p: np.ndarray) -> pd.DataFrame:
    names = np.array([f"i{k:03d}" for k in range(len(known.strength))])
    return pd.DataFrame(
        {
            "context": np.char.add("c", known.context.astype(str)),
            "judge": np.char.add("j", known.judge.astype(str)),
            "item_a": names[known.a],
            "item_b": names[known.b],
            "p_a": p,
            "status": "win",
        }
    )


def target(cell: Cell, known: Truth) -> np.ndarray:
    """Gaps that endless data of this kind would give: the fit to the probabilities themselves."""
    if cell.clusters == "none":
        return known.strength
    sd = np.sqrt(2) * (CONTEXT if cell.clusters == "context" else JUDGE)
    gap = known.strength[known.a] - known.strength[known.b]
    z = (gap[:, None] + sd * NODES) / known.sigma[known.judge][:, None]
    p = (WEIGHTS / WEIGHTS.sum() / (1 + np.exp(-z))).sum(axis=1)
    data = frame(known, p).drop(columns="status")
    fit = jr.fit_bt(data, judge_sigma=cell.judges > 1 and cell.clusters != "judge", extra_starts=0)
    return fit.strengths.to_numpy()


def covered(fit: jr.Fit, wanted: np.ndarray, kind: str, by: str) -> tuple[float, float]:
    """Share of the pairs whose interval holds, and mean width of the closed ones."""
    used = fit.spread(kind, by)
    if used.covariance is None:
        return np.nan, np.nan
    n = len(wanted)
    i, j = np.triu_indices(n, 1)
    matrix = used.covariance.strengths[0][np.ix_(fit.layout.place, fit.layout.place)]
    error = np.sqrt(np.diagonal(matrix)[i] + np.diagonal(matrix)[j] - 2 * matrix[i, j])
    gap = fit.strengths.to_numpy()[i] - fit.strengths.to_numpy()[j]
    off = gap - (wanted[i] - wanted[j])
    far = reach(LEVEL, used.freedom(i, j)) * error
    open_end = fit.graph.strong[i] != fit.graph.strong[j]
    inside = np.abs(off) <= far
    inside[open_end] = (np.sign(gap) * off <= far)[open_end]
    return float(inside.mean()), float(2 * far[~open_end].mean()) if (~open_end).any() else np.nan


KINDS = {
    "model": ("model", "group"),
    "sandwich": ("sandwich", "group"),
    "group": ("cluster", "group"),
    "judge": ("cluster", "judge"),
}


def measure(cell: Cell, seed: int, sets: int) -> pd.DataFrame:
    """Coverage over some data sets of one truth."""
    known = truth(cell, seed)
    wanted = target(cell, known)
    found = []
    for k in range(sets):
        data = comparisons(draw(cell, known, 1000 * seed + k))
        fit = jr.fit_bt(data, judge_sigma=cell.judges > 1 and cell.clusters != "judge", extra_starts=0)
        for name, (kind, by) in KINDS.items():
            if by == "judge" and cell.judges == 1:
                continue
            found.append((name, *covered(fit, wanted, kind, by)))
    return pd.DataFrame(found, columns=["kind", "coverage", "width"])


if __name__ == "__main__":
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    for cell in CELLS:
        if only and str(cell.items) not in only.split(","):
            continue
        start = time.perf_counter()
        truths = TRUTHS if cell.items < 100 else 5
        all_of = pd.concat([measure(cell, seed, sets) for seed in range(truths)])
        text = []
        for name, part in all_of.groupby("kind", sort=False):
            e = part["coverage"].std() / np.sqrt(len(part))
            text.append(f"{name} {100 * part['coverage'].mean():5.1f}±{100 * e:.1f} w{part['width'].mean():.2f}")
        print(cell, " | ".join(text), f"[{time.perf_counter() - start:.0f}s]", flush=True)
