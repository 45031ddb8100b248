"""MATLAB writing: Python values as variables of a file of MATLAB v7.3."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import _native
from ..backends.plan_writer import AnyWriter
from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, AnyDtype, Option
from ..files.file import File
from ..values import dtype_encoding
from ..values.new_references import NewReference
from .matlab_values import CANONICAL_EMPTY, NUMBERS

if TYPE_CHECKING:
    import scipy.sparse

#: Longest name of a variable or field in MATLAB (`namelengthmax`).
_MAX_NAME = 63
#: Bytes of values that are stored without compression.
_MAX_SMALL_BYTES = 16384
#: Containers in containers that are written.
_MAX_DEPTH = 100
#: Group of the values that cell arrays and struct arrays refer to.
_REFERRED = "#refs#"
#: numpy's dtypes by MATLAB's classes.
_CLASSES = {"f8": "double", "f4": "single", **{f"{sign}{size}": f"{name}{8 * size}" for sign, name in (("i", "int"), ("u", "uint")) for size in (1, 2, 4, 8)}}
#: The dtype of names of fields: sequences of characters.
_CHARACTERS = np.dtype("O", metadata={"vlen": np.dtype("S1")})


def header() -> bytes:
    """The 128 bytes at the beginning of a file: text, version and byte order."""
    text = f"MATLAB 7.3 MAT-file, Platform: {sys.platform}, Created on: {time.strftime('%a %b %d %H:%M:%S %Y')} HDF5 schema 1.00 ."
    return text.encode("ascii", "replace")[:116].ljust(116) + bytes(8) + b"\x00\x02IM"


def check_name(name: object) -> str:
    """A name that a variable or a field can have in MATLAB."""
    if not isinstance(name, str) or not name.isascii() or not name.isidentifier() or name.startswith("_") or len(name) > _MAX_NAME:
        message = f"the name {name!r}: MATLAB's names begin with a letter and have at most {_MAX_NAME} letters, digits and underscores"
        raise InvalidInputError(message)
    return name


class Writer:
    """Writes values into a file, each below a path."""

    def __init__(self, file: File, writer: AnyWriter, options: dict[str, Option]) -> None:
        self._file, self._writer, self._options = file, writer, options
        self._referred = 0
        self._datatypes: dict[AnyDtype, _native.Datatype] = {}
        #: The containers that are being written, from the outermost on.
        self._above: list[int] = []

    def write(self, path: str, value: object) -> None:
        """Writes a value, and what it contains."""
        if isinstance(value, str):
            return self._text(path, value)
        if isinstance(value, (Mapping, list, tuple)) or (isinstance(value, np.ndarray) and value.dtype.kind == "O"):
            return self._container(path, value)
        if type(value).__module__.partition(".")[0] == "scipy" and hasattr(value, "tocsc"):
            return self._sparse(path, value.tocsc())
        array = np.asarray(value)
        if array.dtype.kind in "OUS":
            return self._objects(path, array)
        return self._numbers(path, array)

    def _container(self, path: str, value: Mapping[object, object] | AnyArray | Sequence[object]) -> None:
        if id(value) in self._above or len(self._above) == _MAX_DEPTH:
            raise InvalidInputError(f"{path}: a value that contains itself, or is nested more than {_MAX_DEPTH} deep")
        self._above.append(id(value))
        if isinstance(value, Mapping):
            self._struct(path, value)
        elif isinstance(value, np.ndarray):
            self._objects(path, value)
        else:
            self._list(path, value)
        self._above.pop()

    def _dataset(self, path: str, class_name: str, stored: AnyArray, **attributes: np.generic) -> None:
        """A dataset with its class. Values are as they will be stored."""
        if stored.nbytes > _MAX_SMALL_BYTES or stored.dtype.kind == "O":
            self._file.create_dataset(path, data=stored, **(self._options if stored.dtype.kind != "O" else {}))
        else:
            # A cell array may have a million of these: what create_dataset does for other values is left out.
            self._writer.create_dataset(path, _native.DatasetDefinition(self._datatype(stored.dtype), list(stored.shape)))
            self._writer.write(path, [0] * stored.ndim, list(stored.shape), stored.ctypes.data, stored.nbytes, [])
        for name, value in (("MATLAB_class", np.bytes_(class_name)), *attributes.items()):
            self._writer.set_attribute(path, name, [], self._datatype(value.dtype), value.tobytes(), [])

    def _datatype(self, dtype: AnyDtype) -> _native.Datatype:
        """The stored datatype of a dtype."""
        known = self._datatypes.get(dtype)
        if known is None:
            known = self._datatypes[dtype] = dtype_encoding.of_dtype(dtype)
        return known

    def _empty(self, path: str, class_name: str, shape: tuple[int, ...]) -> None:
        self._dataset(path, class_name, np.array(shape, "u8"), MATLAB_empty=np.uint8(1))

    def _numbers(self, path: str, array: AnyArray) -> None:
        matrix = _matrix(array)
        class_name, stored, attributes = _stored(path, matrix)
        if not matrix.size:
            return self._empty(path, class_name, matrix.shape)
        self._dataset(path, class_name, np.ascontiguousarray(stored.T), **attributes)
        return None

    def _text(self, path: str, text: str) -> None:
        if not text:
            return self._empty(path, "char", (0, 0))
        units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), "<u2")
        self._dataset(path, "char", units.reshape(-1, 1), MATLAB_int_decode=np.int32(2))
        return None

    def _list(self, path: str, values: Sequence[object]) -> None:
        structs = [value for value in values if isinstance(value, Mapping)]
        if len(structs) == len(values) > 1:
            names = [tuple(value) for value in structs]
            if len(set(names)) == 1 and names[0]:
                return self._structs(path, structs, names[0])
        self._cell(path, values, (1, len(values)) if values else (0, 0))
        return None

    def _objects(self, path: str, array: AnyArray) -> None:
        if not array.ndim:
            value = array.item()
            if isinstance(value, bytes):
                value = value.decode("latin-1")
            if not isinstance(value, str):
                raise InvalidInputError(f"{path}: a {type(value).__name__} has no counterpart in MATLAB")
            return self._text(path, value)
        matrix = _matrix(array)
        self._cell(path, matrix.ravel(order="F").tolist(), matrix.shape)
        return None

    def _cell(self, path: str, values: Sequence[object], shape: tuple[int, ...]) -> None:
        if not values:
            return self._empty(path, "cell", shape)
        references = self._references(values)
        self._dataset(path, "cell", _reference_array(references, shape))
        return None

    def _references(self, values: Sequence[object]) -> list[str]:
        """Writes values, and returns their paths."""
        found = []
        for value in values:
            if not self._referred:
                # MATLAB's own files begin with it.
                self._dataset(f"/{_REFERRED}/a", CANONICAL_EMPTY, np.zeros(2, "u8"), MATLAB_empty=np.uint8(1))
            self._referred += 1
            path = f"/{_REFERRED}/{np.base_repr(self._referred, 36).lower()}_"
            self.write(path, value)
            found.append(path)
        return found

    def _struct(self, path: str, value: Mapping[object, object]) -> None:
        self._group(path, [check_name(name) for name in value])
        for name, field in value.items():
            self.write(f"{path}/{name}", field)

    def _structs(self, path: str, values: Sequence[Mapping[object, object]], names: tuple[object, ...]) -> None:
        """A struct array: a dataset of references for each field."""
        self._group(path, [check_name(name) for name in names])
        for name in names:
            references = self._references([value[name] for value in values])
            self._file.create_dataset(f"{path}/{name}", data=_reference_array(references, (1, len(values))))

    def _group(self, path: str, names: list[str]) -> None:
        group = self._file.create_group(path)
        group.attrs["MATLAB_class"] = np.bytes_("struct")
        if names:
            fields = np.empty(len(names), object)
            fields[:] = [np.array(list(name), "S1") for name in names]
            group.attrs.create("MATLAB_fields", fields, dtype=_CHARACTERS)

    def _sparse(self, path: str, matrix: scipy.sparse.csc_array) -> None:
        group = self._file.create_group(path)
        class_name, stored, attributes = _stored(path, matrix.data)
        if class_name not in ("double", "logical"):
            class_name, stored = "double", matrix.data.astype("f8")
        group.attrs["MATLAB_class"] = np.bytes_(class_name)
        group.attrs["MATLAB_sparse"] = np.uint64(matrix.shape[0])
        for name, number in attributes.items():
            group.attrs[name] = number
        matrix.sort_indices()
        if matrix.nnz:
            self._file.create_dataset(f"{path}/data", data=stored)
            self._file.create_dataset(f"{path}/ir", data=matrix.indices.astype("u8"))
        self._file.create_dataset(f"{path}/jc", data=matrix.indptr.astype("u8"))


def _matrix(array: AnyArray) -> AnyArray:
    """An array of at least two dimensions: scalars are 1 × 1, vectors 1 × n."""
    return array.reshape(1, -1) if array.ndim < 2 else array


def _stored(path: str, array: AnyArray) -> tuple[str, AnyArray, dict[str, np.generic]]:
    """The class of numbers, how they are stored, and further attributes."""
    if array.dtype.kind == "b":
        return "logical", array.astype("u1"), {"MATLAB_int_decode": np.int32(1)}
    if array.dtype.kind == "c" and array.dtype.itemsize in (8, 16):
        part = np.dtype(f"f{array.dtype.itemsize // 2}")
        stored = np.empty(array.shape, [("real", part), ("imag", part)])
        stored["real"], stored["imag"] = array.real, array.imag
        return _CLASSES[part.str[1:]], stored, {}
    class_name = _CLASSES.get(array.dtype.str[1:], "")
    if class_name not in NUMBERS:
        raise InvalidInputError(f"{path}: values of dtype {array.dtype} have no counterpart in MATLAB")
    return class_name, array.astype(array.dtype.newbyteorder("<"), copy=False), {}


def _reference_array(paths: list[str], shape: tuple[int, ...]) -> AnyArray:
    """References to the objects at these paths, in the order of the file for a shape in MATLAB."""
    array = np.empty(len(paths), object)
    array[:] = [NewReference(path) for path in paths]
    return array.reshape(shape[::-1])


def variables(values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The variables of a file with their paths."""
    for name, value in values.items():
        yield f"/{check_name(name)}", value
