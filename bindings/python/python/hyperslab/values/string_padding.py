"""String padding: text of fixed length as the padding of its datatype wants it. Reading takes it off again."""

from __future__ import annotations

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray


def pad(raw: AnyArray, datatype: _native.Datatype, offset: int = 0, stride: int | None = None) -> None:
    """Pads fixed strings in place, which numpy ends with NULs. A string of one byte is a character, as netCDF has them, without a NUL.

    Args:
        raw: The bytes of whole elements.
        datatype: The datatype of the part of an element that is looked at.
        offset: Where that part begins in an element.
        stride: Bytes of an element; by default the size of `datatype`.

    Raises:
        InvalidInputError: Text leaves no room for the NUL that its datatype wants.
    """
    kind, size = datatype.class_name, datatype.size
    stride = size if stride is None else stride
    if kind == "compound":
        for _, at, member in datatype.fields:
            pad(raw, member, offset + at, stride)
    elif kind == "array":
        for at in range(0, size, datatype.base.size):
            pad(raw, datatype.base, offset + at, stride)
    elif kind == "string" and raw.size and size:
        text = raw.reshape(-1, stride)[:, offset : offset + size]
        if datatype.padding == "space_padded":
            text[np.logical_and.accumulate(text[:, ::-1] == 0, axis=1)[:, ::-1]] = ord(" ")
        elif datatype.padding == "null_terminated" and size > 1 and bool((text[:, -1] != 0).any()):
            raise InvalidInputError(f"text of {size} bytes does not fit fixed strings of {size} bytes that end with a NUL")
