"""Reading: a file that is open for reading."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NoReturn

from .. import _native
from ..base.description import Description
from ..base.errors import READ_ONLY, ReadOnlyError
from .backend import Backend, Holder, Named


class Reading(Backend):
    """A file that is open for reading: what its objects show does not change."""

    mode = "r"
    is_fixed = True
    lock: contextlib.AbstractContextManager[object] = contextlib.nullcontext()

    def __init__(self, file: _native.File) -> None:
        self._file = file

    @property
    def file(self) -> _native.File:
        return self._file

    @property
    def path(self) -> str:
        return self._file.path

    @property
    def closed(self) -> bool:
        return self._file.closed

    def hold(self, node: Holder, name: str, about: Description | None) -> None:
        node._file, node._own_name = self._file, name
        node._about = self._file.describe(node._number, name) if about is None else about

    def changes(self, node: Named) -> NoReturn:
        raise ReadOnlyError(READ_ONLY, self._file.path, node.path)

    def refreshed(self, name: str) -> tuple[Backend, int]:
        file, number = self._file.reopen().find(name)
        return Reading(file), number

    def reader(self, node: Holder, make: Callable[[], _native.DatasetReader | None]) -> _native.DatasetReader | None:
        return make()

    def flush(self) -> None:
        """There is nothing to write."""

    def close(self) -> None:
        self._file.close()

    def abandon(self) -> None:
        self._file.close()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reading) and self._file == other._file

    def __hash__(self) -> int:
        return hash(self._file)

    def __reduce__(self) -> tuple[object, ...]:
        return Reading, (self._file,)
