"""Files are at most twice as large as files of h5py and netCDF4 with the same content, whatever the shape and the way it was written."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pytest

GROWING: list[tuple[tuple[int, ...], tuple[int | None, ...]]] = [
    ((0,), (None,)),
    ((1,), (None,)),
    ((5,), (None,)),
    ((30,), (None,)),
    ((1000,), (None,)),
    ((70_000,), (None,)),
    ((300_001,), (None,)),
    ((5,), (1_000_000,)),
    ((5, 3), (None, 3)),
    ((3, 5), (3, None)),
    ((100, 100), (None, None)),
    ((513, 513), (None, None)),
    ((2, 40, 50), (None, 40, 50)),
    ((9, 180, 361), (None, 180, 361)),
    ((1, 1), (None, None)),
    ((40, 1, 1, 7), (None, None, None, 7)),
]


def content(shape: tuple[int, ...], dtype: Any = "f8") -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape).astype(dtype)


def limit(theirs: pathlib.Path) -> float:
    """Twice the other file. A file system gives blocks of 4 KiB, so fewer bytes are no saving."""
    return 2 * os.path.getsize(theirs) + 4096


@pytest.mark.sampled(3)
@pytest.mark.parametrize("options", [{}, {"compression": "gzip"}], ids=["plain", "gzip"])
@pytest.mark.parametrize("shape, maxshape", GROWING, ids=str)
def test_growing_datasets(tmp_path: pathlib.Path, shape: tuple[int, ...], maxshape: tuple[int | None, ...], options: dict[str, Any]) -> None:
    ours, rows, theirs, begun = (tmp_path / name for name in ("ours.h5", "rows.h5", "theirs.h5", "begun.h5"))
    data = content(shape)
    with hs.create(ours) as f, hs.create(rows) as g, h5py.File(theirs, "w") as h, h5py.File(begun, "w") as i:
        for number in range(6):
            f.create_dataset(f"x{number}", data=data, maxshape=maxshape, **options)
            h.create_dataset(f"x{number}", data=data, maxshape=maxshape, **options)
            i.create_dataset(f"x{number}", tuple(0 if most is None else n for n, most in zip(shape, maxshape)), "f8", maxshape=maxshape, **options)
            i[f"x{number}"].resize(shape)
            i[f"x{number}"][...] = data
            grown = g.create_dataset(f"x{number}", (0, *shape[1:]), "f8", maxshape=maxshape, **options)
            for start in range(0, shape[0], max(1, shape[0] // 7)):
                grown.append(data[start : start + max(1, shape[0] // 7)])
    for path in (ours, rows):
        with h5py.File(path) as f:
            for number in range(6):
                np.testing.assert_array_equal(f[f"x{number}"][...], data)
                assert f[f"x{number}"].maxshape == maxshape
        # The smaller of h5py's two ways.
        assert os.path.getsize(path) <= min(limit(theirs), limit(begun)), (os.path.getsize(path), os.path.getsize(theirs), os.path.getsize(begun))


@pytest.mark.parametrize("shape", [(5,), (1, 3), (30, 2), (200, 5, 7), (3, 90, 181)], ids=str)
def test_netcdf_variables_over_an_unlimited_dimension(tmp_path: pathlib.Path, shape: tuple[int, ...]) -> None:
    ours, theirs = tmp_path / "ours.nc", tmp_path / "theirs.nc"
    data = content(shape)
    with hs.create_netcdf(ours) as f, netCDF4.Dataset(theirs, "w") as g:
        for axis, extent in enumerate(shape):
            f.create_dimension(f"d{axis}", extent if axis else None)
            g.createDimension(f"d{axis}", extent if axis else None)
        dims = [f"d{axis}" for axis in range(len(shape))]
        for number in range(50):
            f.create_variable(f"v{number}", dims, data=data, attrs={"units": "K"})
            v = g.createVariable(f"v{number}", "f8", dims)
            v.units = "K"
            v[:] = data
    with netCDF4.Dataset(ours) as f:
        np.testing.assert_array_equal(f["v49"][:], data)
    assert os.path.getsize(ours) <= limit(theirs)


@pytest.mark.parametrize("rows", [0, 3, 100, 20_000])
@pytest.mark.parametrize("layout", ["columns", "records"])
def test_tables(tmp_path: pathlib.Path, rows: int, layout: str) -> None:
    table = pa.table({f"c{i}": content((rows,)) for i in range(20)})
    ours, theirs = tmp_path / "ours.h5", tmp_path / "theirs.h5"
    hs.write_table(table, ours, layout=layout)
    with h5py.File(theirs, "w") as f:
        if layout == "columns":
            for name in table.column_names:
                f.create_dataset(name, data=table[name].to_numpy(), maxshape=(None,))
        else:
            records = np.zeros(rows, dtype=[(name, "f8") for name in table.column_names])
            f.create_dataset("table", data=records, maxshape=(None,))
    assert os.path.getsize(ours) <= limit(theirs)
    assert hs.open(ours).table("/" if layout == "columns" else "/table").to_arrow().num_rows == rows


def test_text_of_many_small_writes(tmp_path: pathlib.Path) -> None:
    ours, theirs = tmp_path / "ours.h5", tmp_path / "theirs.h5"
    with hs.create(ours) as f, h5py.File(theirs, "w") as g:
        for file in (f, g):
            for name in range(5):
                x = file.create_dataset(f"x{name}", (200,), h5py.string_dtype())
                for i in range(200):
                    x[i] = f"text {i}"
    with h5py.File(ours) as f:
        assert f["x4"].asstr()[:].tolist() == [f"text {i}" for i in range(200)]
    assert os.path.getsize(ours) <= limit(theirs), (os.path.getsize(ours), os.path.getsize(theirs))


def test_plans_and_commits(tmp_path: pathlib.Path) -> None:
    """A row of 1 KB a commit: few files that take a few kilobytes a row, not a chunk of 1 MiB."""
    path, fused, theirs = tmp_path / "x.h5", tmp_path / "fused.h5", tmp_path / "theirs.h5"
    row = content((128,))
    for number in range(20):
        plan = hs.WritePlan(path, "a" if number else "x", durable=False)
        with plan.task(0) as task:
            task.create_dataset("x", data=row[None], rows=True)
            plan.commit([task.finish()])
    sizes = [file.stat().st_size for file in tmp_path.rglob("*.h5") if file != path]
    assert len(sizes) <= 5 and sum(sizes) <= 20 * 4096, sizes
    hs.fuse(path, fused)
    with h5py.File(fused) as f, h5py.File(theirs, "w") as g:
        np.testing.assert_array_equal(f["x"][...], np.tile(row, (20, 1)))
        g.create_dataset("x", data=np.tile(row, (20, 1)), maxshape=(None, 128))
    assert os.path.getsize(fused) <= limit(theirs)


def test_a_thousand_growing_datasets_take_little_memory(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5", durable=False) as f:
        for number in range(1000):
            f.create_dataset(f"x{number}", data=np.arange(30.0), maxshape=(None,))
    assert os.path.getsize(tmp_path / "x.h5") < 2_500_000


def test_small_appends_leave_no_outgrown_chunks(tmp_path: pathlib.Path) -> None:
    """The last chunk is encoded once, when it is complete: a first, shorter encoding would stay in the file as garbage."""
    ours, theirs = tmp_path / "ours.h5", tmp_path / "theirs.h5"
    data = content((100 * 1024 + 5,))
    with hs.create(ours) as f, h5py.File(theirs, "w") as g:
        x = f.create_dataset("x", (0,), "f8", maxshape=(None,), chunks=(4096,), compression="gzip")
        bounded = f.create_dataset("bounded", (0,), "f8", maxshape=data.shape, chunks=(4096,), compression="gzip")
        for start in range(0, len(data), 1024):
            x.append(data[start : start + 1024])
            bounded.append(data[start : start + 1024])
        np.testing.assert_array_equal(x[-200:], data[-200:])
        for name in ("x", "bounded"):
            g.create_dataset(name, data=data, maxshape=(None,), chunks=(4096,), compression="gzip")
    with h5py.File(ours) as f:
        np.testing.assert_array_equal(f["x"][...], data)
        np.testing.assert_array_equal(f["bounded"][...], data)
    assert os.path.getsize(ours) <= 1.1 * os.path.getsize(theirs) + 4096


def test_more_unfinished_chunks_than_wait_in_memory(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        growing = [f.create_dataset(f"x{number}", (0,), "f8", maxshape=(None,), chunks=(1 << 17,), compression="gzip") for number in range(80)]
        for step in range(3):
            for number, dataset in enumerate(growing):
                dataset.append(np.arange(5.0) + 100 * number + step)
        np.testing.assert_array_equal(growing[7][3:7], [703, 704, 701, 702])
    with h5py.File(tmp_path / "x.h5") as f:
        for number in range(80):
            np.testing.assert_array_equal(f[f"x{number}"][...], np.concatenate([np.arange(5.0) + 100 * number + step for step in range(3)]))


def test_the_chunk_shape_follows_the_values(tmp_path: pathlib.Path) -> None:
    """Values written before and after the choice, in any order, with holes."""
    data = content((700_000,))
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("x", (0,), "f8", maxshape=(None,), fillvalue=-1)
        assert x.chunks is not None
        for end in (10, 300, 200_000, 400_000, 700_000):
            before = x.shape[0]
            x.resize((end,))
            x[before:end] = data[before:end]
        holes = f.create_dataset("holes", (600, 10), "f8", maxshape=(None, None), fillvalue=-1)
        holes[500, 3:5] = 1
        holes.resize((900, 700))
        holes[899, 699] = 2
        holes[0:2] = 3
        chosen = x.chunks
        assert chosen is not None and 32_768 < chosen[0] <= 65_536
    with h5py.File(tmp_path / "x.h5") as f:
        np.testing.assert_array_equal(f["x"][...], data)
        wanted = np.full((900, 700), -1.0)
        wanted[500, 3:5], wanted[899, 699], wanted[0:2] = 1, 2, 3
        np.testing.assert_array_equal(f["holes"][...], wanted)
        assert f["x"].chunks == chosen
