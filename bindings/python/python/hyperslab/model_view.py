"""Model view: what a file means in a data model, as tables and arrays. `File.models` lists those that are recognized."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Protocol

from . import _native
from .errors import InvalidInputError
from .tables.table import Table


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
    """A file as a data model sees it.

    Attributes:
        file: The open file.
        name: The name of the model, for `File.table(..., model=name)`.
        certainty: How sure the model is that the file is one of its files: `certain`, `likely` or `possible`.
        reason: Why.
    """

    def __init__(self, file: Any, name: str, certainty: str, reason: str) -> None:
        self.file, self.name, self.certainty, self.reason = file, name, certainty, reason

    @property
    def _native(self) -> _native.File:
        native: _native.File = self.file._file
        return native

    @property
    def tables(self) -> list[str]:
        """The names of the tables, the most important first."""
        return _native.model_tables(self._native, self.name)

    @property
    def arrays(self) -> list[ModelArray]:
        """The arrays that mean something in the model."""
        found = _native.model_arrays(self._native, self.name)
        return [ModelArray(array.name, array.step, array.path, tuple(array.shape)) for array in found]

    @property
    def omitted(self) -> dict[str, str]:
        """The objects that are in none of the tables and arrays, and why: `{"/notes": "is not a step"}`."""
        return dict(_native.model_omitted(self._native, self.name))

    @property
    def facts(self) -> dict[str, Any]:
        """What the file says of itself beyond tables and arrays: settings, descriptions and units; empty for models without such facts."""
        facts: dict[str, Any] = json.loads(_native.model_facts(self._native, self.name))
        return facts

    def table(self, name: str, where: Any = None, **options: Any) -> Table:
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
        """Finds what contradicts the model, from metadata.

        Returns:
            Each problem with the path of its object; none if every table can be planned.

        Example:
            >>> f.models[0].validate()
            []
        """
        return [Problem(object, message) for object, message in _native.model_problems(self._native, self.name)]

    def __repr__(self) -> str:
        return f"<{self.name}, {self.certainty}: {self.reason}>"


def recognized(file: Any) -> list[ModelView]:
    """The models that recognize a file, the surest first."""
    return [ModelView(file, found.model, found.certainty, found.reason) for found in _native.recognize_models(file._file)]


def required(file: Any, name: str) -> ModelView:
    """The view of one model. `InvalidInputError` if the file is not recognized as this model."""
    views = recognized(file)
    for view in views:
        if view.name == name:
            return view
    found = f"it is recognized as {', '.join(view.name for view in views)}" if views else "no data model is recognized in it"
    raise InvalidInputError(f"this file is not recognized as {name}; {found}", file.files[0].filename)
