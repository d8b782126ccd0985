"""Resampled fits: the same as refits, counted where they say nothing, and as wide as the covariances."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from test_spread import ML, votes

import juryrank as jr


@pytest.mark.parametrize("options", [{"judge_sigma": False}, {}, {"slot_bias": True}])
def test_a_resample_is_a_fit_with_weights(options):
    """A resample by group has the strengths of a fit whose rows are weighted by how often their group was kept."""
    frame = votes(0, rows=400, groups=10).assign(slot=np.where(np.arange(400) % 2, 1, -1), status="win")
    fit = jr.fit_bt(frame, extra_starts=0, **options)
    found = jr.bootstrap(fit, 5, by="group", seed=3)
    times = np.random.default_rng(3).poisson(np.ones((10, 1)), (10, 5))
    names = sorted(set(frame["group"]))
    for resample in range(5):
        weight = frame["group"].map(dict(zip(names, times[:, resample], strict=True))).astype(float)
        again = jr.fit_bt(frame.assign(weight=weight), extra_starts=0, **options)
        assert found.strengths[resample] == pytest.approx(again.strengths.to_numpy(), abs=1e-4)
        assert found.sigmas[resample] == pytest.approx(again.sigmas.fillna(1).to_numpy(), abs=1e-3)


@pytest.mark.parametrize(("by", "kind"), [("row", "model"), ("group", "cluster")])
@pytest.mark.parametrize("counts", ["poisson", "multinomial"])
def test_the_spread_of_resamples_is_the_standard_error(by, kind, counts):
    """On much data the standard deviation of resamples is the standard error by the same units."""
    frame = votes(1, rows=4000, groups=200, judges=2)
    fit = jr.fit_bt(frame, judge_sigma=False)
    found = jr.bootstrap(fit, 800, by=by, counts=counts).frame()
    assert (found["stderr"] / fit.standard_errors(kind)).to_numpy() == pytest.approx(np.ones(5), abs=0.12)
    assert (found["usable"] == 1).all()
    assert ((found["low"] < found["strength"]) & (found["strength"] < found["high"])).all()


def test_an_item_of_two_rows_vanishes_and_is_counted():
    """C-21: resamples without the two rows of an item, or with one side only, are counted; it has no interval, others do."""
    rare = pd.DataFrame({"judge": "j0", "item_a": "i0", "item_b": "rare", "p_a": [1.0, 0.0], "group": "g0"})
    frame = pd.concat([votes(2, rows=2000, judges=1), rare])
    fit = jr.fit_bt(frame)
    found = jr.bootstrap(fit, 400, by="row")
    shown = found.frame()
    # Both rows are drawn at least once with probability (1 - 1/e)^2.
    assert shown.loc["rare", "usable"] == pytest.approx((1 - np.exp(-1)) ** 2, abs=0.08)
    assert np.isnan(shown.loc["rare", ["low", "high", "stderr"]].astype(float)).all()
    assert found.degenerate == round(400 * (1 - shown.loc["rare", "usable"]))
    assert shown["strength"].equals(fit.strengths)
    others = shown.drop(index="rare")
    assert (others["usable"] == 1).all() and others["low"].notna().all()
    assert found.contrast("i0", "rare")["usable"] == shown.loc["rare", "usable"]


def test_equal_rows_and_weights_resample_alike():
    """Rows of weight 3 resampled by row have the spread of three equal rows each."""
    frame = votes(3, rows=1500, judges=1)
    fits = [jr.fit_bt(data) for data in (frame.assign(weight=3.0), pd.concat([frame] * 3))]
    one, other = (jr.bootstrap(fit, 300, by="row", seed=1).frame()["stderr"].to_numpy() for fit in fits)
    assert one == pytest.approx(other, rel=1e-6)


def test_soft_values_and_part_weights_are_resampled_row_by_row():
    """Rows with a weight that is no whole number keep it, and are kept or left as one."""
    frame = votes(4, rows=1200, judges=1).assign(weight=0.5)
    frame["p_a"] = 0.2 + 0.6 * frame["p_a"]
    fit = jr.fit_bt(frame)
    found = jr.bootstrap(fit, 300, by="row").frame()["stderr"]
    assert (found / fit.standard_errors("sandwich") * np.sqrt(2)).to_numpy() == pytest.approx(np.ones(5), abs=0.12)


def test_the_same_seed_gives_the_same_resamples():
    """Resamples depend on the seed alone."""
    fit = jr.fit_bt(votes(5))
    one, other, third = (jr.bootstrap(fit, 20, seed=seed).strengths for seed in (1, 1, 2))
    assert np.array_equal(one, other, equal_nan=True) and not np.array_equal(one, third, equal_nan=True)


@pytest.mark.parametrize("option", [{"by": "colour"}, {"counts": "jackknife"}, {"resamples": 0}, {"resamples": 2.5}])
def test_bad_settings_are_refused(option):
    """Unknown units or counts, and a number of resamples below one, are errors."""
    with pytest.raises(jr.SettingsError, match=str(next(iter(option.values())))):
        jr.bootstrap(jr.fit_bt(votes(6)), **option)


def test_one_judge_and_pair_counts_cannot_be_resampled():
    """One judge alone, and counts without their rows, are refused in words."""
    frame = votes(7, judges=1)
    with pytest.raises(jr.SettingsError, match="one judge alone"):
        jr.bootstrap(jr.fit_bt(frame, **ML), 10, by="judge")
    with pytest.raises(jr.SettingsError, match="pair counts"):
        jr.bootstrap(jr.fit_bt(jr.tally(jr.reconcile(jr.simulate(items=3, judges=2, seed=0).judgments))), 10)


def test_resamples_know_covariates():
    """With a covariate a resample by group is the fit with its weights, strengths at equal values."""
    rng = np.random.default_rng(0)
    frame = votes(8, rows=600, groups=12, judges=2)
    frame["length"] = rng.integers(-3, 4, 600).astype(float)
    frame.loc[(frame["length"] > 1).to_numpy(), "p_a"] = 1.0
    fit = jr.fit_bt(frame, covariates=["length"], extra_starts=0)
    found = jr.bootstrap(fit, 3, by="group", seed=2)
    times = np.random.default_rng(2).poisson(np.ones((12, 1)), (12, 3))
    names = sorted(set(frame["group"]))
    for resample in range(3):
        weight = frame["group"].map(dict(zip(names, times[:, resample], strict=True))).astype(float)
        again = jr.fit_bt(frame.assign(weight=weight), covariates=["length"], extra_starts=0)
        assert found.strengths[resample] == pytest.approx(again.strengths.to_numpy(), abs=5e-3)


def wins(*rows: tuple[str, str, int, int]) -> jr.Comparisons:
    """A wins table."""
    return jr.read(pd.DataFrame(rows, columns=["item_a", "item_b", "win_a", "win_b"]))


def test_what_has_no_finite_gap_has_no_interval():
    """A chain of clean sweeps, and two halves that a resample tears apart, have no resampled interval."""
    swept = jr.bootstrap(jr.fit_bt(wins(("A", "B", 5, 0), ("B", "C", 5, 0))), 50, by="row").frame()
    assert swept["low"].isna().all() and (swept["usable"] == 0).all()
    torn = jr.bootstrap(jr.fit_bt(wins(("A", "B", 20, 20), ("C", "D", 20, 20), ("A", "C", 2, 1)), prior=None), 400, by="row")
    assert torn.degenerate > 100 and torn.frame()["usable"].max() < 0.8
    lone = jr.bootstrap(jr.fit_bt(wins(("A", "B", 5, 3)), prior=None), 2000, by="row")
    assert lone.degenerate / 2000 == pytest.approx(np.exp(-3) + np.exp(-5), abs=0.02) and lone.unconverged == 0


def test_resamples_that_do_not_differ_are_no_interval():
    """Ties alone resample to ties: there is an estimate, and neither interval nor error."""
    rows = pd.DataFrame({"item_a": "A", "item_b": "B", "p_a": 0.5, "status": ["tie"] * 10, "group": range(10)})
    found = jr.bootstrap(jr.fit_bt(rows, prior=None), 50).frame()
    assert (found["strength"] == 0).all() and found[["low", "high", "stderr"]].isna().all(axis=None)


def test_only_a_fit_is_resampled():
    """A ranking, separate contexts by group, a bad seed and a level in percent are refused in words."""
    ranking = jr.rank(votes(9))
    for call, word in (
        (lambda: jr.bootstrap(ranking, 10), "its `.fit`"),
        (lambda: jr.bootstrap(ranking.fit, 10, seed=-1), "seed is -1"),
        (lambda: jr.bootstrap(ranking.fit, 10).frame(level=95), "level is 95"),
        (lambda: jr.bootstrap(jr.fit_bt(votes(9).assign(context=votes(9)["group"]), contexts="separate"), 10), "separate"),
    ):
        with pytest.raises(jr.SettingsError, match=word):
            call()
