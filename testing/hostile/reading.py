"""Reads all that a file has through hyperslab, and keeps the errors."""

from __future__ import annotations

import pathlib
import random
from dataclasses import dataclass, field

import hyperslab as hs
import numpy as np

#: Larger datasets are read in part only.
MOST_ELEMENTS = 200_000
MOST_BYTES = 32 << 20
#: Larger tables are not made text of.
MOST_TEXT_BYTES = 4 << 20
#: Share of the datasets that are read as tables, too.
TABLES = 0.1


@dataclass
class Reading:
    """What came of one file: how many values, and the errors."""

    values: int = 0
    errors: list[hs.Error] = field(default_factory=list)


def read_everything(path: pathlib.Path, rng: random.Random | None = None) -> Reading:
    """As netCDF where it is netCDF, and as plain HDF5."""
    reading = Reading()
    if read_as(path, None, reading, rng) == "netcdf4":
        read_as(path, "hdf5", reading, rng)
    return reading


def read_as(path: pathlib.Path, kind: str | None, reading: Reading, rng: random.Random | None) -> str | None:
    """Anything but an `hs.Error` goes on to the caller, and so does `hs.InternalError`."""
    try:
        file = hs.open(path, threads=1, format=kind)
    except hs.Error as error:
        note(reading, error)
        return None
    if rng is not None and rng.random() < 0.05:
        try:
            read_table(file, "/", None, reading, rng)
        except hs.Error as error:
            note(reading, error)
    pending: list[hs.Node] = [file]
    seen: set[object] = set()
    while pending:
        node = pending.pop()
        if node in seen:  # damage may link a group into itself
            continue
        seen.add(node)
        try:
            names = list(node.attrs)
        except hs.Error as error:
            note(reading, error)
            names = []
        for name in names:
            try:
                node.attrs[name]
                reading.values += 1
            except hs.Error as error:
                note(reading, error)
        if isinstance(node, hs.Dataset):
            try:
                read_dataset(file, node, reading, rng)
            except hs.Error as error:
                note(reading, error)
        elif isinstance(node, hs.Group):
            try:
                members = list(node)
            except hs.Error as error:
                note(reading, error)
                members = []
            for name in members:
                try:
                    pending.append(node[name])
                except hs.Error as error:
                    note(reading, error)
    return file.format


def read_dataset(file: hs.File, node: hs.Dataset, reading: Reading, rng: random.Random | None) -> None:
    """Whole, then a part that must be equal, sometimes as a table; a huge one only in part."""
    repr(node), node.chunks, node.filters, node.maxshape
    part = tuple(some(extent, rng) for extent in node.shape or ())
    whole = None
    if node.size <= MOST_ELEMENTS and node.nbytes <= MOST_BYTES:
        whole = node[()]
        reading.values += 1
        if rng is not None and part and not isinstance(whole, hs.Empty):
            assert same(node[part], whole[part]), f"{node.path}{part} differs from the same part of the whole"
    elif part and node.dtype.itemsize <= MOST_BYTES:
        node[tuple(slice(s.start, min(s.start + 3, s.stop)) for s in part)]
        reading.values += 1
    if rng is not None and rng.random() < TABLES:
        read_table(file, node.path, whole, reading, rng)


def read_table(file: hs.File, path: str, whole: np.ndarray | None, reading: Reading, rng: random.Random) -> None:
    """In two sizes of batches that must agree; numbers also with the `whole` array."""
    table = file.table(path, limit=100, raw=whole is not None).to_arrow()
    reading.values += table.num_rows > 0
    parts = file.table(path, limit=100, raw=whole is not None, batch_rows=rng.randint(1, 40)).to_arrow()
    assert table.num_rows == parts.num_rows, f"a table of {path} has another number of rows in smaller batches"
    # As text: what is not a number is not equal to itself. Python's objects take some fifty times the memory.
    if table.nbytes > MOST_TEXT_BYTES:
        return
    assert repr(table.to_pylist()) == repr(parts.to_pylist()), f"a table of {path} differs from itself in smaller batches"
    name = path.rsplit("/", 1)[-1]
    if isinstance(whole, np.ndarray) and whole.dtype.kind in "iuf" and whole.dtype.itemsize <= 8 and table.column_names[-1:] == [name]:
        column = table[name].to_numpy()
        if column.dtype.kind in "iuf":  # and no names of an enumeration
            assert np.array_equal(column, whole.reshape(-1)[: len(column)], equal_nan=True), f"a table of {path} differs from its array"


def some(extent: int, rng: random.Random | None) -> slice:
    """A range with a step."""
    if rng is None or extent == 0:
        return slice(0, extent)
    start = rng.randrange(extent)
    return slice(start, rng.randint(start, extent) if extent < 1 << 60 else start + 1, rng.choice([1, 1, 2, 3]))


def same(part: np.ndarray, of_whole: np.ndarray) -> bool:
    """Bit for bit, but for the padding of records, which numpy does not copy; heap values one by one."""
    if part.dtype != of_whole.dtype or part.shape != of_whole.shape:
        return False
    if part.dtype.names:
        return all(same(part[name], of_whole[name]) for name in part.dtype.names)
    if part.dtype.hasobject:
        return repr(part.tolist()) == repr(of_whole.tolist())
    return np.ascontiguousarray(part).tobytes() == np.ascontiguousarray(of_whole).tobytes()


def note(reading: Reading, error: hs.Error) -> None:
    """Keeps an error, unless it is our own fault."""
    if isinstance(error, hs.InternalError):
        raise error
    reading.errors.append(error)
