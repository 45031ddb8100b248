"""pandas HDFStore: data frames and series in the fixed and the table format. Pickles are parsed for names and never unpickled."""

from __future__ import annotations

import datetime
import math
import zoneinfo
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CorruptError, NotFoundError, ObjectNotFoundError, UnsupportedError
from ..extras import require
from ..file import File
from ..file import open as open_files
from ..model_view import required
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..type_aliases import AnyArray, Paths
from .pickled_lists import Unpicklable, object_array
from .pytables import PyTables, attribute, text

if TYPE_CHECKING:
    import pandas

#: A data frame or a series: which one is known when it is read.
Stored = Any
#: Attribute of a group that holds an object of pandas.
_TYPE = "pandas_type"


class HDFStore(PyTables, Mapping[str, Any]):
    """The objects of a file of pandas by their keys. `hyperslab.models.pandas.open` makes one. Needs pandas."""

    def __iter__(self) -> Iterator[str]:
        pending: list[tuple[str, Group]] = [("", self.file)]
        while pending:
            path, group = pending.pop(0)
            for name in group:
                member = group[name] if not name.startswith("_i_") else None
                if not isinstance(member, Group):
                    continue
                if _TYPE in member.attrs:
                    yield f"{path}{name}"
                elif path.count("/") < 32:
                    pending.append((f"{path}{name}/", member))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self.file and isinstance(self.file[key], Group) and _TYPE in self.file[key].attrs

    def __getitem__(self, key: str) -> Stored:
        """The data frame or series called `key`: `store["table"]`."""
        require("reading objects of pandas", "pandas", "pandas")
        if key not in self:
            raise ObjectNotFoundError(f"there is no object {key!r} of pandas; there are {', '.join(self) or 'none'}", self.file.filename)
        group = self.file[key]
        kind = text(group.attrs[_TYPE])
        reader = {"frame": _fixed_frame, "series": _fixed_series, "frame_table": _table_frame, "series_table": _table_series}.get(kind)
        if reader is None:
            raise UnsupportedError(f"an object of pandas of type {kind}", self.file.filename, group.name)
        try:
            return reader(self, group)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            message = f"the attributes and arrays of an object of pandas contradict each other: {error}"
            raise CorruptError(message, self.file.filename, group.name) from None


def _about(node: Any, name: str, default: Any = None) -> Any:
    return attribute(node.attrs[name]) if name in node.attrs else default


def _encoding(group: Group) -> str:
    return str(_about(group, "encoding", "UTF-8") or "UTF-8")


def _elements(store: HDFStore, dataset: Any) -> AnyArray:
    if not isinstance(dataset, Dataset):
        raise CorruptError("an array of an object of pandas is a group", store.file.filename, dataset.name)
    if "PSEUDOATOM" in dataset.attrs and text(dataset.attrs["PSEUDOATOM"]) == "object":
        pickles = store.pickles(dataset.name)
        if len(pickles) != 1:
            raise CorruptError(f"{len(pickles)} pickled arrays in the place of one", store.file.filename, dataset.name)
        try:
            return object_array(pickles[0])
        except (CorruptError, UnsupportedError) as error:
            message = f"{error.message}; write these values in the table format (format='table')" if isinstance(error, UnsupportedError) else error.message
            raise type(error)(message, store.file.filename, dataset.name) from None
    # Arrays without elements are stored as one element, with their shape.
    if "shape" in dataset.attrs:
        shape = tuple(int(extent) for extent in np.ravel(_about(dataset, "shape")))
        dtype = text(_about(dataset, "value_type", "f8"))
        return np.empty(shape, "M8[ns]" if dtype.startswith("datetime64") else "m8[ns]" if dtype.startswith("timedelta64") else np.dtype(dtype))
    return np.asarray(store.read(dataset.name))


def _times(values: AnyArray, kind: str, zone: Any) -> Any:
    """Counts as times or durations: `kind` is `datetime64`, `timedelta64`, perhaps with a unit."""
    import pandas

    letter = "M8" if kind.startswith("datetime64") else "m8"
    unit = kind.partition("[")[2].partition("]")[0].partition(",")[0] or "ns"
    times = np.asarray(values, "i8").view(f"{letter}[{unit}]")
    if zone is None or letter == "m8":
        return times
    try:
        return pandas.DatetimeIndex(times.ravel()).tz_localize("UTC").tz_convert(_zone(zone))
    except (KeyError, ValueError) as error:
        raise CorruptError(f"the time zone {zone!r}, which is not known: {error}") from None


def _zone(zone: Any) -> str | datetime.tzinfo:
    """A time zone, which pandas keeps as text or as a pickled object of pytz, zoneinfo or datetime."""
    if not isinstance(zone, Unpicklable):
        return str(zone)
    if zone.name == "datetime.timezone" and isinstance(zone.arguments, tuple):
        offset = zone.arguments[0] if zone.arguments else None
        parts = offset.arguments if isinstance(offset, Unpicklable) and offset.name == "datetime.timedelta" else ()
        if isinstance(parts, tuple) and len(parts) == 3 and all(isinstance(part, int) for part in parts):
            return datetime.timezone(datetime.timedelta(*parts))
    if zone.name == "pytz._UTC":
        return "UTC"
    if zone.name in ("pytz._p", "getattr", "__builtin__.getattr", "builtins.getattr") and isinstance(zone.arguments, tuple) and zone.arguments:
        name = zone.arguments[0]
        if isinstance(name, str):
            return name if zone.name == "pytz._p" else zoneinfo.ZoneInfo(name)
    raise UnsupportedError(f"a time zone that is a {zone!r}")


def _texts(values: AnyArray, encoding: str, missing: str | None) -> AnyArray:
    found: AnyArray = np.array([item.decode(encoding, "surrogatepass") if isinstance(item, bytes) else item for item in values.ravel().tolist()], object)
    if missing is not None:
        found[found == missing] = np.nan
    return np.asarray(found.reshape(values.shape))


def _of_kind(values: AnyArray, kind: str, encoding: str, zone: Any, place: str, missing: str | None = None) -> Any:
    """Values of a kind of pandas: of an index or a column."""
    if kind.startswith(("datetime64", "timedelta64")):
        return _times(values, kind, zone)
    if kind in ("string", "object", "mixed") and values.dtype.kind == "O":
        return values
    if kind in ("string", "object") and values.dtype.kind == "S":
        return _texts(values, encoding, missing)
    if kind in ("integer", "float", "bool", "boolean", "complex") or (values.dtype.kind in "iufcb" and kind == values.dtype.name):
        return values
    raise UnsupportedError(f"values of the kind {kind} of pandas", object=place)


def _index(store: HDFStore, group: Group, key: str) -> pandas.Index[Any]:
    """An index of the fixed format."""
    import pandas

    variety = text(_about(group, f"{key}_variety", "regular"))
    if variety == "multi":
        levels, codes, names = [], [], []
        for i in range(int(_about(group, f"{key}_nlevels", 0))):
            level = _index(store, group, f"{key}_level{i}")
            names.append(level.name)
            levels.append(level.rename(None))
            codes.append(np.asarray(store.read(f"{group.name}/{key}_label{i}")))
        return pandas.MultiIndex(levels=levels, codes=codes, names=names)
    if variety != "regular":
        raise UnsupportedError(f"an index of variety {variety}", store.file.filename, group.name)
    node = group[key]
    kind, name, zone = text(_about(node, "kind", "")), _about(node, "name"), _about(node, "tz")
    if text(_about(node, "index_class", "")) == "period":
        raise UnsupportedError("an index of periods", store.file.filename, node.name)
    values: Any = _elements(store, node)
    if values.size or kind.startswith(("datetime64", "timedelta64")):
        values = _of_kind(values, kind, _encoding(group), zone, node.name)
    return pandas.Index(values, name=_plain(name))


def _plain(name: Any) -> Any:
    if isinstance(name, Unpicklable):
        raise UnsupportedError(f"the name of an index is a {name!r}")
    return name


def _block(store: HDFStore, group: Group, key: str) -> Any:
    """The values of a block of the fixed format, a column for each item."""
    node = group[key]
    values = _elements(store, node)
    kind = text(_about(node, "value_type", "")) if "value_type" in node.attrs else ""
    if not _about(node, "transposed", 0):
        values = values.T
    return _times(values, kind, _about(node, "tz")) if kind.startswith(("datetime64", "timedelta64")) and values.dtype.kind == "i" else values


def _fixed_frame(store: HDFStore, group: Group) -> Stored:
    import pandas

    columns, index = _index(store, group, "axis0"), _index(store, group, "axis1")
    found: dict[Any, Any] = {}
    for i in range(int(_about(group, "nblocks", 0))):
        items, block = _index(store, group, f"block{i}_items"), _block(store, group, f"block{i}_values")
        for j, item in enumerate(items):
            values = block if getattr(block, "ndim", 1) == 1 else block[:, j]
            if len(values) != len(index):
                message = f"a block of {len(values)} rows in a data frame of {len(index)}"
                raise CorruptError(message, store.file.filename, f"{group.name}/block{i}_values")
            found[item] = pandas.Series(values, index=index)
    missing = [name for name in columns if name not in found]
    if missing or not columns.is_unique:
        raise UnsupportedError(f"columns without a block of their own: {missing or 'two have the same name'}", store.file.filename, group.name)
    frame = pandas.DataFrame(found, index=index, columns=columns) if found else pandas.DataFrame(index=index, columns=columns)
    return frame


def _fixed_series(store: HDFStore, group: Group) -> Stored:
    import pandas

    values = _block(store, group, "values")
    return pandas.Series(values, index=_index(store, group, "index"), name=_plain(_about(group, "name")))


def _categories(store: HDFStore, group: Group, column: str) -> Any:
    key = f"{group.name}/meta/{column}/meta"
    if key not in store.file:
        raise CorruptError(f"the column {column} has codes without categories: there is no {key}", store.file.filename, group.name)
    return store[key.lstrip("/")]


def _column(store: HDFStore, group: Group, table: Any, column: str, values: AnyArray) -> list[tuple[Any, Any]]:
    """The columns of pandas in a column of the table: names with values."""
    import pandas

    names = _about(table, f"{column}_kind")
    names = names if isinstance(names, list) else [column]
    about = (_about(group, "info") or {}).get(column, {})
    kind = text(_about(table, f"{column}_dtype", values.dtype.name))
    # Not -1: a table may have no rows.
    blocks = values.reshape(len(values), math.prod(values.shape[1:]))
    if blocks.shape[1] != len(names):
        raise CorruptError(f"the column {column} has {blocks.shape[1]} values in a row for {len(names)} names", store.file.filename, table.name)
    if _about(table, f"{column}_meta") == "category":
        categories = _categories(store, group, column)
        ordered = bool(about.get("ordered", False))
        if blocks.size and (blocks.min() < -1 or blocks.max() >= len(categories)):
            raise CorruptError(f"the column {column} has codes beyond its {len(categories)} categories", store.file.filename, table.name)
        return [(name, pandas.Categorical.from_codes(blocks[:, i], list(categories), ordered=ordered)) for i, name in enumerate(names)]
    if kind.startswith("bytes") or kind == "str" or blocks.dtype.kind == "S":
        missing = _about(group, "nan_rep", "nan")
        found: Any = [_texts(blocks[:, i], _encoding(group), missing) for i in range(len(names))]
    else:
        kind = blocks.dtype.name if blocks.dtype.kind in "ufcb" else kind
        found = [_of_kind(blocks[:, i], kind, _encoding(group), about.get("tz"), table.name) for i in range(len(names))]
    return list(zip(names, found, strict=True))


def _table(store: HDFStore, group: Group) -> Stored:
    """A data frame of the table format, with the levels of its index as columns."""
    import pandas

    table = group["table"]
    records = store.read(table.name)
    axes = _about(group, "non_index_axes") or [(1, [])]
    columns, info = list(axes[0][1]), _about(group, "info") or {}
    if len(axes) != 1 or axes[0][0] != 1 or "index" not in records.dtype.names:
        raise UnsupportedError("a table of pandas whose rows are not its index", store.file.filename, table.name)
    found: dict[Any, Any] = {}
    for column in records.dtype.names:
        if column != "index":
            found.update(_column(store, group, table, column, records[column]))
    missing = [name for name in columns if name not in found]
    if missing:
        raise CorruptError(f"the table has no values for the columns {missing}", store.file.filename, table.name)
    about = info.get("index", {})
    kind = text(_about(table, "index_kind", "integer"))
    index = _of_kind(records["index"], kind, _encoding(group), about.get("tz"), table.name)
    index = pandas.Index(index, name=_plain(about.get("index_name")))
    frame = pandas.DataFrame({i: pandas.Series(found[name], index=index) for i, name in enumerate(columns)}, index=index)
    frame.columns = pandas.Index(columns, name=next(iter((info.get(1) or {}).get("names") or [None])))
    return frame


def _with_levels(store: HDFStore, group: Group, frame: Any) -> Any:
    """The data frame with the index of several levels that was stored as columns."""
    if "multi" not in text(_about(group, "table_type", "")):
        return frame
    levels = _about(group, "levels")
    if not isinstance(levels, list) or any(level not in frame.columns for level in levels):
        raise CorruptError(f"the levels {levels} of the index are not columns of the table", store.file.filename, group.name)
    frame = frame.set_index(levels)
    # pandas numbers levels without a name.
    frame.index = frame.index.set_names([None if str(level).startswith("level_") else level for level in levels])
    return frame


def _table_frame(store: HDFStore, group: Group) -> Stored:
    return _with_levels(store, group, _table(store, group))


def _table_series(store: HDFStore, group: Group) -> Stored:
    frame = _with_levels(store, group, _table(store, group))
    series = frame.iloc[:, 0]
    return series.rename(None if series.name == "values" else series.name)


def open(file: File | Paths, **options: Any) -> HDFStore:
    """Opens a file of pandas (HDFStore, `to_hdf`).

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The data frames and series by their keys; a view of PyTables, too.

    Raises:
        NotFoundError: The file does not exist, or has no objects of pandas.
        InvalidInputError: The file was not written by PyTables.

    Example:
        >>> hs.models.pandas.open("store.h5")["table"]
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "pytables")
    store = HDFStore(opened, view.name, view.certainty, view.reason)
    if next(iter(store), None) is None:
        raise NotFoundError("this file of PyTables has no objects of pandas", opened.filename)
    return store
