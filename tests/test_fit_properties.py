"""Fits under changes that must not matter, and against an independent objective with a general optimiser."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, log_softmax

import juryrank as jr

CLOSE = 1e-8
MODELS: dict[str, dict] = {
    "plain": {"judge_sigma": False},
    "plain with slots": {"judge_sigma": False, "slot_bias": True},
    "sigma": {},
    "sigma with slots": {"slot_bias": True},
    "sigma, hard": {"hard": True},
    "sigma, pseudo-wins": {"prior": jr.Prior(strength_sd=3, log_sigma_sd=0.5, slot_sd=1, pseudo_wins=0.5)},
    "davidson": {"ties": "davidson", "judge_sigma": False, "slot_bias": True},
    "davidson with sigma": {"ties": "davidson", "slot_bias": True},
    "rao-kupper": {"ties": "rao-kupper", "judge_sigma": False},
    "rao-kupper with sigma": {"ties": "rao-kupper", "slot_bias": True},
}


def panel(seed: int, *, soft: bool = False, items: int = 7, judges: int = 3, rows: int = 120) -> pd.DataFrame:
    """Opinions of judges who differ in sharpness and slot bias, with ties, repeats and whole weights."""
    rng = np.random.default_rng(seed)
    strength, sigma = rng.normal(0, 1, items), np.exp(rng.normal(0, 0.5, judges))
    k, a = rng.integers(judges, size=rows), rng.integers(items, size=rows)
    b = (a + rng.integers(1, items, size=rows)) % items
    slot = rng.choice([-1, 0, 1], size=rows)
    z = (strength[a] - strength[b]) / sigma[k] + slot * rng.normal(0, 0.5, judges)[k]
    p = np.where(rng.random(rows) < 0.2, 0.5, (rng.random(rows) < expit(z)).astype(float))
    if soft:
        p = np.where(rng.random(rows) < 0.7, np.round(np.clip(expit(z) + rng.normal(0, 0.2, rows), 0, 1), 3), p)
    names = {"judge": [f"j{x}" for x in k], "item_a": [f"i{x}" for x in a], "item_b": [f"i{x}" for x in b]}
    return pd.DataFrame(names | {"p_a": p, "slot": slot, "weight": rng.integers(1, 4, rows).astype(float)})


def turned(frame: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
    """Some rows with item_a and item_b swapped, p and slot turned."""
    other = frame.rename(columns={"item_a": "item_b", "item_b": "item_a"})
    other = other.assign(p_a=1 - frame["p_a"], slot=-frame["slot"])
    return pd.concat([frame[~rows], other[rows]])


def split(frame: pd.DataFrame) -> pd.DataFrame:
    """Every row of weight k as k rows, or as two of half its weight."""
    halves = np.arange(len(frame)) % 2 == 0
    whole = frame[~halves]
    whole = whole.loc[whole.index.repeat(whole["weight"].astype(int))].assign(weight=1.0)
    half = frame[halves].assign(weight=frame["weight"] / 2)
    return pd.concat([whole, half, half])


ITEMS = {f"i{x}": f"x{(5 * x + 3) % 7}" for x in range(7)}
JUDGES = {f"j{x}": f"y{(x + 2) % 3}" for x in range(3)}
CHANGES: dict[str, Callable[[pd.DataFrame], object]] = {
    "order of rows": lambda f: f.sample(frac=1, random_state=5),
    "split rows": split,
    "labels": lambda f: f.replace({"item_a": ITEMS, "item_b": ITEMS, "judge": JUDGES}),
    "sides": lambda f: turned(f, np.arange(len(f)) % 3 > 0),
    "grouping": lambda f: jr.tally(jr.read(f)),
}


def same(one: jr.Fit, other: jr.Fit, items: dict | None = None, judges: dict | None = None) -> None:
    """Equal strengths, errors, sigmas, slot biases, tie parameter and objective, after renaming `one`."""
    pairs = [(one.strengths.rename(items), other.strengths), (one.stderr.rename(items), other.stderr)]
    pairs += [(one.sigmas.rename(judges), other.sigmas), (one.slot_biases.rename(judges), other.slot_biases)]
    for left, right in pairs:
        assert right.to_numpy() == pytest.approx(left[right.index].to_numpy(), abs=CLOSE, nan_ok=True)
    if one.tie_parameter is not None:
        assert other.tie_parameter == pytest.approx(one.tie_parameter, abs=CLOSE)
    assert other.objective == pytest.approx(one.objective, abs=CLOSE)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, abs=CLOSE)


def source_of(model: str, seed: int) -> pd.DataFrame:
    return panel(seed, soft=model in ("plain", "sigma", "sigma with slots", "sigma, hard") and seed % 2 == 0)


@cache
def base(model: str, seed: int) -> jr.Fit:
    return jr.fit_bt(source_of(model, seed), **MODELS[model])


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("change", CHANGES)
def test_changes_that_do_not_matter(model: str, change: str, seed: int) -> None:
    """Row order, splitting, labels, sides and grouping change nothing beyond 1e-8 in any model."""
    options = dict(MODELS[model])
    source = source_of(model, seed)
    if change == "grouping" and options.pop("hard", False):
        other = jr.fit_bt(jr.tally(jr.read(source), hard=True), **options)
    else:
        other = jr.fit_bt(CHANGES[change](source), **options)
    labels = (ITEMS, JUDGES) if change == "labels" else ()
    same(base(model, seed), other, *labels)


@pytest.mark.parametrize("model", MODELS)
def test_an_item_that_never_played_changes_nothing(model: str) -> None:
    """A roster with one item more leaves the other strengths as they were, and the new one without a number."""
    fit = jr.fit_bt(source_of(model, 1), items=[*ITEMS, "a first of all"], **MODELS[model])
    assert math.isnan(fit.strengths["a first of all"])
    assert fit.strengths.drop("a first of all").to_numpy() == pytest.approx(base(model, 1).strengths.to_numpy(), abs=CLOSE)
    assert fit.objective == pytest.approx(base(model, 1).objective, abs=CLOSE)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_fits_end_at_their_tolerance_and_in_their_gauge(model: str, seed: int) -> None:
    """A converged gradient is under 1e-9 of the largest weight; strengths sum to zero, log sigmas too."""
    fit, frame = base(model, seed), source_of(model, seed)
    by_item = pd.concat([frame.groupby("item_a")["weight"].sum(), frame.groupby("item_b")["weight"].sum()])
    largest = max(by_item.groupby(level=0).sum().max(), frame.groupby("judge")["weight"].sum().max())
    assert fit.converged
    assert fit.gradient_norm <= 1e-9 * max(1, largest)
    assert abs(fit.strengths.sum()) < 1e-9
    assert abs(np.log(fit.sigmas).sum()) < 1e-9
    assert fit.optima[0].objective >= fit.objective - 1e-9


class Rival:
    """The objective of the design, written out row by row without grouping; x = strengths, log sigmas, slots, log tie."""

    def __init__(self, frame: pd.DataFrame, options: dict) -> None:
        node = ["context", "item"] if options.get("contexts") == "separate" else ["item"]
        ends = [frame.rename(columns={end: "item"})[node].astype(str).agg("|".join, axis=1) for end in ("item_a", "item_b")]
        codes, self.items = pd.factorize(pd.concat(ends), sort=True)
        self.a, self.b = codes[: len(frame)], codes[len(frame) :]
        self.k, self.judges = pd.factorize(frame["judge"], sort=True)
        self.p, self.w = frame["p_a"].to_numpy(), frame["weight"].to_numpy()
        if options.get("hard"):
            self.p = np.where(self.p == 0.5, 0.5, (self.p > 0.5).astype(float))
        self.slot = frame["slot"].to_numpy()
        self.sigma, self.slots = options.get("judge_sigma", True), options.get("slot_bias", False)
        self.ties, self.prior = options.get("ties", "half"), options.get("prior", jr.Prior())
        self.pairs = sorted({(min(x, y), max(x, y)) for x, y in zip(self.a, self.b, strict=True)})

    def unpack(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        n, m = len(self.items), len(self.judges)
        s, rest = x[:n], x[n:]
        t, rest = (rest[:m], rest[m:]) if self.sigma else (np.zeros(m), rest)
        b, rest = (rest[:m], rest[m:]) if self.slots else (np.zeros(m), rest)
        return s, t, b, rest[0] if self.ties != "half" else 0.0

    @property
    def size(self) -> int:
        return len(self.items) + len(self.judges) * (self.sigma + self.slots) + (self.ties != "half")

    def log_likelihood(self, x: np.ndarray) -> float:
        s, t, b, tie = self.unpack(x)
        z = (s[self.a] - s[self.b]) * np.exp(-t)[self.k] + self.slot * b[self.k]
        if self.ties == "half":
            return float((self.w * (self.p * log_expit(z) + (1 - self.p) * log_expit(-z))).sum())
        if self.ties == "davidson":
            logs = np.stack([z / 2, -z / 2, np.full_like(z, tie)])
            for_a, for_b, for_tie = log_softmax(logs, axis=0)
        else:
            theta = 1 + np.exp(tie)
            for_a, for_b = log_expit(z - np.log(theta)), log_expit(-z - np.log(theta))
            for_tie = np.log(theta**2 - 1) + for_a + for_b
        return float((self.w * np.select([self.p == 1, self.p == 0], [for_a, for_b], for_tie)).sum())

    def objective(self, x: np.ndarray) -> float:
        s, t, b, _ = self.unpack(x)
        value, prior = self.log_likelihood(x), self.prior
        if prior is None:
            return value
        value -= (s**2).sum() / 2 / prior.strength_sd**2 + (t**2).sum() / 2 / prior.log_sigma_sd**2
        value -= (b**2).sum() / 2 / prior.slot_sd**2
        gaps = np.array([s[i] - s[j] for i, j in self.pairs])
        return float(value + prior.pseudo_wins / 2 * (log_expit(gaps) + log_expit(-gaps)).sum())

    def best(self, restarts: int) -> float:
        """The highest objective of some runs, the first from zeros."""
        rng = np.random.default_rng(0)
        starts = [np.zeros(self.size), *(rng.normal(0, 1, self.size) for _ in range(restarts - 1))]
        return max(-minimize(lambda x: -self.objective(x), x, method="BFGS", options={"gtol": 1e-6}).fun for x in starts)

    def at(self, fit: jr.Fit, scale: float = 1.0) -> np.ndarray:
        """The parameters of a fit, with strengths and sigmas times a scale that changes no probability."""
        parts = [fit.strengths.to_numpy() * (scale if self.sigma else 1.0)]
        if self.sigma:
            parts.append(np.log(fit.sigmas[self.judges].to_numpy() * scale))
        if self.slots:
            parts.append(fit.slot_biases[self.judges].to_numpy())
        if self.ties != "half":
            parts.append([np.log(fit.tie_parameter - (self.ties == "rao-kupper"))])
        return np.concatenate(parts)

    def scaled(self, fit: jr.Fit) -> np.ndarray:
        """The same at the scale that the prior likes best: the report has given it away."""
        if not self.sigma or self.prior is None:
            return self.at(fit)
        found = minimize_scalar(
            lambda log: -self.objective(self.at(fit, math.exp(log))), bracket=(-1, 1), options={"xtol": 1e-12}
        )
        return self.at(fit, math.exp(found.x))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_the_objective_is_that_of_the_design_and_its_gradient_is_zero(model: str, seed: int) -> None:
    """At the reported parameters a second objective has the reported value and log-likelihood, and does not rise."""
    fit, rival = base(model, seed), Rival(source_of(model, seed), MODELS[model])
    at = rival.scaled(fit)
    assert rival.objective(at) == pytest.approx(fit.objective, abs=1e-8)
    assert rival.log_likelihood(at) == pytest.approx(fit.log_likelihood, abs=1e-8)
    for i in range(rival.size):
        step = 1e-4 * (np.arange(rival.size) == i)
        assert abs(rival.objective(at + step) - rival.objective(at - step)) / 2e-4 < 1e-5, i


SMALL = [("sigma", 2), ("sigma with slots", 3), ("sigma, hard", 4), ("sigma, pseudo-wins", 5), ("davidson", 6)]
SMALL += [("davidson with sigma", 7), ("rao-kupper", 8), ("rao-kupper with sigma", 9), ("plain with slots", 10)]


@pytest.mark.parametrize(("model", "seed"), SMALL)
def test_no_general_optimiser_climbs_higher(model: str, seed: int) -> None:
    """The best of several scipy runs on small panels is no higher than the best optimum that the fit knows."""
    frame = panel(seed, soft=model.startswith("sigma"), items=4, judges=3, rows=40)
    fit = jr.fit_bt(frame, **MODELS[model])
    assert Rival(frame, MODELS[model]).best(restarts=5) <= fit.optima[0].objective + 1e-6


def test_no_general_optimiser_climbs_higher_over_separate_contexts() -> None:
    """With strengths per context and shared sigmas the fit is no lower than scipy's best."""
    rng = np.random.default_rng(3)
    frame = panel(11, items=3, judges=3, rows=60).assign(context=rng.choice(["x", "y"], 60))
    options = {"contexts": "separate", "slot_bias": True}
    fit, rival = jr.fit_bt(frame, **options), Rival(frame, options)
    assert [f"{c}|{i}" for c, i in fit.strengths.index] == list(rival.items)
    assert rival.objective(rival.scaled(fit)) == pytest.approx(fit.objective, abs=1e-8)
    assert rival.best(restarts=4) <= fit.optima[0].objective + 1e-6
    assert fit.strengths.groupby(level="context").sum().abs().max() < 1e-9


@pytest.mark.parametrize("model", ["sigma", "sigma with slots", "davidson with sigma"])
def test_maximum_likelihood_is_no_lower_than_a_general_optimiser(model: str) -> None:
    """Without a prior the likelihood of the fit is that of the second objective and no lower than scipy's best."""
    frame = panel(21, items=4, judges=3, rows=60)
    options = MODELS[model] | {"prior": None}
    fit, rival = jr.fit_bt(frame, **options), Rival(frame, options)
    assert rival.objective(rival.at(fit)) == pytest.approx(fit.objective, abs=1e-8)
    assert fit.objective == fit.log_likelihood
    assert rival.best(restarts=3) <= fit.optima[0].objective + 1e-6


def test_observed_wins_are_expected_wins() -> None:
    """C-14: without a prior each item's wins, soft ones included, are those that plain Bradley-Terry expects."""
    for seed in range(5):
        frame = panel(seed, soft=True)
        fit = jr.fit_bt(frame, judge_sigma=False, prior=None)
        expected = [fit.probability(a, b) for a, b in zip(frame["item_a"], frame["item_b"], strict=True)]
        excess = frame["weight"] * (frame["p_a"] - expected)
        by_item = excess.groupby(frame["item_a"]).sum().sub(excess.groupby(frame["item_b"]).sum(), fill_value=0)
        assert by_item.abs().max() < 1e-6


@pytest.mark.parametrize("prior", [None, jr.Prior(), jr.Prior(strength_sd=2, pseudo_wins=1)])
def test_separate_contexts_are_fits_of_their_own(prior: jr.Prior | None) -> None:
    """Plain fits with separate contexts are the fits of each context alone, errors included."""
    frame = panel(4, rows=200).assign(context=["y", "x", "z", "x"] * 50)
    together = jr.fit_bt(frame, judge_sigma=False, prior=prior, contexts="separate")
    total = 0.0
    for context, rows in frame.groupby("context"):
        fit = jr.fit_bt(rows, judge_sigma=False, prior=prior)
        assert together.strengths[context].to_numpy() == pytest.approx(fit.strengths.to_numpy(), abs=CLOSE)
        assert together.stderr[context].to_numpy() == pytest.approx(fit.stderr.to_numpy(), abs=CLOSE)
        total += fit.objective
    assert together.objective == pytest.approx(total, abs=1e-7)


@pytest.mark.parametrize("model", ["plain", "sigma with slots", "sigma, hard"])
def test_probabilities_of_the_two_sides_add_to_one(model: str) -> None:
    """P(a beats b) + P(b beats a) = 1 for the average judge and for each judge, and strengths say what it is."""
    fit = base(model, 1)
    for judge in (None, *fit.sigmas.index):
        for a, b in zip(fit.strengths.index, fit.strengths.index[1:], strict=False):
            p = fit.probability(a, b, judge)
            assert p + fit.probability(b, a, judge) == pytest.approx(1, abs=1e-15)
            sigma = 1 if judge is None else fit.sigmas[judge]
            assert p == pytest.approx(expit((fit.strengths[a] - fit.strengths[b]) / sigma), abs=1e-12)


@st.composite
def scraps(draw: st.DrawFn) -> pd.DataFrame:
    """A few rows of anything: lone items, ties only, sweeps, judges with one row, groups apart."""
    rows = []
    for _ in range(draw(st.integers(1, 12))):
        a, b = draw(st.permutations(["i0", "i1", "i2", "i3"]))[:2]
        p, judge = draw(st.sampled_from([0.0, 1.0, 0.5, 0.25])), draw(st.sampled_from(["j0", "j1", "j2"]))
        rows.append((judge, a, b, p, draw(st.sampled_from([-1, 0, 1])), draw(st.sampled_from([1.0, 2.0]))))
    return pd.DataFrame(rows, columns=["judge", "item_a", "item_b", "p_a", "slot", "weight"])


@settings(max_examples=60, deadline=None)
@given(scraps(), st.booleans(), st.sampled_from([None, jr.Prior(), jr.Prior(None, None, None, pseudo_wins=1)]))
def test_scraps_of_data_give_the_same_plain_fit(frame: pd.DataFrame, slots: bool, prior: jr.Prior | None) -> None:
    """Plain fits of any few rows converge, or say not, and are those of shuffled, split and turned rows."""
    options = {"judge_sigma": False, "slot_bias": slots, "prior": prior}
    if slots and (prior is None or prior.slot_sd is None):
        options["slot_bias"] = False  # a slot bias of a few rows has no maximum
    fit = jr.fit_bt(frame, **options)
    same(fit, jr.fit_bt(turned(split(frame), np.arange(len(split(frame))) % 2 == 0).iloc[::-1], **options))
    assert fit.converged


@settings(max_examples=25, deadline=None)
@given(scraps(), st.booleans())
def test_scraps_of_data_give_the_same_objective_under_bt_sigma(frame: pd.DataFrame, slots: bool) -> None:
    """BT-sigma of any few rows converges to one objective, however rows are shuffled, split and turned."""
    fit = jr.fit_bt(frame, slot_bias=slots)
    other = jr.fit_bt(turned(split(frame), np.arange(len(split(frame))) % 2 == 0).iloc[::-1], slot_bias=slots)
    assert fit.converged
    assert other.objective == pytest.approx(fit.objective, abs=CLOSE)
    rival = Rival(frame, {"slot_bias": slots, "judge_sigma": fit.judge_sigma})
    assert rival.objective(rival.scaled(fit)) == pytest.approx(fit.objective, abs=1e-7)
