"""Judgments -> comparisons, against slow second implementations written from the words of the design alone."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import juryrank as jr

ANSWERS = ["first", "second", "tie", "both_bad", "uncertain", "failure"]
POLICIES = ["strict", "lenient", "soft"]
STATUSES = ["win", "tie", "uncertain", "disagreement", "failure"]
DECISIVE = ("first", "second", "tie", "both_bad")


def side(answer: str, shown: tuple[str, str]) -> str:
    """A decisive answer as an item id, or "=" for a tie."""
    return {"first": shown[0], "second": shown[1]}.get(answer, "=")


def scalar(one: str, other: str, items: tuple[str, str], policy: str) -> tuple[str, str | None, float]:
    """Status, winner and P(items[0]) of two orders, each an item id, "=", "uncertain" or "failure"."""
    both = {one, other}
    if "failure" in both:
        return "failure", None, math.nan
    if "uncertain" in both:
        return "uncertain", None, math.nan
    points = [{items[0]: 1.0, items[1]: 0.0, "=": 0.5}[x] for x in (one, other)]
    if policy == "soft":
        p = sum(points) / 2
        return ("tie", None, 0.5) if p == 0.5 else ("win", items[0] if p > 0.5 else items[1], p)
    if len(both) == 1:
        return ("tie", None, 0.5) if one == "=" else ("win", one, points[0])
    if "=" in both and policy == "lenient":
        (winner,) = both - {"="}
        return "win", winner, 1.0 if winner == items[0] else 0.0
    return "disagreement", None, 0.5


def alone(one: str, items: tuple[str, str]) -> tuple[str, str | None, float]:
    """The same for a pair of which one order was never asked."""
    return scalar(one, one, items, "strict")


def near(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, abs_tol=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("x", "y"), [("a", "b"), ("b", "a"), ("Z", "a"), ("10", "9")])
def test_every_pair_of_answers(policy: str, x: str, y: str) -> None:
    """All 36 pairs of answers, stored either way, have the status, winner and p of the table, in both forms."""
    low, high = sorted((x, y))
    for forward, reverse in itertools.product(ANSWERS, repeat=2):
        one = forward if forward not in DECISIVE else side(forward, (x, y))
        other = reverse if reverse not in DECISIVE else side(reverse, (y, x))
        status, winner, p = scalar(one, other, (low, high), policy)
        rows = [{"first": x, "second": y, "outcome": forward}, {"first": y, "second": x, "outcome": reverse}]
        for stored in (rows, rows[::-1]):
            row = jr.reconcile(stored, policy).frame.iloc[0]
            assert (row["item_a"], row["item_b"]) == (low, high)
            assert (row["status"], row["winner"]) == (status, winner), (forward, reverse)
            assert near(row["p_a"], p), (forward, reverse)
            decisive = forward in DECISIVE and reverse in DECISIVE
            assert row["completed"] == decisive
            assert row["flipped"] == (decisive and one != other)
            assert row["failures"] == (forward, reverse).count("failure")
            assert (row["orders"], row["slot"]) == (2, 0)
        pair = jr.reconcile_pair(forward, reverse, policy, items=(x, y))
        assert (pair.status, pair.winner, pair.completed, pair.flipped) == (
            status,
            winner,
            decisive,
            decisive and one != other,
        )
        assert near(pair.p_a, p if x == low else 1 - p)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_policy_that_was_used_stands_with_the_result(policy: str) -> None:
    """A ranking of comparisons names the policy that reconciled them, not the one that was never used."""
    frame = pd.DataFrame({"first": ["a", "b"], "second": ["b", "a"], "outcome": ["first", "tie"]})
    assert jr.rank(frame, policy=policy).to_dict()["fit"]["policy"] == policy
    assert jr.rank(jr.reconcile(frame, policy)).to_dict()["fit"]["policy"] == policy


@pytest.mark.parametrize("policy", POLICIES)
def test_none_is_a_failure_in_the_scalar_form(policy: str) -> None:
    """None stands for a failure in either order of the scalar form, and an unknown word is an error."""
    for answer in ANSWERS:
        for pair in ((None, answer), (answer, None)):
            words = ["failure" if x is None else x for x in pair]
            one, other = jr.reconcile_pair(*pair, policy), jr.reconcile_pair(*words, policy)
            assert (one.status, one.winner, one.flipped, one.completed) == (
                other.status,
                other.winner,
                other.flipped,
                other.completed,
            )
            assert one.status == "failure"
    with pytest.raises(ValueError, match="A"):
        jr.reconcile_pair("A", "first", policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("first", "second", "slot"), [("a", "b", 1), ("b", "a", -1)])
def test_an_order_never_asked(policy: str, first: str, second: str, slot: int) -> None:
    """A pair shown one way only keeps its own outcome under every policy, and is marked with its slot."""
    for answer in ANSWERS:
        one = answer if answer not in DECISIVE else side(answer, (first, second))
        status, winner, p = alone(one, ("a", "b"))
        row = jr.reconcile([{"first": first, "second": second, "outcome": answer}], policy).frame.iloc[0]
        assert (row["status"], row["winner"], row["orders"], row["slot"]) == (status, winner, 1, slot)
        assert near(row["p_a"], p)
        assert not row["completed"]
        assert not row["flipped"]


def test_both_bad_is_a_tie_and_keeps_its_count() -> None:
    """Both-bad answers make ties, and only a tie that said so both ways is counted as both bad."""
    pairs = {"both": ("both_bad", "both_bad"), "mixed": ("both_bad", "tie"), "plain": ("tie", "tie")}
    for name, answers in pairs.items():
        rows = [{"first": "a", "second": "b", "outcome": answers[0]}, {"first": "b", "second": "a", "outcome": answers[1]}]
        row = jr.reconcile(rows).frame.iloc[0]
        assert row["status"] == "tie"
        assert row["both_bad"] == (name == "both")


# Passes with repetitions and weights


def plurality(passes: list[dict]) -> str:
    """What one ordering says: an item id, "=", "uncertain" or "failure", row by row."""
    weight: dict[str, float] = defaultdict(float)
    for row in passes:
        if row["outcome"] in DECISIVE:
            weight[side(row["outcome"], (row["first"], row["second"]))] += row["weight"]
    if not weight:
        return "uncertain" if any(row["outcome"] == "uncertain" for row in passes) else "failure"
    best = max(weight.values())
    leaders = [name for name, w in weight.items() if math.isclose(w, best, rel_tol=1e-9)]
    return leaders[0] if len(leaders) == 1 else "uncertain"


def by_hand(rows: list[dict], policy: str) -> dict[tuple, dict]:
    """One opinion per context, judge and pair, by loops."""
    found: dict[tuple, dict[str, list[dict]]] = defaultdict(lambda: {"forward": [], "reverse": []})
    for row in rows:
        if row["weight"] > 0:
            low, high = sorted((row["first"], row["second"]))
            found[row["context"], row["judge"], low, high]["forward" if row["first"] == low else "reverse"].append(row)
    opinions = {}
    for key, orders in found.items():
        items = key[2], key[3]
        said = {name: plurality(passes) for name, passes in orders.items() if passes}
        if len(said) == 2:
            status, winner, p = scalar(said["forward"], said["reverse"], items, policy)
        else:
            status, winner, p = alone(next(iter(said.values())), items)
        passes = orders["forward"] + orders["reverse"]
        decisive = len(said) == 2 and not {"uncertain", "failure"} & set(said.values())
        opinions[key] = {
            "status": status,
            "winner": winner,
            "p_a": p,
            "orders": len(said),
            "slot": 0 if len(said) == 2 else 1 if "forward" in said else -1,
            "completed": decisive,
            "flipped": decisive and said["forward"] != said["reverse"],
            "failures": sum(row["outcome"] == "failure" for row in passes),
            "weights": {row["weight"] for row in passes},
        }
    return opinions


@st.composite
def passes(draw: st.DrawFn) -> list[dict]:
    """Judgments of few items, judges and contexts, so that orders and repetitions are common."""
    even = draw(st.booleans())
    rows, seen = [], Counter()
    for _ in range(draw(st.integers(1, 40))):
        first, second = draw(st.permutations(["a", "b", "Z"]))[:2]
        judge, context = draw(st.sampled_from(["j", "k"])), draw(st.sampled_from(["x", ""]))
        key = context, judge, first, second
        rows.append(
            {
                "context": context,
                "judge": judge,
                "first": first,
                "second": second,
                "outcome": draw(st.sampled_from([*ANSWERS, "first", "second"])),
                "repetition": seen[key],
                "weight": 1.0 if even else draw(st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 0.1, 0.2, 0.3])),
            }
        )
        seen[key] += 1
    return rows


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(passes(), st.sampled_from(POLICIES), st.randoms(use_true_random=False))
def test_repetitions_and_weights_against_a_loop(rows: list[dict], policy: str, random: object) -> None:
    """Passes in any order of storage reconcile as a slow loop over rows says, one opinion a pair."""
    expected = by_hand(rows, policy)
    shuffled = list(rows)
    random.shuffle(shuffled)
    made = jr.reconcile(shuffled, policy)
    frame = made.frame
    assert len(frame) == len(expected)
    for row in frame.to_dict("records"):
        wanted = expected[row["context"], row["judge"], row["item_a"], row["item_b"]]
        for name in ("status", "winner", "orders", "slot", "completed", "flipped", "failures"):
            assert row[name] == wanted[name], (name, row, wanted)
        assert near(row["p_a"], wanted["p_a"])
        assert min(wanted["weights"]) - 1e-12 <= row["weight"] <= max(wanted["weights"]) + 1e-12


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(passes(), st.sampled_from(POLICIES))
def test_the_statuses_sum_to_the_pairs_asked(rows: list[dict], policy: str) -> None:
    """The five statuses of the diagnosis are those of the loop and sum to the pairs asked, and calls to the showings."""
    expected = by_hand(rows, policy)
    facts = jr.diagnose(pd.DataFrame(rows), policy=policy)
    assert facts.counts == {name: sum(x["status"] == name for x in expected.values()) for name in STATUSES}
    assert sum(facts.counts.values()) == len(expected)
    assert facts.scheduled_calls == sum(row["weight"] > 0 for row in rows)


@settings(max_examples=60, deadline=None)
@given(passes(), st.sampled_from(POLICIES), st.permutations(["a", "b", "Z"]))
def test_the_winner_does_not_depend_on_names(rows: list[dict], policy: str, names: list[str]) -> None:
    """Renaming items, so that others come first in the alphabet, renames the winners and changes nothing else."""
    rename = dict(zip(["a", "b", "Z"], names, strict=True))
    renamed = [row | {"first": rename[row["first"]], "second": rename[row["second"]]} for row in rows]

    def told(source: list[dict], turn: dict[str, str]) -> set[tuple]:
        frame = jr.reconcile(source, policy).frame
        return {
            (row["context"], row["judge"], frozenset((turn[row["item_a"]], turn[row["item_b"]])), row["status"])
            + (turn.get(row["winner"]), row["flipped"], row["completed"], row["orders"], row["failures"])
            for row in frame.to_dict("records")
        }

    assert told(rows, rename) == told(renamed, {name: name for name in names})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ANSWERS), st.sampled_from(ANSWERS)), min_size=1, max_size=20), st.booleans())
def test_the_scalar_form_is_the_table(answers: list[tuple[str, str]], swap: bool) -> None:
    """Each pair of a table reconciles as `reconcile_pair` does under every policy."""
    for policy in POLICIES:
        rows = []
        for i, (forward, reverse) in enumerate(answers):
            x, y = (f"b{i:02d}", f"a{i:02d}") if swap else (f"a{i:02d}", f"b{i:02d}")
            rows += [{"first": x, "second": y, "outcome": forward}, {"first": y, "second": x, "outcome": reverse}]
        frame = jr.reconcile(rows, policy).frame.set_index("item_a")
        for i, (forward, reverse) in enumerate(answers):
            low, high = f"a{i:02d}", f"b{i:02d}"
            pair = jr.reconcile_pair(forward, reverse, policy, items=(high, low) if swap else (low, high))
            row = frame.loc[low]
            assert (row["status"], row["winner"]) == (pair.status, pair.winner)
            assert (row["flipped"], row["completed"]) == (pair.flipped, pair.completed)
            assert near(row["p_a"], 1 - pair.p_a if swap else pair.p_a)


def soft(*rows: tuple[str, str, str, float | None]) -> dict:
    frame = pd.DataFrame(rows, columns=["first", "second", "outcome", "p_first"])
    return jr.reconcile(frame, "soft").frame.iloc[0].to_dict()


def test_soft_averages_the_judges_own_probabilities() -> None:
    """Under `soft`, p' = (p_forward + 1 - p_reverse) / 2 with the judge's own numbers, in the frame of the items."""
    row = soft(("a", "b", "first", 0.9), ("b", "a", "first", 0.6))
    assert row["p_a"] == pytest.approx((0.9 + 0.4) / 2)
    assert (row["status"], row["winner"], row["flipped"]) == ("win", "a", True)
    row = soft(("b", "a", "first", 0.6), ("a", "b", "second", 0.3))
    assert row["p_a"] == pytest.approx((0.3 + 0.4) / 2)
    assert (row["status"], row["winner"], row["flipped"]) == ("win", "b", False)
    row = soft(("a", "b", "first", None), ("b", "a", "first", None))
    assert (row["status"], row["p_a"], row["flipped"]) == ("tie", 0.5, True)
    row = soft(("a", "b", "first", 1.0), ("b", "a", "tie", None))
    assert (row["p_a"], row["winner"]) == (0.75, "a")


def test_weights_of_passes() -> None:
    """Weights of passes are summed within the plurality, and the comparison's weight is their mean."""
    rows = [("first", 1.0), ("second", 0.4), ("second", 0.5), ("second", 0.3)]
    frame = pd.DataFrame(rows, columns=["outcome", "weight"]).assign(first="a", second="b")
    row = jr.reconcile(frame).frame.iloc[0]
    assert (row["status"], row["winner"]) == ("win", "b")
    assert row["weight"] == pytest.approx((1.0 + 0.4 + 0.5 + 0.3) / 4)
    tied = jr.reconcile(frame.assign(weight=[0.3, 0.1, 0.1, 0.1])).frame.iloc[0]
    assert tied["status"] == "uncertain"


# The authored audit of four candidates (issue 2, 1)

AUDIT = {"ab": ("left", "right"), "ac": ("right", "left"), "ad": ("tie", "tie"), "bc": ("left", "right")}
AUDIT |= {"bd": ("uncertain", "uncertain"), "cd": ("left", "left")}


def audited(**changed: tuple) -> dict:
    words = {"left": "first", "right": "second", None: "failure"}
    rows = []
    for (x, y), (forward, reverse) in (AUDIT | changed).items():
        rows += [(x, y, words.get(forward, forward)), (y, x, words.get(reverse, reverse))]
    return jr.rank(pd.DataFrame(rows, columns=["first", "second", "outcome"])).to_dict()


def test_the_authored_audit() -> None:
    """The four-candidate audit has its published counts, points, order and cycle."""
    document = audited()
    assert document["counts"] == {"win": 3, "tie": 1, "uncertain": 1, "disagreement": 1, "failure": 0}
    assert document["scheduled_calls"] == 12
    assert [row["points"] for row in document["ranking"]] == [0] * 4
    assert [row["item"] for row in document["ranking"]] == ["a", "b", "c", "d"]
    assert [row["decided_by"] for row in document["ranking"]] == ["id"] * 4
    assert document["diagnostics"]["cycle"] == ["a", "b", "c", "a"]


def test_the_authored_audit_with_a_failed_call() -> None:
    """With one call lost the audit has the other published counts, points and order, and no cycle."""
    document = audited(ab=(None, "right"))
    assert document["counts"] == {"win": 2, "tie": 1, "uncertain": 1, "disagreement": 1, "failure": 1}
    assert document["scheduled_calls"] == 12
    assert {row["item"]: row["points"] for row in document["ranking"]} == {"a": -1, "b": 1, "c": 0, "d": 0}
    assert [row["item"] for row in document["ranking"]] == ["b", "c", "d", "a"]
    assert document["diagnostics"]["cycle"] == []
