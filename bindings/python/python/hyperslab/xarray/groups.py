"""Groups for xarray: the variables, subgroups and dimensions of a group, as the netCDF library sees them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from typing import NamedTuple

from .. import _native
from ..base.description import Description
from ..base.errors import Error, InvalidTypeError, LimitExceededError, NotFoundError, ObjectNotFoundError, UnsupportedError

#: Groups appear at each of their paths. They may have any number: groups that share members double it with each level.
MAX_OTHER_PATHS = 1000


class MissingGroupError(ObjectNotFoundError, OSError):
    """A file has no group of this name; xarray's engines raise an `OSError`."""

    __str__ = ObjectNotFoundError.__str__


class Member(NamedTuple):
    """A member of a group: the file that it is in, its number there, its path, and the description by the core."""

    file: _native.File
    number: int
    path: str
    about: Description


def normalized(group: str | None) -> str:
    """The absolute path of a group, without a slash at the end of others than the root."""
    if group is not None and not isinstance(group, str):
        raise InvalidTypeError(f"group must be a string or None, not {type(group).__name__}")
    return "/" + "/".join(part for part in (group or "").split("/") if part)


def find_group(file: _native.File, path: str) -> tuple[_native.File, int]:
    """The file and the number of the group at a path; `MissingGroupError` if there is none."""
    try:
        found, number = file.find(path)
    except NotFoundError as error:
        raise MissingGroupError(f"group not found: {error.message}", file.path, path) from None
    if found.kind(number) != "group":
        raise MissingGroupError(f"{path} is a {found.kind(number)}, not a group", file.path, path)
    return found, number


def members(file: _native.File, number: int, path: str, drop: Collection[str] = ()) -> Iterator[tuple[str, Member]]:
    """The members of a group by name, in the order of the file, without those in `drop`. Links that lead nowhere are left out with
    a warning."""
    links = file.links(number)
    for name, kind, target in zip(links.names, links.kinds, links.objects, strict=True):
        if name in drop:
            continue
        place = f"{path.rstrip('/')}/{name}"
        try:
            if kind == "soft" and not file.exists(place):
                # An error of `find` would look for names that are alike, for each of many links.
                raise NotFoundError("there is no such object", file.path, place)
            other, found = (file, target) if target is not None else file.find(place)
        except NotFoundError as error:
            warnings.warn(f"{kind} link {place} leads nowhere and is left out: {error}", UserWarning, stacklevel=2)
            continue
        except Error as error:
            raise UnsupportedError(f"{error.message}; {leave_out(name)}", file.path, place) from error
        yield name, Member(other, found, place, other.describe(found, place))


def leave_out(name: str) -> str:
    """What a message says of a variable that cannot be opened."""
    return f"to open the other variables, add drop_variables=[{name!r}]"


def subgroups(file: _native.File, path: str) -> Iterator[str]:
    """The paths of a group and of all groups below it, each before those below. A group that links lead to again from below
    itself is not entered again; links that cannot be followed lead to no group."""

    known: set[tuple[str, int]] = set()
    others = 0

    def below(file: _native.File, number: int, path: str, above: frozenset[tuple[str, int]]) -> Iterator[str]:
        nonlocal others
        others += (file.path, number) in known
        known.add((file.path, number))
        if others > MAX_OTHER_PATHS:
            raise LimitExceededError(f"more than {MAX_OTHER_PATHS:,} further paths of the same groups", file.path, path)
        yield path
        links = file.links(number)
        for name, target in zip(links.names, links.objects, strict=True):
            place = f"{path.rstrip('/')}/{name}"
            try:
                other, found = (file, target) if target is not None else file.find(place)
            except Error:
                continue  # opening the group above reports it
            if (other.path, found) not in above and other.kind(found) == "group":
                yield from below(other, found, place, above | {(other.path, found)})

    found, number = find_group(file, path)
    return below(found, number, path, frozenset({(found.path, number)}))


def enum_name(file: _native.File, path: str, datatype: _native.Datatype) -> str | None:
    """The name of the committed type that equals an enumeration, in the group at `path` or above it."""
    while True:
        group, number = find_group(file, path)
        links = group.links(number)
        for name, target in zip(links.names, links.objects, strict=True):
            if target is None or group.kind(target) != "datatype":
                continue
            known = group.describe(target, f"{path.rstrip('/')}/{name}")["datatype"]
            if known == datatype:
                return name
        if path == "/":
            return None
        path = path.rpartition("/")[0] or "/"
