"""The application of the command: what all commands share, options and how files are opened."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import hyperslab as hs

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="HDF5 and netCDF as tables. FILE is a path or, in quotes, a glob.",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Where = Annotated[str | None, typer.Option(help='Only rows that match: "lat > 60 and t2m > 280".')]
Columns = Annotated[str | None, typer.Option(help="Only these columns, separated by commas.")]
Layout = Annotated[str | None, typer.Option(help="cells, rows, columns or records.")]
Raw = Annotated[bool, typer.Option("--raw", help="Stored values, without netCDF decoding.")]

OPEN: dict[str, Any] = {}  # how files are opened, from the options before the command


def _version(wanted: bool) -> None:
    if wanted:
        print(hs.__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
    limit: Annotated[list[str] | None, typer.Option("--limit", help="A limit on what a file may cost, such as chunk_bytes=1000000. May be repeated.")] = None,
    paths: Annotated[str, typer.Option(help="Other files that a file may name: folder (its own and below) or anywhere.")] = "folder",
    missing_sources: Annotated[str, typer.Option(help="If a source of a virtual dataset is missing: error or fill.")] = "error",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; one per core by default.")] = None,
    index_folder: Annotated[str | None, typer.Option(help="Folder of indexes that are not next to the files.")] = None,
    indexes: Annotated[str | None, typer.Option(help="Indexes to use: own (those that you built, the default), any, or none.")] = None,
    no_index: Annotated[bool, typer.Option("--no-index", help="Use no index: the same as --indexes none.")] = False,
) -> None:
    """HDF5 and netCDF as tables."""
    limits = {}
    for given in limit or ():
        name, _, value = given.partition("=")
        if not value.isdecimal():
            raise typer.BadParameter(f"{given}: give a name and a whole number, as in chunk_bytes=1000000")
        limits[name] = int(value)
    OPEN.update(
        paths=paths, missing_sources=missing_sources, threads=threads, limits=limits, index_folder=index_folder, indexes="none" if no_index else indexes
    )


def open_file(file: str) -> hs.File:
    return hs.open(file, **OPEN)


def only_file(opened: hs.File, file: str) -> hs.File:
    """The only file, for commands that show one array."""
    if len(opened.files) > 1:
        raise hs.InvalidInputError(
            f"{len(opened.files)} files match {file}: give one, such as {opened.files[0].filename}; head, sql and export take the rows of all"
        )
    return opened.files[0]


def split(columns: str | None) -> list[str] | None:
    return [name.strip() for name in columns.split(",")] if columns else None
