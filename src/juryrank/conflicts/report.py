"""`contradictions`: what in the opinions no order can hold, and whether that is more than chance."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from juryrank.conflicts.ballots import ballots
from juryrank.conflicts.certified import certified
from juryrank.conflicts.implied import implied
from juryrank.conflicts.kemeny import violations
from juryrank.conflicts.residuals import surprises
from juryrank.diagnostics.cycles import Source, as_comparisons, cycle_rate
from juryrank.document import plain, records, whole
from juryrank.errors import SettingsError
from juryrank.estimate import Fit


@dataclass(frozen=True, eq=False)
class Contradictions:
    """Contradictions beside what chance makes of the fitted model; None where a thing cannot be said."""

    #: triads whose majorities go round / triads without a tie, as seen (within contexts, where those are separate)
    cycle_rate: float | None
    #: the same in redraws from the fitted model: mean, and the ends of their middle 95 %
    implied_rate: float | None
    implied_low: float | None
    implied_high: float | None
    #: the chance of a rate at least as high as seen, one-sided; approximate, for the strengths come from the same opinions
    p_value: float | None
    #: what the fitted gaps were multiplied by before redraws, so that net wins vary as they are seen to
    scale: float | None
    #: items, the first and the last equal, each beating the next by a majority that is certain for all pairs at once
    certified_cycle: list[str]
    #: its context, where those are separate
    certified_context: str | None
    #: certified majorities, and the pairs with accepted opinions that they are among
    certified_edges: int
    pairs: int
    #: pairs the model did not expect, the largest residual first: context, item_a, item_b, wins_a, expected, n, residual, p,
    #: p_holm
    surprises: pd.DataFrame
    #: accepted wins by weight: all, those against the majority of their own pair, and those that every total order
    #: contradicts (a lower bound where not `violations_exact`)
    wins: float
    minority_wins: float
    violations_least: float
    #: what the best order found contradicts; `violations_least` where that is exact
    violations_bound: float
    violations_exact: bool
    #: what the fitted order contradicts; items of equal strength count half
    violations_of_ranking: float
    draws: int
    level: float
    seed: int

    @property
    def summary(self) -> list[str]:
        """The findings in sentences."""
        return [_chance(self), _certain(self), *_surprise(self), _orders(self)]

    def to_dict(self) -> dict[str, object]:
        """A JSON object; unknown numbers are None."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "surprises"}
        counts = {"wins", "minority_wins", "violations_least", "violations_bound", "violations_of_ranking"}
        document = {name: whole(value) if name in counts else plain(value) for name, value in values.items()}
        return document | {"surprises": records(self.surprises), "summary": self.summary}

    def __str__(self) -> str:
        return "\n".join(self.summary)


def contradictions(
    fit: Fit, comparisons: Source, *, draws: int = 200, level: float = 0.95, seed: int = 0, most: int = 10
) -> Contradictions:
    """Compare the contradictions in some comparisons with those that the model fitted to them implies.

    `comparisons`: what the fit was made on, or what the showings that it was made on were reconciled to. `draws`: redraws
    of the parametric bootstrap, 0 for none. `level`: of the certified majorities, all at once. `most`: surprising pairs
    that are kept. The p-value of the cycle rate is approximate (strengths are estimated from the same opinions), and one
    triad goes round one time in four by coin flips alone: a small p-value needs several. Groups and repetitions are
    treated as independent opinions throughout.

    Raises `SettingsError` for settings out of range and for comparisons that the fit does not know.
    """
    _check(draws, level, seed, most)
    table = as_comparisons(comparisons)
    votes = ballots(fit, table)
    redrawn, sure, worst = implied(fit, votes, draws, seed), certified(votes, level), violations(fit, votes)
    cycle = [votes.names[node] for node in sure.cycle]
    separate = fit.contexts == "separate"
    return Contradictions(
        cycle_rate=cycle_rate(votes.majorities),
        implied_rate=redrawn.rate,
        implied_low=redrawn.low,
        implied_high=redrawn.high,
        p_value=redrawn.p_value,
        scale=redrawn.scale,
        certified_cycle=[name[1] for name in cycle] if separate else cycle,
        certified_context=cycle[0][0] if separate and cycle else None,
        certified_edges=sure.edges,
        pairs=sure.pairs,
        surprises=surprises(fit, votes, most),
        wins=worst.wins,
        minority_wins=worst.minority,
        violations_least=worst.least,
        violations_bound=worst.bound,
        violations_exact=worst.exact,
        violations_of_ranking=worst.of_ranking,
        draws=draws,
        level=level,
        seed=seed,
    )


def _check(draws: int, level: float, seed: int, most: int) -> None:
    for name, value in (("draws", draws), ("seed", seed), ("most", most)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
            raise SettingsError(f"{name} is {value!r}; expected a whole number of at least 0.")
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise SettingsError(f"level is {level!r}; expected a number between 0 and 1, say 0.95.")


def _chance(found: Contradictions) -> str:
    if found.cycle_rate is None:
        return "No three items have three decided majorities between them: there is nothing to compare with chance."
    if found.p_value is None:
        return f"{found.cycle_rate:.1%} of the triads go round; what the fitted model implies was not drawn."
    verdict = "more than the model explains" if found.p_value <= 1 - found.level else "no more than the model explains"
    return (
        f"{found.cycle_rate:.1%} of the triads go round; the fitted model implies {found.implied_rate:.1%} "
        f"({found.implied_low:.1%} to {found.implied_high:.1%} in {found.draws} redraws): {verdict}, {_p(found.p_value)}."
    )


def _certain(found: Contradictions) -> str:
    held = f"{found.certified_edges} of {found.pairs} majorities are certain for all pairs at once ({found.level:.0%})"
    if not found.certified_cycle:
        return f"No cycle is certified: {held}, and none of them go round."
    where = "" if found.certified_context is None else f" in {found.certified_context}"
    return f"A cycle that is certain{where}: " + " beats ".join(found.certified_cycle) + f"; {held}."


def _surprise(found: Contradictions) -> list[str]:
    if not len(found.surprises):
        return []
    top = found.surprises.iloc[0]
    where = "" if top["context"] is None else f" in {top['context']}"
    return [
        f"Least expected{where}: {top['item_a']} won {top['wins_a']:g} of {top['n']:g} against {top['item_b']}, where "
        f"{top['expected']:.1f} were expected ({_p(top['p_holm'])} over all pairs)."
    ]


def _p(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


def _orders(found: Contradictions) -> str:
    least = f"{found.violations_least:g}" if found.violations_exact else f"at least {found.violations_least:g}"
    best = "" if found.violations_exact else f" (an order with {found.violations_bound:g} is known)"
    return (
        f"Of {found.wins:g} accepted wins every order contradicts {least}{best}, {found.minority_wins:g} of them against "
        f"the majority of their own pair; this ranking contradicts {found.violations_of_ranking:g}."
    )
