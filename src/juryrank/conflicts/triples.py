"""Triples of nodes with all three pairs compared: listed once, judged in many redraws at a time.

Nodes take places by how many pairs they are in, fewest first, so that paths low - middle - high stay few (Chiba and
Nishizeki 1985). With F the sign of a pair seen from its lower place, a triple u < v < w goes round where
F_uv = F_vw = -F_uw.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

#: pairs of pairs that share their lower place which are looked at; beyond, a sample of them
LOOKED_AT = 2**21
#: triples counted at once, times redraws
BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class Triples:
    """Triples by the pairs that they are made of."""

    #: (triples, 3) numbers of the pairs (u, v), (v, w), (u, w)
    pairs: np.ndarray
    #: (pairs,) +1 where the first node of a pair has the lower place, else -1
    turn: np.ndarray

    def __len__(self) -> int:
        return len(self.pairs)

    def count(self, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(redraws,) each: triples that go round, and triples without a tie.

        `signs`: (pairs, redraws), +1 where the first node of a pair won, -1 where it lost, 0 for a tie.
        """
        seen = (signs * self.turn[:, None]).astype(np.int8)
        cyclic, decided = np.zeros((2, signs.shape[1]), np.int64)
        step = max(1, BLOCK // max(1, signs.shape[1]))
        for start, end in pairwise([*range(0, len(self), step), len(self)]):
            up, on, over = (seen[self.pairs[start:end, side]] for side in range(3))
            cyclic += ((up == on) & (on == -over) & (up != 0)).sum(axis=0)
            decided += ((up != 0) & (on != 0) & (over != 0)).sum(axis=0)
        return cyclic, decided

    def going_round(self, signs: np.ndarray) -> np.ndarray:
        """(cycles, 3) pairs of the triples that go round; `signs`: (pairs,)."""
        up, on, over = (signs[self.pairs] * self.turn[self.pairs]).T
        return self.pairs[(up == on) & (on == -over) & (up != 0)]


def triples(a: np.ndarray, b: np.ndarray, rng: np.random.Generator, most: int | None = None) -> Triples:
    """All triples of distinct pairs (a, b), or an even sample of about `most`."""
    place = _places(np.concatenate((a, b)))
    first, second = place[a], place[b]
    low, high = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((high, low))
    size = len(place)
    keys = low[order] * size + high[order]
    one, other = _wedges(low[order], rng)
    wanted = high[order][one] * size + high[order][other]
    found = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    closed = np.flatnonzero(keys[found] == wanted) if len(keys) else np.empty(0, np.int64)
    if most is not None and len(closed) > most:
        closed = rng.choice(closed, most, replace=False)
    pairs = np.column_stack([order[side[closed]] for side in (one, found, other)])
    return Triples(pairs, np.where(first < second, 1, -1).astype(np.int8))


def _places(ends: np.ndarray) -> np.ndarray:
    seen = np.bincount(ends)
    place = np.empty(len(seen), np.int64)
    place[np.argsort(seen, kind="stable")] = np.arange(len(seen))
    return place


def _wedges(low: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Positions of two pairs with the same lower place, the earlier first; `low` is sorted."""
    start = np.searchsorted(low, low)
    ends = np.cumsum(np.arange(len(low)) - start)
    total = int(ends[-1]) if len(ends) else 0
    number = np.arange(min(total, LOOKED_AT))
    if total > LOOKED_AT:
        # one from each of equal stretches is an even sample and sorted already
        number = ((number + rng.random(LOOKED_AT)) * (total / LOOKED_AT)).astype(np.int64)
        number = number[np.diff(number, prepend=-1) > 0]
    later = np.searchsorted(ends, number, side="right")
    return start[later] + number - (ends[later] - (later - start[later])), later
