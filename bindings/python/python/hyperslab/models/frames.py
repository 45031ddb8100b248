"""Frames: the data frames of a file of pandas as tables of Arrow, which is what doors show instead of pandas' own arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..files.file import File
from ..objects.group import Group
from .pandas import HDFStore, Stored
from .pytables import text

if TYPE_CHECKING:
    import pyarrow as pa

#: Attribute of the group of an object of pandas, and of the root of a file of PyTables.
_TYPE, _VERSION = "pandas_type", "PYTABLES_FORMAT_VERSION"
_FORMATS = {"frame": "data frame", "series": "series", "frame_table": "data frame", "series_table": "series"}


def frame_names(file: File) -> dict[str, str]:
    """The data frames and series of a file by their names, each with what it is.

    Args:
        file: An open file.

    Returns:
        The names; none for other files than those of pandas, and for several files.

    Example:
        >>> frame_names(hs.open("store.h5"))
        {'tab': 'data frame'}
    """
    if len(file.files) > 1 or _VERSION not in file.attrs:
        return {}
    store = _store(file)
    return {name: _FORMATS.get(text(file[name].attrs[_TYPE]), "object") for name in store}


def is_frame(file: File, name: str) -> bool:
    """Whether a name is that of a data frame or series. Looks at one object.

    Args:
        file: An open file.
        name: The name.

    Returns:
        Whether it is.

    Example:
        >>> is_frame(hs.open("store.h5"), "tab")
        True
    """
    path = name.strip("/")
    if len(file.files) > 1 or not path or _VERSION not in file.attrs or path not in file:
        return False
    found = file[path]
    return isinstance(found, Group) and _TYPE in found.attrs


class FrameTable:
    """A data frame with the methods of a `Table` that doors call. It was read as a whole: pandas' formats have no rows of their own.

    Attributes:
        rows: Its rows. The levels of its index are the first columns, unless these are only the numbers of rows.
    """

    #: As of a table.
    model, other_meaning = "pandas", None

    def __init__(self, file: File, name: str) -> None:
        """Reads an object of a file of pandas.

        Args:
            file: An open file of pandas.
            name: The name of the object.

        Raises:
            MissingExtraError: pandas is not installed.
            CorruptError: The file contradicts what pandas writes.
        """
        self.rows = _rows(_store(file)[name.strip("/")])

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return self.rows.schema

    @property
    def omitted(self) -> dict[str, str]:
        """Nothing: all columns are shown."""
        return {}

    def count(self) -> int:
        """Counts the rows.

        Returns:
            Their number.

        Example:
            >>> FrameTable(hs.open("store.h5"), "tab").count()
        """
        return int(self.rows.num_rows)

    def head(self, n: int = 5) -> pa.Table:
        """The first rows.

        Args:
            n: How many.

        Returns:
            At most `n` rows.

        Example:
            >>> FrameTable(hs.open("store.h5"), "tab").head(3)
        """
        return self.rows.slice(0, n)

    def batches(self) -> pa.RecordBatchReader:
        """The rows, batch by batch.

        Returns:
            A reader of Arrow.

        Example:
            >>> FrameTable(hs.open("store.h5"), "tab").batches().read_all()
        """
        return self.rows.to_reader()


def _rows(stored: Stored) -> pa.Table:
    import pandas
    import pyarrow as pa

    frame = stored.to_frame("values" if stored.name is None else stored.name) if isinstance(stored, pandas.Series) else stored
    # pandas stores the numbers of rows, too, as an index like others.
    if frame.index.names != [None] or not frame.index.equals(pandas.RangeIndex(len(frame))):
        names = [f"index_{level}" if given is None else given for level, given in enumerate(frame.index.names)]
        frame = frame.reset_index(names=["index"] if frame.index.names == [None] else names, allow_duplicates=True)
    frame.columns = [str(label) for label in frame.columns]
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()


def _store(file: File) -> HDFStore:
    return HDFStore(file, "pytables", "certain", "the root has PYTABLES_FORMAT_VERSION")
