"""As `h5py.h5p`: how objects were created."""

from __future__ import annotations

from .. import _native
from ..objects.dataset import Dataset
from ..objects.datatype import Datatype
from ..objects.native_objects import description_of, native_of
from ..objects.node import Node
from ..objects.stored_properties import StoredProperties
from ..values.regions import RegionSelection
from ._missing import missing_from, unsupported
from .h5s import SpaceID
from .names import stored

CRT_ORDER_TRACKED, CRT_ORDER_INDEXED = 1, 2

#: Layouts, as in `h5d`.
COMPACT, CONTIGUOUS, CHUNKED, VIRTUAL = range(4)
_LAYOUTS = {"compact": COMPACT, "contiguous": CONTIGUOUS, "external": CONTIGUOUS, "chunked": CHUNKED, "virtual": VIRTUAL}

#: Times of writing fill values, as in `h5d`.
_FILL_TIMES = ("alloc", "never", "ifset")

#: Kind and parts of a selection.
_Region = tuple[str, list[list[list[int]]]]


class PropOCID:
    """How an object was created."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def get_attr_creation_order(self) -> int:
        """Whether the order of attributes is recorded, as bits."""
        return self._bits(_native.is_tracked(*native_of(self._node))[1])

    def close(self) -> None:
        """Does nothing."""

    @staticmethod
    def _bits(tracked: bool) -> int:
        return CRT_ORDER_TRACKED | CRT_ORDER_INDEXED if tracked else 0


class PropGCID(PropOCID):
    """How a group was created."""

    def get_link_creation_order(self) -> int:
        """Whether the order of links is recorded, as bits."""
        return self._bits(_native.is_tracked(*native_of(self._node))[0])


class PropFCID(PropGCID):
    """How a file was created."""

    def get_userblock(self) -> int:
        """Bytes of the user block."""
        count: int = native_of(self._node)[0].user_block_bytes
        return count


class PropTCID(PropOCID):
    """How a committed datatype was created."""


class PropDCID(PropOCID):
    """How a dataset was created."""

    _node: Dataset

    def get_layout(self) -> int:
        """`h5d.COMPACT`, `CONTIGUOUS`, `CHUNKED` or `VIRTUAL`."""
        return _LAYOUTS[description_of(self._node)["storage"]]

    def get_chunk(self) -> tuple[int, ...]:
        """The shape of a chunk."""
        chunks = self._node.chunks
        if chunks is None:
            raise ValueError("the dataset is not chunked")
        return tuple(chunks)

    def get_fill_time(self) -> int:
        """When the fill value is written: `h5d.FILL_TIME_ALLOC`, `FILL_TIME_NEVER` or `FILL_TIME_IFSET`."""
        about = description_of(self._node)
        name = about["fill_time"] if "fill_time" in about else native_of(self._node)[0].structure(native_of(self._node)[1])["fill_time"]
        return _FILL_TIMES.index(name)

    def get_nfilters(self) -> int:
        """Number of filters."""
        return len(description_of(self._node)["filters"])

    def get_filter(self, filter_idx: int) -> tuple[int, int, tuple[int, ...], bytes]:
        """Number, flags, parameters and name of a filter."""
        number, name, parameters = description_of(self._node)["filters"][filter_idx]
        return number, 0, tuple(parameters), name.encode()

    def get_filter_by_id(self, filter_code: int) -> tuple[int, tuple[int, ...], bytes] | None:
        """Flags, parameters and name of the filter of a number; `None` if there is none."""
        for number, name, parameters in description_of(self._node)["filters"]:
            if number == filter_code:
                return 0, tuple(parameters), name.encode()
        return None

    def get_external_count(self) -> int:
        """Number of files with external raw data."""
        return len(self._node.external or ())

    def get_external(self, idx: int = 0) -> tuple[bytes, int, int]:
        """Name, offset and bytes of a file with external raw data."""
        name, offset, size = (self._node.external or ())[idx]
        return stored(name), offset, size

    def get_virtual_count(self) -> int:
        """Number of parts of a virtual dataset."""
        return len(self._mappings()) if self._node.is_virtual else 0

    def get_virtual_filename(self, index: int = 0) -> str:
        """File of a source."""
        return str(self._mappings()[index][0])

    def get_virtual_dsetname(self, index: int = 0) -> str:
        """Path of a source."""
        return str(self._mappings()[index][1])

    def get_virtual_srcspace(self, index: int = 0) -> SpaceID:
        """What is taken of a source."""
        return SpaceID(None, selection=RegionSelection(*self._mappings()[index][2]))

    def get_virtual_vspace(self, index: int = 0) -> SpaceID:
        """Where it goes."""
        return SpaceID(self._node.shape, self._node.maxshape, RegionSelection(*self._mappings()[index][3]))

    def _mappings(self) -> list[tuple[str, str, _Region, _Region]]:
        file, number = native_of(self._node)
        return file.virtual_mappings(number)


def creation_properties(node: Node) -> PropOCID:
    """How an object was created."""
    if isinstance(node, StoredProperties):
        return PropDCID(node)
    if isinstance(node, Datatype):
        return PropTCID(node)
    return PropFCID(node) if node.path == "/" and hasattr(node, "userblock_size") else PropGCID(node)


create = unsupported("h5p.create")

__getattr__ = missing_from("h5py.h5p")
