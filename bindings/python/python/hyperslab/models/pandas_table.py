"""pandas' table format: records with the index, columns of their own (data columns), and blocks of columns of one type."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..base.errors import CorruptError, UnsupportedError
from ..base.type_aliases import AnyArray, Elements
from ..objects.dataset import Dataset
from ..objects.group import Group
from .pandas_values import MISSING, about, dates, encoding_of, index_of, plain, texts, times
from .pickled_lists import Parsed
from .pytables import text

if TYPE_CHECKING:
    import pandas

#: The name that pandas gives to a level of an index without a name.
_NAMELESS_LEVEL = re.compile(r"^level_\d+$")


class Store(Protocol):
    """The part of a store that tables need."""

    def _elements(self, dataset: Dataset) -> Elements: ...
    def _stored(self, group: Group) -> pandas.DataFrame | pandas.Series: ...


def _categories(store: Store, group: Group, column: str) -> pandas.DataFrame | pandas.Series | None:
    """The categories of a column; `None` if there are none, because PyTables stores no empty array."""
    stored: Any = group.get(f"meta/{column}/meta")
    return None if stored is None else store._stored(stored)


def _categorical(store: Store, group: Group, table: Dataset, column: str, codes: AnyArray) -> pandas.Categorical:
    """A column of categories. A category whose text stands for a missing value is dropped: its rows have missing values."""
    import pandas

    about_column = (about(group, "info") or {}).get(column, {})
    stored = _categories(store, group, column)
    categories = pandas.Index([], dtype=np.float64) if stored is None else pandas.Index(stored)
    if codes.size and (codes.min() < -1 or codes.max() >= len(categories)):
        reason = f"codes beyond its {len(categories)} categories" if stored is not None else f"codes without categories: there is no meta/{column}/meta"
        raise CorruptError(f"the column {column} has {reason}", group.file.filename, table.name)
    is_missing = np.asarray(categories.isna())
    if is_missing.any():
        renumbered = np.where(is_missing, -1, np.cumsum(~is_missing) - 1)
        codes, categories = np.where(codes < 0, -1, renumbered[codes]), categories[~is_missing]
    return pandas.Categorical.from_codes(codes, categories, ordered=bool(about_column.get("ordered", False)))


def _values(store: Store, group: Group, table: Dataset, column: str, stored: AnyArray) -> AnyArray | pandas.Index | pandas.Categorical:
    """The values of a column of the table: an array with a column for each label, or one column of a type of pandas."""
    # Not -1: a table may have no rows.
    block = stored.reshape(len(stored), math.prod(stored.shape[1:]))
    kind = text(about(table, f"{column}_dtype", block.dtype.name))
    if kind.startswith(("datetime64", "timedelta64")):
        return times(block, kind, (about(group, "info") or {}).get(column, {}).get("tz"))
    if about(table, f"{column}_meta") == "category":
        return _categorical(store, group, table, column, block.ravel())
    if kind == "date":
        return dates(block)
    if kind.startswith(("bytes", "string", "str")) or block.dtype.kind == "S":
        return texts(block, encoding_of(group), text(about(group, "nan_rep", MISSING)))
    if block.dtype.kind in "iufcb":
        return block
    raise UnsupportedError(f"values of the kind {kind} of pandas", group.file.filename, table.name)


def _part(store: Store, group: Group, table: Dataset, column: str, stored: AnyArray, index: pandas.Index, about_labels: Parsed) -> pandas.DataFrame:
    """The data frame of a column of the table: a block of columns of one type, or a single column."""
    import pandas

    labels = about(table, f"{column}_kind")
    labels = plain(labels, "the label of a column") if isinstance(labels, list) else [column]
    values = _values(store, group, table, column, stored)
    count = values.shape[1] if values.ndim == 2 else 1
    if count != len(labels):
        raise CorruptError(f"the column {column} has {count} values in a row for {len(labels)} names", group.file.filename, table.name)
    frame = pandas.DataFrame(values, index=index) if values.ndim == 2 else pandas.Series(values, index=index).to_frame()
    names = about_labels.get("names")
    if about_labels.get("type") == "MultiIndex":
        frame.columns = pandas.MultiIndex.from_tuples([tuple(label) for label in labels])
    else:
        frame.columns = pandas.Index(labels)
    if names is not None:
        frame.columns = frame.columns.set_names(plain(list(names), "the name of columns"))
    return frame.astype("string") if any(about(table, f"{label}_meta") == "string" for label in labels if isinstance(label, str)) else frame


def _index(group: Group, table: Dataset, stored: AnyArray) -> pandas.Index:
    about_index = (about(group, "info") or {}).get("index", {})
    kind, frequency = text(about(table, "index_kind", "integer")), about_index.get("freq")
    # Nothing else says that integers are periods.
    is_periods = kind == "integer" and stored.dtype == np.dtype("i8") and frequency is not None
    return index_of(stored, kind, encoding_of(group), about_index.get("tz"), frequency, about_index.get("index_name"), table.name, is_periods)


def _rows(store: Store, group: Group) -> pandas.DataFrame:
    """A data frame, with the levels of its index as columns."""
    import pandas

    table = group["table"]
    if not isinstance(table, Dataset):
        raise CorruptError("the table of an object of pandas is not a dataset", group.file.filename, group.name)
    records = store._elements(table)
    axes = about(group, "non_index_axes") or [(1, [])]
    if len(axes) != 1 or axes[0][0] != 1 or "index" not in records.dtype.names:
        raise UnsupportedError("a table of pandas whose rows are not its index", group.file.filename, table.name)
    index, about_labels = _index(group, table, records["index"]), (about(group, "info") or {}).get(1) or {}
    parts = [_part(store, group, table, name, records[name], index, about_labels) for name in records.dtype.names if name != "index"]
    labels = pandas.Index(plain(list(axes[0][1]), "the label of a column"), tupleize_cols=False)
    if not parts:
        return pandas.DataFrame(index=index, columns=labels)
    frame = parts[0] if len(parts) == 1 else pandas.concat(parts, axis=1)
    if labels.equals(frame.columns):
        return frame
    if missing := [label for label in labels if label not in frame.columns]:
        raise CorruptError(f"the table has no values for the columns {missing}", group.file.filename, table.name)
    # Columns of one name come one after another.
    names = frame.columns.names
    frame = frame.loc[:, labels.unique()]
    frame.columns = frame.columns.set_names(names)
    return frame


def _with_levels(group: Group, frame: pandas.DataFrame) -> pandas.DataFrame:
    """The data frame with the index of several levels that was stored as columns."""
    if "multi" not in text(about(group, "table_type", "")):
        return frame
    levels = about(group, "levels")
    if not isinstance(levels, list) or any(level not in frame.columns for level in levels):
        raise CorruptError(f"the levels {levels} of the index are not columns of the table", group.file.filename, group.name)
    return frame.set_index(levels)


def read_frame(store: Store, group: Group) -> pandas.DataFrame:
    """A data frame."""
    frame = _with_levels(group, _rows(store, group))
    if "multi" in text(about(group, "table_type", "")):
        frame.index = frame.index.set_names([None if _NAMELESS_LEVEL.search(str(name)) else name for name in frame.index.names])
    return frame


def read_series(store: Store, group: Group) -> pandas.Series:
    """A series."""
    series = _with_levels(group, _rows(store, group)).iloc[:, 0]
    return series.rename(None) if series.name == "values" else series
