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


def tracked(path: pathlib.Path, module: ModuleType, configured: bool, of_file: bool | None, options: dict[str, Any]) -> dict[str, Any]:
    """Which objects track the order of their links and attributes, by h5py."""
    config = module.get_config()
    config.track_order = configured
    try:
        with module.File(path, "w", track_order=of_file) as f:
            f.create_group("g", **options)
            f.create_group("p/q", **options)
            f.create_dataset("d/x", data=1, **options)
            f.create_dataset("y", data=[1], **options)
            f["e/x"] = 1
            f["word"] = b"a"
            f.require_group("r/s")
    finally:
        config.track_order = False
    found: dict[str, Any] = {}
    with h5py.File(path) as f:
        for name in ("/", "g", "p", "p/q", "d", "d/x", "y", "e", "e/x", "word", "r", "r/s"):
            properties = f[name].id.get_create_plist()
            # HDF5 gives groups that a path creates in passing the order of attributes of the last one.
            found[name] = [] if name in ("p", "d", "e", "r") else [properties.get_attr_creation_order()]
            if isinstance(f[name], h5py.Group):
                found[name].append(properties.get_link_creation_order())
    return found


@pytest.mark.parametrize("of_file", [None, False, True])
@pytest.mark.parametrize("configured", [False, True])
def test_objects_track_order_as_those_of_h5py(tmp_path: pathlib.Path, configured: bool, of_file: bool | None) -> None:
    for options in ({}, {"track_order": None}, {"track_order": False}, {"track_order": True}):
        judge, found = (tracked(tmp_path / "a.h5", module, configured, of_file, options) for module in (h5py, ours))
        assert found == judge, options


def grown(path: pathlib.Path, module: ModuleType) -> dict[str, Any]:
    """Datasets that are resized after they were created with `chunks=True`, and bytes as attributes, by h5py."""
    with module.File(path, "w") as f:
        f.create_dataset("line", shape=(4,), maxshape=(None,), chunks=True, dtype="i4").resize((9,))
        f.create_dataset("plane", data=np.arange(6).reshape(2, 3), maxshape=(None, 7), chunks=True).resize((4, 5))
        for name, value in {"bytes": b"abc", "empty": b"", "list": [b"a", b"bc"], "fixed": np.bytes_(b"xy"), "void": np.void(b"a\0b"), "text": "abc"}.items():
            f.attrs[name] = value
    found: dict[str, Any] = {}
    with h5py.File(path) as f:
        for name in f:
            found[name] = f[name].shape, f[name].maxshape, f[name][...].tolist()
        for name in f.attrs:
            attribute = h5py.h5a.open(f.id, name.encode())
            found[f"@{name}"] = attribute.get_type().encode(), attribute.shape, attribute.get_space().get_simple_extent_type()
    return found


def test_datasets_of_guessed_chunks_grow_and_attributes_of_bytes_have_the_types_of_h5py(tmp_path: pathlib.Path) -> None:
    assert grown(tmp_path / "a.h5", ours) == grown(tmp_path / "b.h5", h5py)


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
            (lambda: ours.MultiBlockSlice(block=3), ValueError),
        ):
            with pytest.raises(kind):
                refused()


def test_file_objects_and_files_in_memory_are_those_that_h5py_reads(tmp_path: pathlib.Path) -> None:
    def write(f: Any) -> None:
        f.create_dataset("x", data=np.arange(12), chunks=(4,), compression="gzip")
        f.attrs["of"] = "h5py"

    def check(file: Any) -> None:
        with h5py.File(file, "r") as f:
            np.testing.assert_array_equal(f["x"], np.arange(12))
            assert f.attrs["of"] == "h5py"

    buffer = io.BytesIO()
    with ours.File(buffer, "w") as f:
        write(f)
        assert f.filename == repr(buffer) and f.driver == "fileobj"
    check(buffer)
    with ours.File(buffer, "r+") as f:
        f["x"][3] = 3
        f["y"] = [1.5]
        del f["y"]
    check(buffer)
    for keeps in (True, False):
        path = tmp_path / f"{keeps}.h5"
        with ours.File(path, "w", driver="core", backing_store=keeps) as f:
            write(f)
            image = f.id.get_file_image()
        check(io.BytesIO(image))
        assert path.exists() == keeps
    check(tmp_path / "True.h5")
    with ours.File(tmp_path / "True.h5", "r+", driver="core", backing_store=False) as f:
        del f["x"]
    check(tmp_path / "True.h5")
    with ours.File.in_memory(image) as f:
        np.testing.assert_array_equal(f["x"][:], np.arange(12))


def test_objects_stay_the_same_when_their_file_is_completed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with ours.File(path, "w") as f:
        group = f.create_group("g")
        known = {group: "group", group.create_dataset("x", data=np.arange(4), chunks=(2,), maxshape=(None,)): "x", f: "file"}
        removed = f.create_dataset("gone", data=1)
        del f["gone"]
        assert not path.exists()
        assert group["x"].id.get_chunk_info(1).size == 16 and path.exists()
        assert [known[node] for node in (f["g"], f["g/x"], f["/"])] == ["group", "x", "file"]
        assert group == f["g"] and group.file == f
        group["x"].resize((6,))
        group["x"][4:] = [4, 5]
        with pytest.raises(hs.Error):
            removed[()]
    with h5py.File(path) as f:
        assert f["g/x"][:].tolist() == [0, 1, 2, 3, 4, 5] and list(f) == ["g"]


def test_files_that_are_dropped_are_closed_as_with_h5py(tmp_path: pathlib.Path) -> None:
    for library in (h5py, ours):
        path = tmp_path / f"{library.__name__}.h5"
        f = library.File(path, "w")
        f["x"] = [1, 2]
        dataset = f["x"]
        del f
        dataset[0] = 5
        del dataset
        f = library.File(path, "r+")
        f["y"] = 1
        del f
        with h5py.File(path) as f:
            assert f["x"][:].tolist() == [5, 2] and f["y"][()] == 1


def test_a_writer_whose_swmr_mode_is_set_shows_each_flush_to_readers(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with ours.File(path, "w", libver="latest") as f:
        x = f.create_dataset("x", (0,), "i8", maxshape=(None,), chunks=(4,))
        f.swmr_mode = True
        with ours.File(path, "r", swmr=True) as reader:
            seen = reader["x"]
            for count in (2, 5):
                x.resize((count,))
                x[:] = np.arange(count)
                assert seen.shape != x.shape
                x.flush()
                seen.refresh()
                assert seen[:].tolist() == list(range(count))
        with pytest.raises(OSError):
            h5py.File(path, "r", swmr=True)
    with h5py.File(path, "r", swmr=True) as f:
        assert f["x"][:].tolist() == [0, 1, 2, 3, 4]


def test_chunks_that_are_written_as_they_are_stored(tmp_path: pathlib.Path) -> None:
    values = np.arange(64, dtype="i4").reshape(8, 8)
    for library in (h5py, ours):
        with library.File(tmp_path / f"{library.__name__}.h5", "w") as f:
            source = f.create_dataset("source", data=values, chunks=(4, 8), compression="gzip", shuffle=True)
            to = f.create_dataset("to", values.shape, values.dtype, chunks=(4, 8), compression="gzip", shuffle=True)
            for start in ((0, 0), (4, 0)):
                mask, data = source.id.read_direct_chunk(start)
                to.id.write_direct_chunk(start, data, mask)
            to.id.write_direct_chunk((4, 0), values[:4].tobytes(), filter_mask=3)
            plain = f.create_dataset("plain", values.shape, values.dtype, chunks=(4, 8))
            plain.id.write_direct_chunk((4, 0), values[4:].tobytes())
            # h5py stores a short chunk, which the HDF5 library cannot read.
            for start, data in (((4, 0), b"short"), ((8, 0), values[:4].tobytes()), ((1, 0), values[:4].tobytes())):
                if library is ours:
                    with pytest.raises(hs.InvalidInputError):
                        plain.id.write_direct_chunk(start, data)
    with h5py.File(tmp_path / "h5py.h5") as theirs, h5py.File(tmp_path / "hyperslab.h5py.h5") as mine:
        np.testing.assert_array_equal(mine["to"], np.vstack([values[:4], values[:4]]))
        np.testing.assert_array_equal(mine["to"], theirs["to"])
        assert mine["to"].id.get_chunk_info(1).filter_mask == theirs["to"].id.get_chunk_info(1).filter_mask == 3
        np.testing.assert_array_equal(mine["plain"][4:], values[4:])
