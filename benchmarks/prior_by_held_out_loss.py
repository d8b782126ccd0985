"""Which prior widths predict held-out votes best?

Five-fold cross-validation on five public sets of judgments. Folds are contexts; where items are separate per context
(LLMBar) they are cells of judge and context, so that both orders of a pair leave together. Fitted on showings with slot
bias, and on reconciled comparisons. The figure is the mean log-loss of a held-out vote in nats (a tie or a disagreement
counts one half each way), as difference to the default prior; under 0 is better.

    python benchmarks/prior_by_held_out_loss.py

Measured (2 cores, change of mean log-loss against strength sd 10, log-sigma sd 1, slot sd 3):

    on showings            llmbar   posbias  council  llmfao   pandalm
    strength sd 3         -0.0015  -0.0000  -0.0028  -0.0001  -0.0000
    strength sd 1         -0.0029  -0.0000  -0.0132  -0.0005  -0.0000
    log-sigma sd 0.5      -0.0061  -0.0000  -0.0298  -0.0004  -0.0000
    log-sigma sd 2        +0.0319  +0.0000  +0.1041  +0.0015  +0.0000
    slot sd 1             -0.0001  -0.0000  -0.0149  -0.0010  -0.0000

Conclusion: only the 1,000-vote council sample, with 50 votes a judge, feels the widths at all. Narrower ones would help
it, but a log-sigma sd of 0.5 costs LLMBar 1.7 points of accuracy (llmbar_accuracy.py), and a strength sd under 3 would
pull leagues that span several logits together. A log-sigma sd of 2 is worse everywhere. The defaults stay at 10, 1, 3.
"""

from __future__ import annotations

import zlib

import numpy as np
import pandas as pd
from datasets import Data, load
from scipy.special import log_expit

import juryrank as jr
from juryrank.counts import opinions, showings
from juryrank.tables import Judgments

FOLDS = 5
STRENGTH, LOG_SIGMA, SLOT = (1.0, 2.0, 3.0, 5.0, 10.0), (0.5, 1.0, 2.0), (1.0, 3.0)


def fold_of(data: Data, table: pd.DataFrame) -> np.ndarray:
    """(rows,) fold by a stable hash of the context, or of judge and context."""
    keys = table["context"].astype(str)
    if data.contexts == "separate":
        keys = keys + "|" + table["judge"].astype(str)
    codes, names = pd.factorize(keys)
    return np.array([zlib.crc32(name.encode()) % FOLDS for name in names])[codes]


def loss(fit: jr.Fit, held: jr.Judgments | jr.Comparisons, contexts: str) -> tuple[float, int]:
    """Summed log-loss of held-out votes, and their number."""
    rows = showings(held) if isinstance(held, Judgments) else opinions(held)
    items = np.asarray(held.items, dtype=object)
    a, b = items[rows["item_a"]], items[rows["item_b"]]
    if contexts == "separate":
        names = np.asarray(held.table["context"].cat.categories, dtype=object)[rows["context"]]
        a, b = pd.MultiIndex.from_arrays([names, a]), pd.MultiIndex.from_arrays([names, b])
    judge = np.asarray(held.judges, dtype=object)[rows["judge"]]
    strength = fit.strengths.fillna(0.0)
    gap = strength.reindex(a).fillna(0.0).to_numpy() - strength.reindex(b).fillna(0.0).to_numpy()
    z = gap / fit.sigmas.reindex(judge).fillna(1.0).to_numpy()
    z = z + rows["slot"] * fit.slot_biases.reindex(judge).fillna(0.0).to_numpy()
    p = rows["p"]
    return float(-(p * log_expit(z) + (1 - p) * log_expit(-z)).sum()), len(p)


def held_out(data: Data, on: str, prior: jr.Prior) -> float:
    """Mean held-out log-loss."""
    source = data.judgments if on == "showings" else jr.reconcile(data.judgments)
    fold = fold_of(data, source.table)
    total, votes = 0.0, 0
    for k in range(FOLDS):
        train, test = (part(source, fold != k), part(source, fold == k))
        fit = jr.fit_bt(train, prior=prior, contexts=data.contexts, slot_bias=on == "showings", extra_starts=0)
        value, n = loss(fit, test, data.contexts)
        total, votes = total + value, votes + n
    return total / votes


def part(source: jr.Judgments | jr.Comparisons, rows: np.ndarray) -> jr.Judgments | jr.Comparisons:
    """Some rows of a table."""
    return type(source)(source.table[rows].reset_index(drop=True))


def main() -> None:
    grid = [jr.Prior(s, 1.0, 3.0) for s in STRENGTH] + [jr.Prior(10.0, t, 3.0) for t in LOG_SIGMA]
    grid += [jr.Prior(3.0, t, 3.0) for t in LOG_SIGMA] + [jr.Prior(10.0, 1.0, b) for b in SLOT]
    for on in ("showings", "comparisons"):
        sets = load()
        base = {data.name: held_out(data, on, jr.Prior()) for data in sets}
        print(f"\non {on}: " + ", ".join(f"{name} {value:.4f}" for name, value in base.items()))
        for prior in dict.fromkeys(grid):
            gains = [held_out(data, on, prior) - base[data.name] for data in sets]
            cells = "".join(f"{value:+10.4f}" for value in gains)
            print(f"{prior!s:60s}{cells}   mean {np.mean(gains):+.4f}", flush=True)


if __name__ == "__main__":
    main()
