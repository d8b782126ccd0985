"""What can be taken away from a fit, single votes or all votes of a judge or group, and the fit without it.

Conventions: a row of whole weight k is k votes, which can go one by one; a row of any other weight is one vote, which goes
with its weight. A *cell* is the votes that the model does not tell apart: same pair, outcome, weight, judge, slot (and
what goes as a whole). A *unit* is what goes at once: one vote of a cell, or everything of a judge or group. `taken`,
(units,), says how many copies of each unit are gone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array

from juryrank.columns import number_rows
from juryrank.counts import PairCounts
from juryrank.errors import JuryrankError
from juryrank.estimate import Fit
from juryrank.evidence import Evidence, pull, scores
from juryrank.fitting import fit_bt

BY = ("row", "judge", "group")
REMOVED = ["row", "context", "judge", "item_a", "item_b", "p_a", "votes", "weight"]


@dataclass(frozen=True, eq=False)
class Units:
    """The votes of a fit by cell, and what they are taken away by."""

    fit: Fit
    #: one of `BY`
    by: str
    #: one row per cell; `count` is the weight of one vote
    cells: Evidence
    #: (cells,) votes, and the unit that they belong to
    votes: np.ndarray
    unit: np.ndarray
    #: (units,) how often each can be taken, and its code among the judges or groups (by row: its cell)
    copies: np.ndarray
    code: np.ndarray
    #: (rows of the evidence,) cell and votes of each row
    cell_of: np.ndarray
    votes_of: np.ndarray

    def __len__(self) -> int:
        return len(self.copies)

    @cached_property
    def share(self) -> np.ndarray:
        """(cells,) votes that go with one copy of the unit."""
        return self.votes / self.copies[self.unit]

    @property
    def total(self) -> int:
        """All votes."""
        return int(self.votes.sum())

    def none(self) -> np.ndarray:
        """Nothing taken."""
        return np.zeros(len(self), np.int64)

    def votes_in(self, taken: np.ndarray) -> int:
        """Votes that are gone."""
        return int(np.rint((taken[self.unit] * self.share).sum()))

    def without(self, taken: np.ndarray, start: Fit | None = None) -> Fit | None:
        """The fit by the same settings without some votes; None where nothing is left that can be fitted.

        Which judges have a slot bias, and what each judge weighs, stay as they were. `start`: a fit to climb from.
        """
        fit = self.fit
        try:
            return fit_bt(
                self._counts(self.votes - taken[self.unit] * self.share),
                judge_sigma=fit.judge_sigma,
                slot_bias=list(fit.slot_judges),
                ties=fit.ties,
                prior=fit.prior,
                contexts=fit.contexts,
                extra_starts=0,
                start=start,
            )
        except JuryrankError:
            return None

    def _counts(self, left: np.ndarray) -> PairCounts:
        """Pair counts of the votes that are left of each cell."""
        number, keys = self._rows
        weight = left * self.cells.count * self.cells.importance

        def total(values: np.ndarray) -> np.ndarray:
            return np.bincount(number, weights=values, minlength=len(keys))

        columns = dict(zip(("a", "b", "judge"), keys.T, strict=False)) | {"slot": (keys[:, 3] - 1).astype(np.int8)}
        columns |= {"win_a": total(self.cells.wins_a * weight), "win_b": total(self.cells.wins_b * weight)}
        columns |= {"tie": total(self.cells.ties * weight), "flip": np.zeros(len(keys)), "opinions": total(left)}
        return replace(self.fit.counts, **columns).keep(columns["opinions"] > 0)

    @cached_property
    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """(cells,) the row of pair counts of each, and (rows, 4) their a, b, judge and slot + 1."""
        return number_rows(self.cells.a, self.cells.b, self.cells.judge, self.cells.slot.astype(np.int64) + 1)

    def scores(self, at: Fit) -> csr_array:
        """(units, parameters of `at`) the score of one copy of each unit; 0 where `at` has no finite gap to score."""
        known = (at.layout.place[self.cells.a] >= 0) & (at.layout.place[self.cells.b] >= 0)
        if not (at.prior.bounds_strengths or at.graph.connected):
            known &= at.graph.strong[self.cells.a] == at.graph.strong[self.cells.b]
        kept = np.flatnonzero(known)
        cells = self.cells.keep(kept)
        each = scores(pull(at.likelihood, cells, at.layout, at.reported), at.reported.border.size)
        amount = cells.count * self.share[kept]
        return csr_array(coo_array((amount, (self.unit[kept], np.arange(len(kept)))), shape=(len(self), len(kept))) @ each)

    def removed(self, taken: np.ndarray) -> pd.DataFrame:
        """The votes that are gone, columns as in `REMOVED`, in the order of the table.

        `row` is the position in the table that was fitted; `votes` of the row's votes go, with a `weight` in all.
        """
        rows, source = self.fit.evidence, self.fit.source
        assert source is not None
        gone = self._gone(taken)
        at = np.flatnonzero(gone)
        at = at[np.argsort(rows.row[at], kind="stable")]
        counts = self.fit.counts
        item = np.asarray(counts.items, dtype=object)[counts.node_item]
        columns = {
            "row": rows.row[at],
            "context": source.table["context"].astype(object).to_numpy()[rows.row[at]],
            "judge": np.asarray(counts.judges, dtype=object)[rows.judge[at]],
            "item_a": item[rows.a[at]],
            "item_b": item[rows.b[at]],
            "p_a": rows.wins_a[at] + rows.ties[at] / 2,
            "votes": gone[at],
            "weight": gone[at] * self.cells.count[self.cell_of[at]],
        }
        return pd.DataFrame(columns)[REMOVED]

    def _gone(self, taken: np.ndarray) -> np.ndarray:
        """(rows,) votes that each row loses: the first rows of a cell go first."""
        wanted = np.rint(taken[self.unit] * self.share).astype(np.int64)
        order = np.argsort(self.cell_of, kind="stable")
        through = np.cumsum(self.votes_of[order])
        start = np.concatenate([[0], np.cumsum(self.votes)])[self.cell_of[order]]
        before = through - self.votes_of[order] - start
        gone = np.empty(len(order), np.int64)
        gone[order] = np.clip(wanted[self.cell_of[order]] - before, 0, self.votes_of[order])
        return gone


def units(fit: Fit, by: str) -> Units:
    """The votes of a fit, to be taken away by "row", "judge" or "group"."""
    rows = fit.evidence
    whole = rows.count == np.rint(rows.count)
    votes = np.where(whole, rows.count, 1.0).astype(np.int64)
    weights, weight = np.unique(np.where(whole, 1.0, rows.count), return_inverse=True)
    _, outcome = np.unique(rows.wins_a + 2 * rows.ties, return_inverse=True)
    owner = np.zeros(len(rows), np.int64) if by == "row" else getattr(rows, by)
    # What the likelihood does not tell apart is one cell.
    judge = rows.judge if fit.judge_sigma or fit.slot_judges or np.ptp(rows.importance) > 0 else np.zeros_like(owner)
    slot = rows.slot.astype(np.int64) + 1 if fit.slot_judges else np.zeros_like(owner)
    cell, keys = number_rows(owner, rows.a, rows.b, judge, slot, outcome, weight)
    first = np.empty(len(keys), np.int64)
    first[cell[::-1]] = np.arange(len(cell))[::-1]
    held = np.bincount(cell, weights=votes, minlength=len(keys)).astype(np.int64)
    code, unit = np.unique(keys[:, 0], return_inverse=True)
    if by == "row":
        code = unit = np.arange(len(keys))
    return Units(
        fit=fit,
        by=by,
        cells=replace(rows.keep(first), count=weights[keys[:, 6]]),
        votes=held,
        unit=unit,
        copies=held if by == "row" else np.ones(len(code), np.int64),
        code=code,
        cell_of=cell,
        votes_of=votes,
    )


__all__ = ["BY", "REMOVED", "Units", "units"]
