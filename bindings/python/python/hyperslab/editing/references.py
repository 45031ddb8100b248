"""References: values that point at objects of the file that is edited."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidInputError, UnsupportedError
from ..values import new_references
from ..values.described import StoredFill
from ..values.references import Reference

#: How references to objects are stored.
OBJECT = {"class": "reference", "kind": "Object", "size": 8}


def are_references(values: Any, dtype: Any = None) -> bool:
    """Whether values are references, or `dtype` is one of h5py's for them.

    Args:
        values: The values.
        dtype: Their dtype, if it was given.

    Returns:
        Whether they are.

    Raises:
        UnsupportedError: They refer to regions.
    """
    if dtype is not None and not isinstance(dtype, type):
        kind = new_references.kind_of(None, dtype)
        if kind not in (None, "Object") and values is not None:
            raise UnsupportedError("references to regions cannot be written into an existing file yet")
        return kind == "Object"
    if isinstance(values, Reference):
        return True
    if dtype is not None or not isinstance(values, (np.ndarray, list, tuple)) or (isinstance(values, np.ndarray) and values.dtype.kind != "O"):
        return False
    flat = np.asarray(values, dtype=object).reshape(-1)
    return any(isinstance(value, Reference) for value in flat)


def stored(values: Any, path: str) -> np.ndarray[Any, Any]:
    """References as they are stored: the addresses of objects.

    Args:
        values: References; `None` points at nothing.
        path: The file that they are written into.

    Returns:
        Elements of 8 bytes.

    Raises:
        InvalidInputError: They refer to objects of another file.
        UnsupportedError: They are of another kind, or mixed with other values.
    """
    given = np.empty((), dtype=object)
    if isinstance(values, Reference) or values is None:
        given[()] = values
    else:
        given = np.asarray(values, dtype=object)
    out = np.zeros(given.shape, dtype="V8")
    flat = out.reshape(-1)
    for place, value in enumerate(given.reshape(-1)):
        if value is None or (isinstance(value, Reference) and not value):
            continue
        if not isinstance(value, Reference):
            raise UnsupportedError("references mixed with other values: give the `ref` of objects of this file, or None")
        if value._kind != "Object":
            raise UnsupportedError("references to regions cannot be written into an existing file yet")
        if value._file.path != path:
            raise InvalidInputError(f"a reference to an object of another file: {value._file.path}")
        flat[place] = np.void(value._raw)
    return out


def filled(fillvalue: Any, datatype: dict[str, Any], path: str) -> Any:
    """A fill value for a dataset of an existing file.

    Args:
        fillvalue: The fill value. In a dataset of references to objects, a reference.
        datatype: The datatype of the dataset.
        path: The file.

    Returns:
        The fill value; of references to objects, the address.

    Raises:
        InvalidInputError: It refers to an object of another file.
    """
    if datatype != OBJECT or fillvalue is None:
        return fillvalue
    return StoredFill(fillvalue, stored(fillvalue, path).tobytes())
