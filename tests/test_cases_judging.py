"""Cases C-28 to C-36, C-38 and C-43, and the nine-row table of two orders, through the public names."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import juryrank as jr

SOURCES = str(Path(jr.__file__).parents[1])

# original (X first), flipped (Y first), lenient, strict: status and winner; the last two rows are the trap
NINE = [
    ("first", "second", ("win", "X"), ("win", "X")),
    ("second", "first", ("win", "Y"), ("win", "Y")),
    ("first", "tie", ("win", "X"), ("disagreement", None)),
    ("second", "tie", ("win", "Y"), ("disagreement", None)),
    ("tie", "tie", ("tie", None), ("tie", None)),
    ("first", "first", ("disagreement", None), ("disagreement", None)),
    ("second", "second", ("disagreement", None), ("disagreement", None)),
    ("tie", "second", ("win", "X"), ("disagreement", None)),
    ("tie", "first", ("win", "Y"), ("disagreement", None)),
]


def showings(*rows: tuple[str, ...], **columns: object) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["first", "second", "outcome"]).assign(**columns)


def pair(x: str, y: str, original: str, flipped: str) -> pd.DataFrame:
    return showings((x, y, original), (y, x, flipped))


@pytest.mark.parametrize(("original", "flipped", "lenient", "strict"), NINE)
@pytest.mark.parametrize(("x", "y"), [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("stored", ["original first", "flipped first"])
def test_c32_the_nine_rows(original: str, flipped: str, lenient: tuple, strict: tuple, x: str, y: str, stored: str) -> None:
    """Each row of the table gives its status and its winner under both policies, wherever X stands in the alphabet."""
    names = {"X": x, "Y": y, None: None}
    frame = pair(x, y, original, flipped)
    if stored == "flipped first":
        frame = frame.iloc[::-1]
    for policy, (status, winner) in (("lenient", lenient), ("strict", strict)):
        row = jr.reconcile(frame, policy).frame.iloc[0]
        assert (row["status"], row["winner"]) == (status, names[winner])
        scalar = jr.reconcile_pair(original, flipped, policy, items=(x, y))
        assert (scalar.status, scalar.winner) == (status, names[winner])
        share = {"win": float(names[winner] == min(x, y)), "tie": 0.5, "disagreement": 0.5}[status]
        assert row["p_a"] == share
        assert (row["orders"], row["slot"], row["completed"]) == (2, 0, True)
        assert row["flipped"] == (strict[0] == "disagreement")


def test_c32_a_judge_that_always_says_first() -> None:
    """Ten pairs answered "first" both ways are no wins, ten disagreements and a flip rate of one."""
    rows = [row for i in range(10) for row in (("a", f"b{i}", "first"), (f"b{i}", "a", "first"))]
    document = jr.rank(showings(*rows)).to_dict()
    assert document["counts"] == {"win": 0, "tie": 0, "uncertain": 0, "disagreement": 10, "failure": 0}
    assert document["judges"][0]["flip_rate"] == 1.0
    assert document["judges"][0]["first_share"] == 1.0
    assert all(row["wins"] == row["losses"] == row["points"] == 0 for row in document["ranking"])
    assert all(row["decided_by"] == "id" for row in document["ranking"])
    assert document["warnings"]


def test_c33_one_pair_judged_both_ways_is_one_comparison() -> None:
    """Two showings of one pair are one comparison whose winner is an item, and two calls."""
    ranking = jr.rank(pair("x", "a", "first", "second"))
    document = ranking.to_dict()
    assert sum(document["counts"].values()) == document["fit"]["comparisons"] == 1
    assert document["scheduled_calls"] == 2
    assert [row["item"] for row in document["ranking"]] == ["x", "a"]
    assert ranking.fit.probability("x", "a") > 0.5


def test_c34_an_order_that_failed_makes_the_pair_a_failure() -> None:
    """A win beside an API error is a failure, and beside an order never asked a single-order win with its own mark."""
    failed = jr.reconcile(pair("a", "b", "first", "failure")).frame.iloc[0]
    assert (failed["status"], failed["winner"], failed["failures"]) == ("failure", None, 1)
    assert math.isnan(failed["p_a"])
    assert not failed["completed"]
    for first, second, outcome, slot in (("a", "b", "first", 1), ("b", "a", "second", -1)):
        alone = jr.reconcile(showings((first, second, outcome))).frame.iloc[0]
        assert (alone["status"], alone["winner"]) == ("win", "a")
        assert (alone["orders"], alone["slot"], alone["completed"], alone["flipped"]) == (1, slot, False, False)


@pytest.mark.parametrize("policy", ["strict", "lenient", "soft"])
def test_c35_a_judge_that_is_down_ranks_nothing(policy: str) -> None:
    """Nothing but failures is an error instead of a ranking, and the diagnosis counts them."""
    frame = pd.concat([pair("a", "b", "failure", "failure"), pair("b", "c", "failure", "failure")])
    with pytest.raises(jr.NoVerdictError):
        jr.rank(frame, policy=policy)
    facts = jr.diagnose(frame, policy=policy)
    assert facts.counts == {"win": 0, "tie": 0, "uncertain": 0, "disagreement": 0, "failure": 2}
    assert facts.scheduled_calls == 4
    assert facts.cycle_rate is None
    assert facts.judges["flip_rate"].isna().all()


def test_c36_a_disagreement_is_never_called_a_tie() -> None:
    """A judge that never says tie gets no ties from reconciliation, flips included."""
    for original, flipped in itertools.product(["first", "second"], repeat=2):
        for policy in ("strict", "lenient"):
            assert jr.reconcile_pair(original, flipped, policy).status in ("win", "disagreement")


@pytest.mark.parametrize("value", ["A", "model_a", "a", "1", "First", "", None, 0, math.nan])
def test_c38_a_winner_that_is_no_slot_is_refused(value: object) -> None:
    """An outcome outside the vocabulary, an item's id included, is an error with the row."""
    with pytest.raises(jr.InputError, match="row 2"):
        jr.rank([{"first": "a", "second": "b", "outcome": "tie"}, {"first": "b", "second": "a", "outcome": value}])


def panel(seed: int = 0, contexts: int = 3) -> pd.DataFrame:
    """Judgments of three judges of different sharpness, in both orders."""
    return jr.simulate(items=6, judges=3, contexts=contexts, seed=seed, failure_rate=0.02, tie_rate=0.2).judgments.frame


def test_c38_judges_are_known_by_name() -> None:
    """Shuffled rows and renamed judges leave every figure with its judge."""
    frame = panel()
    names = dict(zip(sorted(frame["judge"].unique()), ("z", "y", "x"), strict=True))
    one = jr.rank(frame).to_dict()["judges"]
    other = jr.rank(frame.sample(frac=1, random_state=1).replace({"judge": names})).to_dict()["judges"]
    found = {row["judge"]: row for row in other}
    for row in one:
        twin = found[names[row["judge"]]]
        for name, value in row.items():
            if name != "judge":
                assert twin[name] == pytest.approx(value, abs=1e-8), name


def test_c38_a_shuffled_list_of_judges_keeps_the_weights_given_by_name() -> None:
    """Weights by judge are taken by name, in whatever order they are given."""
    frame = panel()
    names = sorted(frame["judge"].unique())
    weights = pd.Series([0.2, 1.0, 0.5], index=names)
    one, other = (jr.rank(frame, weights=w).fit.strengths for w in (weights, weights.iloc[::-1]))
    assert one.equals(other)


@pytest.mark.parametrize(("codes", "share", "n"), [([2, 1, 0, 2], 0.625, 4), ([2, None, 0], 0.75, 2)])
def test_c43_preference_codes(codes: list, share: float, n: int) -> None:
    """Codes 2, 1, 0, 2 are 0.625 for the second model, and a missing code is no comparison."""
    frame = pd.DataFrame({"generator_1": "x", "generator_2": "y", "preference": codes})
    ranking = jr.rank(frame, prior=None)
    assert ranking.probability("y", "x") == pytest.approx(share, abs=1e-9)
    assert ranking.to_dict()["fit"]["comparisons"] == n
    with pytest.raises(jr.InputError, match="row 1"):
        jr.rank(frame.assign(preference=[3, *codes[1:]]))


EQUALS = showings(
    *[("b", "a", "first"), ("a", "b", "second"), ("c", "a", "first"), ("a", "c", "second"), ("b", "c", "first")],
    *[("c", "b", "first"), ("d", "a", "tie"), ("a", "d", "tie"), ("e", "f", "both_bad"), ("f", "e", "tie")],
)


def document_in(seed: str, path: Path) -> str:
    code = (
        "import sys, json, juryrank as jr\n"
        "print(json.dumps(jr.rank(sys.argv[1]).to_dict(), ensure_ascii=False))\n"
        "print(json.dumps(jr.rank(sys.argv[1], prior=None, model='bt', contexts='separate').to_dict()))\n"
    )
    environment = os.environ | {"PYTHONPATH": SOURCES, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["equal scores", "a panel"])
def test_c28_the_same_bytes_whatever_the_rows_order_and_the_hash_seed(name: str, tmp_path: Path) -> None:
    """Reversed and shuffled rows under other hash seeds give the same JSON, byte for byte."""
    frame = EQUALS if name == "equal scores" else panel().sort_values(["repetition"], kind="stable")
    texts = set()
    for seed, rows in (("0", frame), ("1", frame.iloc[::-1]), ("2", frame.sample(frac=1, random_state=3))):
        path = tmp_path / f"{seed}.csv"
        rows.to_csv(path, index=False)
        texts.add(document_in(seed, path))
    assert len(texts) == 1


def test_c28_equal_scores_share_a_rank_and_stand_by_id() -> None:
    """Two equal winners share rank 1 by id, the third is rank 3, and the document says what decided."""
    frame = pd.DataFrame({"item_a": ["z", "b"], "item_b": ["c", "c"], "p_a": 1.0})
    for rows in (frame, frame.iloc[::-1]):
        ranking = jr.rank(rows).to_dict()["ranking"]
        assert [(row["item"], row["rank"], row["decided_by"]) for row in ranking] == [
            ("b", 1, "id"),
            ("z", 1, "id"),
            ("c", 3, "strength"),
        ]


def test_c29_ranks_are_ranks() -> None:
    """The weakest, the strongest and the middle of three items have the ranks 3, 1 and 2, best first."""
    rows = [("a", "b", 0), ("a", "b", 0), ("a", "b", 1), ("b", "c", 1), ("b", "c", 1), ("b", "c", 0), ("a", "c", 0)]
    frame = jr.rank(pd.DataFrame(rows, columns=["item_a", "item_b", "p_a"])).frame
    assert frame.set_index("item")["rank"][["a", "b", "c"]].tolist() == [3, 1, 2]
    assert frame["strength"].is_monotonic_decreasing


def test_c30_probabilities_add_to_one() -> None:
    """Three to one is 0.75 and 0.25, a gap of 58.4 Elo points is 0.583, equals are at 0.5."""
    frame = pd.DataFrame({"item_a": "A", "item_b": "B", "p_a": [1.0, 0.0], "weight": [3.0, 1.0]})
    fit = jr.fit_bt(frame, judge_sigma=False, prior=None)
    assert fit.probability("A", "B") == pytest.approx(0.75, abs=1e-9)
    assert fit.probability("B", "A") == pytest.approx(0.25, abs=1e-9)
    assert fit.probability("A", "B") + fit.probability("B", "A") == 1
    elo = frame.assign(weight=[10 ** (58.4 / 400), 1.0])
    assert round(jr.fit_bt(elo, judge_sigma=False, prior=None).probability("A", "B"), 3) == 0.583
    assert fit.probability("A", "A") == 0.5


@pytest.mark.parametrize(("ties", "share"), [("davidson", 0.25), ("rao-kupper", 0.25)])
def test_c30_win_loss_and_tie_add_to_one(ties: str, share: float) -> None:
    """With a tie parameter the two win probabilities leave exactly the observed share of ties."""
    frame = pd.DataFrame({"item_a": "A", "item_b": "B", "p_a": [1.0, 0.0, 0.5], "weight": [4.0, 2.0, 2.0]})
    fit = jr.fit_bt(frame, judge_sigma=False, prior=None, ties=ties)
    assert fit.probability("A", "B") == pytest.approx(0.5, abs=1e-8)
    assert fit.probability("B", "A") == pytest.approx(0.25, abs=1e-8)
    assert 1 - fit.probability("A", "B") - fit.probability("B", "A") == pytest.approx(share, abs=1e-8)


def frozen(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame over arrays that refuse to be written to."""
    columns = {}
    for name, column in frame.items():
        values = column.to_numpy().copy()
        values.flags.writeable = False
        columns[name] = pd.Series(values, index=frame.index, dtype=column.dtype, copy=False)
    return pd.DataFrame(columns, copy=False)


@pytest.mark.parametrize("options", [{}, {"ties": "davidson"}, {"slot_bias": True}, {"contexts": "separate"}])
def test_c31_fitting_changes_nothing_of_the_callers(options: dict) -> None:
    """Frames, tables and counts are as they were after a fit, and the same fit again is the same."""
    frame = panel()
    before, handed = frame.copy(deep=True), frozen(frame)
    read = jr.read(handed)
    compared = jr.reconcile(read)
    table = compared.table.copy(deep=True)
    counts = jr.tally(compared, contexts=options.get("contexts", "pooled"))
    counted = {name: np.copy(value) for name, value in vars(counts).items() if isinstance(value, np.ndarray)}
    one, two = jr.fit_bt(compared, **options), jr.fit_bt(compared, **options)
    assert one.strengths.equals(two.strengths)
    assert one.sigmas.equals(two.sigmas)
    assert one.objective == two.objective
    third = jr.fit_bt(counts, **options)
    assert third.strengths.equals(one.strengths)
    pd.testing.assert_frame_equal(handed, before)
    pd.testing.assert_frame_equal(compared.table, table)
    for name, value in counted.items():
        assert np.array_equal(getattr(counts, name), value), name


def test_c31_ranking_changes_nothing_of_the_callers() -> None:
    """A frame, and a list of dicts, are as they were after a ranking."""
    frame = frozen(panel())
    before = frame.copy(deep=True)
    one = jr.rank(frame)
    pd.testing.assert_frame_equal(frame, before)
    records = before.to_dict("records")
    kept = [dict(row) for row in records]
    two = jr.rank(records)
    assert json.dumps(records) == json.dumps(kept)
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict()) == json.dumps(jr.rank(frame).to_dict())


def test_c31_equals_stay_equal() -> None:
    """Items with the same record have the same strength to the last bit, whatever their ids."""
    rng = random.Random(1)
    ids = [f"m{i}" for i in range(8)]
    rng.shuffle(ids)
    rows = [{"item_a": a, "item_b": b, "p_a": 0.5} for a, b in itertools.combinations(ids, 2)]
    fit = jr.fit_bt(pd.DataFrame(rows))
    assert set(fit.strengths) == {0.0}
