"""`juryrank audit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from juryrank.cli.options import json_option, model_options, settings, source_options
from juryrank.cli.progress import Progress

DRAWS = "Redraws that compare contradictions with chance; 0 leaves the comparison out."
FRAGILITY = "Whether to search how few votes hold up the first place and the top k."


@click.command()
@source_options
@model_options
@click.option("--draws", type=click.IntRange(0), default=200, show_default=True, help=DRAWS)
@click.option("--fragility/--no-fragility", "fragile", default=True, show_default=True, help=FRAGILITY)
@json_option
@click.pass_context
def audit(context: click.Context, file: Path, draws: int, fragile: bool, as_json: bool, **given: Any) -> int:
    """Say what FILE can and cannot tell: contradictions, fragility, flips, gaps between groups, places that rest on ids."""
    from juryrank.cli.render import audit_text, notes, warnings
    from juryrank.document import audit_document
    from juryrank.pipeline import audit as audit_source

    with Progress() as progress:
        result = audit_source(file, draws=draws, fragile=fragile, progress=progress, **settings(given))
    found, held = result.contradictions, result.fragility
    if as_json:
        objects = [None if one is None else one.to_dict() for one in (found, held)]
        document = audit_document(result.facts, result.decided_by_id, result.warnings, *objects)
        click.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        notes(result.notes)
        click.echo(audit_text(result.facts, result.decided_by_id, found, held))
        warnings(result.warnings)
    return 0 if result.ranking is not None else 3
