"""PyTables: tables, arrays and rows of variable length, and rows that are appended. `model_pandas` reads what pandas' HDFStore keeps in such files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import _native
from ..base.errors import CorruptError, NotFoundError, UnsupportedError
from ..base.type_aliases import AnyArray, AttributeValue, Elements, FileOptions, Path, Paths
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..objects.native_objects import native_of
from ..objects.node import Node
from ..sources.sessions import session
from ..values import dtype_encoding
from ..values.timevals import in_seconds
from .pickled_lists import Parsed, parsed
from .pytables_rows import Rows, encoded

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Kinds of indexes by the bytes of a position.
_KINDS = {1: "ultralight", 2: "light", 4: "medium", 8: "full"}
#: Nested columns, as deep as is looked.
_MAX_DEPTH = 64


class ColumnIndex(NamedTuple):
    """An index that PyTables keeps for a column of a table. `PyTables.check_indexes` says whether scans can use it.

    Attributes:
        table: Path of the table, as in `tables`.
        column: Name of the column; of a member of a nested column its path, `inner/x`.
        kind: `ultralight`, `light`, `medium` or `full`, by the size of the positions.
        optlevel: How far it was sorted, from 0 to 9.
        is_dirty: Whether PyTables says that it does not belong to the values of the table.
    """

    table: str
    column: str
    kind: str
    optlevel: int
    is_dirty: bool


class CheckedIndex(NamedTuple):
    """An index of PyTables that was compared with its table.

    Attributes:
        table: Path of the table, as in `tables`.
        column: Name of the column.
        problem: Why scans do not use it; `None` if it has exactly the values of the table.
    """

    table: str
    column: str
    problem: str | None


class PyTables(ModelView):
    """A file of PyTables. `hyperslab.models.pytables.open` makes one."""

    def read(self, path: str) -> Elements:
        """Reads a node: an array, a table, or rows of variable length.

        Args:
            path: Path of the node: `group/table`.

        Returns:
            Of a table a structured array, of an array its elements, of rows of variable length a list with an array, a text or
            bytes for each row. Booleans have the dtype `bool`, times are seconds: `Time32` integers, `Time64` doubles.

        Raises:
            NotFoundError: There is no such dataset.
            UnsupportedError: The node holds pickled Python objects, which are never unpickled; `pickles` returns their bytes.

        Example:
            >>> hs.models.pytables.open("data.h5").read("detector/readout")
        """
        return self._elements(self._dataset(path))

    def _elements(self, dataset: Dataset) -> Elements:
        """The elements of a node, which may be in another file."""
        atom = _atom(dataset)
        if atom is None:
            return _as_in_pytables(np.asarray(dataset[...]), dataset.datatype)
        if atom == "object":
            raise UnsupportedError(
                "this array holds pickled Python objects, which are never unpickled; pickles() returns their bytes", dataset.file.filename, dataset.name
            )
        datatype = dataset.datatype
        item = datatype.base if datatype.class_name in ("array", "sequence") else datatype
        rows = [_as_in_pytables(np.asarray(row), item) for row in dataset[...]]
        if atom == "vlunicode":
            return ["".join(map(chr, row.tolist())) for row in rows]
        return [row.tobytes() for row in rows] if atom == "vlstring" else rows

    def pickles(self, path: str) -> list[bytes]:
        """Reads the bytes of pickled Python objects. Unpickling them runs what their author wrote; Hyperslab never does.

        Args:
            path: Path of an array of objects.

        Returns:
            The bytes of each pickle.

        Raises:
            NotFoundError: There is no such array of objects.

        Example:
            >>> hs.models.pytables.open("data.h5").pickles("objects")[0][:2]
        """
        return self._pickles(self._dataset(path))

    def _pickles(self, dataset: Dataset) -> list[bytes]:
        if _atom(dataset) != "object":
            raise NotFoundError("this is not an array of pickled objects", dataset.file.filename, dataset.name)
        return [np.asarray(row).tobytes() for row in dataset[...]]

    @property
    def indexes(self) -> list[ColumnIndex]:
        """PyTables' own indexes of columns, in the order of the tables. Scans use those of the kind `full` after `check_indexes`, or if
        the file was opened with `indexes="any"`."""
        found = []
        for table in self.tables:
            parent, _, name = table.rpartition("/")
            path = f"{parent}/_i_{name}".lstrip("/")
            if path in self.file:
                found += [ColumnIndex(table, *about) for about in _indexes(self.file[path], "", 0)]
        return found

    def check_indexes(self) -> list[CheckedIndex]:
        """Compares PyTables' own indexes with their tables. From then on, scans of this open file use those that have no problem.

        PyTables marks an index as dirty when it knows that it is out of date. Programs that change values of a table without PyTables do
        not, and nothing in an index says to which state of the table it belongs. So scans do not believe an index that was not compared,
        unless the file was opened with `indexes="any"`.

        The indexes and the columns are read as a whole. Indexes of the kinds `ultralight`, `light` and `medium`, of nested columns, and of
        text, booleans, times and enumerations are not used.

        Returns:
            The indexes of columns of tables, except nested columns.

        Raises:
            CorruptError: A table is damaged.

        Example:
            >>> view = hs.models.pytables.open("data.h5")
            >>> view.check_indexes()
            [CheckedIndex(table='detector/readout', column='energy', problem=None)]
            >>> view.table("detector/readout", "energy > 100").to_arrow()
        """
        return [CheckedIndex(*found) for native in self._natives for found in _native.check_pytables_indexes(native)]

    def _dataset(self, path: str) -> Dataset:
        found = self.file[path]
        if not isinstance(found, Dataset):
            raise NotFoundError("this is a group, not a table or an array", self.file.filename, found.name)
        return found


def _indexes(group: Node, prefix: str, depth: int) -> Iterator[tuple[str, str, int, bool]]:
    """The indexes below a group of indexes: column, kind, level and whether it is dirty."""
    if not isinstance(group, Group) or depth > _MAX_DEPTH:
        return
    for name in group:
        member = group[name]
        if not isinstance(member, Group):
            continue
        if text(member.attrs.get("CLASS", "")) != "INDEX":
            yield from _indexes(member, f"{prefix}{name}/", depth + 1)
            continue
        positions = member.get("indices")
        kind = _KINDS.get(positions.datatype.size, "unknown") if isinstance(positions, Dataset) else "unknown"
        yield prefix + name, kind, int(member.attrs.get("optlevel", 0)), bool(member.attrs.get("DIRTY", False))


def _atom(dataset: Dataset) -> str | None:
    """What the rows of a dataset of variable length hold; `None` for another dataset."""
    if "PSEUDOATOM" in dataset.attrs:
        return text(dataset.attrs["PSEUDOATOM"])
    return "" if dataset.datatype.class_name == "sequence" else None


def _as_in_pytables(values: AnyArray, datatype: _native.Datatype) -> AnyArray:
    """Values of types that PyTables stores in another form: booleans are bit fields of a byte, times of 8 bytes seconds and microseconds."""
    while datatype.class_name == "array":
        datatype = datatype.base
    if datatype.class_name == "bitfield" and datatype.size == 1:
        return values.astype(bool)
    if datatype.class_name == "time" and datatype.size == 8:
        return in_seconds(values, datatype)
    if datatype.class_name != "compound" or values.dtype.names is None:
        return values
    parts = {name: _as_in_pytables(values[name], member) for name, _, member in datatype.fields}
    if all(parts[name].dtype == values.dtype[name].base for name in parts):
        return values
    dtype = np.dtype([(name, part.dtype, part.shape[values.ndim :]) for name, part in parts.items()])
    out = np.empty(values.shape, dtype)
    for name, part in parts.items():
        out[name] = part
    return out


def text(value: AttributeValue) -> str:
    """An attribute's text."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def attribute(value: AttributeValue) -> Parsed:
    """The value of an attribute, which PyTables pickles unless it is a number or a text. It is parsed, not unpickled."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    if not isinstance(value, bytes):
        return value.item() if isinstance(value, np.generic) else value
    return parsed(value) if value.endswith(b".") else text(value)


def open(file: File | Paths, **options: Unpack[FileOptions]) -> PyTables:
    """Opens a file of PyTables.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: The file was not written by PyTables.

    Example:
        >>> hs.models.pytables.open("data.h5").tables
        ['detector/readout']
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "pytables")
    return PyTables(opened, view.name, view.certainty, view.reason)


def append(path: Path, table: str, rows: Rows) -> int:
    """Appends rows to a table of PyTables, in place. The file changes at once: after a kill or a power cut it has all of the rows or none.

    Indexes of the table are marked as out of date, as PyTables does when it does not update them itself: queries go without them until
    `Table.reindex_dirty()`.

    Args:
        path: Path of a file that no other program has open.
        table: Path of the table in the file: `group/table`.
        rows: A structured array, a mapping of columns by name, or a table of Arrow or pandas, with the columns of the table. Nested columns are
            structured arrays or mappings again. Booleans are booleans, times seconds, enumerations their numbers.

    Returns:
        The number of rows that the table has now.

    Raises:
        NotFoundError: There is no such table.
        InvalidInputError: Columns are missing or unknown, or have values that the table cannot store; the message names the column.
        UnsupportedError: The table is compressed by a filter that is not written, or the file is of a form that is not edited.
        ConflictError: Another program has the file open.

    Example:
        >>> hs.models.pytables.append("data.h5", "detector/readout", {"n": [1, 2], "ok": [True, False]})
        1002
    """
    name = "/" + table.strip("/")
    editor = _native.Editor(os.fsdecode(path), session())
    try:
        view = open(File(editor.view()))
        dataset = view._dataset(name)
        if name[1:] not in view.tables or text(dataset.attrs.get("CLASS", "")) != "TABLE":
            raise NotFoundError("this is not a table of PyTables", dataset.file.filename, name)
        values = encoded(rows, dataset.datatype)
        (count,) = dataset.shape
        total = count + len(values)
        known = np.asarray(dataset.attrs.get("NROWS", count))
        if known.shape != () or known.dtype.kind not in "iu" or int(known) != count:
            raise CorruptError(f"its attribute NROWS says {known} rows, and it has {count}", dataset.file.filename, name)
        indexes = [index for index in view.indexes if index.table == name[1:]]
        if not len(values):
            return total
        parent, _, own = name.rpartition("/")
        number, yes = dtype_encoding.of_dtype("<i8"), np.int64(1)
        file, readout = native_of(dataset)
        editor.resize(readout, [total])
        editor.write(readout, [count], [len(values)], values.tobytes())
        editor.set_attribute(readout, "NROWS", [], number, np.int64(total).tobytes())
        for index in indexes:
            _, column = file.find(f"{parent}/_i_{own}/{index.column}")
            editor.set_attribute(column, "DIRTY", [], number, yes.tobytes())
        editor.commit()
        return total
    finally:
        editor.close()
