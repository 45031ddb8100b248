"""Structures of HDF5 files whose version, client ID or owner is not what we read are refused by name."""

from __future__ import annotations

import pathlib
import re

import h5py
import hyperslab as hs
import numpy as np
import pytest
from checksums import mend
from reading import read_everything


def arrays(path: pathlib.Path) -> None:
    """A fixed array, one in pages, and extensible arrays with data blocks, super blocks and pages."""
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset("fixed", (40,), "u1", chunks=(2,), compression="gzip")[...] = 1
        f.create_dataset("paged", (5000,), "u1", chunks=(1,))[::100] = 2
        f.create_dataset("extensible", (400,), "u1", chunks=(1,), maxshape=(None,))[...] = 3


def groups(path: pathlib.Path) -> None:
    """An old group, and a new one whose links fill several blocks of a fractal heap."""
    with h5py.File(path, "w") as f:
        for i in range(20):
            f[f"old/{i}"] = i
    with h5py.File(path, "a", libver="latest") as f:
        for i in range(400):
            f[f"new/link {i} with a long name"] = h5py.SoftLink("/old")


#: Signature of the structure, byte in it, and what the error says.
DAMAGE = [
    (arrays, b"FAHD", 4, "version 9 of a fixed array header"),
    (arrays, b"FAHD", 5, "client ID 9 of a fixed array header"),
    (arrays, b"FADB", 4, "version 9 of a fixed array data block"),
    (arrays, b"FADB", 5, "client ID 9 of a fixed array data block, whose header has [01]"),
    (arrays, b"FADB", 6, "a fixed array data block of another array"),
    (arrays, b"EAHD", 4, "version 9 of an extensible array header"),
    (arrays, b"EAHD", 5, "client ID 9 of an extensible array header"),
    (arrays, b"EAIB", 4, "version 9 of an extensible array index block"),
    (arrays, b"EAIB", 5, "client ID 9 of an extensible array index block, whose header has 0"),
    (arrays, b"EASB", 4, "version 9 of an extensible array super block"),
    (arrays, b"EASB", 6, "an extensible array super block of another array"),
    (arrays, b"EADB", 4, "version 9 of an extensible array data block"),
    (arrays, b"EADB", 5, "client ID 9 of an extensible array data block, whose header has 0"),
    (groups, b"FHIB", 4, "version 9 of a fractal heap indirect block"),
    (groups, b"FHIB", 5, "a fractal heap indirect block of another heap"),
    (groups, b"FHDB", 4, "version 9 of a fractal heap direct block"),
    (groups, b"FHDB", 5, "a fractal heap direct block of another heap"),
    (groups, b"SNOD", 4, "version 9 of a symbol table node"),
    (groups, b"HEAP", 4, "version 9 of a local heap"),
]


@pytest.mark.parametrize(("make", "signature", "byte", "message"), DAMAGE)
def test_a_structure_that_is_not_the_expected_one_is_refused_by_name(
    tmp_path: pathlib.Path,
    make: object,
    signature: bytes,
    byte: int,
    message: str,
) -> None:
    path = tmp_path / "a.h5"
    make(path)  # type: ignore[operator]
    assert read_everything(path).errors == []
    data = bytearray(path.read_bytes())
    # The structure that was written last: an old file's first heap is the root's, without which nothing opens.
    at = data.rindex(signature)
    data[at + byte] = 9
    for _ in range(5):
        path.write_bytes(data)
        errors = read_everything(path).errors
        if not mend(data, errors):
            break
    matching = [error for error in errors if re.search(message, error.message)]
    assert matching, [error.message for error in errors]
    expected = hs.CorruptError if "another" in message or "whose header" in message else hs.UnsupportedError
    assert all(isinstance(error, expected) for error in matching)


def test_the_last_pages_of_a_fixed_array_are_those_of_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    arrays(path)
    f = hs.open(path)
    with h5py.File(path) as theirs:
        for name in ("fixed", "paged", "extensible"):
            assert np.array_equal(f[name][...], theirs[name][...]), name
