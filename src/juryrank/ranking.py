"""Fit -> order of the items, with intervals, simultaneous rank sets and tiers.

Conventions: ranks are counted within a context and component, from 1. Strengths within 1e-9 share a rank and are listed
by id. `low`, `high`: interval of the centred strength (reference: the mean of its component); an end that the data
leave open is missing. `rank_low`, `rank_high` hold for all items at once with probability `level`, `rank_low_alone`,
`rank_high_alone` for the one item: 1 + the number certainly above, n - the number certainly below (see `rank_sets`). Tiers
are the fewest groups of neighbours such that no certified difference lies inside one. `against_next`: "ahead" of the next
item by itself, "tied" where neither can win more than 60 % against the other, else "too few to tell".
"""

from __future__ import annotations

from dataclasses import dataclass, field

import networkx as nx
import numpy as np
import pandas as pd

from juryrank.diagnostics.diagnosis import Diagnostics
from juryrank.document import ranking_document
from juryrank.estimate import Fit, Item
from juryrank.information import Covariance
from juryrank.layout import Layout
from juryrank.objective import Parameters
from juryrank.rank_sets import Gaps, places
from juryrank.spread import Spread, reach
from juryrank.tables import TIED, WIN, Comparisons, Judgments

EQUAL = 1e-9
ABOVE, BELOW, UNSEEN = "unbounded above", "unbounded below", "not observed"
COLUMNS = [
    *("context", "rank", "item", "strength", "stderr", "low", "high", "rank_low", "rank_high", "tier"),
    *("points", "wins", "losses", "ties", "component", "decided_by", "flags"),
    *("rank_low_alone", "rank_high_alone", "expected_rank", "p_best", "p_top_k", "against_next"),
]
#: columns that `rank_sets` fills, and its names for them
PLACES = {
    "rank_low": "low",
    "rank_high": "high",
    "rank_low_alone": "low_alone",
    "rank_high_alone": "high_alone",
    "tier": "tier",
    "expected_rank": "expected",
    "p_best": "p_best",
    "p_top_k": "p_top_k",
}
#: places that `p_top_k` asks for, at most half of the items
TOP_K = 10


@dataclass(frozen=True)
class Ordering:
    """How sure an order is to be said to be."""

    spread: Spread
    level: float = 0.95
    top_k: int | None = None
    #: for the draws behind rank sets and probabilities
    seed: int = 0


def order(fit: Fit, comparisons: Comparisons, how: Ordering) -> pd.DataFrame:
    """One row per item (with separate contexts: per context and item), best first; columns as in `COLUMNS`."""
    rows = pd.DataFrame({"node": np.arange(len(fit.strengths)), "item": _items(fit)})
    rows["context"] = None if fit.contexts == "pooled" else fit.strengths.index.get_level_values("context")
    rows["strength"] = fit.strengths.to_numpy()
    rows["stderr"] = fit.standard_errors(how.spread.kind, how.spread.by or "group").to_numpy()
    rows["component"] = fit.graph.component
    rows["group"], rows["within"] = _sorting(fit)
    rows["unseen"] = ~fit.graph.observed
    rows = rows.sort_values(["context", "unseen", "component", "group", "within", "item"], kind="stable")
    rows = _ranked(rows.reset_index(drop=True))
    rows["flags"] = _flags(fit, rows["node"].to_numpy())
    rows["low"], rows["high"] = _interval(fit, rows, how)
    rows = _set_places(fit, rows, how).join(_record(fit, comparisons), on="node")
    rows.loc[rows["unseen"], ["rank", "component", "decided_by"]] = None
    return rows[COLUMNS]


def _items(fit: Fit) -> pd.Index:
    return fit.strengths.index if fit.contexts == "pooled" else fit.strengths.index.get_level_values("item")


def _sorting(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Keys that put the best first: a group of nodes that hold a place together, and the place within it.

    Where every gap is finite there is one group. Else strongly connected groups follow the wins between them, and groups
    that no chain of wins puts in order follow the id of their first item.
    """
    within = -fit.layout.strengths(fit.reported)
    within = np.round(np.where(np.isnan(within), 0, within) / EQUAL) * EQUAL
    if fit.prior.bounds_strengths or fit.graph.connected:
        return np.zeros(len(within), np.int64), within
    strong = fit.graph.strong
    beats = nx.DiGraph()
    beats.add_nodes_from(range(int(strong.max()) + 1))
    winner, loser = fit.graph.arrows.nonzero()
    beats.add_edges_from((int(a), int(b)) for a, b in zip(strong[winner], strong[loser], strict=True) if a != b)
    level = np.empty(beats.number_of_nodes(), np.int64)
    for depth, groups in enumerate(nx.topological_generations(beats)):
        level[list(groups)] = depth
    first = pd.Series(fit.counts.node_item).groupby(strong).min().to_numpy()
    place = np.empty(len(level), np.int64)
    place[np.lexsort((first, level))] = np.arange(len(level))
    return place[strong], within


def _ranked(rows: pd.DataFrame) -> pd.DataFrame:
    """Shared ranks for equal strengths; `decided_by` says where an id, not a strength, put an item in its place."""
    key = ["context", "component"]
    frame = rows.assign(context=rows["context"].fillna(""))
    position = frame.groupby(key, sort=False).cumcount() + 1
    previous = frame.groupby(key, sort=False)[["within", "group"]].shift()
    level = (frame["within"] - previous["within"]).abs() <= EQUAL
    same = level & (frame["group"] == previous["group"])
    rows["rank"] = position.where(~same).ffill().astype(int) if len(rows) else position
    tied = same | same.groupby([frame["context"], frame["component"]], sort=False).shift(-1, fill_value=False)
    rows["decided_by"] = np.where(tied, "id", "strength")
    return rows


def _flags(fit: Fit, nodes: np.ndarray) -> list[list[str]]:
    marks = {ABOVE: fit.graph.unbounded_above, BELOW: fit.graph.unbounded_below, UNSEEN: ~fit.graph.observed}
    return [[name for name, mask in marks.items() if mask[node]] for node in nodes]


def _interval(fit: Fit, rows: pd.DataFrame, how: Ordering) -> tuple[np.ndarray, np.ndarray]:
    above, below = (np.array([flag in flags for flags in rows["flags"]], bool) for flag in (ABOVE, BELOW))
    nodes, one_way = rows["node"].to_numpy(), above | below
    strength, error = rows["strength"].to_numpy(dtype=float), rows["stderr"].to_numpy(dtype=float)
    if one_way.any() and fit.steadied is not None and fit.steadied.covariance is not None:
        place = fit.steadied.layout.place[nodes[one_way]]
        strength, error = strength.copy(), error.copy()
        strength[one_way] = fit.steadied.at.strength.reshape(-1)[place]
        error[one_way] = np.sqrt(fit.steadied.covariance.variance(place))
    freedom = np.where(one_way, np.inf, how.spread.freedom(nodes))
    far = np.where(one_way, reach(how.level, freedom, one_sided=True), reach(how.level, freedom)) * error
    return np.where(below, np.nan, strength - far), np.where(above, np.nan, strength + far)


def _set_places(fit: Fit, rows: pd.DataFrame, how: Ordering) -> pd.DataFrame:
    """Rank sets, tiers and probabilities, component by component."""
    columns = {name: np.full(len(rows), np.nan) for name in PLACES}
    against = np.full(len(rows), None, dtype=object)
    labels = rows["component"].astype(str) + "|" + rows["context"].fillna("").astype(str)
    for at in labels.groupby(labels, sort=False).indices.values():
        nodes = rows["node"].to_numpy()[at]
        if how.spread.covariance is None or not fit.graph.observed[nodes].all():
            continue
        top_k = how.top_k or max(1, min(TOP_K, len(nodes) // 2))
        found = places(_gaps(fit, how.spread, nodes), how.level, top_k, how.seed)
        for name, field_name in PLACES.items():
            columns[name][at] = getattr(found, field_name)
        against[at] = found.against_next
    return rows.assign(**columns, against_next=pd.Series(against, index=rows.index, dtype=object))


def _gaps(fit: Fit, spread: Spread, nodes: np.ndarray) -> Gaps:
    assert spread.covariance is not None
    strong = fit.graph.strong[nodes]
    one_way = strong[:, None] != strong[None, :]
    # An infinite gap is no measured one: how sure it is stays open.
    measured = ~one_way if _open(fit) else np.ones_like(one_way)
    found = _block(fit.layout, fit.reported, spread.covariance, nodes)
    freedom = spread.freedom(nodes[:, None], nodes[None, :])
    steadied = None
    if one_way.any() and fit.steadied is not None and fit.steadied.covariance is not None:
        sane = _block(fit.steadied.layout, fit.steadied.at, fit.steadied.covariance, nodes)
        steadied = Gaps(*sane, np.full(freedom.shape, np.inf), np.ones_like(one_way))
    return Gaps(*found, freedom, measured, one_way, steadied)


def _block(layout: Layout, at: Parameters, known: Covariance, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strengths of some nodes of one block, and their covariance."""
    block, place = np.divmod(layout.place[nodes], layout.problem.node.shape[1])
    return at.strength.reshape(-1)[layout.place[nodes]], known.strengths[block[0]][np.ix_(place, place)]


def _open(fit: Fit) -> bool:
    return not (fit.prior.bounds_strengths or fit.graph.connected)


def _record(fit: Fit, comparisons: Comparisons) -> pd.DataFrame:
    """Accepted wins, losses and ties of each node; points = wins - losses."""
    table = comparisons.table
    status, p = table["status"].to_numpy(), table["p_a"].to_numpy()
    count = np.where(table["weight"].to_numpy() > 0, table["count"].to_numpy(), 0.0)
    n = len(fit.strengths)
    a, b = (_nodes(fit, table, end) for end in ("item_a", "item_b"))
    won_a, won_b, tied = (status == WIN) & (p > 0.5), (status == WIN) & (p < 0.5), status == TIED

    def total(*parts: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        return np.sum([np.bincount(node[mask], weights=count[mask], minlength=n) for node, mask in parts], axis=0)

    wins, losses, ties = total((a, won_a), (b, won_b)), total((b, won_a), (a, won_b)), total((a, tied), (b, tied))
    return pd.DataFrame({"points": wins - losses, "wins": wins, "losses": losses, "ties": ties})


def _nodes(fit: Fit, table: pd.DataFrame, end: str) -> np.ndarray:
    context = table["context"].cat.codes.to_numpy().astype(np.int64)
    return fit.counts.nodes(list(table[end].cat.categories), context, table[end].cat.codes.to_numpy())


@dataclass(frozen=True, eq=False)
class Ranking:
    """A ranking, what it rests on, and how it was made."""

    #: columns as in `COLUMNS`; missing numbers are NaN
    frame: pd.DataFrame
    #: one row per judge
    judges: pd.DataFrame
    diagnostics: Diagnostics
    fit: Fit
    settings: dict[str, object]
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()
    #: the table that it was made from
    data: Judgments | Comparisons | None = field(default=None, repr=False)
    #: coefficients of the covariates, as `Fit.coefficient_frame` gives them, with the errors and the level of the ranking
    coefficients: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    def probability(self, a: Item, b: Item, judge: str | None = None) -> float:
        """P(a beats b); see `Fit.probability`."""
        return self.fit.probability(a, b, judge)

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        shown = self.frame[["rank", "item", "strength", "stderr", "rank_low", "rank_high", "tier"]]
        return (
            f"Ranking of {len(self)} items ({self.fit.model}, {self.fit.opinions} opinions)\n{shown.to_string(index=False)}"
        )

    def _repr_html_(self) -> str:
        return self.frame.drop(columns=["flags"]).to_html(index=False, float_format="%.3f", na_rep="")

    def to_dict(self) -> dict[str, object]:
        """The JSON document `juryrank.ranking/1`; unknown numbers are None."""
        return ranking_document(self.frame, self.diagnostics, self.fit, self.settings, self.warnings, self.coefficients)
