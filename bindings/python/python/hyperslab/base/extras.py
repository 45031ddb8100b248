"""Packages that only some features need: extras, and what takes long to import. Reading and writing files needs none of them."""

from __future__ import annotations

import atexit

# It registers with `threading`, which refuses that once the process ends: then a module that a daemon thread imports would fail.
import concurrent.futures.thread  # noqa: F401
import contextlib
import importlib
import os
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .errors import MissingExtraError

#: How long the end of the process, or a fork, waits for imports of other threads at most.
MAX_WAIT_SECONDS = 5.0

_lock = threading.RLock()
_is_ending = False


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Around the import of a module of others: if the process ends while a daemon thread runs its beginning, the process aborts. Its end
    waits for such imports. None begins after it, and the thread does not go on to what it imported for. A fork waits for them, too."""
    with _lock:
        yield
    if _is_ending and threading.current_thread().daemon:
        threading.Event().wait()


def _end() -> None:
    global _is_ending
    _is_ending = True
    # Not released: other threads stop at their next import.
    _lock.acquire(timeout=MAX_WAIT_SECONDS)


class _Fork(threading.local):
    is_awaited = False


_fork = _Fork()


def _wait_for_imports() -> None:
    """Before a fork: a module that another thread was importing stays half imported in the child, and its lock is never released."""
    _fork.is_awaited = not _is_ending and _lock.acquire(timeout=MAX_WAIT_SECONDS)


def _go_on() -> None:
    if _fork.is_awaited:
        _lock.release()


def _renew() -> None:
    """A child has no thread that would release the lock."""
    global _lock
    _lock = threading.RLock()


atexit.register(_end)
os.register_at_fork(before=_wait_for_imports, after_in_parent=_go_on, after_in_child=_renew)


def late(module: str) -> ModuleType:
    """Imports a module of the package that is above the caller's, or that few programs need.

    Args:
        module: Its name in the package: `engines.sql`.

    Returns:
        The module.

    Example:
        >>> late("engines.sql").sql("select 1")
    """
    with importing():
        return importlib.import_module(f"hyperslab.{module}")


class LateModule:
    """A module of another package that is imported when one of its names is used: `pa = LateModule("pyarrow")`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        with importing():
            value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)
        return value


def require(feature: str, extra: str, *packages: str) -> None:
    """Checks that the packages of an extra are installed.

    Args:
        feature: What needs them, the beginning of the message: `SQL`.
        extra: Name of the extra in `pip install 'hyperslab[extra]'`.
        packages: Names by which the packages are imported.

    Raises:
        MissingExtraError: One is not installed.

    Example:
        >>> require("SQL", "sql", "duckdb")
    """
    for package in packages:
        try:
            with importing():
                importlib.import_module(package)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != package.partition(".")[0]:
                raise  # the package is there, and something that it needs is not
            raise MissingExtraError(f"{feature} needs the package {package}, which is not installed: pip install 'hyperslab[{extra}]'", name=package) from None
