"""New references: values of a file that is being written that point at its objects, and at parts of its datasets."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from .. import _native
from ..base.errors import InvalidTypeError, UnsupportedError
from ..base.type_aliases import AnyArray, DtypeLike, Key, Values
from ..base.visible import visible
from . import indexing_keys
from .described import DescribedType
from .regions import RegionSelection


class AnyReference:
    """A reference: of a file that is read or edited, or of one that is being written."""

    #: What it points at: `Object`, `Region` or `Attribute`.
    kind = "object"


class NewReference(AnyReference):
    """Points at an object of the file that is being written: `f["refs"] = [a.ref, b.ref, None]`."""

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
        return f"<new reference to {visible(self.path)}>"


class NewRegionReference(NewReference):
    """Points at elements of a dataset of the file that is being written: `f["regions"] = [x.regionref[2:5], None]`.

    Attributes:
        path: The path of the dataset.
        region: Start, stride, count and block of each dimension, or a selection of points or blocks.
    """

    kind = "region"

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
        return f"<new region reference to {visible(self.path)}>"


class NewAttributeReference(NewReference):
    """Points at an attribute of an object of the file that is being written. Only datasets of references of HDF5 1.12 have such references."""

    kind = "attribute"

    def __init__(self, path: str, attribute: str) -> None:
        super().__init__(path)
        self.attribute = attribute

    @property
    def part(self) -> bytes:
        return b"a" + self.attribute.encode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        return f"<new reference to attribute {self.attribute!r} of {visible(self.path)}>"


class Regions:
    """Makes references: `dataset.regionref[key]` refers to the elements that `key` selects."""

    def __init__(self, path: str, shape: tuple[int, ...]) -> None:
        self._path, self._shape = path, shape

    def __getitem__(self, key: Key) -> NewRegionReference:
        region = selected_region(key, self._shape)
        if region.kind == "none":
            return NewRegionReference(self._path, [[0, 1, 0, 1] for _ in self._shape])
        return NewRegionReference(self._path, region.parts[0] if region.kind == "hyperslab" else region)


def selected_region(key: Key, shape: tuple[int, ...]) -> RegionSelection:
    """The region that an index selects.

    Args:
        key: Integers, slices, `...`, a mask, or lists of indexes.
        shape: The shape of the dataset.

    Returns:
        A hyperslab, or `none`. Of a mask of several dimensions the points, of lists the blocks.

    Raises:
        UnsupportedError: A list of indexes that does not increase.
    """
    selected = indexing_keys.select(key, shape)
    if 0 in selected.shape:
        return RegionSelection("none", [])
    if selected.mask is not None:
        return RegionSelection("points", [np.argwhere(selected.mask).tolist()])
    if any(np.ndim(picked) for picked in selected.pick if not isinstance(picked, slice)):
        raise UnsupportedError("a reference to a list of indexes that does not increase: a region has no order")
    if all(isinstance(axis, tuple) for axis in selected.axes):
        return RegionSelection("hyperslab", [[[start, step, count, 1] for start, count, step in selected.axes]])
    return RegionSelection("blocks", [[list(corner) for corner in zip(*block, strict=True)] for block in itertools.product(*map(_runs, selected.axes))])


def _runs(axis: indexing_keys.Axis) -> list[tuple[int, int]]:
    """First and last of the indexes that lie side by side on an axis of `indexing_keys`."""
    if isinstance(axis, tuple):
        start, count, step = axis
        if step == 1:
            return [(start, start + count - 1)]
        return [(index, index) for index in range(start, start + count * step, step)]
    ends = np.flatnonzero(np.diff(axis) != 1)
    return list(zip([axis[0], *(axis[end + 1] for end in ends)], [*(axis[end] for end in ends), axis[-1]], strict=True))


class ExistingObjects(list[bytes]):
    """The values that elements point at, in a file whose objects have addresses already.

    Attributes:
        reference: Encodes a reference for the writer: the address of the object in 8 bytes, and the part of it.
    """

    def __init__(self, reference: Callable[[AnyReference], bytes]) -> None:
        super().__init__()
        self.reference = reference


def kind_of(values: Values, dtype: DtypeLike | DescribedType | None) -> str | None:
    """`Object`, `Region`, or what only HDF5 1.12 has (`Attribute`, `Standard`) if these values are references, or `dtype` is one for them;
    else `None`."""
    if isinstance(dtype, DescribedType):
        return dtype.datatype.reference_kind if dtype.datatype.class_name == "reference" else None
    if dtype is not None and not isinstance(dtype, type):
        metadata = np.dtype(dtype).metadata
        ref = metadata.get("ref") if metadata else None
        if ref is not None:
            return "region" if ref.__name__ == "RegionReference" else "object"
    if dtype is not None:
        return None
    if isinstance(values, AnyReference):
        return values.kind
    if (isinstance(values, np.ndarray) and values.dtype.kind != "O") or not isinstance(values, (np.ndarray, list, tuple)):
        return None
    flat = np.asarray(values, dtype=object).reshape(-1)
    kinds = {value.kind for value in flat if isinstance(value, AnyReference)}
    if len(kinds) > 1:
        raise UnsupportedError("references to objects and to regions in one dataset")
    return kinds.pop() if kinds else None


def datatype_of(kind: str) -> _native.Datatype:
    """How references of a kind are stored."""
    size = {"object": 8, "region": 12}.get(kind)
    return _native.Datatype.reference(kind, size) if size else _native.Datatype.reference("standard", 18)


def elements_of(values: Values, datatype: _native.Datatype, heap: list[bytes]) -> AnyArray:
    """References for the writer: the number of a value in `heap`."""
    given = np.empty((), dtype=object)
    if isinstance(values, AnyReference) or values is None:
        given[()] = values
    else:
        given = np.asarray(values, dtype=object)
    width = next(width for width in (8, 4, 2) if width <= datatype.size)
    out = np.zeros(given.shape, dtype=np.dtype({"names": ["number"], "formats": [f"<u{width}"], "itemsize": datatype.size}))
    flat = out.reshape(-1)
    for place, value in enumerate(given.reshape(-1)):
        if value is None or _is_null(value):
            continue
        if not isinstance(value, AnyReference):
            raise _mixed()
        if datatype.reference_kind not in ("standard", value.kind):
            what = {"object": "an object", "region": "a region", "attribute": "an attribute"}[value.kind]
            others = "regions" if datatype.reference_kind == "region" else "objects"
            raise InvalidTypeError(f"a reference to {what} among references to {others} cannot be converted")
        if isinstance(heap, ExistingObjects):
            heap.append(heap.reference(value))
        elif isinstance(value, NewReference):
            heap.append(value.stored())
        else:
            raise _mixed()
        flat["number"][place] = len(heap)
    return out.view(f"V{datatype.size}")


def _mixed() -> UnsupportedError:
    return UnsupportedError("references mixed with other values, or of another file: give the `ref` of objects of this file, or None")


def _is_null(value: object) -> bool:
    """Whether it is a null reference of a file that is read, here or by h5py."""
    return type(value).__name__ in ("Reference", "RegionReference", "AttributeReference") and not value


def of_elements(writer: _native.Writer, datatype: _native.Datatype, raw: bytes) -> list[NewReference | None]:
    """The references in `raw`, which contains numbers of the writer; `None` for null references."""
    found: list[NewReference | None] = []
    for start in range(0, len(raw), datatype.size):
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
