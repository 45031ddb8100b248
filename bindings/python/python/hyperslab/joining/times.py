"""Times: counts since one date as counts since another, so that files that count from different dates go on from each other."""

from __future__ import annotations

import numpy as np

from .. import _native
from ..base.errors import ConflictError
from ..base.type_aliases import AnyArray
from ..objects.dataset import Dataset
from ..objects.decoding import decoding_of
from ..objects.inherited import text_of


def times_of(dataset: Dataset) -> _native.TimeUnits | None:
    """The units of the dates that the values count, own or those of the coordinate whose cells they bound; `None` of other values."""
    decoding = decoding_of(dataset) if dataset.dtype.kind in "iuf" else None
    return None if decoding is None else decoding.time


def are_recountable(mine: Dataset, theirs: Dataset) -> bool:
    """Whether both are dates of one calendar, stored as they are counted, so that one can be counted as the other."""
    both = [decoding_of(dataset) if dataset.dtype.kind in "iuf" else None for dataset in (mine, theirs)]
    times = [None if decoding is None or decoding.is_packed else decoding.time for decoding in both]
    one, other = times
    return one is not None and other is not None and one.calendar == other.calendar


def recounted(dataset: Dataset, like: Dataset, is_exact: bool = True) -> AnyArray:
    """The values of `dataset` in the units of `like`: exact for integers, unless floats will do; missing values stay as they are.

    Raises:
        ConflictError: They are integers that the other units cannot represent, or one of them would mean a missing value.
    """
    values, decoding, target = np.asarray(dataset[()]), decoding_of(dataset), times_of(like)
    assert decoding is not None and decoding.time is not None and target is not None  # both are recountable
    if decoding.time == target:
        return values
    is_missing = np.isin(values, decoding.missing)
    if values.dtype.kind == "f" or not is_exact:
        is_missing |= ~np.isfinite(values) if values.dtype.kind == "f" else False
        found = _as_floats(np.where(is_missing, 0, values), decoding.time, target)
        _check_marks(found[~is_missing], decoding, dataset)
        return np.asarray(np.where(is_missing, values, found), values.dtype if is_exact else "f8")
    units, wanted = text_of(dataset, "units"), text_of(like, "units")
    counts = decoding.time.recounted(values[~is_missing].tolist(), target)
    if any(count is None for count in counts):
        raise ConflictError(f"times in {units!r} are not whole numbers in {wanted!r}, which the first file has", dataset.file.filename, dataset.name)
    bounds = np.iinfo(values.dtype)
    if any(count is None or not bounds.min <= count <= bounds.max for count in counts):
        raise ConflictError(f"times in {units!r} do not fit into {values.dtype} in {wanted!r}, which the first file has", dataset.file.filename, dataset.name)
    found = values.astype(values.dtype.newbyteorder("="), copy=True)
    found[~is_missing] = counts
    _check_marks(found[~is_missing], decoding, dataset)
    return found


def _check_marks(counts: AnyArray, decoding: _native.Decoding, dataset: Dataset) -> None:
    """Fails if a time would become a count that means a missing one."""
    if np.isin(counts, decoding.missing).any():
        message = "one of its times has the count of a missing value in the units of the first file"
        raise ConflictError(message, dataset.file.filename, dataset.name)


def _as_floats(values: AnyArray, units: _native.TimeUnits, target: _native.TimeUnits) -> AnyArray:
    """Counts in other units, by whole nanoseconds: sums of large floats would lose digits."""
    shift = units.reference - target.reference
    whole = np.floor(values) if values.dtype.kind == "f" else values
    fits = (max(abs(int(whole.min())), abs(int(whole.max()))) + 1) * units.step + abs(shift) < 2**62 if whole.size else True
    parts = whole.astype("i8") if fits else np.array([int(one) for one in whole.ravel().tolist()], object).reshape(whole.shape)
    nanoseconds = parts * units.step + np.rint((values - whole).astype("f8") * units.step).astype("i8") + shift
    counts = nanoseconds // target.step
    return np.asarray(counts.astype("f8") + (nanoseconds - counts * target.step).astype("f8") / target.step)
