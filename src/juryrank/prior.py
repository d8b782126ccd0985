"""The prior, as a formula.

    log prior = - sum s^2 / (2 strength_sd^2) - sum (log sigma)^2 / (2 log_sigma_sd^2) - sum b^2 / (2 slot_sd^2)
              - sum beta^2 / (2 covariate_sd^2)
              + pseudo_wins / 2 * sum over observed pairs of [log P(a beats b) + log P(b beats a)]

It acts on the parameters as they are optimised, before strengths are centred and sigmas are scaled for the report. The
pseudo-wins belong to no judge: they are seen at sigma = 1, without a slot and with covariates of 0. A coefficient beta is
in logits per root mean square of its covariate over the opinions, which makes one width fit all units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from juryrank.errors import SettingsError


@dataclass(frozen=True)
class Prior:
    """Gaussian widths in logits (None = flat), and pseudo-wins on every observed pair."""

    strength_sd: float | None = 10.0
    log_sigma_sd: float | None = 1.0
    slot_sd: float | None = 3.0
    pseudo_wins: float = 0.0
    covariate_sd: float | None = 3.0

    def __post_init__(self) -> None:
        for name in ("strength_sd", "log_sigma_sd", "slot_sd", "covariate_sd"):
            width = getattr(self, name)
            if width is not None and not (_is_number(width) and width > 0):
                raise SettingsError(f"{name} is {width!r}; expected a positive number, or None for a flat prior.")
        if not (_is_number(self.pseudo_wins) and self.pseudo_wins >= 0):
            raise SettingsError(f"pseudo_wins is {self.pseudo_wins!r}; expected a number of at least 0.")

    @property
    def bounds_strengths(self) -> bool:
        """Whether a maximum exists however one-sided the data are."""
        return self.strength_sd is not None or self.pseudo_wins > 0

    def __str__(self) -> str:
        return self.described()

    def described(self, *, covariates: bool = False) -> str:
        """In words; `covariates`: with the width that matters only where there are some."""
        if (self if covariates else replace(self, covariate_sd=None)) == MAXIMUM_LIKELIHOOD:
            return "none (maximum likelihood)"
        widths = {"strength": self.strength_sd, "log sigma": self.log_sigma_sd, "slot": self.slot_sd}
        widths |= {"covariate": self.covariate_sd} if covariates else {}
        parts = [f"{name} sd {'flat' if width is None else format(width, 'g')}" for name, width in widths.items()]
        return ", ".join(parts) + (f", {self.pseudo_wins:g} pseudo-wins a pair" if self.pseudo_wins else "")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


MAXIMUM_LIKELIHOOD = Prior(strength_sd=None, log_sigma_sd=None, slot_sd=None, covariate_sd=None)
