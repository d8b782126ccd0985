"""Known winners of some questions: a CSV with the columns `context` and `winner`."""

from __future__ import annotations

from pathlib import Path

from juryrank.columns import require
from juryrank.errors import InputError
from juryrank.formats.files import read_file
from juryrank.formats.source import Rows


def read_labels(path: Path) -> dict[str, str]:
    """context -> winner; a question that is labelled twice and differently is refused."""
    raw = read_file(path)
    if not isinstance(raw, Rows):
        raise InputError.at(str(path), "labels are a table with the columns context and winner.")
    frame = raw.frame
    require(frame, ("context", "winner"), raw.origin)
    labels: dict[str, str] = {}
    for position, (context, winner) in enumerate(
        zip(frame["context"].astype(str), frame["winner"].astype(str), strict=True)
    ):
        if labels.setdefault(context, winner) != winner:
            raise raw.origin.error(
                f"{context!r} is labelled {winner!r}, and {labels[context]!r} before.", position=position, column="winner"
            )
    return labels
