"""The single opinions behind a fit, and what each says of the parameters.

Conventions: parameters are flat, the strengths of all blocks first, then the border. The score of an opinion is the gradient
of its log-likelihood; `design` is the gradient of its logit z, `bend` its expected information on z: but for the tie
parameter, sum of count * bend * design design^T is the expected information.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.sparse import coo_array, csr_array

from juryrank.columns import number_rows
from juryrank.counts import Graph, PairCounts, single
from juryrank.layout import Layout
from juryrank.likelihoods import TIES, probabilities
from juryrank.objective import TIE, Parameters, Rows, view
from juryrank.tables import Comparisons, Judgments


@dataclass(frozen=True, eq=False)
class Evidence:
    """One row per opinion, or per showing where showings were fitted."""

    #: (rows,) nodes, judge, slot
    a: np.ndarray
    b: np.ndarray
    judge: np.ndarray
    slot: np.ndarray
    #: (rows,) what it is of wins of a, wins of b and ties; they sum to 1
    wins_a: np.ndarray
    wins_b: np.ndarray
    ties: np.ndarray
    #: (rows,) equal rows that it stands for, and the weight of its judge
    count: np.ndarray
    importance: np.ndarray
    #: (rows,) number of the group, and of the opinion: all showings of one pair to one judge in one context
    group: np.ndarray
    opinion: np.ndarray
    #: (rows,) whether chains of wins lead both ways between the two, so that their gap has a finite maximum
    two_way: np.ndarray
    #: (rows,) position in the table that was fitted
    row: np.ndarray
    #: (rows, covariates) of a minus of b, in the units of the source; None without covariates
    x: np.ndarray | None = None

    def keep(self, rows: np.ndarray) -> Evidence:
        """Only some rows."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: column[rows] for name, column in columns.items() if column is not None})

    def __len__(self) -> int:
        return len(self.a)


@dataclass(frozen=True, eq=False)
class Pull:
    """What each row says of the parameters."""

    #: (rows, parameters) gradient of the logit
    design: csr_array
    #: (rows,) score by the logit, and by the tie parameter; expected information on the logit; all times the importance
    lean: np.ndarray
    lean_tie: np.ndarray
    bend: np.ndarray


def evidence(
    source: Comparisons | Judgments,
    counts: PairCounts,
    graph: Graph,
    weights: np.ndarray,
    *,
    ties: str,
    hard: bool,
    disagreements: str,
) -> Evidence:
    """The rows of a source as they entered a fit; `weights` (judges,); `ties` as in the likelihood."""
    rows = single(source, hard, counts.covariates)
    a, b = (counts.nodes(source.items, rows["context"], rows[name]) for name in ("item_a", "item_b"))
    tie = rows["tie"] if ties != "half" else np.zeros(len(a), bool)
    half = (rows["tie"] | rows["flip"]) & ~tie
    p = np.where(half, 0.5, rows["p"])
    opinion = np.arange(len(a))
    if isinstance(source, Judgments):
        opinion, _ = number_rows(rows["context"], rows["judge"], a, b)
    found = Evidence(
        a=a,
        b=b,
        judge=rows["judge"],
        slot=rows["slot"].astype(float),
        wins_a=np.where(tie, 0.0, p),
        wins_b=np.where(tie, 0.0, 1 - p),
        ties=tie.astype(float),
        count=rows["weight"],
        importance=weights[rows["judge"]],
        group=rows["group"],
        opinion=opinion,
        two_way=graph.strong[a] == graph.strong[b],
        row=rows["row"],
        x=rows.get("x"),
    )
    dropped = rows["flip"] & (disagreements == "drop")
    return found.keep(~dropped & (found.importance > 0))


def pull(ties: str, found: Evidence, layout: Layout, at: Parameters) -> Pull:
    """Scores and information of single rows at some parameters; rows that were not fitted count as well."""
    lone = len(layout.t) == 1
    judge = np.zeros_like(found.judge) if lone else found.judge
    fitted = layout.problem.rows
    rows = Rows(
        a=layout.place[found.a],
        b=layout.place[found.b],
        t=None if fitted.t is None else layout.t[judge],
        bias=None if fitted.bias is None else layout.b[judge],
        slot=found.slot,
        wins_a=found.wins_a,
        wins_b=found.wins_b,
        ties=found.ties,
        observed=np.ones(len(found)),
        x=None if fitted.x is None or found.x is None else found.x / layout.unit,
        beta=None if fitted.beta is None else layout.beta[judge],
    )
    seen, c = view(rows, at), at.border[TIE]
    said = TIES[ties](seen.z, c, rows.wins_a, rows.wins_b, rows.ties)
    expected = TIES[ties](seen.z, c, *probabilities(ties, seen.z, c))
    return Pull(
        design=_design(rows, seen.scale, seen.gap, at),
        lean=found.importance * said.z,
        lean_tie=np.zeros(len(found)) if said.c is None else found.importance * said.c,
        bend=-found.importance * expected.zz,
    )


def _design(rows: Rows, scale: np.ndarray, gap: np.ndarray, at: Parameters) -> csr_array:
    """(rows, parameters): scale at a, -scale at b, -gap at log sigma, slot at the slot bias, x at the coefficients."""
    n, first = len(rows.a), at.strength.size
    terms = [(rows.a, scale), (rows.b, -scale)]
    if rows.t is not None:
        terms.append((first + rows.t, -gap))
    terms += [(first + place, value) for place, value in rows.linear]
    places, values = (np.concatenate(part) for part in zip(*terms, strict=True))
    return coo_array((values, (np.tile(np.arange(n), len(terms)), places)), shape=(n, first + at.border.size)).tocsr()


def scores(said: Pull, border: int) -> csr_array:
    """(rows, parameters) gradient of each row's log-likelihood; `border` is the size of the border."""
    by_logit = csr_array(said.design.multiply(said.lean[:, None]))
    if not said.lean_tie.any():
        return by_logit
    rows, size = said.design.shape
    column = np.full(rows, size - border + TIE)
    return csr_array(by_logit + coo_array((said.lean_tie, (np.arange(rows), column)), shape=(rows, size)))
