"""The `hyperslab` command."""

from __future__ import annotations

import base64
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Optional

import duckdb
import numpy as np
import pyarrow as pa
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid
from rich.tree import Tree

import hyperslab as hs

from . import tree
from .progress import counting, waiting
from .stopping import careful, complete, stoppable
from .table import listed

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
                  help="HDF5 and netCDF as tables. FILE is a path or, in quotes, a glob.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Where = Annotated[Optional[str], typer.Option(help="Only rows that match: \"lat > 60 and t2m > 280\".")]
Columns = Annotated[Optional[str], typer.Option(help="Only these columns, separated by commas.")]
Layout = Annotated[Optional[str], typer.Option(help="cells, rows, columns or records.")]
Raw = Annotated[bool, typer.Option("--raw", help="Stored values, without netCDF decoding.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(hs.__version__)
        raise typer.Exit


_OPEN: dict[str, Any] = {}  # how files are opened, from the options before the command


@app.callback()
def _root(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
          limit: Annotated[Optional[list[str]], typer.Option("--limit", help="A limit on what a file may cost, such as chunk_bytes=1000000. May be repeated.")] = None,
          paths: Annotated[str, typer.Option(help="Other files that a file may name: folder (its own and below) or anywhere.")] = "folder",
          missing_sources: Annotated[str, typer.Option(help="If a source of a virtual dataset is missing: error or fill.")] = "error",
          threads: Annotated[Optional[int], typer.Option(min=1, help="Number of threads; one per core by default.")] = None,
          index_folder: Annotated[Optional[str], typer.Option(help="Folder of indexes that are not next to the files.")] = None) -> None:
    """HDF5 and netCDF as tables."""
    limits = {}
    for given in limit or ():
        name, _, value = given.partition("=")
        if not value.isdecimal():
            raise typer.BadParameter(f"{given}: give a name and a whole number, as in chunk_bytes=1000000")
        limits[name] = int(value)
    _OPEN.update(paths=paths, missing_sources=missing_sources, threads=threads, limits=limits, index_folder=index_folder)


def _open(file: str) -> hs.File:
    return hs.open(file, **_OPEN)


def _say(what: Any) -> None:
    """Prints for people: lines are not broken where no terminal asks for it."""
    Console(soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 200).print(what)


def _plain(value: Any) -> Any:
    """A value for JSON: NaN and infinity become null, bytes that are not UTF-8 become base64."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _rows(table: pa.Table, as_json: bool) -> None:
    if as_json:
        for row in table.to_pylist():
            print(json.dumps(_plain(row), ensure_ascii=False))
        return
    grid = Grid(box=None, header_style="bold")
    for field in table.schema:
        grid.add_column(f"{escape(field.name)}\n[dim]{escape(str(field.type))}[/dim]", overflow="fold")
    for row in table.to_pylist():
        grid.add_row(*(escape(_cell(row[field.name], field.type)) for field in table.schema))
    _say(grid)


def _cell(value: Any, type: pa.DataType) -> str:
    """A value for people; a narrow float with its own few digits, not a double's."""
    if value is None:
        return ""
    return str(np.float32(value)) if pa.types.is_float32(type) else str(value)


def _split(columns: Optional[str]) -> Optional[list[str]]:
    return [name.strip() for name in columns.split(",")] if columns else None


def _facts(entry: tree.Entry, attributes: bool) -> dict[str, Any]:
    found = entry.object
    facts: dict[str, Any] = {"path": entry.path, "kind": entry.kind}
    if found is None:
        return facts | {"target": entry.target}
    if isinstance(found, hs.Dataset):
        facts |= {"shape": list(found.shape), "type": hs.dtypes.describe(found._about["datatype"]), "dims": list(found.dims),
                  "chunks": list(found.chunks) if found.chunks else None, "filters": found.filters,
                  "ratio": found.compression_ratio and round(found.compression_ratio, 2)}
    if found.refusal:
        facts["refused"] = found.refusal
    if attributes:
        facts["attributes"] = dict(tree.attribute_lines(found))
    return facts


@app.command()
def ls(file: str, path: Annotated[str, typer.Argument()] = "/", attributes: Annotated[bool, typer.Option("--attributes", "-a", help="Also show attributes.")] = False,
       as_json: AsJson = False) -> None:
    """Show the tree: shape, type, chunks, filters, compression ratio. With several files, that of the first (JSON: all)."""
    files = _open(file).files
    facts: list[dict[str, Any]] = []
    with waiting("reading the tree"):
        for one in files if as_json else files[:1]:
            root, found = _tree(one, path, attributes)
            facts += [{"file": one.filename, **fact} if len(files) > 1 else fact for fact in found]
    if as_json:
        print(json.dumps(_plain(facts), ensure_ascii=False))
        return
    if len(files) > 1:
        _say(escape(f"{len(files)} files; this is the first"))
    _say(root)


def _tree(file: hs.File, path: str, attributes: bool) -> tuple[Tree, list[dict[str, Any]]]:
    """What is at and below `path`, for people and as facts."""
    found: tree.Shown = file if path == "/" else file[path]
    facts: list[dict[str, Any]] = []

    def add(entry: tree.Entry, below: Tree, seen: frozenset[int]) -> None:
        facts.append(_facts(entry, attributes))
        group = isinstance(entry.object, hs.Group)
        branch = below.add(f"[bold]{escape(entry.name)}[/bold]{'/' if group else ''}  {escape(tree.line(entry))}".rstrip())
        if entry.object is not None:
            inside(entry.object, branch, seen, entry.repeated)

    def inside(node: tree.Shown, branch: Tree, seen: frozenset[int], repeated: bool = False) -> None:
        for name, value in tree.attribute_lines(node) if attributes else ():
            branch.add(f"[dim]@{escape(name)} = {escape(value)}[/dim]")
        if not repeated:
            for entry in node._entries(seen):
                add(entry, branch, seen | {node._number})

    itself = tree.Entry(found.name, found.name, found.kind, found, "", False)
    root = Tree(f"[bold]{escape(file.filename)}[/bold] {escape('' if path == '/' else found.name)}  {escape(tree.line(itself))}".rstrip())
    if not isinstance(found, hs.Group):
        facts.append(_facts(itself, attributes))
    inside(found, root, frozenset({found._number}))
    return root, facts


@app.command()
def info(file: str, path: Annotated[Optional[str], typer.Argument()] = None, as_json: AsJson = False) -> None:
    """Show the format and sizes of a file (of several files their sums), or all properties of one object."""
    opened = _open(file)
    if path is not None:
        found = _single(opened, file)[path]
        facts = _facts(tree.Entry(found.name, found.name, found.kind, found, "", False), True)
        if isinstance(found, hs.Dataset):
            facts |= {"maxshape": list(found.maxshape), "bytes": found.nbytes, "stored_bytes": None if found.refusal else found.stored_bytes}
    elif len(opened.files) == 1:
        facts = {"file": opened.filename, "format": opened.format, **_sizes(opened), "attributes": dict(tree.attribute_lines(opened))}
    else:
        sizes = [_sizes(one) for one in opened.files]
        facts = {"files": len(sizes), "first": opened.files[0].filename, "last": opened.files[-1].filename,
                 "format": ", ".join(dict.fromkeys(one.format for one in opened.files)), **{name: sum(size[name] for size in sizes) for name in sizes[0]}}
    if as_json:
        print(json.dumps(_plain(facts), ensure_ascii=False))
        return
    grid = Grid(box=None, show_header=False)
    for name, value in facts.items():
        for row, (key, shown) in enumerate(value.items() if isinstance(value, dict) else [("", value)]):
            grid.add_row(f"[bold]{name if row == 0 else ''}[/bold]", escape(f"{key} = {shown}" if key else str(shown)))
    _say(grid)


def _sizes(file: hs.File) -> dict[str, int]:
    nodes = list(_nodes(file))
    datasets = [node for node in nodes if isinstance(node, hs.Dataset)]
    readable = [dataset for dataset in datasets if not dataset.refusal]
    return {"file_bytes": os.path.getsize(file.filename), "groups": sum(isinstance(node, hs.Group) for node in nodes), "datasets": len(datasets),
            "refused": sum(1 for node in nodes if node.refusal), "bytes": sum(d.nbytes for d in readable), "stored_bytes": sum(d.stored_bytes for d in readable)}


def _single(opened: hs.File, file: str) -> hs.File:
    """The only file, for commands that show one array."""
    if len(opened.files) > 1:
        raise hs.InvalidInputError(f"{len(opened.files)} files match {file}: give one, such as {opened.files[0].filename}; head, sql and export take the rows of all")
    return opened.files[0]


def _nodes(group: hs.Group) -> Iterator[tree.Shown]:
    """Every object once, however many links lead to it."""
    pending: list[tree.Shown] = [group]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if node._number in seen:
            continue
        seen.add(node._number)
        yield node
        pending += [entry.object for entry in node._entries(frozenset(seen)) if entry.object is not None]


@app.command()
def head(file: str, path: Annotated[str, typer.Argument()] = "/", rows: Annotated[int, typer.Option("-n", "--rows", min=0, help="Number of rows.")] = 10,
         columns: Columns = None, where: Where = None, layout: Layout = None, raw: Raw = False, as_json: AsJson = False) -> None:
    """Show the first rows of a table (JSON: one row per line)."""
    with waiting("reading"):
        table = _table(file, path, where, columns, layout, raw)
        found = table.head(rows)
    _rows(found, as_json)
    _note_omitted(table, columns)


@app.command()
def sql(file: str, query: str, out: Annotated[Optional[str], typer.Option("-o", "--out", help="Write the rows to OUT.parquet, .arrow or .csv.")] = None,
        as_json: AsJson = False) -> None:
    """Run an SQL query (DuckDB); every dataset and table-like group is a view."""
    with waiting("running the query"):
        relation = hs.sql(query, _open(file))
        found = relation.to_arrow_table() if out is None else None
    if found is not None:
        _rows(found, as_json)
    elif out is not None:
        _write(out, relation.to_arrow_reader(), None)


@app.command()
def export(file: str, path: str, out: str, where: Where = None, columns: Columns = None, layout: Layout = None, raw: Raw = False) -> None:
    """Write a table to OUT.parquet, .arrow or .csv, batch by batch."""
    table = _table(file, path, where, columns, layout, raw)
    _write(out, table.batches(), table.count() if where is None else None)
    _note_omitted(table, columns)


def _table(file: str, path: str, where: Optional[str], columns: Optional[str], layout: Optional[str], raw: bool) -> hs.Table:
    return _open(file).table(path, where, _split(columns), layout, decode=not raw, omitted="ignore")


def _note_omitted(table: hs.Table, columns: Optional[str]) -> None:
    """Prints omitted members to standard error, unless the columns were chosen."""
    if table.omitted and columns is None:
        print(f"hyperslab: not columns: {listed(table.omitted)}", file=sys.stderr)


def _write(out: str, reader: pa.RecordBatchReader | hs.BatchReader, total: Optional[int]) -> None:
    """Writes a batch at a time; `out` appears when it is complete."""
    rows = 0
    make = _maker(out)
    with complete(out) as part, counting(os.path.basename(out), total) as advance, make(part, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            rows += batch.num_rows
            advance(batch.num_rows)
    print(f"wrote {out}: {rows} rows, {os.path.getsize(out)} bytes")


def _maker(out: str) -> Callable[[str, pa.Schema], Any]:
    from pyarrow import csv, ipc, parquet

    makers: dict[str, Callable[[str, pa.Schema], Any]] = {".parquet": parquet.ParquetWriter, ".arrow": ipc.new_file, ".csv": csv.CSVWriter}
    make = makers.get(os.path.splitext(out)[1])
    if make is None:
        raise hs.InvalidInputError(f"{out}: name it .parquet, .arrow or .csv")
    return make


@app.command()
def plot(file: str, path: str, out: str, index: Annotated[Optional[str], typer.Option(help="Indexes of the leading dimensions: 3,0.")] = None,
         cmap: Annotated[Optional[str], typer.Option(help="A colormap of matplotlib.")] = None,
         vmin: Annotated[Optional[float], typer.Option(help="The smallest value shown.")] = None,
         vmax: Annotated[Optional[float], typer.Option(help="The largest value shown.")] = None,
         log: Annotated[bool, typer.Option("--log", help="Scale values logarithmically.")] = False) -> None:
    """Draw a picture: 1-D as a line, N-D as an image of the last two dimensions."""
    found = _single(_open(file), file)[path]
    if not isinstance(found, hs.Dataset):
        raise hs.InvalidInputError(f"{path} is not a dataset: `hyperslab ls {file}` shows them")
    try:
        at = tuple(int(i) for i in index.split(",")) if index else ()
    except ValueError:
        raise hs.InvalidInputError(f"--index {index}: give whole numbers separated by commas") from None
    with complete(out) as part, waiting("drawing"):
        found.plot(part, at, cmap=cmap, vmin=vmin, vmax=vmax, log=log)
    print(f"wrote {out}: {os.path.getsize(out)} bytes")


@app.command()
def query(file: str, group: str, text: Annotated[Optional[str], typer.Argument(help="The condition: \"energy > 1.3 && 100 < x && x < 140\". By default every row matches.")] = None,
          count: Annotated[bool, typer.Option("--count", help="Print the number of matching rows (the default).")] = False,
          values: Annotated[Optional[str], typer.Option(help="Columns of the rows, separated by commas (also _row, _file and names of wildcards).")] = None,
          histogram: Annotated[Optional[str], typer.Option(help="Count rows in bins of one to three variables, separated by commas.")] = None,
          bins: Annotated[str, typer.Option(help="Number of bins, or adaptive:64 for bins of equal weight.")] = "10",
          log: Annotated[bool, typer.Option("--log", help="Bins of equal ratio.")] = False,
          weights: Annotated[Optional[str], typer.Option(help="Sum this variable in each bin, instead of counting rows.")] = None,
          quantile: Annotated[Optional[str], typer.Option(help="Exact quantiles: energy:0.5,0.99")] = None,
          minmax: Annotated[Optional[str], typer.Option(help="Minimum and maximum of a variable.")] = None,
          out: Annotated[Optional[str], typer.Option("-o", "--out", help="Write the rows to OUT.parquet, .arrow or .csv, or draw them as OUT.png.")] = None,
          rows: Annotated[Optional[str], typer.Option(help="The array whose elements are the rows, if TEXT does not determine it.")] = None,
          limit: Annotated[int, typer.Option("-n", "--rows-shown", min=0, help="Number of rows shown.")] = 10,
          explain: Annotated[bool, typer.Option("--explain", help="Show how the query would run.")] = False, as_json: AsJson = False) -> None:
    """Find the elements of the arrays in GROUP (wildcards, or re:…) that match TEXT."""
    with waiting("looking up names"):
        asked = hs.query(_open(file) if not file.startswith("re:") and not file.endswith(".parquet") else file, group, text, rows=rows, threads=_OPEN.get("threads"), index_folder=_OPEN.get("index_folder"))
    if explain:
        print(asked.explain())
    elif histogram is not None:
        names, wanted = _split(histogram) or [], int(bins) if bins.isdecimal() else bins
        if not 1 <= len(names) <= 3:
            raise hs.InvalidInputError(f"--histogram {histogram}: one to three variables")
        with waiting("counting"):
            found = asked._histogram(tuple(names), (wanted,) * len(names), (None,) * len(names), weights, (log,) * len(names))
        _bins(names, found, as_json)
    elif quantile is not None:
        name, _, fractions = quantile.rpartition(":")
        try:
            q = [float(part) for part in fractions.split(",")]
        except ValueError:
            raise hs.InvalidInputError(f"--quantile {quantile}: give a variable and fractions, as in energy:0.5,0.99") from None
        with waiting("selecting"):
            _answer({"variable": name, **{str(part): value for part, value in zip(q, asked.quantile(name, q).tolist())}}, as_json)
    elif minmax is not None:
        with waiting("looking"):
            ends = asked.minmax(minmax)
        _answer({"variable": minmax, "minimum": ends and ends[0], "maximum": ends and ends[1]}, as_json)
    elif out is not None and out.endswith((".png", ".pdf", ".svg")):
        with complete(out) as part, waiting("drawing"):
            asked.plot(part, _split(values))
        print(f"wrote {out}: {os.path.getsize(out)} bytes")
    elif out is not None:
        _write(out, asked.batches(_split(values)), None)
    elif count or values is None:
        with waiting("counting"):
            _answer({"count": asked.count()}, as_json)
    else:
        with waiting("reading"):
            shown = asked._head(_split(values), limit)
        _rows(shown, as_json)


def _answer(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(_plain(facts), ensure_ascii=False))
    elif len(facts) == 1:
        print(*facts.values())
    else:
        _say("  ".join(f"{escape(str(key))} {escape(str(value))}" for key, value in facts.items()))


def _bins(names: list[str], found: hs.Histogram, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"variables": names, "edges": [edges.tolist() for edges in found.edges], "values": found.values.tolist()}))
        return
    grid = Grid(box=None, header_style="bold")
    for name in names:
        grid.add_column(escape(name))
    grid.add_column("rows", justify="right")
    for place in np.ndindex(found.values.shape):
        if len(names) == 1 or found.values[place]:
            grid.add_row(*(f"{edges[at]:.6g} … {edges[at + 1]:.6g}" for at, edges in zip(place, found.edges)), str(found.values[place]))
    _say(grid)


@app.command()
def verify(file: str, values: Annotated[bool, typer.Option("--values", help="Also read all bytes.")] = False, as_json: AsJson = False) -> None:
    """Check that all subfiles of a container exist, are complete, and belong together; exit status 1 if not."""
    with waiting("checking"):
        found = hs.verify(file, values=values)
    if as_json:
        print(json.dumps(found._asdict(), ensure_ascii=False))
    else:
        for finding in found.problems + [f"remark: {remark}" for remark in found.remarks]:
            print(finding)
        print(f"{file}: {len(found.problems)} problems, {found.commits} commits, {found.subfiles} subfiles, {found.subfile_bytes} bytes")
    if found.problems:
        raise typer.Exit(1)


@app.command()
def vacuum(file: str, hours: Annotated[float, typer.Option(help="Only what was not touched for this many hours.")] = 24,
         orphans: Annotated[bool, typer.Option("--orphans", help="Also remove commits that no master in the folder uses.")] = False,
         dry_run: Annotated[bool, typer.Option("--dry-run", help="Remove nothing, only list what would be removed.")] = False,
         as_json: AsJson = False) -> None:
    """Remove leftovers of killed writers and killed index builds of a file, and overwritten data."""
    with careful():
        done = hs.vacuum(file, hours=hours, index_folder=_OPEN.get("index_folder"), orphans=orphans, dry_run=dry_run)
    if as_json:
        print(json.dumps(done._asdict()))
    else:
        if dry_run:
            for name in [*done.removed, *done.files, *done.indexes]:
                print(name)
        removed = "would remove" if dry_run else "removed"
        print(f"{file}: {removed} {len(done.removed)} writes, left {len(done.young)} that are younger than {hours:g} hours; "
              f"{removed} {len(done.files)} files of killed writers and {len(done.indexes)} leftovers of indexes")
        if done.orphans:
            count = len(done.orphans)
            print(f"{count} commit{'s belong' if count > 1 else ' belongs'} to no master in this folder; --orphans removes {'them' if count > 1 else 'it'}")


@app.command()
def fuse(file: str, out: str, force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
         as_json: AsJson = False) -> None:
    """Make one ordinary file of a container; copies chunks without decoding them if possible."""
    done = 0
    with careful(), counting(os.path.basename(out), None) as advance:
        def hear(now: int, _: int) -> None:
            nonlocal done
            advance(now - done)
            done = now

        made = hs.fuse(file, out, "w" if force else "x", progress=hear)
    if as_json:
        print(json.dumps(made._asdict()))
    else:
        print(f"wrote {out}: {made.bytes} bytes, {made.copied_chunks} chunks copied, {made.reencoded_bytes} bytes of values encoded again")


@app.command()
def index(file: str, datasets: Annotated[list[str], typer.Argument(help="Paths of datasets or groups; * and ? are wildcards.")],
          level: Annotated[Optional[str], typer.Option(help="Z, K, P, X or B; one that suits each dataset by default.")] = None,
          raw: Raw = False, together: Annotated[bool, typer.Option("--together", help="Make one index of all files of a folder.")] = False,
          embedded: Annotated[bool, typer.Option("--embedded", help="Append the index to each HDF5 file itself.")] = False,
          rebuild: Annotated[bool, typer.Option("--rebuild", help="Build valid indexes again, too.")] = False,
          plan: Annotated[bool, typer.Option("--plan", help="Only show what would be built.")] = False, as_json: AsJson = False) -> None:
    """Build value indexes next to the files, or bring them up to date; queries use them automatically."""
    if embedded and not plan:
        with careful(), waiting("indexing"):
            planned = hs.index(_open(file), datasets, level, decode=not raw, together=together, rebuild=rebuild, embedded=True, index_folder=_OPEN.get("index_folder"))
    else:
        planned = hs.indexes.plan(_open(file), datasets, level, decode=not raw, together=together, rebuild=rebuild, index_folder=_OPEN.get("index_folder"))
    if not plan and not embedded:
        with careful(), counting("indexing", planned.value_bytes) as advance:
            planned.run(advance)
    if as_json:
        print(json.dumps([entry._asdict() for entry in planned.datasets]))
    else:
        print(planned.explain())


@app.command("spark-jar")
def spark_jar() -> None:
    """Print the path of the jar for Spark, as in: spark-submit --jars $(hyperslab spark-jar)"""
    print(hs.spark.jar())


def main() -> None:
    """Entry point; errors are one line."""
    try:
        with stoppable():
            app()
    except (hs.Error, OSError, ValueError, IndexError, KeyError, pa.ArrowException, duckdb.Error) as error:
        print(f"hyperslab: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(1)
