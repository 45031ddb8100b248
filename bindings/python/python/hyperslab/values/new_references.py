"""New references: values of a file that is being written that point at its objects, and at parts of its datasets."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from .. import _native, indexing_keys
from ..errors import InvalidInputError, UnsupportedError


class NewReference:
    """Points at an object of the file that is being written: `f["refs"] = [a.ref, b.ref, None]`."""

    #: Start, stride, count and block of each dimension of the elements that this points at; `None` is the object itself.
    region: list[list[int]] | None = None

    def __init__(self, path: str) -> None:
        self.path = path

    def stored(self) -> bytes:
        """Encodes the reference for the writer.

        Returns:
            The path, for a region followed by NUL and start, stride, count and block of each dimension.
        """
        path = self.path.encode("utf-8", "surrogateescape")
        if self.region is None:
            return path
        return path + b"\0" + b"".join(struct.pack("<4Q", *axis) for axis in self.region)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NewReference) and (self.path, self.region) == (other.path, other.region)

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"<new reference to {self.path}>"


class NewRegionReference(NewReference):
    """Points at elements of a dataset of the file that is being written: `f["regions"] = [x.regionref[2:5], None]`."""

    def __init__(self, path: str, region: list[list[int]]) -> None:
        super().__init__(path)
        self.region = region

    def __repr__(self) -> str:
        return f"<new region reference to {self.path}>"


class Regions:
    """Makes references: `dataset.regionref[key]` refers to the elements that `key` selects."""

    def __init__(self, path: str, shape: tuple[int, ...]) -> None:
        self._path, self._shape = path, shape

    def __getitem__(self, key: Any) -> NewRegionReference:
        selected = indexing_keys.select(key, self._shape)
        if selected.mask is not None or any(not isinstance(axis, tuple) for axis in selected.axes):
            raise UnsupportedError("references to masks or lists of indexes: give slices")
        return NewRegionReference(self._path, [[start, step, count, 1] for start, count, step in selected.axes])


def kind_of(values: Any, dtype: Any) -> str | None:
    """`Object` or `Region` if these values are references, or `dtype` is one of h5py's for them; else `None`."""
    if dtype is not None and not isinstance(dtype, type):
        ref = (np.dtype(dtype).metadata or {}).get("ref")
        if ref is not None:
            return "Region" if ref.__name__ == "RegionReference" else "Object"
    if dtype is not None:
        return None
    if isinstance(values, NewReference):
        return "Object" if values.region is None else "Region"
    if (isinstance(values, np.ndarray) and values.dtype.kind != "O") or not isinstance(values, (np.ndarray, list, tuple)):
        return None
    flat = np.asarray(values, dtype=object).reshape(-1)
    kinds = {"Object" if value.region is None else "Region" for value in flat if isinstance(value, NewReference)}
    if len(kinds) > 1:
        raise UnsupportedError("references to objects and to regions in one dataset")
    return kinds.pop() if kinds else None


def datatype_of(kind: str) -> dict[str, Any]:
    """How references of a kind are stored."""
    return {"class": "reference", "kind": kind, "size": 12 if kind == "Region" else 8}


def elements_of(values: Any, datatype: dict[str, Any], heap: list[bytes]) -> np.ndarray[Any, Any]:
    """References for the writer: the number of a value in `heap`."""
    given = np.empty((), dtype=object)
    if isinstance(values, NewReference) or values is None:
        given[()] = values
    else:
        given = np.asarray(values, dtype=object)
    out = np.zeros(given.shape, dtype=np.dtype({"names": ["number"], "formats": ["<u8"], "itemsize": datatype["size"]}))
    flat = out.reshape(-1)
    for place, value in enumerate(given.reshape(-1)):
        if value is None:
            continue
        if not isinstance(value, NewReference):
            raise UnsupportedError("references mixed with other values, or of another file: give the `ref` of objects of this file, or None")
        if (value.region is None) != (datatype["kind"] == "Object"):
            what = "an object" if value.region is None else "a region"
            raise InvalidInputError(f"a reference to {what} among references to {'regions' if value.region is None else 'objects'}")
        heap.append(value.stored())
        flat["number"][place] = len(heap)
    return out.view(f"V{datatype['size']}")


def of_elements(writer: _native.Writer, datatype: dict[str, Any], raw: bytes) -> list[NewReference | None]:
    """The references in `raw`, which contains numbers of the writer; `None` for null references."""
    found: list[NewReference | None] = []
    for start in range(0, len(raw), datatype["size"]):
        number = int.from_bytes(raw[start : start + 8], "little")
        target = writer.target(number) if number else None
        if target is None:
            found.append(None)
        else:
            found.append(NewReference(target.path) if target.region is None else NewRegionReference(target.path, target.region))
    return found
