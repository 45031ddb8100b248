"""Missing names: a name of h5py that this package lacks is an error that names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ..base.errors import UnsupportedError


def missing_from(module: str) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module: an `AttributeError` that names what is missing."""

    def get(name: str) -> NoReturn:
        raise AttributeError(f"hyperslab.{module} has no {name!r}")

    return get


def unsupported(name: str) -> Callable[..., NoReturn]:
    """A function that raises `UnsupportedError`."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise UnsupportedError(f"h5py.{name}: it belongs to the HDF5 library, which is not there")

    refuse.__name__ = name.rpartition(".")[2]
    return refuse
