"""The commands that measure a machine, and that show the profile in force."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table as Grid

import hyperslab as hs

from ..tuning import Tuned
from .app import AsJson, app
from .output import plain, say
from .progress import counting
from .stopping import Stopped, careful


@app.command()
def tune(
    folder: Annotated[str, typer.Argument(help="A folder of the file system that is measured.")],
    minutes: Annotated[float, typer.Option(help="No further measurement begins after this time.")] = 5.0,
    size: Annotated[int, typer.Option(help="MiB of values of a file.")] = 32,
    points: Annotated[int, typer.Option(help="Number of combinations of settings.")] = 100,
    out: Annotated[str | None, typer.Option(help="Path of the profile; by default the one that is in force.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what an interrupted run has measured.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure this machine and a file system, and write a profile of the settings that pay; reads and writes then use it."""
    done = 0
    try:
        with careful(), counting("measuring", points) as advance:

            def report(now: int, _: int) -> None:
                nonlocal done
                advance(now - done)
                done = now

            found = hs.tune(folder, minutes=minutes, size_bytes=size << 20, points=points, out=out, fresh=fresh, progress=report)
    except (Stopped, KeyboardInterrupt):
        typer.echo("hyperslab: interrupted; what was measured is kept, and the same command goes on from there", err=True)
        raise
    if as_json:
        print(json.dumps(plain(asdict(found)), ensure_ascii=False))
    else:
        _show(found)


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


@app.command()
def profile(as_json: AsJson = False) -> None:
    """Show the profile in force, and where it comes from."""
    found = hs.profile()
    if as_json:
        print(json.dumps(found._asdict(), ensure_ascii=False))
        return
    if found.is_used:
        settings = ", ".join(f"{name}={value}" for name, value in found.settings.items())
        print(f"{found.path}: {settings or 'nothing differs from the defaults'}")
    else:
        print(found.problem or f"no profile ({found.path}): the defaults are in force")
