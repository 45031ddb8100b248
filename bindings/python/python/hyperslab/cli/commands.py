"""The application with all commands; help lists them in this order."""

from __future__ import annotations

from . import advise as cli_advise
from . import inspect as cli_inspect
from . import query as cli_query
from . import simulate as cli_simulate
from . import storage as cli_storage
from . import tune as cli_tune
from .app import app

__all__ = ["app", "cli_advise", "cli_inspect", "cli_query", "cli_simulate", "cli_storage", "cli_tune"]
