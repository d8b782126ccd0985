"""The same document, evaluatorq's own numbers and ours.

How the fixtures were made: with evaluatorq 1.82.0, `run_pairwise` on judges scripted by a seeded random generator (a belief
per judge and question; passes that are right, wrong, a tie, an error or an abstention; a judge that always takes the
first slot; a reserve), each comparison added to a `PairwiseRun` that was saved as JSON. `winners` are its comparisons'
winners; the other numbers are those of its `rollup()`. Here is what the document holds, one entry a line:

    question | judge vote flags failures ab/ba | ...

vote and passes are A, B, t (tie) or . (null); ba passes already stand in the items' frame; flags are f (flipped),
c (completed), r (replacement), or -. The tests need no evaluatorq.

Where the rules differ, the contract's is tested: position bias of a judge without a completed pair (theirs 0.0, ours null),
the z of Wilson's interval (theirs 1.96), chance-corrected agreement (theirs Fleiss' kappa over full panels only), a quorum
(theirs is applied while judging and not saved), and entries without votes, which theirs counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

import juryrank as jr

WORDS = {"A": "A", "B": "B", "t": "tie", ".": None}


@dataclass(frozen=True)
class Fixture:
    """A document and evaluatorq's numbers; judges: a_rate, b_rate, position_bias, tie_rate, consistency, consistency_raw."""

    labels: tuple[str, str]
    swap: bool
    quorum: int
    entries: tuple[str, ...]
    winners: str
    rates: tuple[float, float, float, float]  # a_win_rate, b_win_rate, tie_rate, inconclusive_rate
    agreement: float
    judges: dict[str, tuple[float | None, ...]]

    def document(self, *more: dict[str, Any]) -> dict[str, Any]:
        """The PairwiseRun as evaluatorq saved it."""
        entries = [self._entry(*line.split(" | ")) for line in self.entries]
        head = {"judging": "pairwise", "run_name": "r", "label_a": self.labels[0], "label_b": self.labels[1]}
        return head | {"judges": [], "criteria": "", "swap": self.swap, "entries": [*entries, *more], "report": None}

    @staticmethod
    def _entry(question: str, *votes: str) -> dict[str, Any]:
        comparison = {"winner": "inconclusive", "votes": [Fixture._vote(*vote.split(" ")) for vote in votes]}
        return {"question": question, "response_a": "X", "response_b": "Y", "comparison": comparison}

    @staticmethod
    def _vote(model: str, vote: str, flags: str, failures: str, passes: str) -> dict[str, Any]:
        seen = [
            {"ordering": order, "repetition": i, "verdict": WORDS[letter], "explanation": None, "raw_output": None}
            for order, letters in zip(("ab", "ba"), passes.split("/"), strict=True)
            for i, letter in enumerate(letters)
        ]
        found = {"flipped": "f" in flags, "completed": "c" in flags, "replacement": "r" in flags}
        base = {"model": model, "vote": WORDS[vote], "explanation": "", "observations": seen}
        return base | found | {"repetition_failures": int(failures)}


FIXTURES = {
    "repeated": Fixture(
        labels=("new", "old"),
        swap=True,
        quorum=1,
        entries=(
            "q0 | sharp t c 0 ttt/ttt | dull . fc 0 AAt/ttt | first . fc 1 AAA/B.B",
            "q1 | sharp A c 0 AAA/AAt | dull . - 0 A.t/A.t | first . fc 0 AAA/BBB",
            "q2 | sharp A c 0 AAA/AAt | dull A c 0 AAA/.AA | first . fc 0 AAA/BBB",
            "q3 | sharp A c 0 tAA/AAA | dull B c 0 ABB/BB. | first . fc 1 .AA/BBB",
            "q4 | sharp A c 0 AAA/.AA | dull B c 0 BBB/BBA | first . fc 0 AAA/BBB",
            "q5 | sharp B c 0 .BB/BAB | dull A c 1 .AA/AA. | first . fc 0 AAA/BBB",
            "q6 | sharp B c 1 ..B/BBB | dull B c 0 BBB/BBA | first . fc 1 AA./BBB",
            "q0 | sharp B c 1 .BB/BBB | dull . - 1 tAB/AA. | first . fc 0 AAA/BBB",
        ),
        winners="tAA???BB",
        rates=(0.5, 0.5, 0.125, 0.375),
        agreement=0.7,
        judges={
            "sharp": (0.5714285714285714, 0.42857142857142855, 0.0, 0.125, 0.7905092592592591, 0.8333333333333333),
            "dull": (0.4, 0.6, 0.16666666666666666, 0.0, 0.6331018518518519, 0.6458333333333333),
            "first": (None, None, 1.0, 0.0, 0.9201388888888888, 1.0),
        },
    ),
    "quorum": Fixture(
        labels=("zeta", "alpha"),
        swap=True,
        quorum=2,
        entries=(
            "q0 | sharp A c 0 A/A | dull A c 0 A/A | shy . - 1 A/. | spare B cr 0 B/B",
            "q1 | sharp A c 0 A/A | dull t c 0 t/t | shy t c 0 t/t",
            "q2 | sharp t c 0 t/t | dull t c 0 t/t | shy . - 1 t/. | spare t cr 0 t/t",
            "q3 | sharp . - 1 ./A | dull . - 1 ./A | shy A c 0 A/A | spare t cr 0 t/t",
            "q4 | sharp A c 0 A/A | dull A c 0 A/A | shy B c 0 B/B",
            "q5 | sharp B c 0 B/B | dull B c 0 B/B | shy . fc 0 B/A",
            "q6 | sharp t c 0 t/t | dull t c 0 t/t | shy . - 1 ./A | spare . fcr 0 t/A",
            "q7 | sharp B c 0 B/B | dull A c 0 A/A | shy . fc 0 t/A",
            "q0 | sharp B c 0 B/B | dull A c 0 A/A | shy B c 0 B/B",
        ),
        winners="Att?ABt?B",
        rates=(0.5, 0.5, 0.3333333333333333, 0.2222222222222222),
        agreement=0.7407407407407408,
        judges={
            "sharp": (0.5, 0.5, 0.0, 0.2222222222222222, None, None),
            "dull": (0.8, 0.2, 0.0, 0.3333333333333333, None, None),
            "shy": (0.3333333333333333, 0.6666666666666666, 0.3333333333333333, 0.1111111111111111, None, None),
            "spare": (0.0, 1.0, 0.25, 0.5, None, None),
        },
    ),
    "unswapped": Fixture(
        labels=("A", "B"),
        swap=False,
        quorum=1,
        entries=(
            "q0 | sharp . - 0 tA/ | dull . - 0 AB/",
            "q1 | sharp B - 0 .B/ | dull . - 0 tB/",
            "q2 | sharp . - 0 tA/ | dull . - 0 AB/",
            "q3 | sharp B - 0 BB/ | dull . - 0 tA/",
            "q4 | sharp A - 0 AA/ | dull A - 0 A./",
            "q0 | sharp B - 0 B./ | dull . - 0 BA/",
        ),
        winners="?B?BAB",
        rates=(0.25, 0.75, 0.0, 0.3333333333333333),
        agreement=1.0,
        judges={
            "sharp": (0.25, 0.75, None, 0.0, 0.4444444444444445, 0.5),
            "dull": (1.0, 0.0, None, 0.0, 0.037037037037037035, 0.0),
        },
    ),
}
every = pytest.mark.parametrize("fixture", FIXTURES.values(), ids=FIXTURES)


def compared(fixture: Fixture, **options: Any) -> dict[str, Any]:
    a, b = fixture.labels
    return jr.compare_systems(fixture.document(), a=a, b=b, quorum=fixture.quorum, **options).to_dict()


@every
def test_plurality_winners_are_theirs(fixture):
    """Entry by entry the plurality's winner is the one that evaluatorq saved."""
    a, b = fixture.labels
    names = {"A": a, "B": b, "t": "tie", "?": "inconclusive"}
    winners = {row["context"]: row["winner"] for row in compared(fixture)["questions"]}
    questions = [line.split(" | ")[0] for line in fixture.entries]
    keys = [q if q not in questions[:i] else f"{q} #2" for i, q in enumerate(questions)]
    assert [winners[key] for key in keys] == [names[letter] for letter in fixture.winners]


@every
def test_rates_and_agreement_are_theirs(fixture):
    """Win, tie and inconclusive rates and the mean agreement are evaluatorq's."""
    seen = compared(fixture)
    assert seen["comparisons"] == len(fixture.entries)
    assert [seen[k] for k in ("a_win_rate", "b_win_rate", "tie_rate", "inconclusive_rate")] == pytest.approx(fixture.rates)
    assert seen["mean_agreement"] == pytest.approx(fixture.agreement)


@every
def test_votes_and_flips_are_theirs(fixture):
    """Each judge's vote and whether an answer depended on the order are those saved in the document."""
    a, b = fixture.labels
    names = {"A": a, "B": b, "t": "tie", ".": None}
    lines = [line.split(" | ")[1:] for line in fixture.entries]
    saved = sorted((v.split()[0], str(names[v.split()[1]])) for votes in lines for v in votes)
    rows = compared(fixture)["questions"]
    assert sorted((j, str(vote)) for row in rows for j, vote in row["votes"].items()) == saved
    flipped = sum(any("f" in v.split()[2] for v in votes) for votes in lines)
    assert sum(row["order_dependent"] for row in rows) == flipped


@every
@pytest.mark.parametrize("column", range(6))
def test_judges_figures_are_theirs(fixture, column):
    """Side rates, position bias, tie rate and consistency, shrunk and raw, are evaluatorq's; null if not measured."""
    name = ("a_rate", "b_rate", "position_bias", "tie_rate", "consistency", "consistency_raw")[column]
    seen = {row["judge"]: row[name] for row in compared(fixture)["judges"]}
    assert seen == pytest.approx({judge: numbers[column] for judge, numbers in fixture.judges.items()})


@every
def test_failures_are_the_saved_ones(fixture):
    """Failures by judge are the repetition failures that the document counts, and every pass is a judgment."""
    saved = dict.fromkeys(fixture.judges, 0)
    passes = dict.fromkeys(fixture.judges, 0)
    for line in fixture.entries:
        for vote in line.split(" | ")[1:]:
            judge, _, _, failures, seen = vote.split()
            saved[judge] += int(failures)
            passes[judge] += len(seen.replace("/", ""))
    rows = compared(fixture)["judges"]
    assert {row["judge"]: row["failures"] for row in rows} == saved
    assert {row["judge"]: row["judgments"] for row in rows} == passes


def test_votes_without_observations_give_the_same_verdicts():
    """A document saved before passes were kept has the same winners, flips and agreement, and no consistency."""
    fixture = FIXTURES["quorum"]
    document = fixture.document()
    for entry in document["entries"]:
        for vote in entry["comparison"]["votes"]:
            vote["observations"] = []
    a, b = fixture.labels
    seen, full = jr.compare_systems(document, a=a, b=b, quorum=2).to_dict(), compared(fixture)
    assert seen["questions"] == full["questions"]
    assert seen["mean_agreement"] == pytest.approx(fixture.agreement)
    assert [row["position_bias"] for row in seen["judges"]] == [row["position_bias"] for row in full["judges"]]
    assert {row["consistency"] for row in seen["judges"]} == {None}


def test_stand_ins_count_towards_the_quorum():
    """With a quorum of three the entry that three decisive votes, one a stand-in's, decide is decided."""
    a, b = FIXTURES["quorum"].labels
    seen = jr.compare_systems(FIXTURES["quorum"].document(), a=a, b=b, quorum=3).to_dict()
    decided = {row["context"]: row["winner"] for row in seen["questions"] if row["winner"] != "inconclusive"}
    assert decided == {"q0": a, "q1": "tie", "q2": "tie", "q4": a, "q0 #2": b}


def test_an_entry_without_votes_is_an_inconclusive_comparison():
    """Entries are questions: one on which no judge has a vote counts among the comparisons, as in evaluatorq."""
    fixture = FIXTURES["repeated"]
    empty = {"question": "asked of nobody", "response_a": "X", "response_b": "Y"}
    document = fixture.document(empty | {"comparison": {"winner": "inconclusive", "votes": []}})
    seen = jr.compare_systems(document, a="new", b="old").to_dict()
    assert seen["comparisons"] == 9 and seen["inconclusive_rate"] == pytest.approx(4 / 9)


def test_the_command_line_opens_the_document(tmp_path, capfd):
    """`juryrank compare run.json` gives the library's document."""
    from juryrank.cli import run

    path = tmp_path / "run.json"
    path.write_text(json.dumps(FIXTURES["repeated"].document()))
    assert run(["compare", str(path), "--a", "new", "--b", "old", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == compared(FIXTURES["repeated"])
