"""The command that says what is installed, what is missing, and how to get it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import re
import shutil
import sys
from typing import NamedTuple

import typer
from rich.markup import escape
from rich.table import Table as Grid

import hyperslab as hs

from .. import _native
from ..exporting.plain_values import plain
from .app import AsJson, command
from .terminal import say, width

#: Extras that only bundle others.
_BUNDLES = frozenset({"all", "test"})
_VOL_LIBRARY = "libhyperslab_vol.so"
#: Columns of a terminal below which names and what was found do not stand side by side.
_NARROW = 90


class Check(NamedTuple):
    """A line of the report: `state` is ok, missing (something optional) or broken; `advice` says how to get it."""

    topic: str
    name: str
    state: str
    found: str
    advice: str = ""


@command("hyperslab doctor", "hyperslab doctor --json")
def doctor(as_json: AsJson = False) -> None:
    """Show versions, the native library, the jar, the VOL connector, MPI, the profile and the extras: what is there, what is
    missing, and how to get it. Exit status 1 if something is broken; what is optional may be missing."""
    checks = [*_versions(), *_extras(), *_mpi(), *_spark(), *_vol(), _profile()]
    if as_json:
        print(json.dumps([plain(check._asdict()) for check in checks], ensure_ascii=False))
    else:
        _show(checks)
    if any(check.state == "broken" for check in checks):
        raise typer.Exit(1)


def _show(checks: list[Check]) -> None:
    marks = {"ok": "✓", "missing": "–", "broken": "✗"}
    shown = [
        (check.topic, f"{marks[check.state]} {escape(check.name)}", escape(check.found) + (f"{'; ' if check.found else ''}[dim]{escape(check.advice)}[/dim]" if check.advice else ""))
        for check in checks
    ]  # fmt: skip
    say(_lines(shown) if (width() or _NARROW) < _NARROW else _columns(shown))
    broken, missing = (sum(check.state == state for check in checks) for state in ("broken", "missing"))
    say(f"{broken} broken, {missing} optional missing" if broken or missing else "everything is there")


def _lines(shown: list[tuple[str, str, str]]) -> Grid:
    """For narrow terminals: topics as headings, and what was found below the names."""
    grid = Grid(box=None, show_header=False, padding=0)
    grid.add_column(overflow="fold")
    for place, (topic, name, text) in enumerate(shown):
        if not place or topic != shown[place - 1][0]:
            grid.add_row(f"[bold]{topic}[/bold]")
        grid.add_row(f"{name}: {text}")
    return grid


def _columns(shown: list[tuple[str, str, str]]) -> Grid:
    grid = Grid(box=None, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for place, (topic, name, text) in enumerate(shown):
        grid.add_row(topic if not place or topic != shown[place - 1][0] else "", name, text)
    return grid


def _version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _versions() -> list[Check]:
    native = _native.__file__ or ""
    size = os.path.getsize(native) / 1e6 if os.path.exists(native) else 0
    checks = [
        Check("hyperslab", "version", "ok", f"{hs.__version__}, {os.path.dirname(hs.__file__)}"),
        Check("", "native library", "ok", f"{native} ({size:.1f} MB)"),
        Check("", "Python", "ok", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"),
        Check("", "platform", "ok", f"{platform.platform()}, {os.cpu_count()} cores"),
    ]
    for package in ("numpy", "pyarrow"):
        checks.append(Check("", package, "ok", f"{_version_of(package)}"))
    return [check._replace(topic="hyperslab") for check in checks]


def _extras() -> list[Check]:
    """Each extra, with the versions of its packages."""
    found: dict[str, list[tuple[str, str | None]]] = {}
    try:
        distribution = importlib.metadata.distribution("hyperslab")
    except importlib.metadata.PackageNotFoundError:
        return [Check("extras", "metadata", "missing", "hyperslab is imported from a folder, not installed", "pip install hyperslab")]
    for requirement in distribution.requires or []:
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", requirement)
        package = re.match(r"[A-Za-z0-9._-]+", requirement)
        if extra is None or package is None or extra[1] in _BUNDLES or package[0] == "hyperslab" or not _is_for_this_python(requirement):
            continue
        found.setdefault(extra[1], []).append((package[0], _version_of(package[0])))
    checks = []
    for extra_name, packages in found.items():
        versions = ", ".join(f"{package} {version}" for package, version in packages if version is not None)
        lacking = [package for package, version in packages if version is None]
        advice = f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not installed: pip install 'hyperslab[{extra_name}]'" if lacking else ""
        checks.append(Check("extras", extra_name, "missing" if lacking else "ok", versions, advice))
    return [_with_pages(check) for check in checks]


def _with_pages(check: Check) -> Check:
    """The viewer's packages show nothing without its pages."""
    if check.name != "viewer" or check.state != "ok":
        return check
    from ..viewer.pages import pages

    try:
        pages()
    except hs.NotFoundError as error:
        return check._replace(state="broken", advice=error.message)
    return check


def _is_for_this_python(requirement: str) -> bool:
    below = re.search(r"python_(?:full_)?version\s*<\s*['\"](\d+)\.(\d+)['\"]", requirement)
    return below is None or sys.version_info < (int(below[1]), int(below[2]))


def _mpi() -> list[Check]:
    """Importing mpi4py's MPI would start MPI, which some clusters refuse outside of a job."""
    version = _version_of("mpi4py")
    launcher = shutil.which("mpiexec") or shutil.which("srun")
    return [
        Check("MPI", "mpi4py", "missing" if version is None else "ok", version or "", "" if version else "pip install 'hyperslab[mpi]', with an MPI library"),
        Check("MPI", "launcher", "missing" if launcher is None else "ok", launcher or "", "" if launcher else "no mpiexec and no srun on PATH: install an MPI library"),
    ]  # fmt: skip


def _spark() -> list[Check]:
    java = shutil.which("java") if not os.environ.get("JAVA_HOME") else os.path.join(os.environ["JAVA_HOME"], "bin", "java")
    has_java = java is not None and os.path.exists(java)
    checks = [Check("Spark", "Java", "ok" if has_java else "missing", java or "", "" if has_java else "Spark needs Java 17 or newer: set JAVA_HOME or PATH")]
    try:
        jar = hs.spark.jar()
        checks.append(Check("Spark", "jar", "ok", f"{jar} ({jar.stat().st_size / 1e6:.1f} MB)"))
    except hs.NotFoundError as error:
        named = os.environ.get("HYPERSLAB_SPARK_JAR")
        checks.append(Check("Spark", "jar", "broken" if named else "missing", "", str(error)))
    return checks


def _vol() -> list[Check]:
    folders = [folder for folder in os.environ.get("HDF5_PLUGIN_PATH", "").split(os.pathsep) if folder]
    found = next((path for folder in folders if (path := pathlib.Path(folder) / _VOL_LIBRARY).is_file()), None)
    named = os.environ.get("HDF5_VOL_CONNECTOR", "")
    if found is not None:
        return [Check("VOL connector", "plug-in", "ok", f"{found}" + (f", HDF5_VOL_CONNECTOR={named}" if named else ""))]
    if named.partition(" ")[0] == "arrow":
        where = ":".join(folders) or "HDF5_PLUGIN_PATH, which is not set"
        return [Check("VOL connector", "plug-in", "broken", f"HDF5_VOL_CONNECTOR={named}", f"no {_VOL_LIBRARY} in {where}: `make vol` builds it")]
    return [Check("VOL connector", "plug-in", "missing", "", f"no {_VOL_LIBRARY} in HDF5_PLUGIN_PATH: `make vol` builds it (only for HDF5 programs on Arrow)")]


def _profile() -> Check:
    found = hs.profile()
    if found.problem is not None:
        return Check("profile", "profile", "broken", found.problem, "hyperslab tune makes a new one; HYPERSLAB_PROFILE= uses none")
    if found.is_used:
        return Check("profile", "profile", "ok", f"{found.path}: " + (", ".join(f"{name}={value}" for name, value in found.settings.items()) or "the defaults"))
    return Check("profile", "profile", "ok", "none: the defaults are in force (hyperslab tune measures this machine)")
