"""As `h5py._hl.selections2`: what is read of compounds and scalars."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import InvalidInputError
from ...base.type_aliases import AnyDtype
from .. import h5s


def read_dtypes(dataset_dtype: AnyDtype, names: tuple[str, ...]) -> tuple[AnyDtype, AnyDtype]:
    """The dtype of the values of some fields, and the dtype in which they are read.

    Args:
        dataset_dtype: The dtype of the dataset.
        names: Fields; none are all.

    Raises:
        InvalidInputError: There are no such fields.
    """
    if not names:
        return dataset_dtype, dataset_dtype
    fields = dataset_dtype.fields
    if fields is None or any(name not in fields for name in names):
        raise InvalidInputError(f"fields {names} of values of dtype {dataset_dtype}")
    read: AnyDtype = np.dtype([(name, fields[name][0]) for name in names])
    return (read[names[0]] if len(names) == 1 else read), read


def read_selections_scalar(dsid: Any, args: tuple[object, ...]) -> tuple[tuple[int, ...] | None, h5s.SpaceID]:
    """The shape of what is read of a scalar dataset, `None` for a value without an array, and its dataspace.

    Args:
        dsid: The identifier of the dataset.
        args: The key: nothing or `...`.

    Raises:
        RuntimeError: The dataset is not a scalar.
        InvalidInputError: The key selects elements.
    """
    if dsid.shape != ():
        raise RuntimeError("this dataset is not a scalar")
    if args not in ((), (Ellipsis,)):
        raise InvalidInputError("a scalar dataset is read with () or ...")
    return (() if args else None), dsid.get_space()
