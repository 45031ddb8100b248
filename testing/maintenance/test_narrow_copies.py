"""Copies of files whose addresses have 2 or 4 bytes: texts, lists and references have other sizes there. Judged by HDF5's own library."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import h5py
import hyperslab as hs
import numpy as np
import pytest
import same_file
from h5py import h5f, h5p

RECORD = np.dtype([("a", "i4"), ("s", h5py.string_dtype()), ("r", h5py.ref_dtype), ("l", h5py.vlen_dtype("i2"))])


def texts(f: h5py.File) -> None:
    f.create_dataset("texts", data=["a", "bcd"], dtype=h5py.string_dtype(), chunks=(1,), maxshape=(None,))
    f.create_dataset("filled", (3,), dtype=h5py.string_dtype(), fillvalue="none")
    f.attrs["texts"] = ["a", "bb"]


def lists(f: h5py.File) -> None:
    f["lists"] = np.array([np.arange(2), np.arange(0)], dtype=object).astype(h5py.vlen_dtype("i4"))
    nested = f.create_dataset("nested", (2,), dtype=h5py.vlen_dtype(h5py.string_dtype()))
    nested[0] = np.array(["x", "yz"], dtype=object)


def references(f: h5py.File) -> None:
    # One element: the library writes a null reference for a second one.
    f.create_dataset("objects", data=np.array([f["n"].ref], dtype=h5py.ref_dtype), dtype=h5py.ref_dtype)
    f.create_dataset("regions", data=np.array([f["n"].regionref[1:3]], dtype=h5py.regionref_dtype), dtype=h5py.regionref_dtype)
    f.attrs["object"], f.attrs["region"] = f["n"].ref, f["n"].regionref[1:3]
    listed = f.create_dataset("listed", (2,), dtype=h5py.vlen_dtype(h5py.ref_dtype))
    listed[0] = np.array([f["n"].ref], dtype=h5py.ref_dtype)


def records(f: h5py.File) -> None:
    f["type"] = RECORD
    made = f.create_dataset("records", (2,), dtype=f["type"])
    made[0] = (1, "xx", f["n"].ref, np.arange(3, dtype="i2"))
    f["n"].attrs.create("record", made[0], dtype=f["type"])


def scales(f: h5py.File) -> None:
    f["x"] = np.arange(5.0)
    f["x"].make_scale("x")
    f["n"].dims[0].attach_scale(f["x"])


@pytest.mark.parametrize("make", [texts, lists, references, records, scales], ids=lambda make: make.__name__)
@pytest.mark.parametrize("address_bytes", [2, 4])
def test_copies_are_the_same(tmp_path: pathlib.Path, make: Callable[[h5py.File], None], address_bytes: int) -> None:
    plist = h5p.create(h5p.FILE_CREATE)
    plist.set_sizes(address_bytes, 8)
    path = tmp_path / "original.h5"
    with h5py.File(h5f.create(str(path).encode(), h5f.ACC_TRUNC, fcpl=plist)) as f:
        f["n"] = np.arange(5)
        make(f)
    facts = same_file.describe(str(path))
    changes = {}
    for operation in "repack", "fuse", "recover":
        changes[operation] = getattr(hs, operation)(path, tmp_path / f"{operation}.h5").changes
    changes["merge"] = hs.merge([path], tmp_path / "merge.h5", axis=0).changes
    there = hs.convert(path, tmp_path / "container").changes
    changes["convert"] = (*there, *hs.convert(tmp_path / "container", tmp_path / "convert.h5").changes)
    for operation, stated in changes.items():
        found = same_file.differences(facts, same_file.describe(str(tmp_path / f"{operation}.h5")))
        assert [one for one in found if one.path not in {change.path.encode() for change in stated}] == [], operation
        assert found == [] or operation == "convert", operation
    hs.vacuum(path, shrink=True)
    assert same_file.differences(facts, same_file.describe(str(path))) == []


def test_several_files_are_merged(tmp_path: pathlib.Path) -> None:
    for number in range(2):
        plist = h5p.create(h5p.FILE_CREATE)
        plist.set_sizes(4, 8)
        with h5py.File(h5f.create(str(tmp_path / f"p{number}.h5").encode(), h5f.ACC_TRUNC, fcpl=plist)) as f:
            f["n"] = np.arange(5) + number
            for make in texts, lists, references, records:
                make(f)
    hs.merge(f"{tmp_path}/p?.h5", tmp_path / "merged.h5", axis=0)
    with h5py.File(tmp_path / "merged.h5") as f:
        assert f["texts"].asstr()[:].tolist() == ["a", "bcd"] * 2 and f["filled"].asstr()[:].tolist() == ["none"] * 6
        assert [one.tolist() for one in f["nested"]] == [[b"x", b"yz"], [], [b"x", b"yz"], []]
        assert [f[one].name for one in f["objects"]] == ["/n"] * 2 and [f["n"][one].tolist() for one in f["regions"]] == [[1, 2], [2, 3]]
        assert [(one["a"], one["s"], one["l"].tolist()) for one in f["records"]] == [(1, b"xx", [0, 1, 2]), (0, b"", [])] * 2 and f[
            f["records"][2]["r"]
        ].name == "/n"
