"""Text view: a string dataset with values of type `str`."""

from __future__ import annotations

import numpy as np

from ..base.type_aliases import AnyArray, AnyDtype, DtypeLike, Key
from .value_views import Viewed, check_copy


class TextView:
    """A string dataset with values of type `str`."""

    def __init__(self, dataset: Viewed, encoding: str, errors: str) -> None:
        self._dataset, self._encoding, self._errors = dataset, encoding, errors

    def __getitem__(self, key: Key) -> str | AnyArray:
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
        return self._dataset.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int | None:
        """Number of elements; `None` of a null dataspace."""
        return self._dataset.size

    def __len__(self) -> int:
        return len(self._dataset)

    def __array__(self, dtype: DtypeLike | None = None, copy: bool | None = None) -> AnyArray:
        check_copy(copy)
        return np.asarray(self[...], dtype=dtype)
