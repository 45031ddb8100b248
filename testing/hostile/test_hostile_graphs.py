"""Structures that share parts, lead back into themselves or claim too much: a value or one clear error, within bounds of memory and time."""

from __future__ import annotations

import os
import pathlib
import struct
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from sampling import one_in

HOSTILE = pathlib.Path(__file__).resolve().parent

import blocks as b  # noqa: E402
import hyperslab as hs  # noqa: E402
import run_graphs  # noqa: E402

Maker = Callable[[b.Image], int]


def chain(image: b.Image, count: int, links: int, name: bytes) -> int:
    """Groups, each with the next one under one or several names."""
    at = image.put(b.header_v2([b.link_info()]))
    for _ in range(count):
        at = image.put(b.header_v2([b.link_info(), *(b.message(6, b.link(bytes([97 + k]) + name, at)) for k in range(links))]))
    return at


def nested_complex(image: b.Image) -> int:
    datatype, size = b.integer(), 1
    for _ in range(31):
        size *= 2
        datatype = b.head(11, size, 0, 5) + datatype
    at = image.put(b.header_v2([b.message(3, datatype)]))
    return image.put(b.header_v2([b.link_info(), b.message(6, b.link(b"t", at))]))


def soft_links_with_one_target(image: b.Image) -> int:
    data, names = bytearray(8), []
    for index in range(15_000):
        names.append(len(data))
        data += b"n%05d\0" % index
    target = len(data)
    heap = b.local_heap(image, bytes(data) + b"x" * 300_000 + b"\0")
    node = image.put(b.symbol_node([(name, b.UNDEFINED, target) for name in names]))
    tree = image.put(b.tree_v1(0, [node], [bytes(8), bytes(8)]))
    return image.put(b.header_v2([b.message(0x11, struct.pack("<QQ", tree, heap))]))


def one_attribute_often(image: b.Image) -> int:
    holder = image.put(b.header_v2([b.message(0x0C, b.attribute(b"a", b.integer(), b.dataspace([60_000]), bytes(60_000)))]))
    return image.put(b.header_v2([b.link_info(), *[b.shared(0x0C, holder)] * 60_000]))


def attribute_in_a_long_header(image: b.Image) -> int:
    padding = [b.message(0, bytes(60_000))] * 14
    holder = image.put(b.header_v2([b.message(0x0C, b.attribute(b"a", b.integer(), b.dataspace([1]), b"\0")), *padding]))
    return image.put(b.header_v2([b.link_info(), *[b.shared(0x0C, holder)] * 10_000]))


def nodes_with_many_parents(kind: int, depth: int = 12) -> Maker:
    """A tree of huge objects (1), of links (5): each level has one node, which is each child of the node above."""

    def make(image: b.Image) -> int:
        # Links of 300 bytes, and the same name each time.
        link = b.link(b"name", soft=b"/" + b"t" * 30_000)
        heap = b.fractal_heap(image, link)
        place = b.managed_id(b.OBJECTS, len(link))
        record = struct.pack("<QQQ", 200, 1, 7) if kind == 1 else struct.pack("<I", 0) + place[:7]
        shape = b.TreeV2(kind, len(record), depth)
        records, at = 3, image.put(shape.leaf([record] * 3))
        for level in range(1, depth + 1):
            count = min(3, shape.levels[level][0])
            at = image.put(shape.inner(level, [record] * count, [(at, records)] * (count + 1)))
            records = count
        tree = image.put(shape.header(at, records, b.UNDEFINED))
        if kind == 5:
            # A heap whose IDs have 7 bytes, as for links.
            return image.put(b.header_v2([b.link_info(b.fractal_heap(image, link, id_bytes=7), tree)]))
        heap = b.fractal_heap(image, b"", huge_tree=tree)
        named = b"\x10" + struct.pack("<Q", 7)[:7] + struct.pack("<BII", 0, 0, 0)
        names = b.TreeV2(8, len(named), 0)
        header = image.put(names.header(image.put(names.leaf([named])), 1, 1))
        return image.put(b.header_v2([b.link_info(), b.attribute_info(heap, header)]))

    return make


def datasets(datatype: tuple[int, bytes, int], size: int, count: int, more: list[tuple[int, bytes, int]]) -> Maker:
    def make(image: b.Image) -> int:
        messages = [b.message(1, b.dataspace([])), datatype, b.message(8, bytes([3, 1]) + struct.pack("<QQ", b.UNDEFINED, size)), *more]
        made = [image.put(b.header_v2(messages)) for _ in range(count)]
        return image.put(b.header_v2([b.link_info(), *(b.message(6, b.link(b"d%d" % i, at)) for i, at in enumerate(made))]))

    return make


def one_large_type(count: int) -> Maker:
    def make(image: b.Image) -> int:
        members = [(b"%d" % i, i, b.integer()) for i in range(3500)]
        at = image.put(b.header_v2([b.message(3, b.compound(members, 3500))]))
        return datasets(b.shared(3, at), 3500, count, [])(image)

    return make


def external_names(image: b.Image) -> int:
    heap = b.local_heap(image, bytes(8) + b"x" * 500_000 + b"\0")
    slots = bytes([1, 0, 0, 0]) + struct.pack("<HHQ", 2700, 2700, heap) + struct.pack("<QQQ", 8, 0, 1) * 2700
    return datasets(b.message(3, b.integer()), 1, 5, [b.message(7, slots)])(image)


def virtual_names(image: b.Image) -> int:
    everything = struct.pack("<II8x", 3, 1)
    first = b"\0" + b"x" * 50_000 + b"\0d\0" + everything * 2
    later = b"\x03" + struct.pack("<QQ", 0, 0) + everything * 2
    block = b"\1" + struct.pack("<Q", 20_001) + first + later * 20_000
    heap = image.put(b.global_heap([b.summed(block)]))
    messages = [b.message(1, b.dataspace([4])), b.message(3, b.integer()), b.message(8, b"\4\3" + struct.pack("<QI", heap, 1))]
    at = image.put(b.header_v2(messages))
    return image.put(b.header_v2([b.link_info(), b.message(6, b.link(b"v", at))]))


def unwritten_chunks(unknown_filter: bool, shape: int, chunk: int) -> Maker:
    def make(image: b.Image) -> int:
        layout = b.message(8, bytes([3, 2, 2]) + struct.pack("<QII", b.UNDEFINED, chunk, 1))
        filters = [b.message(0x0B, bytes([2, 1]) + struct.pack("<HHHH", 4242, 0, 0, 0))] if unknown_filter else []
        at = image.put(b.header_v2([b.message(1, b.dataspace([shape])), b.message(3, b.integer()), layout, *filters]))
        return image.put(b.header_v2([b.link_info(), *(b.message(6, b.link(b"d%d" % i, at)) for i in range(40))]))

    return make


def messages_of_no_bytes(image: b.Image) -> int:
    return image.put(b.header_v2([b.link_info(), *[b.message(0, b"")] * 1_000_000]))


def shared_message_heap(image: b.Image) -> int:
    body = b.attribute(b"a", b.integer(), b.dataspace([1]), b"\0")
    heap = b.fractal_heap(image, body + bytes(50_000))
    table = image.put(b.summed(b"SMTB" + bytes([0, 0]) + struct.pack("<HIHHHQQ", 0xFFFF, 0, 0, 50, 40, b.UNDEFINED, heap)))
    image.extension = image.put(b.header_v2([b.message(0x0F, b"\0" + struct.pack("<QB", table, 1))]))
    shared = b.message(0x0C, b"\3\1" + b.managed_id(b.OBJECTS, len(body)), 2)
    return image.put(b.header_v2([b.link_info(), *[shared] * 50_000]))


def cache_image_of_many_entries(image: b.Image, depth: int = 2000, count: int = 50_000) -> int:
    root = chain(image, depth, 1, b"n")
    entries = b"".join(bytes(14) + struct.pack("<QQ", (1 << 30) + 8 * i, 8) + bytes(8) for i in range(count))
    block = b.summed(b"MDCI\0\0" + struct.pack("<QI", 0, count) + entries)
    image.extension = image.put(b.header_v2([b.message(0x18, b"\0" + struct.pack("<QQ", image.put(block), len(block)))]))
    return root


def few_chunks_of_many(image: b.Image) -> int:
    """40 datasets of 2 to the 40 chunks, of which one is stored."""
    place = image.put(bytes(3))
    keys = [struct.pack("<IIQQ", 3, 0, at, 0) for at in (0, 3)]
    tree = image.put(b.tree_v1(0, [place], keys, 1))
    layout = b.message(8, bytes([3, 2, 2]) + struct.pack("<QII", tree, 3, 1))
    filters = b.message(0x0B, bytes([2, 1]) + struct.pack("<HHH", 1, 0, 0))
    made = image.put(b.header_v2([b.message(1, b.dataspace([3 << 40])), b.message(3, b.integer()), layout, filters]))
    return image.put(b.header_v2([b.link_info(), *(b.message(6, b.link(b"d%d" % i, made)) for i in range(40))]))


def group_in_itself(image: b.Image) -> int:
    """A group with 3,000 links to itself and 3,000 to one dataset: as a table, 3,000 groups of 3,000 columns."""
    layout = b.message(8, bytes([3, 1]) + struct.pack("<QQ", b.UNDEFINED, 24))
    dataset = image.put(b.header_v2([b.message(1, b.dataspace([6, 4])), b.message(3, b.integer()), layout]))
    own = image.reserve(200_000)
    links = [b.message(6, b.link(b"g%d" % i, own)) for i in range(3000)] + [b.message(6, b.link(b"m%d" % i, dataset)) for i in range(3000)]
    image.fill(own, b.header_v2([b.link_info(), *links]))
    return own


def attributes_of_many_members(image: b.Image) -> int:
    """300 groups that share an attribute of 2,000 members."""
    kind = b.compound([(b"%d" % i, i, b.integer()) for i in range(2000)], 2000)
    holder = image.put(b.header_v2([b.message(0x0C, b.attribute(b"a", kind, b.dataspace([1]), bytes(2000)))]))
    made = [image.put(b.header_v2([b.link_info(), b.shared(0x0C, holder)])) for _ in range(300)]
    return image.put(b.header_v2([b.link_info(), *(b.message(6, b.link(b"g%d" % i, at)) for i, at in enumerate(made))]))


def groups_of_one_block(body: list[tuple[int, bytes, int]]) -> Maker:
    """150 groups whose headers go on in one block of 840 KB."""

    def make(image: b.Image) -> int:
        encoded = b.continuation_v2([*body, *[b.message(0, bytes(60_000))] * 14])
        block = image.put(encoded)
        made = [image.put(b.header_v2([b.link_info(), b.continuation(block, len(encoded))])) for _ in range(150)]
        return image.put(b.header_v2([b.link_info(), *(b.message(6, b.link(b"g%d" % i, at)) for i, at in enumerate(made))]))

    return make


def groups_in_one_header(image: b.Image) -> int:
    """2,000 groups, each with its header in a message of the one before, so that all end in the same 840 KB of messages."""
    count, prefix = 2000, 16
    tail = b.messages_v1([b.link_info(), b.message(0x0C, b.attribute(b"a", b.integer(), b.dataspace([1]), b"\0")), *[b.message(0, bytes(60_000))] * 14])
    data = bytearray()
    for i in range(count):
        left = (count - 1 - i) * (8 + prefix) + len(tail)
        data += struct.pack("<HHB3x", 0, prefix, 0) + struct.pack("<BBHII4x", 1, 0, 1, 1, left)
    start = image.put(bytes(data) + tail)
    made = [start + 8 + i * (8 + prefix) for i in range(count)]
    return image.put(b.header_v2([b.link_info(), *(b.message(6, b.link(b"g%d" % i, at)) for i, at in enumerate(made))]))


def groups_of_one_tree(image: b.Image) -> int:
    """2,000 groups that share 480 dense attributes, all of them one attribute of 60 KB."""
    body = b.attribute(b"a", b.integer(), b.dataspace([60_000]), bytes(60_000))
    heap = b.fractal_heap(image, body)
    record = b.managed_id(b.OBJECTS, len(body)) + struct.pack("<BII", 0, 0, 0)
    names = b.TreeV2(8, len(record), 0, 16_384)
    tree = image.put(names.header(image.put(names.leaf([record] * 480)), 480, 480))
    made = [image.put(b.header_v2([b.link_info(), b.attribute_info(heap, tree)])) for _ in range(2000)]
    return image.put(b.header_v2([b.link_info(), *(b.message(6, b.link(b"g%d" % i, at)) for i, at in enumerate(made))]))


def links_to_a_damaged_object(image: b.Image) -> int:
    """3 groups with 10,000 links each to one dataset of 480 dense attributes, whose index promises one more."""
    body = b.attribute(b"a", b.integer(), b.dataspace([2000]), bytes(2000))
    heap = b.fractal_heap(image, body)
    record = b.managed_id(b.OBJECTS, len(body)) + struct.pack("<BII", 0, 0, 0)
    names = b.TreeV2(8, len(record), 0, 16_384)
    tree = image.put(names.header(image.put(names.leaf([record] * 480)), 480, 481))
    layout = b.message(8, bytes([3, 1]) + struct.pack("<QQ", b.UNDEFINED, 4))
    dataset = image.put(b.header_v2([b.message(1, b.dataspace([4])), b.message(3, b.integer()), layout, b.attribute_info(heap, tree)]))
    made = [image.put(b.header_v2([b.link_info(), *(b.message(6, b.link(b"%d" % i, dataset)) for i in range(10_000))])) for _ in range(3)]
    return image.put(b.header_v2([b.link_info(), *(b.message(6, b.link(b"g%d" % i, at)) for i, at in enumerate(made))]))


#: 840 KB of attributes together with what follows them.
FEW_ATTRIBUTES = [b.message(0x0C, b.attribute(b"%d" % i, b.integer(), b.dataspace([30_000]), bytes(30_000))) for i in range(14)]


def of_many_dimensions(ndim: int, name: int, variables: int) -> bytes:
    """A netCDF classic file with variables of `ndim` times its one dimension, whose name has `name` bytes."""
    header = b"CDF\1" + bytes(4) + struct.pack(">III", 0x0A, 1, name) + b.padded(b"n" * name, 4) + struct.pack(">I", 1) + bytes(8)
    one = struct.pack(">I", 1) + b"v\0\0\0" + struct.pack(">I", ndim) + bytes(4 * ndim) + bytes(8) + struct.pack(">III", 1, 1, 0)
    return header + struct.pack(">II", 0x0B, variables) + one * variables


def classic(dimensions: int, variables: int) -> bytes:
    header = b"CDF\1" + bytes(4) + struct.pack(">II", 0x0A, dimensions) + struct.pack(">II", 0, 1) * dimensions + bytes(8)
    return header + struct.pack(">II", 0x0B, variables) + struct.pack(">IIIIIII", 0, 0, 0, 0, 1, 1, 0) * variables


def records_beyond_64_bits() -> bytes:
    """A netCDF classic file with a variable that has the record dimension four times; there are 2 to the 31 records."""
    dimension = struct.pack(">I", 1) + b"r\0\0\0" + bytes(4)
    header = b"CDF\1" + struct.pack(">I", (1 << 31) - 1) + struct.pack(">II", 0x0A, 1) + dimension + bytes(8)
    variable = struct.pack(">I", 1) + b"v\0\0\0" + struct.pack(">IIIII", 4, 0, 0, 0, 0) + bytes(8) + struct.pack(">III", 1, 1, 0)
    return header + struct.pack(">II", 0x0B, 1) + variable


def many_attributes() -> bytes:
    """A netCDF classic file of 300,000 attributes without names and values, 12 bytes each."""
    count = 300_000
    return b"CDF\1" + bytes(4) + bytes(8) + struct.pack(">II", 0x0C, count) + struct.pack(">III", 0, 1, 0) * count + bytes(8)


#: One for each way that a small file cost much: name, what makes it, and whether everything but some object is read.
ATTACKS: dict[str, Maker] = {
    "complex numbers of complex numbers": nested_complex,
    "paths that grow with the depth": lambda image: chain(image, 10_000, 1, b"a" * 50),
    "groups with 2 to the 40 paths": lambda image: chain(image, 40, 2, b""),
    "soft links with one long target": soft_links_with_one_target,
    "one attribute, shared by 60,000 messages": one_attribute_often,
    "attributes in a long header": attribute_in_a_long_header,
    "nodes of huge objects with four parents": nodes_with_many_parents(1),
    "nodes of links with four parents": nodes_with_many_parents(5),
    # Fewer links than a group may have.
    "nodes of links with four parents, nine levels": nodes_with_many_parents(5, 9),
    "datasets of one large committed type": one_large_type(500),
    "external files with one long name": external_names,
    "virtual mappings with one long name": virtual_names,
    "unwritten chunks behind an unknown filter": unwritten_chunks(True, 1 << 24, 1),
    "unwritten chunks of one byte": unwritten_chunks(False, 1 << 24, 1),
    "unwritten chunks of 4 GiB": unwritten_chunks(False, (1 << 34) - 4, (1 << 32) - 1),
    "messages of no bytes": messages_of_no_bytes,
    "a heap of shared messages": shared_message_heap,
    "a metadata cache image of many entries": cache_image_of_many_entries,
    "a few chunks of very many": few_chunks_of_many,
    "a group that is its own member very often": group_in_itself,
    "attributes of many members": attributes_of_many_members,
    "groups that go on in one block": groups_of_one_block([b.message(0x0C, b.attribute(b"a", b.integer(), b.dataspace([1]), b"\0"))]),
    "groups that go on in one block of attributes": groups_of_one_block(FEW_ATTRIBUTES),
    "groups that go on in one block of small messages": groups_of_one_block([b.message(0, b"")] * 150_000),
    "groups that share many dense attributes": groups_of_one_tree,
    "groups whose headers lie in one another": groups_in_one_header,
    "many links to an object whose attributes are damaged": links_to_a_damaged_object,
}


CLASSIC_ATTACKS = {
    "dimensions and variables": classic(100_000, 300),
    "attributes of classic": many_attributes(),
    "records beyond 64 bits": records_beyond_64_bits(),
    "variables of 1,000 dimensions": of_many_dimensions(1000, 5000, 15),
    "variables of dimensions with long names": of_many_dimensions(32, 5000, 300),
}


def checked(path: pathlib.Path) -> None:
    """Reads the file in a process of its own, forked from one that nothing else was done in."""
    done = subprocess.run([sys.executable, HOSTILE / "run_graphs.py", "--file", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_small_files_that_cost_much_end_within_bounds(tmp_path: pathlib.Path) -> None:
    for name, make in ATTACKS.items():
        image = b.Image()
        root = make(image)
        (tmp_path / f"{name}.h5").write_bytes(image.finish(root, 2))
    for name, data in CLASSIC_ATTACKS.items():
        (tmp_path / f"{name}.nc").write_bytes(data)
    checked(tmp_path)


def read_calls() -> int:
    (calls,) = (line.split()[1] for line in pathlib.Path("/proc/self/io").read_text().splitlines() if line.startswith("syscr"))
    return int(calls)


@pytest.mark.skipif(sys.platform != "linux", reason="counts the calls of the system by /proc")
def test_damage_is_remembered_of_a_file_that_was_read_right_after_it_was_written(tmp_path: pathlib.Path) -> None:
    image = b.Image()
    image.put(bytes(1 << 20))  # what lies at the file's beginning is kept in any case
    root = links_to_a_damaged_object(image)
    path = tmp_path / "x.h5"
    path.write_bytes(image.finish(root, 2))
    soon = time.time_ns() + 500_000_000  # until then the file counts as one that is being changed
    os.utime(path, ns=(soon, soon))
    with hs.open(path) as file:
        group = file["g0"]
        with pytest.raises(hs.CorruptError):
            list(group["0"].attrs)
        assert time.time_ns() < soon
        time.sleep(0.6)
        with pytest.raises(hs.CorruptError):
            list(group["0"].attrs)
        before = read_calls()
        for name in range(1, 100):
            with pytest.raises(hs.CorruptError):
                list(group[str(name)].attrs)
        assert read_calls() - before < 100


def test_a_variable_of_too_many_dimensions_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    for ndim in (32, 33, 1000):
        path = tmp_path / f"{ndim}.nc"
        path.write_bytes(of_many_dimensions(ndim, 4, 1))
        with hs.open(path) as file:
            (variable,) = file.values()
            assert variable.shape == (1,) * ndim
            if ndim <= 32:
                assert variable.refusal is None and variable[()].shape == (1,) * ndim
                continue
            assert variable.refusal == f"Unsupported: {ndim} dimensions: at most 32 are read"
            with pytest.raises(hs.UnsupportedError, match=f"{ndim} dimensions"):
                variable[()]
            with pytest.raises(hs.Error, match=f"{ndim} dimensions"):
                file.table("/").to_arrow()


def test_a_group_that_claims_too_many_links_is_a_limit_and_no_overflow(tmp_path: pathlib.Path) -> None:
    image = b.Image()
    group = nodes_with_many_parents(5)(image)
    root = image.put(b.header_v2([b.link_info(), b.message(6, b.link(b"g", group))]))
    (tmp_path / "x.h5").write_bytes(image.finish(root, 2))
    with hs.open(tmp_path / "x.h5") as file:
        with pytest.raises(hs.LimitExceededError, match="links in one group"):
            len(file["g"])
        with pytest.raises(hs.Error):
            file._repr_html_()


@one_in(3)
def test_random_structures_end_in_values_or_errors(step: int) -> None:
    """`make hostile` reads more of them."""
    words = ["--first", "500", "--count", f"{60 // step}", "--seconds", "15"]
    done = subprocess.run([sys.executable, HOSTILE / "run_graphs.py", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_finding_is_seen(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The net has no hole where it looks: too little memory to allow is a finding."""
    (tmp_path / "x.h5").write_bytes(run_graphs.graphs.graph(0))
    done = subprocess.run([sys.executable, HOSTILE / "run_graphs.py", "--file", tmp_path, "--most-mib", "0"], capture_output=True, text=True)
    assert done.returncode == 1 and "memory" in done.stdout, done.stdout + done.stderr
