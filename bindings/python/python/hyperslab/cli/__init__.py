"""The `hyperslab` command: its entry point, and how errors end it."""

from __future__ import annotations

import importlib
import sys
from typing import NoReturn

import pyarrow as pa

from ..errors import Error, MissingExtraError
from ..extras import require
from .stopping import stoppable


def main() -> None:
    """Entry point; errors are one line."""
    try:
        require("the command hyperslab", "cli", "typer", "rich")
    except MissingExtraError as error:
        _end(error)
    # By its name: without typer and rich the module cannot be imported.
    app = importlib.import_module("hyperslab.cli.commands").app
    try:
        with stoppable():
            app()
    except (Error, OSError, ValueError, IndexError, KeyError, pa.ArrowException) as error:
        _end(error)
    except Exception as error:
        duckdb = sys.modules.get("duckdb")
        if duckdb is None or not isinstance(error, duckdb.Error):
            raise
        _end(error)


def _end(error: Exception) -> NoReturn:
    print(f"hyperslab: {' '.join(str(error).split())}", file=sys.stderr)
    sys.exit(1)
