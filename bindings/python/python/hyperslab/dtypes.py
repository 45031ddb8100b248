"""Datatypes: the numpy dtype that h5py gives for the same datatype."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import UnsupportedError


def stored_dtype(datatype: dict[str, Any]) -> np.dtype[Any]:
    """The dtype of the bytes as they lie in the file (heap references as opaque bytes)."""
    kind, size = datatype["class"], datatype["size"]
    if kind in ("integer", "float"):
        letter = "f" if kind == "float" else ("i" if datatype["signed"] else "u")
        if not datatype["ordinary"] or size not in ((2, 4, 8) if letter == "f" else (1, 2, 4, 8)):
            raise UnsupportedError(f"a {kind} of {size} bytes with a layout that numpy does not have", "Unsupported")
        return np.dtype(f"{datatype['order']}{letter}{size}")
    if kind == "bitfield" and size in (1, 2, 4, 8):
        return np.dtype(f"{datatype['order']}u{size}")
    if kind == "string":
        return np.dtype(f"S{size}")
    if kind == "enum":
        return np.dtype(bool) if datatype["boolean"] else stored_dtype(datatype["base"])
    if kind == "array":
        return np.dtype((stored_dtype(datatype["base"]), tuple(datatype["shape"])))
    if kind == "compound":
        complex_dtype = _complex(datatype)
        if complex_dtype is not None:
            return complex_dtype
        members = datatype["members"]
        return np.dtype({"names": [m[0] for m in members], "formats": [stored_dtype(m[2]) for m in members],
                         "offsets": [m[1] for m in members], "itemsize": size})
    if kind in ("variable string", "sequence", "opaque", "reference"):
        return np.dtype(f"V{size}")
    raise UnsupportedError(f"a datatype of class {datatype.get('name', kind)} with {size} bytes", "Unsupported")


def _complex(datatype: dict[str, Any]) -> np.dtype[Any] | None:
    members = datatype["members"]
    if [m[0] for m in members] != ["r", "i"]:
        return None
    real, imaginary = members[0][2], members[1][2]
    if real != imaginary or real["class"] != "float" or not real["ordinary"] or real["size"] not in (4, 8):
        return None
    if (members[0][1], members[1][1], datatype["size"]) != (0, real["size"], 2 * real["size"]):
        return None
    return np.dtype(f"{real['order']}c{datatype['size']}")


def uses_heap(datatype: dict[str, Any]) -> bool:
    """Whether values lie outside of the elements' own bytes."""
    kind = datatype["class"]
    if kind == "compound":
        return any(uses_heap(m[2]) for m in datatype["members"])
    return kind in ("variable string", "sequence") or (kind == "array" and uses_heap(datatype["base"]))


def value_dtype(datatype: dict[str, Any]) -> np.dtype[Any]:
    """The dtype of the values: as stored, with `object` where values lie in a heap."""
    kind = datatype["class"]
    if not uses_heap(datatype):
        return stored_dtype(datatype)
    if kind == "compound":
        return np.dtype([(m[0], value_dtype(m[2])) for m in datatype["members"]])
    if kind == "array":
        return np.dtype((value_dtype(datatype["base"]), tuple(datatype["shape"])))
    return np.dtype(object)


def describe(datatype: dict[str, Any]) -> str:
    """The type in a word or two, for people."""
    kind = datatype["class"]
    if kind == "variable string":
        return "string"
    if kind == "sequence":
        return f"sequence of {describe(datatype['base'])}"
    if kind == "compound":
        return "{" + ", ".join(f"{m[0]}: {describe(m[2])}" for m in datatype["members"]) + "}"
    if kind == "enum" and not datatype["boolean"]:
        return f"enum of {describe(datatype['base'])}"
    try:
        return str(stored_dtype(datatype))
    except UnsupportedError:
        return f"{datatype.get('name', kind)} of {datatype['size']} bytes"
