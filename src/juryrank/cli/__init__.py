"""The command line: parsing only. Answers go to standard output, everything else to standard error.

Exit codes: 0 done; 2 bad input or usage; 3 no usable verdict; 130 interrupted.
"""

from __future__ import annotations

import os
import sys

import click

from juryrank import __version__
from juryrank.cli.audit import audit
from juryrank.cli.compare import compare
from juryrank.cli.demo import demo
from juryrank.cli.models import models
from juryrank.cli.rank import rank
from juryrank.cli.simulate import simulate
from juryrank.errors import JuryrankError, NoVerdictError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="juryrank")
def cli() -> None:
    """Rank many things that can only be compared two at a time, by judges who are noisy, biased and expensive."""


for command in (rank, audit, compare, models, simulate, demo):
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    # With a second process at work, OpenBLAS threads that wait for each other make a small factorisation 250 times slower.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        return cli.main(arguments, prog_name="juryrank", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted.", err=True)
        return 130
    except NoVerdictError as error:
        click.echo(f"no ranking: {error}", err=True)
        return 3
    except JuryrankError as error:
        click.echo(f"error: {error}", err=True)
        return 2
    except BrokenPipeError:
        # The reader of a pipe has left, which is its right; the interpreter must not complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
