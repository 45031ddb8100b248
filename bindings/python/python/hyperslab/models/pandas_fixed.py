"""pandas' fixed format: the axes of a data frame or series, and a 2-D array for each block of columns of one type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import CorruptError, UnsupportedError
from ..base.type_aliases import AnyArray
from ..objects.group import Group
from .pandas_values import about, elements, encoding_of, index_of, plain, times
from .pytables import PyTables, text

if TYPE_CHECKING:
    import pandas


def read_index(store: PyTables, group: Group, key: str) -> pandas.Index:
    """The index called `key`."""
    import pandas

    variety = text(about(group, f"{key}_variety", "regular"))
    if variety == "multi":
        levels, codes, names = [], [], []
        for i in range(int(about(group, f"{key}_nlevels", 0))):
            level = _regular(store, group, f"{key}_level{i}")
            names.append(level.name)
            levels.append(level.rename(None))
            codes.append(np.asarray(elements(store, group[f"{key}_label{i}"])))
        return pandas.MultiIndex(levels=levels, codes=codes, names=names)
    if variety != "regular":
        raise UnsupportedError(f"an index of variety {variety}", group.file.filename, group.name)
    return _regular(store, group, key)


def _regular(store: PyTables, group: Group, key: str) -> pandas.Index:
    import pandas

    node = group[key]
    kind, name = text(about(node, "kind", "")), about(node, "name")
    values = elements(store, node)
    is_periods = text(about(node, "index_class", "")) == "period"
    if not values.size and not is_periods and not kind.startswith(("datetime64", "timedelta64")):
        return pandas.Index(values, name=plain(name, "the name of an index"))
    return index_of(values, kind, encoding_of(group), about(node, "tz"), about(node, "freq"), name, node.name, is_periods)


def _block(store: PyTables, group: Group, key: str) -> AnyArray | pandas.Index | pandas.api.extensions.ExtensionArray:
    """The values of a block, a column for each item."""
    import pandas

    node = group[key]
    values = elements(store, node)
    kind = text(about(node, "value_type", "")) if "value_type" in node.attrs else ""
    if values.dtype.kind == "O" and kind not in ("", "object"):
        # A type of pandas, not of numpy.
        return pandas.array(values, dtype=pandas.api.types.pandas_dtype(kind))
    if not about(node, "transposed", 0):
        values = values.T
    return times(values, kind, about(node, "tz")) if kind.startswith(("datetime64", "timedelta64")) and values.dtype.kind in "iMm" else values


def read_frame(store: PyTables, group: Group) -> pandas.DataFrame:
    """A data frame."""
    import pandas

    columns, index = read_index(store, group, "axis0"), read_index(store, group, "axis1")
    frames = []
    for i in range(int(about(group, "nblocks", 0))):
        items, block = read_index(store, group, f"block{i}_items"), _block(store, group, f"block{i}_values")
        if len(block) != len(index):
            message = f"a block of {len(block)} rows in a data frame of {len(index)}"
            raise CorruptError(message, group.file.filename, f"{group.name}/block{i}_values")
        places = columns.get_indexer(items)
        if columns.nlevels == 1 and (missing := columns.isna()).sum() == 1:
            # A missing label alone in a block is of another type than among texts: NaT for None.
            places[(places < 0) & np.asarray(items.isna())] = missing.argmax()
        if (places < 0).any():
            raise CorruptError(f"a block of columns that the data frame does not have: {items[places < 0].tolist()}", group.file.filename, group.name)
        found = pandas.DataFrame(block, index=index) if getattr(block, "ndim", 1) == 2 else pandas.Series(block, index=index).to_frame()
        frames.append(found.set_axis(columns[places], axis=1))
    frame = pandas.concat(frames, axis=1) if frames else pandas.DataFrame(index=index, columns=columns)
    if without := [name for name in columns if name not in frame.columns]:
        raise CorruptError(f"columns without a block: {without}", group.file.filename, group.name)
    return frame.reindex(columns=columns)


def read_series(store: PyTables, group: Group) -> pandas.Series:
    """A series."""
    import pandas

    values = _block(store, group, "values")
    return pandas.Series(values, index=read_index(store, group, "index"), name=plain(about(group, "name"), "the name of a series"))
