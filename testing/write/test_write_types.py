"""Types of numpy and filters of h5py that need an encoding of their own: times, text of numpy 2, scale-offset."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest


@pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ms", "us", "ns"])
def test_times_are_counts_that_readers_take_for_times(tmp_path: pathlib.Path, unit: str) -> None:
    times = np.array(["2020-02-29", "1969-12-31", "NaT", "2262-01-01"], f"M8[{unit}]")
    spans = np.array([5, -3, "NaT", 0], f"m8[{unit}]")
    with hs.create(tmp_path / "x.h5") as f:
        f["t"], f["d"] = times, spans
        later = f.create_dataset("later", (4,), times.dtype, maxshape=(None,))
        later[1:3] = times[:2]
        later[0] = np.datetime64("2021-01-01")
        with pytest.raises(hs.InvalidInputError, match="does not hold"):
            later[0] = np.datetime64("2021-01-01T00:00:00.000000000001")
        assert later[3] == np.iinfo("i8").min and (f["t"][...].view(times.dtype)[:2] == times[:2]).all()
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["t"].dtype == "i8" and np.array_equal(f["t"][:], times.view("i8")) and np.array_equal(f["d"][:], spans.view("i8"))
        assert f["t"].attrs["units"].endswith("since 1970-01-01 00:00:00") and f["t"].attrs["calendar"] == "proleptic_gregorian"
        assert np.isnat(f["later"][:].view(times.dtype)[3]) and f["later"].attrs["_FillValue"] == np.iinfo("i8").min
    table = hs.open(tmp_path / "x.h5")["t"].table() if hasattr(hs.Dataset, "table") else hs.open(tmp_path / "x.h5").table("/t")
    found = table.to_arrow()["t"]
    assert found.null_count == 1 and [str(value)[:10] for value in found.to_pylist()[:2]] == ["2020-02-29", "1969-12-31"]


def test_whole_dates_are_days_and_other_times_are_refused(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        f["months"] = np.array(["2020-03"], "M8[M]")
        assert f["months"][:].tolist() == [18322]
        for what in (np.array(["2020"], "M8[25s]"), np.array([1], "m8[M]"), np.array([1], "M8[ps]")):
            with pytest.raises(hs.UnsupportedError, match="give a unit"):
                f["bad"] = what
        with pytest.raises(hs.UnsupportedError, match="structures"):
            f["bad"] = np.zeros(2, [("t", "M8[s]")])
        with pytest.raises(hs.UnsupportedError, match="datetime_as_string"):
            f.attrs["when"] = np.datetime64("2020-01-01")
    assert set(hs.open(tmp_path / "x.h5")) == {"months"}


@pytest.mark.skipif(np.finfo(np.longdouble).nmant != 63, reason="longdouble is another type here")
def test_long_doubles(tmp_path: pathlib.Path) -> None:
    third = np.longdouble(1) / 3
    values = {"real": np.array([third, -1, np.inf]), "complex": np.array([third + 2j, 1 - third * 1j])}
    values["member"] = np.array([(1, third), (2, -third)], [("n", "i4"), ("x", np.longdouble)])
    values["array"] = np.array([[third, 2], [3, third]])
    with hs.create(tmp_path / "x.h5") as f:
        for name, value in values.items():
            f[name] = value
            f.attrs[name] = value
        f.create_dataset("filled", (2,), np.longdouble, fillvalue=third)
    with hs.open(tmp_path / "x.h5", "r+") as f:
        f["real"][1] = third
    values["real"][1] = third
    for library in (h5py, hs):
        with (library.File if library is h5py else hs.open)(tmp_path / "x.h5") as f:
            for name, value in values.items():
                assert f[name].dtype == value.dtype
                np.testing.assert_array_equal(f[name][...], value)
                if name != "real":
                    np.testing.assert_array_equal(f.attrs[name], value)
            assert f["filled"][:].tolist() == [third, third]


def test_text_of_numpy_2(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        if hasattr(np.dtypes, "StringDType"):
            f["text"] = np.array(["a", "ä" * 100, ""], np.dtypes.StringDType())
            f.attrs["text"] = np.array(["x", "y"], np.dtypes.StringDType())
        f["fixed"], f["wide"] = np.array([b"ab", b"c"]), np.array(["ab", "ä"])
        with pytest.raises(hs.InvalidInputError, match="does not fit"):
            f["fixed"][0] = b"abc"
        f["fixed"][1] = "x"
    with h5py.File(tmp_path / "x.h5") as f:
        if "text" in f:
            assert f["text"].asstr()[:].tolist() == ["a", "ä" * 100, ""] and f.attrs["text"].tolist() == ["x", "y"]
        assert f["fixed"][:].tolist() == [b"ab", b"x"] and f["wide"].asstr()[:].tolist() == ["ab", "ä"]


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i2", ">i2", "<u4", ">i4", "<i8", ">u8"])
@pytest.mark.parametrize("factor", [True, 0, 5, 12])
def test_integers_with_scaleoffset(tmp_path: pathlib.Path, dtype: str, factor: Any) -> None:
    factor = factor if factor is True or factor <= 8 * np.dtype(dtype).itemsize else 8
    random = np.random.default_rng(5)
    info = np.iinfo(dtype)
    columns = {
        "few": random.integers(3, 20, 500),
        "wide": random.integers(info.min, info.max, 500, endpoint=True, dtype=np.dtype(dtype).newbyteorder("=")),
        "constant": np.full(500, 100),
        "zero": np.zeros(500),
    }
    with hs.create(tmp_path / "x.h5") as f:
        for name, values in columns.items():
            x = f.create_dataset(name, data=values.astype(dtype), chunks=(60,), scaleoffset=factor, compression="gzip", shuffle=True, fletcher32=True)
            f.create_dataset(name + " filled", (500,), dtype, chunks=(60,), scaleoffset=factor, fillvalue=4)[10:200] = values[:190].astype(dtype)
            assert x.scaleoffset == int(factor) * (factor is not True) and (x[...] == values.astype(dtype)).all()
    ours = hs.open(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as f:
        for name, values in columns.items():
            assert (f[name][:] == values.astype(dtype)).all() and (ours[name][:] == values.astype(dtype)).all(), name
            filled = np.full(500, 4, dtype)
            filled[10:200] = values[:190].astype(dtype)
            assert (f[name + " filled"][:] == filled).all() and (ours[name + " filled"][:] == filled).all()
        assert f["few"].scaleoffset is not None
    with h5py.File(tmp_path / "x.h5", "r+") as f:
        f["few"][3:5] = [11, 12]
        assert f["few"][2:6].tolist() == [columns["few"][2], 11, 12, columns["few"][5]]


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", ">f8"])
@pytest.mark.parametrize("digits", [0, 2, 5])
def test_floats_with_scaleoffset_become_what_the_library_makes_of_them(tmp_path: pathlib.Path, dtype: str, digits: int) -> None:
    random = np.random.default_rng(digits)
    columns = {
        "noise": random.normal(280, 10, 400),
        "small": random.normal(0, 1e-3, 400),
        "ints": np.arange(400),
        "negative": -random.random(400) * 1e4,
        "zero": np.zeros(400),
    }
    with hs.create(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5", "w") as g:
        for name, values in columns.items():
            for file in (f, g):
                file.create_dataset(name, data=values.astype(dtype), chunks=(70,), scaleoffset=digits)
        f.create_dataset("not finite", data=np.array([1.5, np.nan, np.inf], dtype), chunks=(3,), scaleoffset=digits)
    ours = hs.open(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5") as g:
        for name in columns:
            assert np.array_equal(f[name][:], g[name][:]) and np.array_equal(ours[name][:], g[name][:]), name
            assert f[name].id.get_create_plist().get_filter(0) == g[name].id.get_create_plist().get_filter(0)
            assert f[name].id.get_storage_size() == g[name].id.get_storage_size()
        assert np.array_equal(f["not finite"][:], np.array([1.5, np.nan, np.inf], dtype), equal_nan=True)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["u1", "i1", "<i2", ">u2", "<i4", ">f4", "<f8", ">i8"])
@pytest.mark.parametrize("options", [None, ("ec", 16), ("nn", 32), ("ec", 2)], ids=str)
def test_szip_is_what_the_library_reads(tmp_path: pathlib.Path, dtype: str, options: Any) -> None:
    random = np.random.default_rng(3)
    columns = {
        "noise": random.integers(-100, 100, 6000),
        "walk": np.cumsum(random.integers(-3, 4, 6000)) % 120,
        "zero": np.zeros(6000, int),
        "constant": np.full(6000, 7),
        "few": np.arange(6000) // 50 % 128,
        "large": random.integers(-128, 128, 6000) * 16_000_000,
    }
    with hs.create(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5", "w") as g:
        for name, values in columns.items():
            values = values.astype(dtype)
            for rows, shape, chunks in ((name, (6000,), (1000,)), (name + " rows", (120, 50), (70, 33)), (name + " long", (1, 6000), (1, 5000))):
                for file in (f, g):
                    x = file.create_dataset(rows, data=values.reshape(shape), chunks=chunks, compression="szip", compression_opts=options)
                assert x.compression == "szip" and f[rows].compression_opts == x.compression_opts and np.array_equal(f[rows][...], values.reshape(shape))
    ours = hs.open(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5") as g:
        for name in g:
            assert np.array_equal(f[name][...], g[name][...]) and np.array_equal(ours[name][...], g[name][...]), name
            assert f[name].id.get_create_plist().get_filter(0) == g[name].id.get_create_plist().get_filter(0)
        if options is None:
            assert f["walk"].id.get_storage_size() < 0.9 * f["walk"].size * f["walk"].dtype.itemsize
    with h5py.File(tmp_path / "x.h5", "r+") as f:
        f["walk"][5:8] = [1, 2, 3]
        assert f["walk"][4:9].tolist() == [columns["walk"].astype(dtype)[4], 1, 2, 3, columns["walk"].astype(dtype)[8]]


@pytest.mark.parametrize(
    "options, words",
    [
        ({"dtype": "f4", "scaleoffset": True}, "decimal places"),
        ({"dtype": "S3", "scaleoffset": 1}, "integers and floats"),
        ({"dtype": "i4", "scaleoffset": -1}, "whole number"),
        ({"dtype": "i2", "scaleoffset": 17}, "at most 16 bits"),
        ({"dtype": "f4", "scaleoffset": 2, "fletcher32": True}, "leave one out"),
        ({"dtype": "S4", "compression": "szip"}, "szip"),
        ({"dtype": "i4", "compression": "szip", "compression_opts": ("nn", 7)}, "even number"),
        ({"dtype": "i4", "compression": "szip", "compression_opts": ("nn", 32)}, "32 pixels"),
        ({"dtype": "i4", "compression": "blosc"}, "blosc is read, but not written: give zstd, lz4 or bitshuffle"),
        ({"dtype": "i4", "external": [("x", 0, 4)]}, "external"),
    ],
    ids=str,
)
def test_what_filters_cannot_do_is_refused(tmp_path: pathlib.Path, options: dict[str, Any], words: str) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        with pytest.raises((hs.UnsupportedError, hs.InvalidInputError), match=words):
            f.create_dataset("x", (10,), **options)
        f.create_dataset("y", (10,), "i4", track_times=False, fill_time="never", rdcc_nbytes=100)
