"""Variables, dimensions and attributes of a netCDF-4 file that is being written."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import InvalidInputError, UnsupportedError
from ..objects.attributes import Attributes, attribute_name
from ..objects.netcdf4_names import AttributeNames
from ..objects.netcdf_dimension import NetcdfDimension
from ..values import dtype_encoding
from ..values.netcdf_types import NetcdfType, checked_name, fixed_text, stored_type
from ..writing.new_attributes import WriterAttributes
from ..writing.new_file import NewDataset
from . import growth as netcdf_growth
from . import times as netcdf_times

_RESERVED = ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties")


class NetcdfAttributes(Attributes):
    """The attributes of a netCDF group or variable, as netCDF4-python stores them: ASCII text and bytes are characters
    (NC_CHAR), other text and lists of text are strings (NC_STRING), numbers have one dimension."""

    def __init__(self, writer: Any, path: str) -> None:
        super().__init__(WriterAttributes(writer, path))

    def create(self, name: str | bytes, data: Any, shape: Any = None, dtype: Any = None) -> None:
        """Sets an attribute, or replaces it.

        Args:
            name: Name of the attribute.
            data: Text, numbers, or a list of text.
            shape: Must be `None`: netCDF has attributes of one dimension.
            dtype: Its type; with `str`, text becomes NC_STRING also if it is ASCII.

        Raises:
            InvalidInputError: The name is netCDF's own.
            UnsupportedError: netCDF has no such attribute.

        Example:
            >>> v.attrs.create("units", "K", dtype=str)
        """
        name = checked_name(attribute_name(name), "attribute")
        what = f"attribute {name!r}"
        if name in _RESERVED or name == "_FillValue":
            raise InvalidInputError(f"{what} is netCDF's own" + (": give fill_value=" if name == "_FillValue" else ""))
        if shape is not None:
            raise UnsupportedError(f"{what} with a shape: netCDF has attributes of one dimension")
        self._put(name, data, dtype, what)

    def modify(self, name: str | bytes, value: Any) -> None:
        """Sets an attribute, whose type and length become those of the value.

        Args:
            name: Name of the attribute.
            value: Its value.

        Example:
            >>> v.attrs.modify("units", "kelvin")
        """
        self.create(name, value)

    def _put(self, name: str, value: Any, dtype: Any, what: str) -> None:
        if isinstance(value, (str, bytes)) and dtype is not str:
            text = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
            if isinstance(value, bytes) or text.isascii():
                shape, datatype, raw, heap = fixed_text(text, what)
                self._store.set(name, shape, datatype, raw, heap)
                return
        given = np.asarray(value, dtype=None if dtype is str else dtype)
        if given.dtype.kind == "O" and (other := [item for item in given.ravel().tolist() if not isinstance(item, (str, bytes))]):
            raise UnsupportedError(f"{what}: netCDF has no attribute of the type {type(other[0]).__name__}; give numbers or text")
        if given.dtype.kind == "S":
            given = np.char.decode(given, "utf-8")
        if given.ndim > 1:
            raise UnsupportedError(f"{what} of shape {given.shape}: netCDF has attributes of one dimension")
        kind = str if given.dtype.kind == "O" else stored_type(given.dtype, what)
        super().create(name, given.reshape(-1) if kind is not str else given.astype(object).reshape(-1), dtype=kind)


class Contents:
    """The definitions of a netCDF file, by path without the leading slash."""

    def __init__(self) -> None:
        self.dimensions: dict[str, NetcdfDimension] = {}
        self.variables: dict[str, NetcdfVariable] = {}
        self.types: dict[str, NetcdfType] = {}

    def length(self, dimension: NetcdfDimension) -> int:
        """The length of a dimension; an unlimited one is as long as its longest variable."""
        if dimension.size is not None:
            return dimension.size
        lengths = (made.shape[axis] for made in self.variables.values() for axis, dim in enumerate(made.found) if dim is dimension)
        return max(lengths, default=0)

    def dimension(self, group: str, name: str) -> NetcdfDimension:
        """The dimension that a variable of `group` calls so: the nearest, from its group upwards."""
        above = group
        while True:
            path = f"{above}/{name}".strip("/")
            if path in self.dimensions:
                return self.dimensions[path]
            if not above:
                raise InvalidInputError(f"there is no dimension {name}: create it first")
            above = above.rpartition("/")[0]


class NetcdfVariable(AttributeNames, NewDataset):
    """A variable that is being written. Masked values become its fill value, dates become counts."""

    _attributes = NetcdfAttributes
    #: Names of its dimensions.
    dims: tuple[str, ...] = ()
    #: The dimensions, with those of groups above.
    found: tuple[NetcdfDimension, ...] = ()
    #: How dates are stored.
    times: netcdf_times.TimeEncoding | None = None
    #: The type that the file defines.
    type: NetcdfType | None = None
    #: The file's variables, by which dimensions without limit have a length; `None` of a plan or a task.
    contents: Contents | None = None
    #: Whether readers know the fill value: by its attribute, or because it is netCDF's default.
    _fill_is_known = True

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of its dimensions."""
        return self.dims

    def append(self, values: Any, axis: int = 0) -> None:
        """Appends values along a dimension without limit.

        Args:
            values: The values. Their other extents are those of the variable.
            axis: The dimension.

        Example:
            >>> v.append(np.zeros((10, 3)))
        """
        super().append(self._encoded(values), axis)

    def __setitem__(self, key: Any, values: Any) -> None:
        values = self._encoded(values)
        if self._fill is None:
            refuse_masked(values, f"variable {self.name!r}")
        before = self.shape
        self._grow(key, values)
        try:
            super().__setitem__(key, values if self.type is None else self.type.checked(values, f"variable {self.name!r}"))
        except BaseException:
            if self.shape != before:
                self.resize(before)
            raise

    def _grow(self, key: Any, values: Any) -> None:
        if self.contents is None or all(dim.size is not None for dim in self.found):
            return
        lengths = [self.contents.length(dim) if dim.size is None else None for dim in self.found]
        given = (len(values),) if self.type is not None and isinstance(values, list) else np.shape(values)
        if (shape := netcdf_growth.grown(key, given, self.shape, lengths)) is not None:
            self.resize(shape)

    def _encoded(self, values: Any) -> Any:
        if not netcdf_times.is_time(values):
            return values
        if self.times is None:
            raise UnsupportedError(f'dates or durations in variable {self.name!r}, which has none: create it with dtype="datetime64[s]", or with units=')
        counts, missing = self.times.counts(values, f"variable {self.name!r}")
        if missing:
            self.show_fill()
        return counts

    def _declare_fill(self, value: Any) -> None:
        """Makes a value the fill value of a variable that was created without one; elements that exist stay as they are."""
        if self._fill is None:
            self._fill, self._fill_is_known = value, False
            self.show_fill()

    def show_fill(self) -> None:
        """Sets `_FillValue`, so that readers recognize missing values."""
        if not self._fill_is_known:
            NetcdfAttributes(self._writer, self._path)._put(
                "_FillValue", np.array([self._fill], dtype_encoding.numpy_dtype(self._datatype)), None, "attribute '_FillValue'"
            )
            self._fill_is_known = True


def refuse_masked(values: Any, what: str) -> None:
    """Raises `InvalidInputError` for masked values without a fill value."""
    if np.ma.is_masked(values):
        raise InvalidInputError(f"masked values in {what}, which has no fill value that readers know: give fill_value=")
