"""Rows: the arrays of one file, and the ranges of their coordinates, as rows of a catalog."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from .. import _native
from ..base.errors import Error, UnsupportedError
from ..dtypes import describe, is_plain, stored_dtype
from ..files.file import File
from ..objects.dataset import Dataset
from .stamps import Stamp

#: Coordinates with more values than this are not read.
MAX_VALUES = 1 << 20
#: Columns of shapes have 64 bits with a sign.
MAX_EXTENT = (1 << 63) - 1

RANGE = pa.struct(
    [
        ("dim", pa.string()),
        ("least", pa.float64()),
        ("most", pa.float64()),
        pa.field("as_stored", pa.bool_(), nullable=False),
        ("first_microseconds", pa.int64()),
        ("last_microseconds", pa.int64()),
    ]
)
#: Attributes that say which values mean nothing.
#: The extremes of an array if they are not known.
UNKNOWN: dict[str, object] = {"least": None, "most": None, "known_by": None}
#: Integers beyond this are not exact as floats.
MAX_EXACT = 1 << 53
SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("file_bytes", pa.int64(), nullable=False),
        pa.field("modified", pa.int64()),
        pa.field("version", pa.string()),
        pa.field("format", pa.string(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("dtype", pa.string()),
        pa.field("shape", pa.list_(pa.int64()), nullable=False),
        pa.field("dims", pa.list_(pa.string()), nullable=False),
        pa.field("chunks", pa.list_(pa.int64())),
        pa.field("filters", pa.list_(pa.string()), nullable=False),
        pa.field("units", pa.string()),
        pa.field("standard_name", pa.string()),
        pa.field("least", pa.float64()),
        pa.field("most", pa.float64()),
        pa.field("known_by", pa.string()),
        pa.field("ranges", pa.list_(RANGE), nullable=False),
        pa.field("first_time", pa.timestamp("us")),
        pa.field("last_time", pa.timestamp("us")),
    ]
)


def rows_of(file: _native.File, path: str, stamp: Stamp) -> Iterator[dict[str, object]]:
    """A row for each array of a file."""
    coordinates: dict[int, Coordinates | None] = {}
    for name, number, about in file.visit(file.root, "/").objects():
        if about["kind"] != "dataset":
            continue
        if any(extent > MAX_EXTENT for extent in (*(about["shape"] or ()), *(about["chunks"] or ()))):
            raise UnsupportedError(f"{name}: an extent of more than {MAX_EXTENT} elements, which a catalog cannot hold", path)
        dims = file.dimensions(number)
        ranges, begin, end = [], None, None
        for (dim, scale), extent in zip(dims, about["shape"] or (), strict=False):
            if scale is None:
                continue
            if scale not in coordinates:
                coordinates[scale] = _range(file, scale)
            found = coordinates[scale]
            if found is not None:
                ranges.append(found.row(dim, extent))
                begin, end = (found.begin, found.end) if begin is None else (begin, end)
        attributes = set(file.attribute_names(number))
        datatype = about["datatype"]
        units, decoding = _text(file, number, "units", attributes), _decoding(file, number)
        yield {
            "path": path,
            "file_bytes": stamp.file_bytes,
            "modified": stamp.modified,
            "version": stamp.version,
            "format": file.format,
            "dataset": name if name.startswith("/") else f"/{name}",
            "dtype": str(stored_dtype(datatype)) if is_plain(datatype) else describe(datatype),
            "shape": about["shape"] or [],
            "dims": [dim for dim, _ in dims],
            "chunks": about["chunks"],
            "filters": [known for _, known, _ in about["filters"]],
            "units": units,
            "standard_name": _text(file, number, "standard_name", attributes),
            # Tables show times, whose bounds are elsewhere.
            **(_extremes(file, number, coordinates.get(number), attributes, decoding) if decoding is None or decoding.time is None else UNKNOWN),
            "ranges": ranges,
            "first_time": begin,
            "last_time": end,
        }


def _extremes(file: _native.File, number: int, read: Coordinates | None, attributes: set[str], decoding: _native.Decoding | None) -> dict[str, object]:
    """The least and the greatest value of a dataset as tables show them, if they are known without reading it, and from what."""
    is_shown = read is not None and read.as_stored and (decoding is None or not decoding.changes_columns)
    found = (read.least, read.most, "values") if read is not None and is_shown else None
    found = found or _of_index(file, number)
    if found is None and "actual_range" in attributes:
        found = _of_attribute(file, number)
    return dict(zip(UNKNOWN, found, strict=True)) if found is not None else UNKNOWN


def _of_index(file: _native.File, number: int) -> tuple[float, float, str] | None:
    """What a value index of the file's user knows of all values that are neither NaN nor null."""
    try:
        index = _native.ColumnIndex.find(file, number)
        counts = None if index is None or index.level in ("B", "W") else index.counts()
        if index is None or counts is None or not counts.values:
            return None
        least, most = index.ranked(0), index.ranked(counts.values - 1)
    except Error:
        return None
    is_exact = least is not None and most is not None and max(-least, most) < MAX_EXACT
    return (least, most, "index") if is_exact and least is not None and most is not None else None


def _of_attribute(file: _native.File, number: int) -> tuple[float, float, str] | None:
    """What the attribute `actual_range` says (CF 1.13, section 2.5.1). It is not compared with the data."""
    try:
        said = np.asarray(File(file)[file.object_path(number)].attrs["actual_range"])
    except Error:
        return None
    if said.shape != (2,) or said.dtype.kind not in "iuf" or not np.isfinite(said).all() or said[0] > said[1] or np.abs(said.astype("f8")).max() >= MAX_EXACT:
        return None
    return float(said[0]), float(said[1]), "attribute"


def _text(file: _native.File, number: int, name: str, there: set[str]) -> str | None:
    if name not in there:
        return None
    try:
        value = File(file)[file.object_path(number)].attrs[name]
    except Error:
        return None
    value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return value if isinstance(value, str) else None


class Coordinates(NamedTuple):
    """What a catalog has of the coordinates of a dimension."""

    size: int
    least: float
    most: float
    #: Whether each value that a table shows is between these bounds, or null.
    as_stored: bool
    begin: datetime.datetime | None
    end: datetime.datetime | None

    def row(self, dim: str | None, extent: int) -> dict[str, object]:
        # A table shows coordinates of another length as indexes.
        is_shown = self.size == extent
        first, last = (_microseconds(self.begin), _microseconds(self.end)) if is_shown else (None, None)
        bounds = {"least": self.least, "most": self.most, "as_stored": self.as_stored and is_shown}
        return {"dim": dim, **bounds, "first_microseconds": first, "last_microseconds": last}


def _microseconds(time: datetime.datetime | None) -> int | None:
    return None if time is None else int(np.datetime64(time, "us").astype("i8"))


def _range(file: _native.File, number: int) -> Coordinates | None:
    """Least and most value of a coordinate, and as times if it has these; `None` if it has no numbers, or too many."""
    dataset = File(file)[file.object_path(number)]
    if not isinstance(dataset, Dataset) or dataset.ndim != 1 or not 0 < (dataset.size or 0) <= MAX_VALUES or dataset.dtype.kind not in "iuf":
        return None
    try:
        values = np.asarray(dataset[...], "f8")
        known = values[np.isfinite(values)]
        if not len(known):
            return None
        begin, end = _times(dataset)
        decoding = file.decoding(number)
    except Error:
        return None
    least, most = float(known.min()), float(known.max())
    is_exact = len(known) == len(values) and (dataset.dtype.kind == "f" or max(-least, most) < MAX_EXACT)
    is_decoded = decoding is not None and (decoding.is_packed or decoding.kind not in ("number", "flag"))
    return Coordinates(len(values), least, most, is_exact and not is_decoded, begin, end)


def _decoding(file: _native.File, number: int) -> _native.Decoding | None:
    """What the numbers of a dataset mean; `None` if attributes that say so cannot be read."""
    try:
        return file.decoding(number)
    except Error:
        return None


def _times(dataset: Dataset) -> tuple[datetime.datetime | None, datetime.datetime | None]:
    """The first and the last time of a coordinate of time, in the calendar that everybody uses."""
    if "units" not in dataset.attrs:
        return None, None
    try:
        decoded = np.asarray(dataset.decoded[...])
    except (Error, ValueError):
        return None, None
    if decoded.dtype.kind != "M":
        return None, None
    known = decoded[~np.isnat(decoded)].astype("M8[us]")
    return (known.min().item(), known.max().item()) if len(known) else (None, None)
