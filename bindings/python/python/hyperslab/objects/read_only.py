"""Read-only: h5py's names for changing files, which say what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .. import _native
from ..errors import READ_ONLY, ReadOnlyError

#: h5py's names that change a group, a dataset, and attributes.
GROUP_NAMES = (
    "build_virtual_dataset",
    "clear",
    "copy",
    "create_dataset",
    "create_dataset_like",
    "create_group",
    "create_virtual_dataset",
    "move",
    "pop",
    "popitem",
    "require_dataset",
    "require_group",
    "setdefault",
    "update",
)
DATASET_NAMES = ("make_scale", "resize", "write_direct")
ATTRIBUTE_NAMES = ("clear", "create", "modify", "pop", "popitem", "setdefault", "update")


def _refusal(name: str) -> Callable[..., NoReturn]:
    """A method that raises `ReadOnlyError`."""

    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        raise ReadOnlyError(f"{name}: {READ_ONLY}", place(self), getattr(self, "name", None))

    refuse.__name__, refuse.__qualname__ = name, name
    refuse.__doc__ = "Raises `ReadOnlyError`: the file is open for reading."
    return refuse


def place(owner: Any) -> str | None:
    """Path of the file that an object belongs to."""
    file = getattr(owner, "_file", None)
    return file.path if isinstance(file, _native.File) else None


def refuse_changes(*names: str) -> Any:
    """A class decorator that adds methods of these names, which raise `ReadOnlyError`."""

    def decorate(kind: type) -> type:
        for name in names:
            setattr(kind, name, _refusal(name))
        return kind

    return decorate
