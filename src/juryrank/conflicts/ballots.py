"""Comparisons beside a fit: every usable opinion with the pair of nodes and the judge that the fit knows it by.

Conventions: a node is an item, or an item within a context where the fit has contexts apart. A row of whole weight k is
k votes; a row of any other weight is one vote that carries its weight. The opinions of a group count as independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from juryrank.columns import first_true, number_rows
from juryrank.counts import single
from juryrank.errors import SettingsError
from juryrank.estimate import Fit
from juryrank.tables import LONE_JUDGE, TIED, WIN, Comparisons, constant


@dataclass(frozen=True, eq=False)
class Ballots:
    """Usable opinions by row, and the pairs that they are on."""

    #: names of the nodes: items, or (context, item)
    names: pd.Index
    #: (pairs,) nodes, a before b
    a: np.ndarray
    b: np.ndarray
    #: (rows,) place of the pair, place of the judge in the fit (-1: unknown there), +1, -1 or 0
    pair: np.ndarray
    judge: np.ndarray
    slot: np.ndarray
    #: (rows,) p_a - 1/2
    lean: np.ndarray
    weight: np.ndarray
    #: (rows,) votes that the row stands for
    votes: np.ndarray
    #: (rows,) ties, and disagreements between the two orders
    tie: np.ndarray
    flip: np.ndarray
    #: (rows, covariates of the fit) of a minus of b; None without covariates
    x: np.ndarray | None = None

    def by_pair(self, values: np.ndarray) -> np.ndarray:
        """(pairs,) sums of some values by row."""
        return np.bincount(self.pair, weights=values, minlength=len(self.a))

    @property
    def majorities(self) -> Comparisons:
        """The accepted opinions as comparisons of nodes, which have their numbers for names."""
        kept = ~self.flip
        nodes = pd.Index(np.arange(len(self.names)).astype(str), dtype=object)
        ends = {"item_a": self.a, "item_b": self.b}
        table = {name: pd.Categorical.from_codes(end[self.pair][kept], categories=nodes) for name, end in ends.items()}
        status = np.where(self.tie, TIED, WIN)[kept].astype(np.int8)
        judge = constant(LONE_JUDGE, int(kept.sum()))
        rest = {"judge": judge, "status": status, "p_a": self.lean[kept] + 0.5, "weight": self.weight[kept]}
        return Comparisons(pd.DataFrame(table | rest))

    @cached_property
    def for_a(self) -> np.ndarray:
        """(rows,) accepted wins of a."""
        return ~self.flip & ~self.tie & (self.lean > 0)

    @cached_property
    def for_b(self) -> np.ndarray:
        """(rows,) accepted wins of b."""
        return ~self.flip & ~self.tie & (self.lean < 0)


def ballots(fit: Fit, comparisons: Comparisons) -> Ballots:
    """The usable opinions of some comparisons, on the nodes of a fit.

    Raises `SettingsError` where an opinion is on an item (or in a context) that the fit does not know.
    """
    rows = single(comparisons, hard=False, covariates=fit.covariates)
    nodes = [_nodes(fit, comparisons, rows, end) for end in ("item_a", "item_b")]
    pair, keys = number_rows(*nodes)
    weight = rows["weight"]
    judge = pd.Index(fit.sigmas.index).get_indexer(pd.Index(comparisons.judges, dtype=object))
    return Ballots(
        names=fit.counts.node_index,
        a=keys[:, 0],
        b=keys[:, 1],
        pair=pair,
        judge=judge[rows["judge"]],
        slot=rows["slot"],
        lean=rows["p"] - 0.5,
        weight=weight,
        votes=np.where(weight == np.rint(weight), weight, 1.0).astype(np.int64),
        tie=rows["tie"],
        flip=rows["flip"],
        x=rows.get("x"),
    )


def _nodes(fit: Fit, comparisons: Comparisons, rows: dict[str, np.ndarray], end: str) -> np.ndarray:
    counts = fit.counts
    item = pd.Index(counts.items).get_indexer(pd.Index(comparisons.items, dtype=object))[rows[end]]
    context = np.zeros(len(item), np.int64)
    if fit.contexts == "separate":
        names = pd.Index(comparisons.table["context"].cat.categories, dtype=object)
        context = pd.Index(counts.context_names, dtype=object).get_indexer(names)[rows["context"]]
    known = counts.node_context * len(counts.items) + counts.node_item
    wanted = context * len(counts.items) + item
    node = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    stranger = first_true((item < 0) | (context < 0) | (known[node] != wanted))
    if stranger is not None:
        name = comparisons.items[rows[end][stranger]]
        raise SettingsError(f"{name!r} was compared and is not in the fit: give the comparisons that the fit was made on.")
    return node
