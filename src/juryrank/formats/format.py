"""A file format: the columns that it is known by, those that it may have, and how its rows become a table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import pandas as pd

from juryrank.formats.source import Document, Rows, listed
from juryrank.tables import Comparisons, Judgments


@dataclass(frozen=True)
class Format:
    """One way to write judgments down.

    `make` turns a source that has all of `needs` into a table, with the notes of what was counted as what; it raises
    `InputError` for anything it does not know, and never returns a part.
    """

    name: str
    title: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    make: Callable[[Any], Judgments | Comparisons]
    #: a document is one JSON object; every other format is rows under column names
    document: bool = False

    def fits(self, source: Rows | Document) -> bool:
        """Whether the source has the shape and all the columns that the format needs."""
        return isinstance(source, Document) == self.document and not self.missing(source)

    def missing(self, source: Rows | Document) -> list[str]:
        """The needed columns that the source lacks."""
        return [name for name in self.needs if name not in source.columns]

    def wants(self) -> str:
        """The columns, in words."""
        optional = f" (and takes {', '.join(self.takes)})" if self.takes else ""
        return f"{self.name} wants {', '.join(self.needs)}{optional}"


def carried(
    rows: Rows, consumed: Collection[str], keeps: Collection[str], reserved: Collection[str]
) -> tuple[dict[str, pd.Series], tuple[str, ...]]:
    """The columns that go over as they are, and a note on those that may not.

    A column is left out where its name means something in our table (`reserved`) that it does not mean in the source.
    """
    others = [name for name in rows.columns if name not in consumed]
    left = [name for name in others if name in reserved and name not in keeps]
    notes = (f"Left out, for the name has another meaning here: {listed(left)}.",) if left else ()
    return {name: rows.frame[name] for name in others if name not in left}, notes
