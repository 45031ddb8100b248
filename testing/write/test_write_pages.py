"""Properties of a file that other programs honor when they change it: when fill values are written, and pages."""

import os

import dump_tools
import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
from h5py import h5d

TIMES = {"alloc": h5d.FILL_TIME_ALLOC, "never": h5d.FILL_TIME_NEVER, "ifset": h5d.FILL_TIME_IFSET}
LAYOUTS = {
    "contiguous": {},
    "chunked": {"chunks": (3, 4)},
    "filtered": {"chunks": (3, 4), "compression": "gzip"},
    "growing": {"maxshape": (None, 10)},
}


def stored_time(dataset):
    return dataset.id.get_create_plist().get_fill_time()


@pytest.mark.parametrize("fillvalue", [None, 7])
@pytest.mark.parametrize("time", [None, *TIMES])
def test_the_time_that_was_asked_for_is_stored(tmp_path, time, fillvalue):
    path, values = tmp_path / "x.h5", np.arange(100).reshape(10, 10)
    with hs.create(path) as f:
        for name, layout in LAYOUTS.items():
            f.create_dataset(name, data=values, dtype="i4", fill_time=time, fillvalue=fillvalue, **layout)
            part = f.create_dataset(f"part of {name}", (10, 10), "i4", fill_time=time, fillvalue=fillvalue, **layout)
            part[2:5, 3:] = values[2:5, 3:]
        f.create_dataset("scalar", data=3, fill_time=time, fillvalue=fillvalue)
        f.copy("chunked", "copied")
    with h5py.File(path) as f, hs.open(path) as ours:
        for name in f:
            assert stored_time(f[name]) == TIMES[time or "ifset"], name
            if name == "scalar":
                assert f[name][()] == 3
            elif name.startswith("part of"):
                assert (f[name][2:5, 3:] == values[2:5, 3:]).all()
                # What was never written is the fill value to us, whatever the time.
                expected = np.full((10, 10), fillvalue or 0)
                expected[2:5, 3:] = values[2:5, 3:]
                assert (ours[name][:] == expected).all()
            else:
                assert (f[name][:] == values).all() and (ours[name][:] == values).all()


def test_hdf5_fills_what_it_allocates_as_the_time_says(tmp_path):
    path = tmp_path / "x.h5"
    with hs.create(path) as f:
        for time in TIMES:
            f.create_dataset(time, (4,), "i4", chunks=(2,), maxshape=(None,), fill_time=time, fillvalue=7)
    with h5py.File(path, "r+") as f:
        for time in TIMES:
            f[time][0] = 1
    with h5py.File(path) as f:
        assert [f[time][0] for time in TIMES] == [1, 1, 1]
        assert [f[time][1] for time in ("alloc", "ifset")] == [7, 7]


@pytest.mark.parametrize("time", TIMES)
def test_plans_commits_appends_and_fusing_keep_the_time(tmp_path, time):
    path, values = tmp_path / "x.h5", np.arange(12.0)
    plan = hs.WritePlan(path, writers=2, factor=2)
    plan.create_dataset("run", (12,), "f8", fill_time=time, fillvalue=-1)
    plan.create_dataset("packed", (12,), "f8", chunks=(3,), compression="gzip", fill_time=time)
    fragments = []
    for number in range(2):
        mine = np.s_[number * 6 : number * 6 + 6]
        with plan.task(number) as task:
            task.write("run", values[mine])
            task.write("packed", values[mine])
            region = task.create_dataset("region", (12,), "f8", region=mine, fill_time=time, fillvalue=-1)
            region[mine] = values[mine]
            rows = task.create_dataset("rows", (0,), "f8", rows=True, fill_time=time)
            rows.append(values[mine])
            fragments.append(task.finish())
    plan.commit(fragments)
    more = hs.WritePlan(path, "a")
    with more.task(0) as task:
        rows = task.create_dataset("rows", (0,), "f8", rows=True)
        rows.append([12.0])
        more.commit([task.finish()])
    hs.fuse(path, tmp_path / "fused.h5")
    names = ["run", "packed", "region", "rows"]
    for found in (path, tmp_path / "fused.h5"):
        with h5py.File(found) as f:
            assert {name: stored_time(f[name]) for name in names} == dict.fromkeys(names, TIMES[time])
            assert all((f[name][:12] == values).all() for name in names) and f["rows"][12] == 12
    for part in tmp_path.glob("x.h5.d/**/*.h5"):
        with h5py.File(part) as f:
            # The groups are the views of a tail.
            assert all(stored_time(f[name]) == TIMES[time] for name in f if "rows" not in name and isinstance(f[name], h5py.Dataset)), part


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("time", TIMES)
def test_appending_to_a_file_of_h5py_keeps_the_time(tmp_path, time, libver):
    """Both versions of the message: 2 and 3."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=libver) as f:
        f.create_dataset("id", data=np.arange(3), maxshape=(None,), chunks=(4,), fill_time=time, fillvalue=9)
        f.create_dataset("other/whole", data=np.arange(3), fill_time=time)
    hs.write_table(pa.table({"id": [3, 4]}), path, mode="a")
    with h5py.File(path) as f:
        assert (stored_time(f["id"]), stored_time(f["other/whole"])) == (TIMES[time], TIMES[time])
        assert f["id"][:].tolist() == [0, 1, 2, 3, 4]


def test_times_that_do_not_exist_are_refused(tmp_path):
    plan = hs.WritePlan(tmp_path / "x.h5", writers=1)
    for create in (hs.create(tmp_path / "y.h5").create_dataset, plan.create_dataset):
        with pytest.raises(hs.InvalidInputError, match='unknown fill_time "sometimes"; expected "ifset", "alloc" or "never"'):
            create("x", (3,), "i4", fill_time="sometimes")


def paged(path, page_bytes, fill, **options):
    """A file of pages, and what h5py reads from it page by page."""
    with hs.create(path, fs_strategy="page", fs_page_size=page_bytes, **options) as f:
        expected = fill(f)
    with h5py.File(path, page_buf_size=max(8 * page_bytes, 1 << 16)) as f:
        created = f.id.get_create_plist()
        assert created.get_file_space_strategy()[:3] == (h5py.h5f.FSPACE_STRATEGY_PAGE, False, 1)
        assert created.get_file_space_page_size() == page_bytes
        same(f, expected)
    assert (os.path.getsize(path) - options.get("userblock_size", 0)) % page_bytes == 0
    with hs.open(path) as f:
        same(f, expected)
    return expected


def same(file, expected):
    for name, values in expected.items():
        found = file[name][()]
        found = found.decode() if isinstance(found, bytes) else found
        if isinstance(values, list):
            found = [value.decode() if isinstance(value, bytes) else value for value in found]
            assert found == values, name
        else:
            assert np.array_equal(found, values), name


def some_contents(rng):
    """Writes datasets of random sizes in every layout, attributes, groups and references."""

    def fill(f):
        expected = {}
        for number in range(rng.integers(1, 12)):
            kind, name = rng.integers(7), f"group {number % 3}/x{number}"
            size = int(2 ** rng.uniform(0, 17))
            values = rng.integers(0, 1 << int(rng.integers(1, 31)), size)
            if kind == 0:
                f.create_dataset(name, data=values, dtype="i4")
            elif kind == 1:
                f.create_dataset(name, data=values, chunks=(int(rng.integers(1, size + 1)) if size < 1000 else size // 7,), compression="gzip")
            elif kind == 2:
                d = f.create_dataset(name, (0,), "i8", maxshape=(None,), chunks=(max(size // 9, 1),))
                for part in np.array_split(values, 5):
                    d.append(part)
            elif kind == 3:
                values = ["t" * int(n % 200) for n in values[:3000]]
                f.create_dataset(name, data=values, dtype=h5py.string_dtype())
            elif kind == 4:
                values = "one text" * (size % 100)
                f[name] = values
            elif kind == 5:
                values = values[: size // 2 * 2].reshape(-1, 2)
                d = f.create_dataset(name, values.shape, "i8", maxshape=(None, None), chunks=(max(size // 20, 1), 1))
                d[:] = values
            else:
                f.create_dataset(name, data=values, fillvalue=3)[: size // 2] = values[: size // 2]
            expected[name] = values
            for n in range(int(rng.integers(0, 4))):
                f[name].attrs[f"text {n}"] = "v" * int(2 ** rng.uniform(0, 14))
                f[name].attrs[f"numbers {n}"] = rng.integers(0, 9, int(2 ** rng.uniform(0, 12)))
        if rng.integers(2):
            f.attrs["large"] = np.arange(70_000)
            f.attrs["where"] = f[next(iter(expected))].ref
            f["refs"] = [f[name].ref for name in expected]
        for n in range(int(rng.choice([0, 5, 900]))):
            f.create_group(f"many/{n}")
        return expected

    return fill


@pytest.mark.sampled(4)
@pytest.mark.parametrize("page_bytes", [512, 520, 1024, 4096, 10_000, 65536, 1 << 20])
@pytest.mark.parametrize("seed", range(6))
def test_files_of_pages_are_read_and_changed_page_by_page(tmp_path, page_bytes, seed):
    path, rng = tmp_path / "x.h5", np.random.default_rng(seed)
    expected = paged(path, page_bytes, some_contents(rng), track_order=bool(seed % 2))
    with h5py.File(path) as f, hs.open(path) as ours:
        for name in expected:
            theirs = f[name].attrs
            assert set(theirs) == set(ours[name].attrs)
            for key in theirs:
                assert np.array_equal(theirs[key], ours[name].attrs[key]), (name, key)
        if "refs" in f:
            assert [f[ref].name for ref in f["refs"]] == [f"/{name}" for name in expected]
    with h5py.File(path, "r+", page_buf_size=8 * page_bytes if page_bytes > 4096 else 1 << 16) as f:
        dropped = list(expected)[::2]
        for name in dropped:
            del f[name]
            del expected[name]
        for number in range(5):
            expected[f"new {number}"] = rng.integers(0, 99, int(2 ** rng.uniform(0, 16)))
            f[f"new {number}"] = expected[f"new {number}"]
            f[f"new {number}"].attrs["text"] = "x" * 3000
    for options in ({"page_buf_size": max(8 * page_bytes, 1 << 16)}, {}):
        with h5py.File(path, **options) as f:
            same(f, expected)
            assert not set(dropped) & set(expected)
    with hs.open(path) as f:
        same(f, expected)


def structures(path):
    """Address and length of values, by what HDF5 says of them."""
    with h5py.File(path) as f:
        found = []

        def visit(name, item):
            if isinstance(item, h5py.Dataset):
                if item.chunks is None and item.id.get_offset() is not None:
                    found.append((item.id.get_offset(), item.id.get_storage_size()))
                elif item.chunks is not None:
                    for n in range(item.id.get_num_chunks()):
                        chunk = item.id.get_chunk_info(n)
                        found.append((chunk.byte_offset, chunk.size))

        f.visititems(visit)
        objects = [h5py.h5o.get_info(f[name].id).addr for name in _names(f)]
    return found, objects


def _names(f):
    names = ["/"]
    f.visit(names.append)
    return names


@pytest.mark.parametrize("page_bytes", [512, 4096, 65536])
def test_metadata_and_values_are_in_pages_of_their_own(tmp_path, page_bytes):
    path = tmp_path / "x.h5"
    for seed in range(5):
        paged(path, page_bytes, some_contents(np.random.default_rng(seed)))
        values, objects = structures(path)
        raw = set()
        for at, length in values:
            if length >= page_bytes:
                assert at % page_bytes == 0
            elif length:
                assert at // page_bytes == (at + length - 1) // page_bytes
            raw.update(range(at // page_bytes, (at + max(length, 1) - 1) // page_bytes + 1) if length else ())
        assert not raw & {at // page_bytes for at in objects} and 0 not in raw
        bytes_ = path.read_bytes()
        for at in range(0, len(bytes_), 8):
            signature = bytes_[at : at + 4]
            if signature in (b"OHDR", b"BTHD", b"BTLF", b"BTIN", b"FRHP", b"FHDB", b"FAHD", b"FADB", b"EAHD", b"EAIB", b"TREE"):
                assert at // page_bytes not in raw, (signature, at)


def test_a_small_file_of_pages_has_its_metadata_beside_the_superblock(tmp_path):
    path = tmp_path / "x.h5"
    paged(path, 4096, lambda f: f.create_dataset("x", data=np.arange(5)) and {"x": np.arange(5)})
    assert os.path.getsize(path) == 8192
    paged(path, 4096, lambda f: {})
    assert os.path.getsize(path) == 4096


def test_small_texts_share_pages(tmp_path):
    """A text of 10 bytes does not take a page of 1 MiB."""

    def fill(f):
        for n in range(50):
            f[f"x{n}"] = "t" * 5000
            f[f"x{n}"].attrs["a"] = "b" * 5000
        return {f"x{n}": "t" * 5000 for n in range(50)}

    paged(tmp_path / "x.h5", 1 << 20, fill)
    assert os.path.getsize(tmp_path / "x.h5") <= 8 << 20


def test_pages_after_a_user_block(tmp_path):
    fill = some_contents(np.random.default_rng(3))
    paged(tmp_path / "x.h5", 1024, fill, userblock_size=2048)
    with pytest.raises(hs.InvalidInputError, match="a user block of 512 bytes in a file with pages of 1024"):
        hs.create(tmp_path / "x.h5", fs_strategy="page", fs_page_size=1024, userblock_size=512)


@pytest.mark.parametrize(
    "options, error, words",
    [
        ({"fs_strategy": "page", "fs_page_size": 511}, hs.InvalidInputError, "pages of 511 bytes: give a multiple of 8 from 512"),
        ({"fs_strategy": "page", "fs_page_size": 513}, hs.InvalidInputError, "pages of 513 bytes"),
        ({"fs_strategy": "page", "fs_page_size": -1}, hs.InvalidInputError, "fs_page_size=-1"),
        ({"fs_strategy": "page", "fs_page_size": 2 << 30}, hs.InvalidInputError, "pages of 2147483648 bytes"),
        ({"fs_strategy": "page", "alignment": 4096}, hs.InvalidInputError, "alignment=4096"),
        ({"fs_strategy": "page", "fs_persist": True}, hs.UnsupportedError, "fs_persist=True"),
        ({"fs_strategy": "page", "fs_threshold": 100}, hs.UnsupportedError, "fs_threshold=100"),
        ({"fs_page_size": 4096}, hs.UnsupportedError, "fs_page_size=4096"),
        ({"fs_strategy": "pages"}, hs.UnsupportedError, "fs_strategy='pages'"),
    ],
    ids=str,
)
def test_pages_that_cannot_be_are_refused(tmp_path, options, error, words):
    with pytest.raises(error, match=words):
        hs.create(tmp_path / "x.h5", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("page_bytes", [512, 10_000, 16384, 65536])
def test_many_chunks_are_found_page_by_page(tmp_path, page_bytes):
    """With a page buffer HDF5 2.0 fails to read long fixed arrays, also its own: we write none into pages."""
    values, layouts = np.arange(300_000), [("fixed", 100, None), ("growing", 3, (None,)), ("growing in long", 1000, (None,))]

    def fill(f):
        for name, chunk, maxshape in layouts:
            f.create_dataset(name, data=values, chunks=(chunk,), maxshape=maxshape)
            f.create_dataset(f"packed {name}", data=values[:30_000], chunks=(chunk // 3,), maxshape=maxshape, compression="gzip", shuffle=True)
        return {name: values for name, *_ in layouts} | {f"packed {name}": values[:30_000] for name, *_ in layouts}

    paged(tmp_path / "x.h5", page_bytes, fill)


def test_the_tools_of_hdf5_read_pages(tmp_path):
    path = tmp_path / "x.h5"
    paged(path, 4096, some_contents(np.random.default_rng(1)))
    listed = dump_tools.run("h5dump", "-B", "-A", path)
    assert listed is None or "H5F_FSPACE_STRATEGY_PAGE" in listed
