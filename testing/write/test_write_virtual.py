"""Virtual datasets, user blocks, and the options of h5py.File, of files that are written."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest


def test_virtual_datasets_show_their_sources(tmp_path: pathlib.Path) -> None:
    data = np.arange(200.0).reshape(20, 10)
    for number in range(4):
        with hs.create(tmp_path / f"part{number}.h5") as f:
            f["data"] = data[5 * number : 5 * number + 5]
    for name, library in (("x.h5", hs), ("y.h5", h5py)):
        with (hs.create if library is hs else lambda path: h5py.File(path, "w"))(tmp_path / name) as f:
            layout: Any = library.VirtualLayout((20, 10), "f8")
            for number in range(4):
                layout[5 * number : 5 * number + 5] = library.VirtualSource(f"part{number}.h5", "data", (5, 10))
            f.create_virtual_dataset("all", layout, fillvalue=-1)
            parts = library.VirtualLayout((4, 12), "f4", maxshape=(None, 12))
            for number in range(3):
                parts[number, 1:11] = library.VirtualSource(f"part{number}.h5", "data", (5, 10))[2]
            parts[3, 0:10:2] = library.VirtualSource(f"part{3}.h5", "data", (5, 10))[1, 5:10]
            f.create_virtual_dataset("parts", parts, fillvalue=7)
            f["own"] = np.arange(6)
            own = library.VirtualLayout((2, 3), "i8")
            own[0], own[1] = (library.VirtualSource(str(tmp_path / name), "/own", (6,))[start : start + 3] for start in (3, 0))
            f.create_virtual_dataset("g/own", own)
    ours = hs.open(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5") as g:
        assert (f["all"][:] == data).all() and (ours["all"][:] == data).all() and f["all"].is_virtual
        for path in ("all", "parts", "g/own"):
            assert (
                np.array_equal(f[path][:], g[path][:])
                and f[path].dtype == g[path].dtype
                and f[path].maxshape == g[path].maxshape
                and f[path].fillvalue == g[path].fillvalue
            )
            assert np.array_equal(ours[path][:], g[path][:])
            mine, theirs = f[path].virtual_sources(), g[path].virtual_sources()
            assert [(source.file_name, source.dset_name) for source in mine] == [(source.file_name, source.dset_name) for source in theirs]
    with h5py.File(tmp_path / "z.h5", "w") as f:
        f["data"] = data
    with h5py.File(tmp_path / "z.h5") as theirs, hs.create(tmp_path / "w.h5") as f:
        layout = hs.VirtualLayout((2, 20, 10), "f8")
        layout[0], layout[1, ::2] = hs.VirtualSource(theirs["data"]), hs.VirtualSource(hs.open(tmp_path / "z.h5")["data"])[10:]
        made = f.create_virtual_dataset("x", layout)
        assert made.shape == (2, 20, 10) and made.chunks is None
        with pytest.raises(hs.UnsupportedError, match="virtual"):
            made[0]
        with pytest.raises(hs.UnsupportedError, match="virtual"):
            made[0] = 1
        with pytest.raises(hs.InvalidInputError, match="200 elements"):
            layout[0, 0] = hs.VirtualSource(theirs["data"])
        with pytest.raises(hs.UnsupportedError, match="give slices"):
            layout[0, [3, 1]] = hs.VirtualSource(theirs["data"])[0:2]
        with pytest.raises(TypeError, match="name and the shape"):
            hs.VirtualSource("x.h5")
    assert (hs.open(tmp_path / "w.h5")["x"][1, ::2] == data[10:]).all() and (hs.open(tmp_path / "w.h5")["x"][0] == data).all()


@pytest.mark.parametrize("block", [512, 4096, 65536])
@pytest.mark.parametrize("size", [3, 300_000])
def test_user_blocks_are_left_to_users(tmp_path: pathlib.Path, block: int, size: int) -> None:
    path = tmp_path / "x.h5"
    with hs.create(path, userblock_size=block) as f:
        f["x"] = np.arange(size)
        f.create_dataset("g/z", data=np.arange(size), compression="gzip", chunks=(100,))
        text = f.create_dataset("text", (3,), str)
        text[1] = "between"
        f["refs"] = [f["x"].ref, text.ref]
        f["region"] = f["x"].regionref[1:3]
        f["types"] = np.dtype("f4")
        assert text[1] == b"between" and f["g/z"][-1] == size - 1 and f.userblock_size == block
    assert path.read_bytes()[:block] == bytes(block)
    with open(path, "r+b") as raw:
        raw.write(b"anything at all")
    with h5py.File(path) as f:
        assert f.userblock_size == block and (f["x"][:] == np.arange(size)).all() and (f["g/z"][:] == np.arange(size)).all()
        assert f["text"].asstr()[1] == "between" and f[f["refs"][1]].name == "/text" and f["x"][f["region"][()]].tolist() == [1, 2]
    ours = hs.open(path)
    assert (ours["x"][:] == np.arange(size)).all() and ours["text"].asstr()[1] == "between"
    with h5py.File(path, "r+") as f:
        f["added"] = 5
    with h5py.File(path) as f:
        assert f["added"][()] == 5 and (f["g/z"][:] == np.arange(size)).all()
    assert path.read_bytes()[:15] == b"anything at all"


def test_options_of_h5py_are_taken_or_refused_by_name(tmp_path: pathlib.Path) -> None:
    for options in (
        {"libver": "latest"},
        {"libver": ("earliest", "v108")},
        {"rdcc_nbytes": 1 << 20, "locking": False},
        {"fs_strategy": "fsm"},
        {"driver": None},
    ):
        with hs.create(tmp_path / "x.h5", **options) as f:  # type: ignore[arg-type]
            f["x"] = 1
        with h5py.File(tmp_path / "x.h5") as f:
            assert f["x"][()] == 1
    for options, words in (
        ({"fs_persist": True}, "fs_persist"),
        ({"driver": "core"}, "driver"),
        ({"userblock_size": 100}, "user block"),
        ({"libver": "v9"}, "libver"),
        ({"swmr": True}, "swmr"),
    ):
        with pytest.raises((hs.UnsupportedError, hs.InvalidInputError), match=words):
            hs.create(tmp_path / "y.h5", **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        hs.create(tmp_path / "y.h5", nothing=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.h5"]
