"""What commands print and write: tables, facts and histograms, for people and as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from rich.markup import escape
from rich.table import Table as Grid

import hyperslab as hs

from ..base.extras import LateModule
from ..exporting.formats import BINARY, STANDARD_OUTPUT, STREAMS, format_of
from ..exporting.part_files import complete
from ..exporting.plain_values import plain
from ..exporting.rows import write_rows, write_stream
from ..sources.addresses import is_address, shown_address
from ..values.python_values import python_rows
from .app import OPEN
from .grids import print_grid
from .notes import note
from .progress import counting, waiting
from .terminal import say

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from ..base.type_aliases import JsonObject
else:
    pa = LateModule("pyarrow")

#: Endings of pictures.
PICTURES = (".png", ".pdf", ".svg")
#: Rows of one grid of text: its columns are as wide as the widest of these.
_GRID_ROWS = 1000


def print_rows(batches: Iterable[pa.RecordBatch], schema: pa.Schema, as_json: bool, limit: int | None = None, as_arrow: bool = False) -> None:
    """Prints rows as they come; for people at most `limit`, and a word if there are more."""
    if as_json:
        for batch in batches:
            for row in python_rows(batch):
                print(json.dumps(plain(row), ensure_ascii=False))
        return
    shown = 0
    for block in _blocks(batches, schema):
        part = block if limit is None else block.slice(0, limit - shown)
        if part.num_rows or not shown:
            print_grid(part, as_arrow)
        shown += part.num_rows
        if part.num_rows < block.num_rows:
            note(f"these are the first {limit} rows; --rows 0 prints all of them, -o FILE writes them")
            return


def _blocks(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows in tables of at most `_GRID_ROWS`, but for one table without rows if there are none."""
    waiting_rows = pa.Table.from_batches([], schema)
    is_first = True
    for batch in batches:
        waiting_rows = pa.concat_tables([waiting_rows, pa.Table.from_batches([batch], schema)])
        while waiting_rows.num_rows >= _GRID_ROWS:
            yield waiting_rows.slice(0, _GRID_ROWS)
            waiting_rows, is_first = waiting_rows.slice(_GRID_ROWS), False
    if is_first or waiting_rows.num_rows:
        yield waiting_rows


def print_facts(facts: JsonObject, as_json: bool) -> None:
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


def write_file(out: str, reader: pa.RecordBatchReader | hs.BatchReader, total: int | None, format: str | None = None) -> None:
    """Writes a batch at a time; `out` appears when it is complete. `-` is standard output, which must not be a terminal unless text is
    written."""
    chosen = format_of(out, format, option="--format ")
    if out == STANDARD_OUTPUT:
        if sys.stdout.isatty() and chosen in BINARY:
            raise hs.InvalidInputError(f"--format {chosen} would write bytes to the terminal: add > FILE, or | and a program")
        # A copy of the descriptor, which writers may close.
        with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as file:
            if chosen in STREAMS:
                write_stream(file, chosen, reader)
            else:
                _write_whole(file, chosen, reader)
        return
    with counting(os.path.basename(out), total) as advance:
        rows = write_rows(reader, out, chosen, advance, OPEN.get("storage_options"))
    size = "" if is_address(out) else f", {os.path.getsize(out):,} bytes"
    print(f"wrote {shown_address(out)}: {rows:,} rows{size}")


def _write_whole(file: BinaryIO, format: str, reader: pa.RecordBatchReader | hs.BatchReader) -> None:
    """Writes a format whose writer goes back and forth: the file is complete before its first byte goes out."""
    with contextlib.ExitStack() as opened:
        with tempfile.TemporaryDirectory(prefix="hyperslab-") as folder:
            path = os.path.join(folder, f"rows.{format}")
            write_rows(reader, path, format)
            written = opened.enter_context(open(path, "rb"))
        # Its name is gone before a closed pipe may end the process.
        shutil.copyfileobj(written, file, 1 << 20)


def draw(out: str, figure: Callable[[], Figure], metadata: dict[str, str | None] | None = None) -> None:
    """Writes the picture of a matplotlib figure; `out` appears when it is complete. Its ending says the format."""
    ending = os.path.splitext(out)[1]
    if ending.lower() not in PICTURES:
        raise hs.InvalidInputError(f"{out}: name the picture .png, .pdf or .svg")
    with complete(out) as part, waiting("drawing"):
        figure().savefig(part, format=ending[1:].lower(), metadata=metadata)
