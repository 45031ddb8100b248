"""What notebooks show of a dataset: facts, a picture, the first values and the attributes, of a bounded size."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

import numpy as np

from ..base.blocks import beside, card, dim, facts, leaf, size, text
from ..base.description import Description
from ..base.errors import Error, UnsupportedError
from ..base.type_aliases import AnyDtype, Elements, Key
from . import tree
from .attributes import Attributes
from .dataset_text import meaning
from .html import MAX_SECONDS, Budget, attributes_of, long_name_of, units_of
from .preview import preview
from .thumbnail import thumbnail


class Dataset(Protocol):
    """The part of a dataset's interface that is shown."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...

    _number: int
    _about: Description

    @property
    def kind(self) -> str: ...
    @property
    def refusal(self) -> str | None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dims(self) -> tuple[str | None, ...]: ...
    @property
    def dtype(self) -> AnyDtype: ...
    @property
    def chunks(self) -> tuple[int, ...] | None: ...
    @property
    def filters(self) -> Sequence[str]: ...
    @property
    def compression_ratio(self) -> float | None: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def stored_bytes(self) -> int: ...
    @property
    def size(self) -> int | None: ...
    @property
    def attrs(self) -> Attributes: ...
    def _summary(self) -> list[str]: ...
    def _parts(self) -> int: ...
    def _entries(self) -> Iterator[tree.Entry]: ...
    def __getitem__(self, key: Key) -> Elements: ...


def of_dataset(dataset: Dataset, type: str, file: str) -> str:
    """A dataset: name, dimensions, type, units, chunks, compression, a picture, the first values and the attributes."""
    note = os.path.basename(file)
    refusal = dataset.refusal or (None if dataset.kind == "unreadable" else _lacking(dataset))
    if dataset.kind == "unreadable" or refusal:
        return card("Dataset", dataset.name, note, leaf(f"cannot be read: {text(refusal)}"), attributes_of(dataset, Budget()))
    about = [
        ("shape", _dimensions(dataset)),
        ("type", text(type + meaning(cast(Any, dataset)))),
        ("name", text(long_name_of(dataset))),
        ("units", text(units_of(dataset))),
        ("size", text(_storage(dataset))),
        ("chunks", text(_chunks(dataset))),
    ]
    began = time.monotonic()
    values, could_be_read = preview(dataset)
    picture = _picture(dataset) if could_be_read and time.monotonic() - began < MAX_SECONDS else ""
    return card("Dataset", dataset.name, note, beside(facts(about), picture), values, attributes_of(dataset, Budget(), opened=False))


def _lacking(dataset: Dataset) -> str | None:
    """Why numpy has no datatype for the values; `None` if it has one."""
    try:
        _ = dataset.dtype
    except UnsupportedError as error:
        return error.message
    return None


def _picture(dataset: Dataset) -> str:
    try:
        return thumbnail(cast(Any, dataset))
    except (Error, ValueError, TypeError, LookupError, OverflowError, MemoryError) as error:
        return leaf(dim(f"no picture: {error}"))


def _dimensions(dataset: Dataset) -> str:
    if not dataset.shape:
        return text("scalar")
    names = dataset.dims or (None,) * len(dataset.shape)
    return " × ".join(f"{text(name)} <b>{extent:,}</b>" if name else f"<b>{extent:,}</b>" for name, extent in zip(names, dataset.shape, strict=False))


def _storage(dataset: Dataset) -> str:
    parts = [size(dataset.nbytes)]
    try:
        stored = dataset.stored_bytes
    except Error:
        return parts[0]
    if dataset.filters and dataset.compression_ratio is not None:
        parts.append(f"{size(stored)} in the file ({' + '.join(dataset.filters)}, {dataset.compression_ratio:.1f}:1)")
    elif dataset.filters:
        parts.append(f"{' + '.join(dataset.filters)}, nothing stored yet")
    else:
        parts.append("not compressed")
    return ", ".join(parts)


def _chunks(dataset: Dataset) -> str:
    if not dataset.chunks:
        return "contiguous" if dataset.shape else ""
    count = int(np.prod([-(-extent // chunk) for extent, chunk in zip(dataset.shape, dataset.chunks, strict=True)], dtype=object))
    each = int(np.prod(dataset.chunks, dtype=object)) * dataset.dtype.itemsize
    return f"{' × '.join(map(str, dataset.chunks))}, {size(each)} each, {count:,} in all"
