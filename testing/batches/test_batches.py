"""Batches against plain indexing of the whole arrays with numpy: each row once an epoch, the same for any number of threads, resumed exactly."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import pickle
import sys
import threading
import tracemalloc
from typing import Any

import anndata
import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

ROWS = 997
DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
ORDERS = ("sequential", "exact", "block")


@pytest.fixture(scope="module")
def arrays() -> dict[str, Any]:
    """Arrays of equally many rows whose element tells its row."""
    number = np.arange(ROWS)
    text = np.empty(ROWS, object)
    text[:] = [b"row %d" % n for n in number]
    ragged = np.empty(ROWS, object)
    ragged[:] = [np.arange(n, n + n % 5, dtype="i4") for n in number]
    record = np.zeros(ROWS, [("n", "i4"), ("v", "f8", (2,))])
    record["n"], record["v"] = number, number[:, None] * [1.0, 0.5]
    return {
        "images": (number[:, None, None] * 100 + np.arange(20).reshape(4, 5)).astype(">f4"),
        "plain": np.random.default_rng(3).normal(0, 1, (ROWS, 3)),
        "label": number.astype("i8"),
        "flag": number % 3 == 0,
        "text": text,
        "ragged": ragged,
        "record": record,
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, Any]) -> hs.File:
    path = tmp_path_factory.mktemp("batches") / "arrays.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("images", data=arrays["images"], chunks=(7, 2, 5), compression="gzip", shuffle=True)
        f.create_dataset("plain", data=arrays["plain"])
        f.create_dataset("label", data=arrays["label"], chunks=(64,))
        f.create_dataset("flag", data=arrays["flag"], chunks=(100,), compression="lzf")
        f.create_dataset("text", data=arrays["text"], dtype=h5py.string_dtype(), chunks=(30,))
        f.create_dataset("ragged", data=arrays["ragged"], dtype=h5py.vlen_dtype("i4"), chunks=(11,))
        f.create_dataset("record", data=arrays["record"], chunks=(50,), compression="gzip")
    return hs.open(path)


def assert_rows(batch: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Every name of a batch has the rows that its labels tell."""
    for name, values in batch.items():
        want = arrays[name][batch["label"]]
        assert values.shape == want.shape and values.dtype == want.dtype.newbyteorder("="), name
        assert values.flags.writeable and values.flags.c_contiguous
        if values.dtype == object:
            assert all(np.array_equal(a, b) for a, b in zip(values, want, strict=True)), name
        else:
            np.testing.assert_array_equal(values, want, name)


def labels(loader: hs.Batches) -> list[list[int]]:
    return [batch["label"].tolist() for batch in loader]


@pytest.mark.parametrize("order", ORDERS)
def test_every_kind_of_array_joined_by_row(file: hs.File, arrays: dict[str, Any], order: str) -> None:
    loader = hs.batches({name: file[name] for name in arrays}, 50, order=order, seed=4)
    seen = []
    for number, batch in enumerate(loader):
        assert list(batch) == list(arrays) and len(batch["label"]) == (50 if number < 19 else ROWS - 950)
        assert_rows(batch, arrays)
        seen += batch["label"].tolist()
    assert len(loader) == 20 == number + 1
    assert (seen if order == "sequential" else sorted(seen)) == list(range(ROWS))
    if order != "sequential":
        assert seen != sorted(seen) and loader.epoch == 1
        again = [label for batch in labels(loader) for label in batch]
        assert sorted(again) == list(range(ROWS)) and again != seen, "another epoch has another order"
        loader.epoch = 0
        assert [label for batch in labels(loader) for label in batch] == seen


@given(data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_ranks_together_have_each_row_once(file: hs.File, arrays: dict[str, Any], data: Any) -> None:
    batch_size = data.draw(st.integers(1, 1100), "batch_size")
    order = data.draw(st.sampled_from(ORDERS), "order")
    world_size = data.draw(st.integers(1, 5), "world_size")
    drop_last = data.draw(st.booleans(), "drop_last")
    more = {"block_rows": data.draw(st.integers(1, 1200)), "mix_blocks": data.draw(st.integers(1, 70))} if order == "block" else {}
    options = {"order": order, "seed": data.draw(st.integers(0, 99)), "epoch": data.draw(st.integers(0, 3)), "drop_last": drop_last, **more}
    source = {"label": file["label"], "images": file["images"]}
    ranks = [hs.batches(source, batch_size, rank=rank, world_size=world_size, threads=rank % 3, **options) for rank in range(world_size)]
    got = []
    for loader in ranks:
        batches = list(loader)
        for batch in batches:
            assert_rows(batch, arrays)
        assert len(loader) == len(batches)
        sizes = [len(batch["label"]) for batch in batches]
        assert all(size == batch_size for size in (sizes if drop_last else sizes[:-1])) and all(sizes)
        got.append([label for batch in batches for label in batch["label"].tolist()])
    rows = sorted(label for part in got for label in part)
    if drop_last:
        assert len({len(part) for part in got}) == 1 and len(set(rows)) == len(rows)
        assert len(rows) == ROWS // world_size // batch_size * batch_size * world_size
    else:
        assert rows == list(range(ROWS)) and max(map(len, got)) - min(map(len, got)) <= 1


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_threads_and_memory_change_nothing_and_resuming_goes_on(file: hs.File, data: Any) -> None:
    order = data.draw(st.sampled_from(ORDERS))
    more = {"block_rows": data.draw(st.integers(1, 300)), "mix_blocks": data.draw(st.integers(1, 9))} if order == "block" else {}
    options: dict[str, Any] = {"order": order, "seed": data.draw(st.integers(0, 99)), "rank": 1, "world_size": 2, **more}
    options["transform"] = lambda batch, generator: {"label": batch["label"], "noise": generator.random()}
    source, size = {"label": file["label"], "images": file["images"]}, data.draw(st.integers(9, 400))

    def of(threads: int, memory_bytes: int = 64 << 20) -> hs.Batches:
        return hs.batches(source, size, threads=threads, memory_bytes=memory_bytes, **options)

    def told(loader: Any) -> list[tuple[list[int], float]]:
        return [(batch["label"].tolist(), batch["noise"]) for batch in loader]

    want = told(of(1))
    assert len({noise for _, noise in want}) == len(want)
    for threads, memory_bytes in ((0, 64 << 20), (2, 64 << 20), (4, 3_000_000)):
        assert told(of(threads, memory_bytes)) == want
    loader, at = of(2), data.draw(st.integers(0, len(want) - 1))
    iterator = iter(loader)
    begun = told(next(iterator) for _ in range(at))
    state = json.loads(json.dumps(loader.state_dict()))
    resumed = of(1)
    resumed.load_state_dict(state)
    assert begun + told(resumed) == want
    # A state at the end of an epoch is the beginning of the next one.
    rest = told(iterator)
    assert begun + rest == want
    resumed.load_state_dict(loader.state_dict())
    assert resumed.epoch == 1 and told(resumed) == told(loader) != want


def test_a_state_of_another_order_is_refused(file: hs.File) -> None:
    options: dict[str, Any] = {"order": "block", "mix_blocks": 3, "block_rows": 10}
    state = hs.batches(file["label"], 10, **options).state_dict()
    for changed in ({"seed": 1}, {"mix_blocks": 4}, {"block_rows": 11}, {"rank": 1, "world_size": 2}, {"drop_last": True}):
        with pytest.raises(hs.InvalidInputError, match="another order"):
            hs.batches(file["label"], 10, **{**options, **changed}).load_state_dict(state)
    for bad in ({}, {"epoch": 0}, {**state, "batch": 100}, {**state, "epoch": -1}, {**state, "order": 3}):
        with pytest.raises(hs.InvalidInputError):
            hs.batches(file["label"], 10, **options).load_state_dict(bad)


def test_weights_draw_rows_in_proportion(file: hs.File) -> None:
    weights = np.arange(ROWS) % 4  # no row of a weight of 0
    drawn = np.concatenate([batch["label"] for batch in hs.batches(file["label"], 100, order="exact", weights=weights, draws=200_000, seed=5)])
    assert len(drawn) == 200_000
    counts = np.bincount(drawn, minlength=ROWS)
    expected = weights / weights.sum() * 200_000
    assert not counts[weights == 0].any()
    kept = expected > 0
    chi = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    freedom = kept.sum() - 1
    assert abs(chi - freedom) < 5 * np.sqrt(2 * freedom)
    ranks = [np.concatenate(labels(hs.batches(file["label"], 7, order="exact", weights=weights, seed=5, rank=r, world_size=3))) for r in range(3)]
    alone = np.concatenate(labels(hs.batches(file["label"], 7, order="exact", weights=weights, seed=5)))
    assert [len(rank) for rank in ranks] == [333, 332, 332] and all((alone[r::3] == rank).all() for r, rank in enumerate(ranks))


def test_an_exact_order_is_uniform(file: hs.File) -> None:
    """Each row is equally often in the first tenth of an epoch, and pairs of neighbors are not kept together."""
    first, together = np.zeros(ROWS), 0
    loader = hs.batches(file["label"], 99, order="exact", threads=0)
    for _ in range(400):
        batch = next(iter(loader))["label"]
        loader.epoch += 1
        first[batch] += 1
        together += int(np.isin(batch + 1, batch).sum())
    expected = 400 * 99 / ROWS
    chi = ((first - expected) ** 2 / expected).sum() / (1 - 99 / ROWS)
    assert abs(chi - (ROWS - 1)) < 5 * np.sqrt(2 * (ROWS - 1))
    pairs = 400 * (ROWS - 1) * (99 / ROWS) * (98 / (ROWS - 1))
    assert abs(together - pairs) < 6 * np.sqrt(pairs)


@pytest.mark.parametrize(("batch_size", "block_rows", "mix_blocks"), [(16, 8, 4), (32, 16, 8), (8, 32, 2)])
def test_the_quality_of_a_block_shuffle_is_as_stated(tmp_path: pathlib.Path, batch_size: int, block_rows: int, mix_blocks: int) -> None:
    """The worst case: all rows of a block are equal. Compares the variance of the means of batches with the variance in exact order."""
    rows = 1024
    values = np.repeat(np.random.default_rng(1).normal(0, 1, rows // block_rows), block_rows)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["v"], f["block"] = values, np.arange(rows) // block_rows
    f = hs.open(tmp_path / "a.h5")
    loader = hs.batches({"v": f["v"], "block": f["block"]}, batch_size, order="block", block_rows=block_rows, mix_blocks=mix_blocks, threads=0)
    means, blocks = [], []
    for _ in range(120):
        for batch in loader:
            means.append(batch["v"].mean())
            blocks.append(len(np.unique(batch["block"])))
    quality = loader.quality
    assert quality is not None and quality.window_rows == block_rows * mix_blocks and quality.window_blocks == mix_blocks
    exact = values.var() / batch_size * (1 - (batch_size - 1) / (rows - 1))
    assert np.var(means) / exact == pytest.approx(quality.variance_factor, rel=0.15)
    assert quality.variance_factor > 1.3
    assert np.mean(blocks) == pytest.approx(quality.blocks_per_batch, rel=0.02)
    whole = hs.batches(f["v"], batch_size, order="block", block_rows=block_rows, mix_blocks=rows // block_rows)
    assert whole.quality is not None and whole.quality.variance_factor == pytest.approx(1)
    assert hs.batches(f["v"], batch_size, order="exact").quality == (rows, rows, batch_size, 1.0)
    assert hs.batches(f["v"], batch_size).quality is None


def test_blocks_are_whole_chunks(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.random.default_rng(1).integers(0, 9, (5000, 100)), chunks=(100, 100), compression="gzip")
    dataset = hs.open(tmp_path / "a.h5", chunk_cache_bytes=0)["x"]
    loader = hs.batches(dataset, 70, order="block", mix_blocks=4)
    before = hs.counters()
    assert sum(len(batch["x"]) for batch in loader) == 5000
    assert hs.counters().since(before).chunks_decoded == 50, "each chunk once an epoch"


@pytest.mark.parametrize("order", ORDERS)
def test_many_files_end_to_end(tmp_path: pathlib.Path, order: str) -> None:
    for number, rows in enumerate((10, 0, 35, 1)):
        with h5py.File(tmp_path / f"{number}.h5", "w") as f:
            f["x"], f["y"] = np.arange(rows * 2.0).reshape(rows, 2) + number * 1000, np.arange(rows) + number * 100
    files = hs.open(tmp_path / "*.h5").files
    whole = np.concatenate([f["x"][...] for f in files])
    loader = hs.batches({"x": [f["x"] for f in files], "y": [f["y"] for f in files]}, 8, order=order)
    batches = list(loader)
    x, y = (np.concatenate([batch[name] for batch in batches]) for name in "xy")
    places = np.array([{0: 0, 2: 10, 3: 45}[v // 100] + v % 100 for v in y])
    np.testing.assert_array_equal(x, whole[places])
    assert sorted(places) == list(range(46))
    assert [len(batch["x"]) for batch in hs.batches([f["x"] for f in files], 46)] == [46]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> tuple[scipy.sparse.csr_matrix, list[pathlib.Path]]:
    """A sparse matrix with empty rows, in files with and without filters, written by anndata."""
    matrix = scipy.sparse.random(700, 90, 0.2, "csr", "f4", np.random.default_rng(2))
    matrix.data[:] = np.arange(1, matrix.nnz + 1)
    matrix = scipy.sparse.vstack([matrix[:100], scipy.sparse.csr_matrix((50, 90), dtype="f4"), matrix[100:]], format="csr")
    folder, paths = tmp_path_factory.mktemp("cells"), []
    for name, options in (("plain", {}), ("gzip", {"compression": "gzip"}), ("chunks", {"compression": "lzf", "chunks": (64,)})):
        paths.append(folder / f"{name}.h5ad")
        anndata.AnnData(X=matrix, obs={"number": np.arange(750)}).write_h5ad(paths[-1], compression=options.get("compression"))
        if "chunks" in options:
            with h5py.File(paths[-1], "r+") as f:
                for part in ("data", "indices"):
                    values = f["X"][part][...]
                    del f["X"][part]
                    f["X"].create_dataset(part, data=values, **options)
    return matrix, paths


@pytest.mark.parametrize("order", ORDERS)
def test_sparse_rows(cells: tuple[scipy.sparse.csr_matrix, list[pathlib.Path]], order: str) -> None:
    matrix, paths = cells
    for path in paths:
        view = hs.models.anndata.open(path)
        options: dict[str, Any] = {"order": order, "seed": 8} | ({"block_rows": 9, "mix_blocks": 5} if order == "block" else {})
        numbers = []
        for batch in hs.batches({"X": view, "number": view.file["obs/number"]}, 33, **options):
            found = batch["X"]
            assert isinstance(found, scipy.sparse.csr_array) and found.dtype == "f4" and found.shape == (len(batch["number"]), 90)
            found.check_format()
            np.testing.assert_array_equal(found.toarray(), matrix[batch["number"]].toarray())
            numbers += batch["number"].tolist()
        assert sorted(numbers) == list(range(750))
        dense = hs.batches({"X": view.file["X"], "number": view.file["obs/number"]}, 33, sparse="dense", **options)
        assert all(np.array_equal(batch["X"], matrix[batch["number"]].toarray()) for batch in dense)
        both = np.concatenate([batch["X"] for batch in hs.batches([view, view.file["X"]], 100, sparse="dense")])
        np.testing.assert_array_equal(both, np.concatenate([matrix.toarray()] * 2))
        drawn = hs.batches(view, 100, order="exact", weights=np.ones(750), draws=3000)
        assert sum(batch["X"].shape[0] for batch in drawn) == 3000


def test_blocks_of_sparse_rows_follow_the_chunks(tmp_path: pathlib.Path) -> None:
    matrix = scipy.sparse.random(4000, 500, 0.2, "csr", "f4", np.random.default_rng(2))
    with h5py.File(tmp_path / "a.h5ad", "w") as f:
        anndata.io.write_elem(f, "X", matrix, dataset_kwargs={"compression": "gzip", "chunks": (8192,)})
    f = hs.open(tmp_path / "a.h5ad", chunk_cache_bytes=0)
    loader = hs.batches(f["X"], 64, order="block", mix_blocks=2)
    before = hs.counters()
    assert sum(batch["X"].shape[0] for batch in loader) == 4000
    # Two arrays; a block has four chunks and shares one with the next.
    assert hs.counters().since(before).chunks_decoded <= 2 * (matrix.nnz / 8192) * 1.3 + 8


@pytest.mark.parametrize("order", ["sequential", "block"])
@pytest.mark.parametrize("output", ["numpy", "arrow"])
def test_tables(file: hs.File, arrays: dict[str, Any], order: str, output: str) -> None:
    table = file.table("/record", columns=["n", "v", "_row"])
    seen = []
    for batch in hs.batches(table, 100, order=order, output=output, seed=2):
        if output == "arrow":
            assert batch.schema.names == ["n", "v", "_row"] and batch.schema.types == table.schema.types
            batch = {name: np.array(batch[name].to_pylist()) for name in batch.schema.names}
        np.testing.assert_array_equal(batch["v"], arrays["record"]["v"][batch["_row"]])
        np.testing.assert_array_equal(batch["n"], arrays["record"]["n"][batch["_row"]])
        seen += batch["_row"].tolist()
    assert sorted(seen) == list(range(ROWS))


def test_tables_of_many_splits(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("t/x", data=np.arange(2.5e6), chunks=(100_000,), compression="lzf")
        f.create_dataset("t/kind", data=np.arange(2_500_000) % 3, dtype=h5py.enum_dtype({"a": 0, "b": 1, "c": 2}, "i1"))
    table = hs.open(tmp_path / "a.h5").table("/t", columns=["x", "kind"])
    assert len(table.splits(target_bytes=1 << 20)) > 2
    loader = hs.batches(table, 300_000, order="block", mix_blocks=1)
    x, kind = [], []
    for batch in loader:
        x.append(batch["x"])
        kind.append(batch["kind"].astype("U1"))
    assert loader.quality is not None and loader.quality.window_rows < 2_000_000
    found = np.concatenate(x)
    assert not np.array_equal(found, np.arange(2.5e6)) and np.array_equal(np.sort(found), np.arange(2.5e6))
    assert np.array_equal(np.concatenate(kind), np.array(list("abc"))[found.astype(int) % 3])
    np.testing.assert_array_equal(np.concatenate([batch["x"] for batch in hs.batches(table, 70_001)]), np.arange(2.5e6))


def test_a_table_is_refused_by_name_where_rows_cannot_be_reached(file: hs.File) -> None:
    with pytest.raises(hs.UnsupportedError, match="split by split"):
        hs.batches(file.table("/record"), order="exact")
    with pytest.raises(hs.UnsupportedError, match="row by row"):
        hs.batches(file.table("/record", "n > 3 and n < 900"))
    assert sum(len(batch["n"]) for batch in hs.batches(file.table("/record", "_row < 100", columns=["n"]), 64)) == 100
    with pytest.raises(hs.InvalidInputError, match="columns of a table have names"):
        hs.batches({"t": file.table("/record")})


def test_nulls_of_a_table(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        for name, dtype in (("single", "f4"), ("whole", "i4")):
            f[name] = np.arange(5, dtype=dtype)
            f[name].attrs["_FillValue"] = np.array(3, dtype)
    f = hs.open(tmp_path / "a.h5")
    (batch,) = hs.batches(f.table("/single", columns=["single"]))
    np.testing.assert_array_equal(batch["single"], np.array([0, 1, 2, np.nan, 4], "f4"))
    with pytest.raises(hs.InvalidInputError, match="nulls"):
        list(hs.batches(f.table("/whole", columns=["whole"])))
    (batch,) = hs.batches(f.table("/whole", columns=["whole"]), output="arrow")
    assert batch["whole"].to_pylist() == [0, 1, 2, None, 4]


def test_arrow(file: hs.File, arrays: dict[str, Any], cells: tuple[scipy.sparse.csr_matrix, list[pathlib.Path]]) -> None:
    loader = hs.batches({name: file[name] for name in arrays}, 100, order="exact", output="arrow")
    for batch in loader:
        assert isinstance(batch, pa.RecordBatch)
        batch.validate(full=True)
        places = batch["label"].to_numpy()
        assert batch["images"].to_pylist() == arrays["images"][places].reshape(-1, 20).tolist()
        assert batch.schema.field("images").metadata == {b"shape": b"[4,5]"}
        assert batch["text"].to_pylist() == arrays["text"][places].tolist()
        assert batch["flag"].to_pylist() == arrays["flag"][places].tolist()
        assert batch["ragged"].to_pylist() == [value.tolist() for value in arrays["ragged"][places]]
        assert batch["record"].to_pylist() == [{"n": n, "v": v.tolist()} for n, v in arrays["record"][places]]
    matrix, paths = cells
    done = 0
    for batch in hs.batches(hs.models.anndata.open(paths[1]), 100, output="arrow"):
        for row in batch["X"].to_pylist():
            assert row["indices"] == matrix[done].indices.tolist() and row["values"] == matrix[done].data.tolist()
            done += 1
    assert done == 750


def test_dlpack(file: hs.File, arrays: dict[str, Any]) -> None:
    for batch in hs.batches({"images": file["images"], "plain": file["plain"]}, 300):
        assert np.from_dlpack(batch["images"]).dtype == np.dtype("f4")
        assert np.shares_memory(np.from_dlpack(batch["plain"]), batch["plain"])


def test_transforms_have_a_generator_of_their_own(file: hs.File) -> None:
    def noisy(batch: dict[str, Any], generator: np.random.Generator) -> tuple[int, float]:
        return int(batch["label"][0]), float(generator.random())

    loader = hs.batches(file["label"], 100, transform=noisy)
    one, two = list(loader), list(loader)
    assert [label for label, _ in one] == [label for label, _ in two] == list(range(0, ROWS, 100))
    assert len({noise for _, noise in one + two}) == 20
    other = list(hs.batches(file["label"], 100, transform=noisy, rank=1, world_size=2))
    assert not {noise for _, noise in other} & {noise for _, noise in one}


def test_a_loader_goes_to_another_process(file: hs.File) -> None:
    loader = hs.batches({"label": file["label"], "images": file["images"]}, 64, order="block", seed=3)
    assert labels(pickle.loads(pickle.dumps(loader))) == labels(loader)
    loader.epoch = 0
    assert sorted(label for r in range(3) for batch in labels(loader.of_rank(r, 3)) for label in batch) == list(range(ROWS))
    child = os.fork()
    if child == 0:
        os._exit(0 if len(labels(loader)) == 16 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_memory_stays_within_its_bound(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.zeros((3000, 1000)), chunks=(50, 1000), compression="gzip")
    dataset = hs.open(tmp_path / "a.h5")["x"]
    for order in ORDERS:
        for threads in (1, 4):
            bound = 8 << 20
            loader = hs.batches(dataset, 64, order=order, threads=threads, memory_bytes=bound)
            gc.collect()
            tracemalloc.start()
            for batch in loader:
                del batch
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < bound * 1.1, (order, threads, peak)


def test_too_little_memory_is_said(file: hs.File, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", (4000, 1000), "f8", chunks=(2000, 1000), compression="gzip")
    large = hs.open(tmp_path / "a.h5")["x"]
    for options, words in (
        ({"batch_size": 1, "memory_bytes": 1 << 20}, "a chunk of 16,000,000 bytes"),
        ({"batch_size": 4000, "memory_bytes": 64 << 20}, "three batches of 32,000,000 bytes"),
        ({"order": "block", "memory_bytes": 20 << 20}, "1 block of 16,000,000 bytes"),
        ({"order": "block", "memory_bytes": 64 << 20, "mix_blocks": 2}, "2 blocks of 16,000,000 bytes"),
    ):
        with pytest.raises(hs.LimitExceededError, match=words):
            hs.batches(large, **options)
    assert hs.batches(large, order="block", memory_bytes=64 << 20).mix_blocks == 1


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_a_file_that_is_replaced_changed_or_gone(tmp_path: pathlib.Path, threads: int) -> None:
    def made(name: str) -> pathlib.Path:
        with h5py.File(tmp_path / name, "w") as f:
            f.create_dataset("x", data=np.random.default_rng(1).integers(0, 9, (60_000, 20)), chunks=(1000, 20), compression="gzip")
        return tmp_path / name

    for change in ("replaced", "cut", "rewritten", "gone"):
        path = made("a.h5")
        loader = hs.batches(hs.open(path)["x"], 100, order="exact", threads=threads, memory_bytes=4 << 20)
        batches = iter(loader)
        next(batches)
        if change == "replaced":
            made("b.h5").replace(path)
        elif change == "cut":
            with open(path, "rb+") as raw:
                raw.truncate(path.stat().st_size // 2)
        elif change == "rewritten":
            with open(path, "rb+") as raw:
                raw.seek(path.stat().st_size // 8)
                raw.write(bytes(path.stat().st_size // 2))
        else:
            path.unlink()
        with pytest.raises(hs.ConflictError) as caught:
            for _ in batches:
                pass
        assert "a.h5" in str(caught.value) and list(batches) == []


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("order", ORDERS)
def test_a_damaged_chunk_is_one_error_of_ours(tmp_path: pathlib.Path, order: str, threads: int) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        d = f.create_dataset("x", data=np.random.default_rng(1).integers(0, 9, (20_000, 20)), chunks=(100, 20), compression="gzip", fletcher32=True)
        place = d.id.get_chunk_info(150)
    with open(path, "rb+") as raw:
        raw.seek(place.byte_offset + 40)
        raw.write(b"\xff" * 64)
    loader = hs.batches(hs.open(path)["x"], 100, order=order, threads=threads, memory_bytes=2 << 20)
    with pytest.raises(hs.CorruptError) as caught:
        for batch in loader:
            assert batch["x"].shape == (100, 20)
    assert "a.h5" in str(caught.value)


def test_damaged_sparse_matrices(tmp_path: pathlib.Path) -> None:
    def damaged(name: str, place: int, value: int) -> hs.Group:
        path = tmp_path / f"{name}{place}.h5ad"
        anndata.AnnData(X=scipy.sparse.random(50, 20, 0.3, "csr", "f4", np.random.default_rng(2))).write_h5ad(path)
        with h5py.File(path, "r+") as f:
            f["X"][name][place] = value
        return hs.open(path)["X"]

    for name, place, value in (("indptr", 3, 5000), ("indptr", 0, 1), ("indptr", 10, 0), ("indptr", -1, 10_000)):
        with pytest.raises(hs.CorruptError, match="indptr"):
            hs.batches(damaged(name, place, value))
    for value in (20, -1):
        with pytest.raises(hs.CorruptError, match="indices"):
            list(hs.batches(damaged("indices", 7, value)))
    columns = tmp_path / "columns.h5ad"
    anndata.AnnData(X=scipy.sparse.random(50, 20, 0.3, "csc", "f4", np.random.default_rng(2))).write_h5ad(columns)
    with pytest.raises(hs.UnsupportedError, match="CSC"):
        hs.batches(hs.models.anndata.open(columns))


def test_wrong_arguments(file: hs.File, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["short"], f["wide"], f["scalar"], f["none"] = np.arange(5), np.zeros((5, 2)), 1, h5py.Empty("f4")
    short = hs.open(tmp_path / "a.h5")
    label: Any = file["label"]
    cases: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        ({"a": label, "b": short["short"]}, {}, hs.InvalidInputError, "'a' has 997, 'b' has 5"),
        ([short["short"], short["wide"]], {}, hs.InvalidInputError, "rows differ"),
        ({}, {}, hs.InvalidInputError, "no sources"),
        ([], {}, hs.InvalidInputError, "no sources"),
        (short["scalar"], {}, hs.InvalidInputError, "no dimension"),
        (short["none"], {}, hs.InvalidInputError, "no dimension"),
        (file, {}, hs.InvalidInputError, "without a sparse matrix"),
        ("a.h5", {}, TypeError, "str has no rows"),
        ({"a": np.arange(5)}, {}, TypeError, "ndarray has no rows"),
        (label, {"batch_size": 0}, hs.InvalidInputError, "batch_size is 0"),
        (label, {"batch_size": 1.5}, TypeError, "whole number"),
        (label, {"order": "random"}, hs.InvalidInputError, "sequential, exact or block"),
        (label, {"output": "torch"}, hs.InvalidInputError, "numpy or arrow"),
        (label, {"rank": 2, "world_size": 2}, hs.InvalidInputError, "rank is 2"),
        (label, {"seed": -1}, hs.InvalidInputError, "seed is -1"),
        (label, {"mix_blocks": 3}, hs.InvalidInputError, "order='block'"),
        (label, {"weights": np.ones(ROWS)}, hs.InvalidInputError, "order='exact'"),
        (label, {"weights": np.ones(3), "order": "exact"}, hs.InvalidInputError, "997 rows"),
        (label, {"weights": np.zeros(ROWS), "order": "exact"}, hs.InvalidInputError, "not all zero"),
        (label, {"draws": 5}, hs.InvalidInputError, "weights"),
        (label, {"transform": 3}, TypeError, "not a function"),
    ]
    for source, options, error, words in cases:
        with pytest.raises(error, match=words):
            hs.batches(source, **options)
    assert list(hs.batches(short["short"], 8, drop_last=True)) == []
    (batch,) = hs.batches(short["short"], 8, order="block")
    assert sorted(batch["short"]) == [0, 1, 2, 3, 4]


def test_no_rows(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", (0, 3), "f4", maxshape=(None, 3))
        f.create_dataset("t", (0,), h5py.string_dtype(), maxshape=(None,))
    f = hs.open(tmp_path / "a.h5")
    for order in ORDERS:
        loader = hs.batches({"x": f["x"], "t": f["t"]}, 4, order=order)
        assert len(loader) == 0 and list(loader) == [] and loader.epoch == 1


def test_stopping_early_leaves_no_thread(file: hs.File) -> None:
    def ours() -> int:
        return sum(thread.name.startswith("hyperslab-batches") for thread in threading.enumerate())

    loader = hs.batches(file["images"], 3, order="exact", threads=3, memory_bytes=100_000)
    for _ in loader:
        break
    with pytest.raises(RuntimeError, match="mine"):
        for _ in loader:
            raise RuntimeError("mine")
    iterator = iter(loader)
    next(iterator)
    del iterator
    gc.collect()
    for thread in threading.enumerate():
        if thread.name.startswith("hyperslab-batches"):
            thread.join(10)
    assert ours() == 0
    assert len(list(loader)) == len(loader)


def members(group: hs.Group) -> list[hs.Dataset]:
    found: list[hs.Dataset] = []
    group.visititems(lambda _, member: found.append(member) if isinstance(member, hs.Dataset) else None)
    return found


@pytest.mark.parametrize(
    "path", sorted(path for path in DATA.iterdir() if path.suffix in (".nc", ".h5", ".h5ad", ".h5part", ".hdf5")), ids=lambda path: path.name
)
def test_real_files(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    checked = 0
    for dataset in members(hs.open(path)):
        if dataset.refusal or not dataset.shape or not 0 < dataset.shape[0] < 5000 or dataset.size > 2_000_000:
            continue
        whole, rows = dataset[...], dataset.shape[0]
        with h5py.File(tmp_path / "rows.h5", "w") as f:
            f["row"] = np.arange(rows)
        source = {"value": dataset, "row": hs.open(tmp_path / "rows.h5")["row"]}
        for order in ORDERS:
            batches = list(hs.batches(source, 100, order=order))
            places = np.concatenate([batch["row"] for batch in batches])
            assert sorted(places) == list(range(rows))
            found = np.concatenate([batch["value"] for batch in batches])
            want = whole[places].astype(found.dtype)
            # Bytes: NaN in a compound is not equal to itself.
            assert found.shape == want.shape and (found.tolist() == want.tolist() if want.dtype.hasobject else found.tobytes() == want.tobytes()), dataset.name
        checked += 1
    assert checked


def test_virtual_and_external_rows(tmp_path: pathlib.Path) -> None:
    for number in (0, 1):
        with h5py.File(tmp_path / f"part{number}.h5", "w") as f:
            f["x"] = np.arange(300).reshape(100, 3) + 1000 * number
    with h5py.File(tmp_path / "whole.h5", "w", libver="latest") as f:
        layout = h5py.VirtualLayout((200, 3), "i8")
        for number in (0, 1):
            layout[100 * number : 100 * number + 100] = h5py.VirtualSource(f"part{number}.h5", "x", (100, 3))
        f.create_virtual_dataset("v", layout)
        f["linked"] = h5py.ExternalLink("part1.h5", "/x")
    f = hs.open(tmp_path / "whole.h5")
    for order in ORDERS:
        found = np.concatenate([batch["v"] for batch in hs.batches(f["v"], 30, order=order)])
        np.testing.assert_array_equal(found[np.argsort(found[:, 0])], f["v"][...])
    linked = np.concatenate([batch["x"] for batch in hs.batches({"x": f["linked"]}, 30)])
    np.testing.assert_array_equal(linked, f["linked"][...])
    loader = hs.batches(f["v"], 30)
    with h5py.File(tmp_path / "part1.h5", "r+") as changed:
        changed["x"][3] = 7
    with pytest.raises(hs.ConflictError, match="part1.h5"):
        list(loader)


def test_sparse_rows_need_scipy(cells: tuple[scipy.sparse.csr_matrix, list[pathlib.Path]], monkeypatch: pytest.MonkeyPatch) -> None:
    view = hs.models.anndata.open(cells[1][0])
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(hs.MissingExtraError, match=r"hyperslab\[scipy\]"):
        hs.batches(view)
