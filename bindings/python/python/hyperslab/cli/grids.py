"""Rows as columns of text that fit the terminal: numbers are never broken over lines, and columns that do not fit are counted."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table as Grid

from ..values.cells import cell
from ..visible import visible
from .terminal import say, width

#: Columns of text are at most this wide on a terminal; longer text is broken over lines.
MAX_TEXT_WIDTH = 40
#: Text between columns.
_GAP = 2


def print_grid(table: pa.Table) -> None:
    """Prints all rows. If a terminal is too narrow, the last columns are left out, and a line on standard error says so."""
    names = [visible(name) for name in table.column_names]
    types = [str(field.type) for field in table.schema]
    columns = [[cell(value, field.type) for value in column.to_pylist()] for column, field in zip(table.columns, table.schema, strict=True)]
    rows = list(zip(*columns, strict=True))
    available = width()
    widths = [max(map(cell_len, (name, type, *column))) for name, type, column in zip(names, types, columns, strict=True)]
    shown = len(names)
    if available is not None:
        is_text = [not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)) for field in table.schema]
        widths = [min(wide, max(MAX_TEXT_WIDTH, cell_len(name))) if text else wide for wide, text, name in zip(widths, is_text, names, strict=True)]
        ends = np.cumsum(np.array(widths, dtype=int) + _GAP)
        shown = max(1, int(np.count_nonzero(ends - _GAP <= available)))
    grid = Grid(box=None, header_style="bold", padding=(0, _GAP, 0, 0), pad_edge=False)
    for name, type, wide in list(zip(names, types, widths, strict=True))[:shown]:
        grid.add_column(f"{escape(name)}\n[dim]{escape(type)}[/dim]", overflow="fold", width=wide if available is None else min(wide, available))
    for row in rows:
        grid.add_row(*map(escape, row[:shown]))
    say(grid)
    if shown < len(names):
        print(
            f"hyperslab: {shown} of {len(names)} columns fit the terminal; not shown: {_listed(names[shown:])}. --json prints all",
            file=sys.stderr,
        )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
