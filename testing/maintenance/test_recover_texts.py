"""Texts and sequences in heap collections of which a block is lost: what is not right is told."""

import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pytest

BLOCK = 4096


def made(path: pathlib.Path, chunked: bool) -> dict[str, list[object]]:
    options = {"chunks": (250,), "compression": "gzip"} if chunked else {}
    values = {
        # A block may end anywhere in an object, its header or its length.
        "texts": [f"{n}" + "x" * (n % 40) for n in range(2000)],
        "long": ["y" * (300 + n) for n in range(100)],
        "lists": [np.arange(1 + n % 7) + n for n in range(1500)],
    }
    with h5py.File(path, "w") as f:
        f.create_dataset("texts", data=values["texts"], dtype=h5py.string_dtype(), **options)
        f.create_dataset("long", data=values["long"], dtype=h5py.string_dtype())
        lists = f.create_dataset("lists", (1500,), h5py.vlen_dtype("i8"), **options)
        for n, value in enumerate(values["lists"]):
            lists[n] = value
    return values


@pytest.mark.parametrize("chunked", [False, True])
def test_each_value_that_is_not_right_is_counted(tmp_path: pathlib.Path, chunked: bool) -> None:
    values = made(tmp_path / "whole.h5", chunked)
    content = (tmp_path / "whole.h5").read_bytes()
    # Objects and trees are in the first blocks.
    heaps = [
        block for block in range(2 * BLOCK, len(content), BLOCK) if any(mark in content[block : block + BLOCK] for mark in (b"xxxxxx", b"yyyyyy", b"GCOL"))
    ]
    assert len(heaps) > 20
    saved = 0
    for block in heaps:
        (tmp_path / "broken.h5").write_bytes(content[:block] + bytes(BLOCK) + content[block + BLOCK :])
        report = hs.recover(tmp_path / "broken.h5", tmp_path / "out.h5", "w")
        told = {one.path: one.values for one in report.objects if one.values is not None}
        with h5py.File(tmp_path / "out.h5") as f:
            for name, expected in values.items():
                about = told.get(f"/{name}")
                if about is None:
                    continue
                got = f[name].asstr()[...] if name != "lists" else f[name][...]
                wrong = sum(not np.array_equal(one, other) for one, other in zip(got, expected, strict=True))
                lost = sum(int(np.prod(count)) for _, count in (*about.lost, *about.doubtful))
                # Items of a list may be zeros, so that no one knows.
                assert wrong <= about.lost_heap_values + lost + (name == "lists"), (block, name, wrong, about.lost_heap_values, lost)
                assert about.certainty != "certain" or wrong == 0
                saved += len(expected) - wrong
    # A lost block loses its own values and the values after it in its collection.
    assert saved > 0.9 * len(heaps) * sum(map(len, values.values())) * 0.9
