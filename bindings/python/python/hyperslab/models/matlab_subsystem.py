"""MATLAB's subsystem: where a file of v7.3 keeps the properties of objects (`string`, `datetime`, `table`, classes of users).

MathWorks does not document it. `/#subsystem#/MCOS` is a cell array of class `FileWrapper__`. Its first cell is a blob of tables of
little-endian 32-bit integers: names, classes, objects, and for each object the names of its properties with the numbers of the cells
that hold them. A variable that is an object holds only the tag, the shape, the numbers of its objects, and the number of the class."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from ..base.errors import CorruptError, UnsupportedError
from ..base.type_aliases import AnyArray

#: First number of what refers to objects.
TAG = 0xDD000000
#: Number of cells of `FileWrapper__` before the cells of properties.
_FIRST_PROPERTY = 2
#: Number of cells after the cells of properties, by the version of the blob.
_TRAILING = {2: 1, 3: 2, 4: 3}
_HEADER_WORDS = 10


class Property(NamedTuple):
    """A property of an object: a cell of the subsystem (`address`), or a literal number or name.

    Attributes:
        name: Its name.
        address: The number of the HDF5 object with its value; 0 for a literal.
        literal: The value, if it is not in an object.
    """

    name: str
    address: int
    literal: int | str | None


class Objects(NamedTuple):
    """What a variable says of its objects.

    Attributes:
        class_id: The number of the class.
        objects: The numbers of the objects, in the order of MATLAB. 0 is a deleted object.
        shape: The shape of the array of objects in MATLAB.
    """

    class_id: int
    objects: list[int]
    shape: tuple[int, ...]


class Subsystem:
    """The classes and objects of a file."""

    def __init__(self, blob: AnyArray, cells: AnyArray) -> None:
        """The first cell of `FileWrapper__` as bytes, and the numbers of the HDF5 objects of all cells."""
        raw = np.ascontiguousarray(blob).tobytes()
        words = np.frombuffer(raw[: len(raw) // 4 * 4], "<u4")
        if len(words) < _HEADER_WORDS:
            raise CorruptError(f"a blob of {len(raw)} bytes, too short for its header")
        version, names = int(words[0]), int(words[1])
        if version not in _TRAILING:
            raise UnsupportedError(f"version {version} of MATLAB's subsystem; 2 to 4 are supported")
        offsets = words[2:_HEADER_WORDS].tolist()
        starts = offsets[:6]
        if starts != sorted(starts) or starts[0] < 4 * _HEADER_WORDS or starts[5] > len(raw) or any(start % 4 for start in starts):
            raise CorruptError(f"the offsets of the subsystem are {offsets}: they decrease, or lead beyond its {len(raw)} bytes")
        self._names = [part.decode("utf-8", "replace") for part in raw[4 * _HEADER_WORDS : starts[0]].split(b"\0")[:names]]
        if len(self._names) != names or len(cells) < _FIRST_PROPERTY + _TRAILING[version]:
            raise CorruptError(f"the subsystem has {len(self._names)} of {names} names, and {len(cells)} cells")
        regions = [words[start // 4 : end // 4] for start, end in itertools.pairwise(starts)]
        self._classes = _rows(regions[0], 4)
        self._objects = _rows(regions[2], 6)
        self._by_saving, self._by_default = _blocks(regions[1], 3), _blocks(regions[3], 3)
        self._dynamic = _blocks(regions[4], 1)
        self._properties = cells[_FIRST_PROPERTY : len(cells) - _TRAILING[version]]
        #: The object with a cell for each class, which has the default values of its properties.
        self.defaults = int(cells[-1])

    def _name(self, index: int) -> str:
        if not 0 < index <= len(self._names):
            raise CorruptError(f"name {index} of the subsystem, which has {len(self._names)}")
        return self._names[index - 1]

    def name(self, index: int) -> str:
        """A name by its number, which begins at 1."""
        return self._name(index)

    def class_name(self, class_id: int) -> str:
        """The name of a class, with its namespace."""
        if not 0 < class_id < len(self._classes):
            raise CorruptError(f"class {class_id} of the subsystem, which has {len(self._classes) - 1}")
        namespace, name = self._classes[class_id, :2].tolist()
        return f"{self._name(namespace)}.{self._name(name)}" if namespace else self._name(name)

    def referred(self, words: AnyArray) -> Objects:
        """What the stored numbers of a variable refer to."""
        numbers = [int(word) for word in np.ravel(words)]
        ndim = numbers[1] if len(numbers) > 1 else 0
        shape = tuple(numbers[2 : 2 + ndim])
        objects = numbers[2 + ndim : -1]
        count = int(np.prod(shape, dtype=object)) if shape else -1
        if not numbers or numbers[0] != TAG or len(shape) != ndim or len(numbers) != 3 + ndim + len(objects) or len(objects) != count:
            raise CorruptError(f"the reference to objects {numbers[:8]} does not have a number for each of its objects")
        self.class_name(numbers[-1])
        if any(number >= len(self._objects) for number in objects):
            raise CorruptError(f"object {max(objects)} of the subsystem, which has {len(self._objects) - 1}")
        return Objects(numbers[-1], objects, shape)

    def class_of(self, number: int) -> int:
        """The number of the class of an object."""
        return int(self._objects[number, 0])

    def properties(self, number: int) -> list[Property]:
        """The properties of an object that are stored for it."""
        by_saving, by_default = self._objects[number, 3:5].tolist()
        blocks, index = (self._by_saving, by_saving) if by_saving else (self._by_default, by_default)
        if index >= len(blocks):
            raise CorruptError(f"the properties of object {number} are in block {index} of {len(blocks)}")
        return [self._property(*triple) for triple in blocks[index].tolist()]

    def _property(self, name: int, kind: int, value: int) -> Property:
        if kind == 1:
            if value >= len(self._properties):
                raise CorruptError(f"the property {self._name(name)} is in cell {value} of {len(self._properties)}")
            return Property(self._name(name), int(self._properties[value]), None)
        # 0: the name of a member of an enumeration; 2: a number or flag.
        return Property(self._name(name), 0, self._name(value) if kind == 0 else value)

    def dynamic(self, number: int) -> list[int]:
        """The objects that describe the dynamic properties of an object."""
        index = int(self._objects[number, 5])
        if not len(self._dynamic):
            return []
        if index >= len(self._dynamic):
            raise CorruptError(f"the dynamic properties of object {number} are in block {index} of {len(self._dynamic)}")
        return [int(found) for found in self._dynamic[index].ravel() if 0 < found < len(self._objects)]


def is_reference(values: AnyArray) -> bool:
    """Whether stored numbers look like a reference to objects."""
    return values.dtype.kind == "u" and values.dtype.itemsize == 4 and values.size >= 3 and int(values.flat[0]) == TAG


def _rows(words: AnyArray, width: int) -> AnyArray:
    return words[: len(words) // width * width].reshape(-1, width)


def _blocks(words: AnyArray, width: int) -> list[AnyArray]:
    """Blocks of a count and that number of rows, each padded to 8 bytes."""
    found: list[AnyArray] = []
    place = 0
    while place < len(words):
        count = int(words[place])
        end = place + 1 + count * width
        if end > len(words):
            raise CorruptError(f"a block of {count} properties leads beyond the subsystem")
        found.append(words[place + 1 : end].reshape(count, width))
        place = end + end % 2
    return found
