"""Kept property: computed once for each object, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class kept_property(Generic[Value]):
    """As `functools.cached_property`, whose lock (before Python 3.12) all objects of a class share: a child that was forked
    while another thread held it would wait forever."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> kept_property[Value]: ...

    @overload
    def __get__(self, owner: object, kind: type) -> Value: ...

    def __get__(self, owner: object | None, kind: type) -> kept_property[Value] | Value:
        if owner is None:
            return self
        # Another thread may compute it, too; the values are equal.
        value = owner.__dict__[self._name] = self._compute(owner)
        return value
