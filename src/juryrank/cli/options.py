"""Options that several commands share, and their way into settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from juryrank.prior import Prior

Command = Callable[..., Any]


def stacked(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order of the help text."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _choice(*words: str) -> click.Choice:
    return click.Choice(words)


source_options = stacked(
    click.argument("file", type=click.Path(path_type=Path)),
    click.option("--format", default="auto", show_default=True, help="Name of the format, or auto."),
    click.option("--column", "columns", multiple=True, metavar="OURS=THEIRS", help="Map a column, e.g. first=model_a."),
)

model_options = stacked(
    click.option(
        "--model",
        type=_choice("auto", "bt", "bt-sigma"),
        default="auto",
        show_default=True,
        help="auto: a sigma per judge from two judges on.",
    ),
    click.option(
        "--on",
        type=_choice("comparisons", "showings"),
        default="comparisons",
        show_default=True,
        help="Fit reconciled opinions, or every showing.",
    ),
    click.option(
        "--policy",
        type=_choice("strict", "lenient", "soft"),
        default="strict",
        show_default=True,
        help="How the two orders of a pair become one opinion.",
    ),
    click.option(
        "--contexts",
        type=_choice("pooled", "separate"),
        default="pooled",
        show_default=True,
        help="The same items in every context, or items of its own in each.",
    ),
    click.option(
        "--ties",
        type=_choice("half", "davidson", "rao-kupper"),
        default="half",
        show_default=True,
        help="A tie as half a win each, or with a parameter.",
    ),
    click.option(
        "--slot-bias",
        type=_choice("auto", "yes", "no"),
        default="auto",
        show_default=True,
        help="A bias of each judge towards the first slot.",
    ),
    click.option(
        "--disagreements",
        type=_choice("half", "drop"),
        default="half",
        show_default=True,
        help="A flip as half a win each way, or not at all.",
    ),
    click.option(
        "--prior",
        default="10",
        show_default=True,
        metavar="none|SD",
        help="Standard deviation of strengths in logits; none is maximum likelihood.",
    ),
    click.option("--log-sigma-sd", default=1.0, show_default=True, help="Prior sd of log sigma."),
    click.option("--pseudo-wins", default=0.0, show_default=True, help="Half of this is won each way on every pair seen."),
    click.option("--weights", type=_choice("consistency"), help="Weigh judges by their repetition consistency."),
    click.option(
        "--repeats",
        type=_choice("effective", "votes"),
        default="effective",
        show_default=True,
        help="On showings: repeated ones count for what they tell, or as votes.",
    ),
    click.option(
        "--covariate",
        "covariates",
        multiple=True,
        metavar="NAME",
        help="A column that may sway judges, say length: strengths are read at equal values. May be given again.",
    ),
    click.option(
        "--covariates-by",
        type=_choice("all", "judge"),
        default="all",
        show_default=True,
        help="One coefficient for all judges, or one for each.",
    ),
    click.option(
        "--covariance",
        type=_choice("auto", "model", "sandwich", "cluster", "cluster-judge", "cluster-both"),
        default="auto",
        show_default=True,
        help="Where standard errors come from; auto clusters by group where groups repeat and are many.",
    ),
    click.option("--top-k", type=click.IntRange(min=1), help="Places of p_top_k; 10, or half of the items."),
    click.option("--items", "roster", type=click.Path(path_type=Path), help="A file with the ids that are to be ranked."),
    click.option("--level", default=0.95, show_default=True, help="Level of intervals and rank sets."),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the extra starts of BT-sigma."
    ),
)

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")


def settings(given: dict[str, Any]) -> dict[str, Any]:
    """Command-line words -> keyword arguments of `juryrank.rank`."""
    found = dict(given)
    found["prior"] = _prior(found.pop("prior"), found.pop("log_sigma_sd"), found.pop("pseudo_wins"))
    found["columns"] = mapping(found["columns"])
    found["items"] = _roster(found.pop("roster"))
    return found


def mapping(columns: tuple[str, ...]) -> dict[str, str]:
    """`("first=model_a",)` -> `{"first": "model_a"}`."""
    return pairs(columns, "--column", "OURS=THEIRS, e.g. first=model_a")


def pairs(given: tuple[str, ...], option: str, shape: str) -> dict[str, str]:
    """`("x=y",)` -> `{"x": "y"}`."""
    found = [text.partition("=") for text in given]
    for (left, equals, right), text in zip(found, given, strict=True):
        if not (left and equals and right):
            raise click.BadParameter(f"{text!r}; expected {shape}.", param_hint=option)
    return {left: right for left, _, right in found}


def _prior(width: str, log_sigma_sd: float, pseudo_wins: float) -> Prior:
    from juryrank.prior import Prior

    if width == "none":
        return Prior(None, None, None, pseudo_wins, covariate_sd=None)
    try:
        sd = float(width)
    except ValueError:
        sd = math.nan
    if not (math.isfinite(sd) and sd > 0):
        raise click.BadParameter(f"{width!r}; expected 'none' or a positive number of logits.", param_hint="--prior")
    return Prior(strength_sd=sd, log_sigma_sd=log_sigma_sd, pseudo_wins=pseudo_wins)


def _roster(path: Path | None) -> list[str] | None:
    if path is None:
        return None
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} cannot be read: {error}.", param_hint="--items") from error
    return [line for line in lines if line.strip()]
