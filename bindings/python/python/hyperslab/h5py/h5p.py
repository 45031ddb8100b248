"""As `h5py.h5p`: property lists: how objects were created, and how they are created and opened."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, InvalidTypeError, UnsupportedError
from ..objects.dataset import Dataset
from ..objects.datatype import Datatype
from ..objects.native_objects import complete, description_of, native_of, page_bytes_of
from ..objects.node import Node
from ..objects.stored_properties import StoredProperties
from ..values.regions import RegionSelection
from ._missing import missing_from
from .h5s import SpaceID
from .names import stored, text_of
from .settings import CHUNK_CACHE, Settings

CRT_ORDER_TRACKED, CRT_ORDER_INDEXED = 1, 2

#: Layouts, as in `h5d`.
COMPACT, CONTIGUOUS, CHUNKED, VIRTUAL = range(4)
_LAYOUTS = {"compact": COMPACT, "contiguous": CONTIGUOUS, "external": CONTIGUOUS, "chunked": CHUNKED, "virtual": VIRTUAL}

#: Times of writing fill values, and of making room for values, as in `h5d`.
FILL_TIMES = ("alloc", "never", "ifset")
ALLOC_TIMES = ("default", "early", "late", "incremental")
_FILL_STATUS = {"undefined": 0, "default": 1, "given": 2}

#: Kind and parts of a selection.
_Region = tuple[str, list[list[list[int]]]]
Copied = TypeVar("Copied", bound="PropInstanceID")


class PropClassID(NamedTuple):
    """A class of property lists: `create` makes one."""

    name: str


class PropInstanceID:
    """A property list: of an existing object, or one that is filled for a new one."""

    _class: ClassVar[PropClassID]

    def __init__(self, node: Node | None = None) -> None:
        self._node: Any = node
        self._given: dict[str, Any] = {}

    def _is_stored(self, name: str) -> bool:
        """Whether the object says what a property is."""
        return self._node is not None and name not in self._given

    def is_given(self, name: str) -> bool:
        """Whether a property was set."""
        return name in self._given

    def get_class(self) -> PropClassID:
        """Its class."""
        return self._class

    def equal(self, other: PropInstanceID) -> bool:
        """Whether both say the same."""
        return self == other

    def copy(self: Copied) -> Copied:
        """A list that says the same."""
        made = type(self)(self._node)
        made._given = dict(self._given)
        return made

    def close(self) -> None:
        """Does nothing."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, PropInstanceID) and (self._node, self._given) == (other._node, other._given)

    def __hash__(self) -> int:
        return hash(type(self))


class PropOCID(PropInstanceID):
    """How an object is created."""

    def get_attr_creation_order(self) -> int:
        """Whether the order of attributes is recorded, as bits."""
        return self._order("attributes", 1)

    def set_attr_creation_order(self, flags: int) -> None:
        """Sets whether the order of attributes is recorded."""
        self._given["attributes"] = flags

    def _order(self, name: str, place: int) -> int:
        if self._is_stored(name):
            complete(self._node)
            return CRT_ORDER_TRACKED | CRT_ORDER_INDEXED if _native.is_tracked(*native_of(self._node))[place] else 0
        return int(self._given.get(name, 0))

    def get_attr_phase_change(self) -> tuple[int, int]:
        """From how many attributes on, and down to how many, they are in a heap of their own."""
        found: tuple[int, int] = self._given.get("phase", (8, 6))
        return found

    def set_attr_phase_change(self, max_compact: int = 8, min_dense: int = 6) -> None:
        """Sets from how many attributes on they are in a heap of their own."""
        if not 0 <= min_dense <= max_compact < 1 << 16:
            raise InvalidInputError(f"max_compact={max_compact}, min_dense={min_dense}: give numbers below 65536, the first one at least the second")
        self._given["phase"] = (max_compact, min_dense)

    def get_obj_track_times(self) -> bool:
        """Whether times are recorded; of an object of a file whether some are."""
        if self._is_stored("times"):
            complete(self._node)
            file, number = native_of(self._node)
            return file.structure(number)["times"] is not None
        return bool(self._given.get("times", True))

    def set_obj_track_times(self, track_times: bool) -> None:
        """Sets whether times are recorded."""
        self._given["times"] = track_times


class PropGCID(PropOCID):
    """How a group is created."""

    def get_link_creation_order(self) -> int:
        """Whether the order of links is recorded, as bits."""
        return self._order("links", 0)

    def set_link_creation_order(self, flags: int) -> None:
        """Sets whether the order of links is recorded."""
        self._given["links"] = flags


class PropFCID(PropGCID):
    """How a file is created."""

    def get_userblock(self) -> int:
        """Bytes of the user block."""
        if self._is_stored("userblock"):
            return native_of(self._node)[0].user_block_bytes
        return int(self._given.get("userblock", 0))

    def set_userblock(self, size: int) -> None:
        """Sets the bytes of the user block."""
        self._given["userblock"] = size

    def set_file_space_strategy(self, strategy: int, persist: bool, threshold: int) -> None:
        """Sets how space is managed, whether free space is kept, and its smallest part."""
        self._given["strategy"] = (strategy, persist, threshold)

    def get_file_space_strategy(self) -> tuple[int, bool, int]:
        """What `set_file_space_strategy` has set."""
        if self._is_stored("strategy"):
            raise UnsupportedError("get_file_space_strategy of a file", native_of(self._node)[0].path)
        found: tuple[int, bool, int] = self._given.get("strategy", (0, False, 1))
        return found

    def set_file_space_page_size(self, fsp_size: int) -> None:
        """Sets the bytes of a page."""
        self._given["page"] = fsp_size

    def get_file_space_page_size(self) -> int:
        """The bytes of a page."""
        if self._is_stored("page"):
            complete(self._node)
            return page_bytes_of(self._node) or 4096
        return int(self._given.get("page", 4096))


class PropTCID(PropOCID):
    """How a committed datatype is created."""


class PropDCID(PropOCID):
    """How a dataset is created."""

    _node: Dataset

    def _about(self) -> Any:
        return description_of(self._node)

    def _structure(self) -> dict[str, Any]:
        complete(self._node)
        file, number = native_of(self._node)
        return file.structure(number)

    def get_layout(self) -> int:
        """`h5d.COMPACT`, `CONTIGUOUS`, `CHUNKED` or `VIRTUAL`."""
        if self._is_stored("layout"):
            return _LAYOUTS[self._about()["storage"]]
        return int(self._given.get("layout", CONTIGUOUS))

    def set_layout(self, layout_code: int) -> None:
        """Sets how values are stored: `h5d.COMPACT`, `CONTIGUOUS`, `CHUNKED` or `VIRTUAL`."""
        if layout_code == COMPACT:
            raise UnsupportedError("set_layout(h5d.COMPACT): small datasets are not stored in their headers")
        self._given["layout"] = layout_code

    def get_chunk(self) -> tuple[int, ...]:
        """The shape of a chunk."""
        chunks = self._node.chunks if self._is_stored("chunk") else self._given.get("chunk")
        if chunks is None:
            raise ValueError("the dataset is not chunked")
        return tuple(chunks)

    def set_chunk(self, chunksize: tuple[int, ...]) -> None:
        """Sets the shape of a chunk."""
        self._given["chunk"], self._given["layout"] = tuple(int(extent) for extent in chunksize), CHUNKED

    @property
    def fill(self) -> Any:
        """The value of unwritten elements that was set; `None` if there is none."""
        return self._given.get("fill")

    def set_fill_value(self, value: Any) -> None:
        """Sets the value of unwritten elements: the first one of an array."""
        self._given["fill"] = np.asarray(value).reshape(-1)[0]

    def get_fill_value(self, value: Any) -> None:
        """Puts the value of unwritten elements into an array."""
        value[...] = self._node.fillvalue if self._is_stored("fill") else self._given.get("fill", 0)

    def fill_value_defined(self) -> int:
        """`h5d.FILL_VALUE_UNDEFINED`, `FILL_VALUE_DEFAULT` or `FILL_VALUE_USER_DEFINED`."""
        if self._is_stored("fill"):
            return _FILL_STATUS[self._structure()["fill_status"]]
        return _FILL_STATUS["given" if "fill" in self._given else "default"]

    def get_fill_time(self) -> int:
        """When the fill value is written: `h5d.FILL_TIME_ALLOC`, `FILL_TIME_NEVER` or `FILL_TIME_IFSET`."""
        if not self._is_stored("fill_time"):
            return int(self._given.get("fill_time", FILL_TIMES.index("ifset")))
        about = self._about()
        return FILL_TIMES.index(about["fill_time"] if "fill_time" in about else self._structure()["fill_time"])

    def set_fill_time(self, fill_time: int) -> None:
        """Sets when programs write the fill value."""
        if fill_time not in range(len(FILL_TIMES)):
            raise InvalidInputError(f"fill_time={fill_time}: give FILL_TIME_ALLOC, FILL_TIME_NEVER or FILL_TIME_IFSET")
        self._given["fill_time"] = fill_time

    def get_alloc_time(self) -> int:
        """When room for values is made: `h5d.ALLOC_TIME_EARLY`, `ALLOC_TIME_LATE` or `ALLOC_TIME_INCR`."""
        if self._is_stored("alloc_time"):
            return ALLOC_TIMES.index(self._structure()["allocation"] or "late")
        return int(self._given.get("alloc_time", ALLOC_TIMES.index("default")))

    def set_alloc_time(self, alloc_time: int) -> None:
        """Accepts the default; others raise `UnsupportedError`."""
        if alloc_time != ALLOC_TIMES.index("default"):
            raise UnsupportedError(f"set_alloc_time({alloc_time}): room is made when values are written")
        self._given["alloc_time"] = alloc_time

    @property
    def filters(self) -> list[tuple[int, int, tuple[int, ...], bytes]]:
        """Number, flags, parameters and name of each filter."""
        if self._is_stored("filters"):
            flags = self._structure()["filter_flags"] if native_of(self._node)[0].format != "container" else []
            found = self._about()["filters"]
            return [(number, int(flags[i]) if i < len(flags) else 0, tuple(values), name.encode()) for i, (number, name, values) in enumerate(found)]
        return list(self._given.get("filters", ()))

    def set_filter(self, filter_code: int, flags: int = 0, values: tuple[int, ...] = ()) -> None:
        """Adds a filter."""
        self._given["filters"] = [*self.filters, (filter_code, flags, tuple(values), b"")]

    def remove_filter(self, filter_class: int) -> None:
        """Removes a filter."""
        self._given["filters"] = [known for known in self.filters if known[0] != filter_class]

    def set_deflate(self, level: int = 5) -> None:
        """Adds gzip."""
        self.set_filter(1, 1, (level,))

    def set_shuffle(self) -> None:
        """Adds the shuffle filter."""
        self.set_filter(2, 1)

    def set_fletcher32(self) -> None:
        """Adds checksums."""
        self.set_filter(3)

    def set_szip(self, options: int, pixels: int) -> None:
        """Adds szip."""
        self.set_filter(4, 1, (options, pixels))

    def set_scaleoffset(self, scale_type: int, scale_factor: int) -> None:
        """Adds the filter scale-offset."""
        self.set_filter(6, 1, (scale_type, scale_factor))

    def all_filters_avail(self) -> bool:
        """Whether chunks can be read."""
        return all(known[0] in DECODED_FILTERS for known in self.filters)

    def get_nfilters(self) -> int:
        """Number of filters."""
        return len(self.filters)

    def get_filter(self, filter_idx: int) -> tuple[int, int, tuple[int, ...], bytes]:
        """Number, flags, parameters and name of a filter."""
        return self.filters[filter_idx]

    def get_filter_by_id(self, filter_code: int) -> tuple[int, tuple[int, ...], bytes] | None:
        """Flags, parameters and name of the filter of a number; `None` if there is none."""
        return next((known[1:] for known in self.filters if known[0] == filter_code), None)

    def set_external(self, name: bytes, offset: int, size: int) -> None:
        """Raises `UnsupportedError`."""
        raise UnsupportedError("set_external: values are in the file itself")

    def get_external_count(self) -> int:
        """Number of files with external raw data."""
        return len(self._external())

    def get_external(self, idx: int = 0) -> tuple[bytes, int, int]:
        """Name, offset and bytes of a file with external raw data."""
        name, offset, size = self._external()[idx]
        return stored(name), offset, size

    def _external(self) -> list[tuple[str, int, int]]:
        return [] if self._node is None else self._node.external or []

    @property
    def virtual(self) -> list[tuple[SpaceID, str, str, SpaceID]]:
        """Part, file, dataset and source selection of each mapping of a virtual dataset."""
        if not self._is_stored("virtual"):
            return list(self._given.get("virtual", ()))
        if not self._node.is_virtual:
            return []
        complete(self._node)
        file, number = native_of(self._node)
        shape, largest = self._node.shape, self._node.maxshape
        return [
            (SpaceID(shape, largest, RegionSelection(*place)), source, dataset, SpaceID(None, selection=RegionSelection(*part)))
            for source, dataset, part, place in file.virtual_mappings(number)
        ]

    def set_virtual(self, vspace: SpaceID, src_file: bytes, src_dset: bytes, src_space: SpaceID) -> None:
        """Adds a mapping to a virtual dataset."""
        self._given["virtual"] = [*self.virtual, (vspace.copy(), text_of(src_file), text_of(src_dset), src_space.copy())]
        self._given["layout"] = VIRTUAL

    def get_virtual_count(self) -> int:
        """Number of parts of a virtual dataset."""
        return len(self.virtual)

    def get_virtual_filename(self, index: int = 0) -> str:
        """File of a source."""
        return self.virtual[index][1]

    def get_virtual_dsetname(self, index: int = 0) -> str:
        """Path of a source."""
        return self.virtual[index][2]

    def get_virtual_srcspace(self, index: int = 0) -> SpaceID:
        """What is taken of a source."""
        return self.virtual[index][3]

    def get_virtual_vspace(self, index: int = 0) -> SpaceID:
        """Where it goes."""
        return self.virtual[index][0]


#: Numbers of the filters whose chunks can be read.
DECODED_FILTERS = (1, 2, 3, 4, 5, 6, 307, 32000, 32001, 32004, 32008, 32013, 32015, 32022, 32023, 32026)


class PropLCID(PropInstanceID):
    """How a link is created."""

    def get_char_encoding(self) -> int:
        """The character set of the name: 0 for ASCII, 1 for UTF-8."""
        return int(self._given.get("encoding", 0))

    def set_char_encoding(self, encoding: int) -> None:
        """Accepts 0 and 1: the character set of a name is the one that it needs."""
        if encoding not in (0, 1):
            raise InvalidInputError(f"encoding={encoding}: give h5t.CSET_ASCII or CSET_UTF8")
        self._given["encoding"] = encoding

    def get_create_intermediate_group(self) -> bool:
        """Whether groups above are created."""
        return bool(self._given.get("intermediate", False))

    def set_create_intermediate_group(self, create: bool) -> None:
        """Sets whether groups above are created, as they always are."""
        self._given["intermediate"] = bool(create)


class PropLAID(PropInstanceID):
    """How links are followed."""

    def get_nlinks(self) -> int:
        """Number of soft links on a path at most."""
        return int(self._given.get("nlinks", 16))

    def set_nlinks(self, nlinks: int) -> None:
        """Sets the number of soft links on a path at most."""
        self._given["nlinks"] = nlinks

    def get_elink_prefix(self) -> bytes:
        """The folder of other files."""
        return bytes(self._given.get("prefix", b""))

    def set_elink_prefix(self, prefix: bytes) -> None:
        """Sets the folder of other files."""
        self._given["prefix"] = prefix

    def get_elink_acc_flags(self) -> int:
        """How other files are opened."""
        return int(self._given.get("flags", 0xFFFF))

    def set_elink_acc_flags(self, flags: int) -> None:
        """Sets how other files are opened."""
        self._given["flags"] = flags

    def get_elink_fapl(self) -> PropFAID:
        """The access list of other files."""
        return self._given["fapl"] if "fapl" in self._given else PropFAID()

    def set_elink_fapl(self, fapl: PropFAID) -> None:
        """Sets the access list of other files."""
        self._given["fapl"] = fapl.copy()


class PropDAID(PropInstanceID):
    """How a dataset is opened."""

    def get_chunk_cache(self) -> tuple[int, int, float]:
        """Slots, bytes and weight of the chunk cache."""
        found: tuple[int, int, float] = self._given.get("cache", CHUNK_CACHE)
        return found

    def set_chunk_cache(self, rdcc_nslots: int, rdcc_nbytes: int, rdcc_w0: float) -> None:
        """Sets the chunk cache of the HDF5 library; decoded chunks are kept by other rules here."""
        self._given["cache"] = (rdcc_nslots, rdcc_nbytes, rdcc_w0)

    def get_efile_prefix(self) -> bytes:
        """The folder of external raw data."""
        return bytes(self._given.get("efile_prefix", b""))

    def set_efile_prefix(self, prefix: bytes) -> None:
        """Sets the folder of external raw data."""
        self._given["efile_prefix"] = prefix

    def get_virtual_prefix(self) -> bytes:
        """The folder of the sources of a virtual dataset."""
        return bytes(self._given.get("virtual_prefix", b""))

    def set_virtual_prefix(self, prefix: bytes) -> None:
        """Sets the folder of the sources of a virtual dataset."""
        self._given["virtual_prefix"] = prefix

    def check(self, dataset: Any) -> None:
        """Checks that a dataset can be opened so.

        Raises:
            UnsupportedError: Its values would be in other files.
        """
        if self.get_virtual_prefix() and dataset.is_virtual:
            raise UnsupportedError("virtual_prefix of a virtual dataset: sources are found from the folder of the file", None, dataset.path)
        if self.get_efile_prefix() and description_of(dataset)["storage"] == "external":
            raise UnsupportedError("efile_prefix of external raw data, which is found from the folder of the file", None, dataset.path)


class PropCopyID(PropInstanceID):
    """How objects are copied."""

    def get_copy_object(self) -> int:
        """The flags `h5o.COPY_...`."""
        return int(self._given.get("flags", 0))

    def set_copy_object(self, flags: int) -> None:
        """Sets the flags `h5o.COPY_...`."""
        self._given["flags"] = flags


class PropDXID(PropInstanceID):
    """How values are transferred."""


class CacheConfig:
    """Settings of the HDF5 library's cache of metadata. There is no such cache."""


class PropFAID(PropInstanceID):
    """How a file is opened."""

    @property
    def driver(self) -> str:
        """The word for the driver, as `File` takes it."""
        return str(self._given.get("driver", "sec2"))

    @property
    def fileobj(self) -> Any:
        """The file object of the driver `fileobj`."""
        return self._given.get("fileobj")

    @property
    def backing_store(self) -> bool:
        """Whether the driver `core` keeps the file."""
        return bool(self._given.get("backing_store", True))

    @property
    def image(self) -> bytes | None:
        """The bytes of the file, if they were given."""
        return self._given.get("image")

    def set_fapl_sec2(self) -> None:
        """Uses the driver of local files."""
        self._given["driver"] = "sec2"

    def set_fapl_stdio(self) -> None:
        """Uses the driver of C's files; files are read and written as with `sec2`."""
        self._given["driver"] = "stdio"

    def set_fapl_core(self, block_size: int = 65536, backing_store: bool = True) -> None:
        """Uses the driver of files in memory."""
        self._given.update(driver="core", block_size=block_size, backing_store=backing_store)

    def get_fapl_core(self) -> tuple[int, bool]:
        """Bytes by which memory grows, and whether the file is kept."""
        return int(self._given.get("block_size", 65536)), self.backing_store

    def set_fapl_direct(self, alignment: int = 0, block_size: int = 0, cbuf_size: int = 0) -> None:
        """Uses the driver that passes the cache of the operating system by; files are read as with `sec2`."""
        self._given["driver"] = "direct"

    def set_fapl_family(self, memb_size: int = 2**31 - 1, memb_fapl: PropFAID | None = None) -> None:
        """Uses the driver of files in several members."""
        self._given["driver"] = "family"

    def set_fapl_split(self, meta_ext: bytes = b"-m.h5", meta_plist_id: object = None, raw_ext: bytes = b"-r.h5", raw_plist_id: object = None) -> None:
        """Uses the driver of files with metadata and raw data apart."""
        self._given["driver"] = "split"

    def set_fileobj_driver(self, fileobj: Any = None) -> None:
        """Uses a file object of Python."""
        if fileobj is None:
            raise InvalidTypeError("the driver fileobj needs a file object")
        self._given.update(driver="fileobj", fileobj=fileobj)

    def set_file_image(self, image: bytes) -> None:
        """Sets the bytes of the file."""
        self._given["image"] = bytes(image)

    def get_cache(self) -> tuple[int, int, int, float]:
        """0, and slots, bytes and weight of the chunk cache."""
        return (0, *self._given.get("cache", CHUNK_CACHE))

    def set_cache(self, mdc: int, rdcc: int, rdcc_nbytes: int, rdcc_w0: float) -> None:
        """Sets the chunk cache of the HDF5 library; decoded chunks are kept by other rules here."""
        self._given["cache"] = (rdcc, rdcc_nbytes, rdcc_w0)

    def get_libver_bounds(self) -> tuple[int, int]:
        """The oldest and the newest version of HDF5's format, as constants of `h5f`."""
        found: tuple[int, int] = self._given.get("libver", (0, len(VERSIONS) - 1))
        return found

    def set_libver_bounds(self, low: int, high: int) -> None:
        """Sets the oldest and the newest version of HDF5's format."""
        if not 0 <= low <= high < len(VERSIONS) or high == 0:
            raise InvalidInputError(f"low={low}, high={high}: give constants h5f.LIBVER_..., the first one not newer than the second")
        self._given["libver"] = (low, high)

    def get_alignment(self) -> tuple[int, int]:
        """From how many bytes on what is stored begins at multiples of the second number."""
        found: tuple[int, int] = self._given.get("alignment", (1, 1))
        return found

    def set_alignment(self, threshold: int, alignment: int) -> None:
        """Sets from how many bytes on what is stored begins at multiples of `alignment`."""
        self._given["alignment"] = (threshold, alignment)

    def get_file_locking(self) -> tuple[bool, bool]:
        """Whether files are locked, and whether it is ignored that they cannot be."""
        found: tuple[bool, bool] = self._given.get("locking", (True, True))
        return found

    def set_file_locking(self, use_file_locking: bool, ignore_when_disabled: bool) -> None:
        """Sets whether files are locked. Files that are read are not locked here; files that are changed always are."""
        self._given["locking"] = (bool(use_file_locking), bool(ignore_when_disabled))

    def get_page_buffer_size(self) -> tuple[int, int, int]:
        """Bytes of the page buffer, and the percentages of metadata and raw data that stay in it."""
        found: tuple[int, int, int] = self._given.get("page_buffer", (0, 0, 0))
        return found

    def set_page_buffer_size(self, buf_size: int, min_meta_per: int = 0, min_raw_per: int = 0) -> None:
        """Sets the page buffer of the HDF5 library; what is read is kept by other rules here."""
        self._given["page_buffer"] = (buf_size, min_meta_per, min_raw_per)

    def get_meta_block_size(self) -> int:
        """Bytes of a block of metadata."""
        return int(self._given.get("meta_block_size", 2048))

    def set_meta_block_size(self, size: int) -> None:
        """Sets the bytes of a block of metadata; metadata is written in one piece here."""
        self._given["meta_block_size"] = size

    def get_fclose_degree(self) -> int:
        """What closing a file does with its objects: it closes them (`h5f.CLOSE_STRONG`)."""
        return int(self._given.get("degree", 3))

    def set_fclose_degree(self, close_degree: int) -> None:
        """Accepts what closing a file does with its objects (`h5f.CLOSE_STRONG`)."""
        if close_degree != 3:
            raise UnsupportedError(f"set_fclose_degree({close_degree}): closing a file closes its objects")
        self._given["degree"] = close_degree

    def get_mdc_config(self) -> CacheConfig:
        """The settings of the cache of metadata, which is not there."""
        return self._given["mdc"] if "mdc" in self._given else CacheConfig()

    def set_mdc_config(self, config: CacheConfig) -> None:
        """Accepts settings of a cache of metadata, which is not there."""
        self._given["mdc"] = config


#: `File`'s words for the constants `h5f.LIBVER_...`.
VERSIONS = ("earliest", "v108", "v110", "v112", "v114", "v200")
_LOCKING: dict[bool | str | None, tuple[bool, bool]] = {None: (True, True), False: (False, False), True: (True, False), "best-effort": (True, True)}


def access_of(settings: Settings) -> PropFAID:
    """The access list of a file that was opened with these settings."""
    made = PropFAID()
    made._given.update(
        driver=settings.driver,
        cache=settings.chunk_cache,
        page_buffer=settings.page_buffer,
        alignment=settings.alignment,
        meta_block_size=settings.meta_block_size,
        locking=_LOCKING[settings.locking],
        libver=(VERSIONS.index(settings.libver[0]), VERSIONS.index(settings.libver[1])),
    )
    return made


def creation_properties(node: Node) -> PropOCID:
    """How an object was created."""
    if isinstance(node, StoredProperties):
        return PropDCID(node)
    if isinstance(node, Datatype):
        return PropTCID(node)
    return PropFCID(node) if node.path == "/" and hasattr(node, "userblock_size") else PropGCID(node)


_KINDS: dict[str, type[PropInstanceID]] = {
    "OBJECT_CREATE": PropOCID,
    "GROUP_CREATE": PropGCID,
    "FILE_CREATE": PropFCID,
    "DATATYPE_CREATE": PropTCID,
    "DATASET_CREATE": PropDCID,
    "LINK_CREATE": PropLCID,
    "LINK_ACCESS": PropLAID,
    "DATASET_ACCESS": PropDAID,
    "DATASET_XFER": PropDXID,
    "OBJECT_COPY": PropCopyID,
    "FILE_ACCESS": PropFAID,
}
OBJECT_CREATE, GROUP_CREATE, FILE_CREATE, DATATYPE_CREATE, DATASET_CREATE, LINK_CREATE = map(PropClassID, list(_KINDS)[:6])
LINK_ACCESS, DATASET_ACCESS, DATASET_XFER, OBJECT_COPY, FILE_ACCESS = map(PropClassID, list(_KINDS)[6:])
for _name, _kind in _KINDS.items():
    _kind._class = PropClassID(_name)


def create(cls: PropClassID) -> Any:
    """An empty property list of a class."""
    return _KINDS[cls.name]()


__getattr__ = missing_from("h5py.h5p")
