"""`juryrank models`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from juryrank.cli.options import json_option, mapping, source_options
from juryrank.cli.progress import Progress

BY = ("auto", "context", "pair")


@click.command()
@source_options
@click.option("--models", "words", default="bt,bt-sigma,bt-sigma+slot", show_default=True, help="Simplest first.")
@click.option("--folds", default=5, show_default=True, help="Parts that are held out in turn.")
@click.option("--by", type=click.Choice(BY), default="auto", show_default=True, help="What is held out whole.")
@click.option("--on", type=click.Choice(("comparisons", "showings")), default="comparisons", show_default=True)
@click.option("--contexts", type=click.Choice(("pooled", "separate")), default="pooled", show_default=True)
@click.option("--seed", default=0, show_default=True, help="Deals contexts or pairs to folds.")
@json_option
def models(file: Path, words: str, as_json: bool, columns: tuple[str, ...], **given: Any) -> None:
    """Say which model foretells held-out opinions of FILE best, and whether its judges differ."""
    from juryrank.cli.render import models_text, notes, warnings
    from juryrank.pipeline import compare_models

    names = [word.strip() for word in words.split(",")]
    with Progress() as progress:
        progress("comparing models")
        result = compare_models(file, names, columns=mapping(columns), **given)
    if as_json:
        click.echo(json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False))
        return
    notes(result.notes)
    click.echo(models_text(result))
    warnings(result.warnings)
