"""As `h5py._selector`: selects by keys in dataspaces."""

from __future__ import annotations

from typing import Any

from ..values import indexing_keys
from ..values.new_references import selected_region
from .h5s import SpaceID


class Selector:
    """Selects in a dataspace what keys select of a dataset.

    Args:
        space: The dataspace.
    """

    def __init__(self, space: SpaceID) -> None:
        self._space = space

    def make_selection(self, args: tuple[Any, ...]) -> tuple[int, ...]:
        """Selects what a key selects, and returns its shape."""
        shape = self._space.shape or ()
        self._space.select_region(selected_region(args, shape))
        return indexing_keys.select(args, shape).shape
