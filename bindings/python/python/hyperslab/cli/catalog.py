"""The command catalog."""

from __future__ import annotations

import json
import os
from typing import Annotated

import typer

import hyperslab as hs

from .app import OPEN, AsJson, command
from .progress import reporting
from .stopping import careful


@command(
    "hyperslab catalog 'day*.nc' -o days.parquet",
    "hyperslab catalog 'day*.nc' -o days.parquet --leave-out",
)
def catalog(
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Paths or patterns.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="The catalog: a Parquet file. One that exists is brought up to date.")],
    leave_out: Annotated[bool, typer.Option("--leave-out", help="Leave out files that cannot be read, and list them.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Read all files again, even if the catalog exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write what many files hold, a row for each array: shapes, types, units, ranges of coordinates. Files that have not changed are not read again."""
    options = {name: OPEN[name] for name in ("threads", "limits", "storage_options") if name in OPEN}
    with careful(), reporting(os.path.basename(out), "files") as report:
        made = hs.write_catalog(files, out, "w" if force else "a", errors="leave_out" if leave_out else "raise", progress=report, **options)
    if as_json:
        print(json.dumps({**made._asdict(), "left_out": [left._asdict() for left in made.left_out]}))
        return
    for left in made.left_out:
        print(f"left out: {left.path}: {left.reason}")
    print(f"wrote {out}: {made.arrays} arrays of {made.files} files, of which {made.read} were read")
