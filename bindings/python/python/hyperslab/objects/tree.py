"""Tree: the contents of a file for people. One walk serves text, HTML and the command line."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from ..errors import Error
from .attributes import Attributes, shown

#: Characters of an attribute's value that are shown.
MAX_VALUE_CHARS = 200
#: Number of members of one group, and of objects in all, that `repr` and notebooks show.
MAX_MEMBERS = 200
MAX_OBJECTS = 2000
#: What follows the last object that is shown.
MORE = "… and more: keys() has the names, and the command hyperslab ls shows all"

Item = TypeVar("Item")


class Shown(Protocol):
    """An object as the tree shows it: a group, a dataset, or any other object of a file."""

    name: str
    _number: int

    @property
    def kind(self) -> str: ...

    @property
    def attrs(self) -> Attributes: ...

    @property
    def refusal(self) -> str | None: ...

    def _summary(self) -> str: ...

    def _entries(self, ancestors: frozenset[int]) -> Iterator[Entry]: ...


class Entry(NamedTuple):
    """One link: `object` is the target of a hard link, `target` the text of another kind of link. `repeated` says that the
    object is one of its own ancestors."""

    name: str
    path: str
    kind: str
    object: Shown | None
    target: str
    repeated: bool


def line(entry: Entry) -> str:
    """A link in one line, without its name."""
    return f"-> {entry.target}" if entry.object is None else entry.object._summary()


def attribute_lines(node: Shown) -> Iterator[tuple[str, str]]:
    """Names and values of an object's attributes; long values are cut."""
    try:
        attributes = node.attrs
    except Error as error:
        yield "attributes", f"cannot be read: {error}"
        return
    for name in attributes:
        try:
            value = " ".join(shown(attributes[name]).split())
        except Error as error:
            value = f"cannot be read: {error}"
        yield name, value if len(value) <= MAX_VALUE_CHARS else value[:MAX_VALUE_CHARS] + "…"


def with_last(items: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Each item, and whether it is the last. Only one item is made ahead."""
    iterator = iter(items)
    for item in iterator:
        for following in iterator:
            yield item, False
            item = following
        yield item, True


def first_entries(group: Shown, ancestors: frozenset[int], budget: Iterator[int]) -> Iterator[Entry | None]:
    """The first entries of a group as long as there is a `budget`; then `None` if there are more."""
    for number, entry in enumerate(group._entries(ancestors)):
        if number >= MAX_MEMBERS or next(budget, None) is None:
            yield None
            return
        yield entry


def text(group: Shown) -> str:
    """The tree below a group as text, without what is too much for a screen."""
    budget = iter(range(MAX_OBJECTS))

    def below(group: Shown, indent: str, ancestors: frozenset[int]) -> Iterator[str]:
        for entry in first_entries(group, ancestors, budget):
            if entry is None:
                yield indent + MORE
                continue
            is_group = entry.object is not None and entry.object.kind == "group"
            yield f"{indent}{entry.name}{'/' if is_group else ''}  {line(entry)}".rstrip()
            if entry.object is not None and is_group and not entry.repeated:
                yield from below(entry.object, indent + "  ", ancestors | {entry.object._number})

    return "\n".join([group.name, *below(group, "  ", frozenset({group._number}))])


class Branch(NamedTuple):
    """A line of a tree with guides: `prefix` are the guides, `name` is a name or empty, and `rest` is what follows it."""

    prefix: str
    name: str
    rest: str
    entry: Entry | None


def branches(node: Shown, attributes: bool) -> Iterator[Branch]:
    """The tree below a node line by line, each made when it is asked for: with `attributes` if wanted. Those have no entry."""

    def below(node: Shown, guides: str, ancestors: frozenset[int], repeated: bool) -> Iterator[Branch]:
        values = attribute_lines(node) if attributes else iter(())
        entries = iter(()) if repeated else node._entries(ancestors)
        for item, is_last in with_last(itertools.chain(values, entries)):
            prefix, further = guides + ("└── " if is_last else "├── "), guides + ("    " if is_last else "│   ")
            if not isinstance(item, Entry):
                yield Branch(prefix, "", f"@{item[0]} = {item[1]}", None)
                continue
            is_group = item.object is not None and item.object.kind == "group"
            yield Branch(prefix, item.name, f"{'/' if is_group else ''}  {line(item)}".rstrip(), item)
            if item.object is not None:
                yield from below(item.object, further, ancestors | {item.object._number}, item.repeated)

    return below(node, "", frozenset({node._number}), False)


def as_html(node: Shown, title: str) -> str:
    """An object as HTML that folds: attributes, then members, without what is too much for a screen."""
    budget = iter(range(MAX_OBJECTS))

    def cells(node: Shown) -> str:
        rows = "".join(f"<tr><td>{html.escape(k)}</td><td style='text-align:left'>{html.escape(v)}</td></tr>" for k, v in attribute_lines(node))
        return f"<table>{rows}</table>" if rows else ""

    def fold(title: str, node: Shown, ancestors: frozenset[int], opened: bool) -> str:
        inner = cells(node)
        for entry in first_entries(node, ancestors, budget):
            if entry is None:
                inner += f"<div>{html.escape(MORE)}</div>"
                continue
            label = f"<b>{html.escape(entry.name)}</b> {html.escape(line(entry))}"
            if entry.object is None or entry.repeated:
                inner += f"<div>{label}</div>"
            else:
                inner += fold(label, entry.object, ancestors | {entry.object._number}, False)
        if not inner:
            return f"<div>{title}</div>"
        return f"<details{' open' if opened else ''}><summary>{title}</summary><div style='margin-left:1.5em'>{inner}</div></details>"

    return fold(html.escape(title), node, frozenset({node._number}), True)


def set_as_html(title: str, paths: list[str], first: Shown) -> str:
    """Several files as HTML that folds: their paths, then the contents of the first."""
    listed = "".join(f"<div>{html.escape(path)}</div>" for path in paths)
    names = f"<details><summary>paths</summary><div style='margin-left:1.5em'>{listed}</div></details>"
    return f"<div><b>{html.escape(title)}</b></div>{names}{as_html(first, f'the first file, {paths[0]}')}"
