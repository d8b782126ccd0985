"""The fewest units whose removal lets another pass, found by aiming and told by refitting.

What is returned was refitted and did change who holds the places; that it is the fewest is not proved: every number is an
upper bound. Aim, take, refit, and aim again from there until the places change; search the last step for the size at which
they do; then aim with the pushes of both ends together, and see whether fewer do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from juryrank.estimate import Fit
from juryrank.influence.aim import Aim, again, aims
from juryrank.influence.standing import Places
from juryrank.influence.units import Units

#: refits that one search may take, and where they cost next to nothing
REFITS, CHEAP_REFITS = 15, 40
#: cells times judges up to which a refit costs next to nothing
CHEAP = 20_000
#: steps of one pair towards a change, and pairs that are tried
STEPS = 5
PAIRS = 3


@dataclass(frozen=True, eq=False)
class Found:
    """A set that changes the places, or how many units were tried in vain."""

    #: the first aim, None where no gap could be aimed at
    aim: Aim | None
    #: units that were allowed
    allowed: int = 0
    #: (units,) copies that are taken; None where no set was found
    taken: np.ndarray | None = None
    #: nodes at the refit: the holder that is passed, the one that passes
    passed: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class _Trial:
    """A set that was refitted."""

    taken: np.ndarray
    fit: Fit | None
    passed: tuple[int, int] | None
    #: the last holder's lead over the others; NaN where they are not compared
    lead: float

    @property
    def size(self) -> int:
        return int(self.taken.sum())


@dataclass(eq=False)
class _Refits:
    """Refits within a budget, and the smallest set that changed the places."""

    units: Units
    places: Places
    left: int
    #: whether refits climb from the whole fit alone, and not from every start
    warm: bool
    best: _Trial | None = field(default=None)

    @property
    def untouched(self) -> _Trial:
        """Nothing taken."""
        return self._trial(self.units.none(), self.units.fit)

    def of(self, taken: np.ndarray) -> _Trial:
        """Refit without a set, and keep it if it is the smallest that changes the places."""
        self.left -= 1
        trial = self._trial(taken, self.units.without(taken, self.units.fit if self.warm else None))
        if trial.passed is not None and trial.size < self.size:
            self.best = trial
        return trial

    def _trial(self, taken: np.ndarray, fit: Fit | None) -> _Trial:
        if fit is None:
            return _Trial(taken, None, None, math.nan)
        return _Trial(taken, fit, self.places.passed(fit), self.places.lead(fit))

    @property
    def size(self) -> float:
        """Of the smallest set so far."""
        return math.inf if self.best is None else self.best.size


def fewest(units: Units, places: Places, most: float) -> Found:
    """The smallest set found whose removal lets one of the others pass a holder.

    `most`: the share of the units that hold the pair apart, at the start, that may go. The search climbs from the whole fit;
    what it finds is fitted once more from every start, and searched that way where BT-sigma then ends elsewhere.
    """
    choices = aims(units, units.fit, units.none(), places, PAIRS)
    if not choices:
        return Found(None)
    allowed = math.ceil(most * choices[0].available)
    best = _smallest(units, places, choices, most, warm=True)
    if best is not None and units.fit.judge_sigma:
        sure = _Refits(units, places, 1, warm=False).of(best.taken)
        best = sure if sure.passed is not None else _smallest(units, places, choices, most, warm=False)
    return Found(choices[0], allowed) if best is None else Found(choices[0], allowed, best.taken, best.passed)


def _smallest(units: Units, places: Places, choices: list[Aim], most: float, *, warm: bool) -> _Trial | None:
    cheap = len(units.votes) * len(units.fit.sigmas) <= CHEAP
    tried = _Refits(units, places, CHEAP_REFITS if cheap else REFITS, warm)
    for aim in choices:
        if tried.left > 0 and aim.cost < tried.size:
            _pursue(tried, aim, int(min(math.ceil(most * aim.available), tried.size - 1)))
    if tried.best is not None and tried.best.passed is not None:
        _sharpen(tried, tried.best, tried.best.passed)
    if cheap:
        _thin(tried)
    return tried.best


def _pursue(tried: _Refits, aim: Aim, limit: int) -> None:
    """Take what one pair needs, step by step, until the places change; then search the last step."""
    start, step = tried.untouched, aim
    for turn in range(STEPS):
        wanted = step.available if step.needed is None or turn == STEPS - 1 else step.needed
        size = min(wanted, limit - start.size)
        if size <= 0 or tried.left <= 0:
            return
        end = tried.of(step.first(size, start.taken))
        if end.passed is not None:
            _search(tried, step, start.taken, start, end)
            return
        next_step = None if end.fit is None else again(aim.pair, tried.units, end.fit, end.taken)
        if next_step is None:
            return
        start, step = end, next_step


def _search(tried: _Refits, aim: Aim, base: np.ndarray, start: _Trial, end: _Trial) -> None:
    """The size between one that leaves the places and one that changes them, by secants and halves in turn.

    Both are what an aim takes beside a `base`.
    """
    secant = True
    while end.size - start.size > 1 and tried.left > 0:
        share = start.lead / (start.lead - end.lead) if secant and start.lead > end.lead else 0.5
        wide = end.size - start.size
        size = start.size + min(max(math.ceil(share * wide), 1), wide - 1)
        middle = tried.of(aim.first(size - int(base.sum()), base))
        start, end = (start, middle) if middle.passed is not None else (middle, end)
        secant = not secant


def _sharpen(tried: _Refits, found: _Trial, pair: tuple[int, int]) -> None:
    """Whether fewer do, in the order that the pushes before and after give together."""
    start, end, less = tried.untouched, found, 1
    assert found.fit is not None
    aim = again(pair, tried.units, found.fit, start.taken, tried.units.fit)
    if aim is None or aim.available < found.size - 1:
        return
    while end.size > less and tried.left > 0:
        trial = tried.of(aim.first(end.size - less, start.taken))
        if trial.passed is None:
            start = trial
            break
        end, less = trial, 2 * less
    if end is not found:
        _search(tried, aim, tried.units.none(), start, end)


def _thin(tried: _Refits) -> None:
    """Whether the smallest set does with one copy less of some unit, which first order cannot tell where votes are few."""
    found = None
    while tried.best is not found and tried.best is not None:
        found = tried.best
        for place in np.flatnonzero(found.taken):
            if tried.best is not found or tried.left <= 0 or found.size == 1:
                break
            taken = found.taken.copy()
            taken[place] -= 1
            tried.of(taken)
