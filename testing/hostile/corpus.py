"""Small files of every kind that hyperslab reads: what fuzzing and `make hostile` begin with.

`python testing/hostile/corpus.py FOLDER` writes them to FOLDER/files, and inputs of the filters' fuzz
target to FOLDER/filters, of the parsers' targets to FOLDER/messages, heaps and trees.
"""

from __future__ import annotations

import pathlib
import shutil
import struct
import sys
from collections.abc import Callable

import h5py
import hdf5plugin
import netCDF4
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

import library_calls as calls
import standard_references as standard
import structures

Maker = Callable[[pathlib.Path], None]

#: Chunk locators by what makes the library choose them (with libver latest).
LOCATORS = {
    "contiguous": {},
    "single": {"chunks": (6, 5)},
    "fixed": {"chunks": (2, 2)},
    "extensible": {"chunks": (2, 2), "maxshape": (None, 5)},
    "extensible-second": {"chunks": (2, 2), "maxshape": (6, None)},
    "tree": {"chunks": (2, 2), "maxshape": (None, None)},
}

FILTERS = {
    "none": {},
    "deflate": {"compression": "gzip", "shuffle": True},
    "fletcher": {"fletcher32": True},
    "lzf": {"compression": "lzf"},
    "scaleoffset": {"scaleoffset": 0},
    "szip": {"compression": "szip", "compression_opts": ("nn", 8)},
    "zstd": hdf5plugin.Zstd(),
    "lz4": hdf5plugin.LZ4(),
    "bitshuffle": hdf5plugin.Bitshuffle(),
    "bitshuffle-none": hdf5plugin.Bitshuffle(cname="none"),
    "bitshuffle-zstd": hdf5plugin.Bitshuffle(cname="zstd"),
    "bzip2": hdf5plugin.BZip2(),
    "blosc-lz4": hdf5plugin.Blosc(cname="lz4"),
    "blosc-blosclz": hdf5plugin.Blosc(cname="blosclz", clevel=9),
    "blosc-zstd-bits": hdf5plugin.Blosc(cname="zstd", shuffle=hdf5plugin.Blosc.BITSHUFFLE),
    "blosc-zlib": hdf5plugin.Blosc(cname="zlib"),
    "blosc2-zstd": hdf5plugin.Blosc2(cname="zstd"),
    "blosc2-blosclz": hdf5plugin.Blosc2(cname="blosclz", clevel=9),
    "zfp-rate": hdf5plugin.Zfp(rate=7.5),
    "zfp-precision": hdf5plugin.Zfp(precision=12),
    "zfp-reversible": hdf5plugin.Zfp(reversible=True),
    "blosc2-lz4-delta": hdf5plugin.Blosc2(cname="lz4", filters=hdf5plugin.Blosc2.DELTA),
}

LONGEST_REAL_BYTES = 33_000

#: Filters in the order of the fuzz target's table.
FILTER_IDS = (1, 2, 3, 4, 5, 6, 307, 32000, 32001, 32004, 32008, 32015, 32026, 32013)


def groups(libver: str, links: int) -> Maker:
    def make(path: pathlib.Path) -> None:
        with h5py.File(path, "w", libver=libver) as f:
            for i in range(links):
                f[f"g{i}"] = h5py.SoftLink("/a/b")
            f["a/b"] = np.arange(3)
            f["again"] = f["a/b"]
            f["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
            f["a/type"] = np.dtype("<i2")

    return make


def attributes(libver: str, count: int) -> Maker:
    def make(path: pathlib.Path) -> None:
        with h5py.File(path, "w", libver=libver) as f:
            f["d"] = np.arange(4.0)
            for i in range(count):
                f["d"].attrs[f"a{i}"] = np.arange(i)
            f["d"].attrs["text"] = "länge"
            f["d"].attrs["words"] = ["a", "bc"]
            f["d"].attrs["empty"] = h5py.Empty("f4")
            f.attrs["to"] = f["d"].ref

    return make


def kinds(libver: str) -> Maker:
    def make(path: pathlib.Path) -> None:
        with h5py.File(path, "w", libver=libver) as f:
            f["text"] = ["a", "bc", "def"]
            f["fixed"] = np.array([b"ab", b"c"])
            f["records"] = np.zeros(2, dtype=[("a", "<i4"), ("s", "S3"), ("v", ">f4", (2,)), ("in", [("u", "u1"), ("w", "<f8")])])
            f.create_dataset("lists", (2,), dtype=h5py.vlen_dtype("i2"))[:] = [np.arange(2, dtype="i2"), np.arange(3, dtype="i2")]
            f.create_dataset("enum", data=[0, 1, 2], dtype=h5py.enum_dtype({"R": 0, "G": 1, "B": 2}, basetype="i2"))
            f["flags"] = np.array([True, False])
            f["opaque"] = np.array([b"12345"], dtype="V5")
            f["complex"] = np.array([1 + 2j], dtype="c8")
            f["scalar"] = 3.5
            f["null"] = h5py.Empty("i4")
            f.create_dataset("filled", (3,), dtype="i4", fillvalue=7)
            f["reference"] = f["text"].ref

    return make


def layout(libver: str, options: dict, filters: object) -> Maker:
    def make(path: pathlib.Path) -> None:
        with h5py.File(path, "w", libver=libver) as f:
            f.create_dataset("d", data=np.arange(30, dtype="i4").reshape(6, 5), **options, **filters)

    return make


def compact(libver: str) -> Maker:
    def make(path: pathlib.Path) -> None:
        with h5py.File(path, "w", libver=libver) as f:
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_layout(h5py.h5d.COMPACT)
            space = h5py.h5s.create_simple((5,))
            h5py.h5d.create(f.id, b"c", h5py.h5t.STD_I32LE, space, creation).write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(5, dtype="i4"))

    return make


def many_chunks(libver: str, shape: tuple, maxshape: tuple, filtered: bool) -> Maker:
    """Enough of them for pages, super blocks and trees of more than one level."""

    def make(path: pathlib.Path) -> None:
        with h5py.File(path, "w", libver=libver) as f:
            f.create_dataset("d", data=np.arange(np.prod(shape), dtype="i1").reshape(shape), chunks=(1,) * len(shape), maxshape=maxshape, fletcher32=filtered)

    return make


def nbit(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        kind = h5py.h5t.STD_I32LE.copy()
        kind.set_precision(17)
        kind.set_offset(3)
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((4,))
        creation.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_MANDATORY)
        space = h5py.h5s.create_simple((6,))
        h5py.h5d.create(f.id, b"n", kind, space, creation).write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(6, dtype="i4"))


def virtual(path: pathlib.Path) -> None:
    """Its sources are in the file itself, so that a single input has them."""
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset("a", data=np.arange(12).reshape(3, 4), chunks=(2, 2))
        f["b"] = np.arange(12).reshape(3, 4) + 100
        whole = h5py.VirtualLayout((6, 4), "i8")
        whole[0::2] = h5py.VirtualSource(".", "a", (3, 4))
        whole[1::2] = h5py.VirtualSource(".", "b", (3, 4))
        f.create_virtual_dataset("v", whole, fillvalue=-1)
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        endless = (h5py.h5s.UNLIMITED, 4)
        space, source = h5py.h5s.create_simple((3, 4), endless), h5py.h5s.create_simple((3, 4), endless)
        for selected in (space, source):
            selected.select_hyperslab((0, 0), (h5py.h5s.UNLIMITED, 1), (1, 1), (1, 4))
        creation.set_virtual(space, b".", b"a", source)
        h5py.h5d.create(f.id, b"grows", h5py.h5t.STD_I64LE, h5py.h5s.create_simple((3, 4), endless), creation)


def converted(path: pathlib.Path) -> None:
    """A virtual dataset of other numbers than its sources have, with a gap."""
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset("a", data=np.arange(12, dtype=">i2").reshape(3, 4), chunks=(2, 2), compression="gzip")
        f["b"] = np.linspace(-3, 300, 12).reshape(3, 4)
        for name, dtype in (("bytes", "u1"), ("halves", "<f2"), ("doubles", ">f8")):
            whole = h5py.VirtualLayout((7, 4), dtype)
            whole[0:6:2] = h5py.VirtualSource(".", "a", (3, 4), dtype=">i2")
            whole[1:6:2] = h5py.VirtualSource(".", "b", (3, 4))
            f.create_virtual_dataset(name, whole, fillvalue=9)


def references(path: pathlib.Path) -> None:
    """Of both older kinds and of HDF5 1.12, in datasets, attributes and records."""
    with h5py.File(path, "w", libver="latest") as f:
        d = f.create_dataset("d", data=np.arange(20).reshape(4, 5), chunks=(2, 3))
        d.attrs["a"] = 1
        f["g/inner"] = 2.5
        regions = f.create_dataset("regions", (3,), h5py.regionref_dtype)
        regions[0], regions[1] = d.regionref[1:3, ::2], d.regionref[np.arange(20).reshape(4, 5) % 7 == 0]
        f.create_dataset("objects", data=np.array([d.ref, f["g"].ref], object), dtype=h5py.ref_dtype)
        lists = f.create_dataset("lists", (2,), h5py.vlen_dtype(h5py.ref_dtype))
        lists[0] = np.array([d.ref, f["g"].ref], object)
        f["g"].attrs["region"] = d.regionref[0, :]
        space = h5py.h5s.create_simple((4, 5))
        space.select_hyperslab((1, 0), (1, 2), (2, 2), (2, 1))
        with standard.Made().object(f, "/g").region(f, "/d", space).attribute(f, "/d", "a").null() as made:
            made.write(f, "standard")
            made.write_attribute(f, "g", "standard")
            made.write_records(f, "records")


def heaps(path: pathlib.Path) -> None:
    """Values of variable length in chunks that are shuffled and packed, within each other and in records."""
    with h5py.File(path, "w") as f:
        f.create_dataset("text", data=["a", "", "bcd", "long " * 20], dtype=h5py.string_dtype(), chunks=(3,), compression="gzip", shuffle=True)
        lists = f.create_dataset("lists", (4,), h5py.vlen_dtype("<f4"), chunks=(3,), compression="lzf")
        lists[1], lists[3] = np.arange(3), np.arange(2)
        record = np.dtype([("n", "i4"), ("t", h5py.string_dtype()), ("v", h5py.vlen_dtype("i2"))])
        f.create_dataset("records", data=np.array([(1, "x", np.arange(2, dtype="i2")), (2, "yz", np.arange(1, dtype="i2"))], record), chunks=(1,))
        inner = h5py.h5t.vlen_create(h5py.h5t.vlen_create(h5py.h5t.STD_I16LE))
        h5py.h5d.create(f.id, b"nested", inner, h5py.h5s.create_simple((2,)))
        f["d"] = np.arange(3)
        f["d"].attrs["words"] = np.array(["one", "two"], h5py.string_dtype())


def shared_and_hidden(path: pathlib.Path) -> None:
    """Messages in a table of the file's own, chunks whose edges have no filter, a user-defined link."""
    creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    calls.share_messages(creation)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_LATEST)
    with h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, creation, access)) as f:
        kind = np.dtype([("a", "i4"), ("b", "f8", (3,)), ("text", "S12")])
        for i in range(3):
            d = f.create_dataset(f"d{i}", (5,), kind, chunks=(2,), compression="gzip", fillvalue=np.zeros((), kind))
            d[i] = np.array((i, [i, 1, 2], b"x"), kind)
            for k in range(3):
                d.attrs[f"attribute {k}"] = np.arange(10) + k
        edges = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        edges.set_chunk((2, 4))
        edges.set_deflate(5)
        calls.leave_edges_unfiltered(edges)
        whole = h5py.h5d.create(f.id, b"edges", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((3, 6)), edges)
        whole.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(18, dtype="i4").reshape(3, 6))
        calls.link_by_user(f, "own")


def cache_image(path: pathlib.Path) -> None:
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_LATEST)
    calls.keep_cache_image(access)
    with h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, fapl=access)) as f:
        f.create_dataset("d", data=np.arange(30).reshape(6, 5), chunks=(2, 2), compression="gzip")
        f["g/x"] = np.arange(3)
        f["g"].attrs["a"] = "text"


def conventions(path: pathlib.Path) -> None:
    """What netCDF's conventions change: packed values, missing ones, unsigned ones, times of two calendars."""
    with netCDF4.Dataset(path, "w") as f:
        f.set_auto_maskandscale(False)
        f.createDimension("time", None)
        f.createDimension("x", 4)
        f.createVariable("time", "f8", ("time",))[:] = [0, 1.5, 40000]
        f["time"].units, f["time"].calendar = "hours since 1999-12-31 12:00", "noleap"
        f.createVariable("other", "i4", ("time",))[:] = [1, 2, 3]
        f["other"].units = "days since 1970-01-01"
        packed = f.createVariable("packed", "i2", ("time", "x"), fill_value=-9, zlib=True, shuffle=True)
        packed.scale_factor, packed.add_offset, packed.missing_value = 0.1, 20.0, np.int16(-8)
        packed[:] = np.arange(12).reshape(3, 4) - 9
        f.createVariable("unsigned", "i1", ("x",))[:] = [-1, 0, 1, 127]
        f["unsigned"].setncattr("_Unsigned", "true")
        color = f.createEnumType("u1", "color", {"red": 0, "green": 1})
        f.createVariable("colors", color, ("x",))[:] = [0, 1, 1, 0]
        ragged = f.createVLType("i4", "ragged")
        f.createVariable("lists", ragged, ("x",))[1] = np.arange(3, dtype="i4")
        pair = f.createCompoundType(np.dtype([("a", "i4"), ("b", "f4")]), "pair")
        f.createVariable("pairs", pair, ("x",))


def user_block(path: pathlib.Path) -> None:
    with h5py.File(path, "w", userblock_size=512) as f:
        f["d"] = np.arange(5)
        f.create_dataset("c", data=np.arange(5), chunks=(2,))


def paged(path: pathlib.Path) -> None:
    creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    creation.set_link_creation_order(h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED)
    creation.set_file_space_strategy(h5py.h5f.FSPACE_STRATEGY_PAGE, True, 1)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    with h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, creation, access)) as f:
        f["d"] = np.arange(5)
        f["d"].attrs["a"] = 1
        f["kind"] = np.dtype([("x", "f4")])
        f.create_dataset("of", (2,), dtype=f["kind"])


def netcdf(model: str) -> Maker:
    def make(path: pathlib.Path) -> None:
        with netCDF4.Dataset(path, "w", format=model) as f:
            f.createDimension("t", None)
            f.createDimension("x", 3)
            f.createVariable("a", "f4", ("t", "x"))[:] = np.arange(6).reshape(2, 3)
            f.createVariable("b", "i2", ("t",))[:] = np.arange(2)
            f.createVariable("x", "f8", ("x",))[:] = np.arange(3)
            f.createVariable("c", "S1", ("x",))[:] = np.array([b"a", b"b", b"c"])
            f["a"].units = "K"
            f.title = "small"
            if model == "NETCDF4":
                f.createVariable("s", str, ("x",))[:] = np.array(["a", "bc", ""], dtype=object)
                group = f.createGroup("g")
                group.createDimension("y", 2)
                group.createVariable("y", "i4", ("y",))[:] = [1, 2]
                group.createVariable("late", "i4", ("t", "y"), zlib=True)[0] = [3, 4]

    return make


def files() -> dict[str, Maker]:
    """Name and maker of each."""
    made: dict[str, Maker] = {}
    for libver in ("earliest", "latest"):
        made[f"groups-{libver}"] = groups(libver, 3)
        made[f"many-links-{libver}"] = groups(libver, 20)
        made[f"attributes-{libver}"] = attributes(libver, 2)
        made[f"many-attributes-{libver}"] = attributes(libver, 12)
        made[f"kinds-{libver}"] = kinds(libver)
        made[f"compact-{libver}"] = compact(libver)
        for name, options in LOCATORS.items():
            made[f"layout-{name}-{libver}"] = layout(libver, options, {})
            if options:
                made[f"layout-{name}-filtered-{libver}"] = layout(libver, options, {"compression": "gzip"})
    for filtered in (False, True):
        for name, shape, maxshape in (("fixed", (1200,), (1200,)), ("extensible", (1200,), (None,)), ("tree", (20, 20), (None, None))):
            made[f"many-chunks-{name}{'-filtered' * filtered}"] = many_chunks("latest", shape, maxshape, filtered)
    made["many-chunks-earliest"] = many_chunks("earliest", (15, 10), (15, 10), False)
    for name, filters in FILTERS.items():
        made[f"filter-{name}"] = layout("earliest", {"chunks": (4, 4)}, filters)
    made |= {
        "nbit": nbit,
        "virtual": virtual,
        "user-block": user_block,
        "paged": paged,
        "converted": converted,
        "references": references,
        "heaps": heaps,
        "shared-and-hidden": shared_and_hidden,
        "cache-image": cache_image,
        "conventions": conventions,
    }
    for model in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4_CLASSIC"):
        made[model.lower()] = netcdf(model)
    return made


def write_files(folder: pathlib.Path) -> list[pathlib.Path]:
    """All of them in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in files().items():
        make(folder / name)
    return [folder / name for name in files()]


def write_filter_inputs(folder: pathlib.Path, sources: list[pathlib.Path]) -> None:
    """One input for each filtered chunk: filter, number of parameters, chunk bytes, parameters, stored bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sources:
        if not path.name.startswith(("filter-", "nbit")):
            continue
        with h5py.File(path) as f:
            dataset = f["n" if path.name == "nbit" else "d"]
            pipeline = dataset.id.get_create_plist()
            size = int(np.prod(dataset.chunks)) * dataset.dtype.itemsize
            for n in range(dataset.id.get_num_chunks()):
                stored = dataset.id.read_direct_chunk(dataset.id.get_chunk_info(n).chunk_offset)[1]
                for k in range(pipeline.get_nfilters()):
                    number, _, parameters, _ = pipeline.get_filter(k)
                    head = struct.pack("<BBH", FILTER_IDS.index(number), len(parameters), size)
                    (folder / f"{path.name}-{n}-{k}").write_bytes(head + struct.pack(f"<{len(parameters)}I", *parameters) + stored)


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    sources = write_files(target / "files")
    # Real files that are short enough for a fuzzer.
    for path in sorted((pathlib.Path(__file__).resolve().parents[2] / "examples" / "data").iterdir()):
        if path.suffix in (".nc", ".h5", ".h5ad") and path.stat().st_size <= LONGEST_REAL_BYTES:
            shutil.copy(path, target / "files" / path.name)
    write_filter_inputs(target / "filters", sources)
    structures.write_inputs(target, sources)
