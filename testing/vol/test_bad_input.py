"""Places that cannot be written, writers that are killed, types that no Arrow column can hold: an HDF5 error with a
sentence, nothing lost, and no crash of the program."""

from __future__ import annotations

import pathlib

import pyarrow as pa
import pytest
from programs import run, script, tables

#: Root may write anywhere; without this capability it may not.
WITHOUT_POWERS = """
import ctypes, os, sys
if os.environ.pop("POWERS", "all") == "all" and os.geteuid() == 0:
    assert ctypes.CDLL(None).prctl(24, 1, 0, 0, 0) == 0
    os.environ["POWERS"] = "few"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
"""


@pytest.mark.parametrize("connector", ["arrow", "arrow form=file"])
def test_a_place_that_cannot_be_written_is_read_and_refused_for_writing(plugins: pathlib.Path, tmp_path: pathlib.Path, connector: str) -> None:
    place = tmp_path / "p"
    place.mkdir()
    assert run(script("import sys, h5py; h5py.File(sys.argv[1], 'w')['x'] = [1, 2]", place / "f"), plugins, connector).returncode == 0
    made = place / "f"
    before = {path: path.read_bytes() for path in ([made] if made.is_file() else made.iterdir())}
    made.chmod(0o555 if made.is_dir() else 0o444)
    place.chmod(0o555)
    asked = (
        WITHOUT_POWERS
        + """
import h5py
print(h5py.File(sys.argv[1])["x"][:].tolist())
for name, mode in (("f", "r+"), ("f", "w"), ("new", "w")):
    try:
        h5py.File(sys.argv[1][:-1] + name, mode)
        print("opened")
    except OSError as error:
        print(error)
"""
    )
    try:
        done = run(script(asked, made), plugins, connector)
    finally:
        place.chmod(0o755)
    read, *refused = done.stdout.splitlines()
    assert read == "[1, 2]", done.stderr
    assert len(refused) == 3
    assert all("annot" in sentence and str(place) in sentence for sentence in refused), refused
    assert {path: path.read_bytes() for path in before} == before
    assert [path.name for path in place.iterdir()] == ["f"]


def test_a_writer_that_is_killed_leaves_the_state_of_its_last_flush(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    killed = """
import os, signal, sys, h5py, numpy
f = h5py.File(sys.argv[1], "w")
f["x"] = numpy.arange(200000)
f["s"] = "before"
f.flush()
x = f["x"]
x[5] = 99
f["y"] = numpy.zeros(200000)
os.kill(os.getpid(), signal.SIGKILL)
"""
    folder = tmp_path / "f"
    assert run(script(killed, folder), plugins).returncode == -9
    assert list(folder.glob(".*.part"))
    values = {path.name for path in folder.glob("*-*.arrow")}
    assert len(values) == 3
    assert tables(folder)["/x"]["value"][5] == pa.scalar(5)
    done = run(script("import sys, h5py\nwith h5py.File(sys.argv[1], 'r+') as f: print(sorted(f), f['x'][5], f['s'].asstr()[()]); f['z'] = 1", folder), plugins)
    assert done.stdout.split() == ["['s',", "'x']", "5", "before"], done.stderr
    # What nobody names went with the next publishing.
    assert not list(folder.glob(".*.part"))
    assert len(values & {path.name for path in folder.glob("*-*.arrow")}) == 2
    (tmp_path / "half").mkdir()
    next(folder.glob("*-*.arrow")).rename(tmp_path / "half" / "x-2.1.arrow")
    done = run(script("import sys, h5py\ntry:\n    h5py.File(sys.argv[1])\nexcept OSError as error:\n    print(error)", tmp_path / "half"), plugins)
    assert "a folder without catalog.arrow: not a container, or one whose creation was interrupted" in done.stdout, done.stderr


def test_a_type_that_no_column_can_hold_is_refused_and_the_file_goes_on(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    made = """
import sys, h5py
from h5py import h5d, h5s, h5t
with h5py.File(sys.argv[1], "w") as f:
    f["x"] = 1
    odd = h5t.create(h5t.COMPOUND, 4)
    odd.insert(b"\\xff\\xfe", 0, h5t.NATIVE_INT32)
    old = h5t.create(h5t.COMPOUND, 24)
    old.insert(b"r", 0, h5t.STD_REF_OBJ)
    old.insert(b"s", 8, h5t.vlen_create(h5t.NATIVE_INT32))
    for name, kind in ((b"odd", odd), (b"old", old)):
        try:
            h5d.create(f.id, name, kind, h5s.create_simple((2,)))
            print("created")
        except (ValueError, RuntimeError, TypeError) as error:
            print(error)
    f["y"] = 2
"""
    folder = tmp_path / "f"
    done = run(script(made, folder), plugins)
    odd, old = done.stdout.splitlines()
    assert "the name of a member is not UTF-8, which Arrow requires" in odd, done.stderr
    assert "use H5T_STD_REF" in old
    assert sorted(tables(folder)) == ["/x", "/y"]
