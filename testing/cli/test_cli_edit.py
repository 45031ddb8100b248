"""The commands that change files: attr, rm, mv, cp."""

from __future__ import annotations

import json
import pathlib
import subprocess

import h5py
import numpy as np
import pytest
from command_server import CommandServer

SERVED = pathlib.Path("hyperslab")


@pytest.fixture(scope="module", autouse=True)
def served(command_server: CommandServer) -> None:
    """`run` calls the command server."""
    global SERVED
    SERVED = command_server.folder / "hyperslab"


def run(*words: object, status: int = 0) -> str:
    done = subprocess.run([SERVED, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout + done.stderr


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("g/x", data=np.arange(100), chunks=(10,), compression="gzip").attrs["units"] = "m"
        f["y"] = 1
        f["soft"] = h5py.SoftLink("/nowhere")
        f.attrs["title"] = "é"
    return tmp_path / "x.h5"


def test_attributes(path: pathlib.Path) -> None:
    assert run("attr", "ls", path, "/") == "title = é\n"
    run("attr", "set", path, "/g/x", "units", "m s-1")
    run("attr", "set", path, "/g/x", "list", "[1, 2.5]")
    run("attr", "set", path, "/g/x", "count", "3", "--dtype", "u2")
    run("attr", "set", path, "/g/x", "text", "3", "--text")
    run("attr", "set", path, "/", "names", '["a", "b"]')
    found = json.loads(run("attr", "ls", path, "/g/x", "--json"))
    assert found == {"units": "m s-1", "list": [1, 2.5], "count": 3, "text": "3"}
    run("attr", "rm", path, "/g/x", "list")
    with h5py.File(path) as f:
        assert dict(f["g/x"].attrs) == {"units": "m s-1", "count": 3, "text": "3"} and f["g/x"].attrs["count"].dtype == "u2"
        assert f.attrs["names"].tolist() == ["a", "b"]
    assert "no attribute" in run("attr", "rm", path, "/g/x", "list", status=1)
    assert "VALUE" in run("attr", "set", path, "/g/x", "list", status=2)
    assert "NAME" in run("attr", "rm", path, "/g/x", status=2)
    assert "u2" in run("attr", "set", path, "/", "a", "abc", "--dtype", "u2", status=2)


def test_names(path: pathlib.Path) -> None:
    before = path.read_bytes()
    assert "--recursive" in run("rm", path, "/y", "/g", status=1)
    assert path.read_bytes() == before, "nothing is removed after an error"
    assert "copied /g to /copy/g" in run("cp", path, "/g", "/copy/g")
    run("mv", path, "/y", "/g/y")
    run("rm", path, "/soft")
    run("cp", path, "/g/x", "/x", "--to", path.parent / "new.h5")
    run("cp", path, "/g/y", "/y", "--to", path.parent / "new.h5")
    with h5py.File(path) as f, h5py.File(path.parent / "new.h5") as new:
        assert list(f) == ["copy", "g"] and f["g/y"][()] == 1 and f["copy/g/x"][...].tolist() == new["x"][...].tolist() == list(range(100))
        assert new["x"].attrs["units"] == "m" and new["x"].compression == "gzip" and new["y"][()] == 1
    run("rm", path, "/g", "-r")
    assert list(h5py.File(path)) == ["copy"]
    for words in (("rm", path, "/none"), ("mv", path, "/none", "/x"), ("cp", path, "/none", "/x"), ("mv", path, "/copy", "/copy/copy"), ("rm", path, "/")):
        assert run(*words, status=1).startswith("hyperslab: ")
