"""`juryrank compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from juryrank.cli.options import json_option, mapping, pairs, source_options
from juryrank.cli.progress import Progress

RULES = ("auto", "plurality", "bt-sigma", "bt-sigma-questions", "consistency", "dawid-skene")


@click.command()
@source_options
@click.option("--a", help="Name of system A; may be left out where the file holds two systems.")
@click.option("--b", help="Name of system B.")
@click.option("--aggregation", type=click.Choice(RULES), default="auto", show_default=True, help="The weighted rule.")
@click.option("--labels", type=click.Path(path_type=Path), help="CSV context,winner: winners that people know.")
@click.option("--family", "families", multiple=True, metavar="JUDGE=FAMILY", help="Family of a judge; repeatable.")
@click.option("--quorum", default=1, show_default=True, help="Decisive votes that a plurality needs.")
@click.option("--level", default=0.95, show_default=True, help="Level of the intervals.")
@json_option
def compare(file: Path, as_json: bool, columns: tuple[str, ...], **given: Any) -> None:
    """Compare two systems over the questions (contexts) of FILE: who won, how sure that is, which judge to believe."""
    from juryrank.cli.render import comparison_text, notes, warnings
    from juryrank.pipeline import compare_systems

    given["labels"] = _labels(given["labels"])
    given["families"] = pairs(given["families"], "--family", "JUDGE=FAMILY")
    with Progress() as progress:
        progress("comparing")
        report = compare_systems(file, columns=mapping(columns), **given)
    if as_json:
        click.echo(json.dumps(report.to_dict(), ensure_ascii=False, allow_nan=False))
        return
    notes(report.notes)
    click.echo(comparison_text(report))
    warnings(report.warnings)


def _labels(path: Path | None) -> dict[str, str] | None:
    if path is None:
        return None
    from juryrank.formats.labels import read_labels

    return read_labels(path)
