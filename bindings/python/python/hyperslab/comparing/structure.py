"""Structure: what files say of objects beyond their content, as `h5dump -p` shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..objects.dataset import Dataset
from ..objects.group import Group, Member
from ..objects.native_objects import native_of, stored_attribute
from .datatypes import are_same
from .difference import Difference

#: Kinds of differences that are about structure alone.
STRUCTURE_KINDS = frozenset({"committed", "order", "comment", "times", "fill_status", "storage", "attribute_type", "character_set"})
#: Attributes that connect datasets with dimension scales.
_OF_SCALES = ("DIMENSION_LIST", "REFERENCE_LIST")
#: Facts of a dataset and the kinds of their differences.
_OF_DATASETS = (
    ("layout", "storage", "the layout"),
    ("filters", "storage", "the filters"),
    ("filter_flags", "storage", "filters that may be skipped"),
    ("fill_status", "fill_status", "the status of the fill value"),
    ("fill_time", "fill_status", "the time at which the fill value is written"),
    ("allocation", "fill_status", "the time at which storage is allocated"),
)


def structural_differences(one: Member, other: Member) -> Iterator[Difference]:
    """What differs between two objects of the same kind, except their committed datatypes.

    Args:
        one: An object.
        other: The object of the other file.

    Yields:
        The differences.
    """
    first, second = structure_of(one), structure_of(other)
    if first["comment"] != second["comment"]:
        yield Difference(one.name, "comment", f"the comment: {first['comment']!r} and {second['comment']!r}")
    if first["times"] != second["times"]:
        yield Difference(one.name, "times", f"the times: {first['times']} and {second['times']}")
    yield from _orders(one, other, first, second)
    yield from _character_sets(one, other)
    if isinstance(one, Dataset):
        for name, kind, what in _OF_DATASETS:
            if name == "filters" and native_of(one)[0].format != native_of(other)[0].format:
                continue  # what a container holds is encoded again, and the copy says so
            if name == "allocation" and None in (first[name], second[name]):
                continue  # a file without the message leaves it to the library
            if first[name] != second[name]:
                yield Difference(one.name, kind, f"{what}: {first[name]} and {second[name]}")
    for name in first["stored_attributes"]:
        yield from _attribute_type(one, other, name)


def structure_of(node: Member) -> dict[str, Any]:
    """What the file says of an object beyond its content."""
    file, number = native_of(node)
    return file.structure(number)


def committed_pairs(one: Member, other: Member) -> Iterator[tuple[str, int | None, int | None]]:
    """The committed datatypes that two objects and their attributes share: what shares it, and the numbers of the datatypes."""
    first, second = structure_of(one), structure_of(other)
    yield "the datatype", first["committed"], second["committed"]
    mine, theirs = first["committed_of_attributes"], second["committed_of_attributes"]
    for name in sorted({*mine, *theirs}):
        yield f"the datatype of the attribute {name!r}", mine.get(name), theirs.get(name)


def _orders(one: Member, other: Member, first: dict[str, Any], second: dict[str, Any]) -> Iterator[Difference]:
    for name, what in ("link_order", "links"), ("attribute_order", "attributes"):
        if first[name] != second[name]:
            yield Difference(one.name, "order", f"the order of {what} is {_recorded(first[name])} and {_recorded(second[name])}")
    mine, theirs = (_attributes(node, about) for node, about in ((one, first), (other, second)))
    if mine != theirs and sorted(mine) == sorted(theirs):
        yield Difference(one.name, "order", "the attributes have another order")
    if isinstance(one, Group) and isinstance(other, Group) and first["link_order"][0] and second["link_order"][0]:
        names, others = list(one.keys()), list(other.keys())
        if names != others and sorted(names) == sorted(others):
            yield Difference(one.name, "order", "the members have another order")


def _character_sets(one: Member, other: Member) -> Iterator[Difference]:
    if isinstance(one, Group) and isinstance(other, Group):
        mine, theirs = (set(file.utf8_names(number)) for file, number in map(native_of, (one, other)))
        for name in sorted((mine ^ theirs) & {*one.keys()} & {*other.keys()}):
            yield Difference(one.name, "character_set", f"the name {name!r} is UTF-8 in one file, and ASCII in the other")


def _attributes(node: Member, about: dict[str, Any]) -> list[str]:
    """Names of attributes in the order of their creation if that is recorded, else as they are stored."""
    file, number = native_of(node)
    return file.attribute_names(number) if about["attribute_order"][0] else list(about["stored_attributes"])


def _recorded(order: tuple[bool, bool]) -> str:
    return ("recorded and indexed" if order[1] else "recorded") if order[0] else "not recorded"


def _attribute_type(one: Member, other: Member, name: str) -> Iterator[Difference]:
    first, second = stored_attribute(one, name), stored_attribute(other, name)
    if first is None or second is None:
        return  # named with the attributes
    formats = (native_of(one)[0].format, native_of(other)[0].format)
    if name in _OF_SCALES and formats[0] != formats[1]:
        return  # in a container they have references of HDF5 1.12
    if not are_same(first.datatype, second.datatype, formats) or first.shape != second.shape:
        yield Difference(one.name, "attribute_type", f"the attribute {name!r} has another type or shape")
