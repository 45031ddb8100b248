"""Growth of netCDF variables: assigning beyond the end of a dimension without limit makes the variable longer, as in
netCDF4-python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def grown(key: Any, values: Sequence[int], shape: Sequence[int], lengths: Sequence[int | None]) -> list[int] | None:
    """The shape that a variable of `shape` needs for `variable[key] = …` of values of shape `values`; `None` if it is large
    enough. `lengths` has for each dimension without limit how long it is in the file, `None` for the others.

    An index, or the last place of a slice, beyond the end sets the length. A slice without an end reaches as far as the values, or,
    where those have no such dimension, to the length that the dimension has by other variables."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if any(np.asarray(k).dtype == bool for k in keys if isinstance(k, (list, np.ndarray))):
        return None
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    missing = len(shape) - sum(k is not Ellipsis for k in keys)
    if missing < 0:
        return None
    keys[at : at + 1] = [slice(None)] * missing
    # Dimensions of the values belong to the axes that are not single indexes, from the last one on.
    wide = [axis for axis, k in enumerate(keys) if isinstance(k, slice) or np.ndim(k)]
    extents = dict(zip(reversed(wide), reversed(list(values)), strict=False))
    needed = list(shape)
    for axis, (k, length) in enumerate(zip(keys, lengths, strict=True)):
        if length is not None:
            needed[axis] = max(needed[axis], _end(k, extents.get(axis), length))
    return None if needed == list(shape) else needed


def _end(key: Any, extent: int | None, length: int) -> int:
    """One past the last place that `key` selects of a dimension of `length`, with values of `extent` along it."""
    if not isinstance(key, slice):
        return int(np.max(key, initial=-1)) + 1 if np.ndim(key) else int(key) + 1
    start, step = key.start or 0, key.step or 1
    if start < 0 or step < 1:
        return 0
    if key.stop is not None:
        selected = range(start, key.stop, step)
        return selected[-1] + 1 if selected else 0
    if extent is None or (extent == 1 and length):
        return length
    return int(start + (extent - 1) * step + 1) if extent else 0
