"""References: values that point at objects of the file that is edited, and at parts of them."""

from __future__ import annotations

from ..errors import InvalidInputError
from ..values.new_references import AnyReference, ExistingObjects, NewAttributeReference, NewReference, NewRegionReference
from ..values.references import AttributeReference, Reference, RegionReference
from ..values.regions import RegionSelection
from .edited_node import NodeEdits, address_of

#: How references to objects are stored.
OBJECT = {"class": "reference", "kind": "Object", "size": 8}


class EditedValues(ExistingObjects):
    """The values that elements of an edited file point at."""

    def __init__(self, node: NodeEdits) -> None:
        super().__init__()
        self._node = node

    def reference(self, value: AnyReference) -> bytes:
        """What the writer is told of a reference.

        Args:
            value: The reference.

        Returns:
            The address in 8 bytes, and the part that it points at.

        Raises:
            InvalidInputError: It points at nothing, or into another file.
            ObjectNotFoundError: There is no object of its path.
        """
        path = self._node._changes.path
        if isinstance(value, NewReference):
            file, number = self._node._file.find(value.path)
            if file.path != path:
                raise InvalidInputError(f"a reference to an object of another file: {file.path}")
            return address_of(file, number) + value.part
        if not isinstance(value, Reference):
            raise InvalidInputError(f"a reference of no file: {value!r}")
        if value._file.path != path:
            raise InvalidInputError(f"a reference to an object of another file: {value._file.path}")
        if value._kind == "Object":
            return value._raw
        found = self._node._current(value)._found()
        if found is None:
            raise InvalidInputError("a reference to an object that does not exist")
        if found.file.path != path:
            raise InvalidInputError(f"a reference to an object of another file: {found.file.path}")
        part = b""
        if isinstance(value, RegionReference):
            kind, parts = found.selection.kind, found.selection.parts
            if kind in ("all", "none"):
                shape = found.file.describe(found.object, found.path)["shape"]
                kind, parts = "hyperslab", [[[0, 1, extent if kind == "all" else 0, 1] for extent in shape]]
            part = NewRegionReference(found.path, parts[0] if kind == "hyperslab" else RegionSelection(kind, parts)).part
        elif isinstance(value, AttributeReference):
            part = NewAttributeReference(found.path, str(found.attribute)).part
        return address_of(found.file, found.object) + part
