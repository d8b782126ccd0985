"""The exception tree: catch `JuryrankError` for everything that juryrank itself raises.

JuryrankError
|-- InputError (ValueError)        a source holds something that cannot be read; names source, row, column, value
|-- SettingsError (ValueError)     an option, or a combination of options, that has no meaning
|-- NoVerdictError (ValueError)    a source without a single usable verdict: there is nothing to rank
`-- MissingExtraError (ImportError)  an optional dependency is absent; names the extra to install
"""

from __future__ import annotations


class JuryrankError(Exception):
    """Base of every error that juryrank raises on purpose."""


class InputError(JuryrankError, ValueError):
    """A source was refused: the message says where, what was seen and what was expected."""

    @classmethod
    def at(
        cls, source: str, problem: str, *, row: int | None = None, column: str | None = None, hint: str = ""
    ) -> InputError:
        """Build the message `source, row 3, column 'outcome': problem. hint` (rows count from 1, without a header)."""
        place = [source]
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column {column!r}")
        return cls(f"{', '.join(place)}: {problem}" + (f" {hint}" if hint else ""))


class SettingsError(JuryrankError, ValueError):
    """An option, or a combination of options, was refused."""


class NoVerdictError(JuryrankError, ValueError):
    """Nothing in the source can enter a fit, so there is no ranking."""


class MissingExtraError(JuryrankError, ImportError):
    """An optional dependency is not installed."""

    @classmethod
    def of(cls, extra: str, purpose: str) -> MissingExtraError:
        """Name the extra that `purpose` needs."""
        return cls(f"{purpose} needs the extra {extra!r}: pip install 'juryrank[{extra}]'")
