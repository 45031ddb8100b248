"""Whether two HDF5 files are the same file: structure, types, storage and values, as HDF5's own library tells them.

Nothing here uses Hyperslab. `describe` lists facts of a file, each under the path of an object (bytes) and an aspect; two files are the same if their
facts are. Objects are known by their addresses, so that hard links, committed datatypes and references are compared by what they lead to.

What is left out are places in the file: addresses, sizes of heaps, versions of messages, the kind of a chunk index, and file space.
"""

from __future__ import annotations

import ctypes
import glob
import hashlib
import os
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5i, h5l, h5o, h5p, h5s, h5t

Facts = dict[tuple[bytes, str], Any]

#: Maximum number of elements of a dataset that are compared one by one: those of variable length or with references.
MAX_SINGLE_ELEMENTS = 200_000
#: Bytes of values that are read at once. Larger datasets are read in slabs of rows.
SLAB_BYTES = 64 << 20
MAX_COMMENT_BYTES = 1 << 16
UNLIMITED_TEXT = "unlimited"
DAMAGED = "cannot be read"


class _Info(ctypes.Structure):
    """`H5O_info2_t`."""

    _fields_ = (
        ("fileno", ctypes.c_ulong),
        ("token", ctypes.c_uint8 * 16),
        ("type", ctypes.c_int),
        ("rc", ctypes.c_uint),
        ("atime", ctypes.c_int64),
        ("mtime", ctypes.c_int64),
        ("ctime", ctypes.c_int64),
        ("btime", ctypes.c_int64),
        ("num_attrs", ctypes.c_uint64),
    )


def _library() -> ctypes.CDLL:
    folder = os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs")
    library = ctypes.CDLL(glob.glob(os.path.join(folder, "libhdf5-*"))[0])
    hid = ctypes.c_int64
    library.H5Oget_info3.argtypes = [hid, ctypes.POINTER(_Info), ctypes.c_uint]
    library.H5Oget_comment.argtypes = [hid, ctypes.c_char_p, ctypes.c_size_t]
    library.H5Oget_comment.restype = ctypes.c_ssize_t
    library.H5Pget_fill_value.argtypes = [hid, hid, ctypes.c_void_p]
    library.H5Pget_attr_creation_order.argtypes = [hid, ctypes.POINTER(ctypes.c_uint)]
    for name in ("H5Tget_order", "H5Tget_precision", "H5Tget_offset"):
        getattr(library, name).argtypes = [hid]
    library.H5Dread.argtypes = [hid, hid, hid, hid, hid, ctypes.c_void_p]
    library.H5Aread.argtypes = [hid, hid, ctypes.c_void_p]
    library.H5Rget_type.argtypes = [ctypes.c_void_p]
    library.H5Ropen_object.argtypes = [ctypes.c_void_p, hid, hid]
    library.H5Ropen_object.restype = hid
    library.H5Ropen_region.argtypes = [ctypes.c_void_p, hid, hid]
    library.H5Ropen_region.restype = hid
    library.H5Rget_attr_name.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    library.H5Rget_attr_name.restype = ctypes.c_ssize_t
    library.H5Rget_file_name.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    library.H5Rget_file_name.restype = ctypes.c_ssize_t
    library.H5Rdereference2.argtypes = [hid, hid, ctypes.c_int, ctypes.c_void_p]
    library.H5Rdereference2.restype = hid
    library.H5Rget_region.argtypes = [hid, ctypes.c_int, ctypes.c_void_p]
    library.H5Rget_region.restype = hid
    return library


HDF5 = _library()


class _Object(NamedTuple):
    address: int
    references: int
    times: tuple[int, ...]


def _object(identifier: Any) -> _Object:
    info = _Info()
    if HDF5.H5Oget_info3(identifier.id, ctypes.byref(info), 3) < 0:
        raise RuntimeError("H5Oget_info3")
    return _Object(int.from_bytes(bytes(info.token)[:8], "little"), info.rc, (info.atime, info.mtime, info.ctime, info.btime))


def _digest(content: Any) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


class _File:
    """A file whose objects are being described."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.id = h5f.open(os.fsencode(path), h5f.ACC_RDONLY)
        self.facts: Facts = {}
        #: First path of each object, by address.
        self.paths: dict[int, bytes] = {}

    # Structure.

    def describe(self) -> Facts:
        plist = self.id.get_create_plist()
        length = plist.get_userblock()
        with open(self.path, "rb") as content:
            self.facts[b"/", "user block"] = content.read(length)
        root = h5o.open(self.id, b"/")
        waiting: list[tuple[bytes, Any]] = [(b"/", root)]
        found: list[tuple[bytes, Any]] = []
        self.paths[_object(root).address] = b"/"
        # All paths first: references lead anywhere.
        while waiting:
            path, here = waiting.pop()
            found.append((path, here))
            if isinstance(here, h5g.GroupID):
                waiting += reversed(list(self._links(path, here)))
        for path, here in found:
            self._object(path, here)
        return self.facts

    def _links(self, path: bytes, group: Any) -> Iterator[tuple[bytes, Any]]:
        plist = group.get_create_plist()
        order = plist.get_link_creation_order()
        self.facts[path, "tracks links"] = order & 1, order & 2
        names: list[bytes] = []
        tracked = bool(order & h5p.CRT_ORDER_TRACKED)
        for name in self._names(group, tracked):
            names.append(name)
        if tracked:
            self.facts[path, "order of links"] = tuple(names)
        for name in sorted(names):
            place = path.rstrip(b"/") + b"/" + name
            info = group.links.get_info(name)
            target: Any = None
            if info.type == h5l.TYPE_HARD:
                try:
                    member = h5o.open(group, name)
                except Exception as error:
                    self.facts[place, "object"] = f"cannot be opened: {type(error).__name__}"
                    continue
                address = _object(member).address
                if address not in self.paths:
                    self.paths[address] = place
                    yield place, member
                target = self.paths[address]
            elif info.type in (h5l.TYPE_SOFT, h5l.TYPE_EXTERNAL):
                target = group.links.get_val(name)
            else:
                target = info.type
            self.facts[place, "link"] = (min(info.type, 65), target, info.cset)

    @staticmethod
    def _names(group: Any, tracked: bool) -> list[bytes]:
        names: list[bytes] = []
        kind = h5_index(tracked)
        group.links.iterate(lambda name: names.append(name), idx_type=kind, order=h5py.h5.ITER_INC)
        return names

    def _object(self, path: bytes, here: Any) -> None:
        about = _object(here)
        facts = self.facts
        facts[path, "object"] = type(here).__name__
        facts[path, "number of links"] = about.references
        facts[path, "times"] = about.times
        comment = ctypes.create_string_buffer(MAX_COMMENT_BYTES)
        HDF5.H5Oget_comment(here.id, comment, MAX_COMMENT_BYTES)
        facts[path, "comment"] = comment.value
        self._attributes(path, here)
        if isinstance(here, h5t.TypeID):
            facts[path, "type"] = self._type(here)
        elif isinstance(here, h5d.DatasetID):
            self._dataset(path, here)

    def _attributes(self, path: bytes, here: Any) -> None:
        tracked = ctypes.c_uint()
        if isinstance(here, h5t.TypeID):
            order = 0
        else:
            plist = here.get_create_plist()
            if HDF5.H5Pget_attr_creation_order(plist.id, ctypes.byref(tracked)) < 0:
                raise RuntimeError("H5Pget_attr_creation_order")
            order = tracked.value
        self.facts[path, "tracks attributes"] = order & 1, order & 2
        kind, direction = (h5_index(True), h5py.h5.ITER_INC) if order & 1 else (h5_index(False), h5py.h5.ITER_NATIVE)
        found = []
        listed: list[bytes] = []
        # The number that the library states is 0 for objects of JLD2, which have attributes.
        h5a.iterate(here, lambda name: listed.append(name), index_type=kind, order=direction)
        for index, name in enumerate(listed):
            attribute = h5a.open(here, name)
            # Without an index of the order of creation, the library lists them as they are stored.
            found.append((h5a.get_info(attribute).corder if order & 1 else index, attribute.name))
            self._attribute(path, attribute)
        names = [name for _, name in sorted(found)]
        # The order of many is that of hashes, unless it is tracked.
        if order & 1 or len(names) <= 8:
            self.facts[path, "order of attributes"] = tuple(names)

    def _attribute(self, path: bytes, attribute: Any) -> None:
        name = "@" + attribute.name.decode("utf-8", "backslashreplace")
        datatype, space = attribute.get_type(), attribute.get_space()
        self.facts[path, f"{name} type"] = self._type(datatype), self._committed(datatype)
        self.facts[path, f"{name} space"] = _space(space)
        count = space.get_simple_extent_npoints() if space.get_simple_extent_type() != h5s.NULL else 0
        size = datatype.get_size()
        memory = ctypes.create_string_buffer(max(1, count * size))
        if count and HDF5.H5Aread(attribute.id, datatype.id, memory) < 0:
            self.facts[path, f"{name} value"] = (DAMAGED,)
            return
        self.facts[path, f"{name} value"] = self._elements(datatype, memory, count)

    def _dataset(self, path: bytes, dataset: Any) -> None:
        facts, datatype, space, plist = self.facts, dataset.get_type(), dataset.get_space(), dataset.get_create_plist()
        facts[path, "type"] = self._type(datatype)
        facts[path, "committed type"] = self._committed(datatype)
        facts[path, "space"] = _space(space)
        layout = plist.get_layout()
        facts[path, "layout"] = {h5d.COMPACT: "compact", h5d.CONTIGUOUS: "contiguous", h5d.CHUNKED: "chunked"}.get(layout, "virtual")
        facts[path, "chunks"] = plist.get_chunk() if layout == h5d.CHUNKED else None
        # Parameters that follow from the type when a filter is set are compared as they are stored.
        for number in range(plist.get_nfilters()):
            code, flags, values, name = plist.get_filter(number)
            facts[path, f"filter {number}"] = code, tuple(values)
            facts[path, f"flags of filter {number}"] = flags
            facts[path, f"name of filter {number}"] = name
        facts[path, "external"] = tuple(plist.get_external(number) for number in range(plist.get_external_count()))
        if facts[path, "layout"] == "virtual":
            facts[path, "mappings"] = tuple(
                (
                    plist.get_virtual_filename(n),
                    plist.get_virtual_dsetname(n),
                    self._region(plist.get_virtual_vspace(n)),
                    self._region(plist.get_virtual_srcspace(n)),
                )
                for n in range(plist.get_virtual_count())
            )
        status = plist.fill_value_defined()
        facts[path, "fill status"] = {h5d.FILL_VALUE_UNDEFINED: "undefined", h5d.FILL_VALUE_DEFAULT: "default"}.get(status, "user")
        facts[path, "fill time"] = plist.get_fill_time()
        facts[path, "allocation time"] = plist.get_alloc_time()
        if status == h5d.FILL_VALUE_USER_DEFINED:
            memory = ctypes.create_string_buffer(max(1, datatype.get_size()))
            if HDF5.H5Pget_fill_value(plist.id, datatype.id, memory) < 0:
                facts[path, "fill"] = "cannot be read"
            else:
                facts[path, "fill"] = self._elements(datatype, memory, 1)
        facts[path, "values"] = self._values(dataset, datatype, space)

    # Values.

    def _values(self, dataset: Any, datatype: Any, space: Any) -> Any:
        if space.get_simple_extent_type() == h5s.NULL:
            return ()
        shape = space.get_simple_extent_dims()
        size = datatype.get_size()
        row = max(1, size * int(np.prod(shape[1:], dtype=np.int64))) if shape else size
        rows = max(1, SLAB_BYTES // row)
        found: list[Any] = []
        for first in range(0, shape[0], rows) if shape else [0]:
            chosen = space.copy()
            count = space.get_simple_extent_npoints()
            file_id = memory_id = 0  # all
            if shape:
                here = (min(rows, shape[0] - first), *shape[1:])
                count = int(np.prod(here, dtype=np.int64))
                if not count:
                    continue
                chosen.select_hyperslab((first,) + (0,) * (len(shape) - 1), here)
                memory_space = h5s.create_simple(here)
                file_id, memory_id = chosen.id, memory_space.id
            memory = ctypes.create_string_buffer(max(1, count * size))
            if HDF5.H5Dread(dataset.id, datatype.id, memory_id, file_id, 0, memory) < 0:
                return self._raw_chunks(dataset)
            found.append(self._elements(datatype, memory, count))
        return tuple(found)

    @staticmethod
    def _raw_chunks(dataset: Any) -> Any:
        """The chunks as stored: damaged ones, and those of a filter that the library does not have."""
        plist = dataset.get_create_plist()
        if plist.get_layout() != h5d.CHUNKED:
            return (DAMAGED,)
        filters = [plist.get_filter(number)[0] for number in range(plist.get_nfilters())]
        chunks = []
        for number in range(dataset.get_num_chunks()):
            info = dataset.get_chunk_info(number)
            chunks.append((info.chunk_offset, info.filter_mask, info.size, _digest(dataset.read_direct_chunk(info.chunk_offset)[1])))
        has_filters = all(h5py.h5z.filter_avail(code) for code in filters)
        return (DAMAGED if has_filters else "stored chunks", *sorted(chunks))

    def _elements(self, datatype: Any, memory: Any, count: int) -> Any:
        if not _points(datatype):
            return _digest(bytes(_without_padding(datatype, memory, count)))
        if count > MAX_SINGLE_ELEMENTS:
            return f"the first {MAX_SINGLE_ELEMENTS}", self._elements(datatype, memory, MAX_SINGLE_ELEMENTS)
        size = datatype.get_size()
        read = self._reader(datatype)
        start = ctypes.addressof(memory)
        values = [read(start + number * size) for number in range(count)]
        return values if count <= 20 else (len(values), _digest(repr(values).encode()))

    def _reader(self, datatype: Any) -> Any:
        """A function that returns the element at an address of the memory."""
        kind, size = datatype.get_class(), datatype.get_size()
        if kind == h5t.STRING and datatype.is_variable_str():

            def text(at: int) -> Any:
                place = ctypes.c_void_p.from_address(at).value
                return None if place is None else ctypes.string_at(place)

            return text
        if kind == h5t.VLEN:
            base = datatype.get_super()
            base_size, item = base.get_size(), None if not _points(base) else self._reader(base)

            def sequence(at: int) -> Any:
                length = ctypes.c_size_t.from_address(at).value
                place = ctypes.c_void_p.from_address(at + ctypes.sizeof(ctypes.c_size_t)).value
                if not length or place is None:
                    return ()
                if item is None:
                    return ctypes.string_at(place, length * base_size)
                return tuple(item(place + number * base_size) for number in range(length))

            return sequence
        if kind == h5t.COMPOUND:
            members = [(datatype.get_member_offset(number), self._reader(datatype.get_member_type(number))) for number in range(datatype.get_nmembers())]
            return lambda at: tuple(read(at + offset) for offset, read in members)
        if kind == h5t.ARRAY:
            base = datatype.get_super()
            base_size, read = base.get_size(), self._reader(base)
            return lambda at: tuple(read(at + offset) for offset in range(0, size, base_size))
        if kind == h5t.REFERENCE:
            return lambda at: self._reference(datatype, at)
        return lambda at: ctypes.string_at(at, size)

    def _reference(self, datatype: Any, at: int) -> Any:
        content = ctypes.string_at(at, datatype.get_size())
        if not any(content):
            return "null"
        if datatype.equal(h5t.STD_REF_OBJ):
            return "object", self._path_of(HDF5.H5Rdereference2(self.id.id, 0, 0, at))
        if datatype.equal(h5t.STD_REF_DSETREG):
            target = self._path_of(HDF5.H5Rdereference2(self.id.id, 0, 1, at))
            region = HDF5.H5Rget_region(self.id.id, 1, at)
            return "region", target, None if region < 0 else self._region(h5s.SpaceID(region))
        kind = HDF5.H5Rget_type(at)
        name = ctypes.create_string_buffer(1024)
        part: Any = None
        if kind == 3:
            region = HDF5.H5Ropen_region(at, 0, 0)
            part = None if region < 0 else self._region(h5s.SpaceID(region))
        elif kind == 4 and HDF5.H5Rget_attr_name(at, name, 1024) >= 0:
            part = name.value
        file = ctypes.create_string_buffer(4096)
        HDF5.H5Rget_file_name(at, file, 4096)
        is_own = os.path.basename(file.value) == os.path.basename(os.fsencode(self.path))
        return kind, self._path_of(HDF5.H5Ropen_object(at, 0, 0)) if is_own else file.value, part

    def _path_of(self, identifier: int) -> Any:
        if identifier < 0:
            return "dangling"
        found = h5i.wrap_identifier(identifier)
        return self.paths.get(_object(found).address, f"an object without a name: {type(found).__name__}")

    @staticmethod
    def _region(space: Any) -> Any:
        kind = space.get_select_type()
        bounds: Any = None
        if kind == h5s.SEL_HYPERSLABS:
            bounds = space.get_regular_hyperslab() if space.is_regular_hyperslab() else _digest(np.ascontiguousarray(space.get_select_hyper_blocklist()))
        elif kind == h5s.SEL_POINTS:
            bounds = _digest(np.ascontiguousarray(space.get_select_elem_pointlist()))
        # Of a mapping with a growing source, only the selection counts.
        return kind, bounds

    # Types.

    def _committed(self, datatype: Any) -> bytes | None:
        return self.paths.get(_object(datatype).address, b"no path") if datatype.committed() else None

    def _type(self, datatype: Any) -> Any:
        kind, size = datatype.get_class(), datatype.get_size()
        if kind == h5t.COMPOUND:
            members = range(datatype.get_nmembers())
            return kind, size, tuple((datatype.get_member_name(n), datatype.get_member_offset(n), self._type(datatype.get_member_type(n))) for n in members)
        if kind == h5t.ENUM:
            members = range(datatype.get_nmembers())
            return kind, self._type(datatype.get_super()), tuple((datatype.get_member_name(n), datatype.get_member_value(n)) for n in members)
        if kind == h5t.ARRAY:
            return kind, datatype.get_array_dims(), self._type(datatype.get_super())
        if kind == h5t.VLEN:
            return kind, self._type(datatype.get_super())
        if kind == h5t.STRING:
            return kind, None if datatype.is_variable_str() else size, datatype.get_cset(), datatype.get_strpad()
        if kind == h5t.OPAQUE:
            return kind, size, datatype.get_tag()
        if kind == h5t.REFERENCE:
            old = [datatype.equal(known) for known in (h5t.STD_REF_OBJ, h5t.STD_REF_DSETREG)]
            return kind, tuple(map(bool, old))
        if kind == h5t.BITFIELD:
            return kind, size, HDF5.H5Tget_order(datatype.id), HDF5.H5Tget_precision(datatype.id), HDF5.H5Tget_offset(datatype.id)
        if kind in (h5t.INTEGER, h5t.FLOAT):
            facts = kind, size, datatype.get_order(), datatype.get_precision(), datatype.get_offset(), datatype.get_pad()
            if kind == h5t.INTEGER:
                return *facts, datatype.get_sign()
            return (*facts, datatype.get_fields(), datatype.get_ebias(), datatype.get_norm(), datatype.get_inpad()) if kind == h5t.FLOAT else facts
        return kind, size, datatype.encode()


def h5_index(by_creation: bool) -> int:
    return h5py.h5.INDEX_CRT_ORDER if by_creation else h5py.h5.INDEX_NAME


def _space(space: Any) -> Any:
    kind = space.get_simple_extent_type()
    if kind != h5s.SIMPLE:
        return kind
    most = space.get_simple_extent_dims(True)
    return space.get_simple_extent_dims(), tuple(UNLIMITED_TEXT if extent is None or extent == h5s.UNLIMITED else extent for extent in most)


def _points(datatype: Any) -> bool:
    """Whether elements point at something: they are not their bytes."""
    kind = datatype.get_class()
    if kind == h5t.STRING:
        return bool(datatype.is_variable_str())
    if kind in (h5t.VLEN, h5t.REFERENCE):
        return True
    if kind == h5t.COMPOUND:
        return any(_points(datatype.get_member_type(number)) for number in range(datatype.get_nmembers()))
    return kind == h5t.ARRAY and _points(datatype.get_super())


def _without_padding(datatype: Any, memory: Any, count: int) -> Any:
    """The bytes of elements; those between the members of a compound mean nothing."""
    size = datatype.get_size()
    content = np.frombuffer(memory, np.uint8, count * size).reshape(count, size)
    used = np.zeros(size, bool)
    _use(datatype, used)
    return content.tobytes() if used.all() else np.where(used, content, 0).astype(np.uint8).tobytes()


def _use(datatype: Any, used: Any) -> None:
    kind = datatype.get_class()
    if kind == h5t.COMPOUND:
        for number in range(datatype.get_nmembers()):
            member, offset = datatype.get_member_type(number), datatype.get_member_offset(number)
            _use(member, used[offset : offset + member.get_size()])
    elif kind == h5t.ARRAY:
        base = datatype.get_super()
        step = base.get_size()
        for offset in range(0, len(used), step):
            _use(base, used[offset : offset + step])
    else:
        used[:] = True


class Difference(NamedTuple):
    """A fact that differs: the aspect is without the name of an attribute or the number of a filter."""

    path: bytes
    aspect: str
    text: str

    @property
    def cause(self) -> str:
        if self.aspect.startswith("@"):
            return "attribute " + self.aspect.rsplit(" ", 1)[-1]
        return self.aspect.rstrip("0123456789 ")


def describe(path: str) -> Facts:
    """All facts of a file."""
    # Errors of filters that are not there are no news.
    h5py._errors.silence_errors()
    file = _File(path)
    try:
        return file.describe()
    finally:
        file.id.close()


def is_damaged(facts: Facts) -> bool:
    """Whether the library cannot open an object, or cannot read its values although it has the filters."""
    cannot_open = any(aspect == "object" and fact.startswith("cannot be opened") for (_, aspect), fact in facts.items())
    return cannot_open or any(isinstance(fact, tuple) and fact[:1] == (DAMAGED,) for fact in facts.values())


def differences(first: Facts, second: Facts) -> list[Difference]:
    """What differs between two files."""
    found = []
    for key in [*first, *(key for key in second if key not in first)]:
        one, other = first.get(key, "nothing"), second.get(key, "nothing")
        if one != other:
            found.append(Difference(key[0], key[1], f"{one!r} and {other!r}"[:400]))
    return found


def main() -> int:
    """`same_file.py FIRST SECOND` prints what differs."""
    found = differences(*(describe(path) for path in sys.argv[1:3]))
    for one in found:
        print(one.path.decode("utf-8", "backslashreplace"), one.aspect, one.text, sep="\t")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
