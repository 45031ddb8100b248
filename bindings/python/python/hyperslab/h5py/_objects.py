"""Identifiers of objects: what `id` of h5py's objects is."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _native
from ..base.errors import InvalidInputError, InvalidTypeError
from ..base.visible import visible
from ..objects.native_objects import complete, native_of
from ..objects.node import Node
from .h5p import PropOCID, creation_properties
from .names import path_of, text_of

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: The lock that libraries take around calls of the HDF5 library. Nothing here needs it; a child process never inherits it locked.
phil = threading.RLock()
os.register_at_fork(before=phil.acquire, after_in_parent=phil.release, after_in_child=phil.release)


def with_phil(function: _Function) -> _Function:
    """A function that holds `phil` while it runs."""

    @functools.wraps(function)
    def locked(*args: Any, **kwds: Any) -> Any:
        with phil:
            return function(*args, **kwds)

    return locked  # type: ignore[return-value]


class ObjectID:
    """Identifies an object of an open file."""

    def __init__(self, node: Node | int) -> None:
        self._node: Any = node
        self._is_closed = False

    @property
    def node(self) -> Any:
        """The object."""
        return self._node

    @property
    def _file(self) -> _native.File:
        return native_of(self._node)[0]

    def complete(self) -> Any:
        """The object, in a file that is complete: what is asked for may need addresses."""
        complete(self._node)
        return self._node

    @property
    def valid(self) -> bool:
        """Whether the file is open."""
        return not self._is_closed and isinstance(self._node, Node) and bool(self._node)

    @property
    def id(self) -> int:
        """A number of the object in its file."""
        return self._node if isinstance(self._node, int) else native_of(self._node)[1]

    @property
    def name(self) -> bytes | None:
        """The path; `None` of an object without a name."""
        return path_of(self._node)

    def _close(self) -> None:
        self._is_closed = True

    def close(self) -> None:
        """Gives the identifier up. The file is closed as a whole."""
        self._is_closed = True

    def __bool__(self) -> bool:
        return self.valid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectID) and self._node == other._node

    def __hash__(self) -> int:
        if isinstance(self._node, int):
            raise InvalidTypeError("an identifier of nothing has no hash")
        return hash(self._node)

    def get_create_plist(self) -> PropOCID:
        """How the object was created."""
        return creation_properties(self._node)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {visible(self._node.path) if isinstance(self._node, Node) else self._node}>"


def group_of(loc: Any) -> Any:
    """The group of an identifier.

    Raises:
        InvalidInputError: It identifies something else.
    """
    node = loc.node
    if node.kind != "group":
        raise InvalidInputError(f"{node.path} is a {node.kind}, not a group")
    return node


def member_of(loc: Any, name: bytes | str) -> Any:
    """The object at a path below the object of an identifier; `.` is that object."""
    path = text_of(name)
    return loc.node if path == "." else group_of(loc)[path]
