"""Calls of the HDF5 library that h5py has no name for, made to the library that h5py brings."""

from __future__ import annotations

import ctypes
import pathlib
from typing import Any

import h5py

#: A user-defined link class (64 to 255).
USER_LINK_CLASS = 197


def library() -> ctypes.CDLL:
    """The library that h5py has loaded."""
    folder = pathlib.Path(h5py.__file__).parent
    libraries = [path for path in (folder.parent / "h5py.libs").glob("libhdf5-*.so*") if "_hl" not in path.name]
    return ctypes.CDLL(str(libraries[0])) if libraries else ctypes.CDLL(h5py.h5.__file__)


LIBRARY = library()
_identifier, _unsigned = ctypes.c_int64, ctypes.c_uint
LIBRARY.H5Pset_shared_mesg_nindexes.argtypes = [_identifier, _unsigned]
LIBRARY.H5Pset_shared_mesg_index.argtypes = [_identifier, _unsigned, _unsigned, _unsigned]
LIBRARY.H5Pset_chunk_opts.argtypes = [_identifier, _unsigned]
LIBRARY.H5Pset_mdc_image_config.argtypes = [_identifier, ctypes.c_void_p]
LIBRARY.H5Pset_fill_value.argtypes = [_identifier, _identifier, ctypes.c_void_p]
LIBRARY.H5Lregister.argtypes = [ctypes.c_void_p]
LIBRARY.H5Lcreate_ud.argtypes = [_identifier, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, _identifier, _identifier]


class List(ctypes.Structure):
    """An element of variable length in memory (hvl_t)."""

    _fields_ = [("length", ctypes.c_size_t), ("items", ctypes.c_void_p)]


def set_fill_value(creation: h5py.h5p.PropDCID, memory: h5py.h5t.TypeID, fill: Any) -> None:
    """A fill value of any type, as the C structure that `memory` describes."""
    assert LIBRARY.H5Pset_fill_value(creation.id, memory.id, ctypes.addressof(fill)) >= 0


def compound_of(structure: type[ctypes.Structure], members: dict[str, h5py.h5t.TypeID]) -> h5py.h5t.TypeID:
    """The datatype of a C structure in memory."""
    memory = h5py.h5t.create(h5py.h5t.COMPOUND, ctypes.sizeof(structure))
    for name, member in members.items():
        memory.insert(name.encode(), getattr(structure, name).offset, member)
    return memory


def share_messages(creation: h5py.h5p.PropFCID) -> None:
    """Two tables of shared messages: datatypes and dataspaces, and fill values, pipelines and attributes."""
    assert LIBRARY.H5Pset_shared_mesg_nindexes(creation.id, 2) == 0
    assert LIBRARY.H5Pset_shared_mesg_index(creation.id, 0, 1 << 1 | 1 << 3, 8) == 0
    assert LIBRARY.H5Pset_shared_mesg_index(creation.id, 1, 1 << 5 | 1 << 11 | 1 << 12, 8) == 0


def leave_edges_unfiltered(creation: h5py.h5p.PropDCID) -> None:
    """Chunks that reach beyond the dataset are stored as they are."""
    assert LIBRARY.H5Pset_chunk_opts(creation.id, 0x0002) == 0


class _ImageConfiguration(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("generate", ctypes.c_bool), ("save_resize_status", ctypes.c_bool), ("entry_ageout", ctypes.c_int)]


def keep_cache_image(access: h5py.h5p.PropFAID) -> None:
    """The metadata cache goes into the file as one block when the file is closed."""
    assert LIBRARY.H5Pset_mdc_image_config(access.id, ctypes.addressof(_ImageConfiguration(1, True, False, -1))) == 0


_Traverse = ctypes.CFUNCTYPE(_identifier, ctypes.c_char_p, _identifier, ctypes.c_void_p, ctypes.c_size_t, _identifier, _identifier)


class _LinkClass(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_int),
        ("number", ctypes.c_int),
        ("comment", ctypes.c_char_p),
        ("create", ctypes.c_void_p),
        ("move", ctypes.c_void_p),
        ("copy", ctypes.c_void_p),
        ("traverse", _Traverse),
        ("delete", ctypes.c_void_p),
        ("query", ctypes.c_void_p),
    ]


@_Traverse
def _lead_nowhere(*_: object) -> int:
    return -1


_LINK_CLASS = _LinkClass(1, USER_LINK_CLASS, b"leads nowhere", None, None, None, _lead_nowhere, None, None)


def link_by_user(group: h5py.Group, name: str) -> None:
    """A link of a kind that only its writer's program knows."""
    assert LIBRARY.H5Lregister(ctypes.addressof(_LINK_CLASS)) >= 0
    assert LIBRARY.H5Lcreate_ud(group.id.id, name.encode(), USER_LINK_CLASS, b"data", 4, 0, 0) >= 0
