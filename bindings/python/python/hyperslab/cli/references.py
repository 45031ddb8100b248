"""The command references."""

from __future__ import annotations

import json
from typing import Annotated

import typer

import hyperslab as hs

from .app import OPEN, AsJson, command
from .progress import waiting
from .stopping import careful


@command(
    "hyperslab references day1.nc -o day1.json",
    "hyperslab references day1.nc -o public.json --address s3://bucket/day1.nc",
)
def references(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of HDF5 or netCDF-4, or its address.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="The document to write: kerchunk's JSON.")],
    address: Annotated[str | None, typer.Option("--address", help="Where readers will find the file, if not where it is now.")] = None,
    drop: Annotated[list[str] | None, typer.Option("--drop", metavar="NAME", help="Leave out datasets of this name (may be repeated).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write where the chunks of a file lie, for kerchunk, fsspec, Zarr and Hyperslab itself."""
    options = {name: OPEN[name] for name in ("threads", "limits", "storage_options") if name in OPEN}
    with careful(), waiting("listing chunks"):
        made = hs.write_references(file, out, "w" if force else "x", address=address, drop_variables=drop or (), **options)
    if as_json:
        print(json.dumps(made._asdict()))
    else:
        print(f"wrote {out}: {made.arrays} arrays, {made.chunks} chunks in the file, {made.inside} in the document")
