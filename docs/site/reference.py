"""Pages of the reference that are made of the code: `python docs/site/reference.py` writes them, and testing/repo/test_reference.py compares.

Kinds of errors come from the classes, options of `hs.open` and `File.table` from their docstrings, environment variables and exit statuses from
the manual, and the variables that other parts read from the list below, which the test holds against the sources.
"""

from __future__ import annotations

import inspect
import pathlib
import re

import hyperslab as hs
from hyperslab.base import errors

# The commands register themselves when their modules are imported.
from hyperslab.cli import commands as _commands  # noqa: F401
from hyperslab.cli import manual

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "reference"

#: Environment variables that are read elsewhere than by the command.
OTHERS = [
    ("HDF5_PLUGIN_PATH", "HDF5: where it looks for the VOL connector"),
    ("HDF5_VOL_CONNECTOR", "HDF5: `arrow` makes unmodified programs use the VOL connector"),
    ("HYPERSLAB_TOKEN", "`hyperslab serve`: the token that clients need"),
    ("HYPERSLAB_VIEWER_PAGES", "folder of the viewer's pages"),
    ("HYPERSLAB_VOL_THREADS", "the VOL connector: number of threads that read"),
    ("HYPERSLAB_VOL_TRACE", "the VOL connector: 1 prints each error"),
    ("HYPERSLAB_POISON", "for tests: 1 fills buffers that are used again with a pattern"),
    ("XDG_CACHE_HOME", "folder of `hyperslab/chunks`, where chunk indexes are; by default `~/.cache`"),
    ("XDG_CONFIG_HOME", "folder of `hyperslab/profile.json` and of the key of indexes; by default `~/.config`"),
]


def environment() -> str:
    rows = sorted([*manual.ENVIRONMENT, *OTHERS])
    return "# Environment variables\n\n| variable | |\n|---|---|\n" + "\n".join(f"| `{name}` | {text} |" for name, text in rows) + "\n"


def kinds() -> str:
    """The classes of errors by kind, with what they are in Python."""
    found = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, hs.Error) and one is not hs.Error]
    lines = []
    for one in sorted(found, key=lambda one: (list(errors.ErrorKind).index(one.kind), len(one.__mro__), one.__name__)):
        own = next(base for base in one.__bases__ if issubclass(base, hs.Error))
        builtin = ", ".join(f"`{base.__name__}`" for base in one.__bases__ if not issubclass(base, hs.Error))
        lines.append(f"| {one.kind} | `{one.__name__}` | `{own.__name__}` | {builtin or '–'} | {first_sentence(one)} |")
    return (
        "# Errors\n\nEvery error is a `hyperslab.Error` with `kind`, `message`, `file`, `object` and `offset`; it is also the built-in error that "
        "Python code expects.\n\n| kind | class | is a | and | when |\n|---|---|---|---|---|\n" + "\n".join(lines) + "\n"
    )


def first_sentence(one: object) -> str:
    return " ".join((inspect.getdoc(one) or "").split("\n\n")[0].split()).split("; ")[0].rstrip(".")


def options() -> str:
    """The arguments of the functions that open files and make tables, from their docstrings."""
    parts = ["# Options"]
    for name, function in (("hs.open", hs.open), ("File.table", hs.File.table), ("hs.query", hs.query), ("hs.index", hs.index), ("hs.create", hs.create)):
        parts.append(f"## {name}\n\n`{name}{signature(function)}`\n\n| argument | |\n|---|---|\n" + "\n".join(arguments(inspect.getdoc(function) or "")))
    return "\n\n".join(parts) + "\n"


def signature(function: object) -> str:
    """The arguments and their defaults, without types."""
    found = inspect.signature(function)  # type: ignore[arg-type]
    bare = [one.replace(annotation=inspect.Parameter.empty) for name, one in found.parameters.items() if name != "self"]
    return str(inspect.Signature(bare)).replace("|", "\\|")


def arguments(doc: str) -> list[str]:
    """Rows of the section `Args`."""
    section = re.search(r"^Args:\n((?:    .*\n|\n)+)", doc + "\n", re.M)
    rows: list[str] = []
    for line in section[1].splitlines() if section else ():
        if re.match(r"    \S", line):
            name, _, text = line.strip().partition(": ")
            rows.append(f"| `{name}` | {text}")
        elif line.strip():
            rows[-1] += f" {line.strip()}"
    return [f"{row} |" for row in rows]


PAGES = {
    "commands.md": lambda: manual.as_markdown(manual.pages()),
    "environment.md": environment,
    "errors.md": kinds,
    "options.md": options,
}


def main() -> None:
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
