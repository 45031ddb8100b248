"""Many small datasets: their values are in one file, a pack, and are read, changed and removed like those in files of their own."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest
from programs import run, script, tables

FORMS = {"folder": "arrow", "file": "arrow form=file"}

#: What dataset `i` holds, by the program itself and by the checks.
VALUES = """
    import sys, h5py, numpy as np
    RECORD = np.dtype([("i", "<i4"), ("f", ">f8"), ("s", "S3")])
    def values(i, turn=0):
        kind = i % 9
        if kind == 0: return np.arange(10.0) + i + turn
        if kind == 1: return np.array([(i + k + turn, k / 2, b"ab") for k in range(i % 5)], RECORD)
        if kind == 2: return np.array([f"ä{i}", "", str(turn)], dtype=object)
        if kind == 3: return np.int16(i + turn)
        if kind == 4: return (np.arange(12) + i + turn).reshape(3, 4).astype(">u4")
        if kind == 5: return np.zeros((0, 3), "<f4")
        if kind == 6: return np.array([b"x" * (1 + i % 4)] * (2 + turn % 2), "S5")
        if kind == 7: return np.full(i % 700, i % 7, "u1")
        return None
    def add(f, i, turn=0):
        name = f"g{i % 3}/d{i}"
        value = values(i, turn)
        if value is None: f[name] = h5py.Empty("<i8")
        elif value.dtype == object: f.create_dataset(name, data=value, dtype=h5py.string_dtype())
        else: f.create_dataset(name, data=value)
        f[name].attrs["turn"] = turn
    def check(f, i, turn=0):
        found, expected = f[f"g{i % 3}/d{i}"], values(i, turn)
        assert found.attrs["turn"] == turn, (i, found.attrs["turn"], turn)
        if expected is None: assert found[()] == h5py.Empty("<i8")
        elif expected.dtype == object: assert found.asstr()[:].tolist() == expected.tolist()
        else: assert found.dtype == expected.dtype and found.shape == expected.shape and np.array_equal(found[()], expected), (i, found[()], expected)
"""

WRITE = (
    VALUES
    + """
    with h5py.File(sys.argv[1], "w") as f:
        for i in range(400): add(f, i)
"""
)


def packs(path: pathlib.Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if entry.name.startswith("datasets."))


@pytest.fixture(params=FORMS)
def written(request: pytest.FixtureRequest, plugins: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "out.h5"
    done = run(script(WRITE, path), plugins, FORMS[request.param])
    assert done.returncode == 0, done.stderr
    assert path.is_dir() == (request.param == "folder")
    return path


def test_all_values_are_read_and_changed(plugins: pathlib.Path, written: pathlib.Path) -> None:
    if written.is_dir():
        assert len(list(written.iterdir())) == 4 and len(packs(written)) == 1, "a catalog of three files, and a pack"
    change = (
        VALUES
        + """
    with h5py.File(sys.argv[1]) as f:
        for i in range(400): check(f, i)
    with h5py.File(sys.argv[1], "r+") as f:
        f["g0/d0"][:] = values(0, 1); f["g0/d0"].attrs["turn"] = 1
        for i in range(10, 390):
            del f[f"g{i % 3}/d{i}"]
            add(f, i, i % 4)
            if i == 200: f.flush()
        check(f, 0, 1); check(f, 389, 1); check(f, 1)
    with h5py.File(sys.argv[1]) as f:
        check(f, 0, 1)
        for i in range(1, 400): check(f, i, i % 4 if 10 <= i < 390 else 0)
    print("as it was written")
    """
    )
    done = run(script(change, written), plugins)
    assert done.stdout == "as it was written\n", done.stderr
    if written.is_dir():
        names = {entry.name for entry in written.iterdir()}
        assert not [name for name in names if name.startswith(".")], names
    else:
        assert list(written.parent.iterdir()) == [written]


def test_pyarrow_reads_a_pack_and_copies_nothing(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    assert run(script(WRITE, path), plugins).returncode == 0
    catalog = ipc.open_file(path / "catalog.arrow").read_all()
    assert catalog.schema.metadata[b"hyperslab.container"] == b"2"
    assert catalog.schema.metadata[b"hyperslab.packs"].decode().split(",") == packs(path)
    before = pa.total_allocated_bytes()
    found = tables(path)
    assert found["/g0/d9"]["value"].to_pylist() == [9.0 + k for k in range(10)]
    assert found["/g2/d2"]["value"].to_pylist() == ["ä2", "", "0"]
    assert found["/g0/d4" if "/g0/d4" in found else "/g1/d4"]["value"].chunk(0).to_numpy_ndarray()[2, 3] == 15
    assert len(found) == 400
    assert pa.total_allocated_bytes() - before < 2_000_000


def test_a_reader_keeps_its_packs(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    assert run(script(WRITE, path), plugins).returncode == 0
    program = (
        VALUES
        + """
    import os, subprocess
    change = open(sys.argv[2]).read()
    with h5py.File(sys.argv[1]) as f:
        check(f, 3)
        subprocess.run([sys.executable, "-c", change, sys.argv[1]], check=True)
        for i in range(400): check(f, i)
    with h5py.File(sys.argv[1]) as f:
        for i in range(400): check(f, i, 2)
    print(len([name for name in os.listdir(sys.argv[1]) if name.startswith("datasets.")]))
    """
    )
    source = tmp_path / "change.py"
    source.write_text(
        script(
            VALUES
            + """
    with h5py.File(sys.argv[1], "r+") as f:
        for i in range(400):
            del f[f"g{i % 3}/d{i}"]
            add(f, i, 2)
    """
        )[1]
    )
    done = run(script(program, path, source), plugins)
    assert done.stdout == "2\n", done.stderr
    touch = "import sys, h5py\nwith h5py.File(sys.argv[1], 'r+') as f: f.attrs['late'] = 1"
    assert run(script(touch, path), plugins).returncode == 0
    assert len(packs(path)) == 1, "the pack that no reader has open is removed"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("moment", range(4))
def test_a_writer_killed_under_way_leaves_a_whole_state(plugins: pathlib.Path, tmp_path: pathlib.Path, moment: int, form: str) -> None:
    path = tmp_path / "out.h5"
    environment = os.environ | {"HDF5_PLUGIN_PATH": str(plugins), "HDF5_VOL_CONNECTOR": FORMS[form]}
    program = """
        import sys, h5py, numpy as np
        with h5py.File(sys.argv[1], "w") as f:
            for i in range(300): f[f"d{i}"] = np.zeros(10)
            for turn in range(1, 100_000):
                for i in range(300): f[f"d{i}"][...] = turn
                f.flush()
                print(turn, flush=True)
    """
    with subprocess.Popen([sys.executable, *script(program, path)], env=environment, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        first = int(writer.stdout.readline())
        time.sleep(0.01 + 0.017 * moment)
        writer.send_signal(signal.SIGKILL)
        seen = [first, *(int(line) for line in writer.stdout)]
    read = "import sys, h5py\nwith h5py.File(sys.argv[1]) as f: print(*{float(v) for i in range(300) for v in f[f'd{i}'][:]})"
    done = run(script(read, path), plugins)
    assert [int(float(word)) for word in done.stdout.split()] in ([seen[-1]], [seen[-1] + 1]), (done.stdout, done.stderr)
    again = "import sys, h5py\nwith h5py.File(sys.argv[1], 'r+') as f: f['again'] = 1"
    assert run(script(again, path), plugins).returncode == 0
    assert run(script(read, path), plugins).stdout == done.stdout
    left = [*tmp_path.iterdir(), *(path.iterdir() if path.is_dir() else [])]
    assert not [entry.name for entry in left if entry.name.startswith(".")], left
    if path.is_dir():
        assert len(packs(path)) == 1, "the next writer removes what the killed one left"
