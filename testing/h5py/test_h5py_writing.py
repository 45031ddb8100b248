"""What `hyperslab.h5py` writes, judged by h5py: the same calls make the same file. `make test-h5py-suite` has h5py's own tests."""

from __future__ import annotations

import io
import pathlib
from types import ModuleType
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.h5py as ours
import numpy as np
import pytest

BEYOND = [2**63 - 1, 2**63, 1]
"""numpy makes doubles of them, which round the first two to one number."""


def written(path: pathlib.Path, module: ModuleType) -> dict[str, Any]:
    """What h5py reads of a file that `module` has written."""
    with module.File(path, "w") as f:
        f.create_dataset("exact", data=BEYOND, dtype="u8")
        f.create_dataset("later", (3,), "u8")[...] = BEYOND
        f.create_dataset("signed", data=[-(2**63), 2**63 - 1], dtype="i8")
        f.attrs.create("exact", BEYOND, dtype="u8")
        f.create_dataset("alone", dtype="i2")
        f["word"] = b"Hello"
        f.attrs["word"], f.attrs["fixed"] = b"Hello", np.bytes_(b"Hello")
        f.create_dataset("grows", (6,), "f4", maxshape=(6,))
        f.create_dataset("large", (3,), "S2000000", chunks=True)
        f.require_dataset("grows2", (6, 2), "f4", maxshape=(None, 2), chunks=(3, 2))
        assert f.require_dataset("grows2", (0, 2), "f4", maxshape=(None, 2)).shape == (6, 2)
        f.move("word", "word")
        x = f.create_dataset("x", data=np.arange(60).reshape(6, 10))
        x[module.MultiBlockSlice(start=1, stride=3, count=2, block=2), 2:4] = np.full((4, 2), -1)  # h5py refuses one number here
        x[..., module.MultiBlockSlice(start=5, stride=2)] = -2
        for name in "zyxa":
            f["x"].attrs[name] = 1
        names = list(f["x"].attrs)
        assert f.setdefault("new", 42) == 42
        layout = module.VirtualLayout((2, 4), "i8")
        part = module.VirtualSource("source.h5", "x", (5, 9))[1, 2:8:2]
        assert part.shape == (3,)
        layout[0, 1:4] = part
        f.create_virtual_dataset("virtual", layout, fillvalue=-5)
    with h5py.File(path) as f:
        found = {name: (member.dtype, member.shape, member.maxshape, repr(member[()])) for name, member in f.items()}
        types = {name: (f.attrs[name], f.attrs.get_id(name).dtype) for name in f.attrs}
        return {"members": found, "attributes": repr(types), "names": names, "chunked": [f[name].chunks is None for name in ("grows", "x")]}


def test_the_same_calls_make_the_same_file(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "source.h5", "w") as f:
        f["x"] = np.arange(45).reshape(5, 9)
    found, wanted = written(tmp_path / "ours.h5", ours), written(tmp_path / "theirs.h5", h5py)
    assert found == wanted
    assert wanted["members"]["exact"][3] == repr(np.array(BEYOND, dtype="u8"))


@pytest.mark.parametrize("seed", range(5))
def test_blocks_select_what_h5pys_select(tmp_path: pathlib.Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["x"] = rng.random((17, 23))
    with h5py.File(tmp_path / "x.h5") as theirs, ours.File(tmp_path / "x.h5") as mine:
        for _ in range(40):
            block = int(rng.integers(1, 5))
            given = {"start": int(rng.integers(0, 12)), "stride": block + int(rng.integers(0, 4)), "block": block}
            if rng.random() < 0.5:
                given["count"] = int(rng.integers(1, 5))
            other = [slice(None), int(rng.integers(0, 17)), slice(2, 15, 3)][int(rng.integers(0, 3))]
            at_end = bool(rng.random() < 0.5)

            def read(module: ModuleType, file: Any) -> Any:
                blocks = module.MultiBlockSlice(**given)
                try:
                    return file["x"][(other, blocks) if at_end else (blocks, other)]
                except ValueError:
                    return "refused"

            assert np.array_equal(read(ours, mine), read(h5py, theirs)), (given, other, at_end)


def test_errors_are_of_h5pys_kinds_and_of_ours(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f["x"] = 1
    with ours.File(path) as f:
        for kind in (ValueError, OSError, KeyError, TypeError, hs.ReadOnlyError):
            with pytest.raises(kind):
                f.create_group("g")
    for kind in (FileExistsError, hs.ConflictError):
        with pytest.raises(kind):
            ours.File(path, "w-")
    with ours.File(tmp_path / "y.h5", "w") as f:
        for refused, kind in (
            (lambda: f.create_dataset("a", (5,), maxshape=(None,), chunks=False), ValueError),
            (lambda: f.create_dataset("a", (), chunks=(5,)), TypeError),
            (lambda: f.create_dataset("a"), TypeError),
            (lambda: f.create_dataset("a", data=[2**64], dtype="u8"), (ValueError, OverflowError)),
            (lambda: ours.VirtualSource("a", "b", (5,))[1:][1:], RuntimeError),
            (lambda: ours.VirtualSource("a", "b", (5,))[: ours.UNLIMITED], hs.UnsupportedError),
            (lambda: ours.MultiBlockSlice(block=3), ValueError),
        ):
            with pytest.raises(kind):
                refused()
    with pytest.raises((TypeError, hs.UnsupportedError)):
        ours.File(io.BytesIO(), "w")
