"""Commands that read values: head, sql, export, plot, query."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import hyperslab as hs

from ..exporting.formats import HDF5, NETCDF, STREAMS, format_of
from ..objects import plot as plots
from ..objects import plot_choice, plot_signal
from ..tables.table import listed
from .app import OPEN, AsJson, Columns, FileName, Layout, Nonconforming, ObjectPath, Raw, Where, command, member_names, only_file, open_file, split
from .notes import note
from .output import PICTURES, draw, print_bins, print_facts, print_rows, write_file
from .progress import waiting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..tables.histogram import Histogram

_ENDINGS = f"{', '.join(f'.{name}' for name in [*STREAMS, HDF5])} or .{NETCDF}"
Out = Annotated[str | None, typer.Option("-o", "--out", metavar="OUT", help=f"Write the rows to OUT: a file named {_ENDINGS}, or - for standard output.")]
OutFormat = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help=f"The format: {', '.join([*STREAMS, HDF5])} or {NETCDF}; by default the ending of OUT.")
]
AsArrow = Annotated[bool, typer.Option("--arrow", help="Head the columns with Arrow's names of their types.")]


_COUNT_HELP = "Count the rows that match first, which reads the columns of the condition once more."


@command(
    "hyperslab head profiles.nc /theta",
    "hyperslab head profiles.nc /theta -n 3 --where 'depth > 100' --columns depth,theta",
    "hyperslab head profiles.nc /theta --json",
)
def head(
    file: FileName,
    path: ObjectPath = "/",
    rows: Annotated[int, typer.Option("-n", "--rows", min=0, metavar="N", help="Number of rows.")] = 10,
    columns: Columns = None,
    where: Where = None,
    layout: Layout = None,
    nonconforming: Nonconforming = "error",
    raw: Raw = False,
    count: Annotated[bool, typer.Option("--count", help=f"Say how many rows there are under a condition. {_COUNT_HELP}")] = False,
    as_arrow: AsArrow = False,
    as_json: AsJson = False,
) -> None:
    """Show the first rows of a table (JSON: one row per line)."""
    with waiting("reading"):
        table = _table(file, path, where, columns, layout, raw, nonconforming)
        found = table.head(rows + 1)
        shown = found.slice(0, rows)
    print_rows(shown.to_batches(), shown.schema, as_json, as_arrow=as_arrow)
    _note_omitted(table, columns)
    if found.num_rows > rows and not as_json and (count or sys.stdout.isatty()):
        _note_more(table, rows, where, count)


def _note_more(table: hs.Table, shown: int, where: str | None, counts: bool) -> None:
    """Says on standard error how many rows there are: without a condition metadata has it."""
    rows = f"the first {shown:,}" if shown != 1 else "the first"
    if where is not None and not counts:
        note(f"{rows} of the rows that match; --count says how many there are")
        return
    with waiting("counting"):
        total = table.count()
    note(f"{rows} of {total:,} rows{'' if where is None else ' that match'}")


@command(
    "hyperslab sql profiles.nc 'select depth, avg(theta) from theta group by depth'",
    "hyperslab sql profiles.nc 'from theta where theta > 299' -o warm.parquet",
    "hyperslab sql profiles.nc 'from theta' --format jsonl | tail -1",
)
def sql(
    file: FileName,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The query; `show tables` lists the views.")],
    out: Out = None,
    format: OutFormat = None,
    rows: Annotated[int, typer.Option("-n", "--rows", min=0, metavar="N", help="Number of rows printed for people; 0 prints all of them.")] = 1000,
    as_arrow: AsArrow = False,
    as_json: AsJson = False,
) -> None:
    """Run an SQL query (DuckDB); every dataset and table-like group is a view."""
    if os.path.exists(query):
        raise hs.InvalidInputError(f"the query is the name of a file: {query}; the file comes first: hyperslab sql FILE QUERY")
    with waiting("running the query"):
        reader = hs.sql(query, open_file(file)).to_arrow_reader()
        is_printed = out is None and format is None
        # Some queries are run when the first rows are asked for.
        first = list(itertools.islice(reader, 1)) if is_printed else []
    if is_printed:
        print_rows(itertools.chain(first, reader), reader.schema, as_json, rows or None, as_arrow)
    else:
        write_file("-" if out is None else out, reader, None, format)


@command(
    "hyperslab export profiles.nc /theta theta.parquet",
    "hyperslab export profiles.nc /theta warm.nc --where 'theta > 299'",
    "hyperslab export profiles.nc /theta - --format csv | wc -l",
)
def export(
    file: FileName,
    path: ObjectPath,
    out: Annotated[str, typer.Argument(metavar="OUT", help=f"The file, named {_ENDINGS}, or - for standard output.")],
    format: OutFormat = None,
    where: Where = None,
    columns: Columns = None,
    layout: Layout = None,
    nonconforming: Nonconforming = "error",
    raw: Raw = False,
    count: Annotated[bool, typer.Option("--count", help=f"Let the progress say how much is left under a condition. {_COUNT_HELP}")] = False,
) -> None:
    """Write a table to OUT, batch by batch."""
    format_of(out, format, option="--format ")
    table = _table(file, path, where, columns, layout, raw, nonconforming)
    total = None
    if where is None or count:
        with waiting("counting"):
            total = table.count()
    write_file(out, table.batches(), total, format)
    _note_omitted(table, columns)


def _table(file: str, path: str, where: str | None, columns: str | None, layout: str | None, raw: bool, nonconforming: str) -> hs.Table:
    return open_file(file).table(path, where, split(columns), layout, raw=raw, omitted="ignore", nonconforming=nonconforming)


def _note_omitted(table: hs.Table, columns: str | None) -> None:
    """Prints to standard error what else the name means, and omitted members, unless the columns were chosen."""
    if (other := table.other_meaning) is not None:
        note(f"this is a table of the data model {table.model}; --raw shows the object {other} as stored")
    if table.omitted and columns is None:
        note(f"not columns: {listed(table.omitted)}")


@command(
    "hyperslab plot pressure.nc /air_pressure_at_sea_level pressure.png",
    "hyperslab plot scan.nxs scan.pdf",
    "hyperslab plot profiles.nc /theta level.svg --index 3 --cmap magma --vmin 270",
    "hyperslab plot profiles.nc /theta profile.png --dims depth --index lat=2,lon=4",
)
def plot(
    file: FileName,
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="Path of a dataset; by default NeXus's default or the only variable.", autocompletion=member_names),
    ] = None,
    out: Annotated[str | None, typer.Argument(metavar="OUT", help="The picture: .png, .pdf or .svg; by default FILE_DATASET.png.")] = None,
    index: Annotated[str | None, typer.Option(metavar="NUMBERS", help="Indexes of the dimensions that are not drawn: 3,0 or lat=3,lon=4.")] = None,
    dims: Annotated[
        str | None, typer.Option(metavar="NAMES", help="The one or two dimensions that are drawn, by name or number; by default the last two.")
    ] = None,
    histogram: Annotated[bool, typer.Option("--histogram", help="Count the values in bins instead.")] = False,
    bins: Annotated[int, typer.Option(min=1, metavar="N", help="Number of bins.")] = 100,
    cmap: Annotated[str | None, typer.Option(metavar="NAME", help="A colormap of matplotlib.")] = None,
    vmin: Annotated[float | None, typer.Option(metavar="NUMBER", help="The smallest value shown.")] = None,
    vmax: Annotated[float | None, typer.Option(metavar="NUMBER", help="The largest value shown.")] = None,
    robust: Annotated[bool, typer.Option("--robust", help="Show the values between the 2nd and the 98th percentile.")] = False,
    log: Annotated[bool, typer.Option("--log", help="Scale values logarithmically.")] = False,
    coastlines: Annotated[bool, typer.Option("--coastlines", help="Draw coastlines on a map; cartopy downloads them the first time.")] = False,
) -> None:
    """Draw a picture: a line or a profile, an image or a map, or a histogram."""
    opened = only_file(open_file(file), file)
    if out is None and path is not None and path.lower().endswith(PICTURES) and path not in opened:
        path, out = None, path
    found = _drawn(opened, path, file)
    if out is None:
        out = _unused(f"{os.path.splitext(os.path.basename(file.rstrip('/')))[0]}_{found.name.rsplit('/', 1)[-1]}.png")
    at = _indexes(index)
    drawn = [_number_or_name(name) for name in split(dims) or []] or None
    kind = "histogram" if histogram else "auto"
    draw(
        out,
        lambda: cast(
            "Figure",
            plots.plot(found, None, at, dims=drawn, kind=kind, bins=bins, cmap=cmap, vmin=vmin, vmax=vmax, robust=robust, log=log, coastlines=coastlines),
        ),
    )
    print(f"wrote {out}: {os.path.getsize(out):,} bytes")


def _drawn(opened: hs.File, path: str | None, file: str) -> Any:
    """The dataset that a path names, or that the file means without one; of a group of NeXus its signal."""
    if path is None:
        return plot_choice.default(opened)
    if path not in opened:
        table = next((view for view in opened.models if path.strip("/") in view.tables), None)
        if table is not None:
            return plot_choice.of_table(opened, path.strip("/"), {array.path for array in table.arrays})
    found = opened[path]
    if isinstance(found, hs.Dataset):
        return found
    signal = plot_signal.signal_of(opened, found.name)
    if signal is None:
        raise hs.InvalidInputError(f"{path} is not a dataset: `hyperslab ls {file}` shows them")
    return signal


def _unused(out: str) -> str:
    """The default name of the picture. It must be free: only a picture that the user names replaces a file."""
    if os.path.lexists(out):
        raise hs.InvalidInputError(f"{out} exists: name the picture to replace it")
    return out


def _number_or_name(given: str) -> int | str:
    return int(given) if given.lstrip("-").isdecimal() else given


def _indexes(given: str | None) -> tuple[int, ...] | dict[str | int, int]:
    """`3,0`, or `lat=3,lon=4`."""
    parts = split(given) or []
    try:
        if any("=" in part for part in parts):
            return {_number_or_name(name): int(at) for name, _, at in (part.partition("=") for part in parts)}
        return tuple(map(int, parts))
    except ValueError:
        raise hs.InvalidInputError(f"--index {given}: give whole numbers separated by commas, or names: lat=3,lon=4") from None


@command(
    "hyperslab query profiles.nc / 'theta > 299 && depth <= 100'",
    "hyperslab query profiles.nc / 'theta > 299' --values _row,depth,theta -n 3",
    "hyperslab query profiles.nc / 'theta > 280' --histogram theta --bins 5",
)
def query(
    file: FileName,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group of the arrays: a path, with wildcards, or re:REGEX.", autocompletion=member_names)],
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help='The condition: "energy > 1.3 && 100 < x && x < 140". By default every row matches.')
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Print the number of matching rows (the default).")] = False,
    values: Annotated[str | None, typer.Option(help="Columns of the rows, separated by commas (also _row, _file and names of wildcards).")] = None,
    histogram: Annotated[str | None, typer.Option(help="Count rows in bins of one to three variables, separated by commas.")] = None,
    bins: Annotated[str, typer.Option(help="Number of bins, or adaptive:64 for bins of equal weight.")] = "10",
    log: Annotated[bool, typer.Option("--log", help="Bins of equal ratio.")] = False,
    weights: Annotated[str | None, typer.Option(help="Sum this variable in each bin, instead of counting rows.")] = None,
    quantile: Annotated[str | None, typer.Option(help="Exact quantiles: energy:0.5,0.99")] = None,
    minmax: Annotated[str | None, typer.Option(help="Minimum and maximum of a variable.")] = None,
    out: Annotated[str | None, typer.Option("-o", "--out", help="Write the rows to OUT, as `sql` does, or draw them as OUT.png.")] = None,
    format: OutFormat = None,
    rows: Annotated[str | None, typer.Option(help="The array whose elements are the rows, if TEXT does not determine it.")] = None,
    limit: Annotated[int, typer.Option("-n", "--rows-shown", min=0, help="Number of rows shown.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show how the query would run.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the elements of the arrays in GROUP (wildcards, or re:…) that match TEXT."""
    with waiting("looking up names"):
        asked = hs.query(
            open_file(file) if not file.startswith("re:") and not file.endswith(".parquet") else file,
            group,
            text,
            rows=rows,
            threads=OPEN.get("threads"),
            index_folder=OPEN.get("index_folder"),
            indexes=OPEN.get("indexes"),
        )
    if explain:
        print(asked.explain())
    elif histogram is not None:
        names, wanted = split(histogram) or [], int(bins) if bins.isdecimal() else bins
        if not 1 <= len(names) <= 3:
            raise hs.InvalidInputError(f"--histogram {histogram}: one to three variables")
        with waiting("counting"):
            counted: Callable[..., Histogram] = (asked.histogram, asked.histogram2d, asked.histogram3d)[len(names) - 1]
            found = counted(*names, bins=wanted, weights=weights, log=log)
        print_bins(names, found, as_json)
    elif quantile is not None:
        name, _, fractions = quantile.rpartition(":")
        try:
            q = [float(part) for part in fractions.split(",")]
        except ValueError:
            raise hs.InvalidInputError(f"--quantile {quantile}: give a variable and fractions, as in energy:0.5,0.99") from None
        with waiting("selecting"):
            print_facts({"variable": name, **{str(part): value for part, value in zip(q, asked.quantile(name, q).tolist(), strict=True)}}, as_json)
    elif minmax is not None:
        with waiting("looking"):
            ends = asked.minmax(minmax)
        print_facts({"variable": minmax, "minimum": ends and ends[0], "maximum": ends and ends[1]}, as_json)
    elif out is not None and out.endswith(PICTURES):
        draw(out, lambda: asked.plot(None, split(values)))
        print(f"wrote {out}: {os.path.getsize(out):,} bytes")
    elif out is not None:
        write_file(out, asked.batches(split(values)), None, format)
    elif count or values is None:
        with waiting("counting"):
            print_facts({"count": asked.count()}, as_json)
    else:
        with waiting("reading"):
            shown = asked.head(limit, split(values))
        print_rows(shown.to_batches(), shown.schema, as_json)
