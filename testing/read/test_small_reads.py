"""Small reads: each gives what h5py gives for the same key, in whatever order and from whatever was kept of earlier ones; what is kept
stays within its bound, and never outlives a change of the file."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import time
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judge import identical
from sampling import examples

ROWS, COLUMNS = 250, 36
ENUM = h5py.enum_dtype({"cold": 0, "warm": 7}, basetype="u1")
RECORD = np.dtype([("x", "<f8"), ("flag", "?"), ("v", ">i2", (3,))])


def values(dtype: Any) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(5)
    plain = rng.integers(0, 200, (ROWS, COLUMNS))
    if dtype is RECORD:
        out = np.zeros((ROWS, COLUMNS), RECORD)
        out["x"], out["flag"], out["v"] = plain, plain > 100, plain[..., None] + np.arange(3)
        return out
    return plain.astype(dtype)


LAYOUTS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunks": (7, 10)},
    "gzip": {"chunks": (7, 10), "compression": "gzip", "shuffle": True},
    "lzf": {"chunks": (16, 36), "compression": "lzf"},
    "growing": {"chunks": (7, 10), "maxshape": (None, None), "compression": "gzip"},
    "one chunk": {"chunks": (ROWS, COLUMNS), "compression": "gzip"},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    found = tmp_path_factory.mktemp("small") / "data.h5"
    with h5py.File(found, "w") as f:
        for layout, options in LAYOUTS.items():
            for name, dtype in {"f4": "<f4", "i2": ">i2", "bool": "?", "c8": "<c8", "S5": "S5", "record": RECORD}.items():
                f.create_dataset(f"{layout}/{name}", data=values(dtype), **options)
            f.create_dataset(f"{layout}/enum", (ROWS, COLUMNS), ENUM, **options)[:, 3:] = values("u1")[:, 3:]
            f.create_dataset(f"{layout}/array", (ROWS, COLUMNS), np.dtype(("<i4", (2, 3))), **options)[::2] = np.full((ROWS // 2, COLUMNS, 2, 3), 9, "i4")
            f.create_dataset(f"{layout}/partly", (ROWS, COLUMNS), "f8", fillvalue=-1.5, **options)[40:60] = values("f8")[40:60]
        f["texts"] = [f"text {i} é" for i in range(500)]
        f["texts"][3] = ""
        f["words"] = np.array([b"", b"a\xff", b"word"], dtype=object).reshape(1, 3)
        f["scalar"], f["text"], f["none"] = 2.5, "déjà", h5py.Empty("f4")
        f["empty"] = np.zeros((0, 4))
    long_ago = time.time() - 60
    os.utime(found, (long_ago, long_ago))
    return found


def index(extent: int) -> st.SearchStrategy[Any]:
    start, step = st.integers(-extent, extent) | st.none(), st.integers(1, 9) | st.none()
    number = st.integers(-extent, extent - 1)
    return number | number.map(np.int64) | st.builds(slice, start, start, step)


keys = st.one_of(
    index(ROWS),
    st.tuples(index(ROWS), index(COLUMNS)),
    st.tuples(st.just(...), index(COLUMNS)),
    st.tuples(index(ROWS), st.just(...)),
    st.tuples(index(ROWS), index(COLUMNS), st.just(...)),
    st.just(...),
    st.just(()),
)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_key_gives_what_h5py_gives(path: pathlib.Path, layout: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["f4", "i2", "bool", "c8", "S5", "record", "enum", "array", "partly"]))
    with h5py.File(path) as theirs, hs.open(path) as ours:
        for key in data.draw(st.lists(keys, min_size=1, max_size=6)):
            assert identical(ours[f"{layout}/{name}"][key], theirs[layout][name][key])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", ["in order", "backwards", "at random", "in slices over chunks", "along columns"])
@pytest.mark.parametrize("cache", [None, 0, 5000])
def test_rows_in_any_order(path: pathlib.Path, layout: str, order: str, cache: int | None) -> None:
    rng = np.random.default_rng(len(order))
    expected = values("<f4")
    dataset = hs.open(path, chunk_cache_bytes=cache)[f"{layout}/f4"]
    if order == "along columns":
        for column in range(COLUMNS):
            assert identical(dataset[20:200:3, column], expected[20:200:3, column])
        return
    if order == "in slices over chunks":
        for first in range(0, ROWS, 5):
            assert identical(dataset[first : first + 5, 4:30], expected[first : first + 5, 4:30])
        return
    rows = {"in order": range(ROWS), "backwards": range(ROWS - 1, -1, -1), "at random": rng.integers(0, ROWS, 400)}[order]
    for row in rows:
        assert identical(dataset[row], expected[row])


def test_members_of_compounds(path: pathlib.Path) -> None:
    with h5py.File(path) as theirs, hs.open(path) as ours:
        for layout in LAYOUTS:
            mine, other = ours[f"{layout}/record"], theirs[f"{layout}/record"]
            for key in ["x", (3, "x"), (3, 4, "x"), (3, 4, "v"), (slice(2, 9), "flag")]:
                assert identical(mine[key], other[key])
            for key in [("x", "v", 3), ("x", "flag", 3, 5)]:
                assert mine[key].dtype.names == other[key].dtype.names
                assert str(mine[key].tolist()) == str(other[key].tolist())
            with pytest.raises(ValueError, match="no field"):
                mine[0, "y"]


def test_strings_scalars_and_nothing(path: pathlib.Path) -> None:
    with h5py.File(path) as theirs, hs.open(path) as ours:
        for name, tried in {
            "texts": [0, 3, -1, slice(None), slice(2, 400, 7), ..., [1, 5]],
            "words": [..., (0, 2), 0, (slice(None), 1)],
            "scalar": [(), ...],
            "text": [(), ...],
            "empty": [..., slice(None), (slice(None), 2)],
        }.items():
            for key in tried:
                assert identical(ours[name][key], theirs[name][key])
                if name in ("texts", "text"):
                    assert np.array_equal(ours[name].asstr()[key], theirs[name].asstr()[key])
        with pytest.raises(UnicodeDecodeError):
            ours["words"].asstr()[0]
        assert ours["words"].asstr("latin-1")[0, 1] == "aÿ"
        assert isinstance(ours["none"][()], hs.Empty)


@pytest.mark.parametrize("key", [ROWS, -ROWS - 1, (0, COLUMNS), (0, 0, 0), (..., ...), 1.5, "nowhere", slice(None, None, -1)])
def test_wrong_keys_are_errors_as_before(path: pathlib.Path, key: Any) -> None:
    with pytest.raises((IndexError, TypeError, ValueError)):
        hs.open(path)["gzip/f4"][key]


def test_results_belong_to_the_caller(path: pathlib.Path) -> None:
    dataset = hs.open(path)["gzip/f4"]
    row = dataset[12]
    expected = row.copy()
    row[:] = -1
    assert row.flags.writeable
    assert identical(dataset[12], expected)


# What is kept


def settled() -> None:
    """Waits until no thread decodes ahead any more: the counters are those of the process."""
    before, now = None, hs.counters().chunks_decoded
    while now != before:
        time.sleep(0.2)
        before, now = now, hs.counters().chunks_decoded


def chunks_decoded(work: Any) -> int:
    settled()
    before = hs.counters()
    work()
    return hs.counters().since(before).chunks_decoded


def test_each_chunk_is_decoded_once(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "rows.h5", "w") as f:
        f.create_dataset("d", data=np.arange(40 * 64 * 50, dtype="f4").reshape(-1, 50), chunks=(64, 50), compression="gzip")
    time.sleep(0.1)  # the same tick of the file system's clock is waited for
    for rows in (range(40 * 64), np.random.default_rng(1).permutation(40 * 64)):
        dataset = hs.open(tmp_path / "rows.h5")["d"]
        assert chunks_decoded(lambda: [dataset[row] for row in rows]) == 40
    none = hs.open(tmp_path / "rows.h5", chunk_cache_bytes=0)["d"]
    assert chunks_decoded(lambda: [none[row] for row in range(20)]) == 20
    one = hs.open(tmp_path / "rows.h5", chunk_cache_bytes=8 * 64 * 50 * 4)["d"]
    assert chunks_decoded(lambda: [one[64 * (i % 20)] for i in range(60)]) >= 60, "more chunks than it holds, in a circle"
    below = hs.open(tmp_path / "rows.h5", chunk_cache_bytes=8 * 64 * 50 * 4 - 8)["d"]
    assert chunks_decoded(lambda: [below[5] for _ in range(9)]) == 9, "a chunk of more than an eighth is not kept"


def test_memory_stays_within_the_bound(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "large.h5", "w") as f:
        f.create_dataset("d", (400, 1 << 18), "f4", chunks=(1, 1 << 18), compression="gzip", shuffle=True)[::4] = 1
    time.sleep(0.1)

    def resident() -> int:
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

    dataset = hs.open(tmp_path / "large.h5", chunk_cache_bytes=16 << 20)["d"]
    for row in range(20):
        dataset[row, 5]
    before = resident()
    assert [float(dataset[row, 5]) for row in range(400)] == [1.0, 0.0, 0.0, 0.0] * 100
    assert resident() - before < 40 << 20, "400 MiB were decoded"


@pytest.mark.parametrize("same_time", [False, True])
def test_a_change_in_place_is_seen(tmp_path: pathlib.Path, same_time: bool) -> None:
    """A file that another program changes while it is open is a conflict, whatever is kept of it, and shows the new values after a refresh."""
    found = tmp_path / "changing.h5"
    data = np.zeros((100, 100), "i4")
    with h5py.File(found, "w") as f:
        f["padding"] = np.zeros(1 << 16)  # the first kilobytes of a file are kept from opening on
        f.create_dataset("gzip", data=data, chunks=(10, 100), compression="gzip")
        f.create_dataset("plain", data=data, chunks=(10, 100))
    stamp = os.stat(found)
    time.sleep(0.1)
    ours = hs.open(found)
    assert not any(ours[name][row].any() for name in ("gzip", "plain") for row in range(100))
    for value in (5, np.random.default_rng(0).integers(0, 1 << 30, 100)):
        with h5py.File(found, "r+") as f:
            f["gzip"][45], f["plain"][45] = value, value
        if same_time:
            os.utime(found, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
        time.sleep(0.1)
        for name in ("gzip", "plain"):
            with pytest.raises(hs.ConflictError, match="has changed since it was opened"):
                ours[name][45]
        ours.refresh()
        for name in ("gzip", "plain"):
            assert not ours[name][44].any()
            assert identical(ours[name][45], np.broadcast_to(value, 100).astype("i4"))


def test_another_file_at_the_same_path_is_another_file(tmp_path: pathlib.Path) -> None:
    for value in range(20):
        with h5py.File(tmp_path / "new.h5", "w") as f:
            f.create_dataset("d", data=np.full((100, 200), value), chunks=(10, 200), compression="gzip")
        time.sleep(0.03)
        dataset = hs.open(tmp_path / "new.h5")["d"]
        assert [dataset[row, 3] for row in range(0, 100, 5)] == [value] * 20
        del dataset


def test_a_damaged_chunk_spoils_no_other(tmp_path: pathlib.Path) -> None:
    found = tmp_path / "damaged.h5"
    data = np.random.default_rng(3).integers(0, 1000, (200, 30))
    with h5py.File(found, "w") as f:
        made = f.create_dataset("d", data=data, chunks=(10, 30), compression="gzip", fletcher32=True)
        offset = made.id.get_chunk_info(7).byte_offset
    content = bytearray(found.read_bytes())
    content[offset + 20] ^= 0xFF
    found.write_bytes(content)
    time.sleep(0.1)
    dataset = hs.open(found)["d"]
    for row in range(200):
        if 70 <= row < 80:
            with pytest.raises(hs.CorruptError):
                dataset[row]
        else:
            assert identical(dataset[row], data[row])


def test_threads_read_side_by_side(path: pathlib.Path) -> None:
    ours = hs.open(path)
    expected = {layout: values("<f4") for layout in LAYOUTS}

    def read(seed: int) -> None:
        rng = np.random.default_rng(seed)
        datasets = {layout: ours[f"{layout}/f4"] for layout in LAYOUTS}
        for _ in range(300):
            layout, row = rng.choice(list(LAYOUTS)), int(rng.integers(ROWS))
            assert identical(datasets[layout][row], expected[layout][row])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(8)))


def test_a_negative_size_is_refused(path: pathlib.Path) -> None:
    with pytest.raises(hs.InvalidInputError, match="chunk_cache_bytes=-1"):
        hs.open(path, chunk_cache_bytes=-1)


# Sparse rows


@pytest.mark.parametrize("layout", ["contiguous", "chunked"])
@settings(max_examples=examples(40), deadline=None)
@given(rows=st.lists(st.integers(0, 3999), min_size=1, max_size=40), columns=st.sampled_from([slice(None), slice(5, 300, 7), 17, [3, 99]]))
def test_rows_far_apart(wide: pathlib.Path, layout: str, rows: list[int], columns: Any) -> None:
    expected = np.arange(4000 * 500, dtype="i4").reshape(4000, 500)
    dataset = hs.open(wide)[layout]
    assert identical(dataset[rows, columns] if not isinstance(columns, list) else dataset[rows][:, columns], expected[rows][:, columns])


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    found = tmp_path_factory.mktemp("wide") / "data.h5"
    data = np.arange(4000 * 500, dtype="i4").reshape(4000, 500)
    with h5py.File(found, "w") as f:
        f["contiguous"] = data
        f.create_dataset("chunked", data=data, chunks=(1000, 250))
    return found


def test_sparse_rows_read_few_bytes(wide: pathlib.Path) -> None:
    dataset = hs.open(wide)["contiguous"]
    before = hs.counters()
    dataset[[5, 1000, 1100, 3999]]
    assert hs.counters().since(before).bytes_read == 4 * 2000
    dataset[0:4000:1000]
    assert hs.counters().since(before).bytes_read == 8 * 2000
