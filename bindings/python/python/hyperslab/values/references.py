"""References: values that point at objects, at parts of datasets, or at attributes."""

from __future__ import annotations

from types import EllipsisType
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, NotFoundError
from ..base.type_aliases import AnyArray, AnyDtype, Elements
from ..base.visible import visible
from . import new_references
from .empty import Empty
from .regions import RegionSelection

#: A selection as the core has it, or as it was made here.
AnyRegionSelection = _native.RegionSelection | RegionSelection


class Reference(new_references.AnyReference):
    """Points at an object: `file[reference]` is that object. A null reference is false."""

    def __init__(self, file: _native.File | None = None, kind: str = "object", raw: bytes = b"", null: bool = True) -> None:
        self._file: Any = file
        self._kind, self._raw, self._null = kind, raw, null

    def _found(self) -> Dereferenced | None:
        return None if self._file is None else self._file.dereference(self._kind, self._raw)

    def __bool__(self) -> bool:
        return not self._null

    def _in(self, file: _native.File) -> Reference:
        """The same reference in another opening of its file."""
        return type(self)(file, self._kind, self._raw, self._null)

    @property
    def path(self) -> str | None:
        """A path of the object; `None` for a null or dangling reference."""
        found = self._found()
        return found.path if found is not None else None

    @property
    def filename(self) -> str | None:
        """The path of the object's file; `None` for a null or dangling reference."""
        found = self._found()
        return found.file.path if found is not None else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and (self._kind, self._file, self._raw) == (other._kind, other._file, other._raw)

    def __hash__(self) -> int:
        return hash((self._file, self._raw))

    def __repr__(self) -> str:
        kind = type(self).__name__
        if not self:
            return f"<{kind} to nothing>"
        try:
            return f"<{kind} to {visible(self.path or '')}>"
        except NotFoundError:
            return f"<{kind} to an object that does not exist>"


def file_of(reference: Reference) -> _native.File:
    """The file that a reference was read from, which is not always the one that it leads to."""
    file: _native.File = reference._file
    return file


def in_file(reference: Reference, file: _native.File) -> Reference:
    """The same reference in another opening of its file."""
    return reference._in(file)


def stored_bytes(reference: Reference) -> bytes:
    """A reference as its file stores it."""
    return reference._raw


def object_address(reference: Reference) -> bytes | None:
    """The bytes of a reference that only has the address of an object; `None` of other references."""
    return reference._raw if reference._kind == "object" else None


def dereferenced(reference: Reference) -> Dereferenced | None:
    """What a reference points at, as the core finds it; `None` of a null or dangling reference."""
    return reference._found()


class RegionReference(Reference):
    """Points at elements of a dataset: `file[reference]` is the dataset, `dataset[reference]` the elements."""

    kind = "region"

    @property
    def selection(self) -> RegionSelection | None:
        """The selected elements; `None` for a null or dangling reference."""
        found = self._found()
        return RegionSelection(found.selection.kind, found.selection.parts) if found is not None and found.selection is not None else None


class AttributeReference(Reference):
    """Points at an attribute: `file[reference]` is the object that has it, `file[reference].attrs[reference.attribute]`
    its value."""

    kind = "attribute"

    @property
    def attribute(self) -> str | None:
        """The attribute's name."""
        found = self._found()
        return found.attribute if found is not None else None


class _Dataset(Protocol):
    """What is asked of a dataset."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> AnyDtype: ...

    def __getitem__(self, key: EllipsisType | tuple[slice, ...], /) -> Elements: ...


class _Made(NamedTuple):
    """What `regionref` of a dataset was given: as `_native.Dereferenced`."""

    file: _native.File
    object: int
    path: str
    selection: RegionSelection
    attribute: str | None


#: What a reference points at, as the core finds it, or as it was made here.
Dereferenced: TypeAlias = "_native.Dereferenced | _Made"


class MadeRegionReference(RegionReference):
    """A region reference that is in no file yet: what `dataset.regionref[key]` returns."""

    def __init__(self, file: _native.File, object: int, path: str, selection: RegionSelection) -> None:
        super().__init__(file, "region", repr((object, selection)).encode(), False)
        self._made = _Made(file, object, path, selection, None)

    def _found(self) -> _Made:
        return self._made

    def _in(self, file: _native.File) -> Reference:
        return MadeRegionReference(file, self._made.object, self._made.path, self._made.selection)


def of_elements(file: _native.File, datatype: _native.Datatype, raw: bytes) -> list[new_references.AnyReference | None]:
    """Decodes references: `raw` are whole elements of a reference datatype."""
    if not isinstance(file, _native.File):
        found: list[new_references.AnyReference | None] = file.references(datatype, raw)  # of a file that is being created
        return found
    kind, size = datatype.reference_kind, datatype.size
    classes = {"object": Reference, "region": RegionReference, "attribute": AttributeReference, None: RegionReference if kind == "region" else Reference}
    targets = _native.reference_targets(kind, raw, size)
    return [classes[target](file, kind, raw[i * size : (i + 1) * size], target is None) for i, target in enumerate(targets)]


def _check_extent(dataset: _Dataset, kind: str, parts: list[list[list[int]]]) -> None:
    if kind == "hyperslab":
        ends = [start + (count - 1) * stride + block if count and block else 0 for start, stride, count, block in parts[0]]
    else:
        ends = [max(along) + 1 for along in zip(*(point for part in parts for point in part), strict=True)]
    if len(ends) != len(dataset.shape) or any(end > extent for end, extent in zip(ends, dataset.shape, strict=True)):
        raise InvalidInputError(f"this reference selects elements up to {ends}, but {dataset.name} has shape {dataset.shape}")


def selected_shape(dataset: _Dataset, selection: AnyRegionSelection) -> tuple[int, ...]:
    """The shape of the selected elements of a dataset: the shape of the grid if they form one, else their number."""
    kind, parts = selection.kind, selection.parts
    if kind in ("hyperslab", "points", "blocks"):
        _check_extent(dataset, kind, parts)
    if kind == "hyperslab":
        return tuple(count * block for _, _, count, block in parts[0])
    if kind == "blocks":
        _, mask = _blocks(parts)
        return _grid_shape(mask)
    return {"none": (0,), "all": tuple(dataset.shape), "points": (len(parts[0]) if parts else 0,)}[kind]


def elements(dataset: _Dataset, selection: AnyRegionSelection) -> Elements:
    """The selected elements of a dataset: with their shape if they form a grid, else in one dimension."""
    kind, parts = selection.kind, selection.parts
    if kind in ("hyperslab", "points", "blocks"):
        _check_extent(dataset, kind, parts)
    if kind == "none":
        # A scalar has no array without elements.
        return np.empty(0, dataset.dtype) if dataset.shape else Empty(dataset.dtype)
    if kind == "all":
        return np.asarray(dataset[...])
    if kind == "hyperslab":
        axes = [np.add.outer(start + stride * np.arange(count), np.arange(block)).ravel() for start, stride, count, block in parts[0]]
        low, high = [int(axis[0]) for axis in axes], [int(axis[-1]) + 1 for axis in axes]
        box = np.asarray(dataset[tuple(map(slice, low, high))])
        return np.asarray(box[np.ix_(*(axis - first for axis, first in zip(axes, low, strict=True)))])
    if kind == "points":
        points = np.array(parts[0])
        low, high = points.min(axis=0), points.max(axis=0) + 1
        box = np.asarray(dataset[tuple(map(slice, low.tolist(), high.tolist()))])
        return np.asarray(box[tuple((points - low).T)])
    first, mask = _blocks(parts)
    box = np.asarray(dataset[tuple(slice(begin, begin + extent) for begin, extent in zip(first, mask.shape, strict=True))])
    # Blocks that are the same rows of the same columns keep their shape.
    return np.asarray(box[mask]).reshape(_grid_shape(mask) + box.shape[mask.ndim :])


def _blocks(parts: list[list[list[int]]]) -> tuple[list[int], AnyArray]:
    """The first index of the box around blocks, and which of the box's elements they are."""
    first, last = np.array([block[0] for block in parts]), np.array([block[1] for block in parts])
    low, high = first.min(axis=0), last.max(axis=0) + 1
    mask = np.zeros(high - low, bool)
    for begin, end in zip(first - low, last - low + 1, strict=True):
        mask[tuple(map(slice, begin, end))] = True
    return low.tolist(), mask


def _grid_shape(mask: AnyArray) -> tuple[int, ...]:
    """The shape of the elements of a mask: of a grid if they are the same columns of some rows, else their number."""
    counts = [int(mask.any(axis=tuple(i for i in range(mask.ndim) if i != axis)).sum()) for axis in range(mask.ndim)]
    count = int(mask.sum())
    return tuple(counts) if int(np.prod(counts)) == count else (count,)
