"""View: what netCDF sees of a group of a file that is being created: dimensions, variables and types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, AttributeValue, DtypeLike, Elements, VariableOptions
from ..objects.dataset import Dataset
from ..objects.filters import Filter, filters_of
from ..objects.group import Group
from ..objects.netcdf_dimension import NetcdfDimension
from ..objects.type_definitions import Make
from ..values import dates, dtype_encoding
from ..values.dtype_encoding import extents, fill_of
from ..values.netcdf_types import DEFAULT_FILLS, NetcdfType, checked_name, checked_path, stored_type
from . import conventions
from . import times as netcdf_times
from .variables import Contents, DefinitionWriter, Variable, refuse_masked

#: What the library puts before a variable that has a dimension's name but is not its coordinates.
NO_COORDINATE = "_nc4_non_coord_"

if TYPE_CHECKING:
    from typing_extensions import Unpack

Defined = TypeVar("Defined", NetcdfDimension, Variable)
#: The options that `storage_of` knows.
_STORAGE = ("chunks", "compression", "compression_opts", "shuffle", "fletcher32")


class NetcdfView:
    """What netCDF sees of a group: its own dimensions and variables, and everything that the groups above it define."""

    def __init__(self, group: Group, writer: DefinitionWriter, contents: Contents) -> None:
        self.group, self.contents = group, contents
        self._writer = writer
        self._changes: Any = group._changes

    def settled(self) -> None:
        """Marks the definitions as up to date with the file."""

    def _place(self, path: str, what: str) -> str:
        """The path from the root of what this group calls so."""
        return f"{'' if path.startswith('/') else self.group.name}/{checked_path(path, what)}".strip("/")

    def _here(self, all: Mapping[str, Defined]) -> dict[str, Defined]:
        own = self.group.name.strip("/")
        return {path.rpartition("/")[2]: value for path, value in all.items() if path.rpartition("/")[0] == own}

    @property
    def dimensions(self) -> dict[str, NetcdfDimension]:
        """The dimensions of this group by name."""
        return self._here(self.contents.dimensions)

    @property
    def variables(self) -> dict[str, Variable]:
        """The variables of this group by name."""
        return self._here(self.contents.variables)

    def dimension(self, name: str) -> NetcdfDimension:
        """The dimension that variables of this group call so.

        Raises:
            InvalidInputError: There is none.
        """
        return self.contents.dimension(self.group.name.strip("/"), name)

    def create_dimension(self, name: str, size: int | None = None) -> NetcdfDimension:
        """Creates a dimension, as `objects.netcdf_definitions` says."""
        path = self._place(name, "dimension")
        if path in self.contents.dimensions:
            raise InvalidInputError(f"there is a dimension {path} already")
        if path in self.contents.variables:
            raise InvalidInputError(f"there is a variable {path} already: create a dimension before the variable of its name")
        if size is not None and (isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0):
            raise InvalidInputError(f"dimension {path} of size {size!r}: give a whole number, 0 or more, or None without a limit")
        if "/" in path:
            self._writer.create_group("/" + path.rpartition("/")[0])
        made = self.contents.dimensions[path] = NetcdfDimension(path, None if size is None else int(size), self._number(path))
        return made

    def _number(self, path: str) -> int:
        """The number of a new dimension."""
        return len(self.contents.dimensions)

    def create_type(self, name: str, make: Make) -> NetcdfType:
        """Creates the type that `make` makes of its path and the types of the file."""
        made = make(self._place(name, "type"), self.contents.types)
        if made.path in self.contents.types:
            raise InvalidInputError(f"there is a type {made.path} already")
        self._writer.create_datatype("/" + made.path, made.datatype)
        self.contents.types[made.path] = made
        return made

    def create_variable(
        self,
        name: str,
        dims: Sequence[str] = (),
        dtype: DtypeLike | None = None,
        data: Elements = None,
        *,
        fill_value: Elements = None,
        attrs: Mapping[str, AttributeValue] | None = None,
        units: str | None = None,
        calendar: str | None = None,
        bounds: object = None,
        coordinates: str | Sequence[str] | None = None,
        cell_methods: str | Iterable[object] | None = None,
        grid_mapping: str | None = None,
        **options: Unpack[VariableOptions],
    ) -> Variable:
        """Creates a variable, as `objects.netcdf_definitions` says."""
        path = self._place(name, "variable")
        if path in self.contents.variables:
            raise InvalidInputError(f"there is a variable {path} already")
        group = path.rpartition("/")[0]
        dims = (dims,) if isinstance(dims, str) else tuple(dims)
        found = tuple(self.contents.dimension(group, checked_name(dim, "dimension")) for dim in dims)
        if path in (dim.path for dim in found) and len({dim.path for dim in found}) != len(found):
            raise InvalidInputError(f"coordinate variable {name} with a dimension twice")
        shown = {**(attrs or {}), **conventions.attributes(self.contents, group, name, dims, coordinates, cell_methods, grid_mapping)}
        sizes = [dim.size for dim in found]
        times: netcdf_times.TimeEncoding | None = None
        later, has_missing = None, False
        is_time = (
            dates.is_time(data)
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
        if own_type is not None and self.contents.types.get(own_type.path) is not own_type:
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
        own = self.contents.dimensions.get(path)
        stored = path if own is None or found[:1] == (own,) else f"{group}/{NO_COORDINATE}{path.rpartition('/')[2]}".strip("/")
        made = self._new_variable(stored, shape, tuple(sizes), given if own_type is None else own_type, fill, options, data, missing)
        made.fill, made.dims, made.found, made.encoding, made.type = (missing if times is None else times.fill), tuple(dims), found, times, own_type
        self._declared(made)
        made.fill_is_known = times is None or fill_value not in (None, False)
        if later is not None and code in ("i4", "i8", "f4", "f8"):
            # Dates may be written later.
            made.encoding = netcdf_times.TimeEncoding(*later, np.dtype(given), fill if missing is None else missing)
            made.fill_is_known = fill_value not in (None, False)
        self.contents.variables[path] = made
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
                size = self.contents.dimension(self._place(above, "group") if above else self.group.name.strip("/"), name).size
            except InvalidInputError:
                self.create_dimension(f"{above}/{name}".strip("/"), count)
                return name
            if size == count:
                return name
        raise InvalidInputError(f"the dimensions {short} and {short}{count} have other sizes than {count}")

    def create_grid_mapping(self, name: str, grid_mapping_name: str, **parameters: object) -> Variable:
        """Creates a grid mapping, as `objects.netcdf_definitions` says."""
        attrs = {"grid_mapping_name": grid_mapping_name, **conventions.checked_parameters(parameters)}
        return self.create_variable(name, (), "i4", 0, attrs=attrs)

    def _new_variable(
        self,
        path: str,
        shape: tuple[int, ...],
        sizes: tuple[int | None, ...],
        given: DtypeLike | NetcdfType,
        fill: Elements,
        options: VariableOptions,
        data: Elements,
        missing: Elements,
    ) -> Variable:
        """Defines the dataset of a variable, whose `data` will be written."""
        datatype, committed = (given.datatype, "/" + given.path) if isinstance(given, NetcdfType) else (dtype_encoding.of_dtype(given), None)
        chunks, filters = storage_of(options, sizes)
        maxshape = list(sizes) if None in sizes else None
        definition = _native.DatasetDefinition(
            datatype, list(shape), maxshape=maxshape, chunks=chunks, filters=filters, fill=fill_of(fill, datatype), committed=committed
        )
        self._writer.create_dataset("/" + path, definition)
        return self._known(Variable(self._writer, "/" + path, datatype))

    def _known(self, made: Variable) -> Variable:
        """Notes a variable at its dataset."""
        made.contents = self.contents
        self._changes.notes[self.dataset(made)._number] = made
        return made

    def _declared(self, made: Variable) -> None:
        """Makes its dataset show the names of its dimensions, whose scales are attached when the file is complete."""
        self._changes.declare(self.dataset(made)._number, made.dims)

    def dataset(self, made: Variable) -> Dataset:
        """The dataset of a variable."""
        dataset: Dataset = self.group.file[made.path]
        return dataset

    def _fill_variable(self, made: Variable, data: object) -> None:
        self.dataset(made)[()] = data

    def _set_fill(self, made: Variable, fill_value: object, code: str) -> None:
        if made.type is not None or code == "":
            # Text, too, is an array of one value of the variable's type.
            heap: list[bytes] = []
            checked = [fill_value] if made.type is None else made.type.checked(fill_value, "fill_value")
            value = dtype_encoding.stored(checked, made.datatype, heap)
            self._writer.set_attribute(made.path, "_FillValue", [1], made.datatype, value.tobytes(), heap)
            return
        checked = fill_value if code == "S1" else dtype_encoding.stored([fill_value], made.datatype, [])
        made.attrs.put("_FillValue", checked, None, "attribute '_FillValue'")


def _sequences(data: Elements, ndim: int) -> AnyArray:
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


def storage_of(options: VariableOptions, sizes: Sequence[int | None]) -> tuple[list[int] | None, list[Filter]]:
    """Chunk shape and filters of the options of `create_dataset`."""
    filters = filters_of(options.get("compression"), options.get("compression_opts"), options.get("shuffle", False), options.get("fletcher32", False))
    chunks = options.get("chunks")
    unknown = [name for name in options if name not in _STORAGE]
    if unknown:
        raise TypeError(f"create_variable() got an unexpected keyword argument {unknown[0]!r}")
    if chunks is None or chunks is False or (chunks is True and (filters or None in sizes)):
        return None, filters
    if chunks is True:
        return [min(size or 1, 1024) for size in sizes], filters
    return extents("chunks", chunks), filters
