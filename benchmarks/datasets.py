"""Real judgments for the benchmarks, read from the folder `shared/data` next to the checkout (or $JURYRANK_DATA)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import juryrank as jr

DATA = Path(os.environ.get("JURYRANK_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Data:
    """Judgments, and whether contexts share their items."""

    name: str
    judgments: jr.Judgments
    contexts: str


def load(names: tuple[str, ...] = ("llmbar", "posbias", "council", "llmfao", "pandalm")) -> list[Data]:
    """Some of the data sets."""
    return [_LOADERS[name]() for name in names]


def showings(frame: pd.DataFrame) -> jr.Judgments:
    """`item_a, item_b, order, outcome_a` -> judgments; a blank outcome is a failure."""
    forward = (frame["order"] == 0).to_numpy()
    outcome = frame["outcome_a"].to_numpy(dtype=float)
    first_won = np.where(forward, outcome, 1 - outcome)
    words = np.select([np.isnan(outcome), outcome == 0.5, first_won == 1], ["failure", "tie", "first"], default="second")
    columns = {name: frame[name].astype(str) for name in ("context", "judge") if name in frame}
    return jr.read(
        pd.DataFrame(
            columns
            | {
                "first": np.where(forward, frame["item_a"], frame["item_b"]),
                "second": np.where(forward, frame["item_b"], frame["item_a"]),
                "outcome": words,
            }
        )
    )


def llmbar_frame() -> pd.DataFrame:
    """LLMBar with `judge`, `item_a` = 1, `item_b` = 2, `outcome_a`, and the gold label in `label_item`."""
    frame = pd.read_csv(DATA / "llm" / "llmbar_main.csv.gz")
    frame["judge"] = frame["judge_llm"] + "/" + frame["judge_prompt"]
    return frame.assign(item_a="1", item_b="2", outcome_a=frame["outcome_item1"])


def _llmbar() -> Data:
    return Data("llmbar", showings(llmbar_frame()), "separate")


def _posbias() -> Data:
    frame = pd.read_csv(DATA / "llm" / "posbias_full_mtbench.csv.gz")
    return Data("posbias", showings(frame.rename(columns={"question": "context"})), "pooled")


def _council() -> Data:
    return Data("council", showings(pd.read_csv(DATA / "llm" / "lmc_council_sample.csv")), "pooled")


def _llmfao() -> Data:
    return Data("llmfao", showings(pd.read_csv(DATA / "crowd" / "llmfao.csv.gz")), "pooled")


def _pandalm() -> Data:
    return Data("pandalm", showings(pd.read_csv(DATA / "crowd" / "pandalm.csv")), "pooled")


_LOADERS = {"llmbar": _llmbar, "posbias": _posbias, "council": _council, "llmfao": _llmfao, "pandalm": _pandalm}
