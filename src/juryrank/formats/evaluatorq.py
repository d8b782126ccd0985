"""evaluatorq PairwiseRun documents: two systems over many questions, every pass of every judge on record.

A document whose votes all have observations holds showings, and is read as judgments. One in which any vote has none
is read as opinions throughout, by the votes as evaluatorq reconciled them: a vote without observations does not say
which order went which way, and a made-up showing would be counted as evidence of position bias.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from reprlib import repr as short
from typing import Any

import numpy as np
import pandas as pd

from juryrank import tables
from juryrank.errors import InputError
from juryrank.formats.cells import counted
from juryrank.formats.format import Format
from juryrank.formats.source import Document, many
from juryrank.tables import OUTCOMES, STATUSES, Comparisons, Judgments

_NOTHING = object()
#: ordering -> verdict (in the items' frame) -> the slot that it names
_SLOTS = {"ab": {"A": "first", "B": "second", "tie": "tie"}, "ba": {"A": "second", "B": "first", "tie": "tie"}}
_P = {"A": 1.0, "B": 0.0, "tie": 0.5}


@dataclass(frozen=True)
class _Vote:
    """One judge's vote on one entry, checked."""

    entry: int
    context: str
    judge: str
    vote: str | None
    flipped: bool
    completed: bool
    replacement: bool
    failures: int
    explanation: str | None
    observations: tuple[tuple[str, int, str | None, str | None], ...]


def _read(document: Document) -> Judgments | Comparisons:
    run = document.content
    labels = tuple(_get(document, run, name, str, 0, name, name[-1].upper()) for name in ("label_a", "label_b"))
    contexts = _contexts(document)
    votes = [vote for entry, context in enumerate(contexts, 1) for vote in _votes(document, entry, context)]
    bare = sum(not vote.observations for vote in votes)
    if bare:
        made: Judgments | Comparisons = _opinions(document, votes, labels)
    else:
        made = _showings(document, votes, labels)
    voted = {vote.context for vote in votes}
    silent = tuple(context for context in contexts if context not in voted)
    return replace(made, silent=silent, notes=(*_said(votes, bare, len(silent)), *made.notes))


def _said(votes: list[_Vote], bare: int, silent: int) -> list[str]:
    notes = [f"{many(len(votes), 'vote')}, {many(sum(len(v.observations) for v in votes), 'observation')}."]
    if silent:
        notes.append(f"{many(silent, 'entry has', 'entries have')} no votes.")
    if 0 < bare < len(votes):
        notes.append(
            f"{many(bare, 'vote has', 'votes have')} no observations, so every vote is read as the opinion it was "
            "reconciled to, and repetitions are not seen."
        )
    return notes


def _showings(document: Document, votes: list[_Vote], labels: tuple[str, ...]) -> Judgments:
    records = [record for vote in votes for record in _passes(vote, labels)]
    columns = ("entry", "context", "judge", "first", "second", "outcome", "repetition", "replacement", "explanation")
    frame = pd.DataFrame(records, columns=pd.Index(columns, dtype=object), dtype=object)
    entry = frame.pop("entry").to_numpy(dtype=np.int64)
    frame["replacement"] = frame["replacement"].astype(bool)
    names = {"context": "question", "judge": "model", "first": "label_a", "second": "label_b", "outcome": "verdict"}
    made = tables.judgments(frame, replace(document.origin, rows=entry, names=names))
    return replace(made, notes=(counted(made.table["outcome"].to_numpy(), list(OUTCOMES)), *made.notes))


def _passes(vote: _Vote, labels: tuple[str, ...]) -> Iterator[tuple[object, ...]]:
    """One record per observation; the first nulls, as many as failed, are failures, the rest abstentions."""
    failures = vote.failures
    for ordering, repetition, verdict, explanation in vote.observations:
        first, second = labels if ordering == "ab" else labels[::-1]
        outcome = "uncertain" if verdict is None else _SLOTS[ordering][verdict]
        if verdict is None and failures:
            outcome, failures = "failure", failures - 1
        yield (
            *(vote.entry, vote.context, vote.judge, first, second),
            *(outcome, repetition, vote.replacement, explanation),
        )


def _opinions(document: Document, votes: list[_Vote], labels: tuple[str, ...]) -> Comparisons:
    swap = _get(document, document.content, "swap", bool, 0, "swap", True)
    frame = pd.DataFrame(
        {
            "context": _texts(vote.context for vote in votes),
            "judge": _texts(vote.judge for vote in votes),
            "item_a": _texts(labels[0] for _ in votes),
            "item_b": _texts(labels[1] for _ in votes),
            "status": _texts(_status(vote) for vote in votes),
            "p_a": [_p_a(vote) for vote in votes],
            # Without the swap only the order A, B was asked.
            "orders": 2 if swap else 1,
            "slot": 0 if swap else 1,
            "flipped": [vote.flipped for vote in votes],
            "completed": [swap and vote.completed and _status(vote) not in ("uncertain", "failure") for vote in votes],
            "failures": [vote.failures for vote in votes],
            "replacement": [vote.replacement for vote in votes],
            "explanation": _texts(vote.explanation for vote in votes),
        }
    )
    entry = np.array([vote.entry for vote in votes], dtype=np.int64)
    names = {"context": "question", "judge": "model", "item_a": "label_a", "item_b": "label_b", "status": "vote"}
    made = tables.comparisons(frame, replace(document.origin, rows=entry, names=names))
    return replace(made, notes=(counted(made.table["status"].to_numpy(), list(STATUSES)), *made.notes))


def _texts(values: Iterator[str | None]) -> pd.Series:
    return pd.Series(list(values), dtype=object)


def _status(vote: _Vote) -> str:
    if vote.vote is not None:
        return "tie" if vote.vote == "tie" else "win"
    if vote.flipped:
        return "disagreement"
    return "failure" if vote.failures else "uncertain"


def _p_a(vote: _Vote) -> float:
    if vote.vote is None:
        return 0.5 if vote.flipped else np.nan
    return _P[vote.vote]


def _contexts(document: Document) -> list[str]:
    """One context per entry: its question, numbered from the second time on, so that equal texts stay apart."""
    entries = _get(document, document.content, "entries", list, 0, "entries")
    questions = [_get(document, entry, "question", str, row, "question") for row, entry in enumerate(entries, 1)]
    taken, seen, contexts = set(questions), Counter[str](), []
    for question in questions:
        seen[question] += 1
        name = question
        while seen[question] > 1 and name in taken:
            name = f"{question} #{seen[question]}"
            seen[question] += name in taken
        taken.add(name)
        contexts.append(name)
    return contexts


def _votes(document: Document, row: int, context: str) -> Iterator[_Vote]:
    entry = document.content["entries"][row - 1]
    comparison = _get(document, entry, "comparison", dict, row, "comparison")
    for number, vote in enumerate(_get(document, comparison, "votes", list, row, "comparison.votes", [])):
        yield _vote(document, vote, row, context, f"comparison.votes[{number}]")


def _vote(document: Document, vote: Any, row: int, context: str, path: str) -> _Vote:
    def get(name: str, kind: type, default: Any = _NOTHING) -> Any:
        return _get(document, vote, name, kind, row, f"{path}.{name}", default)

    observations = get("observations", list, [])
    return _Vote(
        row,
        context,
        judge=get("model", str),
        vote=_verdict(document, vote, "vote", row, path),
        flipped=get("flipped", bool, False),
        completed=get("completed", bool, True),
        replacement=get("replacement", bool, False),
        failures=_count(document, vote, "repetition_failures", row, path, 0),
        explanation=_explanation(vote),
        observations=tuple(
            _observation(document, seen, row, f"{path}.observations[{i}]") for i, seen in enumerate(observations)
        ),
    )


def _observation(document: Document, seen: Any, row: int, path: str) -> tuple[str, int, str | None, str | None]:
    ordering = _get(document, seen, "ordering", str, row, f"{path}.ordering")
    if ordering not in _SLOTS:
        raise _error(document, f"{ordering!r} is not known here; expected ab or ba.", row, f"{path}.ordering")
    repetition = _count(document, seen, "repetition", row, path)
    return ordering, repetition, _verdict(document, seen, "verdict", row, path), _explanation(seen)


def _explanation(record: Mapping[str, Any]) -> str | None:
    text = record.get("explanation")
    return text if isinstance(text, str) and text else None


def _verdict(document: Document, record: Any, name: str, row: int, path: str) -> str | None:
    """A, B, tie or None; a record that lacks the key is refused, since null is an answer."""
    found = _get(document, record, name, object, row, f"{path}.{name}")
    if found is not None and (not isinstance(found, str) or found not in _P):
        raise _error(document, f"{found!r} is not known here; expected A, B, tie or null.", row, f"{path}.{name}")
    return found


def _count(document: Document, record: Any, name: str, row: int, path: str, default: Any = _NOTHING) -> int:
    number = _get(document, record, name, int, row, f"{path}.{name}", default)
    if number < 0 or isinstance(number, bool):
        raise _error(document, f"{number!r} is not a whole number of at least 0.", row, f"{path}.{name}")
    return number


def _get(document: Document, record: Any, name: str, kind: type, row: int, path: str, default: Any = _NOTHING) -> Any:
    """`record[name]`, of the right kind; `path` is how an error calls it, `row` the entry (0 = the document)."""
    if not isinstance(record, Mapping):
        raise _error(document, f"expected an object, found {short(record)}.", row, path)
    found = record.get(name, default)
    if found is _NOTHING:
        raise _error(document, f"no key {name!r} there.", row, path)
    if not isinstance(found, kind):
        raise _error(document, f"expected {kind.__name__}, found {short(found)}.", row, path)
    return found


def _error(document: Document, problem: str, row: int, path: str) -> InputError:
    origin = replace(document.origin, rows=np.array([row]))
    return origin.error(problem, position=0 if row else None, column=path, hint="Rows are entries." if row else "")


EVALUATORQ = Format(
    name="evaluatorq",
    title="an evaluatorq document",
    needs=("entries",),
    takes=("label_a", "label_b", "swap"),
    make=_read,
    document=True,
)
