"""The terminal: consoles that obey `NO_COLOR`, and lines that are as wide as the terminal or, in pipes, as they need to be."""

from __future__ import annotations

import os
import sys

from rich.console import Console

#: Columns of what is not a terminal: nothing is wrapped or cut.
_UNLIMITED = 1 << 16


def console(*, errors: bool = False) -> Console:
    """The console of standard output, or of standard error. With `NO_COLOR` it has no styles at all, neither bold nor dim."""
    is_terminal = (sys.stderr if errors else sys.stdout).isatty()
    return Console(
        stderr=errors,
        soft_wrap=not is_terminal,
        width=None if is_terminal else _UNLIMITED,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )


def say(what: object) -> None:
    """Prints for people. Lines are wrapped only on a terminal; elsewhere they have no trailing blanks."""
    to = console()
    if to.is_terminal:
        to.print(what)
        return
    with to.capture() as captured:
        to.print(what)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def has_style() -> bool:
    """Whether standard output shows bold and dim text."""
    return console().color_system is not None


def width() -> int | None:
    """Columns of the terminal; `None` if standard output is none."""
    return console().width if sys.stdout.isatty() else None
