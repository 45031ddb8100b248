"""Every value of generated files equals h5py's: type × layout × chunk locator × filter × libver."""

from __future__ import annotations

import os
import pathlib
import pickle

import h5py
import hdf5plugin
import hyperslab as hs
import numpy as np
import pytest
from compare import compare
from library_calls import share_messages

RNG = np.random.default_rng(20)


def values(kind: str, count: int) -> np.ndarray:
    """Deterministic values with the extremes of the type in front."""
    if kind == "bool":
        return np.arange(count) % 3 == 0
    if kind == "enum":
        return (np.arange(count) % 3).astype("i2")
    if kind.startswith("S"):
        return np.array([b"x" * (i % 6) for i in range(count)], dtype=kind)
    if kind == "opaque":
        return np.frombuffer(RNG.bytes(count * 5), dtype="V5")
    if kind == "compound":
        out = np.zeros(
            count,
            dtype={
                "names": ["a", "b", "s", "in"],
                "formats": ["<i4", ">f8", "S3", [("u", "u1"), ("v", "<f4", (2,))]],
                "offsets": [0, 8, 16, 20],
                "itemsize": 40,
            },
        )
        out["a"], out["b"], out["s"] = np.arange(count), RNG.normal(size=count), b"ab"
        out["in"]["u"], out["in"]["v"] = np.arange(count) % 256, RNG.normal(size=(count, 2))
        return out
    dtype = np.dtype(kind)
    if dtype.kind == "c":
        return (RNG.normal(size=count) + 1j * RNG.normal(size=count)).astype(dtype)
    if dtype.kind == "f":
        out = RNG.normal(size=count).astype(dtype)
        out[:5] = [np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).tiny][: min(5, count)]
        return out
    info = np.iinfo(dtype)
    out = RNG.integers(info.min, info.max, size=count, dtype=dtype.newbyteorder("="), endpoint=True).astype(dtype)
    out[:2] = [info.min, info.max]
    return out


KINDS = [f"{order}{kind}" for order in "<>" for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")]
KINDS += ["bool", "enum", "S5", "opaque", "compound"]

LAYOUTS = {
    "contiguous": {},
    "single chunk": {"chunks": (12, 10)},
    "fixed array": {"chunks": (5, 3)},
    "fixed array below its maximum": {"chunks": (5, 3), "maxshape": (40, 25)},
    "extensible array": {"chunks": (5, 3), "maxshape": (None, 25)},
    "extensible array, second dimension": {"chunks": (5, 3), "maxshape": (12, None)},
    "version-2 B-tree": {"chunks": (5, 3), "maxshape": (None, None)},
}

FILTERS = {
    "none": {},
    "deflate": {"compression": "gzip"},
    "shuffle and deflate": {"compression": "gzip", "shuffle": True},
    "fletcher32": {"fletcher32": True},
    "all of them": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf"},
    "zstd": hdf5plugin.Zstd(),
    "lz4": hdf5plugin.LZ4(),
}


def dtype_of(kind: str) -> object:
    return h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 2}, basetype="i2") if kind == "enum" else None


def check(path: pathlib.Path) -> None:
    results = list(compare(str(path)))
    assert len(results) > 1
    assert [r for r in results if r.outcome != "equal"] == []


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_type_under_every_chunk_locator_equals_h5py(tmp_path: pathlib.Path, libver: str, layout: str) -> None:
    path = tmp_path / "types.h5"
    with h5py.File(path, "w", libver=libver) as f:
        for kind in KINDS:
            data = values(kind, 120).reshape(12, 10)
            f.create_dataset(kind.replace("<", "le_").replace(">", "be_"), data=data, dtype=dtype_of(kind), **LAYOUTS[layout])
    check(path)


def odd_types() -> dict[str, h5py.h5t.TypeID]:
    """Numbers with layouts of their own: sign, exponent and mantissa elsewhere, or fewer bits than bytes."""

    def floating(base: h5py.h5t.TypeFloatID, size: int, fields: tuple[int, ...], bias: int, precision: int) -> h5py.h5t.TypeID:
        kind = base.copy()
        kind.set_fields(*fields)
        kind.set_precision(precision)
        kind.set_size(size)
        kind.set_ebias(bias)
        return kind

    def seventeen_bits(base: h5py.h5t.TypeIntegerID) -> h5py.h5t.TypeID:
        kind = base.copy()
        kind.set_precision(17)
        kind.set_offset(3)
        return kind

    t = h5py.h5t
    return {
        "bfloat16": floating(t.IEEE_F32LE, 2, (15, 7, 8, 0, 7), 127, 16),
        "20 bits in 4 bytes": floating(t.IEEE_F32LE, 4, (19, 13, 6, 0, 13), 31, 20),
        "3 bytes": floating(t.IEEE_F32LE, 3, (23, 16, 7, 0, 16), 63, 24),
        "3 bytes, big endian": floating(t.IEEE_F32BE, 3, (23, 16, 7, 0, 16), 63, 24),
        "6 bytes": floating(t.IEEE_F64LE, 6, (47, 36, 11, 0, 36), 1023, 48),
        "6 bytes, big endian": floating(t.IEEE_F64BE, 6, (47, 40, 7, 0, 40), 63, 48),
        "1 byte": floating(t.IEEE_F16LE, 1, (7, 3, 4, 0, 3), 7, 8),
        "long double": t.NATIVE_LDOUBLE,
        "17 bits": seventeen_bits(t.STD_I32LE),
        "17 bits, big endian": seventeen_bits(t.STD_I32BE),
        "17 bits, unsigned": seventeen_bits(t.STD_U32LE),
    }


def test_numbers_with_layouts_of_their_own_equal_h5py(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "odd.h5"
    floats = np.array([0, 1, -1, 1.5, np.pi, -2.75, 1e-3, 100, 1e-9, 60000, np.inf, -np.inf, np.nan, -0.0])
    integers = np.array([0, 1, -1, 5, 65535, -65536, 1000, -777])
    with h5py.File(path, "w") as f:
        for name, kind in odd_types().items():
            values = floats if kind.get_class() == h5py.h5t.FLOAT else integers
            dataset = h5py.h5d.create(f.id, name.encode(), kind, h5py.h5s.create_simple((len(values),)))
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    check(path)
    f = hs.open(path)
    with h5py.File(path) as theirs:
        for name in odd_types():
            assert f[name].dtype == theirs[name].dtype
            if name != "long double":
                np.testing.assert_array_equal(f.table(f"/{name}").to_arrow()[name].to_numpy(), theirs[name][:])


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("filters", FILTERS)
def test_every_filter_under_every_chunk_locator_equals_h5py(tmp_path: pathlib.Path, libver: str, filters: str) -> None:
    path = tmp_path / "filters.h5"
    with h5py.File(path, "w", libver=libver) as f:
        for layout, options in LAYOUTS.items():
            if "chunks" not in options:
                continue
            for kind in ("<i4", ">f8", "compound", "S5"):
                data = values(kind, 120).reshape(12, 10)
                f.create_dataset(f"{layout} {kind}", data=data, **options, **FILTERS[filters])
    check(path)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_variable_length_values_and_attributes_equal_h5py(tmp_path: pathlib.Path, libver: str) -> None:
    path = tmp_path / "heap.h5"
    text = np.array(["", "a", "äöü", "x" * 5000] * 30, dtype=object)
    with h5py.File(path, "w", libver=libver) as f:
        f.create_dataset("text", data=text, dtype=h5py.string_dtype())
        f.create_dataset("packed text", data=text, dtype=h5py.string_dtype(), chunks=(7,), compression="gzip", shuffle=True)
        f.create_dataset("ascii", data=[b"one", b"two"], dtype=h5py.string_dtype("ascii"))
        sequences = f.create_dataset("sequences", (6,), dtype=h5py.vlen_dtype("<i4"), chunks=(4,), compression="gzip")
        for i in range(5):
            sequences[i] = np.arange(i)
        f.create_dataset("mixed", data=np.array([(1, "a"), (2, "bb")], dtype=[("n", "i4"), ("t", h5py.string_dtype())]))
        f["null"] = h5py.Empty("f4")
        f["scalar"], f["scalar text"] = 4.5, "text"
        f.create_dataset("no rows", (0, 4), dtype="f4", maxshape=(None, 4))
        f.create_dataset("filled", (5, 5), dtype="f4", fillvalue=7.5, chunks=(2, 2))
        f["filled"][0, 0] = 1
        f.create_dataset("late", (100,), dtype="i4", fillvalue=-1)
        f["type"] = np.dtype([("a", "i4"), ("b", "f8")])
        f.create_dataset("of type", (3,), dtype=f["type"])
        f["reference"] = f["text"].ref
        for i in range(40):
            f["text"].attrs[f"attribute {i}"] = np.arange(i % 5) if i % 2 else f"text {i}"
        f["text"].attrs["long"] = np.zeros(7000)
        f["text"].attrs["list"] = ["a", "bc"]
        f["text"].attrs["empty"] = h5py.Empty("i4")
    check(path)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("user_block", [0, 512, 2048])
def test_groups_and_links_equal_h5py(tmp_path: pathlib.Path, libver: str, user_block: int) -> None:
    path = tmp_path / "groups.h5"
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = 5
    with h5py.File(path, "w", libver=libver, userblock_size=user_block) as f:
        for i in range(1000):
            f.create_group(f"many/member {i}")
        f["many/member 3/again"] = f["many"]
        f["few/a/b/c"] = np.arange(3)
        f["soft"] = h5py.SoftLink("/few/a/b/c")
        f["broken"] = h5py.SoftLink("/nowhere")
        f["external"] = h5py.ExternalLink("other.h5", "/x")
        f["ünïcode"] = 1
        f.create_group("ordered", track_order=True)["z"] = 1
    check(path)
    f = hs.open(path)
    assert f["soft"][1] == 1
    assert f["external"][()] == 5
    with pytest.raises(hs.NotFoundError, match="nowhere"):
        f["broken"]


@pytest.mark.parametrize("kind", ["fixed", "extensible", "btree2", "btree1"])
def test_thousands_of_chunks_are_all_found(tmp_path: pathlib.Path, kind: str) -> None:
    path = tmp_path / "chunks.h5"
    options = {
        "fixed": ("latest", None, "gzip"),
        "extensible": ("latest", (None,), None),
        "btree2": ("latest", (None, None), "lzf"),
        "btree1": ("earliest", (None,), None),
    }
    libver, maxshape, compression = options[kind]
    with h5py.File(path, "w", libver=libver) as f:
        data = np.arange(9000, dtype="i4")
        if kind == "btree2":
            f.create_dataset("x", data=data.reshape(90, 100), chunks=(1, 2), maxshape=maxshape, compression=compression)
        else:
            f.create_dataset("x", data=data, chunks=(2,), maxshape=maxshape, compression=compression)
            sparse = f.create_dataset("sparse", (200_000,), dtype="i2", chunks=(10,), maxshape=maxshape, fillvalue=3)
            sparse[::50_000] = 1
            sparse[123_456] = 9
    check(path)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_messages_that_objects_share_are_found(tmp_path: pathlib.Path, libver: str) -> None:
    path = tmp_path / "shared.h5"
    creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    share_messages(creation)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    version = h5py.h5f.LIBVER_EARLIEST if libver == "earliest" else h5py.h5f.LIBVER_LATEST
    access.set_libver_bounds(version, h5py.h5f.LIBVER_LATEST)
    with h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, creation, access)) as f:
        kind = np.dtype([("a", "i4"), ("b", "f8", (3,)), ("text", "S12")])
        for i in range(30):
            d = f.create_dataset(f"d{i}", (5, 7), kind, chunks=(2, 3), compression="gzip", fillvalue=np.zeros((), kind))
            d[i % 5] = np.array((i, [i, 1, 2], b"x"), kind)
            for k in range(20):
                d.attrs[f"attribute {k}"] = np.arange(10) + k
    assert b"SMTB" in path.read_bytes()
    check(path)


@pytest.mark.parametrize("driver", ["family", "split"])
def test_files_in_several_members_open_by_the_first(tmp_path: pathlib.Path, driver: str) -> None:
    name = str(tmp_path / ("part%03d.h5" if driver == "family" else "part"))
    options = {"driver": "family", "memb_size": 4096} if driver == "family" else {"driver": "split"}
    with h5py.File(name, "w", **options) as f:
        f.create_dataset("x", data=np.arange(3000).reshape(30, 100), chunks=(7, 30), compression="gzip")
        f.create_dataset("y", data=np.random.default_rng(1).normal(size=2000))
        f["g/text"] = ["a", "bc"]
        f["y"].attrs["units"] = "K"
    members = sorted(p.name for p in tmp_path.iterdir())
    assert len(members) > 5 if driver == "family" else members == ["part-m.h5", "part-r.h5"]
    ours = hs.open(tmp_path / members[0])
    with h5py.File(name, "r", **options) as theirs:
        for path in ("x", "y", "g/text"):
            np.testing.assert_array_equal(ours[path][...], theirs[path][...])
        assert ours["y"].attrs["units"] == "K"
    with pytest.raises(hs.Error, match="first member|not an HDF5"):
        hs.open(tmp_path / members[1])
    with pytest.raises(hs.UnsupportedError, match="several files"):
        hs.index(tmp_path / members[0], "/y")
    # Splits, pickles, comparisons and copies know the version of all members.
    first, pickled = tmp_path / members[0], pickle.dumps(ours)
    splits = ours.table("/y").splits(2)
    assert sum(split.read().num_rows for split in splits) == 2000
    np.testing.assert_array_equal(pickle.loads(pickled)["y"][...], ours["y"][...])
    assert hs.diff(first, first).equal
    hs.repack(first, tmp_path / "whole.h5")
    assert hs.diff(first, tmp_path / "whole.h5").equal
    # A member of the same length and of an older time takes the place of another.
    other = tmp_path / members[len(members) // 2]
    os.utime(other, ns=(0, 0))
    with pytest.raises(hs.ConflictError):
        splits[0].read()
    with pytest.raises(hs.ConflictError):
        pickle.loads(pickled)
    other.unlink()
    with pytest.raises(hs.Error):
        hs.open(first)["y"][...]
