"""Indexing is h5py's and numpy's: whatever the key, the same values, shape and dtype."""

from __future__ import annotations

import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples

SHAPE = (6, 9, 4)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> tuple[np.ndarray, dict[str, hs.Dataset]]:
    path = tmp_path_factory.mktemp("indexing") / "a.h5"
    values = np.arange(np.prod(SHAPE), dtype="i4").reshape(SHAPE)
    with h5py.File(path, "w") as f:
        f["contiguous"] = values
        f.create_dataset("chunked", data=values, chunks=(4, 2, 3), compression="gzip", shuffle=True)
    file = hs.open(path)
    return values, {name: file[name] for name in file}


def slices(extent: int) -> st.SearchStrategy[slice]:
    bound = st.none() | st.integers(-extent - 2, extent + 2)
    return st.builds(slice, bound, bound, st.none() | st.integers(1, extent + 1))


def whole_numbers(extent: int) -> st.SearchStrategy[int]:
    return st.integers(-extent, extent - 1)


@st.composite
def keys(draw: st.DrawFn) -> tuple[object, ...]:
    """Integers, slices, one ellipsis and at most one list or mask, as numpy and h5py both take them."""
    key: list[object] = []
    listed = False
    for extent in SHAPE[: draw(st.integers(0, 3))]:
        kinds = [whole_numbers(extent), slices(extent)]
        if not listed:
            kinds += [st.lists(whole_numbers(extent), min_size=1, max_size=6), st.lists(st.booleans(), min_size=extent, max_size=extent).map(np.array)]
        part = draw(st.one_of(kinds))
        listed = listed or isinstance(part, (list, np.ndarray))
        key.append(part)
    if draw(st.booleans()):
        key.append(Ellipsis)
    return tuple(key)


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=keys())
def test_any_key_selects_what_numpy_selects(opened, key) -> None:
    values, datasets = opened
    # numpy moves the dimension of a list to the front when integers surround it; HDF5 keeps it in its place.
    wanted = values
    for dimension in reversed(range(len(key))):
        part = key[dimension]
        if part is not Ellipsis:
            wanted = wanted[(slice(None),) * dimension + (part,)]
    for dataset in datasets.values():
        found = dataset[key]
        assert np.shape(found) == np.shape(wanted)
        assert np.asarray(found).dtype == values.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("key", [..., (), 3, (2, ..., 1), np.s_[1:5:2, 3], np.s_[:, [1, 3, 8]], np.s_[0:0], np.s_[..., 0]], ids=str)
def test_h5py_gives_the_same_values_and_kinds(tmp_path: pathlib.Path, key: object) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(np.prod(SHAPE)).reshape(SHAPE)
        f["scalar"] = 4
    ours = hs.open(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as theirs:
        found, wanted = ours["x"][key], theirs["x"][key]
        assert type(found) is type(wanted)
        np.testing.assert_array_equal(found, wanted)
        for scalar in ((), ...):
            assert type(ours["scalar"][scalar]) is type(theirs["scalar"][scalar])


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (6, IndexError),
        (-7, IndexError),
        (np.s_[:, [9]], IndexError),
        (np.s_[::-1], ValueError),
        ((0, 0, 0, 0), ValueError),
        (np.s_[..., ...], ValueError),
        (1.5, ValueError),
        (np.s_["a":], ValueError),
        (np.ones((6, 8, 4), bool), ValueError),
        (np.ones(5, bool), ValueError),
        (np.s_[[0.5]], ValueError),
    ],
    ids=str,
)
def test_a_key_that_makes_no_sense_is_an_error(opened, key: object, error: type[Exception]) -> None:
    for dataset in opened[1].values():
        with pytest.raises(error):
            dataset[key]


def test_a_mask_of_the_whole_shape_gives_one_dimension(opened) -> None:
    values, datasets = opened
    mask = values % 7 == 3
    for dataset in datasets.values():
        np.testing.assert_array_equal(dataset[mask], values[mask])


@pytest.mark.parametrize("dtype", ["i4", "f8", ">i2"])
@pytest.mark.parametrize("dest", [None, np.s_[2:4], np.s_[::2]], ids=str)
def test_read_direct_writes_where_it_is_told(opened, dtype: str, dest: object) -> None:
    values, datasets = opened
    for dataset in datasets.values():
        shape = {None: (2, 9, 4)}.get(dest if dest is None else 0, (4, 9, 4))
        out = np.full(shape, -1, dtype)
        wanted = out.copy()
        dataset.read_direct(out, np.s_[1:5:3], dest)
        wanted[... if dest is None else dest] = values[1:5:3]
        np.testing.assert_array_equal(out, wanted)


def test_read_direct_refuses_another_shape(opened) -> None:
    for dataset in opened[1].values():
        with pytest.raises(ValueError, match="does not fit"):
            dataset.read_direct(np.zeros((2, 2)))


def test_text_comes_as_str_when_asked(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["variable"] = ["ä", "b", ""]
        f["fixed"] = np.array([b"x", b"yz"])
        f["one"] = "text"
        f["number"] = 1
    f = hs.open(tmp_path / "a.h5")
    assert f["variable"].asstr()[:2].tolist() == ["ä", "b"]
    assert f["fixed"].asstr()[1] == "yz"
    assert f["one"].asstr()[()] == "text"
    with pytest.raises(TypeError, match="not strings"):
        f["number"].asstr()


def test_what_a_dataset_says_of_itself_is_what_h5py_says(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", (6, 4), "f4", chunks=(2, 2), maxshape=(None, 8), fillvalue=2.5, compression="gzip")
        f.create_dataset("p", (2,), dtype=np.dtype([("a", "i4"), ("s", h5py.string_dtype()), ("b", "f8")]))
    ours = hs.open(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as theirs:
        for name in theirs:
            for fact in ("shape", "maxshape", "dtype", "chunks", "ndim", "size", "nbytes"):
                assert getattr(ours[name], fact) == getattr(theirs[name], fact), fact
        assert ours["x"].fillvalue == theirs["x"].fillvalue
    assert ours["x"].filters == ["deflate"]
    assert ours["x"] == ours["/x"] != ours["p"]
    assert len({ours["x"], ours["/x"], ours["p"]}) == 2
