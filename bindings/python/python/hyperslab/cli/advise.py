"""The command that advises how to store a file, and does it."""

from __future__ import annotations

import json
import os
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table as Grid

import hyperslab as hs

from ..advising import Advice, Applied, DatasetAdvice
from ..advising.report import name, seconds, size, times
from ..exporting.part_files import complete
from ..exporting.plain_values import plain
from .app import OPEN, AsJson, FileName, command
from .progress import reporting, waiting
from .stopping import careful
from .terminal import say


@command(
    "hyperslab advise cells.h5ad --access 'random rows=10' --access whole",
    "hyperslab advise cells.h5ad --access 'random rows' --apply better.h5ad",
)
def advise(
    file: FileName,
    access: Annotated[
        list[str] | None,
        typer.Option("--access", "-a", help='What is read: whole, "time series at a point", "one level", "random rows", "where CONDITION" or a selection such as "/t2m[:, ?, ?]"; with a weight, "one level=3". May be repeated.'),
    ] = None,
    dataset: Annotated[list[str] | None, typer.Option("--dataset", "-d", help="Path of a dataset; by default the largest ones. May be repeated.")] = None,
    prefer: Annotated[str, typer.Option(help="balanced (no dataset grows by more than a tenth), speed or size.")] = "balanced",
    plugins: Annotated[bool, typer.Option("--plugins", help="Also choose zstd, lz4 and bitshuffle, which the HDF5 library reads only with plugins.")] = False,
    cold: Annotated[bool, typer.Option("--cold", help="Time reads from the device: drop the file from the page cache before each.")] = False,
    apply: Annotated[str | None, typer.Option("--apply", metavar="OUT", help="Write a new file with the advice, compare it, and time both.")] = None,
    page_size: Annotated[int | None, typer.Option(help="With --apply: make a file of pages of this many bytes.")] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="OUT", help="Write the advice as an HTML page.")] = None,
    work_folder: Annotated[str | None, typer.Option(help="Folder for temporary files.")] = None,
    seed: Annotated[int, typer.Option(help="Of the places that are sampled.")] = 1,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Advise how to store a file for the reads that are wanted, from measurements on samples of it."""
    with careful(), waiting("measuring"):
        found = hs.advise(
            file, access or "whole", dataset, prefer=prefer, plugins=plugins, cold=cold, threads=OPEN.get("threads"), seed=seed, work_folder=work_folder
        )  # fmt: skip
    if html is not None:
        with complete(html) as out:
            out.write(found.to_html().encode())
    applied = None
    if apply is not None:
        with careful(), reporting(os.path.basename(apply), "bytes") as report:
            applied = found.apply(apply, page_bytes=page_size, progress=report)
    if as_json:
        print(json.dumps(plain(found.to_dict() | ({} if applied is None else {"applied": _facts(applied)})), ensure_ascii=False))
        return
    _show(found)
    if applied is not None:
        _show_applied(applied)


def _show(advice: Advice) -> None:
    for one in advice.datasets:
        _show_dataset(one)
    grid = Grid(box=None, show_header=False, padding=(0, 1, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for hint in advice.hints:
        grid.add_row(hint.topic, f"{escape(hint.advice)} [dim]{escape(hint.reason)} ({escape(hint.basis)})[/dim]")
    say(grid)
    if advice.omitted:
        count = len(advice.omitted)
        say(f"[dim]{count} dataset{'s' if count > 1 else ''} left out: --json says why[/dim]")


def _show_dataset(one: DatasetAdvice) -> None:
    shape = "×".join(map(str, one.shape))
    say(f"[bold]{escape(one.path)}[/bold] {shape} {escape(one.dtype)}, {size(one.stored_bytes)} stored")
    if one.is_kept:
        say(f"  keep {escape(one.current.describe())}: {escape(one.reason)}")
    else:
        say(f"  {escape(one.current.describe())} → [bold]{escape(one.advised.describe())}[/bold], {size(one.advised_bytes)}")
        say(f"  {escape(one.reason)} [dim]({'timed on a pilot' if one.basis == 'pilot' else 'computed, not timed'})[/dim]")
    grid = Grid(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for header in ("  access", "now", "then", "gain", "bytes"):
        grid.add_column(header, justify="left" if header == "  access" else "right", overflow="fold")
    for access in one.accesses:
        weight = "" if access.weight == 1 else f" ={access.weight:g}"
        moved = f"{size(access.before_bytes)} → {size(access.after_bytes)}"
        grid.add_row(f"  {escape(access.text)}{weight}", seconds(access.before_seconds), seconds(access.after_seconds), times(access.gain), moved)
    say(grid)
    grid = Grid(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for header in ("  filter", "ratio", "encodes", "decodes"):
        grid.add_column(header, justify="left" if header == "  filter" else "right")
    for filter in one.filters:
        mark = "bold" if filter.name == one.advised.filter.name else "none"
        row = [f"  {escape(name(filter))}", f"{filter.ratio:.2f}:1", f"{filter.encode_rate / 1e6:,.0f} MB/s", f"{filter.decode_rate / 1e6:,.0f} MB/s"]
        grid.add_row(*row, style=mark)
    say(grid)


def _facts(applied: Applied) -> dict[str, object]:
    return {
        "file": applied.path, "bytes": applied.bytes, "before_bytes": applied.before_bytes,
        "predicted_gain": applied.predicted_gain, "measured_gain": applied.gain,
        "accesses": [
            {
                "path": one.path, "access": one.text, "predicted_gain": one.predicted_gain, "measured_gain": one.gain,
                "before_seconds": one.before_seconds, "after_seconds": one.after_seconds,
            }
            for one in applied.accesses
        ],
    }  # fmt: skip


def _show_applied(applied: Applied) -> None:
    say(f"wrote {escape(applied.path)}: {size(applied.bytes)}, before {size(applied.before_bytes)}; all values and attributes are equal")
    grid = Grid(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for header in ("  access", "now", "then", "predicted", "measured"):
        grid.add_column(header, justify="left" if header == "  access" else "right", overflow="fold")
    for one in applied.accesses:
        label = one.text if one.path in one.text else f"{one.path} {one.text}"
        grid.add_row(f"  {escape(label)}", seconds(one.before_seconds), seconds(one.after_seconds), times(one.predicted_gain), times(one.gain))
    say(grid)
