"""N-bit, written: what HDF5 reads, byte by byte what it writes, and integers of fewer bits than their bytes have."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest


def narrow(dtype: str, precision: int, offset: int) -> h5py.h5t.TypeIntegerID:
    """The library's own type of integers with fewer bits."""
    kind = h5py.h5t.py_create(np.dtype(dtype)).copy()
    kind.set_precision(precision)
    kind.set_offset(offset)
    return kind


def theirs(file: h5py.File, name: str, kind: Any, data: np.ndarray, chunks: tuple[int, ...]) -> None:
    """The same dataset as the library makes it."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk(chunks)
    plist.set_filter(5, h5py.h5z.FLAG_OPTIONAL)
    dataset = h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple(data.shape), plist)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, data)


def chunks_of(dataset: h5py.Dataset) -> list[tuple[Any, ...]]:
    """Place, filter mask and bytes of each chunk."""
    infos = [dataset.id.get_chunk_info(index) for index in range(dataset.id.get_num_chunks())]
    return sorted((info.chunk_offset, *dataset.id.read_direct_chunk(info.chunk_offset)) for info in infos)


def bits(dtype: str) -> Iterator[tuple[int, int]]:
    """Precision and offset of all integers that HDF5 takes, or a choice of them."""
    width = 8 * np.dtype(dtype).itemsize
    half = width // 2 + 1 if width > 8 else 1
    yield from sorted({(width, 0), (width - 1, 0), (width - 1, 1), (half, 0), (1, width - 1), (half, width - half), (width - 3, 2), (3, half)})


def assert_same(one: h5py.Dataset, other: h5py.Dataset) -> None:
    assert one[...].tobytes() == other[...].tobytes() and one.id.get_type() == other.id.get_type(), one.name
    assert one.id.get_create_plist().get_filter(0) == other.id.get_create_plist().get_filter(0), one.name
    assert chunks_of(one) == chunks_of(other), one.name


@pytest.mark.parametrize("dtype", [order + kind for order in "<>" for kind in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8")])
def test_integers_of_fewer_bits_are_what_the_library_makes_of_them(tmp_path: pathlib.Path, dtype: str) -> None:
    rng = np.random.default_rng(5)
    values = {}
    with hs.create(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5", "w") as g:
        for precision, offset in bits(dtype):
            signed = np.dtype(dtype).kind == "i"
            low, high = (-1 << precision - 1, (1 << precision - 1) - 1) if signed else (0, (1 << precision) - 1)
            for shape, chunks in (((50,), (16,)), ((13, 9), (5, 4))):
                name = f"{precision}@{offset} {shape}"
                values[name] = rng.integers(low, high, shape, np.dtype(dtype).newbyteorder("="), endpoint=True).astype(dtype)
                values[name].reshape(-1)[:2] = low, high
                made = f.create_dataset(
                    name, data=values[name], dtype=hs.integer_dtype(dtype, precision, offset), chunks=chunks, compression="nbit", fillvalue=1 if high > 0 else 0
                )
                assert made.compression == "nbit" and made.compression_opts is None and np.array_equal(made[...], values[name])
                assert made.fillvalue == (1 if high > 0 else 0)
                theirs(g, name, narrow(dtype, precision, offset), values[name], chunks)
    ours = hs.open(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5") as g:
        for name, expected in values.items():
            assert np.array_equal(f[name][...], expected) and np.array_equal(ours[name][...], expected), name
            if f[name].shape == (50,):
                assert f[name].id.get_type() == g[name].id.get_type()
            assert f[name].id.get_create_plist().get_filter(0) == g[name].id.get_create_plist().get_filter(0), name
            # Chunks that reach past the end hold fill values there, which differ.
            first = (0,) * f[name].ndim
            assert f[name].id.read_direct_chunk(first) == g[name].id.read_direct_chunk(first), name
    with h5py.File(tmp_path / "x.h5", "r+") as f:
        name, expected = next((name, value) for name, value in values.items() if value.shape == (50,))
        f[name][3:6] = expected[:3]
        assert np.array_equal(f[name][...], [*expected[:3], *expected[:3], *expected[6:]])


@pytest.mark.parametrize(
    "dtype",
    [
        "<f4",
        ">f8",
        "<f2",
        "<c8",
        "S5",
        "V7",
        "?",
        [("a", "<i4"), ("b", ">f8")],
        [("a", "<i2", (2, 2)), ("s", "S3")],
        h5py.enum_dtype({"A": 0, "B": 1}, "i2"),
    ],
    ids=str,
)
def test_other_types_pass_through(tmp_path: pathlib.Path, dtype: Any) -> None:
    dtype = np.dtype(dtype)
    values = np.random.default_rng(3).integers(0, 2, 40 * dtype.itemsize, "u1").view(dtype) if dtype.kind not in "?f" else (np.arange(40) % 2).astype(dtype)
    if dtype.metadata:
        values = (np.arange(40) % 2).astype(dtype)
    with hs.create(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5", "w") as g:
        f.create_dataset("x", data=values, dtype=dtype, chunks=(10,), compression="nbit", fletcher32=True)
        f.create_dataset("y", data=values, dtype=dtype, chunks=(10,), compression="nbit")
        theirs(g, "y", h5py.h5t.py_create(dtype, logical=True), values, (10,))
    with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5") as g:
        assert f["x"].fletcher32 and f["x"][...].tobytes() == values.tobytes() == hs.open(tmp_path / "x.h5")["x"][...].tobytes()
        assert_same(f["y"], g["y"])


def test_narrow_integers_in_compounds_and_arrays(tmp_path: pathlib.Path) -> None:
    dtype = np.dtype([("a", hs.integer_dtype("<u4", 20, 3)), ("b", hs.integer_dtype(">i2", 9), (2, 2)), ("c", "u1"), ("s", "S3")])
    plain = np.dtype([("a", "<u4"), ("b", ">i2", (2, 2)), ("c", "u1"), ("s", "S3")])
    rng = np.random.default_rng(4)
    values = np.zeros(50, plain)
    values["a"], values["b"], values["c"], values["s"] = rng.integers(0, 1 << 20, 50), rng.integers(-256, 256, (50, 2, 2)), rng.integers(0, 256, 50), b"xyz"
    kind = h5py.h5t.create(h5py.h5t.COMPOUND, plain.itemsize)
    members = {
        "a": narrow("<u4", 20, 3),
        "b": h5py.h5t.array_create(narrow(">i2", 9, 0), (2, 2)),
        "c": h5py.h5t.STD_U8LE,
        "s": h5py.h5t.py_create(np.dtype("S3")),
    }
    for name, member in members.items():
        kind.insert(name.encode(), plain.fields[name][1], member)
    with hs.create(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5", "w") as g:
        made = f.create_dataset("x", data=values, dtype=dtype, chunks=(16,), compression="nbit")
        theirs(g, "x", kind, values, (16,))
        assert made[...].tobytes() == values.tobytes()
        for field, value, words in (("a", 1 << 20, "does not fit 20 bits"), ("b", 256, "hold -256 to 255")):
            with pytest.raises(hs.InvalidInputError, match=words):
                made[field, 3] = value
        made["c", :] = values["c"]
        many = f.create_dataset("sequences", (2,), h5py.vlen_dtype(hs.integer_dtype("u2", 11, 4)))
        many[0] = np.array([1, 2047])
        with pytest.raises(hs.InvalidInputError, match="does not fit 11 bits"):
            many[1] = np.array([2048])
        f.attrs["a"] = np.array([1, 5, 4095], hs.integer_dtype("u2", 12))
    with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5") as g:
        assert_same(f["x"], g["x"])
        assert f["sequences"][0].tolist() == [1, 2047] and f.attrs["a"].tolist() == [1, 5, 4095]
    ours = hs.open(tmp_path / "x.h5")
    assert ours["x"][...].tobytes() == values.tobytes() and ours["sequences"][0].tolist() == [1, 2047] and ours.attrs["a"].tolist() == [1, 5, 4095]


def test_values_that_need_more_bits_are_refused(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("x", (4,), hs.integer_dtype("i2", 12), compression="nbit")
        for values in (2048, [0, -2049, 0, 0], np.ma.masked_equal([1, 2, 3, 5000], 1).filled(0), 1e4):
            with pytest.raises(hs.InvalidInputError, match="does not fit 12 bits, which hold -2048 to 2047"):
                x[...] = values
        with pytest.raises(hs.InvalidInputError, match="does not fit int16"):
            x[0] = 40000
        with pytest.raises(hs.InvalidInputError, match="does not fit 12 bits"):
            f.create_dataset("y", (4,), hs.integer_dtype("i2", 12), fillvalue=-5000)
        x[...] = [-2048, 2047, 0, -1]
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["x"][...].tolist() == [-2048, 2047, 0, -1]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("f4", 12), "give an integer dtype"),
        (("i2", 0), "0 bits"),
        (("i2", 17), "17 bits from bit 0 on in an integer of 16 bits"),
        (("i2", 12, 5), "12 bits from bit 5"),
        (("i4", 12), "give dtype 'i2'"),
        (("u8", 3, 2), "give dtype 'u1'"),
        (("i4", 1.5), "whole numbers"),
        (("i2", 9, -1), "bit -1"),
    ],
    ids=str,
)
def test_bits_that_hdf5_does_not_read_are_refused(arguments: Any, words: str) -> None:
    with pytest.raises(hs.Error, match=words):
        hs.integer_dtype(*arguments)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"shuffle": True}, "leave shuffle and scaleoffset out"),
        ({"scaleoffset": 3}, "leave shuffle and scaleoffset out"),
        ({"compression_opts": 3}, "nbit takes none"),
    ],
    ids=str,
)
def test_options_that_nbit_does_not_take(tmp_path: pathlib.Path, options: dict[str, Any], words: str) -> None:
    with hs.create(tmp_path / "x.h5") as f, pytest.raises(hs.InvalidInputError, match=words):
        f.create_dataset("x", (10,), "i4", compression="nbit", **options)


def test_a_number_below_10_is_a_level_of_gzip_as_in_h5py(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5", "w") as g:
        for file in (f, g):
            x = file.create_dataset("x", data=np.arange(100), compression=5)
            assert (x.compression, x.compression_opts) == ("gzip", 5)


def test_copies_keep_bits_and_filter(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as g:
        theirs(g, "x", narrow("<i4", 20, 5), np.arange(-50, 50, dtype="<i4"), (30,))
    with hs.create(tmp_path / "y.h5") as f:
        made = f.create_dataset("x", data=np.arange(-50, 50), dtype=hs.integer_dtype("<i4", 20, 5), chunks=(30,), compression="nbit")
        f.copy("x", "copy")
        f.create_dataset_like("like", made)[...] = made[...]
        f.create_dataset_like("of a file", hs.open(tmp_path / "x.h5")["x"], compression="nbit", chunks=(30,))[...] = made[...]
        f["type"] = hs.integer_dtype("<i4", 20, 5)
        f.create_dataset("committed", data=np.arange(-50, 50), dtype=f["type"], chunks=(30,), compression="nbit")
    with h5py.File(tmp_path / "x.h5") as g, h5py.File(tmp_path / "y.h5") as f:
        for name in ("x", "copy", "like", "of a file"):
            assert_same(f[name], g["x"])
        assert f["committed"][...].tolist() == list(range(-50, 50)) and chunks_of(f["committed"]) == chunks_of(g["x"])


def test_tables_are_appended_to_columns_of_fewer_bits(tmp_path: pathlib.Path) -> None:
    """What another program made: the rows that we add are moved to their bits, or refused."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as g:
        for name, compressed in (("a", True), ("b", False)):
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk((3,))
            if compressed:
                plist.set_filter(5, h5py.h5z.FLAG_OPTIONAL)
            dataset = h5py.h5d.create(g.id, name.encode(), narrow("<i2", 12, 3), h5py.h5s.create_simple((4,), (h5py.h5s.UNLIMITED,)), plist)
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 2, 3, -4], "<i2"))
    columns = {name: np.array([5, -6, 2047, -2048], "i2") for name in "ab"}
    assert hs.write_table(pa.table(columns), path, mode="a") == 4
    with pytest.raises(hs.InvalidInputError, match="value 2048 does not fit 12 bits"):
        hs.write_table(pa.table({name: np.array([2048], "i2") for name in "ab"}), path, mode="a")
    with h5py.File(path) as g:
        ours = hs.open(path)
        for name in "ab":
            assert g[name][...].tolist() == ours[name][...].tolist() == [1, 2, 3, -4, 5, -6, 2047, -2048]
            assert g[name].id.get_type() == narrow("<i2", 12, 3)


def test_tables_are_not_appended_to_floats_of_another_layout(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    other = h5py.h5t.IEEE_F32LE.copy()
    other.set_ebias(120)
    with h5py.File(path, "w") as g:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((3,))
        dataset = h5py.h5d.create(g.id, b"a", other, h5py.h5s.create_simple((2,), (h5py.h5s.UNLIMITED,)), plist)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 2.5], "f4"))
    with pytest.raises(hs.UnsupportedError, match="floats of 4 bytes with a layout of their own"):
        hs.write_table(pa.table({"a": np.array([3.5], "f4")}), path, mode="a")
    assert hs.open(path)["a"][...].tolist() == [1, 2.5]


@pytest.mark.parametrize("rows", [False, True])
def test_parallel_writes_and_fused_files_keep_bits_and_filter(tmp_path: pathlib.Path, rows: bool) -> None:
    values = np.random.default_rng(2).integers(-2048, 2048, 60)
    plan = hs.WritePlan(tmp_path / "out.h5")
    fragments = []
    for index in range(3):
        task = plan.task(index)
        part = np.s_[index * 20 : index * 20 + 20]
        where = {"rows": True} if rows else {"region": part}
        shape = (20,) if rows else values.shape
        task.create_dataset("x", shape, hs.integer_dtype("<i2", 12, 2), data=values[part], chunks=(8,), compression="nbit", **where)
        fragments.append(task.finish())
    plan.commit(fragments)
    hs.fuse(tmp_path / "out.h5", tmp_path / "one.h5")
    for name in ("out.h5", "one.h5"):
        with h5py.File(tmp_path / name) as f:
            assert np.array_equal(f["x"][...], values) and np.array_equal(hs.open(tmp_path / name)["x"][...], values)
    with h5py.File(tmp_path / "one.h5") as f:
        assert f["x"].id.get_type() == narrow("<i2", 12, 2) and f["x"].id.get_create_plist().get_filter(0)[2] == (8, 0, 8, 1, 2, 0, 12, 2)
