"""The application of the command: what all commands share, options and how files are opened."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

import hyperslab as hs

from .menu import MENU, SECTIONS

Function = TypeVar("Function", bound=Callable[..., object])


class Sections(TyperGroup):
    """A list of commands in the sections of the menu."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the sections, whose summaries begin in one column."""
        width = max(map(len, MENU))
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), entry.summary) for name, entry in entries.items()], col_max=30, col_spacing=2)


app = typer.Typer(
    cls=Sections,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="\b\nhyperslab COMMAND --help explains a command with examples.\nhyperslab man | man -l - shows all of it as one page.",
    help="HDF5 and netCDF as tables. FILE is a path, an address such as s3://bucket/key or, in quotes, a glob.",
)


def command(*examples: str, name: str | None = None, hidden: bool = False) -> Callable[[Function], Function]:
    """Makes a command of a function. Its line in the list of commands is also its line in the menu; `examples` are shown by its `--help`."""
    epilog = "\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples) if examples else None

    def register(function: Function) -> Function:
        called = name or function.__name__
        return app.command(called, short_help=MENU[called].summary, epilog=epilog, hidden=hidden)(function)

    return register


def member_names(context: typer.Context, incomplete: str) -> list[str]:
    """The members of the group that an incomplete path names, for shells."""
    above, slash, _ = incomplete.rpartition("/")
    with contextlib.suppress(Exception):  # a shell has no place for an error
        opened = hs.open(context.params["file"]).files[0]
        group = opened[above] if above else opened
        if isinstance(group, hs.Group):
            found = [f"{above}{slash}{name}{'/' if isinstance(group.get(name), hs.Group) else ''}" for name in group]
            return [name for name in found if name.startswith(incomplete)]
    return []


FileName = Annotated[str, typer.Argument(metavar="FILE", help="A file or, in quotes, a glob of several.")]
ObjectPath = Annotated[str, typer.Argument(metavar="PATH", help="Path of a group or dataset in the file.", autocompletion=member_names)]
OutName = Annotated[str, typer.Argument(metavar="OUT", help="The file that is written.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Where = Annotated[str | None, typer.Option(metavar="TEXT", help='Only rows that match: "lat > 60 and t2m > 280".')]
Columns = Annotated[str | None, typer.Option(metavar="NAMES", help="Only these columns, separated by commas.")]
Layout = Annotated[str | None, typer.Option(metavar="NAME", help="cells, rows, columns or records.")]
Nonconforming = Annotated[str, typer.Option(metavar="NAME", help="If objects lack columns of others: error, or null to fill them.")]
Raw = Annotated[bool, typer.Option("--raw", help="Stored values, without netCDF decoding.")]

OPEN: dict[str, Any] = {}  # how files are opened, from the options before the command


def _version(wanted: bool) -> None:
    if wanted:
        print(hs.__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
    limit: Annotated[
        list[str] | None, typer.Option("--limit", metavar="NAME=NUMBER", help="A limit on what a file may cost, such as chunk_bytes=1000000. May be repeated.")
    ] = None,
    paths: Annotated[
        str, typer.Option(metavar="WHICH", help="Other files that a file may name: below (its own folder and below), none or anywhere.")
    ] = "below",
    missing_sources: Annotated[str, typer.Option(metavar="WHAT", help="If a source of a virtual dataset is missing: error or fill.")] = "error",
    threads: Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of threads; one per core by default.")] = None,
    index_folder: Annotated[str | None, typer.Option(metavar="FOLDER", help="Folder of indexes that are not next to the files.")] = None,
    indexes: Annotated[str | None, typer.Option(metavar="WHICH", help="Indexes to use: own (those that you built, the default), any, or none.")] = None,
    storage_option: Annotated[
        list[str] | None,
        typer.Option("--storage-option", metavar="NAME=VALUE", help="An option of an address' store, such as skip_signature=true. May be repeated."),
    ] = None,
    no_index: Annotated[bool, typer.Option("--no-index", help="Use no index: the same as --indexes none.")] = False,
) -> None:
    """HDF5 and netCDF as tables."""
    limits = {}
    for given in limit or ():
        name, _, value = given.partition("=")
        if not value.isdecimal():
            raise typer.BadParameter(f"{given}: give a name and a whole number, as in chunk_bytes=1000000")
        limits[name] = int(value)
    options = {}
    for given in storage_option or ():
        name, equals, value = given.partition("=")
        if not equals:
            raise typer.BadParameter(f"{name}: give a name and a value, as in region=eu-west-1")
        options[name] = value
    OPEN.update(
        paths=paths,
        missing_sources=missing_sources,
        threads=threads,
        limits=limits,
        index_folder=index_folder,
        indexes="none" if no_index else indexes,
        storage_options=options,
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
