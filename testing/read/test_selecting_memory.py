"""What an index costs: integers, lists and masks read what they ask for, and little more than the result is in memory."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import h5py
import hyperslab as hs
import numpy as np
import pytest

#: Prints the most memory that reading `key` took beyond the result, in MiB.
PROGRAM = """
import sys, tracemalloc
import numpy as np
import hyperslab as hs
dataset = hs.open(sys.argv[1])["x"]
rng = np.random.default_rng(1)
key = eval(sys.argv[2])
dataset[tuple(0 for _ in dataset.shape)]
tracemalloc.start()
values = dataset[key]
print((tracemalloc.get_traced_memory()[1] - values.nbytes) / 2**20, values.nbytes / 2**20)
"""


@pytest.fixture(scope="module")
def cube(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("cube") / "cube.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=np.arange(64 * 64 * 3000, dtype="i8").reshape(64, 1, 64, 3000), chunks=(8, 1, 8, 3000))
    return path


@pytest.mark.parametrize(
    ("key", "most"),
    [
        ("np.s_[:, 0, :, :]", 2),
        ("np.s_[3, 0, :, :]", 2),
        ("np.s_[np.arange(64) % 3 > 0, 0, 5, :]", 2),
        ("np.s_[np.arange(64) % 3 > 0, 0, :, 0:3000]", 2),
        ("np.s_[[1, 2, 3, 7, 60], 0]", 2),
        # Whole rows are read of which the mask has some elements.
        ("rng.random((64, 1, 64, 3000)) < 0.001", 150),
        ("np.arange(64 * 64 * 3000).reshape(64, 1, 64, 3000) < 3000", 40),
    ],
)
def test_reading_takes_little_more_memory_than_its_result(cube: pathlib.Path, key: str, most: float) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(cube), key], capture_output=True, text=True, check=True)
    more, result = map(float, done.stdout.split())
    assert more < most, f"{more:.1f} MiB more than the {result:.1f} MiB of the result"


def test_integers_lists_and_masks_give_numpys_values(cube: pathlib.Path) -> None:
    ours = hs.open(cube)["x"]
    with h5py.File(cube) as f:
        values = f["x"][...]
    rng = np.random.default_rng(2)
    mask = rng.random(64) < 0.4
    for key in [
        np.s_[3, 0, 5, 7],
        np.s_[[5, 3, 3], 0, 2],
        np.s_[mask, 0, 1, ::7],
        np.s_[:, 0, [4, 5, 6], -1],
        np.s_[[-1, 0], 0, 2, :5],
        np.s_[[], 0],
        np.s_[2, [0], mask[:64], 1],
    ]:
        expected = values[key] if sum(isinstance(k, (list, np.ndarray)) for k in key) < 2 else values[2][0:1][:, mask, 1]
        found = ours[key]
        assert found.dtype == expected.dtype and found.shape == expected.shape and (found == expected).all(), key
    for share in (0, 1e-6, 0.01, 1):
        mask = rng.random(values.shape) < share
        found = ours[mask]
        assert found.shape == values[mask].shape and (found == values[mask]).all()


def test_masks_of_compounds_arrays_and_text(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "made.h5"
    with h5py.File(path, "w") as f:
        f["records"] = np.array([[(1, 2.5), (3, 4.5)], [(5, 6.5), (7, 8.5)]], [("a", "i4"), ("b", "f8")])
        f.create_dataset("arrays", (2, 2), np.dtype(("i4", (3,))))[...] = np.arange(12).reshape(2, 2, 3)
        f["text"] = np.array([["a", "bc"], ["", "ü"]], object)
    ours = hs.open(path)
    mask = np.array([[True, False], [False, True]])
    with h5py.File(path) as theirs:
        for name in ("records", "arrays", "text"):
            assert ours[name][mask].tolist() == theirs[name][...][mask].tolist()
            none = ours[name][np.zeros((2, 2), bool)]
            assert none.dtype == ours[name][...].dtype and len(none) == 0
    assert (
        ours["arrays"][0, [1]].tolist() == [[3, 4, 5]] and ours["arrays"][1].shape == (2, 3) and ours["arrays"][1, [1, 0]].tolist() == [[9, 10, 11], [6, 7, 8]]
    )


def test_what_exceeds_the_memory_names_the_dataset(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "huge.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("g/huge", (1 << 40, 1 << 20), "f8", chunks=(1, 1 << 20))
    for key in (np.s_[...], np.s_[:, 1], np.s_[:]):
        with pytest.raises(hs.LimitExceededError, match="read it in parts.*huge.h5.*/g/huge"):
            hs.open(path)["g/huge"][key]


def test_lists_out_of_order_are_not_written_as_if_they_were_in_order(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "out.h5") as f:
        dataset = f.create_dataset("x", (4,), "i4")
        dataset[[1, 2]] = [7, 8]
        dataset[[3, 2]] = [1, 2]
    assert hs.open(tmp_path / "out.h5")["x"][...].tolist() == [0, 7, 2, 1]
