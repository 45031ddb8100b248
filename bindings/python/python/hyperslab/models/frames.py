"""Frames: the data frames of a file of pandas as tables of Arrow, which is what doors show instead of pandas' own arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..base.errors import ObjectNotFoundError, UnsupportedError
from ..files.file import File, is_of_pytables
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..tables import html
from ..tables.table import Table
from .pandas import HDFStore, Stored
from .pytables import text

if TYPE_CHECKING:
    import pyarrow as pa

#: Attribute of the group of an object of pandas.
_TYPE = "pandas_type"
#: Types of columns that pandas stores as they are.
_PLAIN = frozenset({"bool", *(f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64))})
#: A pickled None.
_NONE = "N."
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
    if not is_of_pytables(file):
        return {}
    store = _store(file)
    return {name: _FORMATS.get(text(file[name].attrs[_TYPE]), "object") for name in store}


def is_frame(file: File, name: str) -> bool:
    """Whether a name is that of a data frame or series whose arrays are not its columns: blocks of columns, pickles, dates as counts,
    missing texts. A table of numbers is its own frame, and is read like other tables. Looks at one object.

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
    if not path or not is_of_pytables(file) or path not in file:
        return False
    found = file[path]
    return isinstance(found, Group) and _TYPE in found.attrs and not _shows_itself(found)


def _shows_itself(group: Group) -> bool:
    """Whether the columns of a table are those of its frame, as stored."""
    table = group.get("table")
    if not isinstance(table, Dataset) or table.dtype.names is None:
        return False
    attrs = table.attrs
    is_index_plain = text(attrs.get("index_kind", "")) in ("integer", "float")
    columns = [name for name in table.dtype.names if name != "index"]
    are_plain = all(text(attrs.get(f"{name}_meta", _NONE)) == _NONE and text(attrs.get(f"{name}_dtype", "")) in _PLAIN for name in columns)
    return is_index_plain and are_plain and not any(name.startswith("values_block_") for name in columns)


class FrameTable(Table):
    """A data frame as a table. It was read as a whole, because pandas' formats have no rows of their own; so it has no conditions, plans
    and splits.

    Attributes:
        rows: Its rows. The levels of its index are the first columns, unless these are only the numbers of rows.
    """

    #: As of a table.
    model, other_meaning = "pandas", None

    def __init__(self, file: File, name: str, columns: Sequence[str] | None = None, limit: int | None = None) -> None:
        """Reads an object of a file of pandas.

        Args:
            file: An open file of pandas.
            name: The name of the object.
            columns: Names of the columns; by default all.
            limit: Maximum number of rows.

        Raises:
            MissingExtraError: pandas is not installed.
            NotFoundError: There is no such column.
            CorruptError: The file contradicts what pandas writes.
        """
        self._file, self._name = file.filename, name.strip("/")
        rows = _rows(_store(file)[self._name]).slice(0, limit)
        for column in columns or ():
            if column not in rows.column_names:
                raise ObjectNotFoundError(f"there is no column {column!r}; there are {', '.join(rows.column_names)}", self._file, self._name)
        self.rows = rows if columns is None else rows.select(list(columns))

    def __reduce__(self) -> NoReturn:
        """Refused: a frame goes to another process as its rows."""
        self._refuse("goes to no other process: its rows do")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrameTable) and bool(self.rows.equals(other.rows))

    def __hash__(self) -> int:
        return hash((self._file, self._name))

    def __getattr__(self, name: str) -> NoReturn:
        # The plan and the request that other tables have.
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse("has no plan, so it has no conditions, splits and sums")

    def _refuse(self, what: str) -> NoReturn:
        raise UnsupportedError(f"a data frame of pandas {what}; hyperslab.sql queries it, to_pandas() has it", self._file, self._name)

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
            >>> hs.open("store.h5").table("tab").count()
        """
        return int(self.rows.num_rows)

    def head(self, n: int = 5) -> pa.Table:
        """The first rows.

        Args:
            n: How many.

        Returns:
            At most `n` rows.

        Example:
            >>> hs.open("store.h5").table("tab").head(3)
        """
        return self.rows.slice(0, n)

    def to_arrow(self) -> pa.Table:
        """All rows.

        Returns:
            The rows as one table.

        Example:
            >>> hs.open("store.h5").table("tab").to_arrow()
        """
        return self.rows

    def batches(self) -> Any:
        """The rows, batch by batch.

        Returns:
            A reader of Arrow.

        Example:
            >>> hs.open("store.h5").table("tab").batches().read_all()
        """
        return self.rows.to_reader()

    def dataset(self) -> Any:
        """The rows as a dataset of pyarrow.

        Returns:
            The dataset.

        Example:
            >>> hs.open("store.h5").table("tab").dataset().head(1)
        """
        import pyarrow.dataset as ds

        return ds.dataset(self.rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.rows.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.rows.schema.__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"<Table of {self._name} (model pandas) in {self._file}>\n{self.schema.to_string()}"

    def _repr_html_(self) -> str:
        return html.of_table(self, f"{self._name} (model pandas)", [self._file], None, None)


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
