"""The command diff."""

from __future__ import annotations

import json
from typing import Annotated

import typer

import hyperslab as hs

from ..exporting.part_files import complete
from .app import OPEN, AsJson, command
from .notes import note
from .progress import counting
from .stopping import careful


@command(
    "hyperslab diff profiles.nc profiles.nc",
    "hyperslab diff profiles.nc profiles.nc /theta --rtol 1e-6",
    "hyperslab diff profiles.nc profiles.nc --exclude '/time*' --html differences.html",
)
def diff(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="A file or an address.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="The other file.")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="Compare this object, with all below it.")] = "/",
    second_path: Annotated[str | None, typer.Argument(metavar="PATH2", help="The object of the second file, if its path is another.")] = None,
    rtol: Annotated[float, typer.Option(metavar="X", help="Numbers may differ by X, relative to the second.")] = 0.0,
    atol: Annotated[float, typer.Option(metavar="X", help="Numbers may differ by X.")] = 0.0,
    nan_differs: Annotated[bool, typer.Option("--nan-differs", help="NaN is not equal to NaN.")] = False,
    no_attributes: Annotated[bool, typer.Option("--no-attributes", help="Do not compare attributes.")] = False,
    stored_alike: Annotated[bool, typer.Option("--storage", help="Compare chunks and filters, too.")] = False,
    structure: Annotated[bool, typer.Option("--structure", help="Compare all that h5dump -p shows: order, comments, filters, committed types.")] = False,
    unordered: Annotated[list[str] | None, typer.Option(metavar="PATTERN", help="Datasets whose rows may have any order (may be repeated).")] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="PATTERN", help="Leave out objects with such a path (may be repeated).")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing: the exit status says it.")] = False,
    out: Annotated[str | None, typer.Option("--html", metavar="OUT", help="Write a page with the differences.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare structure, attributes, types and values of two files. Exit status 0 if nothing differs, 1 if something does or cannot be
    compared, 2 for an error."""
    try:
        with careful(), counting("comparing", None, "objects") as advance:
            found = hs.diff(
                first,
                second,
                path,
                second_path,
                rtol=rtol,
                atol=atol,
                equal_nan=not nan_differs,
                attributes=not no_attributes,
                storage=stored_alike,
                structure=structure,
                unordered=unordered or (),
                exclude=exclude or (),
                progress=lambda objects: advance(1),
                **OPEN,
            )
    except hs.Error as error:
        # 1 says that the files differ.
        note(" ".join(str(error).split()))
        raise typer.Exit(2) from None
    if out is not None:
        page = f"<!doctype html><meta charset='utf-8'><title>Differences</title>{found.to_html()}\n"
        with complete(out) as file:
            file.write(page.encode())
    if as_json:
        print(json.dumps(found.to_dict()))
    elif not quiet:
        for line in found.lines():
            print(line)
    if not found.equal:
        raise typer.Exit(1)
