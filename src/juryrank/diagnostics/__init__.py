"""What the data can and cannot say: cycles, repetition consistency, agreement."""

from juryrank.diagnostics.agreement import Agreement, agreement, follows
from juryrank.diagnostics.consistency import consistency_weights, repetition_consistency
from juryrank.diagnostics.cycles import (
    MajorityGraph,
    Triads,
    cycle_rate,
    cycle_rates_by_judge,
    cycle_witness,
    majority,
    triads,
)

__all__ = [
    "Agreement",
    "MajorityGraph",
    "Triads",
    "agreement",
    "consistency_weights",
    "cycle_rate",
    "cycle_rates_by_judge",
    "cycle_witness",
    "follows",
    "majority",
    "repetition_consistency",
    "triads",
]
