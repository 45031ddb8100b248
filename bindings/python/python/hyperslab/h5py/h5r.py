"""As `h5py.h5r`: references."""

from __future__ import annotations

from typing import Any

from ..objects.native_objects import referred
from ..values.references import Reference, RegionReference
from . import h5s
from ._missing import missing_from, unsupported
from ._objects import ObjectID
from .names import path_of

OBJECT, DATASET_REGION = 0, 1


def dereference(ref: Reference, id: Any) -> ObjectID | None:
    """The object that a reference points at; `None` of a null reference."""
    found: Any = referred(id._node, ref)
    return None if found is None else found.id


def get_name(ref: Reference, loc: ObjectID) -> bytes | None:
    """The path of the object that a reference points at; `None` of an object without a name."""
    found = referred(loc._node, ref)
    return None if found is None else path_of(found)


def get_region(ref: RegionReference, id: Any) -> h5s.SpaceID | None:
    """The elements that a region reference selects."""
    dataset: Any = referred(id._node, ref)
    return None if dataset is None else h5s.SpaceID(dataset.shape, dataset.maxshape, ref.selection)


create = unsupported("h5r.create")

__all__ = ["DATASET_REGION", "OBJECT", "Reference", "RegionReference", "create", "dereference", "get_name", "get_region"]

__getattr__ = missing_from("h5py.h5r")
