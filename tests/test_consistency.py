"""Repetition consistency, raw and shrunk, and the weights made of it."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from juryrank import tables
from juryrank.diagnostics import consistency_weights, repetition_consistency
from juryrank.errors import SettingsError

MTBENCH = Path(__file__).parents[2] / "shared" / "data" / "llm" / "posbias_repetition_mtbench.csv.gz"


def passes(outcomes, first="a", second="b", judge="j", context="x"):
    """One row per outcome word, all of one showing."""
    return [
        {"context": context, "judge": judge, "first": first, "second": second, "outcome": o, "repetition": i}
        for i, o in enumerate(outcomes)
    ]


def slow(rows):
    """{judge: (raw, shrunk, comparisons)} by the words of the definition, one comparison at a time."""
    raw, discounted = {}, {}
    for row in rows:
        raw.setdefault(row["judge"], [])
        discounted.setdefault(row["judge"], [])
    present = [row for row in rows if row.get("weight", 1) > 0]
    found = {}
    for row in present:
        found.setdefault((row["context"], row["judge"], frozenset((row["first"], row["second"]))), []).append(row)
    for (_, judge, pair), seen in found.items():
        shares = []
        for first in pair:
            answers = ["tie" if r["outcome"] == "both_bad" else r["outcome"] for r in seen if r["first"] == first]
            answers = [answer for answer in answers if answer in ("first", "second", "tie")]
            pairs = list(combinations(answers, 2))
            if pairs:
                shares.append(sum(x == y for x, y in pairs) / len(pairs))
        if shares:
            share = sum(shares) / len(shares)
            raw[judge].append(share)
            failures = sum(r["outcome"] == "failure" for r in seen)
            discounted[judge].append(share * (len(seen) - failures) / len(seen))
    total = sum(map(len, raw.values()))
    panel = sum(map(sum, discounted.values())) / total if total else np.nan
    return {
        judge: (
            np.mean(raw[judge]) if raw[judge] else np.nan,
            (sum(discounted[judge]) + panel) / (len(raw[judge]) + 1) if raw[judge] else np.nan,
            len(raw[judge]),
        )
        for judge in sorted(raw)
    }


def assert_matches(table, expected):
    assert list(table.index) == list(expected)
    assert list(table.columns) == ["raw", "shrunk", "comparisons"]
    assert table["comparisons"].tolist() == [count for *_, count in expected.values()]
    np.testing.assert_allclose(table[["raw", "shrunk"]], [pair[:2] for pair in expected.values()], atol=1e-12)


@st.composite
def judgment_rows(draw):
    """Rows with repeats, failures, abstentions and weights, some of them 0."""
    words = st.sampled_from(["first", "first", "second", "tie", "both_bad", "uncertain", "failure"])
    found = []
    for _ in range(draw(st.integers(1, 12))):
        first, second = draw(st.permutations("abc"))[:2]
        judge, context = draw(st.sampled_from("jkl")), draw(st.sampled_from("xy"))
        found += passes(draw(st.lists(words, min_size=1, max_size=4)), first, second, judge, context)
    for i, row in enumerate(found):
        row |= {"repetition": i, "weight": draw(st.sampled_from([1.0, 1.0, 0.3, 0.0]))}
    return found


@settings(deadline=None)
@given(judgment_rows())
def test_the_table_is_that_of_the_words(rows):
    """The table equals one that loops over comparisons, orderings and pairs of passes."""
    assert_matches(repetition_consistency(tables.judgments(pd.DataFrame(rows))), slow(rows))


@settings(deadline=None)
@given(judgment_rows(), st.permutations("abc"), st.randoms(use_true_random=False))
def test_names_and_row_order_do_not_matter(rows, names, random):
    """Renaming items, shuffling rows and swapping the slots of every showing with its answer change nothing."""
    new = dict(zip("abc", names, strict=True))
    turn = {"first": "second", "second": "first"}
    changed = [row | {"first": new[row["second"]], "second": new[row["first"]]} for row in rows]
    for row in changed:
        row["outcome"] = turn.get(row["outcome"], row["outcome"])
    random.shuffle(changed)
    before, after = (repetition_consistency(pd.DataFrame(r)) for r in (rows, changed))
    pd.testing.assert_frame_equal(before, after, rtol=0, atol=1e-12)


def test_a_worked_example():
    """Three passes that agree in one pair of three, and two that agree, give 2/3; one failure of six discounts it."""
    rows = passes(["first", "first", "second"]) + passes(["tie", "both_bad", "failure"], "b", "a")
    table = repetition_consistency(rows)
    d = 2 / 3 * 5 / 6
    np.testing.assert_allclose(table.loc["j"], [2 / 3, (d + d) / 2, 1])


def test_an_abstention_is_no_failure():
    """Clean abstentions are left out of the share and cost nothing."""
    assert repetition_consistency(passes(["first", "uncertain", "first"])).loc["j"].tolist() == [1, 1, 1]


def test_failures_of_the_other_ordering_count():
    """The completion share runs over the passes of both orderings."""
    rows = passes(["first", "first"]) + passes(["failure", "failure"], "b", "a")
    assert repetition_consistency(rows).loc["j"].tolist() == [1, 0.5, 1]


def test_few_comparisons_are_shrunk_to_the_panel():
    """A judge with one comparison at 0 moves half way to the evidence-weighted mean of the panel."""
    rows = [row for c in "wxy" for row in passes(["tie", "tie"], judge="steady", context=c)]
    rows += passes(["first", "second"], judge="wild")
    table = repetition_consistency(rows)
    assert table["raw"].tolist() == [1, 0]
    np.testing.assert_allclose(table["shrunk"], [(3 + 0.75) / 4, 0.75 / 2])


def test_a_judge_without_repeats_has_none():
    """A judge asked once has NaN, NaN, 0, also where nobody was asked twice, or its repeat has weight 0."""
    rows = passes(["first"], judge="once") + passes(["tie", "tie"], judge="twice")
    once = repetition_consistency(rows).loc["once"]
    assert once[["raw", "shrunk"]].isna().all()
    assert once["comparisons"] == 0
    alone = repetition_consistency([row | {"weight": 1 - row["repetition"]} for row in rows])
    assert alone[["raw", "shrunk"]].isna().all(axis=None)
    assert alone["comparisons"].tolist() == [0, 0]


def test_unmeasured_judges_take_the_median_weight():
    """Weights are the shrunk values; a judge without one has the median of the others and is named."""
    table = pd.DataFrame({"shrunk": [0.9, np.nan, 0.6, 0.8]}, index=pd.Index(["a", "b", "c", "d"], name="judge"))
    weights, warnings = consistency_weights(table)
    assert weights.tolist() == [0.9, 0.8, 0.6, 0.8]
    assert len(warnings) == 1
    assert "'b'" in warnings[0]
    assert consistency_weights(table.dropna())[1] == ()


def test_one_measured_judge_gives_no_weights():
    """Fewer than two measured judges: no weights, and a warning says so."""
    table = pd.DataFrame({"shrunk": [0.9, np.nan]}, index=["a", "b"])
    weights, warnings = consistency_weights(table)
    assert weights is None
    assert "not used: 1 of 2 judges" in warnings[0]


def test_comparisons_are_refused():
    """Opinions have lost their repetitions and are refused."""
    opinions = tables.comparisons(pd.DataFrame({"item_a": ["a"], "item_b": ["b"], "p_a": [1.0]}))
    with pytest.raises(SettingsError, match="judgments, not comparisons"):
        repetition_consistency(opinions)


@pytest.mark.shared
@pytest.mark.skipif(not MTBENCH.exists(), reason="shared/data is absent")
def test_three_repetitions_on_mt_bench():
    """On MT-Bench (3 repetitions, both orders) the table equals the slow one, for every judge."""
    data = pd.read_csv(MTBENCH, dtype={"question": str})
    a_first = data["order"] == 0
    points = data["outcome_a"].where(a_first, 1 - data["outcome_a"])
    rows = pd.DataFrame(
        {
            "context": data["question"],
            "judge": data["judge"],
            "first": data["item_a"].where(a_first, data["item_b"]),
            "second": data["item_b"].where(a_first, data["item_a"]),
            "outcome": points.map({1.0: "first", 0.0: "second", 0.5: "tie"}).fillna("failure"),
            "repetition": data["rep"],
        }
    )
    table = repetition_consistency(rows)
    expected = {}
    for _, part in rows.groupby("judge"):
        expected |= slow(part.to_dict("records"))
    # slow() saw one judge at a time, so that each was its own panel: undo that, then shrink to the true one
    d = {judge: shrunk for judge, (_, shrunk, _) in expected.items()}
    panel = sum(d[judge] * n for judge, (*_, n) in expected.items()) / sum(n for *_, n in expected.values())
    expected = {judge: (raw, (n * d[judge] + panel) / (n + 1), n) for judge, (raw, _, n) in expected.items()}
    assert_matches(table, expected)
    assert (table["comparisons"] > 0).all()
