"""`examine`: what a source holds, who flips, what contradicts, what hangs together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from juryrank.counts import graph, held_by_flips, tally
from juryrank.diagnostics.agreement import Agreement, agreement, follows
from juryrank.diagnostics.consistency import repetition_consistency
from juryrank.diagnostics.cycles import Triads, cycle_rates_by_judge, cycle_witness, triads
from juryrank.estimate import Fit
from juryrank.tables import FAILED, FAILURE, FIRST, SECOND, STATUSES, Comparisons


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """The facts; None where a thing was not measured."""

    #: pairs asked, by status; they sum to all pairs asked
    counts: dict[str, float]
    #: how many of the ties said that both were bad
    both_bad: float
    #: showings behind the comparisons, failures included
    scheduled_calls: int | None
    triads: Triads
    #: a witness: items, the first and the last equal; [] where the majorities do not go round
    cycle: list[str]
    #: groups with no comparison between them, the largest first (over contexts, if those are separate)
    components: list[list[str]]
    #: groups within which some chain of wins and ties leads both ways
    strong_groups: list[list[str]]
    #: groups that hang together by disagreements alone
    held_by_flips: list[list[str]]
    agreement: Agreement
    #: by judge: sigma, slot_bias, weight, consistency, consistency_raw, flip_rate, first_share, cycle_rate, follows,
    #: judgments, comparisons, failures
    judges: pd.DataFrame

    @property
    def cycle_rate(self) -> float | None:
        """Directed 3-cycles over triads that can be assessed."""
        return self.triads.rate


def examine(comparisons: Comparisons, fit: Fit | None = None) -> Diagnostics:
    """The diagnostics of some comparisons; `fit` adds sigma, slot bias and weight of each judge."""
    counts = tally(comparisons) if fit is None else fit.counts
    seen = graph(counts) if fit is None else fit.graph
    item = np.asarray(counts.items, dtype=object)[counts.node_item]
    table = comparisons.table[(comparisons.table["weight"] > 0).to_numpy()]
    return Diagnostics(
        counts=_status_counts(table),
        both_bad=float(table["both_bad"].sum()),
        scheduled_calls=_calls(comparisons, table),
        triads=triads(comparisons),
        cycle=cycle_witness(comparisons),
        components=_groups(seen.label[seen.observed], item[seen.observed]),
        strong_groups=_groups(seen.strong[seen.observed], item[seen.observed]),
        held_by_flips=held_by_flips(counts),
        agreement=agreement(comparisons),
        judges=_judges(comparisons, table, fit),
    )


def _status_counts(table: pd.DataFrame) -> dict[str, float]:
    sums = np.bincount(table["status"], weights=table["count"], minlength=len(STATUSES))
    return dict(zip(STATUSES, sums.tolist(), strict=True))


def _calls(comparisons: Comparisons, table: pd.DataFrame) -> int | None:
    if comparisons.judgments is not None:
        return int((comparisons.judgments.table["weight"] > 0).sum())
    calls = table["showings"].sum(skipna=False)
    return None if np.isnan(calls) else int(calls)


def _groups(label: np.ndarray, item: np.ndarray) -> list[list[str]]:
    frame = pd.DataFrame({"label": label, "item": item})
    groups = [sorted(map(str, group)) for _, group in frame.groupby("label")["item"]]
    return sorted(groups, key=lambda group: (-len(group), group[0]))


def _judges(comparisons: Comparisons, table: pd.DataFrame, fit: Fit | None) -> pd.DataFrame:
    names = pd.Index(comparisons.judges, dtype=object, name="judge")
    judges = pd.DataFrame(index=names)
    sigma = fit is not None and fit.judge_sigma
    judges["sigma"] = fit.sigmas.reindex(names) if fit is not None and sigma else np.nan
    fitted = [] if fit is None else list(fit.slot_judges)
    judges["slot_bias"] = fit.slot_biases.reindex(fitted).reindex(names) if fit is not None else np.nan
    judges["weight"] = fit.weights.reindex(names) if fit is not None else np.nan
    source = comparisons.judgments
    if source is None:
        judges["consistency"] = judges["consistency_raw"] = np.nan
    else:
        measured = repetition_consistency(source).reindex(names)
        judges["consistency"], judges["consistency_raw"] = measured["shrunk"], measured["raw"]
    judges["flip_rate"] = _flip_rate(table, names)
    judges["first_share"] = _first_share(comparisons, table, names)
    judges["cycle_rate"] = cycle_rates_by_judge(comparisons)
    judges["follows"] = follows(comparisons)
    judges["judgments"] = _by_judge(table, table["showings"], names, skipna=False)
    judges["comparisons"] = _by_judge(table, table["count"], names)
    judges["failures"] = _failures(comparisons, table, names)
    return judges.reset_index()


def _by_judge(table: pd.DataFrame, values: pd.Series, names: pd.Index, skipna: bool = True) -> np.ndarray:
    codes = table["judge"].cat.codes.to_numpy()
    values = values.to_numpy(dtype=float)
    return np.bincount(codes, weights=np.nan_to_num(values) if skipna else values, minlength=len(names))


def _flip_rate(table: pd.DataFrame, names: pd.Index) -> np.ndarray:
    flipped, completed = (_by_judge(table, table[name] * table["count"], names) for name in ("flipped", "completed"))
    return _share(flipped, completed)


def _first_share(comparisons: Comparisons, table: pd.DataFrame, names: pd.Index) -> np.ndarray:
    """Share of the first slot among the picks of a slot; from showings where there are any."""
    source = comparisons.judgments
    if source is not None:
        shown = source.table[(source.table["weight"] > 0).to_numpy()]
        outcome, codes = shown["outcome"].to_numpy(), shown["judge"].cat.codes.to_numpy()
        first, second = (np.bincount(codes[outcome == o], minlength=len(names)) for o in (FIRST, SECOND))
        return _share(first, first + second)
    lean = (table["p_a"] - 0.5) * table["slot"]
    first, second = (_by_judge(table, table["count"] * mask, names) for mask in (lean > 0, lean < 0))
    return _share(first, first + second)


def _failures(comparisons: Comparisons, table: pd.DataFrame, names: pd.Index) -> np.ndarray:
    source = comparisons.judgments
    if source is None:
        lost = np.maximum(table["failures"], np.where(table["status"] == FAILED, table["count"], 0))
        return _by_judge(table, lost, names)
    failed = (source.table["outcome"] == FAILURE) & (source.table["weight"] > 0)
    return np.bincount(source.table["judge"].cat.codes.to_numpy()[failed.to_numpy()], minlength=len(names))


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
