"""Preview: the first values of a dataset in notebooks, as their attributes mean them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.blocks import dim, facts, fold, grid, leaf, text
from ..base.errors import DecodingWarning, Error
from ..base.type_aliases import AnyArray
from ..values.scalar_text import MISSING
from .decoded_view import DecodedView
from .plot_categories import names_of
from .value_text import value_text

#: Rows, columns and members of the values that a dataset shows, and the bytes of a chunk up to which it shows some.
PREVIEW_ROWS, PREVIEW_COLUMNS, PREVIEW_FIELDS, PREVIEW_CHUNK_BYTES = 5, 6, 20, 16 << 20


def preview(dataset: Any) -> tuple[str, bool]:
    """The first values. Of more than two dimensions it shows the last two, at the beginning of the others.

    Args:
        dataset: The dataset.

    Returns:
        HTML, and whether values could be read.

    Example:
        >>> shown, could_be_read = hyperslab.objects.preview.preview(f["theta"])
    """
    chunk_values = int(np.prod(dataset.chunks, dtype=object)) if dataset.chunks else 0
    if not dataset.size or len(dataset.shape) > 32 or chunk_values * dataset.dtype.itemsize > PREVIEW_CHUNK_BYTES:
        return "", bool(dataset.size)
    try:
        shape, leading, values, notes = _first_values(dataset)
        name = names_of(dataset) if values.dtype.kind in "iuf" else None
    except (Error, ValueError, TypeError, MemoryError) as error:
        return leaf(f"values cannot be shown: {text(error)}"), False
    below = "".join(leaf(dim(note)) for note in notes)
    if not shape:
        return facts([("value", text(_texts(values.ravel(), name)[0]))]) + below, True
    if values.dtype.names and len(shape) == 1:
        return _records(values[:PREVIEW_ROWS], dataset.size) + below, True
    block = values.reshape((1, *values.shape) if len(shape) == 1 else values.shape)
    cut_columns, cut_rows = shape[-1] > block.shape[1], len(shape) > 1 and shape[-2] > block.shape[0]
    rows = [_texts(row, name) + (["…"] if cut_columns else []) for row in block]
    rows += [["⋮"] * len(rows[0])] if cut_rows and rows else []
    headers: list[object] = [*range(block.shape[1]), *(["…"] if cut_columns else [])]
    where = f" at [{', '.join(['0'] * leading)}, …]" if leading else ""
    shown_grid = grid(headers, rows, numbers=[values.dtype.kind in "iufc" and name is None] * len(headers))
    return fold(f"<b>first values</b>{text(where)}", shown_grid, opened=True) + below, True


def _first_values(dataset: Any) -> tuple[tuple[int, ...], int, AnyArray, list[str]]:
    """The shape of decoded values (texts of characters lack a dimension), how many dimensions are left out, the first values, and what to say of them.
    Values that cannot be decoded are as stored."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DecodingWarning)
        try:
            view = DecodedView(dataset)
            shape, (leading, values) = view.shape, _first(view)
            notes = [str(one.message) for one in caught]
        except Error as error:
            shape, (leading, values) = dataset.shape, _first(dataset)
            notes = [f"stored values: {error.message}"]
    return shape, leading, values, notes


def _first(values: Any) -> tuple[int, AnyArray]:
    shown_dims = min(2, len(values.shape))
    leading = len(values.shape) - shown_dims
    limits = (PREVIEW_ROWS, PREVIEW_COLUMNS)[2 - shown_dims :]
    return leading, np.asarray(values[(0,) * leading + tuple(slice(0, limit) for limit in limits)])


def _texts(values: AnyArray, name: Callable[[int], str] | None) -> list[str]:
    """Values in words: those of enumerations and flags by name."""
    texts = [value_text(value) for value in values]
    return texts if name is None else [one if one == MISSING else name(int(value)) for one, value in zip(texts, values, strict=True)]


def _records(values: AnyArray, count: int) -> str:
    """The first elements of a compound: a column for each member."""
    names = list(values.dtype.names or ())[:PREVIEW_FIELDS]
    more = len(values.dtype.names or ()) - len(names)
    rows = [[*(value_text(value[name]) for name in names), *(["…"] if more else [])] for value in values]
    rows += [["⋮"] * len(rows[0])] if rows and count > len(rows) else []
    numbers = [values.dtype[name].kind in "iuf" for name in names]
    return fold("<b>first values</b>", grid([*names, *(["…"] if more else [])], rows, numbers=numbers), opened=True)
