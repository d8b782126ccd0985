"""What was found about the first places, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

UNITS = {"row": "vote", "judge": "judge", "group": "group"}
#: names that a sentence lists
LISTED = 5


def amount(n: int, unit: str) -> str:
    """`1 vote`, `1,200 votes`."""
    return f"{n:,} {unit}{'s' * (n != 1)}"


def overturned(k: int, by: str, units: int, votes: int, of: int, falls: str, rises: str) -> str:
    """A set was found and confirmed."""
    share = f"{votes / of:.1%}" if votes >= 0.001 * of else "under 0.1%"
    gone = f"{votes:,} of {of:,} votes" if by == "row" else f"{amount(units, UNITS[by])} ({votes:,} of {of:,} votes)"
    place = f"{falls} is first, but without" if k == 1 else f"{falls} is among the first {k}, but without"
    return f"{place} {gone} ({share}) {rises} is ahead of it: a refit confirms that, and fewer may do."


def held(k: int, by: str, allowed: int, available: int, ahead: str, behind: str) -> str:
    """No set was found."""
    what = f"{ahead} keeps the first place" if k == 1 else f"The first {k} stay as they are"
    favour = f"of {available:,} that favour {ahead} over {behind}"
    return f"{what}: no set of up to {amount(allowed, UNITS[by])}, {favour}, was found with which another passes."


def shared(k: int, one: str, other: str) -> str:
    """Two are level where the places end."""
    which = "The first place" if k == 1 else f"Place {k}"
    return f"{which} is shared by {one} and {other}: no vote has to go for another to hold it."


def all_inside(k: int) -> str:
    """There is nobody outside."""
    return f"All items are among the first {k}: none can pass another into them."


def unmeasured(k: int, holder: str) -> str:
    """All gaps are infinite."""
    inside = holder if k == 1 else f"the first {k}"
    return (
        f"No chain of wins leads both ways between {inside} and the others: how few votes hold up the lead cannot be said."
    )


def about(kind: str, frame: pd.DataFrame, of: int, leader: str, k: int) -> str:
    """What changes when judges, or groups, are left out one by one."""
    if not len(frame):
        return f"{of:,} {kind}s are too many to be left out one by one."
    name = frame.columns[0]
    first, top = (frame[frame[column].to_numpy()] for column in ("changes_first", "changes_top_k"))
    tried = f"all {of:,}" if len(frame) == of else f"the {len(frame)} of {of:,} that matter most"
    places = (
        "" if k == 1 else f"; the first {k} " + (f"change without {_some(top[name])}" if len(top) else "stay as they are")
    )
    said = f"without {kind} {_each(first, name, leader)}" if len(first) else f"{leader} stays first"
    return f"With one {kind} left out ({tried} tried), {said}{places}."


def _each(moved: pd.DataFrame, name: str, leader: str) -> str:
    told = [
        f"{one} " + _first(first, leader if math.isnan(lead) else None)
        for one, first, lead in zip(moved[name], moved["first"], moved["lead"], strict=True)
    ]
    return ", without ".join(told[:LISTED]) + (f", and so on for {len(told) - LISTED} more" if len(told) > LISTED else "")


def _first(first: str | None, lost: str | None) -> str:
    if first is None:
        return "nothing can be ranked"
    return f"{first} is first" + ("" if lost is None else f", for {lost} is no longer compared")


def _some(names: Sequence[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:LISTED]) + (f" or {len(listed) - LISTED} more" if len(listed) > LISTED else "")
