"""fused_decoding=True compared with xarray's own decoding: the same dtypes, attributes, encoding, and values bit by bit."""

from __future__ import annotations

import functools
import itertools
import pathlib
import warnings
from typing import Any

import h5py
import hyperslab.xarray.engine as xarray_engine
import netCDF4
import numpy as np
import pytest
import xarray as xr
from hyperslab.xarray.unpacked import UnpackedArray
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples

ENGINE = xarray_engine.HyperslabBackendEntrypoint
DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
FACTORS: list[Any] = [None, np.float32(0.1), 0.1, np.int16(3), np.float32(1e38), np.array([0.5])]
ROOT = pathlib.Path(__file__).parents[2]


def numbers(dtype: np.dtype[Any], count: int, random: np.random.Generator) -> np.ndarray[Any, Any]:
    """Random numbers of the whole range, with the extremes, zeros of both signs, infinities, NaN and the fill values."""
    raw = random.integers(0, 256, count * dtype.itemsize, dtype="u1").view(dtype)
    special: list[Any] = [0, 5, 7, 1]
    if dtype.kind == "f":
        special += [-0.0, np.inf, -np.inf, np.nan, 0.1, 2.0**90]
    else:
        special += [np.iinfo(dtype).min, np.iinfo(dtype).max, 2**24 if dtype.itemsize > 2 else 3]
    values = np.where(random.random(count) < 0.3, random.choice(np.array(special, dtype=dtype), count), raw)
    return np.array(values, dtype=dtype)


def file_of(path: pathlib.Path, dtype: str) -> int:
    """Each combination of factors and fill values."""
    random, made = np.random.default_rng(DTYPES.index(dtype)), 0
    kind = np.dtype(dtype)
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("y", 7)
        f.createDimension("x", 13)
        for scale, offset, fill, missing in itertools.product(FACTORS, FACTORS, (None, 5, "largest", "nan"), (None, 5, [7, 1], 2.5)):
            if (fill == "nan" and kind.kind != "f") or (missing == 2.5 and fill is not None):
                continue
            if isinstance(scale, np.int16) and offset is None:
                continue  # xarray decodes these as integers, which have no NaN
            # Single floats hold it, too: xarray compares others as floats (see below).
            largest = 2.0**90 if kind.kind == "f" else np.iinfo(kind).max if kind.itemsize < 4 else 2**24
            value = {None: False, 5: 5, "largest": largest, "nan": np.nan}[fill]
            v = f.createVariable(f"v{made}", dtype, ("y", "x"), fill_value=value, zlib=made % 3 == 0, chunksizes=(3, 5))
            v.set_auto_maskandscale(False)
            v[...] = numbers(kind, 91, random).reshape(7, 13)
            given_attributes = {"scale_factor": scale, "add_offset": offset, "missing_value": missing if missing != 5 else kind.type(5), "units": "K"}
            v.setncatts({key: one for key, one in given_attributes.items() if one is not None})
            made += 1
        time = f.createVariable("time", "i4", ("y",), fill_value=-1)
        time.set_auto_maskandscale(False)
        time[:], time.units, time.scale_factor = np.arange(7) - 1, "days since 2000-01-01", 2.0
        signed = f.createVariable("signed", "i1", ("y",), fill_value=-1)
        signed.set_auto_maskandscale(False)
        signed.setncatts({"_Unsigned": "true", "scale_factor": np.float32(0.5), "coordinates": "v0"})
        signed[:] = np.arange(7) - 2
    return made


def same(ours: xr.Dataset, theirs: xr.Dataset) -> None:
    xr.testing.assert_identical(ours, theirs)
    for name in theirs.variables:
        a, b = ours[name], theirs[name]
        assert a.dtype == b.dtype and list(a.attrs) == list(b.attrs), name
        assert repr(sorted(a.encoding.items(), key=str)) == repr(sorted(b.encoding.items(), key=str)), name
        bits(a.values, b.values, str(name))


def bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], name: str) -> None:
    assert a.dtype == b.dtype and a.shape == b.shape, name
    if b.dtype.kind == "f":
        # Which of the many NaN a sum has is the processor's matter.
        a, b = (np.where(np.isnan(values), values.dtype.type(np.nan), values) for values in (a, b))
    assert a.tobytes() == b.tobytes(), name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    place: pathlib.Path = tmp_path_factory.mktemp("packed")
    for dtype in DTYPES:
        file_of(place / f"{dtype}.nc", dtype)
    return place


def is_fused(variable: xr.DataArray) -> bool:
    data: Any = variable.variable._data
    while not isinstance(data, UnpackedArray) and hasattr(data, "array"):
        data = data.array
    return isinstance(data, UnpackedArray)


@pytest.mark.sampled(12)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [{}, {"mask_and_scale": {"v1": False, "v2": True}}, {"mask_and_scale": False}, {"decode_times": False}], ids=str)
def test_each_combination_is_what_xarray_decodes(folder: pathlib.Path, dtype: str, options: dict[str, Any]) -> None:
    path = folder / f"{dtype}.nc"
    with xr.open_dataset(path, engine=ENGINE, fused_decoding=True, **options) as ours, xr.open_dataset(path, engine=ENGINE, **options) as theirs:
        fused = sum(is_fused(ours[name]) for name in ours.variables)
        assert fused > len(ours.variables) / 3 if options.get("mask_and_scale") is not False else fused == 0
        assert is_fused(ours["time"]) == is_fused(ours["signed"]) == (options.get("mask_and_scale") is not False)
        same(ours, theirs)
        with xr.open_dataset(path, engine="netcdf4", **options) as judge:
            xr.testing.assert_identical(ours, judge)


@functools.cache
def pair(path: pathlib.Path) -> tuple[xr.Dataset, xr.Dataset]:
    """A file as it is unpacked, and as xarray decodes it. Its values are read anew each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return xr.open_dataset(path, engine=ENGINE, fused_decoding=True, cache=False), xr.open_dataset(path, engine=ENGINE, cache=False)


SLICES = st.slices(13) | st.integers(-7, 6) | st.lists(st.integers(-7, 6), max_size=5)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), dtype=st.sampled_from(DTYPES))
def test_selections_are_what_xarray_decodes(folder: pathlib.Path, data: st.DataObject, dtype: str) -> None:
    path = folder / f"{dtype}.nc"
    ours, theirs = pair(path)
    name = data.draw(st.sampled_from(sorted(str(name) for name in ours.data_vars)))
    key = {dim: data.draw(SLICES, label=str(dim)) for dim in ours[name].dims}
    bits(ours[name].isel(key).values, theirs[name].isel(key).values, f"{name} {key}")
    if ours[name].ndim == 2:
        count = data.draw(st.integers(0, 6))
        points = {dim: xr.DataArray(data.draw(st.lists(st.integers(0, 6), min_size=count, max_size=count)), dims="p") for dim in ("y", "x")}
        points = {dim: along.astype(int) for dim, along in points.items()}
        bits(ours[name].isel(points).values, theirs[name].isel(points).values, f"{name} {points}")


@pytest.mark.parametrize("name", ["SOI_Darwin.nc", "atlantic_profiles.nc", "rotated_pole.nc", "space_weather.nc"])
def test_real_files(name: str) -> None:
    path = ROOT / "examples/data" / name
    options: dict[str, Any] = {"engine": ENGINE, "decode_timedelta": True}
    with xr.open_dataset(path, fused_decoding=True, **options) as ours, xr.open_dataset(path, **options) as theirs:
        same(ours, theirs)


def test_large_arrays_threads_dask_and_pickles(tmp_path: pathlib.Path) -> None:
    """Unpacked in parts by several threads; scalars; groups."""
    import pickle

    stored = np.random.default_rng(3).integers(-32768, 32767, (300, 1000), dtype="i2")
    with netCDF4.Dataset(tmp_path / "x.nc", "w") as f:
        f.createDimension("y", 300)
        f.createDimension("x", 1000)
        v = f.createGroup("g").createVariable("t", "i2", ("y", "x"), fill_value=-32768, zlib=True, chunksizes=(7, 1000))
        v.set_auto_maskandscale(False)
        v[...], v.scale_factor, v.add_offset = stored, np.float32(0.01), np.float32(273.15)
        scalar = f["g"].createVariable("s", "i2", (), fill_value=-1)
        scalar.set_auto_maskandscale(False)
        scalar[...], scalar.scale_factor = 12, 0.5
    path = tmp_path / "x.nc"
    with xr.open_dataset(path, group="g", engine="netcdf4") as judge:
        for chunks in (None, {}, {"y": 50}):
            with xr.open_dataset(path, group="g", engine=ENGINE, fused_decoding=True, chunks=chunks) as ours:
                assert float(ours["s"]) == float(judge["s"]) == 6 and ours["s"].dtype == judge["s"].dtype
                bits(ours["t"].values, judge["t"].values, "t")
                bits(pickle.loads(pickle.dumps(ours))["t"][::-3, 5:].values, judge["t"][::-3, 5:].values, "t")
        tree = xr.open_datatree(path, engine=ENGINE, fused_decoding=True)
        assert is_fused(tree["g"]["t"])
        bits(tree["g"]["t"].values, judge["t"].values, "t")


FORMATS = {"NETCDF3_CLASSIC": 6, "NETCDF3_64BIT_OFFSET": 6, "NETCDF3_64BIT_DATA": 10, "NETCDF4_CLASSIC": 6, "NETCDF4": 10}
#: What the two classic formats can store.
CLASSIC_DTYPES = ["i1", "i2", "i4", "f4", "f8"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("endian", ["native", "big", "little"])
@pytest.mark.parametrize("file_format", FORMATS)
def test_each_file_format_is_what_xarray_decodes(tmp_path: pathlib.Path, file_format: str, endian: Any) -> None:
    """Each format and byte order with each of its types."""
    path, random = tmp_path / "a.nc", np.random.default_rng(7)
    dtypes = DTYPES if FORMATS[file_format] == 10 else CLASSIC_DTYPES
    with netCDF4.Dataset(path, "w", format=file_format) as f:
        f.createDimension("x", 13)
        f.createDimension("time", None)
        for dtype in dtypes:
            for dims in (("x",), ("time", "x"), ()):
                for packed in (False, True):
                    shape = tuple({"x": 13, "time": 3}[dim] for dim in dims)
                    order = endian if file_format.startswith("NETCDF4") else "native"
                    v = f.createVariable(f"{dtype}_{len(dims)}_{packed}", dtype, dims, fill_value=5, endian=order)
                    v.set_auto_maskandscale(False)
                    v[...] = numbers(np.dtype(dtype), int(np.prod(shape)), random).reshape(shape)
                    v.setncatts({"scale_factor": 0.5, "add_offset": 2.0} if packed else {"missing_value": np.dtype(dtype).type(7)})
    judges = ["netcdf4"] if file_format == "NETCDF3_64BIT_DATA" or file_format.startswith("NETCDF4") else ["netcdf4", "scipy"]
    for judge in judges:
        with xr.open_dataset(path, engine=ENGINE, fused_decoding=True) as ours, xr.open_dataset(path, engine=judge) as theirs:
            assert len(ours.variables) == 6 * len(dtypes)
            for name in theirs.variables:
                xr.testing.assert_identical(ours[name].load(), theirs[name].load())
                bits(ours[name].values, theirs[name].values, str(name))
                bits(ours[name][..., ::-2].values, theirs[name][..., ::-2].values, str(name)) if theirs[name].ndim else None


@pytest.mark.filterwarnings("ignore")
def test_numbers_with_a_layout_of_their_own(tmp_path: pathlib.Path) -> None:
    """Integers of 12 bits, floats of 16 bits with 8 bits of exponent, big-endian ones: their dtype in xarray is an ordinary one."""
    narrow, bfloat = h5py.h5t.STD_I16LE.copy(), h5py.h5t.IEEE_F32LE.copy()
    narrow.set_precision(12)
    bfloat.set_fields(15, 7, 8, 0, 7)
    bfloat.set_precision(16)
    bfloat.set_size(2)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        for name, datatype in {"narrow": narrow, "bfloat": bfloat, "big": h5py.h5t.IEEE_F32BE}.items():
            space = h5py.h5s.create_simple((4,))
            h5py.h5d.create(f.id, name.encode(), datatype, space).write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(4, dtype="f4"))
            f[name].attrs["scale_factor"] = np.float32(0.5)
    with xr.open_dataset(tmp_path / "a.h5", engine=ENGINE, fused_decoding=True, phony_dims="sort") as ours:
        for name in ("narrow", "bfloat", "big"):
            assert is_fused(ours[name])
            np.testing.assert_array_equal(ours[name], np.arange(4, dtype="f4") / 2)


def test_fill_values_are_compared_as_they_are_stored(tmp_path: pathlib.Path) -> None:
    """By design more exact than xarray, which compares as floats: there, integers that are rounded to the fill value are missing, too, and a float
    that a double marks is not."""
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as f:
        f.createDimension("x", 3)
        for name, dtype, fill, values in (("wide", "i8", 2**62 + 1, [2**62, 2**62 + 1, 5]), ("float", "f4", False, [1e20, 5, np.nan])):
            v = f.createVariable(name, dtype, ("x",), fill_value=fill)
            v.set_auto_maskandscale(False)
            v[:] = values
        f["float"].missing_value = np.float64(1e20)
    with xr.open_dataset(tmp_path / "a.nc", engine=ENGINE, fused_decoding=True) as ours, xr.open_dataset(tmp_path / "a.nc", engine="netcdf4") as theirs:
        assert np.isnan(ours["wide"].values).tolist() == [False, True, False] and np.isnan(theirs["wide"].values).tolist() == [True, True, False]
        assert np.isnan(ours["float"].values).tolist() == [True, False, True] and np.isnan(theirs["float"].values).tolist() == [False, False, True]
