"""Containers of strangers: encoded datatypes and property lists are parsed by the connector before HDF5 decodes them. Whatever is
changed in them, a program gets values or an HDF5 error, and never crashes."""

from __future__ import annotations

import json
import os
import pathlib

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest
from programs import run, script

#: A longer run: HYPERSLAB_VOL_MUTATIONS=100000.
MUTATIONS = int(os.environ.get("HYPERSLAB_VOL_MUTATIONS", "1000"))

MAKE = """
import sys, h5py, numpy as np
from h5py import h5d, h5p, h5s, h5t
with h5py.File(sys.argv[1], "w", userblock_size=512) as f:
    record = np.dtype([("a", "i4"), ("b", "f8", (2,)), ("c", "S3")])
    f.create_dataset("chunked", data=np.arange(60.0).reshape(6, 10), chunks=(2, 5), compression="gzip", shuffle=True, fillvalue=3.5)
    f.create_dataset("record", data=np.zeros(4, record), fillvalue=np.array((1, [2, 3], b"x"), record))
    f.create_dataset("text", data=["x", "yy"], dtype=h5py.string_dtype())
    f.create_dataset("sequence", (3,), dtype=h5py.vlen_dtype("i4"))[1] = [1, 2]
    f.create_dataset("enum", data=[1, 2, 1], dtype=h5py.enum_dtype({"A": 1, "B": 2}, "i1"), fillvalue=2)
    f.create_dataset("reference", data=[f["chunked"].ref], dtype=h5py.ref_dtype)
    f["opaque"] = np.zeros(2, "V5")
    f["named"] = np.dtype("f4")
    both = h5t.create(h5t.COMPOUND, 24)
    both.insert(b"n", 0, h5t.NATIVE_INT32)
    both.insert(b"s", 8, h5t.vlen_create(h5t.NATIVE_INT32))
    h5d.create(f.id, b"both", both, h5s.create_simple((2,)))
    f.create_group("group", track_order=True).attrs["n"] = [1, 2, 3]
    f["text"].attrs["unit"] = "m"
"""

#: Reads all that is decoded.
READ = """
import h5py

def read(path, names=None):
    with h5py.File(path, "r") as f:
        f.id.get_create_plist().get_userblock()
        for name in names or list(f):
            try:
                found = f[name]
                dict(found.attrs)
                if isinstance(found, h5py.Group):
                    found.id.get_create_plist().get_link_creation_order()
                elif isinstance(found, h5py.Dataset):
                    created = found.id.get_create_plist()
                    created.get_nfilters(), created.get_fill_time(), created.get_layout()
                    found.fillvalue, found.dtype, found.id.get_type().get_size()
                    found[()]
                else:
                    found.dtype, found.id.get_create_plist()
            except (OSError, ValueError, RuntimeError, TypeError, KeyError, NotImplementedError, OverflowError, MemoryError, UnicodeDecodeError, SystemError) as error:
                yield name, str(error)
            else:
                yield name, None
"""

MUTATE = (
    READ
    + """
import os, random, sys
import pyarrow as pa, pyarrow.ipc as ipc

folder, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
place = os.path.join(folder, "catalog.arrow")
whole = ipc.open_file(pa.BufferReader(open(place, "rb").read())).read_all()
cells = [(column, row) for column in ("type", "creation") for row, bytes in enumerate(whole[column].to_pylist()) if bytes]
paths = whole["path"].to_pylist()
ODD = [0, 1, 2, 3, 4, 7, 8, 16, 64, 127, 128, 255]

def mutated(bytes, random):
    bytes = bytearray(bytes)
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        at, kind = random.randrange(len(bytes)), random.randrange(6)
        if kind == 0:
            bytes[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            bytes[at] = random.choice(ODD)
        elif kind == 2:
            bytes[at:at + 4] = random.choice([2**31, 2**32 - 1, 2**16, 65, 300, 0]).to_bytes(4, "little")
        elif kind == 3:
            bytes[at:at + 8] = random.choice([2**31, 2**63, 2**40, 9, 2**64 - 1]).to_bytes(8, "little")
        elif kind == 4:
            del bytes[at:at + random.choice([1, 2, 8])]
        else:
            bytes[at:at] = bytes[:random.choice([1, 2, 8])]
        if not bytes:
            return b"\\0"
    return b"".join([bytes])

refused = read_all = 0
for number in range(first, first + count):
    source = random.Random(number)
    print(number, file=sys.stderr, flush=True)
    table, names = whole, None
    metadata = dict(whole.schema.metadata)
    if source.randrange(12) == 0:
        metadata[b"hyperslab.creation"] = mutated(bytes.fromhex(metadata[b"hyperslab.creation"].decode()), source).hex().encode()
    else:
        column, row = source.choice(cells)
        names = [paths[row]] if source.randrange(20) else None
        values = table[column].to_pylist()
        values[row] = mutated(values[row], source)
        index = table.schema.get_field_index(column)
        table = table.set_column(index, table.schema.field(index), pa.array(values, pa.binary()))
    with open(place, "wb") as out, ipc.new_file(out, table.schema.with_metadata(metadata)) as writer:
        writer.write_batch(table.combine_chunks().to_batches()[0])
    try:
        errors = [error for _, error in read(folder, names) if error]
    except (OSError, ValueError, RuntimeError) as error:
        errors = [str(error)]
    refused += bool(errors)
    read_all += not errors
print(refused, read_all)
"""
)


@pytest.fixture
def container(plugins: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "f"
    assert run(script(MAKE, folder), plugins).returncode == 0
    return folder


def changed(container: pathlib.Path, path: str, column: str, change: dict[bytes, bytes]) -> None:
    """Replaces bytes in a cell of the catalog."""
    place = container / "catalog.arrow"
    table = ipc.open_file(pa.BufferReader(place.read_bytes())).read_all()
    values = table[column].to_pylist()
    row = table["path"].to_pylist().index(path)
    for old, new in change.items():
        assert old in values[row], (values[row], old)
        values[row] = values[row].replace(old, new, 1)
    index = table.schema.get_field_index(column)
    table = table.set_column(index, table.schema.field(index), pa.array(values, pa.binary()))
    with ipc.new_file(place, table.schema) as writer:
        writer.write_batch(table.combine_chunks().to_batches()[0])


def read(container: pathlib.Path, plugins: pathlib.Path) -> dict[str, str | None]:
    asked = (
        READ + "\nimport json, sys\ntry:\n    print(json.dumps(dict(read(sys.argv[1]))))\nexcept OSError as error:\n    print(json.dumps({'/': str(error)}))"
    )
    done = run(script(asked, container), plugins)
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


def test_a_container_of_ones_own_is_read(container: pathlib.Path, plugins: pathlib.Path) -> None:
    found = read(container, plugins)
    assert len(found) == 10 and set(found.values()) == {None}, found


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("path", "column", "change"),
    [
        pytest.param(
            "/chunked", "creation", {b"\x08" + bytes(7) + bytes(6) + b"\x0c@": b"\0\0\0\x80\0\0\0\0" + bytes(6) + b"\x0c@"}, id="a fill value of 2 GiB"
        ),
        pytest.param("/chunked", "creation", {b"\x01\x16\x03\0": b"\x01\xff\x03\0"}, id="a fill value whose type is longer than the list"),
        pytest.param("/chunked", "creation", {b"pline\0\x04\x01\x02": b"pline\0\x04\x01\xff"}, id="255 filters"),
        pytest.param("/chunked", "creation", {b"layout\0\x02\x02": b"layout\0\x02\xff"}, id="chunks of 255 dimensions"),
        pytest.param("/chunked", "creation", {b"layout\0": b"layouts"}, id="a name that does not end"),
        pytest.param("/chunked", "creation", {b"\0\x05": b"\0\x07"}, id="a list of another class"),
        pytest.param("/group", "creation", {b"\0\x09": b"\0\x05"}, id="a list of a dataset for a group"),
        pytest.param("/named", "creation", {b"\0\x0b": b"\0\x04"}, id="a list of file access for a datatype"),
        pytest.param("/opaque", "type", {b"\x15\0": b"\x15\xff"}, id="a tag of 255 bytes"),
        pytest.param("/record", "type", {b"\x26\x03": b"\x26\xff"}, id="a compound of 255 members"),
        pytest.param("/enum", "type", {b"\x18\x02": b"\x18\xff"}, id="an enumeration of 255 names"),
        pytest.param("/sequence", "type", {b"\x19\0\0\0\x10": b"\x19\0\0\0\x04"}, id="a sequence of 4 bytes"),
        pytest.param("/text", "type", {b"\x10\0\0\0\x01\0\0\0\0\0\x08\0": b"\x10\0\0\0\x08\0\0\0\0\0\x40\0"}, id="text of numbers"),
        pytest.param("/reference", "type", {b"\x17\0": b"\x17\x02"}, id="a short reference"),
    ],
)
def test_what_would_crash_hdf5_is_refused_with_a_sentence(
    container: pathlib.Path, plugins: pathlib.Path, path: str, column: str, change: dict[bytes, bytes]
) -> None:
    changed(container, path, column, change)
    found = read(container, plugins)
    assert any(error and "in the container is damaged" in error for error in found.values()), found


@pytest.mark.slow
def test_no_change_of_encoded_bytes_crashes_a_program(container: pathlib.Path, plugins: pathlib.Path) -> None:
    done = run(script(MUTATE, container, 0, MUTATIONS), plugins)
    assert done.returncode == 0, (done.returncode, "mutation " + done.stderr.splitlines()[-1] if done.stderr else "")
    refused, read_all = map(int, done.stdout.split())
    assert refused + read_all == MUTATIONS and refused > MUTATIONS // 3 and read_all > MUTATIONS // 50, (refused, read_all)


def test_a_file_of_another_program_may_be_cut_while_it_is_read(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "table.arrow"
    table = pa.table({"a": pa.array(range(400_000), pa.int32()), "b": pa.array(range(400_000), pa.float64())})
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    asked = """
import os, sys, h5py
f = h5py.File(sys.argv[1], "r")
found = f["table"]
assert found[5].tolist() == (5, 5.0) and found[399_999].tolist() == (399_999, 399_999.0)
os.truncate(sys.argv[1], 20_000)
try:
    print(found[300_000:])
except OSError as error:
    print(error)
"""
    done = run(script(asked, path), plugins)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "Can't synchronously read data" in done.stdout
