"""h5dump and ncdump: those of the PATH, else those that `make dump-tools` has unpacked from Debian's packages."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

FOLDER = pathlib.Path.home() / ".cache/hyperslab/dump-tools"


def run(name: str, *arguments: object) -> str | None:
    """What the program says of a file, without complaint; `None` where there is no such program."""
    program = shutil.which(name) or shutil.which(name, path=str(FOLDER / "usr/bin"))
    if program is None:
        return None
    libraries = {"LD_LIBRARY_PATH": str(FOLDER / "usr/lib/x86_64-linux-gnu")} if program.startswith(str(FOLDER)) else {}
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=60, env={**os.environ, **libraries})
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout
