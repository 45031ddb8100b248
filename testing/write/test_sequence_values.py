"""Values of datasets of sequences, given as h5py takes them: a plain list is one element where one element is written, and several lists are as many."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

NUMBERS = h5py.vlen_dtype("i4")
TEXTS = h5py.vlen_dtype(h5py.string_dtype())
NESTED = h5py.vlen_dtype(NUMBERS)


def theirs(path: pathlib.Path) -> Any:
    return h5py.File(path, "w")


def created(path: pathlib.Path) -> Any:
    return hs.create(path)


def edited(path: pathlib.Path) -> Any:
    h5py.File(path, "w").close()
    return hs.open(path, "r+")


def write(make: Callable[[pathlib.Path], Any], path: pathlib.Path) -> list[Any]:
    """What is read after each write."""
    found: list[Any] = []
    with make(path) as f:
        d = f.create_dataset("d", (3,), NUMBERS)
        for value in ([1], [1, 2], [], (3,), np.array([5, 6]), np.array([], "i4")):
            d[1] = value
            found.append([items.tolist() for items in d[:]])
        for value in ([[1, 2], [3]], [[1], [2]], [np.array([1]), np.array([2, 3])], [5, 6], np.array([[7, 8], [9, 10]])):
            d[:2] = value
            found.append([items.tolist() for items in d[:]])
        one = f.create_dataset("one", (), NUMBERS)
        for value in ([1], [1, 2], np.array([5, 6])):
            one[()] = value
            found.append(one[()].tolist())
        texts = f.create_dataset("texts", (2,), TEXTS, chunks=(1,))
        texts[1] = ["a", "b"]
        found.append([items.tolist() for items in texts[:]])
    with h5py.File(path) as f:
        found += [[items.tolist() for items in f[name][:]] for name in ("d", "texts")]
    return found


def test_as_h5py(tmp_path: pathlib.Path) -> None:
    expected = write(theirs, tmp_path / "theirs.h5")
    assert write(created, tmp_path / "created.h5") == expected and write(edited, tmp_path / "edited.h5") == expected


def test_what_h5py_does_not_take(tmp_path: pathlib.Path) -> None:
    for make in (created, edited):
        with make(tmp_path / "x.h5") as f:
            d = f.create_dataset("d", data=[[1], [2, 3], [], None], dtype=NUMBERS)
            d[0] = None
            nested = f.create_dataset("nested", data=[[[1], [2, 3]], [], [[]], None], dtype=NESTED)
            assert [len(lists) for lists in nested[:]] == [2, 0, 1, 0] and nested[0][1].tolist() == [2, 3]
            for bad in ([1, 2], np.array([1, 2])):
                with pytest.raises(hs.InvalidInputError, match="a list for each element"):
                    f.create_dataset("bad", data=bad, dtype=NUMBERS)
            for bad in (7, np.array(7), [[1], 2], "text"):
                with pytest.raises(hs.InvalidInputError):
                    d[1:3] = bad
        with h5py.File(tmp_path / "x.h5") as f:
            assert [items.tolist() for items in f["d"][:]] == [[], [2, 3], [], []] and "bad" not in f
        (tmp_path / "x.h5").unlink()


@pytest.mark.parametrize("dtype", [h5py.string_dtype(), NUMBERS], ids=["text", "lists"])
@pytest.mark.parametrize(
    "options", [{"shuffle": True, "compression": "gzip"}, {"shuffle": True, "compression": "lzf"}, {"compression": "szip"}, {"shuffle": True}], ids=str
)
def test_filters_that_the_library_skips(tmp_path: pathlib.Path, options: dict[str, Any], dtype: Any) -> None:
    """For values of variable length the library sets no parameters of shuffle and szip, and skips them in each chunk."""
    path = tmp_path / "x.h5"

    def value(n: int) -> Any:
        return f"text {n}" if h5py.check_string_dtype(dtype) else np.arange(n, dtype="i4")

    with h5py.File(path, "w") as f:
        d = f.create_dataset("d", (9,), dtype, chunks=(4,), maxshape=(None,), **options)
        for n in range(5):
            d[n] = value(n)
    expected = [value(n) for n in range(5)] + [value(0) if dtype == NUMBERS and not h5py.check_string_dtype(dtype) else ""] * 4
    for turn in range(4):
        with hs.open(path, "r+") if turn % 2 == 0 else h5py.File(path, "r+") as f:
            for n in range(turn, 9, 3):
                f["d"][n] = expected[n] = value(10 * turn + n)
        for library in (h5py.File, hs.open):
            with library(path) as f:
                found = [one.decode() if isinstance(one, bytes) else one.tolist() for one in f["d"][:]]
                assert found == [one if isinstance(one, str) else one.tolist() for one in expected]
    with h5py.File(path) as f:
        masks = {f["d"].id.get_chunk_info(n).filter_mask for n in range(f["d"].id.get_num_chunks())}
        assert masks == {1}
    assert hs.check(path).ok
