"""Showings with covariates, and a dense logistic regression to hold fits of them against."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit

import juryrank as jr

ML = {"prior": None, "extra_starts": 0}
PLAIN = {"judge_sigma": False, **ML}
NAMES = ["length", "bold"]


def votes(seed: int = 0, rows: int = 400, items: int = 5, judges: int = 3, grid: bool = False) -> pd.DataFrame:
    """Showings: the value of each side differs from showing to showing, and longer sides are preferred."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, items, rows)
    second = (first + rng.integers(1, items, rows)) % items
    length = rng.normal(0, 50, (rows, 2)) + 20 * np.stack([first, second], axis=1)
    length = np.round(length / 50) * 50 if grid else length
    bold = rng.integers(0, 4, (rows, 2)).astype(float)
    judge = rng.integers(0, judges, rows)
    z = 0.5 * (first - second) + 0.25 + 0.01 * (length[:, 0] - length[:, 1]) - 0.3 * (bold[:, 0] - bold[:, 1])
    wins = rng.random(rows) < expit(z)
    return pd.DataFrame(
        {
            "context": [f"q{i}" for i in range(rows)],
            "judge": [f"j{k}" for k in judge],
            "first": [f"i{k}" for k in first],
            "second": [f"i{k}" for k in second],
            "outcome": np.where(wins, "first", "second"),
            "length_first": length[:, 0],
            "length_second": length[:, 1],
            "bold": bold[:, 0] - bold[:, 1],
            "group": [f"g{g}" for g in rng.integers(0, 14, rows)],
        }
    )


def design(frame: pd.DataFrame, *, slot: bool = False) -> tuple[np.ndarray, list[str]]:
    """(rows, items + slot + 2) in the frame of the slots, in the units of the source."""
    names = sorted({*frame["first"], *frame["second"]})
    one, other = (frame[end].to_numpy()[:, None] == np.array(names) for end in ("first", "second"))
    columns = [one.astype(float) - other, np.ones((len(frame), int(slot)))]
    length = frame["length_first"] - frame["length_second"]
    return np.column_stack([*columns, length, frame["bold"]]), names


def newton(x: np.ndarray, y: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Maximum of a logistic regression with precisions `held`, and pinv of its information without them."""
    at = np.zeros(x.shape[1])
    for _ in range(60):
        p = expit(x @ at)
        curved = x.T @ (x * (p * (1 - p))[:, None])
        at = at + np.linalg.pinv(curved + np.diag(held), rcond=1e-13) @ (x.T @ (y - p) - held * at)
    return at, np.linalg.pinv(curved, rcond=1e-13, hermitian=True)


def scaled(x: np.ndarray, last: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """The design with its last columns per root mean square, which pinv needs, and what they were divided by."""
    unit = np.ones(x.shape[1])
    unit[-last:] = np.sqrt((x[:, -last:] ** 2).mean(axis=0))
    return x / unit, unit


def facts(fit: jr.Fit) -> np.ndarray:
    """Strengths, their errors, and what is said of the coefficients, as one row of numbers."""
    numbers = fit.coefficients.drop(columns=["covariate", "judge"]).to_numpy(dtype=float)
    return np.concatenate([fit.strengths, fit.stderr, fit.slot_biases, numbers.ravel()])
