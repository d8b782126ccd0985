"""`juryrank simulate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from juryrank.cli.progress import Progress


def _number_or_all(context: click.Context, parameter: click.Parameter, value: str) -> str | int:
    if value == "all":
        return value
    if not value.isdecimal():
        raise click.BadParameter(f"{value!r}; expected 'all' or a number of pairs.")
    return int(value)


@click.command()
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="Judgments: .csv, .jsonl or .parquet.")
@click.option("--truth", type=click.Path(path_type=Path), help="Also write the true parameters, as JSON.")
@click.option("--force", is_flag=True, help="Overwrite what is there.")
@click.option("--items", default=20, show_default=True, help="Number of items.")
@click.option("--judges", default=5, show_default=True, help="Number of judges.")
@click.option("--contexts", default=1, show_default=True, help="Number of contexts.")
@click.option("--pairs", default="all", show_default=True, callback=_number_or_all, help="Pairs a context, or all.")
@click.option("--orders", default="both", show_default=True, type=click.Choice(["both", "random", "single"]))
@click.option("--repetitions", default=1, show_default=True, help="Passes of each showing.")
@click.option("--rows", type=int, help="Draw just so many judgments at random instead of the whole design.")
@click.option("--strength-sd", default=1.0, show_default=True, help="Spread of strengths, in logits.")
@click.option("--log-sigma-sd", default=0.5, show_default=True, help="Spread of log sigma between judges.")
@click.option("--slot-sd", default=0.3, show_default=True, help="Spread of slot biases, in logits.")
@click.option("--context-sd", default=0.0, show_default=True, help="Spread of an item's strength between contexts.")
@click.option("--showing-sd", default=0.0, show_default=True, help="Noise that all passes of one showing share.")
@click.option("--tie-rate", default=0.0, show_default=True, help="Davidson's nu.")
@click.option("--failure-rate", default=0.0, show_default=True, help="Share of calls that fail.")
@click.option("--uncertain-rate", default=0.0, show_default=True, help="Share of answers that abstain.")
@click.option("--seed", default=0, show_default=True)
def simulate(out: Path, truth: Path | None, force: bool, **given: Any) -> None:
    """Write judgments with known truth."""
    from juryrank.formats.write import check_target, whole, write
    from juryrank.simulation import simulate as draw

    for path in (out, truth):
        if path is not None:
            check_target(path, force=force)
    with Progress() as progress:
        progress("drawing")
        made = draw(**given)
        progress("writing")
        write(made.judgments, out, force=force)
    if truth is not None:
        values = {name: getattr(made, name).to_dict() for name in ("strengths", "sigmas", "slot_biases")}
        whole(truth, lambda part: part.write_text(json.dumps(values, indent=1)))
    click.echo(f"{len(made.judgments)} judgments written to {out}", err=True)
