"""Majorities, triads and cycle witnesses."""

import time
from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from juryrank import tables
from juryrank.diagnostics import cycle_rate, cycle_rates_by_judge, cycle_witness, cycles, majority, triads
from juryrank.errors import SettingsError

NAMES = ["a", "b", "c", "d", "e", "f"]
VALUES = {"win": [0.0, 1.0, 0.75], "tie": [0.5], "disagreement": [0.5], "uncertain": [None], "failure": [None]}


def beats(*pairs):
    """Comparisons from texts such as "a>b" and "a=b"."""
    return tables.comparisons(
        pd.DataFrame([{"item_a": p[0], "item_b": p[2], "p_a": 1.0 if p[1] == ">" else 0.5} for p in pairs])
    )


@st.composite
def rows(draw):
    """Rows of a comparisons table over few items, so that triads are common."""
    found = []
    for _ in range(draw(st.integers(1, 30))):
        a, b = draw(st.permutations(NAMES))[:2]
        status = draw(st.sampled_from(["win", "win", "win", "tie", *VALUES]))
        found.append(
            {
                "item_a": a,
                "item_b": b,
                "status": status,
                "p_a": draw(st.sampled_from(VALUES[status])),
                "judge": draw(st.sampled_from(["j1", "j2"])),
                "context": draw(st.sampled_from(["x", "y"])),
                "weight": draw(st.sampled_from([1.0, 1.0, 2.0, 0.5, 0.0])),
            }
        )
    return found


def slow_signs(found, judge=None):
    """{(x, y): +1, 0, -1} for both directions of every judged pair, row by row."""
    sums = {}
    for row in found:
        if row["status"] in ("win", "tie") and row["weight"] > 0 and judge in (None, row["judge"]):
            a, b = row["item_a"], row["item_b"]
            for key, p in (((a, b), row["p_a"]), ((b, a), 1 - row["p_a"])):
                total, weight = sums.get(key, (0, 0))
                sums[key] = total + row["weight"] * p, weight + row["weight"]
    return {key: int(np.sign(round(total / weight - 0.5, 12))) for key, (total, weight) in sums.items()}


def slow_triads(signs):
    """(strict, weak, decided, judged), by looking at every three items."""
    strict = weak = decided = judged = 0
    for x, y, z in combinations(NAMES, 3):
        if not all(pair in signs for pair in ((x, y), (y, z), (z, x))):
            continue
        round_ = [signs[x, y], signs[y, z], signs[z, x]]
        judged += 1
        decided += 0 not in round_
        strict += abs(sum(round_)) == 3
        weak += 0 in round_ and any(round_) and (min(round_) >= 0 or max(round_) <= 0)
    return strict, weak, decided, judged


def counts(source, judge=None):
    found = triads(source, judge)
    return found.strict, found.weak, found.decided, found.judged


def test_three_wins_in_a_ring_are_one_cycle():
    """C-16 a: A > B > C > A is one strict cycle of one triad."""
    assert counts(beats("a>b", "b>c", "c>a")) == (1, 0, 1, 1)
    assert cycle_rate(beats("a>b", "b>c", "c>a")) == 1.0


def test_majorities_of_a_wins_table_make_the_cycle():
    """C-16 b: 8-3, 7-2 and 6-5 make one majority cycle."""
    won = [("A", "B", 8), ("B", "A", 3), ("B", "C", 7), ("C", "B", 2), ("C", "A", 6), ("A", "C", 5)]
    table = [{"item_a": a, "item_b": b, "p_a": 1, "weight": wins} for a, b, wins in won]
    assert counts(table) == (1, 0, 1, 1)
    assert cycle_witness(table) == ["A", "B", "C", "A"]


def test_a_tie_in_the_ring_is_a_weak_cycle():
    """C-16 c: A > B > C = A has no strict cycle, one weak cycle, and no triad that a cycle rate could count."""
    source = beats("a>b", "b>c", "a=c")
    assert counts(source) == (0, 1, 0, 1)
    assert cycle_rate(source) is None
    assert cycle_witness(source) == []


@pytest.mark.parametrize(
    ("ring", "weak"),
    [
        (("a>b", "a>c", "b=c"), 0),
        (("b>a", "c>a", "b=c"), 0),
        (("a=b", "b=c", "a=c"), 0),
        (("a>b", "b=c", "a=c"), 1),
    ],
)
def test_weak_cycles_hold_a_win_and_go_round(ring, weak):
    """A triad with ties is a weak cycle only if wins and ties lead all the way round, with at least one win."""
    assert counts(beats(*ring)) == (0, weak, 0, 1)


def test_the_witness_is_the_first_back_edge():
    """A ring of wins beside a tie gives the ring, from its smallest id back to it."""
    assert cycle_witness(beats("c>a", "a=d", "b>c", "a>b")) == ["a", "b", "c", "a"]


def test_the_witness_starts_where_the_search_enters_the_cycle():
    """An item outside of the cycle leads the search into it and is not part of the witness."""
    assert cycle_witness(beats("a>z", "z>y", "y>x", "x>z")) == ["z", "y", "x", "z"]


def test_two_judges_who_cancel_leave_a_tied_pair():
    """Votes of equal weight for each side are a tied pair, and each judge alone decides it."""
    table = [{"item_a": "a", "item_b": "b", "p_a": p, "judge": j, "weight": 0.1} for p, j in ((1, "x"), (0, "y"))]
    graph = majority(table)
    assert (len(graph.winners), graph.tied.tolist()) == (0, [[0, 1]])
    alone = majority(table, judge="y")
    assert (alone.winners.tolist(), alone.losers.tolist(), len(alone.tied)) == ([1], [0], 0)


@settings(deadline=None)
@given(rows())
def test_counts_are_those_of_a_triple_loop(found):
    """Triads, pooled and by judge, are those that a look at every three items finds."""
    table = tables.comparisons(pd.DataFrame(found))
    assert counts(table) == slow_triads(slow_signs(found))
    by_judge = cycle_rates_by_judge(table)
    assert list(by_judge.index) == table.judges
    for judge in table.judges:
        strict, _, decided, _ = expected = slow_triads(slow_signs(found, judge))
        assert counts(table, judge) == expected
        assert cycle_rate(table, judge) == (strict / decided if decided else None)
        assert by_judge[judge] == pytest.approx(strict / decided if decided else np.nan, nan_ok=True)


@settings(deadline=None)
@given(rows(), st.permutations(NAMES), st.randoms(use_true_random=False))
def test_counts_do_not_depend_on_names_rows_or_sides(found, names, random):
    """Renaming items, shuffling rows and turning rows round with their p change no count."""
    new = dict(zip(NAMES, names, strict=True))
    changed = [row | {"item_a": new[row["item_a"]], "item_b": new[row["item_b"]]} for row in found]
    for row in changed:
        if random.random() < 0.5:
            p = row["p_a"]
            row |= {"item_a": row["item_b"], "item_b": row["item_a"], "p_a": None if p is None else 1 - p}
    random.shuffle(changed)
    assert counts(pd.DataFrame(changed)) == counts(pd.DataFrame(found))


@settings(deadline=None)
@given(rows())
def test_dense_sparse_and_blocked_products_agree(found):
    """The three ways to multiply give the same counts."""
    table = tables.comparisons(pd.DataFrame(found))
    expected = counts(table)
    for cost, block in ((0, 2**24), (0, 1), (10**9, 2**24), (10**9, 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cycles, "SPARSE_COST", cost)
            patch.setattr(cycles, "BLOCK", block)
            assert counts(table) == expected


@settings(deadline=None)
@given(rows())
def test_the_witness_is_that_of_a_recursive_search(found):
    """The witness is what plain recursive depth-first search meets first, and is empty where no cycle is."""
    signs = slow_signs(found)
    state = {}

    def search(item, path):
        state[item] = "open"
        for other in NAMES:
            if signs.get((item, other)) == 1:
                if state.get(other) == "open":
                    return [*path[path.index(other) :], other]
                if other not in state and (cycle := search(other, [*path, other])):
                    return cycle
        state[item] = "done"
        return []

    expected = next((cycle for item in NAMES if item not in state and (cycle := search(item, [item]))), [])
    assert cycle_witness(pd.DataFrame(found)) == expected
    arrows = nx.DiGraph([pair for pair, sign in signs.items() if sign == 1])
    assert (expected == []) == nx.is_directed_acyclic_graph(arrows)


def tournament(size, seed):
    """A complete tournament of coin flips, and the wins of each item."""
    a, b = np.triu_indices(size, 1)
    p = np.random.default_rng(seed).integers(0, 2, len(a))
    ids = pd.Index([f"{i:05d}" for i in range(size)])
    frame = pd.DataFrame({"item_a": ids[a], "item_b": ids[b], "p_a": p})
    return tables.comparisons(frame), np.bincount(np.where(p == 1, a, b), minlength=size)


@given(st.integers(3, 40), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_a_complete_tournament_obeys_kendalls_identity(size, seed):
    """A complete tournament has C(n, 3) - sum of C(wins, 2) cycles, in C(n, 3) decided triads."""
    table, wins = tournament(size, seed)
    assert counts(table)[::2] == (comb(size, 3) - sum(comb(int(w), 2) for w in wins), comb(size, 3))


def test_two_thousand_items_take_seconds():
    """All pairs of 2,000 items are counted exactly within ten seconds."""
    table, wins = tournament(2000, 1)
    began = time.perf_counter()
    rate = cycle_rate(table)
    assert time.perf_counter() - began < 10
    assert rate == (comb(2000, 3) - sum(comb(int(w), 2) for w in wins)) / comb(2000, 3)


def test_a_long_chain_has_no_cycle_and_a_long_ring_has_one():
    """100,000 items in a row have no witness; closed to a ring, the witness is the whole ring."""
    ids = np.array([f"{i:06d}" for i in range(100_000)], dtype=object)
    row = pd.DataFrame({"item_a": ids[:-1], "item_b": ids[1:], "p_a": 1.0})
    assert (cycle_witness(row), cycle_rate(row)) == ([], None)
    ring = pd.concat([row, pd.DataFrame({"item_a": [ids[-1]], "item_b": [ids[0]], "p_a": [1.0]})])
    assert cycle_witness(ring) == [*ids, ids[0]]


def test_an_item_that_met_all_others_costs_no_more():
    """A hub with 100,000 opponents is counted without a product of its wins and its losses."""
    ids = np.array([f"{i:06d}" for i in range(100_001)], dtype=object)
    side = np.arange(100_000) % 2
    hub = pd.DataFrame({"item_a": ids[0], "item_b": ids[1:], "p_a": side})
    rim = pd.DataFrame({"item_a": ids[1:-1:2], "item_b": ids[2::2], "p_a": 1})
    assert counts(pd.concat([hub, rim])) == (0, 0, 50_000, 50_000)
    assert cycle_rate(pd.concat([hub, rim.assign(p_a=0)])) == 1.0


def test_a_source_without_opinions_has_nothing_to_assess():
    """An empty table and one of failures have no rate, no witness and no triads."""
    empty = pd.DataFrame({"item_a": [], "item_b": [], "p_a": []})
    failed = [{"item_a": "a", "item_b": "b", "p_a": None, "status": "failure"}]
    for source in (empty, failed):
        assert (cycle_rate(source), cycle_witness(source), counts(source)) == (None, [], (0, 0, 0, 0))
        assert cycle_rates_by_judge(source).isna().all()


def test_judgments_are_refused():
    """Showings are refused with the advice to reconcile them, and so is what is no table at all."""
    shown = tables.judgments(pd.DataFrame({"first": ["a"], "second": ["b"], "outcome": ["first"]}))
    for door in (cycle_rate, cycle_witness, triads, majority, cycle_rates_by_judge):
        with pytest.raises(SettingsError, match="reconcile"):
            door(shown)
    with pytest.raises(SettingsError, match="not a int"):
        cycle_rate(3)


def test_an_unknown_judge_is_named():
    """A judge that is not in the table is an error that lists those that are."""
    with pytest.raises(SettingsError, match="no judge 'x'.*'judge'"):
        cycle_rate(beats("a>b"), judge="x")
