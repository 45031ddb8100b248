"""Tree: what is in a file, for people; the same walk serves text, HTML and the command line."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from . import dtypes
from .attributes import Attributes, shown
from .errors import Error

if TYPE_CHECKING:
    from .objects import Group, Node

MOST_TEXT = 200


class Entry(NamedTuple):
    """One link: `object` is what a hard link leads to, `target` what another kind of link says."""

    name: str
    path: str
    kind: str
    object: Node | None
    target: str
    repeated: bool


def members(group: Group, seen: frozenset[int]) -> Iterator[Entry]:
    """The links of a group; an object that lies on the way here is `repeated`."""
    from .objects import make

    for name, kind, number, target in group._links():
        path = f"{group.name.rstrip('/')}/{name}"
        if number is None:
            yield Entry(name, path, f"{kind} link", None, target, False)
            continue
        found = make(group._file, number, path)
        yield Entry(name, path, found.kind, found, "", number in seen)


def line(entry: Entry) -> str:
    """What there is to say about a link in one line, after its name."""
    from .objects import Dataset

    found = entry.object
    if found is None:
        return f"-> {entry.target}"
    if found.kind == "unreadable":
        return f"cannot be read: {found.refusal}"
    if not isinstance(found, Dataset):
        return "" if found.kind == "group" else found.kind
    names = found.dims
    extents = [f"{name}={extent}" if name else str(extent) for name, extent in zip(names, found.shape)] if names else map(str, found.shape)
    parts = [f"({', '.join(extents)})", dtypes.describe(found._about["datatype"])]
    if found.chunks:
        parts.append(f"chunks {'×'.join(map(str, found.chunks))}")
    if found.filters:
        parts.append("+".join(found.filters))
    if (ratio := found.compression_ratio) is not None:
        parts.append(f"{ratio:.1f}:1")
    if found.refusal:
        parts.append(f"cannot be read: {found.refusal}")
    return "  ".join(parts)


def attribute_lines(node: Node) -> Iterator[tuple[str, str]]:
    """Names and values of an object's attributes, cut to a line."""
    try:
        attributes = Attributes(node._file, node._number)
    except Error as error:
        yield "attributes", f"cannot be read: {error}"
        return
    for name in attributes:
        try:
            value = " ".join(shown(attributes[name]).split())
        except Error as error:
            value = f"cannot be read: {error}"
        yield name, value if len(value) <= MOST_TEXT else value[:MOST_TEXT] + "…"


def text(group: Group) -> str:
    """The tree below a group as text."""
    from .objects import Group

    def below(group: Group, indent: str, seen: frozenset[int]) -> Iterator[str]:
        for entry in members(group, seen):
            slash = "/" if isinstance(entry.object, Group) else ""
            yield f"{indent}{entry.name}{slash}  {line(entry)}".rstrip()
            if isinstance(entry.object, Group) and not entry.repeated:
                yield from below(entry.object, indent + "  ", seen | {entry.object._number})

    return "\n".join([group.name, *below(group, "  ", frozenset({group._number}))])


def as_html(node: Node, title: str) -> str:
    """An object as HTML that folds: attributes, then members."""
    from .objects import Group

    def cells(node: Node) -> str:
        rows = "".join(f"<tr><td>{html.escape(k)}</td><td style='text-align:left'>{html.escape(v)}</td></tr>" for k, v in attribute_lines(node))
        return f"<table>{rows}</table>" if rows else ""

    def fold(title: str, node: Node, seen: frozenset[int], opened: bool) -> str:
        inner = cells(node)
        if isinstance(node, Group):
            for entry in members(node, seen):
                label = f"<b>{html.escape(entry.name)}</b> {html.escape(line(entry))}"
                if entry.object is None or entry.repeated:
                    inner += f"<div>{label}</div>"
                else:
                    inner += fold(label, entry.object, seen | {entry.object._number}, False)
        if not inner:
            return f"<div>{title}</div>"
        return f"<details{' open' if opened else ''}><summary>{title}</summary><div style='margin-left:1.5em'>{inner}</div></details>"

    return fold(html.escape(title), node, frozenset({node._number}), True)


def set_as_html(title: str, paths: list[str], first: Group) -> str:
    """Several files as HTML that folds: their paths, then what the first of them has."""
    listed = "".join(f"<div>{html.escape(path)}</div>" for path in paths)
    names = f"<details><summary>paths</summary><div style='margin-left:1.5em'>{listed}</div></details>"
    return f"<div><b>{html.escape(title)}</b></div>{names}{as_html(first, f'the first file, {paths[0]}')}"
