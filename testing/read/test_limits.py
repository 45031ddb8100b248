"""Limits, decoders that users register, sizes of offsets, and what else is set when a file is opened."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import zlib
from collections.abc import Callable

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
from compare import compare

COMMAND = pathlib.Path(sys.executable).parent / "hyperslab"


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.zeros((100, 100)), chunks=(50, 50), compression="gzip")
        for i in range(50):
            f[f"g/d{i}"] = i
        f["x"].attrs["long"] = np.zeros(1000)
    return tmp_path / "a.h5"


@pytest.mark.parametrize(
    ("limits", "words"),
    [({"chunk_bytes": 10_000}, "chunk"), ({"objects": 10}, "objects"), ({"chunks": 3}, "chunks"), ({"metadata_block_bytes": 100}, "metadata block")],
    ids=str,
)
def test_a_limit_is_met_with_its_own_error(path: pathlib.Path, limits: dict[str, int], words: str) -> None:
    assert hs.open(path)["x"][...].sum() == 0
    with pytest.raises(hs.LimitExceededError, match=words):
        hs.open(path, limits=limits)["g/d49" if "objects" in limits else "x"][...]


#: A small number for each limit, which the file of `every_cost` meets. Two grow with the file's length, so that
#: only a hostile file meets them: test_hostile.py has those.
LIMITS = {
    "objects": 10,
    "links_per_group": 20,
    "messages_per_object": 2,
    "metadata_block_bytes": 100,
    "chunk_bytes": 10_000,
    "attribute_bytes": 1000,
    "depth": 2,
    "chunks": 3,
    "links_followed": 3,
    "metadata_bytes": None,
    "heap_bytes": None,
}


def every_cost(path: pathlib.Path) -> None:
    """A file that has something for each limit."""
    with h5py.File(path, "a") as f:
        nested = np.dtype("i4")
        for _ in range(5):
            nested = np.dtype([("in", nested)])
        f["nested"] = np.zeros(2, nested)
        f["a0"] = h5py.SoftLink("/x")
        for i in range(6):
            f[f"a{i + 1}"] = h5py.SoftLink(f"/a{i}")


def errors_of_reading(path: pathlib.Path, limits: dict[str, int]) -> set[str]:
    """What comes of opening the file and reading all that is in it: the kinds of errors."""
    found = set()

    def attempt(read: Callable[[], object]) -> object:
        try:
            return read()
        except hs.Error as error:
            found.add(type(error).__name__)
            return None

    f = attempt(lambda: hs.open(path, limits=limits))
    if f is not None:
        attempt(lambda: list(f["g"]))
        for name in ["x", "g/d49", "nested", "a6"]:
            node = attempt(lambda name=name: f[name])
            if isinstance(node, hs.Dataset):
                attempt(lambda node=node: node[()])
            for attribute in (attempt(lambda node=node: list(node.attrs)) or []) if node is not None else []:
                attempt(lambda node=node, attribute=attribute: node.attrs[attribute])
    return found


@pytest.mark.parametrize("name", LIMITS)
def test_every_limit_can_be_set_and_is_met(path: pathlib.Path, name: str) -> None:
    """From Python and from the command line; without it, the file is read."""
    every_cost(path)
    assert errors_of_reading(path, {}) == set()
    if LIMITS[name] is not None:
        assert errors_of_reading(path, {name: LIMITS[name]}) == {"LimitExceededError"}
    run = subprocess.run([COMMAND, "--limit", f"{name}={1 << 30}", "head", path, "/x"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    run = subprocess.run([COMMAND, "--limit", f"{name}s=1", "head", path, "/x"], capture_output=True, text=True)
    assert run.returncode == 1 and "there is no limit" in run.stderr and name in run.stderr


def test_the_documented_limits_are_all_there_are(path: pathlib.Path) -> None:
    with pytest.raises(hs.InvalidInputError) as raised:
        hs.open(path, limits={"": 1})
    named = re.findall(r"\w+_\w+|objects|depth|chunks", str(raised.value).split("there are")[1])
    assert sorted(named) == sorted(LIMITS)


def test_an_unknown_limit_lists_those_that_there_are(path: pathlib.Path) -> None:
    with pytest.raises(hs.InvalidInputError, match="chunk_bytes"):
        hs.open(path, limits={"chunks_bytes": 1})


def test_the_command_line_sets_limits(path: pathlib.Path) -> None:
    run = subprocess.run([COMMAND, "--limit", "chunk_bytes=100", "head", path, "/x"], capture_output=True, text=True)
    assert run.returncode == 1 and "limit" in run.stderr
    assert subprocess.run([COMMAND, "--limit", "chunk_bytes=20000", "head", path, "/x"], capture_output=True).returncode == 0


def reversed_zlib(data: bytes, parameters: list[int], most: int) -> bytes:
    assert parameters == [7, 8]
    return zlib.decompress(data[::-1])[:most]


def test_a_registered_decoder_reads_what_nobody_else_knows(tmp_path: pathlib.Path) -> None:
    values = np.arange(3000, dtype="i4")
    with h5py.File(tmp_path / "a.h5", "w") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((1000,))
        creation.set_filter(60_001, h5py.h5z.FLAG_OPTIONAL, (7, 8))
        d = h5py.h5d.create(f.id, b"x", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((3000,)), creation)
        for start in range(0, 3000, 1000):
            d.write_direct_chunk((start,), zlib.compress(values[start : start + 1000].tobytes())[::-1])
    with pytest.raises(hs.UnsupportedError, match="60001"):
        hs.open(tmp_path / "a.h5")["x"][...]
    hs.register_filter(60_001, reversed_zlib)
    try:
        np.testing.assert_array_equal(hs.open(tmp_path / "a.h5")["x"][...], values)
        assert hs.open(tmp_path / "a.h5", threads=4).table("/x", where="x > 2000").count() == 999
        hs.register_filter(60_001, lambda data, parameters, most: 1 // 0)
        with pytest.raises(hs.CorruptError, match="60001.*ZeroDivisionError"):
            hs.open(tmp_path / "a.h5")["x"][...]
        hs.register_filter(60_001, lambda data, parameters, most: b"short")
        with pytest.raises(hs.CorruptError, match="5 bytes"):
            hs.open(tmp_path / "a.h5")["x"][...]
    finally:
        assert hs.unregister_filter(60_001)
    with pytest.raises(hs.UnsupportedError):
        hs.open(tmp_path / "a.h5")["x"][...]
    with pytest.raises(hs.InvalidInputError, match="already"):
        hs.register_filter(1, reversed_zlib)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_chunks_that_skipped_an_unknown_filter_are_read(tmp_path: pathlib.Path, libver: str) -> None:
    values = np.arange(20, dtype="i4")
    with h5py.File(tmp_path / "a.h5", "w", libver=libver) as f:
        for name, masks in (("all skip", (1, 1)), ("one does not", (1, 0))):
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_chunk((10,))
            creation.set_filter(60_002, h5py.h5z.FLAG_OPTIONAL, ())
            d = h5py.h5d.create(f.id, name.encode(), h5py.h5t.STD_I32LE, h5py.h5s.create_simple((20,)), creation)
            for i, mask in enumerate(masks):
                d.write_direct_chunk((10 * i,), values[10 * i : 10 * i + 10].tobytes(), mask)
    f = hs.open(tmp_path / "a.h5")
    assert f["all skip"].refusal is None
    np.testing.assert_array_equal(f["all skip"][...], values)
    with pytest.raises(hs.UnsupportedError, match="60002"):
        f["one does not"][...]


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize(("offsets", "lengths"), [(4, 4), (2, 2), (8, 4), (4, 8)])
def test_other_sizes_of_offsets_and_lengths(tmp_path: pathlib.Path, libver: str, offsets: int, lengths: int) -> None:
    path = tmp_path / "a.h5"
    creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    creation.set_sizes(offsets, lengths)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_EARLIEST if libver == "earliest" else h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    small = offsets == 2
    with h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, creation, access)) as f:
        f["g/x"] = np.arange(20)
        for name, maxshape in (("fixed", None), ("one", (None, 6)), ("two", (None, None))):
            f.create_dataset(name, data=np.arange(36).reshape(6, 6), chunks=(2, 4), maxshape=maxshape, compression="gzip")
        f["text"] = ["a", "bc", ""]
        f.attrs["title"] = "text"
        if not small:
            for i in range(100):
                f[f"many/{i}"] = i
                f["g"].attrs[f"a{i}"] = np.arange(i)
    results = list(compare(str(path)))
    assert len(results) > 5
    # The library itself cannot open an extensible array in a file with short lengths.
    assert {r.path for r in results if r.outcome == "unreadable"} <= {"/one"}
    assert [r for r in results if r.outcome not in ("equal", "unreadable")] == []


def test_records_that_a_short_netcdf3_file_claims_cost_no_memory(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "claims.nc"
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as f:
        f.createDimension("t", None)
        f.createVariable("t", "f8", ("t",))[:] = [1, 2, 3]
        f.createVariable("x", "f8", ("t",))[:] = [4, 5, 6]
    content = bytearray(path.read_bytes())
    assert content[4:8] == b"\0\0\0\3"
    content[4:8] = b"\x0f\xff\xff\xff"
    path.write_bytes(content)
    code = f"""
import pathlib, hyperslab as hs
f = hs.open({str(path)!r})
assert f["t"].shape == (0xfffffff,) and list(f["x"][:3]) == [4, 5, 6]
peak = lambda: int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before = peak()
for read in (lambda: f["t"][:], lambda: f["t"][5::7], lambda: f.table("/").count(), lambda: f.table("/", where="x > 5").to_arrow()):
    try:
        read()
    except hs.CorruptError as error:
        print(type(error).__name__)
print((peak() - before) >> 10)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    *errors, peak = run.stdout.split()
    assert "CorruptError" in errors and int(peak) < 3000, run.stdout
