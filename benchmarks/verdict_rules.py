"""Which weighted rule may stand beside the plurality by default, and may it ever harm?

Every rule through `jr.compare_systems`: LLMBar (65 judges and random sub-panels), PandaLM (annotators' majority as truth),
simulated panels (see simulated_panels.py), labels, and the size of panel from which the joint maximum is safe.

    python benchmarks/verdict_rules.py

Measured (2 cores; percent right, an undecided question is half right; +- standard errors, differences to plurality paired):

    LLMBar, 65 judges          plurality 64.8   bt-sigma 58.9   dawid-skene 82.3   bt-sigma-questions 86.2
    LLMBar, 31 / 9 / 3 judges  62.4/66.7/61.2   57.8/62.1/58.3  74.4/77.4/63.0     78.3/76.9/63.1
    PandaLM, two models        76.8             76.2            78.7               80.2
    always A at 99 %, two .9   89.8             54.6            90.1               90.0   (weight of the always-A judge .02)
    stubborn, two passes       77.4             77.5            99.2               89.8   (consistency: 65.1)
    five of .7, shared errors  84.0             80.5            76.9               83.5
    95 of 100 for A, the same  84.0             83.5            69.2               80.7
    labels, LLMBar             0, 10, 20, 40 labels: 86.2, 86.1, 86.2, 86.2; with five judges 59.8, 60.2, 62.2, 64.7

Integrated grades against joint maximum: with 15 equal judges whose errors both orders share the joint maximum loses 10.9
points, with 25 it loses 0.2, and on LLMBar it gains 3 to 7 points from 25 judges on: rules.MANY = 20.

Conclusion: bt-sigma-questions is the default. It is never more than a point under plurality but where one system wins
nearly every question and all judges share their errors, and where the panel falls into two camps; there "auto" now keeps
to plurality and says why (the runs above let the rule decide: -12 and -15 points). bt-sigma and consistency reward
one-sided and stubborn judges; dawid-skene counts both orders of a judge as two votes and pays where errors are shared.
"""

from __future__ import annotations

import time
from unittest.mock import patch

import numpy as np
import pandas as pd
from datasets import llmbar_frame, load, showings
from scipy.stats import pearsonr, spearmanr
from simulated_panels import RULES, UNREPEATED, Panel, ask, cell, cells, draw, heading, right, simulated_panels

import juryrank as jr
from juryrank.tables import FIRST, SECOND, TIE
from juryrank.verdicts import rules

DRAWS, SIZES = 12, (3, 5, 9, 15, 31)
SWITCH = (3, 5, 9, 15, 20, 25, 45)
LABELS = (10, 20, 40)


class LLMBar:
    """65 judges on 419 pairs with a gold label."""

    def __init__(self) -> None:
        self.frame = llmbar_frame()
        self.gold = self.frame.drop_duplicates("context").set_index("context")["label_item"].astype(str).sort_index()
        hit = (self.frame["outcome_item1"] == (self.frame["label_item"] == 1)).where(self.frame["outcome_item1"].notna())
        self.accuracy = hit.astype(float).groupby(self.frame["judge"]).mean()
        self.all = jr.reconcile(showings(self.frame))

    def some(self, judges: int, seed: int) -> jr.Comparisons:
        """A random sub-panel."""
        names = np.random.default_rng([judges, seed]).choice(self.accuracy.index, judges, replace=False)
        return jr.reconcile(showings(self.frame[self.frame["judge"].isin(names)]))


def llmbar(data: LLMBar) -> None:
    """Accuracy on the full panel and on sub-panels, and what the weights are worth."""
    print(heading("LLMBar"))
    rights, weights = ask(data.all, data.gold)
    print(f"{'65 judges (errors over questions)':47s} | {cells(rights)}", flush=True)
    worth = {}
    for size in SIZES:
        scores, known = [], []
        for seed in range(DRAWS):
            got, weight = ask(data.some(size, seed), data.gold, UNREPEATED)
            scores.append(got.mean())
            known.append(reliability(weight, data.accuracy))
        worth[size] = pd.concat(known).groupby(level=0, sort=False).mean()
        print(f"{f'{size} judges, {DRAWS} draws (errors over draws)':47s} | {cells(pd.DataFrame(scores))}", flush=True)
    worth[65] = reliability(weights, data.accuracy)
    print("Correlation of weights with true accuracy, Pearson / Spearman (mean over draws)")
    for size in (9, 15, 31, 65):
        shown = (f"{rule} {row['pearson']:+.2f} / {row['spearman']:+.2f}" for rule, row in worth[size].iterrows())
        print(f"  {size:2d} judges: {', '.join(shown)}", flush=True)


def reliability(weights: pd.DataFrame, accuracy: pd.Series) -> pd.DataFrame:
    """Pearson and Spearman correlation of each rule's weights with the truth; a rule that weighs all alike has none."""
    found = {}
    for rule in weights:
        pair = pd.concat([weights[rule], accuracy], axis=1, join="inner").dropna().to_numpy()
        if np.ptp(pair[:, 0]) > 1e-9:
            found[rule] = {"pearson": pearsonr(*pair.T).statistic, "spearman": spearmanr(*pair.T).statistic}
    return pd.DataFrame.from_dict(found, orient="index", columns=["pearson", "spearman"])


def pandalm(turns: int = 10) -> None:
    """Two model judges, alone and with an annotator, against what the annotators agree on."""
    table = load(("pandalm",))[0].judgments.table
    words = np.full(int(table["outcome"].max()) + 1, "failure", dtype=object)
    words[[FIRST, SECOND, TIE]] = "first", "second", "tie"
    frame = table[["context", "judge", "first", "second"]].astype(str).assign(outcome=words[table["outcome"]])
    frame["context"] = frame["context"] + " " + frame["first"] + " " + frame["second"]
    people, models = ["annotator1", "annotator2", "annotator3"], ["gpt-3.5-turbo", "pandalm-7b"]
    answers = frame[frame["judge"].isin(people)].pivot(index="context", columns="judge", values="outcome")
    majority, others = agreed(answers), {person: agreed(answers.drop(columns=person)) for person in people}
    kinds = {
        "two models": [(models, majority)],
        "two models, an annotator of the majority": [([*models, person], majority) for person in people],
        "two models, an annotator, truth the others'": [([*models, person], others[person]) for person in people],
    }
    print(heading("PandaLM, means over orientations"))
    for name, panels in kinds.items():
        found = [oriented(frame[frame["judge"].isin(who)], truth, seed) for who, truth in panels for seed in range(turns)]
        print(f"{name:47s} | {cells(pd.concat(found).groupby(level=0).mean())}", flush=True)


def agreed(answers: pd.DataFrame) -> pd.Series:
    """The slot that at least two people prefer, where there is one."""
    slots = pd.DataFrame({slot: (answers == slot).sum(axis=1) for slot in ("first", "second")})
    return slots.idxmax(axis=1)[slots.max(axis=1) >= 2]


def oriented(panel: pd.DataFrame, truth: pd.Series, seed: int) -> pd.DataFrame:
    """The two systems of each question renamed "left" and "right" at random, and what the rules are right about."""
    panel = panel[panel["context"].isin(truth.index)]
    first_left = pd.Series(np.random.default_rng(seed).random(len(truth)) < 0.5, index=truth.index)
    left = first_left.reindex(panel["context"]).to_numpy()
    renamed = panel.assign(first=np.where(left, "left", "right"), second=np.where(left, "right", "left"))
    better = pd.Series(np.where((truth == "first") == first_left, "left", "right"), index=truth.index)
    return ask(jr.reconcile(jr.read(renamed)), better, UNREPEATED)[0]


def labels(data: LLMBar, draws: int = 20) -> None:
    """Accuracy on the unlabelled questions with some labels, against the same questions with none."""
    print(f"Labels on LLMBar, {draws} draws: accuracy on the unlabelled (paired against no labels), and the worst draw")
    for size in (65, 5):
        panels = [data.all if size == 65 else data.some(size, seed) for seed in range(draws)]
        for rule in ("auto", "dawid-skene"):
            shown = []
            none = [said(compared, rule, {}, data.gold) for compared in panels[: 1 if size == 65 else draws]]
            none = none * (draws // len(none))
            shown.append(cell(pd.Series([series.mean() for series in none])))
            for count in LABELS:
                pairs = []
                for seed, compared in enumerate(panels):
                    known = data.gold.sample(count, random_state=seed)
                    rest = data.gold.drop(known.index)
                    pairs.append((said(compared, rule, known.to_dict(), rest).mean(), none[seed][rest.index].mean()))
                scores = pd.DataFrame(pairs)
                shown.append(f"{count}: {cell(scores[0], scores[1])} worst {100 * (scores[0] - scores[1]).min():+.1f}")
            print(f"  {size:2d} judges, {rule:11s} 0: {' | '.join(shown)}", flush=True)


def said(compared: jr.Comparisons, rule: str, known: dict[str, str], truth: pd.Series, many: int | None = None) -> pd.Series:
    """What a rule is right about; `many` moves the switch between integrated grades and joint maximum."""
    a, b = compared.items
    with patch.object(rules, "MANY", rules.MANY if many is None else many):
        return right(jr.compare_systems(compared, a=a, b=b, aggregation=rule, labels=known or None), truth)


def switch(data: LLMBar) -> None:
    """Integrated grades against the joint maximum, by size of the panel."""
    print(f"Integrated grades | joint maximum (difference to the grades); the default switches at {rules.MANY} judges")
    for size in SWITCH:
        panels = [(data.some(size, seed), data.gold) for seed in range(DRAWS)]
        print(f"  LLMBar, {size:2d} judges:                {branches(panels)}", flush=True)
    print(f"  LLMBar, 65 judges (over questions): {branches([(data.all, data.gold)])}", flush=True)
    for kind in ("shared", "fresh"):
        for size in SWITCH:
            panels = [draw(Panel("equal", [(kind, 0.7)] * size), seed=seed) for seed in range(DRAWS)]
            print(f"  equal .7, {kind:6s} errors, {size:2d} judges: {branches(panels)}", flush=True)


def branches(panels: list[tuple[jr.Comparisons, pd.Series]]) -> str:
    """Both branches of the default."""
    both = [[said(compared, "auto", {}, truth, many) for many in (10**9, 0)] for compared, truth in panels]
    if len(both) == 1:
        return f"{cell(both[0][0])} | {cell(both[0][1], both[0][0])}"
    scores = pd.DataFrame([[series.mean() for series in pair] for pair in both])
    return f"{cell(scores[0])} | {cell(scores[1], scores[0])}"


def clock(questions: int = 100_000) -> None:
    """Seconds for a large table."""
    made = jr.simulate(items=2, judges=9, contexts=questions, orders="both", seed=1)
    start = time.perf_counter()
    compared = jr.reconcile(made.judgments)
    print(f"{questions:,} questions x 9 judges x both orders: reconcile {time.perf_counter() - start:.1f} s", end="")
    a, b = compared.items
    for rule in RULES:
        start = time.perf_counter()
        jr.compare_systems(compared, a=a, b=b, aggregation=rule)
        print(f", {rule} {time.perf_counter() - start:.1f} s", end="", flush=True)
    print()


def main() -> None:
    start = time.perf_counter()
    data = LLMBar()
    for part in (lambda: llmbar(data), pandalm, simulated_panels, lambda: labels(data), lambda: switch(data), clock):
        part()
        print(f"[{time.perf_counter() - start:.0f} s]\n", flush=True)


if __name__ == "__main__":
    main()
