"""MATLAB objects: resolves what references of cell arrays, structs and objects point at, level by level and in bulk.

Datasets of one description become one array (`matlab_values`). Cell arrays, structs and objects of classes are containers; they are
put together when everything below them is known, without recursion, so that neither their number nor their depth matters. What an
object of a class has is in the file's subsystem (`matlab_subsystem`), and what it means in `matlab_classes`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsInt

import numpy as np

from .. import _native, dtypes
from ..base.errors import CorruptError, Error, ObjectNotFoundError, UnsupportedError
from ..base.type_aliases import AnyArray
from ..objects import attributes, reading
from ..values.references import Reference
from . import matlab_classes, matlab_values
from .matlab_containers import Container, Elements, Values, as_array, distinct, squeezed, struct_of
from .matlab_instances import FIRST_INSTANCE, Instances
from .matlab_subsystem import Subsystem, is_reference
from .matlab_values import MatlabObject, MatlabValue, Named

#: Attributes that tell what an object is.
_ATTRIBUTES = ["MATLAB_class", "MATLAB_empty", "MATLAB_fields", "MATLAB_object_decode", "MATLAB_sparse"]
#: `MATLAB_object_decode` of objects whose properties are in the subsystem.
_IN_SUBSYSTEM = 3
#: The members of the struct that an array of an enumeration is stored as.
_ENUMERATION = {"EnumerationInstanceTag", "ClassName", "ValueNames", "ValueIndices"}


class Reader:
    """Reads objects of one file, each once."""

    def __init__(self, file: _native.File, squeeze: bool) -> None:
        self._file, self._squeeze = file, squeeze
        self.values = Values()
        self._containers: dict[int, Container] = {}
        self._instances: Instances | None = None
        #: Objects below properties, where references to objects have no attribute of their own.
        self._inside: set[int] = set()

    def read(self, numbers: list[int], name: str) -> list[MatlabValue]:
        """The values of the objects with these numbers. Errors name the object, or else the variable called `name`."""
        try:
            self._discover(numbers)
            for number in self._ordered(numbers):
                self.values[number] = self._built(number)
        except Error as error:
            if error.object is not None and error.file is not None:
                raise
            raise type(error)(error.message, self._file.path, error.object or name, error.offset) from None
        return self.values.of(numbers)

    def _discover(self, numbers: Iterable[int]) -> None:
        """Reads all objects below these, level by level."""
        level = distinct(np.fromiter(numbers, np.uint64))
        while len(level):
            level = self.values.missing(level)
            level = level[~np.isin(level, np.fromiter(self._containers, np.uint64, len(self._containers)))]
            below: list[AnyArray] = []
            for group in _native.gather(self._file, level.astype("<u8").tobytes(), _ATTRIBUTES) if len(level) else ():
                self._add(group, level[np.frombuffer(group.positions, "<u8").astype(np.int64)], below)
            level = distinct(np.concatenate(below)) if below else level[:0]

    def _add(self, group: _native.Gathered, numbers: AnyArray, below: list[AnyArray]) -> None:
        """Values, or containers, for the objects of one description."""
        about = {name: attributes.value_of(value, self._file) for name, value in group.attributes}
        class_name = _text(about.get("MATLAB_class", ""))
        if group.kind == "group":
            return self._add_groups(group, numbers, about, class_name, below)
        if group.kind != "dataset" or group.datatype is None:
            raise UnsupportedError(f"a {group.kind} is not a value of MATLAB", object=self._path(numbers[0]))
        datatype, shape = group.datatype, tuple(group.shape or ())
        is_empty = bool(np.any(about.get("MATLAB_empty", 0)))
        stored = self._stored(group, numbers, datatype, shape)
        if "MATLAB_object_decode" in about or (self._inside and class_name == "uint32"):
            numbers, stored = self._add_references(numbers, stored, about, class_name, below)
        if datatype.class_name == "reference" and not is_empty:
            if datatype.size != 8 or datatype.reference_kind != "object":
                raise UnsupportedError(
                    f"references of kind {datatype.reference_kind} with {datatype.size} bytes in a cell array", object=self._path(numbers[0])
                )
            kind = "cell" if class_name else "refs"
            of_class = "" if class_name in ("", "cell") else class_name
            for number, children in zip(numbers.tolist(), stored, strict=True):
                addresses = np.ascontiguousarray(children).view("<u8").ravel()
                if not addresses.all():
                    raise CorruptError("an element of a cell array is a null reference", object=self._path(number))
                below.append(distinct(addresses))
                self._containers[number] = Container(kind, of_class, addresses, [], shape[::-1])
                if number in self._inside:
                    self._inside.update(addresses.tolist())
            return None
        self.values.add(numbers, self._leaves(stored, numbers, about, class_name, is_empty))
        return None

    def _leaves(self, stored: list[AnyArray] | AnyArray, numbers: AnyArray, about: Named, class_name: str, is_empty: bool) -> list[MatlabValue]:
        if is_empty:
            found = []
            for number, extents in zip(numbers.tolist(), stored, strict=True):
                shape = tuple(int(extent) for extent in np.ravel(extents))
                found.append(matlab_values.empty(class_name, shape, self._squeeze, self._path(number)))
            return found
        if not isinstance(stored, np.ndarray):
            return [self._leaves(np.asarray(one)[None], numbers[i : i + 1], about, class_name, False)[0] for i, one in enumerate(stored)]
        if class_name == "char":
            try:
                return matlab_values.texts(stored)
            except CorruptError as error:
                # A path is found by a search, which takes long in a file of many objects.
                raise CorruptError(error.message, object=self._path(numbers[0])) from None
        values = matlab_values.in_matlab_order(matlab_values.numbers(stored), self._squeeze)
        if class_name == "logical":
            values = values.astype(bool)
        # Lists of arrays are views of one array; lists of scalars are numpy's scalars.
        found = list(values)
        if class_name in ("", "logical", *matlab_values.NUMBERS) and "MATLAB_object_decode" not in about:
            return found
        return [MatlabObject(class_name, value) for value in found]

    def _add_groups(self, group: _native.Gathered, numbers: AnyArray, about: Named, class_name: str, below: list[AnyArray]) -> None:
        members = np.frombuffer(group.members, "<u8").reshape(len(numbers), -1)
        kind, rows = "struct", tuple[int, ...]()
        names, order = group.names, list(range(len(group.names)))
        if "MATLAB_sparse" in about:
            kind, rows = "sparse", (self._number(about["MATLAB_sparse"], "MATLAB_sparse", numbers),)
        elif "MATLAB_fields" in about:
            fields = self._fields(about["MATLAB_fields"])
            if sorted(fields) != sorted(names):
                raise CorruptError(f"MATLAB_fields names {fields}, but the members are {names}", object=self._path(numbers[0]))
            order = [names.index(field) for field in fields]
        if set(names) >= _ENUMERATION:
            kind = "enumeration"
        names = [names[i] for i in order]
        of_class = class_name if kind == "sparse" or class_name != "struct" else ""
        for number, children in zip(numbers.tolist(), members[:, order].tolist(), strict=True):
            self._containers[number] = Container(kind, of_class, children, names, rows)
            if number in self._inside:
                self._inside.update(children)
        below.append(distinct(members))

    def _fields(self, stored: MatlabValue) -> list[str]:
        """The names of the fields of a struct in MATLAB's order. Many are in a dataset that the attribute refers to."""
        if isinstance(stored, Reference):
            if stored.path is None:
                raise CorruptError("MATLAB_fields is a dangling reference")
            _, number = self._file.find(stored.path)
            stored = self._raw(number)
        fields = np.ravel(stored)
        if fields.dtype.kind != "O" or not all(isinstance(field, np.ndarray) and field.dtype.kind == "S" for field in fields):
            raise CorruptError("MATLAB_fields is not a list of names")
        return [_text(b"".join(np.ravel(field).tolist())) for field in fields]

    def _add_references(
        self, numbers: AnyArray, stored: list[AnyArray] | AnyArray, about: Named, class_name: str, below: list[AnyArray]
    ) -> tuple[AnyArray, list[AnyArray] | AnyArray]:
        """Containers for what refers to objects of classes; returns what does not."""
        is_object = self._number(about.get("MATLAB_object_decode", 0), "MATLAB_object_decode", numbers) == _IN_SUBSYSTEM
        refers = [is_reference(values) and (is_object or number in self._inside) for number, values in zip(numbers.tolist(), stored, strict=True)]
        instances = self._opened() if any(refers) else None
        if instances is None:
            return numbers, stored
        for number, values, is_one in zip(numbers.tolist(), stored, refers, strict=True):
            if is_one:
                self._containers[number], found = instances.containers(values, class_name if is_object else "")
                self._containers.update(found)
                addresses = [int(child) for container in found.values() for child in container.children if child < FIRST_INSTANCE]
                self._inside.update(addresses)
                below.append(np.array(addresses, np.uint64))
        rest = [i for i, is_one in enumerate(refers) if not is_one]
        return numbers[rest], stored[rest] if isinstance(stored, np.ndarray) else [stored[i] for i in rest]

    def _number(self, value: MatlabValue, attribute: str, numbers: AnyArray) -> int:
        """The value of an attribute that is one integer."""
        found = np.ravel(value)
        if found.size != 1 or found.dtype.kind not in "iu":
            raise CorruptError(f"the attribute {attribute} is not one integer", object=self._path(numbers[0]))
        return int(found[0])

    def _opened(self) -> Instances | None:
        """The objects of the file's subsystem; `None` for a file without one."""
        if self._instances is None:
            try:
                _, number = self._file.find("/#subsystem#/MCOS")
            except ObjectNotFoundError:
                return None
            try:
                cells = self._addresses(number)
                if not len(cells):
                    raise CorruptError("the subsystem has no cells")
                subsystem = Subsystem(self._raw(int(cells[0])), cells)
                self._instances = Instances(subsystem, self._addresses(subsystem.defaults).tolist())
            except Error as error:
                raise type(error)(error.message, self._file.path, error.object or "/#subsystem#/MCOS") from None
        return self._instances

    def _raw(self, number: int) -> AnyArray:
        """The values of one dataset as they are stored."""
        (group,) = _native.gather(self._file, np.array([number], "<u8").tobytes(), _ATTRIBUTES)
        if group.kind != "dataset" or group.datatype is None or group.shape is None:
            raise CorruptError(f"a {group.kind} in the place of a dataset", object=self._path(number))
        return np.asarray(self._stored(group, np.array([number], np.uint64), group.datatype, tuple(group.shape))[0])

    def _addresses(self, number: int) -> AnyArray:
        """The numbers of the objects that a cell array refers to."""
        raw = np.ascontiguousarray(self._raw(number))
        if raw.nbytes % 8 or raw.dtype.kind not in "uV":
            raise CorruptError("a cell array without references", object=self._path(number))
        return raw.view("<u8").ravel()

    def _stored(self, group: _native.Gathered, numbers: AnyArray, datatype: _native.Datatype, shape: tuple[int, ...]) -> list[AnyArray] | AnyArray:
        """The values of datasets: one array along whose first dimension they lie, or a list if they are read one by one."""
        is_reference = datatype.class_name == "reference"
        if group.values is not None and (is_reference or (datatype.is_plain)):
            dtype = dtypes.stored_dtype(datatype)
            return np.frombuffer(group.values, dtype).reshape(len(numbers), *shape)
        if group.shape is None:
            raise UnsupportedError("a dataset with a null dataspace is not a value of MATLAB", object=self._path(numbers[0]))
        axes = [(0, extent, 1) for extent in shape]
        if is_reference:
            found = []
            for number in numbers.tolist():
                raw = np.empty((*shape, datatype.size), np.uint8)
                self._file.read_into(number, axes, raw.ctypes.data, raw.nbytes)
                found.append(raw)
            return found
        return [reading.read(self._file, number, datatype, axes, shape) for number in numbers.tolist()]

    def _ordered(self, numbers: list[int]) -> list[int]:
        """The containers below these objects, each after those that are in it."""
        order: list[int] = []
        done: set[int] = set()
        open_: set[int] = set()
        for first in numbers:
            pending: list[tuple[int, bool]] = [(first, False)]
            while pending:
                number, is_left = pending.pop()
                if is_left:
                    open_.discard(number)
                    done.add(number)
                    order.append(number)
                    continue
                if number in done or number in self.values:
                    continue
                if number in open_:
                    self._close_loop(number)
                    continue
                open_.add(number)
                pending.append((number, True))
                for child in self._inner(self._containers[number].children):
                    if child in done or child in self.values:
                        continue
                    if child in open_:
                        self._close_loop(child)
                    else:
                        pending.append((child, False))
        return order

    def _inner(self, children: list[int] | AnyArray) -> list[int]:
        """The children that are containers."""
        if len(children) > len(self._containers):
            known = np.fromiter(self._containers, np.uint64, len(self._containers))
            return list(np.asarray(children)[np.isin(children, known)].tolist())
        return [child for child in map(int, children) if child in self._containers]

    def _close_loop(self, number: int) -> None:
        """A value that contains itself: an object may, and is made before its contents; nothing else."""
        kind, class_name, *_ = self._containers[number]
        if kind != "object":
            raise CorruptError("a cell array or struct contains itself", self._file.path, self._path(number))
        if matlab_classes.known(class_name):
            raise UnsupportedError(f"a {class_name} that contains itself", self._file.path)
        self.values[number] = MatlabObject(class_name, {})

    def _built(self, number: int) -> MatlabValue:
        """The value of a container, when the values of its children are known."""
        kind, class_name, children, names, shape, literals = self._containers[number]
        found = self.values.of(children)
        if kind == "deleted":
            return None
        if kind == "object":
            return self._object(number, class_name, dict(zip(names, found, strict=True)), literals or {})
        if kind == "sparse":
            parts = {name: np.ravel(part) for name, part in zip(names, found, strict=True)}
            return matlab_values.sparse(shape[0], parts, class_name == "logical", self._path(number))
        if kind == "enumeration":
            return self._enumeration(number, class_name, dict(zip(names, found, strict=True)))
        if kind == "struct":
            try:
                value = struct_of(names, found, self._squeeze)
            except CorruptError as error:
                raise CorruptError(error.message, object=self._path(number)) from None
            return MatlabObject(class_name, value) if class_name else value
        if kind == "refs":
            return Elements(as_array(found, len(found), shape))
        if kind == "objects":
            found = [MatlabObject(class_name, None) if value is None else value for value in found]
            # A string, a table and their kin are one object, however many elements they have.
            return found[0] if shape == (1, 1) and (self._squeeze or matlab_classes.known(class_name)) else squeezed(found, shape, self._squeeze)
        value = squeezed(found, shape, self._squeeze)
        return MatlabObject(class_name, value) if class_name else value

    def _object(self, number: int, class_name: str, properties: Named, literals: Named) -> MatlabValue:
        """The value of an object of a class: what it means, or else its properties by their names."""
        defaults = properties.pop("", None)
        contents = (dict(defaults) if isinstance(defaults, dict) else {}) | properties | literals
        if matlab_classes.known(class_name):
            return matlab_classes.value_of(class_name, contents, self._squeeze)
        made = self.values.get(number)
        if isinstance(made, MatlabObject):
            made.contents.update(contents)
            return made
        return MatlabObject(class_name, contents)

    def _enumeration(self, number: int, class_name: str, parts: Named) -> MatlabObject:
        """An array of members of an enumeration, by their names."""
        instances = self._opened()
        if instances is None:
            return MatlabObject(class_name, parts)
        subsystem = instances.subsystem

        def numbers(part: str) -> AnyArray:
            values: AnyArray = np.asarray(parts.get(part))
            if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
                raise CorruptError(f"{part} of an enumeration are not numbers", object=self._path(number))
            return values

        names = [subsystem.name(int(index)) for index in np.ravel(numbers("ValueNames"))]
        indices = numbers("ValueIndices")
        if indices.size and int(indices.max()) >= len(names):
            raise CorruptError(f"a member of an enumeration has number {int(indices.max())} of {len(names)}")
        class_name = class_name or subsystem.class_name(int(np.ravel(numbers("ClassName"))[0]))
        members = as_array((names[int(i)] for i in indices.ravel(order="F")), indices.size, indices.shape)
        return MatlabObject(class_name, members.item() if not members.ndim else members.tolist() if members.ndim == 1 else members)

    def _path(self, number: SupportsInt) -> str:
        try:
            return self._file.object_path(int(number))
        except Error:
            return f"object {int(number):#x}"


def _text(value: MatlabValue) -> str:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    return value.decode("utf-8", "replace").rstrip("\0") if isinstance(value, bytes) else str(value)
