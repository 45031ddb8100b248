"""A file that is being written can be looked at, as h5py's can: members, names, options."""

from __future__ import annotations

import pathlib

import h5py
import hdf5plugin
import hyperslab as hs
import numpy as np
import pytest


@pytest.mark.parametrize("tracked", [False, True])
def test_members_of_a_file_that_is_being_written(tmp_path: pathlib.Path, tracked: bool) -> None:
    with hs.create(tmp_path / "x.h5", track_order=tracked) as f, h5py.File(tmp_path / "y.h5", "w", track_order=tracked) as g:
        for file in (f, g):
            file["x"] = np.arange(3)
            file["x"].attrs["units"] = "K"
            file["deep/in/it"] = 1.5
            deep = file["deep"]
            deep.create_dataset(name="y", shape=(0,), dtype="i4", maxshape=(None,))
            deep.create_group(name="empty")
            file["/deep/y"].resize((5,))
            file["deep"]["in"].attrs["note"] = "here"
        f["deep/y"][:] = g["deep/y"][:] = range(5)
        for path in ("/", "deep", "deep/in", "deep/empty"):
            ours, theirs = (f if path == "/" else f[path]), g[path]
            assert list(ours.keys()) == list(ours) == list(theirs) and len(ours) == len(theirs) and ours and ours.name == theirs.name
        for path in ("x", "/x", "deep/in", "deep/in/it", "nothing", "deep/nothing", "x/y"):
            assert (path in f) == (path in g)
        assert f["deep/y"].shape == (5,) and f["deep"]["in/it"].name == "/deep/in/it" and f["x"].ref.path == "/x"
        for path in ("nothing", "deep/nothing"):
            with pytest.raises(KeyError, match="nothing"):
                f[path]
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["x"].attrs["units"] == "K" and f["deep/in"].attrs["note"] == "here" and f["deep/y"][:].tolist() == [0, 1, 2, 3, 4]
    plan = hs.WritePlan(tmp_path / "p.h5")
    with plan.task(0) as task:
        task.create_dataset("g/x", data=[1, 2], region=np.s_[0:2], shape=(2,))
        task["g"].attrs["a"] = 1
        assert list(task) == ["g"] and "g/x" in task
        plan.commit([task.finish()])
    with h5py.File(tmp_path / "p.h5") as f:
        assert f["g"].attrs["a"] == 1


@pytest.mark.parametrize(
    "options", [hdf5plugin.Zstd(clevel=5), hdf5plugin.LZ4(), hdf5plugin.Bitshuffle(), hdf5plugin.Bitshuffle(cname="zstd"), {"compression": 32000}], ids=str
)
def test_filters_are_given_by_number_too(tmp_path: pathlib.Path, options: object) -> None:
    data = np.arange(1000)
    with hs.create(tmp_path / "x.h5") as f:
        f.create_dataset("x", data=data, **options)
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["x"].id.get_create_plist().get_filter(0)[0] == options["compression"] and (f["x"][:] == data).all()


@pytest.mark.parametrize(
    "options, words",
    [
        (hdf5plugin.Blosc(), "blosc \\(filter 32001\\) is read, but not written: give .*32015 .zstd."),
        ({"compression": 99}, "compression 99: give .*zstd"),
        ({"compression": 10}, "0 to 9"),
        ({"compression": "blosc"}, "blosc is read, but not written: give zstd, lz4 or bitshuffle"),
        ({"compression": "bzip2"}, "bzip2"),
        ({"fill_time": "now"}, "fill_time"),
        ({"track_times": True}, "track_times"),
    ],
    ids=str,
)
def test_options_that_are_not_supported_are_named(tmp_path: pathlib.Path, options: object, words: str) -> None:
    with hs.create(tmp_path / "x.h5") as f, pytest.raises((hs.UnsupportedError, hs.InvalidInputError), match=words):
        f.create_dataset("x", data=np.arange(10), **options)
