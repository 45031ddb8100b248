"""Node attributes: where the attributes of an object of a file that is read or edited are."""

from __future__ import annotations

import contextlib
from typing import Protocol, TypeVar

from .. import _native
from ..backends.backend import Backend, Changes
from ..base.type_aliases import AttributeValue
from ..values.references import Reference
from . import stored_references
from .attributes import value_of

Value = TypeVar("Value")


class Owner(Protocol):
    """An object that has attributes."""

    _backend: Backend
    _number: int
    _file: _native.File

    @property
    def path(self) -> str: ...

    @property
    def _changes(self) -> Changes: ...

    def _own_number(self) -> int: ...

    def _current(self, value: Value) -> Value | Reference: ...


class NodeAttributes:
    """The attributes of an object."""

    def __init__(self, node: Owner) -> None:
        self.node, self.is_fixed = node, node._backend.is_fixed

    @property
    def lock(self) -> contextlib.AbstractContextManager[object]:
        return self.node._backend.lock

    def place(self) -> tuple[str | None, str]:
        return self.node._backend.path, self.node.path

    def check(self) -> None:
        self.node._backend.changes(self.node)

    def names(self) -> list[str]:
        with self.lock:
            return self.node._file.attribute_names(self.node._number)

    def get(self, name: str) -> _native.AttributeValue | None:
        return self.node._file.attribute(self.node._number, name)

    def value(self, found: _native.AttributeValue) -> AttributeValue:
        return value_of(found, self.node._file)

    def heap(self) -> list[bytes]:
        return stored_references.values_of(self.node)

    def set(self, name: str, shape: list[int] | None, datatype: _native.Datatype, raw: bytes, heap: list[bytes]) -> None:
        number = self.node._own_number()
        self.node._changes.make(lambda editor: editor.set_attribute(number, name, shape, datatype, raw, heap))

    def delete(self, name: str) -> None:
        number = self.node._own_number()
        self.node._changes.make(lambda editor: editor.delete_attribute(number, name))
