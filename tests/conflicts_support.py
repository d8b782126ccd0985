"""Sources with planted contradictions, and without."""

import numpy as np
import pandas as pd

import juryrank as jr
from juryrank import tables
from juryrank.conflicts import contradictions

RING = [("A", "B", 30), ("B", "A", 5), ("B", "C", 30), ("C", "B", 5), ("C", "A", 30), ("A", "C", 5)]


def wins(*won, **columns):
    """Comparisons from (winner, loser, wins)."""
    return tables.comparisons(pd.DataFrame([{"item_a": a, "item_b": b, "p_a": 1, "weight": w} | columns for a, b, w in won]))


def found(source, draws=50, fit=None, **options):
    """The contradictions in comparisons, with a plain fit."""
    return contradictions(jr.fit_bt(source, judge_sigma=False, **(fit or {})), source, draws=draws, **options)


def drawn(seed, items=9, judges=2, spread=1.0, votes=1):
    """Comparisons drawn from BT-sigma, every pair by every judge."""
    rng = np.random.default_rng(seed)
    strength, sigma = rng.normal(0, spread, items), np.exp(rng.normal(0, 0.4, judges))
    a, b = np.triu_indices(items, 1)
    frames = []
    for judge in range(judges):
        chance = 1 / (1 + np.exp(-(strength[a] - strength[b]) / sigma[judge]))
        for _ in range(votes):
            rows = {"item_a": a.astype(str), "item_b": b.astype(str), "judge": f"j{judge}"}
            frames.append(pd.DataFrame(rows | {"p_a": (rng.random(len(a)) < chance) * 1.0}))
    return tables.comparisons(pd.concat(frames))


def rings(n):
    """`n` contexts, each a rock-paper-scissors of thirty wins to five."""
    rows = [{"context": str(c), "item_a": a, "item_b": b, "p_a": 1, "weight": w} for c in range(n) for a, b, w in RING]
    return tables.comparisons(pd.DataFrame(rows))
