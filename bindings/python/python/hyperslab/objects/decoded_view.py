"""Decoded view: the values of a dataset as its attributes mean them, in numpy."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from ..base.type_aliases import AnyArray, Elements, Key
from ..base.visible import visible
from ..values import indexing_keys
from . import dask_collections
from .decoding import Decoder
from .value_text import value_text
from .value_views import View, Viewed

#: Values that `repr` shows.
_SHOWN = 6


class DecodedView(View):
    """A dataset with decoded values: `d.decoded[3:5]`. It has a dataset's shape, dtype and dimensions, and can be used as an array."""

    def __init__(self, dataset: Viewed) -> None:
        self._decoder = Decoder(dataset, stacklevel=4)
        self._is_text = self._decoder.is_text
        super().__init__(dataset, self._decoder.dtype)

    def __reduce__(self) -> tuple[type[DecodedView], tuple[Viewed]]:
        """Another process opens the dataset and reads its attributes."""
        return DecodedView, (self._dataset,)

    @property
    def dataset(self) -> Any:
        """The dataset, whose values are as stored."""
        return self._dataset

    @property
    def name(self) -> str:
        """Path of the dataset."""
        return self._dataset.path

    @property
    def attrs(self) -> Any:
        """The attributes of the dataset."""
        return self._dataset.attrs

    @property
    def file(self) -> Any:
        """The file that the dataset is in."""
        return self._dataset.file

    @property
    def dims(self) -> tuple[str | None, ...]:
        """Names of the dimensions; those of texts lack the length of the texts."""
        names: tuple[str | None, ...] = self.dataset.dims
        return names[: len(self.shape)]

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """The shape of a chunk; `None` without chunks."""
        chunks: tuple[int, ...] | None = self.dataset.chunks
        return None if chunks is None else chunks[: len(self.shape)]

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension; those of texts lack the length of the texts."""
        shape: tuple[int, ...] = self._dataset.shape
        return shape[:-1] if self._is_text else shape

    @property
    def size(self) -> int | None:
        """Number of elements."""
        return self._dataset.size if not self._is_text else math.prod(self.shape)

    def __getitem__(self, key: Key) -> Elements:
        if self._is_text:
            return self._texts(key)
        decoding, reader = self._decoder.decoding, getattr(self._dataset, "_reader", None)
        if decoding is None or decoding.is_plain or reader is None or self.dtype == object or not self.shape:
            return self._decoder.decoded(self._dataset[key])
        values = self._empty(key)
        # `False` are dates that numpy lacks.
        if values is not None and reader.get_decoded(key, values.shape, decoding, values.ctypes.data, values.nbytes):
            return values
        return self._decoder.decoded(self._dataset[key])

    def __setitem__(self, key: Key, values: object) -> None:
        self.dataset[key] = self._decoder.encoded(values)

    def _empty(self, key: Key) -> AnyArray | None:
        """Memory for what a key selects; `None` of one value, and if there is not so much: then the dataset words the error."""
        shape = _shape_of(key, self.shape)
        try:
            return np.empty(shape, self.dtype) if shape else None
        except (MemoryError, ValueError):
            return None

    def _texts(self, key: Key) -> Elements:
        """Texts of characters along the last dimension, without trailing NULs."""
        keys = key if isinstance(key, tuple) else (key,)
        is_box = all(one is Ellipsis or isinstance(one, (int, np.integer, slice)) for one in keys)
        end = slice(None) if any(one is Ellipsis for one in keys) else Ellipsis
        whole: Key = (*keys, end)
        texts = self._decoder.decoded(np.asarray(self._dataset[whole if is_box else ...]))
        return texts if is_box else np.asarray(texts)[cast(Any, key)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        if copy is False:
            raise ValueError("values are read from a file, which is a copy")
        return np.asarray(self[()], dtype=dtype)

    def __repr__(self) -> str:
        extents = [f"{name}={extent}" if name else str(extent) for name, extent in zip(self.dims or (None,) * len(self.shape), self.shape, strict=True)]
        return f"<Decoded {visible(self.name)}: ({', '.join(extents)}), {self.dtype}, {self._some()}>"

    def _some(self) -> str:
        """The first values and the last one."""
        if not self.size:
            return "no values"
        if not self.shape:
            return value_text(self[()])
        first = np.ravel(self[(0,) * (len(self.shape) - 1) + (slice(_SHOWN),)])
        shown = " ".join(map(value_text, first[: min(_SHOWN, self.size)]))
        return shown if self.size <= len(first) else f"{shown} … {value_text(self[(-1,) * len(self.shape)])}"

    def to_dask(self, chunks: object = "auto") -> Any:
        """Makes an array of Dask with decoded values, which it reads block by block.

        Args:
            chunks: The blocks, as for `dask.array.from_array`; by default about 128 MiB in whole chunks of the dataset.

        Returns:
            A lazy array.

        Raises:
            MissingExtraError: Dask is not installed.

        Example:
            >>> f["theta"].decoded.to_dask().mean().compute()
        """
        return dask_collections.array(cast(Any, self), chunks)


def _shape_of(key: Key, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what indexes select; empty of one value, and of keys that the dataset itself understands, or refuses."""
    keys = key if isinstance(key, tuple) else (key,)
    is_plain = all(one is Ellipsis or isinstance(one, (int, np.integer, slice, list, np.ndarray)) for one in keys)
    return indexing_keys.select(key, shape).shape if is_plain else ()
