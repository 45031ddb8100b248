"""Writing netCDF-4: an HDF5 file with dimension scales and the names that netCDF gives them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _native
from .errors import InvalidInputError, UnsupportedError
from .writing import NewDataset, NewFile, unknown_mode

#: netCDF's own names for dimensions without a variable; the number is the dimension's size.
_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.{:10d}"
#: Types that netCDF-4 has, by numpy's kind.
_KINDS = "iufSUO"
_RESERVED = ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST")


class NewNetcdf(NewFile):
    """A netCDF-4 file that is being written: dimensions first, then variables over them."""

    def __init__(self, path: str, replace: bool, alignment: int | None, threads: int | None) -> None:
        # The netCDF library writes only to files whose objects have an order.
        super().__init__(path, replace, alignment, threads, track_order=True)
        #: Size of each dimension by its path; `None` is without limit.
        self.dimensions: dict[str, int | None] = {}
        self._variables: dict[str, tuple[NewDataset, tuple[str, ...]]] = {}
        self._writer.set_attribute("/", "_NCProperties", *_fixed_text(f"version=2,hyperslab={_native.__version__}"))

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
        grows. `fill_value` becomes `_FillValue`; the other options are those of `create_dataset`."""
        path = name.strip("/")
        group, _, own = path.rpartition("/")
        found = tuple(self._dimension(group, dim) for dim in dims)
        if len(set(found)) != len(found) and path in found:
            raise InvalidInputError(f"coordinate variable {name} with a dimension twice", "InvalidInput")
        if data is not None:
            data = np.asarray(data)
        given = np.dtype("f8" if data is None else data.dtype) if dtype is None else dtype
        kind = "O" if given is str else np.dtype(given).kind
        if kind not in _KINDS or (kind == "f" and np.dtype(given).itemsize == 2):
            raise UnsupportedError(f"numpy's {np.dtype(given)} in netCDF-4: give integers, floats of 4 or 8 bytes, or text", "Unsupported")
        if kind in "SU":
            given = str
            data = None if data is None else data.astype(str).astype(object)
        sizes = [self.dimensions[dim] for dim in found]
        shape = tuple((0 if data is None else np.shape(data)[axis]) if size is None else size for axis, size in enumerate(sizes))
        if data is not None and np.shape(data) != shape:
            raise InvalidInputError(f"data of shape {np.shape(data)} for variable {name} of shape {shape}", "InvalidInput")
        if None in sizes:
            options["maxshape"] = tuple(sizes)
        made = self.create_dataset(path, shape, given, data, fillvalue=fill_value, **options)
        if fill_value is not None:
            made.attrs.create("_FillValue", fill_value if given is str else np.array([fill_value], dtype=given))
        for key, value in (attrs or {}).items():
            if key in _RESERVED or key == "_FillValue":
                raise InvalidInputError(f"attribute {key} is netCDF's own: give fill_value=", "InvalidInput")
            made.attrs[key] = value
        self._variables[path] = made, found
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


def _fixed_text(text: str) -> tuple[list[int], dict[str, Any], bytes, list[bytes]]:
    """A scalar of fixed length that ends with NUL, as the library writes its own names."""
    data = text.encode() + b"\0"
    return [], {"class": "string", "size": len(data), "padding": "NullTerminated", "utf8": False}, data, []


def create_netcdf(path: Any, mode: str = "w", *, alignment: int | None = None, threads: int | None = None) -> NewNetcdf:
    """A new netCDF-4 file: `with hs.create_netcdf("out.nc") as f: f.create_dimension("x", 3); f.create_variable("x", ["x"],
    data=[1, 2, 3])`. As `create`: nothing is visible before the end."""
    if mode not in ("w", "x"):
        raise unknown_mode(mode)
    return NewNetcdf(os.fsdecode(path), mode == "w", alignment, threads)


def write_xarray(dataset: Any, path: Any, mode: str = "w", *, unlimited: Sequence[str] = (), compression: Any = None, compression_opts: Any = None,
                 shuffle: bool = False, threads: int | None = None) -> None:
    """Writes an xarray `Dataset` (or `DataArray`) as netCDF-4, encoded by CF's conventions as xarray itself encodes it:
    times as counts, missing values as `_FillValue`."""
    from xarray import DataArray
    from xarray.conventions import cf_encoder, encode_dataset_coordinates

    if isinstance(dataset, DataArray):
        dataset = dataset.to_dataset(name=dataset.name or "data")
    variables, attributes = cf_encoder(*encode_dataset_coordinates(dataset))
    unlimited = (*unlimited, *dataset.encoding.get("unlimited_dims", ()))
    with create_netcdf(path, mode, threads=threads) as f:
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
