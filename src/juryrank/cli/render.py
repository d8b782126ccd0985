"""Results -> text for a person at a terminal."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable

import click
import numpy as np
import pandas as pd

from juryrank.conflicts import Contradictions
from juryrank.diagnostics.diagnosis import Diagnostics
from juryrank.influence import Fragility
from juryrank.models import ModelComparison
from juryrank.ranking import Ranking
from juryrank.ratio_tests import LikelihoodRatio
from juryrank.verdicts import ABReport

WIDEST = 60
LISTED = 8


def notes(sentences: Iterable[str]) -> None:
    """What was read, on standard error."""
    for sentence in sentences:
        click.echo(printable(sentence, width=0), err=True)


def warnings(sentences: Iterable[str]) -> None:
    """What to beware of, on standard error."""
    for sentence in sentences:
        click.echo(f"warning: {printable(sentence, width=0)}", err=True)


def printable(text: object, width: int = WIDEST) -> str:
    """Text that cannot steer a terminal: control and direction characters are spelled out; long text is cut."""
    spelled = "".join(c if c == " " or unicodedata.category(c)[0] not in "CZ" else ascii(c)[1:-1] for c in str(text))
    return spelled if not width or len(spelled) <= width else spelled[: width - 3] + "..."


def ranking_text(ranking: Ranking, top: int = 50) -> str:
    """Verdict, table, judges, covariates."""
    parts = [verdict(ranking), "", _items(ranking, top), "", _judges(ranking.judges), "", _made(ranking)]
    if len(ranking.coefficients):
        parts[-1:-1] = [_coefficients(ranking.coefficients), ""]
    return "\n".join(parts)


def verdict(ranking: Ranking) -> str:
    """One sentence: who is on top, and whether their order is settled."""
    frame = ranking.frame[ranking.frame["rank"].notna().to_numpy()]
    places = frame.groupby(["context", "component"], dropna=False, sort=False).ngroups
    if places > 1:
        return f"{places} separate rankings: there is no comparison between them."
    top = frame[(frame["tier"] == 1).to_numpy()]
    if not len(top):
        return "Strengths are estimated; how sure their order is could not be computed."
    if len(top) == len(frame):
        return f"No certain difference among the {len(frame)} items at level {ranking.settings['level']:g}."
    names = some(top["item"])
    return f"Top tier: {names}" + ("; their order is not settled." if len(top) > 1 else ", ahead of all others.")


def _items(ranking: Ranking, top: int) -> str:
    frame = ranking.frame if top <= 0 else ranking.frame.head(top)
    shown = pd.DataFrame(index=range(len(frame)))
    if frame["context"].notna().any():
        shown["context"] = [printable(c, 30) for c in frame["context"]]
    if len(set(frame["component"].dropna())) > 1:
        shown["group"] = [_whole(v) for v in frame["component"]]
    shown["rank"] = [_whole(v) for v in frame["rank"]]
    shown["item"] = [printable(item) for item in frame["item"]]
    shown["strength"] = [_number(v) for v in frame["strength"]]
    shown["interval"] = [_interval(*row) for row in frame[["low", "high", "strength"]].to_numpy(dtype=float)]
    shown["ranks"] = [_span(*row) for row in frame[["rank_low", "rank_high"]].to_numpy(dtype=float)]
    shown["tier"] = [_whole(v) for v in frame["tier"]]
    for name in ("wins", "losses", "ties"):
        shown[name] = [_amount(v) for v in frame[name]]
    remarks = [_remark(*row) for row in zip(frame["decided_by"], frame["flags"], strict=True)]
    if any(remarks):
        shown[""] = remarks
    more = len(ranking.frame) - len(frame)
    return table(shown, left=("context", "item", "")) + (f"\n... and {more} more (--top 0 shows all)" if more else "")


def _remark(decided_by: object, flags: list[str]) -> str:
    return "; ".join([*flags, *(["placed by id"] if decided_by == "id" else [])])


def _judges(judges: pd.DataFrame) -> str:
    shown = pd.DataFrame({"judge": [printable(j) for j in judges["judge"]]})
    for name, title in _JUDGE_COLUMNS.items():
        if judges[name].notna().any():
            count = name in ("judgments", "comparisons", "failures")
            shown[title] = [_amount(v) if count else _number(v) for v in judges[name]]
    return table(shown, left=("judge",))


_JUDGE_COLUMNS = {
    "sigma": "sigma",
    "slot_bias": "slot bias",
    "consistency": "consistency",
    "flip_rate": "flips",
    "first_share": "first slot",
    "cycle_rate": "cycles",
    "follows": "agrees",
    "judgments": "judgments",
    "comparisons": "pairs",
    "failures": "failures",
}


def _coefficients(coefficients: pd.DataFrame) -> str:
    shown = pd.DataFrame({"covariate": [printable(name) for name in coefficients["covariate"]]})
    if coefficients["judge"].notna().any():
        shown["judge"] = [printable(judge) for judge in coefficients["judge"]]
    shown["per unit"] = [_significant(v) for v in coefficients["estimate"]]
    ends = coefficients[["low", "high"]].to_numpy()
    shown["interval"] = ["-" if np.isnan(low) else f"[{_significant(low)}, {_significant(high)}]" for low, high in ends]
    shown["p"] = [_number(v) for v in coefficients["p"]]
    return table(shown, left=("covariate", "judge"))


def _made(ranking: Ranking) -> str:
    fit = ranking.fit
    ties = {"half": "ties half a win each"}.get(fit.ties, f"{fit.ties} ties ({_number(fit.tie_parameter)})")
    ended = "converged" if fit.converged else "NOT CONVERGED"
    kind = {"bt": "Bradley-Terry", "bt-sigma": "BT-sigma"}[fit.model]
    prior = fit.prior.described(covariates=bool(fit.covariates))
    equal = f" at equal {some(fit.covariates)}" if fit.covariates else ""
    return (
        f"{kind} on {fit.opinions} {ranking.settings['on']}, {ties}, prior: {prior}; {ended}. Strengths in logits{equal} "
        f"about the mean of their group; {ranking.settings['level']:.0%} intervals from {_errors(ranking)}; ranks hold for "
        "all items at once."
    )


def _errors(ranking: Ranking) -> str:
    kinds = {
        "model": "the model's errors",
        "sandwich": "sandwich errors",
        "cluster": "errors clustered by group",
        "cluster-judge": "errors clustered by judge",
        "cluster-both": "errors clustered by group and judge",
        "cluster-opinion": "errors of whole opinions",
    }
    return kinds[str(ranking.settings["covariance"])]


def comparison_text(report: ABReport) -> str:
    """Verdict, rates by name, the weighted rule beside, the judges."""
    a, b = printable(report.a), printable(report.b)
    lines = [
        printable(report.summary, width=0),
        "",
        f"{report.comparisons} questions: {report.decided} decided, {_percent(report.tie_rate)} ties, "
        f"{_percent(report.inconclusive_rate)} inconclusive.",
        f"Plurality: {a} wins {_percent(report.a_win_rate)}, {b} {_percent(report.b_win_rate)} of the decided.",
        f"Weighted ({report.weighted['rule']}): {a} wins {_percent(report.weighted['a_win_rate'])}, "
        f"{b} {_percent(report.weighted['b_win_rate'])}.",
    ]
    if report.agreement.mean is not None:
        alpha = report.agreement.chance_corrected
        corrected = "" if alpha is None else f"; corrected for chance {alpha:.2f}"
        covered = _percent(report.agreement.coverage)
        lines.append(
            f"Agreement {_percent(report.agreement.mean)} on the {covered} of the questions with two votes{corrected}."
        )
    if report.outlier is not None:
        lines.append(f"Least like the others: {printable(report.outlier)}.")
    for name, wins, losses in report.without.itertuples(index=False):
        if name.startswith("family "):
            lines.append(f"Without {printable(name)}: {a} wins {wins}, {b} {losses}.")
    return "\n".join([*lines, "", _side_by_side(report, a, b)])


def _side_by_side(report: ABReport, a: str, b: str) -> str:
    judges = report.judges
    shown = pd.DataFrame({"judge": [printable(j) for j in judges["judge"]]})
    titles = {"a_rate": a, "b_rate": b, "tie_rate": "ties", "position_bias": "flips", "first_share": "first slot"}
    titles |= {"consistency": "consistency", "weight": "weight", "sigma": "sigma", "accuracy": "accuracy"}
    for name, title in titles.items():
        if judges[name].notna().any():
            shown[title] = [_number(v) for v in judges[name]]
    for name in ("judgments", "failures"):
        if judges[name].notna().any():
            shown[name] = [_amount(v) for v in judges[name]]
    return table(shown, left=("judge",))


def _percent(value: object) -> str:
    return "-" if value is None else f"{float(value):.1%}"  # type: ignore[arg-type]


def models_text(result: ModelComparison) -> str:
    """Verdict, one row per model, what the likelihood ratios say."""
    frame = result.frame
    shown = pd.DataFrame({"model": [printable(name) for name in frame["model"]], "loss": [_fine(v) for v in frame["loss"]]})
    change = zip(frame["difference"], frame["difference_stderr"], strict=True)
    shown["to the first"] = ["-" if not place else f"{by:+.4f} ({error:.4f})" for place, (by, error) in enumerate(change)]
    shown["accuracy"] = [_percent(None if math.isnan(v) else v) for v in frame["accuracy"]]
    shown["slope"] = [_number(v) for v in frame["calibration_slope"]]
    shown["off by"] = [_number(v) for v in frame["calibration_error"]]
    for name, title in {"parameters": "parameters", "unpredicted": "unpredicted"}.items():
        shown[title] = [_amount(v) for v in frame[name]]
    made = (
        f"{_amount(result.opinions)} {result.on} in {result.folds} folds of {result.groups} {result.by}s held out whole; "
        "loss in nats, in brackets the standard error; slope 1 is calibrated, under 1 overconfident."
    )
    lines = [
        *_ratio("Judges of different sharpness", result.heterogeneity),
        *_ratio("Leaning to a slot", result.slot_bias),
    ]
    return "\n".join([printable(result.summary, width=0), "", table(shown, left=("model",)), "", *lines, made])


def _ratio(what: str, test: LikelihoodRatio | None) -> list[str]:
    if test is None:
        return []
    found = f"not tested: {test.reason}" if test.p is None else f"p = {test.p:.2g} if rows were independent."
    return [
        f"{what}: likelihood ratio {_number(test.statistic)} on {test.df} degrees of freedom, {printable(found, width=0)}"
    ]


def _fine(value: float) -> str:
    return f"{value:.4f}"


def audit_text(
    facts: Diagnostics,
    decided_by_id: list[str] | None,
    chance: Contradictions | None = None,
    fragile: Fragility | None = None,
) -> str:
    """The diagnostics in sentences, then the judges; without `chance`, or `fragile`, nothing is said about it."""
    sections = {
        "What was asked": _asked(facts),
        "What contradicts": _contradictions(facts),
        "Is that more than chance?": [printable(sentence, width=0) for sentence in chance.summary] if chance else [],
        "How fragile is the order": [printable(sentence, width=0) for sentence in fragile.summary] if fragile else [],
        "Who flips": _flips(facts.judges),
        "What hangs together": _groups(facts),
        "Do the judges agree": _agreement(facts),
        "What rests on names": _by_id(decided_by_id),
    }
    text = [f"{title}\n" + "\n".join(f"  {line}" for line in lines) for title, lines in sections.items() if lines]
    return "\n\n".join([*text, _judges(facts.judges)])


def _asked(facts: Diagnostics) -> list[str]:
    counts = facts.counts
    calls = "" if facts.scheduled_calls is None else f" with {facts.scheduled_calls} calls"
    both_bad = f" (both bad: {_amount(facts.both_bad)})" if facts.both_bad else ""
    return [
        f"{_amount(sum(counts.values()))} pairs were asked{calls}: {_amount(counts['win'])} wins, "
        f"{_amount(counts['tie'])} ties{both_bad}, {_amount(counts['disagreement'])} disagreements between the two orders, "
        f"{_amount(counts['uncertain'])} uncertain, {_amount(counts['failure'])} failures."
    ]


def _contradictions(facts: Diagnostics) -> list[str]:
    found = facts.triads
    if facts.cycle_rate is None:
        lines = ["No three items have three decided majorities between them: cycles cannot be assessed."]
    else:
        lines = [f"{found.strict} of {found.decided} triads go round in a circle ({facts.cycle_rate:.1%})."]
    if found.weak:
        lines.append(f"{found.weak} more of {found.judged} go round with the help of ties.")
    if facts.cycle:
        lines.append("For example: " + " beats ".join(printable(i) for i in facts.cycle[:LISTED]) + _more(facts.cycle))
    return lines


def _flips(judges: pd.DataFrame) -> list[str]:
    rated = judges[judges["flip_rate"].notna().to_numpy()].sort_values("flip_rate", ascending=False, kind="stable")
    if not len(rated):
        return ["No pair was answered in both orders: flips are not measured."]
    lines = [
        f"{printable(name)} answers otherwise in the other order on {rate:.0%} of the pairs" + _leaning(share)
        for name, rate, share in zip(rated["judge"], rated["flip_rate"], rated["first_share"], strict=True)
    ]
    return lines[:LISTED] + ([f"... and {len(lines) - LISTED} more judges, below"] if len(lines) > LISTED else [])


def _leaning(first_share: float) -> str:
    if not 0.4 <= first_share <= 0.6 and not math.isnan(first_share):
        return f" (picks the first slot {first_share:.0%} of the time)"
    return ""


def _groups(facts: Diagnostics) -> list[str]:
    if len(facts.components) == 1 and len(facts.strong_groups) == 1:
        return ["Every item can be reached from every other by wins and ties: all gaps are measured."]
    lines = []
    if len(facts.components) > 1:
        lines.append(f"{len(facts.components)} groups have no comparison between them; gaps across are undefined:")
        lines += [f"- {some(group)}" for group in facts.components[:LISTED]] + _rest(facts.components)
    if len(facts.strong_groups) > len(facts.components):
        lines.append(f"{len(facts.strong_groups)} groups are linked by wins one way only; how far apart is not measured:")
        lines += [f"- {some(group)}" for group in facts.strong_groups[:LISTED]] + _rest(facts.strong_groups)
    if facts.held_by_flips:
        lines.append("Held together by disagreements alone: " + "; ".join(some(g) for g in facts.held_by_flips[:LISTED]))
    return lines or ["Nothing was compared."]


def _rest(groups: list[list[str]]) -> list[str]:
    return [f"- and {len(groups) - LISTED} more groups"] if len(groups) > LISTED else []


def _agreement(facts: Diagnostics) -> list[str]:
    found = facts.agreement
    if found.mean is None:
        return ["No pair has decided answers of two judges: agreement is not measured."]
    alpha = "" if found.chance_corrected is None else f"; corrected for chance {found.chance_corrected:.2f}"
    return [
        f"On average {found.mean:.0%} of the judges stand with the largest side{alpha} "
        f"({found.units} of {found.asked} pairs have decided answers of at least two judges)."
    ]


def _by_id(items: list[str] | None) -> list[str]:
    if items is None:
        return ["There is no usable verdict, so there is no ranking."]
    if not items:
        return ["No place in the ranking rests on an item's name."]
    return [f"{len(items)} items have the same strength as a neighbour and stand in the order of their ids: {some(items)}."]


def some(items: Iterable[str]) -> str:
    """A few of many names."""
    names = [printable(item) for item in items]
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")


def _more(names: list[str]) -> str:
    return " ..." if len(names) > LISTED else ""


def table(frame: pd.DataFrame, left: tuple[str, ...]) -> str:
    """Columns of text, aligned; `left` names those that start at the left."""
    columns = []
    for name in frame.columns:
        cells = [str(name), *map(str, frame[name])]
        width = max(map(len, cells))
        columns.append([cell.ljust(width) if name in left else cell.rjust(width) for cell in cells])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.3f}" if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _significant(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


def _whole(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else str(int(value))


def _amount(value: float) -> str:
    if isinstance(value, float) and math.isnan(value):
        return "-"
    return f"{value:g}" if float(value) != np.floor(value) else str(int(value))


def _interval(low: float, high: float, strength: float) -> str:
    if math.isnan(low) and math.isnan(high):
        return "-" if not math.isfinite(strength) else "open"
    return f"[{'-inf' if math.isnan(low) else f'{low:.2f}'}, {'inf' if math.isnan(high) else f'{high:.2f}'}]"


def _span(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"{int(low)}" if low == high else f"{int(low)}-{int(high)}"
