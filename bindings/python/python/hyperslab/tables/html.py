"""What notebooks show of tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ..base.blocks import card, code, dim, facts, fold, grid, leaf, text
from ..base.errors import Error
from ..base.extras import LateModule
from ..values.cells import cell
from ..values.python_values import python_values
from ..values.type_names import type_name

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")

#: Columns of the first rows, and rows.
MAX_COLUMNS, PREVIEW_ROWS = 20, 5
MAX_OMITTED = 20


class Table(Protocol):
    """The part of a table's interface that is shown."""

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def omitted(self) -> dict[str, str]: ...
    def count(self) -> int: ...
    def head(self, rows: int = ...) -> pa.Table: ...


def of_table(table: Table, path: str, files: Sequence[str], where: object, limit: int | None) -> str:
    """A table: its rows, columns, condition and first rows. With a condition no values are read: its rows are known when it is read."""
    schema = table.schema
    is_planned = where is None
    about = [
        ("files", text(f"{len(files):,}, from {os.path.basename(files[0])} to {os.path.basename(files[-1])}") if len(files) > 1 else ""),
        ("rows", _rows(table) if is_planned else dim("known when it is read")),
        ("where", code(where) if not is_planned else ""),
        ("limit", f"{limit:,} rows" if limit is not None else ""),
        ("columns", f"{len(schema.names):,}"),
    ]
    note = os.path.basename(files[0]) if len(files) == 1 else f"{len(files):,} files"
    return card("Table", path, note, facts(about), _first(table) if is_planned else _columns(schema), _omitted(table.omitted))


def _rows(table: Table) -> str:
    try:
        return f"{table.count():,}"
    except Error as error:
        return text(f"cannot be counted: {error}")


def _columns(schema: pa.Schema) -> str:
    return fold("<b>columns</b>", grid(["name", "type"], [(field.name, type_name(field.type)) for field in schema]), opened=True)


def _first(table: Table) -> str:
    try:
        found = table.head(PREVIEW_ROWS)
    except Error as error:
        return _columns(table.schema) + leaf(f"rows cannot be shown: {text(error)}")
    fields = list(found.schema)[:MAX_COLUMNS]
    numbers = [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in fields]
    columns = [[cell(value, field.type) for value in python_values(found.column(place))] for place, field in enumerate(fields)]
    shown = grid([field.name for field in fields], list(zip(*columns, strict=True)), numbers=numbers, notes=[type_name(field.type) for field in fields])
    more = len(found.schema) - len(fields)
    return fold("<b>first rows</b>", shown + (leaf(dim(f"… and {more:,} more columns: schema lists them")) if more else ""), opened=True)


def _omitted(omitted: Mapping[str, str]) -> str:
    if not omitted:
        return ""
    lines = "".join(leaf(f"{text(name)} {dim(reason)}") for name, reason in list(omitted.items())[:MAX_OMITTED])
    more = len(omitted) - MAX_OMITTED
    return fold(f"<b>not columns</b> {dim(len(omitted))}", lines + (leaf(dim(f"… and {more:,} more: omitted lists them")) if more > 0 else ""))
