"""AnnData's elements that are groups: categories and values that may be missing, as pandas has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import CorruptError, UnsupportedError
from ..base.type_aliases import AnyArray
from ..objects.dataset import Dataset
from ..objects.group import Group

if TYPE_CHECKING:
    import pandas


def read_element(group: Group, encoding: str) -> pandas.api.extensions.ExtensionArray:
    """An element in pandas' types.

    Args:
        group: The element.
        encoding: Its encoding, as the attribute `encoding-type` names it.

    Returns:
        A categorical, or an array with missing values.

    Raises:
        UnsupportedError: An element of another encoding.
        CorruptError: Parts of the element are missing, or contradict each other.
    """
    reader = {"categorical": _categorical, "nullable-integer": _numbers, "nullable-boolean": _numbers, "nullable-string-array": _texts}.get(encoding)
    if reader is None:
        raise UnsupportedError(f"an element of the encoding {encoding}", group.file.filename, group.name)
    try:
        return reader(group)
    except (ValueError, TypeError) as error:
        raise CorruptError(f"an element of the encoding {encoding} whose parts contradict each other: {error}", group.file.filename, group.name) from None


def _part(group: Group, name: str) -> AnyArray | pandas.api.extensions.ExtensionArray:
    found = group.get(name)
    if isinstance(found, Group) and "encoding-type" in found.attrs:
        return read_element(found, str(found.attrs["encoding-type"]))
    if not isinstance(found, Dataset):
        raise CorruptError(f"an element without {name}", group.file.filename, group.name)
    return texts_of(np.asarray(found[...]))


def _categorical(group: Group) -> pandas.Categorical:
    import pandas

    return pandas.Categorical.from_codes(_part(group, "codes"), _part(group, "categories"), ordered=bool(group.attrs.get("ordered", False)))


def _numbers(group: Group) -> pandas.arrays.BooleanArray | pandas.arrays.IntegerArray:
    import pandas

    values, mask = _part(group, "values"), _part(group, "mask").astype(bool)
    kind = pandas.arrays.BooleanArray if values.dtype == bool else pandas.arrays.IntegerArray
    return kind(values, mask)


def _texts(group: Group) -> pandas.api.extensions.ExtensionArray:
    import pandas

    values, mask = _part(group, "values").astype(object), _part(group, "mask").astype(bool)
    values[mask] = pandas.NA
    return pandas.array(values, dtype="string")


def texts_of(values: AnyArray) -> AnyArray:
    """Text as `str`, which is stored as bytes; other values as they are."""
    if values.dtype != object or not values.size or not isinstance(values.ravel()[0], bytes):
        return values
    texts: AnyArray = np.empty(values.size, object)
    texts[:] = [value.decode("utf-8", "replace") for value in values.ravel()]
    return np.asarray(texts.reshape(values.shape))
