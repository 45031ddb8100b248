"""Virtual datasets and external raw data: the values that h5py puts together from other files."""

from __future__ import annotations

import os
import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pytest
from compare import compare

UNLIMITED = h5py.h5s.UNLIMITED


def check(path: pathlib.Path, objects: int = 2) -> None:
    results = list(compare(str(path)))
    assert len(results) >= objects
    assert [r for r in results if r.outcome != "equal"] == []


@pytest.fixture
def sources(tmp_path: pathlib.Path) -> pathlib.Path:
    """Four files of 10 x 6 values each, two chunked, all different."""
    for i in range(4):
        with h5py.File(tmp_path / f"s{i}.h5", "w") as f:
            options = {"chunks": (3, 4), "compression": "gzip"} if i % 2 else {}
            f.create_dataset("data", data=np.arange(60).reshape(10, 6) + 1000 * i, **options)
    return tmp_path


def virtual(path: pathlib.Path, shape, mappings, maxshape=None, dtype="i8", fill=-1) -> None:
    """A virtual dataset of hyperslabs: (file, dataset, source shape, source selection, virtual selection)."""
    with h5py.File(path, "w", libver="latest") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_fill_value(np.array(fill, dtype))
        space = h5py.h5s.create_simple(shape, maxshape)
        for name, dataset, source_shape, source, target in mappings:
            to = h5py.h5s.create_simple(shape, maxshape)
            for i, slab in enumerate(target):
                to.select_hyperslab(*slab, op=h5py.h5s.SELECT_OR if i else h5py.h5s.SELECT_SET)
            frm = h5py.h5s.create_simple(source_shape, tuple(UNLIMITED for _ in source_shape))
            for i, slab in enumerate(source):
                frm.select_hyperslab(*slab, op=h5py.h5s.SELECT_OR if i else h5py.h5s.SELECT_SET)
            creation.set_virtual(to, name.encode(), dataset.encode(), frm)
        h5py.h5d.create(f.id, b"v", h5py.h5t.py_create(np.dtype(dtype)), space, creation)


def test_stacked_interleaved_and_overlapping_sources(sources: pathlib.Path) -> None:
    path = sources / "v.h5"
    with h5py.File(path, "w", libver="latest") as f:
        source = [h5py.VirtualSource(f"s{i}.h5", "data", (10, 6)) for i in range(4)]
        stacked = h5py.VirtualLayout((4, 10, 6), "i8")
        interleaved = h5py.VirtualLayout((40, 6), "i8")
        part = h5py.VirtualLayout((7, 20), "i8")
        over = h5py.VirtualLayout((10, 6), "i8")
        for i in range(4):
            stacked[i] = source[i]
            interleaved[i::4] = source[i]
            part[i, 1:17:3] = source[i][i]
            over[i : i + 4, 2:5] = source[i][3:7, 0:6:2]
        for name, layout in {"stacked": stacked, "interleaved": interleaved, "part": part, "over": over}.items():
            f.create_virtual_dataset(name, layout, fillvalue=-5)
    check(path, 5)
    ours = hs.open(path)
    with h5py.File(path) as theirs:
        for name, key in [("stacked", np.s_[1:3, ::4, 5]), ("interleaved", np.s_[3:30:5, 1:3]), ("interleaved", np.s_[[1, 2, 30], 4]), ("part", np.s_[2:, 3])]:
            np.testing.assert_array_equal(ours[name][key], theirs[name][key])
    rows = ours.table("/interleaved", where="interleaved >= 3050").to_arrow()["interleaved"].to_pylist()
    assert rows == list(range(3050, 3060))


@pytest.mark.parametrize(
    ("shape", "source", "target"),
    [
        ((12, 12), [((0, 0), (3, 2), (3, 3), (2, 2))], [((1, 0), (3, 2), (4, 5), (2, 2))]),
        ((60,), [((0, 0), (1, 1), None, (10, 6))], [((0,), (1,), None, (60,))]),
        ((5, 3, 4), [((0, 0), (1, 1), None, (10, 6))], [((0, 0, 0), (1, 1, 1), None, (5, 3, 4))]),
        ((9, 9), [((1, 1), (1, 1), None, (2, 3)), ((5, 0), (1, 1), None, (1, 6))], [((0, 0), (1, 1), None, (3, 4))]),
        ((9, 9), [((0, 0), (1, 1), None, (2, 5))], [((7, 1), (1, 1), None, (1, 4)), ((2, 0), (2, 3), (2, 3), (1, 1))]),
        ((10,), [((0, 3), (1, 1), None, (10, 1))], [((0,), (1,), None, (10,))]),
    ],
    ids=["strided blocks", "flattened", "reshaped", "union as source", "union as target", "a column"],
)
def test_elements_belong_together_in_their_order(sources: pathlib.Path, shape, source, target) -> None:
    path = sources / "v.h5"
    virtual(path, shape, [("s1.h5", "data", (10, 6), source, target)])
    check(path)
    ours = hs.open(path)["v"]
    with h5py.File(path) as theirs:
        for key in (np.s_[1::2], np.s_[3:7], np.s_[-1], np.s_[[0, 2, 4]]):
            np.testing.assert_array_equal(ours[key], theirs["v"][key])


def test_unlimited_selections_grow_with_their_sources(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "grows.h5", "w", libver="latest") as f:
        f.create_dataset("x", data=np.arange(12).reshape(6, 2), maxshape=(None, 2), chunks=(2, 2))
    everything = [((0, 0), (UNLIMITED, 1), (1, 1), (1, 2))]
    virtual(tmp_path / "v.h5", (0, 2), [("grows.h5", "x", (6, 2), everything, everything)], (UNLIMITED, 2))
    blocks = [((1, 0), (UNLIMITED, 1), (5, 1), (3, 2))]
    virtual(tmp_path / "blocks.h5", (0, 2), [("grows.h5", "x", (6, 2), everything, blocks)], (UNLIMITED, 2))
    for extent in (6, 7, 11):
        with h5py.File(tmp_path / "grows.h5", "a", libver="latest") as f:
            f["x"].resize((extent, 2))
            f["x"][...] = np.arange(2 * extent).reshape(extent, 2)
        for name in ("v.h5", "blocks.h5"):
            check(tmp_path / name)
            with h5py.File(tmp_path / name) as theirs:
                assert hs.open(tmp_path / name)["v"].shape == theirs["v"].shape != (0, 2)
    assert hs.open(tmp_path / "v.h5").table("/v").count() == 22


@pytest.mark.parametrize("where", ["file", "dataset"])
def test_numbered_blocks_are_found_until_one_is_missing(tmp_path: pathlib.Path, where: str) -> None:
    for i in (0, 1, 2, 4):
        name = f"b{i}.h5" if where == "file" else "all.h5"
        with h5py.File(tmp_path / name, "a") as f:
            f["x" if where == "file" else f"x{i}"] = np.arange(6).reshape(3, 2) + 10 * i
    file, dataset = ("b%b.h5", "x") if where == "file" else ("all.h5", "x%b")
    blocks = [((0, 0), (UNLIMITED, 1), (4, 1), (3, 2))]
    virtual(tmp_path / "v.h5", (0, 2), [(file, dataset, (3, 2), [((0, 0), (1, 1), (3, 2), (3, 2))], blocks)], (UNLIMITED, 2))
    check(tmp_path / "v.h5")
    assert hs.open(tmp_path / "v.h5")["v"].shape == (11, 2)


def test_a_missing_source_is_an_error_or_the_fill_value_by_choice(sources: pathlib.Path) -> None:
    path = sources / "v.h5"
    with h5py.File(path, "w", libver="latest") as f:
        layout = h5py.VirtualLayout((2, 10, 6), "i8")
        layout[0] = h5py.VirtualSource("s0.h5", "data", (10, 6))
        layout[1] = h5py.VirtualSource("gone.h5", "data", (10, 6))
        f.create_virtual_dataset("v", layout, fillvalue=-7)
        layout = h5py.VirtualLayout((10, 6), "i8")
        layout[...] = h5py.VirtualSource("s0.h5", "nothing", (10, 6))
        f.create_virtual_dataset("dataset", layout)
    strict = hs.open(path)
    assert strict["v"][0, 0, 1] == 1, "what is there reads"
    with pytest.raises(hs.NotFoundError, match="gone.h5.*missing_sources"):
        strict["v"][...]
    with pytest.raises(hs.NotFoundError, match="nothing"):
        strict["dataset"][...]
    check(path, 3)  # with missing_sources="fill"
    with pytest.raises(hs.InvalidInputError, match="missing_sources"):
        hs.open(path, missing_sources="guess")


def test_sources_in_the_same_file_virtual_ones_and_text(tmp_path: pathlib.Path) -> None:
    text = np.array(["a", "", "ü" * 100, "d"], dtype=object)
    for i in range(2):
        with h5py.File(tmp_path / f"t{i}.h5", "w") as f:
            f.create_dataset("text", data=[f"{i}{t}" for t in text], dtype=h5py.string_dtype())
            records = np.array([(i, f"r{i}"), (i + 10, "")], dtype=[("n", "i4"), ("t", h5py.string_dtype())])
            f.create_dataset("records", data=records)
    path = tmp_path / "v.h5"
    with h5py.File(path, "w", libver="latest") as f:
        f["x"] = np.arange(6.0)
        layout = h5py.VirtualLayout((2, 6), "f8")
        layout[1] = h5py.VirtualSource(f["x"])
        f.create_virtual_dataset("own", layout, fillvalue=np.nan)
        for name, dtype, extent in (("text", h5py.string_dtype(), 4), ("records", records.dtype, 2)):
            layout = h5py.VirtualLayout((2, extent), dtype)
            for i in range(2):
                layout[i] = h5py.VirtualSource(f"t{i}.h5", name, (extent,), dtype)
            f.create_virtual_dataset(name, layout)
    with h5py.File(tmp_path / "vv.h5", "w", libver="latest") as f:
        layout = h5py.VirtualLayout((6,), "f8")
        layout[...] = h5py.VirtualSource("v.h5", "own", (2, 6))[1]
        f.create_virtual_dataset("again", layout)
    check(path, 5)
    check(tmp_path / "vv.h5")
    table = hs.open(path).table("/text", columns=["text"]).to_arrow()
    assert table["text"].to_pylist() == [f"{i}{t}" for i in range(2) for t in text]
    assert hs.open(path).table("/records", where="n >= 10", columns=["t"]).count() == 2


def test_texts_of_fill_values_and_of_virtual_sources_come_from_their_own_file(tmp_path: pathlib.Path) -> None:
    """Each file has texts of the same length at about the same place: one that is looked up in another file would be wrong."""
    text = h5py.string_dtype()
    for name in ("s0", "s1"):
        with h5py.File(tmp_path / f"{name}.h5", "w") as f:
            f.create_dataset("t", data=[f"{name} {i}" for i in range(3)], dtype=text)
    # Source, its extent, first element and count. 9 elements of each dataset, then two that nothing maps.
    sources = {
        "v": [("s0.h5", "t", 3, 0, 3), ("s1.h5", "t", 3, 0, 3), (".", "own", 3, 0, 3)],
        "vv": [("v.h5", "v", 11, 4, 7), ("s1.h5", "t", 3, 1, 2)],
    }
    for name, parts in sources.items():
        with h5py.File(tmp_path / f"{name}.h5", "w") as f:
            f.create_dataset("own", data=[f"{name[:1]}own {i}" for i in range(3)], dtype=text)
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_fill_value(np.array(f"fill {len(name)}", dtype=text))
            place = 0
            for file, dataset, extent, first, count in parts:
                target, source = h5py.h5s.create_simple((11,)), h5py.h5s.create_simple((extent,))
                target.select_hyperslab((place,), (1,), block=(count,))
                source.select_hyperslab((first,), (1,), block=(count,))
                creation.set_virtual(target, file.encode(), dataset.encode(), source)
                place += count
            h5py.h5d.create(f.id, b"v", h5py.h5t.py_create(text, logical=True), h5py.h5s.create_simple((11,)), creation)
    for name in sources:
        with h5py.File(tmp_path / f"{name}.h5") as f, hs.open(tmp_path / f"{name}.h5") as ours:
            expected = f["v"][()]
            assert expected[-1] == f"fill {len(name)}".encode() and len(set(expected)) >= 7
            for part in (slice(None), slice(9, None), slice(4, 8), slice(6, 10)):
                assert ours["v"][part].tolist() == expected[part].tolist(), (name, part)
            assert ours["v"].fillvalue == f["v"].fillvalue


def test_files_that_point_at_each_other_end_in_an_error(tmp_path: pathlib.Path) -> None:
    for a, b in (("a", "b"), ("b", "a")):
        with h5py.File(tmp_path / f"{a}.h5", "w", libver="latest") as f:
            layout = h5py.VirtualLayout((3,), "i8")
            layout[...] = h5py.VirtualSource(f"{b}.h5", "v", (3,))
            f.create_virtual_dataset("v", layout)
    with pytest.raises(hs.LimitExceededError, match="circle"):
        hs.open(tmp_path / "a.h5")["v"][...]


def test_other_folders_are_opened_only_when_asked(tmp_path: pathlib.Path) -> None:
    (tmp_path / "inner").mkdir()
    with h5py.File(tmp_path / "outside.h5", "w") as f:
        f["x"] = np.arange(3)
    with h5py.File(tmp_path / "inner" / "v.h5", "w", libver="latest") as f:
        for name, target in (("up", "../outside.h5"), ("absolute", str(tmp_path / "outside.h5"))):
            layout = h5py.VirtualLayout((3,), "i8")
            layout[...] = h5py.VirtualSource(target, "x", (3,))
            f.create_virtual_dataset(name, layout)
            f[f"link {name}"] = h5py.ExternalLink(target, "/x")
    f = hs.open(tmp_path / "inner" / "v.h5")
    for name in ("up", "absolute"):
        with pytest.raises(hs.UnsupportedError, match="paths="):
            f[name][...]
        with pytest.raises(hs.UnsupportedError, match="paths="):
            f[f"link {name}"]
    f = hs.open(tmp_path / "inner" / "v.h5", paths="anywhere")
    for name in ("up", "absolute", "link up", "link absolute"):
        assert f[name][...].tolist() == [0, 1, 2]


@pytest.mark.parametrize("pieces", [1, 3])
def test_external_raw_data(tmp_path: pathlib.Path, pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the HDF5 library looks for raw data in the working directory
    values = np.arange(300, dtype="f8").reshape(30, 10)
    raw = values.tobytes()
    cuts = [0, *(len(raw) * (i + 1) // pieces // 8 * 8 + 4 for i in range(pieces - 1)), len(raw)]
    external = []
    for i in range(pieces):
        part = raw[cuts[i] : cuts[i + 1]]
        (tmp_path / f"raw{i}.bin").write_bytes(b"#" * i + part)
        external.append((f"raw{i}.bin", i, len(part) if i < pieces - 1 else h5py.h5f.UNLIMITED))
    with h5py.File("a.h5", "w") as f:
        f.create_dataset("x", (30, 10), "f8", external=external)
        f.create_dataset("longer", (31, 10), "f8", external=external)
    check(tmp_path / "a.h5", 3)
    d = hs.open("a.h5")["x"]
    np.testing.assert_array_equal(d[3:20:7, 2:5], values[3:20:7, 2:5])
    os.remove("raw0.bin")
    with pytest.raises(hs.NotFoundError, match="raw0.bin"):
        hs.open("a.h5")["x"][...]


def test_sequences_of_texts_and_of_sequences(tmp_path: pathlib.Path) -> None:
    texts, lists = h5py.vlen_dtype(h5py.string_dtype()), h5py.vlen_dtype(h5py.vlen_dtype(np.dtype("i4")))
    layouts = {name: h5py.VirtualLayout((6,), dtype) for name, dtype in (("t", texts), ("l", lists))}
    for number in range(2):
        with h5py.File(tmp_path / f"s{number}.h5", "w") as f:
            for name, dtype in (("t", texts), ("l", lists)):
                made = f.create_dataset(name, (3,), dtype)
                for k in range(3):
                    items = [f"ä{number}{k}{i}" for i in range(k)] if name == "t" else [np.arange(i + number, dtype="i4") for i in range(k)]
                    whole = np.empty(k, object)
                    whole[:] = items
                    made[k] = whole
                layouts[name][3 * number : 3 * number + 3] = h5py.VirtualSource(f"s{number}.h5", name, (3,))
    with h5py.File(tmp_path / "v.h5", "w", libver="latest") as f:
        for name, layout in layouts.items():
            f.create_virtual_dataset(name, layout)
    found = hs.open(tmp_path / "v.h5")
    assert [list(map(str, row)) for row in found.table("/t").to_arrow()["t"].to_pylist()] == [
        [f"ä{n}{k}{i}" for i in range(k)] for n in range(2) for k in range(3)
    ]
    assert found.table("/l").to_arrow()["l"].to_pylist() == [[list(range(i + n)) for i in range(k)] for n in range(2) for k in range(3)]


def everything(shape: tuple[int, ...]) -> list:
    """All of a shape as one slab."""
    return [(tuple(0 for _ in shape), tuple(1 for _ in shape), None, shape)]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("target", "source"),
    [((2, 3), (6,)), ((6,), (2, 3)), ((2, 3), (3, 2)), ((4, 4), (2, 8)), ((2, 3, 4), (4, 6)), ((1, 12), (3, 2, 2)), ((5, 1, 2), (10, 1)), ((24,), (2, 3, 4))],
)
def test_selections_of_equal_counts_belong_together_in_row_major_order(tmp_path: pathlib.Path, target: tuple, source: tuple, whole: bool) -> None:
    path = tmp_path / "v.h5"
    values = np.arange(np.prod(source)).reshape(source) * 7
    with h5py.File(tmp_path / "s.h5", "w") as f:
        f["data"] = values
    with h5py.File(path, "w", libver="latest") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        to, origin = h5py.h5s.create_simple(target), h5py.h5s.create_simple(source)
        if not whole:
            to.select_hyperslab(*everything(target)[0])
            origin.select_hyperslab(*everything(source)[0])
        creation.set_virtual(to, b"s.h5", b"data", origin)
        h5py.h5d.create(f.id, b"v", h5py.h5t.STD_I64LE, h5py.h5s.create_simple(target), creation)
    check(path, 1)
    ours = hs.open(path)["v"]
    assert (ours[...] == values.reshape(target)).all()
    for key in (np.s_[-1], np.s_[..., 0], np.s_[..., ::2], np.s_[[0]]):
        assert (ours[key] == values.reshape(target)[key]).all()
    assert hs.open(path).table("/v").to_arrow()["v"].to_pylist() == values.ravel().tolist()


def test_any_two_selections_of_equal_counts(tmp_path: pathlib.Path) -> None:
    """Regular slabs, unions of boxes, points and whole datasets on either side, against h5py."""
    rng = np.random.default_rng(5)
    shapes = [(24,), (4, 6), (8, 9), (2, 3, 8), (50,), (5, 4, 3)]
    values = {}
    with h5py.File(tmp_path / "s.h5", "w") as f:
        for number, shape in enumerate(shapes):
            values[number] = np.arange(np.prod(shape)).reshape(shape) + 1000 * number
            f.create_dataset(str(number), data=values[number], chunks=tuple(max(n // 2, 1) for n in shape))

    def selection(shape: tuple[int, ...]) -> h5py.h5s.SpaceID:
        space = h5py.h5s.create_simple(shape)
        kind = rng.integers(3)
        if kind == 0:
            start = [int(rng.integers(n)) for n in shape]
            step = [int(rng.integers(1, 3)) for _ in shape]
            count = [int(rng.integers(1, (n - s + t - 1) // t + 1)) for n, s, t in zip(shape, start, step)]
            space.select_hyperslab(tuple(start), tuple(count), tuple(step))
        elif kind == 1:
            for number in range(3):
                start = [int(rng.integers(n)) for n in shape]
                count = [int(rng.integers(1, n - s + 1)) for n, s in zip(shape, start)]
                space.select_hyperslab(tuple(start), tuple(count), op=h5py.h5s.SELECT_OR if number else h5py.h5s.SELECT_SET)
        return space

    path, made = tmp_path / "v.h5", 0
    with h5py.File(path, "w", libver="latest") as f:
        for _ in range(20_000):
            a, b = rng.integers(len(shapes), size=2)
            to, origin = selection(shapes[a]), selection(shapes[b])
            if to.get_select_npoints() != origin.get_select_npoints() or to.get_select_npoints() == 1:
                continue
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_fill_value(np.array(-1, "i8"))
            creation.set_virtual(to, b"s.h5", str(b).encode(), origin)
            h5py.h5d.create(f.id, f"v{made}".encode(), h5py.h5t.STD_I64LE, h5py.h5s.create_simple(shapes[a]), creation)
            made += 1
            if made == 150:
                break
    assert made == 150
    ours = hs.open(path)
    with h5py.File(path) as theirs:
        for name in theirs:
            expected = theirs[name][...]
            np.testing.assert_array_equal(ours[name][...], expected)
            key = tuple(slice(int(rng.integers(n)), None, int(rng.integers(1, 3))) for n in expected.shape)
            np.testing.assert_array_equal(ours[name][key], expected[key])


def test_mappings_of_another_arrangement_cost_what_is_wanted(tmp_path: pathlib.Path) -> None:
    """A few elements of mappings of 2^40 elements, and of boxes of 2^24, without listing those."""
    import resource
    import subprocess
    import sys

    side = 1 << 20
    with h5py.File(tmp_path / "s.h5", "w") as f:
        line = f.create_dataset("line", (side * side,), "u1", chunks=(1 << 16,), fillvalue=7)
        line[5 * side + 3 : 5 * side + 6] = [1, 2, 3]
        f.create_dataset("square", (8192, 8192), "u1", chunks=(64, 64), fillvalue=9)
    path = tmp_path / "v.h5"
    with h5py.File(path, "w", libver="latest") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_virtual(h5py.h5s.create_simple((side, side)), b"s.h5", b"line", h5py.h5s.create_simple((side * side,)))
        h5py.h5d.create(f.id, b"v", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((side, side)), creation)
        boxes = h5py.h5s.create_simple((8192, 8192))
        boxes.select_hyperslab((0, 0), (4096, 4096))
        boxes.select_hyperslab((4096, 4096), (4096, 4096), op=h5py.h5s.SELECT_OR)
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_virtual(boxes, b"s.h5", b"square", boxes)
        h5py.h5d.create(f.id, b"boxes", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((8192, 8192)), creation)
    program = (
        "import sys, resource, hyperslab as hs; f = hs.open(sys.argv[1])\n"
        "assert f['v'][5, 2:8].tolist() == [7, 1, 2, 3, 7, 7] and f['v'][0, 0] == 7\n"
        "assert f['boxes'][4095, 4090:4100].tolist() == [9] * 6 + [0] * 4 and f['boxes'][8000, 100] == 0\n"
    )
    limit = 3 << 30
    subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    )


def test_a_missing_file_that_an_object_needs_is_a_missing_file(tmp_path: pathlib.Path) -> None:
    """Raw data and link targets; the object is there, so this is more than a KeyError."""
    path = tmp_path / "made.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("raw", (4,), "i4", external=[(str(tmp_path / "raw.bin"), 0, 16)])[...] = 1
        f["link"] = h5py.ExternalLink("gone.h5", "/x")
    (tmp_path / "raw.bin").unlink()
    f = hs.open(path)
    for ask in (lambda: f["raw"][...], lambda: f.table("/raw").to_arrow(), lambda: f["link"]):
        with pytest.raises(FileNotFoundError) as raised:
            ask()
        assert isinstance(raised.value, hs.NotFoundError) and isinstance(raised.value, KeyError)
        assert raised.value.object is not None and str(raised.value).endswith(f"object {raised.value.object})")
    with pytest.raises(KeyError) as raised:
        f["nothing"]
    assert not isinstance(raised.value, FileNotFoundError)
