"""Empty: the value of a null dataspace."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.type_aliases import AnyDtype, DtypeLike, Values


class Empty:
    """The value of an attribute or dataset with a null dataspace: it has a dtype, but no elements.

    Args:
        dtype: The dtype.

    Example:
        >>> f.attrs["unknown"] = hs.Empty(np.dtype("f8"))
    """

    #: As of h5py's: there is no shape, and there are no elements to count.
    shape: None = None
    size: None = None

    def __init__(self, dtype: DtypeLike) -> None:
        self.dtype: AnyDtype = np.dtype(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empty) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"Empty(dtype={self.dtype!r})"


def as_ours(value: Any) -> Values:
    """Converts `h5py.Empty` to `Empty`; returns other values unchanged."""
    is_theirs = type(value).__name__ == "Empty" and type(value).__module__.partition(".")[0] == "h5py"
    return Empty(value.dtype) if is_theirs else value
