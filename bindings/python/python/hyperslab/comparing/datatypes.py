"""Whether two datatypes are the same, in files of the same or of another format."""

from __future__ import annotations

from typing import Any

#: Formats of files that are containers of Arrow files.
_CONTAINERS = ("container", "netcdf_container")


def are_same(one: dict[str, Any], other: dict[str, Any], formats: tuple[str, str]) -> bool:
    """Whether two datatypes, as a file describes them, are the same. Next to values of variable length a container has references of HDF5 1.12
    where an HDF5 file may have older ones, whose elements have another size."""
    if one == other:
        return True
    if (formats[0] in _CONTAINERS) == (formats[1] in _CONTAINERS):
        return False
    return _has_heap(one) and _without_reference_forms(one) == _without_reference_forms(other)


def _has_heap(datatype: dict[str, Any]) -> bool:
    kind = datatype["class"]
    if kind in ("variable string", "sequence"):
        return True
    if kind == "compound":
        return any(_has_heap(member) for _, _, member in datatype["members"])
    return kind == "array" and _has_heap(datatype["base"])


def _without_reference_forms(datatype: dict[str, Any]) -> Any:
    """The datatype with all references alike, and without sizes and offsets, which follow from theirs."""
    kind = datatype["class"]
    if kind == "reference":
        return kind
    if kind == "compound":
        return kind, [(name, _without_reference_forms(member)) for name, _, member in datatype["members"]]
    if kind in ("sequence", "array"):
        return kind, datatype.get("shape"), _without_reference_forms(datatype["base"])
    return datatype
