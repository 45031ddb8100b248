"""Variables, dimensions and attributes of a netCDF-4 file that is being written."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NoReturn, Protocol, TypeAlias

import numpy as np

from .. import _native
from ..backends.backend import Notes, Writable
from ..backends.plan_writer import AnyWriter
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyDtype, DtypeLike, Elements, Key, ShapeLike
from ..objects.attributes import Attributes, attribute_name
from ..objects.netcdf_dimension import NetcdfDimension
from ..values import dates, dtype_encoding
from ..values.netcdf_types import NetcdfType, checked_name, fixed_text, stored_type
from . import growth as netcdf_growth
from . import times as netcdf_times


class DefinesAtOnce(Protocol):
    """What groups and variables ask of what changes an existing file (`edits.EditedWriter`)."""

    def create_group(self, path: str) -> None: ...

    def create_datatype(self, path: str, datatype: _native.Datatype) -> None: ...

    def create_dataset(self, path: str, definition: _native.DatasetDefinition) -> None: ...

    def set_attribute(self, path: str, name: str, shape: Sequence[int] | None, datatype: _native.Datatype, value: bytes, heap: list[bytes]) -> None: ...

    def attribute_names(self, path: str) -> list[str]: ...

    def attribute(self, path: str, name: str) -> _native.AttributeValue | None: ...

    def remove_attribute(self, path: str, name: str) -> None: ...

    def shape(self, path: str) -> list[int] | None: ...


#: What defines groups, types and variables of a file.
DefinitionWriter: TypeAlias = AnyWriter | DefinesAtOnce
_RESERVED = ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties")


class PathAttributes:
    """The attributes of an object at a path of what writes a file, or plans it: where `NetcdfAttributes` puts them."""

    is_fixed = False
    lock: contextlib.AbstractContextManager[object] = contextlib.nullcontext()

    def __init__(self, writer: DefinitionWriter, path: str) -> None:
        self._writer, self._path = writer, path

    def place(self) -> tuple[str | None, str]:
        return None, self._path

    def check(self) -> None:
        """They can be changed."""

    def names(self) -> list[str]:
        return self._writer.attribute_names(self._path)

    def get(self, name: str) -> _native.AttributeValue | None:
        return self._writer.attribute(self._path, name)

    def value(self, found: _native.AttributeValue) -> NoReturn:
        raise UnsupportedError("the value of an attribute by the path of its object")

    def heap(self) -> list[bytes]:
        return []

    def set(self, name: str, shape: list[int] | None, datatype: _native.Datatype, raw: bytes, heap: list[bytes]) -> None:
        self._writer.set_attribute(self._path, name, shape, datatype, raw, heap)

    def delete(self, name: str) -> None:
        self._writer.remove_attribute(self._path, name)


class NetcdfAttributes(Attributes):
    """The attributes of a netCDF group or variable, as netCDF4-python stores them: ASCII text and bytes are characters
    (NC_CHAR), other text and lists of text are strings (NC_STRING), numbers have one dimension."""

    def create(self, name: str | bytes, data: object, shape: ShapeLike | None = None, dtype: DtypeLike | None = None) -> None:
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
        self.put(name, data, dtype, what)

    def modify(self, name: str | bytes, value: object) -> None:
        """Sets an attribute, which gets the type and length of the value.

        Args:
            name: Name of the attribute.
            value: Its value.

        Example:
            >>> v.attrs.modify("units", "kelvin")
        """
        self.create(name, value)

    def put(self, name: str, value: object, dtype: DtypeLike | None, what: str) -> None:
        """Sets an attribute, also one of netCDF's own.

        Args:
            name: Name of the attribute.
            value: Its value.
            dtype: Its type, as in `create`.
            what: What an error calls it.

        Example:
            >>> v.attrs.put("_FillValue", -1, "i4", "attribute '_FillValue'")
        """
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
        self.variables: dict[str, Variable] = {}
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


class Variable(Notes):
    """A variable that was created here: what its dataset does not say. Masked values become its fill value, dates become counts."""

    def __init__(self, writer: DefinitionWriter, path: str, datatype: _native.Datatype) -> None:
        super().__init__(None, None)
        #: The path of its dataset, and the datatype there.
        self.path, self.datatype = path, datatype
        self._writer = writer
        #: Names of its dimensions, and the dimensions, including dimensions of groups above.
        self.dims: tuple[str, ...] = ()
        self.found: tuple[NetcdfDimension, ...] = ()
        #: How dates are stored.
        self.encoding: netcdf_times.TimeEncoding | None = None
        #: The type that the file defines.
        self.type: NetcdfType | None = None
        #: The file's variables, by which dimensions without limit have a length; `None` of a plan or a task.
        self.contents: Contents | None = None
        #: Whether readers know the fill value: by its attribute, or because it is netCDF's default.
        self.fill_is_known = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        return tuple(self._writer.shape(self.path) or ())

    @property
    def dtype(self) -> AnyDtype:
        """The dtype of stored values."""
        return dtype_encoding.numpy_dtype(self.datatype)

    @property
    def attrs(self) -> NetcdfAttributes:
        """The attributes."""
        return NetcdfAttributes(PathAttributes(self._writer, self.path))

    def write(self, dataset: Writable, key: Key, values: object) -> None:
        """Writes a selection. Along dimensions without limit the variable grows as in netCDF4-python."""
        what = f"variable {self.path!r}"
        values = self.prepared(values)
        if self.fill is None:
            refuse_masked(values, what)
        before = dataset.shape
        self._grow(dataset, key, values)
        try:
            dataset.write_stored(key, self.filled(dataset, values if self.type is None else self.type.checked(values, what)))
        except BaseException:
            if dataset.shape != before:
                dataset.resize(before)
            raise

    def _grow(self, dataset: Writable, key: Key, values: Elements) -> None:
        if self.contents is None or all(dim.size is not None for dim in self.found):
            return
        lengths = [self.contents.length(dim) if dim.size is None else None for dim in self.found]
        given = (len(values),) if self.type is not None and isinstance(values, list) else np.shape(values)
        if (shape := netcdf_growth.grown(key, given, dataset.shape, lengths)) is not None:
            dataset.resize(shape)

    def prepared(self, values: object) -> object:
        """Values as they are stored: dates and durations are counts."""
        if not dates.is_time(values):
            return values
        what = f"variable {self.path!r}"
        if self.encoding is None:
            raise UnsupportedError(f'dates or durations in {what}, which has none: create it with dtype="datetime64[s]", or with units=')
        counts, missing = self.encoding.counts(values, what)
        if missing:
            self.show_fill()
        return counts

    def declare_fill(self, value: object) -> None:
        """Makes a value the fill value of a variable that was created without one; elements that exist stay as they are."""
        if self.fill is None:
            self.fill, self.fill_is_known = value, False
            self.show_fill()

    def show_fill(self) -> None:
        """Sets `_FillValue`, so that readers recognize missing values."""
        if not self.fill_is_known:
            self.attrs.put("_FillValue", np.array([self.fill], self.dtype), None, "attribute '_FillValue'")
            self.fill_is_known = True


def refuse_masked(values: object, what: str) -> None:
    """Raises `InvalidInputError` for masked values without a fill value."""
    if np.ma.is_masked(values):
        raise InvalidInputError(f"masked values in {what}, which has no fill value that readers know: give fill_value=")
