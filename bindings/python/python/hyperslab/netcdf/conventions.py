"""CF's attributes that name other variables, and the bounds of cells, of a netCDF file that is being written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray
from ..values import dates
from .variables import Contents, Variable


def attributes(
    contents: Contents,
    group: str,
    name: str,
    dims: Iterable[str],
    coordinates: str | Iterable[object] | None,
    cell_methods: str | Iterable[object] | None,
    grid_mapping: str | None,
) -> dict[str, str]:
    """The attributes `coordinates`, `cell_methods` and `grid_mapping` of the variable `name` of a group."""
    found = {}
    what = f"variable {name!r}"
    if coordinates is not None:
        names = coordinates.split() if isinstance(coordinates, str) else [str(one) for one in coordinates]
        for one in names:
            if nearest(contents, group, one) is None:
                raise InvalidInputError(f"{what} with the coordinates {one!r}: there is no such variable, create it first")
            if one in dims:
                raise InvalidInputError(f"{what} with the coordinates {one!r}: a coordinate variable is found by its dimension, leave it out")
        found["coordinates"] = " ".join(names)
    if cell_methods is not None:
        text = cell_methods if isinstance(cell_methods, str) else " ".join(str(one) for one in cell_methods)
        _native.parse_cell_methods(text)
        found["cell_methods"] = text
    if grid_mapping is not None:
        mapping = nearest(contents, group, grid_mapping)
        if mapping is None or "grid_mapping_name" not in mapping.attrs:
            raise InvalidInputError(f"{what} with the grid mapping {grid_mapping!r}: there is no such grid mapping, call create_grid_mapping first")
        found["grid_mapping"] = grid_mapping
    return found


def nearest(contents: Contents, group: str, name: str) -> Variable | None:
    """The variable that a group calls so: its own, or one of a group above."""
    while True:
        made = contents.variables.get(f"{group}/{name}".strip("/"))
        if made is not None or not group:
            return made
        group = group.rpartition("/")[0]


def bounds_of(made: Variable, name: str, bounds: object) -> tuple[str, AnyArray]:
    """The path and the values of the bounds of a variable (CF 7.1). They have no attributes of their own: units and calendar come from the
    variable."""
    values, what = bounds, f"bounds of variable {name!r}"
    if made.encoding is not None and dates.is_time(values):
        values, has_missing = made.encoding.counts(values, what)
        if has_missing:
            raise InvalidInputError(f"{what}: a missing date")
    values = np.asarray(values)
    if values.dtype.kind in "iu" and made.dtype.kind == "f" and (values.astype(made.dtype) == values).all():
        values = values.astype(made.dtype)
    shape = tuple(made.shape)
    if values.ndim != len(shape) + 1 or values.shape[:-1] != shape or values.shape[-1] < 2:
        raise InvalidInputError(f"{what} of shape {values.shape}: give one more dimension than its {shape}, of 2 or more vertices")
    return f"{name.strip('/')}_{short_name(values.shape[-1])}", values


def short_name(vertices: int) -> str:
    """The word for bounds with this number of vertices."""
    return "bnds" if vertices == 2 else "vertices"


def checked_parameters(parameters: Mapping[str, object]) -> dict[str, object]:
    """The parameters of a grid mapping: numbers, lists of numbers, texts."""
    for name, value in parameters.items():
        if not isinstance(value, str) and np.asarray(value).dtype.kind not in "iuf":
            raise InvalidInputError(f"parameter {name}={value!r} of a grid mapping: give a number, numbers, or text")
    return dict(parameters)
