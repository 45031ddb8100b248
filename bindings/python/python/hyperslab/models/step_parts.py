"""Parts of steps: the arrays that one writer has of one step, before anything is written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypedDict

import numpy as np

from ..base.errors import ConflictError, InvalidInputError
from ..base.type_aliases import AnyArray, AttributeValues, Option, Values

#: Start and count along each dimension.
Box = tuple[tuple[int, ...], tuple[int, ...]]


class Part(NamedTuple):
    """What one writer has of one array.

    Attributes:
        path: Path of the dataset.
        values: The values of this writer.
        box: Where they are in the whole array; `None` for rows, which follow the rows of the writers before.
        shape: Shape of the whole array; `None` for rows.
        attrs: Attributes of the dataset.
    """

    path: str
    values: AnyArray
    box: Box | None
    shape: tuple[int, ...] | None
    attrs: AttributeValues


class StepPart(NamedTuple):
    """What one writer has of one step: attributes by path of group, and parts of arrays."""

    number: int
    groups: Mapping[str, AttributeValues]
    parts: list[Part]


class Grid(TypedDict):
    """The grid of fields: number of cells along k, j and i, and where they are along x, y and z."""

    shape: list[int]
    origin: list[float] | None
    spacing: list[float] | None


class _Layout(TypedDict):
    model: str
    name: str
    padding: int
    #: Options of `create_dataset`.
    storage: dict[str, Option]


class Layout(_Layout, total=False):
    """How a model lays out its steps: plain data."""

    separator: str
    version: int
    time_attribute: str
    grid: Grid


class Known(TypedDict):
    """The steps in a file: their numbers, and the type of each array with a step that has it."""

    present: list[int]
    types: dict[str, tuple[str, int]]


class StepNames(NamedTuple):
    """Names of groups of steps: `Step#0`, padded with zeros to a number of digits; with the separator `/` members of a group: `data/0`. Without
    a separator there is one step, whose path has no number."""

    name: str
    padding: int
    separator: str = "#"

    def path(self, number: int) -> str:
        """Path of a step."""
        return f"/{self.name}{self.separator}{number:0{self.padding}d}" if self.separator else f"/{self.name}"

    def number(self, path: str) -> int | None:
        """Number of the step that an object is in; `None` outside of steps."""
        found = re.match(rf"/?{re.escape(self.name)}{self.separator}(\d+)(/|$)", path)
        return None if found is None else int(found[1])

    def attributes(self) -> dict[str, str | int]:
        """File attributes that say how steps are called, unless they are called as usual."""
        return {} if self.separator != "#" or self[:2] == ("Step", 0) else {"__stepname__": self.name, "__stepnumwidth__": self.padding}


def names_of(layout: Layout) -> StepNames:
    """The names of steps of a layout."""
    return StepNames(layout["name"], layout["padding"], layout.get("separator", "#"))


def checked_names(name: str, padding: int) -> StepNames:
    """The names of steps. `InvalidInputError` for a name that is none."""
    if not name or "/" in name or "#" in name:
        raise InvalidInputError(f"{name!r} cannot be the name of steps")
    if not 0 <= padding <= 18:
        raise InvalidInputError(f"padding={padding}: give a number of digits from 0 to 18")
    return StepNames(name, padding)


def numbers(name: str, values: Values, path: str) -> AnyArray:
    """`values` as an array of integers or floats. `InvalidInputError` for anything else."""
    array = np.asarray(values)
    if np.ma.is_masked(values):
        raise InvalidInputError(f"{name} has masked values: fill them first", object=path)
    if array.dtype.kind not in "iuf":
        raise InvalidInputError(f"{name} is {array.dtype}: give integers or floats", object=path)
    return array


def terminated_texts(attributes: AttributeValues) -> dict[str, Values]:
    """Attributes with texts of fixed length that end with NUL, as H5hut writes them. Its readers copy the stored bytes into a buffer of characters, so
    they show text of variable length as garbage. `InvalidInputError` for text with a NUL in it."""
    return {name: _terminated(name, value) for name, value in attributes.items()}


def with_terminated_texts(step: StepPart) -> StepPart:
    """The part of a step with the texts of its attributes as in `terminated_texts`."""
    groups = {path: terminated_texts(attributes) for path, attributes in step.groups.items()}
    return step._replace(groups=groups, parts=[part._replace(attrs=terminated_texts(part.attrs)) for part in step.parts])


def _terminated(name: str, value: Values) -> Values:
    values = np.asarray(value) if isinstance(value, (str, bytes, list, tuple, np.ndarray)) else None
    if values is None or not values.size or not all(isinstance(each, (str, bytes)) for each in values.ravel().tolist()):
        return value
    texts = [each.encode() if isinstance(each, str) else each for each in values.ravel().tolist()]
    if any(b"\0" in each for each in texts):
        raise InvalidInputError(f"attribute {name!r} is text with a NUL, where readers would end it")
    about = {"padding": "null_terminated"} | ({} if all(map(bytes.isascii, texts)) else {"h5py_encoding": "utf-8"})
    return np.array(texts, np.dtype(f"S{max(map(len, texts)) + 1}", metadata=about)).reshape(values.shape)


def refuse_unknown(given: Mapping[str, object] | None, known: Mapping[str, object], what: str, where: str) -> None:
    """`InvalidInputError` for attributes of something that is not written."""
    for name in given or ():
        if name not in known:
            raise InvalidInputError(f"attributes of {name!r}, which is none of the {what}", object=where)


def step_attributes(time: float | None, time_attribute: str, attrs: AttributeValues | None) -> dict[str, Values]:
    """Attributes of a step's group: arrays of one element for numbers, as H5hut writes them."""
    made = dict(attrs or {})
    if time is not None:
        if time_attribute in made:
            raise InvalidInputError(f"the time of the step is given twice: as time= and as attrs[{time_attribute!r}]")
        made[time_attribute] = np.array([time], "f8")
    return {name: np.array([value]) if isinstance(value, (bool, int, float)) else value for name, value in made.items()}


def same_types(known: Mapping[str, tuple[str, int]], step: StepPart, names: StepNames) -> dict[str, tuple[str, int]]:
    """Checks that arrays have the type that they had in earlier steps. Returns the types, including the types of new arrays."""
    types = dict(known)
    for part in step.parts:
        name, dtype = part.path[len(names.path(step.number)) + 1 :], part.values.dtype.newbyteorder("=").str
        first, where = types.setdefault(name, (dtype, step.number))
        if first != dtype:
            ours, theirs = np.dtype(dtype), np.dtype(first)
            raise InvalidInputError(f"{name} is {ours} in step {step.number} and {theirs} in step {where}: give it one type", object=part.path)
    return types


def check_rows(rows: Iterable[tuple[int, str, int]]) -> None:
    """Checks that each writer gave equally many rows of all arrays of a group: writer, path, number of rows."""
    lengths: dict[str, dict[int, dict[str, int]]] = {}
    names: dict[str, set[str]] = {}
    for writer, path, count in rows:
        group, _, name = path.rpartition("/")
        lengths.setdefault(group, {}).setdefault(writer, {})[name] = count
        names.setdefault(group, set()).add(name)
    for group, writers in lengths.items():
        for writer, own in sorted(writers.items()):
            all_of_them = {name: own.get(name, 0) for name in sorted(names[group])}
            first, count = next(iter(all_of_them.items()))
            for name, other in all_of_them.items():
                if other != count:
                    message = f"writer {writer} has {count} values of {first} and {other} of {name} in {group}: give equally many"
                    raise InvalidInputError(message, object=f"{group}/{name}")


def check_boxes(path: str, shape: tuple[int, ...], boxes: Iterable[tuple[int, Box]]) -> None:
    """Checks that the boxes of writers cover an array, and no element twice."""
    given = [(writer, start, count) for writer, (start, count) in boxes if math.prod(count)]
    for index, (writer, start, count) in enumerate(given):
        for other, their_start, their_count in given[:index]:
            if all(max(a, b) < min(a + c, b + d) for a, c, b, d in zip(start, count, their_start, their_count, strict=True)):
                raise ConflictError(f"writers {other} and {writer} have overlapping parts of {path}", object=path)
    covered, total = sum(math.prod(count) for *_, count in given), math.prod(shape)
    if covered != total:
        raise InvalidInputError(f"the writers have {covered} of the {total} elements of {path}: give all of them", object=path)
