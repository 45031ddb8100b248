"""More files than a process may have open: descriptors stay within a bound, and files are opened again if they are the same."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import textwrap

import h5py
import hyperslab as hs
import numpy as np
import pytest

COUNT, ROWS = 2000, 12_800
LIMITED = """
    import os, resource, sys
    import numpy as np
    import hyperslab as hs
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    def count():
        return len(os.listdir("/proc/self/fd"))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """2,000 netCDF files of 100 KB each; the first row of each has its number."""
    place = tmp_path_factory.mktemp("many")
    with hs.create_netcdf(place / "f0.nc", durable=False) as f:
        f.create_dimension("t", None)
        f.create_dimension("x", ROWS)
        f.create_variable("v", ("t", "x"), "f8", data=np.zeros((1, ROWS)), chunks=(1, ROWS))
    with h5py.File(place / "f0.nc") as f:
        start = f["v"].id.get_chunk_info(0).byte_offset
    content = (place / "f0.nc").read_bytes()
    for number in range(COUNT):
        values = np.full(ROWS, number, "<f8").tobytes()
        (place / f"f{number}.nc").write_bytes(content[:start] + values + content[start + len(values) :])
    return place


def limited(script: str, *words: str) -> str:
    """What a script prints in a process that may open 256 files."""
    program = textwrap.dedent(LIMITED) + textwrap.dedent(script)
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tables_and_arrays_of_more_files_than_may_be_open(folder: pathlib.Path) -> None:
    script = """
        f = hs.open(sys.argv[1])
        held = [open(os.devnull) for _ in range(60)]  # those of others
        table = f.table("v", columns=["v"])
        assert count() < 220 and table.count() == 2000 * 12_800, count()
        total = sum(float(np.sum(batch.column(0).to_numpy())) for batch in table.batches())
        assert total == 12_800 * sum(range(2000)), total
        assert count() < 220, count()
        for files in (f.files, f.files[::-37], f.files):
            assert [int(g["v"][0, -1]) for g in files] == [int(g.filename.rpartition("f")[2][:-3]) for g in files]
        f.close()
        del held
        print(count())
    """
    assert int(limited(script, str(folder / "f*.nc"))) < 30


def test_open_mfdataset_and_batches_of_them(folder: pathlib.Path) -> None:
    script = """
        opened = hs.open_mfdataset(sys.argv[1], concat_dim="t")
        assert opened["v"][:, 77].values.tolist() == list(range(2000)) and count() < 220
        assert opened["v"][::-3, :2].mean().item() == np.arange(2000)[::-3].mean()
        files = hs.open(sys.argv[1]).files
        rows = sorted(int(row) for batch in hs.batches([g["v"] for g in files], 64, order="exact", seed=1) for row in next(iter(batch.values()))[:, 5])
        assert rows == list(range(2000)) and count() < 220, count()
        print(len(opened.hyperslab.file.files) if hasattr(opened, "hyperslab") else 2000)
    """
    assert limited(script, str(folder / "f*.nc")) == "2000\n"


def test_descriptors_of_others_leave_none(folder: pathlib.Path) -> None:
    """The process is at its limit: files that are open are closed for the next one."""
    script = """
        first = [hs.open(f"{sys.argv[1]}/f{number}.nc") for number in range(50)]
        held = []
        try:
            while True:
                held.append(open(os.devnull))
        except OSError:
            pass
        more = [hs.open(f"{sys.argv[1]}/f{number}.nc") for number in range(50, 200)]
        print(sum(float(f["v"][0, 9]) for f in first + more) == sum(range(200)))
    """
    assert limited(script, str(folder)) == "True\n"


@pytest.mark.parametrize("change", ["written over", "replaced", "removed"])
def test_a_file_that_changed_while_it_was_closed_is_a_conflict(folder: pathlib.Path, tmp_path: pathlib.Path, change: str) -> None:
    for number in range(200):
        (tmp_path / f"f{number}.nc").write_bytes((folder / f"f{number}.nc").read_bytes())
    script = """
        f = hs.open(sys.argv[1] + "/f*.nc")
        assert count() < 180
        there = {os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")}
        number, path = next((number, name) for number, name in enumerate(f.filenames) if name not in there)
        other = bytes(open(f.filenames[number + 1], "rb").read())
        match sys.argv[2]:
            case "written over":
                with open(path, "r+b") as file:
                    file.write(other)
            case "replaced":
                open(path + ".new", "wb").write(other)
                os.replace(path + ".new", path)
            case "removed":
                os.unlink(path)
        for read in (lambda: f.files[number]["v"][0, 9], lambda: f.table("v").to_arrow()):
            try:
                read()
            except hs.ConflictError as error:
                print("since it was opened" in str(error) and path in str(error))
        print(f.files[number + 1]["v"][0, 9] == number + 1)
    """
    assert limited(script, str(tmp_path), change) == "True\nTrue\nTrue\n"
