"""Batches under PyTorch's own DataLoader: in this process and in workers, as batches and as rows."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
import scipy.sparse
import torch
from hyperslab.torch_datasets import BatchDataset, RowDataset
from torch.utils.data import DataLoader

ROWS = 500


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> hs.File:
    path = tmp_path_factory.mktemp("torch") / "a.h5"
    matrix = scipy.sparse.random(ROWS, 30, 0.3, "csr", "f4", random_state=1)
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=np.arange(ROWS * 6).reshape(ROWS, 2, 3).astype(">f4"), chunks=(20, 2, 3), compression="gzip")
        f["y"], f["text"] = np.arange(ROWS), [f"row {n}" for n in range(ROWS)]
        group = f.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", matrix.shape
        group["data"], group["indices"], group["indptr"] = matrix.data, matrix.indices, matrix.indptr
    return hs.open(path)


def assert_rows(batch: dict[str, Any]) -> None:
    rows = batch["y"]
    assert torch.equal(batch["x"], torch.arange(ROWS * 6, dtype=torch.float32).reshape(ROWS, 2, 3)[rows])


def test_batches_in_this_process(file: hs.File) -> None:
    loader = hs.batches({name: file[name] for name in ("x", "y", "text")}, 64, order="block", block_rows=10, mix_blocks=5, seed=2)
    want = [batch["y"].tolist() for batch in loader]
    loader.epoch = 0
    dataset = BatchDataset(loader)
    assert len(dataset) == 8
    got = []
    for batch in DataLoader(dataset, batch_size=None):
        assert_rows(batch)
        assert [text.decode() for text in batch["text"]] == [f"row {n}" for n in batch["y"]]
        got.append(batch["y"].tolist())
    assert got == want and loader.epoch == 1
    iterator = iter(dataset)
    next(iterator)
    state = dataset.state_dict()
    rest = [batch["y"].tolist() for batch in iterator]
    dataset.load_state_dict(state)
    assert [batch["y"].tolist() for batch in dataset] == rest


@pytest.mark.parametrize(("order", "context"), [("sequential", "fork"), ("exact", "fork"), ("block", "fork"), ("exact", "spawn")])
def test_workers_are_further_ranks(file: hs.File, order: str, context: str) -> None:
    got = []
    for rank in range(2):
        dataset = BatchDataset(hs.batches({"x": file["x"], "y": file["y"]}, 16, order=order, seed=3, rank=rank, world_size=2))
        for epoch in range(2):
            dataset.set_epoch(epoch)
            seen = []
            for batch in DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context=context):
                assert_rows(batch)
                seen += batch["y"].tolist()
            got.append(seen)
    for epoch in range(2):
        assert sorted(got[epoch] + got[2 + epoch]) == list(range(ROWS))
    assert (got[0] == got[1]) == (order == "sequential")


def test_workers_that_stay_go_on_with_their_epochs(file: hs.File) -> None:
    dataset = BatchDataset(hs.batches({"y": file["y"]}, 16, order="exact", seed=3))
    loader = DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)
    first, second = ([y for batch in loader for y in batch["y"].tolist()] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(ROWS)) and first != second


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_under_a_sampler(file: hs.File, workers: int) -> None:
    dataset = RowDataset({"x": file["x"], "y": file["y"]})
    assert len(dataset) == ROWS and dataset[-1]["y"] == ROWS - 1 and torch.equal(dataset[3]["x"], torch.arange(18.0, 24.0).reshape(2, 3))
    assert [int(row["y"]) for row in dataset.__getitems__([5, 1, 5, -2])] == [5, 1, 5, ROWS - 2]
    for wrong in (ROWS, -ROWS - 1):
        with pytest.raises(IndexError):
            dataset[wrong]
    seen = []
    for batch in DataLoader(dataset, batch_size=32, shuffle=True, num_workers=workers):
        assert_rows(batch)
        seen += batch["y"].tolist()
    assert sorted(seen) == list(range(ROWS)) != seen


def test_sparse_rows(file: hs.File) -> None:
    whole = scipy.sparse.csr_matrix((file["X/data"][...], file["X/indices"][...], file["X/indptr"][...]), (ROWS, 30)).toarray()
    for batch in BatchDataset(hs.batches({"X": file["X"], "y": file["y"]}, 64, order="exact")):
        assert batch["X"].layout == torch.sparse_csr
        np.testing.assert_array_equal(batch["X"].to_dense().numpy(), whole[batch["y"].numpy()])
    dense = BatchDataset(hs.batches({"X": file["X"], "y": file["y"]}, 64, sparse="dense"))
    for batch in DataLoader(dense, batch_size=None, num_workers=1):
        np.testing.assert_array_equal(batch["X"].numpy(), whole[batch["y"].numpy()])


@pytest.mark.parametrize("workers", [0, 1])
def test_errors_are_ours_inside_of_torch(tmp_path: pathlib.Path, workers: int) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=np.random.default_rng(1).integers(0, 9, (2000, 20)), chunks=(100, 20), compression="gzip", fletcher32=True)
        place = f["x"].id.get_chunk_info(10).byte_offset
    with open(path, "rb+") as raw:
        raw.seek(place + 40)
        raw.write(b"\xff" * 64)
    for dataset, options in ((BatchDataset(hs.batches(hs.open(path)["x"], 10)), {"batch_size": None}), (RowDataset(hs.open(path)["x"]), {"batch_size": 10})):
        with pytest.raises(hs.CorruptError, match="a.h5"):
            for _ in DataLoader(dataset, num_workers=workers, **options):
                pass
    dataset = BatchDataset(hs.batches(hs.open(path)["x"], 10))
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(hs.Error):
        next(iter(DataLoader(dataset, batch_size=None, num_workers=workers)))


def test_what_is_refused(file: hs.File) -> None:
    with pytest.raises(hs.UnsupportedError, match="split by split"):
        RowDataset(file.table("/y"))
    with pytest.raises(hs.InvalidInputError, match="numpy"):
        BatchDataset(hs.batches(file["y"], output="arrow"))


def test_a_worker_that_is_killed(tmp_path: pathlib.Path) -> None:
    """PyTorch says so, the process ends, and the file is readable in new workers."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=np.arange(400_000).reshape(4000, 100), chunks=(100, 100), compression="gzip")
    script = """if True:
        import os, signal, sys
        import hyperslab as hs, torch
        from hyperslab.torch_datasets import BatchDataset, RowDataset

        class Fatal(torch.utils.data.Dataset):
            def __init__(self, rows):
                self.rows = rows
            def __len__(self):
                return len(self.rows)
            def __getitem__(self, index):
                if index == 1500:
                    os.kill(os.getpid(), signal.SIGKILL)
                return self.rows[index]["x"]

        x = hs.open(sys.argv[1])["x"]
        try:
            for batch in torch.utils.data.DataLoader(Fatal(RowDataset({"x": x})), batch_size=50, num_workers=2):
                pass
        except RuntimeError as error:
            print("DataLoader worker" in str(error) and not isinstance(error, hs.Error))
        loader = BatchDataset(hs.batches({"x": x}, 50, order="block"))
        print(sum(int(batch["x"].sum()) for batch in torch.utils.data.DataLoader(loader, batch_size=None, num_workers=2)) == int(x[...].sum()))
    """
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\nTrue\n", done.stderr
