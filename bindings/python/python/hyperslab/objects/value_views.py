"""Value views: a dataset with values of another dtype, or with some fields of its compounds."""

from __future__ import annotations

import abc
from typing import Any, Protocol

import numpy as np

from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, AnyDtype, DtypeLike, Elements, Key
from ..values import conversion as value_conversion
from .attributes import Attributes


class Viewed(Protocol):
    """A dataset, as its views see it."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def attrs(self) -> Attributes: ...

    @property
    def file(self) -> Any: ...

    @property
    def dtype(self) -> AnyDtype: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def size(self) -> int | None: ...

    @property
    def ndim(self) -> int: ...

    def asstr(self) -> Any: ...

    def __len__(self) -> int: ...

    def __getitem__(self, key: Key) -> Elements: ...


def check_copy(copy: bool | None) -> None:
    """Checks numpy's argument `copy` of what is read.

    Args:
        copy: Whether the array may be a copy.

    Raises:
        ValueError: It may not.
    """
    if copy is False:
        raise ValueError("values are read from a file: memory allocation cannot be avoided")


class View(abc.ABC):
    """What views of a dataset have in common."""

    def __init__(self, dataset: Viewed, dtype: AnyDtype) -> None:
        self._dataset, self.dtype = dataset, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        shape: tuple[int, ...] = self._dataset.shape
        return shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int | None:
        """Number of elements."""
        size: int | None = self._dataset.size
        return size

    def __len__(self) -> int:
        return len(self._dataset)

    @abc.abstractmethod
    def __getitem__(self, key: Key) -> Elements:
        """The values of a selection."""

    def __array__(self, dtype: DtypeLike | None = None, copy: bool | None = None) -> AnyArray:
        check_copy(copy)
        return np.asarray(self[()], dtype=dtype or self.dtype)


class ConvertedView(View):
    """A dataset with values of another dtype."""

    def __getitem__(self, key: Key) -> Elements:
        if self.dtype.kind == "T":
            text = self._dataset.asstr()[key]
            return text if isinstance(text, str) else np.asarray(text, dtype=self.dtype)
        return value_conversion.converted(self._dataset[key], self.dtype)


class FieldsView(View):
    """Some fields of a compound dataset: the values of one, or compounds of several."""

    def __init__(self, dataset: Viewed, names: str | list[str]) -> None:
        wanted = [names] if isinstance(names, str) else list(names)
        fields = dataset.dtype.fields
        if fields is None:
            raise InvalidInputError(f"{dataset.path} is not a compound: it has no fields")
        for name in wanted:
            if name not in fields:
                raise InvalidInputError(f"there is no field {name!r}: the fields are {', '.join(fields)}", None, dataset.path)
        super().__init__(dataset, fields[names][0] if isinstance(names, str) else np.dtype([(name, fields[name][0]) for name in wanted]))
        self._names = names

    def __getitem__(self, key: Key) -> Elements:
        return picked(self._dataset[key], self._names)


def picked(values: Elements, names: str | list[str]) -> Elements:
    """One field of compound values, or several as compounds without gaps, as in h5py."""
    if isinstance(names, str):
        return values[names]
    packed = np.empty(np.shape(values), dtype=[(name, values.dtype.fields[name][0]) for name in names])
    for name in names:
        packed[name] = values[name]
    return packed if isinstance(values, np.ndarray) else packed[()]
