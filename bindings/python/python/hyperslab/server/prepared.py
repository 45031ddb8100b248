"""Prepared statements: queries with parameters, by random handles."""

from __future__ import annotations

import datetime
import decimal
import secrets
import threading
from collections import OrderedDict

import pyarrow as pa

from .failures import invalid
from .statements import ParameterValues, Statement

#: What values of parameters may be.
_SCALARS = (bool, int, float, str, bytes, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, type(None))


class Prepared:
    """A prepared statement, and the parameters that were bound last."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.sets: list[ParameterValues] = []

    def bind(self, rows: pa.Table) -> None:
        """Binds sets of parameters, each a row.

        Args:
            rows: As the client sent them. Parameters with names are found by the columns' names, others by their places.

        Raises:
            FlightServerError: The columns do not match the parameters.
        """
        names, self.sets = self.statement.parameters, []
        if rows.num_columns != len(names):
            raise invalid(f"the statement has {len(names)} parameters, and {rows.num_columns} were sent")
        is_named = any(not name.isdecimal() for name in names)
        if is_named and set(rows.column_names) != set(names):
            raise invalid(f"the parameters are called {', '.join(names)}, and the columns that were sent {', '.join(rows.column_names)}")
        columns = [rows.column(name if is_named else place).to_pylist() for place, name in enumerate(names)]
        for column in columns:
            for value in column:
                if not isinstance(value, _SCALARS):
                    raise invalid(f"a parameter is a {type(value).__name__}: give numbers, texts, bytes, dates or times")
        sets = [list(row) for row in zip(*columns, strict=True)]
        self.sets = [dict(zip(names, row, strict=True)) for row in sets] if is_named else list(sets)

    def bound(self) -> list[ParameterValues]:
        """The sets of parameters that an execution has.

        Raises:
            FlightServerError: There are parameters, and none were bound.
        """
        if not self.statement.parameters:
            return [None]
        if not self.sets:
            raise invalid(f"the statement has {len(self.statement.parameters)} parameters: bind them first")
        return list(self.sets)


class PreparedStatements:
    """The prepared statements of all clients.

    Args:
        limit: How many are kept; beyond that the one that was unused the longest goes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, Prepared] = OrderedDict()

    def add(self, statement: Statement) -> bytes:
        """Keeps a statement, and returns its handle."""
        handle = secrets.token_bytes(16)
        with self._lock:
            self._kept[handle] = Prepared(statement)
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)
        return handle

    def find(self, handle: bytes) -> Prepared:
        """The statement of a handle.

        Raises:
            FlightServerError: There is none: it was closed, or others came since.
        """
        with self._lock:
            found = self._kept.get(handle)
            if found is not None:
                self._kept.move_to_end(handle)
        if found is None:
            raise invalid("there is no such prepared statement: it was closed, or the server needed its place; prepare it again")
        return found

    def close(self, handle: bytes) -> None:
        """Forgets a statement, if it is there."""
        with self._lock:
            self._kept.pop(handle, None)

    def count(self) -> int:
        """How many are kept."""
        with self._lock:
            return len(self._kept)
