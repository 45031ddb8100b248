"""h5dump, ncdump and others: from the PATH, else the tools that `make dump-tools` has unpacked from Debian's packages."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

FOLDER = pathlib.Path.home() / ".cache/hyperslab/dump-tools"


def program(name: str) -> tuple[list[str], dict[str, str]] | None:
    """The command of a program and its environment; `None` where there is no such program."""
    path = shutil.which(name) or shutil.which(name, path=str(FOLDER / "usr/bin"))
    if path is None:
        return None
    libraries = {"LD_LIBRARY_PATH": str(FOLDER / "usr/lib/x86_64-linux-gnu")} if path.startswith(str(FOLDER)) else {}
    return [path], {**os.environ, **libraries}


def run(name: str, *arguments: object) -> str | None:
    """What the program says of a file, without complaint; `None` where there is no such program."""
    command_and_environment = program(name)
    if command_and_environment is None:
        return None
    command, environment = command_and_environment
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout
