"""The `hyperslab` command: its entry point, and how errors end it."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import warnings
from typing import NoReturn, TextIO

from ..base.errors import Error, MissingExtraError
from ..base.extras import require
from ..base.profile import profile
from ..base.progress import Progress
from .notes import note
from .stopping import stoppable


def main() -> None:
    """Entry point; errors are one line."""
    try:
        require("the command hyperslab", "cli", "typer", "rich")
    except MissingExtraError as error:
        _end(error)
    # By its name: without typer and rich the module cannot be imported.
    application = importlib.import_module("hyperslab.cli.commands").application
    warnings.showwarning = _warn
    Progress.automatic = False  # commands have bars of their own
    is_completing = "_HYPERSLAB_COMPLETE" in os.environ  # a shell asks for words: nothing else may be printed
    app = application(None if is_completing else sys.argv[1:])
    if (problem := profile().problem) is not None and sys.argv[1:2] not in (["profile"], ["doctor"]) and not is_completing:
        say_warning(problem)
    try:
        with stoppable():
            app()
    except (Error, OSError, ValueError, IndexError, KeyError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EAGAIN, errno.ENOMEM):
            raise MemoryError from error  # no memory, or no thread: `hyperslab_command` says so
        _end(error)
    except Exception as error:
        # Packages that were not imported raised nothing.
        kinds = [getattr(sys.modules.get(package), name, ()) for package, name in (("duckdb", "Error"), ("pyarrow", "ArrowException"))]
        if not isinstance(error, tuple(kinds)):
            raise
        _end(error)


def _warn(message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None, line: str | None = None) -> None:
    """Prints warnings of Hyperslab in one line, and warnings of other packages as Python does."""
    if category.__module__.partition(".")[0] == "hyperslab":
        say_warning(str(message))
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=file or sys.stderr)


def say_warning(message: str) -> None:
    """Prints a warning to standard error, in one line."""
    note(f"warning: {' '.join(message.split())}")


def _end(error: Exception) -> NoReturn:
    note(" ".join(str(error).split()))
    sys.exit(1)
