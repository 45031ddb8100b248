"""The manual: all commands as one page, made of the commands themselves, for `man` and for the documentation."""

from __future__ import annotations

import inspect
import sys
import textwrap
from typing import Annotated, Any, NamedTuple

import typer

import hyperslab as hs

from .app import command
from .commands import application


class Option(NamedTuple):
    """An option or an argument."""

    names: str
    help: str


class Page(NamedTuple):
    """What is documented of a command."""

    name: str
    usage: str
    text: str
    summary: str
    arguments: list[Option]
    options: list[Option]
    examples: list[str]


STATUS = [
    ("0", "success"),
    ("1", "an error; diff found differences; check and verify found problems; recover lost something; doctor found something broken"),
    ("2", "a usage error; an error of diff, check and recover"),
    ("130", "interrupted by Ctrl-C (SIGINT)"),
    ("141", "the reader of the output has exited"),
    ("143", "ended by SIGTERM"),
]
ENVIRONMENT = [
    ("COLUMNS", "width of the terminal in characters, if it does not say so itself"),
    ("HYPERSLAB_CACHE_STORAGE", "folder in which blocks of remote files are kept; empty: none"),
    ("HYPERSLAB_CACHE_BYTES", "most bytes of these blocks; 1 GiB by default"),
    ("HYPERSLAB_PROFILE", "the profile of this machine; empty: none"),
    ("HYPERSLAB_PROGRESS", "0: no progress by itself"),
    ("HYPERSLAB_INDEX_KEY", "a file with the key that signs indexes"),
    ("HYPERSLAB_SPARK_JAR", "the jar for Spark, instead of the one in the package"),
    ("NO_COLOR", "if not empty: text without colors, bold and dim"),
]


@command("hyperslab man | man -l -", "hyperslab man > ~/.local/share/man/man1/hyperslab.1", name="man")
def manual(
    markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown, for the documentation.")] = False,
) -> None:
    """Print the manual of all commands as a page for `man`."""
    sys.stdout.write(as_markdown(pages()) if markdown else as_roff(pages()))


def pages() -> list[Page]:
    """The whole command (first), and each of its commands in the order of the list."""
    root: Any = typer.main.get_command(application())
    found = [_page("hyperslab", root)]
    found += [_page(f"hyperslab {name}", one) for name, one in root.commands.items() if not one.hidden]
    return found


def _page(name: str, one: Any) -> Page:
    arguments, options, words = [], [], [name]
    for parameter in one.params:
        help = inspect.cleandoc(getattr(parameter, "help", None) or "")
        if parameter.param_type_name == "argument":
            metavar = parameter.metavar or parameter.name.upper()
            several = "..." if parameter.nargs == -1 and not metavar.endswith("…") else ""
            words.append(f"{metavar}{several}" if parameter.required else f"[{metavar}{several}]")
            arguments.append(Option(metavar, help + _default(parameter)))
        elif not getattr(parameter, "hidden", False):
            value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
            options.append(Option(", ".join(parameter.opts) + value, help + _default(parameter)))
    words.insert(1, "[OPTIONS]" if name != "hyperslab" else "[OPTIONS] COMMAND ...")
    lines = [line.strip() for line in (one.epilog or "").splitlines()]
    examples = [line for line in lines if line.startswith(("hyperslab ", "spark-submit "))] if name != "hyperslab" else []
    text = " ".join(inspect.cleandoc(one.help or "").split())
    return Page(name, " ".join(words), text, one.short_help or text, arguments, options, examples)


def _default(parameter: Any) -> str:
    shown = parameter.default
    if parameter.required or shown is None or isinstance(shown, (bool, tuple, list)) or callable(shown) or shown == "":
        return ""
    return f" [default: {shown}]"


def as_markdown(found: list[Page]) -> str:
    """The manual as a page of the documentation."""
    root, *commands = found
    parts = [
        "# Commands",
        "Made of the commands themselves by `hyperslab man --markdown`; [command line](../command-line.md) says which is for what. "
        "[Environment variables](environment.md) have a page of their own.",
        f"## Options before the command\n\n{_table(root.options)}",
    ]
    for page in commands:
        parts.append(f"## {page.name}\n\n`{page.usage}`\n\n{page.text}")
        if rows := page.arguments + page.options:
            parts.append(_table(rows))
        if page.examples:
            parts.append("```text\n" + "\n".join(page.examples) + "\n```")
    parts.append("## Exit status\n\n| status | |\n|---|---|\n" + "\n".join(f"| {number} | {text} |" for number, text in STATUS))
    return "\n\n".join(parts) + "\n"


def _table(rows: list[Option]) -> str:
    def cell(text: str) -> str:
        return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")

    return "| | |\n|---|---|\n" + "\n".join(f"| `{row.names}` | {cell(row.help)} |" for row in rows)


def as_roff(found: list[Page]) -> str:
    """The manual as troff with the macros of man(7)."""
    root, *commands = found
    lines = [f'.TH HYPERSLAB 1 "" "hyperslab {hs.__version__}" "User Commands"', ".SH NAME", "hyperslab \\- HDF5 and netCDF as tables", ".SH SYNOPSIS"]
    for page in commands:
        name, _, rest = page.usage.removeprefix("hyperslab ").partition(" ")
        lines += [f".B hyperslab {_escaped(name)}", _escaped(rest), ".br"]
    lines += [".SH DESCRIPTION", _escaped(textwrap.dedent(root.text)), ".SH OPTIONS BEFORE THE COMMAND", *_items(root.options)]
    lines.append(".SH COMMANDS")
    for page in commands:
        lines += [f".SS {_escaped(page.usage)}", _escaped(page.text), *_items(page.arguments), *_items(page.options)]
        if page.examples:
            lines += [".PP", "Examples:", ".PP", ".nf", ".RS", *map(_escaped, page.examples), ".RE", ".fi"]
    lines += [".SH EXIT STATUS", *_items([Option(*item) for item in STATUS]), ".SH ENVIRONMENT", *_items([Option(*item) for item in ENVIRONMENT])]
    lines += [".SH SEE ALSO", ".BR h5dump (1),", ".BR ncdump (1)"]
    return "\n".join(lines) + "\n"


def _items(rows: list[Option]) -> list[str]:
    return [line for row in rows for line in (".TP", f".B {_escaped(row.names)}", _escaped(row.help))]


def _escaped(text: str) -> str:
    """Text that troff prints as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    ascii = "".join(char if ord(char) < 128 else f"\\[u{ord(char):04X}]" for char in escaped)
    return f"\\&{ascii}" if ascii.startswith(".") else ascii
