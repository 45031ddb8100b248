"""As `h5py._hl.group`: groups."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from ...base.errors import InvalidTypeError, NotFoundError
from ...objects import group
from ...objects.links import ExternalLink, HardLink, SoftLink
from ...objects.paths import path_text
from ...values.references import Reference
from .. import h5g
from ..names import quoted, shown
from .base import HLObject, ItemsViewHDF5, KeysViewHDF5, ValuesViewHDF5

__all__ = ["ExternalLink", "Group", "HardLink", "SoftLink"]


class Group(HLObject, group.Group):
    """A group, with h5py's names and values."""

    _id_class = h5g.GroupID

    def keys(self) -> Any:
        """The names of members."""
        return KeysViewHDF5(self)

    def values(self) -> Any:
        """The members."""
        return ValuesViewHDF5(self)

    def items(self) -> Any:
        """Names and members."""
        return ItemsViewHDF5(self)

    def get(
        self,
        name: str | bytes | Reference,
        default: Any = None,
        getclass: bool = False,
        getlink: bool = False,
        elink_mode: object = None,
        elink_locking: object = None,
        elink_swmr: object = None,
    ) -> Any:
        """The member at a path, its class, or its link."""
        return super().get(name, default, getclass, getlink)

    def visit(self, func: Any) -> Any:
        """Calls a function with the path of each object."""
        return super().visit(lambda path: func(shown(path)))

    def visititems(self, func: Any) -> Any:
        """Calls a function with the path of each object, and the object."""
        return super().visititems(lambda path, member: func(shown(path), member))

    def visit_links(self, func: Any) -> Any:
        """Calls a function with the path of each link."""
        return super().visit_links(lambda path: func(shown(path)))

    def visititems_links(self, func: Any) -> Any:
        """Calls a function with the path of each link, and the link."""
        return super().visititems_links(lambda path, link: func(shown(path), link))

    def __iter__(self) -> Any:
        return map(shown, super().__iter__())

    def __reversed__(self) -> Any:
        return map(shown, super().__reversed__())

    def __contains__(self, name: object) -> bool:
        """Whether there is a link at a path, also a dangling one."""
        if not self:
            return False
        try:
            self._link(path_text(name))
        except NotFoundError:
            return False
        return True

    def _ipython_key_completions_(self) -> list[str]:
        return sorted(name for name in self if isinstance(name, str))

    def setdefault(self, name: Any, default: Any = None) -> Any:
        """The member of a name; if there is none, `default` is stored, and returned as it is given."""
        if name in self:
            return self[name]
        if default is None:
            raise InvalidTypeError("None is no value of a dataset")
        self[name] = default
        return default

    def __repr__(self) -> str:
        return f"<HDF5 group {quoted(self, whole=True)} ({len(self)} members)>" if self else "<Closed HDF5 group>"


MutableMapping.register(Group)
