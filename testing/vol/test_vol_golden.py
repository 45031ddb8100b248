"""Containers that earlier versions of the connector wrote read the same through HDF5. See crates/arrow-container/tests/golden."""

from __future__ import annotations

import pathlib
import shutil

import pytest
from programs import run, script

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "crates" / "arrow-container" / "tests" / "golden"

CHECK = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1]) as f:
    x = f["a/b/x"]
    assert x.dtype == "<f8" and np.array_equal(x[...], np.arange(24.0).reshape(2, 3, 4))
    assert list(x.attrs) == ["ends", "names", "nothing", "units"] and f.attrs["title"] == "golden"
    assert x.attrs["units"] == "m" and x.attrs["ends"].tolist() == [1, -2, 3] and x.attrs["names"].tolist() == ["ä", ""]
    assert x.attrs["nothing"] == h5py.Empty("<f4") and f["nothing"][()] == h5py.Empty("<f4")
    p = f["particles"]
    assert p.maxshape == (None,) and f["hard"] == p and p.chunks == (4,)
    assert p["i"].tolist() == [0, 1, 2, 3] and p["f"].tolist() == [0, 0.5, 1, 1.5] and p["s"].tolist() == [b"ab"] * 4
    assert p["n"].tolist() == [(k, -k) for k in range(4)] and p["v"].tolist() == [[k, k + 0.5] for k in range(4)]
    assert f["text"].asstr()[:].tolist() == ["hello", "", "wörld"]
    assert f["mixed"]["k"].tolist() == [5, 0] and f["mixed"]["t"].tolist() == [b"abc", b""]
    assert [row.tolist() for row in f["ragged"]] == [[1, 2, 3], [], [9]]
    assert f["colors"][:].tolist() == [0, 1, 1] and h5py.check_enum_dtype(f["colors"].dtype) == {"red": 0, "green": 1}
    assert f["big_endian"].dtype == ">u4" and np.array_equal(f["big_endian"][...], np.arange(12).reshape(3, 4))
    assert f["half"].dtype == "<f2" and f["half"][:].tolist() == [0.5, 65504]
    assert f["grown"][...].tolist() == [[1, 1, 1, 7], [1, 1, 1, 7], [7, 7, 7, 7]] and f["grown"].fillvalue == 7
    assert f["number"][()] == 3.5 and f["type"].dtype == "<f8"
    assert f[f["reference"][()]] == x and f["soft"] == x
    link = f.get("external", getlink=True)
    assert (link.filename, link.path) == ("other.h5", "/y") and f.get("soft", getlink=True).path == "/a/b/x"
print("as it was written")
"""


@pytest.mark.parametrize("name", ["version-1-folder.h5", "version-1-file.h5", "version-2-folder.h5"])
def test_containers_of_earlier_versions_read_the_same(plugins: pathlib.Path, tmp_path: pathlib.Path, name: str) -> None:
    done = run(script(CHECK, GOLDEN / name), plugins)
    assert done.stdout == "as it was written\n", done.stderr
    # Such a container can be written again.
    copy = tmp_path / name
    (shutil.copytree if (GOLDEN / name).is_dir() else shutil.copyfile)(GOLDEN / name, copy)
    change = "import sys, h5py\nwith h5py.File(sys.argv[1], 'r+') as f: f['number'][()] = 4.5; f.attrs['new'] = 1"
    assert run(script(change, copy), plugins).returncode == 0
    read = "import sys, h5py\nwith h5py.File(sys.argv[1]) as f: print(f['number'][()], f.attrs['new'], f.attrs['title'], f['a/b/x'][1, 2, 3])"
    assert run(script(read, copy), plugins).stdout.split() == ["4.5", "1", "golden", "23.0"]
