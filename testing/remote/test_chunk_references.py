"""Chunk references read and written: kerchunk's JSON, judged by h5py and netCDF4. References of others are read in testing/suites/virtualizarr."""

from __future__ import annotations

import base64
import json
import pathlib
import pickle
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray as xr

RNG = np.random.default_rng(0)
DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
ZLIB, SHUFFLE = {"id": "zlib", "level": 1}, {"id": "shuffle", "elementsize": 4}


def describe(shape: list[int], chunks: list[int], dtype: str, fill: Any = None, filters: Any = None, compressor: Any = None, **more: Any) -> str:
    return json.dumps(
        {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "fill_value": fill, "order": "C", "filters": filters, "compressor": compressor}
        | more
    )


@pytest.fixture
def referenced(tmp_path: pathlib.Path) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """References into two files, one of which lacks a chunk, put together by hand."""
    values = RNG.integers(0, 1000, (7, 10)).astype("i4")
    refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}', ".zattrs": json.dumps({"title": "both", "levels": [1, 2], "nothing": None, "deep": {"a": 1}})}
    refs["x/.zarray"] = describe([7, 10], [2, 10], "<i4", -1, [SHUFFLE], ZLIB)
    refs["x/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["time", "place"], "_FillValue": -1, "units": "m"})
    for number, rows in enumerate([slice(0, 4), slice(4, 7)]):
        with h5py.File(tmp_path / f"{number}.h5", "w") as f:
            d = f.create_dataset("x", data=values[rows], chunks=(2, 10), compression="gzip", shuffle=True)
            for index in range(d.id.get_num_chunks()):
                info = d.id.get_chunk_info(index)
                refs[f"x/{info.chunk_offset[0] // 2 + 2 * number}.0"] = [f"{number}.h5", info.byte_offset, info.size]
    del refs["x/1.0"]
    values[2:4] = -1
    refs["time/.zarray"] = describe([7], [7], ">f8", "NaN")
    refs["time/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["time"]})
    refs["time/0"] = "base64:" + base64.b64encode(np.arange(7, dtype=">f8").tobytes()).decode()
    refs["g/level/.zarray"] = describe([], [], "|S3")
    refs["g/level/0"] = "top"
    return refs, values


def save(path: pathlib.Path, refs: dict[str, Any]) -> pathlib.Path:
    path.write_text(json.dumps({"version": 1, "refs": refs}))
    return path


def test_references_are_a_file(tmp_path: pathlib.Path, referenced: tuple[dict[str, Any], np.ndarray[Any, Any]]) -> None:
    refs, values = referenced
    path = save(tmp_path / "refs.json", refs)
    with hs.open(path) as f:
        assert f.format == "references" and sorted(f) == ["g", "time", "x"] and f.attrs["title"] == "both" and json.loads(f.attrs["deep"]) == {"a": 1}
        assert f.attrs["levels"].tolist() == [1, 2]
        np.testing.assert_array_equal(f["x"][...], values)
        np.testing.assert_array_equal(f["x"][5, 1::3], values[5, 1::3])
        assert f["x"].chunks == (2, 10) and f["x"].fillvalue == -1 and f["x"].attrs["_FillValue"].dtype == np.int32
        np.testing.assert_array_equal(f["time"][...], np.arange(7))
        assert f["g/level"][()] == b"top"
        again = pickle.loads(pickle.dumps(f))
        np.testing.assert_array_equal(again["x"][3:], values[3:])
        table = f.table("x").to_pandas()
        assert len(table) == 70 and table["x"].isna().sum() == 20
    found = hs.sql("select count(x), max(x) from f", f=hs.open(path).table("x")).fetchall()
    assert found == [(50, values.max())]
    with xr.open_dataset(path, engine="hyperslab") as d:
        assert d["x"].dims == ("time", "place") and int(d["x"].isnull().sum()) == 20
        np.testing.assert_array_equal(d["time"], np.arange(7))
    (tmp_path / "0.json").write_text(json.dumps(refs))  # version 0
    np.testing.assert_array_equal(hs.open(tmp_path / "0.json")["x"][...], values)


def test_slashes_between_numbers(tmp_path: pathlib.Path) -> None:
    (tmp_path / "raw").write_bytes(np.arange(6, dtype="i2").tobytes())
    refs = {
        "a/b/.zarray": describe([2, 3], [1, 3], "<i2", dimension_separator="/"),
        "a/b/0/0": ["raw", 0, 6],
        "a/b/1/0": ["{{u}}w", 6, 6],
        "a/b/9/0": ["raw", 0, 6],
    }
    (tmp_path / "r.json").write_text(json.dumps({"version": 1, "templates": {"u": "ra"}, "refs": refs}))
    assert hs.open(tmp_path / "r.json")["a/b"][...].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_other_files_are_opened_as_the_policy_says(tmp_path: pathlib.Path, referenced: tuple[dict[str, Any], np.ndarray[Any, Any]]) -> None:
    refs, values = referenced
    (tmp_path / "below").mkdir()
    path = save(tmp_path / "below" / "refs.json", {key: [f"../{ref[0]}", *ref[1:]] if isinstance(ref, list) else ref for key, ref in refs.items()})
    with pytest.raises(hs.UnsupportedError, match=r'leaves the folder.*paths="anywhere"'):
        hs.open(path)["x"][...]
    np.testing.assert_array_equal(hs.open(path, paths="anywhere")["x"][...], values)
    np.testing.assert_array_equal(hs.open(path)["time"][...], np.arange(7))
    remote = save(tmp_path / "remote.json", {key: [f"s3://bucket/{ref[0]}", *ref[1:]] if isinstance(ref, list) else ref for key, ref in refs.items()})
    with pytest.raises(hs.UnsupportedError, match="is an address"):
        hs.open(remote)["x"][...]
    with pytest.raises(hs.UnsupportedError, match='paths="none"'):
        hs.open(save(tmp_path / "refs.json", refs), paths="none")["x"][...]
    (tmp_path / "1.h5").unlink()
    with hs.open(tmp_path / "refs.json") as f:
        np.testing.assert_array_equal(f["x"][:4], values[:4])
        with pytest.raises(hs.NotFoundError, match=r"1\.h5"):
            f["x"][...]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x/.zarray": "[]"}, hs.CorruptError, "metadata of an array"),
        ({"x/.zarray": "{"}, hs.CorruptError, "not JSON"),
        ({"x/.zarray": ["0.h5", 0, 3]}, hs.UnsupportedError, "in another file"),
        ({"x/0.0": ["0.h5"]}, hs.UnsupportedError, "all of 0.h5"),
        ({"x/0.0": ["0.h5", 1 << 63, 1 << 63]}, hs.Error, "x/0.0"),
        ({"x/0.0.0": ["0.h5", 0, 1]}, hs.CorruptError, "2 dimensions"),
        ({"x/a.0": ["0.h5", 0, 1]}, hs.CorruptError, "2 dimensions"),
        ({"y/0": ["0.h5", 0, 1]}, hs.CorruptError, "no array"),
        ({"time/0": "base64:AAAA"}, hs.CorruptError, "time/0"),
        ({"time/0": "base64:%"}, hs.CorruptError, "base64"),
        ({"x/inner/.zgroup": "{}"}, hs.CorruptError, "has members"),
        ({".zarray": describe([1], [1], "<i4")}, hs.UnsupportedError, "without a group"),
        ({"zarr.json": "{}"}, hs.UnsupportedError, "version 3"),
        ({"x/.zarray": describe([7, 10], [1 << 40, 1 << 40], "<i4")}, hs.LimitExceededError, "chunk"),
        ({"x/.zarray": describe([1 << 40, 1 << 40], [1, 1], "<i4")}, hs.Error, "bits|large|elements|memory|chunks"),
        ({"/".join("abcdefgh" * 10) + "/.zgroup": "{}"}, hs.LimitExceededError, "nested"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_documents(
    tmp_path: pathlib.Path, referenced: tuple[dict[str, Any], np.ndarray[Any, Any]], change: dict[str, Any], error: type[Exception], message: str
) -> None:
    path = save(tmp_path / "refs.json", referenced[0] | change)
    with pytest.raises(error, match=message):
        hs.open(path)["x"][...]


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (describe([2], [2], "<U3"), "UTF-32"),
        (describe([2], [2], "|O", filters=[{"id": "vlen-utf8"}]), "Python objects"),
        (describe([2], [2], "<M8[ns]"), r"M8\[ns\]"),
        (describe([2, 2], [2, 2], "<i4", order="F"), "column-major"),
        (describe([2], [2], "<i4", filters=[{"id": "delta", "dtype": "<i4"}]), "codec delta"),
        (describe([2], [2], "<i4", fill="x"), "fill value"),
    ],
)
def test_what_is_not_read_is_named_and_harms_nothing_else(
    tmp_path: pathlib.Path, referenced: tuple[dict[str, Any], np.ndarray[Any, Any]], described: str, message: str
) -> None:
    refs, values = referenced
    f = hs.open(save(tmp_path / "refs.json", refs | {"bad/.zarray": described}))
    np.testing.assert_array_equal(f["x"][...], values)
    with pytest.raises(hs.Error, match=message):
        f["bad"][...]


def test_text_that_holds_no_references(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}')
    with pytest.raises(hs.InvalidInputError, match="JSON"):
        hs.open(tmp_path / "a.json")
    (tmp_path / "b.json").write_text('{"refs": {"a": [')
    with pytest.raises(hs.CorruptError, match="cannot be parsed"):
        hs.open(tmp_path / "b.json")
    (tmp_path / "c.json").write_text('{"refs": ' + "[" * 100_000)
    with pytest.raises(hs.CorruptError):
        hs.open(tmp_path / "c.json")


def test_few_bytes_claim_many_chunks(tmp_path: pathlib.Path) -> None:
    refs = {"x/.zarray": describe([1 << 40], [1], "|u1"), "x/0": ["raw", 0, 1]}
    (tmp_path / "raw").write_bytes(b"\7")
    f = hs.open(save(tmp_path / "refs.json", refs))
    assert f["x"][:3].tolist() == [7, 0, 0]
    with pytest.raises(hs.LimitExceededError, match="chunks"):
        f["x"][: 1 << 33]


def write_file(path: pathlib.Path) -> None:
    with netCDF4.Dataset(path, "w") as f:
        f.title, f.nothing = "run", np.nan
        f.createDimension("time", None)
        f.createDimension("x", 5)
        f.createVariable("x", "f4", ("x",))[:] = np.arange(5)
        t = f.createVariable("t", "i2", ("time", "x"), endian="big", zlib=True, shuffle=True, fletcher32=True, chunksizes=(2, 3), fill_value=-9)
        t[:] = np.ma.masked_less(RNG.integers(-3, 99, (7, 5)).astype("i2"), 0)
        t.scale_factor = 0.5
        f.createVariable("g/level", "f8")[...] = np.inf
        f.createVariable("g/never", "f4", ("time",), fill_value=np.nan)


def test_what_is_written_is_read_as_the_file_itself(tmp_path: pathlib.Path) -> None:
    write_file(tmp_path / "run.nc")
    made = hs.write_references(tmp_path / "run.nc", tmp_path / "run.json")
    assert made.arrays == 4 and made.chunks >= 9
    with netCDF4.Dataset(tmp_path / "run.nc") as theirs, hs.open(tmp_path / "run.json") as f:
        theirs.set_auto_maskandscale(False)
        for name in ("x", "t", "g/level", "g/never"):
            np.testing.assert_array_equal(f[name][...], theirs[name][...], err_msg=name)
            assert f[name].dtype == theirs[name].dtype.newbyteorder(f[name].dtype.byteorder)
        assert f.attrs["title"] == "run" and f["t"].attrs["_FillValue"] == -9
    with xr.open_dataset(tmp_path / "run.nc", engine="netcdf4") as theirs, xr.open_dataset(tmp_path / "run.json", engine="hyperslab") as ours:
        xr.testing.assert_equal(theirs, ours)
        assert theirs["t"].isnull().any()
    with pytest.raises(hs.ConflictError, match="exists"):
        hs.write_references(tmp_path / "run.nc", tmp_path / "run.json")
    with pytest.raises(hs.InvalidInputError, match="neither|not an HDF5"):
        (tmp_path / "text.nc").write_text("text")
        hs.write_references(tmp_path / "text.nc", tmp_path / "text.json")
    assert not (tmp_path / "text.json").exists()


def test_absolute_names_from_a_relative_path(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "below").mkdir(parents=True)
    write_file(tmp_path / "here" / "below" / "run.nc")
    write_file(tmp_path / "run.nc")
    monkeypatch.chdir(tmp_path / "here")
    hs.write_references("below/run.nc", "run.json")
    hs.write_references("../run.nc", "up.json")
    with netCDF4.Dataset("below/run.nc") as theirs:
        theirs.set_auto_maskandscale(False)
        for name in ("run.json", "./run.json"):
            np.testing.assert_array_equal(hs.open(name)["t"][...], theirs["t"][...])
    with pytest.raises(hs.UnsupportedError, match="leaves the folder"):
        hs.open("up.json")["t"][...]


def test_files_of_the_examples(tmp_path: pathlib.Path) -> None:
    """What Zarr has arrays for is the same through references."""
    compared = 0
    for path in sorted(DATA.glob("*.nc")):
        dropped = list[str]()
        while True:
            try:
                hs.write_references(path, tmp_path / "r.json", "w", drop_variables=dropped)
                break
            except hs.UnsupportedError as error:
                if error.object is None:
                    break
                dropped.append(error.object.rpartition("/")[2])
        else:
            continue
        if not (tmp_path / "r.json").exists():
            continue
        with hs.open(tmp_path / "r.json", paths="anywhere") as f, hs.open(path) as whole:
            for name, d in f.items():
                if hasattr(d, "shape"):
                    np.testing.assert_array_equal(d[...], whole[name][...], err_msg=f"{path} {name}")
                    compared += 1
        (tmp_path / "r.json").unlink()
    assert compared >= 5


def test_references_in_parquet(tmp_path: pathlib.Path, referenced: tuple[dict[str, Any], np.ndarray[Any, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    refs, values = referenced
    folder = tmp_path / "refs.parq"
    for name, grid in [("x", (4, 1)), ("time", (1,)), ("g/level", ())]:
        (folder / name).mkdir(parents=True)
        rows = []
        for number in range(int(np.prod(grid))):
            key = ".".join(map(str, np.unravel_index(number, grid))) if grid else "0"
            found = refs.get(f"{name}/{key}")
            raw = None if found is None or isinstance(found, list) else base64.b64decode(found[7:]) if found.startswith("base64:") else found.encode()
            path, offset, size = found if isinstance(found, list) else (None, 0, 0)
            rows.append({"path": path, "offset": offset, "size": size, "raw": raw})
        for first in range(0, len(rows), 3):
            columns = pa.schema({"path": pa.string(), "offset": pa.int64(), "size": pa.int64(), "raw": pa.binary()})
            pq.write_table(pa.Table.from_pylist(rows[first : first + 3], columns), folder / name / f"refs.{first // 3}.parq")
    metadata = {key: json.loads(text) for key, text in refs.items() if key.rpartition("/")[2].startswith(".z")}
    (folder / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 3}))
    f = hs.open(folder)
    np.testing.assert_array_equal(f["x"][...], values)
    np.testing.assert_array_equal(f["time"][...], np.arange(7))
    assert f["g/level"][()] == b"top"
    (folder / "x" / "refs.0.parq").write_bytes(b"PAR1")
    with pytest.raises(hs.CorruptError, match="refs.0.parq"):
        hs.open(folder)
    (folder / ".zmetadata").write_text("{}")
    with pytest.raises(hs.CorruptError, match="metadata"):
        hs.open(folder)
