"""Values that HDF5 cannot store are errors or need an option, and are never changed: nulls, zones, decimals, extremes."""

from __future__ import annotations

import datetime
import pathlib
from typing import Any

import h5py
import numpy as np
import pytest

TYPES = {
    "boolean": "true",
    "tinyint": "1Y",
    "smallint": "1S",
    "int": "1",
    "bigint": "1L",
    "float": "1f",
    "double": "1d",
    "string": "'a'",
    "binary": "x'00'",
    "date": "date'2000-01-01'",
    "timestamp": "timestamp'2000-01-01'",
    "timestamp_ntz": "timestamp_ntz'2000-01-01'",
    "decimal(20,0)": "cast(1 as decimal(20,0))",
    "array<int>": "array(1)",
    "struct<a:int>": "named_struct('a', 1)",
    "array<array<int>>": "array(array(1))",
    "array<string>": "array('a')",
}
INNER = {
    "array<int>": ("array(1, cast(null as int))", "array(1, 2)"),
    "array<string>": ("array('a', null)", "array('a')"),
    "array<array<int>>": ("array(array(1), null)", "array(array(1))"),
    "deep": ("array(array(1, null))", "array(array(1))"),
    "struct": ("named_struct('a', 1, 'b', cast(null as string))", "named_struct('a', 1, 'b', 'x')"),
    "array<struct>": ("array(named_struct('a', cast(null as smallint)))", "array(named_struct('a', 1S))"),
}


def write(frame: Any, path: pathlib.Path, **options: str) -> None:
    frame.coalesce(1).write.format("hdf5").option("dataset", "/t").options(**options).save(str(path))


@pytest.mark.parametrize("nulls", ["error", "nan"])
def test_a_null_of_each_type_is_an_error_or_nan(spark: Any, tmp_path: pathlib.Path, nulls: str) -> None:
    cases = {name: (f"if(id = 1, cast(null as {name}), {value})", value) for name, value in TYPES.items()}
    cases |= {f"inside {name}": (f"if(id = 1, {with_null}, {without})", without) for name, (with_null, without) in INNER.items()}
    for number, (name, (expression, value)) in enumerate(cases.items()):
        path = tmp_path / f"{number}.h5"
        frame = spark.range(3).selectExpr(f"{expression} as x", "id")
        if nulls == "nan" and name in ("float", "double"):
            write(frame, path, nulls=nulls)
            with h5py.File(path) as f:
                np.testing.assert_array_equal(f["t/x"][:], [1, np.nan, 1])
            continue
        with pytest.raises(Exception, match='column "x.*contains nulls, which HDF5 cannot store'):
            write(frame, path, nulls=nulls)
        assert not path.exists(), name
        write(spark.range(3).selectExpr(f"{value} as x", "id"), path, nulls=nulls)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("cast(1 as decimal(10,2))", "decimal"),
        ("cast(1 as decimal(38,0))", "decimal"),
        ("interval 1 day", "(?i)interval day"),
        ("interval 1 month", "(?i)interval month"),
        ("null", "void"),
        ("array(timestamp'2000-01-01')", "timestamp within an array"),
        ("named_struct('a', timestamp_ntz'2000-01-01')", "timestamp_ntz within an array"),
        ("array(cast(1 as decimal(10,2)))", "decimal"),
        ("named_struct('a', map(1, 2))", "map"),
        ("cast(18446744073709551616 as decimal(20,0))", "out of range for unsigned 64-bit integers"),
    ],
)
def test_types_that_a_column_cannot_hold(spark: Any, tmp_path: pathlib.Path, expression: str, words: str) -> None:
    with pytest.raises(Exception, match=words):
        write(spark.range(2).selectExpr(f"{expression} as x", "id"), tmp_path / "x.h5")
    assert list(tmp_path.iterdir()) == []


def test_extremes_keep_every_digit(spark: Any, tmp_path: pathlib.Path) -> None:
    columns = {
        "i1": ("array(-128Y, 127Y)[id]", [-128, 127]),
        "i2": ("array(-32768S, 32767S)[id]", [-(2**15), 2**15 - 1]),
        "i8": ("array(cast('-9223372036854775808' as bigint), 9223372036854775807L)[id]", [-(2**63), 2**63 - 1]),
        "u8": ("array(cast(0 as decimal(20,0)), cast(18446744073709551615 as decimal(20,0)))[id]", [0, 2**64 - 1]),
        "day": ("array(date'0001-01-01', date'9999-12-31')[id]", [-719162, 2932896]),
        "local": ("array(timestamp_ntz'0001-01-01 00:00:00.000001', timestamp_ntz'9999-12-31 23:59:59.999999')[id]", [-62135596799999999, 253402300799999999]),
        "moment": ("array(timestamp_micros(-1), timestamp_micros(1700000000123456))[id]", [-1, 1700000000123456]),
        "f8": ("array(double('-0.0'), 4.9E-324D)[id]", [-0.0, 5e-324]),
        "text": ("array('', 'ä\U0001f600')[id]", [b"", "ä\U0001f600".encode()]),
        "raw": ("array(x'', x'00FF')[id]", [[], [0, 255]]),
        "varied": ("cast(array('a', 'bc')[id] as varchar(5))", [b"a", b"bc"]),
    }
    path = tmp_path / "x.h5"
    frame = spark.range(2).selectExpr(*(f"{expression.replace('[id]', '[cast(id as int)]')} as {name}" for name, (expression, _) in columns.items()))
    write(frame, path)
    with h5py.File(path) as f:
        for name, (_, want) in columns.items():
            found = f["t"][name][:]
            assert [v.tolist() if isinstance(v, np.ndarray) else v for v in found.tolist()] == want if name == "raw" else found.tolist() == want, name
        assert (
            np.signbit(f["t/f8"][0])
            and f["t/moment"].attrs["time_zone"] == "UTC"
            and f["t/moment"].attrs["spark_type"] == "timestamp"
            and "time_zone" not in f["t/local"].attrs
        )
    back = spark.read.format("hdf5").option("dataset", "/t").load(str(path)).select(*(name for name in columns if name not in ("raw", "varied")))
    assert back.collect() == frame.select(*back.columns).collect()
    assert isinstance(back.first().moment, datetime.datetime)
