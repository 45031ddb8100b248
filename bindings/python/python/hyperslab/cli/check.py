"""Commands that look into the state of files: check, stat and recover."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

import typer
from rich.filesize import decimal

import hyperslab as hs

from ..base.visible import visible
from .app import OPEN, AsJson, OutName, command
from .grids import Column, print_facts_grid
from .notes import note
from .progress import reporting
from .stopping import careful

#: Rows of a table of `stat`, without `--all`.
_ROWS = 20


def _options(*names: str) -> dict[str, Any]:
    return {name: OPEN[name] for name in names if name in OPEN}


@command(
    "hyperslab check profiles.nc",
    "hyperslab check profiles.nc --no-data --json",
)
def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="One or more local files.")],
    no_data: Annotated[bool, typer.Option("--no-data", help="Do not read values and decode chunks.")] = False,
    info: Annotated[bool, typer.Option("--info", help="Also print what is only worth knowing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing: the exit status says it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check every structure, checksum, link, reference and chunk of HDF5 and netCDF files. Exit status 0 if there are no errors, 1 if
    there are, 2 if a file cannot be read or is of another format."""
    status = 0
    for file in files:
        try:
            with careful(), reporting(f"checking {file}", "bytes") as report:
                found = hs.check(
                    file,
                    data=not no_data,
                    progress=lambda done, of, unit: report(done, of) if unit == "bytes" else None,
                    **_options("threads", "limits", "paths"),
                )
        except hs.Error as error:
            note(" ".join(str(error).split()))
            status = 2
            continue
        if as_json:
            print(json.dumps(found.to_dict(), ensure_ascii=False))
        elif not quiet:
            print(*found.lines(info=info), sep="\n")
        if not found.ok:
            status = max(status, 1)
    raise typer.Exit(status)


@command(
    "hyperslab stat profiles.nc",
    "hyperslab stat profiles.nc --plot space.png",
)
def stat(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A local file of HDF5 or netCDF-4.")],
    everything: Annotated[bool, typer.Option("--all", help="All datasets and kinds, not only the largest.")] = False,
    out: Annotated[str | None, typer.Option("--plot", metavar="OUT", help="Draw it into a picture.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show where the bytes of an HDF5 or netCDF-4 file are: values by dataset with chunks and compression, metadata by kind, free space;
    and what of it is inefficient."""
    with careful(), reporting("reading metadata", "objects") as report:
        found = hs.stat(file, progress=lambda done, of, unit: report(done, of), **_options("threads", "limits"))
    if out is not None:
        found.plot(out)
    if as_json:
        print(json.dumps(found.to_dict(), ensure_ascii=False))
        return
    print(visible(found.summary))
    counts = {"group": found.groups, "dataset": found.datasets, "committed datatype": found.datatypes, "attribute": found.attributes}
    print(", ".join(f"{count:,} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items()))
    kinds = found.kinds if everything else found.kinds[:_ROWS]
    print_facts_grid([
        Column("kind", [kind.kind for kind in kinds], False),
        Column("bytes", [decimal(kind.bytes) for kind in kinds]),
        Column("number", [f"{kind.number:,}" for kind in kinds]),
        Column("purpose", [kind.purpose for kind in kinds], False),
    ])  # fmt: skip
    shown = found.dataset_list if everything else found.dataset_list[:_ROWS]
    sizes = [("", "", "") if one.chunk_bytes is None else tuple(map(decimal, one.chunk_bytes)) for one in shown]
    print_facts_grid([
        Column("dataset", [visible(one.path) for one in shown], False),
        Column("bytes", [decimal(one.stored_bytes) for one in shown]),
        Column("ratio", ["" if one.ratio is None else f"{one.ratio:.2f}" for one in shown]),
        Column("chunks", [f"{one.chunks:,}" if one.chunks else "" for one in shown]),
        *(Column(name, [of_one[place] for of_one in sizes]) for place, name in enumerate(("smallest", "median", "largest"))),
        Column("storage", [one.storage for one in shown], False),
        Column("filters", [visible(" + ".join(one.filters)) for one in shown], False),
    ])  # fmt: skip
    if len(shown) < len(found.dataset_list):
        print(f"{len(found.dataset_list) - len(shown):,} more datasets: --all shows them")
    for advice in found.advice:
        print(visible(f"{'' if advice.path is None else advice.path + ': '}{advice.message}: {advice.command}"))


@command(
    "hyperslab recover broken.h5 saved.h5",
    "hyperslab recover broken.h5 saved.h5 --force --json",
)
def recover(
    broken: Annotated[str, typer.Argument(metavar="BROKEN", help="The damaged file, which is only read.")],
    out: OutName,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    deleted: Annotated[bool, typer.Option("--deleted", help="Copy what is left of deleted objects to /lost+found, too.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the sum.")] = False,
    as_json: AsJson = False,
) -> None:
    """Save what a damaged HDF5 or netCDF-4 file holds into a new file: truncated, overwritten in parts, or left by a killed program. Exit status 0
    if nothing is known to be lost, 1 if something is, 2 if nothing can be recovered."""
    try:
        with careful(), reporting(f"recovering {os.path.basename(broken)}", "bytes") as report:
            found = hs.recover(
                broken,
                out,
                "w" if force else "x",
                deleted=deleted,
                progress=lambda done, of, unit: report(done, of) if unit == "bytes" else None,
                **_options("threads", "limits"),
            )
    except hs.Error as error:
        note(" ".join(str(error).split()))
        raise typer.Exit(2) from None
    if as_json:
        print(json.dumps(found.to_dict(), ensure_ascii=False))
    elif quiet:
        print(visible(found.summary))
    else:
        print(*found.lines(), sep="\n")
    raise typer.Exit(0 if found.complete else 1)
