"""How long do a thousand bootstrap refits of 200 items on 100,000 comparisons take, beside the rivals' own bootstraps?

Rivals that are installed are run in the same process with 100 resamples, and their time is multiplied by ten. Where a
package draws single battles, so do we (`by="row"`); "by group" resamples 500 groups.

    python benchmarks/bootstrap_speed.py

Measured (2 cores, two other jobs running): 1.9 s by group, 3.6 to 4.1 s by row (9 s with the first compilation); evalica
124 s, 30 times as long; arenakit 23 s, 5.6 times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pandas as pd

import juryrank as jr

ITEMS, ROWS, GROUPS, RESAMPLES, RIVALS = 200, 100_000, 500, 1000, 100


def battles(seed: int = 0) -> pd.DataFrame:
    """One row per comparison; every item is beaten by some and beats some."""
    rng = np.random.default_rng(seed)
    strength = rng.standard_normal(ITEMS)
    a = rng.integers(0, ITEMS, ROWS)
    b = (a + rng.integers(1, ITEMS, ROWS)) % ITEMS
    won = rng.random(ROWS) < 1 / (1 + np.exp(strength[b] - strength[a]))
    names = np.array([f"m{k:03d}" for k in range(ITEMS)])
    winner = np.where(won, "model_a", "model_b")
    context = np.char.add("p", rng.integers(0, GROUPS, ROWS).astype(str))
    return pd.DataFrame({"model_a": names[a], "model_b": names[b], "winner": winner, "context": context})


def seconds(run: Callable[[], object]) -> float:
    """Wall time."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def ours(rows: pd.DataFrame) -> float:
    """Prints both ways of drawing; returns the seconds by row, with everything compiled."""
    fit = jr.fit_bt(jr.read(rows))
    for by in ("group", "row"):
        first = seconds(lambda by=by: jr.bootstrap(fit, RESAMPLES, by=by))  # type: ignore[misc]
        again = seconds(lambda by=by: jr.bootstrap(fit, RESAMPLES, by=by))  # type: ignore[misc]
        print(
            f"juryrank, by {by:5s}: {again:6.1f} s for {RESAMPLES} ({first:.1f} s with what had to be compiled)", flush=True
        )
    return again


def evalica(rows: pd.DataFrame) -> None:
    """Percentile bootstrap; the default, BCa, asks for 75 GB here."""
    from evalica import Winner, bootstrap, bradley_terry

    winners = [Winner.X if won == "model_a" else Winner.Y for won in rows["winner"]]
    xs, ys = rows["model_a"].tolist(), rows["model_b"].tolist()
    bootstrap(bradley_terry, xs, ys, winners, n_resamples=RIVALS, bootstrap_method="percentile")


def arenakit(rows: pd.DataFrame) -> None:
    """Battles drawn one by one."""
    import arenakit as kit

    words = {"model_a": "a", "model_b": "b"}
    columns = zip(rows["model_a"], rows["model_b"], rows["winner"], strict=True)
    kit.bootstrap(kit.Arena([kit.Battle(model_a=a, model_b=b, winner=words[w]) for a, b, w in columns]), n_resamples=RIVALS)


def main() -> None:
    rows = battles()
    base = ours(rows)
    for rival in (evalica, arenakit):
        name = rival.__name__
        if find_spec(name) is None:
            print(f"{name} is not installed")
            continue
        took = seconds(lambda rival=rival: rival(rows)) * RESAMPLES / RIVALS  # type: ignore[misc]
        print(f"{name}: {took:6.1f} s for {RESAMPLES}, {took / base:.1f} times ours", flush=True)


if __name__ == "__main__":
    main()
