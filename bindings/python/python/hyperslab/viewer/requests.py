"""Requests: what a query asks for, and the answers to what cannot be given."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..base.arguments import unknown_choice
from ..base.type_aliases import AnyDtype, Json

#: A member of a selection: an index, or a range with a step.
Member = int | slice


class Refused(Exception):
    """A request that is not answered, with the status of HTTP and a message for the user."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def parse_selection(text: str, rank: int) -> tuple[Member, ...]:
    """Parses a selection in numpy's form, such as `0:10:2, 3`.

    Raises:
        Refused: It is not a selection, or has more members than the dataset has dimensions.
    """
    members = tuple(_member(part.strip(), text) for part in text.split(","))
    if len(members) > rank:
        raise Refused(422, f"the selection '{text}' has {len(members)} members, and the dataset {rank} dimensions")
    return members


def _member(part: str, whole: str) -> Member:
    try:
        if ":" not in part:
            return int(part)
        numbers = [int(number) if number.strip() else None for number in part.split(":")]
    except ValueError:
        raise Refused(422, f"'{whole}' is not a selection: give indexes and ranges, such as '0:10, 3'") from None
    if len(numbers) > 3 or (len(numbers) == 3 and numbers[2] is not None and numbers[2] < 1):
        raise Refused(422, f"'{whole}' is not a selection: a range is start:stop:step with a positive step")
    return slice(*numbers)


def count(members: Sequence[Member], shape: Sequence[int]) -> int:
    """The number of elements that a selection has; dimensions beyond its members are whole.

    Raises:
        Refused: An index is outside of its dimension.
    """
    selected = []
    for size, member in zip(shape, members, strict=False):
        if isinstance(member, slice):
            selected.append(len(range(*member.indices(size))))
        elif not -size <= member < size:
            raise Refused(422, f"index {member} is outside of a dimension of size {size}")
    return math.prod(selected) * math.prod(shape[len(members) :])


def choice(value: str | None, name: str, choices: Sequence[str]) -> str:
    """One of some words; the first if none is given.

    Raises:
        Refused: It is another one.
    """
    if value is None:
        return choices[0]
    if value not in choices:
        raise Refused(422, unknown_choice(name, value, choices))
    return value


def number(value: str | None, name: str, default: int, least: int, most: int) -> int:
    """A whole number within limits.

    Raises:
        Refused: It is not one, or outside of them.
    """
    if value is None or value == "":
        return default
    if not value.isascii() or not value.isdecimal() or len(value) > 18 or not least <= int(value) <= most:
        raise Refused(422, f"{name} is '{value}': give a number from {least} to {most}")
    return int(value)


def truth(value: str | None) -> bool:
    """Whether a query says yes."""
    return value is not None and value.lower() not in ("false", "0", "")


def shown_type(dtype: AnyDtype) -> Json:
    """A numpy type as h5grove writes it: its text, or for a compound the text of each member."""
    if dtype.fields is None:
        return dtype.str
    return {name: shown_type(member[0]) for name, member in dtype.fields.items()}
