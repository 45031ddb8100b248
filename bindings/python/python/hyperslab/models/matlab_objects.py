"""MATLAB objects: resolves what references of cell arrays and structs point at, level by level and in bulk.

Datasets of one description become one array (`matlab_values`). Cell arrays and structs are containers; they are put together
when everything below them is known, without recursion, so that neither their number nor their depth matters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .. import _native, dtypes, nonstandard_numbers
from ..errors import CorruptError, Error, UnsupportedError
from ..objects import attributes, reading
from ..type_aliases import AnyArray
from . import matlab_values
from .matlab_values import MatlabObject

#: Attributes that tell what an object is.
_ATTRIBUTES = ["MATLAB_class", "MATLAB_empty", "MATLAB_fields", "MATLAB_object_decode", "MATLAB_sparse"]


class Container(NamedTuple):
    """A cell array, a struct, or the elements of a field of a struct array (`refs`).

    Attributes:
        kind: `cell`, `refs`, `struct` or `sparse`.
        class_name: The class of a value that is more than a cell array or struct; else empty.
        children: Numbers of the objects in it, in the order of the file.
        names: Of structs and sparse matrices: the names of the children.
        shape: Of cells and refs: the shape in MATLAB. Of sparse matrices: the number of rows.
    """

    kind: str
    class_name: str
    children: list[int]
    names: list[str]
    shape: tuple[int, ...]


class Reader:
    """Reads objects of one file, each once."""

    def __init__(self, file: _native.File, squeeze: bool) -> None:
        self._file, self._squeeze = file, squeeze
        self.values: dict[int, Any] = {}
        self._containers: dict[int, Container] = {}

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
            fields = [_text(b"".join(np.ravel(field).tolist())) for field in np.ravel(about["MATLAB_fields"])]
            if sorted(fields) != sorted(names):
                raise CorruptError(f"MATLAB_fields names {fields}, but the members are {names}", object=self._path(numbers[0]))
            order = [names.index(field) for field in fields]
        names = [names[i] for i in order]
        of_class = class_name if kind == "sparse" or class_name != "struct" else ""
        for number, children in zip(numbers.tolist(), members[:, order].tolist(), strict=True):
            self._containers[number] = Container(kind, of_class, children, names, rows)
        below.append(_distinct(members))

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
        done: set[int] = set(self.values)
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
                if number in done:
                    continue
                if number in open_:
                    raise CorruptError("a cell array or struct contains itself", self._file.path, self._path(number))
                open_.add(number)
                pending.append((number, True))
                for child in self._containers[number].children:
                    if child not in done:
                        if child in open_:
                            raise CorruptError("a cell array or struct contains itself", self._file.path, self._path(child))
                        pending.append((child, False))
        return order

    def _built(self, number: int) -> Any:
        """The value of a container, when the values of its children are known."""
        kind, class_name, children, names, shape = self._containers[number]
        values = self.values
        if kind == "sparse":
            parts = {name: np.ravel(values[child]) for name, child in zip(names, children, strict=True)}
            return matlab_values.sparse(shape[0], parts, class_name == "logical", self._path(number))
        if kind == "struct":
            value = self._struct(number, names, children)
            return MatlabObject(class_name, value) if class_name else value
        found = [values[child] for child in children]
        if kind == "refs":
            return _Elements(_as_array(found, shape))
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
