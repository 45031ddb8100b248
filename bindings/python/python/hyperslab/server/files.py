"""Files: each file of the folder as a schema, opened when a query names it, and again when it has changed."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial

from ..base.errors import InvalidInputError, MissingFileError, NotFoundError
from ..base.inside import path_inside
from ..base.stamps import stamp_of
from ..engines.file_views import FileViews, NamedTable
from ..files.file import File
from ..files.file import open as open_file
from ..sources.folders import files_below, is_shown

#: Files that are kept open.
_OPEN = 64


class SchemaFile:
    """A file and its views; one thread at a time plans them.

    Args:
        name: Name of the schema.
        path: Path of the file.
        stamp: What changes if the file does.
        opener: Opens the file when its views are asked for.
    """

    def __init__(self, name: str, path: str, stamp: object, opener: Callable[[], File] | None = None) -> None:
        self.name, self.path, self.stamp = name, path, stamp
        self._opener = opener or partial(open_file, path)
        self._lock = threading.Lock()
        self._views: FileViews | None = None

    def _planned(self) -> FileViews:
        if self._views is None:
            self._views = FileViews(self._opener())
        return self._views

    def find(self, table: str) -> NamedTable:
        """The table of a name as a query writes it.

        Raises:
            NotFoundError: There is none; the message says why, or what there is.
        """
        with self._lock:
            views = self._planned()
            found = views.find(table)
        if found is not None:
            return found
        reason = views.refused.get(table.lower())
        if reason is None and table.lower() in views.names.ambiguous:
            reason = f"it may be {', '.join(views.names.ambiguous[table.lower()][:5])}"
        if reason is None:
            reason = (
                f"there are {', '.join([name for name, _ in views.names.paths.values()][:5])} and others" if views.names.paths else "the file has no arrays"
            )
        raise NotFoundError(f"there is no table '{table}' in '{self.name}': {reason}")

    def tables(self) -> Iterator[NamedTable]:
        """Every table once, by its longest name."""
        with self._lock:
            names = [name for name, path in self._planned().names.paths.values() if name.rsplit("/", 1)[-1] != name or name == path]
        for name in names:
            with self._lock:
                found = self._planned().find(name)
            if found is not None:
                yield found


class Files:
    """The files of a folder, by their names relative to it.

    Args:
        folder: The folder; files that come later are served, too.

    Raises:
        MissingFileError: There is no such folder.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.path.realpath(os.fspath(folder))
        if not os.path.isdir(self.folder):
            raise MissingFileError("No such folder", os.fspath(folder))
        self._lock = threading.Lock()
        self._opened: OrderedDict[str, SchemaFile] = OrderedDict()

    def names(self) -> Iterator[str]:
        """The relative names of all files, in order."""
        for path in files_below(self.folder):
            yield os.path.relpath(path, self.folder).replace(os.sep, "/")

    def open(self, written: str) -> SchemaFile:
        """The file of a schema's name.

        Args:
            written: The relative name; without its suffix if only one file of its folder is called so.

        Raises:
            NotFoundError: There is no such file in the folder.
            InvalidInputError: The name stands for several.
        """
        path = path_inside(self.folder, written)
        if path is None or not is_shown(path):
            path = self._without_suffix(written)
        name = os.path.relpath(path, self.folder).replace(os.sep, "/")
        stamp = stamp_of(path)
        with self._lock:
            known = self._opened.get(path)
            if known is None or known.stamp != stamp:
                known = self._opened[path] = SchemaFile(name, path, stamp)
            self._opened.move_to_end(path)
            while len(self._opened) > _OPEN:
                self._opened.popitem(last=False)
        return known

    def _without_suffix(self, written: str) -> str:
        folder, _, stem = written.rpartition("/")
        above = os.path.realpath(os.path.join(self.folder, folder))
        is_inside = not ("\0" in written or os.path.isabs(written) or ".." in written.split("/")) and os.path.commonpath([above, self.folder]) == self.folder
        entries = sorted(os.listdir(above)) if is_inside and stem and not stem.startswith(".") and os.path.isdir(above) else []
        alike = [path for entry in entries if os.path.splitext(entry)[0] == stem and (path := path_inside(above, entry)) is not None and is_shown(path)]
        if not alike:
            raise NotFoundError(f"there is no file '{written}' in the folder")
        if len(alike) > 1:
            raise InvalidInputError(f"'{written}' may be {', '.join(os.path.basename(path) for path in alike[:5])}: add the suffix")
        return alike[0]
