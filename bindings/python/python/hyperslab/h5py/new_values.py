"""New values: what h5py makes of values without a dtype."""

from __future__ import annotations

from typing import Any

import numpy as np


def objects_of_bytes(data: Any) -> Any:
    """Values that are stored as text of variable length, as objects: lists of `bytes`, for which numpy has text of fixed length.

    Args:
        data: Values.

    Returns:
        An array of objects for lists of `bytes`; other values as they are.
    """
    if not isinstance(data, (list, tuple)) or not _is_of_bytes(data):
        return data
    shape = np.shape(data)
    flat = np.empty(int(np.prod(shape)), dtype=object)
    flat[:] = _leaves(data)
    return flat.reshape(shape)


def _leaves(data: Any) -> list[bytes]:
    return [leaf for item in data for leaf in _leaves(item)] if isinstance(data, (list, tuple)) else [data]


def _is_of_bytes(data: Any) -> bool:
    """Whether all items of nested lists are `bytes`."""
    if isinstance(data, (list, tuple)):
        return bool(data) and all(map(_is_of_bytes, data))
    return type(data) is bytes
