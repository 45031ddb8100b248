"""Editing values: stores encoded values in an existing file."""

from __future__ import annotations

import math

import numpy as np

from ..base.type_aliases import AnyArray
from ..values import compounds, indexing_keys
from ..values.encoded import Encoded
from ..values.string_padding import pad
from .backend import Changes, Holder

#: Classes of datatypes whose elements are stored as numpy has them.
_PLAIN = ("integer", "float", "enum")


def put(changes: Changes, node: Holder, encoded: Encoded) -> None:
    """Writes values.

    Args:
        changes: What makes changes to the file.
        node: The dataset.
        encoded: The values.
    """
    about = node._about
    if None in (about.get("maxshape") or ()):
        _lengthen(changes, node, tuple(about["shape"] or ()))
    selected, datatype, data, parts = encoded.selected, encoded.datatype, encoded.data, encoded.parts
    size = int(datatype.size)
    is_box = encoded.is_box and encoded.steps is None
    start, count = ([int(axis[0]) for axis in selected.axes], [int(n) for n in selected.box]) if is_box else ([], [])
    if is_box and datatype.class_name in _PLAIN:
        _store(changes, node, start, count, encoded.fitted().tobytes())
        return
    stored = data.tobytes()
    if datatype.uses_heap or datatype.has_references:
        stored = changes.make(lambda editor: editor.store_values(datatype, stored, encoded.heap))
        data = np.frombuffer(stored, data.dtype).reshape(data.shape)
    # One row of bytes for each element.
    raw = np.frombuffer(encoded.fitted(data).tobytes(), np.uint8).copy().reshape(-1, size)
    pad(raw.reshape(-1), datatype)
    if is_box:
        _store(changes, node, start, count, (raw if parts is None else _merged(node, start, count, None, raw, parts)).tobytes())
        return
    extents = [n if isinstance(picked, slice) or np.ndim(picked) == 0 else len(picked) for n, picked in zip(selected.box, selected.pick, strict=True)]
    rows = raw if selected.mask is not None else raw.reshape([*extents, size])
    for piece in indexing_keys.pieces(selected, size):
        start, count = [int(at) for at in piece.start], [int(n) for n in piece.extent]
        _store(changes, node, start, count, _merged(node, start, count, piece.numbers, rows[piece.values].reshape(-1, size), parts).tobytes())


def _lengthen(changes: Changes, node: Holder, shape: tuple[int, ...]) -> None:
    """Gives a dataset the shape that it shows. A netCDF variable shows its dimensions without limit as long as they are in the file, and may be
    stored with fewer rows."""
    if node._file.format != "netcdf4":
        return
    if tuple(changes.raw.describe(node._number, node.path)["shape"] or ()) != shape:
        number = node._own_number()
        changes.make(lambda editor: editor.resize(number, list(shape)))


def _merged(node: Holder, start: list[int], count: list[int], numbers: AnyArray | None, raw: AnyArray, parts: compounds.Parts) -> AnyArray:
    """The elements of a box as they are, with some of them, or parts of them, replaced."""
    size = raw.shape[1]
    box = np.empty((math.prod(count), size), np.uint8)
    node._file.read_into(node._number, [(at, n, 1) for at, n in zip(start, count, strict=True)], box.ctypes.data, box.nbytes)
    chosen: slice | AnyArray = slice(None) if numbers is None else numbers
    for offset, length in [(0, size)] if parts is None else parts:
        box[chosen, offset : offset + length] = raw[:, offset : offset + length]
    return box


def _store(changes: Changes, node: Holder, start: list[int], count: list[int], data: bytes) -> None:
    number = node._own_number()
    changes.make(lambda editor: editor.write(number, start, count, data))
