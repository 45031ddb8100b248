"""Indexes that need no data: bounds, conditional histograms; and indexes of virtual datasets, of arrays of other
libraries, and at the end of the file itself."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet


def blind(path: pathlib.Path, *names: str) -> None:
    """Writes over the stored bytes of datasets, and hides that: whoever reads them fails."""
    before = path.stat()
    with h5py.File(path) as f:
        chunks = [f[name].id.get_chunk_info(n) for name in names for n in range(f[name].id.get_num_chunks())]
    with path.open("r+b") as f:
        for chunk in chunks:
            f.seek(chunk.byte_offset)
            f.write(b"\xff" * chunk.size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def columns(count: int = 300_000) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    found = {"x": rng.normal(size=count).astype("f4"), "y": rng.normal(size=count), "id": rng.integers(-5, 10**12, count)}
    found["x"][::1000] = np.nan
    return found


@pytest.fixture
def run(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as f:
        for name, values in columns().items():
            f.create_dataset(name, data=values, chunks=(40_000,), compression="gzip")
    return path


@pytest.mark.parametrize("where", ["x > 1.5", "x > 3.5", "x < -2 or x > 2.25", "0 < x and x < 0.5", "x > 100"])
def test_level_x_answers_without_the_data(run: pathlib.Path, where: str) -> None:
    data = columns()
    x, y = data["x"], data["y"]
    with np.errstate(invalid="ignore"):
        mask = {
            "x > 1.5": x > 1.5,
            "x > 3.5": x > 3.5,
            "x < -2 or x > 2.25": (x < -2) | (x > 2.25),
            "0 < x and x < 0.5": (x > 0) & (x < 0.5),
            "x > 100": x > 100,
        }[where]
    hs.index(run, "/", "X")
    blind(run, "x", "y", "id")
    with pytest.raises(hs.Error):
        hs.open(run)["/y"][:]
    q = hs.query(run, "/", where)
    least, most = q.bounds()
    assert q.count() == mask.sum() and least <= mask.sum() <= most
    assert " and " in where or least == most  # of two conditions, the sharper bound
    assert np.array_equal(q.positions(), np.flatnonzero(mask))
    for name, values in data.items():
        assert np.array_equal(q.values(name), values[mask])
        if mask.any():
            assert np.array_equal(q.quantile(name, [0, 0.3, 1]), np.quantile(values[mask], [0, 0.3, 1]))
            assert q.minmax(name) == (values[mask].min(), values[mask].max())
    edges = np.linspace(-4, 4, 33)
    for name in ("x", "y"):
        assert np.array_equal(q.histogram(name, edges).values, np.histogram(data[name][mask], edges)[0])
        assert np.allclose(q.histogram(name, edges, weights="y").values, np.histogram(data[name][mask], edges, weights=y[mask])[0])
    least, most, _ = q.histogram_bounds("x", edges)
    assert np.array_equal(least, most) and np.array_equal(least, np.histogram(x[mask], edges)[0])
    assert np.array_equal(q.histogram2d("x", "y", (edges, edges)).values, np.histogram2d(x[mask], y[mask], (edges, edges))[0])


def test_level_k_bounds_counts_and_histograms_without_the_data(run: pathlib.Path) -> None:
    x = columns()["x"]
    hs.index(run, "/x", "K")
    blind(run, "x")
    edges = np.linspace(-3, 3, 25)
    blocks = -(-len(x) // 40_000)
    with np.errstate(invalid="ignore"):
        mask = x > 1
    least, most = hs.query(run, "/", "x > 1").bounds()
    assert least <= mask.sum() <= most and most - least <= 128 * blocks
    low, high, _ = hs.query(run, "/", "x > 1").histogram_bounds("x", edges)
    exact = np.histogram(x[mask], edges)[0]
    assert (low <= exact).all() and (exact <= high).all() and (high - low).max() <= 256 * blocks
    with pytest.raises(hs.InvalidInputError, match="another|alone"):
        hs.query(run, "/", "y > 1").histogram_bounds("x", edges)


def test_a_virtual_dataset_has_an_index_that_knows_its_sources(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(3)
    parts = [rng.random(100_000).astype("f4") for _ in range(3)]
    layout = h5py.VirtualLayout((3, 100_000), "f4")
    for number, values in enumerate(parts):
        with h5py.File(tmp_path / f"part{number}.h5", "w") as f:
            f["x"] = values
        layout[number] = h5py.VirtualSource(f"part{number}.h5", "x", (100_000,))
    master = tmp_path / "master.h5"
    with h5py.File(master, "w") as f:
        f.create_virtual_dataset("x", layout)

    def check() -> str:
        with h5py.File(master) as f:
            wanted = np.flatnonzero(f["x"][:].ravel() > 0.9995)
        q = hs.query(master, "/", "x > 0.9995")
        assert np.array_equal(q.positions(), wanted) and q.count() == len(wanted)
        return q.explain()

    assert hs.index(master, "/x").datasets[0].level == "X"
    assert "index X on x" in check()
    with h5py.File(tmp_path / "part1.h5", "r+") as f:
        f["x"][7] = 2
    assert "index X" not in check() and any("source of this virtual" in remark for remark in hs.indexes.status(master))
    done = hs.indexes.commit([hs.indexes.build(task) for task in hs.indexes.plan(master, "/x").tasks(1)])
    assert done.built_blocks > 0 and done.kept_blocks > 0
    assert "index X on x" in check() and hs.indexes.status(master) == []


def test_arrays_of_other_libraries_have_indexes(tmp_path: pathlib.Path, run: pathlib.Path) -> None:
    data = columns()
    np.concatenate([data["y"], -data["y"]]).tofile(tmp_path / "y.bin")
    parquet.write_table(pa.table({"y": data["y"]}), tmp_path / "y.parquet")
    two = [np.memmap(tmp_path / "y.bin", "f8", "r", offset=offset, shape=(300_000,)) for offset in (0, 2_400_000)]
    with h5py.File(run) as f:
        for arrays, values in [
            ({"y": two[0]}, data["y"]),
            ({"y": two[1]}, -data["y"]),
            ({"y": two[0][5:]}, data["y"][5:]),
            ({"y": f["y"]}, data["y"]),
            (tmp_path / "y.parquet", data["y"]),
        ]:
            assert "index X" not in hs.query(arrays, "/", "y > 3").explain()
            assert [planned.level for planned in hs.index(arrays, "/y").datasets] == ["X"]
            q = hs.query(arrays, "/", "y > 3")
            assert "index X on y" in q.explain() and np.array_equal(q.positions(), np.flatnonzero(values > 3))
            assert hs.indexes.status(arrays) == []
    assert (tmp_path / "y.bin.hsidx").is_dir() and (tmp_path / "y.parquet.hsidx").is_dir()
    # The last that was indexed under this name is the one that is known; others are not taken for it.
    assert np.array_equal(hs.query({"y": two[1]}, "/", "y > 3").positions(), np.flatnonzero(-data["y"] > 3))
    parquet.write_table(pa.table({"y": -data["y"]}), tmp_path / "y.parquet")
    assert "index X" not in hs.query(tmp_path / "y.parquet", "/", "y > 3").explain()
    assert np.array_equal(hs.query(tmp_path / "y.parquet", "/", "y > 3").positions(), np.flatnonzero(-data["y"] > 3))
    for arrays in ({"y": data["y"]}, {"y": np.memmap(tmp_path / "y.bin", "f8", "r+")}, {"y": two[0], "z": data["x"]}):
        with pytest.raises(hs.UnsupportedError, match="could not be detected"):
            hs.index(arrays, "/y")


def test_zarr_arrays_have_indexes(tmp_path: pathlib.Path) -> None:
    zarr = pytest.importorskip("zarr")
    values = columns()["y"]
    written = zarr.open_array(str(tmp_path / "y.zarr"), mode="w", shape=values.shape, chunks=(50_000,), dtype="f8")
    written[:] = values
    arrays = {"y": zarr.open_array(str(tmp_path / "y.zarr"), mode="r")}
    hs.index(arrays, "/y")
    q = hs.query(arrays, "/", "y > 3")
    assert "index X on y" in q.explain() and np.array_equal(q.positions(), np.flatnonzero(values > 3))
    written[7] = 9
    assert "index X" not in hs.query(arrays, "/", "y > 3").explain()
    assert 7 in hs.query(arrays, "/", "y > 3").positions()


@pytest.mark.parametrize("level", ["Z", "K", "P", "X", None])
def test_indexes_of_several_columns_tell_what_one_of_them_leaves(tmp_path: pathlib.Path, run: pathlib.Path, level: str | None) -> None:
    data = columns()
    x, y = data["x"], data["y"]
    hs.index(run, ["/x", "/y"], level)
    letter = level or "X"
    for text, mask in [
        ("x > 3 || y > 3", (x > 3) | (y > 3)),
        ("x > 3 || y > 3 || x < -3", (x > 3) | (y > 3) | (x < -3)),
        ("(x > 3 || y > 3) && x < 3.5", ((x > 3) | (y > 3)) & (x < 3.5)),
        ("x > 0 || y > 0", (x > 0) | (y > 0)),
        ("x > 1e9 || y > 1e9", x > 1e9),
        ("(x > 3 && y > 0) || y > 3", ((x > 3) & (y > 0)) | (y > 3)),
    ]:
        q = hs.query(run, "/", text)
        assert np.array_equal(q.positions(), np.flatnonzero(mask)), text
        least, most = q.bounds()
        assert q.count() == mask.sum() and least <= mask.sum() <= most, text
        assert np.array_equal(q.values("x"), x[mask], equal_nan=True) and np.array_equal(q.values("y"), y[mask]), text
        table = hs.open(run).table("/", columns=["x"], where=text)
        assert np.array_equal(table.to_arrow()["x"].to_numpy(), x[mask], equal_nan=True), text
    assert f"index {letter} on x" in hs.query(run, "/", "x > 3 || y > 3").explain()
    assert " or index " in hs.query(run, "/", "x > 3 || y > 3").explain()


def test_an_index_tells_values_that_have_changed_unseen(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as f:
        f["x"] = columns()["y"]
        f["y"] = columns()["y"]
    hs.index(path, ["/x", "/y"], "Z")
    assert hs.indexes.verify(path) == []
    before = path.stat()
    with h5py.File(path) as f:
        place = f["x"].id.get_offset() + 8 * 70_000
    with path.open("r+b") as f:
        f.seek(place)
        f.write(b"\x01")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert hs.indexes.verify(path) == [f"{path} /x: 1 of 5 blocks have other values than when they were indexed; the first is block 1"]
    os.utime(path)
    assert hs.indexes.verify(path) == [] and len(hs.indexes.status(path)) == 1  # stale


def test_an_index_may_be_in_the_file_itself(tmp_path: pathlib.Path, run: pathlib.Path) -> None:
    data = columns()
    before = run.stat()

    def check() -> str:
        with h5py.File(run) as f:
            y = f["y"][:]
            assert {name: f[name].shape for name in f} == {name: values.shape for name, values in data.items()}
        q = hs.query(run, "/", "y > 3")
        assert np.array_equal(q.positions(), np.flatnonzero(y > 3))
        return q.explain()

    hs.index(run, "/y", embedded=True)
    assert not (tmp_path / "run.h5.hsidx").exists() and run.stat().st_size > before.st_size and run.stat().st_mtime_ns > before.st_mtime_ns
    assert "index X on y" in check() and hs.indexes.status(run) == []
    hs.index(run, ["/y", "/x"], embedded=True)  # another dataset: the first is kept
    assert "index X on y" in check() and "index X on x" in hs.query(run, "/", "x > 3").explain()
    # Others cut it off when they write, or leave it there and it is stale.
    with h5py.File(run, "r+") as f:
        f["y"][5] = 4
    assert "index X" not in check()
    hs.index(run, "/y", embedded=True)
    assert "index X on y" in check()
    whole = run.read_bytes()
    for cut in (1, 30, 5000):
        run.write_bytes(whole[:-cut])
        assert "index X" not in check()
    with run.open("wb") as f:
        f.write(whole)
    assert "index X on y" in check() and hs.indexes.status(run) == []  # a copy
    # What is damaged is not used.
    whole, stamp = run.read_bytes(), run.stat()
    for place in range(before.st_size, len(whole), (len(whole) - before.st_size) // 60):
        damaged = bytearray(whole)
        damaged[place] ^= 0x40
        run.write_bytes(damaged)
        os.utime(run, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        check()
    run.write_bytes(whole)
    os.utime(run, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert "index X on y" in check()
    # What goes wrong leaves what was there.
    with pytest.raises(hs.NotFoundError):
        hs.index(run, "/nothing", embedded=True)
    assert "index X on y" in check()
    code = "import sys, netCDF4; assert netCDF4.Dataset(sys.argv[1])['y'].shape == (300000,)"
    subprocess.run([sys.executable, "-c", code, str(run)], check=True)


def test_only_hdf5_has_an_index_in_the_file_itself(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"x": np.arange(10.0)}), path)
    before = path.read_bytes()
    with pytest.raises(hs.UnsupportedError, match="not HDF5"):
        hs.index(path, "/x", embedded=True)
    assert path.read_bytes() == before and not path.with_name("x.parquet.hsidx").exists()
    with pytest.raises(hs.InvalidInputError, match="together"):
        hs.index(path, "/x", embedded=True, together=True)


def test_a_file_that_is_open_elsewhere_keeps_its_end(run: pathlib.Path) -> None:
    with h5py.File(run, "r+"), pytest.raises(hs.Error, match="open elsewhere"):
        hs.index(run, "/y", embedded=True)
    assert hs.query(run, "/", "y > 3").count() == (columns()["y"] > 3).sum()


FULL = """
import resource, signal, sys, os, hyperslab as hs
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = os.stat(sys.argv[1]).st_size + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    hs.index(sys.argv[1], "/y", embedded=True)
except hs.IoError as error:
    print(error.kind)
"""


@pytest.mark.parametrize("room", [0, 1_000, 200_000])
def test_a_file_that_has_no_room_for_its_index_is_as_it_was(run: pathlib.Path, room: int) -> None:
    before, stamp = run.read_bytes(), run.stat()
    done = subprocess.run([sys.executable, "-c", FULL, str(run), str(room)], capture_output=True, text=True)
    assert done.stdout == "Io\n", done
    assert run.read_bytes() == before and run.stat().st_mtime_ns == stamp.st_mtime_ns
    # It stays next to the file, and is used there.
    q = hs.query(run, "/", "y > 3")
    assert q.count() == (columns()["y"] > 3).sum() and "index X on y" in q.explain()
    hs.index(run, "/y", embedded=True)
    assert run.stat().st_size > stamp.st_size and "index X on y" in hs.query(run, "/", "y > 3").explain()
