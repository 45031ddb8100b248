"""New datatype: a committed datatype of a file that is being written."""

from __future__ import annotations

from typing import Any

from ..objects.attributes import Attributes
from .new_attributes import new_attributes


class NewDatatype:
    """A committed datatype of a file that is being written: `f["t"] = np.dtype(…)`, then `create_dataset("x", (3,), f["t"])`."""

    def __init__(self, writer: Any, path: str, dtype: Any) -> None:
        self._writer, self._path, self.dtype = writer, path, dtype

    @property
    def name(self) -> str:
        """The absolute path."""
        return "/" + self._path.strip("/")

    @property
    def attrs(self) -> Attributes:
        """The attributes."""
        return new_attributes(self._writer, self._path)

    def __repr__(self) -> str:
        return f"<new datatype {self.name} {self.dtype}>"
