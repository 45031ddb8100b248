"""New attributes: where the attributes of an object of a file that is being written are."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from .. import _native
from ..objects.attributes import Attributes, value_of


class WriterAttributes:
    """The attributes of an object at a path of a file that is being written."""

    is_fixed = False
    lock: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()

    def __init__(self, writer: Any, path: str) -> None:
        self.writer, self.path = writer, path

    def place(self) -> tuple[str | None, str]:
        return None, self.path

    def check(self) -> None:
        """They can be changed."""

    def names(self) -> list[str]:
        names: list[str] = self.writer.attribute_names(self.path)
        return names

    def get(self, name: str) -> _native.AttributeValue | None:
        found: _native.AttributeValue | None = self.writer.attribute(self.path, name)
        return found

    def value(self, found: _native.AttributeValue) -> Any:
        return value_of(found, self.writer)

    def heap(self) -> list[bytes]:
        return []

    def set(self, name: str, shape: list[int] | None, datatype: _native.Datatype, raw: bytes, heap: list[bytes]) -> None:
        if datatype.class_name == "reference" and datatype.reference_kind == "object" and shape is not None:
            targets = [heap[number - 1].decode() if number else None for number in np.frombuffer(raw, "<u8").tolist()]
            self.writer.set_references(self.path, name, shape, targets)
        else:
            self.writer.set_attribute(self.path, name, shape, datatype, raw, heap)

    def delete(self, name: str) -> None:
        self.writer.remove_attribute(self.path, name)


def new_attributes(writer: Any, path: str) -> Attributes:
    """The attributes of an object at a path of a file that is being written.

    Args:
        writer: What writes the file, or plans it.
        path: Path of the object.

    Returns:
        The attributes.
    """
    return Attributes(WriterAttributes(writer, path))
