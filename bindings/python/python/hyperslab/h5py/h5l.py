"""As `h5py.h5l`: links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..base.errors import InvalidInputError, ObjectNotFoundError
from ..objects.group import Group
from ..objects.links import ExternalLink, HardLink, SoftLink
from ..objects.native_objects import native_of
from ._missing import missing_from
from .names import stored, text_of

TYPE_HARD, TYPE_SOFT, TYPE_EXTERNAL = 0, 1, 64
SAME_LOC = 0

_Result = TypeVar("_Result")
_TYPES = {HardLink: TYPE_HARD, SoftLink: TYPE_SOFT, ExternalLink: TYPE_EXTERNAL}


class LinkInfo(NamedTuple):
    """What is known of a link.

    Attributes:
        type: `TYPE_HARD`, `TYPE_SOFT` or `TYPE_EXTERNAL`.
        corder_valid: Whether its group records the order of links.
        corder: The place in that order; 0 if it is not known.
        cset: The character set of the name: 0 for ASCII, 1 for UTF-8.
        u: Of a hard link the address of the object, of others the bytes of the target.
    """

    type: int
    corder_valid: bool
    corder: int
    cset: int
    u: int


class LinkProxy:
    """The links of a group."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def _link(self, name: bytes) -> Any:
        link = self._group.get(text_of(name), getlink=True)
        if link is None:
            raise ObjectNotFoundError(f"there is no link {name!r}", None, self._group.path)
        return link

    def create_hard(self, new_name: bytes, cur_loc: Any, cur_name: bytes, lcpl: object = None, lapl: object = None) -> None:
        """Gives an object one more name."""
        self._group[text_of(new_name)] = cur_loc.node_at(cur_name)

    def create_soft(self, new_name: bytes, target: bytes, lcpl: object = None, lapl: object = None) -> None:
        """Creates a link to a path."""
        self._group[text_of(new_name)] = SoftLink(text_of(target))

    def create_external(self, link_name: bytes, file_name: bytes, obj_name: bytes, lcpl: object = None, lapl: object = None) -> None:
        """Creates a link to a path of another file."""
        self._group[text_of(link_name)] = ExternalLink(text_of(file_name), text_of(obj_name))

    def get_val(self, name: bytes, lapl: object = None) -> bytes | tuple[bytes, bytes]:
        """The target of a link: a path, or a file and a path."""
        link = self._link(name)
        if isinstance(link, HardLink):
            raise InvalidInputError(f"{name!r} is a hard link, which has no target of its own")
        return (stored(link.file), stored(link.path)) if isinstance(link, ExternalLink) else stored(link.path)

    def move(self, src_name: bytes, dst_loc: Any, dst_name: bytes, lcpl: object = None, lapl: object = None) -> None:
        """Renames a link."""
        group = self._group if dst_loc == SAME_LOC else dst_loc.node
        self._group.move(text_of(src_name), f"{group.path.rstrip('/')}/{text_of(dst_name)}")

    def exists(self, name: bytes, lapl: object = None) -> bool:
        """Whether there is a link of this name, which may lead nowhere."""
        return self._group.get(text_of(name), getlink=True) is not None

    def get_info(self, name: bytes, index: int = -1, *, lapl: object = None) -> LinkInfo:
        """What is known of a link."""
        link, text = self._link(name), text_of(name)
        last = text.rstrip("/").rpartition("/")[2]
        if isinstance(link, HardLink):
            found: Any = self._group[text]
            file, number = native_of(found.id.complete())
            value = file.address(number) or 0
        else:
            value = len(stored(link.path)) + 1
        return LinkInfo(_TYPES[type(link)], False, 0, int(not last.isascii()), value)

    def visit(self, func: Callable[[bytes], _Result | None]) -> _Result | None:
        """Calls a function with the path of each link, as bytes."""
        return Group.visit_links(self._group, lambda path: func(stored(path)))

    def iterate(self, func: Callable[[bytes], _Result | None], startidx: int = 0) -> _Result | None:
        """Calls a function with the name of each link of the group, until it returns something other than `None`."""
        for name in list(map(stored, Group.__iter__(self._group)))[startidx:]:
            result = func(name)
            if result is not None:
                return result
        return None


__getattr__ = missing_from("h5py.h5l")
