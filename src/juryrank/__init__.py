"""juryrank: rank many things that can only be compared two at a time, by judges who are noisy, biased and expensive."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Names are loaded when they are first used: `import juryrank` and `juryrank --help` start without pandas and jax.
_ROOMS = {
    "errors": ("InputError", "JuryrankError", "MissingExtraError", "NoVerdictError", "SettingsError"),
    "tables": ("Comparisons", "Judgments"),
    "formats": ("read",),
    "reconciliation": ("Reconciled", "reconcile", "reconcile_pair"),
    "counts": ("PairCounts", "tally"),
    "prior": ("Prior",),
    "fitting": ("fit_bt",),
    "estimate": ("Contrast", "Fit", "Optimum"),
    "diagnostics": ("cycle_rate", "cycle_witness", "repetition_consistency"),
    "resampling": ("Bootstrap", "bootstrap"),
    "ranking": ("Ranking",),
    "conflicts": ("Contradictions",),
    "influence": ("Fragility",),
    "models": ("ModelComparison",),
    "verdicts": ("ABReport", "panel_verdict"),
    "pipeline": ("audit", "compare_models", "compare_systems", "contradictions", "diagnose", "fragility", "rank"),
    "simulation": ("Simulation", "simulate"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'juryrank' has no attribute {name!r}")
    return getattr(import_module(f"juryrank.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
