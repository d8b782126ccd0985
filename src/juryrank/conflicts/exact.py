"""The total order that contradicts least, exactly: dynamic programming over subsets (Held and Karp 1962)."""

from __future__ import annotations

import numpy as np


def least_exact(margin: np.ndarray) -> float:
    """The smallest total of `margin[i, j]` over pairs that an order puts the wrong way round, j before i.

    `margin`: (n, n), not negative. Time and memory grow as n 2^n: for n up to about 15.

        best(S) = min over v in S of best(S - v) + sum of margin[v, u] over u in S - v:   v comes last of S
    """
    n = len(margin)
    sets = np.arange(1 << n)
    member = (sets[:, None] >> np.arange(n)) & 1
    cost = member @ margin.T
    size = member.sum(axis=1)
    best = np.full(1 << n, np.inf)
    best[0] = 0.0
    for k in range(1, n + 1):
        layer = sets[size == k]
        for last in range(n):
            whole = layer[member[layer, last] == 1]
            rest = whole ^ (1 << last)
            best[whole] = np.minimum(best[whole], best[rest] + cost[rest, last])
    return float(best[-1])
