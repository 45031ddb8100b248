"""Filters: what h5py and hdf5plugin wrote, read by hyperslab and compared with h5py bit for bit.

Each codec is also fed damaged chunks: only our own errors may come out, and never `InternalError`.
"""

from __future__ import annotations

import itertools
import pathlib
import random
import struct
import zlib
from collections.abc import Callable, Iterable

import h5py
import hdf5plugin
import hyperslab as hs
import numpy as np
import pytest

INTEGERS = [f"{order}{kind}{size}" for order in "<>" for kind in "iu" for size in (1, 2, 4, 8) if order == "<" or size > 1]
FLOATS = ["<f4", "<f8", ">f4", ">f8"]
#: Shape and chunk: whole chunks, edge chunks, more than one dimension, a single element.
GRIDS = [((1000,), (100,)), ((1003,), (128,)), ((37, 53), (16, 20)), ((5, 9, 11), (5, 4, 11)), ((1,), (1,))]
MUTATIONS = 150


def numbers(dtype: str | np.dtype, shape: tuple[int, ...], kind: str, seed: int = 5) -> np.ndarray:
    """`smooth`, `noise` (all bits), `small`, `runs` (long runs of zeros) or `constant`."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype.kind == "f":
        values = {
            "smooth": np.cumsum(rng.normal(size=count)) * 10,
            "noise": rng.normal(size=count) * 1e3,
            "small": np.round(rng.random(count), 2),
            "runs": np.where(rng.random(count) < 0.02, rng.normal(size=count), 0),
            "constant": np.full(count, 2.5),
        }[kind]
        return values.astype(dtype).reshape(shape)
    if kind == "noise":
        return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype=dtype).reshape(shape)
    values = {
        "smooth": np.cumsum(rng.integers(-2, 3, size=count)) + 60,
        "small": rng.integers(0, 30, size=count),
        "runs": np.where(rng.random(count) < 0.02, rng.integers(0, 100, size=count), 0),
        "constant": np.full(count, 7),
    }[kind]
    return values.astype(dtype).reshape(shape)


def create(
    file: h5py.File,
    name: str,
    data: np.ndarray,
    chunks: tuple[int, ...] | None,
    configure: Callable,
    fill: object = None,
    file_type: object = None,
) -> None:
    """A chunked dataset of `data` with what `configure` sets on the creation property list."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk(chunks or data.shape)
    if fill is not None:
        plist.set_fill_value(np.asarray(fill, dtype=data.dtype))
    configure(plist)
    kind = file_type or h5py.h5t.py_create(data.dtype, logical=True)
    space = h5py.h5s.create_simple(data.shape)
    dataset = h5py.h5d.create(file.id, name.encode(), kind, space, plist)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(data))


def assert_equal(path: pathlib.Path) -> int:
    """Every dataset of the file; the number of those that really went through a filter."""
    filtered = 0
    ours = hs.open(path)
    with h5py.File(path) as theirs:
        for name, dataset in theirs.items():
            expected, found = dataset[()], ours[name][()]
            assert found.dtype == expected.dtype, name
            assert found.shape == expected.shape, name
            equal = found.tobytes() == expected.tobytes()
            assert equal, f"{name}: {found.reshape(-1)[:10]} where h5py has {expected.reshape(-1)[:10]}"
            chunks = (dataset.id.get_chunk_info(n) for n in range(dataset.id.get_num_chunks()))
            filtered += any(chunk.filter_mask == 0 for chunk in chunks)
    return filtered


def damage(path: pathlib.Path, tmp_path: pathlib.Path, mutations: int = MUTATIONS) -> None:
    """Flips, overwrites and truncates chunk bytes of each dataset and reads them."""
    rng = random.Random(11)
    original = path.read_bytes()
    with h5py.File(path) as file:
        places = [
            (name, [(c.byte_offset, c.size) for c in map(dataset.id.get_chunk_info, range(dataset.id.get_num_chunks()))]) for name, dataset in file.items()
        ]
    target = tmp_path / "damaged.h5"
    for name, chunks in places:
        for _ in range(mutations):
            data = bytearray(original)
            start, size = rng.choice(chunks)
            # Half of the damage goes to the first bytes, where the headers are.
            at = start + rng.randrange(min(size, 32) if rng.random() < 0.5 else size)
            action = rng.randrange(4)
            if action == 0:
                data[at : start + size] = bytes(start + size - at)
            elif action == 1:
                end = min(at + 4, start + size)
                data[at:end] = rng.choice([b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f"])[: end - at]
            else:
                for _ in range(rng.randrange(1, 4)):
                    data[start + rng.randrange(size)] ^= 1 << rng.randrange(8)
            target.write_bytes(data)
            try:
                hs.open(target)[name][()]
            except hs.Error as error:
                assert not isinstance(error, hs.InternalError), error
    # A chunk that ends early: the same bytes, written again with a shorter length.
    for name, _ in places:
        for keep in (0, 1, 3, 4, 11, 12, 15, 16, 20, 21, 22, 30, 50):
            target.write_bytes(original)
            with h5py.File(target, "r+") as file:
                dataset = file[name]
                mask, stored = dataset.id.read_direct_chunk((0,) * dataset.ndim)
                if keep >= len(stored):
                    continue
                dataset.id.write_direct_chunk((0,) * dataset.ndim, bytes(stored[: max(keep, 1)]), mask)
            try:
                hs.open(target)[name][()]
            except hs.Error as error:
                assert not isinstance(error, hs.InternalError), error


def with_filter(number: int, parameters: Iterable[int] = ()) -> Callable:
    return lambda plist: plist.set_filter(number, h5py.h5z.FLAG_OPTIONAL, tuple(parameters))


# nbit


def integer(base: str, precision: int, offset: int) -> h5py.h5t.TypeIntegerID:
    kind = h5py.h5t.py_create(np.dtype(base)).copy()
    kind.set_precision(precision)
    kind.set_offset(offset)
    return kind


def widen(path: pathlib.Path, kinds: Iterable[h5py.h5t.TypeIntegerID]) -> None:
    """Gives numbers with fewer bits all bits, in the file's datatype messages only.

    The filter's parameters stay, so that both readers show what the filter makes, and not what a
    conversion of datatypes makes of it.
    """
    data = path.read_bytes()
    for kind in kinds:
        wide = kind.copy()
        wide.set_offset(0)
        wide.set_precision(kind.get_size() * 8)
        narrow_message, wide_message = kind.encode()[2:], wide.encode()[2:]
        assert len(narrow_message) == len(wide_message) == 12
        assert narrow_message in data
        data = data.replace(narrow_message, wide_message)
    path.write_bytes(data)


@pytest.mark.parametrize("shape, chunks", GRIDS)
def test_nbit_of_numbers(tmp_path: pathlib.Path, shape: tuple[int, ...], chunks: tuple[int, ...]) -> None:
    path = tmp_path / "nbit.h5"
    narrow = []
    with h5py.File(path, "w") as file:
        for dtype in INTEGERS:
            bits = np.dtype(dtype).itemsize * 8
            half = bits // 2 + 1  # libhdf5 makes no number that would fit in half the bytes
            for precision, offset in {(bits, 0), (bits - 1, 0), (bits - 1, 1), (half, 0), (half, 1), (half, bits - half), (bits - 3, 2)}:
                kind = integer(dtype, precision, offset)
                narrow += [kind] if precision < bits else []
                create(file, f"{dtype} {precision}@{offset}", numbers(dtype, shape, "noise"), chunks, with_filter(5), file_type=kind)
        for dtype in FLOATS:
            create(file, f"{dtype}", numbers(dtype, shape, "smooth"), chunks, with_filter(5))
    widen(path, narrow)
    assert assert_equal(path) > 80


def test_nbit_of_compounds_and_arrays(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "nbit.h5"
    inner = [("x", ">u2"), ("y", "<f4"), ("s", "S5")]
    types = {
        "compound": np.dtype([("a", "<i4"), ("b", ">f8"), ("c", "u1")]),
        "aligned": np.dtype([("a", "i1"), ("b", "<i8"), ("c", "<f4")], align=True),
        "nested": np.dtype([("a", inner), ("b", "<i2", (3, 2)), ("c", inner, (2,))]),
        "opaque": np.dtype([("a", "V7"), ("b", "<u4")]),
        "strings": np.dtype([("a", "S3", (2, 2)), ("b", "<u4")]),
    }
    rng = np.random.default_rng(3)
    narrow = [integer(f"{order}{kind}", precision, offset) for order in "<>" for kind, precision, offset in [("u4", 17, 3), ("i2", 9, 0)]]
    narrow.append(integer("<u4", 20, 6))
    with h5py.File(path, "w") as file:
        for name, dtype in types.items():
            data = np.zeros(50, dtype)
            for field in leaves(data):
                random_fill(field, rng)
            create(file, name, data, (16,), with_filter(5))
        # Members with fewer bits than bytes, one of them in an array.
        memory = np.dtype({"names": ["a", "b", "c"], "formats": ["<u4", ("<i2", (2, 2)), "<u2"], "offsets": [0, 4, 12], "itemsize": 16})
        for order, number, array in zip("<>", narrow[0::2], narrow[1::2], strict=False):
            kind = h5py.h5t.create(h5py.h5t.COMPOUND, 16)
            kind.insert(b"a", 0, number)
            kind.insert(b"b", 4, h5py.h5t.array_create(array, (2, 2)))
            kind.insert(b"c", 12, integer(f"{order}u2", 16, 0))
            data = np.zeros(50, memory)
            for field in leaves(data):
                random_fill(field, rng)
            create(file, f"{order}bits", data, (16,), with_filter(5), file_type=kind)
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((7,))
        with_filter(5)(plist)
        array = h5py.h5t.array_create(h5py.h5t.array_create(narrow[-1], (3,)), (2,))
        dataset = h5py.h5d.create(file.id, b"arrays in arrays", array, h5py.h5s.create_simple((20,)), plist)
        memory_array = h5py.h5t.array_create(h5py.h5t.array_create(h5py.h5t.NATIVE_UINT32, (3,)), (2,))
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, rng.integers(0, 1 << 20, size=(20, 6), dtype="u4"), mtype=memory_array)
        create(file, "bytes as they are", np.array([b"abc", b"defgh"] * 10), (6,), with_filter(5))
    widen(path, narrow)
    assert assert_equal(path) == len(types) + 4


def leaves(data: np.ndarray) -> Iterable[np.ndarray]:
    for name in data.dtype.names or ():
        yield from leaves(data[name]) if data[name].dtype.names else (data[name],)


def random_fill(field: np.ndarray, rng: np.random.Generator) -> None:
    raw = rng.integers(0, 127, size=(*field.shape, field.dtype.itemsize), dtype="u1")
    field[...] = raw.reshape(-1).view(field.dtype).reshape(field.shape)


def test_nbit_damaged(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "nbit.h5"
    with h5py.File(path, "w") as file:
        kind = integer("<u4", 17, 3)
        create(file, "a", numbers("<u4", (100,), "noise"), (30,), with_filter(5), file_type=kind)
        create(file, "b", np.zeros(40, [("x", "<i4"), ("y", ">f8", (3,))]), (16,), with_filter(5))
    widen(path, [kind])
    damage(path, tmp_path)


# scaleoffset


@pytest.mark.parametrize("shape, chunks", GRIDS)
@pytest.mark.parametrize("fill", [None, 7])
def test_scaleoffset(tmp_path: pathlib.Path, shape: tuple[int, ...], chunks: tuple[int, ...], fill: object) -> None:
    path = tmp_path / "scaleoffset.h5"

    def integers(bits: int) -> Callable:
        return lambda plist: plist.set_scaleoffset(h5py.h5z.SO_INT, bits)

    def decimals(digits: int) -> Callable:
        return lambda plist: plist.set_scaleoffset(h5py.h5z.SO_FLOAT_DSCALE, digits)

    with h5py.File(path, "w") as file:
        for dtype, kind in itertools.product(INTEGERS, ("smooth", "small", "runs", "constant")):
            full = np.dtype(dtype).itemsize * 8
            for bits in {0, 5, 7, full - 1, full}:
                create(file, f"{dtype} {kind} {bits}", numbers(dtype, shape, kind), chunks, integers(bits), fill)
        for dtype, kind, digits in itertools.product(FLOATS, ("smooth", "small", "runs", "constant"), (0, 1, 3, 5)):
            create(file, f"{dtype} {kind} {digits}", numbers(dtype, shape, kind), chunks, decimals(digits), fill)
        for dtype in ("<i4", ">i8"):
            create(file, f"{dtype} negative", -numbers(dtype, shape, "smooth") * 1000, chunks, integers(0), fill)
    assert assert_equal(path) > 0


def test_scaleoffset_of_the_whole_range(tmp_path: pathlib.Path) -> None:
    """No room for distances: libhdf5 stores the numbers; older versions of it refuse to read them."""
    path = tmp_path / "scaleoffset.h5"
    with h5py.File(path, "w") as file:
        for dtype in INTEGERS:
            limits = np.iinfo(dtype)
            data = np.array([limits.min, limits.max, 0, 1, 5] * 4, dtype)
            create(file, dtype, data, (6,), lambda plist: plist.set_scaleoffset(h5py.h5z.SO_INT, 0))
            try:
                readable = (file[dtype][()] == data).all()
            except OSError:
                readable = True
            assert readable
    ours = hs.open(path)
    for dtype in INTEGERS:
        limits = np.iinfo(dtype)
        assert (ours[dtype][()] == np.array([limits.min, limits.max, 0, 1, 5] * 4, dtype)).all(), dtype


def test_scaleoffset_damaged(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "scaleoffset.h5"
    with h5py.File(path, "w") as file:
        create(file, "i", numbers("<i4", (100,), "smooth"), (30,), lambda p: p.set_scaleoffset(h5py.h5z.SO_INT, 0))
        create(file, "f", numbers(">f8", (100,), "smooth"), (30,), lambda p: p.set_scaleoffset(h5py.h5z.SO_FLOAT_DSCALE, 3), 1.0)
    damage(path, tmp_path)


# szip

#: Entropy coding and nearest neighbour, as HDF5 names them.
SZIP_OPTIONS = {"ec": h5py.h5z.SZIP_EC_OPTION_MASK, "nn": h5py.h5z.SZIP_NN_OPTION_MASK}


@pytest.mark.parametrize("option", SZIP_OPTIONS)
@pytest.mark.parametrize("shape, chunks", [*GRIDS[:4], ((20000,), (9999,)), ((3, 5000), (2, 4100))])
def test_szip(tmp_path: pathlib.Path, shape: tuple[int, ...], chunks: tuple[int, ...], option: str) -> None:
    path = tmp_path / "szip.h5"
    with h5py.File(path, "w") as file:
        for dtype, kind, block in itertools.product([*INTEGERS, *FLOATS], ("smooth", "noise", "small", "runs", "constant"), (2, 8, 10, 16, 32)):
            if block > np.prod(chunks) or (block == 10 and dtype not in ("<i2", ">u4", "u1", "<f8")):
                continue
            create(file, f"{dtype} {kind} {block}", numbers(dtype, shape, kind), chunks, lambda p: p.set_szip(SZIP_OPTIONS[option], block))
    assert assert_equal(path) > 0


@pytest.mark.parametrize("option", SZIP_OPTIONS)
def test_szip_of_numbers_with_fewer_bits(tmp_path: pathlib.Path, option: str) -> None:
    """Up to 24 bits a pixel: libhdf5 gives szip the precision of a number that begins at bit 0."""
    path = tmp_path / "szip.h5"
    sizes = {"u1": range(5, 8), "<u2": range(9, 16), ">u2": range(9, 16), "<u4": range(17, 32), ">u4": range(17, 32)}
    kinds = [integer(dtype, bits, 0) for dtype, range_of_bits in sizes.items() for bits in range_of_bits]
    with h5py.File(path, "w") as file:
        for number, kind in enumerate(kinds):
            bits = kind.get_precision()
            for shape in ("smooth", "noise", "runs"):
                data = numbers("<u4", (999,), shape) % (1 << bits)
                create(file, f"{number} {bits} {shape}", data, (333,), lambda p: p.set_szip(SZIP_OPTIONS[option], 8), file_type=kind)
    widen(path, kinds)
    assert assert_equal(path) > 50


@pytest.mark.slow
def test_szip_damaged(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "szip.h5"
    with h5py.File(path, "w") as file:
        for dtype, kind, option in itertools.product(("u1", ">i2", "<f4"), ("smooth", "runs"), SZIP_OPTIONS):
            create(file, f"{dtype} {kind} {option}", numbers(dtype, (300,), kind), (100,), lambda p: p.set_szip(SZIP_OPTIONS[option], 8))
    damage(path, tmp_path)


# The filters of hdf5plugin


def plugin(filter_: object) -> Callable:
    """Optional: the plugins fail on what does not become smaller, and libhdf5 then skips them."""
    return with_filter(filter_.filter_id, filter_.filter_options)


KINDS = ("smooth", "noise", "runs", "constant")
WIDTHS = ["<i1", "<u2", ">i4", "<f4", ">f8", "V3", "V5", "V16", "V17", "V40"]
#: Chunks of more than a block, too.
LARGE = [((1003,), (128,)), ((37, 53), (16, 20)), ((1,), (1,)), ((14000,), (9001,)), ((90, 130), (50, 101))]


def create_all(path: pathlib.Path, configures: dict[str, Callable], shape: tuple[int, ...], chunks: tuple[int, ...]) -> int:
    """A dataset for each configuration, width and kind of numbers; how many."""
    count = 0
    with h5py.File(path, "w") as file:
        for (label, configure), dtype, kind in itertools.product(configures.items(), WIDTHS, KINDS):
            if np.dtype(dtype).kind == "V":
                width = np.dtype(dtype).itemsize
                data = numbers("u1", (*shape[:-1], shape[-1] * width), kind).view(dtype)
            else:
                data = numbers(dtype, shape, kind)
            create(file, f"{label} {dtype} {kind}", data, chunks, configure)
            count += 1
    return count


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape, chunks", LARGE)
@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
def test_bitshuffle(tmp_path: pathlib.Path, shape: tuple[int, ...], chunks: tuple[int, ...], compression: str) -> None:
    path = tmp_path / "bitshuffle.h5"
    configures = {f"{n}": plugin(hdf5plugin.Bitshuffle(nelems=n, cname=compression)) for n in (0, 8, 4096)}
    count = create_all(path, configures, shape, chunks)
    assert assert_equal(path) == count


@pytest.mark.parametrize("shape, chunks", LARGE)
def test_bzip2(tmp_path: pathlib.Path, shape: tuple[int, ...], chunks: tuple[int, ...]) -> None:
    path = tmp_path / "bzip2.h5"
    count = create_all(path, {f"{n}": plugin(hdf5plugin.BZip2(blocksize=n)) for n in (1, 9)}, shape, chunks)
    assert assert_equal(path) == count


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape, chunks", LARGE)
@pytest.mark.parametrize("codec", ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"])
def test_blosc(tmp_path: pathlib.Path, shape: tuple[int, ...], chunks: tuple[int, ...], codec: str) -> None:
    path = tmp_path / "blosc.h5"
    levels = [(1, 0), (5, 1), (5, 2), (9, 1), (0, 1)]
    configures = {f"{level} {shuffle}": plugin(hdf5plugin.Blosc(cname=codec, clevel=level, shuffle=shuffle)) for level, shuffle in levels}
    create_all(path, configures, shape, chunks)
    if np.prod(shape) > 1:
        assert assert_equal(path) > 0


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape, chunks", [*LARGE, ((9, 10, 11), (5, 7, 9)), ((3, 4, 5, 6, 7), (3, 3, 3, 5, 6)), ((100, 3, 1), (60, 3, 1))])
@pytest.mark.parametrize("codec", ["blosclz", "lz4", "lz4hc", "zlib", "zstd"])
def test_blosc2(tmp_path: pathlib.Path, shape: tuple[int, ...], chunks: tuple[int, ...], codec: str) -> None:
    path = tmp_path / "blosc2.h5"
    # No filter, shuffle, bit shuffle, delta, cut precision; what does not depend on the codec once.
    levels = [(1, 0), (5, 1), (5, 2), (0, 1), (5, 3), (5, 4)] if codec == "blosclz" else [(5, 1), (9, 2)]
    configures = {f"{level} {kind}": plugin(hdf5plugin.Blosc2(cname=codec, clevel=level, filters=kind)) for level, kind in levels}
    create_all(path, configures, shape, chunks)
    assert assert_equal(path) > 0


def test_blosc_of_copied_bytes(tmp_path: pathlib.Path) -> None:
    """What blosc gave up on; its HDF5 filter does not write that any more, older ones did."""
    path = tmp_path / "blosc.h5"
    data = numbers("<u4", (100,), "noise")
    with h5py.File(path, "w") as file:
        create(file, "a", data, (100,), plugin(hdf5plugin.Blosc()))
        header = struct.pack("<BBBBIII", 2, 1, 2 | 16, 4, data.nbytes, data.nbytes, data.nbytes + 16)
        file["a"].id.write_direct_chunk((0,), header + data.tobytes())
    assert assert_equal(path) == 1


PLUGINS = {
    "bitshuffle": hdf5plugin.Bitshuffle(cname="none"),
    "bitshuffle-lz4": hdf5plugin.Bitshuffle(cname="lz4"),
    "bitshuffle-zstd": hdf5plugin.Bitshuffle(cname="zstd"),
    "bzip2": hdf5plugin.BZip2(),
    **{f"blosc-{codec}": hdf5plugin.Blosc(cname=codec, shuffle=2) for codec in ("blosclz", "lz4", "snappy", "zlib", "zstd")},
    **{f"blosc2-{codec}": hdf5plugin.Blosc2(cname=codec) for codec in ("blosclz", "lz4", "zlib", "zstd")},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PLUGINS)
def test_plugins_damaged(tmp_path: pathlib.Path, name: str) -> None:
    path = tmp_path / "damaged.h5"
    with h5py.File(path, "w") as file:
        for dtype, kind in itertools.product(("<i2", ">f8"), ("smooth", "runs")):
            create(file, f"{dtype} {kind}", numbers(dtype, (5000,), kind), (1700,), plugin(PLUGINS[name]))
            create(file, f"{dtype} {kind} 2", numbers(dtype, (50, 60), kind), (21, 40), plugin(PLUGINS[name]))
    damage(path, tmp_path)


ZFP_MODES = {
    "rate": hdf5plugin.Zfp(rate=9.3),
    "rate of few bits": hdf5plugin.Zfp(rate=1),
    "precision": hdf5plugin.Zfp(precision=21),
    "accuracy": hdf5plugin.Zfp(accuracy=1e-3),
    "reversible": hdf5plugin.Zfp(reversible=True),
    "expert": hdf5plugin.Zfp(minbits=70, maxbits=3000, maxprec=40, minexp=-30),
}
ZFP_GRIDS = [
    ((1003,), (128,)),
    ((5,), (2,)),
    ((37, 53), (16, 21)),
    ((37, 3, 53), (16, 1, 20)),
    ((9, 10, 11), (5, 7, 9)),
    ((7, 6, 5, 9), (5, 6, 3, 4)),
    ((3, 4, 5, 6, 7), (3, 1, 5, 4, 6)),
]


@pytest.mark.parametrize("shape, chunks", ZFP_GRIDS, ids=str)
@pytest.mark.parametrize("mode", ZFP_MODES)
def test_zfp(tmp_path: pathlib.Path, shape: tuple[int, ...], chunks: tuple[int, ...], mode: str) -> None:
    path = tmp_path / "zfp.h5"
    with h5py.File(path, "w") as file:
        for dtype, kind in itertools.product(("<f4", "<f8", "<i4", "<i8", "<u4", "<u8"), KINDS):
            create(file, f"{dtype} {kind}", numbers(dtype, shape, kind), chunks, plugin(ZFP_MODES[mode]))
        extremes = np.array([0, -0.0, 1e-300, 1e300, 5e-324, -1.5, 3e38, 1e-40, np.pi] * 1000)[: int(np.prod(shape))]
        for dtype in ("<f4", "<f8"):
            # The reference's filter sees only the values of this width.
            with np.errstate(over="ignore"):
                create(file, f"{dtype} extremes", extremes.reshape(shape).astype(dtype), chunks, plugin(ZFP_MODES[mode]))
    assert assert_equal(path) == 26


@pytest.mark.parametrize("mode", ZFP_MODES)
def test_zfp_of_a_writer_with_the_other_byte_order(tmp_path: pathlib.Path, mode: str) -> None:
    """Its header's words are turned around, and so are the dataset's bytes."""
    path = tmp_path / "zfp.h5"
    with h5py.File(path, "w") as file:
        for dtype, kind in itertools.product(("<f4", "<f8", "<i4", "<i8"), ("smooth", "noise")):
            create(file, f"{dtype} {kind}", numbers(dtype, (37, 53), kind), (16, 20), plugin(ZFP_MODES[mode]))
    data = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        headers = {struct.pack(f"<{len(p) - 1}I", *p[1:]) for p in (d.id.get_create_plist().get_filter(0)[2] for d in file.values())}
        straight = {name: d[()] for name, d in file.items()}
    for header in headers:
        assert header.startswith(b"zfp\5") and header in data
        data = data.replace(header, b"".join(header[i : i + 4][::-1] for i in range(0, len(header), 4)))
    path.write_bytes(data)
    assert assert_equal(path) == 8
    ours = hs.open(path)
    for name, values in straight.items():
        assert ours[name][()].tobytes() == values.byteswap().tobytes(), name


def test_zfp_damaged(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "zfp.h5"
    with h5py.File(path, "w") as file:
        for mode, dtype in itertools.product(("rate", "precision", "reversible", "expert"), ("<f4", "<i8")):
            create(file, f"{mode} {dtype}", numbers(dtype, (50, 60), "smooth"), (21, 40), plugin(ZFP_MODES[mode]))
    damage(path, tmp_path, 60)


def test_filters_after_each_other(tmp_path: pathlib.Path) -> None:
    """What comes before must survive what follows, with the right sizes in between."""
    path = tmp_path / "chain.h5"
    chains = {
        "nbit deflate": [with_filter(5), lambda p: p.set_deflate(5)],
        "scaleoffset zstd": [lambda p: p.set_scaleoffset(h5py.h5z.SO_INT, 0), plugin(hdf5plugin.Zstd())],
        "shuffle szip": [lambda p: p.set_shuffle(), lambda p: p.set_szip(h5py.h5z.SZIP_NN_OPTION_MASK, 8)],
        "szip fletcher32": [lambda p: p.set_szip(h5py.h5z.SZIP_EC_OPTION_MASK, 8), lambda p: p.set_fletcher32()],
        "fletcher32 bzip2": [lambda p: p.set_fletcher32(), plugin(hdf5plugin.BZip2())],
        "fletcher32 blosc": [lambda p: p.set_fletcher32(), plugin(hdf5plugin.Blosc())],
        "zfp deflate": [plugin(hdf5plugin.Zfp(reversible=True)), lambda p: p.set_deflate(5)],
        "zfp fletcher32": [plugin(hdf5plugin.Zfp(precision=20)), lambda p: p.set_fletcher32()],
        "shuffle bitshuffle": [lambda p: p.set_shuffle(), plugin(hdf5plugin.Bitshuffle())],
    }
    with h5py.File(path, "w") as file:
        for name, chain in chains.items():
            create(file, name, numbers("<i4", (1000,), "smooth"), (300,), lambda p, chain=chain: [step(p) for step in chain])
    assert assert_equal(path) == len(chains)


@pytest.mark.parametrize("number", [32022, 32023])
def test_filters_that_only_round_values_are_undone_by_nothing(tmp_path: pathlib.Path, number: int) -> None:
    """BitGroom and Granular BitRound change values before they are compressed; HDF5's own filter gives them back as stored."""
    path = tmp_path / "rounded.h5"
    values = np.linspace(0, 1, 1000, dtype="f4")
    values.view("u4")[:] &= 0xFFFF0000
    with h5py.File(path, "w") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((500,))
        creation.set_filter(number, h5py.h5z.FLAG_OPTIONAL, (3, 4, 0, 0, 0))
        creation.set_deflate(5)
        dataset = h5py.h5d.create(f.id, b"x", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((1000,)), creation)
        for start in (0, 500):
            dataset.write_direct_chunk((start,), zlib.compress(values[start : start + 500].tobytes()))
    assert (hs.open(path)["x"][...] == values).all()
    with h5py.File(path, "r+") as f:
        f["x"].id.write_direct_chunk((0,), zlib.compress(b"\0" * 2004))
    with pytest.raises(hs.CorruptError):
        hs.open(path)["x"][:500]
