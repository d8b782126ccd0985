"""`juryrank audit`."""

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
@json_option
@click.pass_context
def audit(context: click.Context, file: Path, as_json: bool, **given: Any) -> int:
    """Say what FILE can and cannot tell: contradictions, flips, gaps between groups, places that rest on ids."""
    from juryrank.cli.render import audit_text, notes, warnings
    from juryrank.document import audit_document
    from juryrank.pipeline import audit as audit_source

    with Progress() as progress:
        result = audit_source(file, progress=progress, **settings(given))
    if as_json:
        document = audit_document(result.facts, result.decided_by_id, result.warnings)
        click.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        notes(result.notes)
        click.echo(audit_text(result.facts, result.decided_by_id))
        warnings(result.warnings)
    return 0 if result.ranking is not None else 3
