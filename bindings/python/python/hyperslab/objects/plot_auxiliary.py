"""Auxiliary coordinates of pictures: datasets that say where the elements of another one are, such as latitudes with two dimensions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from ..base.errors import Error
from .plot_axes import base_name, coordinate_of, role_of, text_of
from .plot_cells import Array, Dataset, as_drawn, has_numbers
from .plot_dates import calendar_of

#: Members of a group that are looked through for coordinates that no attribute names.
MAX_MEMBERS = 1000
#: Larger coordinates are missing ones, also without a fill value that says so: netCDF's own is 1e37.
_NO_PLACE = 1e30
_VERTICAL = frozenset({"depth", "sea_water_pressure"})


class Meaning(NamedTuple):
    """What the attributes of a coordinate say."""

    role: str = ""
    axis: str = ""
    positive: str = ""
    standard_name: str = ""


class Auxiliary(NamedTuple):
    """A coordinate, and for each of its dimensions the one of the dataset that it belongs to."""

    dataset: Dataset
    dims: tuple[int, ...]

    def read(self, keys: dict[int, Any]) -> Array:
        """Its values at keys of the dimensions of the dataset; missing ones are NaN."""
        values = as_drawn(self.dataset, tuple(keys[dimension] for dimension in self.dims))
        return np.where(np.abs(values) < _NO_PLACE, values, np.nan)


class Positions(NamedTuple):
    """Latitude and longitude of the elements along two dimensions, the last ones of both."""

    latitude: Auxiliary
    longitude: Auxiliary

    @property
    def drawn(self) -> tuple[int, int]:
        """The two dimensions of the dataset."""
        return cast("tuple[int, int]", self.latitude.dims[-2:])


def positions_of(dataset: Dataset) -> Positions | None:
    """The latitude and longitude of each element along two dimensions: those that `coordinates` names (CF 5.2), those of an HDF-EOS swath, or the only
    ones around that fit."""
    if dataset.ndim < 2 or role_of(dataset, base_name(dataset)) in ("latitude", "longitude"):
        return None
    for group in _groups(dataset):
        found: dict[str, list[Auxiliary]] = {"latitude": [], "longitude": []}
        for one in group:
            role = _meaning(one.dataset).role if len(one.dims) >= 2 else ""
            if role in found:
                found[role].append(one)
        pair = [_only(ones, role) for role, ones in found.items()]
        if pair[0] is not None and pair[1] is not None and pair[0].dims == pair[1].dims:
            return Positions(pair[0], pair[1])
    return None


def _only(found: list[Auxiliary], role: str) -> Auxiliary | None:
    """The only one, or of several the one with a usual name: of others it is not sure which are meant."""
    named = [one for one in found if base_name(one.dataset).lower() in (role, role[:3])]
    return found[0] if len(found) == 1 else named[0] if len(named) == 1 else None


def vertical_of(dataset: Dataset) -> Auxiliary | None:
    """The depth, pressure or height of each element, if it is not the coordinate of one dimension: of profiles as of ARGO."""
    if role_of(dataset, base_name(dataset)) in ("up", "down"):
        return None
    for place, group in enumerate(_groups(dataset)):
        for one in group:
            is_known = len(one.dims) == 1 and coordinate_of(dataset, one.dims[0], 1).known
            meaning = _meaning(one.dataset)
            # A pressure of the air next to a temperature is no coordinate, unless the file says so.
            is_said = place == 0 or meaning.axis == "Z" or meaning.positive or meaning.standard_name in _VERTICAL
            if is_said and not is_known and meaning.role in ("up", "down") and calendar_of(one.dataset) is None:
                return one
    return None


def times_of(dataset: Dataset, dimension: int) -> Auxiliary | None:
    """The times along a dimension that are no coordinate of it: those that the file calls an axis or time."""
    for group in _groups(dataset):
        for one in group:
            meaning = _meaning(one.dataset)
            if one.dims == (dimension,) and (meaning.axis == "T" or meaning.standard_name == "time") and calendar_of(one.dataset) is not None:
                return one
    return None


def _meaning(dataset: Dataset) -> Meaning:
    return Meaning(role_of(dataset, base_name(dataset)), *(text_of(dataset, name) for name in ("axis", "positive", "standard_name")))


def _groups(dataset: Dataset) -> Iterator[Iterator[Auxiliary]]:
    """The datasets whose dimensions are some of those of a dataset: first those that its attribute names, then those of its group, of geolocation next to it,
    and of the groups above."""
    parent = dataset.parent
    yield _fitting(dataset, (_named(parent, name) for name in text_of(dataset, "coordinates").split()))
    above = parent.parent if parent.name != "/" else None
    yield _fitting(dataset, _members(parent))
    if above is not None:
        for member in _members(above):
            if member is not None and member.kind == "group" and "geolocation" in base_name(member).lower():
                yield _fitting(dataset, _members(member))
    while parent.name != "/":
        parent = parent.parent
        yield _fitting(dataset, _members(parent))


def _members(group: Any) -> Iterator[Any]:
    """The first members of a group; dangling links are left out."""
    return (group.get(name) for name in itertools.islice(group, MAX_MEMBERS))


def _named(group: Any, name: str) -> Any:
    """What a name means in a group, or in one above it; `None` if it means nothing."""
    while True:
        try:
            return group[name]
        except (Error, KeyError):
            if group.name == "/":
                return None
        group = group.parent


def _fitting(dataset: Dataset, candidates: Iterator[Any]) -> Iterator[Auxiliary]:
    for one in candidates:
        if one is not None and one.kind == "dataset" and one._number != dataset._number and has_numbers(one, "iuf") and (dims := _placed(dataset, one)):
            yield Auxiliary(one, dims)


def _placed(dataset: Dataset, one: Dataset) -> tuple[int, ...]:
    """The dimensions of a dataset that a coordinate has, by name, or without names by extent; empty if it has others."""
    if not one.ndim or one.ndim > dataset.ndim or not one.size:
        return ()
    names, own = list(one.dims or ()), list(dataset.dims or ())
    if names and all(names) and all(own) and own:
        found = tuple(own.index(name) for name in names) if set(names) <= set(own) and len(set(own)) == len(own) else ()
        return found if all(dataset.shape[at] == extent for at, extent in zip(found, one.shape, strict=False)) else ()
    # Swaths have further dimensions after those of the place, stacks of images before them.
    starts = [start for start in (0, dataset.ndim - one.ndim) if dataset.shape[start : start + one.ndim] == one.shape]
    return tuple(range(starts[0], starts[0] + one.ndim)) if starts and one.ndim >= 2 else ()
