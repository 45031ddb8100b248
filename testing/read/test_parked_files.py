"""More open files than stay in memory: they take little of it, are opened again when they are used, and are the same files then."""

from __future__ import annotations

import io
import os
import pathlib
import subprocess
import sys
import textwrap
import time

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest

COUNT, VALUES = 1100, 512
#: So many are parked.
MANY = 4100


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Files that differ in their values only, and were not written a moment ago."""
    content = io.BytesIO()
    with h5py.File(content, "w") as f:
        f["x"] = np.arange(VALUES)
        f["x"].attrs["units"] = "adc"
        start = f["x"].id.get_offset()
    raw = bytearray(content.getvalue())
    for number in range(COUNT):
        raw[start : start + 8 * VALUES] = (np.arange(VALUES) + number).tobytes()
        (tmp_path / f"run{number:04}.h5").write_bytes(raw)
    time.sleep(0.1)
    return tmp_path


def paths_in(folder: pathlib.Path) -> list[str]:
    """All files, and the last one again and again."""
    paths = [str(path) for path in sorted(folder.glob("*.h5"))]
    return paths + paths[-1:] * (MANY - len(paths))


def opened(folder: pathlib.Path) -> hs.FileSet:
    files = hs.open(paths_in(folder))
    assert isinstance(files, hs.FileSet)
    return files


def test_tables_and_datasets_are_those_of_each_file(folder: pathlib.Path) -> None:
    files, paths = opened(folder), paths_in(folder)
    numbers = np.minimum(np.arange(MANY), COUNT - 1)
    table = files.table("/x", columns=["x", "_row", "_file"])
    assert table.count() == MANY * VALUES
    found = table.to_arrow()
    assert np.array_equal(found["x"].to_numpy(), (numbers[:, None] + np.arange(VALUES)).ravel())
    assert found["_file"].to_pylist()[::VALUES] == paths and found["_row"].to_pylist()[: VALUES + 1] == [*range(VALUES), 0]
    assert table.schema.field("x").metadata[b"units"] == b"adc"
    for number in (0, 700, COUNT - 1, 0):
        one = files.files[number]
        assert one.filename == paths[number] and dict(one["x"].attrs) == {"units": "adc"}
        assert np.array_equal(one["x"][5:9], np.arange(5, 9) + number)
    assert files.table("/x", where=f"_file = '{paths[77]}' and x < 80", columns=["x"]).count() == 3


def test_files_of_all_formats(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "classic.nc", "w", format="NETCDF3_64BIT_OFFSET") as f:
        f.createDimension("x", 5)
        f.createVariable("v", "f8", ("x",))[:] = np.arange(5) / 7
        f.title = "classic"
    with netCDF4.Dataset(tmp_path / "new.nc", "w") as f:
        f.createDimension("x", 5)
        f.createVariable("x", "i4", ("x",))[:] = np.arange(5)
        f.createGroup("g").createVariable("v", str, ("x",))[:] = np.array(list("abcde"), object)
    with h5py.File(tmp_path / "block.h5", "w", userblock_size=512) as f:
        f["g/v"] = np.arange(20.0).reshape(4, 5)
        f["text"], f["reference"], f["large"] = ["a", "bc"], f["g/v"].ref, np.arange(9000)
        f["link"] = h5py.ExternalLink("other.h5", "/y")
    with h5py.File(tmp_path / "other.h5", "w") as f:
        f["y"] = [1, 2, 3]
    time.sleep(0.1)
    names = ["classic.nc", "new.nc", "block.h5"]
    files = hs.open([tmp_path / names[number % 3] for number in range(MANY // 3 * 3)])
    assert isinstance(files, hs.FileSet)
    for name, one in zip(names, files.files[:3], strict=True):
        alone = hs.open(tmp_path / name)
        assert one.format == alone.format and list(one.keys()) == list(alone.keys()) and dict(one.attrs) == dict(alone.attrs)
        found = list[tuple[str, object]]()
        one.visititems(lambda path, member, found=found: found.append((path, member)))
        assert found
        for path, member in found:
            expected = alone[path]
            assert type(member) is type(expected) and member.name == expected.name
            if isinstance(member, hs.Dataset) and path != "reference":
                assert member.dims == expected.dims and np.array_equal(member[...], expected[...])
    block = files.files[-1]
    assert block["link"][...].tolist() == [1, 2, 3]
    assert block[block["reference"][()]].name == "/g/v"


def test_a_file_that_is_another_now_is_a_conflict(folder: pathlib.Path) -> None:
    files, paths = opened(folder), paths_in(folder)
    table = files.table("/x", columns=["x"])
    with h5py.File(paths[3], "r+") as f:
        f["x"][0] = -1
    with pytest.raises(hs.ConflictError, match="has changed since it was opened") as caught:
        list(table.batches())
    assert "run0003" in str(caught.value)
    os.remove(paths[9])
    with pytest.raises(hs.ConflictError, match="was removed or renamed since it was opened"):
        files.files[9]["x"][0]
    with pytest.raises(hs.ConflictError):
        table.splits(4)


def test_paths_are_those_of_the_folder_in_which_they_were_opened(
    folder: pathlib.Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    files = hs.open([os.path.basename(path) for path in paths_in(folder)])
    assert isinstance(files, hs.FileSet)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert files.filenames[5] == "run0005.h5" and files.files[5]["x"][0] == 5
    with pytest.raises(KeyError, match="run0005.h5"):
        files.files[5]["y"]


def test_closed_files_are_closed(folder: pathlib.Path) -> None:
    files = opened(folder)
    some = files.files[2]["x"]
    files.close()
    with pytest.raises(hs.InvalidInputError, match="closed"):
        some[0]
    with pytest.raises(hs.InvalidInputError, match="closed"):
        files.table("/x")


def test_broken_files_are_found_when_they_are_opened(folder: pathlib.Path) -> None:
    os.truncate(paths_in(folder)[1050], 50)
    with pytest.raises(hs.Error, match="run1050"):
        hs.open(paths_in(folder))


def test_files_take_little_memory(folder: pathlib.Path) -> None:
    """Each took 25 KiB once."""
    program = """
        import resource, sys
        import hyperslab as hs
        paths = sys.stdin.read().split()
        hs.open(paths[:1200]).table("/x", columns=["x"]).count()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        table = hs.open(paths * 3).table("/x", columns=["x"])
        print(table.count(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, input="\n".join(paths_in(folder)), capture_output=True, text=True, check=True, timeout=100)
    count, kib = map(int, done.stdout.split())
    assert count == 3 * MANY * VALUES and kib < 3 * MANY * 6
