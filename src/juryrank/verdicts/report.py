"""`compare_systems`: two systems over many questions, and how far the panel can be believed.

Conventions: a *comparison* is a question. It is decided where the plurality of the panel is for one of the two systems.
Win rates are over decided comparisons, with Wilson's interval; tie and inconclusive rates are over all comparisons.
`p_value` is the exact two-sided sign test over decided questions: questions are the independent units, judges are not.
The weighted rule stands beside the plurality and never replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from juryrank.diagnostics.agreement import Agreement, agreement
from juryrank.diagnostics.diagnosis import examine
from juryrank.document import plain, records, whole
from juryrank.errors import InputError, NoVerdictError, SettingsError
from juryrank.fitting import fit_bt
from juryrank.reconciliation import reconcile
from juryrank.tables import LONE_CONTEXT, Comparisons, Judgments
from juryrank.verdicts.choice import AGGREGATIONS, choose
from juryrank.verdicts.judges import labels_to_separate, outlier, pairs, share, truth, wilson, without
from juryrank.verdicts.panel import NONE, TIE, A, B, check_quorum, plurality, sign_test
from juryrank.verdicts.rules import Panel, Weighted
from juryrank.verdicts.votes import Votes, votes_on

SCHEMA = "juryrank.comparison/1"
#: change of the win rate from which a verdict that is not certain rests on who is left out
SWING = 0.1


@dataclass(frozen=True, eq=False)
class ABReport:
    """Who won, how sure that is, and which judge to believe; None where a thing was not measured."""

    a: str
    b: str
    comparisons: int
    decided: int
    a_win_rate: float | None
    b_win_rate: float | None
    #: Wilson interval of a_win_rate at `level`
    interval: tuple[float | None, float | None]
    p_value: float | None
    tie_rate: float | None
    inconclusive_rate: float | None
    agreement: Agreement
    #: for a judge of geometric-mean sigma, from BT-sigma on the two systems
    p_a_beats_b: float | None
    #: rule, a_win_rate, b_win_rate, tie_rate, inconclusive_rate of the weighted verdicts
    weighted: dict[str, object]
    #: one row per judge
    judges: pd.DataFrame
    #: one row per question: context, winner, weighted_winner, order_dependent, votes
    frame: pd.DataFrame
    #: by judge, on labelled questions: labelled, accuracy, low, high, sensitivity_a, sensitivity_b
    truth: pd.DataFrame
    #: by two judges: shared, equal, correlation
    pairs: pd.DataFrame
    #: by judge or family left out: a_wins, b_wins
    without: pd.DataFrame
    level: float
    warnings: tuple[str, ...]
    votes: Votes = field(repr=False)
    known: np.ndarray = field(repr=False)
    #: the table that it was made from
    data: Judgments | Comparisons = field(repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def summary(self) -> str:
        """Who won, and how sure that is, in one sentence."""
        if self.a_win_rate is None or self.p_value is None:
            return f"Not one question is decided between {self.a} and {self.b}."
        low, high = self.interval
        certain = self.p_value < 1 - self.level
        verdict = f"{self.a if self.a_win_rate >= 0.5 else self.b} is better" if certain else "No certain difference"
        few = "" if certain or could_tell(self.decided, self.level) else "; too few decided questions to tell"
        questions = f"{self.decided} decided question{'s' * (self.decided != 1)}"
        return (
            f"{verdict}: {self.a} wins {self.a_win_rate:.1%} [{low:.1%}, {high:.1%}] of {questions} "
            f"(sign test p = {self.p_value:.2g}){few}."
        )

    def __str__(self) -> str:
        return self.summary

    @property
    def outlier(self) -> str | None:
        """The judge whose votes correlate least with the others'; None under three judges."""
        return outlier(self.pairs)

    def labels_to_separate(self, judge: str, other: str) -> int | None:
        """How many more labels would tell two judges' accuracies apart; None where the labels so far show no difference."""
        return labels_to_separate(self.votes, self.known, judge, other, self.level)

    def to_dict(self) -> dict[str, object]:
        """The JSON document `juryrank.comparison/1`."""
        return {
            "schema": SCHEMA,
            "a": self.a,
            "b": self.b,
            "comparisons": self.comparisons,
            "decided": self.decided,
            "a_win_rate": self.a_win_rate,
            "b_win_rate": self.b_win_rate,
            "interval": list(self.interval),
            "p_value": self.p_value,
            "tie_rate": self.tie_rate,
            "inconclusive_rate": self.inconclusive_rate,
            "mean_agreement": plain(self.agreement.mean),
            "agreement_coverage": plain(self.agreement.coverage),
            "chance_corrected_agreement": plain(self.agreement.chance_corrected),
            "p_a_beats_b": plain(self.p_a_beats_b),
            "weighted": self.weighted,
            "judges": _whole_counts(self.judges),
            "questions": records(self.frame),
            "warnings": list(self.warnings),
            **self._asked_for(),
        }

    def _asked_for(self) -> dict[str, object]:
        """What labels and families add to the document."""
        more: dict[str, object] = {}
        if self.truth["labelled"].any():
            more["labelled"] = _whole_counts(self.truth)
        if len(self.without) > len(self.votes.judges):
            more["without"] = records(self.without)
        return more


def _whole_counts(frame: pd.DataFrame) -> list[dict[str, object]]:
    return [{name: _rounded(name, value) for name, value in row.items()} for row in records(frame)]


def _rounded(name: str, value: object) -> object:
    return whole(value) if name in ("judgments", "failures", "labelled") else value


def compare_tables(
    data: Judgments | Comparisons,
    *,
    a: str,
    b: str,
    aggregation: str = "auto",
    labels: Mapping[str, str] | None = None,
    families: Mapping[str, str] | None = None,
    quorum: int = 1,
    level: float = 0.95,
) -> ABReport:
    """`juryrank.compare_systems` on tables that are read already."""
    _check(aggregation, quorum, level)
    for name, given in (("labels", labels), ("families", families)):
        if given is not None and not isinstance(given, Mapping):
            raise SettingsError(f"{name} is {given!r:.60}; expected a mapping, say a dict.")
    compared = reconcile(data) if isinstance(data, Judgments) else data
    votes = votes_on(compared, a, b)
    ours = _of_two(compared, a, b)
    _has_questions(compared, votes)
    if not votes.spoken.any():
        raise NoVerdictError("not one usable verdict: every opinion is an abstention or a failure.")
    panel = Panel(votes, ours, _known(votes, labels, a, b), quorum, turned=a > b)
    winner = _plurality(votes, quorum)
    weighted = choose(aggregation, panel)
    decided, wins = int((winner <= B).sum()), int((winner == A).sum())
    gap, said = _two_item_fit(panel)
    left_out, table = without(votes, families, quorum), pairs(votes)
    more = _opposed(table, level) + _too_few(decided, level)
    return ABReport(
        a=a,
        b=b,
        comparisons=len(winner),
        decided=decided,
        a_win_rate=wins / decided if decided else None,
        b_win_rate=(decided - wins) / decided if decided else None,
        interval=wilson(wins, decided, level),
        p_value=sign_test(wins, decided),
        tie_rate=float((winner == TIE).mean()),
        inconclusive_rate=float((winner == NONE).mean()),
        agreement=agreement(ours, level=False),
        p_a_beats_b=gap,
        weighted={"rule": weighted.rule, **_rates(weighted.winner)},
        judges=_judges(panel, weighted),
        frame=_questions(votes, winner, weighted.winner, a, b),
        truth=truth(votes, panel.known, level),
        pairs=table,
        without=left_out,
        votes=votes,
        known=panel.known,
        data=data,
        level=level,
        warnings=compared.warnings + weighted.warnings + said + _rests_on(left_out, winner, a, b, level) + more,
        notes=compared.notes,
    )


def _has_questions(compared: Comparisons, votes: Votes) -> None:
    """One unnamed question on which a judge has several opinions is a file whose questions were not recognised."""
    if votes.questions.tolist() != [LONE_CONTEXT]:
        return
    shown = compared.judgments
    repeated = shown is not None and shown.table["repetition"].max() > 0
    if repeated or votes.by_judge(np.ones(len(votes.vote), bool)).max() > 1:
        rows = len(votes.vote) if shown is None else len(shown)
        raise InputError(
            f"{compared.source}: no column says which question an answer is about, and {rows} answers to one question are "
            "no comparison of two systems; map the column, context=..., or number the questions."
        )


def _plurality(votes: Votes, quorum: int) -> np.ndarray:
    """The headline: every judge alike, whatever people say of a question."""
    sums = votes.sums(np.ones(len(votes.judges)))
    return plurality(sums, np.round(sums.sum(axis=1)), quorum)


def _check(aggregation: str, quorum: int, level: float) -> None:
    if aggregation not in AGGREGATIONS:
        raise SettingsError(f"no aggregation {aggregation!r}; expected one of {', '.join(AGGREGATIONS)}.")
    check_quorum(quorum)
    if not isinstance(level, (int, float)) or not 0 < level < 1:
        raise SettingsError(f"level is {level!r}; expected a number between 0 and 1, say 0.95.")


def _of_two(compared: Comparisons, a: str, b: str) -> Comparisons:
    """The rows of the two systems, with no other item in the vocabulary."""
    if len(compared.items) == 2:
        return compared
    frame = compared.frame
    ours = ((frame["item_a"] == min(a, b)) & (frame["item_b"] == max(a, b))).to_numpy()
    table = compared.table[ours].reset_index(drop=True)
    for name in ("item_a", "item_b"):
        table[name] = table[name].cat.set_categories(sorted((a, b)), ordered=True)
    return Comparisons(table, compared.source, judgments=_shown_two(compared.judgments, a, b), policy=compared.policy)


def _shown_two(judgments: Judgments | None, a: str, b: str) -> Judgments | None:
    if judgments is None:
        return None
    table = judgments.table
    ours = (table["first"].isin([a, b]) & table["second"].isin([a, b])).to_numpy()
    table = table[ours].reset_index(drop=True)
    for name in ("first", "second"):
        table[name] = table[name].cat.set_categories(sorted((a, b)), ordered=True)
    return Judgments(table, judgments.source)


def _known(votes: Votes, labels: Mapping[str, str] | None, a: str, b: str) -> np.ndarray:
    known = np.full(len(votes.questions), np.nan)
    if labels is None:
        return known
    place = {question: i for i, question in enumerate(votes.questions)}
    for question, winner in labels.items():
        if str(question) not in place:
            raise InputError(f"labels name the question {question!r}, which is not among the {len(place)} compared.")
        if winner not in (a, b):
            raise InputError(f"the label of question {question!r} is {winner!r}; expected {a!r} or {b!r}.")
        known[place[str(question)]] = float(winner == a)
    return known


def _rates(winner: np.ndarray) -> dict[str, object]:
    decided = int((winner <= B).sum())
    wins = int((winner == A).sum())
    return {
        "a_win_rate": wins / decided if decided else None,
        "b_win_rate": (decided - wins) / decided if decided else None,
        "tie_rate": float((winner == TIE).mean()),
        "inconclusive_rate": float((winner == NONE).mean()),
    }


def _two_item_fit(panel: Panel) -> tuple[float | None, tuple[str, ...]]:
    """P(a beats b) and what there is to say of it; hard BT-sigma on the two systems, flips half."""
    fit = fit_bt(panel.compared, hard=True, extra_starts=0)
    items = panel.compared.items
    one, other = (items[1], items[0]) if panel.turned else (items[0], items[1])
    said: tuple[str, ...] = ()
    if any("saddle" in w for w in fit.warnings):
        said = ("judges contradict each other so evenly that the votes do not say whom to believe.",)
    if not fit.graph.connected:
        said += (f"every vote that counts went one way: the size of P({one} beats {other}) comes from the prior alone.",)
    return fit.probability(one, other), said


def _judges(panel: Panel, weighted: Weighted) -> pd.DataFrame:
    votes = panel.votes
    facts = examine(panel.compared).judges.set_index("judge").reindex(votes.judges)
    picks_a, picks_b, ties = (votes.by_judge(votes.vote == side) for side in (A, B, TIE))
    seen = votes.by_judge(np.ones(len(votes.vote), bool))
    frame = pd.DataFrame({"judge": votes.judges})
    frame["a_rate"], frame["b_rate"] = share(picks_a, picks_a + picks_b), share(picks_b, picks_a + picks_b)
    frame["position_bias"] = facts["flip_rate"].to_numpy()
    frame["tie_rate"] = share(ties, seen)
    for name in ("first_share", "judgments", "failures", "consistency", "consistency_raw"):
        frame[name] = facts[name].to_numpy()
    frame["weight"] = weighted.weights
    frame["sigma"] = np.nan if weighted.sigmas is None else weighted.sigmas
    frame["accuracy"] = truth(votes, panel.known, 0.95)["accuracy"]
    return frame


def _questions(votes: Votes, winner: np.ndarray, weighted: np.ndarray, a: str, b: str) -> pd.DataFrame:
    names = np.array([a, b, "tie", "inconclusive"], dtype=object)
    frame = pd.DataFrame({"context": votes.questions, "winner": names[winner], "weighted_winner": names[weighted]})
    frame["order_dependent"] = np.bincount(votes.question, weights=votes.flipped, minlength=len(winner)) > 0
    frame["votes"] = _votes_by_judge(votes, np.array([a, b, "tie", None], dtype=object))
    return frame


def _votes_by_judge(votes: Votes, words: np.ndarray) -> list[dict[str, object]]:
    """Question by question: the vote of each judge, the plurality of its opinions where it has several."""
    single = votes.by_cell()
    order = np.lexsort((single.judge, single.question))
    names, spoken = single.judges[single.judge[order]].tolist(), words[single.vote[order]].tolist()
    bounds = np.searchsorted(single.question[order], np.arange(len(votes.questions) + 1)).tolist()
    return [dict(zip(names[i:j], spoken[i:j], strict=True)) for i, j in zip(bounds[:-1], bounds[1:], strict=True)]


def _too_few(decided: int, level: float) -> tuple[str, ...]:
    """Where nothing is decided, and where even a clean sweep could not reach the threshold."""
    if not decided:
        return ("not one question is decided: votes are missing, tied, or cancel each other.",)
    if could_tell(decided, level):
        return ()
    are = "s are" if decided > 1 else " is"
    return (f"{decided} decided question{are} too few to tell: not even {decided} of {decided} would be certain.",)


def could_tell(decided: int, level: float) -> bool:
    """Whether a clean sweep would be certain."""
    return 2.0 ** (1 - decided) < 1 - level


def _rests_on(left_out: pd.DataFrame, winner: np.ndarray, a: str, b: str, level: float) -> tuple[str, ...]:
    """A verdict that turns, or is certain no longer, when one judge, or one family, is left out."""
    wins, losses = int((winner == A).sum()), int((winner == B).sum())
    certain = _certain(wins, losses, level)
    said = []
    for name, one, other in left_out.itertuples(index=False):
        turned = (wins - losses) * (one - other) < 0
        swing = abs(wins / max(wins + losses, 1) - one / max(one + other, 1))
        if turned and (certain or swing >= SWING):
            said.append(f"the verdict rests on {name}: without it {b if wins > losses else a} wins more questions.")
        elif certain and not _certain(one, other, level):
            said.append(f"the verdict rests on {name}: without it there is no certain difference.")
    return tuple(said)


def _certain(wins: int, losses: int, level: float) -> bool:
    p = sign_test(wins, wins + losses)
    return p is not None and p < 1 - level


def _opposed(table: pd.DataFrame, level: float) -> tuple[str, ...]:
    """Two judges, and no more, that contradict each other."""
    if len(table) != 1:
        return ()
    row = table.iloc[0]
    n = int(row["decided"])
    equal = round(n * row["equal"]) if n else 0
    if 2 * equal >= n or not _certain(equal, n - equal, level):
        return ()
    return (f"{row['judge']} and {row['other']} are opposed: they agree on {equal} of {n} questions that both decide.",)
