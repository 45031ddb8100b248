"""Datasets of references that have dimension scales, or are dimension scales, in repacked, recovered and merged files."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest


def make(path: pathlib.Path, first: int = 0) -> None:
    with h5py.File(path, "w") as f:
        time = f.create_dataset("time", data=np.arange(first, first + 3.0), maxshape=(None,))
        time.make_scale("time")
        place = f.create_dataset("place", data=[b"a", b"b"])
        place.make_scale("place")
        objects = f.create_dataset("objects", (3, 2), h5py.ref_dtype, chunks=(2, 2), maxshape=(None, 2))
        objects[0, 0], objects[2, 1] = time.ref, f.ref
        regions = f.create_dataset("regions", (3,), h5py.regionref_dtype)
        regions[1] = time.regionref[1:]
        kept = f.create_dataset("kept", (2,), h5py.ref_dtype)
        kept[0] = place.ref
        # References are a scale themselves.
        kept.make_scale("kept")
        f.create_dataset("values", data=np.arange(6).reshape(3, 2) + first, maxshape=(None, 2))
        for name, axis, scale in [("objects", 0, time), ("objects", 1, place), ("regions", 0, time), ("values", 0, time), ("values", 1, kept)]:
            f[name].dims[axis].attach_scale(scale)


def scales(f: Any) -> dict[str, list[list[str]]]:
    return {name: [[scale.name for scale in dim.values()] for dim in f[name].dims] for name in f}


def users(f: Any) -> dict[str, list[tuple[str, int]]]:
    return {name: sorted((f[ref].name, int(axis)) for ref, axis in f[name].attrs["REFERENCE_LIST"]) for name in f if "REFERENCE_LIST" in f[name].attrs}


def leads(f: Any) -> list[Any]:
    objects = [[f[ref].name if ref else None for ref in row] for row in f["objects"][...].tolist()]
    regions = [f[ref][ref].tolist() if ref else None for ref in f["regions"][...]]
    return [objects, regions, [f[ref].name if ref else None for ref in f["kept"][...]]]


def test_repacked_and_recovered(tmp_path: pathlib.Path) -> None:
    make(tmp_path / "x.h5")
    hs.repack(tmp_path / "x.h5", tmp_path / "repacked.h5")
    hs.repack(tmp_path / "x.h5", tmp_path / "chunks.h5", chunks=(3, 1))
    assert not hs.recover(tmp_path / "x.h5", tmp_path / "recovered.h5").lost
    for name in ("repacked", "chunks", "recovered"):
        with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / f"{name}.h5", "r+") as out:
            assert scales(out) == scales(f) and users(out) == users(f) and leads(out) == leads(f)
            assert scales(f)["objects"] == [["/time"], ["/place"]] and scales(f)["values"][1] == ["/kept"]
            assert (out["objects"].chunks, out["objects"].maxshape) == ((2, 2), (None, 2))
            assert out["values"].chunks == ((3, 1) if name == "chunks" else f["values"].chunks)
            out["objects"].resize((5, 2))
            out["objects"][4, 0] = out["kept"].ref
            assert out[out["objects"][4, 0]].name == "/kept" and not out["objects"][3, 0]
            out["objects"].dims[0].detach_scale(out["time"])
            assert scales(out)["objects"] == [[], ["/place"]]
        with hs.open(tmp_path / f"{name}.h5") as ours:
            assert [ref.path for ref in ours["objects"][4]] == ["/kept", None] and ours["values"].dims == ("time", "kept")
        assert [finding for finding in hs.check(tmp_path / f"{name}.h5").findings if finding.severity != "info"] == []


@pytest.mark.parametrize("how", [{"concat_dim": "time"}, {"new_dim": "run"}], ids=str)
def test_merged(tmp_path: pathlib.Path, how: dict[str, str]) -> None:
    for number in range(2):
        make(tmp_path / f"p{number}.h5", 3 * number)
        if how.get("new_dim"):
            with h5py.File(tmp_path / f"p{number}.h5", "r+") as f:
                f["time"][...] = [0, 1, 2]
    hs.merge(f"{tmp_path}/p*.h5", tmp_path / "all.h5", **how)
    with h5py.File(tmp_path / "all.h5") as f:
        one = [["/time", None], [None, None], [None, "/"]]
        if "concat_dim" in how:
            assert leads(f) == [one * 2, [None, [1.0, 2.0], None, None, [4.0, 5.0], None], ["/place", None]]
            assert scales(f)["objects"] == [["/time"], ["/place"]] and scales(f)["values"] == [["/time"], ["/kept"]]
            assert f["values"][...].tolist() == [[0, 1], [2, 3], [4, 5], [3, 4], [5, 6], [7, 8]]
        else:
            assert [[[f[ref].name if ref else None for ref in row] for row in run] for run in f["objects"][...].tolist()] == [one] * 2
            assert scales(f)["objects"] == [["/run"], ["/time"], ["/place"]]
