"""Times: counts since one date as counts since another, so that files that count from different dates go on from each other."""

from __future__ import annotations

import numpy as np

from ..base.errors import ConflictError
from ..base.type_aliases import AnyArray
from ..netcdf.times import is_converted, nanoseconds_of
from ..objects.dataset import Dataset
from ..objects.inherited import text_of


def is_recountable(dataset: Dataset) -> bool:
    """Whether the values are counts since a date in a calendar of real days, and can be counted from another."""
    units, calendar = text_of(dataset, "units"), text_of(dataset, "calendar") or "standard"
    return dataset.dtype.kind in "iuf" and is_converted(units, calendar.lower())


def counts_from(dataset: Dataset) -> tuple[str, str]:
    """The units and the calendar of a dataset, own or those of the coordinate whose cells it bounds."""
    return text_of(dataset, "units"), text_of(dataset, "calendar")


def starts_at(dataset: Dataset) -> tuple[int, int]:
    """Nanoseconds of one count of a recountable dataset, and of the date that it counts from since 1970."""
    return nanoseconds_of(text_of(dataset, "units"))


def recounted(dataset: Dataset, like: Dataset, is_exact: bool = True) -> AnyArray:
    """The values of `dataset` in the units of `like`: exact for integers, unless floats will do; missing values stay as they are.

    Raises:
        ConflictError: They are integers that the other units cannot represent.
    """
    values, units, target = dataset[()], text_of(dataset, "units"), text_of(like, "units")
    if units == target:
        return np.asarray(values)
    step, start = nanoseconds_of(units)
    other_step, other_start = nanoseconds_of(target)
    missing = np.zeros(values.shape, bool)
    for key in ("_FillValue", "missing_value"):
        if key in dataset.attrs:
            missing |= np.isin(values, np.asarray(dataset.attrs[key]))
    if values.dtype.kind == "f" or not is_exact:
        found = values.astype("f8") * (step / other_step) + (start - other_start) / other_step
        return np.asarray(np.where(missing, values, found), values.dtype if is_exact else "f8")
    counts = [int(value) * step + start - other_start for value in values.ravel().tolist()]
    are_missing = missing.ravel().tolist()
    if any(count % other_step for count, is_missing in zip(counts, are_missing, strict=True) if not is_missing):
        raise ConflictError(f"times in {units!r} are not whole numbers in {target!r}, which the first file has", dataset.file.filename, dataset.name)
    kept = [old if is_missing else count // other_step for old, count, is_missing in zip(values.ravel().tolist(), counts, are_missing, strict=True)]
    bounds = np.iinfo(values.dtype)
    if any(not bounds.min <= count <= bounds.max for count in kept):
        raise ConflictError(f"times in {units!r} do not fit into {values.dtype} in {target!r}, which the first file has", dataset.file.filename, dataset.name)
    return np.asarray(np.array(kept, values.dtype).reshape(values.shape))
