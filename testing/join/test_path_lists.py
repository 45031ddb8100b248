"""What functions take for several files, and content in place of a file."""

from __future__ import annotations

import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pandas as pd
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROFILES = ROOT / "examples/data/atlantic_profiles.nc"


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    for number in (1, 2, 10):
        with h5py.File(tmp_path / f"run{number}.h5", "w") as f:
            f["x"] = np.arange(4) + number
    return tmp_path


#: Several files in the order of their numbers.
SEVERAL = {
    "a generator": lambda paths: (path for path in paths),
    "a list of bytes": lambda paths: [str(path).encode() for path in paths],
    "a set": lambda paths: {str(path) for path in paths},
    "an array": lambda paths: np.array([str(path) for path in paths]),
    "a column": lambda paths: pd.Series([str(path) for path in paths]),
    "an iterator": lambda paths: iter(list(paths)),
}


@pytest.mark.parametrize("several", SEVERAL.values(), ids=SEVERAL)
def test_any_iterable_of_paths_is_a_list(folder: pathlib.Path, several) -> None:
    paths = [folder / f"run{number}.h5" for number in (1, 2, 10)]
    expected = [1, 2, 3, 4, 2, 3, 4, 5, 10, 11, 12, 13]
    assert hs.open(several(paths)).table("/x").to_arrow()["x"].to_pylist() == expected
    assert hs.joined(several(paths), axis=0)["x"][:].tolist() == expected
    hs.virtual(several(paths), folder / "virtual.h5", axis=0)
    with h5py.File(folder / "virtual.h5") as f:
        assert f["x"][:].tolist() == expected
    assert hs.merge(several(paths), folder / "merged.h5", axis=0) is not None
    assert hs.open(folder / "merged.h5")["x"][:].tolist() == expected
    assert hs.query(several(paths), "/", "x > 9").count() == 4
    assert [values[0] for _, values in hs.read_each(several(paths), "/x")] == [1, 2, 10]
    hs.write_catalog(several(paths), folder / "catalog.parquet")
    assert len(hs.open_catalog(folder / "catalog.parquet").filenames) == 3


def test_xarray_takes_a_generator(folder: pathlib.Path) -> None:
    paths = [folder / f"profiles{number}.nc" for number in (1, 2)]
    for path in paths:
        path.write_bytes(PROFILES.read_bytes())
    with hs.open_mfdataset((path for path in paths), concat_dim="depth") as ds:
        assert ds.sizes["depth"] == 80


def test_an_empty_iterable_is_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(hs.NotFoundError, match="the list of files is empty"):
        hs.open(tmp_path.glob("*.h5"))
    with pytest.raises(hs.InvalidInputError, match="give the path of one file"):
        hs.open(tmp_path.glob("*.h5"), "r+")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("name", ["atlantic_profiles.nc", "SOI_Darwin.nc"])
def test_content_is_read_as_a_file(kind, name: str) -> None:
    path = ROOT / "examples/data" / name
    content = kind(path.read_bytes())
    assert hs.diff(path, hs.open(content)).equal
    both = hs.open([content, path])
    assert len(both.filenames) == 2
    with pytest.raises(hs.InvalidInputError, match="give the path of one file"):
        hs.open(content, "r+")


def test_bytes_without_a_zero_are_a_path(folder: pathlib.Path) -> None:
    assert hs.open(bytes(folder / "run1.h5"))["x"][0] == 1
    with pytest.raises(hs.NotFoundError):
        hs.open(b"none.h5")


def test_content_that_is_no_file_is_one_error() -> None:
    for content in (memoryview(b""), b"\0\0\0\0", bytearray(b"text"), memoryview(PROFILES.read_bytes())[:3000]):
        with pytest.raises(hs.Error, match="<bytes>") as caught:
            hs.open(content)["theta"][:]
        assert isinstance(caught.value, (hs.InvalidInputError, hs.CorruptError))
