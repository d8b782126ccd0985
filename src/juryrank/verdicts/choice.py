"""Which weighted rule stands beside the plurality, and when none may."""

from __future__ import annotations

from juryrank.verdicts.camps import Camps, camps, told_apart
from juryrank.verdicts.rules import RULES, Panel, Weighted, even

#: chosen by benchmarks/verdict_rules.py
DEFAULT = "bt-sigma-questions"
AGGREGATIONS = ("auto", "plurality", *RULES)


def choose(aggregation: str, panel: Panel) -> Weighted:
    """What the named rule says, and a word on two camps.

    "auto" weighs judges by DEFAULT. Two camps are not weighed against each other on the votes alone, which would crown the
    one that errs more alike: between them all judges weigh the same, until labels tell which is right.
    """
    split = camps(panel.votes)
    if aggregation == "plurality":
        return _plain(panel, split)
    if aggregation != "auto":
        return RULES[aggregation](panel).saying(_said(split))
    if split and not told_apart(split, panel.votes, panel.known):
        return _plain(panel, split)
    found = RULES[DEFAULT](panel)
    opposed = found.outnumbered
    if opposed and not told_apart(opposed, panel.votes, panel.known):
        return _plain(panel, opposed)
    return found.saying(_said(split))


def _plain(panel: Panel, split: Camps | None) -> Weighted:
    """The plurality, as a rule."""
    verdict = even(panel, "plurality")
    return verdict.saying(_said(split, " All judges weigh the same.")) if split else verdict


def _said(split: Camps | None, also: str = "") -> tuple[str, ...]:
    if split is None:
        return ()
    first, second = (", ".join(map(str, camp[:8])) for camp in split)
    return (
        f"the judges fall into two camps that agree within and not across: {first} against {second}. Nothing in the votes "
        f"says which camp is right; labels for some questions would.{also}",
    )
