"""Do the judges fall into two camps that agree within and not across? No rule can know which of them is right."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_array
from scipy.spatial.distance import squareform

from juryrank.verdicts.panel import A, B, plurality, sign_test
from juryrank.verdicts.votes import Votes

#: mean correlation within a camp that counts as agreement, in standard errors of one correlation
WITHIN = 2.0
#: the share of it across that counts as none, and the standard errors of it that noise may add: two camps are as one pair of
#: judges, however many they are (benchmarks/verdict_rules.py)
ACROSS, NOISE = 0.1, 3.0
#: p-value of equal camps under which labels tell which is right
TOLD = 0.05
#: judges beyond which camps are not looked for
MOST = 500


Camps = tuple[list[str], list[str]]


def camps(votes: Votes) -> Camps | None:
    """The two camps by name, the larger first; None where there are none."""
    if not 4 <= len(votes.judges) <= MOST:
        return None
    correlation = correlations(votes)
    if np.isnan(correlation).any():
        return None
    distance = np.clip(1 - correlation, 0, 2)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), "average")
    side = fcluster(tree, 2, "maxclust") == 1
    if min(side.sum(), (~side).sum()) < 2:
        return None
    inside = [_mean(correlation[np.ix_(part, part)]) for part in (side, ~side)]
    across = float(correlation[np.ix_(side, ~side)].mean())
    error = 1 / np.sqrt(len(votes.questions))
    if min(inside) < WITHIN * error or across > max(ACROSS, NOISE * error) * min(inside):
        return None
    first, second = (votes.judges[part].tolist() for part in (side, ~side))
    return (first, second) if len(first) >= len(second) else (second, first)


def told_apart(split: Camps, votes: Votes, known: np.ndarray) -> bool:
    """Whether labels show one camp's plurality to be right more often than the other's (sign test)."""
    first, second = (_plurality(votes, camp) for camp in split)
    tested = ~np.isnan(known) & (first <= B) & (second <= B) & (first != second)
    wins = int(((first == A) == (known == 1))[tested].sum())
    p = sign_test(wins, int(tested.sum()))
    return p is not None and p < TOLD


def _plurality(votes: Votes, camp: list[str]) -> np.ndarray:
    sums = votes.sums(np.isin(votes.judges, camp).astype(float))
    return plurality(sums, sums.sum(axis=1))


def _mean(square: np.ndarray) -> float:
    n = len(square)
    return float((square.sum() - np.trace(square)) / (n * (n - 1)))


def correlations(votes: Votes) -> np.ndarray:
    """(judges, judges) correlation of votes (A = 1, B = -1, else 0) over shared questions; NaN where it is not defined."""
    shape = (len(votes.questions), len(votes.judges))
    kept = votes.spoken
    value = np.where(votes.vote == A, 1.0, np.where(votes.vote == B, -1.0, 0.0))[kept]
    place = (votes.question[kept], votes.judge[kept])
    number = coo_array((np.ones(int(kept.sum())), place), shape).tocsr()
    vote = coo_array((value, place), shape).tocsr()
    here = (number > 0).astype(float)
    shared = (here.T @ here).toarray()
    with np.errstate(invalid="ignore", divide="ignore"):
        sums, squares = (vote.T @ here).toarray() / shared, ((vote**2).T @ here).toarray() / shared
        spread = np.sqrt(squares - sums**2)
        return ((vote.T @ vote).toarray() / shared - sums * sums.T) / (spread * spread.T)
