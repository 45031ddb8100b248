"""Copying: objects of a file that is written, with their attributes and all that is in them."""

from __future__ import annotations

import math
from typing import Any, Protocol

from .. import _native
from ..values import dtype_encoding

#: Bytes of values that are copied at a time.
_SLAB_BYTES = 64 << 20


class Target(Protocol):
    """The group that receives a copy."""

    _writer: Any

    def create_group(self, name: str) -> Any: ...

    def _below(self, path: Any) -> str: ...

    def __getitem__(self, name: Any) -> Any: ...

    def __setitem__(self, name: str, value: Any) -> None: ...


def copy_object(source: Any, target: Target, path: str) -> None:
    """Copies a group, a dataset or a committed datatype of the same file to `path` in `target`."""
    kind = source._writer.look_up(source._path).kind
    if kind == "group":
        made = target.create_group(path)
        for member in source._writer.members(source._path):
            if member.kind in ("object", "hard"):
                copy_object(source[member.name], made, member.name)
            else:
                source._writer.create_link(made._below(member.name), member.target, member.file)
    elif kind == "dataset":
        made = _copied_dataset(source, target, path)
    else:
        target[path] = source.dtype
        made = target[path]
    source._writer.copy_attributes(source._path, made._path)


def _copied_dataset(source: Any, target: Target, path: str) -> Any:
    about, where = source._about(), target._below(path)
    fill: tuple[bytes, list[bytes]] | None = about["fill"] and (about["fill"], [])
    if fill and (dtype_encoding.uses_heap(about["datatype"]) or dtype_encoding.has_references(about["datatype"])):
        fill = dtype_encoding.fill_of(source.fillvalue, about["datatype"])
    through = [(number, None, True, parameters) for number, parameters in about["filters"]]
    source._writer.create_dataset(
        where,
        _native.DatasetDefinition(
            about["datatype"],
            about["shape"],
            maxshape=about.get("maxshape"),
            chunks=about["chunks"],
            filters=through,
            fill=fill,
            committed=about["committed"],
            fill_time=about["fill_time"],
        ),
    )
    made = target[path]
    made._chunks, made._fill, made._times = source._chunks, source._fill, source._times
    shape = source.shape
    if not shape or not source.size:
        if about["shape"] is not None and source.size:
            made[()] = source[()]
        return made
    rows = max(_SLAB_BYTES // max(math.prod(shape[1:]) * about["datatype"].size, 1), 1)
    for first in range(0, shape[0], rows):
        made[first : first + rows] = source[first : first + rows]
    return made
