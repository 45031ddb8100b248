"""Fill values of variable length in files that are copied, recovered, converted and written. HDF5 frees the heap object of an element that it
overwrites: no two elements may share one, nor an element and the fill value. h5py and Hyperslab overwrite elements in turns to tell."""

from __future__ import annotations

import ctypes
import itertools
import pathlib
from collections.abc import Callable
from typing import Any

import dump_tools
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
from library_calls import List, compound_of, set_fill_value

TEXT, LIST = h5py.string_dtype(), h5py.vlen_dtype("<i4")
RECORD = np.dtype([("t", TEXT), ("n", "<i8"), ("l", LIST)])
LENGTH = 10


class _Record(ctypes.Structure):
    _fields_ = [("t", ctypes.c_char_p), ("n", ctypes.c_int64), ("l", List)]


_ITEMS = (ctypes.c_int32 * 3)(7, 8, 9)
_THREE = List(3, ctypes.addressof(_ITEMS))


def kinds() -> dict[str, tuple[Any, Any, Any, Any]]:
    """By name: dtype, fill value in memory, what readers see, and a function that makes another value of a number."""
    return {
        "text": (TEXT, ctypes.c_char_p(b"of nobody"), b"of nobody", lambda n: b"text " * n),
        "list": (LIST, _THREE, [7, 8, 9], lambda n: list(range(n))),
        "record": (RECORD, _Record(b"empty?", -5, _THREE), (b"empty?", -5, [7, 8, 9]), lambda n: (b"r" * n, n, list(range(n + 1)))),
    }


def made_by_hdf5(path: pathlib.Path, kind: str, alloc: str = "incr", time: str = "ifset", **options: Any) -> dict[int, Any]:
    """A dataset `x` with a fill value of variable length, of which HDF5 wrote few elements. Returns these."""
    dtype, fill, _, other = kinds()[kind]
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    stored = h5py.h5t.py_create(np.dtype(dtype), logical=True)
    if kind == "record":
        members = {"t": h5py.h5t.py_create(np.dtype(TEXT), logical=True), "n": h5py.h5t.NATIVE_INT64, "l": h5py.h5t.vlen_create(h5py.h5t.NATIVE_INT32)}
        memory = compound_of(_Record, members)
    else:
        memory = stored
    set_fill_value(creation, memory, fill)
    creation.set_alloc_time({"early": h5py.h5d.ALLOC_TIME_EARLY, "late": h5py.h5d.ALLOC_TIME_LATE, "incr": h5py.h5d.ALLOC_TIME_INCR}[alloc])
    creation.set_fill_time({"ifset": h5py.h5d.FILL_TIME_IFSET, "alloc": h5py.h5d.FILL_TIME_ALLOC}[time])
    if "chunks" in options:
        creation.set_chunk(options["chunks"])
        if "gzip" in options:
            creation.set_deflate(4)
    space = h5py.h5s.create_simple((LENGTH,), (h5py.h5s.UNLIMITED,) if "grows" in options else (LENGTH,))
    with h5py.File(path, "w") as f:
        h5py.h5d.create(f.id, b"x", stored, space, creation)
        for place in options.get("written", (1, 8)):
            f["x"][place] = written(kind, other(place))
    return {place: other(place) for place in options.get("written", (1, 8))}


def written(kind: str, value: Any) -> Any:
    if kind == "list":
        return np.array(value, "i4")
    return np.array([(value[0], value[1], np.array(value[2], "i4"))], RECORD)[0] if kind == "record" else value


def plain(value: Any) -> Any:
    """A value as bytes, lists and tuples."""
    if isinstance(value, (np.void, tuple)):
        return tuple(plain(part) for part in (value.item() if isinstance(value, np.void) else value))
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.encode() if isinstance(value, str) else int(value) if isinstance(value, np.integer) else value


def own_objects(path: pathlib.Path, dtype: Any) -> None:
    """No two parts of stored elements refer to the same heap object."""
    raw = bytearray()
    with h5py.File(path) as f:
        d = f["x"].id
        if f["x"].chunks is None:
            if d.get_offset() is not None:
                raw += path.read_bytes()[d.get_offset() :][: d.get_storage_size()]
        else:
            for n in range(d.get_num_chunks()):
                raw += d.read_direct_chunk(d.get_chunk_info(n).chunk_offset)[1]
        if f["x"].compression:
            return
    size, starts = (40, (0, 24)) if np.dtype(dtype).names else (16, (0,))
    found = [bytes(raw[at + start + 4 : at + start + 16]) for at in range(0, len(raw), size) for start in starts]
    pointing = [place for place in found if any(place[:8])]
    assert len(pointing) == len(set(pointing))


def take_turns(path: pathlib.Path, kind: str, expected: list[Any], grows: bool = False) -> None:
    """h5py and Hyperslab overwrite all elements in turns. Nothing else changes, and the fill value stays what it was."""
    dtype, _, fill, other = kinds()[kind]
    own_objects(path, dtype)
    with hs.open(path) as f:
        assert [plain(value) for value in f["x"][...]] == expected and plain(f["x"].fillvalue) == fill
    for place in range(len(expected)):
        with hs.open(path, "r+") if place % 2 else h5py.File(path, "r+") as f:
            assert [plain(value) for value in f["x"][...]] == expected
            f["x"][place] = written(kind, other(place + 2))
        expected[place] = other(place + 2)
    # Without the right to write, the library cannot read chunks that are missing: here none is.
    dump_tools.run("h5dump", "-d", "/x", path)
    if grows:
        for open_ in (h5py.File, hs.open):
            with open_(path, "r+") as f:
                f["x"].resize((len(expected) + 9,))
                f["x"][len(expected) + 5] = written(kind, other(3))
            expected += [fill] * 5 + [other(3)] + [fill] * 3
    with h5py.File(path, "r+") as f:
        assert [plain(value) for value in f["x"][...]] == expected
    own_objects(path, dtype)
    with hs.open(path) as f:
        assert [plain(value) for value in f["x"][...]] == expected and plain(f["x"].fillvalue) == fill
    assert all(finding.severity == "info" for finding in hs.check(path).findings)


def repacked(source: pathlib.Path, out: pathlib.Path) -> None:
    hs.repack(source, out)


def recovered(source: pathlib.Path, out: pathlib.Path) -> None:
    assert not hs.recover(source, out).lost


def copied(source: pathlib.Path, out: pathlib.Path) -> None:
    with h5py.File(out, "w") as f:
        f["before"] = np.arange(1000)
    with hs.open(out, "r+") as f, hs.open(source) as other:
        f.copy(other["x"], "x")


def copied_within(source: pathlib.Path, out: pathlib.Path) -> None:
    out.write_bytes(source.read_bytes())
    with hs.open(out, "r+") as f:
        f.copy("x", "y")
        del f["x"]
        f.move("y", "x")


def converted(source: pathlib.Path, out: pathlib.Path) -> None:
    hs.convert(source, out.with_suffix(".harrow"), "folder")
    hs.convert(out.with_suffix(".harrow"), out)


ROUTES = [repacked, recovered, copied, copied_within, converted]
LAYOUTS: list[dict[str, Any]] = [{}, {"chunks": (4,)}, {"chunks": (4,), "gzip": True}, {"chunks": (4,), "grows": True}]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["text", "list", "record"])
@pytest.mark.parametrize("options", LAYOUTS, ids=["contiguous", "chunked", "gzip", "growing"])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
def test_copies_have_the_fill_value(tmp_path: pathlib.Path, route: Callable[[pathlib.Path, pathlib.Path], None], options: dict[str, Any], kind: str) -> None:
    source, out = tmp_path / "source.h5", tmp_path / "out.h5"
    known = made_by_hdf5(source, kind, **options)
    expected = [known.get(place, kinds()[kind][2]) for place in range(LENGTH)]
    route(source, out)
    assert route is copied or hs.diff(source, out).equal
    take_turns(out, kind, expected, "grows" in options)


def test_all_times_of_allocation_and_of_filling(tmp_path: pathlib.Path) -> None:
    for number, (alloc, time, options, some) in enumerate(itertools.product(["early", "late", "incr"], ["ifset", "alloc"], LAYOUTS[:2], [(), (2,)])):
        source = tmp_path / f"{number}.h5"
        known = made_by_hdf5(source, "text", alloc, time, written=some, **options)
        for route in (repacked, recovered, copied):
            out = tmp_path / f"{number} {route.__name__}.h5"
            route(source, out)
            with hs.open(out) as f:
                assert [plain(value) for value in f["x"][...]] == [known.get(place, b"of nobody") for place in range(LENGTH)]
            with h5py.File(out, "r+") as f:
                f["x"][3] = b"new"
                f["x"][3] = b"newer"
                assert f["x"][:].tolist() == [b"newer" if place == 3 else known.get(place, b"of nobody") for place in range(LENGTH)]
                assert f["x"].fillvalue == b"of nobody" and f["x"].id.get_create_plist().get_fill_time() == (time == "ifset") * 2
            own_objects(out, TEXT)


@pytest.mark.parametrize("kind", ["text", "list", "record"])
@pytest.mark.parametrize("options", [{}, {"chunks": (4,)}, {"chunks": (4,), "compression": "gzip"}, {"maxshape": (None,)}], ids=str)
@pytest.mark.parametrize("mode", ["created", "edited"])
def test_new_datasets(tmp_path: pathlib.Path, mode: str, options: dict[str, Any], kind: str) -> None:
    path = tmp_path / "x.h5"
    dtype, _, fill, other = kinds()[kind]
    if mode == "edited":
        h5py.File(path, "w").close()
    with hs.create(path) if mode == "created" else hs.open(path, "r+") as f:
        given = np.array(fill, "i4") if kind == "list" else written(kind, fill) if kind == "record" else fill.decode()
        x = f.create_dataset("x", (LENGTH,), dtype, fillvalue=given, **options)
        assert plain(x.fillvalue) == fill and [plain(value) for value in x[...]] == [fill] * LENGTH
        x[3], x[8] = written(kind, other(3)), written(kind, other(8))
        if kind == "record":
            x["n", 5:7] = 77
        expected = [other(place) if place in (3, 8) else fill for place in range(LENGTH)]
        if kind == "record":
            expected[5] = expected[6] = (fill[0], 77, fill[2])
        assert [plain(value) for value in x[...]] == expected
    take_turns(path, kind, expected, "maxshape" in options)


def test_shrunk_and_grown_again(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    with hs.create(path) as f:
        x = f.create_dataset("x", (LENGTH,), str, fillvalue="of nobody", chunks=(4,), maxshape=(None,))
        x[...] = [f"{n}" for n in range(LENGTH)]
        x.resize((6,))
        x.resize((LENGTH,))
        f.copy("x", "y")
    with hs.open(path, "r+") as f:
        f.create_dataset_like("z", f["x"])
    expected = [b"0", b"1", b"2", b"3", b"4", b"5", *[b"of nobody"] * 4]
    with h5py.File(path, "r+") as f:
        assert f["y"][:].tolist() == expected and f["z"][:].tolist() == [b"of nobody"] * LENGTH
        f["y"][7] = f["z"][7] = "mine"
        assert f["x"][7] == f["z"][6] == f["z"].fillvalue == f["y"].fillvalue == b"of nobody"
    take_turns(path, "text", expected, grows=True)


def test_a_large_dataset_of_which_little_is_written_stays_small(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        f.create_dataset("x", (1 << 36,), str, fillvalue="none", chunks=(100,))[1 << 33] = "here"
    assert (tmp_path / "x.h5").stat().st_size < 100_000
    with hs.open(tmp_path / "x.h5") as f:
        assert f["x"][(1 << 33) - 1 : (1 << 33) + 2].tolist() == [b"none", b"here", b"none"]


def test_virtual_datasets_and_netcdf_variables(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "part.h5", "w") as f:
        f.create_dataset("x", data=["a", "b"], dtype=TEXT)
    layout = hs.VirtualLayout((4,), TEXT)
    layout[1:3] = hs.VirtualSource(str(tmp_path / "part.h5"), "x", (2,))
    with hs.create(tmp_path / "new.h5") as f:
        f.create_virtual_dataset("all", layout, fillvalue="none")
    h5py.File(tmp_path / "edited.h5", "w").close()
    with hs.open(tmp_path / "edited.h5", "r+") as f:
        f.create_virtual_dataset("all", layout, fillvalue="none")
    hs.recover(tmp_path / "new.h5", tmp_path / "recovered.h5")
    for name in ("new.h5", "edited.h5", "recovered.h5"):
        with h5py.File(tmp_path / name, "r+") as f:
            assert f["all"][:].tolist() == [b"none", b"a", b"b", b"none"]
        assert hs.open(tmp_path / name)["all"][:].tolist() == [b"none", b"a", b"b", b"none"]
    hs.repack(tmp_path / "new.h5", tmp_path / "plain.h5")
    with h5py.File(tmp_path / "plain.h5", "r+") as f:
        f["all"][1] = f["all"][0] = "new"
        assert f["all"][:].tolist() == [b"new", b"new", b"b", b"none"]
    with netCDF4.Dataset(tmp_path / "x.nc", "w") as f:
        f.createDimension("t", 4)
        f.createVariable("name", str, ("t",), fill_value="none")[:2] = np.array(["x", "y"], object)
    hs.repack(tmp_path / "x.nc", tmp_path / "copy.nc")
    with hs.create_netcdf(tmp_path / "new.nc") as f:
        f.create_dimension("t", 4)
        f.create_variable("name", ["t"], str, fill_value="none")[:2] = ["x", "y"]
    for name in ("copy.nc", "new.nc"):
        with netCDF4.Dataset(tmp_path / name, "a") as f:
            assert f["name"][:].tolist() == ["x", "y", "none", "none"] and f["name"]._FillValue == "none"
            f["name"][2] = "z"
            assert f["name"][:].tolist() == ["x", "y", "z", "none"]


def test_what_is_refused(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        with pytest.raises(hs.InvalidInputError, match="fill_time"):
            f.create_dataset("never", (3,), str, fillvalue="none", fill_time="never")
        with pytest.raises(hs.InvalidInputError, match="NUL"):
            f.create_dataset("nul", (3,), str, fillvalue="no\0ne")
        f.create_dataset("null", (3,), np.dtype([("t", TEXT), ("r", h5py.ref_dtype)]), fillvalue=("t", None))[1] = ("u", f.ref)
        f.create_dataset("empty", (3,), str, fillvalue="")
    with h5py.File(tmp_path / "x.h5", "r+") as f:
        assert sorted(f) == ["empty", "null"] and f["empty"][:].tolist() == [b""] * 3
        assert [(t, f[r].name if r else None) for t, r in f["null"][:]] == [(b"t", None), (b"u", "/"), (b"t", None)]


@pytest.mark.parametrize("kind", ["text", "list", "record"])
@pytest.mark.parametrize("mode", ["created", "edited", "repacked", "copied"])
def test_elements_that_nobody_wrote_are_empty_where_hdf5_allocates_them(tmp_path: pathlib.Path, mode: str, kind: str) -> None:
    """The HDF5 library writes no zeros into storage that it allocates, unless the dataset says so, and free space may hold anything."""
    path, dtype = tmp_path / "x.h5", {"text": TEXT, "list": LIST, "record": RECORD}[kind]
    with hs.create(path) if mode != "edited" else h5py.File(path, "w") as f:
        if mode != "edited":
            f.create_dataset("x", (LENGTH,), dtype)
        f["used"] = np.full(20_000, 0xAB, "u1")
    if mode in ("edited", "copied"):
        with hs.open(path, "r+") as f:
            f.create_dataset("y", (LENGTH,), dtype) if mode == "edited" else f.copy("x", "y")
            f.move("y", "x") if mode == "edited" else None
    if mode == "repacked":
        hs.repack(path, tmp_path / "y.h5")
        path = tmp_path / "y.h5"
    name = "y" if mode == "copied" else "x"
    value = {"text": b"new", "list": np.array([1, 2], "i4"), "record": np.array([(b"new", 1, np.array([1], "i4"))], RECORD)[0]}
    with h5py.File(path, "r+") as f:
        assert f[name].id.get_create_plist().get_fill_time() == h5py.h5d.FILL_TIME_ALLOC
        # The library uses the space again within one session.
        del f["used"]
        f[name][3] = value[kind]
        empty = {"text": b"", "list": [], "record": (b"", 0, [])}[kind]
        assert [plain(value) for place, value in enumerate(f[name][...]) if place != 3] == [empty] * (LENGTH - 1)
    with hs.open(path) as f:
        assert [plain(value) for place, value in enumerate(f[name][...]) if place != 3] == [empty] * (LENGTH - 1)


@pytest.mark.parametrize("mode", ["created", "edited", "repacked", "recovered", "copied"])
@pytest.mark.parametrize("dtype", ["<i4", "S4", np.dtype([("a", "i4"), ("b", "f8")])], ids=str)
def test_zeros_that_were_given_are_a_fill_value(tmp_path: pathlib.Path, dtype: Any, mode: str) -> None:
    """The HDF5 library writes them into storage that it allocates, which may lie where removed objects have left their bytes."""
    path = tmp_path / "x.h5"
    zero = np.zeros((), dtype)[()]
    if mode == "edited":
        h5py.File(path, "w").close()
    library = h5py.File(path, "w") if mode in ("repacked", "recovered", "copied") else hs.create(path) if mode == "created" else hs.open(path, "r+")
    with library as f:
        f.create_dataset("x", (LENGTH,), dtype, fillvalue=zero)
    if mode in ("repacked", "recovered"):
        (hs.repack if mode == "repacked" else hs.recover)(path, tmp_path / "y.h5")
        path = tmp_path / "y.h5"
    elif mode == "copied":
        h5py.File(tmp_path / "y.h5", "w").close()
        with hs.open(tmp_path / "y.h5", "r+") as f, hs.open(path) as source:
            f.copy(source["x"], "x")
        path = tmp_path / "y.h5"
    with h5py.File(path, "r+") as f:
        f["used"] = np.full(20_000, 0xAB, "u1")
    with h5py.File(path, "r+") as f:
        assert f["x"].id.get_create_plist().fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED
        del f["used"]
        f["x"][3] = np.ones((), dtype)[()] if dtype != "S4" else b"abc"
        assert [value for place, value in enumerate(f["x"][...].tolist()) if place != 3] == [zero.item()] * (LENGTH - 1)


def test_zeros_as_a_fill_value_take_no_space(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        f.create_dataset("x", (1 << 30,), "u1", fillvalue=0)[1 << 20] = 1
    assert (tmp_path / "x.h5").stat().st_blocks * 512 < 4 << 20
    with hs.open(tmp_path / "x.h5") as f:
        assert f["x"][1 << 20] == 1 and f["x"].fillvalue == 0 and not f["x"][(1 << 30) - 100 :].any()
