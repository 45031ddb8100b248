"""Whether two datatypes are the same, in files of the same or of another format."""

from __future__ import annotations

from typing import Any

from .. import _native

#: Formats of files that are containers of Arrow files.
_CONTAINERS = ("container", "netcdf_container")


def are_same(one: _native.Datatype, other: _native.Datatype, formats: tuple[str, str]) -> bool:
    """Whether two datatypes, as a file describes them, are the same: addresses may have another size. Next to values of variable length a container has
    references of HDF5 1.12 where an HDF5 file may have older ones, whose elements have another size."""
    if one == other or one.widened == other.widened:
        return True
    if (formats[0] in _CONTAINERS) == (formats[1] in _CONTAINERS):
        return False
    return one.uses_heap and _without_reference_forms(one.widened) == _without_reference_forms(other.widened)


def _without_reference_forms(datatype: _native.Datatype) -> Any:
    """The datatype with all references alike, and without sizes and offsets, which follow from theirs."""
    kind = datatype.class_name
    if kind == "reference":
        return kind
    if kind == "compound":
        return kind, [(name, _without_reference_forms(member)) for name, _, member in datatype.fields]
    if kind == "array":
        return kind, datatype.shape, _without_reference_forms(datatype.base)
    if kind == "sequence":
        return kind, _without_reference_forms(datatype.base)
    return datatype
