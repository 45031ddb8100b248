"""Values and indexing are h5py's."""

import h5py
import hyperslab as hs
import numpy as np
import pytest

KEYS = [..., (3, 4), (-1,), np.s_[1:9:2, ::3], np.s_[[5, 1, 1], 2], np.s_[:, -2], np.s_[0:0]]


@pytest.mark.parametrize("dtype", ["<i4", ">i8", "u1", "<f2", ">f4", "<f8", "S5", "<c16", "?"])
def test_indexing_equals_numpy(tmp_path, dtype):
    values = (np.arange(120) % 7).reshape(10, 12).astype(dtype)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=values, chunks=(3, 5))
    d = hs.open(tmp_path / "a.h5")["/x"]
    for key in KEYS:
        np.testing.assert_array_equal(d[key], values[key])
    assert d.dtype == values.dtype
    mask = values == values[0, 1]
    np.testing.assert_array_equal(d[mask], values[mask])
    out = np.zeros((2, 12), values.dtype)
    d.read_direct(out, np.s_[1:3])
    np.testing.assert_array_equal(out, values[1:3])


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        hs.open(tmp_path / "none.h5")
