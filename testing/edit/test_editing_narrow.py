"""What files hold whose addresses or lengths have fewer than 8 bytes, and what does not fit into them."""

from __future__ import annotations

import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pytest
from file_kinds import KINDS, new_file

NARROW = [kind for kind in KINDS if "sizes" in KINDS[kind]]


@pytest.mark.parametrize("kind", NARROW)
def test_h5py_reads_and_goes_on_with_what_was_added(tmp_path: pathlib.Path, kind: str) -> None:
    path = tmp_path / "x.h5"
    with new_file(path, kind) as f:
        f["kept"] = np.arange(10)
    record = np.dtype([("text", h5py.string_dtype()), ("number", "i4"), ("list", h5py.vlen_dtype("f8"))])
    with hs.open(path, "r+") as f:
        f.create_dataset("text", (5,), h5py.string_dtype(), chunks=(2,), maxshape=(None,), fillvalue="é")
        f["text"][1] = "other"
        f["type"] = np.dtype([("a", "i4"), ("b", "S3")])
        f.create_dataset("typed", (3,), f["type"])
        f.create_dataset("records", (3,), record)
        row = np.zeros((), record)
        row[()] = ("long " * 900, 7, [1.5, 2.5])
        f["records"][1] = row
        layout = hs.VirtualLayout((10,), "i8")
        layout[:] = hs.VirtualSource(".", "kept", (10,))
        f.create_virtual_dataset("virtual", layout)
        f["group/deep/external"] = hs.ExternalLink("other.h5", "/x")
        for number in range(100):
            f["group"].attrs[f"a{number}"] = f"text {number}"
            f[f"many/{number}"] = hs.SoftLink("/kept")
    with h5py.File(path, "r+") as f:
        assert f["text"].asstr()[...].tolist() == ["é", "other", "é", "é", "é"] and f["kept"][...].tolist() == f["virtual"][...].tolist() == list(range(10))
        assert f["typed"].id.get_type().committed() and f["typed"].dtype == f["type"].dtype
        assert (f["records"][1]["text"].decode(), f["records"][1]["number"], f["records"][1]["list"].tolist()) == ("long " * 900, 7, [1.5, 2.5])
        assert f["records"][0]["text"] == b"" and len(f["records"][2]["list"]) == 0
        assert dict(f["group"].attrs) == {f"a{number}": f"text {number}" for number in range(100)} and len(f["many"]) == 100
        assert f["group/deep"].get("external", getlink=True).filename == "other.h5"
        f["text"].resize((7,))
        f["text"][6] = "by h5py"
        f["more"] = ["a", "b"]
        del f["many/50"], f["group"].attrs["a7"]
    with hs.open(path, "r+") as f:
        del f["records"], f["many"]
        assert f["text"].asstr()[...].tolist() == ["é", "other", "é", "é", "é", "é", "by h5py"] and "a7" not in f["group"].attrs
    with h5py.File(path) as f:
        assert sorted(f) == ["group", "kept", "more", "text", "type", "typed", "virtual"]
    assert [one for one in hs.check(path).findings if one.severity == "error"] == []


@pytest.mark.parametrize("kind", ["narrow", "narrow addresses"])
def test_what_does_not_fit_changes_nothing(tmp_path: pathlib.Path, kind: str) -> None:
    path = tmp_path / "x.h5"
    with new_file(path, kind) as f:
        f.create_dataset("grows", (1,), "u1", chunks=(1 << 20,), maxshape=(None,))
    before = path.read_bytes()
    with hs.open(path, "r+") as f:
        with pytest.raises(hs.UnsupportedError, match=r"5000000000|4294967294"):
            f.create_dataset("large", (5_000_000_000,), "u1", fillvalue=1)
            f["large"][3] = 2
        f.roll_back()
        if kind == "narrow":
            with pytest.raises(hs.UnsupportedError, match="lengths have 4"):
                f["grows"].resize((1 << 32,))
            with pytest.raises(hs.UnsupportedError, match="lengths have 4 bytes"):
                f.create_dataset("limit", (1,), "u1", chunks=(1,), maxshape=((1 << 32) - 1,))
    assert path.read_bytes() == before


@pytest.mark.parametrize("sizes", [(2, 2), (2, 4), (4, 2), (2, 8)])
def test_the_smallest_addresses(tmp_path: pathlib.Path, sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.h5"
    monkeypatch.setitem(KINDS, "smallest", {"sizes": sizes})
    with new_file(path, "smallest") as f:
        f["kept"] = np.arange(10)
    with hs.open(path, "r+") as f:
        f["text"] = ["a", "é"]
        f["g"] = np.arange(12.0)
        f["g"].attrs["units"] = "m"
        f["kept"].attrs["ref"] = f["g"].ref
        del f["kept"]
        with pytest.raises(hs.UnsupportedError, match="fewer|addresses|lengths|long IDs"):
            for number in range(9000):
                f["g"].attrs[f"a{number}"] = number
    with h5py.File(path, "r+") as f:
        assert f["text"].asstr()[...].tolist() == ["a", "é"] and f["g"][...].tolist() == list(range(12)) and f["g"].attrs["units"] == "m"
        f["more"] = 1
    assert [one for one in hs.check(path).findings if one.severity == "error"] == []
