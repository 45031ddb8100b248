"""References in merged files lead to the places of the new file that have the elements of the old ones."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from standard_references import Made, told, told_lists


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
    hs.merge(f"{tmp_path}/p*.h5", tmp_path / "types.h5", axis=0, datasets=["g/x"], compat="override")
    with h5py.File(tmp_path / "types.h5") as f:
        assert f[f["out"][0]] == f["type"]
    for number in range(2):
        with h5py.File(tmp_path / f"p{number}.h5", "r+") as f, Made() as made:
            del f["out"]
            # An attribute that differs, so that the new file does not have it.
            made.attribute(f, "/", "which").write(f, "out")
    with pytest.raises(hs.UnsupportedError, match=r"attribute 'which' of /, which the merged file does not have.*object /out"):
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


def points(*coordinates: tuple[int, int]) -> h5py.h5s.SpaceID:
    space = h5py.h5s.create_simple(SHAPE)
    space.select_elements(coordinates)
    return space


def blocks(*boxes: tuple[tuple[int, int], tuple[int, int]]) -> h5py.h5s.SpaceID:
    space = h5py.h5s.create_simple(SHAPE)
    for number, (start, count) in enumerate(boxes):
        space.select_hyperslab(start, (1, 1), (1, 1), count, op=h5py.h5s.SELECT_OR if number else h5py.h5s.SELECT_SET)
    return space


SHAPE = (5, 6)


def selections() -> list[h5py.h5s.SpaceID]:
    everything, nothing = h5py.h5s.create_simple(SHAPE), h5py.h5s.create_simple(SHAPE)
    nothing.select_none()
    strided = h5py.h5s.create_simple(SHAPE)
    strided.select_hyperslab((1, 0), (2, 2), (2, 3), (1, 2))
    some = [points((4, 1), (0, 0), (2, 5), (2, 1)), blocks(((0, 0), (2, 2)), ((3, 3), (1, 3))), blocks(((1, 1), (2, 3))), everything, nothing, strided]
    return some


def write_regions(path: pathlib.Path, number: int) -> None:
    """References of all kinds to regions of all kinds: of `x`, which goes on, and of `same`."""
    with h5py.File(path, "w") as f, Made() as made:
        f["x"] = np.arange(30).reshape(SHAPE) + 100 * number
        f["same"] = np.arange(30).reshape(SHAPE)
        f["same"].attrs["größe"], f["x"].attrs["unit"] = 5, "m"
        found = [h5py.h5r.create(f[name].id, b".", h5py.h5r.DATASET_REGION, space) for name in ("x", "same") for space in selections()]
        f.create_dataset("regions", data=found, dtype=h5py.regionref_dtype)
        f.create_dataset("shared", data=found[len(found) // 2 :], dtype=h5py.regionref_dtype)
        f.create_dataset("lists", (1,), h5py.vlen_dtype(h5py.regionref_dtype))[0] = np.array(found, h5py.regionref_dtype)
        f["same"].attrs["points"] = found[len(found) // 2]
        f["x"].attrs["lists"] = np.array([h5py.Reference(), f["same"].ref], h5py.ref_dtype)
        nested = np.empty(2, object)
        nested[0], nested[1] = np.array([f["x"].ref, f["same"].ref], h5py.ref_dtype), np.array([], h5py.ref_dtype)
        f["x"].attrs.create("nested", nested, dtype=h5py.vlen_dtype(h5py.ref_dtype))
        made.object(f, "/x").null().object(f, "/same").attribute(f, "/same", "größe").attribute(f, "/x", "unit")
        for name in ("/x", "/same"):
            for space in selections():
                made.region(f, name, space)
        made.write(f, "standard")
        made.write_records(f, "standard records")
        made.write_lists(f, "standard lists", [len(made.bytes) // 64])
    with h5py.File(path, "r+") as f, Made() as made:
        made.object(f, "/same").attribute(f, "/same", "größe").region(f, "/same", selections()[0])
        made.write(f, "standard shared")
        made.write_attribute(f, "/same", "standard")


GOING_ON = ["x", "regions", "lists", "standard", "standard records", "standard lists"]


def elements(f: h5py.File, refs: Any) -> list[tuple[str, list[int]]]:
    """The name of each dataset and the selected elements; points in the order of their list."""
    found = []
    for ref in refs:
        space, data = h5py.h5r.get_region(ref, f.id), f[ref]
        out = np.empty(space.get_select_npoints(), "i8")
        if out.size:
            data.id.read(h5py.h5s.create_simple(out.shape), space, out)
        found.append((data.name, out.tolist()))
    return found


def standard(references: Any) -> list[Any]:
    return [(t.kind, t.path, t.attribute, getattr(t, "elements", np.empty(0)).tolist()) for t in references]


@pytest.mark.parametrize("new_dim", [None, "run"])
def test_points_blocks_and_references_of_hdf5_1_12(tmp_path: pathlib.Path, new_dim: str | None) -> None:
    for number in range(3):
        write_regions(tmp_path / f"p{number}.h5", number)
    if new_dim is None:
        hs.merge(f"{tmp_path}/p*.h5", tmp_path / "all.h5", axis=0, datasets=GOING_ON)
    else:
        hs.merge(f"{tmp_path}/p*.h5", tmp_path / "all.h5", new_dim=new_dim)
    with h5py.File(tmp_path / "all.h5", "r+") as f:
        regions, lists = f["regions"][...].reshape(-1), f["standard lists"].shape
        assert elements(f, f["shared"][...].reshape(-1)[: len(selections())])[0][0] == "/same"
        ours, mine, listed = elements(f, regions), standard(told(f, "standard")), told_lists(f, "standard lists")
        assert len(listed) == 3 and lists in ((3,), (3, 1))
        assert [f[ref].name if ref else None for ref in f["x"].attrs["lists"]] == [None, "/same"]
        assert [[f[ref].name for ref in refs] for refs in f["x"].attrs["nested"]] == [["/x", "/same"], []]
        shared = standard(told(f, "standard shared"))
        per_file, per_list = len(ours) // 3, len(mine) // 3
    for number in range(3):
        with h5py.File(tmp_path / f"p{number}.h5") as f:
            wanted = elements(f, f["regions"][...])
            told_before = standard(told(f, "standard"))
            if new_dim is None:
                assert ours[number * per_file : (number + 1) * per_file] == wanted
                assert mine[number * per_list : (number + 1) * per_list] == told_before
                assert standard(listed[number]) == told_before
                assert shared == standard(told(f, "standard shared"))
            else:
                # What is the same in all files goes on along the new dimension, too.
                assert ours[number * per_file : (number + 1) * per_file] == wanted
                assert mine[number * per_list : (number + 1) * per_list] == told_before
    with hs.open(tmp_path / "all.h5") as f, hs.open(tmp_path / "p1.h5") as before:
        later = f["standard records"][...].reshape(-1)
        assert len(later) == 3 * len(before["standard records"])
        one = len(before["standard records"])
        for new, old in zip(later[one : 2 * one], before["standard records"][...], strict=True):
            for name in new.dtype.names:
                if isinstance(old[name], hs.Reference) and old[name]:
                    assert type(new[name]) is type(old[name]) and new[name].path == old[name].path
    assert [finding for finding in hs.check(tmp_path / "all.h5").findings if finding.severity != "info"] == []
