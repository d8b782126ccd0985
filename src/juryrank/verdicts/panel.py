"""One question, several judges: votes -> a verdict.

Conventions: a vote is for A, for B, a tie, or none (failure, abstention, disagreement between the two orders). Decisive
votes are the first three. `plurality`: the largest of A, B and tie among them, strictly, with at least `quorum` decisive
votes; else `inconclusive`. `unanimous`: unreadable votes are left out, a judge that answers otherwise in the other order
counts as a tie; all equal is that vote, a difference `split`, nothing left `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

import numpy as np
from scipy.special import bdtr

from juryrank.errors import SettingsError
from juryrank.reconciliation import Reconciled

A, B, TIE, NONE = range(4)
WORDS = ("A", "B", "tie")
RULES = ("plurality", "unanimous")
#: sums of weights closer than this, relatively, are level whatever the order of summation
EQUAL = 1e-9

Vote = str | Reconciled | None


def panel_verdict(votes: Iterable[Vote], rule: str = "plurality", quorum: int = 1) -> str:
    """The panel's word: "A", "B", "tie", or "inconclusive" (plurality), "split" or "unknown" (unanimous).

    A vote is "A", "B", "tie", None, or a `Reconciled` over the items ("A", "B").
    """
    if rule not in RULES:
        raise SettingsError(f"no rule {rule!r}; expected one of {', '.join(RULES)}.")
    if isinstance(votes, str):
        raise SettingsError(f"votes={votes!r} is one text; expected the votes one by one.")
    if not isinstance(votes, Iterable):
        raise SettingsError(f"votes={votes!r} is no list; expected the votes one by one.")
    check_quorum(quorum)
    read = [_vote(vote, flipped_is_tie=rule == "unanimous") for vote in votes]
    decisive = [vote for vote in read if vote != NONE]
    if rule == "unanimous":
        words = {WORDS[vote] for vote in decisive}
        return "unknown" if not words else words.pop() if len(words) == 1 else "split"
    counts = np.bincount(decisive, minlength=3)[None, :].astype(float)
    winner = int(plurality(counts, np.array([len(decisive)]), quorum)[0])
    return "inconclusive" if winner == NONE else WORDS[winner]


def _vote(vote: Vote, *, flipped_is_tie: bool) -> int:
    if isinstance(vote, Reconciled):
        if flipped_is_tie and vote.flipped:
            return TIE
        vote = vote.winner if vote.status == "win" else "tie" if vote.status == "tie" else None
    if vote is None:
        return NONE
    if vote not in WORDS:
        raise SettingsError(f"{vote!r} is no vote; expected 'A', 'B', 'tie', None or a Reconciled.")
    return WORDS.index(vote)


def plurality(weights: np.ndarray, decisive: np.ndarray, quorum: int = 1) -> np.ndarray:
    """(questions, 3) summed weights of A, B, tie -> (questions,) A, B, TIE, or NONE where two are level or votes lack."""
    best = weights.max(axis=1, keepdims=True)
    leaders = weights >= best * (1 - EQUAL)
    clear = (leaders.sum(axis=1) == 1) & (best[:, 0] > 0) & (decisive >= quorum)
    return np.where(clear, leaders.argmax(axis=1), NONE)


def check_quorum(quorum: object) -> None:
    """Refuses what is no count of votes."""
    if not isinstance(quorum, Integral) or isinstance(quorum, bool) or quorum < 1:
        raise SettingsError(f"quorum is {quorum!r}; expected a whole number of at least 1.")


def sign_test(wins: int, n: int) -> float | None:
    """Exact two-sided sign test of equal chances; None without a trial."""
    return min(1.0, 2 * float(bdtr(min(wins, n - wins), n, 0.5))) if n else None
