"""Rank sets, tiers and probabilities of places."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

import juryrank as jr


def league(seed: int, strength: np.ndarray, rounds: int, groups: int = 1) -> pd.DataFrame:
    """Every pair `rounds` times."""
    rng = np.random.default_rng(seed)
    a, b = (np.repeat(side, rounds) for side in np.triu_indices(len(strength), 1))
    won = rng.random(len(a)) < 1 / (1 + np.exp(strength[b] - strength[a]))
    names = np.array([f"i{k:02d}" for k in range(len(strength))])
    rows = pd.DataFrame({"item_a": names[a], "item_b": names[b], "p_a": won.astype(float)})
    return rows.assign(context=np.char.add("q", rng.integers(0, groups, len(rows)).astype(str)))


def test_probabilities_of_places_add_up():
    """P(best) sums to 1, P(top k) to k, expected ranks to n (n + 1) / 2, and each interval holds the rank itself."""
    frame = jr.rank(league(0, np.linspace(-1, 1, 9), 10), top_k=3).frame
    assert frame["p_best"].sum() == pytest.approx(1) and frame["p_top_k"].sum() == pytest.approx(3)
    assert frame["expected_rank"].sum() == pytest.approx(45)
    for name in ("rank", "expected_rank"):
        assert (frame["rank_low"] <= frame[name] + 1e-9).all() and (frame[name] <= frame["rank_high"] + 1e-9).all()


def test_sets_for_all_items_hold_those_for_one():
    """A rank set that holds for all items at once is never inside the one for the item alone."""
    for seed in range(5):
        frame = jr.rank(league(seed, np.linspace(-1, 1, 8), 12)).frame
        assert (frame["rank_low"] <= frame["rank_low_alone"]).all()
        assert (frame["rank_high"] >= frame["rank_high_alone"]).all()


def test_two_items_need_no_more_than_one_pair_does():
    """With two items the rank set is the test of the one gap at its level."""
    for wins, certain in ((60, True), (59, False)):
        rows = pd.DataFrame({"item_a": "a", "item_b": "b", "p_a": [1.0] * wins + [0.0] * (100 - wins)})
        ranking = jr.rank(rows, prior=None)
        ratio = ranking.fit.contrast("a", "b").estimate / ranking.fit.contrast("a", "b").stderr
        assert (abs(ratio) > ndtri(0.975)) == certain
        assert (ranking.frame["rank_high"].iloc[0] == 1) == certain


def test_the_maximum_over_pairs_is_sharper_than_bonferroni():
    """Max-t with step-down certifies whatever Bonferroni does, and more over some leagues."""
    more = 0
    for seed in range(6):
        ranking = jr.rank(league(seed, np.linspace(-2, 2, 10), 12))
        frame = ranking.frame.set_index("item")
        covariance, s = ranking.fit.covariance().loc[frame.index, frame.index].to_numpy(), frame["strength"].to_numpy()
        error = np.sqrt(np.diagonal(covariance)[:, None] + np.diagonal(covariance) - 2 * covariance) + np.eye(10)
        above = (s[:, None] - s) / error > -ndtri(0.025 / 45)
        low, high = 1 + above.sum(axis=0), 10 - above.sum(axis=1)
        assert (low <= frame["rank_low"]).all() and (high >= frame["rank_high"]).all()
        more += int((high - low).sum() - (frame["rank_high"] - frame["rank_low"]).sum())
    assert more > 0


def test_rank_sets_hold_for_all_items_as_often_as_promised():
    """Over 200 leagues of six items the true ranks all lie in their sets in at least 90 % of them at level 95 %."""
    strength = np.array([1.0, 0.8, 0.2, 0.0, -0.3, -1.0])
    names = [f"i{k:02d}" for k in range(6)]
    held = 0
    for seed in range(200):
        frame = jr.rank(league(seed, strength, 15)).frame.set_index("item").loc[names]
        truth = np.arange(1, 7)
        held += bool(((frame["rank_low"] <= truth) & (truth <= frame["rank_high"])).all())
    assert held >= 180


def test_order_and_names_of_rows_do_not_move_the_draws():
    """Shuffled rows and renamed items give the same sets and probabilities."""
    rows = league(3, np.linspace(-0.5, 0.5, 7), 9)
    columns = ["rank_low", "rank_high", "rank_low_alone", "expected_rank", "p_best", "p_top_k", "tier"]
    plain = jr.rank(rows).frame[columns].to_numpy(dtype=float)
    shuffled = jr.rank(rows.sample(frac=1, random_state=1)).frame[columns].to_numpy(dtype=float)
    names = dict(zip([f"i{k:02d}" for k in range(7)], "dgacfbe", strict=True))
    turned = rows.assign(item_a=rows["item_a"].map(names), item_b=rows["item_b"].map(names))
    flip = turned["item_a"] > turned["item_b"]
    renamed = pd.DataFrame(
        {
            "item_a": turned["item_a"].where(~flip, turned["item_b"]),
            "item_b": turned["item_b"].where(~flip, turned["item_a"]),
            "p_a": turned["p_a"].where(~flip, 1 - turned["p_a"]),
        }
    )
    assert shuffled == pytest.approx(plain, abs=1e-6)
    assert jr.rank(renamed).frame[columns].to_numpy(dtype=float) == pytest.approx(plain, abs=1e-6)


@pytest.mark.parametrize(
    ("wins", "votes", "word"),
    [(5, 5, "too few to tell"), (3, 5, "too few to tell"), (2500, 5000, "tied"), (300, 500, "ahead"), (2600, 5000, "ahead")],
)
def test_too_few_is_another_word_than_tied(wins, votes, word):
    """C-25: what could never be certain is "too few to tell"; "tied" takes votes enough to rule out 60 to 40."""
    rows = pd.DataFrame({"item_a": "a", "item_b": "b", "p_a": [1.0] * wins + [0.0] * (votes - wins)})
    assert jr.rank(rows).frame["against_next"].tolist() == [word, None]


def test_no_probability_of_places_without_gaps():
    """Where a gap has no finite maximum and no prior gives it one, places have no probability, and ranks stay."""
    rows = pd.DataFrame({"item_a": ["a", "a", "b"], "item_b": ["b", "b", "c"], "p_a": [1.0, 1.0, 1.0]})
    frame = jr.rank(rows, prior=None).frame
    assert frame["rank"].tolist() == [1, 2, 3] and frame["p_best"].isna().all() and frame["expected_rank"].isna().all()
    assert frame["rank_low"].tolist() == [1, 1, 1] and frame["rank_high"].tolist() == [3, 3, 3]


def test_groups_that_repeat_and_are_many_are_clustered():
    """Thirty groups of many rows are clustered by; five are not, and a warning says so; a wish is granted."""
    many, few = (league(4, np.linspace(-1, 1, 6), 20, groups) for groups in (30, 5))
    assert jr.rank(many).settings["covariance"] == "cluster"
    ranking = jr.rank(few)
    assert ranking.settings["covariance"] == "model"
    assert any("5 groups, too few to cluster 6 items by" in text for text in ranking.warnings)
    assert jr.rank(many, covariance="sandwich").settings["covariance"] == "sandwich"
    assert jr.rank(few, covariance="cluster").to_dict()["fit"]["covariance"] == "cluster"


@pytest.mark.parametrize("option", [{"top_k": 0}, {"top_k": 1.5}, {"top_k": True}, {"covariance": "robust"}])
def test_bad_options_are_refused(option):
    """A number of places below one, or a covariance that does not exist, is an error that names the option."""
    with pytest.raises(jr.SettingsError, match=next(iter(option))):
        jr.rank(league(5, np.zeros(3), 5), **option)


@pytest.mark.parametrize("prior", [jr.Prior(), None])
def test_a_clean_sweep_is_no_less_sure_than_one_with_a_loss(prior):
    """Ten of ten and eighty of eighty are ahead, their intervals open above and over 0 below; five of five are too few."""
    for wins, word in ((5, "too few to tell"), (10, "ahead"), (80, "ahead"), (200, "ahead")):
        rows = pd.DataFrame({"item_a": "a", "item_b": "b", "p_a": [1.0] * wins})
        ranking = jr.rank(rows, prior=prior)
        gap = ranking.fit.contrast("a", "b")
        assert ranking.frame["against_next"].iloc[0] == word
        assert (ranking.frame["rank_high"].iloc[0] == 1) == (gap.low > 0) == (gap.p < 0.05) == (word == "ahead")
        assert gap.high == np.inf
        above, below = ranking.frame["high"].iloc[0], ranking.frame["low"].iloc[1]
        assert np.isnan(above) and np.isnan(below) and np.isfinite(ranking.frame["low"].iloc[0])


def test_sweeps_grow_surer_with_votes():
    """The lower end of a clean sweep rises with the number of votes."""
    lows = [
        jr.fit_bt(pd.DataFrame({"item_a": "a", "item_b": "b", "p_a": [1.0] * n})).contrast("a", "b").low
        for n in (3, 6, 12, 25, 50, 100, 1000)
    ]
    assert lows == sorted(lows) and lows[0] < 0 < lows[2]
