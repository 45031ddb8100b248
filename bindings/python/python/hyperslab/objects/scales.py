"""Scales: attributes that connect datasets with the scales of their dimensions (HDF5 Dimension Scales specification 1.4)."""

from __future__ import annotations

import itertools
import struct
from typing import Any, Protocol

from .. import _native
from ..backends.backend import Backend, Changes
from ..base.errors import InvalidInputError, InvalidTypeError, ObjectNotFoundError
from ..base.type_aliases import AttributeValue
from ..values.references import Reference, stored_bytes
from .attributes import Attributes, value_of
from .stored_references import OBJECT, address_of


class Addressed(Protocol):
    """An object that references point at."""

    @property
    def _backend(self) -> Backend | Changes: ...

    @property
    def _file(self) -> Any: ...

    @property
    def _number(self) -> int: ...

    def _own_number(self) -> int: ...


class Scaled(Addressed, Protocol):
    """A dataset that has scales, or is one."""

    @property
    def path(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def _changes(self) -> Changes: ...


class Labelled(Scaled, Protocol):
    """A dataset whose dimensions have labels."""

    @property
    def attrs(self) -> Attributes: ...


_LIST = _native.Datatype.sequence(OBJECT)
_DIMENSION = _native.Datatype.integer(4, signed=False)
_USERS = _native.Datatype.compound(16, [("dataset", 0, OBJECT), ("dimension", 8, _DIMENSION)])


def is_scale(dataset: Scaled) -> bool:
    """Whether a dataset is a dimension scale.

    Args:
        dataset: The dataset.

    Returns:
        Whether it is one.
    """
    return plain(attribute(dataset, "CLASS")) == "DIMENSION_SCALE"


def attribute(dataset: Scaled, name: str) -> AttributeValue:
    """An attribute that files of netCDF have and do not show.

    Args:
        dataset: The dataset.
        name: Name of the attribute.

    Returns:
        Its value; `None` if there is none.
    """
    file = dataset._changes.raw
    found = file.attribute(file.find(dataset.path)[1], name)
    return None if found is None else value_of(found, file)


def make(dataset: Scaled, name: str) -> None:
    """Makes a dataset a scale.

    Args:
        dataset: The dataset.
        name: The name of the scale.

    Raises:
        InvalidInputError: The dataset has scales of its own.
    """
    if any(attached(dataset)):
        raise InvalidInputError("a dataset that has scales cannot be one", dataset._changes.path, dataset.path)
    _set_text(dataset, "CLASS", "DIMENSION_SCALE")
    _set_text(dataset, "NAME", name)


def attach(dataset: Scaled, axis: int, scale: Scaled) -> None:
    """Attaches a scale to a dimension of a dataset.

    Args:
        dataset: The dataset.
        axis: The dimension.
        scale: The scale.

    Raises:
        InvalidInputError: There is no such dimension, or the scale has scales itself.
    """
    _check(dataset, axis, scale)
    if is_scale(dataset):
        raise InvalidInputError("a dimension scale cannot have scales", dataset._changes.path, dataset.path)
    if not is_scale(scale):
        make(scale, "")
    connect(dataset, axis, scale)


def connect(dataset: Scaled, axis: int, scale: Scaled) -> None:
    """Attaches a scale to a dimension, both of which are known to be right.

    Args:
        dataset: The dataset.
        axis: The dimension.
        scale: The scale.
    """
    found = attached(dataset)
    if address(scale) in found[axis]:
        return
    if not dataset._backend.is_complete:
        number, other = dataset._own_number(), scale._own_number()
        dataset._changes.make(lambda definitions: definitions.attach_scale(number, axis, other))
        return
    found[axis].append(address(scale))
    _store(dataset, found)
    _store_users(scale, [*_users(scale), (address(dataset), axis)])


def detach(dataset: Scaled, axis: int, scale: Scaled) -> None:
    """Detaches a scale from a dimension of a dataset.

    Args:
        dataset: The dataset.
        axis: The dimension.
        scale: The scale.

    Raises:
        ObjectNotFoundError: It is not attached there.
    """
    _check(dataset, axis, scale)
    if address(scale) not in attached(dataset)[axis]:
        raise ObjectNotFoundError(f"{scale.path} is not attached to dimension {axis}", dataset._changes.path, dataset.path)
    disconnect(dataset, axis, scale)


def disconnect(dataset: Scaled, axis: int, scale: Scaled) -> None:
    """Detaches a scale that is attached to a dimension.

    Args:
        dataset: The dataset.
        axis: The dimension.
        scale: The scale.
    """
    if not dataset._backend.is_complete:
        number, other = dataset._own_number(), scale._own_number()
        dataset._changes.make(lambda definitions: definitions.detach_scale(number, axis, other))
        return
    found = attached(dataset)
    found[axis].remove(address(scale))
    _store(dataset, found)
    _store_users(scale, [user for user in _users(scale) if user != (address(dataset), axis)])


def set_label(dataset: Labelled, axis: int, label: str) -> None:
    """Sets the label of a dimension.

    Args:
        dataset: The dataset.
        axis: The dimension.
        label: The label.
    """
    if not 0 <= axis < len(dataset.shape):
        raise InvalidInputError(f"dimension {axis} of a dataset of {len(dataset.shape)} dimensions", dataset._changes.path, dataset.path)
    labels = [plain(value) for value in dataset.attrs.get("DIMENSION_LABELS", [""] * len(dataset.shape))]
    labels[axis] = label
    texts = [text.encode("utf-8", "surrogateescape") for text in labels]
    raw = b"".join(struct.pack("<IQI", len(text), 1 if text else 0, number if text else 0) for number, text in enumerate(texts, 1))
    datatype = _native.Datatype.variable_string()
    number = dataset._own_number()
    dataset._changes.make(lambda editor: editor.set_attribute(number, "DIMENSION_LABELS", [len(labels)], datatype, raw, texts))


def _check(dataset: Scaled, axis: int, scale: Scaled) -> None:
    if not 0 <= axis < len(dataset.shape):
        raise InvalidInputError(f"dimension {axis} of a dataset of {len(dataset.shape)} dimensions", dataset._changes.path, dataset.path)
    if getattr(scale, "kind", None) != "dataset":
        raise InvalidTypeError(f"a scale is a dataset of the file that is edited, not {scale!r}", dataset._changes.path, dataset.path)
    if scale._backend is not dataset._backend:
        raise InvalidInputError("the scale is in another file", dataset._changes.path, dataset.path)
    if scale == dataset:
        raise InvalidInputError("a dataset cannot be the scale of its own dimension", dataset._changes.path, dataset.path)


def address(node: Addressed) -> bytes:
    """The address of an object, as references hold it; in a file that is being created its number.

    Args:
        node: The object.

    Returns:
        8 bytes.
    """
    if not node._backend.is_complete:
        return int(node._own_number()).to_bytes(8, "little")
    return address_of(node._file, node._number)


def attached(dataset: Scaled) -> list[list[bytes]]:
    """The addresses of the scales of each dimension.

    Args:
        dataset: The dataset.

    Returns:
        A list for each dimension.
    """
    if not dataset._backend.is_complete:
        found: list[list[bytes]] = dataset._file.scales(dataset._number)
        return found
    return addresses(attribute(dataset, "DIMENSION_LIST"), dataset.shape)


def addresses(scales: AttributeValue, shape: tuple[int, ...]) -> list[list[bytes]]:
    """The addresses in a list of scales.

    Args:
        scales: The attribute `DIMENSION_LIST`, or `None`.
        shape: The shape of the dataset.

    Returns:
        A list for each dimension.
    """
    if scales is None:
        return [[] for _ in shape]
    return [[stored_bytes(reference) for reference in _references(found)] for found in scales]


def _references(values: AttributeValue) -> list[Reference]:
    return [value for value in ([] if values is None else values) if isinstance(value, Reference) and value]


def _store(dataset: Scaled, found: list[list[bytes]]) -> None:
    number = dataset._own_number()
    if not any(found):
        dataset._changes.make(lambda editor: editor.delete_attribute(number, "DIMENSION_LIST"))
        return
    raw = b"".join(struct.pack("<IQI", len(scales), 1 if scales else 0, axis if scales else 0) for axis, scales in enumerate(found, 1))
    # The list of each dimension has the numbers of the addresses after the lists.
    addresses = [scale for scales in found for scale in scales]
    numbers = itertools.count(len(found) + 1)
    heap = [b"".join(struct.pack("<Q", next(numbers)) for _ in scales) for scales in found] + addresses
    dataset._changes.make(lambda editor: editor.set_attribute(number, "DIMENSION_LIST", [len(found)], _LIST, raw, heap))


def _users(scale: Scaled) -> list[tuple[bytes, int]]:
    """The address of each dataset that has the scale, and the dimension."""
    found = attribute(scale, "REFERENCE_LIST")
    return [] if found is None else [(stored_bytes(row[0]), int(row[1])) for row in found if row[0]]


def _store_users(scale: Scaled, users: list[tuple[bytes, int]]) -> None:
    number = scale._own_number()
    if not users:
        if attribute(scale, "REFERENCE_LIST") is not None:
            scale._changes.make(lambda editor: editor.delete_attribute(number, "REFERENCE_LIST"))
        return
    raw = b"".join(struct.pack("<QII", place, axis, 0) for place, (_, axis) in enumerate(users, 1))
    heap = [address for address, _ in users]
    scale._changes.make(lambda editor: editor.set_attribute(number, "REFERENCE_LIST", [len(users)], _USERS, raw, heap))


def _set_text(dataset: Scaled, name: str, text: str) -> None:
    stored = text.encode("utf-8", "surrogateescape") + b"\0"
    number = dataset._own_number()
    dataset._changes.make(lambda editor: editor.set_attribute(number, name, [], _native.Datatype.string(len(stored)), stored, []))


def plain(value: AttributeValue) -> str:
    """Text of an attribute.

    Args:
        value: Its value.

    Returns:
        The text; an empty one for no value.
    """
    return value.decode() if isinstance(value, bytes) else "" if value is None else str(value)
