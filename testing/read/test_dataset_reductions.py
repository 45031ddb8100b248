"""Sums, means, extremes and deviations of datasets are numpy's."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.objects import dataset_reductions

NAMES = ("sum", "mean", "min", "max", "std")


def _values(kind: str, shape: tuple[int, ...], rng: Any) -> Any:
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        values = np.round(rng.normal(0, 20, shape) * 64) / 64
        if values.size and rng.random() < 0.4:
            values.reshape(-1)[rng.integers(0, values.size, 3)] = rng.choice([np.nan, np.inf, -np.inf], 3)
        return values.astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype.newbyteorder("="), endpoint=True).astype(dtype)


def _check(dataset: hs.Dataset, values: Any, name: str, axis: Any, keepdims: bool) -> None:
    wide = values.astype("f8") if values.dtype.kind == "f" else values
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        dtype = getattr(np, name)(values, axis=axis, keepdims=keepdims).dtype
        wanted = np.asarray(getattr(np, name)(wide, axis=axis, keepdims=keepdims)).astype(dtype)
    found = getattr(dataset, name)(axis=axis, keepdims=keepdims)
    assert np.asarray(found).dtype == dtype.newbyteorder("="), (name, found, wanted)
    assert np.shape(found) == wanted.shape
    rtol = {2: 2e-3, 4: 1e-6}.get(dtype.itemsize, 1e-12) if name in ("mean", "std") else 0
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=rtol, atol=1e-9 * rtol, err_msg=f"{name} {axis} {values.dtype} {values.shape}")


@pytest.mark.parametrize("seed", range(12))
def test_results_are_numpys(tmp_path: pathlib.Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_reductions, "MIN_ELEMENTS", 0)
    monkeypatch.setattr(dataset_reductions, "MAX_RESULTS", int(np.random.default_rng(seed).choice([1, 7, 1 << 20])))
    rng = np.random.default_rng(seed)
    for number, kind in enumerate(("f4", "f8", "f2", ">f4", "i1", "u1", "i2", "u4", "i4", ">i8", "i8", "u8")):
        shape = tuple(int(extent) for extent in rng.integers(1, 9, rng.integers(1, 5)))
        values = _values(kind, shape, rng)
        path = tmp_path / f"{number}.h5"
        chunks: dict[str, Any] = {"chunks": tuple(int(rng.integers(1, extent + 1)) for extent in shape), "compression": "gzip"} if rng.random() < 0.6 else {}
        with h5py.File(path, "w") as f:
            f.create_dataset("x", data=values, **chunks)
        dataset = hs.open(path)["x"]
        assert isinstance(dataset, hs.Dataset)
        axes = [None, *range(-len(shape), len(shape)), tuple(range(0, len(shape), 2)), ()]
        for name in NAMES:
            for axis in axes:
                _check(dataset, values, name, axis, bool(rng.random() < 0.5))


def test_large_arrays_and_numpys_functions(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(0).normal(280, 10, (60, 90, 180)).astype("f4")
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("x", data=values, chunks=(7, 90, 50), compression="gzip", shuffle=True)
        f["e"] = np.zeros((0, 3), "f4")
        f["s"] = np.float32(7)
        f["t"] = "text"
        f["b"] = np.arange(5) % 2 == 0
    file = hs.open(tmp_path / "x.h5")
    x = file["x"]
    assert isinstance(x, hs.Dataset)
    for name in NAMES:
        for axis in (None, 0, 1, 2, (0, 1), (1, 2), (0, 2)):
            _check(x, values, name, axis, False)
    assert np.mean(x) == x.mean() and np.array_equal(np.max(x, axis=0), values.max(0)) and np.array_equal(np.sum(x, axis=(1, 2)), x.sum((1, 2)))
    assert x.mean(dtype="f8") == values.mean(dtype="f8")
    assert np.array_equal(x.std(axis=0, ddof=1), values.astype("f8").std(axis=0, ddof=1).astype("f4"))
    assert file["s"].max() == 7 and file["e"].sum() == 0 and file["b"].sum() == 3  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="zero-size"):
        file["e"].max()  # type: ignore[union-attr]
    for axis in (3, (0, 0)):
        with pytest.raises(hs.InvalidInputError, match="axis"):
            x.mean(axis=axis)


def test_changes_that_are_not_written_count(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_reductions, "MIN_ELEMENTS", 0)
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["x"] = np.arange(10.0)
    with hs.open(tmp_path / "x.h5", "r+") as file:
        x = file["x"]
        assert isinstance(x, hs.Dataset)
        assert x.sum() == 45
        x[3] = 100.0
        assert x.sum() == 142 and x.max() == 100
