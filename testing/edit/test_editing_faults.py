"""Faults while objects of existing files are changed: one error each, and nothing is lost."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import h5py
import hyperslab as hs
import numpy as np
import pytest

#: New operations, by name, of a file `f`.
CHANGES = {
    "create": "f.create_dataset('new', data=np.arange(60_000.0))",
    "copy": "f.copy('x', 'copy')",
    "group": "[f.create_group(f'many/{n}') for n in range(800)]",
    "attributes": "[f['x'].attrs.create(f'a{n}', np.arange(200.0)) for n in range(200)]",
    "move": "f.move('x', 'moved'); f.create_dataset('more', data=np.arange(60_000.0))",
    "remove": "f.__delitem__('x'); f.create_dataset('more', data=np.arange(60_000.0))",
    "dimension": "f.create_dimension('d', 60_000); f.create_variable('v', ['d'], 'f8', data=np.arange(60_000.0))",
}
PROGRAM = """
import resource, signal, sys
import numpy as np
import hyperslab as hs
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, limit = sys.argv[1], int(sys.argv[2])
f = hs.open(path, "r+")
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
try:
    {change}
    f.commit()
    print("done")
except hs.Error as error:
    print("refused", type(error).__name__)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
try:
    f.commit()
    f.close()
    print("committed")
except hs.Error as error:
    print("closed", type(error).__name__, error)
"""


def made(path: pathlib.Path) -> bytes:
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset("x", data=np.arange(40_000.0), chunks=(4_000,))
        f["kept"] = np.arange(10)
    return path.read_bytes()


def holds_all(path: pathlib.Path) -> None:
    with h5py.File(path) as f:
        assert f["kept"][...].tolist() == list(range(10))
        name = next((name for name in ("x", "moved") if name in f), None)
        if name is not None:
            assert np.array_equal(f[name][...], np.arange(40_000.0))
    assert hs.check(path).ok


@pytest.mark.sampled(3)
@pytest.mark.parametrize("change", CHANGES)
def test_a_full_disk_is_one_error_and_nothing_is_lost(tmp_path: pathlib.Path, change: str) -> None:
    path = tmp_path / "a.h5"
    before = made(path)
    for extra in (1, 5_000, 100_000):
        path.write_bytes(before)
        script = PROGRAM.format(change=CHANGES[change])
        run = subprocess.run([sys.executable, "-c", script, str(path), str(len(before) + extra)], capture_output=True, text=True, timeout=120)
        said = run.stdout.split("\n")
        assert said[0].startswith(("refused IoError", "done")) and said[1] == "committed", run.stdout + run.stderr
        holds_all(path)
        assert os.listdir(tmp_path) == ["a.h5"]


def test_a_file_that_cannot_be_written_is_one_error(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    before = made(path)
    path.chmod(0o444)
    if os.geteuid() != 0:
        with pytest.raises(hs.IoError):
            hs.open(path, "r+")
    else:
        # The superuser may write it; others may not.
        run = subprocess.run(
            [
                sys.executable,
                "-c",
                "import os, sys; os.setuid(65534); import hyperslab as hs\ntry:\n hs.open(sys.argv[1], 'r+')\nexcept hs.Error as e: print(type(e).__name__)",
                path,
            ],
            capture_output=True,
            text=True,
        )
        assert run.stdout.strip() in ("IoError", "") and (run.stdout or run.stderr)
    assert path.read_bytes() == before


def test_a_file_that_vanished_is_not_made_again(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    made(path)
    with hs.open(path, "r+") as f:
        f["new"] = np.arange(10)
        path.rename(tmp_path / "b.h5")
    assert os.listdir(tmp_path) == ["b.h5"]
    with h5py.File(tmp_path / "b.h5") as f:
        assert f["new"][...].tolist() == list(range(10))
    with pytest.raises(hs.NotFoundError):
        hs.open(path, "r+")


def test_a_busy_file_is_a_conflict_and_stays_as_it_is(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    before = made(path)
    with h5py.File(path), pytest.raises(hs.ConflictError, match="open"):
        hs.open(path, "r+", timeout=0.05)
    with hs.open(path, "r+") as f, pytest.raises(hs.ConflictError):
        f.create_group("g")
        hs.open(path, "r+")
    with h5py.File(path) as f:
        assert "g" not in f or list(f["g"]) == []
    assert path.read_bytes()[:8] == before[:8]


def test_values_that_would_be_written_over_something_else_are_refused(tmp_path: pathlib.Path) -> None:
    """A chunk without filters that is shorter than its shape, and a contiguous dataset with too few bytes: what lies behind them stays."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("chunked", data=np.arange(100.0), chunks=(100,))
        f.create_dataset("contiguous", data=np.arange(100.0) + 0.5)
        f["behind"] = np.arange(100.0)
        contiguous = f["contiguous"].id.get_offset()
    raw = bytearray(path.read_bytes())
    node = raw.index(b"TREE\x01\x00\x01\x00") + 24
    assert raw[node : node + 4] == (800).to_bytes(4, "little")
    raw[node : node + 4] = (400).to_bytes(4, "little")
    layout = raw.index(b"\x03\x01" + contiguous.to_bytes(8, "little") + (800).to_bytes(8, "little"))
    raw[layout + 10 : layout + 18] = (400).to_bytes(8, "little")
    path.write_bytes(raw)
    with hs.open(path, "r+") as f:
        for name, place in (("chunked", slice(60, 90)), ("contiguous", slice(60, 90))):
            with pytest.raises(hs.CorruptError, match="400 bytes"):
                f[name][place] = 7.0
        f["behind"][0] = 3.0
    with h5py.File(path) as f:
        assert f["behind"][:].tolist() == [3.0, *range(1, 100)]


def test_damage_that_an_edit_meets_is_called_damage(tmp_path: pathlib.Path) -> None:
    """The edit itself holds the lock. Nobody else has the file open."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest") as f:
        f["x"] = np.arange(3)
        f["y"] = np.arange(3)
        header = h5py.h5o.get_info(f["y"].id).addr
    with open(path, "r+b") as file:
        file.seek(header + 8)
        file.write(b"\xff\xff")
    with hs.open(path, "r+") as f:
        f["x"][0] = 5
        with pytest.raises(hs.CorruptError):
            f["y"].attrs["a"] = 1
        # From elsewhere it may be that the edit is not complete.
        with pytest.raises(hs.ConflictError, match="open for writing elsewhere"):
            _ = hs.open(path)["y"]
    assert hs.open(path)["x"][0] == 5
