"""The messages, heaps and trees of small files, as inputs of the parsers' fuzz targets (testing/fuzz/src/parsers.rs)."""

from __future__ import annotations

import pathlib
import struct
from collections.abc import Iterator

import h5py

#: Longer files make slow inputs.
LONGEST = 12_000
#: Numbers of the targets: kinds of heaps, of trees, and of chunk indexing.
LOCAL, GLOBAL, FRACTAL, MANAGED = range(4)
HEADER, GROUP, DENSE, RECORDS, CHUNKS = range(5)
#: A region reference's selection and a virtual mapping's, among the kinds of messages.
SELECTION = 0x80


def places(data: bytes, signature: bytes) -> list[int]:
    """Where a signature stands."""
    found = []
    at = data.find(signature)
    while at >= 0:
        found.append(at)
        at = data.find(signature, at + 1)
    return found


def headers(path: pathlib.Path) -> list[int]:
    """Addresses of object headers."""
    found: set[int] = set()
    with h5py.File(path) as f:

        def visit(name: str) -> None:
            found.add(h5py.h5o.get_info(f.id, name.encode()).addr)

        visit("/")
        f.visit(visit)
    return sorted(found)


def messages(data: bytes, address: int) -> Iterator[tuple[int, bytes]]:
    """Kind and body of the messages in the first block of an object header."""
    if data[address : address + 4] == b"OHDR":
        flags = data[address + 5]
        at = address + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        size = int.from_bytes(data[at : at + width], "little")
        at += width
        end, head = at + size, 6 if flags & 4 else 4
        while at + head <= end:
            kind, length = struct.unpack_from("<BH", data, at)
            yield kind, data[at + head : at + head + length]
            at += head + length
    else:
        end = address + 16 + struct.unpack_from("<I", data, address + 8)[0]
        at = address + 16
        while at + 8 <= end:
            kind, length = struct.unpack_from("<HH", data, at)
            yield kind, data[at + 8 : at + 8 + length]
            at += 8 + length


def heap_inputs(data: bytes) -> Iterator[bytes]:
    def head(kind: int, address: int, number: int, identifier: bytes = b"") -> bytes:
        return struct.pack("<BHH", kind, address, number) + identifier.ljust(8, b"\0") + data

    for address in places(data, b"HEAP"):
        yield head(LOCAL, address, 8)
    for address in places(data, b"GCOL"):
        yield head(GLOBAL, address, 5)
    identifiers = []
    for leaf in places(data, b"BTLF"):
        # Records of links by name and of attributes by name begin with, and follow on, a heap ID.
        if data[leaf + 5] == 5:
            identifiers.append(data[leaf + 10 : leaf + 17])
        elif data[leaf + 5] == 8:
            identifiers.append(data[leaf + 6 : leaf + 14])
    for address in places(data, b"FRHP"):
        yield from (head(FRACTAL, address, 0, identifier) for identifier in identifiers)
        yield head(MANAGED, address, 40, struct.pack("<H", 20))


def tree_inputs(path: pathlib.Path, data: bytes) -> Iterator[bytes]:
    def head(kind: int, address: int, heap: int = 0, ndim: int = 1, rest: bytes = bytes(14)) -> bytes:
        return struct.pack("<BHHB", kind, address, heap, ndim - 1) + rest + data

    yield from (head(HEADER, address) for address in headers(path))
    for tree in places(data, b"TREE"):
        if data[tree + 4] == 0:
            yield from (head(GROUP, tree, heap) for heap in places(data, b"HEAP"))
    for tree in places(data, b"BTHD"):
        yield head(RECORDS, tree)
        if data[tree + 5] == 5:
            yield from (head(DENSE, tree, heap) for heap in places(data, b"FRHP"))
    with h5py.File(path) as f:
        for dataset in f.values():
            if not isinstance(dataset, h5py.Dataset) or not dataset.chunks or dataset.ndim > 4:
                continue
            shape = struct.pack("<4H", *(*dataset.shape, 0, 0, 0, 0)[:4]) + struct.pack("<4B", *(*dataset.chunks, 1, 1, 1, 1)[:4])
            unlimited = sum(1 << n for n, extent in enumerate(dataset.maxshape) if extent is None)
            rest = shape + struct.pack("<BB", unlimited, dataset.dtype.itemsize)
            kinds = {b"TREE": 0, b"FAHD": 3, b"EAHD": 4, b"BTHD": 5}
            for signature, indexing in kinds.items():
                yield from (head(CHUNKS + indexing, address, 0, dataset.ndim, rest) for address in places(data, signature))
            for indexing in (1, 2):
                yield head(CHUNKS + indexing, dataset.id.get_offset() or 2048, 0, dataset.ndim, rest)


def write_inputs(folder: pathlib.Path, sources: list[pathlib.Path]) -> None:
    """Inputs of each target, in folders called like it; the same input once."""
    made: dict[str, set[bytes]] = {"messages": set(), "heaps": set(), "trees": set()}
    for path in sources:
        data = path.read_bytes()
        if not data.startswith(b"\x89HDF"):
            continue
        with h5py.File(path) as f:
            selections = [] if "regions" not in f else [data[at : at + 200] for at in places(data, struct.pack("<II", 2, 1))]
        made["messages"].update(bytes([SELECTION]) + body for body in selections)
        for address in headers(path):
            made["messages"].update(bytes([kind]) + body for kind, body in messages(data, address) if 0 < kind < SELECTION)
        if len(data) <= LONGEST:
            made["heaps"].update(heap_inputs(data))
            made["trees"].update(tree_inputs(path, data))
    for name, inputs in made.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, body in enumerate(sorted(inputs)):
            (folder / name / f"{number:04}").write_bytes(body)
