"""Paging: groups of very many members, shown as groups of some of them each.

H5Web draws all members of a group at once, and a browser takes minutes for 100,000. A page has a name that no program gives: it begins
with an invisible character. Only requests that ask for pages (`page_members`) get them; others get h5grove's answer."""

from __future__ import annotations

import itertools
import re

from .. import h5py
from ..base.type_aliases import JsonObject
from .requests import Refused

_MARK = "\u2063"
_NAME = re.compile(rf"{_MARK}(\d+) to (\d+): .*")


def pages(group: h5py.Group, members: int) -> list[JsonObject] | None:
    """The pages of a group as h5grove describes groups; `None` if it has few enough members to show them."""
    if len(group) <= members:
        return None
    names = list(group)
    found = []
    for first in range(0, len(names), members):
        last = min(first + members, len(names)) - 1
        # A name with a slash would be two; the numbers say which members these are.
        words = f"{names[first]} … {names[last]}".replace("/", "_")
        found.append({"kind": "group", "name": f"{_MARK}{first} to {last}: {words}", "attributes": []})
    return found


def split(path: str) -> tuple[str, slice | None]:
    """A path without its pages, and the members of the page if it leads to one."""
    parts = path.split("/")
    matches = [_NAME.fullmatch(part) for part in parts]
    kept = [part for part, match in zip(parts, matches, strict=True) if match is None]
    last = matches[-1]
    return "/".join(kept) or "/", None if last is None else slice(int(last[1]), int(last[2]) + 1)


def names(group: h5py.Group, members: slice) -> list[str]:
    """The names of a page.

    Raises:
        Refused: The group has fewer members by now.
    """
    found = list(itertools.islice(group, members.start, members.stop))
    if not found:
        raise Refused(404, f"the group has no member {members.start} any more: read the file again")
    return found
