"""Agreement between judges: raw, chance-corrected and by judge."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from juryrank import tables
from juryrank.diagnostics import Agreement, agreement, follows
from juryrank.diagnostics.agreement import _alpha, _measured, _opinions

STATUS = {1.0: "win", 0.0: "win", 0.5: "tie", None: "failure"}


def votes(*rows):
    """Comparisons from (context, judge, p_a) on the pair a, b; None is a failure, -1 a disagreement."""
    return pd.DataFrame(
        [
            {"context": c, "judge": j, "item_a": "a", "item_b": "b", "p_a": 0.5, "status": "disagreement"}
            if p == -1
            else {"context": c, "judge": j, "item_a": "a", "item_b": "b", "p_a": p, "status": STATUS[p]}
            for c, j, p in rows
        ]
    )


@st.composite
def panels(draw):
    """(judge, unit) -> p_a or None: a matrix of votes of two to five judges on up to eight units."""
    width = draw(st.integers(1, 8))
    cell = st.sampled_from([1.0, 1.0, 0.0, 0.5, None])
    return [draw(st.lists(cell, min_size=width, max_size=width)) for _ in range(draw(st.integers(2, 5)))]


def of(panel):
    return votes(*((f"{u:02d}", f"j{j}", p) for j, row in enumerate(panel) for u, p in enumerate(row)))


def slow(panel, level):
    """Mean share and alpha by listing every ordered pair of votes in every unit."""
    units = [[row[u] for row in panel if row[u] is not None] for u in range(len(panel[0]))]
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    if not values:
        return None, None
    mean = np.mean([max(unit.count(v) for v in unit) / len(unit) for unit in units])
    observed = sum(sum(x != y for x, y in permutations(unit, 2)) / (len(unit) - 1) for unit in units) / len(values)
    n, (a, b, tie) = len(values), (values.count(v) for v in (1.0, 0.0, 0.5))
    if level:
        a = b = (a + b) / 2
    expected = 1 - sum(k * (k - 1) for k in (a, b, tie)) / (n * (n - 1))
    return mean, None if expected == 0 else 1 - observed / expected


def plain_alpha(frame):
    return _alpha(_measured(_opinions(tables.comparisons(frame).table)[0]), level=False)


def close(x, y):
    return x is y is None or x == pytest.approx(y, abs=1e-12)


@settings(deadline=None)
@given(panels())
def test_figures_are_those_of_a_slow_count(panel):
    """Mean, coverage and alpha equal a count of every pair of votes."""
    found = agreement(of(panel))
    measured = sum(sum(row[u] is not None for row in panel) > 1 for u in range(len(panel[0])))
    mean, alpha = slow(panel, level=True)
    assert (found.units, found.asked) == (measured, len(panel[0]))
    assert found.coverage == measured / len(panel[0])
    assert close(found.mean, mean)
    assert close(found.chance_corrected, alpha)
    assert close(plain_alpha(of(panel)), slow(panel, level=False)[1])


@settings(deadline=None)
@given(panels())
def test_plain_alpha_is_that_of_the_reference(panel):
    """With the marginals as they are, alpha is the value of the package krippendorff."""
    krippendorff = pytest.importorskip("krippendorff")
    ours = plain_alpha(of(panel))
    if ours is not None:
        data = np.array([[np.nan if v is None else v for v in row] for row in panel])
        paired = data[:, (~np.isnan(data)).sum(axis=0) > 1]
        assert ours == pytest.approx(krippendorff.alpha(paired, level_of_measurement="nominal"), abs=1e-12)


def test_with_equal_sides_alpha_is_krippendorffs():
    """Where item_a and item_b were chosen equally often, the levelled alpha is the plain one."""
    frame = of([[1.0, 0.0, 1.0, 0.0, 0.5], [1.0, 0.0, 0.0, 1.0, 0.5]])
    assert agreement(frame).chance_corrected == pytest.approx(plain_alpha(frame))


@settings(deadline=None)
@given(panels(), st.randoms(use_true_random=False))
def test_names_sides_and_row_order_do_not_matter(panel, random):
    """Other names for the items of each context, turned rows and shuffled rows leave every figure as it is."""
    frame = of(panel)
    frame["item_a"], frame["item_b"] = frame["context"] + "a", frame["context"] + "b"
    names = [f"{u:02d}{side}" for u in range(len(panel[0])) for side in "ab"]
    new = dict(zip(names, random.sample(names, len(names)), strict=True))
    changed = frame.assign(item_a=frame["item_a"].map(new), item_b=frame["item_b"].map(new))
    turned = np.array([random.random() < 0.5 for _ in range(len(frame))])
    changed.loc[turned, ["item_a", "item_b"]] = changed.loc[turned, ["item_b", "item_a"]].to_numpy()
    changed.loc[turned, "p_a"] = 1 - changed.loc[turned, "p_a"]
    order = random.sample(range(len(frame)), len(frame))
    before, after = agreement(frame), agreement(changed.iloc[order])
    for name in ("mean", "coverage", "chance_corrected", "units", "asked"):
        assert close(getattr(before, name), getattr(after, name))
    pd.testing.assert_series_equal(follows(frame), follows(changed.iloc[order]), rtol=0, atol=1e-12)


def test_a_worked_example():
    """Two of three agree on one unit, both on another, one judge alone is not measured, failures are asked units."""
    frame = votes(
        ("x", "j", 1.0), ("x", "k", 1.0), ("x", "l", 0.5), ("y", "j", 0.0), ("y", "k", 0.0), ("y", "l", -1),
        ("z", "j", 1.0), ("w", "j", None),
    )  # fmt: skip
    found = agreement(frame)
    assert found.mean == pytest.approx((2 / 3 + 1) / 2)
    assert (found.units, found.asked, found.coverage) == (2, 4, 0.5)
    assert follows(frame).to_dict() == {"j": 0.75, "k": 0.75, "l": 0.0}


def test_nothing_measured_is_none():
    """Without a unit of two judges there is no mean and no alpha, and judges have NaN."""
    frame = votes(("x", "j", 1.0), ("y", "k", 0.0))
    assert agreement(frame) == Agreement(None, 0.0, None, 0, 2)
    assert follows(frame).isna().all()
    empty = frame[:0].astype({"p_a": float})
    assert agreement(empty) == Agreement(None, None, None, 0, 0)


def test_nothing_but_ties_has_no_alpha():
    """Where everyone always ties, agreement by chance is certain and alpha is not defined."""
    found = agreement(votes(("x", "j", 0.5), ("x", "k", 0.5)))
    assert (found.mean, found.chance_corrected) == (1.0, None)


def test_always_the_first_name_is_perfect_agreement():
    """Judges that agree on every unit have alpha 1, also where item_a always wins and plain alpha is undefined."""
    frame = votes(*((c, j, 1.0) for c in "xyz" for j in "jk"))
    assert agreement(frame).chance_corrected == 1.0
    assert plain_alpha(frame) is None


def test_coin_flips_agree_by_chance_only():
    """Independent coins, and independent judges who share a taste for one side of the alphabet, are told apart."""
    rng = np.random.default_rng(5)
    coins = agreement(of(rng.integers(0, 2, (4, 3000)).astype(float).tolist()))
    assert coins.chance_corrected == pytest.approx(0, abs=0.03)
    better_a = agreement(of((rng.random((4, 3000)) < 0.8).astype(float).tolist()))
    assert better_a.chance_corrected > 0.3


def test_many_rows_of_a_judge_are_one_opinion():
    """A judge's rows on a unit share one opinion by their counts; k equal rows are one of count k."""
    row = {"item_a": "a", "item_b": "b", "weight": 1}
    once = [row | {"judge": "j", "p_a": 0}, row | {"judge": "k", "p_a": 1}]
    heavy = [row | {"judge": "j", "p_a": 1, "weight": 3}, *once]
    split = [row | {"judge": "j", "p_a": 1}] * 3 + once
    found = agreement(heavy)
    assert found.mean == (0.75 + 1) / 2
    assert follows(heavy).to_dict() == {"j": 0.75, "k": 0.75}
    assert agreement(split) == found
    assert agreement(heavy[:2]).mean is None


def test_absent_rows_are_absent():
    """A row of weight 0 is neither an opinion nor a unit that was asked."""
    rows = votes(("x", "j", 1.0), ("x", "k", 1.0), ("y", "j", 1.0)).assign(weight=[1, 1, 0])
    assert agreement(rows) == Agreement(1.0, 1.0, 1.0, 1, 1)
