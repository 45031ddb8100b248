"""Arrow tables as HDF5: what is read back is what was written; what HDF5 cannot hold is refused by name."""

from __future__ import annotations

import datetime
import decimal
import pathlib

import duckdb
import h5py
import hyperslab as hs
import numpy as np
import polars
import pyarrow as pa
import pytest
from compare import compare

N = 5000
RNG = np.random.default_rng(2)
TABLE = pa.table(
    {
        **{
            name: pa.array(RNG.integers(0, 100, N), type=type)
            for name, type in {
                "i1": pa.int8(),
                "u1": pa.uint8(),
                "i2": pa.int16(),
                "u2": pa.uint16(),
                "i4": pa.int32(),
                "u4": pa.uint32(),
                "i8": pa.int64(),
                "u8": pa.uint64(),
            }.items()
        },
        "f2": pa.array(RNG.normal(size=N).astype("f2")),
        "f4": pa.array(RNG.normal(size=N).astype("f4")),
        "f8": pa.array(RNG.normal(size=N)),
        "flag": pa.array(RNG.random(N) < 0.3),
        "text": pa.array([f"täxt {i % 7}" if i % 5 else "" for i in range(N)]),
        "raw": pa.array([i.to_bytes(3, "big") for i in range(N)], type=pa.binary(3)),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(RNG.normal(size=3 * N)), 3),
        "list": pa.array([list(range(i % 4)) for i in range(N)], type=pa.list_(pa.int32())),
    }
)


def same(path: pathlib.Path, found: pa.Table) -> None:
    assert [r for r in compare(str(path)) if r.outcome != "equal"] == []
    assert found.num_columns == TABLE.num_columns
    for name in TABLE.column_names:
        assert found[name].to_pylist() == TABLE[name].to_pylist(), name


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
def test_columns_come_back(tmp_path: pathlib.Path, compression: str | None) -> None:
    path = tmp_path / "t.h5"
    batches = TABLE.to_batches(max_chunksize=777)
    assert hs.write_table(batches, path, compression=compression, shuffle=compression is not None) == N
    with h5py.File(path) as f:
        assert f["f4"].dtype == "<f4" and (f["f4"].compression == "gzip") == (compression == "gzip")
        assert f["vector"][:].shape == (N, 3) and f["flag"].dtype == bool and f["text"].asstr()[1] == "täxt 1"
        np.testing.assert_array_equal(f["f8"][:], TABLE["f8"].to_numpy())
    same(path, hs.open(path).table("/").to_arrow())


def test_records_come_back(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.h5"
    assert hs.write_table(TABLE, path, layout="records", group="data/table", compression="gzip") == N
    with h5py.File(path) as f:
        assert f["data/table"].dtype.names == tuple(TABLE.column_names)
    same(path, hs.open(path).table("/data/table").to_arrow())


def test_text_of_every_arrow_layout_comes_back(tmp_path: pathlib.Path) -> None:
    """Slices, long offsets, views, dictionaries, nothing but empty text; many batches of few rows."""
    plain = pa.array([f"täxt {i % 7}" * (i % 4) for i in range(1000)])
    table = pa.table(
        {
            "plain": plain,
            "large": plain.cast(pa.large_string()),
            "view": plain.cast(pa.string_view()),
            "dictionary": plain.dictionary_encode(),
            "empty": pa.array([""] * 1000),
        }
    )
    for number, source in enumerate((table, table.slice(313, 500), table.slice(3).to_batches(max_chunksize=7), table.slice(999), table.slice(0, 0))):
        path = tmp_path / f"{number}.h5"
        expected = pa.Table.from_batches(source) if isinstance(source, list) else source
        assert hs.write_table(source, path) == expected.num_rows
        with h5py.File(path) as f:
            for name in table.column_names:
                assert f[name].asstr()[:].tolist() == expected[name].to_pylist(), (number, name)
        assert [r for r in compare(str(path)) if r.outcome != "equal"] == []


def test_streams_of_other_engines_are_written(tmp_path: pathlib.Path) -> None:
    frame = polars.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    hs.write_table(frame, tmp_path / "polars.h5")
    hs.write_table(duckdb.sql("select range as a, range * 0.5 :: double as b from range(100000)").to_arrow_reader(), tmp_path / "duck.h5")
    hs.write_table(hs.open(tmp_path / "duck.h5").table("/", where="a < 10"), tmp_path / "ours.h5")
    assert h5py.File(tmp_path / "polars.h5")["b"].asstr()[:].tolist() == ["x", "y", "z"]
    assert h5py.File(tmp_path / "ours.h5")["b"][:].tolist() == [i / 2 for i in range(10)]


def test_times_are_counts_with_units(tmp_path: pathlib.Path) -> None:
    moments = [datetime.datetime(2001, 2, 3, 4, 5, 6, 7), datetime.datetime(1955, 1, 1)]
    hs.write_table(pa.table({"t": pa.array(moments, type=pa.timestamp("us"))}), tmp_path / "t.h5")
    with h5py.File(tmp_path / "t.h5") as f:
        assert f["t"].attrs["units"] == "microseconds since 1970-01-01 00:00:00"
        assert [datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=int(n)) for n in f["t"][:]] == moments


def test_a_table_without_rows_keeps_its_columns(tmp_path: pathlib.Path) -> None:
    assert hs.write_table(TABLE.slice(0, 0), tmp_path / "t.h5") == 0
    with h5py.File(tmp_path / "t.h5") as f:
        assert f["f8"].shape == (0,) and f["vector"].dtype == ("<f8", (3,))


@pytest.mark.parametrize(
    "table, words",
    [
        (pa.table({"a": [1, None]}), "'a' has 1 nulls"),
        (pa.table({"a": pa.array([[1, None]], type=pa.list_(pa.int32()))}), "nulls in its lists"),
        (pa.table({"a": pa.array([decimal.Decimal("12345678901234567.89")], type=pa.decimal128(30, 2))}), "decimal128"),
        (pa.table({"a": pa.array([b"abc"])}), "binary"),
        (pa.table({"a": [{"x": 1}]}), "struct"),
        (pa.table([[1], [2]], names=["a", "a"]), "name of its own"),
        (pa.table({"a/b": [1]}), "no / in its name"),
        (pa.table({"a": ["x", "a\0b"]}), "NUL"),
        (5, "not Arrow data"),
    ],
)
def test_what_hdf5_cannot_hold_is_refused_by_name(tmp_path: pathlib.Path, table: object, words: str) -> None:
    with pytest.raises(hs.Error, match=words):
        hs.write_table(table, tmp_path / "t.h5")
    assert list(tmp_path.iterdir()) == []
