"""Where bytes lie: recorded layouts of real file systems, attributes made from them, and file systems that lie."""

from __future__ import annotations

import json
import pathlib
import struct
import sys

import h5py
import hyperslab as hs
import lustre
import numpy as np
import pytest

RECORDED = pathlib.Path(__file__).resolve().parent / "layouts"
EOF, MIB = (1 << 64) - 1, 1 << 20
V1, V3, COMPOSITE = 0x0BD10BD0, 0x0BD30BD0, 0x0BD60BD0


def recorded(name: str) -> hs.StorageLayout:
    return hs.StorageLayout.parse((RECORDED / f"{name}.txt").read_text())


def test_an_address_has_its_scheme_and_a_preferred_range() -> None:
    found = hs.storage_layout("s3://bucket/run.h5")
    assert (found.file_system, found.block_bytes, found.parts, found.target(0)) == ("s3", 8 * MIB, [], None)


@pytest.mark.parametrize(
    ("name", "system", "parts"),
    [
        ("lustre-plain", "lustre", [(0, None, MIB, 4, [10, 11, 12, 13], None)]),
        ("lustre-folder", "lustre", [(0, None, MIB, 4, [], None)]),
        ("lustre-pattern-number", "lustre", [(0, None, MIB, 4, [5, 3, 43, 57], None)]),
        ("lustre-overstriped", "lustre", [(0, None, MIB, 8, [10, 11] * 4, "original")]),
        ("lustre-mirrored", "lustre", [(0, None, 4 * MIB, 2, [1, 0], "flash")]),
        ("lustre-on-metadata-server", "lustre", [(MIB, None, 4 * MIB, None, [], None)]),
        ("lustre-compressed", "lustre", [(0, None, 4 * MIB, 1, [1], None)]),
        ("beegfs-file", "beegfs", [(0, None, 512 << 10, 4, [1203, 2101, 2102, 2103], None)]),
        ("beegfs-folder", "beegfs", [(0, None, 4 * MIB, 8, [], None)]),
    ],
)
def test_recorded_layouts(name: str, system: str, parts: list[tuple[object, ...]]) -> None:
    found = recorded(name)
    assert found.file_system == system
    assert [tuple(part) for part in found.parts] == parts


def test_the_target_of_a_byte() -> None:
    found = recorded("lustre-pattern-number")
    assert [found.target(offset) for offset in (0, MIB - 1, MIB, 3 * MIB, 4 * MIB, 1001 * MIB)] == [5, 5, 3, 57, 5, 3]
    found = recorded("lustre-on-metadata-server")
    assert found.target(0) is None and found.target(2 * MIB) is None, "not placed yet"
    assert (found.stripe_bytes, found.stripe_count) == (4 * MIB, None)


def plain(stripe_bytes: int, targets: list[int], pool: str | None = None, count: int | None = None, pattern: int = 1) -> bytes:
    """A layout v1, or v3 with a pool: magic, pattern, object, stripe size, stripe count, generation, pool, objects."""
    count = len(targets) if count is None else count
    head = struct.pack("<II16sIHH", V1 if pool is None else V3, pattern, b"\1" * 16, stripe_bytes, count, 0)
    return head + (b"" if pool is None else pool.encode().ljust(16, b"\0")) + b"".join(struct.pack("<16sII", b"\2" * 16, 0, t) for t in targets)


def composite(*parts: tuple[int, int, int, int, bytes]) -> bytes:
    """Parts with ID, flags, start, end and layout."""
    offset = 32 + 48 * len(parts)
    entries, layouts = b"", b""
    for number, flags, start, end, layout in parts:
        entries += struct.pack("<IIQQIIIQI", number, flags, start, end, offset + len(layouts), len(layout), 0, 0, 0)
        layouts += layout
    return struct.pack("<IIIHHH6xQ", COMPOSITE, offset + len(layouts), 1, 0, len(parts), 0, 0) + entries + layouts


@pytest.mark.parametrize(
    ("attribute", "like"),
    [
        (plain(MIB, [10, 11, 12, 13]), "lustre-plain"),
        (plain(MIB, [], count=4), "lustre-folder"),
        (plain(MIB, [10, 11] * 4, "original"), "lustre-overstriped"),
        (composite((0x10001, 0x10, 0, EOF, plain(4 * MIB, [1, 0], "flash")), (0x20002, 0x10, 0, EOF, plain(4 * MIB, [3, 4], "archive"))), "lustre-mirrored"),
        (
            composite((1, 0x10, 0, MIB, plain(MIB, [], pattern=0x100)), (2, 0, MIB, EOF, plain(4 * MIB, [], count=0xFFFF))),
            "lustre-on-metadata-server",
        ),
        (composite((1, 0x10, 0, EOF, plain(4 * MIB, [1]))), "lustre-compressed"),
    ],
)
def test_the_attribute_says_what_the_tool_says(attribute: bytes, like: str) -> None:
    assert hs.StorageLayout.parse(attribute).parts == recorded(like).parts


def test_a_progressive_layout_has_its_parts_in_order() -> None:
    parts = ((1, 0x10, 0, 4 * MIB, plain(MIB, [7])), (2, 0x10, 4 * MIB, 64 * MIB, plain(MIB, [1, 2])), (3, 0, 64 * MIB, EOF, plain(4 * MIB, [], count=8)))
    found = hs.StorageLayout.parse(composite(*parts))
    assert [(part.start, part.end, part.stripe_count) for part in found.parts] == [(0, 4 * MIB, 1), (4 * MIB, 64 * MIB, 2), (64 * MIB, None, 8)]
    # Stripes count from the beginning of the file.
    assert [found.target(offset) for offset in (0, 4 * MIB, 5 * MIB, 64 * MIB)] == [7, 1, 2, None]
    assert found.stripe_bytes == 4 * MIB


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (plain(0, [1]), "a stripe size of 0 bytes"),
        (plain(MIB, [], count=0), "0 stripes"),
        (plain(MIB, [], count=60000), "60000 stripes"),
        (plain(MIB, [1, 2])[:-1], "too short"),
        (plain(MIB, [1])[:20], "too short"),
        (b"", "too short"),
        (b"\xff" * 64, "magic number 0xffffffff"),
        (composite((1, 0x10, 5 * MIB, MIB, plain(MIB, [1]))), "ends before"),
        (composite((1, 0x10, 0, EOF, plain(MIB, [1])), (2, 0x10, MIB, EOF, plain(MIB, [1]))), "overlap"),
        (composite(), "without stripes"),
        (composite((1, 0x10, 0, EOF, plain(MIB, [1])))[:70], "too short"),
        ("lmm_stripe_count: 4\nlmm_stripe_size: 0\n", "a stripe size of 0 bytes"),
        ("lmm_stripe_count: four\nlmm_stripe_size: 1048576\n", "no number"),
        ("Stripe pattern details:\n+ Chunksize: big\n", "no number"),
        ("Stripe pattern details:\n", "a stripe size of 0 bytes"),
    ],
)
def test_what_cannot_be_true_is_an_error(said: str | bytes, words: str) -> None:
    with pytest.raises(hs.CorruptError, match=words):
        hs.StorageLayout.parse(said)


def test_damaged_attributes_are_errors_and_never_more(tmp_path: pathlib.Path) -> None:
    whole = composite((1, 0x10, 0, 4 * MIB, plain(MIB, [7], "fast")), (2, 0x10, 4 * MIB, EOF, plain(MIB, [1, 2, 3])))
    for at in range(len(whole)):
        for value in (0, 0x7F, 0xFF):
            damaged = whole[:at] + bytes([value]) + whole[at + 1 :]
            try:
                found = hs.StorageLayout.parse(damaged)
            except (hs.CorruptError, hs.UnsupportedError):
                continue
            assert all(part.stripe_bytes > 0 for part in found.parts)
            found.target(12345678)


def test_a_local_file_has_a_device_and_blocks(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    stat = (tmp_path / "x").stat()
    for path in (tmp_path, tmp_path / "x"):
        found = hs.storage_layout(path)
        assert found.block_bytes == stat.st_blksize and found.parts == [] and found.target(0) is None
    assert hs.storage_layout(tmp_path / "x").device is not None
    with pytest.raises(hs.NotFoundError):
        hs.storage_layout(tmp_path / "nowhere")


@pytest.fixture(scope="module")
def striped(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """64 chunks of 256 KiB, each of which begins at a multiple of 256 KiB: four in a stripe of 1 MiB."""
    path = tmp_path_factory.mktemp("striped") / "x.h5"
    with hs.create(path, alignment=1 << 18) as f:
        f.create_dataset("x", data=np.arange(64 << 16, dtype="i4").reshape(64, 1 << 16), chunks=(1, 1 << 16))
        f.create_dataset("gzip", data=np.arange(64 << 16, dtype="i4").reshape(64, 1 << 16), chunks=(1, 1 << 16), compression="gzip")
    return path


@pytest.mark.parametrize("name", ["lustre-plain", "lustre-pattern-number", "lustre-overstriped", "lustre-mirrored", "beegfs-file"])
def test_splits_interleave_the_targets_of_recorded_layouts(striped: pathlib.Path, name: str) -> None:
    layout, table = recorded(name), hs.open(striped).table("/x")
    in_rows = table.splits(16)
    splits = table.splits(16, order="targets", layout=layout)
    assert sorted(map(bytes, splits)) == sorted(map(bytes, in_rows)), "the same splits in another order"
    with h5py.File(striped) as f:
        chunks = {f["x"].id.get_chunk_info(index).chunk_offset[0]: f["x"].id.get_chunk_info(index) for index in range(64)}
    seen = []
    for split in splits:
        rows = sorted({row // (1 << 16) for row in split.read()["x"].to_numpy()[:: 1 << 16].tolist()})
        expected: dict[int, int] = {}
        for row in rows:
            for at in range(chunks[row].byte_offset, chunks[row].byte_offset + chunks[row].size, 4096):
                target = layout.target(at)
                assert target is not None
                expected[target] = expected.get(target, 0) + 4096
        assert split.targets == expected
        seen.append(max(split.targets, key=lambda target: split.targets[target]))
    different = len(set(seen))
    for first in range(0, 16 - different + 1, different):
        assert len(set(seen[first : first + different])) == different, f"as many tasks as targets: {seen}"
    assert different > 1


def test_splits_without_known_targets_are_in_row_order(striped: pathlib.Path) -> None:
    table = hs.open(striped).table("/gzip")
    for layout in (None, recorded("lustre-folder"), recorded("beegfs-folder")):
        splits = table.splits(8, order="targets", layout=layout)
        assert list(map(bytes, splits)) == list(map(bytes, table.splits(8))) and not any(split.targets for split in splits)


def test_targets_of_a_part_and_of_several_columns(striped: pathlib.Path) -> None:
    layout = recorded("lustre-plain")
    few = hs.open(striped).table("/x", where="dim_0 >= 8 and dim_0 < 12").splits(1, order="targets", layout=layout)
    assert sum(few[0].targets.values()) == 4 << 18
    both = hs.open(striped).table("/").splits(4, order="targets", layout=layout)
    with h5py.File(striped) as f:
        stored = f["x"].id.get_storage_size() + f["gzip"].id.get_storage_size()
    assert sum(sum(split.targets.values()) for split in both) == stored


def test_orders_that_do_not_exist(striped: pathlib.Path) -> None:
    table = hs.open(striped).table("/x")
    with pytest.raises(hs.InvalidInputError, match="give 'rows' or 'targets'"):
        table.splits(4, order="columns")  # type: ignore[arg-type]
    with pytest.raises(hs.InvalidInputError, match="is for order='targets'"):
        table.splits(4, layout=recorded("lustre-plain"))


#: Writes a file of 8 chunks of 64 KiB where new files are on Lustre, and says what is known of it.
ON_LUSTRE = """
import json, sys
import hyperslab as hs
import numpy as np
values = np.arange(8 * 16384, dtype="f4").reshape(8, 16384)
with hs.create(sys.argv[1]) as f:
    f.create_dataset("x", data=values, chunks=(1, 16384))
for _ in range(3):
    found = hs.storage_layout(sys.argv[1])
f = hs.open(sys.argv[1])
targets = [list(split.targets) for split in f.table("/x").splits(8, order="targets")]
assert (f["x"][:] == values).all()
print(json.dumps([found.file_system, found.stripe_bytes if found.parts else None, targets]))
"""


def on_lustre(tmp_path: pathlib.Path, attribute: bytes) -> tuple[list[object], str]:
    """What is known of the file, and what the process said on standard error."""
    done = lustre.run([sys.executable, "-c", ON_LUSTRE, str(tmp_path / "x.h5")], attribute)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_a_file_on_lustre_is_aligned_and_read_in_the_order_of_its_targets(tmp_path: pathlib.Path) -> None:
    (system, stripe, targets), said = on_lustre(tmp_path, lustre.layout(1 << 16, [5, 3, 9, 1]))
    assert (system, stripe, said) == ("lustre", 1 << 16, "")
    # Each chunk is one stripe, so it has one target, and splits that follow each other have different ones.
    assert sorted(targets) == [[1], [1], [3], [3], [5], [5], [9], [9]]
    assert all(len({target for (target,) in targets[first : first + 4]}) == 4 for first in (0, 4))


@pytest.mark.parametrize(
    ("attribute", "words"),
    [(lustre.layout(0, [5, 3]), "a stripe size of 0 bytes"), (lustre.layout(1 << 16, [5, 3])[:20], "20 bytes is too short"), (b"", "0 bytes is too short")],
    ids=["stripe size 0", "cut", "empty"],
)
def test_a_file_system_that_lies_warns_once_and_blocks_are_in_force(tmp_path: pathlib.Path, attribute: bytes, words: str) -> None:
    (system, stripe, targets), said = on_lustre(tmp_path, attribute)
    assert (system, stripe, targets) == ("lustre", None, [[]] * 8)
    (message,) = said.splitlines()
    assert words in message and "the block size is in force" in message and str(tmp_path / "x.h5") in message
