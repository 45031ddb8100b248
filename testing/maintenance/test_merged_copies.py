"""A merged file keeps what is not about values as `repack` keeps it, and states what it cannot: judged by HDF5's own library."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import same_file
from h5py import h5d, h5p, h5s, h5t
from test_same_copies import EXAMPLES, MADE, empty_texts


def stated_differences(first: pathlib.Path, copy: pathlib.Path, changes: tuple[Any, ...]) -> list[same_file.Difference]:
    """What differs and is not stated."""
    stated = {one.path.encode() for one in changes}
    return [one for one in same_file.differences(*(same_file.describe(str(path)) for path in (first, copy))) if one.path not in stated]


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_one_file_is_copied(make: Callable[[pathlib.Path], None], tmp_path: pathlib.Path) -> None:
    make(tmp_path / "original.h5")
    made = hs.merge([tmp_path / "original.h5"], tmp_path / "merged.h5", axis=0)
    assert made.changes == () and stated_differences(tmp_path / "original.h5", tmp_path / "merged.h5", ()) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_one_real_file_is_copied(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if not h5py.is_hdf5(path):
        pytest.skip("netCDF classic")
    made = hs.merge([path], tmp_path / "merged.h5", axis=0)
    assert stated_differences(path, tmp_path / "merged.h5", made.changes) == []


def part(path: pathlib.Path, start: int, **changed: Any) -> None:
    """A file with all that only its first one has in a merged file, and datasets that go on."""
    with h5py.File(path, "w", libver="latest", userblock_size=512) as f:
        f["type"] = np.dtype("i4")
        f["type"].attrs["note"] = "text"
        f.create_dataset("g/x", data=np.arange(start, start + 4, dtype="i4"), dtype=f["type"], maxshape=(None,), chunks=(2,))
        f["again"] = f["g/x"]
        f["g/same"] = f["g/x"]
        f["soft"], f["external"] = h5py.SoftLink(changed.get("soft", "/g/x")), h5py.ExternalLink("other.h5", "/y")
        f.create_dataset("texts", data=["a", "bc"], dtype=h5py.string_dtype("ascii"))
        f["references"] = np.array([f["g/x"].ref, f["g"].ref], dtype=h5py.ref_dtype)
        h5py.h5o.set_comment(f["g"].id, b"a comment")
        f.attrs["run"] = changed.get("run", 1)
        f["g/x"].attrs.create("unit", 5, dtype=f["type"])
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_chunk((2,))
        plist.set_filter(1, 0, (5,))
        plist.set_fill_time(h5d.FILL_TIME_NEVER)
        made = h5d.create(f.id, b"zipped", h5t.STD_I32LE, h5s.create_simple((4,), (h5s.UNLIMITED,)), plist)
        made.write(h5s.ALL, h5s.ALL, np.arange(start, start + 4, dtype="i4"))
        lists = f.create_dataset("lists", (2,), dtype=h5py.vlen_dtype("i4"))
        lists[0] = np.arange(start, start + 3, dtype="i4")


#: What may differ between a dataset that goes on and the first file's.
GROWN = {(path, aspect) for path in (b"/again", b"/texts", b"/references", b"/zipped", b"/lists") for aspect in ("space", "values")}


def test_several_files_keep_what_the_first_has(tmp_path: pathlib.Path) -> None:
    part(tmp_path / "a.h5", 0)
    part(tmp_path / "b.h5", 4)
    made = hs.merge([tmp_path / "a.h5", tmp_path / "b.h5"], tmp_path / "merged.h5", axis=0)
    found = same_file.differences(*(same_file.describe(str(tmp_path / name)) for name in ("a.h5", "merged.h5")))
    assert {(one.path, one.aspect) for one in found} == GROWN and made.changes == () and made.copied_chunks == 8
    with h5py.File(tmp_path / "merged.h5") as f:
        assert f["again"][:].tolist() == f["zipped"][:].tolist() == list(range(8)) and f["texts"].asstr()[:].tolist() == ["a", "bc"] * 2
        assert [one.tolist() for one in f["lists"]] == [[0, 1, 2], [], [4, 5, 6], []]
        assert [f[one].name for one in f["references"]] == ["/again", "/g"] * 2 and f["g/x"].id.get_type().committed()


def test_a_new_dimension_keeps_what_the_first_has(tmp_path: pathlib.Path) -> None:
    for number, name in enumerate("abc"):
        with netCDF4.Dataset(tmp_path / f"{name}.nc", "w") as d:
            d.createDimension("x", 3)
            d.createDimension("y", 2)
            d.createVariable("x", "f4", ("x",))[:] = [1, 2, 3]
            d.createVariable("v", "i4", ("x", "y"), zlib=True, fill_value=-1)[:] = np.arange(6).reshape(3, 2) + number
        with h5py.File(tmp_path / f"{name}.nc", "r+") as f:
            f["second"] = np.arange(3.0)
            f["second"].make_scale("second")
            f["v"].dims[0].attach_scale(f["second"])
            f["w"], f["soft"] = f["v"], h5py.SoftLink("/v")
    made = hs.merge(f"{tmp_path}/?.nc", tmp_path / "all.nc4", new_dim="run")
    assert made.changes == ()
    with h5py.File(tmp_path / "a.nc") as one, h5py.File(tmp_path / "all.nc4") as f:
        assert [[scale.name for scale in dim.values()] for dim in f["v"].dims] == [["/run"], ["/x", "/second"], ["/y"]]
        assert f["w"] == f["v"] and f.get("soft", getlink=True).path == "/v" and f["v"].chunks == (1, *one["v"].chunks)
        assert list(f["v"].attrs) == list(one["v"].attrs) and list(f) == ["run", *one]
        np.testing.assert_array_equal(f["v"][:], [np.arange(6).reshape(3, 2) + number for number in range(3)])
    with netCDF4.Dataset(tmp_path / "all.nc4") as d:
        assert d["v"].dimensions == ("run", "x", "y") and d["v"].filters()["zlib"]


def test_names_in_the_order_of_creation(tmp_path: pathlib.Path) -> None:
    """The first name of an object by name is not the one that was created first."""
    for number, name in enumerate("pq"):
        with h5py.File(tmp_path / f"{name}.h5", "w", track_order=True) as f:
            group = f.create_group("z", track_order=True)
            group["y"] = np.arange(2) + 2 * number
            group["b"], f["c"] = group["y"], group["y"]
            group["soft"] = h5py.SoftLink(f"/{name}")
            group.attrs["differs"] = number
            f["a"] = group
    made = hs.merge([tmp_path / "p.h5", tmp_path / "q.h5"], tmp_path / "merged.h5", axis=0)
    assert sorted(one.path.rsplit("/")[-1] for one in made.changes) == ["a", "soft"]
    with h5py.File(tmp_path / "merged.h5") as f:
        assert f["a"] == f["z"] and f["z/y"] == f["c"] == f["a/b"] and f["c"][:].tolist() == [0, 1, 2, 3]
        assert "soft" not in f["z"] and not f["z"].attrs and list(f) == ["z", "c", "a"] and list(f["z"]) == ["y", "b"]


def test_empty_texts_are_no_null(tmp_path: pathlib.Path) -> None:
    empty_texts(tmp_path / "a.h5")
    hs.merge([tmp_path / "a.h5"] * 2, tmp_path / "merged.h5", axis=0)
    assert same_file.describe(str(tmp_path / "merged.h5"))[b"/texts", "values"] == ([b"", b"b"] * 2,)


def test_what_differs_is_left_out_and_stated(tmp_path: pathlib.Path) -> None:
    part(tmp_path / "a.h5", 0)
    part(tmp_path / "b.h5", 4, soft="/elsewhere", run=2)
    with h5py.File(tmp_path / "b.h5", "r+") as f:
        del f["external"]
    made = hs.merge([tmp_path / "a.h5", tmp_path / "b.h5"], tmp_path / "merged.h5", axis=0)
    assert [(one.path, one.text.split(" ")[1]) for one in made.changes] == [("/", "attribute"), ("/external", "link"), ("/soft", "link")]
    with h5py.File(tmp_path / "merged.h5") as f:
        assert "run" not in f.attrs and not {"soft", "external"} & {*f} and f["g/same"] == f["again"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda f: f.__delitem__("again"), "there is no /again"),
        (lambda f: (f.__delitem__("again"), f.__setitem__("again", np.arange(4, dtype="i4"))), "/g/same is another object|another object than"),
        (lambda f: (f.__delitem__("type"), f.__setitem__("type", np.dtype("i8"))), "/type has another datatype"),
        (lambda f: (f.__delitem__("type"), f.create_group("type")), "/type is a group, and a datatype"),
    ],
)
def test_names_that_mean_something_else_are_conflicts(change: Callable[[h5py.File], Any], text: str, tmp_path: pathlib.Path) -> None:
    part(tmp_path / "a.h5", 0)
    part(tmp_path / "b.h5", 4)
    with h5py.File(tmp_path / "b.h5", "r+") as f:
        change(f)
    with pytest.raises(hs.ConflictError, match=text):
        hs.merge([tmp_path / "a.h5", tmp_path / "b.h5"], tmp_path / "merged.h5", axis=0)
    assert not (tmp_path / "merged.h5").exists()
    left = hs.merge([tmp_path / "a.h5", tmp_path / "b.h5"], tmp_path / "merged.h5", axis=0, misfits="leave_out")
    assert [one.path for one in left.left_out] == [str(tmp_path / "b.h5")] and stated_differences(tmp_path / "a.h5", tmp_path / "merged.h5", left.changes) == []
