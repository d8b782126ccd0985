"""The reference numbers of the cases, the panel model (C-44, C-45) and the traps of numbers and imports (C-49)."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import juryrank as jr
from juryrank import fitting
from juryrank.solver import Damping

SOURCES = str(Path(jr.__file__).parents[1])


def wins(*pairs: tuple[str, str, float, float], **columns: object) -> pd.DataFrame:
    """A frame of opinions from (a, b, wins of a, wins of b), one row per side that won."""
    rows = []
    for a, b, for_a, for_b in pairs:
        rows += [(a, b, p, weight) for p, weight in ((1.0, for_a), (0.0, for_b)) if weight]
    return pd.DataFrame(rows, columns=["item_a", "item_b", "p_a", "weight"]).assign(**columns)


def plain(frame: object, **options: object) -> jr.Fit:
    """Maximum likelihood without sigmas."""
    return jr.fit_bt(frame, judge_sigma=False, **{"prior": None, **options})


def run(code: str) -> str:
    """Standard output of a fresh interpreter."""
    environment = os.environ | {"PYTHONPATH": SOURCES}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# data, strengths, standard errors of single strengths (None: not published) and of differences
REFERENCE = {
    "3-1": (
        [("A", "B", 3, 1)],
        {"A": 0.549306, "B": -0.549306},
        {"A": 0.577350, "B": 0.577350},
        {"AB": 1.154701},
    ),
    "7-3": (
        [("A", "B", 7, 3)],
        {"A": 0.423649, "B": -0.423649},
        {"A": 0.345033, "B": 0.345033},
        {"AB": 0.690066},
    ),
    "W": (
        [("A", "B", 2, 3), ("A", "D", 1, 4), ("B", "C", 5, 3), ("C", "D", 1, 3)],
        {"A": -0.446545, "B": 0.042403, "C": -0.415803, "D": 0.819946},
        {"A": 0.548070, "B": 0.481781, "C": 0.520401, "D": 0.621343},
        {"AB": 0.817013, "AC": 0.948393, "AD": 0.907711, "BC": 0.675948, "BD": 0.996700, "CD": 0.957232},
    ),
    "twice": (
        [("0", "1", 2, 0), ("1", "2", 1, 0), ("2", "0", 1, 0)],
        {"0": 0.419618, "1": -0.419618, "2": 0},
        {},
        {"01": 1.359562, "02": 1.597323, "12": 1.597323},
    ),
    "ring": (
        [("A", "B", 1, 0), ("B", "C", 1, 0), ("C", "A", 1, 0)],
        {"A": 0, "B": 0, "C": 0},
        {},
        {"AB": 1.632993, "AC": 1.632993, "BC": 1.632993},
    ),
    "cycle": (
        [("A", "B", 8, 3), ("B", "C", 7, 2), ("C", "A", 6, 5)],
        {"A": 0.246345, "B": 0.017178, "C": -0.263524},
        {},
        {"AB": 0.506162, "AC": 0.513276, "BC": 0.532350},
    ),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_numbers(name: str) -> None:
    """Strengths, errors of centred strengths and errors of differences are the published ones to six digits."""
    pairs, strengths, single, differences = REFERENCE[name]
    fit = plain(wins(*pairs))
    assert fit.strengths.to_dict() == pytest.approx(strengths, abs=6e-7)
    for item, stderr in single.items():
        assert fit.stderr[item] == pytest.approx(stderr, abs=6e-7)
    covariance = fit.covariance()
    for (a, b), stderr in differences.items():
        assert fit.contrast(a, b).stderr == pytest.approx(stderr, abs=6e-7)
        variance = covariance.loc[a, a] + covariance.loc[b, b] - 2 * covariance.loc[a, b]
        assert math.sqrt(variance) == pytest.approx(stderr, abs=6e-7)
    assert covariance.sum().abs().max() < 1e-12
    assert fit.converged


def test_reference_numbers_on_the_elo_scale() -> None:
    """Three to one is 95.424 Elo points above the mean, and seven to three is 73.595."""
    for pair, elo in ((("A", "B", 3, 1), 95.424), (("A", "B", 7, 3), 73.595)):
        assert plain(wins(pair)).strengths["A"] * 400 / math.log(10) == pytest.approx(elo, abs=6e-4)


def test_c23_differences_know_no_anchor() -> None:
    """Differences and their errors in dataset W are those of any anchor."""
    fit = plain(wins(*REFERENCE["W"][0]))
    contrasts = fit.contrast("B", "C"), fit.contrast("D", "A"), fit.contrast("C", "B")
    assert [c.estimate for c in contrasts] == pytest.approx([0.458206, 1.266491, -0.458206], abs=1e-6)
    assert [c.stderr for c in contrasts] == pytest.approx([0.675948, 0.907711, 0.675948], abs=1e-6)


PANEL = pd.concat([wins(("A", "B", 9, 1), judge="one"), wins(("A", "B", 6, 2), judge="two")])


def test_c44_the_scale_of_sigmas_is_fixed() -> None:
    """Judges of 9-1 and 6-2 give a gap of sqrt(2) ln 3 and sigmas of sqrt(1/2) and sqrt(2)."""
    fit = jr.fit_bt(PANEL, prior=None)
    assert fit.contrast("A", "B").estimate == pytest.approx(1.553672, abs=1e-6)
    assert fit.sigmas["one"] == pytest.approx(0.707107, abs=1e-6)
    assert fit.sigmas["two"] == pytest.approx(1.414214, abs=1e-6)
    assert fit.probability("A", "B", "one") == pytest.approx(0.9, abs=1e-9)
    assert fit.probability("A", "B", "two") == pytest.approx(0.75, abs=1e-9)
    assert fit.probability("A", "B") == pytest.approx(expit(1.553672), abs=1e-6)


def test_c44_one_judge_is_plain() -> None:
    """A lone judge gets no sigma: the fit is plain Bradley-Terry, and a warning says so."""
    frame = wins(*REFERENCE["W"][0], judge="only")
    fit = jr.fit_bt(frame, prior=None)
    assert fit.strengths.to_numpy() == pytest.approx(plain(frame).strengths.to_numpy(), abs=1e-9)
    assert fit.model == "bt"
    assert any("lone judge" in text for text in fit.warnings)


@pytest.mark.parametrize("prior", [None, jr.Prior()])
def test_c44_judges_who_say_the_same_have_the_same_sigma(prior: jr.Prior | None) -> None:
    """Two identical judges have sigma 1, and without a prior the strengths of the pooled fit."""
    one = wins(*REFERENCE["W"][0])
    fit = jr.fit_bt(pd.concat([one.assign(judge="x"), one.assign(judge="y")]), prior=prior)
    assert fit.sigmas.to_numpy() == pytest.approx([1, 1], abs=1e-8)
    if prior is None:
        assert fit.strengths.to_numpy() == pytest.approx(plain(one).strengths.to_numpy(), abs=1e-8)


def test_c45_rows_that_are_copies_are_grouped() -> None:
    """A thousand copies of a row and one row of weight 1000 agree to 1e-9 and cost one row of counts."""
    row = wins(*REFERENCE["W"][0])
    copies = pd.concat([row.loc[row.index.repeat(row["weight"])].assign(weight=1.0)] * 1000)
    grouped, single = plain(row.assign(weight=row["weight"] * 1000)), plain(copies)
    assert single.strengths.to_numpy() == pytest.approx(grouped.strengths.to_numpy(), abs=1e-9)
    assert single.stderr.to_numpy() == pytest.approx(grouped.stderr.to_numpy(), abs=1e-9)
    assert len(jr.tally(jr.read(copies))) == len(jr.tally(jr.read(row))) == 4


def test_c49d_counts_beyond_float32() -> None:
    """A count over 16,777,216 is exact in the tally, and the fit tells it from one less."""
    big = 16_777_217
    frame = pd.concat([wins(("A", "B", big - 1, big - 1)), wins(("A", "B", 1, 0))])
    assert jr.tally(jr.read(frame)).frame["win_a"].sum() == big
    estimate = plain(frame).contrast("A", "B").estimate
    assert estimate == pytest.approx(math.log(big / (big - 1)), abs=1e-9)
    assert estimate > 0


@pytest.mark.parametrize("exponent", [20, 30, 34, 40])
def test_c49d_a_rare_loss_keeps_its_logarithm(exponent: int) -> None:
    """At gaps of 20 to 40 the log-likelihood of a single loss is minus the gap, and its probability keeps all digits."""
    heavy = math.exp(exponent)
    fit = plain(wins(("A", "B", heavy, 1)))
    gap = fit.contrast("A", "B").estimate
    assert gap == pytest.approx(exponent, abs=1e-7 if fit.converged else 1)
    rare = math.log1p(math.exp(-gap))
    assert fit.log_likelihood == pytest.approx(-heavy * rare - gap - rare, abs=1e-9)
    assert fit.probability("B", "A") == pytest.approx(math.exp(-gap) / (1 + math.exp(-gap)), rel=1e-12)
    assert fit.converged or any("NOT converged" in text for text in fit.warnings)


def test_c49d_the_global_precision_of_jax_is_left_alone() -> None:
    """Small and compiled fits run in float64 and leave jax in the precision that they found."""
    import jax
    import jax.numpy as jnp

    before = jax.config.jax_enable_x64
    rng = np.random.default_rng(0)
    n, judges = 4000, 60
    a = rng.integers(30, size=n)
    b = (a + rng.integers(1, 30, size=n)) % 30
    frame = pd.DataFrame({"judge": rng.integers(judges, size=n), "item_a": a, "item_b": b})
    frame["p_a"] = (rng.random(n) < expit((a - b) / 10)).astype(float)
    for source in (PANEL, frame):
        fit = jr.fit_bt(source)
        assert fit.strengths.dtype == np.float64
        assert fit.converged
        assert jax.config.jax_enable_x64 == before
        assert jnp.arange(3.0).dtype == (jnp.float64 if before else jnp.float32)


@pytest.mark.parametrize("prior", [None, jr.Prior()])
def test_c49e_the_reported_gradient_is_the_gradient(prior: jr.Prior | None) -> None:
    """A gradient written out by hand at the reported strengths is as small as the fit says."""
    pairs = REFERENCE["W"][0]
    fit = plain(wins(*pairs), prior=prior)
    s = fit.strengths
    width = prior.strength_sd if prior else None
    gradient = {item: -s[item] / width**2 if width else 0.0 for item in s.index}
    for a, b, for_a, for_b in pairs:
        excess = for_a - (for_a + for_b) * expit(s[a] - s[b])
        gradient[a] += excess
        gradient[b] -= excess
    largest = max(map(abs, gradient.values()))
    assert fit.converged
    assert fit.gradient_norm <= 1e-9 * 13
    assert largest <= 1e-9 * 13
    assert largest == pytest.approx(fit.gradient_norm, abs=1e-10)


def test_c49e_a_fit_that_did_not_converge_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that is stopped after one step reports converged = False, its gradient, and a loud warning."""
    monkeypatch.setattr(fitting, "CONCAVE", Damping(start=1e-3, iterations=1))
    ranking = jr.rank(wins(*REFERENCE["W"][0]), prior=None)
    assert not ranking.fit.converged
    assert ranking.fit.gradient_norm > 1e-6
    assert any("NOT converged" in text for text in ranking.warnings)
    assert ranking.to_dict()["fit"]["converged"] is False


@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e9, 1e12])
def test_c49e_lopsided_counts_converge(ratio: float) -> None:
    """Records as lopsided as a trillion to one still end at their known gap, converged."""
    fit = plain(wins(("A", "B", ratio, 1), ("B", "C", ratio, 1)))
    assert fit.converged
    assert fit.contrast("A", "C").estimate == pytest.approx(2 * math.log(ratio), abs=1e-7)


def test_c49g_importing_loads_neither_jax_nor_pandas() -> None:
    """Importing the package and listing its names loads no jax and no pandas."""
    heavy = "[m for m in ('jax', 'jaxlib', 'pandas', 'scipy', 'networkx') if m in sys.modules]"
    assert run(f"import sys, juryrank; dir(juryrank); juryrank.__version__; print({heavy})") == "[]"


def test_c49g_a_small_fit_starts_no_device() -> None:
    """Reading, reconciling and a small fit never load jax, so no device is touched."""
    code = (
        "import sys, pandas as pd, juryrank as jr\n"
        "rows = [('a', 'b', 'first'), ('b', 'a', 'second'), ('a', 'b', 'second')]\n"
        "jr.reconcile(jr.read(pd.DataFrame(rows, columns=['first', 'second', 'outcome'])))\n"
        "print('jax' in sys.modules)"
    )
    assert run(code) == "False"


def test_c49i_ids_of_mixed_type_are_refused_or_kept_apart() -> None:
    """The ids 1 and "1" together are an error, and 1, 10 and "b" are three texts in a stable order."""
    with pytest.raises(jr.InputError, match="1"):
        jr.rank(pd.DataFrame({"item_a": [1, "1"], "item_b": ["b", "b"], "p_a": [1, 0]}))
    frame = pd.DataFrame({"item_a": [10, 1, "b"], "item_b": [1, "b", 10], "p_a": 1.0})
    for rows in (frame, frame.iloc[::-1]):
        assert list(plain(rows).strengths.index) == ["1", "10", "b"]
        assert [row["item"] for row in jr.rank(rows).to_dict()["ranking"]] == ["1", "10", "b"]
    assert list(plain(pd.DataFrame({"item_a": [2, 10], "item_b": [10, 2], "p_a": 1})).strengths.index) == ["10", "2"]


def rows(*opinions: tuple) -> pd.DataFrame:
    """Opinions as (item_a, item_b, p_a[, slot[, judge]])."""
    filled = [(*row, *(0, "j")[len(row) - 3 :]) for row in opinions]
    return pd.DataFrame(filled, columns=["item_a", "item_b", "p_a", "slot", "judge"])


# Every opinion can be met ever better by strengths, tie parameter and slot bias that grow together: no maximum exists.
NO_MAXIMUM = {
    "davidson, a win and a tie": (rows(("A", "B", 1), ("A", "B", 0.5)), {"ties": "davidson"}),
    "rao-kupper, a win and a tie": (rows(("A", "B", 1), ("A", "B", 0.5)), {"ties": "rao-kupper"}),
    "davidson, a path of ties": (
        rows(("c", "d", 0.5), ("a", "c", 0.5), ("b", "d", 0.5), ("b", "d", 1)),
        {"ties": "davidson"},
    ),
    "davidson, a win apart from a tie": (rows(("A", "B", 1), ("C", "D", 0.5)), {"ties": "davidson"}),
    "rao-kupper, a win apart from a tie": (rows(("A", "B", 1), ("C", "D", 0.5)), {"ties": "rao-kupper"}),
    "a slot bias that grows with a gap": (rows(("b", "c", 0.5), ("b", "d", 0.5, -1), ("c", "d", 1)), {"slot_bias": True}),
    "a judge of one slot": (
        rows(("a", "b", 1, -1, "j"), *[("a", "b", 1, s, "k") for s in (-1, -1, 1, -1)], ("a", "b", 0, 0, "j")),
        {"slot_bias": True},
    ),
}


@pytest.mark.parametrize("name", NO_MAXIMUM)
def test_c01_no_maximum_is_said_in_every_model(name: str) -> None:
    """Where strengths, tie parameter and slot bias have no finite maximum a fit refuses, or gives no bare finite number."""
    frame, options = NO_MAXIMUM[name]
    try:
        fit = plain(frame, **options)
    except jr.JuryrankError:
        return
    settled = np.isfinite(fit.strengths).all() and np.isfinite(fit.slot_biases).all()
    assert fit.warnings
    assert not (settled and fit.converged)


@pytest.mark.parametrize("prior", [None, jr.Prior(None, None, None, pseudo_wins=1), jr.Prior()])
def test_c03_a_gap_that_a_slot_bias_explains_as_well_is_said_to_be_open(prior: jr.Prior | None) -> None:
    """Where one pair is always shown one way round a fitted slot bias leaves its gap undefined, and a warning says so."""
    frame = rows(*[("A", "B", p, 1) for p in (1, 1, 1, 0)])
    try:
        fit = plain(frame, slot_bias=True, prior=prior)
    except jr.JuryrankError:
        return
    assert fit.warnings


# Judges of whom one is perfect, or both contradict each other: sigma has no finite maximum.
NO_SIGMA = {
    "opposed": (rows(("a", "c", 0, 0, "j"), ("a", "c", 1, -1, "k")), {"slot_bias": True}),
    "one perfect": (
        rows(
            *[("a", "b", 1, 0, "j"), ("b", "d", 0, 0, "k"), ("a", "b", 0, 0, "j"), ("a", "d", 0.5, 0, "j")],
            *[("a", "d", 0, 0, "j"), ("b", "d", 0, 0, "k"), ("b", "d", 0, 0, "k"), ("a", "d", 1, 0, "k")],
        ),
        {},
    ),
}


@pytest.mark.parametrize("name", NO_SIGMA)
def test_c49e_a_fit_without_a_maximum_is_no_crash(name: str) -> None:
    """A BT-sigma likelihood without a maximum ends in a refusal or a warning, never in an error of linear algebra."""
    frame, options = NO_SIGMA[name]
    try:
        fit = jr.fit_bt(frame, prior=None, **options)
    except jr.JuryrankError:
        return
    assert fit.warnings
