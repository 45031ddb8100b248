"""What we write is read back by h5py, netCDF4, h5dump and by us: type × layout × filter, groups, attributes, text."""

from __future__ import annotations

import pathlib

import dump_tools
import h5py
import hdf5plugin  # noqa: F401  (registers zstd, lz4 and bitshuffle for h5py)
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
from compare import compare
from numpy.lib.recfunctions import repack_fields
from test_matrix import KINDS, LAYOUTS, dtype_of, values

FILTERS = {
    "none": {},
    "deflate": {"compression": "gzip"},
    "shuffle and deflate": {"compression": "gzip", "compression_opts": 9, "shuffle": True},
    "fletcher32": {"fletcher32": True},
    "all of them": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "zstd": {"compression": "zstd"},
    "lz4": {"compression": "lz4", "shuffle": True},
    "lzf": {"compression": "lzf"},
    "lzf after shuffle": {"compression": "lzf", "shuffle": True, "fletcher32": True},
    "bitshuffle with lz4": {"compression": "bitshuffle"},
    "bitshuffle with zstd": {"compression": "bitshuffle", "compression_opts": "zstd"},
    "bitshuffle alone": {"compression": "bitshuffle", "compression_opts": "none"},
}


def check(path: pathlib.Path, expected: dict[str, np.ndarray]) -> None:
    """h5py finds what was written, we find what h5py finds, and h5dump has no complaint."""
    with h5py.File(path) as f:
        for name, data in expected.items():
            found = f[name][()]
            assert found.dtype == data.dtype and found.shape == data.shape, name
            assert found.tobytes() == data.tobytes(), name
    assert [r for r in compare(str(path)) if r.outcome != "equal"] == []
    dump(path)


def dump(path: pathlib.Path) -> None:
    """h5dump, where there is one, reads all metadata."""
    assert dump_tools.run("h5dump", "-H", path) != ""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_type_in_every_layout_is_read_back(tmp_path: pathlib.Path, layout: str) -> None:
    path, expected = tmp_path / "types.h5", {}
    with hs.create(path) as f:
        for kind in KINDS:
            data = values(kind, 120).reshape(12, 10)
            name = kind.replace("<", "le_").replace(">", "be_")
            f.create_dataset(name, data=data, dtype=dtype_of(kind), **LAYOUTS[layout])
            expected[name] = data
    check(path, expected)
    with h5py.File(path) as f:
        for kind in KINDS:
            dataset = f[kind.replace("<", "le_").replace(">", "be_")]
            assert dataset.maxshape == LAYOUTS[layout].get("maxshape", (12, 10))
            assert dataset.chunks == LAYOUTS[layout].get("chunks")
        assert h5py.check_enum_dtype(f["enum"].dtype) == {"RED": 0, "GREEN": 1, "BLUE": 2}


def plain(data: np.ndarray) -> list[bytes]:
    """The values' bytes, without those between the members of compounds."""
    names = data.dtype.names
    return [data.tobytes()] if names is None else [part for name in names for part in plain(data[name])]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_h5dump_and_netcdf4_find_the_values(tmp_path: pathlib.Path, layout: str) -> None:
    """h5dump's are compared as bytes, netCDF4's as arrays; what netCDF has no type for, it does not see."""
    path, expected = tmp_path / "types.h5", {}
    with hs.create(path) as f:
        for number, kind in enumerate(KINDS):
            data = values(kind, 24).reshape(6, 4)
            f.create_dataset(f"d{number}", data=data, dtype=dtype_of(kind), **LAYOUTS[layout])
            expected[f"d{number}"] = data
    for name, data in expected.items():
        said = dump_tools.run("h5dump", "-d", f"/{name}", "-b", "FILE", "-o", tmp_path / "values", path)
        if said is not None:
            packed = np.dtype(repack_fields(data.dtype, recurse=True)) if data.dtype.names else data.dtype
            found = np.frombuffer((tmp_path / "values").read_bytes(), packed).reshape(data.shape)
            assert plain(found) == plain(data), (name, data.dtype, said)
    seen = 0
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        for name, data in expected.items():
            # Numbers of half precision end netCDF-C's process, h5py's as well as ours.
            if name in f.variables and (data.dtype.kind, data.dtype.itemsize) != ("f", 2):
                seen += 1
                found = f[name][:]
                # Text is of any length there, and a complex number a compound of two.
                found = found.astype(data.dtype) if found.dtype.kind == "O" else found
                wanted = data.astype(data.dtype.newbyteorder("=") if data.dtype.kind == "c" else found.dtype)
                assert found.tobytes() == wanted.tobytes(), (name, data.dtype)
    assert seen >= 16, seen


@pytest.mark.parametrize("filters", FILTERS)
def test_every_filter_in_every_layout_is_read_back(tmp_path: pathlib.Path, filters: str) -> None:
    path, expected = tmp_path / "filters.h5", {}
    with hs.create(path) as f:
        for layout, options in LAYOUTS.items():
            if "chunks" not in options:
                continue
            for kind in ("<i4", ">f8", "compound", "S5", "bool"):
                data = values(kind, 120).reshape(12, 10)
                f.create_dataset(f"{layout} {kind}", data=data, **options, **FILTERS[filters])
                expected[f"{layout} {kind}"] = data
    check(path, expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["fixed", "extensible", "second unlimited", "two unlimited", "filtered extensible", "filtered fixed"])
def test_many_chunks_are_all_found(tmp_path: pathlib.Path, kind: str) -> None:
    maxshape = {
        "fixed": None,
        "filtered fixed": None,
        "extensible": (None, 30),
        "filtered extensible": (None, 30),
        "second unlimited": (700, None),
        "two unlimited": (None, None),
    }[kind]
    data = np.arange(700 * 30, dtype="i4").reshape(700, 30)
    with hs.create(tmp_path / "chunks.h5") as f:
        f.create_dataset("x", data=data, chunks=(1, 2), maxshape=maxshape, compression="gzip" if "filtered" in kind else None)
        long = f.create_dataset("long", (40_000,), "i2", chunks=(1,), maxshape=(None,), fillvalue=-3)
        long[:] = np.arange(40_000) % 30_000
        sparse = f.create_dataset("sparse", (200_000,), "i2", chunks=(10,), maxshape=None if maxshape is None else (None,), fillvalue=3)
        for place in (0, 50_000, 123_456, 199_999):
            sparse[place] = place % 100
    expected = np.full(200_000, 3, "i2")
    for place in (0, 50_000, 123_456, 199_999):
        expected[place] = place % 100
    check(tmp_path / "chunks.h5", {"x": data, "sparse": expected, "long": (np.arange(40_000) % 30_000).astype("i2")})


@pytest.mark.slow
def test_chunks_beyond_the_first_pages_of_an_extensible_array_are_found(tmp_path: pathlib.Path) -> None:
    """Data blocks have pages from chunk 163,828 on; here are two levels of them, and gaps."""
    places = np.r_[0:10, 163_820:163_840, 166_000:166_010, 170_000, 229_370:229_400, 399_990:400_000]
    expected = np.zeros(400_000, "i2")
    with hs.create(tmp_path / "pages.h5") as f:
        whole = f.create_dataset("whole", (400_000,), "i2", chunks=(2,), maxshape=(None,))
        whole[:] = np.arange(400_000) % 30_000
        full = f.create_dataset("full", (250_000,), "i2", chunks=(1,), maxshape=(None,), fletcher32=True)
        full[:] = np.arange(250_000) % 30_000
    with hs.create(tmp_path / "gaps.h5") as f:
        # Enough chunks that their array is not left for a B-tree.
        gaps = f.create_dataset("gaps", (400_000,), "i2", chunks=(1,), maxshape=(None,))
        gaps[:100_000] = expected[:100_000] = 7
        for place in places:
            gaps[place] = expected[place] = 1 + place % 1000
    check(tmp_path / "pages.h5", {"whole": (np.arange(400_000) % 30_000).astype("i2"), "full": (np.arange(250_000) % 30_000).astype("i2")})
    check(tmp_path / "gaps.h5", {"gaps": expected})


def test_a_file_of_ours_is_appended_to_by_the_library(tmp_path: pathlib.Path) -> None:
    """Chunk locators and groups are sound enough to be changed, not only read."""
    path = tmp_path / "more.h5"
    first = np.arange(5000, dtype="f8")
    with hs.create(path) as f:
        f.create_dataset("x", data=first, chunks=(3,), maxshape=(None,))
        f.create_dataset("packed", data=first, chunks=(7,), maxshape=(None,), compression="gzip", shuffle=True)
        f.create_dataset("two", data=first.reshape(50, 100), chunks=(7, 9), maxshape=(None, None))
        for i in range(100):
            f.create_group(f"many/{i}")
        f["few/y"] = 1
    with h5py.File(path, "r+") as f:
        for name in ("x", "packed"):
            f[name].resize((9000,))
            f[name][5000:] = np.arange(4000)
        f["two"].resize((80, 120))
        f["two"][60:, 50:] = 9
        f["x"].attrs["new"] = 1
        for i in range(100, 300):
            f.create_group(f"many/{i}")
        for i in range(50):
            f[f"few/{i}"] = i
        del f["many/7"]
    with h5py.File(path) as f:
        for name in ("x", "packed"):
            assert f[name][:].tolist() == first.tolist() + list(range(4000))
        assert f["two"][:50, :100].tolist() == first.reshape(50, 100).tolist() and (f["two"][60:, 50:] == 9).all()
        assert sorted(f["many"]) == sorted(str(i) for i in range(300) if i != 7)
        assert len(f["few"]) == 51
    assert [r for r in compare(str(path)) if r.outcome != "equal"] == []


def test_text_sequences_and_attributes_are_read_back(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "heap.h5"
    text = np.array(["", "a", "äöü", "x" * 5000] * 3000, dtype=object)
    sequences = np.empty(6, dtype=object)
    for i in range(6):
        sequences[i] = np.arange(i, dtype="i4")
    nested = np.zeros(2, dtype=[("n", "i4"), ("t", h5py.string_dtype()), ("s", "S3")])
    nested["n"], nested["t"], nested["s"] = [1, 2], ["a", "bb"], [b"x", b"yz"]
    with hs.create(path) as f:
        f.create_dataset("text", data=text)
        f.create_dataset("packed text", data=text, dtype=str, chunks=(7,), compression="gzip", shuffle=True)
        f.create_dataset("ascii", data=[b"one", b"two"], dtype=h5py.string_dtype("ascii"))
        f["numpy's"] = np.array(["eins", "zwei ä"])
        f.create_dataset("sequences", data=sequences, dtype=h5py.vlen_dtype("<i4"), chunks=(4,), compression="gzip")
        f.create_dataset("mixed", data=nested)
        f["scalar"], f["scalar text"], f["bytes"] = 4.5, "text", b"abc"
        f.create_dataset("null", data=hs.Empty(np.dtype("f4")))
        f.create_dataset("no rows", (0, 4), "f4", maxshape=(None, 4))
        f.create_dataset("filled", (5, 5), "f4", fillvalue=7.5, chunks=(2, 2))[0, 0] = 1
        f.create_dataset("filled in a run", (500, 5), "f4", fillvalue=7.5)[3, 1:4] = [1, 2, 3]
        f.create_dataset("late", (100,), "i4", fillvalue=-1)
        f["deep/er/ünïcode"] = np.arange(3)
        d = f.create_dataset("with attributes", data=np.arange(4))
        for i in range(40):
            d.attrs[f"attribute {i}"] = np.arange(i % 5) if i % 2 else f"text {i}"
        d.attrs["long"] = np.zeros(7000)
        d.attrs["list"] = ["a", "bc"]
        d.attrs["empty"] = hs.Empty(np.dtype("i4"))
        d.attrs["bytes"], d.attrs["flag"], d.attrs["ä"] = b"xyz", True, np.float32(1.5)
        d.attrs.create("enum", 1, dtype=h5py.enum_dtype({"A": 0, "B": 1}))
        f.attrs["title"] = "root"
    with h5py.File(path) as f:
        for name in ("text", "packed text"):
            assert f[name].asstr()[:].tolist() == text.tolist()
        assert f["ascii"][:].tolist() == [b"one", b"two"] and f["numpy's"].asstr()[1] == "zwei ä"
        assert all((f["sequences"][i] == sequences[i]).all() for i in range(6))
        assert f["mixed"]["t"].tolist() == [b"a", b"bb"] and f["mixed"]["s"].tolist() == [b"x", b"yz"] and f["mixed"]["n"].tolist() == [1, 2]
        assert f["scalar"][()] == 4.5 and f["scalar text"].asstr()[()] == "text" and f["bytes"][()] == b"abc"
        assert f["null"].shape is None and f["no rows"].shape == (0, 4)
        expected = np.full((5, 5), 7.5, "f4")
        expected[0, 0] = 1
        assert (f["filled"][:] == expected).all()
        run = np.full((500, 5), 7.5, "f4")
        run[3, 1:4] = [1, 2, 3]
        assert (f["filled in a run"][:] == run).all() and (f["late"][:] == -1).all()
        assert f["deep/er/ünïcode"][:].tolist() == [0, 1, 2]
        attributes = f["with attributes"].attrs
        assert len(attributes) == 47
        assert attributes["attribute 3"].tolist() == [0, 1, 2] and attributes["attribute 4"] == "text 4"
        assert attributes["long"].shape == (7000,) and attributes["list"].tolist() == ["a", "bc"]
        assert isinstance(attributes["empty"], h5py.Empty) and attributes["bytes"] == "xyz"
        assert attributes["flag"] is np.True_ and attributes["ä"] == np.float32(1.5) and attributes["enum"] == 1
        assert f.attrs["title"] == "root"
    assert [r for r in compare(str(path)) if r.outcome != "equal"] == []
    dump(path)


def test_links_and_groups_of_any_size_are_read_back(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "other.h5") as f:
        f["x"] = 5
    path = tmp_path / "groups.h5"
    with hs.create(path) as f:
        for count in (1, 8, 9, 64, 65, 300, 5000):
            for i in range(count):
                f.create_group(f"{count}/member {i}")
        f["few/a"] = np.arange(3)
        f["soft"], f["broken"] = hs.SoftLink("/few/a"), hs.SoftLink("/nowhere")
        f["external"] = hs.ExternalLink("other.h5", "/x")
    with h5py.File(path) as f:
        for count in (1, 8, 9, 64, 65, 300, 5000):
            assert sorted(f[str(count)]) == sorted(f"member {i}" for i in range(count))
            assert f[f"{count}/member {count - 1}"].name and f"{count}/member {count}" not in f
        assert f["soft"][1] == 1 and f["external"][()] == 5 and isinstance(f.get("broken", getlink=True), h5py.SoftLink)
    assert [r for r in compare(str(path)) if r.outcome != "equal"] == []
    dump(path)


def test_attributes_of_any_size_are_read_back(tmp_path: pathlib.Path) -> None:
    path, long = tmp_path / "attributes.h5", np.random.default_rng(5).normal(size=(3, 70_000))
    with hs.create(path) as f:
        x = f.create_dataset("x", data=np.arange(4))
        x.attrs["long"], x.attrs["text"] = long, "ä" * 100_000
        for i in range(300):
            x.attrs[f"attribute {i}"] = i
        f.create_group("g").attrs["long"] = long
        f.attrs["words"] = ["word"] * 20_000
        f.create_group("many").attrs.update({f"{i}": np.full(8000, i) for i in range(20)})
    with h5py.File(path) as f:
        assert (f["x"].attrs["long"] == long).all() and f["x"].attrs["text"] == "ä" * 100_000 and (f["g"].attrs["long"] == long).all()
        assert [f["x"].attrs[f"attribute {i}"] for i in range(300)] == list(range(300)) and len(f["x"].attrs) == 302
        assert f.attrs["words"].tolist() == ["word"] * 20_000
        assert all((f["many"].attrs[f"{i}"] == i).all() for i in range(20))
    assert [r for r in compare(str(path)) if r.outcome != "equal"] == []
    dump(path)
    with h5py.File(path, "r+") as f:
        del f["x"].attrs["attribute 7"]
        f["x"].attrs["new"] = 1
        f["x"].attrs["long"] = 2
    with h5py.File(path) as f:
        assert len(f["x"].attrs) == 302 and f["x"].attrs["long"] == 2 and f["x"].attrs["attribute 8"] == 8
    assert [r for r in compare(str(path)) if r.outcome != "equal"] == []


def test_steps_write_every_other_element(tmp_path: pathlib.Path) -> None:
    rng, expected = np.random.default_rng(9), {}
    with hs.create(tmp_path / "steps.h5") as f:
        for name, options in {"run": {}, "chunks": {"chunks": (4, 3, 5)}, "packed": {"chunks": (5, 7, 2), "compression": "gzip"}}.items():
            data = expected[name] = np.zeros((13, 9, 11), "i4")
            dataset = f.create_dataset(name, data.shape, "i4", **options)
            for _ in range(12):
                key = tuple(slice(int(a), int(b), int(s)) for a, b, s in zip(rng.integers(0, 5, 3), rng.integers(4, 12, 3), rng.integers(1, 5, 3)))
                data[key] = dataset[key] = rng.integers(1, 100, size=data[key].shape) if data[key].size else 0
    check(tmp_path / "steps.h5", expected)


def test_values_written_in_pieces_are_those_written_at_once(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(3)
    data = rng.normal(size=(23, 17, 11))
    with hs.create(tmp_path / "pieces.h5") as f:
        targets = [
            f.create_dataset("run", data.shape, "f8"),
            f.create_dataset("chunks", data.shape, "f8", chunks=(5, 4, 11), compression="gzip"),
            f.create_dataset("growing", (0, 17, 11), "f8", maxshape=(None, 17, 11), chunks=(4, 17, 5)),
        ]
        for first in range(0, 23, 3):
            rows = data[first : first + 3]
            targets[0][first : first + 3, 5:] = rows[:, 5:]
            targets[0][first : first + 3, :5] = rows[:, :5]
            targets[1][first : first + 3] = 0
            targets[1][first : first + 3, :9] = rows[:, :9]
            targets[1][first : first + 3, 9:] = rows[:, 9:]
            targets[2].append(rows)
    check(tmp_path / "pieces.h5", {"run": data, "chunks": data, "growing": data})


def test_large_blocks_are_aligned_and_metadata_is_packed(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "aligned.h5", alignment=1 << 16) as f:
        f["a"], f["small"], f["b"] = np.zeros(100_001), np.zeros(3), np.zeros(100_001)
        f.create_dataset("chunked", data=np.zeros((4, 10_000)), chunks=(1, 10_000))
    with h5py.File(tmp_path / "aligned.h5") as f:
        places = [f["a"].id.get_offset(), f["b"].id.get_offset()] + [f["chunked"].id.get_chunk_info(i).byte_offset for i in range(4)]
        assert all(place % (1 << 16) == 0 for place in places)
        headers = [h5py.h5o.get_info(f[name].id).addr for name in ("a", "small", "b", "chunked")]
        assert max(headers) - min(headers) < 4096


def test_a_file_of_few_objects_begins_with_all_that_describes_it(tmp_path: pathlib.Path) -> None:
    """One read gets superblock and metadata; more than there is room for goes behind the values."""
    described = {}
    for name, attributes in ("few", 3), ("many", 300):
        path = tmp_path / f"{name}.h5"
        with hs.create(path, alignment=4096) as f:
            values = f.create_dataset("values", data=np.arange(10_000.0))
            for number in range(attributes):
                values.attrs[f"attribute {number}"] = number
        with h5py.File(path) as f:
            assert f["values"].id.get_offset() % 4096 == 0 and (f["values"][:] == np.arange(10_000.0)).all()
            assert dict(f["values"].attrs) == {f"attribute {number}": number for number in range(attributes)}
            described[name] = h5py.h5o.get_info(f["values"].id).addr, f["values"].id.get_offset() + 80_000, path.stat().st_size
        check(path, {"values": np.arange(10_000.0)})
    header, end, size = described["few"]
    assert header < 4096 and end == size
    header, end, size = described["many"]
    assert header >= end and size > end


def test_nothing_is_visible_before_the_end_and_an_error_leaves_the_old_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    with hs.create(path) as f:
        f["x"] = 1
        assert not path.exists()
    with pytest.raises(ZeroDivisionError), hs.create(path) as f:
        f["x"] = 2
        raise ZeroDivisionError
    with pytest.raises(hs.ConflictError, match="already"), hs.create(path, "x") as f:
        f["x"] = 3
    with hs.create(path) as f:
        f["x"] = 4
        f.abort()
        f.abort()
    assert [p.name for p in tmp_path.iterdir()] == ["out.h5"]
    assert hs.open(path)["x"][()] == 1
    with pytest.raises(hs.InvalidInputError, match="closed"):
        f["y"] = 1


@pytest.mark.parametrize(
    "write, error, words",
    [
        (lambda f: f.create_dataset("x", data=np.zeros(3, "M8[25s]")), hs.UnsupportedError, "datetime64"),
        (lambda f: f.create_dataset("x", data=np.array([1, "a"], dtype=object)), hs.UnsupportedError, "objects"),
        (lambda f: f.create_dataset("x", (3,), "f4", compression="szip"), hs.InvalidInputError, "szip"),
        (lambda f: f.create_dataset("x", (3,), "f4", compression="gzip", compression_opts=11, data=[1, 2, 3]), hs.InvalidInputError, "0 to 9"),
        (lambda f: f.create_dataset("x", (3,), "f4", chunks=(1, 1)), hs.InvalidInputError, "chunks"),
        (lambda f: f.create_dataset("x", (9,), "f4", maxshape=(3,)), hs.InvalidInputError, "exceeds"),
        (lambda f: f.create_dataset("x", (1 << 62, 9), "f4"), hs.Error, "64 bits"),
        (lambda f: f.create_dataset("x", (9,), "f4").__setitem__(slice(0, 3), [1, 2]), hs.InvalidInputError, "shape"),
        (lambda f: f.create_dataset("x", (9,), "i1").__setitem__(slice(0, 3), 300), hs.InvalidInputError, "300"),
        (lambda f: f.create_dataset("x", (9,), "i4").__setitem__(0, 1.5), hs.InvalidInputError, "fraction"),
        (lambda f: f.create_dataset("x", (9,), "f4").__setitem__(9, 1), IndexError, "9"),
        (lambda f: (f.create_dataset("x", (9,), "f4"), f.create_dataset("x", (9,), "f4")), hs.InvalidInputError, "already"),
        (lambda f: (f.create_dataset("x", (9,), "f4"), f.create_dataset("x/y", (9,), "f4")), hs.InvalidInputError, "not a group"),
        (lambda f: f.create_dataset("x/\0/y", (9,), "f4"), hs.InvalidInputError, "not a path"),
        (lambda f: (f.create_dataset("x/.//./", (9,), "f4"), f.create_dataset("./x", (9,), "f4")), hs.InvalidInputError, "already"),
        (lambda f: f.attrs.create("long", np.zeros(9_000_000)), hs.UnsupportedError, "64 MiB"),
        (lambda f: f.create_dataset("x", data=["a\0b"]), hs.InvalidInputError, "NUL"),
        (lambda f: f.create_dataset("x", (1,), "f4").resize((2,)), hs.InvalidInputError, "only datasets in chunks can be resized"),
        (lambda f: f.create_dataset("x", (1,), "f4", maxshape=(3,)).resize((4,)), hs.InvalidInputError, "largest"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(tmp_path: pathlib.Path, write, error, words: str) -> None:
    with pytest.raises(error, match=words), hs.create(tmp_path / "out.h5") as f:
        write(f)
    assert list(tmp_path.iterdir()) == []


def test_netcdf4_reads_what_we_write(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "plain.nc") as f:
        f.create_dataset("t", data=np.arange(12.0).reshape(3, 4), chunks=(2, 4), compression="gzip", shuffle=True).attrs["units"] = "K"
        f["group/n"] = np.arange(5, dtype="i4")
    with netCDF4.Dataset(tmp_path / "plain.nc") as f:
        assert f["t"][:].tolist() == np.arange(12.0).reshape(3, 4).tolist() and f["t"].units == "K"
        assert f["group/n"][:].tolist() == list(range(5))


def test_empty_text_before_other_text(tmp_path: pathlib.Path) -> None:
    """The first values of a heap are empty: they take no room, and what follows does."""
    with hs.create(tmp_path / "x.h5") as f:
        d = f.create_dataset("text", (4,), dtype=str)
        e = f.create_dataset("numbers", (2,), "i4")
        d[0] = ""
        d[1] = "one"
        e[:] = [1, 2]
        d[2:] = ["", "two"]
        f.create_dataset("more", data=["", ""], dtype=str)
        f.create_dataset("last", data=["three"], dtype=str)
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["text"].asstr()[:].tolist() == ["", "one", "", "two"] and f["numbers"][:].tolist() == [1, 2]
        assert f["more"].asstr()[:].tolist() == ["", ""] and f["last"].asstr()[:].tolist() == ["three"]


def test_appended_rows_have_the_shape_of_rows(tmp_path: pathlib.Path) -> None:
    """A single row is not repeated, as numpy's broadcasting would."""
    path = tmp_path / "x.h5"
    with hs.create(path) as f:
        d = f.create_dataset("x", (0, 3), "f8", maxshape=(None, 3))
        d.append([[1, 2, 3]])
        for wrong in ([4, 5, 6], 7.0, [8], [[9]], np.zeros((2, 1)), np.zeros((1, 2, 3)), []):
            with pytest.raises(TypeError, match="give rows of shape"):
                d.append(wrong)
            assert d.shape == (1, 3)
        d.append(np.full((2, 3), 4.0))
        rows = f.create_dataset("rows", (0,), [("a", "i4"), ("b", "f8", (2,))], maxshape=(None,))
        rows.append([(1, (2.0, 3.0))])
        rows.append(np.zeros(2, rows.dtype))
    with h5py.File(path) as f:
        assert f["x"][:].tolist() == [[1, 2, 3], [4, 4, 4], [4, 4, 4]] and f["rows"]["a"].tolist() == [1, 0, 0]
