"""MATLAB containers: cell arrays, structs and arrays of objects, put together from the values of what is in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..base.errors import CorruptError
from ..base.type_aliases import AnyArray
from .matlab_values import MatlabValue, Named

#: Values in one addition that are kept as arrays: a million entries of a dictionary cost more than the values.
_MIN_BULK = 4096


class Container(NamedTuple):
    """A cell array, a struct, or the elements of a field of a struct array (`refs`).

    Attributes:
        kind: `cell`, `refs`, `struct`, `sparse`, `objects` (an array of objects), `object`,
            `deleted`, or `enumeration`.
        class_name: The class of a value that is more than a cell array or struct; else empty.
        children: Numbers of the objects in it, in the order of the file.
        names: Of structs, sparse matrices and objects: the names of the children.
        shape: Of cells, refs and arrays of objects: the shape in MATLAB. Of sparse matrices: the number of rows.
        literals: Of objects: properties that are not objects of the file.
    """

    kind: str
    class_name: str
    children: list[int] | AnyArray
    names: list[str]
    shape: tuple[int, ...]
    literals: Named | None = None


class Values:
    """Values by the numbers of their objects: many of one addition as arrays, others in a dictionary."""

    def __init__(self) -> None:
        self._few: dict[int, MatlabValue] = {}
        #: Numbers in increasing order with their values.
        self._many: list[tuple[AnyArray, AnyArray]] = []

    def add(self, numbers: AnyArray, values: list[MatlabValue]) -> None:
        """Adds values. The numbers increase, and none was added before."""
        if len(values) < _MIN_BULK:
            self._few.update(zip(numbers.tolist(), values, strict=True))
            return
        self._many.append((numbers, np.fromiter(values, object, len(values))))

    def __setitem__(self, number: int, value: MatlabValue) -> None:
        self._few[number] = value

    def __contains__(self, number: int) -> bool:
        return number in self._few or any(_place(numbers, number) is not None for numbers, _ in self._many)

    def __getitem__(self, number: int) -> MatlabValue:
        if number in self._few:
            return self._few[number]
        for numbers, values in self._many:
            place = _place(numbers, number)
            if place is not None:
                return values[place]
        raise KeyError(number)

    def get(self, number: int) -> MatlabValue:
        """The value; `None` without one."""
        try:
            return self[number]
        except KeyError:
            return None

    def missing(self, numbers: AnyArray) -> AnyArray:
        """Those of increasing numbers that have no value."""
        left = _without(numbers, np.fromiter(self._few, np.uint64, len(self._few)))
        for known, _ in self._many:
            left = _without(left, known)
        return left

    def of(self, numbers: list[int] | AnyArray) -> list[MatlabValue]:
        """The values of numbers in any order, each of which has one."""
        if len(numbers) < _MIN_BULK or not self._many:
            return [self[int(number)] for number in numbers]
        self._merge()
        ((known, values),) = self._many
        wanted = np.asarray(numbers, np.uint64)
        places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        found = values[places]
        for i in np.flatnonzero(known[places] != wanted).tolist():
            found[i] = self._few[int(wanted[i])]
        return list(found.tolist())

    def _merge(self) -> None:
        """One search instead of one for each addition."""
        if len(self._many) > 1:
            numbers = np.concatenate([numbers for numbers, _ in self._many])
            order = np.argsort(numbers, kind="stable")
            self._many = [(numbers[order], np.concatenate([values for _, values in self._many])[order])]


def _place(numbers: AnyArray, number: int) -> int | None:
    place = int(np.searchsorted(numbers, np.uint64(number)))
    return place if place < len(numbers) and int(numbers[place]) == number else None


def _without(numbers: AnyArray, known: AnyArray) -> AnyArray:
    return numbers[~np.isin(numbers, known)] if len(known) else numbers


def distinct(numbers: AnyArray) -> AnyArray:
    """The distinct numbers, in order. `np.unique` hashes, which takes longer than sorting numbers that are nearly sorted."""
    found = np.sort(numbers, axis=None)
    return found[np.concatenate([[True], found[1:] != found[:-1]])] if len(found) else found


class Elements:
    """The values of a field of a struct array."""

    def __init__(self, array: AnyArray) -> None:
        self.array = array


def as_array(values: Iterable[MatlabValue], count: int, shape: tuple[int, ...]) -> AnyArray:
    """An array of objects from values in the order of the file. numpy does not look into them."""
    return np.fromiter(values, object, count).reshape(shape, order="F")


def squeezed(values: list[MatlabValue], shape: tuple[int, ...], squeeze: bool) -> MatlabValue:
    """A list for a vector, else an array of objects. The values are in the order of the file."""
    return values if squeeze and len(shape) == 2 and 1 in shape else as_array(values, len(values), shape)


def struct_of(names: list[str], fields: list[MatlabValue], squeeze: bool) -> MatlabValue:
    """A dictionary; of a struct array as many as it has elements.

    Raises:
        CorruptError: The fields of a struct array have different shapes.
    """
    arrays = [field.array for field in fields if isinstance(field, Elements)]
    if not arrays:
        return dict(zip(names, fields, strict=True))
    shapes = {array.shape for array in arrays}
    if len(arrays) != len(fields) or len(shapes) != 1:
        raise CorruptError(f"the fields of a struct array have different shapes: {sorted(shapes)}")
    (shape,) = shapes
    # Elements lie in the order of the file in all of them.
    flat = [array.ravel(order="F").tolist() for array in arrays]
    elements = [dict(zip(names, row, strict=True)) for row in zip(*flat, strict=True)]
    return elements[0] if squeeze and shape == (1, 1) else squeezed(elements, shape, squeeze)
