"""Tagged dtypes: dtypes whose metadata says what numpy has no dtype for (text, enumerations, references), in h5py's form.

`h5py.check_string_dtype` and its relatives read these tags. A tagged dtype is equal to the dtype without tags."""

from __future__ import annotations

import re

import numpy as np

from .. import _native, dtypes
from ..base.type_aliases import AnyDtype, Elements
from .references import Reference, RegionReference

#: The datatype tag by which h5py stores numpy's dates: the dtype that follows.
_NUMPY_TAG = re.compile(r"NUMPY:([<>=|]?[mM]8(\[[0-9]*[A-Za-zμ]+\])?)")


@dtypes.kept_for_large
def of_datatype(datatype: _native.Datatype) -> AnyDtype:
    """The tagged dtype of a stored datatype.

    Raises:
        UnsupportedError: numpy has no such dtype.
    """
    return _tagged(datatype, dtypes.value_dtype(datatype))


def _tagged(datatype: _native.Datatype, plain: AnyDtype) -> AnyDtype:
    kind = datatype.class_name
    if kind == "variable string":
        return np.dtype(object, metadata={"vlen": str if datatype.utf8 else bytes})
    if kind == "string":
        return np.dtype(plain, metadata={"h5py_encoding": "utf-8" if datatype.utf8 else "ascii"})
    if kind == "sequence":
        return np.dtype(object, metadata={"vlen": of_datatype(datatype.base)})
    if kind == "reference":
        return np.dtype(object, metadata={"ref": RegionReference if datatype.reference_kind == "region" else Reference})
    if kind == "enum" and not datatype.is_boolean:
        return np.dtype(plain, metadata={"enum": dict(datatype.values)})
    if kind == "opaque":
        date = _NUMPY_TAG.fullmatch(datatype.tag)
        return np.dtype(date[1], metadata={"h5py_opaque": True}) if date and datatype.size == 8 else plain
    if kind == "array":
        return np.dtype((of_datatype(datatype.base), datatype.shape))
    if kind == "compound" and plain.fields is not None:
        members = [(name, plain.fields[name]) for name, _, _ in datatype.fields]
        formats = [_tagged(member, field[0]) for (_, _, member), (_, field) in zip(datatype.fields, members, strict=True)]
        return np.dtype(
            {"names": [name for name, _ in members], "formats": formats, "offsets": [int(field[1]) for _, field in members], "itemsize": plain.itemsize}
        )
    return plain


def tag(values: Elements, dtype: AnyDtype) -> Elements:
    """Array values with the tags of `dtype`, the dtype of an element; other values as they are."""
    if not isinstance(values, np.ndarray):
        return values
    base = element(dtype)
    # Text of no bytes has one in numpy.
    is_tagged = (base.metadata is not None or base.names is not None) and base.itemsize == values.dtype.itemsize
    return values.view(base) if is_tagged else values


def element(dtype: AnyDtype) -> AnyDtype:
    """The dtype of the innermost elements of arrays in arrays; `base` takes one array off."""
    while dtype.subdtype is not None:
        dtype = dtype.base
    return dtype
