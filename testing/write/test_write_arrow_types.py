"""Every Arrow type in write_table: stored as it is, refused by its name, or converted by an option; never changed in silence."""

from __future__ import annotations

import datetime
import decimal
import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest

D = decimal.Decimal
DAY = datetime.date(2001, 2, 3)
TIME = datetime.time(1, 2, 3)
ZONE = pa.timestamp("ns", "Europe/Berlin")
NS = 981173106123456789

#: Type, values, what is stored, attributes.
STORED: list[tuple[pa.DataType, list[Any], list[Any], dict[str, str]]] = [
    *((type, [1, 2], [1, 2], {}) for type in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32())),
    (pa.int64(), [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1], {}),
    (pa.uint64(), [0, 2**64 - 1], [0, 2**64 - 1], {}),
    (pa.float16(), [0.5, 1.5], [0.5, 1.5], {}),
    (pa.float32(), [0.5, 1.5], [0.5, 1.5], {}),
    (pa.float64(), [0.1, 1e300], [0.1, 1e300], {}),
    (pa.bool_(), [True, False], [True, False], {}),
    *((type, ["a", "ä"], [b"a", "ä".encode()], {}) for type in (pa.string(), pa.large_string(), pa.string_view())),
    (pa.dictionary(pa.int8(), pa.string()), ["a", "b"], [b"a", b"b"], {}),
    (pa.dictionary(pa.int32(), pa.int64()), [7, 8], [7, 8], {}),
    (pa.timestamp("s"), [1, -1], [1, -1], {"units": "seconds since 1970-01-01 00:00:00", "arrow_type": "timestamp[s]"}),
    (pa.timestamp("ms"), [1, 2], [1, 2], {"units": "milliseconds since 1970-01-01 00:00:00"}),
    (pa.timestamp("us"), [1, 2], [1, 2], {"units": "microseconds since 1970-01-01 00:00:00"}),
    (pa.timestamp("ns"), [NS, -NS], [NS, -NS], {"units": "nanoseconds since 1970-01-01 00:00:00"}),
    (ZONE, [NS, 1], [NS, 1], {"time_zone": "Europe/Berlin", "arrow_type": "timestamp[ns, tz=Europe/Berlin]", "calendar": "proleptic_gregorian"}),
    (pa.date32(), [DAY, datetime.date(1950, 1, 1)], [11356, -7305], {"units": "days since 1970-01-01 00:00:00", "arrow_type": "date32[day]"}),
    (pa.date64(), [DAY], [11356 * 86_400_000], {"units": "milliseconds since 1970-01-01 00:00:00"}),
    (pa.time32("s"), [TIME], [3723], {"units": "seconds", "arrow_type": "time32[s]"}),
    (pa.time32("ms"), [TIME], [3_723_000], {"units": "milliseconds"}),
    (pa.time64("us"), [TIME], [3_723_000_000], {"units": "microseconds"}),
    (pa.time64("ns"), [7], [7], {"units": "nanoseconds"}),
    *((pa.duration(unit), [5, -5], [5, -5], {"arrow_type": f"duration[{unit}]"}) for unit in ("s", "ms", "us", "ns")),
    (pa.decimal128(5, 2), [D("0.07"), D("-123.45")], [0.07, -123.45], {"arrow_type": "decimal128(5, 2)"}),
    (pa.decimal256(40, 1), [D("1.5")], [1.5], {"arrow_type": "decimal256(40, 1)"}),
    (pa.list_(pa.int16()), [[1], [2, 3]], [[1], [2, 3]], {}),
    (pa.large_list(pa.float32()), [[], [0.5]], [[], [0.5]], {}),
    (pa.list_(pa.float64(), 2), [[1.0, 2.0]], [[1.0, 2.0]], {}),
    (pa.binary(2), [b"ab", b"\0c"], [b"ab", b"\0c"], {}),
]

REFUSED: list[tuple[pa.DataType, list[Any]]] = [
    (pa.null(), [None]),
    (pa.binary(), [b"a"]),
    (pa.large_binary(), [b"a"]),
    (pa.binary_view(), [b"a"]),
    (pa.struct({"x": pa.int8()}), [{"x": 1}]),
    (pa.map_(pa.string(), pa.int8()), [[("a", 1)]]),
    (pa.list_(pa.string()), [["a"]]),
    (pa.list_(pa.list_(pa.int8())), [[[1]]]),
    (pa.list_(pa.bool_()), [[True]]),
    (pa.list_(pa.date32()), [[DAY]]),
    (pa.list_(pa.timestamp("ns"), 1), [[1]]),
    (pa.list_(pa.string(), 1), [["a"]]),
    (pa.list_(pa.decimal128(3, 1)), [[D("1.5")]]),
    (pa.dictionary(pa.int8(), pa.binary()), [b"a"]),
    (pa.month_day_nano_interval(), [(1, 2, 3)]),
    (pa.list_view(pa.int8()), [[1]]),
]


@pytest.mark.parametrize("type, values, wanted, attributes", STORED, ids=[str(row[0]) for row in STORED])
def test_what_hdf5_can_hold_is_stored_as_it_is(
    tmp_path: pathlib.Path, type: pa.DataType, values: list[Any], wanted: list[Any], attributes: dict[str, str]
) -> None:
    array = pa.array(values, type=type)
    assert hs.write_table(pa.table({"a": pa.concat_arrays([array, array]).slice(1)}), tmp_path / "t.h5") == 2 * len(values) - 1
    with h5py.File(tmp_path / "t.h5") as f:
        found = [one.tobytes() if isinstance(one, np.void) else one.tolist() if isinstance(one, (np.ndarray, np.generic)) else one for one in f["a"][()]]
        assert found == (wanted + wanted)[1:]
        assert attributes.items() <= dict(f["a"].attrs).items()
        assert bool(f["a"].attrs) == bool(attributes)


@pytest.mark.parametrize("type, values", REFUSED, ids=[str(row[0]) for row in REFUSED])
def test_other_types_are_refused_by_name(tmp_path: pathlib.Path, type: pa.DataType, values: list[Any]) -> None:
    with pytest.raises(hs.UnsupportedError) as error:
        hs.write_table(pa.table({"a": pa.array(values, type=type)}), tmp_path / "t.h5")
    assert "'a'" in str(error.value) and str(type) in str(error.value) and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "type, values, wanted, attributes",
    [row for row in STORED if not pa.types.is_fixed_size_list(row[0])],
    ids=lambda value: str(value) if isinstance(value, pa.DataType) else "",
)
def test_nulls_are_an_error_or_nan(tmp_path: pathlib.Path, type: pa.DataType, values: list[Any], wanted: list[Any], attributes: dict[str, str]) -> None:
    table = pa.table({"a": pa.array([*values, None], type=type)})
    with pytest.raises(hs.UnsupportedError, match="'a' has 1 nulls"):
        hs.write_table(table, tmp_path / "t.h5")
    if pa.types.is_floating(type):
        hs.write_table(table, tmp_path / "t.h5", nulls="nan")
        with h5py.File(tmp_path / "t.h5") as f:
            assert f["a"][:-1].tolist() == wanted and np.isnan(f["a"][-1])
    else:
        with pytest.raises(hs.UnsupportedError, match="'a' has 1 nulls"):
            hs.write_table(table, tmp_path / "t.h5", nulls="nan")


def test_nulls_inside_are_found(tmp_path: pathlib.Path) -> None:
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array(["a", None]))
    assert dictionary.null_count == 0
    for array in (
        dictionary,
        pa.array([[1, None]], pa.list_(pa.int8())),
        pa.array([[1.0, None]], pa.list_(pa.float64(), 2)),
        pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2)),
    ):
        for layout in ("columns", "records"):
            with pytest.raises(hs.UnsupportedError, match="'a' has 1 nulls"):
                hs.write_table(pa.table({"a": array}), tmp_path / "t.h5", layout=layout)
    for array in (pa.array([[1.0, None]], pa.list_(pa.float64())), pa.array([[1.0, None]], pa.list_(pa.float64(), 2))):
        hs.write_table(pa.table({"a": array}), tmp_path / "t.h5", nulls="nan")
        with h5py.File(tmp_path / "t.h5") as f:
            np.testing.assert_array_equal(f["a"][0], [1, np.nan])


def test_decimals_beyond_a_float_are_an_error_or_rounded(tmp_path: pathlib.Path) -> None:
    for value in ("12345678901234567.89", "0.12345678901234567891"):
        table = pa.table({"a": pa.array([D(value)], pa.decimal128(38, 20 if value.startswith("0") else 2))})
        with pytest.raises(hs.InvalidInputError, match='overflow="round"'):
            hs.write_table(table, tmp_path / "t.h5")
        hs.write_table(table, tmp_path / "t.h5", overflow="round")
        with h5py.File(tmp_path / "t.h5") as f:
            assert f["a"][0] == float(value)
        (tmp_path / "t.h5").unlink()
    for option in ({"nulls": "zero"}, {"overflow": "wrap"}):
        with pytest.raises(hs.InvalidInputError, match="expected 'error' or"):
            hs.write_table(table, tmp_path / "t.h5", **option)


def test_what_needs_attributes_is_no_member_of_records(tmp_path: pathlib.Path) -> None:
    for type, values, _, attributes in STORED:
        table = pa.table({"a": pa.array(values, type=type)})
        if attributes:
            with pytest.raises(hs.UnsupportedError, match='layout="columns"'):
                hs.write_table(table, tmp_path / "t.h5", layout="records")
        else:
            hs.write_table(table, tmp_path / "t.h5", layout="records")


def test_files_that_do_not_wait_for_the_disk_are_the_same(tmp_path: pathlib.Path) -> None:
    table = pa.table({"a": [1, 2, 3]})
    for durable in (True, False):
        folder = tmp_path / str(durable)
        folder.mkdir()
        hs.write_table(table, folder / "t.h5", durable=durable)
        with hs.create(folder / "x.h5", durable=durable) as f:
            f["x"] = np.arange(5)
        with hs.create_netcdf(folder / "x.nc", durable=durable) as g:
            g.create_dimension("x", 2)
            g.create_variable("x", ["x"], data=[1, 2])
    for name in ("t.h5", "x.h5", "x.nc"):
        assert (tmp_path / "True" / name).read_bytes() == (tmp_path / "False" / name).read_bytes()
