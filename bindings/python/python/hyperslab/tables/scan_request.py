"""Scan request: what a table reads. The table and the Arrow dataset of it plan their scans from one request."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from .. import _native
from ..base.arguments import check_count
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.extras import LateModule
from .constants import named_lists

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")


class ScanRequest:
    """Files, the path in them, and options of a scan; `where` is text for the core or an expression of pyarrow."""

    def __init__(self, files: _native.Files | list[_native.File], path: str, options: dict[str, Any]) -> None:
        self.files, self.path, self.options = files, path, options
        if isinstance(options.get("columns"), str):
            options["columns"] = [options["columns"]]
        where, variables = options.pop("where", None), options.pop("variables", None)
        if where is not None and not isinstance(where, str) and not hasattr(where, "to_substrait"):
            raise InvalidInputError(f'where is a {type(where).__name__}; write it as text, such as where="depth < 10", or as a pyarrow expression')
        #: The condition as text, and as an expression of pyarrow: one of them, or neither.
        self.text: str | None = where if isinstance(where, str) else None
        self.expression = None if isinstance(where, str) else where
        if variables is not None:
            options["lists"] = lists = named_lists(self.text, variables)
            if unused := variables.keys() - {name for name, _, _ in lists}:
                raise InvalidInputError(f"{sorted(unused)[0]!r} is not used after `in` in where: variables of a table are lists of constants")
        for name in ("limit", "batch_rows"):
            check_count(name, options.get(name))
        if self.expression is not None and self.limit is not None:
            raise UnsupportedError("limit with a pyarrow expression: give `where` as text")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScanRequest):
            return False
        same = (self.files, self.path, self.options, self.text) == (other.files, other.path, other.options, other.text)
        if self.expression is None or other.expression is None:
            return same and self.expression is other.expression
        return same and bool(self.expression.equals(other.expression))

    def __hash__(self) -> int:
        return hash((tuple(self.files), self.path, self.text))

    @property
    def limit(self) -> int | None:
        """Maximum number of rows."""
        limit: int | None = self.options.get("limit")
        return limit

    def plan(self, **changes: Any) -> _native.Plan:
        """A planned scan, with `changes` to the options."""
        options = {**self.options, **changes}
        if self.text is not None:
            options["where_text"] = self.text
        return _native.Plan(self.files, self.path, **options)

    def narrowed(self, condition: str) -> ScanRequest:
        """The rows for which a condition holds, too."""
        narrow = copy.copy(self)
        narrow.text = condition if self.text is None else f"({self.text}) and ({condition})"
        return narrow

    def schema(self, **changes: Any) -> pa.Schema:
        """The columns of the scan with these changes."""
        return pa.schema(self.plan(**changes))
