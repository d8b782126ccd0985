"""`fragility`: how few votes, and which judge or group, hold up the first place and the top k of a ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from juryrank.document import plain, records
from juryrank.errors import SettingsError
from juryrank.estimate import Fit
from juryrank.influence.change import Change, change
from juryrank.influence.leaving import COLUMNS, left_out
from juryrank.influence.sentences import about
from juryrank.influence.standing import Places
from juryrank.influence.units import BY, units
from juryrank.ranking import TOP_K, Ranking

#: items up to which the covariance that every step rests on is cheap
MOST_ITEMS = 1000
#: judges that are all left out by a refit; of more, and of groups, so many that matter most
JUDGES, SOME = 50, 10
#: groups up to which the lead without each is predicted
GROUPS = 5000


@dataclass(frozen=True, eq=False)
class Fragility:
    """What the first places of a ranking rest on."""

    #: the first place, and the set of the first k
    first: Change
    top_k: Change
    #: judges, and groups, left out by a refit, the smallest lead first: judge (group), votes, first, lead, changes_first,
    #: changes_top_k. All judges up to 50; of more, and of groups, the ten that matter most
    judges: pd.DataFrame
    groups: pd.DataFrame
    #: judges, and groups, with votes in the fit
    judges_of: int
    groups_of: int
    #: what was taken away: "row", "judge" or "group"
    by: str

    @property
    def summary(self) -> list[str]:
        """The findings in sentences."""
        told = [self.first.sentence]
        if self.first.reason is not None:
            return told
        if self.top_k.k > 1:
            told.append(self.top_k.sentence)
        asked = (("judge", self.judges, self.judges_of), ("group", self.groups, self.groups_of))
        return told + [about(kind, frame, of, self.first.holders[0], self.top_k.k) for kind, frame, of in asked if of > 1]

    def to_dict(self) -> dict[str, object]:
        """A JSON object; unknown numbers are None, and no more than fifty removed votes are listed."""
        return {
            "by": self.by,
            "first": self.first.to_dict(),
            "top_k": self.top_k.to_dict(),
            "judges": records(self.judges),
            "groups": records(self.groups),
            "judges_of": plain(self.judges_of),
            "groups_of": plain(self.groups_of),
            "summary": self.summary,
        }

    def __str__(self) -> str:
        return "\n".join(self.summary)


def fragility(ranking: Ranking, *, top_k: int | None = None, by: str = "row", most: float = 0.5) -> Fragility:
    """The fewest votes found whose removal changes the first place, and the first `top_k` places, told by refits.

    The first place (the set of the first k) changes where an item that did not hold it is strictly ahead of one that did,
    both still being compared. The most influential votes are removed, then the model is fitted again by the same
    settings (which judges have a slot bias, and what each judge weighs, stay): a number is what a refit confirmed, an
    upper bound of the fewest. Source: "AMIP" of Broderick, Giordano and Meager (2020, arXiv:2011.14999).

    `top_k`: None is 10, or half of the items. `by`: what goes at once, single votes ("row"), or all votes of a "judge" or a
    "group" (the context, unless groups are given). `most`: the share of the votes that favour one item over another which
    may go; beyond, there is no number. Cost: at most 15 refits for each of the two (40 where the data are small), one for
    each of up to 50 judges, 10 for groups.

    Raises `SettingsError` for settings out of range and for a ranking of pair counts.
    """
    k = _checked(ranking, top_k, by, most)
    fit = ranking.fit
    reason = _no_places(fit)
    if reason is None:
        return _measured(ranking, k, by, most)
    first, top = (Change.unknown(units(fit, by), places, reason) for places in (1, k))
    judges, groups = (pd.DataFrame(columns=[word, *COLUMNS]) for word in ("judge", "group"))
    return Fragility(first, top, judges, groups, judges_of=0, groups_of=0, by=by)


def _checked(ranking: Ranking, top_k: int | None, by: str, most: float) -> int:
    if by not in BY:
        raise SettingsError(f"no by={by!r}; expected one of {', '.join(BY)}.")
    if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, (int, np.integer)) or top_k < 1):
        raise SettingsError(f"top_k is {top_k!r}; expected a whole number of at least 1.")
    if isinstance(most, bool) or not isinstance(most, (int, float)) or not 0 < most <= 1:
        raise SettingsError(f"most is {most!r}; expected a share above 0, up to 1.")
    if ranking.fit.source is None:
        raise SettingsError("pair counts have lost the single votes: fragility needs the comparisons or judgments.")
    return int(top_k) if top_k is not None else max(1, min(TOP_K, int(ranking.fit.graph.observed.sum()) // 2))


def _no_places(fit: Fit) -> str | None:
    """Why there is no one order to be changed; None where there is one."""
    if fit.contexts == "separate":
        return "Every context has an order of its own: there is no one first place that votes could change."
    if fit.covariates:
        return "Strengths are read at equal covariates: how few votes hold up the first place was not searched."
    if int(fit.graph.component.max()) > 1:
        return f"{fit.graph.component.max()} groups have no comparison between them: there is no one first place."
    if int(fit.graph.observed.sum()) > MOST_ITEMS:
        return f"More than {MOST_ITEMS} items: how few votes hold up the first place was not searched."
    if fit.model_covariance is None:
        return "The information on some direction is too small: how much each vote holds up cannot be said."
    return None


def _measured(ranking: Ranking, k: int, by: str, most: float) -> Fragility:
    fit = ranking.fit
    nodes = fit.counts.node_index.get_indexer(pd.Index(ranking.frame["item"][ranking.frame["rank"].notna().to_numpy()]))
    first, top = (Places(nodes[:places], nodes[places:]) for places in (1, k))
    votes, judges, groups = (units(fit, word) for word in (by, "judge", "group"))
    one = change(votes, first, most)
    assert fit.source is not None
    names = fit.source.table["group"].cat.categories
    return Fragility(
        first=one,
        top_k=one if k == 1 else change(votes, top, most),
        judges=left_out(judges, fit.counts.judges, first, top, JUDGES if len(judges) <= JUDGES else SOME),
        groups=left_out(groups, names, first, top, SOME if len(groups) <= GROUPS else 0),
        judges_of=len(judges),
        groups_of=len(groups),
        by=by,
    )
