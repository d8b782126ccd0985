"""Progress on standard error: silence for a second, then which stage is at work and how long each took."""

from __future__ import annotations

import threading
import time
from types import TracebackType

import click

PATIENCE = 1.0


class Progress:
    """Call it with the name of each stage as it starts; use it as a context manager."""

    def __init__(self) -> None:
        self._began = self._stage_began = time.monotonic()
        self._stage = ""
        self._said = False
        self._timer: threading.Timer | None = None

    def __call__(self, stage: str) -> None:
        """The stage before is over; this one starts."""
        self._close()
        self._stage, self._stage_began, self._said = stage, time.monotonic(), False
        self._timer = threading.Timer(PATIENCE, self._speak)
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()

    def _speak(self) -> None:
        self._said = True
        click.echo(f"{self._stage} ...", err=True)

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._stage and (self._said or time.monotonic() - self._began > PATIENCE):
            click.echo(f"{self._stage}: {time.monotonic() - self._stage_began:.1f} s", err=True)
        self._stage = ""
