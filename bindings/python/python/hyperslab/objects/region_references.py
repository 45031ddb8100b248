"""Region references: `regionref` of an object makes them, and tells the shapes of what they select."""

from __future__ import annotations

from typing import Any

from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import Key
from ..values import references
from ..values.new_references import Regions, selected_region
from ..values.references import RegionReference


class RegionReferences:
    """What `regionref` of an object returns: `dataset.regionref[key]` is a reference to the elements that `key` selects."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __getitem__(self, key: Key) -> RegionReference:
        owner = self._owner
        if owner.kind != "dataset" or owner._about["shape"] is None:
            raise UnsupportedError("a reference to a region of what has no elements", owner._file.path, owner.path)
        return references.MadeRegionReference(owner._file, owner._number, owner.path, selected_region(key, tuple(owner._about["shape"])))

    def shape(self, reference: RegionReference) -> tuple[int, ...]:
        """The shape of the dataset that a reference points at."""
        return tuple(self._dataset(reference).shape)

    def selection(self, reference: RegionReference) -> tuple[int, ...]:
        """The shape of the elements that a reference selects."""
        found = references.dereferenced(reference)
        if found is None or found.selection is None:
            raise InvalidInputError("this reference points at nothing")
        return references.selected_shape(self._dataset(reference), found.selection)

    def _dataset(self, reference: RegionReference) -> Any:
        found = references.dereferenced(reference)
        if found is None:
            raise InvalidInputError("this reference points at nothing")
        return self._owner._object(found.file, found.object, found.path)


class NewRegions(RegionReferences):
    """The same of an object in a file that is being created: a reference has the path of the dataset."""

    def __getitem__(self, key: Key) -> Any:
        return Regions(self._owner.path, tuple(self._owner.shape))[key]
