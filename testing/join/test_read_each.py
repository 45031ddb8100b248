"""One dataset of each of many files, judged by h5py; and what is said of many files that cannot be opened."""

from __future__ import annotations

import os
import pathlib

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest

KINDS = ["i1", ">i2", "<u8", "f2", ">f4", "f8", "bool", "c8", "S5", "enum", "text", "lists", "scalar", "empty", "large", "gzip", "bits"]


@pytest.fixture
def files(tmp_path: pathlib.Path) -> list[pathlib.Path]:
    """600 files, so that there are several batches, with arrays of all kinds and shapes."""
    random = np.random.default_rng(5)
    paths = []
    for number in range(600):
        path = tmp_path / f"run{number}.h5"
        kind = KINDS[number % len(KINDS)] if number < 2 * len(KINDS) else "f8"
        with h5py.File(path, "w") as f:
            values = random.integers(0, 99, (number % 7, 3))
            if kind == "enum":
                f.create_dataset("g/x", data=values % 2, dtype=h5py.enum_dtype({"no": 0, "yes": 1}))
            elif kind == "text":
                f["g/x"] = ["one", "two"]
            elif kind == "lists":
                f.create_dataset("g/x", (2,), h5py.vlen_dtype("i4"))[:] = [np.arange(3, dtype="i4"), np.arange(number % 5, dtype="i4")]
            elif kind == "scalar":
                f["g/x"] = float(number)
            elif kind == "empty":
                f["g/x"] = h5py.Empty("f4")
            elif kind == "large":
                f["g/x"] = np.arange(200_000.0) + number
            elif kind == "gzip":
                f.create_dataset("g/x", data=np.arange(5000) + number, chunks=(100,), compression="gzip", shuffle=True)
            elif kind == "bits":
                f.create_dataset("g/x", data=values, dtype="i4", scaleoffset=0, chunks=(1, 3)) if len(values) else f.create_dataset("g/x", (0, 3), "i4")
            else:
                f["g/x"] = values.astype(kind)
        paths.append(path)
    return paths


def test_arrays_are_those_that_h5py_reads(files: list[pathlib.Path]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    found = hs.read_each(files, "g/x")
    assert len(found.paths) == 600 and repr(found) == "<g/x of 600 files>"
    for path, (name, values) in zip(files, found, strict=True):
        assert name == str(path)
        with h5py.File(path) as f:
            expected = f["g/x"][()]
        if isinstance(expected, h5py.Empty):
            assert values.dtype == expected.dtype and values.shape is None
            continue
        expected = np.asarray(expected)
        assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
        if values.dtype == object:
            assert all(np.array_equal(one, other) for one, other in zip(values, expected, strict=True))
        else:
            np.testing.assert_array_equal(values, expected)
            values[...] = np.zeros((), values.dtype)
    assert found.left_out == []
    assert len(os.listdir("/proc/self/fd")) <= before + 8, "files are closed"


def test_sources_of_paths(files: list[pathlib.Path], tmp_path: pathlib.Path) -> None:
    some = [float(files[17 * number + 12].stem[3:]) for number in range(2)]
    chosen = [files[17 * number + 12] for number in range(2)]
    for source in (chosen, (path for path in chosen), hs.open(chosen)):
        assert [float(values) for _, values in hs.read_each(source, "g/x", threads=1)] == some
    names = [name for name, _ in hs.read_each(f"{tmp_path}/run1?.h5", "/g/x")]
    assert names == [f"{tmp_path}/run{number}.h5" for number in range(10, 20)]
    with netCDF4.Dataset(tmp_path / "c.nc", "w", format="NETCDF3_CLASSIC") as f:
        f.createDimension("t", None)
        f.createVariable("v", "i2", ("t",))[:] = [1, 2, 3]
    ((_, values),) = hs.read_each(tmp_path / "c.nc", "v")
    assert values.dtype == ">i2" and list(values) == [1, 2, 3]
    with pytest.raises(hs.NotFoundError, match="no file matches"):
        hs.read_each(f"{tmp_path}/none*.h5", "g/x")
    with pytest.raises(hs.InvalidInputError, match="unknown errors 'ignore'"):
        hs.read_each(chosen, "g/x", errors="ignore")
    with pytest.raises(hs.InvalidInputError, match="format='netcdf4'"):
        hs.read_each(chosen, "g/x", format="netcdf4")


def test_broken_files_are_reported_together(files: list[pathlib.Path], tmp_path: pathlib.Path) -> None:
    files[100].write_bytes(files[100].read_bytes()[:700])
    files[400].write_text("text")
    files[500].unlink()
    with h5py.File(files[550], "w") as f:
        f["g/y"] = 1
    with h5py.File(files[551], "w") as f:
        f.create_group("g/x")
    read = []
    with pytest.raises(hs.Error, match=rf"5 of 600 files cannot be read.*{files[100]}.*{files[400]}.*{files[500]}"):
        for name, _ in hs.read_each(files, "g/x"):
            read.append(name)
    assert len(read) == 595, "all others were read before"
    found = hs.read_each(files, "g/x", errors="leave_out")
    assert len(list(found)) == 595
    assert [left.path for left in found.left_out] == [str(files[number]) for number in (100, 400, 500, 550, 551)]
    assert "nearest: y" in found.left_out[3].reason and "not a dataset" in found.left_out[4].reason
    with pytest.raises(hs.NotFoundError) as one:
        list(hs.read_each([files[0], files[500]], "g/x"))
    assert "of 2 files" not in str(one.value) and isinstance(one.value, FileNotFoundError)


def test_opening_says_how_many_files_cannot_be_opened(tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / f"f{number}.h5" for number in range(8)]
    for path in paths[::2]:
        with h5py.File(path, "w") as f:
            f["x"] = 1
    paths[3].write_text("text")
    with pytest.raises(hs.NotFoundError) as error:
        hs.open(paths)
    text = str(error.value)
    assert error.value.file == str(paths[1])
    assert "3 others of 8 files cannot be opened either" in text and all(str(paths[number]) in text for number in (3, 5, 7))
    with pytest.raises(hs.NotFoundError) as error:
        hs.open([paths[0], paths[1]])
    assert "cannot be opened either" not in str(error.value)
