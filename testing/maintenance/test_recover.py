"""Recovering damaged files: what `hs.recover` and `hyperslab recover` save, judged by h5py on the whole files."""

from __future__ import annotations

import json
import pathlib
import random
import subprocess
import sys

import h5py
import hyperslab as hs
import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parents[1]

import files  # noqa: E402
import measure  # noqa: E402


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pathlib.Path]:
    return files.make_all(tmp_path_factory.mktemp("whole"))


def test_a_whole_file_comes_back_whole(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    for name, path in made.items():
        before = path.read_bytes()
        found = hs.recover(path, tmp_path / f"{name}.h5")
        assert path.read_bytes() == before
        assert found.complete, (name, found.lines())
        truth = measure.Truth(path)
        counts = measure.ours(_copy(path, tmp_path / "same.h5"), truth)
        assert (counts["objects"], counts["elements"]) == (truth.objects, truth.elements), name
        compared = hs.diff(path, tmp_path / f"{name}.h5", format="hdf5", exclude=("/references",))
        assert compared.equal, (name, compared.lines())


def _copy(path: pathlib.Path, to: pathlib.Path) -> pathlib.Path:
    to.write_bytes(path.read_bytes())
    return to


def test_no_value_that_is_told_certain_is_wrong(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    """Cut, and with blocks zeroed; testing/maintenance/measure.py does it thoroughly."""
    saved = total = 0
    for name in ("earliest", "latest", "pages"):
        truth, content = measure.Truth(made[name]), made[name].read_bytes()
        for case, data in measure.damaged(content, cuts=3, seeds=1):
            (tmp_path / "broken.h5").write_bytes(data)
            counts = measure.ours(tmp_path / "broken.h5", truth)
            assert counts["wrong and certain"] == 0 and counts["objects made up"] == 0, (name, case, counts)
            saved, total = saved + counts["elements"], total + truth.elements
    assert saved > total // 3


def test_flipped_bits_give_no_certain_wrong_value(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    for name in ("earliest", "latest"):
        truth, content = measure.Truth(made[name]), made[name].read_bytes()
        rng = random.Random(name)
        for _ in range(15):
            data = bytearray(content)
            for _ in range(5):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            (tmp_path / "broken.h5").write_bytes(data)
            counts = measure.ours(tmp_path / "broken.h5", truth)
            assert counts["wrong and certain"] == 0, (name, counts)


def test_a_lost_chunk_is_the_fill_value_and_in_the_report(tmp_path: pathlib.Path) -> None:
    values = np.arange(100 * 20).reshape(100, 20)
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        d = f.create_dataset("g/x", data=values, chunks=(10, 20), compression="gzip", fillvalue=-1)
        chunk = d.id.get_chunk_info(3)
    content = bytearray((tmp_path / "a.h5").read_bytes())
    content[chunk.byte_offset + chunk.size // 2] ^= 255
    (tmp_path / "a.h5").write_bytes(content)
    found = hs.recover(tmp_path / "a.h5", tmp_path / "b.h5")
    (one,) = (one for one in found.objects if one.path == "/g/x")
    assert one.values is not None and one.certainty == one.values.certainty == "certain"
    assert (one.values.found, one.values.saved, one.values.lost) == (10, 9, (((30, 0), (10, 20)),))
    assert [(part.what, part.path, part.offset) for part in found.lost] == [("chunk", "/g/x", chunk.byte_offset)]
    values[30:40] = -1
    assert np.array_equal(h5py.File(tmp_path / "b.h5")["g/x"][()], values)
    assert not found.complete and found.copied_chunks == 9


def test_objects_without_names_are_found_by_address(tmp_path: pathlib.Path) -> None:
    for libver in ("earliest", "latest"):
        with h5py.File(tmp_path / "a.h5", "w", libver=libver) as f:
            f["g/x"] = np.arange(1000)
            f["g/x"].attrs["units"] = "m"
            address, group = (h5py.h5o.get_info(f[name].id).addr for name in ("g/x", "g"))
        content = bytearray((tmp_path / "a.h5").read_bytes())
        content[group : group + 16] = b"\xff" * 16
        (tmp_path / "a.h5").write_bytes(content)
        found = hs.recover(tmp_path / "a.h5", tmp_path / "b.h5", "w")
        path = f"/lost+found/object_{address:#x}"
        (one,) = (one for one in found.objects if one.path == path)
        assert not one.has_name and one.certainty == ("guessed" if libver == "earliest" else "certain")
        with h5py.File(tmp_path / "b.h5") as f:
            assert np.array_equal(f[path][()], np.arange(1000)) and f[path].attrs["units"] == "m"


def test_a_file_without_superblock(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    for name in ("earliest", "latest"):
        content = bytearray(made[name].read_bytes())
        content[:48] = bytes(48)
        (tmp_path / "a.h5").write_bytes(content)
        truth = measure.Truth(made[name])
        counts = measure.ours(tmp_path / "a.h5", truth)
        assert counts["wrong and certain"] == 0
        assert counts["objects"] > 0.9 * truth.objects and counts["elements"] > 0.9 * truth.elements, (name, counts, truth.objects, truth.elements)


def test_contiguous_values_beyond_the_end_are_lost(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        f.create_dataset("x", data=np.arange(1, 1001).reshape(100, 10), fillvalue=-5)
        offset = f["x"].id.get_offset()
    content = (tmp_path / "a.h5").read_bytes()
    assert offset + 8000 <= len(content)
    (tmp_path / "a.h5").write_bytes(content[: offset + 80 * 33 + 44])
    found = hs.recover(tmp_path / "a.h5", tmp_path / "b.h5")
    (one,) = (one for one in found.objects if one.path == "/x")
    assert one.values is not None and one.values.lost == (((33, 5), (1, 5)), ((34, 0), (66, 10))) and one.values.lost_bytes == 8 * 665
    expected = np.arange(1, 1001).reshape(100, 10)
    expected.ravel()[335:] = -5
    assert np.array_equal(h5py.File(tmp_path / "b.h5")["x"][()], expected)


def test_lost_text_is_empty_and_in_the_report(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        f.create_dataset("text", (40,), h5py.string_dtype())
        for n in range(40):
            f["text"][n] = f"{n} " + "x" * 300
    content = bytearray((tmp_path / "a.h5").read_bytes())
    collection = content.index(b"GCOL")
    content[collection : collection + 4] = bytes(4)
    (tmp_path / "a.h5").write_bytes(content)
    found = hs.recover(tmp_path / "a.h5", tmp_path / "b.h5")
    (one,) = (one for one in found.objects if one.path == "/text")
    texts = [text.decode() for text in h5py.File(tmp_path / "b.h5")["text"][()]]
    assert one.values is not None and one.values.lost_heap_values == sum(not text for text in texts) > 0
    assert all(not text or text == f"{n} " + "x" * 300 for n, text in enumerate(texts))


@pytest.mark.slow
def test_a_killed_writer(tmp_path: pathlib.Path) -> None:
    for case, broken, whole in measure.killed(tmp_path):
        truth = measure.Truth(whole)
        counts = measure.ours(broken, truth)
        assert counts["wrong and certain"] == 0, case
        if "flushed" in case and "never" not in case:
            assert counts["named"] > truth.objects // 3, (case, counts, truth.objects)


def test_what_cannot_be_recovered_is_an_error(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.txt").write_text("no HDF5 file" * 1000)
    with pytest.raises(hs.InvalidInputError, match="no object of HDF5"):
        hs.recover(tmp_path / "a.txt", tmp_path / "b.h5")
    assert not (tmp_path / "b.h5").exists()
    with pytest.raises(FileNotFoundError):
        hs.recover(tmp_path / "missing.h5", tmp_path / "b.h5")
    (tmp_path / "b.h5").write_text("mine")
    with pytest.raises(hs.ConflictError):
        hs.recover(made["latest"], tmp_path / "b.h5")
    assert (tmp_path / "b.h5").read_text() == "mine"
    path = _copy(made["latest"], tmp_path / "c.h5")
    with pytest.raises(hs.InvalidInputError, match="never changed"):
        hs.recover(path, path, "w")


def test_the_command_and_the_report(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    content = made["latest"].read_bytes()
    (tmp_path / "cut.h5").write_bytes(content[: len(content) // 2])

    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "hyperslab", "recover", *map(str, arguments)], capture_output=True, text=True)

    run = command(tmp_path / "cut.h5", tmp_path / "saved.h5")
    assert run.returncode == 1 and "lost" in run.stdout and "certain" in run.stdout
    assert command(tmp_path / "cut.h5", tmp_path / "saved.h5").returncode == 2
    run = command(tmp_path / "cut.h5", tmp_path / "saved.h5", "--force", "--json")
    assert json.loads(run.stdout)["complete"] is False
    assert command(made["latest"], tmp_path / "whole.h5", "-q").returncode == 0
    found = hs.recover(tmp_path / "cut.h5", tmp_path / "again.h5")
    assert found.to_html().count("<table>") == 2 and json.loads(json.dumps(found.to_dict()))["objects"] and repr(found).startswith("<Recovery")


def test_names_that_no_link_can_have_are_lost_and_objects_are_not(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="earliest") as f:
        for name in ("one", "two", "three"):
            f[f"g/{name}"] = np.arange(100) + len(name)
            f.create_group(f"g/group {name}")
    data = bytearray(path.read_bytes())
    heap = data.rindex(b"HEAP")
    size, place = int.from_bytes(data[heap + 8 : heap + 16], "little"), int.from_bytes(data[heap + 24 : heap + 32], "little")
    while b"one\0" not in data[place : place + size]:
        heap = data.rindex(b"HEAP", 0, heap)
        size, place = int.from_bytes(data[heap + 8 : heap + 16], "little"), int.from_bytes(data[heap + 24 : heap + 32], "little")
    data[place : place + size] = bytes(size)
    broken = tmp_path / "broken.h5"
    broken.write_bytes(data)
    found = hs.recover(broken, tmp_path / "saved.h5")
    paths = [one.path for one in found.objects]
    assert len(set(paths)) == len(paths) and not found.complete
    with h5py.File(tmp_path / "saved.h5") as f:
        datasets = [one for one in found.objects if one.kind == "dataset"]
        assert len(datasets) == 3 and all(isinstance(f[one.path], h5py.Dataset) for one in datasets)
        assert sorted(int(f[one.path][0]) for one in datasets) == [3, 3, 5]
