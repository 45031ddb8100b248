"""Links: names that refer to other names, in the same file or in another."""

from __future__ import annotations

import os
from typing import Any

from ..base.type_aliases import Path
from ..base.visible import visible


class SoftLink:
    """A link to a path of the same file.

    Args:
        path: The path; it need not exist.

    Example:
        >>> f["latest"] = hs.SoftLink("/run/3")
    """

    def __init__(self, path: str) -> None:
        self._path = path

    @property
    def path(self) -> str:
        """The path."""
        return self._path

    def __repr__(self) -> str:
        return f"<soft link to {visible(self.path)}>"


class ExternalLink:
    """A link to a path of another file.

    Args:
        file: Path of the other file.
        path: The path in it; neither need exist.

    Example:
        >>> f["grid"] = hs.ExternalLink("grid.h5", "/cells")
    """

    def __init__(self, file: Path, path: str) -> None:
        self._filename, self._path = os.fsdecode(file), path

    @property
    def file(self) -> str:
        """Path of the other file."""
        return self._filename

    @property
    def filename(self) -> str:
        """The other file, as h5py calls it."""
        return self._filename

    @property
    def path(self) -> str:
        """The path in it."""
        return self._path

    def __repr__(self) -> str:
        return f"<external link to {visible(self.path)} in {visible(self.file)}>"


class HardLink:
    """Another name of the object at a path of the same file.

    Args:
        path: Path of the object; `None` in what `Group.get(..., getlink=True)` returns, because all names of an object are equal.

    Example:
        >>> f["y"] = hs.HardLink("/x")
    """

    def __init__(self, path: str | None = None) -> None:
        self.path = path

    def __repr__(self) -> str:
        return "<hard link>" if self.path is None else f"<hard link to {visible(self.path)}>"


def as_ours(value: Any) -> Any:
    """Converts links of h5py; returns other values unchanged."""
    if type(value).__module__.partition(".")[0] != "h5py":
        return value
    kind = type(value).__name__
    if kind == "SoftLink":
        return SoftLink(value.path)
    return ExternalLink(value.filename, value.path) if kind == "ExternalLink" else value
