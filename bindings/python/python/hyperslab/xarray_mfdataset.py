"""Many files for xarray: variables that are concatenated along one dimension, checked when they are opened."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray
from xarray import Variable
from xarray.backends import AbstractDataStore
from xarray.core import indexing

from . import _native
from .attributes import Attributes, value_of
from .dataset import Dataset
from .errors import ConflictError, InvalidInputError
from .xarray_array import converted
from .xarray_attributes import netcdf_value
from .xarray_concatenated import ConcatenatedArray
from .xarray_groups import normalized
from .xarray_opening import FileVersion, OpenedFile
from .xarray_store import HyperslabStore

#: Attributes that say how values are decoded: variables with different ones cannot be one array.
_DECODING = ("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "units", "calendar", "dtype")
#: Those of times, which are decoded file by file if they differ.
_OF_TIMES = ("units", "calendar")


class Variation(NamedTuple):
    """What the files have of one variable: its datasets, and the lengths along the concatenated dimension."""

    datasets: list[Dataset]
    lengths: list[int]


class OpenManager:
    """The manager of a file that is open already."""

    def __init__(self, opened: OpenedFile) -> None:
        self._opened = opened

    def acquire(self, needs_lock: bool = True) -> OpenedFile:
        """The open file."""
        return self._opened

    def close(self, needs_lock: bool = True) -> None:
        """Closes the file."""
        self._opened.file.close()


class FilesStore(AbstractDataStore):
    """The variables of one group of many files. What the first file has, all have to have."""

    def __init__(self, files: Sequence[_native.File], group: str | None, concat_dim: str | None, compat: str, drop: Collection[str]) -> None:
        """Opens the group of each file and compares them.

        Args:
            files: Open files, in order.
            group: Path of the group.
            concat_dim: The dimension along which files follow each other; by default the only one that is unlimited or differs.
            compat: Whether variables without that dimension are compared: `equals`, or `override` for the first file's.
            drop: Names of variables that are left out.

        Raises:
            ConflictError: A file differs from the first one.
            InvalidInputError: `concat_dim` is not a dimension, or has to be given.
        """
        self._files, self._group = list(files), normalized(group)
        self._opened = [OpenedFile(file, FileVersion.of(file.path)) for file in self._files]
        self._first = HyperslabStore(OpenManager(self._opened[0]), group, self._files[0].path, drop)
        self._template = self._first.get_variables()
        self._concat_dim = concat_dim or self._only_dimension()
        if not any(self._concat_dim in variable.dims for variable in self._template.values()):
            names = sorted({str(dim) for variable in self._template.values() for dim in variable.dims})
            raise InvalidInputError(f"concat_dim={self._concat_dim!r} is not a dimension of the files; they have {', '.join(names) or 'none'}")
        self._joined = {str(name): Variation([], []) for name, variable in self._template.items() if self._concat_dim in variable.dims}
        first_attributes = {name: self._decoding(0, name) for name in self._joined}
        self._differing_times: set[str] = set()
        if compat == "equals" and len(self._files) > 1:
            self._template = {name: variable if name in self._joined else variable.load() for name, variable in self._template.items()}
        for index in range(len(self._files)):
            self._add(index, first_attributes, compat == "equals" and index > 0)

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
        return {**self._first.get_encoding(), "sources": [file.path for file in self._files]}

    def close(self) -> None:
        """Closes all files."""
        for file in self._files:
            file.close()

    def dataset(self, name: str, file: int) -> Any:
        """The dataset of a variable in one of the files, which must not have changed."""
        self._opened[file].check_unchanged()
        return self._joined[name].datasets[file]

    def _only_dimension(self) -> str:
        declared = self._first.get_dimensions()
        unlimited = sorted(self._first.get_encoding()["unlimited_dims"])
        if len(unlimited) == 1:
            return str(unlimited[0])
        if len(self._files) == 1 and len(declared) == 1:
            return next(iter(declared))
        differing = []
        if len(self._files) > 1:
            other = HyperslabStore(OpenManager(self._opened[1]), self._group, self._files[1].path)
            extents, second = other.get_dimensions(), other.get_variables()
            for name, extent in declared.items():
                mine, theirs = self._template.get(name), second.get(name)
                coordinates_differ = mine is not None and theirs is not None and not np.array_equal(mine.values, theirs.values)
                if extents.get(name) != extent or coordinates_differ:
                    differing.append(name)
        if len(differing) != 1:
            raise InvalidInputError(f"which dimension follows from file to file is not clear; give concat_dim=, one of {', '.join(declared) or 'none'}")
        return differing[0]

    def _path(self, name: str) -> str:
        return f"{self._group.rstrip('/')}/{name}"

    def _decoding(self, index: int, name: str, number: int | None = None) -> dict[str, Any]:
        """The attributes of a variable that say how it is decoded, as bytes that can be compared."""
        file = self._files[index]
        number = file.find(self._path(name))[1] if number is None else number
        decoding: dict[str, Any] = {}
        for key in _DECODING:
            value = file.attribute(number, key)
            if value is not None:
                # Texts of variable length are references to a heap.
                decoding[key] = value.data if value.datatype["class"] != "variable string" else netcdf_value(value_of(value, file))
        return decoding

    def _add(self, index: int, first_attributes: Mapping[str, dict[str, Any]], compare: bool) -> None:
        """Adds a file, once it is known to fit."""
        file, length = self._files[index], None
        for name, variable in self._template.items():
            path = self._path(str(name))
            try:
                other, number = file.find(path)
            except LookupError:
                raise ConflictError(f"there is no {path}, which {self._files[0].path} has: leave it out with drop_variables", file.path, path) from None
            if name not in self._joined:
                if compare:
                    self._compare(str(name), variable, Dataset(other, number, path))
                continue
            # One object a file, so that a pickle has each file once.
            other = file if other == file else other
            about, joined = other.describe(number, path), self._joined[str(name)]
            first = joined.datasets[0]._about if joined.datasets else about
            axis, shape = variable.dims.index(self._concat_dim), tuple(about.get("shape") or ())
            if about["kind"] != "dataset" or about["datatype"] != first["datatype"]:
                raise ConflictError(f"{path} has another datatype than in {self._files[0].path}", file.path, path)
            if len(shape) != len(variable.shape) or shape[:axis] + shape[axis + 1 :] != variable.shape[:axis] + variable.shape[axis + 1 :]:
                raise ConflictError(f"{path} has the shape {shape}, but {variable.shape} in {self._files[0].path}", file.path, path)
            if length not in (None, shape[axis]):
                raise ConflictError(f"{path} has {shape[axis]} elements along {self._concat_dim!r}, other variables {length}", file.path, path)
            length = shape[axis]
            decoding = self._decoding(index, str(name), number) if other is file else first_attributes[str(name)]
            for key in _DECODING:
                if decoding.get(key) != first_attributes[str(name)].get(key):
                    if key not in _OF_TIMES or "since" not in str(variable.attrs.get("units")):
                        raise ConflictError(f"{path} has another {key} than in {self._files[0].path}", file.path, path)
                    self._differing_times.add(str(name))
            # Files of a set are alike: they share one description.
            joined.datasets.append(Dataset(other, number, path, first if about == first else about))
            joined.lengths.append(shape[axis])

    def _compare(self, name: str, variable: Variable, other: Dataset) -> None:
        first = variable.values
        values = converted(np.asarray(other[...]), other._about["datatype"], variable.dtype) if other.kind == "dataset" else None
        if values is None or values.shape != first.shape or not np.array_equal(values, first, equal_nan=first.dtype.kind in "fc"):
            hint = "compat='override' takes those of the first file"
            raise ConflictError(f"{other.name} has other values than in {self._files[0].path}; {hint}", other._file.path, other.name)

    def _concatenated(self, name: str, variable: Variable) -> Variable:
        joined = self._joined[name]
        axis, datatype = variable.dims.index(self._concat_dim), joined.datasets[0]._about["datatype"]
        shape = (*variable.shape[:axis], sum(joined.lengths), *variable.shape[axis + 1 :])
        encoding = {**variable.encoding, "original_shape": shape}
        if name in self._differing_times:
            return self._decoded_times(name, variable, encoding)
        data = ConcatenatedArray(self, name, joined.lengths, axis, shape, variable.dtype, datatype)
        return Variable(variable.dims, indexing.LazilyIndexedArray(data), variable.attrs, encoding)

    def _decoded_times(self, name: str, variable: Variable, encoding: dict[str, Any]) -> Variable:
        """Times that count from another date in each file, decoded and in memory."""
        parts = []
        for index, dataset in enumerate(self._joined[name].datasets):
            attributes = {key: netcdf_value(value, key) for key, value in Attributes(dataset._file, dataset._number).items()}
            values = converted(np.asarray(self.dataset(name, index)[...]), dataset._about["datatype"], variable.dtype)
            parts.append(xarray.conventions.decode_cf_variable(name, Variable(variable.dims, values, attributes)))
        whole = Variable.concat(parts, self._concat_dim)  # type: ignore[no-untyped-call]
        kept = {key: parts[0].encoding[key] for key in ("units", "calendar") if key in parts[0].encoding}
        return Variable(variable.dims, whole.values, parts[0].attrs, {**encoding, **kept})
