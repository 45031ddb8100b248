"""Tables that are written to files of other formats."""

from __future__ import annotations

import json
import pathlib

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

PROFILES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data" / "atlantic_profiles.nc"


def netcdf_rows(path: pathlib.Path) -> pa.Table:
    with netCDF4.Dataset(path) as f:
        return pa.table({name: np.asarray(f[name][:]) for name in f.variables})


def hdf5_rows(path: pathlib.Path) -> pa.Table:
    with h5py.File(path) as f:
        return pa.table({name: f[name][:] for name in f})


READERS = {
    "parquet": pa.parquet.read_table,
    "arrow": lambda path: pa.ipc.open_file(path).read_all(),
    "feather": pa.feather.read_table,
    "arrows": lambda path: pa.ipc.open_stream(path.read_bytes()).read_all(),
    "csv": pa.csv.read_csv,
    "csv.gz": pa.csv.read_csv,
    "jsonl": lambda path: pa.Table.from_pylist([json.loads(line) for line in path.read_text().splitlines()]),
    "h5": hdf5_rows,
    "nc": netcdf_rows,
}


@pytest.mark.parametrize("format", READERS)
def test_each_format_is_read_by_its_own_library(format: str, tmp_path: pathlib.Path) -> None:
    table = hs.open(PROFILES).table("/theta", "theta > 299")
    out = tmp_path / f"warm.{format}"
    assert table.write(out) == table.count() == 195
    wanted, read = table.to_arrow(), READERS[format](out)
    assert set(wanted.column_names) <= set(read.column_names)
    for name in ("depth", "lat", "lon", "theta"):
        np.testing.assert_allclose(np.asarray(read[name]), np.asarray(wanted[name]), rtol=1e-6)


def test_the_format_may_be_given(tmp_path: pathlib.Path) -> None:
    table = hs.open(PROFILES).table("/theta", "theta > 299")
    table.write(str(tmp_path / "warm"), "parquet")
    assert pa.parquet.read_table(tmp_path / "warm").num_rows == 195


def test_a_failure_leaves_the_old_file(tmp_path: pathlib.Path) -> None:
    f = hs.open(PROFILES)
    f.table("/theta", "theta > 299").write(tmp_path / "x.csv")
    before = (tmp_path / "x.csv").read_bytes()
    with pytest.raises(Exception, match="list"):
        f.table("/theta", layout="rows").write(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.parametrize(
    ("out", "format", "message"),
    [("x.txt", None, "name it .parquet"), ("x.csv", "xls", "format=xls: give parquet"), ("nowhere/x.csv", None, "there is no folder")],
)
def test_wrong_arguments(out: str, format: str | None, message: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises((hs.InvalidInputError, hs.NotFoundError, OSError), match=message):
        hs.open(PROFILES).table("/theta").write(tmp_path / out, format)


def test_the_text_of_a_table_names_its_file_and_condition() -> None:
    table = hs.open(PROFILES).table("/theta", "theta > 299")
    assert repr(table).startswith(f"<Table of /theta in {PROFILES}, where theta > 299>\n")


def test_a_structured_array_is_written_as_a_table(tmp_path: pathlib.Path) -> None:
    rows = np.array(
        [(1, 2.5, b"ab", [1, 2]), (-3, np.nan, b"", [3, 4])],
        [("i", ">i4"), ("x", "f4"), ("s", "S3"), ("v", "u2", (2,))],
    )
    hs.write_table(rows, tmp_path / "x.h5", group="rows")
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["rows/i"][:].tolist() == [1, -3] and f["rows/v"][:].tolist() == [[1, 2], [3, 4]] and f["rows/s"].asstr()[:].tolist() == ["ab", ""]
        np.testing.assert_array_equal(f["rows/x"][:], rows["x"])
    with pytest.raises(hs.InvalidInputError, match="records of"):
        hs.write_table(np.zeros(2, [("c", "c16")]), tmp_path / "y.h5")
