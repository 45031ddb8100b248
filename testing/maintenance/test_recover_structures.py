"""Recovering what nothing leads to any more: blocks of chunk indexes and heaps whose headers are lost; and files on bad sectors."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.checking.recovery import Recovery

HERE = pathlib.Path(__file__).resolve().parent


def zeroed(path: pathlib.Path, at: int, length: int) -> None:
    with open(path, "r+b") as f:
        f.seek(at)
        f.write(bytes(length))


def places(path: pathlib.Path, signature: bytes) -> list[int]:
    data, found, at = path.read_bytes(), [], -1
    while (at := data.find(signature, at + 1)) >= 0:
        found.append(at)
    return found


def recovered(path: pathlib.Path) -> tuple[Recovery, h5py.File]:
    out = path.with_suffix(".saved.h5")
    out.unlink(missing_ok=True)
    found = hs.recover(path, out)
    return found, h5py.File(out)


SMOOTH = np.cumsum(np.arange(60 * 64).reshape(60, 64) % 7, axis=0).astype("i4") + 1


@pytest.mark.parametrize("filters", [{}, {"compression": "gzip"}])
@pytest.mark.parametrize("lost", [b"FAHD", b"EAHD", b"EAIB", b"EASB"])
def test_blocks_of_arrays_name_their_owners(tmp_path: pathlib.Path, lost: bytes, filters: dict[str, str]) -> None:
    """All blocks but the lost one still list their chunks."""
    path = tmp_path / "x.h5"
    grows = lost.startswith(b"E")
    data = np.tile(SMOOTH, (20, 1))
    with h5py.File(path, "w", libver="latest") as f:
        for name in ("one", "other"):
            options = {"maxshape": (None, 64)} if grows else {}
            f.create_dataset(name, data=data, chunks=(2, 64), **options, **filters)
    broken = places(path, lost)
    # The blocks of "one" come first.
    for at in broken[: len(broken) // 2]:
        zeroed(path, at, 16)
    found, f = recovered(path)
    values = {one.path: one.values for one in found.objects}
    assert np.array_equal(f["other"], data) and not values["/other"].lost
    one = np.asarray(f["one"])
    right = (one == data).all(axis=1)
    # An index block has the first four chunks itself, and leads to the others.
    assert right.all() if lost in (b"FAHD", b"EAHD") else right[8:].all()
    assert values["/one"].certainty == "plausible"
    assert not right.all() or not any(start[0] < 1200 for start, _ in values["/one"].doubtful)
    told = np.zeros(len(data), bool)
    for start, count in values["/one"].lost:
        told[start[0] : start[0] + count[0]] = True
    assert (right | told).all()


def test_pages_of_a_fixed_array_outlive_its_head(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    data = np.arange(1, 40_001, dtype="i4")
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset("x", data=data, chunks=(10,))
    (at,) = places(path, b"FADB")
    zeroed(path, at, 8)
    found, f = recovered(path)
    assert np.array_equal(f["x"], data) and found.objects[-1].values.certainty == "plausible"


@pytest.mark.parametrize("lost", [b"BTHD", b"BTIN"])
def test_nodes_of_a_tree_of_chunks_belong_to_what_they_fit(tmp_path: pathlib.Path, lost: bytes) -> None:
    path = tmp_path / "x.h5"
    data = np.arange(1, 60 * 64 + 1, dtype="i4").reshape(60, 64)
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset("grows", data=data, chunks=(2, 4), maxshape=(None, None), compression="gzip")
        f.create_dataset("fixed", data=data, chunks=(6, 64))
    for at in places(path, lost):
        zeroed(path, at, 16)
    found, f = recovered(path)
    grows = next(one.values for one in found.objects if one.path == "/grows")
    # What a leaf listed is right, and said to be a guess. Records of a lost inner node are lost.
    right = np.asarray(f["grows"]) == data
    assert np.array_equal(f["fixed"], data) and right.mean() > 0.95
    doubtful, told = np.zeros(data.shape, bool), np.zeros(data.shape, bool)
    for boxes, mask in ((grows.doubtful, doubtful), (grows.lost, told)):
        for start, count in boxes:
            mask[tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))] = True
    assert (doubtful | told).all() and (right | told).all()


@pytest.mark.parametrize("lost", [b"FRHP", b"FHIB", b"BTHD", b"BTIN", b"BTLF"])
def test_links_and_attributes_in_blocks_of_heaps(tmp_path: pathlib.Path, lost: bytes) -> None:
    """The blocks hold the names, whatever became of the trees that list them."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="latest") as f:
        group = f.create_group("many")
        for number in range(300):
            group[f"a member called {number}"] = np.full(3, number)
        for number in range(40):
            group.attrs[f"attribute {number}"] = f"text {number}" * 5
        f["beside"] = np.arange(5)
    broken = places(path, lost)
    assert broken
    for at in broken:
        zeroed(path, at, 16)
    found, f = recovered(path)
    assert sorted(f) == ["beside", "many"], list(f)
    assert sorted(f["many"]) == sorted(f"a member called {number}" for number in range(300))
    assert all((f["many"][f"a member called {number}"][()] == number).all() for number in range(300))
    assert dict(f["many"].attrs) == {f"attribute {number}": f"text {number}" * 5 for number in range(40)}
    many = next(one for one in found.objects if one.path == "/many")
    assert many.certainty == "guessed" and not found.complete


def test_members_that_were_removed_do_not_come_back_over_others(tmp_path: pathlib.Path) -> None:
    """The heap keeps the bytes of a link that was replaced: of two links of one name, neither is believed."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="latest") as f:
        group = f.create_group("many")
        for number in range(40):
            group[f"member {number:02}"] = np.full(3, number)
        del group["member 07"]
        group["member 07"] = np.full(5, 700)
    for at in places(path, b"BTHD"):
        zeroed(path, at, 16)
    found, f = recovered(path)
    members = {name: np.asarray(f["many"][name]).tolist() for name in f["many"]}
    assert all(values == [int(name[-2:])] * 3 for name, values in members.items() if name != "member 07")
    assert members.get("member 07", [700] * 5) == [700] * 5
    assert len(members) >= 39 and not found.complete


def test_texts_with_a_fill_value_are_saved(tmp_path: pathlib.Path) -> None:
    """netCDF-4 writes an empty fill value for each variable of texts."""
    netCDF4 = pytest.importorskip("netCDF4")
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("t", 4)
        f.createVariable("name", str, ("t",))[:] = np.array(["a", "", "ccc", "d"], object)
        f.createVariable("other", str, ("t",), fill_value="none")[:2] = np.array(["x", "y"], object)
    found, f = recovered(path)
    assert f["name"].asstr()[:].tolist() == ["a", "", "ccc", "d"]
    assert f["other"].asstr()[:].tolist() == ["x", "y", "none", "none"] and f["other"].fillvalue == b"none"
    assert not found.lost
    copy = tmp_path / "copy.nc"
    with hs.open(path, "r+") as edited:
        edited.copy("name", "again")
    with h5py.File(path) as f:
        assert f["again"].asstr()[:].tolist() == ["a", "", "ccc", "d"]
    hs.repack(path, copy)
    with netCDF4.Dataset(copy, "a") as f:
        f["other"][3] = "z"
        assert f["other"][:].tolist() == ["x", "y", "none", "z"]


def test_bad_sectors(tmp_path: pathlib.Path) -> None:
    """`pread` fails for two ranges of the file: everything else is saved, and what they held is in the report."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("needs a C compiler, and LD_PRELOAD")
    shim, path, out = tmp_path / "bad.so", tmp_path / "x.h5", tmp_path / "out.h5"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, HERE / "bad_sectors.c", "-ldl"], check=True)
    with h5py.File(path, "w", libver="latest") as f:
        plain = f.create_dataset("plain", data=SMOOTH.astype("f8"))
        noise = np.random.default_rng(1).integers(1, 1 << 30, (60, 64), "i4")
        packed = f.create_dataset("packed", data=noise, chunks=(10, 64), compression="gzip")
        f["fine"] = np.arange(3)
        first = plain.id.get_offset() + 1024
        chunk = packed.id.get_chunk_info(3)
    # In the middle of a chunk of two kilobytes: the sector is its own.
    bad = chunk.byte_offset + 1024
    ranges = f"{first}+512,{bad}+1"
    before = path.read_bytes()
    environment = {**os.environ, "LD_PRELOAD": str(shim), "BAD_FILE": str(path), "BAD_RANGES": ranges}
    # The shim works: an ordinary reader sees the error.
    read = [sys.executable, "-c", f"import hyperslab as hs; hs.open({str(path)!r})['plain'][()]"]
    assert "Input/output error" in subprocess.run(read, env=environment, capture_output=True, text=True).stderr
    command = [sys.executable, "-m", "hyperslab", "recover", path, out, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and path.read_bytes() == before, done.stderr
    report = json.loads(done.stdout)
    sectors = {at for start, length in report["bad_ranges"] for at in range(start, start + length, 512)}
    assert sectors and all(any(start - 512 < sector < start + length for start, length in ((first, 512), (bad, 1))) for sector in sectors)
    with h5py.File(out) as f:
        assert f["fine"][()].tolist() == [0, 1, 2]
        assert (np.asarray(f["packed"]) == np.where(np.arange(60)[:, None] // 10 == 3, 0, noise)).all()
        wrong = np.asarray(f["plain"]) != SMOOTH
    values = {one["path"]: one["values"] for one in report["objects"]}
    assert [start for start, _ in values["/packed"]["lost"]] == [[30, 0]]
    told = np.zeros(SMOOTH.shape, bool)
    for start, count in values["/plain"]["lost"]:
        told[tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))] = True
    assert 64 <= wrong.sum() <= told.sum() <= 192 and told[wrong].all()
    assert any("cannot be read" in lost["reason"] for lost in report["lost"])


def test_references_on_bad_sectors(tmp_path: pathlib.Path) -> None:
    """`check` and `stat` continue after references that cannot be read. The others lead to their objects."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("needs a C compiler, and LD_PRELOAD")
    shim, path = tmp_path / "bad.so", tmp_path / "x.h5"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, HERE / "bad_sectors.c", "-ldl"], check=True)
    with h5py.File(path, "w") as f:
        target = f.create_dataset("target", data=np.arange(3))
        f["lost"] = np.array([target.ref] * 100_000, dtype=h5py.ref_dtype)
        f["read"] = np.array([target.ref], dtype=h5py.ref_dtype)
        bad = f["lost"].id.get_offset() + 400_000
    environment = {**os.environ, "LD_PRELOAD": str(shim), "BAD_FILE": str(path), "BAD_RANGES": f"{bad}+1"}
    for command in "check", "stat":
        done = subprocess.run([sys.executable, "-m", "hyperslab", command, path, "--json"], env=environment, capture_output=True, text=True)
        assert done.stderr == "" and done.returncode == (1 if command == "check" else 0)
        report = json.loads(done.stdout)
        if command == "check":
            unreadable = [(one["path"], one["severity"]) for one in report["findings"] if one["kind"] == "unreadable"]
            assert unreadable and set(unreadable) == {("/lost", "error")}
            assert not [one for one in report["findings"] if one["kind"] == "unreachable"]
        else:
            assert report["damages"] == 1 and report["datasets"] == 3


def test_the_user_block_is_copied(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", userblock_size=1024) as f:
        f["x"] = np.arange(2000)
    with open(path, "r+b") as f:
        f.write(b"what a program has put there".ljust(1024, b"."))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 4000])
    found, f = recovered(path)
    assert f.userblock_size == 1024 and not found.complete
    assert pathlib.Path(f.filename).read_bytes()[:1024] == data[:1024]
    with h5py.File(f.filename) as f:
        assert f["x"][:1000].tolist() == list(range(1000))


def test_nodes_of_groups_with_the_same_names_are_not_mixed_up(tmp_path: pathlib.Path) -> None:
    """Three nodes have the names of the one heap that is left: it is not known which of them belongs to it."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="earliest") as f:
        for run in range(4):
            for name in ("a", "b"):
                f[f"run{run}/{name}"] = np.full(5, 10 * run)
    # The first of each belongs to the root group.
    for at in places(path, b"TREE")[2:]:
        zeroed(path, at, 16)
    for at in places(path, b"HEAP")[3:]:
        zeroed(path, at, 8)
    found, f = recovered(path)
    paths = [one.path for one in found.objects]
    assert len(set(paths)) == len(paths)
    for one in found.objects:
        if one.kind == "dataset":
            assert not one.path.startswith("/run") or (np.asarray(f[one.path]) == 10 * int(one.path[4])).all()
    assert sum(one.kind == "dataset" for one in found.objects) == 8


def test_texts_that_are_shorter_than_stated_are_lost_alone(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(3)
        f.attrs["good"], f.attrs["bad"] = "a text", "another text, which is here"
    data = bytearray(path.read_bytes())
    at = data.find(b"another text")
    # The length of the object in the heap, in front of it: shorter than what the attribute states.
    data[at - 8 : at] = (25).to_bytes(8, "little")
    path.write_bytes(data)
    found, f = recovered(path)
    assert f.attrs["good"] == "a text" and f["x"][:].tolist() == [0, 1, 2] and not found.complete
