"""Repeated showings count for what they tell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import juryrank as jr


def showings(seed: int, stubborn: float, passes: int, questions: int = 200) -> pd.DataFrame:
    """Two judges on four items; a judge keeps its first answer to a showing with probability `stubborn`."""
    rng = np.random.default_rng(seed)
    rows = []
    for q in range(questions):
        first, second = rng.permutation(4)[:2]
        for judge in "uv":
            p = 1 / (1 + np.exp(-0.7 * (second - first)))
            kept = rng.random() < p
            for k in range(passes):
                says = kept if rng.random() < stubborn else rng.random() < p
                row = {"context": f"q{q}", "judge": judge, "first": f"i{first}", "second": f"i{second}"}
                rows.append(row | {"outcome": "first" if says else "second", "repetition": k})
    return pd.DataFrame(rows)


def test_a_judge_that_repeats_itself_is_heard_once():
    """Passes that always agree give the strengths and errors of one pass; counted as votes, errors are half."""
    rows = showings(0, 1.0, 4)
    once = jr.rank(rows[rows["repetition"] == 0], on="showings", slot_bias="no")
    four = jr.rank(rows, on="showings", slot_bias="no")
    votes = jr.rank(rows, on="showings", slot_bias="no", repeats="votes", covariance="model")
    assert four.fit.strengths.to_numpy() == pytest.approx(once.fit.strengths.to_numpy(), abs=0.03)
    assert four.fit.stderr.to_numpy() == pytest.approx(once.fit.stderr.to_numpy(), rel=0.03)
    assert votes.fit.stderr.to_numpy() == pytest.approx(once.fit.stderr.to_numpy() / 2, rel=0.05)
    assert any("correlation within a showing: u 1.00, v 1.00" in text for text in four.warnings)


def test_passes_that_are_drawn_anew_are_votes():
    """Independent passes have a correlation near 0, and count nearly in full."""
    rows = showings(1, 0.0, 4)
    effective, votes = (jr.rank(rows, on="showings", slot_bias="no", repeats=how) for how in ("effective", "votes"))
    assert effective.fit.stderr.to_numpy() == pytest.approx(votes.fit.stderr.to_numpy(), rel=0.1)


@pytest.mark.parametrize("stubborn", [0.5, 0.8])
def test_the_correlation_is_the_one_planted(stubborn):
    """Passes that keep the first answer with chance t have correlation t^2, give or take a tenth."""
    from juryrank.repeats import effective

    judgments = jr.read(showings(2, stubborn, 4, questions=400))
    fit = jr.fit_bt(judgments)
    found = effective(judgments, fit)
    assert found is not None
    assert found[1].to_numpy() == pytest.approx(np.full(2, stubborn**2), abs=0.1)


def test_a_row_of_weight_k_is_k_passes():
    """Weight 3 and three equal repetitions are worth the same."""
    rows = showings(3, 1.0, 1)
    weighted = jr.rank(rows.assign(weight=3.0), on="showings", slot_bias="no")
    repeated = jr.rank(pd.concat([rows.assign(repetition=k) for k in range(3)]), on="showings", slot_bias="no")
    assert weighted.fit.strengths.to_numpy() == pytest.approx(repeated.fit.strengths.to_numpy(), abs=1e-8)


def test_without_repetitions_nothing_changes():
    """Single showings are fitted as they are, and nothing is said of repetitions."""
    rows = showings(4, 1.0, 1)
    ranking = jr.rank(rows, on="showings")
    assert ranking.fit.strengths.equals(jr.rank(rows, on="showings", repeats="votes").fit.strengths)
    assert not any("within a showing" in text for text in ranking.warnings)


def test_an_unknown_way_is_refused():
    """A way to count repetitions that does not exist is an error that lists the ways."""
    with pytest.raises(jr.SettingsError, match="effective, votes"):
        jr.rank(showings(5, 1.0, 2, questions=20), on="showings", repeats="half")
