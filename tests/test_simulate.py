"""Simulated judgments: their form, their design and their truth."""

import time

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from juryrank import tables
from juryrank.diagnostics import repetition_consistency
from juryrank.errors import SettingsError
from juryrank.simulation import Settings, simulate

EVERYTHING = {"tie_rate": 0.5, "failure_rate": 0.1, "uncertain_rate": 0.1, "context_sd": 0.5, "showing_sd": 0.5}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"items": 2, "judges": 1},
        {"contexts": 12, "pairs": 25, "orders": "random", "repetitions": 2} | EVERYTHING,
        {"orders": "single", "repetitions": 3},
        {"items": 1200, "pairs": 1300, "judges": 2},
        {"rows": 500, "contexts": 3} | EVERYTHING,
        {"rows": 1, "items": 50},
        {"rows": 3000, "items": 4, "pairs": 4, "contexts": 2, "orders": "single"},
    ],
)
def test_the_table_is_what_its_text_reads_as(settings):
    """The coded table equals the one that reading its plain frame makes, types and categories included."""
    made = simulate(**settings).judgments
    pd.testing.assert_frame_equal(made.table, tables.judgments(made.frame).table)


def test_numbering_of_repetitions_is_the_readers():
    """Showings that were drawn twice have the repetitions that the reader would give them."""
    made = simulate(rows=2000, items=5, judges=2).judgments
    pd.testing.assert_frame_equal(made.table, tables.judgments(made.frame.drop(columns="repetition")).table)


def test_a_seed_is_one_simulation():
    """Equal seeds give equal judgments, other seeds others, and noise of calls does not change the truth."""
    one, same, other = simulate(seed=4), simulate(seed=4), simulate(seed=5)
    pd.testing.assert_frame_equal(one.judgments.table, same.judgments.table)
    assert not one.judgments.table.equals(other.judgments.table)
    pd.testing.assert_series_equal(one.strengths, simulate(seed=4, tie_rate=1, repetitions=2).strengths)


def test_the_truth_is_in_the_gauge_of_fits():
    """Strengths sum to zero, the geometric mean of sigma is 1, ids are padded, and the settings are repeated."""
    made = simulate(items=7, judges=3, seed=1)
    assert made.strengths.sum() == pytest.approx(0, abs=1e-12)
    assert np.log(made.sigmas).sum() == pytest.approx(0, abs=1e-12)
    assert list(made.strengths.index) == made.judgments.items == [f"item-{i:03d}" for i in range(1, 8)]
    assert list(made.sigmas.index) == list(made.slot_biases.index) == made.judgments.judges
    assert made.settings == Settings(items=7, judges=3, seed=1)
    assert simulate(judges=1).sigmas.tolist() == [1.0]


def test_every_showing_is_there_once():
    """All pairs, both orders, two contexts, three judges and two repetitions are each there exactly once."""
    frame = simulate(items=5, judges=3, contexts=2, repetitions=2).judgments.frame
    assert len(frame) == 2 * 3 * 20 * 2
    assert not frame.duplicated(["context", "judge", "first", "second", "repetition"]).any()


def test_orders():
    """Single shows the first id first; random shows each pair of a judge in one order, about half each way."""
    single = simulate(items=10, orders="single").judgments.frame
    assert (single["first"] < single["second"]).all()
    assert len(single) == 45 * 5
    random = simulate(items=20, judges=10, orders="random", repetitions=2).judgments.frame
    assert len(random) == 190 * 10 * 2
    swapped = random["first"] > random["second"]
    assert 0.45 < swapped.mean() < 0.55
    assert (swapped[random["repetition"] == 0].to_numpy() == swapped[random["repetition"] == 1].to_numpy()).all()


@hypothesis_settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_number_of_pairs_is_connected_and_balanced(data):
    """Each context has that many distinct pairs, hangs together, and no item is in over two more than another."""
    items = data.draw(st.integers(2, 30))
    pairs = data.draw(st.integers(items - 1, items * (items - 1) // 2))
    made = simulate(items=items, judges=1, contexts=2, pairs=pairs, orders="single", seed=data.draw(st.integers(0, 99)))
    for _, part in made.judgments.frame.groupby("context"):
        graph = nx.Graph(list(zip(part["first"], part["second"], strict=True)))
        degrees = [degree for _, degree in graph.degree]
        assert (graph.number_of_nodes(), graph.number_of_edges()) == (items, pairs)
        assert nx.is_connected(graph)
        assert max(degrees) - min(degrees) <= 2


def test_contexts_have_pairs_of_their_own():
    """A number of pairs is drawn anew in each context."""
    frame = simulate(items=20, judges=1, contexts=2, pairs=30, orders="single").judgments.frame
    one, two = (set(zip(p["first"], p["second"], strict=True)) for _, p in frame.groupby("context"))
    assert one != two


def test_outcomes_follow_the_model():
    """On 400,000 calls the shares of first, second and tie at each z are Davidson's, within four standard errors."""
    made = simulate(items=4, judges=3, rows=400_000, tie_rate=0.7, slot_sd=0.8, failure_rate=0.05, seed=3)
    frame = made.judgments.frame
    frame = frame[frame["outcome"] != "failure"]
    gap = frame["first"].map(made.strengths) - frame["second"].map(made.strengths)
    z = gap / frame["judge"].map(made.sigmas) + frame["judge"].map(made.slot_biases)
    for at, part in frame.groupby(z.round(9)):
        weights = np.array([np.exp(at / 2), np.exp(-at / 2), 0.7])
        expected = weights / weights.sum()
        seen = part["outcome"].value_counts(normalize=True).reindex(["first", "second", "tie"], fill_value=0)
        assert (abs(seen - expected) < 4 * np.sqrt(expected * (1 - expected) / len(part)) + 1e-9).all()


def test_calls_fail_and_abstain_at_their_rates():
    """Failures and abstentions have the asked shares; at rates of 0 there are none, nor ties."""
    seen = simulate(rows=100_000, failure_rate=0.1, uncertain_rate=0.3).judgments.frame["outcome"]
    shares = seen.value_counts(normalize=True)
    assert shares["failure"] == pytest.approx(0.1, abs=0.005)
    assert shares["uncertain"] == pytest.approx(0.3, abs=0.008)
    assert set(simulate().judgments.frame["outcome"]) == {"first", "second"}
    assert set(simulate(failure_rate=1.0).judgments.frame["outcome"]) == {"failure"}


def test_a_shared_draw_makes_repetitions_alike():
    """Judges repeat themselves more with showing_sd, and strengths differ between contexts with context_sd."""
    plain, alike = (repetition_consistency(simulate(repetitions=3, showing_sd=sd).judgments)["raw"] for sd in (0, 5))
    assert (alike > plain + 0.1).all()
    same = simulate(items=2, judges=1, contexts=400, strength_sd=6, slot_sd=0, seed=2)
    mixed = simulate(items=2, judges=1, contexts=400, strength_sd=6, slot_sd=0, seed=2, context_sd=50)
    frames = same.judgments.frame, mixed.judgments.frame
    wins = [(np.where(f["outcome"] == "first", f["first"], f["second"]) == "item-001").mean() for f in frames]
    shares = [max(share, 1 - share) for share in wins]
    assert shares[0] > 0.9 > 0.7 > shares[1]


def test_extreme_spreads_stay_finite():
    """Logits far beyond the range of exp give outcomes and no warning."""
    made = simulate(strength_sd=1e6, tie_rate=1.0, slot_sd=1e6)
    assert len(made.judgments) == 380 * 5


def test_a_million_judgments_take_seconds():
    """One million judgments over 500 items and 20 judges are drawn within ten seconds."""
    began = time.perf_counter()
    made = simulate(items=500, judges=20, rows=1_000_000, tie_rate=0.2)
    assert time.perf_counter() - began < 10
    assert len(made.judgments) == 1_000_000
    assert made.judgments.table["first"].cat.categories.size == 500


@pytest.mark.parametrize(
    ("bad", "seen"),
    [
        ({"items": 1}, "items = 1"),
        ({"items": 2.5}, "items = 2.5"),
        ({"judges": 0}, "judges = 0"),
        ({"judges": True}, "judges = True"),
        ({"contexts": 0}, "contexts = 0"),
        ({"repetitions": 0}, "repetitions = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"pairs": "some"}, "pairs = 'some'"),
        ({"pairs": 18}, "pairs = 18; 20 items .* from 19"),
        ({"pairs": 191}, "pairs = 191"),
        ({"orders": "forward"}, "orders = 'forward'"),
        ({"strength_sd": -1.0}, "strength_sd = -1.0"),
        ({"slot_sd": float("nan")}, "slot_sd = nan"),
        ({"log_sigma_sd": "1"}, "log_sigma_sd = '1'"),
        ({"tie_rate": float("inf")}, "tie_rate = inf"),
        ({"failure_rate": 1.5}, "failure_rate = 1.5"),
        ({"failure_rate": 0.6, "uncertain_rate": 0.6}, "sum to more than 1"),
        ({"rows": 0}, "rows = 0"),
        ({"rows": 5, "repetitions": 2}, "rows = 5"),
    ],
)
def test_meaningless_settings_are_refused(bad, seen):
    """A setting without meaning is an error that shows its value."""
    with pytest.raises(SettingsError, match=seen):
        simulate(**bad)
