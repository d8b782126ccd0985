"""Which model foretells opinions best? Models by name, scored on the same held-out rows.

Conventions: every model is scored alike, whatever it does with ties and disagreements: q = P(a wins) + P(tie) / 2 for the
judge and the slot of the row against p = 1, 0, or one half (ties and disagreements), with loss -(p log q + (1 - p)
log(1 - q)) in nats, averaged over weights. Differences are paired row by row; their standard errors take the groups that
were held out together as the independent units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from juryrank.document import plain, records, whole
from juryrank.errors import SettingsError
from juryrank.estimate import Fit
from juryrank.fitting import fit_bt
from juryrank.held_out import Foretold, Split, Table, foretell, split
from juryrank.prior import MAXIMUM_LIKELIHOOD, Prior
from juryrank.ratio_tests import LikelihoodRatio, free_parameters, heterogeneity, slot_bias
from juryrank.scoring import accuracy, calibration_error, calibration_slope, log_loss, mean_and_error

SCHEMA = "juryrank.models/1"
DEFAULT = ("bt", "bt-sigma", "bt-sigma+slot")
BASES: dict[str, dict[str, Any]] = {"bt": {"judge_sigma": False}, "bt-sigma": {"judge_sigma": True}}
ADDITIONS: dict[str, dict[str, Any]] = {
    "slot": {"slot_bias": True},
    "davidson": {"ties": "davidson"},
    "rao-kupper": {"ties": "rao-kupper"},
}
#: what a mapping may say beside its name; contexts and rows are the same for all models
OPTIONS = ("judge_sigma", "hard", "slot_bias", "ties", "prior", "weights", "disagreements")
#: losses closer than this are equal: fits end no more exactly
EQUAL = 1e-9


class Gain(NamedTuple):
    """By how much one model's held-out loss is under another's (nats per unit weight), and the standard error of that."""

    gain: float
    stderr: float


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Models side by side, in the order given; NaN, or None, where a thing was not measured."""

    #: one row per model: model; loss (mean held-out nats); difference to the first model and difference_stderr; accuracy
    #: (decided rows); calibration_slope; calibration_error; parameters; unpredicted (weight of the rows foretold as one
    #: half because their items were not seen together); converged_folds
    frame: pd.DataFrame
    #: the model with the least loss
    best: str
    #: the first model, in the order given, whose loss is within one standard error of the best
    simplest: str
    #: BT-sigma against plain Bradley-Terry on all rows, and slot biases against none
    heterogeneity: LikelihoodRatio | None
    slot_bias: LikelihoodRatio | None
    #: what BT-sigma gains over plain Bradley-Terry on held-out rows; None unless both are among the models
    heterogeneity_cv: Gain | None
    on: str
    by: str
    contexts: str
    folds: int
    seed: int
    prior: Prior
    #: summed weight of the rows scored, and the number of groups that were held out whole
    opinions: float
    groups: int
    warnings: tuple[str, ...]
    #: each model on all rows
    fits: Mapping[str, Fit] = field(repr=False)
    rows: Split = field(repr=False)
    foretold: Mapping[str, Foretold] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """The scored rows, with the fold that held them out and, per model, `q_` and its name: the share foretold for a."""
        return self.rows.frame.assign(**{f"q_{name}": said.q for name, said in self.foretold.items()})

    @property
    def summary(self) -> str:
        """Which model foretells best, by how much, and whether a simpler one will do, in one sentence."""
        row = self.frame.set_index("model").loc[self.best]
        if all(not said.known.any() for said in self.foretold.values()):
            return "No held-out opinion could be foretold: no two items of one were seen together outside its fold."
        said = f"{self.best} foretells held-out opinions best, at a loss of {row['loss']:.4f} nats each"
        first = self.frame["model"].iloc[0]
        if self.best != first:
            said += f", {-row['difference']:.4f} (standard error {row['difference_stderr']:.4f}) less than {first}"
        if self.simplest != self.best:
            said += f"; {self.simplest} comes before it and is within one standard error"
        return said + "."

    def __str__(self) -> str:
        return self.summary

    def to_dict(self) -> dict[str, Any]:
        """The JSON document `juryrank.models/1`."""
        return {
            "schema": SCHEMA,
            "models": [{**row, "unpredicted": whole(row["unpredicted"])} for row in records(self.frame)],
            "best": self.best,
            "simplest": self.simplest,
            "heterogeneity": _ratio_document(self.heterogeneity),
            "slot_bias": _ratio_document(self.slot_bias),
            "heterogeneity_cv": None if self.heterogeneity_cv is None else _plain(self.heterogeneity_cv._asdict()),
            **{name: getattr(self, name) for name in ("on", "by", "contexts", "folds", "seed")},
            "prior": asdict(self.prior),
            "opinions": whole(self.opinions),
            "groups": self.groups,
            "summary": self.summary,
            "warnings": list(self.warnings),
        }


def _ratio_document(test: LikelihoodRatio | None) -> dict[str, Any] | None:
    return None if test is None else _plain(asdict(test))


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: plain(value) for name, value in values.items()}


def compare_on(
    source: Table,
    models: Iterable[str | Mapping[str, Any]] = DEFAULT,
    *,
    folds: int = 5,
    by: str = "auto",
    on: str = "comparisons",
    contexts: str = "pooled",
    seed: int = 0,
    prior: Prior | None = Prior(),  # noqa: B008  (frozen)
) -> ModelComparison:
    """`juryrank.compare_models` on the table that is to be fitted: comparisons, or judgments for showings."""
    settings = _settings(models)
    _check_prior(prior)
    prior = prior or MAXIMUM_LIKELIHOOD
    parts = split(source, contexts=contexts, folds=folds, by=by, seed=seed)
    fitters = {
        name: partial(_fit, name=name, contexts=contexts, options={"prior": prior} | options)
        for name, options in settings.items()
    }
    foretold = {name: foretell(parts, fitter) for name, fitter in fitters.items()}
    fits = {name: fitter(source) for name, fitter in fitters.items()}
    losses = _losses(parts, foretold)
    frame = _frame(parts, foretold, fits, losses)
    best, simplest = _choices(parts, losses)
    return ModelComparison(
        frame=frame,
        best=best,
        simplest=simplest,
        heterogeneity=heterogeneity(source, contexts, prior),
        slot_bias=slot_bias(source, contexts, prior),
        heterogeneity_cv=_gain(parts, losses),
        on=on,
        by=parts.by,
        contexts=contexts,
        folds=int(folds),
        seed=int(seed),
        prior=prior,
        opinions=float(parts.rows["weight"].sum()),
        groups=parts.groups,
        warnings=source.warnings + _unforetold(frame, parts) + _unconverged(frame, folds) + _slotless(settings, fits),
        fits=fits,
        rows=parts,
        foretold=foretold,
        notes=source.notes,
    )


def _settings(models: Iterable[str | Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Name -> options of `fit_bt`, in the order given."""
    if isinstance(models, (str, Mapping)) or not isinstance(models, Iterable):
        raise SettingsError(f"models={models!r}; expected a list of models.")
    found: dict[str, dict[str, Any]] = {}
    for model in models:
        name, options = _mapped(model) if isinstance(model, Mapping) else (str(model), _spelled(model))
        if name in found:
            raise SettingsError(f"the model {name!r} is given twice.")
        found[name] = options
    if not found:
        raise SettingsError("no models to compare: give at least one.")
    return found


def _spelled(word: object) -> dict[str, Any]:
    """Options behind a word such as `bt-sigma+slot+davidson`."""
    base, *more = str(word).split("+")
    if base not in BASES or not set(more) <= set(ADDITIONS) or len(set(more)) < len(more):
        raise SettingsError(
            f"no model {word!r}; expected {' or '.join(BASES)}, each with any of "
            f"{', '.join('+' + name for name in ADDITIONS)}, or a mapping with a name and options of fit_bt."
        )
    if {"davidson", "rao-kupper"} <= set(more):
        raise SettingsError(f"the model {word!r} has two rules for ties; choose one.")
    options = dict(BASES[base])
    for name in more:
        options |= ADDITIONS[name]
    return options


def _mapped(given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    options = dict(given)
    name = options.pop("name", None)
    if not isinstance(name, str) or not name.strip():
        raise SettingsError(f"the model {dict(given)!r} has no name; give it one, beside options of fit_bt.")
    if name.split("+")[0] in BASES:
        raise SettingsError(f"the name {name!r} is kept for the model of that name; call this one otherwise.")
    unknown = [key for key in options if key not in OPTIONS]
    if unknown:
        raise SettingsError(f"the model {name!r} has no option {unknown[0]!r}; expected {', '.join(OPTIONS)}.")
    _check_prior(options.get("prior"))
    return name, options


def _check_prior(prior: object) -> None:
    if prior is not None and not isinstance(prior, Prior):
        raise SettingsError(f"prior={prior!r}; expected a Prior, or None for maximum likelihood.")


def _fit(source: Table, *, name: str, contexts: str, options: Mapping[str, Any]) -> Fit:
    try:
        return fit_bt(source, contexts=contexts, extra_starts=0, **options)
    except SettingsError as error:
        raise SettingsError(f"model {name!r}: {error}") from error


def _losses(parts: Split, foretold: Mapping[str, Foretold]) -> dict[str, np.ndarray]:
    p = parts.rows["p"]
    return {name: log_loss(p, said.log_q, said.log_not) for name, said in foretold.items()}


def _frame(
    parts: Split, foretold: Mapping[str, Foretold], fits: Mapping[str, Fit], losses: Mapping[str, np.ndarray]
) -> pd.DataFrame:
    p, weight = parts.rows["p"], parts.rows["weight"]
    first = next(iter(losses))
    found = []
    for name, said in foretold.items():
        difference, error = _paired(parts, losses[name], losses[first])
        found.append(
            {
                "model": name,
                "loss": float((weight * losses[name]).sum() / weight.sum()),
                "difference": difference,
                "difference_stderr": error,
                "accuracy": accuracy(p, said.q, weight),
                "calibration_slope": calibration_slope(p, said.logit, weight),
                "calibration_error": calibration_error(p, said.q, weight),
                "parameters": free_parameters(fits[name]),
                "unpredicted": float(weight[~said.known].sum()),
                "converged_folds": said.converged,
            }
        )
    return pd.DataFrame(found)


def _paired(parts: Split, one: np.ndarray, other: np.ndarray) -> Gain:
    return Gain(*mean_and_error(one - other, parts.rows["weight"], parts.group))


def _choices(parts: Split, losses: Mapping[str, np.ndarray]) -> tuple[str, str]:
    """The best model, and the first within one standard error of it."""
    means = {name: mean_and_error(loss, parts.rows["weight"], parts.group)[0] for name, loss in losses.items()}
    best = next(name for name, mean in means.items() if mean <= min(means.values()) + EQUAL)
    for name, loss in losses.items():
        behind, error = _paired(parts, loss, losses[best])
        if name == best or behind <= error:
            return best, name
    return best, best


def _gain(parts: Split, losses: Mapping[str, np.ndarray]) -> Gain | None:
    if not {"bt", "bt-sigma"} <= set(losses):
        return None
    return _paired(parts, losses["bt"], losses["bt-sigma"])


def _unforetold(frame: pd.DataFrame, parts: Split) -> tuple[str, ...]:
    total, most = float(parts.rows["weight"].sum()), float(frame["unpredicted"].max())
    if not most:
        return ()
    return (
        f"{most:g} of {total:g} held-out opinions could not be foretold and count as one half: outside their fold nothing "
        f"gives their two items a finite gap (held out by {parts.by}).",
    )


def _unconverged(frame: pd.DataFrame, folds: int) -> tuple[str, ...]:
    return tuple(
        f"{name} did NOT converge in {folds - done} of {folds} folds; do not rely on its figures."
        for name, done in zip(frame["model"], frame["converged_folds"], strict=True)
        if done < folds
    )


def _slotless(settings: Mapping[str, Mapping[str, Any]], fits: Mapping[str, Fit]) -> tuple[str, ...]:
    names = [name for name, options in settings.items() if options.get("slot_bias") and not fits[name].slot_judges]
    if not names:
        return ()
    return (f"no row has a slot, so that {', '.join(names)} cannot fit one: on='showings' keeps the slots of judgments.",)
