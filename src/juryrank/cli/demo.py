"""`juryrank demo`."""

from __future__ import annotations

import json
from importlib.resources import as_file, files

import click

from juryrank.cli.options import json_option
from juryrank.errors import NoVerdictError


@click.command()
@json_option
def demo(as_json: bool) -> None:
    """Rank and audit the example that comes with the package."""
    from juryrank.cli.render import audit_text, ranking_text, warnings
    from juryrank.pipeline import audit

    with as_file(files("juryrank") / "examples" / "panel.csv") as path:
        result = audit(path, draws=200)
        shown = str(path)
    if result.ranking is None:
        raise NoVerdictError("the bundled example holds no verdict.")
    if as_json:
        click.echo(json.dumps(result.ranking.to_dict(), ensure_ascii=False, allow_nan=False))
        return
    click.echo(f"$ juryrank rank {shown}\n")
    click.echo(ranking_text(result.ranking, top=50))
    click.echo(f"\n$ juryrank audit {shown}\n")
    click.echo(audit_text(result.facts, result.decided_by_id, result.contradictions))
    warnings(result.warnings)
