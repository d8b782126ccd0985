"""Our own tables -> files. A file appears whole or not at all: it is written beside its place and then moved there."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from juryrank.errors import InputError, MissingExtraError
from juryrank.tables import Comparisons, Judgments


def write(table: Judgments | Comparisons, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a table as .csv, .jsonl or .parquet; `read` gives the same table back.

    Raises `InputError` for another suffix, a missing folder, or (unless `force`) a file that is there already.
    """
    target = Path(path)
    make = _writer(target)
    check_target(target, force=force)
    whole(target, lambda part: make(_filled(table.frame), part))


def check_target(target: Path, *, force: bool) -> None:
    """Refuse a place where nothing can, or should, be written."""
    if target.exists() and not force:
        raise InputError.at(
            str(target), "the file is there already.", hint="Choose another name, or overwrite with --force."
        )
    if not target.parent.is_dir():
        raise InputError.at(str(target), f"there is no folder {str(target.parent)!r}.")


def whole(target: Path, fill: Callable[[Path], object]) -> None:
    """Let `fill` write a neighbour of `target`, then put it in place; nothing is left behind on the way."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
    os.close(handle)
    part = Path(name)
    try:
        fill(part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _filled(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the columns in which nothing stands."""
    return frame.loc[:, ~frame.isna().all()] if len(frame) else frame


def _writer(target: Path) -> Callable[[pd.DataFrame, Path], object]:
    writers: dict[str, Callable[[pd.DataFrame, Path], object]] = {
        ".csv": _csv,
        ".jsonl": _jsonl,
        ".parquet": _parquet,
    }
    if target.suffix not in writers:
        raise InputError.at(str(target), f"no format {target.suffix!r}; expected a name ending in {', '.join(writers)}.")
    return writers[target.suffix]


def _csv(frame: pd.DataFrame, path: Path) -> None:
    # Quoting all text keeps a lone carriage return inside its cell.
    frame.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)


def _jsonl(frame: pd.DataFrame, path: Path) -> None:
    frame.to_json(path, orient="records", lines=True, force_ascii=False)


def _parquet(frame: pd.DataFrame, path: Path) -> None:
    try:
        frame.to_parquet(path, index=False)
    except ImportError as missing:
        raise MissingExtraError.of("parquet", "writing Parquet") from missing
