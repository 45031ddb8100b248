"""As `h5py.h5ds`: dimension scales, as their attributes describe them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..base.errors import InvalidInputError
from ..objects.native_objects import scales_of
from ._missing import missing_from
from .h5d import DatasetID

_Result = TypeVar("_Result")


def is_scale(dset: DatasetID) -> bool:
    """Whether a dataset is a dimension scale."""
    found = dset._node.attrs.get("CLASS")
    return (found if isinstance(found, bytes) else str(found).encode()) == b"DIMENSION_SCALE"


def get_scale_name(dset: DatasetID) -> bytes:
    """The name that a dimension scale was given."""
    name = dset._node.attrs.get("NAME", b"")
    return name if isinstance(name, bytes) else str(name).encode()


def get_label(dset: DatasetID, idx: int) -> bytes:
    """The label of a dimension."""
    labels = dset._node.attrs.get("DIMENSION_LABELS")
    if labels is None:
        return b""
    label = labels[idx]
    return label if isinstance(label, bytes) else str(label).encode()


def scales(dset: Any, dim: int) -> list[DatasetID]:
    """The identifiers of the scales of a dimension."""
    found: list[Any] = [*scales_of(dset._node, dim)]
    return [scale.id for scale in found]


def get_num_scales(dset: DatasetID, dim: int) -> int:
    """Number of scales of a dimension."""
    return len(scales(dset, dim))


def is_attached(dset: DatasetID, scale: DatasetID, idx: int) -> bool:
    """Whether a scale belongs to a dimension."""
    return scale in scales(dset, idx)


def iterate(dset: DatasetID, dim: int, func: Callable[[DatasetID], _Result | None], startidx: int = 0) -> _Result | None:
    """Calls a function with each scale of a dimension, until it returns something other than `None`."""
    if not 0 <= dim < dset.rank:
        raise InvalidInputError(f"dimension {dim} of a dataset with {dset.rank}", None, dset._node.path)
    for scale in scales(dset, dim)[startidx:]:
        result = func(scale)
        if result is not None:
            return result
    return None


def set_scale(dset: DatasetID, dimname: str | bytes = b"") -> None:
    """Makes a dataset a dimension scale, in a file that is edited."""
    dset._node.make_scale(_text(dimname))


def set_label(dset: DatasetID, idx: int, label: str | bytes) -> None:
    """Sets the label of a dimension, in a file that is edited."""
    dset._node.set_label(idx, _text(label))


def attach_scale(dset: DatasetID, dscale: DatasetID, idx: int) -> None:
    """Attaches a scale to a dimension, as the attributes of both say from then on."""
    dset.complete()
    dset._node.attach_scale(idx, dscale._node)


def detach_scale(dset: DatasetID, dscale: DatasetID, idx: int) -> None:
    """Detaches a scale from a dimension, in a file that is edited."""
    dset._node.detach_scale(idx, dscale._node)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


__getattr__ = missing_from("h5py.h5ds")
