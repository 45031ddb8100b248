"""As `h5py.h5d`: identifiers of datasets, with the places of their chunks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..base.errors import InvalidInputError, InvalidTypeError, UnsupportedError
from ..base.type_aliases import AnyArray, AnyDtype
from ..objects.filters import options_of
from ..objects.native_objects import committed_type_of, description_of, stored_chunks, stored_range, write_stored_chunk
from ..objects.virtual_layouts import VirtualLayout
from ..values import references
from ..values.described import DescribedType
from ..values.empty import Empty
from ..values.regions import RegionSelection
from ._missing import missing_from
from ._objects import ObjectID, group_of, member_of
from .h5p import CHUNKED, COMPACT, CONTIGUOUS, FILL_TIMES, VIRTUAL, PropDAID, PropDCID
from .h5s import UNLIMITED, SpaceID
from .h5t import TypeID, of_description
from .names import text_of

_Result = TypeVar("_Result")

FILL_TIME_ALLOC, FILL_TIME_NEVER, FILL_TIME_IFSET = range(3)
FILL_VALUE_UNDEFINED, FILL_VALUE_DEFAULT, FILL_VALUE_USER_DEFINED = range(3)
ALLOC_TIME_DEFAULT, ALLOC_TIME_EARLY, ALLOC_TIME_LATE, ALLOC_TIME_INCR = range(4)
SPACE_STATUS_NOT_ALLOCATED, SPACE_STATUS_PART_ALLOCATED, SPACE_STATUS_ALLOCATED = range(3)


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

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self._node.shape or ())

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Extent of each dimension."""
        shape: tuple[int, ...] | None = self._node.shape
        return shape

    @property
    def dtype(self) -> AnyDtype:
        """The numpy dtype."""
        dtype: AnyDtype = self._node.dtype
        return dtype

    def opened(self, dapl: PropDAID | None) -> DatasetID:
        """The same dataset, opened with an access list."""
        if dapl is not None:
            dapl.check(self._node)
            self._node.access = dapl.copy()
        return self

    def get_access_plist(self) -> PropDAID:
        """How the dataset was opened."""
        found: PropDAID = self._node.access
        return found.copy()

    def get_type(self) -> TypeID:
        """The datatype."""
        self.complete()
        return of_description(self._node.datatype, committed_type_of(self._node))

    def get_space(self) -> SpaceID:
        """The dataspace."""
        return SpaceID(self._node.shape, self._node.maxshape)

    def get_storage_size(self) -> int:
        """Bytes of the values in the file."""
        self.complete()
        return int(self._node.stored_bytes)

    def get_space_status(self) -> int:
        """Whether there is room for values in the file: `SPACE_STATUS_NOT_ALLOCATED`, `_PART_ALLOCATED` or `_ALLOCATED`."""
        if self._node.chunks is None:
            return SPACE_STATUS_ALLOCATED if self.get_storage_size() else SPACE_STATUS_NOT_ALLOCATED
        stored = self.get_num_chunks()
        chunks = math.prod(-(-extent // chunk) for extent, chunk in zip(self._node.shape, self._node.chunks, strict=True))
        return SPACE_STATUS_NOT_ALLOCATED if not stored else SPACE_STATUS_ALLOCATED if stored >= chunks else SPACE_STATUS_PART_ALLOCATED

    def get_offset(self) -> int | None:
        """Where the values of a contiguous dataset begin; `None` for others."""
        self.complete()
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

    def read_direct_chunk(self, offsets: tuple[int, ...], dxpl: object = None, out: Any = None) -> tuple[int, Any]:
        """The bytes of a chunk as they are stored.

        Args:
            offsets: The first element of the chunk.
            dxpl: How values are transferred.
            out: Where the bytes go; by default a new object.

        Returns:
            The mask of filters that were skipped, and the bytes.
        """
        chunk = self.get_chunk_info_by_coord(offsets)
        into = memoryview(bytearray(chunk.size)) if out is None else _writable(out)
        if len(into) < chunk.size:
            raise InvalidInputError(f"out has {len(into)} bytes, the chunk {chunk.size}", self._file.path, self._node.path)
        into[: chunk.size] = stored_range(self._node, chunk.byte_offset, chunk.size)
        return chunk.filter_mask, bytes(into) if out is None else into[: chunk.size]

    def write_direct_chunk(self, offsets: tuple[int, ...], data: Any, filter_mask: int = 0, dxpl: object = None) -> None:
        """Writes a chunk whose bytes are as the filters would make them.

        Args:
            offsets: The first element of the chunk.
            data: The bytes.
            filter_mask: Filters that were skipped, as bits.
            dxpl: How values are transferred.
        """
        self.complete()
        write_stored_chunk(self._node, offsets, bytes(data), filter_mask)

    def read(self, mspace: SpaceID | int, fspace: SpaceID | int, arr_obj: AnyArray, mtype: TypeID | None = None, dxpl: object = None) -> None:
        """Reads what a dataspace selects into what another one selects of an array."""
        chosen = _selection(fspace)
        values = references.elements(self._node, chosen) if chosen.kind != "all" else self._node[...]
        into = _memory(mspace, arr_obj)
        if into is None:
            arr_obj[...] = np.reshape(values, arr_obj.shape)
        else:
            arr_obj.reshape(-1)[into] = np.reshape(values, -1)

    def write(self, mspace: SpaceID | int, fspace: SpaceID | int, arr_obj: AnyArray, mtype: TypeID | None = None, dxpl: object = None) -> None:
        """Writes what a dataspace selects of an array into what another one selects."""
        places = _memory(mspace, arr_obj)
        values = arr_obj if places is None else arr_obj.reshape(-1)[places]
        if not isinstance(fspace, SpaceID) or fspace.selection.kind == "all":
            self._node[...] = np.reshape(values, self._node.shape)
        elif fspace.selection.kind == "points":
            for point, value in zip(fspace.get_select_elem_pointlist().tolist(), np.reshape(values, -1), strict=True):
                self._node[tuple(point)] = value
        elif fspace.selection.kind != "none":
            self._node[fspace.mask()] = np.reshape(values, -1)

    def extend(self, shape: tuple[int, ...]) -> None:
        """Makes the dataset at least so large."""
        self._node.resize(tuple(map(max, self._node.shape, shape)))

    def set_extent(self, shape: tuple[int, ...]) -> None:
        """Changes the extents."""
        self._node.resize(shape)

    def flush(self) -> None:
        """Makes all changes of the file visible to others."""
        self._node.flush()

    def refresh(self) -> None:
        """Reads the metadata again."""
        self._node.refresh()

    def _chunks(self) -> list[StoreInfo]:
        if self._node.chunks is None:
            raise InvalidInputError("the dataset is not chunked", self._file.path, self._node.path)
        return self._places()

    def _places(self) -> list[StoreInfo]:
        return [StoreInfo(tuple(start), mask, offset, size) for start, mask, offset, size in stored_chunks(self._node)]


def _writable(out: Any) -> memoryview:
    """The bytes of a buffer that can be written.

    Raises:
        BufferError: It is read only.
        InvalidInputError: Its bytes do not lie side by side.
    """
    view = memoryview(out)
    if view.readonly:
        raise BufferError("out is read only")
    if not view.c_contiguous:
        raise InvalidInputError("the bytes of out do not lie side by side")
    return view.cast("B")


def _selection(space: SpaceID | int) -> RegionSelection:
    return space.selection if isinstance(space, SpaceID) else RegionSelection("all", [])


def _memory(space: SpaceID | int, array: AnyArray) -> AnyArray | None:
    """The places in an array that a dataspace selects; `None` is all."""
    if not array.flags.c_contiguous:
        raise InvalidTypeError("the array is not C-contiguous")
    if not isinstance(space, SpaceID) or space.selection.kind == "all":
        return None
    if space.selection.kind == "points":
        return np.asarray(np.ravel_multi_index(tuple(space.get_select_elem_pointlist().astype(np.intp).T), space.shape or ()))
    return np.flatnonzero(space.mask())


def _check_created(dcpl: PropDCID) -> None:
    """Checks what new datasets do not have."""
    if dcpl.is_given("times") and dcpl.get_obj_track_times():
        raise UnsupportedError("set_obj_track_times(True): times of datasets are not recorded")


def create(
    loc: Any,
    name: bytes | None,
    tid: TypeID,
    space: SpaceID,
    dcpl: PropDCID | None = None,
    lcpl: object = None,
    dapl: PropDAID | None = None,
    efile_prefix: str | None = None,
    virtual_prefix: str | None = None,
) -> DatasetID:
    """Creates a dataset.

    Args:
        loc: The identifier of the group.
        name: The path.
        tid: The datatype.
        space: The extents.
        dcpl: How it is stored.
        lcpl: How its link is created.
        dapl: How it is opened.
        efile_prefix: The folder of external raw data.
        virtual_prefix: The folder of the sources of a virtual dataset.
    """
    group, path, asked = group_of(loc), None if name is None else text_of(name), PropDCID() if dcpl is None else dcpl
    _check_created(asked)
    if asked.get_layout() == VIRTUAL:
        layout = VirtualLayout(space.shape or (), DescribedType(tid.described), space.maxshape)
        layout.sources.extend((file, dataset, _axes(source), _axes(place)) for place, file, dataset, source in asked.virtual)
        made = group.create_virtual_dataset(path, layout, asked.fill)
    else:
        options: dict[str, Any] = {} if space.maxshape == space.shape else {"maxshape": space.maxshape}
        if asked.get_layout() == CHUNKED:
            options["chunks"] = asked.get_chunk()
        if space.shape is None:
            options["data"] = Empty(tid.dtype)
        made = group.create_dataset(
            path,
            space.shape,
            tid,
            fillvalue=asked.fill,
            fill_time=FILL_TIMES[asked.get_fill_time()],
            track_order=bool(asked.get_attr_creation_order()) or None,
            efile_prefix=efile_prefix,
            virtual_prefix=virtual_prefix,
            **options,
            **options_of(asked.filters),
        )
    identifier: DatasetID = made.id
    return identifier.opened(dapl)


def _axes(space: SpaceID) -> list[list[int]] | None:
    """Start, stride, count and block of each dimension that a dataspace selects; `None` is all."""
    if space.selection.kind == "all":
        return None
    return [list(axis) for axis in zip(*space.get_regular_hyperslab(), strict=True)]


def open(loc: Any, name: bytes, dapl: PropDAID | None = None) -> DatasetID:
    """The dataset at a path."""
    found = member_of(loc, name).id
    if not isinstance(found, DatasetID):
        raise InvalidInputError(f"{name!r} is not a dataset")
    return found.opened(dapl)


__all__ = [
    "ALLOC_TIME_DEFAULT",
    "ALLOC_TIME_EARLY",
    "ALLOC_TIME_INCR",
    "ALLOC_TIME_LATE",
    "CHUNKED",
    "COMPACT",
    "CONTIGUOUS",
    "FILL_TIME_ALLOC",
    "FILL_TIME_IFSET",
    "FILL_TIME_NEVER",
    "FILL_VALUE_DEFAULT",
    "FILL_VALUE_UNDEFINED",
    "FILL_VALUE_USER_DEFINED",
    "SPACE_STATUS_ALLOCATED",
    "SPACE_STATUS_NOT_ALLOCATED",
    "SPACE_STATUS_PART_ALLOCATED",
    "UNLIMITED",
    "VIRTUAL",
    "DatasetID",
    "StoreInfo",
    "create",
    "open",
]

__getattr__ = missing_from("h5py.h5d")
