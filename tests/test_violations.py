"""What no order can follow: exact search, bounds, pieces."""

from itertools import permutations

import numpy as np
import pytest
from conflicts_support import RING, drawn, found, wins
from hypothesis import given, settings
from hypothesis import strategies as st

import juryrank as jr
from juryrank.conflicts.ballots import ballots
from juryrank.conflicts.bounds import least_at_least, least_at_most
from juryrank.conflicts.exact import least_exact
from juryrank.conflicts.kemeny import EXACT, violations


def slow_least(margin):
    """The least that an order contradicts, over all orders."""
    n = len(margin)
    return min(sum(margin[o[j], o[i]] for i in range(n) for j in range(i + 1, n)) for o in permutations(range(n)))


def margins(rng, n, density=1.0):
    """A random matrix of margins: whole numbers, one way per pair."""
    upper = np.triu(rng.integers(-5, 6, (n, n)) * (rng.random((n, n)) < density), 1)
    return (np.maximum(upper, 0) + np.maximum(-upper, 0).T).astype(float)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6), st.floats(0.3, 1.0))
def test_exact_search_is_exact(seed, n, density):
    """The subset recursion finds what trying every order finds."""
    margin = margins(np.random.default_rng(seed), n, density)
    assert least_exact(margin) == pytest.approx(slow_least(margin))


def test_exact_search_is_exact_for_seven():
    """The same for seven items."""
    margin = margins(np.random.default_rng(0), 7)
    assert least_exact(margin) == slow_least(margin)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 10))
def test_bounds_hold_the_exact_value_between_them(seed, n):
    """The packing of cycles is never above the exact least, and the order found never below."""
    margin = margins(np.random.default_rng(seed), n)
    exact = least_exact(margin)
    assert least_at_least(margin) <= exact + 1e-9
    assert least_at_most(margin, [np.arange(n)]) >= exact - 1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_pieces_add_up(seed):
    """Two random halves, one ahead of the other, are solved piece by piece as they are in one."""
    rng = np.random.default_rng(seed)
    margin = np.zeros((10, 10))
    margin[:5, :5], margin[5:, 5:], margin[:5, 5:] = margins(rng, 5), margins(rng, 5), rng.integers(0, 3, (5, 5))
    names = [f"i{place}" for place in rng.permutation(10)]
    source = wins(*((names[i], names[j], margin[i, j]) for i, j in zip(*np.nonzero(margin), strict=True)))
    result = found(source, draws=0)
    assert result.violations_exact
    assert result.violations_least == pytest.approx(least_exact(margin))
    assert result.violations_of_ranking >= result.violations_least
    assert result.wins == margin.sum()


def test_many_pieces_reach_further_than_one():
    """Sixty items in rings of three that are ordered among themselves are exact: one win a ring, and the minority votes."""
    rings_ = [(f"{k:02}{a}", f"{k:02}{b}", w) for k in range(20) for a, b, w in RING]
    between = [(f"{k:02}A", f"{k + 1:02}A", 3) for k in range(19)]
    result = found(wins(*rings_, *between), draws=0)
    assert result.violations_exact
    assert result.minority_wins == 20 * 15
    assert result.violations_least == result.violations_bound == 20 * (15 + 25)


def test_large_pieces_are_bounded(monkeypatch):
    """Beyond the exact size the least lies between the bounds, which say so."""
    source = drawn(7, items=EXACT, judges=1, spread=0.0)
    fit = jr.fit_bt(source)
    exact = violations(fit, ballots(fit, source))
    monkeypatch.setattr("juryrank.conflicts.kemeny.EXACT", 3)
    bounded = violations(fit, ballots(fit, source))
    assert exact.exact and not bounded.exact
    assert bounded.least <= exact.least <= bounded.bound <= bounded.of_ranking


def test_a_followed_order_contradicts_nothing():
    """Wins in one order are all followed by the ranking, and by every measure."""
    result = found(wins(("A", "B", 4), ("B", "C", 4), ("A", "C", 4)))
    assert (result.violations_least, result.violations_of_ranking, result.minority_wins) == (0, 0, 0)
    assert result.violations_exact


def test_the_ring_contradicts_one_side():
    """Thirty to five three times: fifteen minority wins, twenty-five more for the cheapest cut, and half of all level."""
    result = found(wins(*RING))
    assert (result.wins, result.minority_wins, result.violations_least) == (105, 15, 40)
    assert result.violations_of_ranking == pytest.approx(52.5)
