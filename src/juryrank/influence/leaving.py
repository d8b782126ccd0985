"""Each judge, or each group, left out in turn: who is first then, and who holds the first places.

Where there are few, each is left out by a refit. Where there are many, the lead without each is first predicted to first
order, and those with the smallest leads are refitted: what is listed is always a refit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from juryrank.estimate import Fit
from juryrank.influence.aim import CELLS, lever
from juryrank.influence.standing import Places
from juryrank.influence.units import Units

#: of the tables, after the name of the judge or group
COLUMNS = ["votes", "first", "lead", "changes_first", "changes_top_k"]


def left_out(units: Units, names: Sequence[str], first: Places, top: Places, most: int) -> pd.DataFrame:
    """One row per judge or group that was left out by a refit, at most `most`, the smallest lead first.

    Columns: judge or group; `votes`; `first`, who is first without it (None where no order is left); `lead`, in logits, of
    who is first with all votes (NaN where it is not compared); `changes_first` and `changes_top_k`, whether one who holds a
    place with all votes is passed, or no longer compared.
    """
    chosen = _smallest(units, first, top, most) if len(units) > 1 and most else []
    rows = [(names[units.code[place]], *_without(units, place, first, top)) for place in chosen]
    frame = pd.DataFrame(rows, columns=[units.by, *COLUMNS])
    return frame.sort_values(["lead", units.by], kind="stable", na_position="first", ignore_index=True)


def _without(units: Units, place: int, first: Places, top: Places) -> tuple[object, ...]:
    taken = units.none()
    taken[place] = 1
    fit, votes = units.without(taken, units.fit), units.votes_in(taken)
    if fit is None:
        return votes, None, np.nan, True, True
    strength = np.where(fit.graph.component == 1, fit.strengths.to_numpy(), np.nan)
    leader = int(np.nanargmax(np.where(np.isnan(strength), -np.inf, strength)))
    moved = [_moved(places, fit) for places in (first, top)]
    if not moved[0]:
        leader = int(first.holders[0])
    return votes, fit.counts.items[fit.counts.node_item[leader]], first.lead(fit), *moved


def _moved(places: Places, fit: Fit) -> bool:
    """Whether a holder is passed, or no longer compared with the rest."""
    return places.passed(fit) is not None or bool((fit.graph.component[places.holders] != 1).any())


def _smallest(units: Units, first: Places, top: Places, most: int) -> list[int]:
    """The units that are worth a refit: by their lead in the first place, and one in three by that in the top k."""
    by = lever(units.fit)
    if len(units) <= most or by is None:
        return list(range(min(len(units), most)))
    leads = _leads(units, by, (first, top))
    ranked = [np.argsort(lead, kind="stable") for lead in leads]
    chosen = np.concatenate([ranked[0][: most - most // 3], ranked[1][:most]])
    return list(dict.fromkeys(chosen.tolist()))[:most]


def _leads(units: Units, by: np.ndarray, places: Sequence[Places]) -> list[np.ndarray]:
    """(units,) for each set of places, the lead that is predicted without each unit."""
    fit, said = units.fit, units.scores(units.fit)
    nodes = np.concatenate([places[0].holders, places[0].others])
    strength, own = fit.layout.strengths(fit.reported), by[:, fit.layout.place[nodes]]
    step = max(1, CELLS // len(nodes))
    found: list[list[np.ndarray]] = [[] for _ in places]
    for start in range(0, len(units), step):
        after = np.full((min(step, len(units) - start), len(strength)), np.nan)
        after[:, nodes] = strength[nodes] - said[start : start + step] @ own
        for kept, place in zip(found, places, strict=True):
            kept.append(after[:, place.holders].min(axis=1) - after[:, place.others].max(axis=1, initial=-np.inf))
    return [np.concatenate(parts) for parts in found]
