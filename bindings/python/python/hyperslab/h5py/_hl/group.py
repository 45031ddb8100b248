"""As `h5py._hl.group`: groups."""

from __future__ import annotations

from typing import Any

from ...base.errors import NotFoundError
from ...objects import group
from ...objects.links import ExternalLink, HardLink, SoftLink
from ...objects.paths import path_text
from ...values.references import Reference
from .. import h5g
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
        return sorted(self)

    def __repr__(self) -> str:
        return f'<HDF5 group "{self.name}" ({len(self)} members)>' if self else "<Closed HDF5 group>"
