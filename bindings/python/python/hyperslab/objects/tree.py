"""Tree: the contents of a file for people. One walk serves text and the command line; `html` shows it in notebooks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sized
from typing import NamedTuple, Protocol, TypeVar, cast

import numpy as np

from ..base.errors import Error
from ..base.type_aliases import AnyDtype
from ..base.visible import visible
from ..values.tagged_dtypes import element
from .attributes import Attributes, shown

#: Characters of a name, a link's target, a description or an attribute's value that are shown.
MAX_VALUE_CHARS = 200
#: Number of members of one group, and of objects in all, that `repr` and notebooks show.
MAX_MEMBERS = 200
MAX_OBJECTS = 2000
#: Groups below groups, and characters of a path, down to which trees are shown: more of them take memory that grows with the
#: square of their number.
MAX_DEPTH = 64
MAX_PATH_CHARS = 1 << 16
#: What follows the last object that is shown, and what stands for the members of a group that is too deep.
MORE = "… and more: keys() has the names, and the command hyperslab ls shows all"
DEEPER = "… and more: open the group to see what is below it"

#: Members of compound datatypes and of attributes' values that one tree describes, beyond a few of each object: objects may share
#: a datatype of thousands of members.
MAX_PARTS = 50_000
FREE_PARTS = 16

Item = TypeVar("Item")


class Shown(Protocol):
    """An object as the tree shows it: a group, a dataset, or any other object of a file."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    _number: int

    @property
    def kind(self) -> str: ...

    @property
    def attrs(self) -> Attributes: ...

    @property
    def refusal(self) -> str | None: ...

    def _summary(self) -> list[str]: ...

    def _parts(self) -> int: ...

    def _entries(self) -> Iterator[Entry]: ...


class Entry(NamedTuple):
    """One link: `object` is the target of a hard link, `target` the text of another kind of link."""

    name: str
    path: str
    kind: str
    object: Shown | None
    target: str


def each_object(group: Shown) -> Iterator[Shown]:
    """A group and each object below it once, even if several links lead to it."""
    pending = [group]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if node._number in seen:
            continue
        seen.add(node._number)
        yield node
        pending += [entry.object for entry in node._entries() if entry.object is not None]


class Effort:
    """What the datatypes in one tree cost. Once too much was spent, objects are shown without them."""

    def __init__(self) -> None:
        self.left = MAX_PARTS

    def spend(self, parts: int) -> None:
        self.left -= max(0, parts - FREE_PARTS)

    @property
    def is_spent(self) -> bool:
        return self.left <= 0


def parts_of(dtype: AnyDtype) -> int:
    """The members of a dtype, of all levels."""
    count, pending = 0, [dtype]
    while pending:
        one = element(pending.pop())
        count += 1
        if one.names and one.fields:
            pending += [one.fields[name][0] for name in one.names]
    return count


def cut(text: str) -> str:
    """Text that fits a line, with control characters made visible."""
    return visible(text if len(text) <= MAX_VALUE_CHARS else text[:MAX_VALUE_CHARS] + "…")


def line(entry: Entry, effort: Effort | None = None, shown_at: str | None = None) -> str:
    """A link in one line, without its name; a group whose members are shown elsewhere says where. `effort` is that of the tree
    that the line is in."""
    return cut("  ".join(line_parts(entry, effort or Effort(), shown_at)))


def line_parts(entry: Entry, effort: Effort, shown_at: str | None) -> list[str]:
    """The parts of a link's line. Each may be long."""
    if entry.object is None:
        return [f"-> {entry.target}"]
    if shown_at is not None:
        return [f"the group {shown_at}"]
    if effort.is_spent:
        return [f"{entry.object.kind} …"]
    found = entry.object._summary()
    effort.spend(entry.object._parts())
    return found


class Seen:
    """Where the members of each group are shown: groups may have any number of paths, and be their own members."""

    def __init__(self, root: Shown) -> None:
        self.paths = {root._number: root.path}

    def find(self, entry: Entry) -> str | None:
        """The path at which the members of a group are shown; `None` if that is here, and if it is not a group."""
        if entry.object is None or entry.object.kind != "group":
            return None
        path = entry.path if len(entry.path) <= MAX_VALUE_CHARS else "above"
        known = self.paths.setdefault(entry.object._number, path)
        return None if known is path else known


def is_deep(path: str, depth: int) -> bool:
    """Whether what is below a path is left out."""
    return depth >= MAX_DEPTH or len(path) > MAX_PATH_CHARS


def attribute_lines(node: Shown, effort: Effort | None = None) -> Iterator[tuple[str, str]]:
    """Names and values of an object's attributes; long values are cut. `effort` is the effort of the tree that they are in."""
    effort = effort or Effort()
    try:
        attributes = node.attrs
    except Error as error:
        yield "attributes", cut(f"cannot be read: {error}")
        return
    for name in attributes:
        if effort.is_spent:
            yield cut(name), "…"
            continue
        try:
            found = attributes[name]
            value = " ".join(shown(found).split())
            effort.spend(parts_of(found.dtype) if isinstance(found, (np.ndarray, np.generic)) else 1)
        except Error as error:
            value = f"cannot be read: {error}"
        yield cut(name), cut(value)


def with_last(items: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Each item, and whether it is the last. Only one item is made ahead."""
    iterator = iter(items)
    for item in iterator:
        for following in iterator:
            yield item, False
            item = following
        yield item, True


def first_entries(group: Shown, budget: Iterator[int]) -> Iterator[Entry | None]:
    """The first entries of a group as long as there is a `budget`; then `None` if there are more."""
    for number, entry in enumerate(group._entries()):
        if number >= MAX_MEMBERS or next(budget, None) is None:
            yield None
            return
        yield entry


def text(group: Shown) -> str:
    """The tree below a group as text, without what is too much for a screen."""
    budget = iter(range(MAX_OBJECTS))
    effort = Effort()
    seen = Seen(group)

    def below(group: Shown, indent: str, depth: int) -> Iterator[str]:
        for entry in first_entries(group, budget):
            if entry is None:
                yield indent + MORE
                continue
            is_group = entry.object is not None and entry.object.kind == "group"
            shown_at = seen.find(entry)
            yield f"{indent}{cut(entry.name)}{'/' if is_group else ''}  {line(entry, effort, shown_at)}".rstrip()
            if entry.object is None or not is_group or shown_at is not None:
                continue
            if is_deep(entry.path, depth):
                yield f"{indent}  {DEEPER}"
            else:
                yield from below(entry.object, indent + "  ", depth + 1)

    return "\n".join([cut(group.path), *below(group, "  ", 1)])


def _closed_at(entry: Entry, depth: int, depth_limit: int | None) -> str:
    """The number of members of a group that are not shown because of the limit."""
    if entry.object is None or entry.object.kind != "group" or depth_limit is None or depth < depth_limit:
        return ""
    count = len(cast(Sized, entry.object))  # a group
    return f"{count} member{'' if count == 1 else 's'}" if count else ""


class Branch(NamedTuple):
    """A line of a tree with guides: `prefix` are the guides, `name` is a name or empty, and `rest` is what follows it."""

    prefix: str
    name: str
    rest: str
    entry: Entry | None


def branches(node: Shown, attributes: bool, depth_limit: int | None = None) -> Iterator[Branch]:
    """The tree below a node line by line, each made when it is asked for: with `attributes` if wanted. Those have no entry.
    Groups at `depth_limit` are shown without their members."""
    seen = Seen(node)
    effort = Effort()

    def items(node: Shown, lists_members: bool) -> Iterator[tuple[tuple[str, str] | Entry, bool]]:
        values = attribute_lines(node, effort) if attributes else iter(())
        return with_last(itertools.chain(values, node._entries() if lists_members else ()))

    described = {node._number}

    def below(node: Shown, guides: str, depth: int, lists_members: bool) -> Iterator[Branch]:
        for item, is_last in items(node, lists_members):
            prefix, further = guides + ("└── " if is_last else "├── "), guides + ("    " if is_last else "│   ")
            if not isinstance(item, Entry):
                yield Branch(prefix, "", f"@{item[0]} = {item[1]}", None)
                continue
            is_group = item.object is not None and item.object.kind == "group"
            shown_at = seen.find(item)
            yield Branch(
                prefix,
                cut(item.name),
                f"{'/' if is_group else ''}  {line(item, effort, shown_at)}{_closed_at(item, depth, depth_limit) if shown_at is None else ''}".rstrip(),
                item,
            )
            # Attributes of an object stand at the first of its paths, as its members do.
            if item.object is None or item.object._number in described:
                continue
            described.add(item.object._number)
            if is_group and is_deep(item.path, depth):
                yield Branch(further + "└── ", "", DEEPER, None)
            else:
                yield from below(item.object, further, depth + 1, shown_at is None and (depth_limit is None or depth < depth_limit))

    return below(node, "", 1, True)
