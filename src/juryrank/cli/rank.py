"""`juryrank rank`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from juryrank.cli.options import json_option, model_options, settings, source_options
from juryrank.cli.progress import Progress


@click.command()
@source_options
@model_options
@click.option("--top", default=50, show_default=True, help="Rows of the table that are shown; 0 is all.")
@json_option
def rank(file: Path, top: int, as_json: bool, **given: Any) -> None:
    """Rank the items of FILE: strengths, intervals, rank sets, judges and warnings.

    FILE holds judgments (first, second, outcome), or wins, outcomes, arena battles, left/right choices, alpaca
    annotations or an evaluatorq run, as CSV, TSV, JSON, JSONL or Parquet.
    """
    from juryrank.cli.render import notes, ranking_text, warnings
    from juryrank.pipeline import rank as rank_source

    with Progress() as progress:
        result = rank_source(file, progress=progress, **settings(given))
    if as_json:
        click.echo(json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False))
        return
    notes(result.notes)
    click.echo(ranking_text(result, top))
    warnings(result.warnings)
