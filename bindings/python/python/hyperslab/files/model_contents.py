"""Contents of a data model: its tables and arrays as one table, and how that is shown as text and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypedDict

from ..base.blocks import card, dim, facts, fold, grid, leaf, text
from ..base.errors import Error
from ..base.extras import LateModule
from ..base.type_aliases import AttributeValue
from ..base.visible import visible
from ..objects.node import Node
from ..tables.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")

#: Tables and arrays, and columns of one table, that are shown to people.
MAX_SHOWN, MAX_COLUMNS = 20, 12
#: Attributes with the unit of an array.
_UNITS = ("units", "unit")
#: The number of a step in a path.
_NUMBER = re.compile(r"\d+")


class Array(Protocol):
    """An array of a model."""

    @property
    def name(self) -> str: ...
    @property
    def step(self) -> int | None: ...
    @property
    def path(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...


class Opened(Protocol):
    """The file of an array."""

    def __getitem__(self, path: str) -> Node: ...


class Row(TypedDict, total=False):
    """A table or an array: the fields of `contents` that it has."""

    kind: str
    name: str
    path: str | None
    rows: int
    shape: list[int | None] | None
    steps: int | None
    columns: list[str]
    units: list[str | None]
    problem: str


class View(Protocol):
    """The part of a view's interface that is shown."""

    @property
    def name(self) -> str: ...

    certainty: str
    reason: str

    @property
    def file(self) -> object: ...
    @property
    def tables(self) -> list[str]: ...
    @property
    def omitted(self) -> dict[str, str]: ...
    def arrays_by_file(self) -> Iterator[tuple[Opened, Sequence[Array]]]: ...
    def table(self, name: str, *, omitted: str) -> Table: ...


def contents(view: View) -> pa.Table:
    """The tables and arrays of a view."""
    texts = pa.list_(pa.string())
    schema = pa.schema(
        [
            ("kind", pa.string()),
            ("name", pa.string()),
            ("path", pa.string()),
            ("rows", pa.int64()),
            ("shape", pa.list_(pa.int64())),
            ("steps", pa.int64()),
            ("columns", texts),
            ("units", texts),
            ("problem", pa.string()),
        ]
    )
    return pa.Table.from_pylist(rows(view, None)[0], schema)


def rows(view: View, limit: int | None) -> tuple[list[Row], int]:
    """The first `limit` tables and arrays of a view, each with the fields of `contents` that it has, and the number of all. Arrow's own rows would
    import pandas."""
    arrays = _arrays(view)
    tables = view.tables
    total = len(tables) + len(arrays)
    room = total if limit is None else limit
    found = [_of_table(view, name) for name in tables[:room]]
    found += [_of_array(name, places) for name, places in list(arrays.items())[: max(0, room - len(found))]]
    return found, total


def _of_table(view: View, name: str) -> Row:
    try:
        table = view.table(name, omitted="ignore")
        fields = list(table.schema)
        units = [_decoded((field.metadata or {}).get(b"units") or (field.metadata or {}).get(b"unit")) for field in fields]
        return {"kind": "table", "name": name, "path": name, "rows": table.count(), "columns": [field.name for field in fields], "units": units}
    except Error as error:
        return {"kind": "table", "name": name, "path": name, "problem": str(error)}


def _arrays(view: View) -> dict[str, list[tuple[Opened, Array]]]:
    """The arrays of all files and steps by name, with their files."""
    found: dict[str, list[tuple[Opened, Array]]] = {}
    for file, arrays in view.arrays_by_file():
        for array in arrays:
            found.setdefault(array.name, []).append((file, array))
    return found


def _of_array(name: str, found: list[tuple[Opened, Array]]) -> Row:
    shapes = [array.shape for _, array in found]
    steps = len({array.step for _, array in found if array.step is not None}) or None
    about: Row = {"kind": "array", "name": name, "path": _pattern({array.path.strip("/") for _, array in found}), "steps": steps, "shape": _common(shapes)}
    if about["shape"] is None:
        about["problem"] = f"has {len(shapes[0])} dimensions in one place, and another number in others"
    try:
        file, array = found[0]
        attributes = file[array.path].attrs
        unit = next((attributes[key] for key in _UNITS if key in attributes), None)
        about["units"] = [_decoded(unit)]
    except Error as error:
        about["problem"] = str(error)
    return about


def _pattern(paths: set[str]) -> str | None:
    """The path of an array, or the path with `*` for the number of its step; `None` if it is at other places."""
    patterns = paths if len(paths) == 1 else {_NUMBER.sub("*", path) for path in paths}
    return patterns.pop() if len(patterns) == 1 else None


def _common(shapes: list[tuple[int, ...]]) -> list[int | None] | None:
    """The shape of all, with `None` for an extent that differs; `None` if the number of dimensions does."""
    if len({len(shape) for shape in shapes}) != 1:
        return None
    return [extents[0] if len(set(extents)) == 1 else None for extents in zip(*shapes, strict=True)]


def _decoded(unit: AttributeValue) -> str | None:
    if isinstance(unit, bytes):
        return unit.decode("utf-8", "replace")
    return None if unit is None else str(unit)


def lines(found: list[Row], total: int) -> dict[str, str]:
    """A line for each table and array, by the name that `head`, `sql` and other doors take: `table particles: 1,200 rows: step, x [m]`."""
    shown = {f"{row['kind']} {visible(row.get('path') or row['name'])}": f"{_size(row)}{_columns(row)}" for row in found}
    if total > len(shown):
        shown["…"] = f"and {total - len(shown):,} more"
    return shown


def _size(row: Row) -> str:
    if row.get("problem") is not None:
        return visible(row["problem"])
    if row["kind"] == "table":
        return f"{row['rows']:,} row{'' if row['rows'] == 1 else 's'}"
    shape = " × ".join("varying" if extent is None else f"{extent:,}" for extent in row["shape"] or ()) or "scalar"
    return shape + (f", {row['steps']:,} step{'' if row['steps'] == 1 else 's'}" if row["steps"] else "")


def _columns(row: Row) -> str:
    if row.get("problem") is not None:
        return ""
    units = [f" [{visible(unit)}]" if unit else "" for unit in row.get("units") or []]
    if row["kind"] == "array":
        return units[0]
    names = [visible(name) + unit for name, unit in zip(row["columns"], units, strict=True)]
    more = len(names) - MAX_COLUMNS
    return f": {', '.join(names[:MAX_COLUMNS])}{f' and {more:,} more' if more > 0 else ''}"


def as_text(view: View) -> str:
    """A view as lines: the model, its tables and arrays, and how many objects are in none of them."""
    shown = lines(*rows(view, MAX_SHOWN))
    width = max(map(len, shown), default=0)
    omitted = len(view.omitted)
    left_out = [f"{omitted:,} object{'' if omitted == 1 else 's'} in none of these: omitted has the reasons"] if omitted else []
    return "\n  ".join([f"{view.name} ({view.certainty}: {visible(view.reason)})", *(f"{name:{width}}  {about}" for name, about in shown.items()), *left_out])


def as_html(view: View) -> str:
    """A view as HTML: the model, and its tables and arrays."""
    found, total = rows(view, MAX_SHOWN)
    cells = [(row["kind"], row.get("path") or row["name"], _size(row), _columns(row).removeprefix(":").strip()) for row in found]
    listed = fold("<b>tables and arrays</b>", grid(["", "name", "rows or shape", "columns [unit]"], cells, total=total), opened=True) if cells else ""
    omitted = view.omitted
    left_out = "".join(leaf(f"{text(name)} {dim(reason)}") for name, reason in list(omitted.items())[:MAX_SHOWN])
    left_out += leaf(dim(f"… and {len(omitted) - MAX_SHOWN:,} more: omitted lists them")) if len(omitted) > MAX_SHOWN else ""
    folded = fold(f"<b>not shown</b> {dim(len(omitted))}", left_out) if omitted else ""
    return card("Model", view.name, view.certainty, facts([("reason", text(view.reason))]), listed, folded)
