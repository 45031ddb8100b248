"""Torch datasets: rows and batches of files as datasets of `torch.utils.data`. `import hyperslab` does not import this module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .base.errors import InvalidInputError, UnsupportedError
from .base.extras import require
from .base.type_aliases import JsonObject
from .batching.batches import Batches, HasRows, batches, of_worker
from .batching.values import Batch, Values, taken

require("hyperslab.torch_datasets", "ml", "torch")

import torch  # noqa: E402
from torch.utils.data import Dataset, IterableDataset, get_worker_info  # noqa: E402

__all__ = ["BatchDataset", "RowDataset"]


class BatchDataset(IterableDataset):  # type: ignore[misc, type-arg, unused-ignore]  # PyTorch is not installed where types are checked
    """Batches as an iterable dataset, for `DataLoader(dataset, batch_size=None)`. Tensors share the memory of the batch.

    Worker processes of a `DataLoader` are further ranks: each has its part of the rows of this rank's training, and batches of its own. None are needed:
    threads read ahead, and with `num_workers=0` nothing is sent between processes.

    An epoch that ends in this process makes the next one begin. Worker processes tell nothing of their epochs: call `set_epoch`
    before each, as with PyTorch's `DistributedSampler`.

    Args:
        loader: What `hyperslab.batches` made.

    Example:
        >>> dataset = BatchDataset(hs.batches({"x": f["x"], "y": f["y"]}, 64, order="block"))
        >>> for batch in torch.utils.data.DataLoader(dataset, batch_size=None):
        ...     model(batch["x"])
    """

    def __init__(self, loader: Batches) -> None:
        super().__init__()
        if loader.output != "numpy":
            raise InvalidInputError(f"output is {loader.output!r}: tensors are made of numpy arrays, output='numpy'")
        self._loader = loader
        self._of_worker: Batches | None = None

    def __len__(self) -> int:
        """Number of batches of this rank, without worker processes."""
        return len(self._loader)

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        if worker is None:
            chosen = self._loader
        else:
            # A worker that stays keeps its own epochs.
            if self._of_worker is None:
                self._of_worker = of_worker(self._loader, worker.id, worker.num_workers)
            chosen = self._of_worker
        return (_tensors(batch) for batch in chosen)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration, also in worker processes that start afterwards.

        Args:
            epoch: The epoch, from 0.

        Example:
            >>> dataset.set_epoch(3)
        """
        self._loader.epoch = epoch

    def state_dict(self) -> JsonObject:
        """The place of the iteration in this process; not with worker processes.

        Returns:
            What `Batches.state_dict` returns.

        Example:
            >>> state = dataset.state_dict()
        """
        return self._loader.state_dict()

    def load_state_dict(self, state: JsonObject) -> None:
        """Makes the next iteration in this process go on after a state.

        Args:
            state: What `state_dict` returned.

        Raises:
            InvalidInputError: The state is of batches in another order.

        Example:
            >>> dataset.load_state_dict(state)
        """
        self._loader.load_state_dict(state)


class RowDataset(Dataset):  # type: ignore[misc, type-arg, unused-ignore]
    """Single rows as a map-style dataset, for samplers of PyTorch. A `DataLoader` of PyTorch 2 asks for the rows of a batch at once.

    Args:
        source: What has the rows, as for `hyperslab.batches`.
        options: `sparse`, as for `hyperslab.batches`.

    Raises:
        UnsupportedError: Single rows of the source cannot be reached, such as rows of a table.

    Example:
        >>> torch.utils.data.DataLoader(RowDataset({"x": f["x"], "y": f["y"]}), batch_size=64, shuffle=True)
    """

    def __init__(self, source: HasRows, **options: Any) -> None:
        self._source = batches(source, 1, threads=0, **options)._source
        if self._source.no_exact:
            raise UnsupportedError(f"single rows: {self._source.no_exact}")

    def __len__(self) -> int:
        """Number of rows."""
        return self._source.rows

    def __getitem__(self, row: int) -> dict[str, torch.Tensor | Values]:
        return self.__getitems__([row])[0]

    def __getitems__(self, rows: Sequence[int]) -> list[dict[str, torch.Tensor | Values]]:
        """The rows of several numbers, read together."""
        wanted = np.asarray(rows, np.int64)
        if len(wrong := wanted[(wanted < -len(self)) | (wanted >= len(self))]):
            raise IndexError(f"row {wrong[0]} of {len(self)}")
        unique, places = np.unique(wanted % max(len(self), 1), return_inverse=True)
        values = {name: taken(found, places) for name, found in self._source.read(unique).items()}
        return [{name: _tensor(found[place : place + 1])[0] for name, found in values.items()} for place in range(len(wanted))]


def _tensors(batch: Batch) -> Batch:
    return {name: _tensor(values) for name, values in batch.items()} if isinstance(batch, dict) else batch


def _tensor(values: Values) -> torch.Tensor | Values:
    """A tensor that shares the memory of an array. Values that PyTorch has no type for stay as they are."""
    if isinstance(values, np.ndarray):
        try:
            return torch.from_numpy(values)
        except TypeError:
            return values
    if hasattr(values, "indptr"):
        return torch.sparse_csr_tensor(torch.from_numpy(values.indptr), torch.from_numpy(values.indices), torch.from_numpy(values.data), values.shape)
    return values
