"""Writing netCDF-4: an HDF5 file with dimension scales, under the names that netCDF uses."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError
from ..base.type_aliases import Path
from ..objects.netcdf4_names import Netcdf4Names
from ..objects.netcdf_dimension import NetcdfDimension
from ..objects.type_definitions import Make, TypeDefinitions
from ..values import dtype_encoding
from ..values.netcdf_types import DEFAULT_FILLS, NetcdfType, checked_name, checked_path, fixed_text, stored_type
from ..writing.new_file import NewFile, NewGroup, extents, fill_of, filters_of, replaces
from . import conventions
from . import times as netcdf_times
from .variables import Contents, NetcdfAttributes, NetcdfVariable, refuse_masked

#: netCDF's own names for dimensions without a variable; the number is the dimension's size.
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.{:10d}"
#: What the library puts before a variable that has a dimension's name but is not its coordinates.
NO_COORDINATE = "_nc4_non_coord_"
_INT = _native.Datatype.integer(4, signed=True)


class NetcdfGroup(Netcdf4Names, TypeDefinitions, NewGroup):
    """A group of a netCDF file that is being written. It sees the dimensions and types of the groups above it."""

    _attributes = NetcdfAttributes
    _dataset = NetcdfVariable
    _contents: Contents

    def _member_type(self) -> type[NewGroup]:
        return NetcdfGroup

    def _new_group(self, path: str) -> NewGroup:
        made = super()._new_group(path)
        assert isinstance(made, NetcdfGroup)
        made._contents = self._contents
        return made

    def _place(self, path: str, what: str) -> str:
        """The path from the root of what this group calls so."""
        return f"{'' if path.startswith('/') else self._path}/{checked_path(path, what)}".strip("/")

    def _here(self, all: Mapping[str, Any]) -> dict[str, Any]:
        own = self._path.strip("/")
        return {path.rpartition("/")[2]: value for path, value in all.items() if path.rpartition("/")[0] == own}

    @property
    def dimensions(self) -> dict[str, NetcdfDimension]:
        """The dimensions of this group by name."""
        return self._here(self._contents.dimensions)

    @property
    def variables(self) -> dict[str, NetcdfVariable]:
        """The variables of this group by name."""
        return self._here(self._contents.variables)

    @property
    def groups(self) -> dict[str, NetcdfGroup]:
        """The groups in this group by name."""
        return {name: member for name, member in self.items() if isinstance(member, NetcdfGroup)}

    def create_group(self, name: str, track_order: bool | None = None) -> NewGroup:
        """Creates a group, and the groups above it.

        Args:
            name: Path of the group.
            track_order: Record the order in which members and attributes of this group are created; by default as the file
                does.

        Returns:
            The group.

        Example:
            >>> f.create_group("run/1")
        """
        return self._make_group("/" + self._place(name, "group"), track_order)

    def create_dimension(self, name: str, size: int | None = None) -> NetcdfDimension:
        """Creates a dimension.

        Args:
            name: Name of the dimension, or its path in a group below.
            size: Its size; `None` for an unlimited dimension.

        Returns:
            The dimension.

        Raises:
            InvalidInputError: There is a dimension or a variable of this name, or the size is not valid.

        Example:
            >>> f.create_dimension("time")
        """
        path = self._place(name, "dimension")
        if path in self._contents.dimensions:
            raise InvalidInputError(f"there is a dimension {path} already")
        if path in self._contents.variables:
            raise InvalidInputError(f"there is a variable {path} already: create a dimension before the variable of its name")
        if size is not None and (isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0):
            raise InvalidInputError(f"dimension {path} of size {size!r}: give a whole number, 0 or more, or None without a limit")
        if "/" in path:
            self._make_group("/" + path.rpartition("/")[0])
        made = self._contents.dimensions[path] = NetcdfDimension(path, None if size is None else int(size), self._number(path))
        return made

    def _number(self, path: str) -> int:
        """The number of a new dimension."""
        return len(self._contents.dimensions)

    def _create_type(self, name: str, make: Make) -> NetcdfType:
        made = make(self._place(name, "type"), self._contents.types)
        if made.path in self._contents.types:
            raise InvalidInputError(f"there is a type {made.path} already")
        self._writer.create_datatype("/" + made.path, made.datatype)
        self._contents.types[made.path] = made
        return made

    def create_variable(
        self,
        name: str,
        dims: Sequence[str] = (),
        dtype: Any = None,
        data: Any = None,
        *,
        fill_value: Any = None,
        attrs: Mapping[str, Any] | None = None,
        units: str | None = None,
        calendar: str | None = None,
        bounds: Any = None,
        coordinates: str | Sequence[str] | None = None,
        cell_methods: Any = None,
        grid_mapping: str | None = None,
        **options: Any,
    ) -> NetcdfVariable:
        """Creates a variable over existing dimensions.

        Args:
            name: Name of the variable, or its path.
            dims: Names of the dimensions. Along unlimited ones, the variable has as many rows as `data`, and grows.
            dtype: A numeric type, `str`, `S1` for characters, or a type that the file defines. Booleans are stored as xarray
                does, as `i1` with the attribute `dtype`. Dates and durations (of numpy, Python, cftime) become integer
                counts, `i8`, with CF's `units` and `calendar`.
            data: The values.
            fill_value: The attribute `_FillValue`, which also stands for masked values. By default, masked values are stored
                as the attribute `missing_value` or as netCDF's default, which is also the value of unwritten elements; with
                `fill_value=False` unwritten elements are 0.
            attrs: Attributes.
            units, calendar: How dates and durations are counted; by default units that represent them exactly.
            bounds: The bounds of the cells (CF 7.1), in the units of `data`, with one more dimension of 2 or more vertices. They become the variable
                `NAME_bnds`, or `NAME_vertices` if there are more than 2.
            coordinates: Names of auxiliary and scalar coordinates, which exist (CF 5).
            cell_methods: CF's text, or a list of `hyperslab.models.cf.CellMethod` (CF 7.3).
            grid_mapping: Name of a grid mapping that `create_grid_mapping` made (CF 5.6).
            options: Those of `create_dataset`, such as `compression` and `chunks`.

        Returns:
            The variable.

        Raises:
            InvalidInputError: A dimension, coordinate or grid mapping does not exist, `data` or `bounds` do not fit the dimensions, or
                `cell_methods` does not parse.

        Example:
            >>> f.create_variable("t2m", ["time", "x"], "f4", units="K", compression="zstd")
            >>> f.create_variable("time", ["time"], data=[0.5, 1.5], units="days since 2001-01-01", bounds=[[0, 1], [1, 2]])
        """
        path = self._place(name, "variable")
        if path in self._contents.variables:
            raise InvalidInputError(f"there is a variable {path} already")
        group = path.rpartition("/")[0]
        dims = (dims,) if isinstance(dims, str) else tuple(dims)
        found = tuple(self._contents.dimension(group, checked_name(dim, "dimension")) for dim in dims)
        if path in (dim.path for dim in found) and len({dim.path for dim in found}) != len(found):
            raise InvalidInputError(f"coordinate variable {name} with a dimension twice")
        shown = {**(attrs or {}), **conventions.attributes(self._contents, group, name, dims, coordinates, cell_methods, grid_mapping)}
        sizes = [dim.size for dim in found]
        times, later, has_missing = None, None, False
        is_time = (
            netcdf_times.is_time(data)
            if data is not None
            else not (dtype is None or isinstance(dtype, NetcdfType)) and dtype is not str and np.dtype(dtype).kind in "mM"
        )
        if is_time:
            if np.ndim(fill_value) == 0 and isinstance(fill_value, (np.datetime64, np.timedelta64)) and np.isnat(fill_value):
                fill_value = DEFAULT_FILLS["i8"]
            kind = "i8" if dtype is None or np.dtype(dtype).kind in "mM" else np.dtype(dtype).str[1:]
            units, calendar = shown.pop("units", units), shown.pop("calendar", calendar)
            times = netcdf_times.chosen(
                data, dtype, units, calendar, None in sizes, DEFAULT_FILLS.get(kind) if fill_value is None or fill_value is False else fill_value
            )
            shown = {**times.attributes, **shown}
            if data is not None:
                data, has_missing = times.counts(data, f"variable {name!r}")
            dtype = times.dtype
        else:
            shown.update({key: value for key, value in (("units", units), ("calendar", calendar)) if value is not None})
            later = netcdf_times.of_units(shown.get("units"), shown.get("calendar"))
        if data is not None and times is None:
            if isinstance(dtype, NetcdfType):
                data = _sequences(data, len(dims)) if dtype.dtype.kind == "O" else dtype.checked(data, f"variable {name!r}")
            data = np.asanyarray(data)
        own_type = dtype if isinstance(dtype, NetcdfType) else None
        if own_type is not None and self._contents.types.get(own_type.path) is not own_type:
            raise InvalidInputError(f"variable {name!r} of type {own_type.path!r}, which is another file's")
        given = ("f8" if data is None else np.asarray(data).dtype) if dtype is None else dtype
        if own_type is None and given is not str and np.dtype(given).kind == "b":
            given, shown = "i1", {**shown, "dtype": "bool"}
            data = None if data is None else data.astype("i1")
        if own_type is None:
            given = stored_type(given, f"variable {name!r}")
            if data is not None and given is str:
                data = data.astype(str).astype(object) if data.dtype.kind in "SU" else data
        code = "" if given is str or own_type is not None else np.dtype(given).str[1:]
        fill = missing = None if fill_value is False else fill_value
        if fill_value is None:
            # Readers take the default for missing, but not of bytes.
            base = code if own_type is None or not own_type.enum_dict else own_type.dtype.str[1:]
            fill = DEFAULT_FILLS.get(base)
            missing = shown.get("missing_value", fill if base not in ("i1", "u1") else None)
            missing = missing if missing is not None and np.size(missing) == 1 else None
        if own_type is None and data is None and fill_value is None and times is not None:
            missing = fill
        length = (None,) * len(sizes) if data is None else tuple(np.shape(data))
        if len(length) != len(sizes):
            raise InvalidInputError(f"data of shape {length} for variable {name} over {len(sizes)} dimensions")
        shape = tuple((extent or 0) if size is None else size for size, extent in zip(sizes, length, strict=True))
        if data is not None and length != shape:
            raise InvalidInputError(f"data of shape {length} for variable {name} of shape {shape}")
        if missing is None and times is None:
            refuse_masked(data, f"variable {name!r}")
        own = self._contents.dimensions.get(path)
        stored = path if own is None or found[:1] == (own,) else f"{group}/{NO_COORDINATE}{path.rpartition('/')[2]}".strip("/")
        made = self._new_variable(stored, shape, tuple(sizes), given if own_type is None else own_type, fill, options, data, missing)
        made._fill, made.dims, made.found, made.times, made.type = (missing if times is None else times.fill), tuple(dims), found, times, own_type
        made._fill_is_known = times is None or fill_value not in (None, False)
        if later is not None and code in ("i4", "i8", "f4", "f8"):
            # Dates may be written later.
            made.times = netcdf_times.TimeEncoding(*later, np.dtype(given), fill if missing is None else missing)
            made._fill_is_known = fill_value not in (None, False)
        self._contents.variables[path] = made
        if data is not None:
            self._fill_variable(made, data)
        if fill_value is not None and fill_value is not False:
            self._set_fill(made, fill_value, code)
        elif has_missing:
            made.show_fill()
        for key, value in shown.items():
            made.attrs[key] = value
        if bounds is not None:
            place, values = conventions.bounds_of(made, name, bounds)
            vertices = self._vertices(place.rpartition("/")[0], values.shape[-1])
            made.attrs["bounds"] = place.rpartition("/")[2]
            self.create_variable(place, [*dims, vertices], data=values, fill_value=False)
        return made

    def _vertices(self, above: str, count: int) -> str:
        """The name of a dimension of this size for vertices. Creates it if there is none."""
        short = conventions.short_name(count)
        for name in (short, f"{short}{count}"):
            try:
                size = self._contents.dimension(self._place(above, "group") if above else self._path.strip("/"), name).size
            except InvalidInputError:
                self.create_dimension(f"{above}/{name}".strip("/"), count)
                return name
            if size == count:
                return name
        raise InvalidInputError(f"the dimensions {short} and {short}{count} have other sizes than {count}")

    def create_grid_mapping(self, name: str, grid_mapping_name: str, **parameters: Any) -> NetcdfVariable:
        """Creates a grid mapping (CF 5.6): a variable without dimensions whose attributes are the parameters of a projection.

        Args:
            name: Name of the variable, or its path.
            grid_mapping_name: CF's name of the projection (CF appendix F).
            parameters: The parameters by CF's names: numbers, lists of numbers, texts.

        Returns:
            The variable; `create_variable(..., grid_mapping=name)` uses it.

        Raises:
            InvalidInputError: A parameter is neither numbers nor text, or there is a variable of this name.

        Example:
            >>> f.create_grid_mapping("crs", "latitude_longitude", earth_radius=6371229.0)
        """
        attrs = {"grid_mapping_name": grid_mapping_name, **conventions.checked_parameters(parameters)}
        return self.create_variable(name, (), "i4", 0, attrs=attrs)

    def _new_variable(
        self, path: str, shape: tuple[int, ...], sizes: tuple[int | None, ...], given: Any, fill: Any, options: dict[str, Any], data: Any, missing: Any
    ) -> NetcdfVariable:
        """Defines the dataset of a variable, whose `data` will be written."""
        datatype, committed = (given.datatype, "/" + given.path) if isinstance(given, NetcdfType) else (dtype_encoding.of_dtype(given), None)
        chunks, filters = storage_of(options, sizes)
        maxshape = list(sizes) if None in sizes else None
        chosen = self._writer.create_dataset(
            "/" + path,
            _native.DatasetDefinition(
                datatype, list(shape), maxshape=maxshape, chunks=chunks, filters=filters, fill=fill_of(fill, datatype), committed=committed
            ),
        )
        made = self._dataset(self._writer, "/" + path, shape, datatype, None if chosen is None else tuple(chosen))
        self._register(made)
        assert isinstance(made, NetcdfVariable)
        made.contents = self._contents
        return made

    def _fill_variable(self, made: NetcdfVariable, data: Any) -> None:
        made[()] = data

    def _set_fill(self, made: NetcdfVariable, fill_value: Any, code: str) -> None:
        attributes = NetcdfAttributes(self._writer, made._path)
        if made.type is not None or code == "":
            # Text, too, is an array of one value of the variable's type.
            heap: list[bytes] = []
            checked = [fill_value] if made.type is None else made.type.checked(fill_value, "fill_value")
            value = dtype_encoding.stored(checked, made._datatype, heap)
            self._writer.set_attribute(made._path, "_FillValue", [1], made._datatype, value.tobytes(), heap)
            return
        checked = fill_value if code == "S1" else dtype_encoding.stored([fill_value], made._datatype, [])
        attributes._put("_FillValue", checked, None, "attribute '_FillValue'")

    def _join(self) -> None:
        """Joins all variables of the file and their dimensions."""
        for dimension in self._contents.dimensions.values():
            self._scale(dimension)
        for path, variable in self._contents.variables.items():
            # A coordinate variable of one dimension is that dimension's scale itself.
            if self._contents.dimensions.get(path) not in variable.found[:1] or not variable.found:
                for axis, dim in enumerate(variable.found):
                    self._writer.attach_scale(variable._path, axis, "/" + dim.path)
            elif len(variable.found) > 1:
                numbers = np.array([dim.number for dim in variable.found], "<i4")
                self._writer.set_attribute(variable._path, "_Netcdf4Coordinates", [len(numbers)], _INT, numbers.tobytes(), [])

    def _scale(self, dimension: NetcdfDimension) -> None:
        variables, path = self._contents.variables, "/" + dimension.path
        variable = variables.get(dimension.path)
        label = dimension.name
        if variable is None or variable.found[:1] != (dimension,):
            # The library keeps the length in a dataset without values.
            extent = self._contents.length(dimension)
            maxshape = [None] if dimension.size is None else None
            self._writer.create_dataset(path, _native.DatasetDefinition(dtype_encoding.of_dtype(">f4"), [extent], maxshape=maxshape))
            label = NO_VARIABLE.format(extent)
        self._writer.set_attribute(path, "CLASS", *fixed_text("DIMENSION_SCALE"))
        self._writer.set_attribute(path, "NAME", *fixed_text(label))
        self._writer.set_attribute(path, "_Netcdf4Dimid", [], _INT, np.array(dimension.number, "<i4").tobytes(), [])


def _sequences(data: Any, ndim: int) -> Any:
    """Arrays of any length as elements of an array of `ndim` dimensions."""
    if isinstance(data, np.ndarray) and data.dtype.kind == "O" and data.ndim == ndim:
        return data
    shape, level = [], data
    for _ in range(ndim):
        shape.append(len(level))
        level = level[0] if len(level) else ()
    out = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        value = data
        for index in place:
            value = value[index]
        out[place] = value
    return out


def storage_of(options: dict[str, Any], sizes: Sequence[int | None]) -> tuple[list[Any] | None, list[Any]]:
    """Chunk shape and filters of the options of `create_dataset`."""
    options = dict(options)
    filters = filters_of(
        options.pop("compression", None), options.pop("compression_opts", None), options.pop("shuffle", False), options.pop("fletcher32", False)
    )
    chunks = options.pop("chunks", None)
    if options:
        raise TypeError(f"create_variable() got an unexpected keyword argument {next(iter(options))!r}")
    if chunks is None or chunks is False or (chunks is True and (filters or None in sizes)):
        return None, filters
    if chunks is True:
        return [min(size or 1, 1024) for size in sizes], filters
    return extents("chunks", chunks), filters


class NewNetcdf(NetcdfGroup, NewFile):
    """A netCDF-4 file that is being written: create dimensions first, then variables over them."""

    def __init__(
        self,
        path: str,
        replace: bool,
        alignment: int | None,
        threads: int | None,
        durable: bool = True,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._contents = Contents()
        # The netCDF library writes only to files whose objects have an order.
        NewFile.__init__(self, path, replace, alignment, threads, track_order=True, durable=durable, storage_options=storage_options)
        self._writer.set_attribute("/", "_NCProperties", *fixed_text(f"version=2,hyperslab={_native.__version__}"))

    def __enter__(self) -> NewNetcdf:
        return self

    def close(self) -> None:
        """Attaches dimensions to variables, completes the file and publishes it.

        Example:
            >>> f.close()
        """
        if self._open:
            self._join()
        super().close()


def create_netcdf(
    path: Path,
    mode: str = "w",
    *,
    alignment: int | None = None,
    threads: int | None = None,
    durable: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> NewNetcdf:
    """Creates a netCDF-4 file. It appears, complete, when the `with` block ends or `close()` is called.

    Args:
        path: Path of the file, or its address in an object store.
        mode: `w` replaces an existing file, `x` (or `w-`) refuses to.
        alignment, threads, durable, storage_options: As in `create`.

    Returns:
        The file; it appears when it is closed.

    Raises:
        ConflictError: `mode` is `x` and the file exists.

    Example:
        >>> with hs.create_netcdf("out.nc") as f:
        ...     f.create_dimension("x", 3)
        ...     f.create_variable("x", ["x"], data=[1, 2, 3], units="m")
    """
    return NewNetcdf(os.fsdecode(path), replaces(mode), alignment, threads, durable, storage_options)
