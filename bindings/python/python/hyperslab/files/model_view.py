"""Model view: what a file means in a data model, as tables and arrays. `File.models` lists those that are recognized."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .. import _native
from ..base.errors import InternalError, InvalidInputError
from ..base.type_aliases import Condition, JsonObject, TableOptions
from ..tables.table import Table
from . import model_contents

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack


#: In a view, `_native` is its file.
NativeFile = _native.File


class Tables(Protocol):
    """The part of an open file that a view needs."""

    _file: _native.File

    def table(self, path: str | None = None, *, model: str | None = None, **options: Any) -> Table: ...


class ModelArray(NamedTuple):
    """An array that means something in a model.

    Attributes:
        name: Its name in the model.
        step: The step that it belongs to, if the model has steps.
        path: Path of the dataset: `f[array.path]` is the dataset.
        shape: Its shape.
    """

    name: str
    step: int | None
    path: str
    shape: tuple[int, ...]


class Problem(NamedTuple):
    """What contradicts a model: the path of an object, and the message."""

    object: str
    message: str


class ModelView:
    """A file, or a set of files, as a data model sees it. What it says holds for all files of a set.

    Attributes:
        file: The open file or set of files.
        name: The name of the model, for `File.table(..., model=name)`.
        certainty: How sure the model is that the file is one of its files: `certain`, `likely` or `possible`.
        reason: Why.
    """

    def __init__(self, file: Any, name: str, certainty: str, reason: str) -> None:
        self.file, self.name, self.certainty, self.reason = file, name, certainty, reason

    @property
    def _native(self) -> _native.File:
        native: _native.File = self.file._backend.native
        return native

    @property
    def _natives(self) -> list[NativeFile]:
        return [file._backend.native for file in self.file.files]

    @property
    def tables(self) -> list[str]:
        """The names of the tables that all files have, the most important first. `omitted` names those that only some files have."""
        first, *others = [_native.model_tables(native, self.name) for native in self._natives]
        return [name for name in first if all(name in names for names in others)]

    @property
    def arrays(self) -> list[ModelArray]:
        """The arrays that mean something in the model; for several files, the arrays of one file after the other."""
        return [array for _, arrays in self.arrays_by_file() for array in arrays]

    def arrays_by_file(self) -> Iterator[tuple[Any, list[ModelArray]]]:
        """The arrays of each file.

        Returns:
            Each open file with its arrays, in order.

        Example:
            >>> [(file.filename, len(arrays)) for file, arrays in f.models[0].arrays_by_file()]
            [('run.h5part', 6)]
        """
        for file in self.file.files:
            found = _native.model_arrays(file._file, self.name)
            yield file, [ModelArray(array.name, array.step, array.path, tuple(array.shape)) for array in found]

    @property
    def omitted(self) -> dict[str, str]:
        """The objects that are in none of the tables and arrays, and why: `{"/notes": "is not a step"}`; for several files, the objects of all files."""
        natives = self._natives
        found = {name: reason for native in natives for name, reason in _native.model_omitted(native, self.name)}
        if len(natives) > 1:
            whole = set(self.tables)
            owners: dict[str, list[str]] = {}
            for native in natives:
                for name in _native.model_tables(native, self.name):
                    owners.setdefault(name, []).append(native.path)
            found |= {name: f"is a table of {len(paths)} of {len(natives)} files, such as {paths[0]}" for name, paths in owners.items() if name not in whole}
        return found

    @property
    def facts(self) -> JsonObject:
        """What the file says of itself beyond tables and arrays: settings, descriptions and units; of several files those that are equal in all.

        Empty for models without such facts.
        """
        first, *others = [json.loads(_native.model_facts(native, self.name)) for native in self._natives]
        return {name: fact for name, fact in first.items() if all(name in other and other[name] == fact for other in others)}

    def contents(self) -> pa.Table:
        """Lists the tables and arrays of the model, from metadata.

        Returns:
            A table with a row for each table and each array: `kind` (`table` or `array`), `name`, `path` (what
            `File.table` and SQL take: an array of several steps has a `*` for their numbers), `rows` of a table, `shape` of an array (null for
            an extent that differs between steps or files), `steps` (in how many steps an array is), `columns` of a table, `units` (one for each
            column, or one for an array; null if there is none), and `problem` if it cannot be planned.

        Raises:
            CorruptError: The file contradicts the model so far that its tables cannot be listed; the message names the object.

        Example:
            >>> f.models[0].contents().to_pandas()[["kind", "name", "rows", "columns"]]
        """
        return model_contents.contents(self)

    def table(self, name: str, where: Condition | None = None, **options: Unpack[TableOptions]) -> Table:
        """Plans a scan of one of the model's tables. Planning reads metadata only.

        Args:
            name: One of `tables`.
            where: A condition, as for `File.table`.
            options: Other arguments of `File.table`.

        Returns:
            A planned scan; nothing but metadata has been read.

        Raises:
            NotFoundError: There is no such table or column.
            CorruptError: The file contradicts the model; the message names the object.

        Example:
            >>> f.models[0].table("particles", "step = 3").to_pandas()
        """
        table: Table = self.file.table(name, where, model=self.name, **options)
        return table

    def validate(self) -> list[Problem]:
        """Finds what contradicts the model, from metadata and small arrays that say what others mean.

        Returns:
            Each problem with the path of its object, and of several files with the file. If there is none, every table can be planned.

        Example:
            >>> f.models[0].validate()
            []
        """
        natives = self._natives
        found = [(native.path, *problem) for native in natives for problem in _native.model_problems(native, self.name)]
        return [Problem(object, f"{message} (in {path})" if len(natives) > 1 else message) for path, object, message in found]

    def __repr__(self) -> str:
        return f"<{self.name}, {self.certainty}: {self.reason}>"

    def __str__(self) -> str:
        return model_contents.as_text(self) if self.file else repr(self)

    def _repr_html_(self) -> str:
        return model_contents.as_html(self) if self.file else html.escape(repr(self))


#: How sure a model is, from the least.
_CERTAINTIES = ("possible", "likely", "certain")


def recognized(file: Any) -> list[ModelView]:
    """The models that recognize a file, or all files of a set, the surest first. A model is as sure of a set as of the file it is least sure of."""
    natives = [one._backend.native for one in file.files]
    found = _native.recognize_models(natives[0])
    least = {one.model: (_CERTAINTIES.index(one.certainty), one.reason) for one in found}
    for native in natives[1:]:
        # Files that no model recognizes are not looked through.
        if not least:
            break
        own = {one.model: (_CERTAINTIES.index(one.certainty), one.reason) for one in _native.recognize_models(native)}
        least = {name: min(known, own[name], key=lambda sure: sure[0]) for name, known in least.items() if name in own}
    ordered = sorted(least.items(), key=lambda item: -item[1][0])
    return [ModelView(file, name, _CERTAINTIES[sure], reason) for name, (sure, reason) in ordered]


def required(file: Any, name: str) -> ModelView:
    """The view of one model. `InvalidInputError` if the file, or one of a set, is not recognized as this model."""
    views = recognized(file)
    for view in views:
        if view.name == name:
            return view
    for one in file.files:
        names = [found.model for found in _native.recognize_models(one._file)]
        if name not in names:
            found = f"it is recognized as {', '.join(names)}" if names else "no data model is recognized in it"
            raise InvalidInputError(f"this file is not recognized as {name}; {found}", one.filename)
    raise InternalError(f"no file of {len(file.files)} is the one that {name} does not recognize")
