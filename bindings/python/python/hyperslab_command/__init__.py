"""The command `hyperslab`, with Ctrl-C handled before anything else is imported.

A package of its own: importing a module of `hyperslab` imports all of `hyperslab` first, which takes a moment."""

import os
import signal
from types import FrameType


def main() -> None:
    """Entry point of the command."""
    # A shell that starts a command in the background lets it ignore SIGINT.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from hyperslab.cli import main as run

    run()


def _end(number: int, _: FrameType | None) -> None:
    """There is nothing to clean up yet; `hyperslab.cli.stopping` takes over when there is."""
    os._exit(128 + number)
