"""References of files that are merged: they lead to the same places of the new file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from ..base.errors import UnsupportedError
from ..base.type_aliases import AnyArray, Elements
from ..files.file import File
from ..objects.dataset import Dataset
from ..objects.node import Node
from ..values.new_references import NewAttributeReference, NewReference, NewRegionReference
from ..values.references import AttributeReference, Reference, RegionReference, file_of
from ..values.regions import RegionSelection, canonical

#: Bytes of references that are copied at a time.
_SLAB_BYTES = 8 << 20


class Part(Protocol):
    """A dataset that goes on from file to file along `axis`; with `axis` `None`, along a new first dimension."""

    axis: int | None
    lengths: list[int]


def converted(value: Elements, change: Callable[[Reference], object]) -> Elements:
    """A value of any dtype with `change` applied to the references in it."""
    if isinstance(value, Reference):
        return change(value)
    if isinstance(value, (np.ndarray, np.void)) and value.dtype.names is not None:
        names = value.dtype.names
        records = [tuple(converted(record[name], change) for name in names) for record in np.asarray(value).reshape(-1)]
        # References and numbers side by side: as objects, which the datatype of the new file tells apart.
        made: AnyArray = np.empty(len(records), [(name, object) for name in names])
        for place, record in enumerate(records):
            made[place] = record
        return made.reshape(value.shape)[()]
    if isinstance(value, np.ndarray) and value.dtype == object:
        made = np.empty(value.size, dtype=object)
        for place, item in enumerate(value.reshape(-1)):
            made[place] = converted(item, change)
        return made.reshape(value.shape)
    return value


def place(reference: Reference) -> str:
    """Where a reference leads, as text to be compared with the text for other files."""
    if not reference:
        return "null"
    selection = reference.selection if isinstance(reference, RegionReference) else None
    file = None if reference.filename == file_of(reference).path else reference.filename
    region = None if selection is None else canonical(selection.kind, selection.parts)
    return repr((reference.path, file, region, getattr(reference, "attribute", None)))


class MergedReferences:
    """The references of the merged files, as references of the new one."""

    def __init__(self, paths: Sequence[str], objects: Mapping[str, Node], series: Mapping[str, Part], attributes: Mapping[str, Collection[str]]) -> None:
        self._numbers = {os.path.realpath(path): number for number, path in enumerate(paths)}
        self._objects, self._series, self._attributes = objects, series, attributes

    def of(self, value: Elements, file: str, name: str) -> Elements:
        """The references in a value of the object `name` of a merged file.

        Raises:
            UnsupportedError: A reference leads out of the merged files, or cannot be written.
        """
        return converted(value, lambda reference: self._one(reference, file, name))

    def _one(self, reference: Reference, file: str, name: str) -> NewReference | None:
        if not reference:
            return None
        path, there = reference.path, reference.filename
        number = None if there is None else self._numbers.get(os.path.realpath(there))
        if path is None:
            raise UnsupportedError("a reference to an object that does not exist cannot be merged", file, name)
        if number is None:
            raise UnsupportedError(f"a reference to {path} of {there}, which is none of the merged files", file, name)
        if path not in self._objects:
            raise UnsupportedError(f"a reference to {path}, which the merged file does not have", file, name)
        if isinstance(reference, AttributeReference):
            attribute = reference.attribute
            if attribute is None or attribute not in self._attributes[path]:
                raise UnsupportedError(f"a reference to the attribute {attribute!r} of {path}, which the merged file does not have", file, name)
            return NewAttributeReference(path, attribute)
        if not isinstance(reference, RegionReference):
            return NewReference(path)
        return NewRegionReference(path, self._moved(reference, path, number, file, name))

    def _moved(self, reference: RegionReference, path: str, number: int, file: str, name: str) -> list[list[int]] | RegionSelection:
        """The same elements in the new dataset, where the joined one is longer, or new."""
        selection, target = reference.selection, self._objects[path]
        if selection is None or not isinstance(target, Dataset):
            raise UnsupportedError(f"a reference to a region of {path}, which is not a dataset, cannot be merged", file, name)
        series = self._series.get(path)
        before = 0 if series is None else sum(series.lengths[:number])
        kind, parts = canonical(selection.kind, selection.parts)
        if kind in ("points", "blocks"):
            return RegionSelection(kind, [[_moved_point(point, before, series) for point in part] for part in selection.parts])
        shape = list(target.shape)
        if series is not None and series.axis is not None:
            shape[series.axis] = series.lengths[number]
        axes = [list(axis) for axis in parts] if isinstance(parts, tuple) else [[0, 1, extent if kind == "all" else 0, 1] for extent in shape]
        if series is None:
            return axes
        if series.axis is None:
            return [[before, 1, 1, 1], *axes]
        axes[series.axis][0] += before
        return axes


def _moved_point(point: Sequence[int], before: int, series: Part | None) -> list[int]:
    """The coordinates of an element in the new dataset, which has `before` elements of earlier files."""
    if series is None:
        return list(point)
    if series.axis is None:
        return [before, *point]
    return [coordinate + before if axis == series.axis else coordinate for axis, coordinate in enumerate(point)]


def write(made: Dataset, references: MergedReferences, name: str, sources: Iterable[tuple[File, int]], axis: int | None, is_new: bool) -> None:
    """Writes a dataset of references: the references of each file from a place along `axis` on, or with `is_new` at an index of a new dimension."""
    for file, at in sources:
        found = file[name]
        assert isinstance(found, Dataset)
        if not found.shape:
            made[at if is_new else ()] = references.of(found[()], file.filename, name)
            continue
        row = found.nbytes // max(found.shape[0], 1)
        rows = max(_SLAB_BYTES // max(row, 1), 1)
        for first in range(0, found.shape[0], rows):
            last = min(first + rows, found.shape[0])
            place: list[slice | int] = [slice(first, last), *[slice(None)] * (found.ndim - 1)]
            if is_new:
                place.insert(0, at)
            elif axis == 0:
                place[0] = slice(at + first, at + last)
            elif axis is not None:
                place[axis] = slice(at, at + found.shape[axis])
            made[tuple(place)] = references.of(found[first:last], file.filename, name)
