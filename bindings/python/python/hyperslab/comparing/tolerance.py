"""Tolerance: which elements of two arrays differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, AnyDtype, AttributeValue, BoolArray
from ..values.empty import Empty
from ..values.references import Reference, RegionReference
from ..values.regions import canonical
from .unnamed import Unnamed

_NUMBERS = "biufc"


@dataclass(frozen=True)
class Tolerance:
    """When two values count as equal.

    Attributes:
        rtol: Difference that is allowed, relative to the second value.
        atol: Difference that is allowed, in the values' own unit.
        equal_nan: Whether NaN is equal to NaN.
        bits: Whether numbers must have the same bytes: -0.0 is not 0.0, and one NaN is not another.
        unnamed: The objects without names of both files, to which references may lead.
    """

    rtol: float = 0.0
    atol: float = 0.0
    equal_nan: bool = True
    bits: bool = False
    unnamed: Unnamed | None = None

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if not 0 <= value < math.inf:
                raise InvalidInputError(f"{name} is {value}: give a finite number, 0 or larger")

    @property
    def is_exact(self) -> bool:
        """Whether only equal values are equal."""
        return not (self.rtol or self.atol)


def are_comparable(one: AnyDtype, other: AnyDtype) -> bool:
    """Whether elements of two types can be compared: numbers with numbers, text with text, compounds with the same members."""
    if one.names is not None or other.names is not None:
        return one.names == other.names and all(
            one[name].shape == other[name].shape and are_comparable(one[name].base, other[name].base) for name in one.names or ()
        )
    if one.kind in _NUMBERS and other.kind in _NUMBERS:
        return True
    if one.kind == "V":
        return other.kind == "V" and one.itemsize == other.itemsize
    return one.kind == other.kind or {one.kind, other.kind} == {"S", "O"}


def differing(one: AnyArray, other: AnyArray, tolerance: Tolerance) -> BoolArray:
    """Where two arrays of one shape and of comparable types differ."""
    if not one.size:
        return np.zeros(one.shape, bool)
    if one.dtype.names is not None:
        found = np.zeros(one.shape, bool)
        for name in one.dtype.names:
            # A member may be an array itself.
            members = differing(one[name], other[name], tolerance)
            found |= members.reshape((*one.shape, -1)).any(axis=-1) if members.ndim > one.ndim else members
        return found
    kinds = {one.dtype.kind, other.dtype.kind}
    if "O" in kinds:
        pairs = zip(one.reshape(-1).tolist(), other.reshape(-1).tolist(), strict=True)
        return np.asarray(np.fromiter((not same(a, b, tolerance) for a, b in pairs), bool, one.size).reshape(one.shape))
    if one.dtype.kind == "V" or (tolerance.bits and one.dtype == other.dtype):
        return _bytes_differ(one, other)
    if one.dtype.kind in _NUMBERS:
        return _numbers_differ(one, other, tolerance)
    return np.asarray(one != other)


def same(one: AttributeValue, other: AttributeValue, tolerance: Tolerance) -> bool:
    """Whether two values are the same; references are if they lead to the same path and region."""
    if isinstance(one, Empty) or isinstance(other, Empty):
        return isinstance(one, Empty) and isinstance(other, Empty) and one.dtype == other.dtype
    if isinstance(one, Reference) or isinstance(other, Reference):
        return isinstance(one, Reference) and isinstance(other, Reference) and _lead_to_the_same(one, other, tolerance)
    if isinstance(one, (np.ndarray, np.generic)) or isinstance(other, (np.ndarray, np.generic)):
        a, b = np.asarray(one), np.asarray(other)
        if a.shape != b.shape or not are_comparable(a.dtype, b.dtype) or (tolerance.bits and not _are_same(a.dtype, b.dtype)):
            return False
        return not differing(a, b, tolerance).any()
    if type(one) is type(other):
        return bool(one == other)
    return {type(one), type(other)} == {str, bytes} and not tolerance.bits and _text(one) == _text(other)


def _are_same(one: AnyDtype, other: AnyDtype) -> bool:
    """Whether two dtypes are the same, wherever members lie: that depends on the size of addresses."""
    if one.names is None or other.names is None:
        return bool(one == other)
    return one.names == other.names and all(one[name].shape == other[name].shape and _are_same(one[name].base, other[name].base) for name in one.names)


def _text(value: str | bytes) -> bytes:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


def _lead_to_the_same(one: Reference, other: Reference, tolerance: Tolerance) -> bool:
    if not one or not other or _part(one) != _part(other):
        return not one and not other
    return one.path == other.path if tolerance.unnamed is None else tolerance.unnamed.are_same(one.path, other.path)


def _part(reference: Reference) -> tuple[object, ...]:
    """What a reference means of its object: a region, an attribute."""
    selection = reference.selection if isinstance(reference, RegionReference) else None
    return None if selection is None else canonical(selection.kind, selection.parts), getattr(reference, "attribute", None)


def _bytes_differ(one: AnyArray, other: AnyArray) -> BoolArray:
    if not one.dtype.itemsize:
        return np.zeros(one.shape, bool)
    a, b = (np.frombuffer(array.tobytes(), np.uint8).reshape((*array.shape, -1)) for array in (one, other))
    return np.asarray((a != b).any(axis=-1))


def _numbers_differ(one: AnyArray, other: AnyArray, tolerance: Tolerance) -> BoolArray:
    found = np.asarray(one != other)
    if not found.any():
        return found
    has_nan = one.dtype.kind in "fc" and other.dtype.kind in "fc"
    if has_nan and tolerance.equal_nan:
        found &= ~((one != one) & (other != other))
    if not tolerance.is_exact:
        with np.errstate(all="ignore"):
            near = np.isfinite(one) & np.isfinite(other) & (distance(one, other) <= tolerance.atol + tolerance.rtol * np.abs(_wide(other)))
        found &= ~near
    return found


def distance(one: AnyArray, other: AnyArray) -> AnyArray:
    """How far numbers are apart."""
    if one.dtype == other.dtype and one.dtype.kind in "iu":
        # Integers of 64 bits do not fit a float64, but their difference is exact when it wraps around.
        unsigned = np.dtype(f"u{one.dtype.itemsize}")
        a, b = one.astype(unsigned), other.astype(unsigned)
        return np.asarray(np.where(one > other, a - b, b - a))
    with np.errstate(all="ignore"):
        return np.asarray(np.abs(_wide(one) - _wide(other)))


def _wide(array: AnyArray) -> AnyArray:
    return array if array.dtype.kind in "fc" and array.dtype.itemsize >= 8 else array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
