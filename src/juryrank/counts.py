"""Opinions -> pair counts, the sufficient statistic of every likelihood here, and the graph that they span.

Conventions: a *node* is an item (contexts pooled) or an item within a context (contexts separate). A row sums the
weights of equal opinions of one judge on one pair of nodes in one slot, and with equal covariates: wins of a, wins of b (a
soft value p adds p and 1 - p), ties and flips. An arrow of the win graph leads from winner to loser; ties and flips
lead both ways.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from juryrank.columns import merged, number_rows, value_codes
from juryrank.covariates import differences, named
from juryrank.errors import SettingsError
from juryrank.tables import BOTH_BAD, DISAGREEMENT, FIRST, SECOND, TIE, TIED, UNCERTAIN, Comparisons, Judgments

CONTEXTS = ("pooled", "separate")


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Exact counts, one row per (context if separate, judge, item_a, item_b, slot, values of the covariates)."""

    items: tuple[str, ...]
    judges: tuple[str, ...]
    contexts: str
    #: (nodes,) position in `items`, and in `context_names` (0 where pooled)
    node_item: np.ndarray = field(repr=False)
    node_context: np.ndarray = field(repr=False)
    context_names: tuple[str, ...] = field(repr=False)
    #: (rows,) nodes, judge, slot (+1, -1, 0)
    a: np.ndarray = field(repr=False)
    b: np.ndarray = field(repr=False)
    judge: np.ndarray = field(repr=False)
    slot: np.ndarray = field(repr=False)
    #: (rows,) summed weights
    win_a: np.ndarray = field(repr=False)
    win_b: np.ndarray = field(repr=False)
    tie: np.ndarray = field(repr=False)
    flip: np.ndarray = field(repr=False)
    #: (rows,) opinions behind each row
    opinions: np.ndarray = field(repr=False)
    #: whether a value strictly between a loss and a tie, or a tie and a win, was counted
    soft: bool = False
    covariates: tuple[str, ...] = ()
    #: (rows, covariates) value of a minus value of b, in the units of the source; None without covariates
    x: np.ndarray | None = field(default=None, repr=False)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The counts as plain text and numbers."""
        item = np.asarray(self.items, dtype=object)
        names = {"context": self.context_of(self.a)} if self.contexts == "separate" else {}
        values = {} if self.x is None else dict(zip(self.covariates, self.x.T, strict=True))
        return pd.DataFrame(
            names
            | {
                "judge": np.asarray(self.judges, dtype=object)[self.judge],
                "item_a": item[self.node_item[self.a]],
                "item_b": item[self.node_item[self.b]],
                "slot": self.slot,
                "win_a": self.win_a,
                "win_b": self.win_b,
                "tie": self.tie,
                "disagreement": self.flip,
                "opinions": self.opinions,
            }
            | values
        )

    @cached_property
    def node_index(self) -> pd.Index:
        """Names of the nodes: items, or (context, item)."""
        item = pd.Index(np.asarray(self.items, dtype=object)[self.node_item], dtype=object, name="item")
        if self.contexts == "pooled":
            return item
        return pd.MultiIndex.from_arrays([self.context_of(np.arange(len(self.node_item))), item], names=["context", "item"])

    def with_items(self, items: list[str]) -> PairCounts:
        """Pooled counts over a sorted roster that holds every item counted."""
        new = np.searchsorted(np.asarray(items, dtype=object), np.asarray(self.items, dtype=object))
        n = len(items)
        return replace(
            self,
            items=tuple(items),
            node_item=np.arange(n),
            node_context=np.zeros(n, np.int64),
            a=new[self.a],
            b=new[self.b],
        )

    def nodes(self, items: list[str], context: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Nodes of items, codes into `items`, in contexts, codes into `context_names`."""
        own = pd.Index(self.items).get_indexer(pd.Index(items))[item]
        if self.contexts == "pooled":
            return own
        n = len(self.items)
        return np.searchsorted(self.node_context * n + self.node_item, context * n + own)

    def context_of(self, nodes: np.ndarray) -> np.ndarray:
        """Names of the contexts of some nodes."""
        return np.asarray(self.context_names, dtype=object)[self.node_context[nodes]]

    def without_flips(self) -> PairCounts:
        """The counts as if no disagreement had been seen."""
        return self.keep(self.win_a + self.win_b + self.tie > 0, flip=np.zeros_like(self.flip))

    def pool(self, *, judges: bool, slots: bool) -> PairCounts:
        """Merge rows that differ only by judge, or only by slot, where a likelihood does not tell them apart."""
        judge = np.zeros_like(self.judge) if judges else self.judge
        slot = np.zeros_like(self.slot) if slots else self.slot
        number, keys = number_rows(self.a, self.b, judge, slot.astype(np.int64) + 1, *value_codes(self.x))
        sums: dict[str, Any] = {
            name: np.bincount(number, weights=getattr(self, name), minlength=len(keys))
            for name in ("win_a", "win_b", "tie", "flip", "opinions")
        }
        places: dict[str, Any] = {
            "a": keys[:, 0],
            "b": keys[:, 1],
            "judge": keys[:, 2],
            "slot": (keys[:, 3] - 1).astype(np.int8),
            "x": merged(self.x, number, len(keys)),
        }
        return replace(self, **places, **sums, judges=("all judges",) if judges else self.judges)

    def only(self, covariates: tuple[str, ...]) -> PairCounts:
        """The counts with some of their covariates; rows that differed by the others stay apart."""
        if self.x is None or covariates == self.covariates:
            return self
        x = self.x[:, [self.covariates.index(name) for name in covariates]]
        return replace(self, covariates=covariates, x=x if covariates else None)

    def weighted(self, weights: np.ndarray) -> PairCounts:
        """Every row times the weight of its judge; rows of weight zero are gone."""
        by_row = weights[self.judge]
        scaled = {name: getattr(self, name) * by_row for name in ("win_a", "win_b", "tie", "flip")}
        return self.keep(by_row > 0, **scaled)

    @property
    def total(self) -> np.ndarray:
        """(rows,) summed weight of each row."""
        return self.win_a + self.win_b + self.tie + self.flip

    def keep(self, rows: np.ndarray, **changed: np.ndarray) -> PairCounts:
        """Only some rows, after changes to columns."""
        columns = {name: getattr(self, name) for name in _ROW_COLUMNS} | changed
        kept: dict[str, Any] = {name: column[rows] for name, column in columns.items()}
        return replace(self, **kept, x=None if self.x is None else self.x[rows])

    def __len__(self) -> int:
        return len(self.a)


_ROW_COLUMNS = ("a", "b", "judge", "slot", "win_a", "win_b", "tie", "flip", "opinions")


def tally(
    source: Comparisons | Judgments | PairCounts,
    *,
    contexts: str = "pooled",
    hard: bool = False,
    covariates: Iterable[str] | None = None,
) -> PairCounts:
    """Count equal opinions once.

    Judgments are counted as showings (slot +1 or -1, the judge's own p_first where it gave one). `hard` turns each p
    into 1[p > 1/2] and keeps exact halves. Every item that was asked about is a node, answered or not. `covariates`: further
    columns that opinions must share to be equal (see `juryrank.covariates`).
    """
    if contexts not in CONTEXTS:
        raise SettingsError(f"no contexts {contexts!r}; expected one of {', '.join(CONTEXTS)}.")
    names = named(covariates)
    if isinstance(source, PairCounts):
        return _recount(source, contexts, hard, names)
    rows = single(source, hard, names)
    x = rows.get("x")
    separate = contexts == "separate"
    nodes = _asked(source, separate)
    n = len(source.items)
    context = rows["context"] if separate else np.zeros(len(rows["p"]), np.int64)
    place = nodes["context"] * n + nodes["item"]
    a, b = (np.searchsorted(place, context * n + rows[name]) for name in ("item_a", "item_b"))
    number, keys = number_rows(a, b, rows["judge"], rows["slot"] + 1, *value_codes(x))
    return PairCounts(
        items=tuple(source.items),
        judges=tuple(source.judges),
        contexts=contexts,
        node_item=nodes["item"],
        node_context=nodes["context"],
        context_names=tuple(source.table["context"].cat.categories) if separate else ("",),
        a=keys[:, 0],
        b=keys[:, 1],
        judge=keys[:, 2],
        slot=(keys[:, 3] - 1).astype(np.int8),
        soft=bool(((rows["p"] > 0) & (rows["p"] < 1) & ~rows["tie"] & ~rows["flip"]).any()),
        covariates=names,
        x=merged(x, number, len(keys)),
        **_sums(rows, number, len(keys)),
    )


def single(source: Comparisons | Judgments, hard: bool, covariates: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """What enters a fit, one row each, in the frame of the items: comparisons, or showings; `x` (rows, covariates)."""
    rows = showings(source) if isinstance(source, Judgments) else opinions(source)
    if hard:
        rows["p"] = np.where(rows["p"] == 0.5, 0.5, (rows["p"] > 0.5).astype(float))
    if covariates:
        rows["x"] = differences(source, covariates, np.flatnonzero(_enters(source)))
    return rows


def _enters(source: Comparisons | Judgments) -> np.ndarray:
    """(rows of the table,) whether each enters a fit."""
    table = source.table
    heard = table["weight"].to_numpy() > 0
    if isinstance(source, Judgments):
        return heard & (table["outcome"].to_numpy() < UNCERTAIN)
    return heard & ~np.isnan(table["p_a"].to_numpy())


def _asked(source: Comparisons | Judgments, separate: bool) -> dict[str, np.ndarray]:
    """Nodes in the order of (context, item): every known item, or every item of each context."""
    if not separate:
        n = len(source.items)
        return {"context": np.zeros(n, np.int64), "item": np.arange(n)}
    ends = ("first", "second") if isinstance(source, Judgments) else ("item_a", "item_b")
    context = source.table["context"].cat.codes.to_numpy().astype(np.int64)
    item = [source.table[end].cat.codes.to_numpy().astype(np.int64) for end in ends]
    _, keys = number_rows(np.tile(context, 2), np.concatenate(item))
    return {"context": keys[:, 0], "item": keys[:, 1]}


def _sums(rows: dict[str, np.ndarray], number: np.ndarray, n: int) -> dict[str, np.ndarray]:
    tie, flip, weight, p = rows["tie"], rows["flip"], rows["weight"], rows["p"]
    sided = weight * ~(tie | flip)

    def total(what: np.ndarray) -> np.ndarray:
        return np.bincount(number, weights=what, minlength=n)

    return {
        "win_a": total(sided * p),
        "win_b": total(sided * (1 - p)),
        "tie": total(weight * tie),
        "flip": total(weight * flip),
        "opinions": total(np.ones(len(p))),
    }


def _recount(counts: PairCounts, contexts: str, hard: bool, covariates: tuple[str, ...]) -> PairCounts:
    if contexts != counts.contexts:
        raise SettingsError(f"the counts were made with contexts={counts.contexts!r}, not {contexts!r}: tally again.")
    if hard and counts.soft:
        raise SettingsError("hard=True needs the single opinions: the counts have lost them; tally(..., hard=True).")
    lost = [name for name in covariates if name not in counts.covariates]
    if lost:
        raise SettingsError(
            f"the counts were made without the covariate {lost[0]!r}: tally(..., covariates={list(covariates)!r}) of the "
            "comparisons or judgments keeps it."
        )
    return counts.only(covariates)


def showings(source: Judgments) -> dict[str, np.ndarray]:
    """Answered showings as opinions in the frame of the items, one row each; `row`: where each stands in the table."""
    table = source.table
    outcome, own = table["outcome"].to_numpy(), table["p_first"].to_numpy()
    spoken = _enters(source)
    first, second = (table[n].cat.codes.to_numpy().astype(np.int64)[spoken] for n in ("first", "second"))
    verdict = np.select([outcome == FIRST, outcome == SECOND], [1.0, 0.0], default=0.5)
    p_first = np.where(np.isnan(own), verdict, own)[spoken]
    forward = first < second
    return {
        "row": np.flatnonzero(spoken),
        "context": table["context"].cat.codes.to_numpy().astype(np.int64)[spoken],
        "judge": table["judge"].cat.codes.to_numpy().astype(np.int64)[spoken],
        "item_a": np.minimum(first, second),
        "item_b": np.maximum(first, second),
        "slot": np.where(forward, 1, -1),
        "p": np.where(forward, p_first, 1 - p_first),
        "tie": np.isin(outcome[spoken], (TIE, BOTH_BAD)) & np.isnan(own[spoken]),
        "flip": np.zeros(int(spoken.sum()), bool),
        "weight": table["weight"].to_numpy()[spoken],
        "group": table["group"].cat.codes.to_numpy().astype(np.int64)[spoken],
    }


def opinions(source: Comparisons) -> dict[str, np.ndarray]:
    """Opinions that enter a fit, one row each; `row`: where each stands in the table."""
    table = source.table
    p, status = table["p_a"].to_numpy(), table["status"].to_numpy()
    enters = _enters(source)
    names = ("context", "judge", "item_a", "item_b", "group")
    return {name: table[name].cat.codes.to_numpy().astype(np.int64)[enters] for name in names} | {
        "row": np.flatnonzero(enters),
        "slot": table["slot"].to_numpy().astype(np.int64)[enters],
        "p": p[enters],
        "tie": status[enters] == TIED,
        "flip": status[enters] == DISAGREEMENT,
        "weight": table["weight"].to_numpy()[enters],
    }


@dataclass(frozen=True, eq=False)
class Graph:
    """What hangs together, per node."""

    #: component number within the context, from 1: the largest first, equal ones by their first item; 0 = not observed
    component: np.ndarray
    #: strongly connected group (of the win graph), numbered over all contexts
    strong: np.ndarray
    #: the node has no finite place in that direction: see `_unbounded`
    unbounded_above: np.ndarray
    unbounded_below: np.ndarray
    #: component as one number over all contexts, from 0
    label: np.ndarray
    #: whether some opinion about the node was counted
    observed: np.ndarray
    #: sparse (nodes, nodes), an entry where the row's node has beaten the column's
    arrows: csr_array = field(repr=False)

    @property
    def connected(self) -> bool:
        """Whether every maximum-likelihood gap within a component is finite."""
        return not (self.unbounded_above | self.unbounded_below).any()


def graph(counts: PairCounts) -> Graph:
    """Components and strongly connected groups of the counted opinions."""
    n = len(counts.node_item)
    half = counts.tie + counts.flip
    a_beats_b, b_beats_a = counts.win_a + half > 0, counts.win_b + half > 0
    winner = np.concatenate([counts.a[a_beats_b], counts.b[b_beats_a]])
    loser = np.concatenate([counts.b[a_beats_b], counts.a[b_beats_a]])
    arrows = coo_array((np.ones(len(winner), np.int8), (winner, loser)), shape=(n, n)).tocsr()
    _, label = connected_components(arrows, directed=False)
    _, strong = connected_components(arrows, directed=True, connection="strong")
    above, below = _unbounded(arrows, strong, label)
    observed = np.bincount(np.concatenate([counts.a, counts.b]), minlength=n) > 0
    component = np.where(observed, _number(label, counts), 0)
    return Graph(component, strong, above, below, label, observed, arrows)


def _unbounded(arrows: csr_array, strong: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which nodes have no finite place, above and below.

    Where one strongly connected group of a component is the largest, it is the frame: its own items have finite places,
    others lie unboundedly above it, below it, or (unreached) both. Where none is, whatever beats or loses to another group
    has none.
    """
    sizes = np.bincount(strong)
    home = np.zeros(len(sizes), np.int64)
    home[strong] = label
    largest = np.zeros(label.max(initial=-1) + 1, np.int64)
    np.maximum.at(largest, home, sizes)
    leads = sizes == largest[home]
    core = (leads & (np.bincount(home[leads], minlength=len(largest)) == 1)[home])[strong]
    framed = (np.bincount(label, weights=core, minlength=len(largest)) > 0)[label]
    ahead, behind = _reached(arrows.T.tocsr(), core), _reached(arrows, core)
    winner, loser = arrows.nonzero()
    crossing = strong[winner] != strong[loser]
    beats, loses = (np.isin(strong, strong[end[crossing]]) for end in (winner, loser))
    above = np.where(framed, ~core & (ahead | ~behind), beats)
    below = np.where(framed, ~core & (behind | ~ahead), loses)
    return above, below


def _reached(arrows: csr_array, start: np.ndarray) -> np.ndarray:
    """Nodes that some arrows lead to from the nodes of `start`."""
    n = len(start)
    entries, grown = np.flatnonzero(start), coo_array(arrows)
    rows = np.concatenate([grown.row, np.full(len(entries), n)])
    columns = np.concatenate([grown.col, entries])
    graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n + 1, n + 1)).tocsr()
    reached = np.zeros(n + 1, bool)
    reached[breadth_first_order(graph, n, return_predecessors=False)] = True
    return reached[:n]


def _number(label: np.ndarray, counts: PairCounts) -> np.ndarray:
    """Component labels -> 1, 2, ... within each context, the largest first."""
    if not len(label):
        return label
    nodes = pd.DataFrame({"context": counts.node_context, "item": counts.node_item, "label": label})
    groups = nodes.groupby("label").agg(context=("context", "first"), size=("item", "size"), first=("item", "min"))
    ordered = groups.sort_values(["context", "size", "first"], ascending=[True, False, True])
    number = ordered.groupby("context").cumcount() + 1
    return number.sort_index().to_numpy()[label]


def held_by_flips(counts: PairCounts) -> list[list[str]]:
    """Groups of items that would fall apart if disagreements were not counted, as lists of ids."""
    if not counts.flip.any():
        return []
    whole, without = graph(counts), graph(counts.without_flips())
    item = np.asarray(counts.items, dtype=object)[counts.node_item]
    parts = pd.DataFrame({"whole": whole.label, "part": without.label, "item": item})
    parts = parts.groupby("whole").filter(lambda group: len(set(group["part"])) > 1)
    return [sorted(set(group["item"])) for _, group in parts.groupby("part")]


__all__ = ["CONTEXTS", "Graph", "PairCounts", "graph", "held_by_flips", "showings", "tally"]
