"""Lists, masks and other keys become a selection in Rust: whatever the key, the values, dtype and shape are numpy's, each chunk is
decoded once, and wrong keys are errors in the same words as when writing."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import textwrap
import time
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.values import indexing_keys
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judge import identical
from sampling import examples

SHAPE = (7, 9, 4)
RECORD = np.dtype([("x", "<f8"), ("flag", "?"), ("v", ">i2", (3,)), ("name", "S3")])
WIDTHS = ["i1", "i2", "i4", "i8", ">i2", ">i8", "u1", "u2", "u4", "u8", ">u4"]
LAYOUTS: dict[str, dict[str, Any]] = {"contiguous": {}, "chunked": {"chunks": (2, 4, 3)}, "gzip": {"chunks": (3, 2, 4), "compression": "gzip", "shuffle": True}}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], hs.File]:
    """The values of each dataset, as h5py reads them whole, and the file."""
    path = tmp_path_factory.mktemp("picked") / "a.h5"
    numbers = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    record = np.zeros(SHAPE, RECORD)
    record["x"], record["flag"], record["v"], record["name"] = numbers, numbers % 3 == 0, numbers[..., None] + np.arange(3), numbers.astype("S3")
    with h5py.File(path, "w") as f:
        for layout, options in LAYOUTS.items():
            for name, values in {
                "i1": numbers % 100,
                ">i2": numbers,
                "f4": numbers / 8,
                "f8": numbers,
                "c16": numbers * 1j,
                "?": numbers % 2,
                "S5": numbers,
            }.items():
                f.create_dataset(f"{layout}/{name.replace('?', 'bool')}", data=values.astype(name), **options)
            f.create_dataset(f"{layout}/record", data=record, **options)
            kind = h5py.h5t.C_S1.copy()
            kind.set_size(6)
            kind.set_strpad(h5py.h5t.STR_SPACEPAD)
            padded = h5py.h5d.create(f[layout].id, b"padded", kind, h5py.h5s.create_simple(SHAPE))
            padded.write(h5py.h5s.ALL, h5py.h5s.ALL, numbers.astype("S6"))
            f.create_dataset(f"{layout}/text", SHAPE, h5py.string_dtype(), **options)[:] = np.array([f"é{n}" for n in numbers.reshape(-1)], object).reshape(
                SHAPE
            )
            f.create_dataset(f"{layout}/partly", SHAPE, "f8", fillvalue=-1.5, **options)[2:4] = numbers[2:4]
            f.create_dataset(f"{layout}/array", SHAPE, np.dtype(("<i4", (2, 3))), **options)[...] = (
                numbers[..., None, None] + np.arange(6).reshape(2, 3)
            ).astype("i4")
            items = f.create_dataset(f"{layout}/sequence", SHAPE, h5py.vlen_dtype("i2"), **options)
            for at in np.ndindex(*SHAPE):
                items[at] = np.arange(numbers[at] % 4)
        f["one"], f["scalar"], f["nothing"] = np.arange(23.0), 2.5, np.zeros((0, 4))
        f.create_dataset("compressed", data=np.arange(1000), chunks=(10,), compression="gzip")
        layout = h5py.VirtualLayout(SHAPE, "f8")
        for row in range(SHAPE[0]):
            layout[row] = h5py.VirtualSource(".", "gzip/f8", SHAPE)[SHAPE[0] - 1 - row]
        f.create_virtual_dataset("virtual", layout)
    with h5py.File(path) as f:
        names: list[str] = []
        f.visititems(lambda name, found: names.append(name) if isinstance(found, h5py.Dataset) else None)
        return {name: f[name][()] for name in names}, hs.open(path)


def whole_numbers(extent: int) -> st.SearchStrategy[Any]:
    number = st.integers(-extent, extent - 1)
    return number | number.map(np.int16) | number.map(np.array) | st.integers(0, extent - 1).map(np.uint8)


def lists(extent: int) -> st.SearchStrategy[Any]:
    numbers = st.lists(st.integers(-extent, extent - 1), max_size=12)
    steps = st.builds(range, st.integers(0, extent - 1), st.integers(0, extent), st.sampled_from([1, 2, 3]))
    backwards = st.builds(range, st.integers(0, extent - 1), st.just(-1), st.sampled_from([-1, -2]))
    masks = st.lists(st.booleans(), min_size=extent, max_size=extent)
    return st.one_of(
        numbers,
        numbers.map(tuple),
        numbers.map(lambda list: [np.int32(n) for n in list]),
        st.tuples(numbers, st.sampled_from(WIDTHS)).map(
            lambda drawn: np.array(drawn[0], "i8").astype(drawn[1]) if "u" not in drawn[1] else np.abs(np.array(drawn[0], "i8") % extent).astype(drawn[1])
        ),
        numbers.map(lambda list: np.repeat(np.array(list, "i8"), 2)[::2]),  # its elements are not side by side
        steps,
        backwards,
        st.just(range(-extent, extent, 2)),
        masks,
        masks.map(np.array),
        masks.map(lambda mask: np.repeat(np.array(mask), 3)[::3]),
    )


def slices(extent: int) -> st.SearchStrategy[slice]:
    bound = st.none() | st.integers(-extent - 2, extent + 2)
    return st.builds(slice, bound, bound, st.none() | st.integers(1, extent + 1))


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...] = SHAPE) -> tuple[Any, ...]:
    """Any items for the first dimensions, for the last ones after `...`, or both."""
    given_ = draw(st.integers(0, len(shape)))
    items = [draw(whole_numbers(extent) | slices(extent) | lists(extent) | lists(extent)) for extent in shape]
    if draw(st.booleans()):
        return tuple(items[:given_])
    return (*items[:given_], ..., *items[len(shape) - draw(st.integers(0, len(shape) - given_)) :])


def outer(values: np.ndarray[Any, Any], key: tuple[Any, ...], ndim: int) -> np.ndarray[Any, Any]:
    """What a key selects, dimension by dimension."""
    at = next((i for i, item in enumerate(key) if item is Ellipsis), len(key))
    missing = ndim - sum(item is not Ellipsis for item in key)
    items = [*key[:at], *[slice(None)] * missing, *key[at + 1 :]]
    for dimension in reversed(range(ndim)):
        item = items[dimension]
        if isinstance(item, (list, tuple, range)):
            item = np.asarray(item)
            item = item if item.size else item.astype("i8")
        values = values[(slice(None),) * dimension + (item,)]
    return values


@pytest.mark.parametrize("layout", [*LAYOUTS, "virtual"])
@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_key_selects_what_numpy_selects(opened: Any, layout: str, data: st.DataObject) -> None:
    values, file = opened
    name = "virtual" if layout == "virtual" else f"{layout}/{data.draw(st.sampled_from(sorted(file[layout])))}"
    key = data.draw(keys())
    wanted = outer(values[name], key, 3)
    # Elements that are arrays are not dropped with the dimensions.
    assert identical(file[name][key], wanted)
    if name.endswith("text"):
        text = file[name].asstr()[key]
        assert np.array_equal(np.asarray(text, object), np.vectorize(bytes.decode, otypes=[object])(wanted) if np.size(wanted) else wanted)
    if name.endswith("record"):
        for field in ("x", "v"):
            assert identical(file[name][(*key, field)], wanted[field])
        some = file[name][(*key, "flag", "x")]
        assert some.dtype.names == ("flag", "x") and np.array_equal(some["x"], wanted["x"])


@pytest.mark.parametrize("layout", [*LAYOUTS, "virtual"])
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_masks_of_the_whole_shape_give_their_elements_in_order(opened: Any, layout: str, data: st.DataObject) -> None:
    values, file = opened
    name = "virtual" if layout == "virtual" else f"{layout}/{data.draw(st.sampled_from(sorted(file[layout])))}"
    share = data.draw(st.sampled_from([0, 0.02, 0.3, 0.9, 1]))
    mask = np.random.default_rng(data.draw(st.integers(0, 99))).random(SHAPE) < share
    mask[data.draw(slices(SHAPE[0]))] = False
    for key in (mask, (mask,), np.asfortranarray(mask), mask.tolist()):
        assert identical(file[name][key], values[name][mask])
    if name.endswith("record"):
        assert identical(file[name][mask, "v"], values[name][mask]["v"])


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=keys((23,)))
def test_arrays_of_one_dimension(opened: Any, key: Any) -> None:
    values, file = opened
    assert identical(file["one"][key], outer(values["one"], key, 1))
    out = np.full(np.shape(outer(values["one"], key, 1)), -7.0)
    file["one"].read_direct(out, key)
    np.testing.assert_array_equal(out, outer(values["one"], key, 1))


@pytest.mark.parametrize("name", ["scalar", "nothing"])
def test_datasets_with_one_and_no_element(opened: Any, name: str) -> None:
    values, file = opened
    for key in {"scalar": [(), ..., np.array(True), np.array(False)], "nothing": [[], (), ..., np.zeros(0, bool), (slice(None), [3, 1]), ([], 2), range(0)]}[
        name
    ]:
        assert identical(file[name][key], values[name][key] if name == "scalar" else outer(values[name], key if isinstance(key, tuple) else (key,), 2))


def test_extents_beyond_64_bits_with_a_sign(tmp_path: pathlib.Path) -> None:
    extent = 2**63 - 100
    with h5py.File(tmp_path / "huge.h5", "w") as f:
        huge = f.create_dataset("x", (extent,), "i4", chunks=(1000,), fillvalue=9)
        huge[7], huge[2**62 + 5] = 3, 4
    dataset = hs.open(tmp_path / "huge.h5")["x"]
    assert dataset[[2**62 + 5, -1, 7, 7]].tolist() == [4, 9, 3, 3]
    assert dataset[np.array([2**62 + 5, 7], "u8")].tolist() == [4, 3]
    assert dataset[range(2**62 + 6, 2**62 + 3, -1)].tolist() == [9, 4, 9]
    assert dataset[range(7, extent, 2**62)].tolist() == [3, 9]
    assert dataset[2**62 + 4 : 2**62 + 6].tolist() == [9, 4] and dataset[-1] == 9
    for key in (..., range(extent), slice(None)):
        with pytest.raises(hs.LimitExceededError, match="read it in parts"):
            dataset[key]


WRONG = [
    7, -8, [0, 7], [-8], np.array([200], "u1"), np.array([2**63], "u8"), [2**63], [2**70], [-1, 2**63], range(8), range(-8, 0), range(2**70, 2**70 + 1),
    1.5, np.float32(1), b"a", np.True_, np.array(True), np.array([[0]]), [[0, 1]], [1, None], [1.0], ["a"], np.array([1], object),
    np.array([0], "m8[s]"), [True, 2.5], np.ones(6, bool), [True] * 8, np.zeros(0, bool), np.ones((7, 9), bool), np.ones((7, 9, 5), bool),
    (np.ones(SHAPE, bool), ...), slice(None, None, -1), slice(None, None, 0), slice("a", None), (..., ...), (0, 0, 0, 0), (0, [9]), (0, ..., 4), object(),
    (np.ones(7, bool), np.ones(8, bool)), ([0], slice(None, None, -2)), [[True] * 9] * 7,
]  # fmt: skip


@pytest.mark.parametrize("key", WRONG, ids=range(len(WRONG)))
def test_wrong_keys_are_errors_in_the_words_of_writing(opened: Any, key: Any) -> None:
    with pytest.raises((ValueError, TypeError, IndexError)) as wanted:
        indexing_keys.select(key, SHAPE)
    for name in ("gzip/f8", "gzip/text", "gzip/padded", "virtual"):
        with pytest.raises(type(wanted.value)) as found:
            opened[1][name][key]
        assert type(found.value) is type(wanted.value)
        assert str(found.value).removesuffix(f" (dataset /{name})") == str(wanted.value)


def test_each_chunk_is_decoded_once(opened: Any) -> None:
    values, file = opened
    random = np.random.default_rng(3)
    once, few = random.permutation(1000), random.integers(200, 400, 5000)
    sparse = np.zeros(1000, bool)
    sparse[[5, 17, 18, 990]] = True
    for key, chunks in ((once, 100), (few, 20), (sparse, 3), (values["compressed"] % 3 == 0, 100), (range(999, -1, -1), 100)):
        again = hs.open(file.filename)["compressed"]
        before = hs.counters()
        np.testing.assert_array_equal(again[key], values["compressed"][key])
        assert hs.counters().since(before).chunks_decoded == chunks


def test_large_lists_and_masks(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(1).integers(0, 2**31, (300_000, 8)).astype("i4")
    with h5py.File(tmp_path / "large.h5", "w") as f:
        f.create_dataset("gzip", data=values, chunks=(1000, 8), compression="lzf", shuffle=True)
        f["plain"] = values
    random = np.random.default_rng(2)
    rows = random.integers(-300_000, 300_000, 400_000)
    mask = random.random(values.shape) < 0.4
    for name, dataset in hs.open(tmp_path / "large.h5").items():
        np.testing.assert_array_equal(dataset[rows], values[rows], err_msg=name)
        np.testing.assert_array_equal(dataset[rows.tolist()[:100_000], [5, 1, 1]], values[rows[:100_000]][:, [5, 1, 1]])
        np.testing.assert_array_equal(dataset[mask], values[mask])
        np.testing.assert_array_equal(dataset[mask[:, 0]], values[mask[:, 0]])
        np.testing.assert_array_equal(dataset[:, 3][rows], values[:, 3][rows])


@pytest.mark.parametrize("key", ["numpy.random.default_rng(1).integers(0, 60_000, 20_000)", "numpy.resize(numpy.arange(1000) % 3 == 0, (60_000, 1000))"])
def test_ctrl_c_ends_a_long_list_and_a_long_mask(tmp_path: pathlib.Path, key: str) -> None:
    with h5py.File(tmp_path / "long.h5", "w") as f:
        dataset = f.create_dataset("x", (60_000, 1000), "f8", chunks=(2000, 100), compression="gzip", shuffle=True)
        dataset[:2000] = np.random.default_rng(1).random((2000, 1000))
        # The same stored bytes for all chunks: compressing them once is enough.
        raw = [dataset.id.read_direct_chunk((0, column))[1] for column in range(0, 1000, 100)]
        for row in range(2000, 60_000, 2000):
            for column in range(10):
                dataset.id.write_direct_chunk((row, 100 * column), raw[column])
    code = f"""
        import hyperslab, numpy
        dataset = hyperslab.open({str(tmp_path / "long.h5")!r}, threads=1)["x"]
        key = {key}
        print("reading", flush=True)
        dataset[key]
        print("read", flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "reading\n"
    time.sleep(0.3)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert out == "" and "KeyboardInterrupt" in errors, errors
    assert time.perf_counter() - start < 10
