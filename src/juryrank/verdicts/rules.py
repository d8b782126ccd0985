"""Reliability-weighted verdicts: each rule turns comparisons of two systems into a winner per question and weights.

    bt-sigma            BT-sigma on the two-item collapse (hard, flips half); weights 1 / sigma, then a weighted plurality
    consistency         weights max(shrunk repetition consistency, 0.05), then a weighted plurality
    dawid-skene         a latent winner per question; weights are Youden's index where it is positive
    bt-sigma-questions  BT-sigma with items of their own in every question: from 20 judges on their strengths decide, with
                        weights 1 / sigma; under 20 a plurality weighted by the log odds of what a judge's vote tells.
                        Judges that do not differ detectably all weigh the same

The first two cannot tell a reliable judge from a one-sided or a stubborn one; the last two compare judges question by
question, and can. None can tell a sharp majority from a biased one: only labels can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from juryrank.counts import showings
from juryrank.diagnostics.consistency import repetition_consistency
from juryrank.estimate import Fit
from juryrank.fitting import fit_bt
from juryrank.tables import Comparisons, comparisons
from juryrank.verdicts.camps import Camps
from juryrank.verdicts.dawid_skene import Latent, dawid_skene
from juryrank.verdicts.graded import Graded, fit_graded
from juryrank.verdicts.panel import NONE, A, B, plurality
from juryrank.verdicts.pools import pooled
from juryrank.verdicts.votes import Votes

#: the least weight of a judge under the consistency rule
LEAST = 0.05
#: judges from which the joint maximum of bt-sigma-questions is safe, and better (benchmarks/verdict_rules.py)
MANY = 20
#: a gap, or a distance from one half, that is none
LEVEL = 1e-9
#: Youden's index from which a judge counts as answering against the rest
AGAINST = 0.05
#: and beyond which no judge is believed to be
SUREST = 0.99
#: p-value of alike judges under which they are weighed apart (benchmarks/verdict_rules.py)
DIFFER = 0.1
#: how often a known winner is heard, and as whose opinion
LABEL, LABELS = 25.0, "\x00labels"


@dataclass(frozen=True, eq=False)
class Weighted:
    """What a rule says."""

    rule: str
    winner: np.ndarray  # (questions,) A, B, TIE or NONE
    weights: np.ndarray  # (judges,) the largest is 1; NaN for a judge without one
    warnings: tuple[str, ...] = ()
    sigmas: np.ndarray | None = None  # (judges,) where the rule has them
    #: more judges that answer against the rest than with them, and the rest
    outnumbered: Camps | None = None

    def saying(self, more: tuple[str, ...]) -> Weighted:
        """The same, with more warnings."""
        return replace(self, warnings=self.warnings + more)

    def deciding(self, winner: np.ndarray) -> Weighted:
        """The same weights, with other winners."""
        return replace(self, winner=winner)


@dataclass(frozen=True, eq=False)
class Panel:
    """What the rules see: two systems only."""

    votes: Votes
    compared: Comparisons
    #: (questions,) P(A is better) where it is known, NaN elsewhere
    known: np.ndarray
    quorum: int
    turned: bool  # A is the later of the two in the alphabet


Rule = Callable[[Panel], Weighted]


def by_bt_sigma(panel: Panel) -> Weighted:
    """Weights 1 / sigma of the two-item collapse."""
    votes = panel.votes
    picks = np.stack([votes.by_judge(votes.vote == side) for side in (A, B)])
    spoken = votes.by_judge(votes.spoken) > 0
    one_sided = spoken & (votes.by_judge(votes.spoken & (votes.vote == NONE)) == 0) & (picks.min(axis=0) == 0)
    measured = spoken & ~one_sided
    if measured.sum() < 2:
        return even(panel, "bt-sigma", "fewer than two judges vote for both systems: sigma cannot be compared.")
    names = votes.judges[measured]
    fit = fit_bt(only_judges(panel.compared, names), hard=True, extra_starts=0)
    weights = np.full(len(votes.judges), np.nan)
    weights[measured] = 1 / fit.sigmas.reindex(names).to_numpy()
    weights, said = filled(weights, spoken, votes.judges, "vote for one system only")
    verdict = weighted(panel, "bt-sigma", weights, said + tuple(w for w in fit.warnings if "saddle" in w))
    return replace(verdict, sigmas=fit.sigmas.reindex(votes.judges).to_numpy())


def by_consistency(panel: Panel) -> Weighted:
    """Weights from repetition consistency."""
    votes, source = panel.votes, panel.compared.judgments
    if source is None or not votes_in_both_orders(panel):
        return even(panel, "consistency", "repetition consistency needs showings in both orders.")
    shrunk = repetition_consistency(source)["shrunk"].reindex(votes.judges).to_numpy()
    if (~np.isnan(shrunk)).sum() < 2:
        return even(panel, "consistency", "fewer than two judges have repeated showings.")
    spoken = votes.by_judge(votes.spoken) > 0
    weights, said = filled(np.maximum(shrunk, LEAST), spoken, votes.judges, "have no repeated showings")
    return weighted(panel, "consistency", weights, said)


def by_dawid_skene(panel: Panel) -> Weighted:
    """The latent winner; on the showings with a matrix for each order where there are any."""
    latent = latent_winners(panel)
    p = latent.p_a
    winner = np.where(np.abs(p - 0.5) <= 1e-9, NONE, np.where(p > 0.5, A, B))
    spoke = panel.votes.by_judge(panel.votes.spoken) > 0
    weights = scaled(np.where(spoke, np.maximum(latent.youden, 0), np.nan))
    said = () if latent.converged else ("Dawid-Skene has not converged.",)
    return Weighted("dawid-skene", clamped(panel, _heard(panel, winner)), weights, said)


def latent_winners(panel: Panel) -> Latent:
    """Dawid-Skene on a panel."""
    rows = answers(panel)
    conditions = int(rows["condition"].max(initial=0)) + 1
    return dawid_skene(
        **rows,
        questions=len(panel.votes.questions),
        judges=len(panel.votes.judges),
        conditions=conditions,
        known=panel.known,
    )


def answers(panel: Panel) -> dict[str, np.ndarray]:
    """Rows for Dawid-Skene: the showings (which system was first is a condition), else the opinions."""
    votes, source = panel.votes, panel.compared.judgments
    if source is None:
        kept = votes.spoken
        answer = np.where(votes.vote[kept] <= B, votes.vote[kept], 2)
        none = np.zeros(int(kept.sum()), np.int64)
        columns = {"question": votes.question[kept], "judge": votes.judge[kept], "condition": none, "answer": answer}
        return columns | {"weight": votes.count[kept]}
    rows = showings(source)
    names = np.asarray(source.table["context"].cat.categories, dtype=object)[rows["context"]]
    question = pd.Index(votes.questions).get_indexer(names)
    verdict = np.where(rows["tie"] | (rows["p"] == 0.5), 2, np.where((rows["p"] > 0.5) ^ panel.turned, A, B))
    kept = question >= 0
    first = (rows["slot"] > 0) ^ panel.turned
    columns = {"question": question, "judge": rows["judge"], "condition": first.astype(np.int64), "answer": verdict}
    columns |= {"weight": rows["weight"]}
    return {name: column[kept] for name, column in columns.items()}


def by_questions(panel: Panel) -> Weighted:
    """Strengths per question, sigma shared: integrated for small panels, maximised jointly for large ones."""
    graded = _graded(panel)
    if graded.alike >= DIFFER:
        return _all_alike(panel, graded.alike)
    spoke = panel.votes.by_judge(panel.votes.spoken) > 0
    return _by_grades(panel, graded, spoke) if spoke.sum() < MANY else _jointly(panel)


def _graded(panel: Panel) -> Graded:
    votes, kept = panel.votes, panel.votes.spoken
    return fit_graded(
        votes.question[kept],
        votes.judge[kept],
        np.where(votes.vote == A, 1.0, np.where(votes.vote == B, 0.0, 0.5))[kept],
        votes.count[kept],
        questions=len(votes.questions),
        judges=len(votes.judges),
        known=panel.known,
    )


def _jointly(panel: Panel) -> Weighted:
    fit = fit_bt(_with_labels(panel), contexts="separate", extra_starts=0)
    gap = gaps(panel, fit)
    winner = np.where(np.isnan(gap) | (np.abs(gap) <= LEVEL), NONE, np.where(gap > 0, A, B))
    sigmas = fit.sigmas.reindex(panel.votes.judges).to_numpy()
    said = tuple(w for w in fit.warnings if "NOT converged" in w)
    return Weighted("bt-sigma-questions", clamped(panel, _heard(panel, winner)), scaled(1 / sigmas), said, sigmas)


def _by_grades(panel: Panel, graded: Graded, spoke: np.ndarray) -> Weighted:
    votes = panel.votes
    said: tuple[str, ...] = () if graded.converged else ("bt-sigma-questions has not converged.",)
    telling = np.full(len(spoke), np.nan)
    telling[spoke] = pooled(graded.telling[spoke], graded.telling_error[spoke])
    if np.ptp(telling[spoke]) == 0:
        said += ("no judge differs from another by two standard errors: all weigh the same.",)
    against = spoke & (telling < -AGAINST)
    if against.any():
        names = ", ".join(map(str, votes.judges[against][:8]))
        said += (f"{names} answer against the rest of the panel: their weight is 0.",)
    # The best weight of an independent vote that is right with chance (1 + J) / 2 is its log odds (Nitzan and Paroush 1982).
    odds = np.clip(telling, 0.0, SUREST)
    weights = np.log((1 + odds) / (1 - odds))
    verdict = weighted(panel, "bt-sigma-questions", weights, said)
    with_rest = spoke & (telling > AGAINST)
    outnumbered = against.sum() > with_rest.sum() > 0
    camps = (votes.judges[against].tolist(), votes.judges[with_rest].tolist()) if outnumbered else None
    return replace(verdict, sigmas=_sigmas(weights), outnumbered=camps)


def _all_alike(panel: Panel, p: float) -> Weighted:
    """Weights that noise alone would set apart would only cost right answers."""
    verdict = even(panel, "bt-sigma-questions")
    several = (verdict.weights == 1).sum() > 1
    said = (f"the judges do not differ detectably (p = {p:.2g}): all weigh the same.",) if several else ()
    return replace(verdict, sigmas=verdict.weights if several else None, warnings=said)


def _sigmas(weights: np.ndarray) -> np.ndarray:
    """1 / weight with geometric mean 1: a vote at unit distance from the neutral point has these log odds; NaN at none."""
    telling = np.nan_to_num(weights) > LEVEL
    log = np.log(np.where(telling, weights, np.nan))
    return np.exp(np.nanmean(log) - log) if telling.any() else log


def _with_labels(panel: Panel) -> Comparisons:
    """The comparisons, and the known winners as the opinions of one more judge that is heard LABEL times."""
    compared = panel.compared
    labelled = np.flatnonzero(~np.isnan(panel.known))
    if not len(labelled):
        return compared
    frame = compared.frame
    a, b = (compared.items[::-1]) if panel.turned else compared.items
    extra = pd.DataFrame({"context": panel.votes.questions[labelled], "judge": LABELS, "item_a": a, "item_b": b})
    extra = extra.assign(p_a=panel.known[labelled], weight=LABEL, status="win", group=extra["context"])
    columns = ["context", "judge", "item_a", "item_b", "p_a", "status", "weight", "group"]
    return comparisons(pd.concat([frame[columns], extra[columns]], ignore_index=True))


def _heard(panel: Panel, winner: np.ndarray) -> np.ndarray:
    """No winner under the quorum of decisive votes."""
    return np.where(decisive(panel.votes) >= panel.quorum, winner, NONE)


def decisive(votes: Votes) -> np.ndarray:
    """(questions,) votes for A, B or a tie."""
    return np.round(votes.sums(np.ones(len(votes.judges))).sum(axis=1))


def clamped(panel: Panel, winner: np.ndarray) -> np.ndarray:
    """What people said stands."""
    return np.where(np.isnan(panel.known), winner, np.where(panel.known == 1, A, B))


def gaps(panel: Panel, fit: Fit) -> np.ndarray:
    """(questions,) strength of A over B; NaN where nobody spoke."""
    items = panel.compared.items
    a, b = (items[1], items[0]) if panel.turned else (items[0], items[1])
    strength = fit.strengths.unstack().reindex(panel.votes.questions)
    return (strength[a] - strength[b]).to_numpy()


def votes_in_both_orders(panel: Panel) -> bool:
    """Whether some pair was shown both ways round."""
    return bool((panel.compared.table["orders"] == 2).any())


RULES: dict[str, Rule] = {
    "bt-sigma": by_bt_sigma,
    "bt-sigma-questions": by_questions,
    "consistency": by_consistency,
    "dawid-skene": by_dawid_skene,
}


def even(panel: Panel, rule: str, why: str = "") -> Weighted:
    """Every judge alike: the plurality, and what rules fall back to."""
    weights = np.where(panel.votes.by_judge(panel.votes.spoken) > 0, 1.0, np.nan)
    return weighted(panel, rule, weights, (f"{rule}: {why} All judges weigh the same.",) if why else ())


def weighted(panel: Panel, rule: str, weights: np.ndarray, said: tuple[str, ...]) -> Weighted:
    """A weighted plurality."""
    votes = panel.votes
    winner = plurality(votes.sums(np.nan_to_num(weights)), decisive(votes), panel.quorum)
    return Weighted(rule, clamped(panel, winner), scaled(weights), said)


def filled(weights: np.ndarray, spoken: np.ndarray, judges: np.ndarray, why: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Judges that spoke and have no weight take the median, and are named."""
    missing = spoken & np.isnan(weights)
    if not missing.any():
        return weights, ()
    names = ", ".join(map(str, judges[missing][:8]))
    chosen = np.where(missing, np.nanmedian(weights), weights)
    return chosen, (f"{names} {why}: they take the median weight.",)


def scaled(weights: np.ndarray) -> np.ndarray:
    """So that the largest is 1."""
    top = np.nanmax(weights, initial=0.0)
    return weights / top if top > 0 else weights


def only_judges(compared: Comparisons, names: np.ndarray) -> Comparisons:
    """The comparisons of some judges."""
    rows = compared.table["judge"].isin(list(names)).to_numpy()
    table = compared.table[rows].reset_index(drop=True)
    table["judge"] = table["judge"].cat.remove_unused_categories()
    return Comparisons(table, compared.source, judgments=None, policy=compared.policy)
