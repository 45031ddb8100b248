"""Writing netCDF-4: an HDF5 file with dimension scales and the names that netCDF gives them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _native, layouts
from .errors import InvalidInputError, UnsupportedError
from .writing import NewAttributes, NewDataset, NewFile, NewGroup, unknown_mode

#: netCDF's own names for dimensions without a variable; the number is the dimension's size.
_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.{:10d}"
_RESERVED = ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties")
#: What netCDF has where nothing was written, by numpy's name of the type.
_DEFAULT_FILLS: dict[str, Any] = {
    "i1": -127, "u1": 255, "i2": -32767, "u2": 65535, "i4": -2147483647, "u4": 4294967295,
    "i8": -9223372036854775806, "u8": 18446744073709551614, "f4": 9.9692099683868690e+36, "f8": 9.9692099683868690e+36,
}
#: A character: netCDF's library reads no other padding of one byte.
_CHARACTER = np.dtype("S1", metadata={"padding": "NullTerminated"})


def _stored_type(given: Any, what: str) -> Any:
    """The dtype of a netCDF type: `str` is text of any length, `S1` a character."""
    if given is str:
        return str
    dtype = np.dtype(given)
    if dtype.kind in "SU":
        return _CHARACTER if dtype.str[1:] == "S1" else str
    if dtype.kind == "O":
        return given if dtype.metadata else str
    if dtype.names is None and dtype.subdtype is None and dtype.metadata is None and dtype.str[1:] in _DEFAULT_FILLS:
        return dtype
    raise UnsupportedError(f"numpy's {dtype} in netCDF-4 ({what}): give integers, floats of 4 or 8 bytes, S1 for characters, or text", "Unsupported")


class NetcdfAttributes(NewAttributes):
    """The attributes of a netCDF group or variable, as netCDF4-python stores them: ASCII text and bytes are characters
    (NC_CHAR), other text and lists of text are strings (NC_STRING), numbers have one dimension."""

    def create(self, name: str, value: Any, dtype: Any = None) -> None:
        """Sets an attribute. With `dtype=str`, text becomes NC_STRING also if it is ASCII."""
        what = f"attribute {name!r}"
        if name in _RESERVED or name == "_FillValue":
            raise InvalidInputError(f"{what} is netCDF's own" + (": give fill_value=" if name == "_FillValue" else ""), "InvalidInput")
        self._put(name, value, dtype, what)

    def _put(self, name: str, value: Any, dtype: Any, what: str) -> None:
        if isinstance(value, (str, bytes)) and dtype is not str:
            text = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
            if isinstance(value, bytes) or text.isascii():
                self._writer.set_attribute(self._path, name, *_fixed_text(text, what))
                return
        given = np.asarray(value, dtype=None if dtype is str else dtype)
        if given.dtype.kind == "S":
            given = np.char.decode(given, "utf-8")
        if given.ndim > 1:
            raise UnsupportedError(f"{what} of shape {given.shape}: netCDF has attributes of one dimension", "Unsupported")
        kind = str if given.dtype.kind == "O" else _stored_type(given.dtype, what)
        super().create(name, given.reshape(-1) if kind is not str else given.astype(object).reshape(-1), dtype=kind)


class NetcdfVariable(NewDataset):
    """A variable that is being written. Masked values become its fill value."""

    _attributes = NetcdfAttributes

    def __setitem__(self, key: Any, values: Any) -> None:
        if self._fill is None:
            _refuse_masked(values, f"variable {self.name!r}")
        super().__setitem__(key, values)


def _refuse_masked(values: Any, what: str) -> None:
    if np.ma.is_masked(values):
        raise InvalidInputError(f"masked values in {what}, which has no fill value that readers know: give fill_value=", "InvalidInput")


class NetcdfGroup(NewGroup):
    """A group of a netCDF file that is being written."""

    _attributes = NetcdfAttributes
    _dataset = NetcdfVariable


class NewNetcdf(NewFile):
    """A netCDF-4 file that is being written: dimensions first, then variables over them."""

    _attributes = NetcdfAttributes
    _dataset = NetcdfVariable

    def __init__(self, path: str, replace: bool, alignment: int | None, threads: int | None, durable: bool = True) -> None:
        # The netCDF library writes only to files whose objects have an order.
        super().__init__(path, replace, alignment, threads, track_order=True, durable=durable)
        #: Size of each dimension by its path; `None` is without limit.
        self.dimensions: dict[str, int | None] = {}
        self._variables: dict[str, tuple[NewDataset, tuple[str, ...]]] = {}
        self._writer.set_attribute("/", "_NCProperties", *_fixed_text(f"version=2,hyperslab={_native.__version__}"))

    def _member_type(self) -> type[NewGroup]:
        return NetcdfGroup

    def __enter__(self) -> NewNetcdf:
        return self

    def create_dimension(self, name: str, size: int | None) -> None:
        """A dimension, of a group where the name has slashes; `None` is without limit."""
        path = name.strip("/")
        if path in self.dimensions:
            raise InvalidInputError(f"there is a dimension {path} already", "InvalidInput")
        if size is not None and size < 0:
            raise InvalidInputError(f"a dimension of {size}", "InvalidInput")
        self.dimensions[path] = size

    def _dimension(self, group: str, name: str) -> str:
        """The path of the dimension that a variable of `group` calls so: the nearest, from its group upwards."""
        while True:
            path = f"{group}/{name}".strip("/")
            if path in self.dimensions:
                return path
            if not group:
                raise InvalidInputError(f"there is no dimension {name}: create it first", "InvalidInput")
            group = group.rpartition("/")[0]

    def create_variable(self, name: str, dims: Sequence[str] = (), dtype: Any = None, data: Any = None, *, fill_value: Any = None,
                        attrs: Mapping[str, Any] | None = None, **options: Any) -> NewDataset:
        """A variable over dimensions that are there. Along those without limit it has as many rows as `data`, and
        grows. `fill_value` becomes `_FillValue`: masked values are stored as that, else as the attribute `missing_value`, else
        as netCDF's default, which is also what was never written. The other options are those of `create_dataset`."""
        path = name.strip("/")
        group, _, own = path.rpartition("/")
        found = tuple(self._dimension(group, dim) for dim in dims)
        if len(set(found)) != len(found) and path in found:
            raise InvalidInputError(f"coordinate variable {name} with a dimension twice", "InvalidInput")
        data = None if data is None else np.asanyarray(data)
        given = _stored_type(("f8" if data is None else data.dtype) if dtype is None else dtype, f"variable {name!r}")
        if data is not None and given is str:
            data = data.astype(str).astype(object) if data.dtype.kind in "SU" else data
        code = "" if given is str else np.dtype(given).str[1:]
        fill = missing = fill_value
        if fill_value is None:
            # Readers take the default for missing, but not of bytes.
            fill = _DEFAULT_FILLS.get(code)
            missing = (attrs or {}).get("missing_value", fill if code not in ("i1", "u1") else None)
            missing = missing if np.size(missing) == 1 else None
        sizes = [self.dimensions[dim] for dim in found]
        shape = tuple((0 if data is None else np.shape(data)[axis]) if size is None else size for axis, size in enumerate(sizes))
        if data is not None and np.shape(data) != shape:
            raise InvalidInputError(f"data of shape {np.shape(data)} for variable {name} of shape {shape}", "InvalidInput")
        if None in sizes:
            options["maxshape"] = tuple(sizes)
        if missing is None:
            _refuse_masked(data, f"variable {name!r}")
        made = self.create_dataset(path, shape, given, None, fillvalue=fill, **options)
        made._fill = missing
        self._variables[path] = made, found
        if data is not None:
            made[()] = data
        if fill_value is not None:
            checked = fill_value if given is str or code == "S1" else layouts.stored([fill_value], layouts.of_dtype(given), [])
            NetcdfAttributes(self._writer, path)._put("_FillValue", checked, None, "attribute '_FillValue'")
        for key, value in (attrs or {}).items():
            made.attrs[key] = value
        return made

    def close(self) -> None:
        """Joins variables and dimensions, and makes the file visible."""
        if self._open:
            for number, (path, size) in enumerate(self.dimensions.items()):
                self._scale(number, path, size)
            for path, (_, dims) in self._variables.items():
                # A coordinate variable of one dimension is that dimension's scale itself.
                if path not in dims:
                    for axis, dim in enumerate(dims):
                        self._writer.attach_scale(path, axis, dim)
                elif len(dims) > 1:
                    self._writer.set_attribute(path, "_Netcdf4Coordinates", [len(dims)], _INT, np.array([list(self.dimensions).index(dim) for dim in dims], "<i4").tobytes(), [])
        super().close()

    def _scale(self, number: int, path: str, size: int | None) -> None:
        variable = self._variables.get(path)
        label = path.rpartition("/")[2]
        if variable is None:
            # As many as the longest variable has, which the library keeps in a dataset without values.
            lengths = [made.shape[dims.index(path)] for made, dims in self._variables.values() if path in dims]
            extent = max(lengths, default=0) if size is None else size
            self.create_dataset(path, (extent,), ">f4", maxshape=(None,) if size is None else None)
            label = _NO_VARIABLE.format(extent)
        elif variable[1][:1] != (path,):
            raise InvalidInputError(f"variable {path} has the name of a dimension that is not its first", "InvalidInput")
        self._writer.set_attribute(path, "CLASS", *_fixed_text("DIMENSION_SCALE"))
        self._writer.set_attribute(path, "NAME", *_fixed_text(label))
        self._writer.set_attribute(path, "_Netcdf4Dimid", [], _INT, np.array(number, "<i4").tobytes(), [])


_INT: dict[str, Any] = {"class": "integer", "size": 4, "signed": True, "order": "<"}


def _fixed_text(text: str | bytes, what: str = "text") -> tuple[list[int], dict[str, Any], bytes, list[bytes]]:
    """A scalar of fixed length. The library's own names (`str`) end with NUL, its attributes of characters do not."""
    data = text.encode() + b"\0" if isinstance(text, str) else text or b"\0"
    if b"\0" in data[:-1]:
        raise InvalidInputError(f"{what}: text with a NUL, where readers would end it", "InvalidInput")
    return [], {"class": "string", "size": len(data), "padding": "NullTerminated", "utf8": False}, data, []


def create_netcdf(path: Any, mode: str = "w", *, alignment: int | None = None, threads: int | None = None, durable: bool = True) -> NewNetcdf:
    """A new netCDF-4 file: `with hs.create_netcdf("out.nc") as f: f.create_dimension("x", 3); f.create_variable("x", ["x"],
    data=[1, 2, 3])`. As `create`: nothing is visible before the end, and `durable=False` does not wait for the disk."""
    if mode not in ("w", "x"):
        raise unknown_mode(mode)
    return NewNetcdf(os.fsdecode(path), mode == "w", alignment, threads, durable)


def write_xarray(dataset: Any, path: Any, mode: str = "w", *, unlimited: Sequence[str] = (), compression: Any = None, compression_opts: Any = None,
                 shuffle: bool = False, threads: int | None = None, durable: bool = True) -> None:
    """Writes an xarray `Dataset` (or `DataArray`) as netCDF-4, encoded by CF's conventions as xarray itself encodes it:
    times as counts, missing values as `_FillValue`."""
    from xarray import DataArray
    from xarray.conventions import cf_encoder, encode_dataset_coordinates

    if isinstance(dataset, DataArray):
        dataset = dataset.to_dataset(name=dataset.name or "data")
    variables, attributes = cf_encoder(*encode_dataset_coordinates(dataset))
    unlimited = (*unlimited, *dataset.encoding.get("unlimited_dims", ()))
    with create_netcdf(path, mode, threads=threads, durable=durable) as f:
        for name, size in dataset.sizes.items():
            f.create_dimension(str(name), None if name in unlimited else int(size))
        for name, variable in variables.items():
            values = np.asarray(variable.values)
            attrs = dict(variable.attrs)
            fill = attrs.pop("_FillValue", None)
            packed = {"compression": compression, "compression_opts": compression_opts, "shuffle": shuffle} if values.ndim and values.dtype.kind in "iuf" else {}
            dtype = None if values.dtype.kind != "O" else str
            if values.dtype.kind == "b":
                values, attrs["dtype"] = values.astype("i1"), "bool"
            f.create_variable(str(name), [str(dim) for dim in variable.dims], dtype, values, fill_value=fill, attrs=attrs, **packed)
        f.attrs.update(attributes)
