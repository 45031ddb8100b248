"""pandas HDFStore: data frames and series in the fixed and the table format. Pickles are parsed for names and never unpickled."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ..base.errors import CorruptError, NotFoundError, ObjectNotFoundError, UnsupportedError
from ..base.extras import require
from ..base.type_aliases import FileOptions, Paths
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import required
from ..objects.group import Group
from . import pandas_fixed, pandas_table
from .pytables import PyTables, text

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Unpack

#: A data frame or a series: which one is known when it is read.
Stored: TypeAlias = "pandas.DataFrame | pandas.Series"
#: Attribute of a group that holds an object of pandas.
_TYPE = "pandas_type"
#: Readers of objects by what that attribute says.
_READERS: dict[str, Callable[[HDFStore, Group], Stored]] = {
    "frame": pandas_fixed.read_frame,
    "series": pandas_fixed.read_series,
    "frame_table": pandas_table.read_frame,
    "series_table": pandas_table.read_series,
}


class HDFStore(PyTables, Mapping[str, "Stored"]):
    """The objects of a file of pandas by their keys. `hyperslab.models.pandas.open` makes one. Needs pandas."""

    def __repr__(self) -> str:
        return f"<pandas, {len(self)} objects: {', '.join(itertools.islice(self, 10))}>" if self.file else f"<closed pandas {self.file.filename}>"

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
        return self._stored(self.file[key])

    def _stored(self, group: Group) -> Stored:
        """The data frame or series in a group, which may be in another file."""
        kind = text(group.attrs[_TYPE])
        reader = _READERS.get(kind)
        if reader is None:
            raise UnsupportedError(f"an object of pandas of type {kind}", group.file.filename, group.name)
        try:
            return reader(self, group)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, RecursionError) as error:
            message = f"the attributes and arrays of an object of pandas contradict each other: {error}"
            raise CorruptError(message, group.file.filename, group.name) from None


def open(file: File | Paths, **options: Unpack[FileOptions]) -> HDFStore:
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
