"""What files of other people's packages taught us (docs/conformance.md), on files made here."""

from __future__ import annotations

import pathlib
import struct
import zlib

import h5py
import netCDF4
import numpy as np
import pytest

import hyperslab as hs


@pytest.mark.parametrize("filters", ["gzip", "gzip and shuffle"])
def test_a_stored_chunk_may_end_where_its_dataset_ends(tmp_path: pathlib.Path, filters: str) -> None:
    path = tmp_path / "a.h5"
    values = np.arange(10, dtype="i4")
    with h5py.File(path, "w") as f:
        d = f.create_dataset("d", (10,), "i4", chunks=(8,), compression="gzip", shuffle="shuffle" in filters)
        wide = f.create_dataset("wide", (3, 5), "i4", maxshape=(4, 8), chunks=(4, 8), compression="gzip")

        def packed(part: np.ndarray) -> bytes:
            data = part.tobytes()
            if "shuffle" in filters:
                data = np.frombuffer(data, "u1").reshape(-1, 4).T.tobytes()
            return zlib.compress(data)

        d.id.write_direct_chunk((0,), packed(values[:8]))
        d.id.write_direct_chunk((8,), packed(values[8:]))  # 2 elements of a chunk of 8
        whole = np.zeros((4, 8), "i4")
        whole[:3, :5] = np.arange(15).reshape(3, 5)
        wide.id.write_direct_chunk((0, 0), zlib.compress(whole.tobytes()[: (2 * 8 + 5) * 4]))
    f = hs.open(path)
    assert f["d"][...].tolist() == values.tolist()
    assert f["wide"][...].tolist() == np.arange(15).reshape(3, 5).tolist()


def test_a_stored_chunk_that_ends_inside_its_dataset_is_an_error(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        d = f.create_dataset("d", (10,), "i4", chunks=(8,), compression="gzip")
        d.id.write_direct_chunk((0,), zlib.compress(bytes(8 * 4)))
        d.id.write_direct_chunk((8,), zlib.compress(bytes(7)))  # 8 bytes belong to the dataset
    with pytest.raises(hs.Error, match="a chunk decodes to 7 bytes where 32 belong"):
        hs.open(path)["d"][...]


def test_a_classic_name_ends_at_its_nul(tmp_path: pathlib.Path) -> None:
    """Early writers counted the closing NUL into the length of a name."""

    def name(text: bytes) -> bytes:
        return struct.pack(">I", len(text)) + text + bytes(-len(text) % 4)

    dimensions = struct.pack(">II", 10, 1) + name(b"xx\0") + struct.pack(">I", 2)
    attributes = struct.pack(">II", 12, 1) + name(b"note\0\0") + struct.pack(">II", 2, 2) + b"ab\0\0"
    before = b"CDF\x01" + struct.pack(">I", 0) + dimensions + attributes
    variable = struct.pack(">II", 11, 1) + name(b"yy\0") + struct.pack(">II", 1, 0) + struct.pack(">II", 0, 0)
    begin = len(before) + len(variable) + 12
    path = tmp_path / "a.nc"
    path.write_bytes(before + variable + struct.pack(">III", 4, 8, begin) + struct.pack(">ii", 7, -8))
    f = hs.open(path)
    with netCDF4.Dataset(path) as theirs:
        assert f.keys() == list(theirs.variables) == ["yy"]
        assert list(f.attrs) == theirs.ncattrs() == ["note"]
        assert f["yy"].dims == theirs["yy"].dimensions == ("xx",)
        assert f["yy"][...].tolist() == theirs["yy"][...].tolist() == [7, -8]


@pytest.mark.parametrize("rows", [slice(0, 2), slice(1, 6, 2)], ids=["one block", "a block a row"])
def test_a_hyperslab_that_is_stored_as_blocks_maps_by_axes(tmp_path: pathlib.Path, rows: slice) -> None:
    """Counted one by one, as many elements would be refused."""
    width = 1 << 26
    count = len(range(rows.start, rows.stop, rows.step or 1))
    with h5py.File(tmp_path / "source.h5", "w") as f:
        source = f.create_dataset("s", (count, width), "u1", chunks=(1, 1 << 16), fillvalue=5)
        source[:, :3] = np.arange(3 * count).reshape(count, 3)
    layout = h5py.VirtualLayout((6, width), "u1")
    layout[rows, :] = h5py.VirtualSource(tmp_path / "source.h5", "s", (count, width))
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f.create_virtual_dataset("d", layout, fillvalue=9)
    with h5py.File(path) as theirs:
        assert hs.open(path)["d"][:, :5].tolist() == theirs["d"][:, :5].tolist()
        assert hs.open(path)["d"][::2, width - 2:].tolist() == theirs["d"][::2, width - 2:].tolist()


@pytest.mark.parametrize("maxshape", [(None,), (700_000,), (None, None)], ids=["extensible array", "fixed array", "B-tree"])
def test_hundreds_of_thousands_of_chunks_are_all_found(tmp_path: pathlib.Path, maxshape: tuple[int | None, ...]) -> None:
    count = 300_000
    shape = (count,) if len(maxshape) == 1 else (count // 1000, 1000)
    values = (np.arange(count) % 251 + 1).astype("u1").reshape(shape)
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        # Pages of a chunk locator that were never written lie between others.
        d = f.create_dataset("x", shape, "u1", chunks=(1,) * len(shape), maxshape=maxshape)
        for start in (0, 2, 5, 7, 8):
            part = slice(start * shape[0] // 10, (start + 1) * shape[0] // 10)
            d[part] = values[part]
    with h5py.File(tmp_path / "a.h5") as f:
        np.testing.assert_array_equal(hs.open(tmp_path / "a.h5")["x"][...], f["x"][...])
