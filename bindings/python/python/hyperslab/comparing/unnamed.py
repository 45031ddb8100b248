"""Unnamed: objects of two files that only references lead to, each with its counterpart."""

from __future__ import annotations

import functools

from .. import _native
from ..base.visible import ADDRESS


class Unnamed:
    """Pairs the objects without names of two files: the first that a reference leads to in one file belongs to the first in the other.

    The files are searched when the first reference to such an object is compared.
    """

    def __init__(self, one: _native.File, other: _native.File) -> None:
        self._files = one, other
        #: Whether references to such objects were compared.
        self.is_used = False

    @functools.cached_property
    def found(self) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        """Paths and numbers of the objects in each file."""
        self.is_used = True
        return self._files[0].unnamed(), self._files[1].unnamed()

    @functools.cached_property
    def _positions(self) -> tuple[dict[str, int], dict[str, int]]:
        one, other = ({path: position for position, (path, _) in enumerate(found)} for found in self.found)
        return one, other

    def place(self, path: str | None, which: int) -> str | int | None:
        """What tells an object apart in both files.

        Args:
            path: The path that a reference leads to.
            which: 0 for the first file, 1 for the second.

        Returns:
            The path; of an object without a name, its position among those.
        """
        if path is None or not path.startswith(ADDRESS):
            return path
        return self._positions[which].get(path, path)
