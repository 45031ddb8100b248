"""As `h5py.h5r`: references."""

from __future__ import annotations

from typing import Any

from ..base.errors import InvalidInputError
from ..objects.native_objects import referred, region_of
from ..values.references import Reference, RegionReference
from . import h5o, h5s
from ._missing import missing_from
from ._objects import ObjectID, member_of
from .names import path_of

OBJECT, DATASET_REGION = 0, 1


def create(loc: Any, name: bytes, ref_type: int, space: h5s.SpaceID | None = None) -> Reference:
    """A reference to the object at a path, or to what a dataspace selects of it."""
    loc.complete()
    node = member_of(loc, name)
    if ref_type == OBJECT:
        made: Reference = node.ref
        return made
    if ref_type != DATASET_REGION or space is None:
        raise InvalidInputError(f"ref_type={ref_type}, space={space!r}: give OBJECT, or DATASET_REGION and a dataspace")
    return region_of(node, space.selection)


def dereference(ref: Reference, id: Any) -> ObjectID | None:
    """The object that a reference points at; `None` of a null reference."""
    found: Any = referred(id.node, ref)
    return None if found is None else found.id


def get_name(ref: Reference, loc: ObjectID) -> bytes | None:
    """The path of the object that a reference points at; `None` of an object without a name."""
    found = referred(loc.node, ref)
    return None if found is None else path_of(found)


def get_obj_type(ref: Reference, id: ObjectID) -> int | None:
    """The kind of the object that a reference points at, as a constant of `h5o`."""
    found = referred(id.node, ref)
    return None if found is None else h5o.kind_of(found)


def get_region(ref: RegionReference, id: Any) -> h5s.SpaceID | None:
    """The elements that a region reference selects."""
    dataset: Any = referred(id.node, ref)
    return None if dataset is None else h5s.SpaceID(dataset.shape, dataset.maxshape, ref.selection)


__all__ = ["DATASET_REGION", "OBJECT", "Reference", "RegionReference", "create", "dereference", "get_name", "get_obj_type", "get_region"]

__getattr__ = missing_from("h5py.h5r")
