"""Rows as columns of text that fit the terminal: numbers are never cut, long text is, and columns that do not fit are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table as Grid

from ..base.extras import LateModule
from ..base.visible import visible
from ..values.cells import cell
from ..values.python_values import python_values
from ..values.type_names import type_name
from .notes import note
from .terminal import say, width

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import JustifyMethod
else:
    pa = LateModule("pyarrow")

#: Columns of text are at most this wide on a terminal; longer text is cut.
MAX_TEXT_WIDTH = 40
#: The last column of text gets what is left of a line, if it is this much.
MIN_TEXT_WIDTH = 12
#: Text between columns.
_GAP = 2


def print_grid(table: pa.Table, as_arrow: bool = False) -> None:
    """Prints all rows, with Arrow's names of the types or people's. If a terminal is too narrow, the last columns are left out, and a line on standard error says so."""
    names = [visible(name) for name in table.column_names]
    types = [str(field.type) if as_arrow else type_name(field.type) for field in table.schema]
    columns = [[cell(value, field.type) for value in python_values(column)] for column, field in zip(table.columns, table.schema, strict=True)]
    rows = list(zip(*columns, strict=True))
    available = width()
    widths = [max(map(cell_len, (name, type, *column))) for name, type, column in zip(names, types, columns, strict=True)]
    shown = len(names)
    if available is not None:
        fields = zip(widths, table.schema, names, strict=True)
        widths = [wide if _is_number(field.type) else min(wide, max(MAX_TEXT_WIDTH, cell_len(name))) for wide, field, name in fields]
        ends = np.cumsum(np.array(widths, dtype=int) + _GAP)
        shown = max(1, int(np.count_nonzero(ends - _GAP <= available)))
        if shown < len(names) and type_name(table.schema.types[shown]) in ("text", "category"):
            room = available - int(ends[shown - 1])
            if room >= max(MIN_TEXT_WIDTH, cell_len(names[shown]), cell_len(types[shown])):
                widths[shown] = room
                shown += 1
    grid = Grid(box=None, header_style="bold", padding=(0, _GAP, 0, 0), pad_edge=False)
    for field, name, type, wide in list(zip(table.schema, names, types, widths, strict=True))[:shown]:
        heading = f"{escape(name)}\n[dim]{escape(type)}[/dim]"
        side: JustifyMethod = "right" if _is_number(field.type) else "left"
        grid.add_column(heading, justify=side, overflow="ellipsis", no_wrap=True, width=wide if available is None else min(wide, available))
    for row in rows:
        grid.add_row(*map(escape, row[:shown]))
    say(grid)
    _note_left_out(names, shown)


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type))


class Column(NamedTuple):
    """A column of facts: its heading, its values, and whether these are numbers."""

    name: str
    values: list[str]
    is_number: bool = True


def print_facts_grid(columns: list[Column]) -> None:
    """Prints a row for each fact. The first column is text, which is broken over lines if it is long; of the others the last are left out
    if the terminal is too narrow, and a line on standard error says so."""
    available = width()
    widths = [max(map(cell_len, (column.name, *column.values))) for column in columns]
    shown = len(columns)
    if available is not None:
        widths[0] = min(widths[0], max(available // 3, cell_len(columns[0].name)))
        shown = max(1, int(np.count_nonzero(np.cumsum(np.array(widths) + _GAP) - _GAP <= available)))
    grid = Grid(box=None, header_style="bold", padding=(0, _GAP, 0, 0), pad_edge=False)
    for column, wide in list(zip(columns, widths, strict=True))[:shown]:
        grid.add_column(escape(column.name), overflow="fold", width=wide, justify="right" if column.is_number else "left")
    for row in zip(*(column.values for column in columns[:shown]), strict=True):
        grid.add_row(*map(escape, row))
    say(grid)
    _note_left_out([column.name for column in columns], shown)


def _note_left_out(names: list[str], shown: int) -> None:
    if shown < len(names):
        note(f"{shown} of {len(names)} columns fit the terminal; not shown: {_listed(names[shown:])}. --json prints all")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
