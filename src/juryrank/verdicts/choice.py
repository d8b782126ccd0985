"""Which weighted rule stands beside the plurality, and when none may."""

from __future__ import annotations

import numpy as np
from scipy.special import bdtr

from juryrank.verdicts.camps import Camps, camps, told_apart
from juryrank.verdicts.panel import NONE, A, B, plurality
from juryrank.verdicts.rules import RULES, Panel, Weighted, clamped, even

#: chosen by benchmarks/verdict_rules.py
DEFAULT = "bt-sigma-questions"
#: p-value of a panel that is right half the time under which labels show that it misleads: a few unlucky labels must not
#: silence it
MISLED = 0.001
AGGREGATIONS = ("auto", "plurality", *RULES)


def choose(aggregation: str, panel: Panel) -> Weighted:
    """What the named rule says, and a word on two camps and on labels.

    "auto" weighs judges by DEFAULT. Two camps are not weighed against each other on the votes alone, which would crown the
    one that errs more alike: between them all judges weigh the same, until labels tell which is right. Where labels show
    the weighted panel to be wrong more often than not, "auto" has no winner beyond them.
    """
    split = camps(panel.votes)
    if aggregation == "plurality":
        return _labelled(panel, _plain(panel, split))
    if aggregation != "auto":
        return _labelled(panel, RULES[aggregation](panel).saying(_said(split, panel)))
    if split and not told_apart(split, panel.votes, panel.known):
        return _labelled(panel, _plain(panel, split))
    found = RULES[DEFAULT](panel)
    if not np.nan_to_num(found.weights).any():
        found = even(panel, DEFAULT, "no judge is seen to tell more than chance.")
    opposed = found.outnumbered
    if opposed and not told_apart(opposed, panel.votes, panel.known):
        return _labelled(panel, _plain(panel, opposed))
    return _labelled(panel, _trusted(panel, found.saying(_said(split, panel))))


def _plain(panel: Panel, split: Camps | None) -> Weighted:
    """The plurality, as a rule."""
    verdict = even(panel, "plurality")
    return verdict.saying(_said(split, panel, " All judges weigh the same.")) if split else verdict


def _said(split: Camps | None, panel: Panel, also: str = "") -> tuple[str, ...]:
    if split is None:
        return ()
    first, second = (", ".join(map(str, camp[:8])) for camp in split)
    if np.isnan(panel.known).all():
        which = "Nothing in the votes says which camp is right; labels for some questions would."
    elif told_apart(split, panel.votes, panel.known):
        which = "The labels tell which camp is right."
    else:
        which = "Nothing in the votes says which camp is right, and the labels are too few to tell."
    return (f"the judges fall into two camps that agree within and not across: {first} against {second}. {which}{also}",)


def _trusted(panel: Panel, found: Weighted) -> Weighted:
    """No winner but the labels', where these show that the panel, weighed as it is, misleads."""
    sums = panel.votes.sums(np.nan_to_num(found.weights))
    said = plurality(sums, sums.sum(axis=1))
    tested = ~np.isnan(panel.known) & (said <= B)
    n, right = int(tested.sum()), int(((said == A) == (panel.known == 1))[tested].sum())
    p = float(bdtr(right, n, 0.5)) if n else 1.0
    if p >= MISLED:
        return found
    word = (
        f"the labels show that the panel misleads: weighed as it is, it is right on {right} of {n} labelled questions "
        f"(p = {p:.2g}). There is no weighted winner where there is no label."
    )
    return found.deciding(clamped(panel, np.full(len(said), NONE))).saying((word,))


def _labelled(panel: Panel, found: Weighted) -> Weighted:
    """A word on questions whose weighted winner is the label."""
    n = int((~np.isnan(panel.known)).sum())
    if not n:
        return found
    return found.saying((f"{n} question{'s have' if n > 1 else ' has'} the weighted winner that the labels name.",))
