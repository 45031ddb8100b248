"""The application with all commands; help lists them in this order."""

from __future__ import annotations

from . import cli_advise, cli_inspect, cli_query, cli_simulate, cli_storage, cli_tune
from .cli_app import app

__all__ = ["app", "cli_advise", "cli_inspect", "cli_query", "cli_simulate", "cli_storage", "cli_tune"]
