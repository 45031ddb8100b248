"""Datatype: a committed datatype, which a file keeps under a name."""

from __future__ import annotations

from .. import _native
from ..base.type_aliases import AnyDtype
from ..values import tagged_dtypes
from .node import Node


class Datatype(Node):
    """A committed datatype. Datasets and attributes may share it."""

    @property
    def datatype(self) -> _native.Datatype:
        """How one element is stored."""
        return self._about["datatype"]

    @property
    def dtype(self) -> AnyDtype:
        """The dtype, the same as in h5py."""
        return tagged_dtypes.of_datatype(self._about["datatype"])
