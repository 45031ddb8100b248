"""Native objects: what stands behind an object of a file, for rooms that pass objects to the core or compare what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _native
from ..backends.backend import Changes
from ..backends.continuing import completed
from ..base.description import Description
from ..values.references import MadeRegionReference, Reference, RegionReference, dereferenced
from ..values.regions import RegionSelection
from .dataset import Dataset
from .node import Node


def native_of(node: Node) -> tuple[_native.File, int]:
    """The file of the core that an object is in, as it is now, and its number there: for rooms that pass objects to the core.

    Args:
        node: The object.

    Returns:
        The file and the number. Of several files, it is the first one.
    """
    return node._file, node._number


def complete(node: Node) -> None:
    """Completes the file of an object if it is being created as h5py's files are, for what only a complete file has.

    Args:
        node: The object, which is in a file that is edited from then on.
    """
    completed(node._backend)


def region_of(dataset: Node, selection: RegionSelection) -> RegionReference:
    """A reference to elements of a dataset of a complete file.

    Args:
        dataset: The dataset.
        selection: What is selected.

    Returns:
        The reference.
    """
    return MadeRegionReference(dataset._file, dataset._number, dataset.path, selection)


def description_of(node: Node) -> Description:
    """What the core says of an object, for rooms that compare how objects are stored, or store others in the same way.

    Args:
        node: The object.

    Returns:
        The description, which is not changed.
    """
    return node._about


def committed_type_of(node: Node) -> Node | None:
    """The committed datatype that a dataset uses, for rooms that give it a meaning.

    Args:
        node: The dataset.

    Returns:
        The datatype; `None` if the dataset has one of its own.
    """
    number = node._file.structure(node._number)["committed"]
    return None if number is None else node._object(node._file, number, node._file.object_path(number))


def stored_attribute(node: Node, name: str) -> _native.AttributeValue | None:
    """An attribute as it is stored, for rooms that compare or copy its bytes.

    Args:
        node: The object.
        name: Name of the attribute.

    Returns:
        The attribute; `None` if there is none.
    """
    return node._file.attribute(node._number, name)


def scale_of(dataset: Dataset, dimension: int) -> Dataset | None:
    """The coordinate of a dimension, for rooms that say what it means.

    Args:
        dataset: The dataset.
        dimension: Number of the dimension.

    Returns:
        The dimension scale or coordinate variable; `None` without one.
    """
    return dataset._scale(dimension)


def stored_chunks(dataset: Dataset) -> list[tuple[list[int], int, int, int]]:
    """The places of a dataset's chunks in the file, for the room of h5py's functions.

    Args:
        dataset: The dataset.

    Returns:
        The first element of each chunk, the mask of filters that were skipped, and offset and size in bytes.

    Raises:
        UnsupportedError: The file is being created.
    """
    completed(dataset._backend)
    return _native.stored_chunks(dataset._backend.native, dataset._number)


def stored_range(dataset: Dataset, offset: int, length: int) -> bytes:
    """Bytes of the file of a dataset, for the room of h5py's functions.

    Args:
        dataset: The dataset.
        offset: Where they begin.
        length: Their number.

    Returns:
        The bytes.
    """
    return _native.stored_range(dataset._backend.native, offset, length)


def page_bytes_of(node: Node) -> int | None:
    """The bytes of a page of the file of an object, for the room of h5py's functions.

    Args:
        node: An object of a complete HDF5 file.

    Returns:
        The number; `None` if it is not a file of pages.
    """
    return _native.page_bytes(node._backend.native)


def write_stored_chunk(dataset: Dataset, start: Sequence[int], data: bytes, skipped: int) -> None:
    """Writes a chunk whose bytes are as the filters would make them, for the room of h5py's functions.

    Args:
        dataset: A dataset of a complete file.
        start: The first element of the chunk.
        data: The bytes.
        skipped: Filters that they have not gone through, as bits.

    Raises:
        InvalidInputError: No chunk begins there.
    """
    number = dataset._own_number()
    dataset._changes.make(lambda editor: editor.write_chunk(number, list(start), data, skipped))


def reader_of(dataset: Dataset) -> _native.DatasetReader | None:
    """The reader of the core, for rooms that have values converted while they are read.

    Args:
        dataset: The dataset.

    Returns:
        The reader; `None` of a null dataspace.
    """
    return dataset._reader


def changes_of(node: Node) -> Changes:
    """What makes changes to an object, for rooms that write what the object itself has no methods for.

    Args:
        node: The object.

    Returns:
        What makes the changes.

    Raises:
        ReadOnlyError: The file is open for reading.
    """
    return node._changes


def object_at(node: Node, path: str) -> Node:
    """The object at a path, even if it cannot be read, which an index would refuse.

    Args:
        node: An object of the file.
        path: The absolute path.

    Returns:
        The object.

    Raises:
        NotFoundError: There is no such object.
    """
    return node._object(*node._file.find(path), path)


def referred(node: Node, reference: Reference) -> Node | None:
    """The object that a reference points at, even if it cannot be read.

    Args:
        node: An object of the file that the reference comes from.
        reference: The reference.

    Returns:
        The object; `None` of a reference that points at nothing.
    """
    found = dereferenced(reference)
    return None if found is None else node._object(found.file, found.object, found.path)


def scales_of(dataset: Dataset, axis: int) -> list[Node]:
    """The scales that are attached to a dimension, also in a file that is being created, for the room of h5py's functions.

    Args:
        dataset: The dataset.
        axis: The dimension.

    Returns:
        The scales, in the order of the file.
    """
    if not dataset._backend.is_complete:
        file: Any = dataset._file
        numbers = [int.from_bytes(number, "little") for number in file.scales(dataset._number)[axis]]
        return [dataset._object(file, number, file.object_path(number)) for number in numbers]
    attached: Any = dataset.attrs.get("DIMENSION_LIST")
    return [] if attached is None else [dataset._dereferenced(reference) for reference in attached[axis]]
