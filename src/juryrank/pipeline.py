"""`rank` and `diagnose`: any source -> reconcile -> tally -> fit -> order -> diagnose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from juryrank.conflicts import Contradictions
from juryrank.conflicts import contradictions as compare_with_chance
from juryrank.counts import PairCounts, opinions, showings
from juryrank.covariates import named
from juryrank.diagnostics.diagnosis import Diagnostics, examine
from juryrank.errors import NoVerdictError, SettingsError
from juryrank.estimate import Fit
from juryrank.fitting import fit_bt
from juryrank.formats import read
from juryrank.influence import Fragility
from juryrank.influence import fragility as measure_fragility
from juryrank.models import DEFAULT, ModelComparison, compare_on
from juryrank.prior import Prior
from juryrank.ranking import Ordering, Ranking, order
from juryrank.reconciliation import reconcile
from juryrank.repeats import effective
from juryrank.spread import Spread, check_level, whole_number
from juryrank.tables import Comparisons, Judgments
from juryrank.verdicts import ABReport, compare_tables

MODELS = ("auto", "bt", "bt-sigma")
FITTED = ("comparisons", "showings")
REPEATS = ("effective", "votes")
COVARIANCES = {
    "auto": ("", ""),
    "model": ("model", "group"),
    "sandwich": ("sandwich", "group"),
    "cluster": ("cluster", "group"),
    "cluster-judge": ("cluster", "judge"),
    "cluster-both": ("cluster", "both"),
}
#: why a covariance that does not trust the model may not be there
STILL = "those who speak of some item agree to the last vote and say nothing of errors"
#: groups from which a covariance clustered by group is trusted, or as many as there are items
GROUPS = 20

#: called with the name of each stage as it starts
Progress = Callable[[str], None]


def _silent(stage: str) -> None:
    """No progress is shown."""


def rank(
    source: Any,
    *,
    model: str = "auto",
    on: str = "comparisons",
    policy: str = "strict",
    contexts: str = "pooled",
    ties: str = "half",
    slot_bias: str | bool = "auto",
    prior: Prior | None = Prior(),  # noqa: B008  (frozen)
    weights: str | pd.Series | None = None,
    disagreements: str = "half",
    repeats: str = "effective",
    covariates: Iterable[str] | None = None,
    covariates_by: str = "all",
    covariance: str = "auto",
    level: float = 0.95,
    top_k: int | None = None,
    items: Iterable[str] | None = None,
    seed: int = 0,
    format: str = "auto",
    columns: Mapping[str, str] | None = None,
    progress: Progress = _silent,
) -> Ranking:
    """Rank the items of a file, frame, list of dicts or table.

    `model`: "auto" is BT-sigma from two judges on. `on`: what is fitted, reconciled comparisons or the showings
    themselves. `slot_bias`: "auto" for judges whose one-order rows have both signs and whose answers are not all one
    slot. `repeats`: where showings are fitted, "effective" counts R passes of one showing as R / (1 + (R - 1) rho), rho
    estimated per judge, and "votes" as R. `covariance`: "model" (expected information), "sandwich", "cluster" (by group),
    "cluster-judge" or "cluster-both"; "auto" clusters by group where contexts are pooled and groups repeat and are at
    least as many as the items, and 20, and takes all showings of a pair to a judge for one where showings are fitted.
    `level`: of intervals and rank sets. `top_k`: the places that `p_top_k` is about (None: 10, or half of the items).
    `covariates`: further columns, say `length`, at equal values of which strengths are read. Other options: see `fit_bt` and
    `reconcile`; `format` and `columns`: see `read`.
    """
    _check(model, on, repeats, covariance, level, top_k, seed)
    names = named(covariates)
    progress("reading")
    data = read(source, format=format, columns=columns)
    progress("reconciling")
    compared = _compared(data, policy)
    fitted = _fitted(data, compared, on)
    slots, said = _slot_judges(fitted, slot_bias)
    judge_sigma = model == "bt-sigma" or (model == "auto" and _speakers(fitted) > 1)
    progress("fitting")
    options: dict[str, Any] = {
        "judge_sigma": judge_sigma,
        "slot_bias": slots,
        "ties": ties,
        "prior": prior,
        "weights": weights,
        "contexts": contexts,
        "disagreements": disagreements,
        "covariates": names,
        "covariates_by": covariates_by,
        "items": items,
        "seed": seed,
    }
    fit = fit_bt(fitted, **options)
    if isinstance(fitted, Judgments) and repeats == "effective":
        fit, worth = _worth(fitted, fit, options)
        said += worth
    progress("looking for contradictions")
    facts = examine(compared, fit)
    progress("ordering")
    spread, more = _spread(fit, compared, covariance)
    used = None if compared.judgments is None else compared.policy
    settings: dict[str, object] = {"on": on, "policy": used, "covariance": _named(spread), "level": level, "seed": seed}
    settings["repeats"] = repeats if on == "showings" else None
    settings["weights"] = weights if isinstance(weights, str) or weights is None else "given"
    settings |= {"covariates": list(names), "covariates_by": covariates_by}
    return Ranking(
        frame=order(fit, compared, Ordering(spread, level, top_k, seed)),
        judges=facts.judges,
        diagnostics=facts,
        fit=fit,
        settings=settings,
        warnings=compared.warnings + said + fit.warnings + _no_win(facts.counts) + more,
        notes=compared.notes,
        data=data,
        coefficients=fit.coefficient_frame(spread.kind, spread.by or "group", level),
    )


@dataclass(frozen=True, eq=False)
class Audit:
    """The facts about a source, and its ranking where it has one."""

    facts: Diagnostics
    ranking: Ranking | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    #: how the contradictions compare with chance; None where nothing was ranked, or no redraws were asked for
    contradictions: Contradictions | None = None
    #: how few votes hold up the first places; None where nothing was ranked, or it was not asked for
    fragility: Fragility | None = None

    @property
    def decided_by_id(self) -> list[str] | None:
        """Items whose place rests on their id; None where nothing could be ranked."""
        if self.ranking is None:
            return None
        frame = self.ranking.frame
        return frame["item"][(frame["decided_by"] == "id").to_numpy()].tolist()


def audit(
    source: Any,
    *,
    format: str = "auto",
    columns: Mapping[str, str] | None = None,
    policy: str = "strict",
    draws: int = 0,
    fragile: bool = False,
    progress: Progress = _silent,
    **settings: Any,
) -> Audit:
    """`rank` and its facts; where there is no usable verdict the facts alone. `settings` are those of `rank`.

    `draws`: redraws of the fitted model that the contradictions are compared with; 0 leaves the comparison out. `fragile`:
    whether to search how few votes hold up the first places.
    """
    progress("reading")
    data = read(source, format=format, columns=columns)
    try:
        ranking = rank(data, policy=policy, progress=progress, **settings)
    except NoVerdictError as error:
        compared = _compared(data, policy)
        return Audit(examine(compared), None, (*compared.warnings, str(error)), compared.notes)
    found = None
    if draws:
        progress("comparing contradictions with chance")
        level, seed = settings.get("level", 0.95), settings.get("seed", 0)
        found = compare_with_chance(ranking.fit, _compared(data, policy), draws=draws, level=level, seed=seed)
    if fragile:
        progress("taking votes away")
    held = measure_fragility(ranking, top_k=settings.get("top_k")) if fragile else None
    return Audit(ranking.diagnostics, ranking, ranking.warnings, ranking.notes, found, held)


def contradictions(
    source: Any,
    *,
    draws: int = 200,
    format: str = "auto",
    columns: Mapping[str, str] | None = None,
    policy: str = "strict",
    level: float = 0.95,
    seed: int = 0,
    **settings: Any,
) -> Contradictions:
    """`rank`, then what no order can hold, and whether that is more than the fitted model makes by chance.

    `draws`: redraws of the model; `settings` are those of `rank`. See `Contradictions` for what is found, and
    `juryrank.conflicts.contradictions` for how.
    """
    data = read(source, format=format, columns=columns)
    fit = rank(data, policy=policy, level=level, seed=seed, **settings).fit
    return compare_with_chance(fit, _compared(data, policy), draws=draws, level=level, seed=seed)


def fragility(source: Any, *, top_k: int | None = None, by: str = "row", seed: int = 0, **settings: Any) -> Fragility:
    """How few votes change the first place or the first `top_k`, and which judge or group carries them.

    `source`: a `Ranking`, or what `rank` takes, with `seed` and `settings` those of `rank`. `by`: what goes at once, single
    votes ("row"), or all of a "judge" or a "group". See `Fragility` for what is found, and
    `juryrank.influence.fragility` for how.

    Raises `SettingsError` for pair counts, which have lost the single votes, and for settings beside a `Ranking`.
    """
    if isinstance(source, PairCounts):
        raise SettingsError(
            "pair counts have lost the single votes: fragility needs the comparisons or judgments themselves."
        )
    if isinstance(source, Ranking):
        if settings or seed:
            raise SettingsError(
                f"a ranking is made already: {', '.join(settings) or 'seed'} cannot change it; give its source."
            )
        return measure_fragility(source, top_k=top_k, by=by)
    return measure_fragility(rank(source, top_k=top_k, seed=seed, **settings), top_k=top_k, by=by)


def _compared(data: Judgments | Comparisons, policy: str) -> Comparisons:
    return reconcile(data, policy) if isinstance(data, Judgments) else data


def compare_systems(
    source: Any,
    *,
    a: str | None = None,
    b: str | None = None,
    aggregation: str = "auto",
    labels: Mapping[str, str] | None = None,
    families: Mapping[str, str] | None = None,
    quorum: int = 1,
    level: float = 0.95,
    format: str = "auto",
    columns: Mapping[str, str] | None = None,
) -> ABReport:
    """System `a` against system `b` over many questions (the contexts), judged by a panel.

    `aggregation` names the weighted rule beside the plurality: "plurality", "bt-sigma", "bt-sigma-questions",
    "consistency", "dawid-skene"; "auto" is the best of them on real data. `labels`: question -> the system that people
    say is better, for some questions: they calibrate the judges. `families`: judge -> family, to see what the verdict is
    without one. `quorum`: decisive votes that a plurality needs. `a` and `b` may be left out where there are just two.
    """
    data = read(source, format=format, columns=columns)
    if a is None or b is None:
        a, b = _the_two(data, a, b)
    return compare_tables(
        data, a=a, b=b, aggregation=aggregation, labels=labels, families=families, quorum=quorum, level=level
    )


def _the_two(data: Judgments | Comparisons, a: str | None, b: str | None) -> tuple[str, str]:
    if len(data.items) != 2:
        raise SettingsError(f"{len(data.items)} systems are in {data.source}: say which two to compare, a and b.")
    named = a if a is not None else b
    if named is not None and named not in data.items:
        raise SettingsError(f"no system {named!r} in {data.source}; found {', '.join(data.items)}.")
    first, second = data.items
    return (second, first) if second == a or first == b else (first, second)


def compare_models(
    source: Any,
    models: Iterable[str | Mapping[str, Any]] = DEFAULT,
    *,
    folds: int = 5,
    by: str = "auto",
    on: str = "comparisons",
    contexts: str = "pooled",
    seed: int = 0,
    prior: Prior | None = Prior(),  # noqa: B008  (frozen)
    format: str = "auto",
    columns: Mapping[str, str] | None = None,
) -> ModelComparison:
    """Which model foretells held-out opinions best, and do judges differ: by cross-validation and likelihood ratios.

    `models`: words, "bt" or "bt-sigma" with any of "+slot" (slot bias per judge), "+davidson" or "+rao-kupper" (ties), or
    mappings of a "name" and options of `fit_bt` (judge_sigma, hard, slot_bias, ties, prior, weights, disagreements;
    consistency weights are measured once, on all repetitions of the source where comparisons are fitted). The first is the
    one that the others are compared with: give the simplest first. `folds`: at least 2. `by`: what is held out whole,
    "context" (all rows of a context) or "pair" (both orders, all repetitions and all judges of two items; within its
    context where contexts are separate); "auto" is the context where contexts are pooled and number at least 2 * folds,
    else the pair. `on`: reconciled comparisons, or showings, which keep their slots. `seed` deals the groups to folds; the
    order of the rows plays no part. `prior`: of every model that does not bring its own; None is maximum likelihood.
    `format` and `columns`: see `read`.

    Losses are mean nats of a held-out row (weights respected). Standard errors take the groups held out as independent;
    that the folds share training rows is not in them. `heterogeneity` and `slot_bias` are likelihood-ratio tests that hold
    under independent rows only: both orders, repetitions and many judges of one question are not, which
    `heterogeneity_cv` does respect.

    Raises `SettingsError` for unknown models or options without a meaning, `InputError` for a source that cannot be read,
    `NoVerdictError` where nothing enters a fit.
    """
    if on not in FITTED:
        raise SettingsError(f"no on {on!r}; expected one of {', '.join(FITTED)}.")
    data = read(source, format=format, columns=columns)
    compared = reconcile(data) if isinstance(data, Judgments) else data
    return compare_on(
        _fitted(data, compared, on), models, folds=folds, by=by, on=on, contexts=contexts, seed=seed, prior=prior
    )


def diagnose(source: Any, **settings: Any) -> Diagnostics:
    """What a source holds, who flips, what contradicts, what hangs together; also where nothing can be ranked.

    `settings` are those of `rank`.
    """
    return audit(source, **settings).facts


def _check(model: str, on: str, repeats: str, covariance: str, level: float, top_k: int | None, seed: int) -> None:
    options = {"model": (model, MODELS), "on": (on, FITTED), "repeats": (repeats, REPEATS)}
    for name, (value, allowed) in (options | {"covariance": (covariance, tuple(COVARIANCES))}).items():
        if value not in allowed:
            raise SettingsError(f"no {name} {value!r}; expected one of {', '.join(allowed)}.")
    check_level(level)
    whole_number(seed, "seed", 0)
    if top_k is not None:
        whole_number(top_k, "top_k", 1)


def _fitted(data: Judgments | Comparisons, compared: Comparisons, on: str) -> Judgments | Comparisons:
    if on == "comparisons":
        return compared
    source = data if isinstance(data, Judgments) else data.judgments
    if source is None:
        raise SettingsError("on='showings' needs judgments; this source holds opinions without the showings behind them.")
    return source


def _rows(fitted: Judgments | Comparisons) -> dict[str, np.ndarray]:
    return showings(fitted) if isinstance(fitted, Judgments) else opinions(fitted)


def _speakers(fitted: Judgments | Comparisons) -> int:
    return len(np.unique(_rows(fitted)["judge"]))


def _slot_judges(fitted: Judgments | Comparisons, slot_bias: str | bool) -> tuple[bool | list[str], tuple[str, ...]]:
    """Judges whose slot bias can be told from the strengths, under "auto"."""
    wanted = {"yes": True, "no": False}.get(slot_bias, slot_bias) if isinstance(slot_bias, str) else slot_bias
    if isinstance(wanted, bool):
        return wanted, ()
    if wanted != "auto":
        raise SettingsError(f"no slot_bias {slot_bias!r}; expected auto, yes or no.")
    rows = _rows(fitted)
    slot, lean, judge = rows["slot"], (rows["p"] - 0.5) * rows["slot"], rows["judge"]
    n = len(fitted.judges)

    def some(mask: np.ndarray) -> np.ndarray:
        return np.bincount(judge[mask], minlength=n) > 0

    shown = some(slot != 0)
    able = some(slot > 0) & some(slot < 0) & some(lean > 0) & some(lean < 0)
    names = np.asarray(fitted.judges, dtype=object)
    left = names[shown & ~able]
    if not len(left):
        return list(names[able]), ()
    listed = ", ".join(map(str, left[:5])) + (" ..." if len(left) > 5 else "")
    return list(names[able]), (
        f"no slot bias is fitted for {listed}: their one-order rows show each pair one way round, or always answer the same "
        "slot, so that slot and strength cannot be told apart.",
    )


def _no_win(counts: dict[str, float]) -> tuple[str, ...]:
    if counts["win"]:
        return ()
    return ("not one accepted win: the order shown rests on ties, disagreements or the ids alone.",)


def _spread(fit: Fit, compared: Comparisons, wanted: str) -> tuple[Spread, tuple[str, ...]]:
    """The covariance asked for, or the one that the data bear, and what there is to say of it."""
    if wanted != "auto":
        chosen = fit.spread(*COVARIANCES[wanted])
        silent = chosen.covariance is None and fit.model_covariance is not None
        return chosen, (f"{STILL}: there are no {wanted} errors.",) if silent else ()
    used = compared.table["group"].cat.codes[(compared.table["weight"] > 0).to_numpy()]
    groups, items, said = used.nunique(), int(fit.graph.observed.sum()), ""
    pooled, found = fit.contexts == "pooled", None
    if pooled and 1 < groups < len(used) and groups >= max(GROUPS, items):
        found = fit.spread("cluster", "group")
    elif pooled and 1 < groups < len(used):
        said = (
            f"{len(used)} opinions come from {groups} groups, too few to cluster {items} items by: standard errors treat "
            "opinions as independent and may be too small."
        )
    if found is None and pooled and isinstance(fit.source, Judgments) and _several_showings(fit):
        found = fit.spread("cluster", "opinion")
    if found is not None and found.covariance is None and fit.model_covariance is not None:
        said = f"{STILL}: the model's are given."
        found = None
    return found or fit.spread(), (said,) if said else ()


def _several_showings(fit: Fit) -> bool:
    """Whether some opinion rests on more than one showing, and there is more than one opinion."""
    showings_each = np.bincount(fit.evidence.opinion)
    return bool(len(showings_each) > 1 and showings_each.max() > 1)


def _worth(fitted: Judgments, fit: Fit, options: dict[str, Any]) -> tuple[Fit, tuple[str, ...]]:
    """The fit with repeated showings counted for what they tell."""
    found = effective(fitted, fit)
    if found is None:
        return fit, ()
    weighed, rho = found
    shown = ", ".join(f"{judge} {value:.2f}" for judge, value in rho.head(8).items()) + (" ..." if len(rho) > 8 else "")
    said = f"repeated showings count for what they tell; correlation within a showing: {shown}."
    return fit_bt(weighed, **options), (said,)


def _named(spread: Spread) -> str:
    return spread.kind if spread.by in ("", "group") else f"{spread.kind}-{spread.by}"
