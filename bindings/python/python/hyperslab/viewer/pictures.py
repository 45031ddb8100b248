"""Pictures: the default plots of data models, drawn here and sent as PNG. Particles, fields, maps, unstructured grids, and signals of NeXus."""

from __future__ import annotations

import io
import math
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..base.errors import Error
from ..base.extras import require
from ..base.type_aliases import Elements
from ..files.file import File
from ..files.model_view import ModelView
from ..models import mpas, nexus, ugrid
from ..objects import plot
from ..objects.dataset import Dataset
from ..objects.plot_axes import label_of, place
from ..objects.plot_cells import decoded
from ..objects.plot_signal import Signal
from .field_pictures import STEP_COLUMNS, draw_field, drawn_dimensions, first_index, grid_of
from .grid_pictures import draw_curvilinear, draw_mesh, face_dimension, horizontal_coordinates
from .requests import Refused
from .watching import Watch, batches

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..models.grid_mesh import Mesh
    from ..tables.table import Table

#: Pixels of a picture along each dimension, and bytes that drawing one may need.
MAX_PIXELS, BYTES = 3000, 200 << 20
#: Pictures that are listed for a file.
MAX_CHOICES = 200
#: Particles up to which each is a point; more are counted in bins. Particles beyond the second number are not read.
_MAX_POINTS, _MAX_PARTICLES, _BINS = 20_000, 4_000_000, 300
_PIXELS_OF_INCH = 100
#: Background, and lines and words, of a dark picture: the colors of the page.
_DARK, _LIGHT = "#14171a", "#e3e6e8"
_POSITIONS = (("x", "y"), ("position_x", "position_y"), ("position_z", "position_x"), ("x", "z"))
_NOT_POSITIONS = {"step", "time", "id", "iteration", "particle", "row"}


class Choice(NamedTuple):
    """A picture that can be drawn.

    Attributes:
        name: What a request calls it: the model, and the table or array.
        title: What a user sees.
        steps: Number of steps, and the extents of the dimensions that are not drawn.
        first: The indexes that are shown first, one for each of `steps`; 0 if it is shorter.
    """

    name: str
    title: str
    steps: list[int]
    first: tuple[int, ...] = ()


#: The pictures of open files: listing them plans tables over all steps. A file that has changed is opened again.
_listed: weakref.WeakKeyDictionary[File, list[Choice]] = weakref.WeakKeyDictionary()


def choices(file: File) -> list[Choice]:
    """The pictures of a file, the default first. A damaged model has none; its error is raised if the others have none either."""
    known = _listed.get(file)
    if known is None:
        known = _listed[file] = _choices(file)
    return known


def _choices(file: File) -> list[Choice]:
    found: list[Choice] = []
    problem: Error | None = None
    models = [model for model in file.models if model.certainty != "possible"]
    for model in models:
        try:
            found += _CHOICES.get(model.name, _none)(file, model)
        except Error as error:
            problem = problem or error
    if problem and not found:
        raise problem
    if any(one.name.startswith(("ugrid:", "mpas:")) for one in found):
        # As maps, the variables of an unstructured grid would be lines, and its connectivity images.
        found = [one for one in found if not one.name.startswith("cf:")]
    return found[:MAX_CHOICES]


def drawn(file: File, name: str | None, index: tuple[int, ...], size: tuple[int, int], watch: Watch, is_dark: bool = False) -> bytes:
    """A picture as PNG.

    Args:
        file: The open file.
        name: The name of a choice; by default the first.
        index: Number of the step, and the indexes of the dimensions that are not drawn; by default the indexes of the choice.
        size: Width and height in pixels.
        watch: Ends the reading.
        is_dark: Light lines and words on a dark background; colors of values stay.

    Raises:
        MissingExtraError: Matplotlib is not installed.
        Refused: There is no such picture, or it takes too long.
    """
    require("pictures of data models", "plot", "matplotlib")
    listed = {one.name: one for one in choices(file)}
    if not listed:
        raise Refused(404, "no data model of this file has a picture: draw its datasets instead")
    chosen = listed.get(name) if name else next(iter(listed.values()))
    if chosen is None:
        raise Refused(404, f"there is no picture '{name}' of this file; there are {', '.join(list(listed)[:5])}")
    first = chosen.first + (0,) * (len(chosen.steps) - len(chosen.first))
    index = index + first[len(index) :]
    if len(index) > len(chosen.steps) or any(not 0 <= at < extent for at, extent in zip(index, chosen.steps, strict=True)):
        raise Refused(422, f"the index {list(index)} is outside of {chosen.steps}")
    figure = plot.picture(layout="constrained", figsize=(size[0] / _PIXELS_OF_INCH, size[1] / _PIXELS_OF_INCH), dpi=_PIXELS_OF_INCH)
    model, _, what = chosen.name.partition(":")
    view = next(one for one in file.models if one.name == model)
    _DRAWERS[model](file, view, what, index, figure.subplots(), watch)
    if is_dark:
        _darken(figure)
    out = io.BytesIO()
    figure.savefig(out, format="png", facecolor=figure.get_facecolor())
    return out.getvalue()


def _darken(figure: Figure) -> None:
    figure.set_facecolor(_DARK)
    for axes in figure.axes:
        axes.set_facecolor(_DARK)
        axes.tick_params(colors=_LIGHT, which="both")
        for spine in axes.spines.values():
            spine.set_edgecolor(_LIGHT)
        for words in (axes.title, axes.xaxis.label, axes.yaxis.label, axes.xaxis.get_offset_text(), axes.yaxis.get_offset_text(), *axes.texts):
            words.set_color(_LIGHT)


def _none(file: File, model: ModelView) -> list[Choice]:
    return []


class _Watched:
    """A dataset that stops a drawing whose time is over between two reads."""

    def __init__(self, dataset: Dataset | Signal, watch: Watch) -> None:
        self._dataset, self._watch = dataset, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    def __getitem__(self, key: object) -> Elements:
        self._watch.require_time("draw a smaller dataset")
        return self._dataset[key]


# Particles: H5Part and openPMD.


def _steps_of(model: ModelView) -> list[int]:
    return sorted({array.step for array in model.arrays if array.step is not None})


def _particle_tables(file: File, model: ModelView) -> list[Choice]:
    steps = [len(_steps_of(model))] if _steps_of(model) else []
    tables = [name for name in model.tables if name == "particles" or (model.name == "openpmd" and name.startswith("particles_"))]
    return [
        Choice(f"{model.name}:{table}", f"{table}: {' over '.join(reversed(axes))}", steps)
        for table in tables
        if (axes := _positions(model, table)) is not None
    ]


def _positions(model: ModelView, table: str) -> tuple[str, ...] | None:
    """The columns that are drawn: two positions, or else the first columns of numbers."""
    schema = model.table(table, omitted="ignore").schema
    for pair in _POSITIONS:
        if all(name in schema.names for name in pair):
            return pair
    numbers = [field.name for field in schema if (pa.types.is_floating(field.type) or pa.types.is_integer(field.type)) and field.name not in _NOT_POSITIONS]
    return tuple(numbers[:2]) or None


def _draw_particles(file: File, model: ModelView, table: str, index: tuple[int, ...], axes: Axes, watch: Watch) -> None:
    columns = _positions(model, table) or ()
    steps, condition = _steps_of(model), None
    if index:
        condition = f"{STEP_COLUMNS[model.name]} = {steps[index[0]]}"
    read, is_whole = _read_particles(model.table(table, condition, columns=list(columns), omitted="ignore"), watch)
    schema = model.table(table, omitted="ignore").schema
    labels = [_with_unit(schema.field(name)) for name in columns]
    title = f"{table}, {condition}" if condition else table
    count = read.num_rows
    values = [read.column(name).to_numpy().astype(float) for name in columns]
    finite = np.all([np.isfinite(one) for one in values], axis=0)
    values = [one[finite] for one in values]
    axes.set_title(f"{title}: {count:,} particles" + ("" if is_whole else ", the first ones"))
    axes.set_xlabel(labels[0])
    if len(values) == 1:
        axes.hist(values[0], 100)
        axes.set_ylabel("particles")
        return
    axes.set_ylabel(labels[1])
    if count <= _MAX_POINTS:
        axes.plot(values[0], values[1], ".", markersize=3)
        return
    from matplotlib.colors import LogNorm

    counts, x, y = np.histogram2d(values[0], values[1], _BINS)
    mesh = axes.pcolormesh(x, y, np.ma.masked_equal(counts.T, 0), norm=LogNorm())
    axes.figure.colorbar(mesh, ax=axes, label="particles")


def _read_particles(table: Table, watch: Watch) -> tuple[pa.Table, bool]:
    """The rows of a table, and whether these are all."""
    reader, found, rows = table.batches(), [], 0
    schema = reader.schema
    with watch.stopping(reader.close):
        for batch in batches(reader, watch, "choose a step with fewer particles"):
            found.append(batch)
            rows += batch.num_rows
            if rows > _MAX_PARTICLES:
                return pa.Table.from_batches(found, schema=schema), False
    return pa.Table.from_batches(found, schema=schema), True


def _with_unit(field: pa.Field) -> str:
    unit = (field.metadata or {}).get(b"units", b"").decode("utf-8", "replace")
    return f"{field.name} [{unit}]" if unit else str(field.name)


# Fields: H5Block and openPMD.


def _fields(file: File, model: ModelView) -> list[Choice]:
    steps, found = _steps_of(model), []
    for table in model.tables:
        if not table.startswith("cells"):
            continue
        try:
            grid = grid_of(model, table, steps)
        except Error:
            continue  # a damaged field has no picture; the others have
        if grid is None:
            continue
        drawn = drawn_dimensions(grid)
        title = " over ".join(grid.indexes[dimension].removeprefix("i_") for dimension in drawn)
        first = (steps.index(grid.step), *first_index(grid))
        found += [Choice(f"{model.name}:{table}/{field}", f"{field}: {title}", [len(steps), *grid.extents[: -len(drawn)]], first) for field in grid.fields]
    return found


def _draw_field(file: File, model: ModelView, what: str, index: tuple[int, ...], axes: Axes, watch: Watch) -> None:
    table, _, field = what.partition("/")
    draw_field(model, table, field, _steps_of(model)[index[0]], index[1:], axes, watch)


# openPMD has both.


def _particles_and_fields(file: File, model: ModelView) -> list[Choice]:
    return _particle_tables(file, model) + _fields(file, model)


def _draw_openpmd(file: File, model: ModelView, what: str, index: tuple[int, ...], axes: Axes, watch: Watch) -> None:
    draw = _draw_particles if what.startswith("particles_") else _draw_field
    draw(file, model, what, index, axes, watch)


# Maps of CF.


def _cf_arrays(file: File, model: ModelView) -> list[Choice]:
    found = []
    for array in model.arrays:
        dataset = file[array.path]
        if isinstance(dataset, Dataset) and dataset.ndim >= 1 and dataset.dtype.kind in "iuf" and dataset.size:
            found.append((dataset.ndim, Choice(f"cf:{array.name}", label_of(dataset, array.name) + f" ({array.name})", list(dataset.shape[:-2]))))
    # Maps first: what has more dimensions is what the file is about.
    return [choice for _, choice in sorted(found, key=lambda one: -one[0])]


def _draw_map(file: File, model: ModelView, name: str, index: tuple[int, ...], axes: Axes, watch: Watch) -> None:
    path = next(array.path for array in model.arrays if array.name == name)
    dataset = file[path]
    assert isinstance(dataset, Dataset)
    coordinates = horizontal_coordinates(dataset)
    if coordinates is None or not draw_curvilinear(dataset, coordinates, index, axes, watch):
        plot.plot(_Watched(dataset, watch), index=index, ax=axes)
        return
    where = ", ".join(place(dataset, dimension, at) for dimension, at in enumerate(index))
    axes.set_title(dataset.name + (f" ({where})" if where else ""))


# Unstructured grids: UGRID and MPAS.


def _mesh_of(file: File, model: ModelView) -> Mesh:
    if model.name == "mpas":
        return mpas.open(file).mesh()
    grids = ugrid.open(file)
    return grids.mesh(grids.meshes[0])


def _face_arrays(file: File, model: ModelView) -> list[Choice]:
    faces = _mesh_of(file, model).count("faces")
    if faces == 0:
        return []
    found = []
    for array in model.arrays:
        dataset = file[array.path]
        if isinstance(dataset, Dataset) and dataset.dtype.kind in "iuf" and (at := face_dimension(dataset, faces)) is not None:
            others = [extent for dimension, extent in enumerate(dataset.shape) if dimension != at]
            found.append(Choice(f"{model.name}:{array.name}", label_of(dataset, array.name) + f" ({array.name}), {faces:,} faces", others))
    return found


def _draw_faces(file: File, model: ModelView, name: str, index: tuple[int, ...], axes: Axes, watch: Watch) -> None:
    mesh = _mesh_of(file, model)
    dataset = file[next(array.path for array in model.arrays if array.name == name)]
    assert isinstance(dataset, Dataset)
    at = face_dimension(dataset, mesh.count("faces"))
    others = iter(index)
    key = tuple(slice(None) if dimension == at else next(others) for dimension in range(dataset.ndim))
    if math.prod(dataset.shape) and at is not None:
        draw_mesh(mesh, decoded(dataset, key), label_of(dataset, name), axes, watch)
    axes.set_title(dataset.name + (f" {list(index)}" if index else ""))


# Signals of NeXus, which H5Web draws, too.


def _signals(file: File, model: ModelView) -> list[Choice]:
    view = nexus.open(file)
    names = [view.default, *view.tables] if view.default else view.tables
    found = []
    for name in dict.fromkeys(names):
        try:
            signal = view.signal(name)
        except Error:
            continue  # a table of logs or events has no signal
        if signal.dtype.kind in "iuf" and signal.size and signal.ndim:
            found.append(Choice(f"nexus:{name}", str(name), list(signal.shape[:-2])))
    return found


def _draw_signal(file: File, model: ModelView, name: str, index: tuple[int, ...], axes: Axes, watch: Watch) -> None:
    view = nexus.open(file)
    signal = Signal(view.signal(name), view.axes(name))
    plot.plot(_Watched(signal, watch), index=index, ax=axes)


_CHOICES = {
    "h5part": _particle_tables,
    "h5block": _fields,
    "openpmd": _particles_and_fields,
    "cf": _cf_arrays,
    "ugrid": _face_arrays,
    "mpas": _face_arrays,
    "nexus": _signals,
}
_DRAWERS = {
    "h5part": _draw_particles,
    "h5block": _draw_field,
    "openpmd": _draw_openpmd,
    "cf": _draw_map,
    "ugrid": _draw_faces,
    "mpas": _draw_faces,
    "nexus": _draw_signal,
}
