"""The application with all commands, and their order in help."""

from __future__ import annotations

from . import advise as cli_advise
from . import catalog as cli_catalog
from . import check as cli_check
from . import compare as cli_compare
from . import doctor as cli_doctor
from . import edit as cli_edit
from . import inspect as cli_inspect
from . import manual as cli_manual
from . import many as cli_many
from . import query as cli_query
from . import references as cli_references
from . import serve as cli_serve
from . import simulate as cli_simulate
from . import storage as cli_storage
from . import tune as cli_tune
from . import view as cli_view
from .app import app

__all__ = [
    "app",
    "cli_advise",
    "cli_catalog",
    "cli_check",
    "cli_compare",
    "cli_doctor",
    "cli_edit",
    "cli_inspect",
    "cli_manual",
    "cli_many",
    "cli_query",
    "cli_references",
    "cli_serve",
    "cli_simulate",
    "cli_storage",
    "cli_tune",
    "cli_view",
]

#: First what looks into files, then what builds and stores, then what concerns the machine.
ORDER = (
    "ls", "info", "head", "sql", "query", "export", "plot", "view", "serve", "index", "advise", "stat", "check", "recover", "diff", "catalog", "merge", "references", "repack", "convert", "fuse", "verify", "vacuum", "attr", "rm", "mv", "cp", "tune", "profile", "simulate", "doctor", "spark_jar",
    "manual",
)  # fmt: skip
app.registered_commands.sort(key=lambda one: ORDER.index(getattr(one.callback, "__name__", "")))
