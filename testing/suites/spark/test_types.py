"""Every type, compared with h5py."""

from __future__ import annotations

import decimal
import math
import pathlib
from typing import Any

import h5py
import numpy as np
import pytest

INTEGERS = {"i1": "tinyint", "i2": "smallint", "i4": "int", "i8": "bigint", "u1": "smallint", "u2": "int", "u4": "bigint", "u8": "decimal(20,0)"}
ROWS = 1000


def read(spark: Any, path: pathlib.Path, dataset: str, **options: Any) -> Any:
    return spark.read.format("hdf5").option("dataset", dataset).options(**options).load(str(path))


def values(frame: Any, column: str) -> list[Any]:
    return [row[0] for row in frame.orderBy("_row").select(column).collect()]


@pytest.mark.parametrize("code", INTEGERS)
@pytest.mark.parametrize("order", "<>")
def test_integers(spark: Any, tmp_path: pathlib.Path, code: str, order: str) -> None:
    info = np.iinfo(code)
    data = np.random.default_rng(1).integers(info.min, info.max, ROWS, dtype=code, endpoint=True)
    data[:2] = info.min, info.max
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=data.astype(order + code), chunks=(64,), compression="gzip")
    frame = read(spark, tmp_path / "a.h5", "/x")
    assert dict(frame.dtypes)["x"] == INTEGERS[code]
    assert [int(v) for v in values(frame, "x")] == data.tolist()
    assert frame.where(f"x = {data[1]}").count() == (data == data[1]).sum()


@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
def test_floats_with_all_that_is_odd(spark: Any, tmp_path: pathlib.Path, code: str) -> None:
    info = np.finfo(code)
    odd = [0.0, -0.0, math.inf, -math.inf, math.nan, info.max, info.min, info.tiny, info.smallest_subnormal, -info.smallest_subnormal]
    data = np.concatenate([np.array(odd, code), np.random.default_rng(2).standard_normal(ROWS).astype(code)])
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = data
    frame = read(spark, tmp_path / "a.h5", "/x")
    assert dict(frame.dtypes)["x"] == ("double" if code == "f8" else "float")
    got = np.array(values(frame, "x"))
    np.testing.assert_array_equal(got.view("i8"), data.astype("f8").view("i8"))


def test_every_half_float(spark: Any, tmp_path: pathlib.Path) -> None:
    data = np.arange(65536, dtype="u2").view("f2")
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = data
    got = np.array(values(read(spark, tmp_path / "a.h5", "/x"), "x"))
    np.testing.assert_array_equal(got, data.astype("f8"))


def test_booleans_enumerations_texts_and_bytes(spark: Any, tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(3)
    flags = rng.integers(0, 2, ROWS).astype(bool)
    colours = rng.integers(0, 3, ROWS).astype("i2")
    texts = ["" if n % 7 == 0 else "ä€𝄞x" * (n % 5) for n in range(ROWS)]
    fixed = np.array([f"n{n}".encode() for n in range(ROWS)], "S8")
    opaque = rng.integers(0, 256, (ROWS, 5)).astype("u1").view("V5").reshape(ROWS)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["flag"] = flags
        f.create_dataset("colour", data=colours, dtype=h5py.enum_dtype({"red": 0, "green": 1, "blue": 2}, "i2"))
        f.create_dataset("text", data=texts, dtype=h5py.string_dtype())
        f["fixed"] = fixed
        f["opaque"] = opaque
    frame = read(spark, tmp_path / "a.h5", "/")
    assert dict(frame.dtypes) == {"colour": "string", "fixed": "string", "flag": "boolean", "opaque": "binary", "text": "string"}
    assert values(frame, "flag") == flags.tolist()
    assert values(frame, "colour") == [("red", "green", "blue")[n] for n in colours]
    assert values(frame, "text") == texts
    assert values(frame, "fixed") == [text.decode() for text in fixed]
    assert [bytes(value) for value in values(frame, "opaque")] == [value.tobytes() for value in opaque]
    assert frame.where("colour = 'blue' and flag").count() == ((colours == 2) & flags).sum()


def test_compounds_with_structs_arrays_and_lists(spark: Any, tmp_path: pathlib.Path) -> None:
    inner = np.dtype([("v", "f4"), ("n", "u8")])
    record = np.dtype([("id", "i4"), ("inner", inner), ("grid", "i2", (2, 3)), ("flag", bool)])
    data = np.zeros(ROWS, record)
    data["id"] = np.arange(ROWS)
    data["inner"]["v"] = np.arange(ROWS) / 8
    data["inner"]["n"] = np.uint64(2**63) + np.arange(ROWS, dtype="u8")
    data["grid"] = np.arange(ROWS * 6).reshape(ROWS, 2, 3)
    data["flag"] = np.arange(ROWS) % 3 == 0
    lists = [np.arange(n % 4, dtype="i4") for n in range(ROWS)]
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["records"] = data
        ragged = f.create_dataset("ragged", (ROWS,), dtype=h5py.vlen_dtype("i4"))
        for n, items in enumerate(lists):
            ragged[n] = items
    frame = read(spark, tmp_path / "a.h5", "/records", batchRows=77)
    rows = frame.orderBy("id").collect()
    for n, row in enumerate(rows):
        assert (row.id, row.inner.v, row.inner.n, row.grid, row.flag) == (n, n / 8, decimal.Decimal(2**63 + n), data["grid"][n].tolist(), bool(data["flag"][n]))
    assert len(rows) == ROWS
    assert frame.where("inner.v > 5").count() == (data["inner"]["v"] > 5).sum()
    assert values(read(spark, tmp_path / "a.h5", "/ragged", batchRows=77), "ragged") == [items.tolist() for items in lists]


@pytest.mark.parametrize("batch_rows", [1, 7, 65536])
def test_rows_are_arrays(spark: Any, tmp_path: pathlib.Path, batch_rows: int) -> None:
    data = np.random.default_rng(4).standard_normal((40, 3, 5))
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=data, chunks=(8, 3, 5))
    frame = read(spark, tmp_path / "a.h5", "/x", layout="rows", batchRows=batch_rows)
    assert dict(frame.dtypes)["x"] == "array<double>"
    np.testing.assert_array_equal(values(frame, "x"), data.reshape(40, 15))


def test_cells_have_their_indexes(spark: Any, tmp_path: pathlib.Path) -> None:
    data = np.random.default_rng(5).integers(0, 1000, (30, 20, 4)).astype("i4")
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=data, chunks=(7, 6, 4), compression="gzip", shuffle=True)
    got = np.zeros_like(data)
    for row in read(spark, tmp_path / "a.h5", "/x", partitions=5).collect():
        got[row.dim_0, row.dim_1, row.dim_2] += row.x
    np.testing.assert_array_equal(got, data)


def test_missing_packed_and_timed_values_of_netcdf(spark: Any, tmp_path: pathlib.Path) -> None:
    import datetime

    import netCDF4

    with netCDF4.Dataset(tmp_path / "a.nc", "w") as f:
        f.createDimension("time", 50)
        time = f.createVariable("time", "f8", ("time",))
        time.units = "hours since 2020-02-28 00:00:00"
        time[:] = np.arange(50)
        t = f.createVariable("t", "i2", ("time",), fill_value=-999)
        t.scale_factor, t.add_offset, t.long_name, t.units = 0.5, 100.0, "temperature", "K"
        t[:] = np.ma.masked_array(100 + np.arange(50) * 0.5, mask=np.arange(50) % 5 == 0)
    frame = spark.read.format("netcdf").option("dataset", "/t").load(str(tmp_path / "a.nc"))
    assert dict(frame.dtypes) == {"time": "timestamp_ntz", "t": "double"}
    rows = frame.orderBy("time").collect()
    start = datetime.datetime(2020, 2, 28)
    assert [row.time for row in rows] == [start + datetime.timedelta(hours=n) for n in range(50)]
    assert [row.t for row in rows] == [None if n % 5 == 0 else 100 + n * 0.5 for n in range(50)]
    assert frame.where("time >= '2020-02-29'").count() == 26
    assert frame.where("t is null").count() == 10
    comments = {row.col_name: row.comment for row in spark.sql("select 1 as col_name, 2 as comment").limit(0).collect()}
    assert comments == {} and frame.schema["t"].metadata["comment"] == "temperature [K]"
    raw = spark.read.format("netcdf").option("dataset", "/t").option("raw", "true").load(str(tmp_path / "a.nc"))
    assert dict(raw.dtypes) == {"time": "double", "t": "smallint"}
