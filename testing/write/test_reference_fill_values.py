"""Fill values that contain references: unwritten elements lead to the same places in files that are made, copied, repacked and recovered."""

from __future__ import annotations

import ctypes
import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from library_calls import List, compound_of, set_fill_value

RECORD = np.dtype([("t", h5py.string_dtype()), ("r", h5py.ref_dtype), ("s", h5py.regionref_dtype), ("n", "<i4")])
LISTS = h5py.vlen_dtype(h5py.ref_dtype)
LENGTH = 7
LAYOUTS: list[dict[str, Any]] = [{}, {"chunks": (3,)}, {"chunks": (3,), "maxshape": (None,)}]


class _Record(ctypes.Structure):
    _fields_ = [("t", ctypes.c_char_p), ("r", ctypes.c_uint64), ("s", ctypes.c_ubyte * 12), ("n", ctypes.c_int32)]


def make(path: pathlib.Path, kind: str, written: bool, **options: Any) -> None:
    """A dataset `top/d` whose fill value, set by the HDF5 library, leads to `top/g` and to elements of `top/x`."""
    with h5py.File(path, "w") as f:
        f["other"] = np.arange(100)
        top = f.create_group("top")
        x = top.create_dataset("x", data=np.arange(20).reshape(4, 5))
        group = top.create_group("g")
        regions = top.create_dataset("regions", data=[x.regionref[1:3, ::2]], dtype=h5py.regionref_dtype)
        f.flush()
        region = path.read_bytes()[regions.id.get_offset() :][:12]
        address = h5py.h5o.get_info(group.id).addr
        items = (ctypes.c_uint64 * 3)(address, 0, h5py.h5o.get_info(x.id).addr)
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        memory: Any = {"object": h5py.h5t.STD_REF_OBJ, "region": h5py.h5t.STD_REF_DSETREG}.get(kind)
        fill: Any = {"object": ctypes.c_uint64(address), "region": (ctypes.c_ubyte * 12)(*region), "list": List(3, ctypes.addressof(items))}.get(kind)
        if kind == "list":
            memory = h5py.h5t.vlen_create(h5py.h5t.STD_REF_OBJ)
        elif kind == "record":
            members = {
                "t": h5py.h5t.py_create(np.dtype(h5py.string_dtype()), logical=True),
                "r": h5py.h5t.STD_REF_OBJ,
                "s": h5py.h5t.STD_REF_DSETREG,
                "n": h5py.h5t.NATIVE_INT32,
            }
            memory = compound_of(_Record, members)
            fill = _Record(b"none", address, (ctypes.c_ubyte * 12)(*region), -9)
        set_fill_value(creation, memory, fill)
        if "chunks" in options:
            creation.set_chunk(options["chunks"])
        space = h5py.h5s.create_simple((LENGTH,), (h5py.h5s.UNLIMITED,) if "maxshape" in options else (LENGTH,))
        dtype = {"object": h5py.ref_dtype, "region": h5py.regionref_dtype, "list": LISTS, "record": RECORD}[kind]
        h5py.h5d.create(top.id, b"d", h5py.h5t.py_create(dtype, logical=True), space, creation)
        if written:
            top["d"][4] = value(f, kind)


def value(f: Any, kind: str) -> Any:
    """Another value than the fill value."""
    x = f["top/x"]
    if kind == "list":
        return np.array([x.ref], h5py.ref_dtype)
    return {"object": x.ref, "region": x.regionref[3:, 4:], "record": ("text", x.ref, x.regionref[3:, 4:], 5)}[kind]


REGION = ("/top/x", [5, 7, 9, 10, 12, 14])
FILLS = {"object": "/top/g", "region": REGION, "list": ["/top/g", None, "/top/x"], "record": [b"none", "/top/g", REGION, -9]}
OTHERS = {"object": "/top/x", "region": ("/top/x", [19]), "list": ["/top/x"], "record": [b"text", "/top/x", ("/top/x", [19]), 5]}


def led(f: Any, found: Any) -> Any:
    """Where references lead, in a file that h5py or Hyperslab opened."""
    if isinstance(found, (h5py.RegionReference, hs.RegionReference)):
        return (f[found].name, f[found][found].reshape(-1).tolist()) if found else None
    if isinstance(found, (h5py.Reference, hs.Reference)):
        return f[found].name if found else None
    if isinstance(found, (np.void, tuple)):
        return [led(f, part) for part in found]
    if isinstance(found, np.ndarray):
        return [led(f, part) for part in found]
    return found.item() if isinstance(found, np.generic) else found


def check(path: pathlib.Path, kind: str, written: bool) -> None:
    expected = [OTHERS[kind] if written and place == 4 else FILLS[kind] for place in range(LENGTH)]
    with hs.open(path) as ours:
        assert led(ours, ours["top/d"][...]) == expected
        assert led(ours, ours["top/d"].fillvalue) == FILLS[kind]
    assert [finding for finding in hs.check(path).findings if finding.severity != "info"] == []
    with h5py.File(path, "r+") as f:
        d = f["top/d"]
        assert led(f, d[...]) == expected
        # The library overwrites elements, and makes new ones of the fill value.
        d[2] = value(f, kind)
        if d.maxshape == (None,):
            d.resize((LENGTH + 4,))
            d[LENGTH + 1] = value(f, kind)
            expected += [FILLS[kind], OTHERS[kind], FILLS[kind], FILLS[kind]]
        expected[2] = OTHERS[kind]
        assert led(f, d[...]) == expected
    with hs.open(path) as ours:
        assert led(ours, ours["top/d"][...]) == expected
    assert [finding for finding in hs.check(path).findings if finding.severity != "info"] == []


def repacked(source: pathlib.Path, out: pathlib.Path) -> None:
    hs.repack(source, out)


def recovered(source: pathlib.Path, out: pathlib.Path) -> None:
    assert not hs.recover(source, out).lost


def copied(source: pathlib.Path, out: pathlib.Path) -> None:
    with h5py.File(out, "w") as f:
        f["before"] = np.arange(1000)
    with hs.open(out, "r+") as f, hs.open(source) as other:
        f.copy(other["top"], "top")


def copied_within(source: pathlib.Path, out: pathlib.Path) -> None:
    out.write_bytes(source.read_bytes())
    with hs.open(out, "r+") as f:
        f.copy("top/d", "top/e")
        del f["top/d"]
        f.move("top/e", "top/d")


def converted(source: pathlib.Path, out: pathlib.Path) -> None:
    hs.convert(source, out.with_suffix(".harrow"), "folder")
    with hs.open(out.with_suffix(".harrow")) as f:
        assert led(f, f["top/d"][...])[0] == led(f, f["top/d"].fillvalue)
    hs.convert(out.with_suffix(".harrow"), out)


@pytest.mark.parametrize("kind", ["object", "region", "list"])
def test_containers(tmp_path: pathlib.Path, kind: str) -> None:
    for options in LAYOUTS:
        for written in (False, True):
            source, out = tmp_path / f"{written}{len(options)}.h5", tmp_path / f"{written}{len(options)} copy.h5"
            make(source, kind, written, **options)
            converted(source, out)
            if kind != "list":
                check(out, kind, written)
                continue
            # In sequences they are references of HDF5 1.12 afterwards, which h5py does not know.
            with hs.open(source) as f, hs.open(out) as g:
                assert led(g, g["top/d"][...]) == led(f, f["top/d"][...]) and led(g, g["top/d"].fillvalue) == FILLS[kind]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["object", "region", "list", "record"])
@pytest.mark.parametrize("options", LAYOUTS, ids=["contiguous", "chunked", "growing"])
@pytest.mark.parametrize("route", [repacked, recovered, copied, copied_within], ids=lambda route: route.__name__)
def test_copies(tmp_path: pathlib.Path, route: Callable[..., None], options: dict[str, Any], kind: str) -> None:
    for written in (False, True):
        source, out = tmp_path / f"{written}.h5", tmp_path / f"{written} copy.h5"
        make(source, kind, written, **options)
        route(source, out)
        check(out, kind, written)


def test_a_target_that_is_not_copied(tmp_path: pathlib.Path) -> None:
    make(tmp_path / "x.h5", "object", True, chunks=(3,))
    h5py.File(tmp_path / "out.h5", "w").close()
    with hs.open(tmp_path / "out.h5", "r+") as f, hs.open(tmp_path / "x.h5") as source:
        f.copy(source["top/d"], "d")
    with h5py.File(tmp_path / "out.h5") as f:
        assert not any(f["d"][...])


@pytest.mark.parametrize("options", LAYOUTS, ids=["contiguous", "chunked", "growing"])
@pytest.mark.parametrize("kind", ["object", "region", "list", "record"])
def test_new_files(tmp_path: pathlib.Path, kind: str, options: dict[str, Any]) -> None:
    for written in (False, True):
        path = tmp_path / f"{written}.h5"
        with hs.create(path) as f:
            top = f.create_group("top")
            x = top.create_dataset("x", data=np.arange(20).reshape(4, 5))
            group = top.create_group("g")
            fill: Any = {"object": group.ref, "region": x.regionref[1:3, ::2], "list": [group.ref, None, x.ref]}.get(kind)
            if kind == "record":
                fill = ("none", group.ref, x.regionref[1:3, ::2], -9)
            dtype = {"object": h5py.ref_dtype, "region": h5py.regionref_dtype, "list": LISTS, "record": RECORD}[kind]
            d = top.create_dataset("made", (LENGTH,), dtype, fillvalue=fill, **options)
            if written:
                new: Any = {"object": x.ref, "region": x.regionref[3:, 4:], "list": [x.ref]}.get(kind)
                d[4] = ("text", x.ref, x.regionref[3:, 4:], 5) if kind == "record" else new
            read = d[0].tolist() if isinstance(d[0], (np.ndarray, np.void)) else d[0]
            assert list(read) == [b"none", *fill[1:]] if kind == "record" else read == fill
            f.copy("top/made", "top/like")
            f.create_dataset_like("top/empty", f["top/made"])
            # References follow what they lead to.
            f.move("top/made", "top/d")
            f.move("top/g", "top/h")
            f.move("top/h", "top/g")
        for name in ("like", "empty"):
            other = tmp_path / "other.h5"
            other.write_bytes(path.read_bytes())
            with h5py.File(other, "r+") as h:
                del h["top/d"]
                h.move(f"top/{name}", "top/d")
            check(other, kind, written and name == "like")
        check(path, kind, written)


def test_a_removed_target(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        f["g/x"] = 1
        f.create_dataset("d", (3,), h5py.ref_dtype, fillvalue=f["g/x"].ref)[1] = f["g"].ref
        del f["g/x"]
    with h5py.File(tmp_path / "x.h5") as h:
        assert [h[ref].name if ref else None for ref in h["d"][...]] == [None, "/g", None]


def test_existing_files(tmp_path: pathlib.Path) -> None:
    make(tmp_path / "x.h5", "object", True, chunks=(3,))
    with hs.open(tmp_path / "x.h5", "r+") as f:
        f.create_dataset("new", (5,), h5py.ref_dtype, fillvalue=f["top/x"].ref, chunks=(2,), maxshape=(None,))[1] = f["top/g"].ref
        f.create_dataset_like("like", f["top/d"])
        f["new"].resize((7,))
        with hs.open(tmp_path / "x.h5") as other, pytest.raises(hs.InvalidInputError, match="another file"):
            make(tmp_path / "y.h5", "object", False)
            f.create_dataset("no", (5,), h5py.ref_dtype, fillvalue=hs.open(tmp_path / "y.h5")["top/x"].ref)
            assert other
    check(tmp_path / "x.h5", "object", True)
    with h5py.File(tmp_path / "x.h5", "r+") as f:
        assert led(f, f["new"][...]) == ["/top/x", "/top/g", *["/top/x"] * 5] and led(f, f["like"][...]) == ["/top/g"] * LENGTH
        assert "no" not in f


def test_a_fill_value_of_another_file_is_refused(tmp_path: pathlib.Path) -> None:
    make(tmp_path / "x.h5", "record", True)
    with hs.create(tmp_path / "new.h5") as f, hs.open(tmp_path / "x.h5") as other:
        with pytest.raises(hs.UnsupportedError, match="another file"):
            f.create_dataset_like("d", other["top/d"])
        f.create_dataset_like("e", other["top/d"], fillvalue=None)
    with h5py.File(tmp_path / "new.h5") as f:
        assert led(f, f["e"][...]) == [[b"", None, None, 0]] * LENGTH
