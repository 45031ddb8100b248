"""Checking files: what `hs.check` and `hyperslab check` find of damage that is made on purpose, and that whole files have none."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time

import files
import graphs
import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.checking.report import CheckReport

EXAMPLES = sorted(path for path in (pathlib.Path(__file__).resolve().parents[2] / "examples" / "data").iterdir() if path.suffix in (".nc", ".h5ad"))
#: Structures with checksums, and how many bytes after the signature are surely covered.
CHECKED = re.compile(
    rb"OHDR\x02|OCHK|FRHP\x00|FHIB\x00|BTHD\x00|BTLF\x00|BTIN\x00|FAHD\x00|FADB\x00|EAHD\x00|EAIB\x00|EASB\x00|EADB\x00|SMTB|FSHD\x00|FSSE\x00"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pathlib.Path]:
    return files.make_all(tmp_path_factory.mktemp("whole"))


def kinds(found: CheckReport, severity: str = "error") -> set[str]:
    return {one.kind for one in found.findings if one.severity == severity}


def patched(path: pathlib.Path, out: pathlib.Path, offset: int, data: bytes) -> pathlib.Path:
    content = bytearray(path.read_bytes())
    content[offset : offset + len(data)] = data
    out.write_bytes(content)
    return out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_real_files_have_no_errors(path: pathlib.Path) -> None:
    found = hs.check(path)
    assert found.ok, found.lines()
    assert found.objects > 1 and found.data_bytes > 0


def test_files_of_each_kind_have_no_errors(made: dict[str, pathlib.Path]) -> None:
    for name in files.MADE:
        found = hs.check(made[name])
        assert found.ok and found.warnings == 0, found.lines()
        with h5py.File(made[name]) as f:
            count = [1]
            f.visititems(lambda _, found, count=count: count.__setitem__(0, count[0] + 1))
        assert found.objects == count[0]


def test_a_flipped_bit_in_each_structure_with_a_checksum_is_found(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    """Stale copies of structures, which nothing leads to any more, are left out: HDF5 leaves them when it moves something."""
    for name in ("latest", "tracked", "pages"):
        content = made[name].read_bytes()
        found, stale, missed = 0, [], []
        places = [match.start() for match in CHECKED.finditer(content)]
        by_kind: dict[bytes, list[int]] = {}
        for place in places:
            by_kind.setdefault(content[place : place + 4], []).append(place)
        for signature, list_of_places in by_kind.items():
            for place in list_of_places[:: max(1, len(list_of_places) // 12)]:
                report = hs.check(patched(made[name], tmp_path / "broken.h5", place + 5, bytes([content[place + 5] ^ 4])), data=False)
                if not report.ok:
                    found += 1
                elif is_stale(made[name], tmp_path, place):
                    stale.append((signature, place))
                else:
                    missed.append((signature, place))
        assert not missed, (name, missed)
        assert found > 10 * len(stale) and found > 40, (name, found, stale)


def is_stale(path: pathlib.Path, folder: pathlib.Path, place: int) -> bool:
    """Whether h5py reads all of the file without the structure."""
    broken = patched(path, folder / "stale.h5", place, b"\xff" * 8)
    with h5py.File(path) as one, h5py.File(broken) as other:
        names: list[str] = []
        one.visit(names.append)
        for name in names:
            a, b = one[name], other[name]
            if len(a.attrs) != len(b.attrs) or any(key not in b.attrs for key in a.attrs):
                return False
            if isinstance(a, h5py.Dataset) and a.dtype != object and not np.array_equal(a[()], b[()]):
                return False
    return True


def test_a_flipped_bit_anywhere_never_crashes(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(5)
    for name in ("earliest", "latest"):
        size = made[name].stat().st_size
        for place in rng.integers(0, min(size, 60_000), 60):
            content = made[name].read_bytes()
            try:
                hs.check(patched(made[name], tmp_path / "broken.h5", int(place), bytes([content[place] ^ (1 << int(rng.integers(8)))])))
            except hs.InvalidInputError:
                assert place < 8


def test_zeros_that_a_checksum_does_not_tell_are_named(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        d = f.create_dataset("x", data=np.arange(1, 101), chunks=(10,), fletcher32=True)
        chunk = d.id.get_chunk_info(3)
        f.create_dataset("packed", data=np.zeros(100), chunks=(10,), fletcher32=True, compression="gzip")
    assert not [one for one in hs.check(tmp_path / "a.h5").findings if one.kind == "zeroed"]
    report = hs.check(patched(tmp_path / "a.h5", tmp_path / "b.h5", chunk.byte_offset, bytes(chunk.size)))
    (found,) = (one for one in report.findings if one.kind == "zeroed")
    assert (found.severity, found.path, found.offset, found.length) == ("info", "/x", chunk.byte_offset, chunk.size) and "[30:40]" in found.cost
    assert report.ok


def test_a_damaged_chunk_is_named_with_its_values(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        d = f.create_dataset("g/x", data=np.arange(100 * 20).reshape(100, 20), chunks=(10, 20), compression="gzip")
        chunk = d.id.get_chunk_info(3)
    broken = patched(tmp_path / "a.h5", tmp_path / "b.h5", chunk.byte_offset + chunk.size // 2, b"\0\0\0\0")
    report = hs.check(broken)
    (found,) = (one for one in report.findings if one.severity == "error")
    assert (found.kind, found.path, found.offset, found.length) == ("undecodable", "/g/x", chunk.byte_offset, chunk.size)
    assert "[30:40, 0:20]" in found.cost and "hyperslab recover" in found.advice
    assert hs.check(broken, data=False).ok
    assert hs.check(broken, threads=1).findings == report.findings


def test_a_truncated_file_says_what_is_missing(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    content = made["latest"].read_bytes()
    (tmp_path / "cut.h5").write_bytes(content[: len(content) // 2])
    found = hs.check(tmp_path / "cut.h5")
    assert "truncated" in kinds(found)
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        f["x"] = np.arange(1000)
        end = f["x"].id.get_offset() + 8000
    content = (tmp_path / "a.h5").read_bytes()
    (tmp_path / "a.h5").write_bytes(content[: end - 100])
    assert {"truncated", "outside"} <= kinds(hs.check(tmp_path / "a.h5"))
    with h5py.File(tmp_path / "chunks.h5", "w") as f:
        f.create_dataset("x", data=np.arange(4000.0), chunks=(1000,), fletcher32=True)
    content = (tmp_path / "chunks.h5").read_bytes()
    (tmp_path / "chunks.h5").write_bytes(content[: len(content) - 8100])
    found = hs.check(tmp_path / "chunks.h5")
    assert sum(one.kind == "outside" for one in found.findings) == 2 and found.chunks == 2
    (tmp_path / "longer.h5").write_bytes(content + b"more")
    found = hs.check(tmp_path / "longer.h5")
    assert found.ok and "longer" in kinds(found, "info")


def test_a_file_whose_writer_was_killed_is_marked(tmp_path: pathlib.Path) -> None:
    script = "import h5py, os, sys; f = h5py.File(sys.argv[1], 'w', libver='latest'); f['x'] = 1; f.swmr_mode = True; f.flush(); os._exit(0)"
    subprocess.run([sys.executable, "-c", script, tmp_path / "a.h5"], check=True)
    found = hs.check(tmp_path / "a.h5")
    assert found.ok and "open-for-writing" in kinds(found, "warning")


def test_links_and_references_to_nothing(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"], f["gone"], f["scale"] = np.arange(3), np.arange(3), np.arange(4)
        f["soft"], f["far"], f["good"] = h5py.SoftLink("/nowhere"), h5py.ExternalLink("nowhere.h5", "/x"), h5py.SoftLink("x")
        f["references"] = np.array([f["gone"].ref, f["x"].ref], h5py.ref_dtype)
        f.attrs["one"] = f["gone"].ref
        f["scale"].make_scale("s")
        f["x"].dims[0].attach_scale(f["scale"])
        address = h5py.h5o.get_info(f["gone"].id).addr
        del f["gone"]
    content = bytearray((tmp_path / "a.h5").read_bytes())
    content[address : address + 16] = bytes(16)
    (tmp_path / "a.h5").write_bytes(content)
    found = hs.check(tmp_path / "a.h5")
    dangling = {one.path for one in found.findings if one.kind == "dangling-link"}
    assert dangling == {"/soft", "/far"}
    assert {one.path for one in found.findings if one.kind == "bad-reference"} == {"/references", "/"}
    assert [one.path for one in found.findings if one.kind == "dimension-scale"] == ["/x"]
    assert found.ok


def test_wrong_link_counts(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(3)
        f["y"] = f["x"]
        address = h5py.h5o.get_info(f["x"].id).addr
    assert hs.check(tmp_path / "a.h5").findings == tuple(one for one in hs.check(tmp_path / "a.h5").findings if one.severity == "info")
    for count, severity in ((1, "error"), (3, "warning")):
        found = hs.check(patched(tmp_path / "a.h5", tmp_path / "b.h5", address + 4, struct.pack("<I", count)))
        assert [(one.severity, one.path) for one in found.findings if one.kind == "link-count"] == [(severity, "/x")]


def test_two_datasets_in_one_place(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"], f["y"] = np.arange(1000), np.arange(1000)
        x, y = f["x"].id.get_offset(), f["y"].id.get_offset()
    content = (tmp_path / "a.h5").read_bytes()
    at = content.index(struct.pack("<Q", y))
    found = hs.check(patched(tmp_path / "a.h5", tmp_path / "b.h5", at, struct.pack("<Q", x + 800)))
    (overlap,) = (one for one in found.findings if one.kind == "overlap")
    assert (overlap.severity, overlap.offset, overlap.length) == ("error", x + 800, 7200)


def test_an_unknown_filter_is_a_warning(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.arange(100), chunks=(10,), compression="lzf")
    content = (tmp_path / "a.h5").read_bytes()
    at = content.index(struct.pack("<H", 32000))
    found = hs.check(patched(tmp_path / "a.h5", tmp_path / "b.h5", at, struct.pack("<H", 32999)))
    assert found.ok and "unsupported" in kinds(found, "warning")


def test_netcdf_classic(tmp_path: pathlib.Path) -> None:
    from scipy.io import netcdf_file

    path = tmp_path / "a.nc"
    with netcdf_file(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("x", 50)
        fixed, steps, other = (
            f.createVariable("fixed", "f8", ("x",)),
            f.createVariable("steps", "i4", ("time", "x")),
            f.createVariable("other", "i2", ("time", "x")),
        )
        fixed[:] = np.arange(50)
        steps[:20], other[:20] = np.ones((20, 50)), np.ones((20, 50))
    assert hs.check(path).findings == ()
    content = path.read_bytes()
    (tmp_path / "cut.nc").write_bytes(content[: len(content) - 700])
    found = hs.check(tmp_path / "cut.nc")
    assert kinds(found) == {"records"} and "3 of 20 records are lost" in {one.cost for one in found.findings}
    at = content.index(b"other")
    found = hs.check(patched(path, tmp_path / "bad.nc", at + 8 + 4 + 8 + 8 + 4, struct.pack(">i", 77)))
    assert "header" in {one.kind for one in found.findings}
    (tmp_path / "short.nc").write_bytes(content[:100])
    assert kinds(hs.check(tmp_path / "short.nc")) == {"header"}


def test_what_is_no_file_of_ours_is_an_error(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.txt").write_text("no HDF5 file")
    with pytest.raises(hs.InvalidInputError, match="no superblock"):
        hs.check(tmp_path / "a.txt")
    with pytest.raises(FileNotFoundError):
        hs.check(tmp_path / "missing.h5")
    with pytest.raises(hs.UnsupportedError, match="local files"):
        hs.check("s3://bucket/a.h5")


def test_the_report_as_text_json_and_html(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    content = made["latest"].read_bytes()
    (tmp_path / "cut.h5").write_bytes(content[: len(content) // 2])
    found = hs.check(tmp_path / "cut.h5")
    again = json.loads(json.dumps(found.to_dict()))
    assert again["errors"] == found.errors and again["findings"][0]["severity"] == "error"
    assert "truncated" in found.to_html() and found._repr_html_().startswith("<div>")
    assert all(line.isprintable() for line in found.lines(info=True)) and repr(found).startswith("<CheckReport")


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "hyperslab", *map(str, arguments)], capture_output=True, text=True)


def test_the_command(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    whole = shutil.copy(made["latest"], tmp_path / "whole.h5")
    (tmp_path / "cut.h5").write_bytes(made["latest"].read_bytes()[:10_000])
    (tmp_path / "a.txt").write_text("text")
    assert command("check", whole).returncode == 0
    run = command("check", whole, tmp_path / "cut.h5")
    assert run.returncode == 1 and "truncated" in run.stdout and run.stdout.count("objects") == 2
    run = command("check", whole, tmp_path / "a.txt")
    assert run.returncode == 2 and "no superblock" in run.stderr
    run = command("check", tmp_path / "cut.h5", "--json")
    assert run.returncode == 1 and json.loads(run.stdout)["ok"] is False
    assert command("check", tmp_path / "cut.h5", "--quiet").stdout == ""


def test_structures_that_are_made_to_do_harm_are_reported_within_limits(tmp_path: pathlib.Path) -> None:
    """Shared, cyclic and extreme structures with right checksums: a report or `LimitExceededError`, within seconds each."""
    path = tmp_path / "a.h5"
    damaged = 0
    for number in range(40):
        path.write_bytes(graphs.graph(number))
        before = time.process_time()
        for look in (hs.check, hs.stat):
            try:
                report = look(path)
                damaged += isinstance(report, CheckReport) and not report.ok
            except hs.LimitExceededError:
                damaged += 1
            except (hs.CorruptError, hs.InvalidInputError):
                assert look is hs.stat, "damage is what a check reports; stat does not know netCDF classic"
        assert time.process_time() - before < 10, number
    assert damaged > 10


def test_half_of_a_heap_that_a_killed_edit_has_left_is_no_error(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(5)
    half = b"GCOL\x01\0\0\0" + struct.pack("<Q", 4096) + struct.pack("<HHIQ", 1, 1, 0, 3) + b"abc".ljust(8, b"\0") + struct.pack("<HHIQ", 0, 0, 0, 4056)
    with path.open("ab") as out:
        out.write(bytes(-path.stat().st_size % 8) + half)
    with hs.open(path, "r+") as file:
        file.create_group("g")
        file["g/y"] = np.arange(1000)
    found = hs.check(path)
    assert {(one.kind, one.severity) for one in found.findings if one.severity != "info"} == {("overlap", "warning")}, found.lines()
