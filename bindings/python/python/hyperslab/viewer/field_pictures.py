"""Pictures of fields on regular grids: a plane or a line of a mesh of openPMD or of a field of H5Block, with the coordinates of the model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from ..base.errors import InternalError
from ..base.type_aliases import AnyArray
from ..files.model_view import ModelView
from ..objects.attributes import shown
from ..objects.plot_axes import Coordinate, edges_of
from .requests import Refused
from .watching import Watch, batches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..tables.table import Table

#: Cells of a line, and of an image along each dimension. Of more values, several share a cell.
MAX_LINE_CELLS, MAX_IMAGE_CELLS = 1000, 500
#: Coordinates that are read for an axis; longer axes are numbered.
MAX_COORDINATES = 1 << 20
#: Planes that are longer than this many times their width are stretched: they would be stripes.
MAX_ASPECT = 4.0
#: The column of the step, by model.
STEP_COLUMNS = {"h5block": "step", "h5part": "step", "openpmd": "iteration"}
_MODES = "mode"


class Grid(NamedTuple):
    """The grid of a model's table of cells, in one step.

    Attributes:
        step: The step.
        indexes: The column of the index along each dimension, in the order of the arrays.
        coordinates: The column of the coordinate along each dimension; `None` if it has none.
        extents: Number of cells along each dimension.
        fields: The columns of values.
    """

    step: int
    indexes: list[str]
    coordinates: list[str | None]
    extents: list[int]
    fields: list[str]


def grid_of(model: ModelView, table: str, steps: Sequence[int]) -> Grid | None:
    """The grid of a table in the first of some steps that has cells; `None` if none has."""
    schema = model.table(table, omitted="ignore").schema
    indexes, coordinates, fields = _columns(model.name, schema)
    for step in steps:
        extents = []
        for own in indexes:
            others = [f"{_quoted(other)} = 0" for other in indexes if other != own]
            extents.append(model.table(table, _joined(model, step, others), columns=[own], omitted="ignore").count())
        if all(extents):
            return Grid(step, indexes, coordinates, extents, fields)
    return None


def _columns(model: str, schema: pa.Schema) -> tuple[list[str], list[str | None], list[str]]:
    """The columns of the indexes, of the coordinates, and of the values. Tables of cells have them in this order, after step and time."""
    names = schema.names[2:]
    if model == "h5block":
        has_coordinates = names[3:6] == ["x", "y", "z"]
        return names[:3], ["z", "y", "x"] if has_coordinates else [None] * 3, names[6 if has_coordinates else 3 :]
    count = next((at for at, name in enumerate(names) if not pa.types.is_integer(schema.field(name).type) or not name.startswith("i_")), len(names))
    has_modes = count > 0 and names[0] == f"i_{_MODES}" and names[count : count + 1] != [_MODES]
    first = count + count - has_modes
    return names[:count], [*[None] * has_modes, *names[count:first]], names[first:]


def drawn_dimensions(grid: Grid) -> list[int]:
    """The dimensions that are drawn: the last two."""
    return list(range(len(grid.extents)))[-2:]


def first_index(grid: Grid) -> list[int]:
    """Indexes of the dimensions that are not drawn: the middle of the grid, where something can be expected, and the first mode."""
    return [0 if name == f"i_{_MODES}" else extent // 2 for name, extent in zip(grid.indexes[:-2], grid.extents[:-2], strict=True)]


def draw_field(model: ModelView, table: str, field: str, step: int, index: Sequence[int], axes: Axes, watch: Watch) -> None:
    """Draws the last two dimensions of a field as an image, or its only one as a line.

    Raises:
        Refused: The step has no such cells, or drawing takes too long.
    """
    grid = grid_of(model, table, [step])
    if grid is None:
        raise Refused(404, f"{STEP_COLUMNS[model.name]} {step} has no cells of {field}: choose another one")
    if any(at >= extent for at, extent in zip(index, grid.extents, strict=False)):
        raise Refused(422, f"the index {list(index)} is outside of {grid.extents[:-2]}, the grid of step {step}")
    drawn = drawn_dimensions(grid)
    fixed = dict(enumerate(index[: len(grid.extents) - len(drawn)]))
    conditions = [f"{_quoted(grid.indexes[dimension])} = {at}" for dimension, at in fixed.items()]
    max_cells = MAX_LINE_CELLS if len(drawn) == 1 else MAX_IMAGE_CELLS
    shape = [grid.extents[dimension] for dimension in drawn]
    steps = [-(-extent // max_cells) for extent in shape]
    values = _read(model.table(table, _joined(model, step, conditions), columns=[field], omitted="ignore"), shape, steps, watch)
    coordinates = [_coordinate(model, table, grid, dimension, cells) for dimension, cells in zip(drawn, steps, strict=True)]
    axes.set_title(f"{field} ({', '.join([f'{STEP_COLUMNS[model.name]} = {step}', *_places(model, table, grid, fixed)])})")
    label = f"{field} [SI units]" if _has_units(model) else field
    if len(drawn) == 1:
        _draw_line(axes, coordinates[0], values, label)
    else:
        _draw_image(axes, coordinates, values, label)
    if max(steps) > 1:
        axes.text(0.01, 0.99, f"{' × '.join(map(str, steps))} values share a pixel: the extremes are shown", transform=axes.transAxes, va="top")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _joined(model: ModelView, step: int, conditions: Sequence[str]) -> str:
    return " and ".join([f"{STEP_COLUMNS[model.name]} = {step}", *conditions])


def _has_units(model: ModelView) -> bool:
    """Whether values are in SI units, and coordinates in meters. H5Block does not say, and openPMD 2.0 has grids of other quantities."""
    return model.name == "openpmd" and shown(model.file.attrs["openPMD"]).startswith("1.")


def _places(model: ModelView, table: str, grid: Grid, fixed: dict[int, int]) -> Iterator[str]:
    """Where the picture lies along the dimensions that are not drawn."""
    named = [name for dimension in fixed if (name := grid.coordinates[dimension]) is not None]
    conditions = [f"{_quoted(name)} = {fixed.get(dimension, 0)}" for dimension, name in enumerate(grid.indexes)]
    row = model.table(table, _joined(model, grid.step, conditions), columns=named, omitted="ignore").to_arrow().to_pylist() if named else [{}]
    for dimension, at in fixed.items():
        value = row[0].get(grid.coordinates[dimension])
        unit = " m" if _has_units(model) else ""
        yield f"{grid.indexes[dimension]} = {at}" + ("" if value is None else f", {grid.coordinates[dimension]} = {value:.6g}{unit}")


class _Cells(NamedTuple):
    """Minimum and maximum of the values that share a cell; NaN if it has none that is finite."""

    low: AnyArray
    high: AnyArray

    @property
    def extremes(self) -> AnyArray:
        """The one of both that is farther from the middle of the picture."""
        known = np.isfinite(self.low)
        middle = float((self.low[known].mean() + self.high[known].mean()) / 2) if known.any() else 0.0
        return np.where(self.high - middle >= middle - self.low, self.high, self.low)


def _read(table: Table, shape: list[int], steps: list[int], watch: Watch) -> _Cells:
    """Reads the rows of a table, which are the rows of an array of a given shape in order, and reduces them to cells."""
    counts = [-(-extent // step) for extent, step in zip(shape, steps, strict=True)]
    found = _Cells(np.full(counts, np.nan), np.full(counts, np.nan))
    width, at = shape[-1], 0
    low, high = (one.reshape(-1, counts[-1]) for one in found)  # a line is an image of one row
    row_step = steps[0] if len(steps) == 2 else 1
    reader = table.batches()
    with watch.stopping(reader.close):
        for batch in batches(reader, watch, "choose a smaller field"):
            values = batch.column(0).to_numpy(zero_copy_only=False).astype(float)
            values[~np.isfinite(values)] = np.nan
            for first, part in _whole_rows(values, at, width):
                row, column = divmod(first, width)
                rows, columns = (row + np.arange(part.shape[0])) // row_step, (column + np.arange(part.shape[1])) // steps[-1]
                where = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
                for cells, reduce in ((low, np.fmin), (high, np.fmax)):
                    cells[where] = reduce(cells[where], reduce.reduceat(reduce.reduceat(part, _starts(columns), axis=1), _starts(rows), axis=0))
            at += len(values)
    if at != math.prod(shape):
        raise InternalError(f"a plane of {shape} cells has {at} rows")
    return found


def _whole_rows(values: AnyArray, at: int, width: int) -> Iterator[tuple[int, AnyArray]]:
    """Values that follow each other in an image, from a position on, as boxes of it, each with its position: the end of a row, whole rows,
    and the beginning of one."""
    begin = 0
    while begin < len(values):
        column = (at + begin) % width
        length = min(width - column, len(values) - begin)
        if column == 0 and length == width:
            length = (len(values) - begin) // width * width
        yield at + begin, values[begin : begin + length].reshape(-1, min(length, width))
        begin += length


def _starts(cells: AnyArray) -> AnyArray:
    """Where the cells begin in a run of values."""
    return np.concatenate([[0], np.flatnonzero(np.diff(cells)) + 1])


def _coordinate(model: ModelView, table: str, grid: Grid, dimension: int, step: int) -> Coordinate:
    """The coordinate in the middle of the cells along a dimension, or their indexes."""
    extent, name, index = grid.extents[dimension], grid.coordinates[dimension], grid.indexes[dimension]
    middle = np.minimum(np.arange(0, extent, step) + step // 2, extent - 1)
    if name is None or extent > MAX_COORDINATES:
        return Coordinate(index, middle, False)
    others = [f"{_quoted(other)} = 0" for other in grid.indexes if other != index]
    column = model.table(table, _joined(model, grid.step, others), columns=[name], omitted="ignore").to_arrow().column(0)
    values = column.to_numpy()
    if column.null_count or not np.isfinite(values).all() or not (np.all(np.diff(values) > 0) or np.all(np.diff(values) < 0)):
        return Coordinate(index, middle, False)
    return Coordinate(f"{name} [m]" if _has_units(model) else name, values[middle], True)


def _draw_line(axes: Axes, coordinate: Coordinate, values: _Cells, label: str) -> None:
    if np.array_equal(values.low, values.high, equal_nan=True):
        axes.plot(coordinate.values, values.low)
    else:
        axes.plot(np.repeat(coordinate.values, 2), np.stack([values.low, values.high], axis=1).ravel())
    axes.set(xlabel=coordinate.label, ylabel=label)


def _draw_image(axes: Axes, coordinates: list[Coordinate], values: _Cells, label: str) -> None:
    rows, row_edges = edges_of(coordinates[0])
    columns, column_edges = edges_of(coordinates[1])
    # -1 is a gap between cells.
    cells = np.where((rows[:, None] < 0) | (columns[None, :] < 0), np.nan, values.extremes[np.ix_(rows, columns)])
    mesh = axes.pcolormesh(column_edges, row_edges, np.ma.masked_invalid(cells))
    axes.figure.colorbar(mesh, ax=axes, label=label)
    axes.set(xlabel=coordinates[1].label, ylabel=coordinates[0].label)
    tall, wide = abs(row_edges[-1] - row_edges[0]), abs(column_edges[-1] - column_edges[0])
    if all(one.known for one in coordinates) and 1 / MAX_ASPECT < tall / wide < MAX_ASPECT:
        axes.set_aspect("equal")
