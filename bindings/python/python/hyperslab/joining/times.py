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
    stored = np.ascontiguousarray(values, values.dtype.newbyteorder("=") if is_exact else "=f8")
    counts, _, problem = decoding.recounted(stored.tobytes(), target, not is_exact)
    if problem is None:
        return np.frombuffer(counts, stored.dtype).reshape(stored.shape)
    units, wanted = text_of(dataset, "units"), text_of(like, "units")
    message = {
        "not whole": f"times in {units!r} are not whole numbers in {wanted!r}, which the first file has",
        "out of range": f"times in {units!r} do not fit into {values.dtype} in {wanted!r}, which the first file has",
        "means missing": "one of its times has the count of a missing value in the units of the first file",
    }[problem[1]]
    raise ConflictError(message, dataset.file.filename, dataset.name)
