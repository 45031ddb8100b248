"""MATLAB tables and timetables as data frames of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..base.errors import CorruptError, UnsupportedError
from ..base.extras import require
from ..base.type_aliases import AnyArray
from .matlab_values import MatlabObject, MatlabValue, Named

if TYPE_CHECKING:
    import pandas

#: Versions that are known. Later ones say with which earlier ones they are compatible.
_MAX_TABLE, _MAX_TIMETABLE = 5, 8
#: Properties of a table and its variables that a data frame keeps in `attrs`, by their names in tables and timetables.
_ABOUT = {
    "description": "Description",
    "variable_descriptions": ("VariableDescriptions", "varDescriptions"),
    "variable_units": ("VariableUnits", "varUnits"),
    "variable_continuity": ("VariableContinuity", "varContinuity"),
    "dimension_names": ("DimensionNames", "dimNames"),
}

#: A column of a data frame.
Column: TypeAlias = "AnyArray | list[MatlabValue] | pandas.DatetimeIndex | pandas.api.extensions.ExtensionArray"


def items(values: MatlabValue) -> list[MatlabValue]:
    """The elements of a cell array or of an array of strings, in the order of MATLAB."""
    if isinstance(values, np.ndarray):
        return list(values.ravel(order="F"))
    return list(values) if isinstance(values, (list, tuple)) else [values]


def numbers_of(value: MatlabValue) -> list[float]:
    """Numbers as a list."""
    return list(np.ravel(np.asarray(value)).tolist())


def truth(value: MatlabValue) -> bool:
    """Whether a logical scalar is true."""
    return bool(np.any(value))


def table(properties: Named, squeeze: bool) -> pandas.DataFrame:
    """The data frame of a `table`."""
    about = properties.get("props")
    about = about if isinstance(about, dict) else {}
    _check_version("table", about, _MAX_TABLE)
    rows = _count(properties["nrows"])
    labels = _names(properties["varnames"], about, "VariableNames")
    frame = _frame(properties["data"], labels, _count(properties["nvars"]), rows)
    names = [str(name) for name in items(properties.get("rownames", []))]
    if names:
        if len(names) != rows:
            raise CorruptError(f"{len(names)} row names in a table of {rows} rows")
        frame.index = _index(names)
    _describe(frame, about)
    return frame


def timetable(properties: Named, squeeze: bool) -> pandas.DataFrame:
    """The data frame of a `timetable`, whose index is the times of its rows."""
    import pandas

    parts = properties["any"]
    if not isinstance(parts, dict):
        raise CorruptError("a timetable that is not stored as a struct")
    _check_version("timetable", parts, _MAX_TIMETABLE)
    rows = _count(parts["numRows"])
    frame = _frame(parts["data"], _names(parts["varNames"], parts, "VarNames"), _count(parts["numVars"]), rows)
    times = _row_times(parts["rowTimes"], rows)
    if len(times) != rows:
        raise CorruptError(f"{len(times)} times for the {rows} rows of a timetable")
    dimensions = _names(parts.get("dimNames", []), parts, "DimNames")
    frame.index = pandas.Index(_zoned(times), name=dimensions[0] if dimensions else None)
    inner = parts.get("arrayProps")
    _describe(frame, parts | (inner if isinstance(inner, dict) else {}))
    return frame


def _index(names: list[str]) -> pandas.Index[str]:
    import pandas

    return pandas.Index(names)


def _check_version(what: str, about: Named, newest: int) -> None:
    versions = [numbers_of(about[key])[0] for key in ("versionSavedFrom", "minCompatibleVersion") if key in about and numbers_of(about[key])]
    if versions and not 1 <= min(versions) <= newest:
        message = about.get("incompatibilityMsg")
        raise UnsupportedError(
            f"a {what} of version {min(versions):g}; up to {newest} is known" + (f" ({message})" if isinstance(message, str) and message else "")
        )


def _names(stored: MatlabValue, about: Named, key: str) -> list[str]:
    """Names as the user gave them: those that are not identifiers of MATLAB, or are long, are stored apart."""
    short = key[0].lower() + key[1:]
    for use, names in (
        (f"use{key}2048", f"{key}2048"),
        (f"use{key}Original", f"{key}Original"),
        (f"use{key}2048", f"{short}2048"),
        (f"use{key}Orig", f"{short}Orig"),
    ):
        if truth(about.get(use, False)) and names in about:
            return [str(name) for name in items(about[names])]
    return [str(name) for name in items(stored)]


def _count(value: MatlabValue) -> int:
    (number,) = numbers_of(value)
    if number != int(number) or number < 0:
        raise CorruptError(f"a table of {number} rows or variables")
    return int(number)


def _frame(data: MatlabValue, labels: list[str], count: int, rows: int) -> pandas.DataFrame:
    require("MATLAB's tables", "pandas", "pandas")
    import pandas

    values = items(data)
    if count and not (len(values) == len(labels) == count):
        raise CorruptError(f"a table of {count} variables has values for {len(values)} and names for {len(labels)}")
    columns: dict[str, Column] = {}
    for label, value in zip(labels[:count], values[:count], strict=True):
        found = _columns(label, value, rows)
        if len(found) > 1 and any(name in columns or name in labels for name, _ in found):
            # One column of rows, because separate columns would clash with the names of other variables.
            found = [(label, _objects([_row(parts) for parts in zip(*(column for _, column in found), strict=True)]))]
        for name, column in found:
            if name in columns:
                raise UnsupportedError(f"two columns of a table would have the name {name!r}")
            if len(column) != rows:
                raise CorruptError(f"the variable {label} has {len(column)} rows in a table of {rows}")
            columns[name] = column
    return pandas.DataFrame(columns, index=pandas.RangeIndex(rows))


def _row(parts: tuple[MatlabValue, ...]) -> AnyArray:
    return np.array(parts) if all(isinstance(part, np.generic) for part in parts) else _objects(list(parts))


def _columns(label: str, value: MatlabValue, rows: int) -> list[tuple[str, Column]]:
    """The columns of one variable: several for a matrix and for a table in the table."""
    import pandas

    if isinstance(value, pandas.DataFrame):
        return [(f"{label}_{name}", value[name].array) for name in value.columns]
    if isinstance(value, pandas.Categorical):
        if rows == 1 and len(value) > 1:
            return [(f"{label}_{i + 1}", value[i : i + 1]) for i in range(len(value))]
        return [(label, value)]
    if isinstance(value, MatlabObject) and value.class_name == "categorical" and np.ndim(value.contents["codes"]) == 2:
        about = value.contents
        columns = [pandas.Categorical.from_codes(codes, about["categories"], ordered=about["ordered"]) for codes in about["codes"].T]
        return [(f"{label}_{j + 1}", column) for j, column in enumerate(columns)]
    if isinstance(value, (list, tuple)):
        # A row of several cells or strings, or one in each row.
        if rows == 1 and len(value) > 1:
            return [(f"{label}_{i + 1}", [item]) for i, item in enumerate(value)]
        return [(label, _objects(list(value)))]
    if not isinstance(value, np.ndarray):
        return [(label, _objects([value]) if not isinstance(value, np.generic) else _zoned(np.atleast_1d(value)))]
    if value.dtype.names:
        flat = value.reshape(rows, -1)
        return [(label if flat.shape[1] == 1 else f"{label}_{j + 1}", _objects(list(flat[:, j]))) for j in range(flat.shape[1])]
    if rows == 1 and value.ndim < 2:
        value = value.reshape(1, -1)
    if value.ndim > 2:
        return [(label, _objects(list(value)))]
    if value.ndim == 2 and value.shape[1] != 1:
        return [(f"{label}_{j + 1}", _column(value[:, j])) for j in range(value.shape[1])]
    return [(label, _column(value.reshape(-1)))]


def _column(values: AnyArray) -> Column:
    return _objects(list(values)) if values.dtype.kind == "O" else _zoned(values)


def _objects(values: list[MatlabValue]) -> AnyArray:
    """Values that pandas does not look into."""
    found = np.empty(len(values), object)
    for i, value in enumerate(values):
        found[i] = value
    return found


def _zoned(times: AnyArray) -> AnyArray | pandas.DatetimeIndex:
    """Times with the zone that their dtype names."""
    zone = dict(times.dtype.metadata or {}).get("tz")
    if zone is None:
        return times
    import pandas

    # pandas reads offsets only after "UTC".
    name = f"UTC{zone}" if zone[0] in "+-" else zone
    try:
        return pandas.DatetimeIndex(times.view(np.dtype(times.dtype.str))).tz_localize("UTC").tz_convert(name)
    except (KeyError, ValueError, LookupError) as error:
        raise UnsupportedError(f"times in the zone {zone}: {error}") from None


def _row_times(stored: MatlabValue, rows: int) -> AnyArray:
    """The times of the rows: stored, or from a start with a step or rate."""
    if not isinstance(stored, dict):
        return np.atleast_1d(np.asarray(stored)).reshape(-1)
    start = np.asarray(stored["origin"]).reshape(-1)
    if len(start) != 1:
        raise CorruptError(f"a timetable with {len(start)} times of its first row")
    if truth(stored["specifiedAsRate"]):
        (rate,) = numbers_of(stored["sampleRate"])
        if not rate > 0:
            raise CorruptError(f"a timetable with the sample rate {rate}")
        times = start + np.round(np.arange(rows) * (1e9 / rate)).astype("m8[ns]")
    else:
        step = np.asarray(stored["stepSize"]).reshape(-1)
        times = _by_calendar(start, step, rows) if step.dtype.names else start + np.arange(rows) * step
    # Sums of numpy lose the zone.
    return np.asarray(times.view(np.dtype(times.dtype, metadata=dict(start.dtype.metadata))) if start.dtype.metadata else times)


def _by_calendar(start: AnyArray, step: AnyArray, rows: int) -> AnyArray:
    months, days = (numbers_of(step[name])[0] for name in ("months", "days"))
    day = int((start.astype("M8[D]") - start.astype("M8[M]").astype("M8[D]")).astype(int)[0]) + 1
    zone = dict(start.dtype.metadata or {}).get("tz")
    if start.dtype.kind != "M" or zone or (months and day > 28) or months != int(months) or days != int(days):
        raise UnsupportedError(f"rows of a timetable at steps of {months:g} months and {days:g} days from {start[0]}" + (f" in {zone}" if zone else ""))
    index = np.arange(rows)
    first = start.astype("M8[M]")
    within = start - first.astype(start.dtype)
    return np.asarray((first + (index * int(months)).astype("m8[M]")).astype(start.dtype) + within + (index * int(days)).astype("m8[D]") + index * step["time"])


def _describe(frame: pandas.DataFrame, about: Named) -> None:
    for name, keys in _ABOUT.items():
        key = next((key for key in (keys if isinstance(keys, tuple) else (keys,)) if key in about), None)
        if key is None:
            continue
        value = about[key]
        value = value if name == "description" else [part if isinstance(part, str) else "" for part in items(value)]
        if isinstance(value, (str, list)) and value:
            frame.attrs[name] = value
