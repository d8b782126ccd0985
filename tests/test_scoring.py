"""Scores of foretold opinions against slow loops and closed forms."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logit

from juryrank.likelihoods import log_share, probabilities
from juryrank.scoring import accuracy, calibration_error, calibration_slope, log_loss, mean_and_error


@pytest.fixture
def rows():
    """Two hundred opinions with what was foretold, a weight and a group."""
    rng = np.random.default_rng(5)
    q = rng.uniform(0.03, 0.97, 200)
    said = np.where(rng.random(200) < 0.2, 0.5, (rng.random(200) < q).astype(float))
    return said, q, rng.integers(1, 4, 200).astype(float), rng.integers(0, 30, 200)


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_share_is_a_win_and_half_a_tie(ties):
    """The log share is that of P(a wins) + P(tie) / 2, and the two sides sum to one."""
    z = np.linspace(-12, 12, 49)
    a, _, tie = probabilities(ties, z, 0.7)
    np.testing.assert_allclose(np.exp(log_share(ties, z, 0.7)), a + tie / 2, rtol=1e-9)
    np.testing.assert_allclose(np.exp(log_share(ties, z, 0.7)) + np.exp(log_share(ties, -z, 0.7)), 1, rtol=1e-14)


def test_share_keeps_its_digits_far_out():
    """At z = -60, where 1 - P(b) rounds to nothing, the shares have their asymptotic logs."""
    z, c = np.array([-60.0]), 0.7
    assert log_share("half", z, c)[0] == pytest.approx(-60, abs=1e-12)
    assert log_share("rao-kupper", z, c)[0] == pytest.approx(-60 + math.log(math.cosh(c)), abs=1e-12)
    assert log_share("davidson", z, c)[0] == pytest.approx(-30 + c - math.log(2), abs=1e-9)


def test_loss_of_the_impossible_is_free_where_it_did_not_happen():
    """A certain outcome that came costs nothing, one that failed to come costs infinitely much."""
    certain, impossible = np.zeros(2), np.full(2, -np.inf)
    np.testing.assert_array_equal(log_loss(np.array([1.0, 0.0]), certain, impossible), [0.0, np.inf])


def test_accuracy_is_over_decided_rows():
    """Ties are left out, an even forecast is half right, and a weight of two counts twice."""
    p, q = np.array([1.0, 0.0, 0.5, 1.0, 1.0]), np.array([0.9, 0.8, 0.9, 0.5 + 1e-12, 0.6])
    assert accuracy(p, q, np.array([1.0, 1.0, 1.0, 1.0, 2.0])) == pytest.approx((1 + 0 + 0.5 + 2) / 5)
    assert math.isnan(accuracy(np.array([0.5]), np.array([0.9]), np.ones(1)))


def test_slope_is_the_maximum(rows):
    """Newton's slope is where a scalar search puts the maximum of the likelihood."""
    p, q, weight, _ = rows
    x = 3 * logit(q)

    def loss(slope):
        return (weight * (p * np.logaddexp(0, -slope * x) + (1 - p) * np.logaddexp(0, slope * x))).sum()

    expected = minimize_scalar(loss, bounds=(0, 3), method="bounded", options={"xatol": 1e-9}).x
    assert calibration_slope(p, x, weight) == pytest.approx(expected, abs=1e-6)
    assert calibration_slope(1 - p, x, weight) == pytest.approx(-expected, abs=1e-6)


def test_slope_of_one_wrong_row_in_many_is_found():
    """A slope that is large but finite is found: log(999) for 999 rows right and one wrong at logit 1."""
    p = np.append(np.ones(999), 0.0)
    assert calibration_slope(p, np.ones(1000), np.ones(1000)) == pytest.approx(math.log(999))


@pytest.mark.parametrize(("p", "x"), [([1, 0], [2, -1]), ([0, 1], [2, -1]), ([1, 0], [0, 0]), ([], [])])
def test_slope_without_a_maximum_is_missing(p, x):
    """Where all rows stand with the forecast, or all against it, or nothing is foretold, there is no slope."""
    assert math.isnan(calibration_slope(np.array(p, float), np.array(x, float), np.ones(len(p))))


def test_calibration_error_is_the_loop_over_bins(rows):
    """The expected calibration error over ten bins is what a loop over the bins gives, with q = 1 in the last."""
    p, q, weight, _ = rows
    p, q, weight = np.append(p, 0.0), np.append(q, 1.0), np.append(weight, 2.0)
    total = 0.0
    for low in range(10):
        inside = (q >= low / 10) & ((q < (low + 1) / 10) | (low == 9))
        if inside.any():
            w = weight[inside]
            total += w.sum() * abs((w * p[inside]).sum() / w.sum() - (w * q[inside]).sum() / w.sum())
    assert calibration_error(p, q, weight) == pytest.approx(total / weight.sum())


def test_standard_error_takes_groups_as_units(rows):
    """The error of a mean is a loop over groups, and with one row a group the usual one."""
    p, q, weight, group = rows
    mean, error = mean_and_error(p - q, weight, group)
    total = sum(((weight * (p - q - mean))[group == g].sum()) ** 2 for g in set(group))
    n = len(set(group))
    assert error == pytest.approx(math.sqrt(n / (n - 1) * total) / weight.sum())
    alone = mean_and_error(q, np.ones(200), np.arange(200))[1]
    assert alone == pytest.approx(q.std(ddof=1) / math.sqrt(200))
    assert math.isnan(mean_and_error(q, weight, np.zeros(200, int))[1])
