"""Encoders of single HDF5 structures: bytes with right checksums, whatever they say. `graphs.py` joins them."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Iterable, Sequence

import h5py

UNDEFINED = (1 << 64) - 1
#: Most bytes of a header message's body.
MOST_BODY = 65_500


@functools.cache
def _library() -> ctypes._NamedFuncPointer:
    """The checksum function of the library that h5py brings: Python's own loop would take a second a megabyte."""
    h5py.get_config()
    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if "libhdf5-" in line or "libhdf5.so" in line)
    function = ctypes.CDLL(path).H5_checksum_lookup3
    function.restype, function.argtypes = ctypes.c_uint32, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32]
    return function


def lookup3(data: bytes) -> int:
    return int(_library()(bytes(data), len(data), 0))


def summed(block: bytes) -> bytes:
    """A block with its checksum behind it."""
    return block + struct.pack("<I", lookup3(block))


def padded(data: bytes, multiple: int = 8) -> bytes:
    return data + bytes(-len(data) % multiple)


class Image:
    """The bytes of a file that is put together: structures get addresses, also before they are known."""

    def __init__(self) -> None:
        self.data = bytearray(96)
        #: Address of the superblock extension.
        self.extension = UNDEFINED

    def put(self, block: bytes) -> int:
        self.data += bytes(-len(self.data) % 8)
        self.data += block
        return len(self.data) - len(block)

    def reserve(self, size: int) -> int:
        return self.put(bytes(size))

    def fill(self, address: int, block: bytes) -> None:
        self.data[address : address + len(block)] = block

    def finish(self, root: int, version: int) -> bytes:
        extension = self.extension
        """With a superblock of this version over the first bytes."""
        end = len(self.data)
        signature = b"\x89HDF\r\n\x1a\n"
        if version < 2:
            block = signature + bytes([version, 0, 0, 0, 0, 8, 8, 0]) + struct.pack("<HHI", 4, 16, 0) + (b"\x20\0\0\0" if version else b"")
            block += struct.pack("<QQQQ", 0, UNDEFINED, end, UNDEFINED) + struct.pack("<QQII16x", 0, root, 0, 0)
        else:
            block = summed(signature + bytes([version, 8, 8, 0]) + struct.pack("<QQQQ", 0, extension, end, root))
        self.fill(0, block)
        return bytes(self.data)


# Messages and headers


def message(kind: int, body: bytes, flags: int = 0) -> tuple[int, bytes, int]:
    return kind, body[:MOST_BODY], flags


def shared(kind: int, address: int, version: int = 3) -> tuple[int, bytes, int]:
    """A message that stands in another object's header."""
    head = bytes([version, 2 if version == 3 else 0])
    return message(kind, (head + bytes(14) if version == 1 else head) + struct.pack("<Q", address), 2)


def messages_v2(messages: Iterable[tuple[int, bytes, int]]) -> bytes:
    return b"".join(struct.pack("<BHB", kind & 0xFF, len(body), flags) + body for kind, body, flags in messages)


def header_v2(messages: Iterable[tuple[int, bytes, int]]) -> bytes:
    body = messages_v2(messages)
    return summed(b"OHDR" + bytes([2, 2]) + struct.pack("<I", len(body)) + body)


def continuation_v2(messages: Iterable[tuple[int, bytes, int]]) -> bytes:
    return summed(b"OCHK" + messages_v2(messages))


def messages_v1(messages: Iterable[tuple[int, bytes, int]]) -> bytes:
    return b"".join(struct.pack("<HHB3x", kind, len(padded(body)), flags) + padded(body) for kind, body, flags in messages)


def header_v1(messages: Sequence[tuple[int, bytes, int]]) -> bytes:
    body = messages_v1(messages)
    return struct.pack("<BBHII4x", 1, 0, len(messages) & 0xFFFF, 1, len(body)) + body


def continuation(address: int, length: int) -> tuple[int, bytes, int]:
    return message(0x10, struct.pack("<QQ", address, length))


def dataspace(shape: Sequence[int], most: Sequence[int] | None = None) -> bytes:
    head = bytes([2, len(shape), 0 if most is None else 1, 1 if shape else 0])
    return head + b"".join(struct.pack("<Q", extent & UNDEFINED) for extent in [*shape, *(most or ())])


def link_info(heap: int = UNDEFINED, tree: int = UNDEFINED) -> tuple[int, bytes, int]:
    return message(0x02, struct.pack("<BBQQ", 0, 0, heap, tree))


def attribute_info(heap: int, tree: int) -> tuple[int, bytes, int]:
    return message(0x15, struct.pack("<BBQQ", 0, 0, heap, tree))


def link(name: bytes, address: int | None = None, soft: bytes | None = None, file: bytes | None = None) -> bytes:
    """The body of a link message: hard, soft, or external if a file is given."""
    head = bytes([1, 0x09]) if address is None else bytes([1, 0x01])
    named = struct.pack("<H", len(name)) + name
    if address is not None:
        return head + named + struct.pack("<Q", address & UNDEFINED)
    if file is None:
        return head + b"\x01" + named + struct.pack("<H", len(soft or b"")) + (soft or b"")
    body = b"\0" + file + b"\0" + (soft or b"/") + b"\0"
    return head + b"\x40" + named + struct.pack("<H", len(body)) + body


def attribute(name: bytes, datatype: bytes, space: bytes, value: bytes, flags: int = 0) -> bytes:
    return bytes([3, flags]) + struct.pack("<HHHB", len(name) + 1, len(datatype), len(space), 0) + name + b"\0" + datatype + space + value


# Datatypes


def head(kind: int, size: int, bits: int = 0, version: int = 3) -> bytes:
    return bytes([version << 4 | kind]) + bits.to_bytes(3, "little") + struct.pack("<I", size & 0xFFFF_FFFF)


def integer(size: int = 1, signed: bool = False) -> bytes:
    return head(0, size, 8 if signed else 0, 1) + struct.pack("<HH", 0, 8 * size)


def double() -> bytes:
    return head(1, 8, 0x3F20, 1) + struct.pack("<HHBBBBI", 0, 64, 52, 11, 0, 52, 1023)


def compound(members: Sequence[tuple[bytes, int, bytes]], size: int) -> bytes:
    width = max((size.bit_length() + 7) // 8, 1)
    body = b"".join(name + b"\0" + offset.to_bytes(width, "little") + datatype for name, offset, datatype in members)
    return head(6, size, len(members) & 0xFFFF) + body


def enumeration(names: Sequence[bytes], size: int = 2) -> bytes:
    values = b"".join((i & ((1 << 8 * size) - 1)).to_bytes(size, "little") for i in range(len(names)))
    return head(8, size, len(names) & 0xFFFF) + integer(size) + b"".join(name + b"\0" for name in names) + values


# Trees and heaps


def local_heap(image: Image, data: bytes) -> int:
    address = image.put(data)
    return image.put(b"HEAP" + bytes(4) + struct.pack("<QQQ", len(data), 1, address))


def symbol_node(entries: Sequence[tuple[int, int, int | None]]) -> bytes:
    """Of name offsets, header addresses, and offsets of soft targets."""
    body = b"SNOD" + bytes([1, 0]) + struct.pack("<H", len(entries))
    for name, address, soft in entries:
        body += struct.pack("<QQII", name, address & UNDEFINED, 0 if soft is None else 2, 0) + struct.pack("<I12x", soft or 0)
    return body


def tree_v1(level: int, children: Sequence[int], keys: Sequence[bytes], kind: int = 0) -> bytes:
    body = b"TREE" + bytes([kind, level]) + struct.pack("<HQQ", len(children), UNDEFINED, UNDEFINED) + keys[0]
    return body + b"".join(struct.pack("<Q", child) + key for child, key in zip(children, keys[1:], strict=True))


class TreeV2:
    """A version-2 B-tree: node sizes follow from the sizes of its records, as in the library."""

    def __init__(self, kind: int, record_bytes: int, depth: int, node_bytes: int = 512) -> None:
        self.kind, self.record_bytes, self.depth, self.node_bytes = kind, record_bytes, depth, node_bytes
        leaf = (node_bytes - 10) // record_bytes
        self.levels = [(leaf, leaf)]
        for level in range(1, depth + 1):
            pointer = self.pointer_bytes(level)
            most = max(0, node_bytes - 10 - pointer) // (record_bytes + pointer)
            below = self.levels[-1][1]
            self.levels.append((most, min(UNDEFINED, (most + 1) * below + most)))

    @staticmethod
    def width(value: int) -> int:
        return max(1, (value.bit_length() + 7) // 8)

    def pointer_bytes(self, level: int) -> int:
        return 8 + self.width(self.levels[0][0]) + (self.width(self.levels[level - 1][1]) if level > 1 else 0)

    def leaf(self, records: Sequence[bytes]) -> bytes:
        return summed(b"BTLF" + bytes([0, self.kind]) + b"".join(records))

    def inner(self, level: int, records: Sequence[bytes], children: Sequence[tuple[int, int]]) -> bytes:
        """With children by address and number of records."""
        width = self.width(self.levels[0][0])
        below = bytes(self.pointer_bytes(level) - 8 - width)
        pointers = b"".join(struct.pack("<Q", address) + count.to_bytes(width, "little") + below for address, count in children)
        return summed(b"BTIN" + bytes([0, self.kind]) + b"".join(records) + pointers)

    def header(self, root: int, root_records: int, total: int) -> bytes:
        sizes = struct.pack("<IHHBB", self.node_bytes, self.record_bytes, self.depth, 100, 40)
        return summed(b"BTHD" + bytes([0, self.kind]) + sizes + struct.pack("<QHQ", root, root_records & 0xFFFF, total & UNDEFINED))


def fractal_heap(image: Image, data: bytes, id_bytes: int = 8, huge_tree: int = UNDEFINED) -> int:
    """A heap whose only block holds `data`, at heap offset `OBJECTS`."""
    size = 512
    while size < len(data) + OBJECTS:
        size *= 2
    at = image.reserve(146)
    block = b"FHDB" + b"\0" + struct.pack("<Q", at) + bytes(4)
    root = image.put((block + data).ljust(size, b"\0"))
    counts = struct.pack("<QQQQ", 0, huge_tree, 0, UNDEFINED) + struct.pack("<8Q", *[0] * 8)
    table = struct.pack("<HQQHHQH", 4, size, max(size, 65536), 32, 0, root, 0)
    image.fill(at, summed(b"FRHP" + b"\0" + struct.pack("<HHBI", id_bytes, 0, 0, max(size, 4096)) + counts + table))
    return at


#: Where the first object of a direct block lies.
OBJECTS = 17


def managed_id(offset: int, length: int, size: int = 65536) -> bytes:
    """The heap ID of 8 bytes of an object in a direct block."""
    return (b"\0" + struct.pack("<I", offset) + length.to_bytes(3, "little")).ljust(8, b"\0")


def global_heap(objects: Sequence[bytes]) -> bytes:
    body = b"".join(struct.pack("<HH4xQ", index, 1, len(value)) + padded(value) for index, value in enumerate(objects, 1))
    size = max(4096, 16 + len(body) + 16)
    free = struct.pack("<HH4xQ", 0, 0, size - 16 - len(body))
    return (b"GCOL\x01\0\0\0" + struct.pack("<Q", size) + body + free).ljust(size, b"\0")
