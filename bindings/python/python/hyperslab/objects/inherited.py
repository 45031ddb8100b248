"""Inherited attributes: the bounds of a coordinate's cells have its units and calendar, unless they have their own (CF Conventions 7.1, 7.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .node import Node

#: Attributes that say which time a number is.
OF_TIMES = ("units", "calendar")
#: Attributes that name the bounds of a coordinate's cells.
_NAMING = ("bounds", "climatology")


def text_of(node: Node, name: str) -> str:
    """An attribute as text, own or inherited.

    Args:
        node: A group or dataset.
        name: The name of the attribute.

    Returns:
        The text; empty if there is none.
    """
    found = _text(node, name)
    if not found and name in OF_TIMES and name not in node.attrs and (coordinate := coordinate_of(node)) is not None:
        return _text(coordinate, name)
    return found


def coordinate_of(node: Node) -> Node | None:
    """The coordinate whose `bounds` or `climatology` names a dataset.

    Args:
        node: A group or dataset.

    Returns:
        The coordinate; `None` of everything that is not the bounds of one.
    """
    if node.kind != "dataset":
        return None
    if node._backend.is_complete:
        found = node._file.coordinate_of_bounds(node._number)
        return None if found is None else node._object(node._file, found, node._file.object_path(found))
    # The writer of a new file knows no conventions.
    above, _, own = node.path.rpartition("/")
    siblings = (node._object(*node._file.find(f"{above}/{name}"), f"{above}/{name}") for name in node._file.names(node.parent._number) if name != own)
    return next((one for one in siblings if one.kind == "dataset" and any(_text(one, key) == own for key in _NAMING)), None)


def _text(node: Node, name: str) -> str:
    value = node.attrs.get(name, "")
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(())[()]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
