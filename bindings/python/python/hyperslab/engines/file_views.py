"""File views: the tables of a file that SQL can name, each planned when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..base.errors import CorruptError, InvalidInputError, LimitExceededError, NotFoundError, UnsupportedError
from ..files.file import File
from ..models.frames import FrameTable, frame_names, is_frame
from ..models.grid_views import polygon_tables
from ..tables.table import Table
from .frame_view import FrameView
from .polygon_view import PolygonView
from .views import Counted, Names, View, names_of, object_paths

#: Why an object has no view: an error of planning its table.
REFUSALS = (InvalidInputError, UnsupportedError, CorruptError, LimitExceededError, NotFoundError)
_WILDCARD = re.compile(r"[*?]")


class NamedTable(NamedTuple):
    """A view's name as SQL shows it, its table, and the view itself."""

    name: str
    table: Counted
    view: View


class FileViews:
    """The views of an open file: its datasets and groups, and the tables of the data models that recognize it.

    Attributes:
        names: What each name stands for.
        tables: The tables that were planned, by lower-case name.
        views: Their views.
        refused: Why a name has no view, by lower-case name.
        omitted: Members of groups that are not columns, with the reason.
    """

    def __init__(self, file: File) -> None:
        self.file = file
        self.names: Names = names_of(object_paths(file.files[0]))
        models = [model for model in file.models if model.certainty != "possible"]
        for model in reversed(models):
            for table in model.tables:
                # As the core finds names: `obs` is a data frame, not a group.
                self.names.paths[table.lower()] = (table, table)
        # An object or a short name of the file comes before what is derived.
        self._polygons = {table.lower(): make for table, make in polygon_tables(file, models).items() if table.lower() not in self.names.paths}
        self.names.paths.update({table: (table, table) for table in self._polygons})
        self._frames = {name for name in frame_names(file) if is_frame(file, name)}
        self.names.paths.update({name.lower(): (name, name) for name in self._frames})
        self.tables: dict[str, Table] = {}
        self.views: list[View] = []
        self.refused: dict[str, str] = {}
        self.omitted: dict[str, str] = {}

    def find(self, written: str) -> NamedTable | None:
        """The view of a name as a query writes it, with wildcards or without.

        Args:
            written: A name; `Step#*/x` is the rows of all objects that match.

        Returns:
            The view, or `None` if there is none, in which case `refused` may say why.
        """
        word = written.lower()
        if word not in self.names.paths and _WILDCARD.search(written):
            self.names.paths[word] = (written, written.lstrip("/"))
        if word not in self.names.paths:
            return None
        name, path = self.names.paths[word]
        try:
            view = self._view(word, path)
            if isinstance(view.table, Table) and not isinstance(view, FrameView):
                self.tables[word] = view.table
        except REFUSALS as error:
            self.refused[word] = error.message
            return None
        self.views.append(view)
        self.omitted |= {member: f"in {path} it {reason}" for member, reason in view.table.omitted.items()}
        return NamedTable(name, view.table, view)

    def _view(self, word: str, path: str) -> View:
        if word in self._polygons:
            return PolygonView(self._polygons[word]())
        if path in self._frames:
            return FrameView(FrameTable(self.file, path))
        return View(self.file.table(path, omitted="ignore"))

    def all(self) -> Iterator[NamedTable]:
        """Every view once, by its longest name."""
        for name, path in list(self.names.paths.values()):
            if name.rsplit("/", 1)[-1] == name != path:
                continue  # a short name of a view that is listed by its path
            found = self.find(name)
            if found is not None:
                yield found
