"""Fits with covariates against dense logistic regressions, planted truth and textbook covariances."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from covariates_support import ML, NAMES, PLAIN, design, facts, newton, scaled, votes
from scipy.linalg import sqrtm
from scipy.optimize import minimize
from scipy.special import expit, log_expit

import juryrank as jr
from juryrank.task import Task


@pytest.mark.parametrize("slot", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_is_the_logistic_regression_on_the_whole_design(seed, slot):
    """Estimates and standard errors, strengths and slot bias included, are those of a dense maximum-likelihood fit."""
    frame = votes(seed, judges=1)
    fit = jr.fit_bt(jr.read(frame), covariates=NAMES, slot_bias=slot, **PLAIN)
    x, unit = scaled(design(frame, slot=slot)[0])
    at, covariance = newton(x, (frame["outcome"] == "first").to_numpy(float), np.zeros(x.shape[1]))
    error = np.sqrt(np.diagonal(covariance))
    n = len(fit.strengths)
    assert fit.converged and not fit.warnings[1:]
    assert fit.strengths.to_numpy() == pytest.approx(at[:n] - at[:n].mean(), abs=1e-8)
    assert fit.covariance().to_numpy() == pytest.approx(covariance[:n, :n], abs=1e-8)
    found = fit.coefficients
    assert found["covariate"].tolist() == NAMES and found["judge"].isna().all()
    assert found["effect"].to_numpy() == pytest.approx(at[-2:], abs=1e-8)
    assert found["estimate"].to_numpy() == pytest.approx(at[-2:] / unit[-2:], rel=1e-7)
    assert found["stderr"].to_numpy() == pytest.approx((error / unit)[-2:], rel=1e-6)
    assert found["high"].to_numpy() == pytest.approx(((at + 1.959963985 * error) / unit)[-2:], rel=1e-6)
    if slot:
        assert fit.slot_biases["j0"] == pytest.approx(at[n], abs=1e-8)
        assert fit.slot_stderr["j0"] == pytest.approx(error[n], rel=1e-6)


def test_the_prior_holds_coefficients_per_root_mean_square():
    """With the default prior the fit is the penalised regression on the standardised design."""
    frame = votes(3, rows=60, judges=1)
    prior = jr.Prior(strength_sd=2, covariate_sd=0.5)
    fit = jr.fit_bt(jr.read(frame), covariates=NAMES, judge_sigma=False, prior=prior)
    x, _ = scaled(design(frame)[0])
    held = np.r_[np.full(x.shape[1] - 2, 2.0**-2), np.full(2, 0.5**-2)]
    at, _ = newton(x, (frame["outcome"] == "first").to_numpy(float), held)
    assert fit.coefficients["effect"].to_numpy() == pytest.approx(at[-2:], abs=1e-8)
    assert fit.strengths.to_numpy() == pytest.approx(at[:-2] - at[:-2].mean(), abs=1e-8)


@pytest.mark.parametrize("by", ["all", "judge"])
@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_every_model_reaches_the_maximum_of_its_own_formula(ties, by):
    """With sigmas, slot biases, ties and both kinds of coefficients no climb on the written-out objective goes higher."""
    frame = votes(4, rows=250)
    frame.loc[::6, "outcome"] = "tie"
    fit = jr.fit_bt(jr.read(frame), covariates=NAMES, covariates_by=by, ties=ties, slot_bias=True, extra_starts=0)
    x, names = design(frame)
    n, judges = len(names), sorted(set(frame["judge"]))
    k = frame["judge"].map(judges.index).to_numpy()
    values, _ = scaled(x)
    values = values[:, -2:]
    own = len(judges) if by == "judge" else 1
    sizes = np.cumsum([n, len(judges), len(judges), 2 * own])

    def objective(at: np.ndarray) -> float:
        s, t, b, beta, c = np.split(at, sizes)
        coefficient = beta.reshape(2, own)[:, k if by == "judge" else np.zeros_like(k)]
        z = (x[:, :n] @ s) * np.exp(-t[k]) + b[k] + (values * coefficient.T).sum(axis=1)
        won, lost, tied = ((frame["outcome"] == word).to_numpy(float) for word in ("first", "second", "tie"))
        if ties == "davidson":
            parts = np.stack([z / 2, -z / 2, np.full_like(z, c[0])])
            value = (np.stack([won, lost, tied]) * (parts - np.logaddexp.reduce(parts, axis=0))).sum()
        else:
            c = c if ties == "rao-kupper" else np.zeros(1)
            win, lose = log_expit(z - c[0]), log_expit(-z - c[0])
            tie = win + lose + np.log(np.expm1(2 * c[0])) if ties == "rao-kupper" else (win + lose) / 2
            value = (won * win + lost * lose + tied * tie).sum()
        return -(value - s @ s / 200 - t @ t / 2 - b @ b / 18 - beta @ beta / 18)

    at = np.concatenate(
        [
            fit.strengths,
            np.log(fit.sigmas),
            fit.slot_biases,
            fit.coefficients["effect"],
            [0.0 if fit.tie_parameter is None else np.log(fit.tie_parameter)],
        ]
    )
    climbed = minimize(objective, at, method="BFGS", options={"gtol": 1e-7})
    assert -climbed.fun == pytest.approx(fit.objective, abs=1e-6)
    moved = np.delete(climbed.x - at, np.s_[: n + len(judges)])
    assert moved == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("by", ["all", "judge"])
def test_errors_beside_sigmas_are_those_of_the_expected_information(by):
    """With sigmas and slot biases the errors come from J'WJ, J the gradient of every logit by every parameter."""
    frame = votes(5, rows=600)
    fit = jr.fit_bt(jr.read(frame), covariates=NAMES, covariates_by=by, slot_bias=True, extra_starts=0)
    x, unit = scaled(design(frame)[0])
    n, judge = len(fit.strengths), (frame["judge"].to_numpy()[:, None] == fit.sigmas.index.to_numpy()).astype(float)
    sharp = 1 / (judge @ fit.sigmas.to_numpy())
    gap, values = (x[:, :n] @ fit.strengths.to_numpy()) * sharp, x[:, n:]
    own = np.column_stack([values[:, [j]] * judge for j in range(2)]) if by == "judge" else values
    z = gap + judge @ fit.slot_biases.to_numpy() + own @ fit.coefficients["effect"].to_numpy()
    gradient = np.column_stack([x[:, :n] * sharp[:, None], -gap[:, None] * judge, judge, own])
    information = gradient.T @ (gradient * (expit(z) * expit(-z))[:, None])
    error = np.sqrt(np.diagonal(np.linalg.pinv(information, rcond=1e-10, hermitian=True)))
    units = np.repeat(unit[-2:], own.shape[1] // 2)
    assert fit.coefficients["stderr"].to_numpy() == pytest.approx(error[-own.shape[1] :] / units, rel=1e-6)
    assert fit.slot_stderr.to_numpy() == pytest.approx(error[n + 3 : n + 6], rel=1e-6)


def test_length_that_passes_for_quality_is_seen_through():
    """Weak items that are long win by their length: without the covariate the order is wrong, with it it is right."""
    rng = np.random.default_rng(7)
    rows, items = 4000, 6
    quality, habit = np.linspace(-1, 1, items), np.linspace(800, 200, items)
    first = rng.integers(0, items, rows)
    second = (first + rng.integers(1, items, rows)) % items
    length = np.stack([habit[first], habit[second]], axis=1) + rng.normal(0, 150, (rows, 2))
    z = quality[first] - quality[second] + 0.006 * (length[:, 0] - length[:, 1])
    frame = pd.DataFrame(
        {
            "context": np.arange(rows).astype(str),
            "first": [f"i{k}" for k in first],
            "second": [f"i{k}" for k in second],
            "outcome": np.where(rng.random(rows) < expit(z), "first", "second"),
            "length_first": length[:, 0],
            "length_second": length[:, 1],
        }
    )
    naive, fair = jr.rank(frame), jr.rank(frame, covariates=["length"])
    right = [f"i{k}" for k in range(items)][::-1]
    assert naive.frame["item"].tolist() == right[::-1]
    assert fair.frame["item"].tolist() == right
    (found,) = fair.to_dict()["fit"]["covariates"]
    assert found["low"] < 0.006 < found["high"] and found["p"] < 1e-6
    assert fair.probability("i5", "i0") == pytest.approx(expit(2), abs=0.06)
    assert naive.to_dict()["fit"]["covariates"] == [] and not len(naive.fit.coefficients)


def test_each_judge_has_its_own_coefficient():
    """Planted values that differ by judge come back within four standard errors, and one coefficient would not do."""
    rng = np.random.default_rng(8)
    frame, planted = votes(8, rows=9000), {"j0": 0.0, "j1": 0.01, "j2": -0.02}
    gap = frame["first"].str[1:].astype(int) - frame["second"].str[1:].astype(int)
    z = 0.4 * gap + frame["judge"].map(planted) * (frame["length_first"] - frame["length_second"])
    frame["outcome"] = np.where(rng.random(len(frame)) < expit(z), "first", "second")
    found = jr.fit_bt(jr.read(frame), covariates=["length"], covariates_by="judge", **PLAIN).coefficients
    assert found["judge"].tolist() == list(planted)
    away = (found["estimate"] - list(planted.values())) / found["stderr"]
    assert away.abs().max() < 4 and found["stderr"].max() < 0.001
    alone = jr.fit_bt(jr.read(frame[(frame["judge"] == "j1").to_numpy()]), covariates=["length"], **PLAIN).coefficients
    assert alone["judge"].tolist() == [None]
    assert alone["estimate"][0] == pytest.approx(found["estimate"][1], abs=0.002)


# counting


def test_rows_with_equal_values_merge_and_change_nothing():
    """Values on a grid merge into fewer rows than opinions; the fit is that of the opinions one by one."""
    frame = votes(14, rows=1500, judges=1, grid=True)
    source = jr.read(frame)
    counts = jr.tally(source, covariates=NAMES)
    assert len(counts) < 0.8 * len(frame)
    x, unit = scaled(design(frame)[0])
    at, covariance = newton(x, (frame["outcome"] == "first").to_numpy(float), np.zeros(x.shape[1]))
    for fit in (jr.fit_bt(data, covariates=NAMES, **PLAIN) for data in (source, counts)):
        assert fit.coefficients["effect"].to_numpy() == pytest.approx(at[-2:], abs=1e-8)
        assert fit.coefficients["stderr"].to_numpy() == pytest.approx(
            (np.sqrt(np.diagonal(covariance)) / unit)[-2:], rel=1e-6
        )
    assert len(jr.tally(source)) < len(counts) and "length" not in jr.tally(source).frame


def test_counts_with_covariates_serve_fits_with_fewer():
    """Counts that keep two covariates fit either, both or none, as the source itself does."""
    source = jr.read(votes(15))
    counts = jr.tally(source, covariates=NAMES)
    for some in ([], ["bold"], ["length"], NAMES[::-1]):
        one, other = (jr.fit_bt(data, covariates=some, **PLAIN) for data in (source, counts))
        assert facts(other) == pytest.approx(facts(one), abs=1e-8)


@pytest.mark.parametrize("by", ["all", "judge"])
@pytest.mark.parametrize("kind", ["model", "sandwich", "cluster"])
def test_a_row_of_weight_k_is_k_rows(kind, by):
    """Weight 3 and three equal rows give the same coefficients and errors."""
    frame = votes(16).rename(
        columns={"first": "item_a", "second": "item_b", "length_first": "length_a", "length_second": "length_b"}
    )
    frame = frame.assign(p_a=(frame["outcome"] == "first").astype(float))
    weighted = frame.assign(weight=np.where(np.arange(len(frame)) % 4 == 0, 3.0, 1.0))
    repeated = frame.loc[frame.index.repeat(weighted["weight"].astype(int))]
    options = {"covariates": NAMES, "covariates_by": by, **ML}
    one, other = (jr.fit_bt(data, **options).coefficient_frame(kind) for data in (weighted, repeated))
    columns = ["estimate", "effect", "stderr", "p"]
    assert one[columns].to_numpy(float) == pytest.approx(other[columns].to_numpy(float), rel=1e-6)


def test_the_unit_of_a_covariate_is_a_matter_of_taste():
    """A covariate in thousands has a coefficient a thousand times as large, the same effect, and the same fit."""
    frame = votes(17, rows=80)
    for factor in (1e-6, -1.0, 1e9, 1e200):
        values = {name: frame[name] * factor for name in ("length_first", "length_second")}
        one, other = (jr.fit_bt(jr.read(f), covariates=["length"]) for f in (frame, frame.assign(**values)))
        sign = np.sign(factor)
        assert other.strengths.to_numpy() == pytest.approx(one.strengths.to_numpy(), abs=1e-7)
        assert other.coefficients["effect"][0] == pytest.approx(sign * one.coefficients["effect"][0], rel=1e-7)
        assert other.coefficients["estimate"][0] * factor == pytest.approx(one.coefficients["estimate"][0], rel=1e-7)


def test_no_covariates_is_none():
    """An empty list, and no list, give exactly the same numbers, with and without the further columns in the source."""
    frame = votes(18)
    bare = frame.drop(columns=["length_first", "length_second", "bold"])
    fits = [
        jr.fit_bt(jr.read(data), slot_bias=True, **options)
        for data, options in ((frame, {"covariates": []}), (frame, {}), (bare, {"covariates": (), "covariates_by": "judge"}))
    ]
    for fit in fits[1:]:
        for name in ("strengths", "sigmas", "slot_biases", "stderr"):
            assert (getattr(fit, name) == getattr(fits[0], name)).all()
        assert (fit.objective, fit.iterations) == (fits[0].objective, fits[0].iterations)
    assert list(fits[0].coefficients.columns) == ["covariate", "judge", "estimate", "effect", "stderr", "low", "high", "p"]
    assert str(jr.Prior()) == "strength sd 10, log sigma sd 1, slot sd 3"


@pytest.mark.parametrize(
    "options", [{"judge_sigma": False}, {"covariates_by": "judge", "slot_bias": True, "ties": "davidson"}], ids=str
)
def test_jax_and_numpy_agree(options, monkeypatch):
    """The compiled method on padded arrays gives what numpy gives."""
    frame = votes(19, rows=300)
    frame.loc[::7, "outcome"] = "tie"
    source = jr.read(frame)
    one = jr.fit_bt(source, covariates=NAMES, extra_starts=0, **options)
    monkeypatch.setattr(Task, "jit", True)
    other = jr.fit_bt(source, covariates=NAMES, extra_starts=0, **options)
    assert len(other.layout.problem.rows.a) > len(one.layout.problem.rows.a)
    assert facts(other) == pytest.approx(facts(one), abs=1e-9)
    for kind in ("sandwich", "cluster"):
        errors = (fit.coefficient_frame(kind)["stderr"].to_numpy() for fit in (one, other))
        assert next(errors) == pytest.approx(next(errors), rel=1e-6)


def test_separate_contexts_share_the_coefficient():
    """Own strengths per context and one coefficient: the regression on the design with items per context."""
    rng = np.random.default_rng(20)
    frame = votes(20, rows=900, items=4, judges=1)
    frame["context"] = [f"q{c}" for c in rng.integers(0, 6, len(frame))]
    fit = jr.fit_bt(jr.read(frame), covariates=NAMES, contexts="separate", **PLAIN)
    apart = frame.assign(first=frame["context"] + frame["first"], second=frame["context"] + frame["second"])
    x, unit = scaled(design(apart)[0])
    at, covariance = newton(x, (frame["outcome"] == "first").to_numpy(float), np.zeros(x.shape[1]))
    assert fit.coefficients["effect"].to_numpy() == pytest.approx(at[-2:], abs=1e-7)
    assert fit.coefficients["stderr"].to_numpy() == pytest.approx((np.sqrt(np.diagonal(covariance)) / unit)[-2:], rel=1e-6)


# robust errors


@pytest.mark.parametrize("by", ["group", "judge"])
@pytest.mark.parametrize("grid", [True, False])
def test_clusters_are_bell_and_mccaffreys_with_covariates(by, grid):
    """CR2 by brute force on the whole design; intervals with one degree of freedom less than clusters."""
    frame = votes(21, rows=150, grid=grid, judges=4)
    fit = jr.fit_bt(jr.read(frame), covariates=NAMES, **PLAIN)
    x, unit = scaled(design(frame)[0])
    y = (frame["outcome"] == "first").to_numpy(float)
    at, c = newton(x, y, np.zeros(x.shape[1]))
    p = expit(x @ at)
    root = np.sqrt(p * (1 - p))
    half = root[:, None] * x
    meat = np.zeros_like(c)
    for rows in frame.groupby(by).indices.values():
        adjust = np.linalg.inv(sqrtm(np.eye(len(rows)) - half[rows] @ c @ half[rows].T)).real
        score = half[rows].T @ adjust @ ((y - p)[rows] / root[rows])
        meat += np.outer(score, score)
    expected = c @ meat @ c
    assert fit.covariance("cluster", by).to_numpy() == pytest.approx(expected[:5, :5], abs=1e-7)
    found = fit.coefficient_frame("cluster", by, level=0.9)
    assert found["stderr"].to_numpy() == pytest.approx((np.sqrt(np.diagonal(expected)) / unit)[-2:], rel=1e-6)
    reach = (found["high"] - found["estimate"]) / found["stderr"]
    quantile = {14: 1.770933, 4: 2.353363}[frame[by].nunique()]  # Student's t, 95 %, one less than clusters
    assert reach.to_numpy() == pytest.approx(quantile, rel=1e-6)


def test_the_sandwich_is_huber_and_white_with_covariates():
    """pinv(X'WX) X' diag(e^2) X pinv(X'WX) on the whole design; both ways of clustering are there as well."""
    frame = votes(22)
    fit = jr.fit_bt(jr.read(frame), covariates=NAMES, **PLAIN)
    x, unit = scaled(design(frame)[0])
    y = (frame["outcome"] == "first").to_numpy(float)
    at, c = newton(x, y, np.zeros(x.shape[1]))
    expected = c @ (x.T @ ((y - expit(x @ at))[:, None] ** 2 * x)) @ c
    found = fit.coefficient_frame("sandwich")["stderr"].to_numpy()
    assert found == pytest.approx((np.sqrt(np.diagonal(expected)) / unit)[-2:], rel=1e-6)
    both = fit.coefficient_frame("cluster", ["group", "judge"])
    assert (both["stderr"] > 0).all() and (both["p"] <= 1).all()
    ranked = jr.rank(frame, covariates=NAMES, covariance="sandwich", model="bt", prior=None, on="showings", slot_bias=False)
    assert ranked.coefficients["stderr"].to_numpy() == pytest.approx(found, rel=1e-9)


# what the data cannot tell


@pytest.mark.parametrize("by", ["all", "judge"])
@pytest.mark.parametrize("options", [{}, {"judge_sigma": False}, {"prior": None, "judge_sigma": False}], ids=str)
def test_a_function_of_the_items_is_named(options, by):
    """A covariate x = c_a - c_b has no standard error, a warning names it, and a second, free one is not blamed."""
    frame = votes(23, rows=600)
    worth = {f"i{k}": c for k, c in enumerate([3.0, 1.0, 4.0, 1.5, 9.0])}
    frame["age"] = frame["first"].map(worth) - frame["second"].map(worth)
    fit = jr.fit_bt(jr.read(frame), covariates=["bold", "age"], covariates_by=by, extra_starts=0, **options)
    (said,) = [text for text in fit.warnings if "cannot be told" in text]
    assert "'age'" in said and "'bold'" not in said
    assert fit.converged and fit.coefficients["stderr"].isna().all() and fit.stderr.isna().all()
    assert list(fit.explained) == ["age"]


@pytest.mark.parametrize("by", ["all", "judge"])
def test_a_constant_per_slot_is_the_slot_bias(by):
    """x = 1 for every showing is refused a meaning beside slot biases, and is the slot bias without them."""
    frame = votes(24, judges=2).assign(place=1.0)
    source = jr.read(frame)
    fit = jr.fit_bt(source, covariates=["place"], covariates_by=by, slot_bias=True, extra_starts=0)
    assert any("'place' cannot be told" in text and "slot" in text for text in fit.warnings)
    own = {"judge_sigma": False, "prior": None}
    alone = jr.fit_bt(source, covariates=["place"], covariates_by="judge", **own)
    slots = jr.fit_bt(source, slot_bias=True, **own)
    assert alone.coefficients["estimate"].to_numpy() == pytest.approx(slots.slot_biases.to_numpy(), abs=1e-8)
    assert alone.coefficients["stderr"].to_numpy() == pytest.approx(slots.slot_stderr.to_numpy(), rel=1e-7)
    assert not any("cannot be told" in text for text in alone.warnings)


def test_one_covariate_twice_is_seen():
    """Of two covariates that are multiples of each other the second is named."""
    frame = votes(25).assign(again=lambda f: 3 * f["bold"])
    fit = jr.fit_bt(jr.read(frame), covariates=["bold", "again"])
    assert list(fit.explained) == ["again"]
    assert any("'again' cannot be told" in text for text in fit.warnings)


def test_a_covariate_without_a_difference_has_no_coefficient():
    """Zero throughout, or for one judge: NaN there, a warning only for the first, and the rest as without it."""
    frame = votes(26).assign(none=0.0, some=lambda f: f["bold"] * (f["judge"] != "j1"))
    source = jr.read(frame)
    fit, without = (jr.fit_bt(source, covariates=names, **PLAIN) for names in (["none", "bold"], ["bold"]))
    assert fit.coefficients.loc[0].drop(["covariate", "judge"]).isna().all()
    assert any("'none' is 0 in every opinion" in text for text in fit.warnings)
    assert fit.coefficients["stderr"][1] == pytest.approx(without.coefficients["stderr"][0], rel=1e-9)
    own = jr.fit_bt(source, covariates=["some"], covariates_by="judge", **PLAIN)
    assert own.coefficients["estimate"].isna().tolist() == [False, True, False]
    assert own.coefficients["stderr"].isna().tolist() == [False, True, False]
    assert not own.warnings


def test_a_covariate_that_decides_every_row_has_no_maximum():
    """Without a prior a covariate that foretells every answer grows without end: refused in words; with one it is held."""
    frame = votes(27)
    frame["tell"] = np.where(frame["outcome"] == "first", 1.0, -1.0)
    with pytest.raises(jr.SettingsError, match="does not exist.*covariates"):
        jr.fit_bt(jr.read(frame), covariates=["tell"], **PLAIN)
    held = jr.fit_bt(jr.read(frame), covariates=["tell"])
    assert held.converged and 3 < held.coefficients["effect"][0] < 20
