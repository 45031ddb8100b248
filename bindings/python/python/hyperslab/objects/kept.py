"""Kept: what an object of a file shows, computed once if the file cannot change."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class kept(Generic[Value]):
    """A property that is computed once for each object of a file that is open for reading, and at each look of one that is edited.

    Not `functools.cached_property`, whose lock (before Python 3.12) all objects of a class share: a child that was forked
    while another thread held it would wait forever."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    if TYPE_CHECKING:
        # Not at run time: a class with it is asked even if the object has a value of its own.
        def __set__(self, owner: object, value: Value) -> None: ...

    @overload
    def __get__(self, owner: None, kind: type) -> kept[Value]: ...

    @overload
    def __get__(self, owner: object, kind: type) -> Value: ...

    def __get__(self, owner: Any, kind: type) -> kept[Value] | Value:
        if owner is None:
            return self
        value = self._compute(owner)
        if owner._backend.is_fixed:
            # Another thread may compute it, too; the values are equal.
            owner.__dict__[self._name] = value
        return value
