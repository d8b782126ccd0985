"""Comparisons of two systems -> votes by question and judge, as codes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from juryrank.errors import InputError, SettingsError
from juryrank.tables import ABSTAINED, FAILED, TIED, WIN, Comparisons
from juryrank.verdicts.panel import NONE, TIE, A, B, plurality


@dataclass(frozen=True, eq=False)
class Votes:
    """One row per opinion; rows of weight zero are gone."""

    #: names; questions in the order of the table's contexts, those without any vote last
    questions: np.ndarray
    judges: np.ndarray
    #: (rows,) codes
    question: np.ndarray
    judge: np.ndarray
    vote: np.ndarray  # A, B, TIE, NONE
    flipped: np.ndarray
    #: (rows,) whether the opinion is evidence on the two systems at all: no failure, no abstention
    spoken: np.ndarray
    #: (rows,) opinions that the row stands for
    count: np.ndarray

    def sums(self, by_judge: np.ndarray) -> np.ndarray:
        """(questions, 3) summed weights of the votes for A, B and tie; `by_judge` weighs each judge."""
        decisive = self.vote != NONE
        cell = self.question[decisive] * 3 + self.vote[decisive]
        weights = by_judge[self.judge[decisive]] * self.count[decisive]
        return np.bincount(cell, weights=weights, minlength=3 * len(self.questions)).reshape(-1, 3)

    def by_judge(self, mask: np.ndarray) -> np.ndarray:
        """(judges,) opinions in `mask`."""
        return np.bincount(self.judge[mask], weights=self.count[mask], minlength=len(self.judges))

    def by_cell(self) -> Votes:
        """One vote per judge and question: the plurality of what the judge said there."""
        size = len(self.judges)
        cells, cell = np.unique(self.question * size + self.judge, return_inverse=True)
        if len(cells) == len(self.vote):
            return self
        decisive = self.vote != NONE
        place = cell[decisive] * 3 + self.vote[decisive]
        sums = np.bincount(place, weights=self.count[decisive], minlength=3 * len(cells)).reshape(-1, 3)
        question, judge = np.divmod(cells, size)
        some = {name: np.bincount(cell, weights=getattr(self, name)) > 0 for name in ("flipped", "spoken")}
        vote = plurality(sums, np.round(sums.sum(axis=1)))
        return replace(self, question=question, judge=judge, vote=vote, count=np.ones(len(cells)), **some)


def votes_on(compared: Comparisons, a: str, b: str) -> Votes:
    """Votes for `a` and `b`.

    Raises `SettingsError` where the two are one, `InputError` where one never appears, never meets the other, or a
    question holds a third item.
    """
    for name in (a, b):
        if name in ("tie", "inconclusive"):
            raise SettingsError(f"a system called {name!r} cannot be told from that verdict; rename it.")
    if a == b:
        raise SettingsError(f"a and b are both {a!r}: a comparison needs two systems.")
    items = compared.items
    for name in (a, b):
        if name not in items:
            there = f"found {', '.join(items[:10])}" if items else "it holds no system"
            raise InputError(f"{compared.source}: no system {name!r}; {there}.")
    table = compared.table[(compared.table["weight"] > 0).to_numpy()]
    low, high = sorted((a, b))
    ours = ((table["item_a"] == low) & (table["item_b"] == high)).to_numpy()
    if not ours.any():
        raise InputError(f"{compared.source}: {a!r} and {b!r} are never compared with each other.")
    context = table["context"].cat.codes.to_numpy()
    third = ~ours & np.isin(context, context[ours])
    if third.any():
        row = table[third].iloc[0]
        raise InputError(
            f"{compared.source}: question {row['context']!r} compares {row['item_a']!r} with {row['item_b']!r} beside {a!r} "
            f"and {b!r}; keep only the rows of the two systems."
        )
    return _coded(table[ours], compared, turned=a > b)


def _coded(table: pd.DataFrame, compared: Comparisons, *, turned: bool) -> Votes:
    status, p = table["status"].to_numpy(), table["p_a"].to_numpy()
    p = 1 - p if turned else p
    vote = np.select([(status == WIN) & (p > 0.5), status == WIN, status == TIED], [A, B, TIE], default=NONE)
    used, question = np.unique(table["context"].cat.codes.to_numpy(), return_inverse=True)
    return Votes(
        questions=np.array([*compared.table["context"].cat.categories[used], *compared.silent], dtype=object),
        judges=np.asarray(compared.judges, dtype=object),
        question=question,
        judge=table["judge"].cat.codes.to_numpy().astype(np.int64),
        vote=vote,
        flipped=table["flipped"].to_numpy(),
        spoken=~np.isin(status, (ABSTAINED, FAILED)),
        count=table["count"].to_numpy(),
    )
