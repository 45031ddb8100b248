"""write_table(mode="a"): rows are added to what write_table wrote, or nothing changes."""

from __future__ import annotations

import datetime
import decimal
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest

DAY = datetime.date(2000, 1, 1)


def rows(start: int, count: int, simple: bool = False) -> pa.Table:
    n = np.arange(start, start + count)
    columns: dict[str, Any] = {
        "id": pa.array(n, pa.int32()),
        "x": pa.array(n * 0.5),
        "name": pa.array([f"n{i}ä" * (i % 4) for i in n], pa.string()),
        "ok": pa.array(n % 2 == 0),
        "fixed": pa.array([b"ab%02d" % (i % 100) for i in n], pa.binary(4)),
        "v3": pa.FixedSizeListArray.from_arrays(pa.array(np.repeat(n, 3).astype("f4")), 3),
    }
    if not simple:
        columns |= {
            "ragged": pa.array([list(range(i % 5)) for i in n.tolist()], pa.list_(pa.int16())),
            "day": pa.array([DAY + datetime.timedelta(days=i) for i in n.tolist()], pa.date32()),
            "at": pa.array((n * 1_000_001).astype("M8[us]")).cast(pa.timestamp("us", "Europe/Berlin")),
            "ms": pa.array((n * 1000).astype("M8[ms]")),
            "took": pa.array(n.astype("m8[s]")),
            "price": pa.array([decimal.Decimal(i) / 4 for i in n.tolist()], pa.decimal128(9, 2)),
            "kind": pa.array([f"k{i % 3}" for i in n], pa.string()).dictionary_encode(),
        }
    return pa.table(columns)


def read(path: pathlib.Path, layout: str) -> pa.Table:
    return hs.open(path).table("/" if layout == "columns" else "/table").to_arrow()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("options", [{}, {"compression": "zstd", "shuffle": True, "fletcher32": False}])
@pytest.mark.parametrize("layout", ["columns", "records"])
@pytest.mark.parametrize("counts", [[1] * 12, [5, 0, 7, 1000, 3], [70_000, 70_001, 5]])
def test_many_appends_are_one_table(tmp_path: pathlib.Path, layout: str, counts: list[int], options: dict[str, Any]) -> None:
    path, simple = tmp_path / "x.h5", layout == "records"
    done = 0
    for number, count in enumerate(counts):
        table = rows(done, count, simple)
        if number % 2:
            table = table.select(table.column_names[::-1])
        assert hs.write_table(table, path, mode="a", layout=layout, **(options if number == 0 else {})) == count
        done += count
    hs.write_table(rows(0, done, simple), tmp_path / "whole.h5", layout=layout, **options)
    ours, whole = read(path, layout), read(tmp_path / "whole.h5", layout)
    assert ours.schema.equals(whole.schema, check_metadata=True) and ours.equals(whole)
    with h5py.File(path) as f, h5py.File(tmp_path / "whole.h5") as g:
        for name in g:
            assert (
                f[name].dtype == g[name].dtype
                and f[name].shape == g[name].shape
                and f[name].compression == g[name].compression
                and dict(f[name].attrs) == dict(g[name].attrs)
            )
            a, b = f[name][:], g[name][:]
            if name == "ragged":
                assert [v.tolist() for v in a] == [v.tolist() for v in b]
            else:
                np.testing.assert_array_equal(a, b)
            assert f[name].chunks[0] >= min(done, 1000), "small tables do not leave small chunks to large ones"


def test_the_rest_of_the_file_stays(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    hs.write_table(rows(0, 4), path, group="/a/t")
    with h5py.File(path, "r+") as f:
        f["other"] = np.arange(10.0)
        f["packed"] = f["other"]
        f.create_dataset("chunked", data=np.arange(1000), chunks=(64,), compression="gzip")
        f["soft"], f["outside"] = h5py.SoftLink("/other"), h5py.ExternalLink("y.h5", "/z")
        f.attrs["ref"], f.attrs["text"] = f["other"].ref, "ä"
        f["a/t/id"].attrs["note"] = "first"
        f["type"] = np.dtype([("a", "i4")])
    hs.write_table(rows(4, 3), path, group="/a/t", mode="a")
    with h5py.File(path, "r+") as f:
        assert (
            f["a/t/id"][:].tolist() == list(range(7)) and f["a/t/id"].attrs["note"] == "first" and f["packed"] == f["other"] and f[f.attrs["ref"]] == f["other"]
        )
        assert f["soft"][:].tolist() == list(range(10)) and f.get("outside", getlink=True).filename == "y.h5" and f["chunked"][:].tolist() == list(range(1000))
        assert f["chunked"].chunks == (64,) and f["type"].dtype.names == ("a",) and f.attrs["text"] == "ä"


def cast(name: str, type: pa.DataType) -> Any:
    return lambda t: t.set_column(t.column_names.index(name), name, t[name].cast(type))


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda t: t.drop_columns(["x"]), "column 'x' is in the file, but not in the table"),
        (lambda t: t.append_column("more", t["x"]), "column 'more' is in the table, but not in the file"),
        (cast("id", pa.int64()), "column 'id' of Arrow type int64 does not fit the file, where it is int32"),
        (cast("x", pa.float32()), "column 'x' of Arrow type float does not fit the file, where it is float64"),
        (cast("ms", pa.timestamp("s")), r"'ms' of Arrow type timestamp\[s\] does not fit the file, where it is timestamp\[ms\]"),
        (cast("at", pa.timestamp("us", "UTC")), "where it is .*in the zone Europe/Berlin"),
        (cast("day", pa.date64()), r"where it is date32\[day\]"),
        (cast("name", pa.large_string()), None),
        (lambda t: t.set_column(1, "x", pa.array([1.0, None, 2.0])), "column 'x' has 1 nulls"),
        (lambda t: t.set_column(0, "id", pa.array([[1, 2]] * 3, pa.list_(pa.int32(), 2))), "column 'id'"),
    ],
)
def test_what_does_not_fit_changes_nothing(tmp_path: pathlib.Path, change: Any, words: str | None) -> None:
    path = tmp_path / "x.h5"
    hs.write_table(rows(0, 3), path)
    before = path.read_bytes()
    if words is None:
        assert hs.write_table(change(rows(3, 3)), path, mode="a") == 3
        return
    with pytest.raises(hs.Error, match=words):
        hs.write_table(change(rows(3, 3)), path, mode="a")
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["x.h5"]


def test_nulls_as_nan_and_what_is_no_table(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    hs.write_table(pa.table({"x": [1.0]}), path)
    hs.write_table(pa.table({"x": [None, 2.0]}, schema=pa.schema([("x", pa.float64())])), path, mode="a", nulls="nan")
    assert np.isnan(h5py.File(path)["x"][:]).tolist() == [False, True, False]
    with pytest.raises(hs.InvalidInputError, match="they are the file's"):
        hs.write_table(pa.table({"x": [1.0]}), path, mode="a", compression="gzip")
    with pytest.raises(hs.InvalidInputError, match="no dataset '/table'|no dataset 'table'"):
        hs.write_table(pa.table({"x": [1.0]}), path, mode="a", layout="records")
    with pytest.raises(hs.InvalidInputError, match="no group '/nowhere'"):
        hs.write_table(pa.table({"x": [1.0]}), path, mode="a", group="nowhere")
    with h5py.File(tmp_path / "fixed.h5", "w") as f:
        f["x"] = [1.0, 2.0]
    with pytest.raises(hs.Error, match="exceeds|grow"):
        hs.write_table(pa.table({"x": [1.0]}), tmp_path / "fixed.h5", mode="a")
    with h5py.File(tmp_path / "two.h5", "w") as f:
        f.create_dataset("x", data=[1.0, 2.0], maxshape=(None,))
        f.create_dataset("y", data=[1.0], maxshape=(None,))
    with pytest.raises(hs.InvalidInputError, match="not columns of one table"):
        hs.write_table(pa.table({"x": [1.0], "y": [1.0]}), tmp_path / "two.h5", mode="a")
    plan = hs.WritePlan(tmp_path / "plan.h5")
    with plan.task(0) as task:
        task.create_dataset("x", data=np.ones(2), rows=True)
        plan.commit([task.finish()])
    with pytest.raises(hs.UnsupportedError, match="append with a plan, or fuse it first"):
        hs.write_table(pa.table({"x": [1.0]}), tmp_path / "plan.h5", mode="a")


def test_a_file_that_others_write_is_not_appended_to(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    hs.write_table(pa.table({"x": [1.0]}), path)

    def while_written() -> Any:
        yield pa.record_batch({"x": [2.0]})
        hs.write_table(pa.table({"x": [7.0]}), tmp_path / "y.h5")
        os.replace(tmp_path / "y.h5", path)
        yield pa.record_batch({"x": [3.0]})

    with pytest.raises(hs.ConflictError, match="changed by another writer"):
        hs.write_table(pa.RecordBatchReader.from_batches(pa.schema([("x", pa.float64())]), while_written()), path, mode="a")
    assert h5py.File(path)["x"][:].tolist() == [7.0]

    def again() -> Any:
        with pytest.raises(hs.ConflictError, match="open and locked"):
            hs.write_table(pa.table({"x": [8.0]}), path, mode="a")
        yield pa.record_batch({"x": [9.0]})

    hs.write_table(pa.RecordBatchReader.from_batches(pa.schema([("x", pa.float64())]), again()), path, mode="a")
    assert h5py.File(path)["x"][:].tolist() == [7.0, 9.0]


def test_a_killed_append_leaves_the_old_rows(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    hs.write_table(pa.table({"x": np.arange(100_000.0)}), path)
    program = "import sys, numpy as np, pyarrow as pa, hyperslab as hs\nprint('ready', flush=True)\nwhile True:\n    hs.write_table(pa.table({'x': np.arange(1000.0)}), sys.argv[1], mode='a')\n"
    for moment in range(6):
        child = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        time.sleep(0.02 + 0.03 * moment)
        child.send_signal(signal.SIGKILL)
        child.wait()
        with h5py.File(path) as f:
            x = f["x"][:]
        assert len(x) % 1000 == 0 and (x[:100_000] == np.arange(100_000)).all() and (x[100_000:].reshape(-1, 1000) == np.arange(1000)).all()
    hs.write_table(pa.table({"x": [1.5]}), path, mode="a")
    assert h5py.File(path)["x"][-1] == 1.5
