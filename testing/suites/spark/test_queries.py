"""Queries as DataFrames: the rows of `hs.query`, and those that numpy finds, read in Spark's tasks."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest

STEPS, ROWS = (0, 1, 10), 3_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("queries")
    random = np.random.default_rng(5)
    for number in (1, 2):
        with h5py.File(folder / f"run{number}.h5", "w") as f:
            for step in STEPS:
                group = f.create_group(f"Step#{step}")
                for name in ("x", "energy"):
                    group.create_dataset(name, data=random.normal(size=ROWS).astype("f4"), chunks=(256,), compression="gzip")
            f["mesh/E"] = random.normal(size=(20, 25, 4))
    return folder


def arrays(folder: pathlib.Path, name: str) -> dict[tuple[int, int], np.ndarray]:
    found = {}
    for number in (1, 2):
        with h5py.File(folder / f"run{number}.h5") as f:
            found.update({(number, step): f[f"Step#{step}/{name}"][:] for step in STEPS})
    return found


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


@pytest.mark.parametrize("tasks", [None, 1, 5, 30])
def test_a_query_is_a_frame_of_its_rows_in_their_order(spark: Any, run: pathlib.Path, tasks: int | None) -> None:
    columns = ["run", "Step", "_row", "_file", "x"]
    frame = hs.spark.query(spark, str(run / "run*.h5"), "/Step#*", "energy > 0.5 && -1 < x", columns=columns, tasks=tasks)
    assert frame.columns == columns
    x, energy = arrays(run, "x"), arrays(run, "energy")
    wanted = [
        (number, step, int(row), str(run / f"run{number}.h5"), float(x[number, step][row]))
        for number, step in x
        for row in np.flatnonzero((energy[number, step] > 0.5) & (x[number, step] > -1))
    ]
    assert rows(frame) == wanted
    table = hs.query(str(run / "run*.h5"), "/Step#*", "energy > 0.5 && -1 < x").table(columns)
    assert [tuple(row.values()) for row in table.to_pylist()] == wanted
    assert frame.count() == len(wanted) and frame.where("Step = 10").count() == sum(row[1] == 10 for row in wanted)
    counts = frame.groupBy("Step").count().collect()
    assert {row["Step"]: row["count"] for row in counts} == {step: sum(row[1] == step for row in wanted) for step in STEPS}
    if tasks is not None:
        assert max(tasks // 2, 1) <= frame.rdd.getNumPartitions() <= tasks


def test_parts_of_arrays_and_arrays_of_other_files(spark: Any, run: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run)  # paths are relative, and tasks run in another folder
    with h5py.File("run1.h5") as f:
        field = f["mesh/E"][:]
    mask = (field[:10, :, 3] > 0) & (field[10:, :, -1] < 0.5)
    frame = hs.spark.query(spark, "run1.h5", "/mesh", "E[:10, :, 3] > 0 && E[10:,:,-1] < 0.5", columns=["_row", "E[::2,:,1]"], tasks=4)
    assert rows(frame) == list(zip(np.flatnonzero(mask).tolist(), field[::2, :, 1][mask].tolist()))
    x = arrays(run, "x")
    for other in ("run2.h5:/Step#10/x", hs.open("run2.h5")["Step#10/x"]):
        frame = hs.spark.query(spark, "run1.h5", "/Step#0", "x > other", columns=["other"], variables={"other": other}, tasks=3)
        assert [row[0] for row in frame.collect()] == x[2, 10][x[1, 0] > x[2, 10]].tolist()
    frame = hs.spark.query(spark, re.compile(r"run(?P<n>\d)\.h5"), re.compile(r"/Step#(?P<step>1\d*)"), rows="x", columns=["n", "step", "x"])
    assert rows(frame) == [(n, step, value) for n in (1, 2) for step in (1, 10) for value in x[n, step].tolist()]
    frame = hs.spark.query(spark, hs.open("run*.h5"), "/Step#*", "x > 3", tasks=2)
    assert [row.x for row in frame.collect()] == [v for a in x.values() for v in a[a > 3].tolist()]


def test_a_query_without_rows_is_an_empty_frame(spark: Any, run: pathlib.Path) -> None:
    for text in ("x > 1e9", "x > 0 and Step = 7"):
        frame = hs.spark.query(spark, str(run / "run*.h5"), "/Step#*", text, columns=["x", "Step"])
        assert frame.count() == 0 and frame.collect() == [] and frame.dtypes == [("x", "float"), ("Step", "bigint")]


def test_types_are_those_of_the_reader(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"):
            info = np.iinfo(kind) if kind[0] in "iu" else None
            f[kind] = np.array([1, info.max, info.min] if info else [1.5, np.inf, np.nan], kind)
        f["text"] = ["a", "bc", ""]
        f["bytes"] = np.array([b"ab", b"cd", b"\0e"], "V2")
        f["flag"] = np.array([True, False, True])
        f["phase"] = np.array([0, 1, 9], h5py.enum_dtype({"solid": 0, "gas": 1}, "i1"))
        f["nested"] = np.array([(1, [1, 2]), (2, [3, 4]), (255, [5, 6])], [("a", "u1"), ("b", "u4", (2,))])
        f["t"] = np.array([0, 1, 86400], "i4")
        f["t"].attrs["units"] = "seconds since 2000-01-01"
    names = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "text", "bytes", "flag", "phase", "nested", "t"]
    frame = hs.spark.query(spark, tmp_path / "a.h5", "/", rows="i1", columns=names)
    for name in names:
        reader = spark.read.format("hdf5").option("dataset", f"/{name}").load(str(tmp_path / "a.h5"))
        if name == "nested":
            wanted = [row.asDict(recursive=True) for row in reader.select("a", "b").collect()]
            assert [row.nested.asDict(recursive=True) for row in frame.select(name).collect()] == wanted
            continue
        assert dict(frame.dtypes)[name] == dict(reader.dtypes)[name], name
        # NaN does not equal NaN.
        assert str([row[0] for row in frame.select(name).collect()]) == str([row[0] for row in reader.select(name).collect()]), name


def test_unsupported_types_and_options_are_errors(spark: Any, run: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(hs.UnsupportedError, match="mine"):
        hs.spark.query(spark, str(run / "run1.h5"), "/Step#0", "x > mine", variables={"mine": np.zeros(ROWS)})
    with pytest.raises(hs.UnsupportedError, match="column d: Arrow type duration"):
        hs.spark._arrow_type("d", pa.duration("s"))
    with pytest.raises(hs.InvalidInputError, match="tasks is 0"):
        hs.spark.query(spark, str(run / "run1.h5"), "/Step#0", "x > 0", tasks=0)
    with pytest.raises(hs.NotFoundError, match="enrgy"):
        hs.spark.query(spark, str(run / "run1.h5"), "/Step#0", "enrgy > 0")


def test_an_index_is_used_and_a_changed_file_fails_the_tasks(spark: Any, tmp_path: pathlib.Path) -> None:
    x = np.sort(np.random.default_rng(1).normal(size=1 << 20)).astype("f4")
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=x, chunks=(1 << 15,))
    before = hs.spark.query(spark, tmp_path / "a.h5", "/", "x > 3", columns=["_row", "x"], tasks=16)
    assert hs.spark.index(spark, tmp_path / "a.h5", "/x", "P").datasets == 1
    after = hs.spark.query(spark, tmp_path / "a.h5", "/", "x > 3", columns=["_row", "x"], tasks=16)
    wanted = [(int(row), float(x[row])) for row in np.flatnonzero(x > 3)]
    assert rows(before) == rows(after) == wanted
    assert after.rdd.getNumPartitions() == 1 < before.rdd.getNumPartitions()
    with h5py.File(tmp_path / "a.h5", "r+") as f:
        f["x"][0] = 9
    with pytest.raises(Exception, match="plan again"):
        after.collect()
