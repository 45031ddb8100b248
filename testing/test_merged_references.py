"""References in merged files lead to the places of the new file that have the elements of the old ones."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest


def write(path: pathlib.Path, first: int, rows: int, **more: Any) -> None:
    with h5py.File(path, "w") as f:
        x = f.create_dataset("g/x", data=np.arange(first * 4, (first + rows) * 4).reshape(rows, 4), chunks=(2, 4), maxshape=(None, 4))
        same = f.create_dataset("same", data=np.arange(12).reshape(3, 4))
        f.create_dataset("objects", data=[x.ref, f["g"].ref, f.ref, same.ref][:rows] + [h5py.Reference()] * (rows - 4), dtype=h5py.ref_dtype, chunks=(2,))
        f.create_dataset("regions", data=[x.regionref[row, 1:3] for row in range(rows)], dtype=h5py.regionref_dtype)
        record = np.dtype([("n", "<i4"), ("r", h5py.ref_dtype), ("s", h5py.regionref_dtype), ("t", h5py.string_dtype())])
        records = f.create_dataset("records", (rows,), record)
        for row in range(rows):
            records[row] = (row, x.ref, x.regionref[row:], f"text {row}")
        f.create_dataset("table", data=[same.regionref[1:, ::2], h5py.RegionReference(), same.regionref[...]], dtype=h5py.regionref_dtype)
        f.attrs["to"], f["g"].attrs["list"] = x.ref, np.array([same.ref, x.ref], h5py.ref_dtype)
        same.attrs["part"] = same.regionref[0, :2]
        f.attrs["which"] = path.name
        for name, value in more.items():
            f[name] = value


def targets(f: h5py.File, refs: Any) -> list[str | None]:
    return [f[ref].name if ref else None for ref in refs]


def test_files_that_follow_each_other(tmp_path: pathlib.Path) -> None:
    lengths = [4, 5, 2]
    for number, rows in enumerate(lengths):
        write(tmp_path / f"p{number}.h5", sum(lengths[:number]), rows)
    going_on = ["g/x", "objects", "regions", "records"]
    hs.merge(f"{tmp_path}/p*.h5", tmp_path / "all.h5", axis=0, datasets=going_on)
    for path in tmp_path.glob("p*.h5"):
        path.unlink()
    with h5py.File(tmp_path / "all.h5") as f:
        x = f["g/x"]
        assert x[...].tolist() == np.arange(44).reshape(11, 4).tolist()
        leads = ["/g/x", "/g", "/", "/same"]
        assert targets(f, f["objects"][...]) == [*leads, *leads, None, *leads[:2]]
        assert [x[ref].reshape(-1).tolist() for ref in f["regions"][...]] == [x[row, 1:3].tolist() for row in range(11)]
        for start, rows in zip([0, 4, 9], lengths):
            for row in range(rows):
                record = f["records"][start + row]
                assert (record["n"], f[record["r"]].name, record["t"]) == (row, "/g/x", f"text {row}".encode())
                assert x[record["s"]].tolist() == x[start + row : start + rows].tolist()
        table = f["table"][...]
        assert f["same"][table[0]].tolist() == f["same"][1:, ::2].tolist() and not table[1] and f["same"][table[2]].tolist() == f["same"][...].tolist()
        assert f[f.attrs["to"]].name == "/g/x" and targets(f, f["g"].attrs["list"]) == ["/same", "/g/x"] and "which" not in f.attrs
        assert f["same"][f["same"].attrs["part"]].reshape(-1).tolist() == [0, 1]
    with hs.open(tmp_path / "all.h5") as ours:
        assert [ref.path for ref in ours["objects"][:4]] == leads
        assert [ours["g/x"][ref].reshape(-1).tolist() for ref in ours["regions"][...]] == [ours["g/x"][row, 1:3].tolist() for row in range(11)]


def test_a_new_dimension(tmp_path: pathlib.Path) -> None:
    for number in range(3):
        write(tmp_path / f"p{number}.h5", 4 * number, 4)
    hs.merge(f"{tmp_path}/p*.h5", tmp_path / "all.h5", new_dim="run")
    with h5py.File(tmp_path / "all.h5") as f:
        x = f["g/x"]
        assert x.shape == (3, 4, 4) and f["objects"].shape == (3, 4) == f["regions"].shape
        for run in range(3):
            assert targets(f, f["objects"][run]) == ["/g/x", "/g", "/", "/same"]
            assert [x[ref].reshape(-1).tolist() for ref in f["regions"][run]] == [x[run, row, 1:3].tolist() for row in range(4)]
            assert [x[record["s"]].reshape(-1).tolist() for record in f["records"][run]] == [x[run, row:].reshape(-1).tolist() for row in range(4)]
            assert f["same"][f["table"][run, 0]].reshape(-1).tolist() == f["same"][run, 1:, ::2].reshape(-1).tolist()


def test_what_leads_out_of_the_files(tmp_path: pathlib.Path) -> None:
    for number in range(2):
        write(tmp_path / f"p{number}.h5", 4 * number, 4)
        with h5py.File(tmp_path / f"p{number}.h5", "r+") as f:
            f["type"] = np.dtype("i4")
            f.create_dataset("out", data=[f["type"].ref], dtype=h5py.ref_dtype)
    with pytest.raises(hs.UnsupportedError, match=r"reference to /type, which the merged file does not have.*object /out"):
        hs.merge(f"{tmp_path}/p*.h5", tmp_path / "all.h5", axis=0, datasets=["g/x"], compat="override")
    for number in range(2):
        with h5py.File(tmp_path / f"p{number}.h5", "r+") as f:
            del f["out"]
            points = h5py.h5s.create_simple(f["same"].shape)
            points.select_elements([(0, 0), (2, 1)])
            f.create_dataset("points", data=[h5py.h5r.create(f["same"].id, b".", h5py.h5r.DATASET_REGION, points)], dtype=h5py.regionref_dtype)
    with pytest.raises(hs.UnsupportedError, match=r"region of points of /same.*object /points"):
        hs.merge(f"{tmp_path}/p*.h5", tmp_path / "all.h5", axis=0, datasets=["g/x"], compat="override")
    assert not (tmp_path / "all.h5").exists()
    with pytest.raises(hs.UnsupportedError, match="dataset of references"):
        hs.virtual(f"{tmp_path}/p*.h5", tmp_path / "all.h5", axis=0, datasets=["g/x"])


def test_references_that_differ_are_a_conflict(tmp_path: pathlib.Path) -> None:
    for number in range(2):
        with h5py.File(tmp_path / f"p{number}.h5", "w") as f:
            f["x"], f["y"] = [1, 2], [3, 4]
            f.create_dataset("to", data=[f["xy"[number]].ref], dtype=h5py.ref_dtype)
    with pytest.raises(hs.ConflictError, match="/to has other values"):
        hs.merge(f"{tmp_path}/p*.h5", tmp_path / "all.h5", axis=0, datasets=["x"])
