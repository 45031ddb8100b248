"""The `hyperslab` command."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Optional

import duckdb
import pyarrow as pa
import typer

import hyperslab as hs

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="HDF5 and netCDF as tables.")


def _version(wanted: bool) -> None:
    if wanted:
        print(hs.__version__)
        raise typer.Exit


@app.callback()
def _root(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True)) -> None:
    """HDF5 and netCDF as tables."""


@app.command()
def ls(file: str, path: str = typer.Argument("/"), attributes: bool = False, as_json: bool = typer.Option(False, "--json")) -> None:
    """The tree: shape, type, chunks, filters, compression ratio."""
    rows: list[dict[str, object]] = []

    def add(file: Any, number: int, where: str, seen: frozenset[int]) -> None:
        about = file.describe(number)
        row: dict[str, object] = {"path": where, "kind": about["kind"]}
        if about["kind"] == "dataset":
            d = hs.Dataset(file, number, where)
            row |= {"shape": list(d.shape), "type": hs.objects.dtypes.describe(about["datatype"]),
                    "chunks": d.chunks, "filters": d.filters, "refused": about["refusal"]}
            if d.filters and not about["refusal"] and d.stored_bytes:
                row["ratio"] = round(d.size * about["datatype"]["size"] / d.stored_bytes, 2)
        if attributes:
            row["attributes"] = {k: str(v) for k, v in hs.Attributes(file, number).items()}
        rows.append(row)
        if about["kind"] == "group" and number not in seen:
            below(hs.Group(file, number, where), seen | {number})

    def below(group: hs.Group, seen: frozenset[int]) -> None:
        for name, kind, number, target in group._about["links"]:
            where = f"{group.name.rstrip('/')}/{name}"
            if kind == "hard":
                add(group._file, number, where, seen)
            else:
                rows.append({"path": where, "kind": kind, "target": target})

    opened = hs.open(file)
    found = opened if path == "/" else opened[path]
    if isinstance(found, hs.Group):
        below(found, frozenset({found._number}))
    else:
        add(found._file, found._number, found.name, frozenset())
    if as_json:
        print(json.dumps(rows))
        return
    for row in rows:
        print(row["path"], *(f"{k}={v}" for k, v in row.items() if k not in ("path", "kind") and v not in (None, [])))


@app.command()
def info(file: str) -> None:
    """Format and tree."""
    opened = hs.open(file)
    print(f"{opened.format}\n{opened}")


@app.command()
def head(file: str, path: str, rows: int = 5, columns: Optional[str] = None, where: Optional[str] = None,
         layout: Optional[str] = None) -> None:
    """The first rows."""
    chosen = columns.split(",") if columns else None
    for row in hs.open(file).table(path, where, chosen, layout).head(rows).to_pylist():
        print(json.dumps(row, default=str))


@app.command()
def sql(file: str, query: str, out: Optional[str] = typer.Option(None, "-o")) -> None:
    """Runs a query."""
    relation = hs.sql(query, file)
    relation.write_parquet(out) if out else print(relation)


@app.command()
def export(file: str, path: str, out: str, where: Optional[str] = None, layout: Optional[str] = None) -> None:
    """Writes a table as .parquet, .arrow or .csv, a batch at a time."""
    from pyarrow import csv, ipc, parquet

    makers = {".parquet": parquet.ParquetWriter, ".arrow": ipc.new_file, ".csv": csv.CSVWriter}
    make = makers.get(os.path.splitext(out)[1])
    if make is None:
        raise hs.InvalidInputError(f"{out}: name it .parquet, .arrow or .csv")
    reader = hs.open(file).table(path, where, None, layout).batches()
    part = f"{out}.part{os.getpid()}"
    try:
        with make(part, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        os.replace(part, out)
    finally:
        if os.path.exists(part):
            os.remove(part)


@app.command()
def plot(file: str, path: str, out: str, index: Optional[str] = None) -> None:
    """A quick look as PNG."""
    from .plot import plot as draw

    found = hs.open(file)[path]
    if not isinstance(found, hs.Dataset):
        raise hs.InvalidInputError(f"{path} is no dataset: `hyperslab ls {file}` shows them")
    draw(found, out, tuple(int(i) for i in index.split(",")) if index else None)


def main() -> None:
    """Entry point; errors are one line."""
    try:
        app()
    except (hs.Error, OSError, ValueError, IndexError, pa.ArrowException, duckdb.Error) as error:
        print(f"hyperslab: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(1)
