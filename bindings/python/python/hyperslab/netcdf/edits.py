"""NetCDF edits: dimensions, variables and types that are added to an existing netCDF-4 file, with the arguments of `create_netcdf`."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import _native
from ..backends.backend import Changes
from ..backends.reading import Reading
from ..base.errors import InvalidInputError
from ..base.type_aliases import DtypeLike, Elements, VariableOptions
from ..files.file import File
from ..objects import scales
from ..objects.dataset import Dataset
from ..objects.datatype import Datatype
from ..objects.group import Group
from ..objects.links import HardLink
from ..objects.netcdf_dimension import NetcdfDimension
from ..values import dtype_encoding
from ..values.netcdf_types import NetcdfType, fixed_text
from .dimension_scales import NO_VARIABLE, write_coordinates, write_scale
from .variables import Contents, Variable
from .view import NO_COORDINATE, NetcdfView, storage_of

#: The beginning of the label of a dimension without a variable.
_NO_VARIABLE = NO_VARIABLE.partition("{")[0]


def raw_file(changes: Changes) -> File:
    """The file with all changes so far, read as HDF5."""
    return File(Reading(changes.raw))


class EditedContents(Contents):
    """The definitions of an existing file, as long as nothing but these functions changes it."""

    def __init__(self, changes: Changes) -> None:
        super().__init__()
        self.edits = changes.edits
        root = raw_file(changes)
        datasets = list(_datasets(root, self.types))
        unnumbered = []
        for path, dataset in datasets:
            if scales.plain(dataset.attrs.get("CLASS")) != "DIMENSION_SCALE" or not dataset.shape:
                continue
            number = dataset.attrs.get("_Netcdf4Dimid")
            dimension = NetcdfDimension(path, dataset.shape[0] if dataset.maxshape[0] is not None else None, -1 if number is None else int(np.ravel(number)[0]))
            self.dimensions[path] = dimension
            if number is None:
                unnumbered.append(dimension)
        for dimension in unnumbered:
            # A file of another library than netCDF: it numbers them in their order.
            dimension.number = self.next_number()
        self.dimensions = dict(sorted(self.dimensions.items(), key=lambda item: item[1].number))
        by_number = {dimension.number: dimension for dimension in self.dimensions.values()}
        by_address = {scales.address(root[path]): dimension for path, dimension in self.dimensions.items()}
        writer = EditedWriter(changes)
        for path, dataset in datasets:
            own = self.dimensions.get(path)
            if own is not None and scales.plain(dataset.attrs.get("NAME", "")).startswith(_NO_VARIABLE):
                continue
            above, _, name = path.rpartition("/")
            made = Variable(writer, "/" + path, dataset.datatype)
            if own is not None:
                others = [by_number.get(int(number)) for number in np.ravel(dataset.attrs.get("_Netcdf4Coordinates", []))]
                found = [own, *others[1:]] if others else [own]
            else:
                found = [
                    by_address.get(addresses[0]) if addresses else None for addresses in scales.addresses(dataset.attrs.get("DIMENSION_LIST"), dataset.shape)
                ]
            made.found = tuple(one for one in found if one is not None)
            made.dims = tuple(one.name for one in made.found)
            self.variables[f"{above}/{name.removeprefix(NO_COORDINATE)}".strip("/")] = made

    def next_number(self) -> int:
        """The number of a new dimension."""
        return max((dimension.number for dimension in self.dimensions.values()), default=-1) + 1


def _datasets(group: Group, types: dict[str, NetcdfType]) -> Iterator[tuple[str, Dataset]]:
    """Paths and datasets of a group and the groups in it. Committed datatypes become `types`."""
    for name in group:
        if not isinstance(group.get(name, getlink=True), HardLink):
            continue
        member = group[name]
        path = member.name.strip("/")
        if isinstance(member, Group):
            yield from _datasets(member, types)
        elif isinstance(member, Datatype):
            datatype = member.datatype
            # As the functions that create types: elements of types of variable length and of opaque types are objects.
            shown = dtype_encoding.numpy_dtype(datatype) if datatype.class_name in ("compound", "enum") else np.dtype(object)
            types[path] = NetcdfType(path, shown, datatype)
        elif isinstance(member, Dataset) and member.shape is not None:
            yield path, member


class StoredDataset:
    """A dataset as HDF5 has it, including the dataset of a dimension without a variable, which netCDF does not list."""

    def __init__(self, changes: Changes, path: str) -> None:
        self._changes, self._backend, self.path = changes, changes, "/" + path.strip("/")

    @property
    def _file(self) -> _native.File:
        return self._changes.raw

    @property
    def _number(self) -> int:
        return self._file.find(self.path)[1]

    def _own_number(self) -> int:
        return self._number

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        return tuple(self._file.describe(self._number, self.path)["shape"] or ())


class EditedWriter:
    """What groups and variables of `create_netcdf` ask of a writer, done at once in an existing file."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes

    def create_group(self, path: str) -> None:
        """Creates a group that records the order of its members, unless it is there."""
        parts = path.strip("/").split("/")
        for count in range(1, len(parts) + 1):
            above = "/" + "/".join(parts[:count])
            if parts[0] and not self.changes.raw.exists(above):
                self.changes.make(operator.methodcaller("create_group", above, True))

    def create_datatype(self, path: str, datatype: _native.Datatype) -> None:
        """Commits a datatype."""
        self.changes.make(lambda editor: editor.create_datatype(path, datatype))

    def create_dataset(self, path: str, definition: _native.DatasetDefinition) -> None:
        """Creates a dataset."""
        self.create_group(path.rpartition("/")[0])
        self.changes.make(lambda editor: editor.create_dataset(path, definition, True))

    def set_attribute(self, path: str, name: str, shape: Sequence[int] | None, datatype: _native.Datatype, value: bytes, heap: list[bytes]) -> None:
        """Sets an attribute."""
        number = StoredDataset(self.changes, path)._number
        self.changes.make(lambda editor: editor.set_attribute(number, name, shape, datatype, value, heap))

    def attribute(self, path: str, name: str) -> _native.AttributeValue | None:
        """An attribute; `None` if there is none."""
        file = self.changes.raw
        return file.attribute(file.find(path)[1], name)

    def remove_attribute(self, path: str, name: str) -> None:
        """Removes an attribute."""
        number = StoredDataset(self.changes, path)._number
        self.changes.make(lambda editor: editor.delete_attribute(number, name))

    def attribute_names(self, path: str) -> list[str]:
        """Names of the attributes of an object."""
        return list(raw_file(self.changes)[path].attrs)

    def shape(self, path: str) -> list[int] | None:
        """The shape of a dataset."""
        return list(StoredDataset(self.changes, path).shape)


class EditedView(NetcdfView):
    """What netCDF sees of a group of an existing file, whose definitions are changed at once."""

    contents: EditedContents

    def __init__(self, group: Group) -> None:
        changes: Changes = group._changes
        known = changes.netcdf
        if known is None or known.edits != changes.edits:
            known = changes.netcdf = EditedContents(changes)
        super().__init__(group, EditedWriter(changes), known)

    def settled(self) -> None:
        """Marks the definitions as up to date with the file."""
        self.contents.edits = self._changes.edits

    def _number(self, path: str) -> int:
        return self.contents.next_number()

    def create_dimension(self, name: str, size: int | None = None) -> NetcdfDimension:
        path = self._place(name, "dimension")
        if path in self.contents.dimensions or path in self.contents.variables:
            return super().create_dimension(name, size)  # the error
        if self._changes.raw.exists("/" + path):
            raise InvalidInputError(f"there is an object of the name {path!r} already", self._changes.path)
        if not self.contents.dimensions and not self.contents.variables and "_NCProperties" not in raw_file(self._changes).attrs:
            self._writer.set_attribute("/", "_NCProperties", *fixed_text(f"version=2,hyperslab={_native.__version__}"))
        made = super().create_dimension(name, size)
        write_scale(self.contents, self._writer, made)
        return made

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
        storage_of(options, sizes)
        own = self.contents.dimensions.get(path)
        if own is None and self._changes.raw.exists("/" + path):
            raise InvalidInputError(f"there is an object of the name {path!r} already", self._changes.path)
        #: Variables, with their axes, that have the dimension whose variable comes now.
        self._users = [] if own is None else self._users_of(own)
        for variable, axis in self._users:
            scales.disconnect(self._stored(variable), axis, self._stored(path))
        if own is not None:
            self._changes.remove("/" + path)
        return super()._new_variable(path, shape, sizes, given, fill, options, data, missing)

    def _users_of(self, dimension: NetcdfDimension) -> list[tuple[str, int]]:
        return [
            (variable.path, axis)
            for variable in self.contents.variables.values()
            for axis, found in enumerate(variable.found)
            if found is dimension and not scales.is_scale(self._stored(variable.path))
        ]

    def _known(self, made: Variable) -> Variable:
        """The file has it."""
        return made

    def _declared(self, made: Variable) -> None:
        """Its dimensions are attached at once."""

    def _fill_variable(self, made: Variable, data: Elements) -> None:
        if made.type is not None:
            data = made.type.checked(data, f"variable {made.path!r}")
        self.dataset(made)[...] = np.ma.filled(data, made.fill) if np.ma.isMaskedArray(data) else data

    def create_variable(self, name: str, dims: str | Sequence[str] = (), dtype: DtypeLike | None = None, data: Elements = None, **options: Any) -> Variable:
        path = self._place(name, "variable")
        there = set(self.contents.variables)
        try:
            made = super().create_variable(name, dims, dtype, data, **options)
            self._joined(made)
        except BaseException:
            self._undone(path, there)
            raise
        return made

    def _joined(self, made: Variable) -> None:
        """Connects a new variable with its dimensions, and the users of its dimension with it."""
        path = next(path for path, variable in self.contents.variables.items() if variable is made)
        dataset, own = self._stored(made.path), self.contents.dimensions.get(path)
        if own is not None and made.found[:1] == (own,):
            write_scale(self.contents, self._writer, own)
            for variable, axis in self._users:
                scales.connect(self._stored(variable), axis, dataset)
            if len(made.found) > 1:
                write_coordinates(self._writer, made.path, made.found)
            return
        for axis, dim in enumerate(made.found):
            scales.connect(dataset, axis, self._stored(dim.path))

    def _undone(self, path: str, there: set[str]) -> None:
        """Removes a variable that could not be created whole, and gives its dimension back."""
        made = self.contents.variables.get(path)
        if path in there or not (made is not None or hasattr(self, "_users")):
            return
        self.contents.variables.pop(path, None)
        own = self.contents.dimensions.get(path)
        stored = "/" + path if made is None else made.path
        dataset = self._stored(stored)
        if made is not None:
            attached = scales.attached(dataset)
            for axis, dim in enumerate(made.found):
                if attached[axis : axis + 1] and attached[axis]:
                    scales.disconnect(dataset, axis, self._stored(dim.path))
        if self._changes.raw.exists(stored) and (made is not None or own is None):
            self._changes.remove(stored)
        if own is not None and not self._changes.raw.exists("/" + path):
            write_scale(self.contents, self._writer, own)
            for variable, axis in self._users:
                scales.connect(self._stored(variable), axis, self._stored(path))

    def _stored(self, path: str) -> StoredDataset:
        return StoredDataset(self._changes, path)
