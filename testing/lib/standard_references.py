"""References of HDF5 1.12 (`H5T_STD_REF`), written and asked by the HDF5 library that h5py brings: h5py itself
knows only the older two kinds."""

from __future__ import annotations

import ctypes

import h5py
import library_calls
import numpy as np

_SIZE = 64  # of H5R_ref_t
_DEFAULT, _ALL = 0, 0


def _library() -> ctypes.CDLL:
    library = library_calls.library()
    identifier, text, size = ctypes.c_int64, ctypes.c_char_p, ctypes.c_size_t
    reference = ctypes.c_void_p
    for name, result, arguments in [
        ("H5Rcreate_object", ctypes.c_int, [identifier, text, identifier, reference]),
        ("H5Rcreate_region", ctypes.c_int, [identifier, text, identifier, identifier, reference]),
        ("H5Rcreate_attr", ctypes.c_int, [identifier, text, text, identifier, reference]),
        ("H5Rdestroy", ctypes.c_int, [reference]),
        ("H5Rget_type", ctypes.c_int, [reference]),
        ("H5Rget_obj_name", ctypes.c_ssize_t, [reference, identifier, text, size]),
        ("H5Rget_attr_name", ctypes.c_ssize_t, [reference, text, size]),
        ("H5Rget_file_name", ctypes.c_ssize_t, [reference, text, size]),
        ("H5Ropen_region", identifier, [reference, identifier, identifier]),
        ("H5Ropen_object", identifier, [reference, identifier, identifier]),
        ("H5Dcreate2", identifier, [identifier, text, identifier, identifier, identifier, identifier, identifier]),
        ("H5Dwrite", ctypes.c_int, [identifier] * 5 + [ctypes.c_void_p]),
        ("H5Dread", ctypes.c_int, [identifier] * 5 + [ctypes.c_void_p]),
        ("H5Dclose", ctypes.c_int, [identifier]),
        ("H5Acreate2", identifier, [identifier, text] + [identifier] * 4),
        ("H5Awrite", ctypes.c_int, [identifier, identifier, ctypes.c_void_p]),
        ("H5Aclose", ctypes.c_int, [identifier]),
        ("H5Tcreate", identifier, [ctypes.c_int, size]),
        ("H5Tinsert", ctypes.c_int, [identifier, text, size, identifier]),
        ("H5Tvlen_create", identifier, [identifier]),
    ]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


LIBRARY = _library()
STANDARD = ctypes.c_int64.in_dll(LIBRARY, "H5T_STD_REF_g").value


def _checked(result: int) -> int:
    assert result >= 0, "the HDF5 library refuses this"
    return result


class Made:
    """References in memory, the library's own."""

    def __init__(self) -> None:
        self.bytes = bytearray()

    def _add(self, make: object, *arguments: object) -> None:
        buffer = ctypes.create_string_buffer(_SIZE)
        _checked(make(*arguments, ctypes.addressof(buffer)))  # type: ignore[operator]
        self.bytes += buffer.raw

    def object(self, where: h5py.File, path: str) -> Made:
        self._add(LIBRARY.H5Rcreate_object, where.id.id, path.encode(), _DEFAULT)
        return self

    def region(self, where: h5py.File, path: str, space: h5py.h5s.SpaceID) -> Made:
        self._add(LIBRARY.H5Rcreate_region, where.id.id, path.encode(), space.id, _DEFAULT)
        return self

    def attribute(self, where: h5py.File, path: str, name: str) -> Made:
        self._add(LIBRARY.H5Rcreate_attr, where.id.id, path.encode(), name.encode(), _DEFAULT)
        return self

    def null(self) -> Made:
        self.bytes += bytes(_SIZE)
        return self

    def __enter__(self) -> Made:
        return self

    def __exit__(self, *_: object) -> None:
        # What a reference points into stays open until it is destroyed.
        for at in range(0, len(self.bytes), _SIZE):
            buffer = ctypes.create_string_buffer(bytes(self.bytes[at : at + _SIZE]), _SIZE)
            if any(buffer.raw):
                _checked(LIBRARY.H5Rdestroy(ctypes.addressof(buffer)))

    def write(self, file: h5py.File, name: str, **more: object) -> None:
        """As a dataset of one dimension."""
        space = h5py.h5s.create_simple((len(self.bytes) // _SIZE,))
        dataset = _checked(LIBRARY.H5Dcreate2(file.id.id, name.encode(), STANDARD, space.id, _DEFAULT, _DEFAULT, _DEFAULT))
        buffer = (ctypes.c_char * len(self.bytes)).from_buffer(self.bytes)
        _checked(LIBRARY.H5Dwrite(dataset, STANDARD, _ALL, _ALL, _DEFAULT, ctypes.addressof(buffer)))
        _checked(LIBRARY.H5Dclose(dataset))

    def write_attribute(self, file: h5py.File, path: str, name: str) -> None:
        """As an attribute of one dimension."""
        space = h5py.h5s.create_simple((len(self.bytes) // _SIZE,))
        owner = file[path]
        attribute = _checked(LIBRARY.H5Acreate2(owner.id.id, name.encode(), STANDARD, space.id, _DEFAULT, _DEFAULT))
        buffer = (ctypes.c_char * len(self.bytes)).from_buffer(self.bytes)
        _checked(LIBRARY.H5Awrite(attribute, STANDARD, ctypes.addressof(buffer)))
        _checked(LIBRARY.H5Aclose(attribute))

    def write_lists(self, file: h5py.File, name: str, lengths: list[int]) -> None:
        """As sequences of variable length, of these lengths."""
        buffer = (ctypes.c_char * len(self.bytes)).from_buffer(self.bytes)
        ends = np.cumsum([0, *lengths])
        lists = np.zeros(len(lengths), [("n", "u8"), ("at", "u8")])
        lists["n"], lists["at"] = lengths, ctypes.addressof(buffer) + ends[:-1] * _SIZE
        sequence = _checked(LIBRARY.H5Tvlen_create(STANDARD))
        space = h5py.h5s.create_simple((len(lengths),))
        dataset = _checked(LIBRARY.H5Dcreate2(file.id.id, name.encode(), sequence, space.id, _DEFAULT, _DEFAULT, _DEFAULT))
        _checked(LIBRARY.H5Dwrite(dataset, sequence, _ALL, _ALL, _DEFAULT, lists.ctypes.data))
        _checked(LIBRARY.H5Dclose(dataset))

    def write_records(self, file: h5py.File, name: str) -> None:
        """As the member `to` of records whose member `n` counts from 0."""
        count = len(self.bytes) // _SIZE
        record = np.zeros(count, [("n", "i8"), ("to", f"V{_SIZE}")])
        record["n"], record["to"] = np.arange(count), np.frombuffer(bytes(self.bytes), f"V{_SIZE}")
        compound = _checked(LIBRARY.H5Tcreate(6, record.dtype.itemsize))
        _checked(LIBRARY.H5Tinsert(compound, b"n", 0, h5py.h5t.NATIVE_INT64.id))
        _checked(LIBRARY.H5Tinsert(compound, b"to", 8, STANDARD))
        space = h5py.h5s.create_simple((count,))
        dataset = _checked(LIBRARY.H5Dcreate2(file.id.id, name.encode(), compound, space.id, _DEFAULT, _DEFAULT, _DEFAULT))
        _checked(LIBRARY.H5Dwrite(dataset, compound, _ALL, _ALL, _DEFAULT, record.ctypes.data))
        _checked(LIBRARY.H5Dclose(dataset))


class Told:
    """What the library says of one stored reference: `kind` 0 (never set), 2 (object), 3 (region) or 4 (attribute)."""

    def __init__(self, raw: bytes) -> None:
        buffer = ctypes.create_string_buffer(raw, _SIZE)
        at = ctypes.addressof(buffer)
        self.kind = LIBRARY.H5Rget_type(at) if any(raw) else 0
        self.path = self.file = self.attribute = None
        if self.kind == 0:
            return
        self.path = _text(lambda text, size: LIBRARY.H5Rget_obj_name(at, _DEFAULT, text, size))
        self.file = _text(lambda text, size: LIBRARY.H5Rget_file_name(at, text, size))
        if self.kind == 4:
            self.attribute = _text(lambda text, size: LIBRARY.H5Rget_attr_name(at, text, size))
        if self.kind == 3:
            space = h5py.h5s.SpaceID(_checked(LIBRARY.H5Ropen_region(at, _DEFAULT, _DEFAULT)))
            dataset = h5py.Dataset(h5py.h5d.DatasetID(_checked(LIBRARY.H5Ropen_object(at, _DEFAULT, _DEFAULT))))
            self.elements = np.empty(space.get_select_npoints(), dataset.dtype)
            dataset.id.read(h5py.h5s.create_simple(self.elements.shape), space, self.elements)
        # What a reference points into stays open until it is destroyed.
        _checked(LIBRARY.H5Rdestroy(at))


def _text(ask: object) -> str:
    buffer = ctypes.create_string_buffer(1000)
    _checked(ask(buffer, 1000))  # type: ignore[operator]
    return buffer.value.decode()


def told_lists(file: h5py.File, name: str) -> list[list[Told]]:
    """What the library says of the references in sequences of variable length."""
    dataset = file[name]
    lists = np.zeros(dataset.shape, [("n", "u8"), ("at", "u8")])
    sequence = _checked(LIBRARY.H5Tvlen_create(STANDARD))
    _checked(LIBRARY.H5Dread(dataset.id.id, sequence, _ALL, _ALL, _DEFAULT, lists.ctypes.data))
    return [[Told(ctypes.string_at(int(at) + i * _SIZE, _SIZE)) for i in range(n)] for n, at in lists.reshape(-1)]


def told(file: h5py.File, name: str) -> list[Told]:
    """What the library says of the references in a dataset."""
    dataset = file[name]
    count = dataset.size
    buffer = ctypes.create_string_buffer(count * _SIZE)
    _checked(LIBRARY.H5Dread(dataset.id.id, STANDARD, _ALL, _ALL, _DEFAULT, ctypes.addressof(buffer)))
    return [Told(buffer.raw[i * _SIZE : (i + 1) * _SIZE]) for i in range(count)]
