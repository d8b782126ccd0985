"""How few units change who holds the first places, as a result that says who falls, who rises and which votes went."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pandas as pd

from juryrank.document import plain, records
from juryrank.influence.search import Found, fewest
from juryrank.influence.sentences import all_inside, held, overturned, shared, unmeasured
from juryrank.influence.standing import Places
from juryrank.influence.units import REMOVED, Units

#: removed votes that a document lists
LISTED = 50


@dataclass(frozen=True, eq=False)
class Change:
    """The smallest set of votes found whose removal changes the first k places; None where there is no number."""

    #: places, and who holds them, best first
    k: int
    holders: tuple[str, ...]
    #: what goes at once: "row" (single votes), "judge" or "group"
    by: str
    #: all votes, and all units (votes, judges or groups)
    of: int
    units_of: int
    #: votes removed, and the units that they are; an upper bound of the fewest, confirmed by a refit
    votes: int | None = None
    units: int | None = None
    #: what the influence of the votes says to first order, before any refit; None where it does not reach
    votes_predicted: int | None = None
    #: at the refit: a holder, and an item that did not hold a place and is ahead of it
    falls: str | None = None
    rises: str | None = None
    #: the votes: row (position in the table that was fitted), context, judge, item_a, item_b, p_a, votes, weight
    removed: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=REMOVED), repr=False)
    #: the finding in a sentence
    sentence: str = ""
    #: why places could not be asked about at all; None where they could
    reason: str | None = None

    @property
    def verified(self) -> bool:
        """Whether a refit without the votes confirmed the change."""
        return self.votes is not None

    @property
    def share(self) -> float | None:
        """Votes removed / all votes."""
        return None if self.votes is None else self.votes / self.of

    @property
    def leader(self) -> str | None:
        """Who is first."""
        return self.holders[0] if self.holders else None

    @property
    def challenger(self) -> str | None:
        """Who is ahead of a holder without the votes."""
        return self.rises

    @classmethod
    def unknown(cls, units: Units, k: int, reason: str) -> Change:
        """Nothing could be asked."""
        return cls(k, (), units.by, units.total, _number(units), sentence=reason, reason=reason)

    def to_dict(self) -> dict[str, object]:
        """A JSON object; at most fifty of the removed votes."""
        names = ("k", "by", "votes", "votes_predicted", "of", "share", "units", "units_of", "falls", "rises")
        document: dict[str, object] = {name: plain(getattr(self, name)) for name in (*names, "verified", "sentence")}
        return document | {"holders": list(self.holders), "removed": records(self.removed.head(LISTED))}


def change(units: Units, places: Places, most: float) -> Change:
    """Search the fewest units whose removal changes some places; `most`: the share of those that hold them that may go."""
    item = units.fit.counts.items
    holders = tuple(item[node] for node in places.holders)
    base = Change(len(holders), holders, units.by, units.total, _number(units))
    if not len(places.others):
        return replace(base, sentence=all_inside(base.k))
    level = places.shared(units.fit)
    if level is not None:
        return replace(base, sentence=shared(base.k, holders[-1], item[level]))
    return _told(base, units, fewest(units, places, most))


def _number(units: Units) -> int:
    return units.total if units.by == "row" else len(units)


def _told(base: Change, units: Units, found: Found) -> Change:
    item, aim = units.fit.counts.items, found.aim
    if aim is None:
        return replace(base, sentence=unmeasured(base.k, base.holders[-1]))
    base = replace(base, votes_predicted=None if aim.needed is None else units.votes_in(aim.first(aim.needed, units.none())))
    if found.taken is None or found.passed is None:
        ahead, behind = (item[node] for node in aim.pair)
        return replace(base, sentence=held(base.k, base.by, found.allowed, aim.available, ahead, behind))
    falls, rises = (item[node] for node in found.passed)
    taken, votes = int(found.taken.sum()), units.votes_in(found.taken)
    return replace(
        base,
        votes=votes,
        units=taken,
        falls=falls,
        rises=rises,
        removed=units.removed(found.taken),
        sentence=overturned(base.k, base.by, taken, votes, base.of, falls, rises),
    )
