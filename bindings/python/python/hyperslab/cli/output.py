"""What commands print and write: tables, facts and histograms, for people and as JSON."""

from __future__ import annotations

import base64
import json
import math
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

import hyperslab as hs

from .progress import counting, waiting
from .stopping import complete


def say(what: Any) -> None:
    """Prints for people. Lines are wrapped only on a terminal."""
    Console(soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 200).print(what)


def plain(value: Any) -> Any:
    """A value for JSON: NaN and infinity become null, bytes that are not UTF-8 become base64."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def print_rows(table: pa.Table, as_json: bool) -> None:
    if as_json:
        for row in table.to_pylist():
            print(json.dumps(plain(row), ensure_ascii=False))
        return
    grid = Grid(box=None, header_style="bold")
    for field in table.schema:
        grid.add_column(f"{escape(field.name)}\n[dim]{escape(str(field.type))}[/dim]", overflow="fold")
    for row in table.to_pylist():
        grid.add_row(*(escape(_cell(row[field.name], field.type)) for field in table.schema))
    say(grid)


def _cell(value: Any, type: pa.DataType) -> str:
    """A value for people; a narrow float with its own few digits, not a double's."""
    if value is None:
        return ""
    return str(np.float32(value)) if pa.types.is_float32(type) else str(value)


def print_facts(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(plain(facts), ensure_ascii=False))
    elif len(facts) == 1:
        print(*facts.values())
    else:
        say("  ".join(f"{escape(str(key))} {escape(str(value))}" for key, value in facts.items()))


def print_bins(names: list[str], found: hs.Histogram, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"variables": names, "edges": [edges.tolist() for edges in found.edges], "values": found.values.tolist()}))
        return
    grid = Grid(box=None, header_style="bold")
    for name in names:
        grid.add_column(escape(name))
    grid.add_column("rows", justify="right")
    for place in np.ndindex(found.values.shape):
        if len(names) == 1 or found.values[place]:
            grid.add_row(*(f"{edges[at]:.6g} … {edges[at + 1]:.6g}" for at, edges in zip(place, found.edges, strict=True)), str(found.values[place]))
    say(grid)


def write_file(out: str, reader: pa.RecordBatchReader | hs.BatchReader, total: int | None) -> None:
    """Writes a batch at a time; `out` appears when it is complete."""
    rows = 0
    make = _maker(out)
    with complete(out) as part, counting(os.path.basename(out), total) as advance, make(part, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            rows += batch.num_rows
            advance(batch.num_rows)
    print(f"wrote {out}: {rows} rows, {os.path.getsize(out)} bytes")


def draw(out: str, figure: Callable[[], Any], metadata: dict[str, Any] | None = None) -> None:
    """Writes the picture of a matplotlib figure; `out` appears when it is complete. Its ending says the format."""
    ending = os.path.splitext(out)[1]
    if not ending:
        raise hs.InvalidInputError(f"{out}: name it .png, .pdf or .svg")
    with complete(out) as part, waiting("drawing"):
        figure().savefig(part, format=ending[1:].lower(), metadata=metadata)


def _maker(out: str) -> Callable[[BinaryIO, pa.Schema], Any]:
    from pyarrow import csv, ipc, parquet

    makers: dict[str, Callable[[BinaryIO, pa.Schema], Any]] = {".parquet": parquet.ParquetWriter, ".arrow": ipc.new_file, ".csv": csv.CSVWriter}
    make = makers.get(os.path.splitext(out)[1])
    if make is None:
        raise hs.InvalidInputError(f"{out}: name it .parquet, .arrow or .csv")
    return make
