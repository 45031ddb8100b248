"""Identifiers of objects: what `id` of h5py's objects is."""

from __future__ import annotations

from .. import _native
from ..base.visible import visible
from ..objects.native_objects import native_of
from ..objects.node import Node
from .h5p import PropOCID, creation_properties
from .names import path_of


class ObjectID:
    """Identifies an object of an open file."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def _file(self) -> _native.File:
        return native_of(self._node)[0]

    @property
    def valid(self) -> bool:
        """Whether the file is open."""
        return bool(self._node)

    @property
    def id(self) -> int:
        """A number of the object in its file."""
        return native_of(self._node)[1]

    @property
    def name(self) -> bytes | None:
        """The path; `None` of an object without a name."""
        return path_of(self._node)

    def close(self) -> None:
        """Does nothing: the file is closed as a whole."""

    def __bool__(self) -> bool:
        return self.valid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectID) and self._node == other._node

    def __hash__(self) -> int:
        return hash(self._node)

    def get_create_plist(self) -> PropOCID:
        """How the object was created."""
        return creation_properties(self._node)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {visible(self._node.path)}>"
