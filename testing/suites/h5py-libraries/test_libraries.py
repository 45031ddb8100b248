"""Libraries that read with h5py, unmodified: with `hyperslab.h5py` in its place they read what they read with h5py.

`make test-h5py-libraries` runs this in an environment of its own, with the libraries of requirements.txt."""

from __future__ import annotations

import importlib.metadata
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import pytest

CASES = pathlib.Path(__file__).with_name("cases.py")
LIBRARIES = ["anndata", "pynwb", "nexusformat", "h5grove", "kerchunk", "keras"]


def run(*arguments: str) -> bytes:
    done = subprocess.run([sys.executable, str(CASES), *arguments], capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return done.stdout


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_reads_the_same(library: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / ("case.nxs" if library == "nexusformat" else "case.h5"))
    run("write", library, path)
    (theirs_from, theirs), (ours_from, ours) = (pickle.loads(run("read", library, path, *more)) for more in ([], ["hyperslab"]))
    assert (theirs_from, ours_from) == ("site-packages", "hyperslab"), importlib.metadata.version(library)
    compare(theirs, ours)


def compare(theirs: Any, ours: Any, at: str = "") -> None:
    if isinstance(theirs, (list, tuple)) and isinstance(ours, (list, tuple)) and len(theirs) == len(ours):
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            compare(a, b, f"{at}[{i}]")
    elif isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        for key in theirs:
            compare(theirs[key], ours[key], f"{at}[{key!r}]")
    else:
        assert theirs == ours or (theirs != theirs and ours != ours), at
