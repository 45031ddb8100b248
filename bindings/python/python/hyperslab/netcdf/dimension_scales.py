"""Dimension scales: how the dimensions of a netCDF file are stored in HDF5, and joined with its variables."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from .. import _native
from ..backends.plan_writer import AnyWriter
from ..objects.netcdf_dimension import NetcdfDimension
from ..values import dtype_encoding
from ..values.netcdf_types import fixed_text
from .variables import Contents, DefinitionWriter

#: netCDF's own names for dimensions without a variable; the number is the dimension's size.
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.{:10d}"
_INT = _native.Datatype.integer(4, signed=True)


def join(contents: Contents, writer: AnyWriter, there: Container[str] = ()) -> None:
    """Joins all variables of a file and their dimensions.

    Args:
        contents: The definitions of the file.
        writer: What writes the file, or plans it.
        there: Paths of dimensions that the file has already.
    """
    for dimension in contents.dimensions.values():
        if dimension.path not in there:
            write_scale(contents, writer, dimension)
    for path, variable in contents.variables.items():
        # A coordinate variable of one dimension is that dimension's scale itself.
        if contents.dimensions.get(path) not in variable.found[:1] or not variable.found:
            for axis, dim in enumerate(variable.found):
                writer.attach_scale(variable.path, axis, "/" + dim.path)
        elif len(variable.found) > 1:
            write_coordinates(writer, variable.path, variable.found)


def write_scale(contents: Contents, writer: DefinitionWriter, dimension: NetcdfDimension) -> None:
    """Writes the scale of a dimension: its variable, or a dataset without values."""
    path = "/" + dimension.path
    variable = contents.variables.get(dimension.path)
    label = dimension.name
    if variable is None or variable.found[:1] != (dimension,):
        # The library keeps the length in a dataset without values.
        extent = contents.length(dimension)
        maxshape = [None] if dimension.size is None else None
        writer.create_dataset(path, _native.DatasetDefinition(dtype_encoding.of_dtype(">f4"), [extent], maxshape=maxshape))
        label = NO_VARIABLE.format(extent)
    writer.set_attribute(path, "CLASS", *fixed_text("DIMENSION_SCALE"))
    writer.set_attribute(path, "NAME", *fixed_text(label))
    writer.set_attribute(path, "_Netcdf4Dimid", [], _INT, np.array(dimension.number, "<i4").tobytes(), [])


def write_coordinates(writer: DefinitionWriter, path: str, found: tuple[NetcdfDimension, ...]) -> None:
    """Writes the numbers of the dimensions of a coordinate variable of several dimensions."""
    numbers = np.array([dim.number for dim in found], "<i4")
    writer.set_attribute(path, "_Netcdf4Coordinates", [len(numbers)], _INT, numbers.tobytes(), [])
