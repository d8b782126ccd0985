"""Which weighted rule may stand beside the plurality by default, and where does it harm?

Every rule through `jr.compare_systems`, "auto" beside the rule that it takes (bt-sigma-questions; the plurality where it
sees two camps and no labels tell them apart). LLMBar with gold labels: 65 judges, and random sub-panels of them. PandaLM:
what two of three annotators agree on is the truth; the pairs of systems become "left" and "right" at random. Simulated
panels with known truth (simulated_panels.py): "shared" errors are the same in both orders, "fresh" ones are drawn per
showing. Labels, the worth of the weights, the size of panel at which bt-sigma-questions turns from integrated grades to a
joint maximum, and time.

    python benchmarks/verdict_rules.py

Measured (12 min on one core; percent right, an undecided question half right; difference to plurality paired by draw, its
standard error behind the slash; `!` is below plurality by more than 2 of them; "alike": panels in which "auto" weighs all
judges the same). Without repetitions consistency = plurality. LLMBar sub-panels are 12 draws, simulated panels 20.

                                      plurality  bt-sigma      dawid-skene   bt-sigma-questions  auto         alike
    LLMBar, 65 judges                     64.8   - 5.8/1.2 !   +17.5/2.0     +21.4/2.1           +21.4/2.1
      31 judges                           62.4   - 4.6/0.5 !   +12.0/3.2     +15.9/3.5           +15.9/3.5       0
      15 judges                           64.3   - 4.2/0.5 !   + 4.7/3.2     + 5.4/3.2           + 5.4/3.2       0
       9 judges                           66.7   - 4.6/0.9 !   +10.7/2.4     +11.0/2.3           +11.0/2.3       0
       5 judges                           55.2   - 1.6/1.0     - 4.8/2.0 !   - 2.0/1.4           - 2.0/1.4       2
       3 judges                           61.2   - 2.9/1.1 !   + 1.7/2.2     + 1.2/1.1           + 1.2/1.1      10
    PandaLM, two models                   76.8   - 0.6/0.5     + 1.9/0.7     + 1.4/0.3           + 1.4/0.3
      and an annotator, truth of others   87.3   - 0.6/0.1 !   + 0.7/0.4     + 0.1/0.1           + 0.1/0.1
    always A at 99 %, two of .9           89.8   -35.2/2.7 !   + 0.3/0.2     + 0.0/0.0           + 0.0/0.0       0
    stubborn always A, fresh .85, twice   77.4   + 0.1/0.6     +21.8/0.5     +12.3/0.4           +12.3/0.4       0
      the same under consistency          77.4   -12.3/0.4 !
    two always A, three of .8             74.8   + 0.2/0.2     +12.4/1.0     +14.5/1.0           +14.5/1.0       0
    two always first, three of .8         88.4   - 0.5/0.6     - 1.8/0.9 !   + 0.9/0.2           + 0.9/0.2       0
    two coins, three of .8, twice         87.6   - 1.0/0.7     + 0.5/0.7     + 1.2/0.3           + 0.9/0.3       9
    two stubborn coins, three of .8       83.9   - 1.4/1.0     + 2.5/0.8     + 5.5/0.6           + 5.1/0.6       1
    lone dissenter, four of .8            82.2   - 0.4/0.6     +15.5/0.5     + 7.6/0.4           + 7.6/0.4       0
    mixed .55 to .95                      88.4   - 3.1/1.5 !   + 5.5/0.9     + 4.0/0.7           + 4.0/0.7       0
    three of .6                           63.9   - 1.2/0.8     - 2.9/1.1 !   - 0.7/0.4           - 0.7/0.4      17
    five of .7                            84.0   - 3.5/1.0 !   - 7.1/1.0 !   - 0.2/0.2           - 0.2/0.2      19
    nine of .7                            90.5   - 2.8/0.7 !   - 1.6/0.7 !   - 0.2/0.2           - 0.2/0.2      17
    five of .7, A better in 80 of 100     84.0   - 1.0/0.4 !   -10.2/1.3 !   - 0.9/0.8           - 0.9/0.8      18
    five of .7, A better in 95 of 100     84.0   - 0.5/0.2 !   -14.8/1.3 !   - 1.0/0.8           - 1.0/0.8      18
    always A, two of .9, A in 80 of 100   95.1   + 0.0/0.0     - 9.4/1.0 !   + 0.0/0.0           + 0.0/0.0       0
    three of .75, two wrong at .75        62.9   - 0.6/2.0     +23.9/1.5     +20.6/1.0           +11.0/2.4       9
    three of .7, two wrong at .95         38.6   + 5.1/1.9     - 6.7/9.2     -14.9/6.8 !         + 0.7/2.4      18
    three of .8, five on another thing    62.5   - 1.6/1.4     -14.2/0.9 !   -13.1/1.1 !         + 0.0/0.0      20

Weights of 1 under bt-sigma-questions: always-A .01, always-first .03, coins .09 (stubborn) and .30 (fresh: a fair coin
drawn anew in both orders flips half the time, and where it is not told apart it weighs as the others do); under dawid-skene
.01 to .09; under bt-sigma .71 to 1. Correlation of weights with true accuracy on the 65 judges of LLMBar, Pearson /
Spearman: bt-sigma -.46 / -.56, dawid-skene +.98 / +.92, bt-sigma-questions +.81 / +.64.

    labels (20 draws, the unlabelled)   0     10               20               40             worst draws
    auto, 65 judges                   86.2    + 0.0/0.0        + 0.0/0.0        - 0.0/0.0        0.0   0.0  -0.3
    auto, 5 judges                    59.9    + 5.6/2.5        + 8.7/2.8        +10.3/2.8        0.0   0.0  -1.5
    bt-sigma-questions, 5 judges      59.9    + 5.3/2.5        + 8.2/2.9        +10.8/2.8       -6.7  -7.3  -2.0
    dawid-skene, 65 judges            82.3    - 0.0/0.0        + 0.2/0.1        + 0.5/0.1       -0.5   0.0   0.0
    dawid-skene, 5 judges             58.3    + 0.4/0.2        + 1.6/0.5        + 4.1/1.5       -1.0  -0.8  -0.8

    joint maximum less grades   3          5          9          15         20         25         45         65 judges
    LLMBar                   + 0.5/1.6  + 1.0/1.5  + 1.7/0.5  + 0.5/0.9  + 1.5/1.4  + 1.8/1.0  + 5.7/2.9  + 4.5/1.0
    equal .7, shared errors  - 6.4/1.2  -10.5/0.8  -15.0/1.3  -11.6/2.2  - 0.4/0.4  - 0.9/0.2  - 0.3/0.2
    equal .7, fresh errors   - 1.5/0.8  - 1.0/0.5  + 0.2/0.2  - 0.2/0.2  + 0.0/0.1  + 0.0/0.0    0.0/0.0
    (before equal judges were kept to the plurality from 20 judges on too: then 20, 25, 45 equal judges lose .3, 0, 0)

100,000 questions x 9 judges x both orders: 7 s for the default, 21 s for dawid-skene, 2 to 3 s for the others.

Conclusion: "auto" is nowhere below the plurality by more than noise, and 4 to 21 points above it where judges differ.
Three guards make it so. Judges that a likelihood-ratio test at 10 % does not tell apart weigh the same: weights that noise
alone sets apart cost 1 to 3 points where one system wins most questions. Judges within two standard errors of each other
share a weight. Between two camps, seen through the noise of a sample, nobody is weighed until labels tell them apart: that
costs 10 points where the larger camp happens to be the right one, and saves 12 to 15 where it is not. dawid-skene gains as
much where judges differ and loses
up to 15 points where they are alike (it counts both orders of a judge as two votes). bt-sigma and consistency reward
one-sided and stubborn judges. Labels help five judges of LLMBar by 9 points at 20 labels, and cost "auto" nothing in the
worst draw. The switch at 20 judges is right: below it the joint maximum gains at most 1.7 points on LLMBar and costs 15
elsewhere.
"""

from __future__ import annotations

import time
from unittest.mock import patch

import numpy as np
import pandas as pd
from datasets import llmbar_frame, load, showings
from scipy.stats import pearsonr, spearmanr
from simulated_panels import (
    RULES,
    UNREPEATED,
    Panel,
    ask,
    cell,
    cells,
    draw,
    heading,
    right,
    simulated_panels,
    weighed_alike,
)

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
        scores, known, every = [], [], []
        for seed in range(DRAWS):
            got, weight = ask(data.some(size, seed), data.gold, UNREPEATED)
            scores.append(got.mean())
            every.append(weight)
            known.append(reliability(weight, data.accuracy))
        worth[size] = pd.concat(known).groupby(level=0, sort=False).mean()
        text = cells(pd.DataFrame(scores)) + weighed_alike(every)
        print(f"{f'{size} judges, {DRAWS} draws (errors over draws)':47s} | {text}", flush=True)
    worth[65] = reliability(weights, data.accuracy)
    print("Correlation of weights with true accuracy, Pearson / Spearman (mean over the draws whose weights differ)")
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
        for rule in ("auto", "bt-sigma-questions", "dawid-skene"):
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
            print(f"  {size:2d} judges, {rule:18s} 0: {' | '.join(shown)}", flush=True)


def said(compared: jr.Comparisons, rule: str, known: dict[str, str], truth: pd.Series, many: int | None = None) -> pd.Series:
    """What a rule is right about; `many` moves the switch between integrated grades and joint maximum."""
    a, b = compared.items
    with patch.object(rules, "MANY", rules.MANY if many is None else many):
        return right(jr.compare_systems(compared, a=a, b=b, aggregation=rule, labels=known or None), truth)


def switch(data: LLMBar) -> None:
    """Integrated grades against the joint maximum, by size of the panel."""
    print(f"Integrated grades | joint maximum (difference to the grades); the rule switches at {rules.MANY} judges")
    for size in SWITCH:
        panels = [(data.some(size, seed), data.gold) for seed in range(DRAWS)]
        print(f"  LLMBar, {size:2d} judges:                {branches(panels)}", flush=True)
    print(f"  LLMBar, 65 judges (over questions): {branches([(data.all, data.gold)])}", flush=True)
    for kind in ("shared", "fresh"):
        for size in SWITCH:
            panels = [draw(Panel("equal", [(kind, 0.7)] * size), seed=seed) for seed in range(DRAWS)]
            print(f"  equal .7, {kind:6s} errors, {size:2d} judges: {branches(panels)}", flush=True)


def branches(panels: list[tuple[jr.Comparisons, pd.Series]]) -> str:
    """Both branches of bt-sigma-questions."""
    both = [[said(compared, "bt-sigma-questions", {}, truth, many) for many in (10**9, 0)] for compared, truth in panels]
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
