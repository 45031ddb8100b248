"""As `h5py._hl.datatype`: committed datatypes."""

from __future__ import annotations

from typing import Any

from ...base.errors import InvalidInputError
from ...objects import datatype
from ..h5t import TypeID, of_description
from ..names import quoted
from .base import HLObject


class Datatype(HLObject, datatype.Datatype):
    """A committed datatype, or one that no file has yet.

    Args:
        bind: A low-level datatype.
    """

    def __init__(self, bind: Any, *more: Any) -> None:
        if more:
            super().__init__(bind, *more)
            return
        if not isinstance(bind, TypeID):
            raise InvalidInputError(f"{bind} is not a datatype")
        if bind.owner is not None:
            self.__dict__.update(bind.owner.__dict__)
            return
        # There is no file, and so no backend.
        self.__dict__.update(_backend=None, _number=-1, _own_name=None, _about={"kind": "datatype", "datatype": bind.described})
        self._bound: TypeID | None = bind

    @property
    def _unnamed(self) -> TypeID | None:
        """The low-level datatype of one that no file has."""
        found: TypeID | None = self.__dict__.get("_bound")
        return found

    @property
    def id(self) -> TypeID:
        """The low-level datatype."""
        return self._unnamed or of_description(self._about["datatype"], self)

    @property
    def name(self) -> Any:
        """The path; `None` of a datatype that no file has."""
        return None if self._unnamed is not None else super().name

    def __bool__(self) -> bool:
        return self._unnamed is not None or super().__bool__()

    def __eq__(self, other: object) -> Any:
        if self._unnamed is not None:
            return self.id == other.id if isinstance(other, Datatype) else NotImplemented
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash(self.id) if self._unnamed is not None else super().__hash__()

    def __repr__(self) -> str:
        if self._unnamed is not None:
            return f"<HDF5 named type (anonymous) (dtype {self.dtype.str})>"
        return f"<HDF5 named type {quoted(self)} (dtype {self.dtype.str})>" if self else "<Closed HDF5 named type>"


__all__ = ["Datatype"]
