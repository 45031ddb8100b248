"""Paths: names of objects in a file."""

from __future__ import annotations

from ..base.errors import InvalidTypeError, ObjectNotFoundError


def path_text(path: object) -> str:
    """A path as text; bytes are UTF-8, as in h5py."""
    if isinstance(path, bytes):
        path = path.decode("utf-8", "surrogateescape")
    if not isinstance(path, str):
        raise InvalidTypeError(f"a group is indexed by the path of a member, not by {path!r}")
    if not path:
        raise ObjectNotFoundError("an empty path: give the name of a member, or '/' for the root group")
    return path


def normal(path: str) -> str:
    """An absolute path without empty parts and dots."""
    # Almost every path is like this already, and each look-up comes here.
    if path[0] == "/" and path[-1] != "/" and "//" not in path and "/." not in path:
        return path
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))
