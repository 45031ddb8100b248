"""Extremes, sums and histograms of a scan against numpy on the same rows."""

from __future__ import annotations

import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pytest

TYPES = ["i1", "u1", "<i2", ">u2", "<i4", ">i8", "<u8", "<f2", ">f4", "<f8"]


def values_of(dtype: str, count: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        values = random.normal(size=count).astype(dtype)
        values[random.integers(0, count, count // 10)] = np.nan
        return values
    limits = np.iinfo(kind)
    values = random.integers(limits.min, limits.max, count, dtype=kind.newbyteorder("="), endpoint=True)
    values[:2] = limits.min, limits.max
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("threads", [1, 3])
def test_extremes_sums_and_histograms_are_numpys(tmp_path: pathlib.Path, dtype: str, threads: int) -> None:
    values = values_of(dtype, 50_000, 5)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=values.reshape(100, 500), chunks=(7, 90), shuffle=True, compression="gzip")
    table = hs.open(tmp_path / "a.h5", threads=threads).table("/x")
    numbers = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    assert table.minmax("x") == (numbers.min(), numbers.max())
    if values.dtype.kind == "f":
        assert table.sum("x") == pytest.approx(numbers.astype("f8").sum(), rel=1e-12, abs=1e-9)
    else:
        assert table.sum("x") == sum(map(int, numbers))
    for span in (None, (-1.5, 1.25), (0, 200)):
        counts, (edges,) = table.histogram("x", bins=37, range=span)
        wanted, numpy_edges = np.histogram(numbers.astype("f8"), bins=37, range=span)
        np.testing.assert_array_equal(edges, numpy_edges)
        np.testing.assert_array_equal(counts, wanted)


def test_a_sum_of_floats_does_not_depend_on_threads(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.random.default_rng(1).normal(size=(4000, 1000)) * 1e10, chunks=(100, 1000))
    assert len({hs.open(tmp_path / "a.h5", threads=threads).table("/x").sum("x") for threads in (1, 2, 5)}) == 1


def test_rows_that_a_predicate_or_a_limit_leaves_out_do_not_count(tmp_path: pathlib.Path) -> None:
    values = np.arange(1000).reshape(20, 50)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=values, chunks=(3, 50))
    f = hs.open(tmp_path / "a.h5")
    table = f.table("/x", where="x > 100 and dim_0 < 10")
    kept = values[:10][values[:10] > 100]
    assert table.minmax("x") == (kept.min(), kept.max()) and table.sum("x") == kept.sum()
    np.testing.assert_array_equal(table.histogram("x", bins=5)[0], np.histogram(kept, bins=5)[0])
    assert f.table("/x", limit=7).sum("x") == sum(range(7))
    assert f.table("/x", where="x < 0").minmax("x") is None
    assert f.table("/x", where="x < 0").sum("x") == 0


def test_missing_values_are_left_out_and_text_is_refused(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.array([1, -9, 5, -9], "i4")
        f["x"].attrs["_FillValue"] = np.int32(-9)
        f["s"] = ["a", "b"]
    f = hs.open(tmp_path / "a.h5")
    assert f.table("/x").minmax("x") == (1, 5) and f.table("/x").sum("x") == 6
    with pytest.raises(hs.UnsupportedError, match="only integers and floats"):
        f.table("/s").sum("s")
    with pytest.raises(hs.NotFoundError):
        f.table("/x").sum("y")
    with pytest.raises(hs.InvalidInputError, match="increase"):
        f.table("/x").histogram("x", range=(3, 1))


def test_histograms_with_edges_of_any_width(tmp_path: pathlib.Path) -> None:
    values = np.append(np.random.default_rng(11).normal(size=10_000), [np.nan, -1.0, 0.25, 3.0])
    with h5py.File(tmp_path / "edges.h5", "w") as f:
        f["x"] = values
    table = hs.open(tmp_path / "edges.h5").table("/x")
    for edges in ([-1, 0.25, 3], [-5.0, -1, -0.999, 0.25, 7], np.linspace(-2, 2, 30)):
        counts, (found,) = table.histogram("x", edges)
        wanted, _ = np.histogram(values[~np.isnan(values)], edges)
        assert counts.tolist() == wanted.tolist() and found.tolist() == list(edges)
    for edges in ([1.0], [1, 1], [2, 1], [0, np.inf], [[0, 1]], []):
        with pytest.raises(hs.InvalidInputError, match="edges that increase"):
            table.histogram("x", edges)
    with pytest.raises(hs.InvalidInputError, match="without range"):
        table.histogram("x", [0, 1], range=(0, 1))


def test_histograms_of_tables_and_queries_are_of_one_type(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "one.h5", "w") as f:
        f["x"] = np.arange(100.0)
    of_table = hs.open(tmp_path / "one.h5").table("/x").histogram("x", 7)
    of_query = hs.query(tmp_path / "one.h5", where="x >= 0").histogram("x", 7)
    assert type(of_table) is type(of_query) is hs.Histogram
    np.testing.assert_array_equal(of_table.values, of_query.values)
    np.testing.assert_array_equal(of_table.edges, of_query.edges)
    assert of_table._repr_html_() == of_query._repr_html_()
    assert "<svg" in of_table._repr_html_()
