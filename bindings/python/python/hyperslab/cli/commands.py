"""The application with its commands. Modules of commands that a command line does not mean are not imported: most of what a short command
would wait for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import typer

from .app import app, command
from .menu import MENU, modules_of


def application(words: Sequence[str] | None = None) -> typer.Typer:
    """The application.

    Args:
        words: The words of a command line, whose commands are enough. If they name no command, commands are names with summaries: enough for
            the list of commands, and for the error of a name that is none. `None`: all commands.

    Returns:
        The application, whose commands are in the order of the menu.
    """
    modules = sorted({entry.module for entry in MENU.values()}) if words is None else modules_of(words)
    if modules is None:
        for name in MENU:
            command(name=name)(_not_a_command)
    for module in modules or ():
        importlib.import_module(f".{module}", __package__)
    order = list(MENU)
    app.registered_commands.sort(key=lambda one: order.index(one.name or ""))
    return app


def _not_a_command() -> None:
    raise NotImplementedError
