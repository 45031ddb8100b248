"""Decoded values as batches under PyTorch's DataLoader: the cases of all doors that tensors can hold."""

from __future__ import annotations

import hyperslab as hs
import meanings
import pytest
import torch
from hyperslab.torch_datasets import BatchDataset, RowDataset
from meanings import CASES, Cells, cells
from torch.utils.data import DataLoader


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> hs.File:
    path = tmp_path_factory.mktemp("meanings") / "meanings.nc"
    meanings.write(path)
    return hs.open(path)


def values_of(batch: object) -> Cells:
    return cells(batch.numpy() if isinstance(batch, torch.Tensor) else batch)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not isinstance(case.meant[0], str) and name != "duration"])
def test_decoded_values_are_tensors(file: hs.File, name: str) -> None:
    decoded = file[name].decoded
    found = [batch["v"] for batch in DataLoader(BatchDataset(hs.batches({"v": decoded}, 2)), batch_size=None)]
    assert all(isinstance(batch, torch.Tensor) for batch in found)
    assert [one for batch in found for one in values_of(batch)] == CASES[name].meant
    rows = [row["v"] for row in DataLoader(RowDataset({"v": decoded}), batch_size=None)]
    assert [one for row in rows for one in values_of(row)] == CASES[name].meant


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["days", "missing_date", "duration"])
def test_times_stay_arrays_of_numpy(file: hs.File, name: str) -> None:
    found = [batch["v"] for batch in hs.batches({"v": file[name].decoded}, 2)]
    assert [one for batch in found for one in cells(batch)] == CASES[name].meant
