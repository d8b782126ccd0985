"""The numbers of the A/B report against a slow, obvious loop over rows, written from the contract."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from itertools import product
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

import juryrank as jr

Row = dict[str, Any]
ANSWERS = ("first", "second", "tie", "both_bad", "uncertain", "failure")
KEYS = ["schema", "a", "b", "comparisons", "decided", "a_win_rate", "b_win_rate", "interval", "p_value", "tie_rate"]
KEYS += ["inconclusive_rate", "mean_agreement", "agreement_coverage", "chance_corrected_agreement", "p_a_beats_b"]
KEYS += ["weighted", "judges", "questions", "warnings"]
WEIGHTED = ["rule", "a_win_rate", "b_win_rate", "tie_rate", "inconclusive_rate"]
JUDGE = ["judge", "a_rate", "b_rate", "position_bias", "tie_rate", "first_share", "judgments", "failures"]
JUDGE += ["consistency", "consistency_raw", "weight", "sigma", "accuracy"]
QUESTION = ["context", "winner", "weighted_winner", "order_dependent", "votes"]
RULES = ["bt-sigma", "bt-sigma-questions", "consistency", "dawid-skene"]


def strict_largest(votes: list[str]) -> str | None:
    """The one answer that is more frequent than every other."""
    counts = Counter(votes).most_common(2)
    return None if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]) else counts[0][0]


def one_order(passes: list[Row]) -> str | None:
    """What one order says: a system, tie, uncertain, failure; None where it was not asked."""
    if not passes:
        return None
    decisive = []
    for row in passes:
        if row["outcome"] in ("first", "second"):
            decisive.append(row[row["outcome"]])
        elif row["outcome"] in ("tie", "both_bad"):
            decisive.append("tie")
    if decisive:
        return strict_largest(decisive) or "uncertain"
    return "uncertain" if any(row["outcome"] == "uncertain" for row in passes) else "failure"


def opinion(rows: list[Row], a: str) -> Row:
    """One judge on one question: its vote (None without one), flipped and completed."""
    both = [one_order([r for r in rows if (r["first"] == a) == forward]) for forward in (True, False)]
    said = [word for word in both if word is not None]
    completed = len(said) == 2 and not {"uncertain", "failure"} & set(said)
    flipped = completed and said[0] != said[1]
    silent = {"uncertain", "failure"} & set(said)
    return {"vote": None if silent or flipped else said[0], "flipped": flipped, "completed": completed}


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def consistency(rows: list[Row]) -> list[tuple[float, float]]:
    """(agreement, discounted) of one judge on one question, or nothing where no order has two decisive passes."""
    shares = []
    for first in {row["first"] for row in rows}:
        words = ["tie" if r["outcome"] == "both_bad" else r["outcome"] for r in rows if r["first"] == first]
        words = [word for word in words if word in ("first", "second", "tie")]
        pairs = [x == y for i, x in enumerate(words) for y in words[:i]]
        shares += [sum(pairs) / len(pairs)] if pairs else []
    if not shares:
        return []
    agreement = sum(shares) / len(shares)
    return [(agreement, agreement * sum(r["outcome"] != "failure" for r in rows) / len(rows))]


def alpha(table: list[list[str | None]], classes: list[str]) -> float | None:
    """Krippendorff's nominal alpha by its own package; None where it has no value."""
    pairable = [unit for unit in table if sum(vote is not None for vote in unit) >= 2]
    if len({vote for unit in pairable for vote in unit if vote is not None}) < 2:
        return None
    data = [[np.nan if vote is None else classes.index(vote) for vote in unit] for unit in pairable]
    return float(krippendorff.alpha(np.array(data, dtype=float).T, level_of_measurement="nominal"))


def slow_report(rows: list[Row], a: str, b: str, quorum: int = 1, level: float = 0.95) -> Row:
    """The document's numbers, but for those of fits and weighted rules."""
    cells: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        cells[row["context"], row["judge"]].append(row)
    said = {key: opinion(cell, a) for key, cell in cells.items()}
    questions, judges = sorted({q for q, _ in cells}), sorted({j for _, j in cells})
    votes = {q: [said[q, j]["vote"] for j in judges if (q, j) in said] for q in questions}
    decisive = {q: [v for v in votes[q] if v is not None] for q in questions}
    winner = {q: (len(decisive[q]) >= quorum and strict_largest(decisive[q])) or "inconclusive" for q in questions}
    tally, n = Counter(winner.values()), len(questions)
    decided = tally[a] + tally[b]
    test = binomtest(tally[a], decided) if decided else None
    shared = [Counter(v).most_common(1)[0][1] / len(v) for v in decisive.values() if len(v) >= 2]
    measured = {j: [x for q in questions for x in consistency(cells.get((q, j), []))] for j in judges}
    everything = [discounted for j in judges for _, discounted in measured[j]]
    by_judge = []
    for j in judges:
        mine = [said[q, j] for q in questions if (q, j) in said]
        words = Counter(o["vote"] for o in mine)
        asked = Counter(r["outcome"] for r in rows if r["judge"] == j)
        k = len(measured[j])
        shrunk = (sum(d for _, d in measured[j]) + sum(everything) / len(everything)) / (k + 1) if k else None
        by_judge.append(
            {
                "judge": j,
                "a_rate": share(words[a], words[a] + words[b]),
                "b_rate": share(words[b], words[a] + words[b]),
                "position_bias": share(sum(o["flipped"] for o in mine), sum(o["completed"] for o in mine)),
                "tie_rate": words["tie"] / len(mine),
                "first_share": share(asked["first"], asked["first"] + asked["second"]),
                "judgments": sum(asked.values()),
                "failures": asked["failure"],
                "consistency": shrunk,
                "consistency_raw": share(sum(r for r, _ in measured[j]), k),
            }
        )
    return {
        "schema": "juryrank.comparison/1",
        "a": a,
        "b": b,
        "comparisons": n,
        "decided": decided,
        "a_win_rate": share(tally[a], decided),
        "b_win_rate": share(tally[b], decided),
        "interval": list(test.proportion_ci(level, "wilson")) if test else [None, None],
        "p_value": float(test.pvalue) if test else None,
        "tie_rate": tally["tie"] / n,
        "inconclusive_rate": tally["inconclusive"] / n,
        "mean_agreement": share(sum(shared), len(shared)),
        "agreement_coverage": len(shared) / n,
        "chance_corrected_agreement": alpha(
            [[said[q, j]["vote"] if (q, j) in said else None for j in judges] for q in questions], [a, b, "tie"]
        ),
        "judges": by_judge,
        "questions": [
            {
                "context": q,
                "winner": winner[q],
                "order_dependent": any(said[q, j]["flipped"] for j in judges if (q, j) in said),
                "votes": {j: said[q, j]["vote"] for j in judges if (q, j) in said},
            }
            for q in questions
        ],
    }


def close(seen: Any, expected: Any, at: str = "") -> None:
    """`seen` has everything in `expected`, numbers to 1e-9, and no NaN."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            close(seen[key], value, f"{at}.{key}")
    elif isinstance(expected, list):
        assert len(seen) == len(expected), at
        for i, (x, y) in enumerate(zip(seen, expected, strict=True)):
            close(x, y, f"{at}[{i}]")
    elif isinstance(expected, float):
        assert isinstance(seen, (int, float)), (at, seen, expected)
        assert math.isclose(seen, expected, rel_tol=1e-9, abs_tol=1e-9), (at, seen, expected)
    else:
        assert seen == expected and type(seen) is type(expected), (at, seen, expected)


def ordered(document: Row) -> Row:
    """Questions and judges by name."""
    return document | {
        "judges": sorted(document["judges"], key=lambda row: row["judge"]),
        "questions": sorted(document["questions"], key=lambda row: row["context"]),
    }


def report(rows: list[Row], a: str = "sysX", b: str = "sysY", **options: Any) -> Row:
    """The document, as JSON would hold it."""
    document = jr.compare_systems(pd.DataFrame(rows), a=a, b=b, **options).to_dict()
    return ordered(json.loads(json.dumps(document, allow_nan=False)))


def ask(question: str, judge: str, forward: str | None, reverse: str | None, a: str = "sysX", b: str = "sysY") -> list[Row]:
    """One judge asked in both orders; None is an order not asked."""
    base = {"context": question, "judge": judge, "repetition": 0}
    shown = ((a, b, forward), (b, a, reverse))
    return [base | {"first": f, "second": s, "outcome": o} for f, s, o in shown if o is not None]


@st.composite
def panels(draw: st.DrawFn) -> list[Row]:
    """Rows of a small panel: some judges, questions, orders and repetitions left out, one judge heard at least."""
    rows = ask("q0", "j0", "first", draw(st.sampled_from(("first", "second", "tie", "both_bad", None))))
    words = draw(st.sampled_from([ANSWERS, ("first", "second"), ("first", "second", "tie"), ("first", "failure")]))
    passes = draw(st.integers(1, 3))
    for question, judge in product(range(draw(st.integers(1, 5))), range(draw(st.integers(1, 4)))):
        if (question, judge) == (0, 0):
            continue
        for first, second in draw(st.sampled_from([[], ["XY"], ["YX"], ["XY", "YX"], ["XY", "YX"], ["XY", "YX"]])):
            key = {"context": f"q{question}", "judge": f"j{judge}", "first": f"sys{first}", "second": f"sys{second}"}
            rows += [key | {"outcome": draw(st.sampled_from(words)), "repetition": r} for r in range(passes)]
    return rows


@given(rows=panels(), quorum=st.integers(1, 3), level=st.sampled_from([0.5, 0.9, 0.95, 0.99]))
@settings(max_examples=40, deadline=None)
def test_every_number_is_that_of_a_loop_over_rows(rows, quorum, level):
    """Counts, rates, interval, p-value, agreement and the judges' figures equal those of a loop over rows."""
    seen = report(rows, quorum=quorum, level=level, aggregation="plurality")
    close(seen, ordered(slow_report(rows, "sysX", "sysY", quorum, level)))
    headline = {key: seen[key] for key in WEIGHTED[1:]}
    assert seen["weighted"] == {"rule": "plurality"} | headline
    assert all(row["weighted_winner"] == row["winner"] for row in seen["questions"])


@given(rows=panels(), rule=st.sampled_from(["auto", *RULES]))
@settings(max_examples=20, deadline=None)
def test_the_plurality_stands_unchanged_beside_every_weighted_rule(rows, rule):
    """Whatever weighs the judges, headline, judges' rates and winners are the plurality's, and no number is NaN."""
    seen = report(rows, aggregation=rule)
    close(seen, ordered(slow_report(rows, "sysX", "sysY")))
    winners = Counter(row["weighted_winner"] for row in seen["questions"])
    decided, n = winners["sysX"] + winners["sysY"], seen["comparisons"]
    assert seen["weighted"]["rule"] == ("bt-sigma-questions" if rule == "auto" else rule)
    rates = [
        share(winners["sysX"], decided),
        share(winners["sysY"], decided),
        winners["tie"] / n,
        winners["inconclusive"] / n,
    ]
    close([seen["weighted"][key] for key in WEIGHTED[1:]], rates)
    weights = [row["weight"] for row in seen["judges"] if row["weight"] is not None]
    assert all(0 <= w <= 1 for w in weights) and (not any(weights) or max(weights) == 1)
    assert 0 <= seen["p_a_beats_b"] <= 1


def answered(forward: str | None, reverse: str | None) -> tuple[str, bool, bool]:
    """(vote, flipped, completed) from the table of the house."""
    turn = {"first": "sysX", "second": "sysY", "both_bad": "tie"}, {"first": "sysY", "second": "sysX", "both_bad": "tie"}
    one, two = (None if w is None else t.get(w, w) for w, t in zip((forward, reverse), turn, strict=True))
    if one is None or two is None:
        word = one or two
        return (None if word in ("uncertain", "failure") else word), False, False
    if {"uncertain", "failure"} & {one, two}:
        return None, False, False
    return (one, False, True) if one == two else (None, True, True)


TABLE = [pair for pair in product((*ANSWERS, None), repeat=2) if pair != (None, None)]


@pytest.mark.parametrize(("forward", "reverse"), TABLE)
def test_every_pair_of_answers_of_one_judge(forward, reverse):
    """Each pair of answers gives the vote, the flip and the bias of the house's table; an order not asked never flips."""
    rows = ask("q", "j", forward, reverse)
    vote, flipped, completed = answered(forward, reverse)
    if vote is None and not flipped:
        with pytest.raises(jr.NoVerdictError):
            report(rows)
        rows += ask("other", "witness", "first", "second")
    seen = report(rows)
    question, judge = (next(r for r in seen[k] if "q" in r.values() or "j" in r.values()) for k in ("questions", "judges"))
    assert question["votes"] == {"j": vote}
    assert question["winner"] == (vote or "inconclusive")
    assert question["order_dependent"] is flipped
    assert judge["position_bias"] == (float(flipped) if completed else None)
    assert judge["a_rate"] == {"sysX": 1.0, "sysY": 0.0}.get(vote)
    assert judge["tie_rate"] == float(vote == "tie")
    assert judge["judgments"] == sum(o is not None for o in (forward, reverse))
    assert judge["failures"] == [forward, reverse].count("failure")
    assert judge["consistency"] is None and judge["consistency_raw"] is None


@pytest.mark.parametrize("rule", ["auto", "plurality", *RULES])
def test_the_document_has_the_promised_keys_in_order(rule):
    """The JSON has the contract's keys in its order, others only beside them at the top, and none more in its rows."""
    seen = report([*ask("q", "u", "first", "second"), *ask("q", "v", "first", "first")], aggregation=rule)
    assert [key for key in seen if key in KEYS] == KEYS
    assert list(seen)[-1] == "warnings"
    assert list(seen["weighted"]) == WEIGHTED
    assert [list(row) for row in seen["judges"]] == [JUDGE, JUDGE]
    assert [list(row) for row in seen["questions"]] == [QUESTION]
    assert seen["schema"] == "juryrank.comparison/1"
    assert seen["warnings"] == [text for text in seen["warnings"] if isinstance(text, str)]


def test_systems_are_named_everywhere():
    """Winners, weighted winners, votes and warnings carry the systems' own names and never the letters A and B."""
    rows = [row for i in range(5) for j in "uvw" for row in ask(f"q{i}", j, "first", "second", "gpt x", "claude y")]
    rows += [row for i in range(5, 9) for row in ask(f"q{i}", "w", "second", "first", "gpt x", "claude y")]
    seen = report(rows, "gpt x", "claude y")
    words = {row["winner"] for row in seen["questions"]} | {row["weighted_winner"] for row in seen["questions"]}
    words |= {vote for row in seen["questions"] for vote in row["votes"].values()}
    assert words <= {"gpt x", "claude y", "tie", "inconclusive", None} and {"gpt x", "claude y"} <= words
    assert not {"A", "B"} & {word.strip(".,:;") for text in seen["warnings"] for word in text.split()}


@pytest.mark.parametrize(
    ("wins", "n", "p"), [(5, 5, 0.0625), (6, 6, 0.03125), (30, 50, 0.2026), (10, 10, 0.001953125), (0, 10, 0.001953125)]
)
def test_interval_and_sign_test_of_known_counts(wins, n, p):
    """C-22 and C-25: the interval is Wilson's, the p-value the exact sign test's, and ten of ten is [0.7225, 1]."""
    rows = [row for i in range(n) for row in ask(f"q{i}", "j", *(("first", "second") if i < wins else ("second", "first")))]
    seen = report(rows)
    assert seen["p_value"] == pytest.approx(p, abs=5e-5)
    assert seen["interval"] == pytest.approx(list(binomtest(wins, n).proportion_ci(method="wilson")), abs=1e-12)
    if n == 10:
        assert seen["interval"] == pytest.approx([0.7225, 1] if wins else [0, 0.2775], abs=5e-5)
