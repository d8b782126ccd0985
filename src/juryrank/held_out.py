"""Opinions that a model has not seen: groups of rows that stay together, folds of groups, and what a fit foretells.

Conventions: rows are the opinions that enter a fit (`row` is their place in the table). A fold is a set of groups; a group
is never split. Groups are numbered by their sorted ids and dealt to the folds by a seeded permutation, so that the order of
the rows plays no part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from juryrank.columns import number_rows
from juryrank.counts import CONTEXTS, opinions, showings
from juryrank.errors import NoVerdictError, SettingsError
from juryrank.estimate import Fit
from juryrank.likelihoods import log_share
from juryrank.objective import TIE
from juryrank.tables import Comparisons, Judgments

BY = ("auto", "context", "pair")
Table = Comparisons | Judgments


@dataclass(frozen=True, eq=False)
class Split:
    """A table whose usable rows are dealt to folds."""

    source: Table
    contexts: str
    by: str
    folds: int
    #: columns of the usable rows, as `counts.opinions` gives them
    rows: dict[str, np.ndarray] = field(repr=False)
    #: (rows,) number of the group that the row belongs to, from 0, and its fold
    group: np.ndarray = field(repr=False)
    fold: np.ndarray = field(repr=False)

    @property
    def groups(self) -> int:
        """How many groups were dealt."""
        return int(self.group.max()) + 1

    def without(self, fold: int) -> Table:
        """The table of the usable rows outside a fold."""
        kept = self.rows["row"][self.fold != fold]
        return replace(self.source, table=self.source.table.iloc[kept].reset_index(drop=True))

    @property
    def frame(self) -> pd.DataFrame:
        """The usable rows as text and numbers: context, judge, item_a, item_b, slot, p, weight, group, fold."""
        table, items = self.source.table, np.asarray(self.source.items, dtype=object)
        named = {
            name: np.asarray(table[name].cat.categories, dtype=object)[self.rows[name]] for name in ("context", "judge")
        }
        named |= {name: items[self.rows[name]] for name in ("item_a", "item_b")}
        numbers = {name: self.rows[name] for name in ("slot", "p", "weight")}
        return pd.DataFrame(named | numbers | {"group": self.group, "fold": self.fold})


@dataclass(frozen=True, eq=False)
class Foretold:
    """What one model said of the rows that it had not seen, (rows,) each."""

    #: log of the share foretold for item_a, and for item_b
    log_q: np.ndarray
    log_not: np.ndarray
    #: whether the fit had a finite gap between the two; where not, q is one half
    known: np.ndarray
    #: folds whose fit converged
    converged: int

    @property
    def q(self) -> np.ndarray:
        """P(a wins) + P(tie) / 2."""
        return np.exp(self.log_q)

    @property
    def logit(self) -> np.ndarray:
        """log q - log(1 - q); 0 where nothing is known."""
        return self.log_q - self.log_not


def split(source: Table, *, contexts: str, folds: int, by: str, seed: int) -> Split:
    """Deal the usable rows of a table to `folds` folds, by context or by unordered pair of items."""
    _check(contexts, folds, by, seed)
    rows = showings(source) if isinstance(source, Judgments) else opinions(source)
    if not len(rows["row"]):
        raise NoVerdictError("not one usable verdict: every opinion is an abstention or a failure.")
    chosen = _chosen(by, contexts, rows, folds)
    group, keys = number_rows(*_keys(chosen, contexts, rows))
    if len(keys) < folds:
        raise SettingsError(
            f"{len(keys)} {chosen}{'s' * (len(keys) != 1)} cannot make {folds} folds, since a {chosen} is never split: "
            "ask for fewer folds, or hold out by the other of 'context' and 'pair'."
        )
    dealt = np.random.default_rng(seed).permutation(len(keys)) % folds
    return Split(source, contexts, chosen, folds, rows, group, dealt[group])


def _check(contexts: str, folds: int, by: str, seed: int) -> None:
    for name, word, allowed in (("contexts", contexts, CONTEXTS), ("by", by, BY)):
        if word not in allowed:
            raise SettingsError(f"no {name} {word!r}; expected one of {', '.join(allowed)}.")
    for name, number, least in (("folds", folds, 2), ("seed", seed, 0)):
        if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or number < least:
            raise SettingsError(f"{name} is {number!r}; expected a whole number of at least {least}.")
    if by == "context" and contexts == "separate":
        raise SettingsError("by='context' with contexts='separate': a context held out has no strengths; use by='pair'.")


def _chosen(by: str, contexts: str, rows: dict[str, np.ndarray], folds: int) -> str:
    if by != "auto":
        return by
    many = len(np.unique(rows["context"])) >= 2 * folds
    return "context" if contexts == "pooled" and many else "pair"


def _keys(by: str, contexts: str, rows: dict[str, np.ndarray]) -> list[np.ndarray]:
    if by == "context":
        return [rows["context"]]
    within = [rows["context"]] if contexts == "separate" else []
    return [*within, rows["item_a"], rows["item_b"]]


def foretell(parts: Split, fit: Callable[[Table], Fit]) -> Foretold:
    """Fit on all folds but one, say what the fit foretells of that one, and so for each fold."""
    n = len(parts.fold)
    log_q, log_not, known = np.empty(n), np.empty(n), np.empty(n, bool)
    converged = 0
    for fold in range(parts.folds):
        held = parts.fold == fold
        rows = {name: column[held] for name, column in parts.rows.items()}
        made = fit(parts.without(fold))
        log_q[held], log_not[held], known[held] = predict(made, rows)
        converged += made.converged
    return Foretold(log_q, log_not, known, converged)


def predict(fit: Fit, rows: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows,) log of the shares foretold for a and for b, and whether their gap is known; one half each where not.

    `rows` carry the codes of the table that the fit was made from. A judge that the fit has not seen has sigma 1 (the
    geometric mean) and no slot bias.
    """
    sigma = np.nan_to_num(fit.sigmas.to_numpy(), nan=1.0)[rows["judge"]]
    z = _gaps(fit, rows) / sigma + rows["slot"] * fit.slot_biases.to_numpy()[rows["judge"]]
    known: np.ndarray = np.isfinite(z)
    z, c = np.where(known, z, 0.0), fit.reported.border[TIE]

    log_q: np.ndarray = log_share(fit.likelihood, z, c)
    log_not: np.ndarray = log_share(fit.likelihood, -z, c)
    return np.where(known, log_q, np.log(0.5)), np.where(known, log_not, np.log(0.5)), known


def _gaps(fit: Fit, rows: dict[str, np.ndarray]) -> np.ndarray:
    """(rows,) s_a - s_b, NaN where an item was not seen or nothing bounds their gap."""
    a, b = (_nodes(fit, rows, end) for end in ("item_a", "item_b"))
    bounded = fit.prior.bounds_strengths or fit.graph.connected
    together = fit.graph.label if bounded else fit.graph.strong
    strength = fit.layout.strengths(fit.reported)
    joined = (a >= 0) & (b >= 0) & (together[a] == together[b])
    return np.where(joined, strength[a] - strength[b], np.nan)


def _nodes(fit: Fit, rows: dict[str, np.ndarray], end: str) -> np.ndarray:
    """(rows,) node of one end of each pair, -1 where the fit has none."""
    counts = fit.counts
    size = len(counts.items)
    context = rows["context"] if fit.contexts == "separate" else 0
    nodes = pd.Index(counts.node_context * size + counts.node_item)
    return nodes.get_indexer(context * size + rows[end])
