"""New references: values of a file that is being written that point at its objects, and at parts of its datasets."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native, indexing_keys
from ..errors import InvalidInputError, UnsupportedError
from .described import DescribedType
from .regions import RegionSelection


class NewReference:
    """Points at an object of the file that is being written: `f["refs"] = [a.ref, b.ref, None]`."""

    #: What kind of reference it is: `Object`, `Region` or `Attribute`.
    kind = "Object"

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def part(self) -> bytes:
        """What of the object it points at, encoded for the writer; empty for the object itself."""
        return b""

    def stored(self) -> bytes:
        """Encodes the reference for the writer.

        Returns:
            The path. If it points at a part of the object, NUL and the part follow.
        """
        path, part = self.path.encode("utf-8", "surrogateescape"), self.part
        return path + b"\0" + part if part else path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NewReference) and self.stored() == other.stored()

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"<new reference to {self.path}>"


class NewRegionReference(NewReference):
    """Points at elements of a dataset of the file that is being written: `f["regions"] = [x.regionref[2:5], None]`.

    Attributes:
        path: The path of the dataset.
        region: Start, stride, count and block of each dimension, or a selection of points or blocks.
    """

    kind = "Region"

    def __init__(self, path: str, region: list[list[int]] | RegionSelection) -> None:
        super().__init__(path)
        self.region = region

    @property
    def part(self) -> bytes:
        region = self.region
        if not isinstance(region, RegionSelection):
            return b"h" + np.array(region, "<u8").tobytes()
        coordinates = np.array(region.parts, "<u8")
        letter = b"p" if region.kind == "points" else b"b"
        return letter + int(coordinates.shape[-1]).to_bytes(8, "little") + coordinates.tobytes()

    def __repr__(self) -> str:
        return f"<new region reference to {self.path}>"


class NewAttributeReference(NewReference):
    """Points at an attribute of an object of the file that is being written. Only datasets of references of HDF5 1.12 have such references."""

    kind = "Attribute"

    def __init__(self, path: str, attribute: str) -> None:
        super().__init__(path)
        self.attribute = attribute

    @property
    def part(self) -> bytes:
        return b"a" + self.attribute.encode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        return f"<new reference to attribute {self.attribute!r} of {self.path}>"


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
    """`Object`, `Region`, or what only HDF5 1.12 has (`Attribute`, `Standard`) if these values are references, or `dtype` is one for them;
    else `None`."""
    if isinstance(dtype, DescribedType):
        kind = dtype.datatype.get("kind") if dtype.datatype["class"] == "reference" else None
        return None if kind is None else str(kind)
    if dtype is not None and not isinstance(dtype, type):
        ref = (np.dtype(dtype).metadata or {}).get("ref")
        if ref is not None:
            return "Region" if ref.__name__ == "RegionReference" else "Object"
    if dtype is not None:
        return None
    if isinstance(values, NewReference):
        return values.kind
    if (isinstance(values, np.ndarray) and values.dtype.kind != "O") or not isinstance(values, (np.ndarray, list, tuple)):
        return None
    flat = np.asarray(values, dtype=object).reshape(-1)
    kinds = {value.kind for value in flat if isinstance(value, NewReference)}
    if len(kinds) > 1:
        raise UnsupportedError("references to objects and to regions in one dataset")
    return kinds.pop() if kinds else None


def datatype_of(kind: str) -> dict[str, Any]:
    """How references of a kind are stored."""
    size = {"Object": 8, "Region": 12}.get(kind)
    return {"class": "reference", "kind": kind, "size": size} if size else {"class": "reference", "kind": "Standard", "size": 18}


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
        if value is None or _is_null(value):
            continue
        if not isinstance(value, NewReference):
            raise UnsupportedError("references mixed with other values, or of another file: give the `ref` of objects of this file, or None")
        if datatype["kind"] not in ("Standard", value.kind):
            what = {"Object": "an object", "Region": "a region", "Attribute": "an attribute"}[value.kind]
            raise InvalidInputError(f"a reference to {what} among references to {'regions' if datatype['kind'] == 'Region' else 'objects'}")
        heap.append(value.stored())
        flat["number"][place] = len(heap)
    return out.view(f"V{datatype['size']}")


def _is_null(value: Any) -> bool:
    """Whether it is a null reference of a file that is read, here or by h5py."""
    return type(value).__name__ in ("Reference", "RegionReference", "AttributeReference") and not value


def of_elements(writer: _native.Writer, datatype: dict[str, Any], raw: bytes) -> list[NewReference | None]:
    """The references in `raw`, which contains numbers of the writer; `None` for null references."""
    found: list[NewReference | None] = []
    for start in range(0, len(raw), datatype["size"]):
        number = int.from_bytes(raw[start : start + 8], "little")
        target = writer.target(number) if number else None
        if target is None:
            found.append(None)
        elif target.attribute is not None:
            found.append(NewAttributeReference(target.path, target.attribute))
        elif target.region is None:
            found.append(NewReference(target.path))
        else:
            selection = RegionSelection(*target.region)
            found.append(NewRegionReference(target.path, selection.parts[0] if selection.kind == "hyperslab" else selection))
    return found
