"""Panels of judges with known truth for the benchmark of verdict rules, and what a rule is right about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

import juryrank as jr

RULES = ("plurality", "bt-sigma", "dawid-skene", "bt-sigma-questions", "auto", "consistency")
#: without repetitions the consistency rule falls back to the plurality
UNREPEATED = RULES[:-1]
#: kind and rate of a judge: "shared" is right at that rate and errs alike however it is asked, "fresh" draws its errors
#: anew per showing, "A" says A and "first" the system shown first at that rate, "other" follows a coin of the question
Judge = tuple[str, float]


@dataclass(frozen=True)
class Panel:
    """A kind of panel; the last `odd` judges are the odd ones, A is better in `a_share` of the questions."""

    name: str
    judges: list[Judge]
    odd: int = 0
    repetitions: int = 1
    a_share: float = 0.5


PANELS = [
    Panel("always A at 99 %, two of .9", [("shared", 0.9)] * 2 + [("A", 0.99)], odd=1),
    Panel("always A, two of .9", [("shared", 0.9)] * 2 + [("A", 1.0)], odd=1),
    Panel("stubborn: always A, two fresh .85, twice", [("fresh", 0.85)] * 2 + [("A", 1.0)], odd=1, repetitions=2),
    Panel("two always A, three of .8", [("shared", 0.8)] * 3 + [("A", 1.0)] * 2, odd=2),
    Panel("two first at 95 %, three of .8", [("shared", 0.8)] * 3 + [("first", 0.95)] * 2, odd=2),
    Panel("three always first, two fresh .8", [("fresh", 0.8)] * 2 + [("first", 1.0)] * 3, odd=3),
    Panel("two coins, three of .8, twice", [("shared", 0.8)] * 3 + [("fresh", 0.5)] * 2, odd=2, repetitions=2),
    Panel("two stubborn coins, three of .8", [("shared", 0.8)] * 3 + [("shared", 0.5)] * 2, odd=2),
    Panel("lone dissenter wrong at 98 %, four of .8", [("shared", 0.8)] * 4 + [("shared", 0.02)], odd=1),
    Panel("three of .6", [("shared", 0.6)] * 3),
    Panel("three of .75", [("shared", 0.75)] * 3),
    Panel("five of .7", [("shared", 0.7)] * 5),
    Panel("five fresh .7, twice", [("fresh", 0.7)] * 5, repetitions=2),
    Panel("nine of .7", [("shared", 0.7)] * 9),
    Panel("mixed: .55 .6 .7 .8 .95", [("shared", p) for p in (0.95, 0.8, 0.7, 0.6, 0.55)], odd=1),
    Panel("mixed fresh: .55 .6 .7 .8 .95", [("fresh", p) for p in (0.95, 0.8, 0.7, 0.6, 0.55)], odd=1),
    Panel("A better in 80 of 100: five of .7", [("shared", 0.7)] * 5, a_share=0.8),
    Panel("A better in 80 of 100: five fresh .7", [("fresh", 0.7)] * 5, a_share=0.8),
    Panel("A better in 95 of 100: five of .7", [("shared", 0.7)] * 5, a_share=0.95),
    Panel("A better in 80 of 100: always A, two of .9", [("shared", 0.9)] * 2 + [("A", 1.0)], odd=1, a_share=0.8),
    Panel("camps: three of .75, two wrong at .75", [("shared", 0.75)] * 3 + [("shared", 0.25)] * 2, odd=2),
    Panel("camps: three of .7, two wrong at .95", [("shared", 0.7)] * 3 + [("shared", 0.05)] * 2, odd=2),
    Panel("camps: three of .8, five follow another thing", [("shared", 0.8)] * 3 + [("other", 0.8)] * 5, odd=5),
]


def draw(panel: Panel, *, seed: int, questions: int = 100) -> tuple[jr.Comparisons, pd.Series]:
    """Every judge on every question in both orders, and the better system by question."""
    rng = np.random.default_rng(seed)
    a_better = rng.permutation(np.arange(questions) < round(panel.a_share * questions))
    coin = rng.random(questions) < 0.5
    shape = (questions, panel.repetitions, 2)
    follows = {"shared": a_better[:, None, None], "fresh": a_better[:, None, None], "other": coin[:, None, None]}
    follows |= {"A": np.array(True), "first": np.array([True, False])}
    once = ("shared", "other")
    hits = [rng.random((questions, 1, 1) if kind in once else shape) < rate for kind, rate in panel.judges]
    says_a = np.stack(
        [np.broadcast_to(hit == follows[kind], shape) for hit, (kind, _) in zip(hits, panel.judges, strict=True)]
    )
    judge, question, repetition, order = (axis.ravel() for axis in np.indices(says_a.shape))
    names = np.array([f"q{i:04d}" for i in range(questions)])
    frame = pd.DataFrame(
        {
            "context": names[question],
            "judge": np.array([f"j{k:02d}" for k in range(len(panel.judges))])[judge],
            "first": np.where(order == 0, "a", "b"),
            "second": np.where(order == 0, "b", "a"),
            "outcome": np.where(says_a.ravel() == (order == 0), "first", "second"),
            "repetition": repetition,
        }
    )
    return jr.reconcile(jr.read(frame)), pd.Series(np.where(a_better, "a", "b"), index=names)


def right(report: jr.ABReport, truth: pd.Series, column: str = "weighted_winner") -> pd.Series:
    """By question of `truth`: 1 where the report names the better system, 1/2 where it names none, else 0."""
    said = report.frame.set_index("context")[column].reindex(truth.index)
    return (said == truth).astype(float).where(said.isin([report.a, report.b]), 0.5)


def ask(compared: jr.Comparisons, truth: pd.Series, rules: tuple[str, ...] = RULES) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What every rule is right about (questions x rules), and the weights of the judges (judges x rules)."""
    a, b = compared.items
    reports = {"auto": jr.compare_systems(compared, a=a, b=b)}
    rights = {"plurality": right(reports["auto"], truth, "winner")}
    for rule in rules[1:]:  # "auto" is another rule, or the plurality between two camps, and need not be asked twice
        same = reports["auto"].weighted["rule"] == rule or rule == "auto"
        reports[rule] = reports["auto"] if same else jr.compare_systems(compared, a=a, b=b, aggregation=rule)
    rights |= {rule: right(reports[rule], truth) for rule in rules[1:]}
    weights = {rule: reports[rule].judges.set_index("judge")["weight"] for rule in rules[1:]}
    return pd.DataFrame(rights), pd.DataFrame(weights)


def weighed_alike(weights: list[pd.DataFrame]) -> str:
    """In how many panels the default weighed all judges alike: no difference to be detected, or two camps."""
    number = sum(bool((weight["auto"].dropna() == 1).all()) for weight in weights)
    return f"  auto weighs all alike in {number} of {len(weights)}" if number else ""


def error(units: pd.Series) -> float:
    """Standard error of a mean over independent units; 0 for a single one."""
    return float(units.std(ddof=1) / np.sqrt(len(units))) if len(units) > 1 else 0.0


def cell(score: pd.Series, base: pd.Series | None = None) -> str:
    """Percent right, with standard error over the rows, and the paired difference to `base`; `!` is 2 errors below it."""
    text = f"{100 * score.mean():5.1f} ±{100 * error(score):3.1f}"
    if base is None:
        return text
    gain, unsure = 100 * (score - base).mean(), 100 * error(score - base)
    return f"{text} ({gain:+5.1f} ±{unsure:3.1f}){'!' if gain < -2 * unsure else ' '}"


def cells(scores: pd.DataFrame) -> str:
    """A `cell` for every rule that was asked."""
    base = scores["plurality"]
    return " | ".join([cell(base), *(cell(scores[rule], base) for rule in scores.columns[1:])])


def heading(name: str) -> str:
    """The line over lines of `cells`."""
    return " | ".join([f"{name:47s}", f"{RULES[0]:10s}", *(f"{rule:24s}" for rule in RULES[1:])])


def simulated_panels(seeds: int = 20) -> None:
    """Every kind of panel under every rule."""
    print(heading(f"Simulated panels, 100 questions, {seeds} seeds"))
    for panel in PANELS:
        scores, weights = [], []
        for seed in range(seeds):
            rights, weight = ask(*draw(panel, seed=seed), RULES if panel.repetitions > 1 else UNREPEATED)
            scores.append(rights.mean())
            weights.append(weight)
        print(f"{panel.name:47s} | {cells(pd.DataFrame(scores))}{weighed_alike(weights)}", flush=True)
        if panel.odd:
            mean = pd.concat(weights).groupby(level=0).mean()
            odd, rest = mean.iloc[-panel.odd :].mean(), mean.iloc[: -panel.odd].mean()
            shown = (f"{rule} {odd[rule]:.2f} ({rest[rule]:.2f})" for rule in mean)
            print(f"    weight of the odd (of the others): {', '.join(shown)}", flush=True)
