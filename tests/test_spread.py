"""Covariances that do not trust the model, against textbook formulas worked out with dense matrices."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm

import juryrank as jr

ML = {"prior": None, "extra_starts": 0}


def votes(
    seed: int = 0, items: int = 5, rows: int = 120, groups: int = 12, judges: int = 3, gap: float = 0.6
) -> pd.DataFrame:
    """Random opinions with a little of everything: judges, groups, unequal items."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, items, rows)
    second = (first + rng.integers(1, items, rows)) % items
    a, b = np.minimum(first, second), np.maximum(first, second)
    group = rng.integers(0, groups, rows)
    lean = rng.normal(0, 0.8, (groups, items))
    z = 0.6 * (a - b) + lean[group, a] - lean[group, b]
    return pd.DataFrame(
        {
            "judge": np.char.add("j", rng.integers(0, judges, rows).astype(str)),
            "item_a": np.char.add("i", a.astype(str)),
            "item_b": np.char.add("i", b.astype(str)),
            "p_a": (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(float),
            "group": np.char.add("g", group.astype(str)),
        }
    )


def dense(frame: pd.DataFrame, fit: jr.Fit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Design (rows, items), residual and information of plain Bradley-Terry."""
    names = list(fit.strengths.index)
    x = np.zeros((len(frame), len(names)))
    for row, (a, b) in enumerate(zip(frame["item_a"], frame["item_b"], strict=True)):
        x[row, names.index(a)], x[row, names.index(b)] = 1, -1
    p = 1 / (1 + np.exp(-(x @ fit.strengths.to_numpy())))
    return x, frame["p_a"].to_numpy() - p, p * (1 - p)


@pytest.mark.parametrize("seed", range(3))
def test_sandwich_is_huber_and_white(seed):
    """The sandwich is pinv(X'WX) X' diag(e^2) X pinv(X'WX)."""
    frame = votes(seed)
    fit = jr.fit_bt(frame, judge_sigma=False, **ML)
    x, e, w = dense(frame, fit)
    c = np.linalg.pinv(x.T @ (w[:, None] * x))
    expected = c @ (x.T @ (e[:, None] ** 2 * x)) @ c
    assert fit.covariance("sandwich").to_numpy() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("by", ["group", "judge"])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_bell_and_mccaffreys(seed, by):
    """The cluster covariance is CR2: residuals of a cluster times the inverse root of one minus its hat matrix."""
    frame = votes(seed)
    fit = jr.fit_bt(frame, judge_sigma=False, **ML)
    x, e, w = dense(frame, fit)
    c = np.linalg.pinv(x.T @ (w[:, None] * x))
    meat = np.zeros_like(c)
    for _, rows in frame.groupby(by).indices.items():
        root = np.sqrt(w[rows])
        half = root[:, None] * x[rows]
        adjust = np.linalg.inv(sqrtm(np.eye(len(rows)) - half @ c @ half.T)).real
        score = half.T @ adjust @ (e[rows] / root)
        meat += np.outer(score, score)
    assert fit.covariance("cluster", by).to_numpy() == pytest.approx(c @ meat @ c, abs=1e-8)


def test_a_cluster_left_out_moves_the_fit_as_the_scores_say():
    """With sigmas and a tie parameter too, the errors by group are near those of refits without each group."""
    frame = votes(1, rows=800, groups=40).assign(status="win")
    frame.loc[::7, ["p_a", "status"]] = [0.5, "tie"]
    for options in ({}, {"ties": "davidson"}, {"ties": "rao-kupper", "judge_sigma": False}):
        fit = jr.fit_bt(frame, **ML, **options)
        gaps = []
        for group in sorted(set(frame["group"])):
            without = jr.fit_bt(frame[(frame["group"] != group).to_numpy()], **ML, **options)
            gaps.append(without.strengths["i0"] - without.strengths["i4"])
        jackknife = math.sqrt(((np.array(gaps) - (fit.strengths["i0"] - fit.strengths["i4"])) ** 2).sum())
        assert fit.contrast("i0", "i4", kind="cluster").stderr == pytest.approx(jackknife, rel=0.05)


OPTIONS = [{}, {"judge_sigma": False}, {"ties": "davidson"}, {"slot_bias": True}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", ["model", "sandwich"])
@pytest.mark.parametrize("times", [2, 5])
def test_repeating_every_row_shrinks_errors_by_the_root(options, kind, times):
    """Every row k times over shrinks each standard error by exactly sqrt(k)."""
    frame = votes(2, rows=300).assign(status="win", slot=np.where(np.arange(300) % 2, 1, -1))
    frame.loc[::9, ["p_a", "status"]] = [0.5, "tie"]
    one = jr.fit_bt(frame, **ML, **options)
    many = jr.fit_bt(pd.concat([frame] * times), **ML, **options)
    expected = one.standard_errors(kind) / math.sqrt(times)
    assert many.standard_errors(kind).to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-6)


@pytest.mark.parametrize("kind", ["model", "sandwich", "cluster"])
def test_a_row_of_weight_k_is_k_rows_in_every_covariance(kind):
    """Weight 3 and three equal rows give the same standard errors."""
    frame = votes(3)
    weighted = frame.assign(weight=np.where(np.arange(len(frame)) % 4 == 0, 3.0, 1.0))
    repeated = frame.loc[frame.index.repeat(weighted["weight"].astype(int))]
    one, other = (jr.fit_bt(data, **ML).standard_errors(kind).to_numpy() for data in (weighted, repeated))
    assert one == pytest.approx(other, rel=1e-7)


def test_repeated_rows_of_a_group_add_nothing_under_clusters():
    """Rows said over again within their groups leave errors by group where they are."""
    frame = votes(4)
    one, other = (jr.fit_bt(data, **ML).standard_errors("cluster").to_numpy() for data in (frame, pd.concat([frame] * 4)))
    assert one == pytest.approx(other, rel=1e-6)


def test_a_rare_item_in_a_huge_log_has_the_error_of_its_own_rows():
    """Four rows on an item among 200,000 give it the error of four rows, under each covariance."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"item_a": "a", "item_b": "b", "p_a": (rng.random(200_000) < 0.6).astype(float)})
    frame["group"] = np.arange(len(frame)) // 20
    rare = pd.DataFrame({"item_a": "a", "item_b": "rare", "p_a": [1.0, 1.0, 0.0, 0.0], "group": [0, 1, 2, 3]})
    fit = jr.fit_bt(pd.concat([frame, rare]), **ML)
    assert fit.contrast("a", "rare").stderr == pytest.approx(1.0, rel=1e-3)
    assert fit.contrast("a", "rare", kind="sandwich").stderr == pytest.approx(1.0, rel=1e-3)
    assert fit.contrast("a", "rare", kind="cluster").stderr == pytest.approx(math.sqrt(4 / 3), rel=1e-3)
    assert fit.contrast("a", "rare", kind="cluster").freedom == pytest.approx(3, abs=2)
    assert fit.contrast("a", "b", kind="cluster").freedom == 9999


def test_a_gap_without_a_maximum_keeps_the_error_of_the_model():
    """An item that only won has no residuals to speak of: robust errors do not collapse where the model's are wide."""
    frame = votes(5)
    unbeaten = pd.DataFrame(
        {"judge": "j0", "item_a": "i0", "item_b": "top", "p_a": 0.0, "group": [f"g{i}" for i in range(12)]}
    )
    fit = jr.fit_bt(pd.concat([frame, unbeaten]), judge_sigma=False)
    plain = fit.contrast("i0", "top").stderr
    for kind in ("sandwich", "cluster"):
        assert fit.contrast("i0", "top", kind=kind).stderr > 0.9 * plain
        assert fit.contrast("i0", "top", kind=kind).low == -math.inf


def test_a_direction_that_one_cluster_owns_keeps_the_error_of_the_model():
    """An item that one group alone speaks of cannot be left out; its error is not zero."""
    frame = votes(6)
    lone = pd.DataFrame({"judge": "j0", "item_a": "i0", "item_b": "lone", "p_a": [1.0, 0.0, 1.0], "group": "only"})
    fit = jr.fit_bt(pd.concat([frame, lone]), judge_sigma=False, **ML)
    contrast = fit.contrast("i0", "lone", kind="cluster")
    assert contrast.stderr > 0.9 * fit.contrast("i0", "lone").stderr


def test_both_ways_is_group_and_judge_less_their_crossing():
    """Where every row is a cell of its own the two-way covariance is the sum of the two less the sandwich's kin."""
    frame = votes(7, rows=400)
    fit = jr.fit_bt(frame, judge_sigma=False, **ML)
    group, judge, both = (fit.covariance("cluster", by).to_numpy() for by in ("group", "judge", ["judge", "group"]))
    crossed = jr.fit_bt(frame.assign(group=frame["group"] + frame["judge"]), judge_sigma=False, **ML).covariance("cluster")
    values, vectors = np.linalg.eigh(group + judge - crossed.to_numpy())
    assert both == pytest.approx((vectors * np.maximum(values, 0)) @ vectors.T, abs=1e-8)


def test_both_orders_of_a_pair_are_one_opinion():
    """Showings fitted in both orders that always agree have, taken by opinion, the errors of one showing each."""
    rng = np.random.default_rng(1)
    rows = []
    for q in range(150):
        first, second = rng.choice(["a", "b", "c"], 2, replace=False)
        wins = rng.random() < (0.7 if first < second else 0.3)
        rows += [
            {"context": f"q{q}", "first": first, "second": second, "outcome": "first" if wins else "second"},
            {"context": f"q{q}", "first": second, "second": first, "outcome": "second" if wins else "first"},
        ]
    both = jr.fit_bt(jr.read(rows), **ML)
    one = jr.fit_bt(jr.read(rows[::2]), **ML)
    assert both.contrast("a", "b").stderr == pytest.approx(one.contrast("a", "b").stderr / math.sqrt(2), rel=1e-6)
    for kind, by in (("sandwich", "group"), ("cluster", "opinion")):
        assert both.contrast("a", "b", kind=kind, by=by).stderr == pytest.approx(
            one.contrast("a", "b", kind=kind, by=by).stderr, rel=1e-6
        )
    assert jr.rank(rows, on="showings").settings["covariance"] == "cluster-opinion"


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_permuting_and_unrelated_rows_change_no_error(seed):
    """Rows in another order, and rows of other items, leave each contrast and its error under each covariance."""
    frame = votes(seed % 50, rows=150, judges=1)
    frame = pd.concat([frame, frame.assign(p_a=1 - frame["p_a"], group="h" + frame["group"])])  # a maximum exists
    other = votes(seed % 50 + 1, judges=1)
    other = other.assign(item_a="x" + other["item_a"], item_b="x" + other["item_b"])
    fits = [
        jr.fit_bt(data, judge_sigma=False, **ML)
        for data in (frame, frame.sample(frac=1, random_state=seed), pd.concat([frame, other, other.assign(p_a=0.5)]))
    ]
    for kind in ("model", "sandwich", "cluster"):
        found = [(c.estimate, c.stderr) for c in (fit.contrast("i0", "i3", kind=kind) for fit in fits)]
        assert found[1] == pytest.approx(found[0], rel=1e-7) and found[2] == pytest.approx(found[0], rel=1e-7)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "huber"}, "huber.*model, sandwich, cluster"),
        ({"kind": "cluster", "by": "colour"}, "colour.*group, judge, both"),
        ({"kind": "cluster", "by": "judge"}, "one judge alone"),
    ],
)
def test_unknown_covariances_are_refused(options, words):
    """A covariance or a clustering that does not exist, or has one cluster, is an error that says what there is."""
    fit = jr.fit_bt(votes(8, judges=1), **ML)
    with pytest.raises(jr.SettingsError, match=words):
        fit.contrast("i0", "i1", **options)


def test_pair_counts_and_separate_contexts_have_no_robust_errors():
    """Pair counts have lost rows and groups, and separate contexts have no item that recurs: both are refused in words."""
    made = jr.simulate(items=4, judges=2, contexts=5, seed=0)
    compared = jr.reconcile(made.judgments)
    counted = jr.fit_bt(jr.tally(compared))
    item, other = counted.strengths.index[:2]
    with pytest.raises(jr.SettingsError, match="pair counts"):
        counted.contrast(item, other, kind="sandwich")
    separate = jr.fit_bt(compared, contexts="separate")
    with pytest.raises(jr.SettingsError, match="contexts='pooled'"):
        separate.covariance("cluster")


def agreeing() -> pd.DataFrame:
    """Twenty-five groups with the same three wins and a loss."""
    return pd.DataFrame(
        [{"item_a": "A", "item_b": "B", "p_a": float(k < 3), "group": f"g{i}"} for i in range(25) for k in range(4)]
    )


def test_groups_that_agree_to_the_last_vote_say_nothing_of_errors():
    """Where every group says the same, clustered errors are missing, and a ranking has the model's with a warning."""
    ranking = jr.rank(agreeing())
    assert math.isnan(ranking.fit.contrast("A", "B", kind="cluster").stderr)
    assert ranking.settings["covariance"] == "model" and any("agree to the last vote" in w for w in ranking.warnings)
    wanted = jr.rank(agreeing(), covariance="cluster")
    assert wanted.frame["stderr"].isna().all() and any("there are no cluster errors" in w for w in wanted.warnings)
    assert ranking.frame["stderr"].tolist() == pytest.approx([0.115] * 2, abs=0.01)


def test_ties_alone_give_no_place_a_probability_by_name():
    """Three items that only tied share every place alike, whatever their names."""
    rows = [
        {"item_a": a, "item_b": b, "p_a": 0.5, "status": "tie", "group": f"g{i}"}
        for i in range(25)
        for a, b in ("AB", "BC", "AC")
    ]
    frame = jr.rank(rows).frame
    assert frame["p_best"].to_numpy() == pytest.approx(np.full(3, 1 / 3), abs=0.05)
    assert frame["expected_rank"].to_numpy() == pytest.approx(np.full(3, 2.0), abs=0.05)


def test_items_without_a_finite_strength_have_no_covariance():
    """An unbeaten item without a prior is NaN in the covariance, as in the standard errors."""
    rows = pd.DataFrame(
        {"item_a": ["A"] * 3 + ["B"] * 4, "item_b": ["B", "B", "C", *"CCCC"], "p_a": [1.0] * 3 + [1, 0, 1, 0]}
    )
    found = jr.fit_bt(rows, prior=None)
    assert found.covariance().loc["A"].isna().all() and np.isfinite(found.covariance().loc["B", "C"])


def test_unrelated_groups_do_not_move_degrees_of_freedom():
    """Groups that speak of other items alone do not count."""
    frame = votes(9, judges=1)
    other = votes(10, judges=1).assign(group=lambda rows: "x" + rows["group"])
    other = other.assign(item_a="x" + other["item_a"], item_b="x" + other["item_b"])
    one, both = (jr.fit_bt(data) for data in (frame, pd.concat([frame, other])))
    assert one.contrast("i0", "i4", kind="cluster").freedom == both.contrast("i0", "i4", kind="cluster").freedom


@pytest.mark.parametrize("level", [95, -1, float("nan"), None, True])
def test_a_level_that_is_no_share_is_refused(level):
    """A level of a contrast outside (0, 1) is an error that shows it."""
    with pytest.raises(jr.SettingsError, match="level"):
        jr.fit_bt(votes(11)).contrast("i0", "i1", level=level)


def test_comparisons_have_no_opinions_of_several_rows():
    """Clusters by opinion are for showings: comparisons are told to take the sandwich."""
    with pytest.raises(jr.SettingsError, match="sandwich"):
        jr.fit_bt(votes(12)).contrast("i0", "i1", kind="cluster", by="opinion")


def test_odd_words_for_clusters_and_items_are_refused():
    """A clustering that is no word and an item that is no id are errors in words."""
    fit = jr.fit_bt(votes(13))
    for call in (lambda: fit.contrast("i0", "i1", kind="cluster", by=None), lambda: fit.contrast(["i0"], "i1")):
        with pytest.raises(jr.SettingsError):
            call()
    with pytest.raises(jr.SettingsError, match="seed is -1"):
        jr.rank(votes(13), seed=-1)
