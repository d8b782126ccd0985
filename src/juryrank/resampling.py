"""`bootstrap`: the fit made again on resampled rows, groups or judges.

Conventions: a resample keeps every row, group or judge a random number of times (Poisson with mean 1, or multinomial with
as many draws as there are). Equal rows are drawn together: the sum of k Poisson counts is one of mean k. Every resample
climbs from the estimate on the full data, all of a batch in one vectorised call. Where a resample has lost an item, or the
chains of wins that hold it to the rest, that item has no strength in it; the others are centred as they are in the full fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from juryrank.chords import chords, fits
from juryrank.columns import number_rows, value_codes
from juryrank.errors import SettingsError
from juryrank.estimate import Fit, Item
from juryrank.evidence import Evidence
from juryrank.objective import Parameters, Rows
from juryrank.solver import Damping, solve_many
from juryrank.spread import check_level, whole_number

UNITS = ("row", "group", "judge")
COUNTS = ("poisson", "multinomial")
#: numbers held for one batch of resamples
BATCH = 16_000_000
#: share of the resamples that an interval must rest on
USABLE = 0.8
#: a spread of resamples under this is none: what they differ in is not what was drawn
STILL = 1e-9
#: close to the optimum, and no closer than the noise of resampling asks for
NEAR = Damping(start=1e-3, iterations=60, step=1e-5)
GRADIENT = 1e-6
STEP = 1e-6


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Resampled fits. Point estimates are those of the full data."""

    fit: Fit = field(repr=False)
    #: (resamples, nodes) strengths; NaN where a resample has no finite one
    strengths: np.ndarray = field(repr=False)
    #: (resamples, judges) sigmas
    sigmas: np.ndarray = field(repr=False)
    #: what was drawn, and how
    by: str
    counts: str
    #: resamples in which some item vanished, or some gap had no finite maximum
    degenerate: int
    #: resamples whose fit did not converge; they are left out
    unconverged: int

    @property
    def resamples(self) -> int:
        """How many there are."""
        return len(self.strengths)

    def frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row per item: strength, percentile interval, standard error, usable resamples.

        An item with too few usable resamples (under 80 %), or whose resamples do not differ, has no interval.
        """
        check_level(level)
        point = self.fit.strengths.to_numpy()
        low, high, error, usable = _interval(self.strengths, point, level)
        columns = {"strength": point, "low": low, "high": high, "stderr": error, "usable": usable}
        return pd.DataFrame(columns, index=self.fit.strengths.index)

    def contrast(self, a: Item, b: Item, level: float = 0.95) -> pd.Series:
        """Gap between two items on the full data, percentile interval, standard error and usable resamples."""
        check_level(level)
        one, other = self.fit.node(a), self.fit.node(b)
        point = np.array([self.fit.contrast(a, b).estimate])
        found = _interval((self.strengths[:, one] - self.strengths[:, other])[:, None], point, level)
        return pd.Series([point[0], *(part[0] for part in found)], index=["estimate", "low", "high", "stderr", "usable"])


def bootstrap(fit: Fit, resamples: int = 1000, *, by: str = "group", counts: str = "poisson", seed: int = 0) -> Bootstrap:
    """Refit on `resamples` resamples of the rows, groups or judges of a fit (`by`).

    `counts`: "poisson" or "multinomial" numbers of times that each is kept. Raises `SettingsError` for pair counts, and
    where there is one group or judge alone.
    """
    _check(fit, resamples, by, counts, seed)
    found = fit.evidence
    units = _Units.of(fit, found, by)
    rng = np.random.default_rng(seed)
    step = max(1, min(resamples, BATCH // (8 * len(units.rows.a) + fit.layout.problem.node.size * 200)))
    parts = [_batch(fit, units, units.drawn(rng, counts, step)) for _ in range(0, resamples, step)]
    strengths, sigmas, whole, converged = (np.concatenate(part)[:resamples] for part in zip(*parts, strict=True))
    strengths[~converged] = np.nan
    return Bootstrap(fit, strengths, sigmas, by, counts, int((~whole).sum()), int((whole & ~converged).sum()))


def _check(fit: Fit, resamples: int, by: str, counts: str, seed: int) -> None:
    if not isinstance(fit, Fit):
        raise SettingsError(f"a {type(fit).__name__} is no fit; a ranking's is its `.fit`.")
    whole_number(resamples, "resamples", 2)
    whole_number(seed, "seed", 0)
    for name, value, allowed in (("by", by, UNITS), ("counts", counts, COUNTS)):
        if value not in allowed:
            raise SettingsError(f"no {name}={value!r}; expected one of {', '.join(allowed)}.")
    if by == "group" and fit.contexts == "separate":
        raise SettingsError("contexts='separate': the items of a context are known from it alone; resample by row or judge.")


@dataclass(frozen=True, eq=False)
class _Units:
    """What is drawn, and what each unit adds to the rows of the fit."""

    rows: Rows
    #: (units,) how many equal ones there are
    number: np.ndarray
    #: (3 * rows, units) wins of a, wins of b, ties
    adds: csr_array

    @classmethod
    def of(cls, fit: Fit, found: Evidence, by: str) -> _Units:
        rows = fit.layout.problem.rows
        place, kept = _places(fit, found, rows)
        whole = (found.count == np.rint(found.count)) & (by == "row")
        size = np.where(whole, 1.0, found.count) * found.importance
        if by == "row":
            said = np.unique(np.stack([found.wins_a, found.ties, size], axis=1), axis=0, return_inverse=True)[1].ravel()
            alone = np.where(whole, -1, np.arange(len(found)))
            unit, _ = number_rows(place, said, alone)
            number = np.bincount(unit, weights=np.where(whole, found.count, 1.0))
        else:
            _, unit = np.unique(found.group if by == "group" else found.judge, return_inverse=True)
            number = np.ones(unit.max() + 1)
            if len(number) < 2:
                raise SettingsError(f"one {by} alone cannot be resampled by {by}.")
        _, first = np.unique(unit, return_index=True)
        used = np.intersect1d(first, kept) if by == "row" else kept
        height = len(rows.a)
        values = np.stack([found.wins_a, found.wins_b, found.ties])[:, used] * size[used]
        where = (place[used] + np.array([[0], [height], [2 * height]])).ravel()
        adds = coo_array((values.ravel(), (where, np.tile(unit[used], 3))), shape=(3 * height, len(number))).tocsr()
        return cls(rows, number, adds)

    def drawn(self, rng: np.random.Generator, counts: str, resamples: int) -> np.ndarray:
        """(resamples, 3, rows) wins of a, wins of b and ties; rows that were not observed as they are."""
        if counts == "poisson":
            times = rng.poisson(self.number[:, None], (len(self.number), resamples))
        else:
            total = self.number.sum()
            times = rng.multinomial(int(total), self.number / total, resamples).T
        found = (self.adds @ times.astype(float)).T.reshape(resamples, 3, -1)
        made_up = np.stack([self.rows.wins_a, self.rows.wins_b, self.rows.ties]) * (1 - self.rows.observed)
        return found + made_up


def _places(fit: Fit, found: Evidence, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """(evidence rows,) row of the fit that each belongs to, and which of them do."""
    judge = np.zeros_like(found.judge) if len(fit.layout.t) == 1 else found.judge
    none = np.zeros(len(found), np.int64)
    ours = [fit.layout.place[found.a], fit.layout.place[found.b]]
    ours += [none if rows.t is None else fit.layout.t[judge], none if rows.bias is None else fit.layout.b[judge]]
    ours.append(none if rows.bias is None else found.slot.astype(np.int64) + 1)
    flat = np.zeros(len(rows.a), np.int64)
    theirs = [rows.a, rows.b, flat if rows.t is None else rows.t, flat if rows.bias is None else rows.bias]
    theirs.append(flat if rows.bias is None else rows.slot.astype(np.int64) + 1)
    data = np.flatnonzero(rows.observed)
    both = [np.concatenate([mine, row[data]]) for mine, row in zip(ours, theirs, strict=True)]
    if rows.x is not None and found.x is not None:
        both += value_codes(np.concatenate([found.x / fit.layout.unit, rows.x[data]]))
    number, keys = number_rows(*both)
    place = np.full(len(keys), -1)
    place[number[len(found) :]] = data
    place = place[number[: len(found)]]
    return place, np.flatnonzero(place >= 0)


def _batch(fit: Fit, units: _Units, wins: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Strengths, sigmas, whether nothing is missing, whether the climb ended well."""
    layout = fit.layout
    weight = max(1.0, float(units.rows.weight.sum()) / max(1, len(layout.place)))
    at, converged = _climbed(fit, wins, GRADIENT * weight)
    log_sigma = np.where(layout.problem.log_sigma > 0, at.border, 0.0)
    shift = log_sigma.sum(axis=1) / max(1.0, layout.problem.log_sigma.sum())
    seen = layout.place >= 0
    flat = at.strength.reshape(len(wins), -1)[:, layout.place[seen]] * np.exp(-shift)[:, None]
    strengths = np.full((len(wins), len(layout.place)), np.nan)
    held = _held(units.rows, wins, layout.place[seen], fit.graph.label[seen])
    strengths[:, seen] = _centred(flat, held, fit.graph.label[seen], fit.strengths.to_numpy()[seen])
    judges = len(fit.sigmas)
    known = len(layout.t) == judges and units.rows.t is not None
    sigmas = np.ones((len(wins), judges))
    if known:
        sigmas = np.exp(at.border - shift[:, None])[:, layout.t]
    return strengths, sigmas, np.asarray(held.all(axis=1)), converged


def _climbed(fit: Fit, wins: np.ndarray, tolerance: float) -> tuple[Parameters, np.ndarray]:
    """Optima of all resamples, and which of them were reached."""
    problem = fit.layout.problem
    if not fits(fit.likelihood, problem):
        return solve_many(fit.likelihood, problem, wins, fit.reported, NEAR, tolerance)
    strength, arrived = chords(problem, wins, fit.reported, STEP)
    if not arrived.all():
        left = np.flatnonzero(~arrived)
        rest, arrived[left] = solve_many(fit.likelihood, problem, wins[left], fit.reported, NEAR, tolerance)
        strength[left] = rest.strength[:, 0]
    return Parameters(strength[:, None], np.tile(fit.reported.border, (len(wins), 1))), arrived


def _held(rows: Rows, wins: np.ndarray, place: np.ndarray, group: np.ndarray) -> np.ndarray:
    """(resamples, nodes) whether the node hangs, by chains of wins both ways, with most of its group.

    Where no part of a group is the largest, nothing of it does.
    """
    node = np.full(int(place.max()) + 1, -1)
    node[place] = np.arange(len(place))
    used = np.flatnonzero((rows.observed > 0) & (rows.weight > 0))
    a, b = node[rows.a[used]], node[rows.b[used]]
    held = np.ones((len(wins), len(place)), bool)
    for resample in np.flatnonzero(~_two_way(a, b, wins[:, :, used], group)):
        for_a, for_b, tied = wins[resample][:, used]
        ahead, behind = for_a + tied > 0, for_b + tied > 0
        edges = np.concatenate([a[ahead], b[behind]]), np.concatenate([b[ahead], a[behind]])
        graph = coo_array((np.ones(len(edges[0])), edges), shape=(len(place), len(place))).tocsr()
        held[resample] = _in_largest(connected_components(graph, directed=True, connection="strong")[1], group)
    return held


def _in_largest(part: np.ndarray, group: np.ndarray) -> np.ndarray:
    """(nodes,) whether a node's part is the one largest of its group, and more than itself."""
    sizes = np.bincount(part)
    home = np.zeros(len(sizes), np.int64)
    home[part] = group
    largest = np.zeros(int(group.max()) + 1, np.int64)
    np.maximum.at(largest, home, sizes)
    leads = (sizes == largest[home]) & (sizes > 1)
    return np.asarray((leads & (np.bincount(home[leads], minlength=len(largest)) == 1)[home])[part])


def _two_way(a: np.ndarray, b: np.ndarray, wins: np.ndarray, group: np.ndarray) -> np.ndarray:
    """(resamples,) whether pairs that were won both ways, which are quickly followed, hold every group together."""
    both = (wins[:, 0] + wins[:, 2] > 0) & (wins[:, 1] + wins[:, 2] > 0)
    n, edges = len(group), np.arange(len(a))
    ends = coo_array((np.ones(2 * len(a)), (np.concatenate([a, b]), np.tile(edges, 2))), shape=(n, len(a))).tocsr()
    _, first = np.unique(group, return_index=True)
    reached = np.zeros((n, len(wins)), bool)
    reached[first] = True
    count = -1
    while (now := int(reached.sum())) > count:
        count = now
        reached |= (ends @ (both.T & (reached[a] | reached[b])).astype(float)) > 0
    return np.asarray(reached.all(axis=0))


def _centred(flat: np.ndarray, held: np.ndarray, strong: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Strengths whose mean over the nodes that are held is, group by group, what it is in the full fit."""
    groups = csr_array((np.ones(len(strong)), (np.arange(len(strong)), strong)))
    off = np.where(held, flat - np.where(np.isfinite(point), point, 0.0), 0.0)
    mean = (off @ groups) / np.maximum(held.astype(float) @ groups, 1.0)
    return np.where(held, flat - mean[:, strong], np.nan)


def _interval(draws: np.ndarray, point: np.ndarray, level: float) -> tuple[np.ndarray, ...]:
    """Ends, standard errors and usable shares, by column."""
    usable = np.isfinite(draws).mean(axis=0)
    enough = (usable >= USABLE) & np.isfinite(point)
    low, high, error = (np.full(len(point), np.nan) for _ in range(3))
    if not enough.any():
        return low, high, error, usable
    kept = draws[:, enough]
    low[enough], high[enough] = np.nanquantile(kept, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    error[enough] = np.nanstd(kept, axis=0, ddof=1)
    for part in (low, high, error):
        part[~(error > STILL)] = np.nan
    return np.minimum(low, point), np.maximum(high, point), error, usable
