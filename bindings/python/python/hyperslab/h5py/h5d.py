"""As `h5py.h5d`: identifiers of datasets, with the places of their chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyDtype
from ..objects.dataset import Dataset
from ..objects.native_objects import description_of, stored_chunks
from ._missing import missing_from, unsupported
from ._objects import ObjectID
from .h5p import CHUNKED, COMPACT, CONTIGUOUS, VIRTUAL
from .h5s import SpaceID
from .h5t import TypeID, of_description

_Result = TypeVar("_Result")

FILL_TIME_ALLOC, FILL_TIME_NEVER, FILL_TIME_IFSET = range(3)


class StoreInfo(NamedTuple):
    """A chunk in the file.

    Attributes:
        chunk_offset: Its first element in the dataset.
        filter_mask: Filters that were skipped, as bits.
        byte_offset: Where it begins in the file.
        size: Its bytes in the file.
    """

    chunk_offset: tuple[int, ...]
    filter_mask: int
    byte_offset: int
    size: int


class DatasetID(ObjectID):
    """Identifies a dataset."""

    _node: Dataset

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self._node.shape or ())

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Extent of each dimension."""
        return self._node.shape

    @property
    def dtype(self) -> AnyDtype:
        """The numpy dtype."""
        return self._node.dtype

    def get_type(self) -> TypeID:
        """The datatype."""
        return of_description(self._node.datatype)

    def get_space(self) -> SpaceID:
        """The dataspace."""
        return SpaceID(self._node.shape, self._node.maxshape)

    def get_storage_size(self) -> int:
        """Bytes of the values in the file."""
        return int(self._node.stored_bytes)

    def get_offset(self) -> int | None:
        """Where the values of a contiguous dataset begin; `None` for others."""
        if description_of(self._node)["storage"] != "contiguous":
            return None
        blocks = self._places()
        return min(block.byte_offset for block in blocks) if blocks else None

    def get_num_chunks(self, space: SpaceID | None = None) -> int:
        """Number of chunks in the file."""
        return len(self._chunks())

    def get_chunk_info(self, index: int, space: SpaceID | None = None) -> StoreInfo:
        """The chunk of a number in the file's order."""
        return self._chunks()[index]

    def get_chunk_info_by_coord(self, chunk_offset: tuple[int, ...]) -> StoreInfo:
        """The chunk that begins at an element."""
        wanted = tuple(chunk_offset)
        for chunk in self._chunks():
            if chunk.chunk_offset == wanted:
                return chunk
        raise InvalidInputError(f"no chunk in the file begins at {wanted}", self._file.path, self._node.path)

    def chunk_iter(self, func: Callable[[StoreInfo], _Result | None]) -> _Result | None:
        """Calls a function with each chunk, until it returns something other than `None`."""
        for chunk in self._chunks():
            result = func(chunk)
            if result is not None:
                return result
        return None

    def refresh(self) -> None:
        """Reads the metadata again."""
        self._node.refresh()

    def _chunks(self) -> list[StoreInfo]:
        if self._node.chunks is None:
            raise InvalidInputError("the dataset is not chunked", self._file.path, self._node.path)
        return self._places()

    def _places(self) -> list[StoreInfo]:
        return [StoreInfo(tuple(start), mask, offset, size) for start, mask, offset, size in stored_chunks(self._node)]


create = unsupported("h5d.create")
open = unsupported("h5d.open")

__all__ = ["CHUNKED", "COMPACT", "CONTIGUOUS", "FILL_TIME_ALLOC", "FILL_TIME_IFSET", "FILL_TIME_NEVER", "VIRTUAL", "DatasetID", "StoreInfo", "create", "open"]

__getattr__ = missing_from("h5py.h5d")
