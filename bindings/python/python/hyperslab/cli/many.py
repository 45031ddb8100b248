"""Commands for many files: merge."""

from __future__ import annotations

import json
import os
from typing import Annotated

import typer

import hyperslab as hs

from ..base.change import Change
from .app import OPEN, AsJson, command
from .progress import reporting, waiting
from .stopping import careful


@command(
    "hyperslab merge 'day*.nc' -o days.nc4",
    "hyperslab merge day1.nc day2.nc -o runs.nc4 --new-dim run --override",
    "hyperslab merge 'day*.nc' -o master.nc4 --virtual",
)
def merge(
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Paths or patterns, in the order in which they follow each other.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="The file to write.")],
    virtual: Annotated[bool, typer.Option("--virtual", help="Write virtual datasets, which read from the files where they lie.")] = False,
    dim: Annotated[str | None, typer.Option("--dim", help="The dimension along which files follow each other, if it is not clear.")] = None,
    new_dim: Annotated[str | None, typer.Option("--new-dim", help="Instead, a new first dimension with an index for each file.")] = None,
    axis: Annotated[int | None, typer.Option("--axis", min=0, help="Instead, the axis, for files without names of dimensions.")] = None,
    override: Annotated[bool, typer.Option("--override", help="Take what does not go on from the first file, even if others differ.")] = False,
    leave_out: Annotated[bool, typer.Option("--leave-out", help="Leave out files that do not fit, and list them.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make one HDF5 file of many whose arrays follow each other; copies chunks without decoding them if possible."""
    if not force and os.path.exists(out):
        raise hs.ConflictError("the file exists: --force replaces it", out)
    compat, misfits = "override" if override else "equals", "leave_out" if leave_out else "error"
    joining = {"concat_dim": dim, "new_dim": new_dim, "axis": axis, "compat": compat, "misfits": misfits, **OPEN}
    if virtual:
        with careful(), waiting("comparing"):
            left_out = hs.virtual(files, out, "w" if force else "x", **joining)
        changes: tuple[Change, ...] = ()
        facts = {"bytes": os.path.getsize(out)}
        told = "virtual datasets, which read from the files where they lie"
    else:
        with careful(), reporting(os.path.basename(out), "bytes") as report:
            made = hs.merge(files, out, "w" if force else "x", progress=report, **joining)
        left_out, changes, facts = made.left_out, made.changes, made._asdict()
        told = f"{made.bytes} bytes, {made.copied_chunks} chunks copied, {made.reencoded_bytes} bytes of values encoded again"
    if as_json:
        print(json.dumps({**facts, "left_out": [left._asdict() for left in left_out], "changes": [one._asdict() for one in changes]}))
        return
    for left in left_out:
        print(f"left out: {left.path}: {left.reason}")
    print(f"wrote {out}: {told}", *changes, sep="\n")
