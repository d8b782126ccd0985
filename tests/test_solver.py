"""The climb on JAX and on numpy, padding, compilations, and limits of size."""

import jax
import numpy as np
import pandas as pd
import pytest

import juryrank as jr
from juryrank.layout import bucket
from juryrank.solver import _compiled
from juryrank.task import Task

CASES = {
    "bt": {"judge_sigma": False},
    "bt-sigma": {},
    "slot": {"slot_bias": True},
    "davidson": {"ties": "davidson"},
    "rao-kupper with slot": {"ties": "rao-kupper", "slot_bias": True, "judge_sigma": False},
    "separate": {"contexts": "separate"},
    "maximum likelihood": {"prior": None, "judge_sigma": False},
    "pseudo-wins": {"prior": jr.Prior(None, None, None, pseudo_wins=1.0), "judge_sigma": False},
    "without a log-sigma prior": {"prior": None},
}


@pytest.fixture(scope="module")
def judgments():
    """Some showings with ties, repetitions and several contexts."""
    return jr.simulate(items=7, judges=3, contexts=2, repetitions=2, tie_rate=0.3, failure_rate=0.05, seed=9).judgments


@pytest.mark.parametrize("options", CASES.values(), ids=CASES.keys())
def test_jax_and_numpy_agree(monkeypatch, judgments, options):
    """Compiled and padded on JAX, a fit ends within 1e-8 of the unpadded one on numpy."""
    host = jr.fit_bt(judgments, extra_starts=0, **options)
    monkeypatch.setattr(Task, "jit", True)
    compiled = jr.fit_bt(judgments, extra_starts=0, **options)
    assert host.converged and compiled.converged
    for name in ("strengths", "sigmas", "slot_biases", "stderr"):
        pd.testing.assert_series_equal(getattr(host, name), getattr(compiled, name), rtol=0, atol=1e-8)
    assert compiled.objective == pytest.approx(host.objective, abs=1e-8)


def test_a_growing_log_seldom_compiles(monkeypatch):
    """Sixty rounds of growing data compile no more often than there are padded sizes."""
    monkeypatch.setattr(Task, "jit", True)
    whole = jr.simulate(items=10, judges=2, rows=800, seed=2).judgments.frame
    _compiled().clear_cache()
    for rows in np.linspace(100, 800, 60).astype(int):
        jr.fit_bt(jr.read(whole.head(rows)), judge_sigma=False)
    assert 1 <= _compiled()._cache_size() <= 12


def test_padding_sizes_waste_little():
    """A padded size is never smaller than asked, grows with it, and is at most a quarter larger."""
    sizes = [bucket(n) for n in range(1, 3000)]
    assert all(n <= size <= max(n + 1, 1.25 * n) for n, size in enumerate(sizes, start=1))
    assert sizes == sorted(sizes)
    assert len(set(sizes)) < 50


def test_global_precision_is_left_alone(monkeypatch, judgments):
    """A compiled fit runs in float64 and leaves the user's own arrays in float32 (C-49d)."""
    monkeypatch.setattr(Task, "jit", True)
    assert jr.fit_bt(judgments, judge_sigma=False).reported.border.dtype == np.float64
    assert not jax.config.jax_enable_x64
    assert jax.numpy.arange(3.0).dtype == np.float32


def test_too_many_items_are_refused():
    """More items in one context than the dense fit can hold are refused with their number, before memory is taken."""
    n = 5_000
    frame = pd.DataFrame({"item_a": np.arange(n), "item_b": np.arange(n) + n, "p_a": 1.0})
    with pytest.raises(jr.InputError, match="10000 items"):
        jr.fit_bt(frame)


def _wins(*pairs):
    rows = [(a, b, p, w) for a, b, won, lost in pairs for p, w in ((1.0, won), (0.0, lost)) if w]
    return pd.DataFrame(rows, columns=["item_a", "item_b", "p_a", "weight"])


def test_one_undefeated_item_does_not_open_the_others():
    """Beside a larger connected group only the item that never lost is flagged, and the others keep two-sided intervals."""
    frame = jr.rank(_wins(("A", "B", 3, 0), ("A", "C", 2, 0), ("B", "C", 1, 1))).frame.set_index("item")
    assert frame["flags"].to_dict() == {"A": ["unbounded above"], "B": [], "C": []}
    assert np.isnan(frame.loc["A", "high"]) and np.isfinite(frame.loc["A", "low"])
    assert np.isfinite(frame.loc[["B", "C"], ["low", "high"]]).all(axis=None)


def test_items_that_no_chain_of_wins_reaches_are_open_both_ways():
    """An item that only lost to an undefeated one can stand anywhere beside the connected group."""
    pairs = ("A", "B", 1, 0), ("B", "C", 1, 1), ("A", "F", 1, 0)
    flags = jr.rank(_wins(*pairs)).frame.set_index("item")["flags"]
    assert flags["F"] == ["unbounded above", "unbounded below"] and flags["B"] == []


def test_without_a_prior_the_connected_group_is_scored_alone():
    """Maximum likelihood gives the undefeated item no number, and the connected group that of its own games."""
    fit = jr.fit_bt(_wins(("A", "B", 3, 0), ("A", "C", 2, 0), ("B", "C", 3, 1)), prior=None)
    assert fit.strengths["A"] == np.inf
    assert fit.contrast("B", "C").estimate == pytest.approx(np.log(3), abs=1e-9)
    assert fit.contrast("A", "B").estimate == np.inf
    assert fit.contrast("A", "B").high == np.inf
