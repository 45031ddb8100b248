"""Comparing: whether a copy of a file has the same objects, links, attributes and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import CorruptError
from ..file import open as open_file
from ..objects.attributes import Empty
from ..objects.dataset import Dataset
from ..objects.datatype import Datatype
from ..objects.group import Group
from ..objects.links import ExternalLink, HardLink, SoftLink
from ..values.references import Reference

#: Bytes of values that are compared at a time.
_SLAB_BYTES = 64 << 20
#: Attributes that a copy has of its own: of dimension scales, and of commits.
_DERIVED = ("REFERENCE_LIST", "_hyperslab_commit")


def check_copy(source: str, copy: str) -> None:
    """Compares all of two files.

    Raises:
        CorruptError: Something differs; the error names it.
    """
    with open_file(source, format="hdf5") as one, open_file(copy, format="hdf5") as other:
        for what in _differences(one, other, {}):
            raise CorruptError(f"the copy differs from the original: {what}", source)


def _differences(one: Any, other: Any, seen: dict[int, int]) -> Iterator[str]:
    if type(one).__name__ != type(other).__name__ and not (isinstance(one, Group) and isinstance(other, Group)):
        yield f"{one.name} is a {type(one).__name__} and became a {type(other).__name__}"
        return
    if one._number in seen:
        # A further name of an object: it must lead to the same object in the copy, too.
        if seen[one._number] != other._number:
            yield f"{one.name} is another object"
        return
    seen[one._number] = other._number
    yield from _attributes(one, other)
    if isinstance(one, Group):
        names = list(one.keys())
        if sorted(names) != sorted(other.keys()):
            yield f"the members of {one.name}"
            return
        for name in names:
            link, copied = one.get(name, getlink=True), other.get(name, getlink=True)
            if type(link) is not type(copied):
                yield f"the link {name!r} in {one.name}"
            elif isinstance(link, HardLink):
                yield from _differences(one[name], other[name], seen)
            elif isinstance(link, SoftLink):
                if link.path != copied.path:
                    yield f"the link {name!r} in {one.name}"
            elif isinstance(link, ExternalLink) and (link.file, link.path) != (copied.file, copied.path):
                yield f"the link {name!r} in {one.name}"
    elif isinstance(one, Dataset):
        yield from _values(one, other)
    elif isinstance(one, Datatype) and one.dtype != other.dtype:
        yield f"the datatype {one.name}"


def _attributes(one: Any, other: Any) -> Iterator[str]:
    names = [name for name in one.attrs if name not in _DERIVED]
    if sorted(names) != sorted(name for name in other.attrs if name not in _DERIVED):
        yield f"the attributes of {one.name}"
        return
    for name in names:
        if not same(one.attrs[name], other.attrs[name]):
            yield f"the attribute {name!r} of {one.name}"


def _values(one: Dataset, other: Dataset) -> Iterator[str]:
    if one.shape != other.shape or one.maxshape != other.maxshape or one._about["datatype"] != other._about["datatype"]:
        yield f"the shape or the type of {one.name}"
        return
    if one._about["fill"] != other._about["fill"]:
        yield f"the fill value of {one.name}"
    if not one.shape or not one.size:
        if not same(one[()], other[()]):
            yield f"the values of {one.name}"
        return
    row_bytes = max(one.nbytes // one.shape[0], 1)
    rows = max(_SLAB_BYTES // row_bytes, 1)
    for first in range(0, one.shape[0], rows):
        if not same(one[first : first + rows], other[first : first + rows]):
            yield f"the values of {one.name}"
            return


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same, bit for bit; references if they point at the same path."""
    if isinstance(one, Empty) or isinstance(other, Empty):
        return isinstance(one, Empty) and isinstance(other, Empty) and one.dtype == other.dtype
    if isinstance(one, Reference):
        return isinstance(other, Reference) and bool(one) == bool(other) and one.path == other.path
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray) or isinstance(one, np.generic):
        a, b = np.asarray(one), np.asarray(other)
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if not a.dtype.hasobject:
            return a.tobytes() == b.tobytes()
        if a.dtype.names is not None:
            return all(same(a[name], b[name]) for name in a.dtype.names)
        return all(same(x, y) for x, y in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True))
    return type(one) is type(other) and bool(one == other)
