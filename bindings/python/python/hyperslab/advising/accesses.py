"""Accesses: how a program will read an array, as a pattern of what each read takes along each dimension."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..base.errors import InvalidInputError

#: What a read takes along a dimension: all of it, a number of neighbors anywhere, or this slice.
Along = str | int | slice
Key = tuple[slice, ...]

#: The accesses that have a name.
NAMES = ("whole", "time series at a point", "one level", "random rows")
_WEIGHT = re.compile(r"^(?P<text>.*\S)\s*=\s*(?P<weight>\d+(\.\d+)?)$", re.S)
_SELECTION = re.compile(r"^(?P<path>[^\[\]]*)\[(?P<items>[^\[\]]+)\]$")


@dataclass(frozen=True)
class Access:
    """A kind of read and its weight: how often it happens, relative to the others."""

    text: str
    weight: float
    #: The dataset of a selection with a path.
    path: str | None
    items: tuple[str, ...] | None
    #: The condition of `where CONDITION`, which reads all rows that indexes do not rule out.
    condition: str | None

    def pattern(self, shape: tuple[int, ...], dims: Sequence[str | None]) -> Pattern:
        """What one read takes of an array."""
        whole: list[Along] = ["all"] * len(shape)
        if self.items is not None:
            return Pattern(self, shape, tuple(_along(self.items, shape, self.text)))
        if self.text == "time series at a point":
            time = _time_axis(shape, dims)
            return Pattern(self, shape, tuple("all" if axis == time else 1 for axis in range(len(shape))))
        if self.text == "one level":
            map_dims = 2 if len(shape) > 2 else 1
            return Pattern(self, shape, tuple("all" if axis >= len(shape) - map_dims else 1 for axis in range(len(shape))))
        if self.text == "random rows":
            return Pattern(self, shape, (1, *whole[1:]))
        return Pattern(self, shape, tuple(whole))


@dataclass(frozen=True)
class Pattern:
    """An access to an array of this shape."""

    access: Access
    shape: tuple[int, ...]
    along: tuple[Along, ...]

    def keys(self, chance: random.Random, count: int) -> list[Key]:
        """Reads at random places. Along each dimension, each of `count` equal parts of the possible places has one read (a Latin hypercube), so that few reads
        stand for all of the array."""
        columns: list[list[slice]] = []
        for along, extent in zip(self.along, self.shape, strict=True):
            if isinstance(along, slice):
                columns.append([along] * count)
                continue
            width = extent if isinstance(along, str) else min(along, extent)
            places = extent - width + 1
            starts = [min(int((part + chance.random()) * places / count), places - 1) for part in range(count)]
            chance.shuffle(starts)
            columns.append([slice(start, start + width) for start in starts])
        return [tuple(key) for key in zip(*columns, strict=True)]

    def counts(self) -> list[int]:
        """How many elements a read takes along each dimension."""
        found = []
        for along, extent in zip(self.along, self.shape, strict=True):
            found.append(extent if isinstance(along, str) else min(along, extent) if isinstance(along, int) else along.stop - along.start)
        return found

    def touched(self, chunks: Sequence[int]) -> list[float]:
        """How many chunks a read touches along each dimension, on average over all places."""
        found = []
        for along, extent, chunk in zip(self.along, self.shape, chunks, strict=True):
            all_of_them = -(-extent // chunk)
            if isinstance(along, str):
                found.append(float(all_of_them))
            elif isinstance(along, int):
                found.append(_mean_touched(min(along, extent), extent, chunk))
            else:
                found.append(float((along.stop - 1) // chunk - along.start // chunk + 1))
        return found


def _mean_touched(width: int, extent: int, chunk: int) -> float:
    """How many chunks a window touches, on average over all places."""
    if width == 1:
        return 1.0
    if extent > 64 * chunk:
        # Places at the two ends hardly matter.
        return 1 + (width - 1) / chunk
    last = extent - width
    crossed = sum(max(min(border - 1, last) - max(border - width + 1, 0) + 1, 0) for border in range(chunk, extent, chunk))
    return 1 + crossed / (last + 1)


def parse_accesses(given: str | Sequence[str] | Mapping[str, float]) -> list[Access]:
    """Accesses with their weights. A text may end with its weight: `one level=3`.

    Raises:
        InvalidInputError: A text is not an access, or a weight is not a positive number.
    """
    weighted: list[tuple[str, float | None]]
    if isinstance(given, Mapping):
        weighted = [(text, float(weight)) for text, weight in given.items()]
    else:
        weighted = [(text, None) for text in ([given] if isinstance(given, str) else given)]
    if not weighted:
        raise InvalidInputError("no access: give one of " + ", ".join(NAMES) + ", or a selection such as /t2m[:, ?, ?]")
    return [_parsed(text, weight) for text, weight in weighted]


def _parsed(text: str, weight: float | None) -> Access:
    shown = text.strip()
    if weight is None:
        # `where x = 5` has an equals sign of its own.
        found = None if shown.startswith("where ") else _WEIGHT.match(shown)
        shown, weight = (found["text"], float(found["weight"])) if found else (shown, 1.0)
    if not 0 < weight < 1e12:
        raise InvalidInputError(f"access {text!r} with the weight {weight:g}: give a positive number")
    if shown.startswith("where "):
        return Access(shown, weight, None, None, shown[len("where ") :].strip())
    if shown in NAMES:
        return Access(shown, weight, None, None, None)
    selection = _SELECTION.match(shown)
    if selection is None:
        raise InvalidInputError(f"access {text!r} is not known: give {', '.join(NAMES)}, 'where CONDITION', or a selection such as /t2m[:, ?, ?]")
    path = selection["path"].strip() or None
    return Access(shown, weight, path, tuple(item.strip() for item in selection["items"].split(",")), None)


def _along(items: tuple[str, ...], shape: tuple[int, ...], text: str) -> list[Along]:
    if items.count("...") > 1:
        raise InvalidInputError(f"access {text!r} has more than one '...'")
    if "..." in items:
        at = items.index("...")
        items = (*items[:at], *[":"] * (len(shape) - len(items) + 1), *items[at + 1 :])
    items = items + (":",) * (len(shape) - len(items))
    if len(items) != len(shape):
        raise InvalidInputError(f"access {text!r} has {len(items)} dimensions, the dataset {len(shape)}")
    return [_one(item, extent, text) for item, extent in zip(items, shape, strict=True)]


def _one(item: str, extent: int, text: str) -> Along:
    """`:`, `?` (one index anywhere), `?:10` (10 neighbors anywhere), an index, or a slice without a step."""
    if item == ":":
        return "all"
    try:
        if item.startswith("?"):
            width = int(item[2:]) if item.startswith("?:") else 1 if item == "?" else 0
            if not 1 <= width <= extent:
                raise ValueError
            return width
        first, separator, last = item.partition(":")
        start = int(first) if first else 0
        start += extent if start < 0 else 0
        stop = (int(last) if last else extent) if separator else start + 1
        stop += extent if stop < 0 else 0
        if not 0 <= start < stop <= extent:
            raise ValueError
    except ValueError:
        raise InvalidInputError(f"access {text!r}: {item!r} is not possible along a dimension of {extent}; give :, ?, ?:10, 5 or 5:10") from None
    return slice(start, stop)


def _time_axis(shape: tuple[int, ...], dims: Sequence[str | None]) -> int:
    """The dimension whose name speaks of time; without such a name the first."""
    for axis, name in enumerate(dims[: len(shape)]):
        if name and ("time" in name.lower() or name.lower() in ("t", "step", "date")):
            return axis
    return 0
