"""The commands that measure a machine, and that show the profile in force."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table as Grid

import hyperslab as hs

from ..base.errors import MissingFileError
from ..exporting.plain_values import plain
from ..tuning import Tuned
from ..tuning.pictures import profile_figure
from .app import AsJson, command
from .output import draw
from .progress import reporting
from .stopping import Stopped, careful
from .terminal import say

if TYPE_CHECKING:
    from ..tuning.study import Study


@command("hyperslab tune /scratch/me --minutes 2", "hyperslab tune /scratch/me --study --out study")
def tune(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder of the file system that is measured.")],
    minutes: Annotated[float | None, typer.Option(help="No further measurement begins after this time; 5, or 30 of a study.")] = None,
    size: Annotated[int | None, typer.Option(help="MiB of values of a file; 32, or 64 of a study.")] = None,
    points: Annotated[int, typer.Option(help="Number of combinations of settings.")] = 100,
    out: Annotated[str | None, typer.Option(help="Path of the profile, by default the one that is in force; of a study its folder (hyperslab-study).")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what an interrupted run has measured.")] = False,
    study: Annotated[
        bool, typer.Option("--study", help="Measure HDF5, netCDF-4 and Hyperslab next to each other instead; writes tables and pictures.")
    ] = False,
    clients: Annotated[int, typer.Option(help="Number of clients of a study.")] = 4,
    repeats: Annotated[int, typer.Option(help="Measurements of each case of a study.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Measure this machine and a file system, and write a profile of the settings that pay; reads and writes then use it."""
    try:
        with careful(), reporting("measuring", "measurements") as report:
            if study:
                from ..tuning.study import run_study  # an extra of its own

                target, bytes_each = out or "hyperslab-study", (64 if size is None else size) << 20
                studied = run_study(
                    folder,
                    target,
                    minutes=30.0 if minutes is None else minutes,
                    size_bytes=bytes_each,
                    clients=clients,
                    repeats=repeats,
                    fresh=fresh,
                    progress=report,
                )
            else:
                found = hs.tune(
                    folder,
                    minutes=5.0 if minutes is None else minutes,
                    size_bytes=(32 if size is None else size) << 20,
                    points=points,
                    out=out,
                    fresh=fresh,
                    progress=report,
                )
    except (Stopped, KeyboardInterrupt):
        typer.echo("hyperslab: interrupted; what was measured is kept, and the same command goes on from there", err=True)
        raise
    if study:
        _show_study(studied, as_json)
    elif as_json:
        print(json.dumps(plain(asdict(found)), ensure_ascii=False))
    else:
        _show(found)


def _show_study(found: Study, as_json: bool) -> None:
    if as_json:
        print(json.dumps(plain({"folder": found.folder, "measured": found.measured, "wanted": found.wanted, "missing": found.missing}), ensure_ascii=False))
        return
    for name, reason in found.missing.items():
        say(f"not measured: {escape(name)} ({escape(reason)})")
    if found.measured < found.wanted:
        say(f"{found.measured} of {found.wanted} measurements; the same command goes on from there")
    say(f"wrote {escape(os.path.join(found.folder, 'study.md'))} and its pictures")


def _show(found: Tuned) -> None:
    for model in found.models.values():
        error = "too few points to hold any back" if model.held_back_error is None else f"median error {model.held_back_error:.0%} at points held back"
        say(f"[bold]{model.kind}[/bold]: {model.seconds:.3g} s with the defaults; {model.points} points, {error}")
        grid = Grid(box=None, show_header=False, padding=(0, 2, 0, 0))
        for setting, factors in model.factors.items():
            shown = "  ".join(f"{_value(setting, value)} {factor:.2f}" for value, factor in factors.items())
            grid.add_row(f"  {setting}", escape(shown))
        say(grid)
    say(f"{found.points} of {found.wanted} points; times are multiplied by these factors")
    if found.settings:
        say(f"wrote {escape(found.path)}: " + ", ".join(f"{name}={value}" for name, value in found.settings.items()))
    else:
        say(f"wrote {escape(found.path)}: the defaults are the best that was found, so nothing changes")
    if found.checked:
        say("next to the defaults, in turns: " + ", ".join(f"{kind} {ratio:.2f}" for kind, ratio in found.checked.items()))


def _value(setting: str, value: str) -> str:
    if value == "None":
        return "default"
    if setting.endswith("_bytes"):
        count = int(value)
        return f"{count >> 20}M" if count >= 1 << 20 else f"{count >> 10}K" if count >= 1 << 10 else str(count)
    return value


@command("hyperslab profile --json")
def profile(
    plot: Annotated[str | None, typer.Option(help="Draw what the profile was made from into this picture.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the profile in force, and where it comes from."""
    found = hs.profile()
    if plot is not None:
        if found.path is None or not os.path.exists(found.path):
            raise MissingFileError(f"there is no profile to draw ({found.path or 'HYPERSLAB_PROFILE is empty'}): run hyperslab tune first", found.path)
        path = found.path
        draw(plot, lambda: profile_figure(path), {"Software": None} if plot.endswith(".png") else None)
    if as_json:
        print(json.dumps(found._asdict(), ensure_ascii=False))
        return
    if found.is_used:
        settings = ", ".join(f"{name}={value}" for name, value in found.settings.items())
        print(f"{found.path}: {settings or 'nothing differs from the defaults'}")
    else:
        print(found.problem or f"no profile ({found.path}): the defaults are in force")
