"""Who is right more often, and which reliability figure knows it? 65 language-model judges on LLMBar.

419 pairs with a gold label that no fit sees; items separate per pair, sigma and slot bias shared. Accuracy of the
panel's winner (an equal strength counts as half right), and Spearman correlation of each reliability figure with the judges'
true accuracy over showings.

    python benchmarks/llmbar_accuracy.py
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from datasets import llmbar_frame, showings
from scipy.stats import spearmanr

import juryrank as jr


def main() -> None:
    frame = llmbar_frame()
    gold = frame.drop_duplicates("context").set_index("context")["label_item"].astype(str).sort_index()
    right = (frame["outcome_item1"] == (frame["label_item"] == 1)).where(frame["outcome_item1"].notna())
    accuracy = right.astype(float).groupby(frame["judge"]).mean()
    judgments = showings(frame)
    compared = jr.reconcile(judgments)
    print(f"best single judge {accuracy.max():.1%}, plurality of strict votes {plurality(compared, gold):.1%}")
    judges = jr.diagnose(compared, model="bt").judges.set_index("judge")
    for name, figure in {
        "order consistency (1 - flip rate)": 1 - judges["flip_rate"],
        "agreement with others": judges["follows"],
        "first-slot share, distance from half": -(judges["first_share"] - 0.5).abs(),
    }.items():
        print(f"  Spearman with true accuracy: {name:38s} {correlation(figure, accuracy):+.3f}")
    for name, source, settings in settings_of(judgments, compared):
        start = time.perf_counter()
        fit = jr.fit_bt(source, contexts="separate", extra_starts=0, **settings)
        sharp = f"1/sigma {correlation(1 / fit.sigmas, accuracy):+.3f}" if fit.judge_sigma else " " * 14
        seconds = time.perf_counter() - start
        print(f"{name:52s} right {share_right(fit, gold):.1%}  {sharp}  converged {fit.converged}  {seconds:.1f} s")


def settings_of(judgments: jr.Judgments, compared: jr.Comparisons) -> list[tuple[str, object, dict]]:
    """Models x data."""
    sources = [
        ("comparisons, flips half", compared, {}),
        ("comparisons, flips dropped", compared, {"disagreements": "drop"}),
    ]
    sources += [("showings", judgments, {})]
    found = []
    for name, source, more in sources:
        found += [(f"Bradley-Terry on {name}", source, {"judge_sigma": False, **more})]
        found += [(f"BT-sigma on {name}", source, more)]
    found += [("BT-sigma with slot bias on showings", judgments, {"slot_bias": True})]
    for sd in (0.5, 2.0):
        found += [(f"BT-sigma on comparisons, log-sigma sd {sd:g}", compared, {"prior": jr.Prior(log_sigma_sd=sd)})]
    return found


def plurality(compared: jr.Comparisons, gold: pd.Series) -> float:
    """Share of pairs on which the plurality of accepted wins is right; a draw is half right."""
    table = compared.frame
    won = table[(table["status"] == "win").to_numpy()]
    lead = won.assign(sign=np.where(won["winner"] == "1", 1, -1)).groupby("context")["sign"].sum().reindex(gold.index)
    return half_right(lead.fillna(0).to_numpy(), gold)


def share_right(fit: jr.Fit, gold: pd.Series) -> float:
    """Share of pairs on which the stronger item is the labelled one."""
    strength = fit.strengths.unstack().reindex(gold.index)
    return half_right((strength["1"] - strength["2"]).to_numpy(), gold)


def half_right(lead: np.ndarray, gold: pd.Series) -> float:
    """Mean correctness of the sign of `lead` (towards item 1)."""
    sign = np.sign(np.where(np.abs(lead) < 1e-9, 0, lead))
    return float(np.where(sign == 0, 0.5, (sign > 0) == (gold == "1").to_numpy()).mean())


def correlation(figure: pd.Series, accuracy: pd.Series) -> float:
    return float(spearmanr(figure.reindex(accuracy.index), accuracy).statistic)


if __name__ == "__main__":
    main()
