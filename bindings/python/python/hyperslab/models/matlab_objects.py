"""MATLAB objects: resolves what references of cell arrays, structs and objects point at, level by level and in bulk.

Datasets of one description become one array (`matlab_values`). Cell arrays, structs and objects of classes are containers; they are
put together when everything below them is known, without recursion, so that neither their number nor their depth matters. What an
object of a class has is in the file's subsystem (`matlab_subsystem`), and what it means in `matlab_classes`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .. import _native, dtypes, nonstandard_numbers
from ..errors import CorruptError, Error, ObjectNotFoundError, UnsupportedError
from ..objects import attributes, reading
from ..type_aliases import AnyArray
from ..values.references import Reference
from . import matlab_classes, matlab_values
from .matlab_subsystem import Objects, Subsystem, is_reference
from .matlab_values import MatlabObject

#: Attributes that tell what an object is.
_ATTRIBUTES = ["MATLAB_class", "MATLAB_empty", "MATLAB_fields", "MATLAB_object_decode", "MATLAB_sparse"]
#: `MATLAB_object_decode` of objects whose properties are in the subsystem.
_IN_SUBSYSTEM = 3
#: Objects of the subsystem have numbers of their own, above those of HDF5's objects.
_OBJECTS = 1 << 62
#: The members of the struct that an array of an enumeration is stored as.
_ENUMERATION = {"EnumerationInstanceTag", "ClassName", "ValueNames", "ValueIndices"}


class Container(NamedTuple):
    """A cell array, a struct, or the elements of a field of a struct array (`refs`).

    Attributes:
        kind: `cell`, `refs`, `struct`, `sparse`, `objects` (an array of objects), `object`, or `enumeration`.
        class_name: The class of a value that is more than a cell array or struct; else empty.
        children: Numbers of the objects in it, in the order of the file.
        names: Of structs, sparse matrices and objects: the names of the children.
        shape: Of cells, refs and arrays of objects: the shape in MATLAB. Of sparse matrices: the number of rows.
        literals: Of objects: properties that are no objects of the file.
    """

    kind: str
    class_name: str
    children: list[int]
    names: list[str]
    shape: tuple[int, ...]
    literals: dict[str, Any] | None = None


class Reader:
    """Reads objects of one file, each once."""

    def __init__(self, file: _native.File, squeeze: bool) -> None:
        self._file, self._squeeze = file, squeeze
        self.values: dict[int, Any] = {}
        self._containers: dict[int, Container] = {}
        self._subsystem: Subsystem | None = None
        #: The default properties of classes, by the number of the class.
        self._defaults: list[int] = []
        #: Objects below properties, where references to objects have no attribute of their own.
        self._inside: set[int] = set()

    def read(self, numbers: list[int], name: str) -> list[Any]:
        """The values of the objects with these numbers. Errors name the object, or else the variable called `name`."""
        try:
            self._discover(numbers)
            for number in self._ordered(numbers):
                self.values[number] = self._built(number)
        except Error as error:
            if error.object is not None and error.file is not None:
                raise
            raise type(error)(error.message, self._file.path, error.object or name, error.offset) from None
        return [self.values[number] for number in numbers]

    def _discover(self, numbers: Iterable[int]) -> None:
        """Reads all objects below these, level by level."""
        level = _distinct(np.fromiter(numbers, np.uint64))
        while len(level):
            known = np.fromiter((number not in self.values and number not in self._containers for number in level.tolist()), bool, len(level))
            level = level[known]
            below: list[AnyArray] = []
            for group in _native.gather(self._file, level.astype("<u8").tobytes(), _ATTRIBUTES) if len(level) else ():
                self._add(group, level[np.frombuffer(group.positions, "<u8").astype(np.int64)], below)
            level = _distinct(np.concatenate(below)) if below else level[:0]

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
        if datatype["class"] == "reference" and not is_empty:
            if datatype["size"] != 8 or datatype["kind"] != "Object":
                raise UnsupportedError(f"references of kind {datatype['kind']} with {datatype['size']} bytes in a cell array", object=self._path(numbers[0]))
            kind = "cell" if class_name else "refs"
            of_class = "" if class_name in ("", "cell") else class_name
            for number, children in zip(numbers.tolist(), stored, strict=True):
                addresses = np.ascontiguousarray(children).view("<u8").ravel()
                if not addresses.all():
                    raise CorruptError("an element of a cell array is a null reference", object=self._path(number))
                below.append(_distinct(addresses))
                self._containers[number] = Container(kind, of_class, addresses.tolist(), [], shape[::-1])
                if number in self._inside:
                    self._inside.update(addresses.tolist())
            return None
        for number, value in zip(numbers.tolist(), self._leaves(stored, numbers, about, class_name, is_empty), strict=True):
            self.values[number] = value
        return None

    def _leaves(self, stored: list[AnyArray] | AnyArray, numbers: AnyArray, about: dict[str, Any], class_name: str, is_empty: bool) -> list[Any]:
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
        # Lists of arrays are views of one array; those of scalars are numpy's scalars.
        found = list(values)
        if class_name in ("", "logical", *matlab_values.NUMBERS) and "MATLAB_object_decode" not in about:
            return found
        return [MatlabObject(class_name, value) for value in found]

    def _add_groups(self, group: _native.Gathered, numbers: AnyArray, about: dict[str, Any], class_name: str, below: list[AnyArray]) -> None:
        members = np.frombuffer(group.members, "<u8").reshape(len(numbers), -1)
        kind, rows = "struct", tuple[int, ...]()
        names, order = group.names, list(range(len(group.names)))
        if "MATLAB_sparse" in about:
            kind, rows = "sparse", (int(np.ravel(about["MATLAB_sparse"])[0]),)
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
        below.append(_distinct(members))

    def _fields(self, stored: Any) -> list[str]:
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
        self, numbers: AnyArray, stored: list[AnyArray] | AnyArray, about: dict[str, Any], class_name: str, below: list[AnyArray]
    ) -> tuple[AnyArray, list[AnyArray] | AnyArray]:
        """Containers for what refers to objects of classes; returns what does not."""
        is_object = int(np.ravel(about.get("MATLAB_object_decode", 0))[0]) == _IN_SUBSYSTEM
        refers = [is_reference(values) and (is_object or number in self._inside) for number, values in zip(numbers.tolist(), stored, strict=True)]
        subsystem = self._opened() if any(refers) else None
        if subsystem is None:
            return numbers, stored
        for number, values, is_one in zip(numbers.tolist(), stored, refers, strict=True):
            if is_one:
                self._add_objects(number, subsystem, subsystem.referred(values), class_name if is_object else "", below)
        rest = [i for i, is_one in enumerate(refers) if not is_one]
        return numbers[rest], stored[rest] if isinstance(stored, np.ndarray) else [stored[i] for i in rest]

    def _add_objects(self, number: int, subsystem: Subsystem, reference: Objects, class_name: str, below: list[AnyArray]) -> None:
        class_name = class_name or subsystem.class_name(reference.class_id)
        self._containers[number] = Container("objects", class_name, [_OBJECTS + i for i in reference.objects], [], reference.shape)
        pending = sorted(set(reference.objects))
        while pending:
            i = pending.pop()
            key = _OBJECTS + i
            if key in self._containers or key in self.values:
                continue
            if not i:
                # A deleted object.
                self.values[key] = None
                continue
            class_id = subsystem.class_of(i)
            properties = subsystem.properties(i)
            dynamic = subsystem.dynamic(i)
            names, children = [p.name for p in properties if p.address], [p.address for p in properties if p.address]
            if class_id < len(self._defaults):
                # First, so that stored properties replace it.
                names, children = ["", *names], [self._defaults[class_id], *children]
            self._inside.update(children)
            below.append(np.array(children, np.uint64))
            names += [f"dynamic property {n + 1}" for n in range(len(dynamic))]
            children += [_OBJECTS + n for n in dynamic]
            literals = {p.name: p.literal for p in properties if not p.address}
            self._containers[key] = Container("object", subsystem.class_name(class_id), children, names, (), literals)
            pending.extend(dynamic)

    def _opened(self) -> Subsystem | None:
        """The file's subsystem; `None` for a file without one."""
        if self._subsystem is None:
            try:
                _, number = self._file.find("/#subsystem#/MCOS")
            except ObjectNotFoundError:
                return None
            try:
                cells = self._addresses(number)
                if not len(cells):
                    raise CorruptError("the subsystem has no cells")
                self._subsystem = Subsystem(self._raw(int(cells[0])), cells)
                self._defaults = self._addresses(self._subsystem.defaults).tolist()
            except Error as error:
                raise type(error)(error.message, self._file.path, error.object or "/#subsystem#/MCOS") from None
        return self._subsystem

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

    def _stored(self, group: _native.Gathered, numbers: AnyArray, datatype: dict[str, Any], shape: tuple[int, ...]) -> list[AnyArray] | AnyArray:
        """The values of datasets: one array along whose first dimension they lie, or a list if they are read one by one."""
        is_reference = datatype["class"] == "reference"
        if group.values is not None and (is_reference or (dtypes.is_plain(datatype) and not nonstandard_numbers.is_nonstandard(datatype))):
            dtype = dtypes.stored_dtype(datatype)
            return np.frombuffer(group.values, dtype).reshape(len(numbers), *shape)
        if group.shape is None:
            raise UnsupportedError("a dataset with a null dataspace is not a value of MATLAB", object=self._path(numbers[0]))
        axes = [(0, extent, 1) for extent in shape]
        if is_reference:
            found = []
            for number in numbers.tolist():
                raw = np.empty((*shape, datatype["size"]), np.uint8)
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
                for child in self._containers[number].children:
                    if child in done or child in self.values:
                        continue
                    if child in open_:
                        self._close_loop(child)
                    else:
                        pending.append((child, False))
        return order

    def _close_loop(self, number: int) -> None:
        """A value that contains itself: an object may, and is made before its contents; nothing else."""
        kind, class_name, *_ = self._containers[number]
        if kind != "object":
            raise CorruptError("a cell array or struct contains itself", self._file.path, self._path(number))
        if matlab_classes.known(class_name):
            raise UnsupportedError(f"a {class_name} that contains itself", self._file.path)
        self.values[number] = MatlabObject(class_name, {})

    def _built(self, number: int) -> Any:
        """The value of a container, when the values of its children are known."""
        kind, class_name, children, names, shape, literals = self._containers[number]
        values = self.values
        if kind == "object":
            return self._object(number, class_name, dict(zip(names, (values[child] for child in children), strict=True)), literals or {})
        if kind == "sparse":
            parts = {name: np.ravel(values[child]) for name, child in zip(names, children, strict=True)}
            return matlab_values.sparse(shape[0], parts, class_name == "logical", self._path(number))
        if kind == "enumeration":
            return self._enumeration(class_name, dict(zip(names, (values[child] for child in children), strict=True)))
        if kind == "struct":
            value = self._struct(number, names, children)
            return MatlabObject(class_name, value) if class_name else value
        found = [values[child] for child in children]
        if kind == "refs":
            return _Elements(_as_array(found, shape))
        if kind == "objects":
            found = [MatlabObject(class_name, None) if value is None else value for value in found]
            # A string, a table and their kin are one object, however many elements they have.
            return found[0] if shape == (1, 1) and (self._squeeze or matlab_classes.known(class_name)) else self._squeezed(found, shape)
        value = self._squeezed(found, shape)
        return MatlabObject(class_name, value) if class_name else value

    def _struct(self, number: int, names: list[str], children: list[int]) -> Any:
        """A dictionary; of a struct array as many as it has elements."""
        fields = [self.values[child] for child in children]
        arrays = [field.array for field in fields if isinstance(field, _Elements)]
        if not arrays:
            return dict(zip(names, fields, strict=True))
        shapes = {array.shape for array in arrays}
        if len(arrays) != len(fields) or len(shapes) != 1:
            raise CorruptError(f"the fields of a struct array have different shapes: {sorted(shapes)}", object=self._path(number))
        (shape,) = shapes
        # Elements lie in the order of the file in all of them.
        flat = [array.ravel(order="F").tolist() for array in arrays]
        elements = [dict(zip(names, row, strict=True)) for row in zip(*flat, strict=True)]
        found = self._squeezed(elements, shape)
        return found[0] if self._squeeze and shape == (1, 1) else found

    def _object(self, number: int, class_name: str, properties: dict[str, Any], literals: dict[str, Any]) -> Any:
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

    def _enumeration(self, class_name: str, parts: dict[str, Any]) -> MatlabObject:
        """An array of members of an enumeration, by their names."""
        subsystem = self._opened()
        if subsystem is None:
            return MatlabObject(class_name, parts)
        names = [subsystem.name(int(index)) for index in np.ravel(parts["ValueNames"])]
        indices = np.asarray(parts["ValueIndices"])
        if indices.size and int(indices.max()) >= len(names):
            raise CorruptError(f"a member of an enumeration has number {int(indices.max())} of {len(names)}")
        class_name = class_name or subsystem.class_name(int(np.ravel(parts["ClassName"])[0]))
        members = _as_array([names[int(i)] for i in indices.ravel(order="F")], indices.shape)
        return MatlabObject(class_name, members.item() if not members.ndim else members.tolist() if members.ndim == 1 else members)

    def _squeezed(self, values: list[Any], shape: tuple[int, ...]) -> Any:
        """A list for a vector, else an array of objects. The values are in the order of the file."""
        if self._squeeze and len(shape) == 2 and 1 in shape:
            return values
        return _as_array(values, shape)

    def _path(self, number: Any) -> str:
        try:
            return self._file.object_path(int(number))
        except Error:
            return f"object {int(number):#x}"


class _Elements:
    """The values of a field of a struct array."""

    def __init__(self, array: AnyArray) -> None:
        self.array = array


def _as_array(values: list[Any], shape: tuple[int, ...]) -> AnyArray:
    array = np.empty(len(values), object)
    array[:] = values if values and not _is_listlike(values) else None
    if values and _is_listlike(values):
        for i, value in enumerate(values):
            array[i] = value
    return array.reshape(shape, order="F")


def _is_listlike(values: list[Any]) -> bool:
    """Whether numpy would look into the values."""
    return any(isinstance(value, (list, tuple, np.ndarray)) or hasattr(value, "__array__") for value in values)


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    return value.decode("utf-8", "replace").rstrip("\0") if isinstance(value, bytes) else str(value)


def _distinct(numbers: AnyArray) -> AnyArray:
    """The distinct numbers, in order. `np.unique` hashes, which takes longer than sorting numbers that are nearly sorted."""
    found = np.sort(numbers, axis=None)
    return found[np.concatenate([[True], found[1:] != found[:-1]])] if len(found) else found
