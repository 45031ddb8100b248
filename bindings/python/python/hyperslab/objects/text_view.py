"""Text view: a string dataset with values of type `str`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.type_aliases import AnyArray, AnyDtype


class TextView:
    """A string dataset with values of type `str`."""

    def __init__(self, dataset: Any, encoding: str, errors: str) -> None:
        self._dataset, self._encoding, self._errors = dataset, encoding, errors

    def __getitem__(self, key: Any) -> str | AnyArray:
        # A dataset that is being written has none.
        reader = getattr(self._dataset, "_reader", None)
        if reader is not None and self._encoding == "utf-8" and self._errors == "strict" and (text := reader.get_text(key)) is not None:
            found: str | AnyArray = text
            return found
        values = self._dataset[key]
        if isinstance(values, bytes):
            return values.decode(self._encoding, self._errors)
        out = np.empty(values.shape, dtype=object)
        out.reshape(-1)[:] = [v.decode(self._encoding, self._errors) for v in values.reshape(-1)]
        return out

    @property
    def dtype(self) -> AnyDtype:
        """The dtype of its arrays: objects, which are `str`."""
        return np.dtype(object)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        shape: tuple[int, ...] = self._dataset.shape
        return shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int | None:
        """Number of elements; `None` of a null dataspace."""
        size: int | None = self._dataset.size
        return size

    def __len__(self) -> int:
        return len(self._dataset)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.asarray(self[...], dtype=dtype)
