"""Splits of queries: however a query is split, and whichever process reads the parts, the rows are the same as in `table`."""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import pickle
import shutil
import zlib
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pytest

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/data/atlantic_profiles.nc"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Two files of a simulation with three steps each, and a mesh next to the steps."""
    folder = tmp_path_factory.mktemp("run")
    random = np.random.default_rng(5)
    for number in (1, 2):
        with h5py.File(folder / f"run{number}.h5", "w") as f:
            for step in (0, 1, 10):
                group = f.create_group(f"Step#{step}")
                for name in ("x", "px", "energy"):
                    group.create_dataset(name, data=random.normal(size=500).astype("f4"), chunks=(64,), compression="gzip" if name == "px" else None)
                group["id"] = np.arange(500, dtype="u8") + 2**63
                group["name"] = [f"{step} {n % 7}" for n in range(500)]
            f["mesh/E"] = random.normal(size=(20, 25, 4))
            f["mesh/weight"] = random.random(500)
            f["records"] = np.array([(n / 3, n % 5) for n in range(300)], [("e", "f4"), ("n", "i8")])
            f["none"] = np.zeros(0)
            f["one"] = 7.5
        with netCDF4.Dataset(folder / f"grid{number}.nc", "w") as f:
            f.createDimension("t", 9)
            f.createDimension("y", 11)
            f.createVariable("t", "f8", ("t",))[:] = np.arange(9) * 2.5
            values = np.ma.masked_less(random.normal(size=(9, 11)), -1)
            f.createVariable("v", "f4", ("t", "y"), fill_value=-99.0, chunksizes=(2, 11))[:] = values
    return folder


# A query of each kind, and the columns that are wanted of it.
QUERIES: dict[str, tuple[str, str, str | None, dict[str, Any], list[str] | None]] = {
    "wildcards": ("run*.h5", "/Step#*", "energy > 0.5 && -1 < x", {}, ["run", "Step", "_row", "_file", "x", "name", "id"]),
    "conditions on wildcards": ("run*.h5", "/Step#*", "x > 0 and Step >= 1 and run = 2", {}, ["Step", "px", "_row"]),
    "a regular expression": ("run*.h5", r"re:/Step#(?P<step>1\d*)", "x > 0 or step = 1", {}, ["step", "x"]),
    "parts": ("run1.h5", "/mesh", "E[0:10, :, 3] > 0 && E[10:20,:,-1] < 0.5", {}, ["_row", "E[0:20:2,:,1]", "dim_0"]),
    "steps in parts": ("run1.h5", "/mesh", "E[3:20:4, 5:, 2] > 0 and dim_0 >= 2", {}, None),
    "another group": ("run2.h5", "/Step#1", "/mesh/weight > 0.5 && x > 0", {}, ["/mesh/weight", "x"]),
    "another file": ("run1.h5", "/Step#*", "x > other", {"variables": {"other": "run2.h5:/Step#10/x"}}, ["x", "other", "_file", "_row"]),
    "a part of another file": ("run1.h5", "/Step#0", "x[0:100] > e", {"variables": {"e": "run2.h5:/Step#1/x[400:]"}}, ["e", "x[0:100]"]),
    "only another file": ("run1.h5", "/", "e > 0", {"variables": {"e": "run2.h5:/Step#1/x"}}, ["e", "_file"]),
    "rows": ("grid*.nc", "/", "t > 4", {"rows": "v"}, ["grid", "t", "v", "_row"]),
    "everything": ("grid1.nc", "/", None, {"rows": "v"}, ["v"]),
    "nulls": ("grid*.nc", "/", "not v > 0 or v is null", {}, ["v", "t"]),
    "raw": ("grid*.nc", "/", "v < 0", {"raw": True}, ["v"]),
    "records": ("run*.h5", "/records", "e + n > 40 and n > 0", {}, ["run", "e", "n", "_row"]),
    "nothing": ("run*.h5", "/Step#*", "x > 1e9", {}, ["x", "Step"]),
    "impossible": ("run*.h5", "/Step#*", "Step = 5 and x > 0", {}, ["x", "Step"]),
    "no rows": ("run1.h5", "/", "none > 0", {}, ["none", "_row"]),
    "a single value": ("run1.h5", "/", "one > 0", {}, ["one", "_row"]),
    "no single value": ("run1.h5", "/", "one > 8", {}, ["one", "_row"]),
    "text": ("run*.h5", "/Step#*", "name like '1% 3' and px > 0", {}, ["name", "px"]),
}


def asked(folder: pathlib.Path, which: str) -> tuple[hs.Query, list[str] | None]:
    files, group, text, options, columns = QUERIES[which]
    variables = {name: f"{folder}/{origin}" for name, origin in options.get("variables", {}).items()}
    return hs.query(str(folder / files), group, text, **{**options, "variables": variables}), columns


def read(data: tuple[bytes, pa.Schema]) -> pa.Table:
    return hs.Split(*data).read(threads=1)


def joined(parts: list[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables(parts).combine_chunks() if parts else schema.empty_table()


@pytest.mark.parametrize("which", QUERIES)
def test_the_parts_are_the_whole_however_many_they_are(run: pathlib.Path, which: str) -> None:
    query, columns = asked(run, which)
    whole = query.table(columns).combine_chunks()
    for count in (1, 2, 3, 5, 8, 50):
        splits = query.splits(columns, count=count)
        found = joined([split.read() for split in splits], whole.schema)
        assert found.schema.equals(whole.schema) and found.equals(whole), (which, count)
    for target_bytes in (1, 700, 1 << 30):
        assert joined([split.read(threads=1) for split in query.splits(columns, target_bytes=target_bytes)], whole.schema).equals(whole)
    assert joined([split.read() for split in query.splits(columns, count=3, batch_rows=7)], whole.schema).equals(whole)
    assert whole.num_rows or which in ("nothing", "impossible", "no rows", "no single value")


def test_other_processes_read_them(run: pathlib.Path) -> None:
    """Processes that have opened nothing before, in another folder."""
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), os.chdir, ("/",)) as pool:
        for which in QUERIES:
            query, columns = asked(run, which)
            splits = query.splits(columns, count=6)
            found = joined(list(pool.map(read, [(bytes(split), split.schema) for split in splits])), pa.schema([]))
            assert found.equals(query.table(columns).combine_chunks()) or not splits, which
            assert all(bytes(pickle.loads(pickle.dumps(split))) == bytes(split) for split in splits)


def test_steps_that_wildcards_leave_out_have_no_splits(run: pathlib.Path) -> None:
    query = hs.query(str(run / "run*.h5"), "/Step#*", "x > 0 and Step = 10 and run = 2")
    files = [content(split)["files"][0]["path"] for split in query.splits(["x"], target_bytes=1 << 30)]
    assert files == [str(run / "run2.h5")]
    assert asked(run, "impossible")[0].splits(["x"]) == []


@pytest.mark.parametrize("level", ["Z", "K", "P", "X"])
def test_an_index_changes_no_rows_and_leaves_splits_out(tmp_path: pathlib.Path, level: str) -> None:
    rng = np.random.default_rng(1)
    x = np.sort(rng.normal(size=1_000_000).astype("f4"))
    y = rng.normal(size=1_000_000)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=x, chunks=(20_000,))
        f.create_dataset("y", data=y, chunks=(30_000,))
    for text, mask in (("x > 2 and y < 0.1", (x > 2) & (y < 0.1)), ("x > 2 or x < -2.5", (x > 2) | (x < -2.5)), ("x > 100", x > 100)):
        query = hs.query(tmp_path / "a.h5", "/", text)
        without = query.splits(["_row", "y"], count=20)
        hs.index(tmp_path / "a.h5", ["/x", "/y"], level)
        query = hs.query(tmp_path / "a.h5", "/", text)
        for count in (1, 7, 20):
            found = joined([split.read() for split in query.splits(["_row", "y"], count=count)], without[0].schema)
            np.testing.assert_array_equal(found["_row"].to_numpy(), np.flatnonzero(mask))
            np.testing.assert_array_equal(found["y"].to_numpy(), y[mask])
        splits = query.splits(["_row", "y"], count=20)
        assert 0 < len(splits) < len(without) - 10
        # Planned with an index, read without; and the other way round.
        assert joined([split.read() for split in without], without[0].schema)["_row"].to_pylist() == np.flatnonzero(mask).tolist()
        shutil.rmtree(f"{tmp_path / 'a.h5'}.hsidx")
        found = joined([split.read() for split in splits], without[0].schema)
        assert found["_row"].to_pylist() == np.flatnonzero(mask).tolist()


def test_rows_are_numpys(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(11)
    for number in range(25):
        path, other = tmp_path / f"{number}.h5", tmp_path / f"{number} other.h5"
        shape = tuple(int(n) for n in rng.integers(1, 14, int(rng.integers(1, 4))))
        chunks = tuple(int(rng.integers(1, extent + 1)) for extent in shape)
        a, b = rng.integers(-9, 9, shape), rng.normal(size=shape)
        b[rng.random(shape) < 0.1] = np.nan
        with h5py.File(path, "w") as f, h5py.File(other, "w") as g:
            f.create_dataset("a", data=a, chunks=chunks)
            g["b"] = b
        start, step = int(rng.integers(0, shape[0])), int(rng.integers(1, 4))
        part = f"[{start}::{step}]"
        query = hs.query(path, "/", f"a{part} > 2 or not b < 0.5", variables={"b": f"{other}:/b{part}"})
        a, b = a[start::step], b[start::step]
        rows = np.flatnonzero((a > 2) | ~(b < 0.5))
        for count in (1, 2, 5, 13):
            found = joined([split.read() for split in query.splits([f"a{part}", "b", "_row"], count=count)], pa.schema([("_row", "i8")]))
            assert found["_row"].to_pylist() == rows.tolist()
            if len(rows):
                np.testing.assert_array_equal(found[f"a{part}"].to_numpy(), a.ravel()[rows])
                np.testing.assert_array_equal(found["b"].to_numpy(), b.ravel()[rows])


def test_a_column_that_is_null_in_one_step_can_be_in_all(tmp_path: pathlib.Path) -> None:
    for number, fill in ((1, None), (2, -1.0)):
        with h5py.File(tmp_path / f"a{number}.h5", "w") as f:
            f["x"] = np.array([1.0, -1.0, 2.0])
            if fill is not None:
                f["x"].attrs["_FillValue"] = fill
    query = hs.query(str(tmp_path / "a*.h5"), "/", "x > 0 or x is null")
    splits = query.splits(["a", "x"], target_bytes=1 << 20)
    assert len(splits) == 2
    assert pa.concat_tables([split.read() for split in splits]).to_pydict() == {"a": [1, 1, 2, 2, 2], "x": [1.0, 2.0, 1.0, None, 2.0]}
    table = hs.open(str(tmp_path / "a*.h5")).table("/x")
    assert pa.concat_tables([split.read() for split in table.splits(2)]).equals(table.to_arrow().combine_chunks())


# Files that change.


def write(path: pathlib.Path, values: Any) -> None:
    with h5py.File(path, "w") as f:
        f["x"] = np.asarray(values, "f8")


def test_a_change_of_any_file_that_is_read_is_a_conflict(tmp_path: pathlib.Path) -> None:
    names = ("asked", "variable", "linked", "source", "raw")
    for name in names:
        write(tmp_path / f"{name}.h5", [1, 2, 3])
    np.array([1.0, 2.0, 3.0]).tofile(tmp_path / "raw.bin")
    with h5py.File(tmp_path / "asked.h5", "r+") as f:
        f["linked"] = h5py.ExternalLink("linked.h5", "/x")
        layout = h5py.VirtualLayout((3,), "f8")
        layout[:] = h5py.VirtualSource("source.h5", "x", (3,))
        f.create_virtual_dataset("virtual", layout)
        f.create_dataset("external", (3,), "f8", external=[("raw.bin", 0, 24)])
    query = hs.query(tmp_path / "asked.h5", "/", "linked + virtual + external + x > 0", variables={"x": f"{tmp_path}/variable.h5:/x"})
    (split,) = query.splits(["x", "linked", "virtual", "external"])
    wanted = query.table(["x", "linked", "virtual", "external"])
    assert split.read().equals(wanted)
    (table,) = hs.open(tmp_path / "asked.h5").table("/virtual").splits()
    assert table.read().num_rows == 3
    for name in ("asked.h5", "variable.h5", "linked.h5", "source.h5", "raw.bin"):
        path = tmp_path / name
        content, status = path.read_bytes(), path.stat()
        for changed, modified in ((content, status.st_mtime_ns + 1_000), (content + b"more", status.st_mtime_ns)):
            path.write_bytes(changed)
            os.utime(path, ns=(status.st_atime_ns, modified))
            with pytest.raises(hs.ConflictError, match="plan again"):
                split.read()
            if name in ("asked.h5", "source.h5"):
                with pytest.raises(hs.ConflictError, match="plan again"):
                    table.read()
            path.write_bytes(content)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            assert split.read().equals(wanted)
    (tmp_path / "source.h5").unlink()
    with pytest.raises(hs.ConflictError, match="plan again"):
        split.read()


def test_a_file_that_was_replaced_since_it_was_opened_is_a_conflict(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.h5", np.arange(100))
    query = hs.query(tmp_path / "a.h5", "/", "x > 5")
    write(tmp_path / "b.h5", np.arange(100) + 1)
    os.utime(tmp_path / "b.h5", ns=(1, 1))
    os.replace(tmp_path / "b.h5", tmp_path / "a.h5")
    with pytest.raises(hs.ConflictError):
        for split in query.splits():
            split.read()


def test_what_lies_beside_columns_that_nobody_wants_does_not_matter(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "source.h5", [1, 2, 3])
    write(tmp_path / "a.h5", [1, 2, 3])
    with h5py.File(tmp_path / "a.h5", "r+") as f:
        layout = h5py.VirtualLayout((3,), "f8")
        layout[:] = h5py.VirtualSource("source.h5", "x", (3,))
        f.create_virtual_dataset("virtual", layout)
    (split,) = hs.open(tmp_path / "a.h5").table("/", columns=["x"]).splits()
    (both,) = hs.open(tmp_path / "a.h5").table("/").splits()
    write(tmp_path / "source.h5", [1, 2, 3, 4])
    assert split.read()["x"].to_pylist() == [1, 2, 3]
    with pytest.raises(hs.ConflictError, match="plan again"):
        both.read()


# What is refused.


def test_arrays_of_this_process_are_refused_by_name(run: pathlib.Path) -> None:
    with pytest.raises(hs.UnsupportedError, match="mine"):
        hs.query(str(run / "run1.h5"), "/Step#0", "x > mine", variables={"mine": np.zeros(500)}).splits(["x"])
    with pytest.raises(hs.UnsupportedError, match="in this process"):
        hs.query({"a": np.zeros(5)}, "/", "a > 0").splits(["a"])


def content(split: hs.Split) -> dict[str, Any]:
    return json.loads(bytes(split).rpartition(b"\n")[0])


def sealed(content: dict[str, Any]) -> bytes:
    data = json.dumps(content).encode()
    return data + f"\n{zlib.crc32(data):08x}".encode()


def test_splits_of_other_releases_and_damaged_ones_are_refused(run: pathlib.Path) -> None:
    query, columns = asked(run, "a part of another file")
    split = query.splits(columns, count=1)[0]
    whole = split.read()
    made = content(split)
    for old in (1, 2, made["version"] + 1):
        with pytest.raises(hs.InvalidInputError, match=f"a split of version {old}, but .* use one release throughout"):
            hs.Split(sealed({**made, "version": old}), split.schema).read()
    with pytest.raises(hs.InvalidInputError, match="not a split"):
        hs.Split(b"{}", split.schema).read()
    with pytest.raises(hs.InvalidInputError, match="not a split"):
        hs.Split(sealed({}), split.schema).read()
    for place in range(0, len(bytes(split)), 7):
        changed = bytearray(bytes(split))
        changed[place] ^= 1
        with pytest.raises(hs.InvalidInputError, match="damaged"):
            hs.Split(bytes(changed), split.schema).read()

    def places(value: Any, path: tuple[Any, ...] = ()) -> Any:
        """The numbers in it."""
        if isinstance(value, (dict, list)):
            for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
                yield from places(inner, (*path, key))
        elif isinstance(value, int) and not isinstance(value, bool):
            yield path

    tried = 0
    for path in places(made):
        for number in (0, 1, 99, 401, 2**31, 2**63, 2**64 - 1):
            damaged = content(split)
            inner = damaged
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = number
            tried += 1
            try:
                found = hs.Split(sealed(damaged), split.schema).read()
            except hs.Error as error:
                assert "Internal" not in type(error).__name__, (path, number, error)
            else:
                assert found.num_rows <= whole.num_rows + 500, (path, number)
    assert tried > 50
    for path in (("object", "arrays", "columns", 0, "name"), ("files", 0, "path"), ("files", 0, "format")):
        damaged = content(split)
        inner = damaged
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = "nowhere"
        with pytest.raises(hs.Error):
            hs.Split(sealed(damaged), split.schema).read()


def test_a_session_that_takes_a_file_for_another_format_does_not_read_its_splits(run: pathlib.Path) -> None:
    split = hs.open(run / "grid1.nc", format="hdf5").table("/v").splits()[0]
    with pytest.raises(hs.InvalidInputError, match="netcdf4"):
        split.read()
