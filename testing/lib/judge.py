"""The judge of values: whether what Hyperslab gives is what h5py or numpy gives for the same question.

`identical` looks at values and types, as a user of h5py would. `compare.same` looks at stored values of whole files, bit by bit.
"""

from __future__ import annotations

from typing import Any

import h5py
import hyperslab as hs
import numpy as np


def identical(theirs: Any, mine: Any) -> bool:
    """Whether two values are equal with their types (NaN equals NaN); objects if they are of the same class and path."""
    if isinstance(theirs, h5py.HLObject):
        return type(theirs).__name__ == type(mine).__name__ and theirs.name in (mine.name, None)
    if isinstance(theirs, (h5py.Reference, h5py.RegionReference)):
        return type(theirs).__name__ == type(mine).__name__ and bool(theirs) == bool(mine)
    if isinstance(theirs, (h5py.SoftLink, h5py.HardLink, h5py.ExternalLink)):
        return type(theirs).__name__ == type(mine).__name__ and all(
            getattr(theirs, n, 0) == getattr(mine, n, 0) for n in ("path", "filename") if hasattr(theirs, n)
        )
    if isinstance(theirs, type):
        return theirs.__name__ == mine.__name__
    if isinstance(theirs, h5py.Empty):
        return isinstance(mine, hs.Empty) and identical(theirs.dtype, mine.dtype)
    if isinstance(theirs, np.dtype):
        return isinstance(mine, np.dtype) and theirs == mine and tags(theirs) == tags(mine)
    if type(theirs) is not type(mine):
        return False
    if isinstance(theirs, np.ndarray):
        if theirs.shape != mine.shape or not identical(theirs.dtype, mine.dtype):
            return False
        if theirs.dtype.hasobject:
            return all(identical(a, b) for a, b in zip(theirs.reshape(-1).tolist(), mine.reshape(-1).tolist(), strict=True))
        return theirs.tobytes() == mine.tobytes() or bool(np.array_equal(theirs, mine, equal_nan=theirs.dtype.kind in "fc"))
    if isinstance(theirs, np.void):
        if not identical(theirs.dtype, mine.dtype):
            return False
        return theirs.tobytes() == mine.tobytes() if theirs.dtype.names is None else identical(theirs.item(), mine.item())
    if isinstance(theirs, (tuple, list)):
        return len(theirs) == len(mine) and all(identical(a, b) for a, b in zip(theirs, mine, strict=True))
    return bool(theirs == mine) or (theirs != theirs and mine != mine)


def tags(dtype: np.dtype[Any]) -> Any:
    """The metadata of a dtype, with classes by name."""
    metadata = {key: value.__name__ if isinstance(value, type) else value for key, value in (dtype.metadata or {}).items()}
    metadata = {key: tags(value) if isinstance(value, np.dtype) else value for key, value in metadata.items()}
    return metadata, [tags(dtype[name]) for name in dtype.names or ()]
