"""Files put together at random from real structures with right checksums: shared by several parents, in circles, with extreme
counts and sizes. Damage of single bytes does not make these, for a checksum or a count elsewhere would have to change as well.

`graph(number)` gives the bytes of one file; the same number gives the same bytes.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import blocks as b

Message = tuple[int, bytes, int]

#: Extents and sizes that no file has.
EXTREMES = [0, 1, 2, 255, 1 << 16, (1 << 31) - 1, 1 << 32, 1 << 40, (1 << 63) - 1, (1 << 64) - 1]
#: Bytes that a file has at most, about.
MOST_BYTES = 1 << 20


class Graph:
    """One file. Parts are made on the way down; a part that is needed may be a known one, or one above."""

    def __init__(self, number: int) -> None:
        self.rng = random.Random(number)
        self.image = b.Image()
        self.objects: list[int] = []
        self.datatypes: list[int] = []
        self.attributes: list[int] = []
        #: How often a known part is used again, and how large the largest counts are.
        self.sharing = self.rng.choice([0.1, 0.5, 0.9])
        self.scale = self.rng.choice([3, 10, 100, 3000, 30000])
        self.superblock = self.rng.choice([0, 1, 2, 2, 3])

    def many(self, most: int | None = None) -> int:
        """A count: mostly small, sometimes as large as the file may get."""
        top = min(self.scale, most or self.scale)
        room = max(1, (MOST_BYTES - len(self.image.data)) // 64)
        return min(int(top ** self.rng.random()) if self.rng.random() < 0.7 else top, room)

    def long(self, most: int = 60_000) -> int:
        return min(self.rng.choice([0, 1, 3, 20, 300, 5000, most]), most, max(1, MOST_BYTES - len(self.image.data)))

    def name(self, index: int = 0) -> bytes:
        letter = bytes([self.rng.choice(b"abcxyz\x1b\x07\xe2")])
        return b"%d" % index + letter * (self.long(30_000) if self.rng.random() < 0.05 else self.rng.randrange(4))

    def any_object(self, depth: int) -> int:
        """The address of an object: a known one, or a new one while there is room."""
        if self.objects and (self.rng.random() < self.sharing or depth <= 0 or len(self.image.data) > MOST_BYTES):
            return self.rng.choice(self.objects)
        return self.rng.choice([self.group, self.group, self.dataset, self.dataset, self.dataset, self.committed])(depth - 1)

    # Headers

    def header(self, messages: list[Message], at: int | None = None) -> int:
        """Of either version, perhaps continued elsewhere, in itself, or in a block of another object."""
        rng = self.rng
        if rng.random() < 0.05:
            messages = messages + [b.message(0, b"")] * self.many()
        if rng.random() < 0.03:
            messages = messages + [b.message(rng.choice([0x0D, 0x12, 0x16, 0x05]), bytes(self.long()))] * self.many(50)
        if rng.random() < 0.1 and len(messages) > 1:
            encode = b.continuation_v2 if self.superblock >= 2 else b.messages_v1
            block = encode(messages[len(messages) // 2 :])
            place = self.image.put(block)
            if rng.random() < 0.05:
                place = rng.choice([place - 8, *self.objects, 96])
            messages = messages[: len(messages) // 2] + [b.continuation(place, len(block))] * (2 if rng.random() < 0.05 else 1)
        block = b.header_v2(messages) if self.superblock >= 2 else b.header_v1(messages)
        if at is None:
            at = self.image.put(block)
        else:
            self.image.fill(at, block)
        self.objects.append(at)
        return at

    # Datatypes

    def datatype(self, depth: int = 6) -> tuple[bytes, int]:
        """The message's bytes and the size of an element."""
        rng = self.rng
        kind = rng.choice(
            ["int", "int", "double", "string", "opaque"] if depth <= 0 or rng.random() < 0.4 else ["compound", "array", "vlen", "enum", "complex", "deep"]
        )
        if kind == "int":
            size = rng.choice([1, 2, 4, 8])
            return b.integer(size), size
        if kind == "double":
            return b.double(), 8
        if kind == "string":
            size = rng.choice([1, 5, 1000, 1 << 30]) if rng.random() < 0.1 else 4
            return b.head(3, size, rng.randrange(3), 1), size
        if kind == "opaque":
            return b.head(5, 4, 8, 1) + b"tag\0\0\0\0\0", 4
        if kind == "compound":
            members, size = [], 0
            member, member_bytes = self.datatype(depth - 1)
            for index in range(self.many(5000) if rng.random() < 0.3 else rng.randrange(1, 4)):
                if rng.random() < 0.1 and len(members) < 20:
                    member, member_bytes = self.datatype(depth - 1)
                if (index + 1) * (len(member) + 8) > b.MOST_BODY:
                    break
                members.append((b"%d" % index, size, member))
                size += member_bytes
            return b.compound(members, size), size
        if kind == "array":
            base, size = self.datatype(depth - 1)
            shape = [rng.choice([1, 2, 3, 1 << 16 if rng.random() < 0.05 else 1]) for _ in range(rng.randrange(1, 4))]
            total = size
            for extent in shape:
                total *= extent
            return b.head(10, total) + bytes([len(shape)]) + struct.pack(f"<{len(shape)}I", *shape) + base, total
        if kind == "vlen":
            base, _ = self.datatype(depth - 1)
            return (b.head(9, 16, rng.choice([0, 0x101]), 1)) + base, 16
        if kind == "enum":
            names = [b"%d" % i for i in range(min(self.many(), 9000))]
            return b.enumeration(names), 2
        base, size = (b.double(), 8) if rng.random() < 0.3 else self.datatype(depth - 2)
        for _ in range(rng.choice([1, 2, 10, 26]) if kind == "deep" or size < 1 << 10 else 1):
            size *= 2
            base = b.head(11, size, 0, 5) + base
        return base, size

    def typed(self, depth: int = 6) -> tuple[Message, int]:
        """A message with a datatype: its own, or a committed one."""
        if self.datatypes and self.rng.random() < self.sharing:
            address = self.rng.choice(self.datatypes)
            return b.shared(3, address, self.rng.choice([1, 2, 3])), self.sizes.get(address, 1)
        body, size = self.datatype(depth)
        return b.message(3, body), size

    sizes: dict[int, int] = {}

    def committed(self, depth: int) -> int:
        body, size = self.datatype()
        address = self.header([b.message(3, body), *self.some_attributes()])
        self.datatypes.append(address)
        self.sizes = self.sizes | {address: size}
        return address

    # Attributes

    def attribute(self, index: int) -> bytes:
        rng = self.rng
        body, size = self.datatype(3)
        count = rng.choice([1, 1, 3, self.many()])
        if size * count > 60_000 or rng.random() < 0.05:
            body, size, count = b.integer(), 1, self.long()
        value = bytes(size * count)
        space = b.dataspace([count] if rng.random() < 0.9 else [rng.choice(EXTREMES)])
        if body[0] & 15 == 9 and rng.random() < 0.8:
            objects = [bytes(self.long(3000)) for _ in range(min(self.many(), 200))]
            heap = self.image.put(b.global_heap(objects))
            value = struct.pack("<IQI", 3, heap, rng.randrange(1, len(objects) + 2)) * count
        if len(body) + len(value) < b.MOST_BODY - 31_000:
            return b.attribute(self.name(index), body, space, value)
        return b.attribute(b"%d" % index, b.integer(), b.dataspace([1]), b"\1")

    def some_attributes(self) -> list[Message]:
        rng = self.rng
        choice = rng.random()
        if choice < 0.5:
            return []
        if choice < 0.75:
            return [b.message(0x0C, self.attribute(i)) for i in range(min(self.many(), 30))]
        if choice < 0.9:
            # One message of another header, any number of times.
            if not self.attributes or rng.random() > self.sharing:
                filler = [b.message(0, bytes(self.long()))] * rng.choice([0, 0, 1, 10])
                self.attributes.append(self.header([b.message(0x0C, self.attribute(0)), *filler]))
            return [b.shared(0x0C, rng.choice(self.attributes), rng.choice([2, 3]))] * self.many()
        bodies = [self.attribute(i) for i in range(rng.choice([1, 2, 30]))]
        heap, places = self.heap(bodies)
        if rng.random() < 0.3:
            # Huge objects, found by a tree whose nodes may be shared.
            record = struct.pack("<QQQ", self.image.put(bodies[0]), len(bodies[0]), 7)
            tree = self.tree(1, lambda _: record, 1, rng.randrange(6), shared=0.5)
            heap = b.fractal_heap(self.image, b"", huge_tree=tree)
            places = [b"\x10" + struct.pack("<Q", 7)[:7]]
        records = [place + struct.pack("<BII", 0, i, 0) for i, place in enumerate(places)]
        return [b.attribute_info(heap, self.tree(8, lambda i: records[i % len(records)], len(records), rng.choice([0, 0, 1, 3]), shared=0.5))]

    # Heaps and trees

    def heap(self, objects: list[bytes]) -> tuple[int, list[bytes]]:
        """A fractal heap and the IDs of its objects."""
        places, at = [], b.OBJECTS
        for item in objects:
            places.append(b.managed_id(at, len(item)))
            at += len(item)
        return b.fractal_heap(self.image, b"".join(objects)), places

    def tree(self, kind: int, record: Callable[[int], bytes], count: int, depth: int, shared: float) -> int:
        """A version-2 B-tree of `count` records; one that shares nodes has as many as it pleases."""
        rng = self.rng
        shape = b.TreeV2(kind, len(record(0)), depth, rng.choice([512, 2048]))
        if depth == 0:
            leaf = [record(i) for i in range(min(count, shape.levels[0][0]))]
            return self.image.put(shape.header(self.image.put(shape.leaf(leaf)), len(leaf), len(leaf)))
        many = rng.random() < shared
        fill = rng.choice([1, 2, 5])

        def node(level: int) -> tuple[int, int, int]:
            records = min(fill, shape.levels[level][0])
            if level == 0:
                return self.image.put(shape.leaf([record(i) for i in range(records)])), records, records
            child = node(level - 1)
            children = [child] * (records + 1) if many else [child, *(node(level - 1) for _ in range(records))]
            block = shape.inner(level, [record(i) for i in range(records)], [(address, own) for address, own, _ in children])
            return self.image.put(block), records, records + sum(total for _, _, total in children)

        root, records, total = node(depth if many else min(depth, 3))
        if not many and depth > 3:
            return self.tree(kind, record, count, 3, shared=0)
        return self.image.put(shape.header(root, records, rng.choice([total, total, b.UNDEFINED])))

    # Groups

    def group(self, depth: int) -> int:
        rng = self.rng
        members = [self.any_object(depth) for _ in range(rng.choice([0, 1, 2, 3, 5, 8]))]
        own = None
        if rng.random() < 0.1:
            own = self.image.reserve(4096)  # a group that may hold itself
            members.append(own)
        kind = rng.random()
        if kind < 0.5:
            messages = [b.link_info(), *(b.message(6, b.link(self.name(i), address)) for i, address in enumerate(members))]
            messages += self.other_links(len(members))
        elif kind < 0.8:
            messages = [self.symbol_table(members)]
        else:
            bodies = [b.link(self.name(i), address) for i, address in enumerate(members)]
            bodies += [b.link(b"s%d" % i, soft=b"/" + b"t" * self.long(20_000)) for i in range(rng.choice([0, 1, 3]))]
            heap, places = self.heap(bodies or [b.link(b"none", 96)])
            records = sorted(struct.pack("<I", b.lookup3(b"%d" % i)) + place[:7] for i, place in enumerate(places))
            tree = self.tree(5, lambda i: records[i % len(records)], len(records), rng.choice([0, 0, 0, 2, 4]), shared=0.7)
            messages = [b.link_info(heap, tree)]
        messages += self.some_attributes()
        if own is not None and len(b.header_v2(messages)) <= 4096 and self.superblock >= 2:
            self.image.fill(own, b.header_v2(messages))
            self.objects.append(own)
            return own
        return self.header(messages)

    def other_links(self, first: int) -> list[Message]:
        rng = self.rng
        if rng.random() < 0.6:
            return []
        target = rng.choice([b"/", b".", b"x" * self.long(), b"/" + b"a/" * self.many(20_000)])
        count = rng.choice([1, 1, self.many(300)])
        if rng.random() < 0.3:
            return [b.message(6, b.link(b"e%d" % i, file=target[:30_000] or b"f", soft=b"/x")) for i in range(count)]
        return [b.message(6, b.link(b"s%d" % i, soft=target)) for i in range(count)]

    def symbol_table(self, members: list[int]) -> Message:
        rng = self.rng
        data, names = bytearray(8), []
        for index in range(max(len(members), self.many() if rng.random() < 0.4 else 1)):
            names.append(len(data))
            data += b.padded(b"n%06d" % index + b"\0")
        text = len(data)
        data += b"x" * (self.long(400_000) or 1) + b"\0"
        soft = rng.random() < 0.3
        address = dict(enumerate(members))
        entries = [(name, address.get(i, members[i % len(members)] if members else 96), text if soft or not members else None) for i, name in enumerate(names)]
        heap = b.local_heap(self.image, bytes(data))
        step = rng.choice([8, 8, 60_000])
        leaves = [self.image.put(b.symbol_node(entries[i : i + step])) for i in range(0, len(entries), step)]
        last = [entries[min(i + step, len(entries)) - 1][0] for i in range(0, len(entries), step)]
        level = 0
        while True:
            size = rng.choice([16, 60_000])
            if rng.random() < 0.05:
                leaves = leaves + leaves[:1]  # a node below two parents
                last = last + last[:1]
            above, above_last = [], []
            for i in range(0, len(leaves), size):
                keys = [struct.pack("<Q", key) for key in [last[i - 1] if i else 0, *last[i : i + size]]]
                above.append(self.image.put(b.tree_v1(level, leaves[i : i + size], keys)))
                above_last.append(last[min(i + size, len(last)) - 1])
            leaves, last, level = above, above_last, level + 1
            if len(leaves) == 1:
                return b.message(0x11, struct.pack("<QQ", leaves[0], heap))

    # Datasets

    def dataset(self, depth: int) -> int:
        rng = self.rng
        datatype, size = self.typed()
        ndim = rng.choice([0, 1, 1, 2, 3])
        extreme = rng.random() < 0.3
        shape = [rng.choice(EXTREMES) if extreme else rng.randrange(1, 9) for _ in range(ndim)]
        space = b.dataspace(shape, [b.UNDEFINED] * ndim if rng.random() < 0.2 else None)
        messages = [b.message(1, space), datatype]
        if rng.random() < 0.3:
            value = bytes([7]) * (size if size < 60_000 else 8)
            messages.append(b.message(5, bytes([3, 0x2A]) + struct.pack("<I", len(value)) + value))
        count = 1
        for extent in shape:
            count *= extent
        if rng.random() < 0.2:
            identifier = rng.choice([1, 2, 3, 32000, 32015, 32026, 4242])
            parameters = [rng.randrange(1 << 16) for _ in range(rng.choice([0, 1, 5, 3000]))]
            named = struct.pack("<H", 0) if identifier >= 256 else b""
            body = bytes([2, 1]) + struct.pack("<H", identifier) + named + struct.pack("<HH", rng.randrange(2), len(parameters))
            messages.append(b.message(0x0B, body + struct.pack(f"<{len(parameters)}I", *parameters)))
        messages += [*self.layout(shape, size, count), *self.some_attributes()]
        return self.header(messages)

    def layout(self, shape: list[int], size: int, count: int) -> list[Message]:
        rng = self.rng
        choice = rng.random()
        total = count * size
        if choice < 0.15 and total < 60_000:
            return [b.message(8, bytes([3, 0]) + struct.pack("<H", total) + bytes(total))]
        if choice < 0.35 or not shape:
            address = b.UNDEFINED if total > 100_000 else self.image.put(bytes(total))
            return [b.message(8, bytes([3, 1]) + struct.pack("<QQ", address, min(total, b.UNDEFINED)))]
        if choice < 0.45:
            return self.external(total)
        if choice < 0.6:
            return [self.virtual(shape)]
        chunk = [rng.choice([1, 1, 2, 3, extent or 1]) for extent in shape]
        if rng.random() < 0.5:
            extents = [min(extent, 0xFFFF_FFFF) for extent in [*chunk, size]]
            address = self.chunk_tree(shape, extents) if rng.random() < 0.7 else b.UNDEFINED
            return [b.message(8, bytes([3, 2, len(extents)]) + struct.pack("<Q", address) + struct.pack(f"<{len(extents)}I", *extents))]
        index = rng.choice([1, 2, 3, 4, 5])
        extra = {1: b"", 2: b"", 3: b"\x0a", 4: bytes([32, 4, 4, 16, 10]), 5: struct.pack("<IBB", 512, 100, 40)}[index]
        body = bytes([4, 2, 0, len(shape) + 1, 8]) + b"".join(struct.pack("<Q", extent) for extent in [*chunk, size]) + bytes([index]) + extra
        return [b.message(8, body + struct.pack("<Q", rng.choice([b.UNDEFINED, self.image.put(bytes(64)), *self.objects[-2:]])))]

    def chunk_tree(self, shape: list[int], extents: list[int]) -> int:
        """Of one level or two, with some chunks along the fastest dimension."""
        rng = self.rng
        ndim = len(shape)
        most = max(1, min(self.many(500), -(-shape[-1] // extents[-2]) if extents[-2] else 1))
        stored = extents[-1]
        for extent in extents[:-1]:
            stored *= extent
        stored = min(stored, 5000)
        place = self.image.put(bytes(stored))

        def key(index: int) -> bytes:
            offsets = [0] * (ndim - 1) + [index * extents[-2], 0]
            return struct.pack("<II", stored, 0) + b"".join(struct.pack("<Q", offset & b.UNDEFINED) for offset in offsets)

        children = [place if rng.random() < self.sharing else self.image.put(bytes(stored)) for _ in range(most)]
        node = self.image.put(b.tree_v1(0, children, [key(i) for i in range(most + 1)], 1))
        if rng.random() < 0.3:
            return self.image.put(b.tree_v1(1, [node, node], [key(0), key(most), key(2 * most)], 1))
        return node

    def external(self, total: int) -> list[Message]:
        rng = self.rng
        name = rng.choice([b"raw.bin", b"../raw.bin", b"/etc/passwd", b"x" * self.long(200_000)])
        heap = b.local_heap(self.image, bytes(8) + name + b"\0")
        count = min(self.many(), 2700)
        body = bytes([1, 0, 0, 0]) + struct.pack("<HHQ", count, count, heap) + struct.pack("<QQQ", 8, 0, 1) * count
        return [b.message(8, bytes([3, 1]) + struct.pack("<QQ", b.UNDEFINED, min(total, b.UNDEFINED))), b.message(7, body)]

    def virtual(self, shape: list[int]) -> Message:
        rng = self.rng
        name = rng.choice([b".", b"other.h5", b"%b.h5", b"x" * self.long(50_000)]) + b"\0"
        everything = struct.pack("<II8x", 3, 1)

        def selection() -> bytes:
            kind = rng.random()
            if kind < 0.5:
                return everything
            if kind < 0.7:
                points = min(self.many(), 2000)
                return struct.pack("<IIBII", 1, 2, 4, len(shape), points) + bytes(4 * points * len(shape))
            axes = [(0, rng.choice([1, 2, 1 << 40]), rng.choice([1, 5, b.UNDEFINED]), 1) for _ in shape]
            return struct.pack("<IIBII", 2, 2, 1, 4 + 32 * len(axes), len(axes)) + b"".join(struct.pack("<QQQQ", *axis) for axis in axes)

        count = self.many()
        first = bytes([0]) + name + b"d\0" + selection() + selection()
        later = bytes([1 | 2]) + struct.pack("<QQ", 0, 0) + rng.choice([everything, selection()]) + everything
        # Selections of many points are long.
        count = min(count, 1 + MOST_BYTES // len(later))
        block = bytes([1]) + struct.pack("<Q", count) + first + later * (count - 1)
        heap = self.image.put(b.global_heap([b.summed(block)]))
        return b.message(8, bytes([4, 3]) + struct.pack("<QI", heap, 1))

    # Files

    def shared_messages(self) -> Message:
        """A heap of shared messages, which its header's extension names. Its one message is an attribute."""
        body = self.attribute(0)
        heap, places = self.heap([body, bytes(self.long())])
        index = bytes([0, 0]) + struct.pack("<HIHHHQQ", 0xFFFF, 0, 0, 50, 40, b.UNDEFINED, heap)
        table = self.image.put(b.summed(b"SMTB" + index))
        self.in_heap = b.message(0x0C, bytes([3, 1]) + places[0], 2)
        return b.message(0x0F, bytes([0]) + struct.pack("<QB", table, 1))

    def cache_image(self) -> Message:
        """Entries at any addresses, over each other."""
        rng = self.rng
        count = self.many()
        size = rng.choice([1, 8, 100])
        place = rng.choice([0, 1])
        entry = [
            struct.pack("<BBBBHHHI", 0, 0, 0, 0, 0, 0, 0, 0)[:14] + struct.pack("<QQ", 1 << 40 if not place else (1 << 40) + size * i, size) + bytes(size)
            for i in range(count)
        ]
        block = b"MDCI\0\0" + struct.pack("<QI", 0, count) + b"".join(entry)
        address = self.image.put(b.summed(block))
        return b.message(0x18, bytes([0]) + struct.pack("<QQ", address, len(block) + 4))

    def finish(self) -> bytes:
        rng = self.rng
        extension: list[Message] = []
        root_messages: list[Message] = []
        if self.superblock >= 2 and rng.random() < 0.15:
            extension.append(self.shared_messages())
            root_messages += [self.in_heap] * self.many()
        if self.superblock >= 2 and rng.random() < 0.1:
            extension.append(self.cache_image())
        if extension:
            self.image.extension = self.header(extension)
        self.objects.clear()
        shape = rng.random()
        if shape < 0.25:
            # One group above the other, each with the next once, twice, or often.
            links, long = rng.choice([1, 2, 5]), self.long(300)
            root = self.any_object(2)
            for _ in range(min(self.many(), 4000)):
                names = [bytes([97 + k]) * max(long, 1) for k in range(links)]
                root = self.header([b.link_info(), *(b.message(6, b.link(name, root)) for name in names)])
        elif shape < 0.4:
            # Many objects of one kind.
            kept = rng.choice([self.dataset, self.committed, self.group])
            self.committed(0)
            members = [kept(0) for _ in range(rng.choice([1, 5, 40]))]
            members = [members[i % len(members)] for i in range(min(self.many(), 3000))] if rng.random() < 0.3 else members
            root = self.header([b.link_info(), *(b.message(6, b.link(b"m%d" % i, address)) for i, address in enumerate(members))])
        else:
            root = self.group(rng.choice([1, 3, 5]))
        if root_messages:
            root = self.header([b.link_info(), *root_messages])
        return self.image.finish(root, self.superblock)


def classic(number: int) -> bytes:
    """The header of a netCDF classic file, with any numbers of dimensions, attributes and variables."""
    rng = random.Random(number)
    version = rng.choice([1, 2, 5])
    count = "Q" if version == 5 else "I"
    top = rng.choice([3, 30, 3000, 30_000])

    def many() -> int:
        return int(top ** rng.random())

    def name(index: int) -> bytes:
        text = (b"v%d" % index) + b"n" * rng.choice([0, 0, 3, 5000 if index < 3 else 0])
        return struct.pack(f">{count}", len(text)) + b.padded(text, 4)

    def some(tag: int, items: list[bytes]) -> bytes:
        return struct.pack(f">I{count}", tag if items else 0, len(items)) + b"".join(items)

    def attributes(most: int) -> bytes:
        made = []
        for index in range(min(many(), most)):
            size = rng.choice([0, 1, 8, 2000])
            made.append(name(index) + struct.pack(f">I{count}", 2, size) + b.padded(b"a" * size, 4))
        return some(0x0C, made)

    extents = [rng.choice([1, 2, 3, (1 << 31) - 1]) for _ in range(many())]
    if extents and rng.random() < 0.3:
        extents[0] = 0
    dimensions = [name(i) + struct.pack(f">{count}", extent) for i, extent in enumerate(extents)]
    unnamed = rng.random() < 0.3
    variables = []
    for index in range(many()):
        ndim = rng.choice([0, 1, 1, 2, 2, 1000 if index < 20 else 1]) if extents else 0
        numbers = b"".join(struct.pack(f">{count}", rng.randrange(len(extents))) for _ in range(ndim))
        called = struct.pack(f">{count}", 0) if unnamed else name(index)
        begin = struct.pack(">I" if version == 1 else ">Q", rng.choice([0, 100, (1 << 31) - 1]))
        variables.append(called + struct.pack(f">{count}", ndim) + numbers + attributes(3) + struct.pack(f">I{count}", rng.randrange(1, 7), 4) + begin)
    records = struct.pack(f">{count}", rng.choice([0, 1, 100, (1 << 31) - 1]))
    return b"CDF" + bytes([version]) + records + some(0x0A, dimensions) + attributes(1000) + some(0x0B, variables)


def graph(number: int) -> bytes:
    """File `number`."""
    return classic(number) if number % 10 == 9 else Graph(number).finish()
