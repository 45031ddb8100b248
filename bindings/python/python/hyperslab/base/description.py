"""Description: what the core says of an object of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from .. import _native


class Description(TypedDict, total=False):
    """An object as `describe` of a file, of a writer or of a definition describes it. Each kind of object has only some of the keys."""

    #: Not in the description of a definition.
    kind: Literal["group", "dataset", "datatype", "unreadable"]
    #: Why the object, or the values of the dataset, cannot be read.
    refusal: str | None
    #: The datatype of a dataset, or a committed datatype.
    datatype: _native.Datatype
    #: The shape of a dataset; `None` for a null dataspace.
    shape: list[int] | None
    #: The maximum shape of a dataset; missing for a null dataspace.
    maxshape: list[int | None]
    storage: str
    chunks: list[int] | None
    #: Number, name and parameters of each.
    filters: list[tuple[int, str, list[int]]]
    #: The bytes of an unwritten element; `None` if they are not given.
    fill: bytes | None
    #: Only of datasets that are being written: what `fill` points at, when it is written, and the path of a committed datatype.
    fill_heap: _native.Heap
    fill_time: str
    committed: str | None
