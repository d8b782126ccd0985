"""Property tests of `juryrank.formats.read`: what was written comes back."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from juryrank.formats import read
from juryrank.tables import OUTCOMES

# Neither NUL nor half characters: no CSV file can hold the former, and no file the latter.
IDS = st.one_of(
    st.sampled_from(
        ["NA", "None", "007", "7", "tie", "null", "nan", "first", "true", "1e3", "a,b", '"', "'", "é", "e\u0301"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6).filter(str.strip),
)


@st.composite
def judgments(draw: st.DrawFn) -> pd.DataFrame:
    """Up to a dozen showings of odd ids, with numbers and a further column."""
    items = draw(st.lists(IDS, min_size=2, max_size=6, unique=True))
    n = draw(st.integers(1, 12))
    pairs = draw(st.lists(st.permutations(items), min_size=n, max_size=n))
    column = {"min_size": n, "max_size": n}
    return pd.DataFrame(
        {
            "context": draw(st.lists(st.one_of(st.just(""), IDS), **column)),
            "judge": draw(st.lists(IDS, **column)),
            "first": [p[0] for p in pairs],
            "second": [p[1] for p in pairs],
            "outcome": draw(st.lists(st.sampled_from(list(OUTCOMES)), **column)),
            "p_first": draw(st.lists(st.one_of(st.just(np.nan), st.floats(0, 1)), **column)),
            "repetition": np.arange(n),
            "weight": draw(st.lists(st.floats(0, 1e6), **column)),
            "note": draw(st.lists(IDS, **column)),
        },
    ).astype(dict.fromkeys(["context", "judge", "first", "second", "outcome", "note"], object))


def _same(left: pd.DataFrame, right: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(left, right, check_dtype=False, rtol=1e-12)


@settings(max_examples=150, deadline=None)
@given(judgments())
def test_judgments_survive_every_kind_of_file(frame: pd.DataFrame) -> None:
    """Any table of judgments comes back from CSV, JSONL and Parquet as it was, odd ids included."""
    made = read(frame).frame
    assert made["first"].tolist() == frame["first"].tolist()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        made.to_csv(path / "t.csv", index=False, quoting=csv.QUOTE_ALL)
        made.to_json(path / "t.jsonl", orient="records", lines=True, double_precision=15)
        made.to_parquet(path / "t.parquet", index=False)
        for name in ("t.csv", "t.jsonl", "t.parquet"):
            _same(read(path / name).frame, made)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("DEF"), *[st.integers(0, 3)] * 3), max_size=8))
def test_the_counts_of_a_wins_table_are_its_weights(rows: list[tuple[str, str, int, int, int]]) -> None:
    """What comes out of a wins table weighs as much as what went in, per result."""
    frame = pd.DataFrame(rows, columns=["item_a", "item_b", "win_a", "win_b", "tie"])
    made = read(frame).frame
    for p, name in ((1.0, "win_a"), (0.0, "win_b"), (0.5, "tie")):
        assert made.loc[made["p_a"] == p, "weight"].sum() == frame[name].sum()
    assert (made["weight"] > 0).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0, 0.5, 1])), min_size=1, max_size=8))
def test_the_winner_does_not_depend_on_how_an_outcome_is_stored(rows: list[tuple[bool, float]]) -> None:
    """Swapping the items of a row with its order and its outcome changes no showing."""
    stored = [{"item_a": "x", "item_b": "y", "outcome_a": o, "order": int(s)} for s, o in rows]
    turned = [{"item_a": "y", "item_b": "x", "outcome_a": 1 - o, "order": 1 - int(s)} for s, o in rows]
    _same(read(stored).frame, read(turned).frame)
