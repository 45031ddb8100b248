"""As `h5py._hl.datatype`: committed datatypes."""

from __future__ import annotations

from ...objects import datatype
from ..h5t import TypeID, of_description
from ..names import quoted
from .base import HLObject


class Datatype(HLObject, datatype.Datatype):
    """A committed datatype."""

    @property
    def id(self) -> TypeID:
        """The low-level datatype."""
        return of_description(self._about["datatype"], self)

    def __repr__(self) -> str:
        return f"<HDF5 named type {quoted(self)} (dtype {self.dtype.str})>" if self else "<Closed HDF5 named type>"


__all__ = ["Datatype"]
