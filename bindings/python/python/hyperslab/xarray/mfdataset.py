"""Many files for xarray: variables that are concatenated along one dimension of the files or along a new one, checked when they are
opened."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray
from xarray import Variable
from xarray.backends import AbstractDataStore
from xarray.core import indexing

from .. import _native
from ..backends.reading import Reading
from ..errors import ConflictError, InvalidInputError
from ..objects.attributes import value_of
from ..objects.dataset import Dataset
from .array import converted
from .attributes import netcdf_value
from .concatenated import ConcatenatedArray, StackedArray
from .groups import normalized
from .open_files import OpenFiles
from .opening import OpenedFile
from .store import HyperslabStore

#: Attributes that say how values are decoded: variables with different ones cannot be one array.
_DECODING = ("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "units", "calendar", "dtype")
#: Those of times, which are decoded file by file if they differ.
_OF_TIMES = ("units", "calendar")


class Joined(NamedTuple):
    """What the files have of one variable: its datatype, and the lengths along the concatenated dimension."""

    datatype: dict[str, Any]
    lengths: list[int]


class OneOf:
    """The manager of one of several files, for the store of a single file."""

    def __init__(self, files: OpenFiles, index: int) -> None:
        self._files, self._index = files, index

    def acquire(self, needs_lock: bool = True) -> OpenedFile:
        """The open file."""
        return self._files[self._index]

    def close(self, needs_lock: bool = True) -> None:
        """Closes all files."""
        self._files.close()


class FilesStore(AbstractDataStore):
    """The variables of one group of many files. What the first file has, all have to have."""

    def __init__(self, files: OpenFiles, group: str | None, concat_dim: str | None, new_dim: str | None, compat: str, drop: Collection[str]) -> None:
        """Opens the group of each file and compares them.

        Args:
            files: The files, in order.
            group: Path of the group.
            concat_dim: The dimension along which files follow each other; by default the only one that is unlimited or differs.
            new_dim: Instead, the name of a new dimension, with an index for each file; all variables but coordinates get it.
            compat: Whether variables without that dimension are compared: `equals`, or `override` for the first file's.
            drop: Names of variables that are left out.

        Raises:
            ConflictError: A file differs from the first one.
            InvalidInputError: `concat_dim` is not a dimension, or has to be given; `new_dim` is one already.
        """
        self._files, self._group = files, normalized(group)
        opened = files.each()
        first = next(opened)
        self._first = HyperslabStore(OneOf(files, 0), group, files.paths[0], drop)
        self._template = self._first.get_variables()
        self._is_new = new_dim is not None
        self._concat_dim = new_dim or concat_dim or self._only_dimension()
        names = sorted({str(dim) for variable in self._template.values() for dim in variable.dims})
        if self._is_new and self._concat_dim in {*names, *map(str, self._template)}:
            raise InvalidInputError(f"new_dim={self._concat_dim!r} is a dimension or a variable of the files already")
        if not self._is_new and self._concat_dim not in names:
            others = f"they have {', '.join(names) or 'none'}; new_dim= makes a new one"
            raise InvalidInputError(f"concat_dim={self._concat_dim!r} is not a dimension of the files; {others}")
        follow = self._stacked_names() if self._is_new else {name for name, variable in self._template.items() if self._concat_dim in variable.dims}
        self._joined = {str(name): Joined(first.dataset(self._path(str(name)))._about["datatype"], []) for name in self._template if name in follow}
        first_attributes = {name: _decoding(first.dataset(self._path(name))) for name in self._joined}
        self._differing_times: set[str] = set()
        if compat == "equals" and len(self._files) > 1:
            self._template = {name: variable if name in self._joined else variable.load() for name, variable in self._template.items()}
        self._add(first.file, first_attributes, False)
        for file in opened:
            self._add(file.file, first_attributes, compat == "equals")

    def get_variables(self) -> dict[str, Variable]:
        """The variables, by name: those along the concatenated dimension as one lazy array each, others from the first file."""
        return {str(name): self._concatenated(str(name), variable) if name in self._joined else variable for name, variable in self._template.items()}

    def get_attrs(self) -> dict[str, Any]:
        """The attributes of the group in the first file."""
        return self._first.get_attrs()

    def get_dimensions(self) -> dict[str, int]:
        """Extents of the dimensions that the group of the first file declares, and of the concatenated one."""
        total = sum(next(iter(self._joined.values())).lengths)
        return {name: total if name == self._concat_dim else extent for name, extent in self._first.get_dimensions().items()}

    def get_encoding(self) -> dict[str, Any]:
        """The names of the unlimited dimensions, and the paths of all files."""
        return {**self._first.get_encoding(), "sources": self._files.paths}

    def close(self) -> None:
        """Closes all files. Values that are asked for later open them again."""
        self._files.close()

    def dataset(self, name: str, file: int) -> Any:
        """The dataset of a variable in one of the files, which must not have changed."""
        return self._files[file].dataset(self._path(name))

    def _only_dimension(self) -> str:
        declared = self._first.get_dimensions()
        unlimited = sorted(self._first.get_encoding()["unlimited_dims"])
        if len(unlimited) == 1:
            return str(unlimited[0])
        if len(self._files) == 1 and len(declared) == 1:
            return next(iter(declared))
        differing = []
        if len(self._files) > 1:
            other = HyperslabStore(OneOf(self._files, 1), self._group, self._files.paths[1])
            extents, second = other.get_dimensions(), other.get_variables()
            for name, extent in declared.items():
                mine, theirs = self._template.get(name), second.get(name)
                coordinates_differ = mine is not None and theirs is not None and not np.array_equal(mine.values, theirs.values)
                if extents.get(name) != extent or coordinates_differ:
                    differing.append(name)
        if len(differing) != 1:
            raise InvalidInputError(f"which dimension follows from file to file is not clear; give concat_dim=, one of {', '.join(declared) or 'none'}")
        return differing[0]

    def _stacked_names(self) -> set[Any]:
        """The variables that have values of their own in each file: all but coordinates and their bounds."""
        coordinates = {dim for variable in self._template.values() for dim in variable.dims}
        # xarray names coordinates that belong to no variable in an attribute of the file.
        coordinates |= set(str(self._first.get_attrs().get("coordinates", "")).split())
        for variable in self._template.values():
            for key in ("coordinates", "bounds", "climatology", "grid_mapping"):
                coordinates |= set(str(variable.attrs.get(key, "")).split())
        return {name for name in self._template if name not in coordinates}

    def _path(self, name: str) -> str:
        return f"{self._group.rstrip('/')}/{name}"

    def _add(self, file: _native.File, first_attributes: Mapping[str, dict[str, Any]], compare: bool) -> None:
        """Adds a file, once it is known to fit."""
        length, first_path = None, self._files.paths[0]
        for name, variable in self._template.items():
            path = self._path(str(name))
            try:
                other, number = file.find(path)
            except LookupError:
                raise ConflictError(f"there is no {path}, which {first_path} has: leave it out with drop_variables", file.path, path) from None
            found = Dataset(Reading(other), number, path)
            if name not in self._joined:
                if compare:
                    self._compare(variable, found)
                continue
            about, joined = found._about, self._joined[str(name)]
            shape = tuple(about.get("shape") or ())
            if about["kind"] != "dataset" or about["datatype"] != joined.datatype:
                raise ConflictError(f"{path} has another datatype than in {first_path}", file.path, path)
            own, theirs = shape, variable.shape
            if not self._is_new and len(shape) == variable.ndim:
                axis = variable.dims.index(self._concat_dim)
                own, theirs = shape[:axis] + shape[axis + 1 :], variable.shape[:axis] + variable.shape[axis + 1 :]
            if own != theirs:
                raise ConflictError(f"{path} has the shape {shape}, but {variable.shape} in {first_path}", file.path, path)
            extent = 1 if self._is_new else shape[axis]
            if length not in (None, extent):
                raise ConflictError(f"{path} has {extent} elements along {self._concat_dim!r}, other variables {length}", file.path, path)
            length = extent
            decoding = _decoding(found)
            for key in _DECODING:
                if decoding.get(key) != first_attributes[str(name)].get(key):
                    if key not in _OF_TIMES or "since" not in str(variable.attrs.get("units")):
                        raise ConflictError(f"{path} has another {key} than in {first_path}", file.path, path)
                    self._differing_times.add(str(name))
            joined.lengths.append(extent)

    def _compare(self, variable: Variable, other: Dataset) -> None:
        first = variable.values
        values = converted(np.asarray(other[...]), other._about["datatype"], variable.dtype) if other.kind == "dataset" else None
        if values is None or values.shape != first.shape or not np.array_equal(values, first, equal_nan=first.dtype.kind in "fc"):
            hint = "compat='override' takes those of the first file"
            raise ConflictError(f"{other.name} has other values than in {self._files.paths[0]}; {hint}", other._file.path, other.name)

    def _concatenated(self, name: str, variable: Variable) -> Variable:
        joined = self._joined[name]
        count = sum(joined.lengths)
        if self._is_new:
            dims, axis, shape = (self._concat_dim, *variable.dims), 0, (count, *variable.shape)
        else:
            dims, axis = variable.dims, variable.dims.index(self._concat_dim)
            shape = (*variable.shape[:axis], count, *variable.shape[axis + 1 :])
        encoding = {**variable.encoding, "original_shape": shape}
        if self._is_new and encoding.get("chunksizes"):
            encoding["chunksizes"] = (1, *encoding["chunksizes"])
        if self._is_new and "preferred_chunks" in encoding:
            encoding["preferred_chunks"] = {self._concat_dim: 1, **encoding["preferred_chunks"]}
        if name in self._differing_times:
            return self._decoded_times(name, dims, variable, encoding)
        kind = StackedArray if self._is_new else ConcatenatedArray
        data = kind(self, name, joined.lengths, axis, shape, variable.dtype, joined.datatype)
        return Variable(dims, indexing.LazilyIndexedArray(data), variable.attrs, encoding)

    def _decoded_times(self, name: str, dims: Any, variable: Variable, encoding: dict[str, Any]) -> Variable:
        """Times that count from another date in each file, decoded and in memory."""
        parts = []
        for index in range(len(self._files)):
            dataset = self.dataset(name, index)
            attributes = {key: netcdf_value(value, key) for key, value in dataset.attrs.items()}
            values = converted(np.asarray(dataset[...]), dataset._about["datatype"], variable.dtype)
            parts.append(xarray.conventions.decode_cf_variable(name, Variable(variable.dims, values, attributes)))
        whole = Variable.concat(parts, self._concat_dim)  # type: ignore[no-untyped-call]
        kept = {key: parts[0].encoding[key] for key in ("units", "calendar") if key in parts[0].encoding}
        return Variable(dims, whole.values, parts[0].attrs, {**encoding, **kept})


def _decoding(dataset: Dataset) -> dict[str, Any]:
    """The attributes of a variable that say how it is decoded, as values that can be compared."""
    file, number = dataset._file, dataset._number
    decoding: dict[str, Any] = {}
    for key in _DECODING:
        value = file.attribute(number, key)
        if value is not None:
            # Texts of variable length are references to a heap.
            decoding[key] = value.data if value.datatype["class"] != "variable string" else netcdf_value(value_of(value, file))
    return decoding
