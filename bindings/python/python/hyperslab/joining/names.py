"""Names of objects besides the first one of each: further hard links, soft links and external links. A merged file has those that all files have."""

from __future__ import annotations

from ..base.errors import ConflictError
from ..files.file import File
from ..objects.links import ExternalLink, HardLink, SoftLink
from ..objects.native_objects import native_of, object_at
from ..objects.node import Node


class Names:
    """The further names of the first file.

    Attributes:
        left_out: Paths of the soft and external links that are others in another file, or are not there.
    """

    def __init__(self, file: File, objects: dict[str, Node]) -> None:
        first_paths = {native_of(found)[1]: path for path, found in objects.items()}
        #: Further names of objects, and the first name of each.
        self._hard: dict[str, str] = {}
        self._others: dict[str, SoftLink | ExternalLink] = {}
        self.left_out: set[str] = set()
        file.visititems_links(lambda path, link: self._add(file, f"/{path}", link, first_paths))

    def _add(self, file: File, path: str, link: SoftLink | ExternalLink | HardLink, first_paths: dict[int, str]) -> None:
        if not isinstance(link, HardLink):
            self._others[path] = link
            return
        first = first_paths.get(_number(file, path))
        if first is not None and first != path:
            self._hard[path] = first

    def differing(self, file: File, first: str) -> set[str]:
        """The soft and external links that another file does not have like that.

        Raises:
            ConflictError: A further name of an object is not a name of the same one there.
        """
        for path, target in self._hard.items():
            if path not in file:
                raise ConflictError(f"there is no {path}, which {first} has", file.filename, path)
            if _number(file, path) != _number(file, target):
                raise ConflictError(f"{path} is another object than {target}, and the same one in {first}", file.filename, path)
        return {path for path, link in self._others.items() if _target(file.get(path, getlink=True)) != _target(link)}


def _number(file: File, path: str) -> int:
    return native_of(object_at(file, path))[1]


def _target(link: SoftLink | ExternalLink | HardLink | None) -> tuple[str | None, ...]:
    if isinstance(link, SoftLink):
        return "soft", link.path
    return ("external", link.file, link.path) if isinstance(link, ExternalLink) else ("none",)
