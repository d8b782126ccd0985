"""Tests of evaluatorq documents as sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from formats_support import refusal, same, written

from juryrank.errors import SettingsError
from juryrank.formats import read
from juryrank.tables import Comparisons, Judgments

# evaluatorq documents


def vote(
    model: str, verdict: str | None, *seen: tuple[str, int, str | None], failures: int = 0, **more: object
) -> dict[str, object]:
    """A vote as evaluatorq 1.82.0 saves it."""
    observations = [
        {"ordering": o, "repetition": r, "verdict": v, "explanation": None, "raw_output": None} for o, r, v in seen
    ]
    base = {"model": model, "vote": verdict, "flipped": False, "completed": True, "replacement": False}
    return base | {"explanation": "", "observations": observations, "repetition_failures": failures} | more


UNMEASURED = ("token_usage", "judge_latency_ms", "trace_id")


def run(*entries: tuple[str, list[dict[str, object]]], **more: object) -> dict[str, object]:
    """A PairwiseRun document of entries (question, votes)."""
    return {
        "judging": "pairwise",
        "run_name": "r",
        "created_at": "2026-01-01T00:00:00Z",
        "label_a": "sysX",
        "label_b": "sysY",
        "judges": [],
        "criteria": "",
        "swap": True,
        "entries": [
            {
                "question": question,
                "response_a": "P",
                "response_b": "Z",
                "comparison": {"winner": "A", "votes": votes} | dict.fromkeys(UNMEASURED),
                "metrics_a": None,
                "metrics_b": None,
            }
            for question, votes in entries
        ],
        "report": None,
    } | more


def test_observations_are_turned_to_the_slots_in_which_they_were_shown() -> None:
    """A ba observation stands in the items' frame, so its verdict A is the second slot."""
    seen = [(o, 0, v) for o, v in (("ab", "A"), ("ba", "A"))]
    ties = [("ab", 0, "tie"), ("ba", 0, "B")]
    made = read(run(("Q", [vote("m", "A", *seen), vote("n", None, *ties, flipped=True)])))
    assert isinstance(made, Judgments)
    assert made.frame[["judge", "first", "second", "outcome"]].values.tolist() == [
        ["m", "sysX", "sysY", "first"],
        ["m", "sysY", "sysX", "second"],
        ["n", "sysX", "sysY", "tie"],
        ["n", "sysY", "sysX", "first"],
    ]
    assert made.notes == (
        "Read the document as an evaluatorq document (format 'evaluatorq'): 1 entry.",
        "2 votes, 4 observations.",
        "Counted 2 first, 1 second, 1 tie.",
    )


def test_null_verdicts_are_failures_as_far_as_the_vote_counts_them() -> None:
    """As many nulls as repetition_failures says are failures, and the others abstentions."""
    seen = [("ab", 0, "A"), ("ab", 1, None), ("ba", 0, None), ("ba", 1, None)]
    outcomes = [read(run(("Q", [vote("m", None, *seen, failures=n)]))).frame["outcome"].tolist()[1:] for n in range(5)]
    assert [o.count("failure") for o in outcomes] == [0, 1, 2, 3, 3]
    assert [o.count("uncertain") for o in outcomes] == [3, 2, 1, 0, 0]


def test_entries_are_questions_even_where_their_text_repeats() -> None:
    """Equal questions become contexts of their own, and no made-up name meets a question that is there."""
    one = [vote("m", "A", ("ab", 0, "A"))]
    made = read(run(("Q", one), ("Q", one), ("Q #2", one), ("", one), ("Q", one), ("", one)))
    assert made.frame["context"].tolist() == ["Q", "Q #3", "Q #2", "", "Q #4", " #2"]
    assert made.frame["repetition"].tolist() == [0] * 6


def test_votes_without_observations_are_opinions() -> None:
    """A document without observations holds comparisons, by the votes as they were reconciled."""
    votes = [
        vote("a", "A"),
        vote("b", "B"),
        vote("c", "tie"),
        vote("d", None, flipped=True),
        vote("e", None),
        vote("f", None, failures=1),
    ]
    made = read(run(("Q", votes)))
    assert isinstance(made, Comparisons)
    frame = made.frame
    assert frame["status"].tolist() == ["win", "win", "tie", "disagreement", "uncertain", "failure"]
    assert frame["winner"].tolist() == ["sysX", "sysY", None, None, None, None]
    assert frame["flipped"].tolist() == [False, False, False, True, False, False]
    assert frame["completed"].tolist() == [True, True, True, True, False, False]
    assert frame["orders"].tolist() == [2] * 6
    turned = read(run(("Q", votes), label_a="z")).frame
    assert turned["p_a"].tolist()[:4] == [0.0, 1.0, 0.5, 0.5]


def test_without_the_swap_an_opinion_has_one_order() -> None:
    """A run without the swap showed A first, and no pair was completed."""
    frame = read(run(("Q", [vote("a", "A", completed=False)]), swap=False)).frame
    assert frame[["orders", "slot", "completed"]].values.tolist() == [[1, 1, False]]
    shown = read(run(("Q", [vote("a", "A", ("ab", 0, "A"), completed=False)]), swap=False))
    assert len(shown) == 1


def test_a_mixed_document_is_read_as_opinions_throughout() -> None:
    """One vote without observations makes all votes opinions, and a note says so."""
    made = read(run(("Q", [vote("a", "A", ("ab", 0, "A"), ("ba", 0, "A")), vote("b", "B")]), ("R", [])))
    assert isinstance(made, Comparisons)
    assert made.frame["winner"].tolist() == ["sysX", "sysY"]
    assert "1 entry has no votes." in made.notes
    assert any(note.startswith("1 vote has no observations, so every vote is read as the opinion") for note in made.notes)


def test_documents_are_read_from_files_and_without_optional_keys(tmp_path: Path) -> None:
    """A document in a file reads like the dict, and labels default to A and B."""
    document = run(("Q", [vote("m", "A", ("ab", 0, "A"))]))
    path = written(tmp_path, "run.json", json.dumps(document))
    same(read(path).frame, read(document).frame)
    for key in ("label_a", "label_b", "swap", "report", "judges"):
        del document[key]
    assert read(document, format="evaluatorq").items == ["A", "B"]
    assert len(read(run())) == 0


def test_documents_take_no_columns_and_rows_are_no_documents() -> None:
    """A mapping or a rows format does not go with a document, nor the reverse."""
    with pytest.raises(SettingsError, match="no columns to map"):
        read(run(), columns={"first": "x"})
    assert "wins is rows, which this is not" in refusal(run(), format="wins")
    assert "evaluatorq is one JSON object" in refusal([{"entries": 1}], format="evaluatorq")


def first_vote(entry: dict[str, Any]) -> dict[str, Any]:
    return entry["comparison"]["votes"][0]


def first_seen(entry: dict[str, Any]) -> dict[str, Any]:
    return first_vote(entry)["observations"][0]


SEEN = "comparison.votes[0].observations[0]"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: e.pop("comparison"), "'comparison': no key 'comparison' there."),
        (lambda e: e.update(question=None), "'question': expected str, found None."),
        (lambda e: e["comparison"].update(votes={}), "'comparison.votes': expected list, found {}."),
        (lambda e: e["comparison"]["votes"].append(3), "expected an object, found 3."),
        (
            lambda e: first_vote(e).update(vote="C"),
            "'comparison.votes[0].vote': 'C' is not known here; expected A, B, tie",
        ),
        (lambda e: first_vote(e).pop("vote"), "'comparison.votes[0].vote': no key 'vote' there."),
        (lambda e: first_vote(e).update(model=7), "'comparison.votes[0].model': expected str, found 7."),
        (lambda e: first_vote(e).update(model=""), "'model': an empty id."),
        (lambda e: first_vote(e).update(repetition_failures=-1), "-1 is not a whole number of at least 0."),
        (
            lambda e: first_seen(e).update(ordering="AB"),
            f"'{SEEN}.ordering': 'AB' is not known here; expected ab or ba.",
        ),
        (lambda e: first_seen(e).update(verdict="a"), f"'{SEEN}.verdict': 'a' is not known here; expected A, B, tie"),
        (lambda e: first_seen(e).update(repetition=True), f"'{SEEN}.repetition': True is not a whole number"),
        (lambda e: first_vote(e)["observations"].append(first_seen(e)), "'repetition': the showing of row 2 again"),
    ],
)
def test_unknown_things_in_a_document_are_named_by_entry_and_path(change: Any, said: str) -> None:
    """Whatever is missing or unknown in a document is refused with entry and path."""
    entry = ("Q", [vote("m", "A", ("ab", 0, "A"))])
    document = json.loads(json.dumps(run(entry, entry)))
    change(document["entries"][1])
    seen = refusal(document)
    assert seen.startswith("the document, row 2, column '")
    assert said in seen


def test_labels_must_differ_and_be_texts() -> None:
    """Two systems of one name cannot be told apart and are refused."""
    entry = ("Q", [vote("m", "A", ("ab", 0, "A"))])
    assert "'s' is compared with itself" in refusal(run(entry, label_a="s", label_b="s"))
    assert "column 'label_a': expected str, found 3" in refusal(run(entry, label_a=3))
    assert "column 'entries': expected list, found 3" in refusal({"entries": 3})
