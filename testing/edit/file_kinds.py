"""Kinds of files that h5py makes, for tests of changes: superblocks, groups, pages, kept free space, and addresses of fewer than 8 bytes."""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

import h5py

#: Superblock 0 with old groups, 2 and 3 with new groups; with and without a tracked order; pages; free space that is kept; `sizes` are bytes of an
#: address and of a length.
KINDS: dict[str, dict[str, Any]] = {
    "superblock 0": {},
    "superblock 2": {"libver": ("v108", "v108")},
    "superblock 3": {"libver": "latest"},
    "tracked": {"libver": "latest", "track_order": True},
    "tracked 0": {"track_order": True},
    "user block": {"userblock_size": 1024},
    "pages": {"fs_strategy": "page", "fs_page_size": 4096},
    "small pages": {"fs_strategy": "page", "fs_page_size": 512, "libver": "latest", "track_order": True},
    "kept pages": {"fs_strategy": "page", "fs_page_size": 2048, "fs_persist": True, "userblock_size": 4096},
    "odd pages": {"fs_strategy": "page", "fs_page_size": 8000, "libver": ("v108", "v112")},
    "large pages": {"fs_strategy": "page", "fs_page_size": 1 << 19, "fs_persist": True, "libver": "latest"},
    "kept space": {"fs_strategy": "fsm", "fs_persist": True},
    "narrow": {"sizes": (4, 4)},
    "narrow tracked": {"sizes": (4, 4), "libver": "latest", "track_order": True},
    "narrow addresses": {"sizes": (4, 8), "libver": "latest"},
    "narrow lengths": {"sizes": (8, 4)},
}


def page_bytes(kind: str) -> int | None:
    """Bytes of a page in such files, if they have pages."""
    return KINDS[kind].get("fs_page_size")


def new_file(path: pathlib.Path, kind: str, **more: Any) -> h5py.File:
    """A new file of a kind.

    Args:
        path: Where.
        kind: Its name in `KINDS`.
        more: Further options of `h5py.File`.
    """
    options = {**KINDS[kind], **more}
    sizes = options.pop("sizes", None)
    if sizes is None:
        return h5py.File(path, "w", **options)
    creation, access = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    creation.set_sizes(*sizes)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    if options.pop("libver", "earliest") != "earliest":
        # HDF5 does not open its own datasets of the latest format that grow, if lengths have fewer than 8 bytes.
        bound = h5py.h5f.LIBVER_LATEST if sizes[1] == 8 else h5py.h5f.LIBVER_V18
        access.set_libver_bounds(bound, bound)
    if options.pop("track_order", False):
        order = h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED
        creation.set_link_creation_order(order)
        creation.set_attr_creation_order(order)
    if options:
        raise ValueError(f"options that files of these sizes do not take: {options}")
    return h5py.File(h5py.h5f.create(os.fsencode(path), h5py.h5f.ACC_TRUNC, creation, access))


def opened_in_pages(path: pathlib.Path, kind: str, mode: str = "r") -> h5py.File:
    """A file as h5py reads it page by page, if it has pages: a structure across the border of two of them is not found then."""
    size = page_bytes(kind)
    return h5py.File(path, mode) if size is None else h5py.File(path, mode, page_buf_size=16 * size)


def stated_ends(path: pathlib.Path) -> set[int]:
    """Ends of a file that keeps its free space, as file space info messages say it: to that, HDF5 before 1.10.2 cuts the file off. HDF5 may have left
    older messages behind."""
    data = path.read_bytes()
    data = data[data.index(b"\x89HDF") :]
    # Kind, length and flags in headers of version 2 or 1; version 1 of the message, its strategy, persistence.
    found = re.finditer(rb"\x17(?:\x7d\0[\x04\x14]|\0\x80\0[\x04\x14]\0{3})\x01[\0-\x03]\x01", data, re.DOTALL)
    return {int.from_bytes(data[message.end() + 18 :][:8], "little") for message in found}
