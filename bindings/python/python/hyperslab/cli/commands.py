"""The application with its commands. Modules of commands that a command line does not mean are not imported: most of what a short command
would wait for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import typer

from ..base.errors import InternalError
from .app import app, command
from .menu import MENU, modules_of


def application(words: Sequence[str] | None = None) -> typer.Typer:
    """The application.

    Args:
        words: The words of a command line. Commands that none of them names have a name and a summary only: enough for the list of commands, and
            for the error of a name that is none. `None`: all commands.

    Returns:
        The application, whose commands are in the order of the menu.
    """
    modules = sorted({entry.module for entry in MENU.values()}) if words is None else modules_of(words)
    # An earlier call may have wanted fewer commands than the manual does.
    app.registered_commands[:] = [one for one in app.registered_commands if one.callback is not _not_imported]
    for module in modules:
        importlib.import_module(f".{module}", __package__)
    for name in MENU.keys() - {one.name for one in app.registered_commands}:
        command(name=name)(_not_imported)
    order = list(MENU)
    app.registered_commands.sort(key=lambda one: order.index(one.name or ""))
    return app


def _not_imported() -> None:
    raise InternalError("a command whose module was not imported")
