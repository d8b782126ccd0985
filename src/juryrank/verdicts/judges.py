"""The judges beside each other: against known winners, against one another, and what the verdict is without each."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.special import ndtri

from juryrank.errors import InputError
from juryrank.verdicts.camps import correlations
from juryrank.verdicts.panel import A, B, plurality
from juryrank.verdicts.votes import Votes

#: chance of seeing a difference that is there, for which labels are counted
POWER = 0.8
#: judges beyond which pairs are not listed
MOST = 200


def wilson(wins: float, n: float, level: float) -> tuple[float | None, float | None]:
    """Wilson's interval of a share (1927, JASA 22:209); (None, None) without a trial."""
    if not n:
        return None, None
    z = float(ndtri(0.5 + level / 2))
    middle, reach = wins + z**2 / 2, z * math.sqrt(wins * (n - wins) / n + z**2 / 4)
    return max(0.0, float(middle - reach) / (n + z**2)), min(1.0, float(middle + reach) / (n + z**2))


def truth(votes: Votes, known: np.ndarray, level: float) -> pd.DataFrame:
    """By judge, over its picks on labelled questions: labelled, accuracy with Wilson interval, sensitivity per side."""
    label = known[votes.question]
    tested = ~np.isnan(label) & (votes.vote <= B)
    right = tested & ((votes.vote == A) == (label == 1))
    n, good = votes.by_judge(tested), votes.by_judge(right)
    ends = [wilson(r, t, level) for r, t in zip(good.tolist(), n.tolist(), strict=True)]
    frame = pd.DataFrame({"judge": votes.judges, "labelled": n, "accuracy": share(good, n)})
    frame["low"], frame["high"] = (np.array([end[i] for end in ends], dtype=float) for i in (0, 1))
    for name, side in (("sensitivity_a", 1), ("sensitivity_b", 0)):
        frame[name] = share(votes.by_judge(right & (label == side)), votes.by_judge(tested & (label == side)))
    return frame


def labels_to_separate(votes: Votes, known: np.ndarray, one: str, other: str, level: float = 0.95) -> int | None:
    """How many more labels would tell the accuracies of two judges apart, with a chance of 0.8 (McNemar's test).

    From the rates at which exactly one of the two is right on the labelled questions; None where they are equal there, or
    fewer than two such questions exist.
    """
    both = _right(votes, known, one, other)
    n, only_one, only_other = len(both), float((both == (1, 0)).all(1).sum()), float((both == (0, 1)).all(1).sum())
    if n < 2 or only_one == only_other:
        return None
    apart, gap = (only_one + only_other) / n, abs(only_one - only_other) / n
    z = float(ndtri(0.5 + level / 2)) * math.sqrt(apart) + float(ndtri(POWER)) * math.sqrt(max(apart - gap**2, 0.0))
    return max(0, math.ceil((z / gap) ** 2) - n)


def _right(votes: Votes, known: np.ndarray, one: str, other: str) -> np.ndarray:
    """(questions, 2): whether each judge is right, where the question is labelled and both picked a side."""
    votes = votes.by_cell()
    grid = np.full((len(votes.questions), 2), np.nan)
    for column, name in enumerate((one, other)):
        if name not in votes.judges:
            raise InputError(f"no judge {name!r}; found {', '.join(map(str, votes.judges[:10]))}.")
        mine = (votes.judges[votes.judge] == name) & (votes.vote <= B)
        question = votes.question[mine]
        grid[question, column] = (votes.vote[mine] == A) == (known[question] == 1)
    return grid[~np.isnan(known) & ~np.isnan(grid).any(axis=1)]


def pairs(votes: Votes) -> pd.DataFrame:
    """Every two judges: shared questions, those decided by both, share of equal picks there, correlation of votes."""
    if len(votes.judges) > MOST:
        return pd.DataFrame(columns=["judge", "other", "shared", "decided", "equal", "correlation"])
    votes = votes.by_cell()
    n, k = len(votes.questions), len(votes.judges)
    pick, spoke = np.zeros((n, k)), np.zeros((n, k))
    pick[votes.question, votes.judge] = np.where(votes.vote == A, 1.0, np.where(votes.vote == B, -1.0, 0.0))
    spoke[votes.question, votes.judge] = votes.spoken
    one, other = np.triu_indices(k, 1)
    sided = np.abs(pick)
    both = (sided.T @ sided)[one, other]
    alike = ((pick.T @ pick)[one, other] + both) / 2
    return pd.DataFrame(
        {
            "judge": votes.judges[one],
            "other": votes.judges[other],
            "shared": (spoke.T @ spoke)[one, other],
            "decided": both,
            "equal": share(alike, both),
            "correlation": correlations(votes)[one, other],
        }
    )


def outlier(table: pd.DataFrame) -> str | None:
    """The judge whose votes correlate least with the others'; None under three judges."""
    ends = pd.concat(
        [table[["judge", "correlation"]], table[["other", "correlation"]].set_axis(["judge", "correlation"], axis=1)]
    )
    mean = ends.groupby("judge")["correlation"].mean().dropna()
    return None if len(mean) < 3 else str(mean.idxmin())


def without(votes: Votes, families: Mapping[str, str] | None, quorum: int) -> pd.DataFrame:
    """The plurality when a judge, or a family of judges, is left out: left_out, a_wins, b_wins."""
    groups = [(str(name), np.array([name])) for name in votes.judges]
    for judge in families or {}:
        if judge not in votes.judges:
            raise InputError(f"families name the judge {judge!r}; found {', '.join(map(str, votes.judges[:10]))}.")
    for family in sorted(set((families or {}).values()), key=str):
        members = np.array([judge for judge in votes.judges if (families or {}).get(judge) == family], dtype=object)
        if len(members) > 1:
            groups.append((f"family {family}", members))
    rows = []
    for name, members in groups:
        kept = (~np.isin(votes.judges, members)).astype(float)
        votes_left = (votes.sums(kept) if kept.any() else np.zeros((len(votes.questions), 3))).round(9)
        winner = plurality(votes_left, votes_left.sum(axis=1), quorum)
        rows.append((name, int((winner == A).sum()), int((winner == B).sum())))
    return pd.DataFrame(rows, columns=["left_out", "a_wins", "b_wins"])


def share(part: np.ndarray, of: np.ndarray) -> np.ndarray:
    """part / of, NaN where there is nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(of > 0, part / of, np.nan)
