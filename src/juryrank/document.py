"""Results -> JSON documents: plain dicts in which an unknown number is None, never NaN."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from juryrank.diagnostics.diagnosis import Diagnostics
from juryrank.estimate import Fit

RANKING_SCHEMA = "juryrank.ranking/1"
AUDIT_SCHEMA = "juryrank.audit/1"
WHOLE = {"rank", "rank_low", "rank_high", "tier", "component", "judgments", "comparisons", "failures"}
WHOLE |= {"rank_low_alone", "rank_high_alone", "points", "wins", "losses", "ties"}
#: strongly connected groups listed by name; beyond, their number says enough
LISTED = 100


def ranking_document(
    frame: pd.DataFrame,
    facts: Diagnostics,
    fit: Fit,
    settings: Mapping[str, object],
    warnings: tuple[str, ...],
    coefficients: pd.DataFrame,
) -> dict[str, Any]:
    """`juryrank.ranking/1`; `frame` has a row per item, `coefficients` one per covariate (and judge)."""
    return {
        "schema": RANKING_SCHEMA,
        "ranking": records(frame),
        **_counted(facts),
        "judges": records(facts.judges),
        "diagnostics": diagnostics_document(facts),
        "fit": {
            "model": fit.model,
            **{name: plain(value) for name, value in settings.items()},
            "contexts": fit.contexts,
            "prior": {
                "strength_sd": fit.prior.strength_sd,
                "log_sigma_sd": fit.prior.log_sigma_sd,
                "slot_sd": fit.prior.slot_sd,
                "pseudo_wins": fit.prior.pseudo_wins,
                **({"covariate_sd": fit.prior.covariate_sd} if fit.covariates else {}),
            },
            "covariates": records(coefficients),
            "ties": fit.ties,
            "tie_parameter": plain(fit.tie_parameter),
            "slot_bias": bool(fit.slot_judges),
            "disagreements": fit.disagreements,
            "converged": fit.converged,
            "gradient_norm": plain(fit.gradient_norm),
            "iterations": fit.iterations,
            "log_likelihood": plain(fit.log_likelihood),
            "objective": plain(fit.objective),
            "comparisons": fit.opinions,
        },
        "warnings": list(warnings),
    }


def audit_document(
    facts: Diagnostics,
    by_id: list[str] | None,
    warnings: tuple[str, ...],
    contradictions: Mapping[str, object] | None = None,
    fragility: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """`juryrank.audit/1`; `by_id`: items whose place rests on their id, None where nothing was fitted.

    `contradictions`, `fragility`: the objects of their `to_dict`, None where these were not asked for or nothing was ranked.
    """
    return {
        "schema": AUDIT_SCHEMA,
        **_counted(facts),
        "judges": records(facts.judges),
        "diagnostics": diagnostics_document(facts),
        "contradictions": contradictions,
        "fragility": fragility,
        "decided_by_id": by_id,
        "warnings": list(warnings),
    }


def _counted(facts: Diagnostics) -> dict[str, Any]:
    return {
        "counts": {name: whole(value) for name, value in facts.counts.items()},
        "both_bad": whole(facts.both_bad),
        "scheduled_calls": facts.scheduled_calls,
    }


def diagnostics_document(facts: Diagnostics) -> dict[str, Any]:
    """Cycles, groups and agreement."""
    return {
        "cycle_rate": facts.cycle_rate,
        "cycle": facts.cycle,
        "triads": {name: getattr(facts.triads, name) for name in ("strict", "weak", "decided", "judged")},
        "components": len(facts.components),
        "component_groups": facts.components if len(facts.components) > 1 else [],
        "strong_components": len(facts.strong_groups),
        "strong_groups": facts.strong_groups if 1 < len(facts.strong_groups) <= LISTED else [],
        "held_by_disagreements": facts.held_by_flips,
        "agreement": plain(facts.agreement.mean),
        "agreement_coverage": plain(facts.agreement.coverage),
        "chance_corrected_agreement": plain(facts.agreement.chance_corrected),
    }


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a frame as dicts of plain values."""
    columns = {str(name): [whole(v) if name in WHOLE else plain(v) for v in frame[name].tolist()] for name in frame.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def plain(value: Any) -> Any:
    """A JSON value; NaN and infinities become None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def whole(value: Any) -> Any:
    """A count as an int where it is whole, as a float where weights made it fractional."""
    value = plain(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
