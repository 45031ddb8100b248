"""Region references: shapes of what they select, as `regionref` of an object tells them."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import InvalidInputError, UnsupportedError
from ..values import references
from ..values.references import RegionReference


class RegionReferences:
    """What `regionref` of an object returns: shapes of region references. Files that are open for reading make no new ones."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __getitem__(self, key: Any) -> NoReturn:
        raise UnsupportedError("new region references in a file that is open for reading: only files that are being written make them")

    def shape(self, reference: RegionReference) -> tuple[int, ...]:
        """The shape of the dataset that a reference points at."""
        return tuple(self._dataset(reference).shape)

    def selection(self, reference: RegionReference) -> tuple[int, ...]:
        """The shape of the elements that a reference selects."""
        found = reference._found()
        if found is None or found.selection is None:
            raise InvalidInputError("this reference points at nothing")
        return references.selected_shape(self._dataset(reference), found.selection)

    def _dataset(self, reference: RegionReference) -> Any:
        found = reference._found()
        if found is None:
            raise InvalidInputError("this reference points at nothing")
        return self._owner._object(found.file, found.object, found.path)
