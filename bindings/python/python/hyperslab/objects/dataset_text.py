"""A dataset in a line: dimensions, type, and what its values mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from .. import dtypes
from ..base.description import Description
from ..base.errors import Error
from ..base.type_aliases import AttributeValue
from ..base.visible import visible
from .attributes import shown
from .decoding import decoding_of
from .value_views import Viewed

#: Characters of a unit that are shown.
_MAX_UNIT_CHARS = 40


class Dataset(Protocol):
    """The part of a dataset's interface that is shown."""

    _about: Description

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...] | None: ...
    @property
    def dims(self) -> tuple[str | None, ...]: ...
    @property
    def attrs(self) -> Mapping[str, AttributeValue]: ...


def line(dataset: Dataset) -> str:
    """A dataset as its repr: `<Dataset /t (time 60, lat 73, lon 144) int16 packed → K>`."""
    what = meaning(dataset)
    unit = f" [{_unit(dataset)}]" if not what and _unit(dataset) else ""
    return f"<Dataset {visible(dataset.path)} ({_extents(dataset)}) {dtypes.describe(dataset._about['datatype'])}{visible(what + unit)}>"


def _extents(dataset: Dataset) -> str:
    if dataset.shape is None:
        return "empty"
    try:
        dims: tuple[str | None, ...] = tuple(dataset.dims)
    except Error:
        dims = ()
    names = dims if len(dims) == len(dataset.shape) else (None,) * len(dataset.shape)
    extents = ", ".join(f"{visible(name)} {extent}" if name else str(extent) for name, extent in zip(names, dataset.shape, strict=True))
    return extents or "scalar"


def meaning(dataset: Dataset) -> str:
    """What the values mean, if type and unit do not say it: packed numbers, times, flags, texts of characters. Empty, or with a blank in front."""
    try:
        decoding = decoding_of(cast(Viewed, dataset))
        unit = _unit(dataset)
    except Error as error:
        return f" (not decoded: {error.message})"
    if decoding is None:
        return ""
    if decoding.time is not None:
        calendar = decoding.time.calendar
        return " → time" if calendar in ("standard", "proleptic_gregorian") else f" → time of the calendar {calendar}"
    if decoding.kind == "flag":
        return " of flags"
    if decoding.kind != "number":
        return f" → {decoding.kind}"
    return f" packed → {unit or decoding.dtype}" if decoding.is_packed else ""


def _unit(dataset: Dataset) -> str:
    return shown(dataset.attrs["units"])[:_MAX_UNIT_CHARS] if "units" in dataset.attrs else ""
