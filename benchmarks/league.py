"""How long does a chatbot league take: 52 systems, 60,000 battles clustered by prompt, with rank sets, top tier, fragility?

Strengths have a standard deviation of 0.8 logits; each of 12,000 prompts adds 0.5 to what every system has of its own. The
first call compiles nothing (the plain fit is small enough for the host), but imports; the second is timed beside it.

    python benchmarks/league.py

Measured (2 cores, two other jobs running): rank 1.4 s (4.8 s the first time), fragility of the first place and the first ten
3.5 s.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import juryrank as jr

SYSTEMS, BATTLES, PROMPTS = 52, 60_000, 12_000


def battles(seed: int = 0) -> pd.DataFrame:
    """Arena battles."""
    rng = np.random.default_rng(seed)
    strength, own = 0.8 * rng.standard_normal(SYSTEMS), 0.5 * rng.standard_normal((PROMPTS, SYSTEMS))
    a = rng.integers(0, SYSTEMS, BATTLES)
    b = (a + rng.integers(1, SYSTEMS, BATTLES)) % SYSTEMS
    prompt = rng.integers(0, PROMPTS, BATTLES)
    gap = strength[a] - strength[b] + own[prompt, a] - own[prompt, b]
    names = np.array([f"system-{k:02d}" for k in range(SYSTEMS)])
    winner = np.where(rng.random(BATTLES) < 1 / (1 + np.exp(-gap)), "model_a", "model_b")
    context = np.char.add("p", prompt.astype(str))
    return pd.DataFrame({"model_a": names[a], "model_b": names[b], "winner": winner, "context": context})


def main() -> None:
    rows = battles()
    for turn in ("first", "again"):
        start = time.perf_counter()
        ranking = jr.rank(rows)
        ranked = time.perf_counter()
        fragile = jr.fragility(ranking, top_k=10)
        print(f"{turn}: rank {ranked - start:.1f} s, fragility {time.perf_counter() - ranked:.1f} s", flush=True)
    tier = ranking.frame[(ranking.frame["tier"] == 1).to_numpy()]["item"].tolist()
    print(f"errors: {ranking.settings['covariance']}; top tier: {', '.join(tier)}")
    print(fragile)


if __name__ == "__main__":
    main()
