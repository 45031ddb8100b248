"""Where finished files go: through symbolic links, with the permissions of what they replace, and never in the place of
what is not a file. Containers and files that point at others, opened through links."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import faults
import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest

NOBODY = 65534


def by_create(path: pathlib.Path) -> None:
    with hs.create(path) as f:
        f["x"] = np.arange(3)


def by_netcdf(path: pathlib.Path) -> None:
    with hs.create_netcdf(path) as f:
        f.create_dimension("n", 3)
        f.create_variable("x", ["n"], data=np.arange(3))


def by_table(path: pathlib.Path) -> None:
    hs.write_table(pa.table({"x": [0, 1, 2]}), path)


def by_plan(path: pathlib.Path, mode: str = "w", count: int = 3) -> None:
    plan = hs.WritePlan(path, mode)
    with plan.task(0) as task:
        task.create_dataset("x", data=np.arange(count), rows=True)
        plan.commit([task.finish()])


def by_fuse(path: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        by_plan(pathlib.Path(folder) / "master.h5")
        hs.fuse(pathlib.Path(folder) / "master.h5", path, "w")


WRITERS: list[Callable[[pathlib.Path], None]] = [by_create, by_netcdf, by_table, by_plan, by_fuse]
writers = pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)


def values(path: pathlib.Path) -> list[int]:
    with h5py.File(path) as f:
        return f["x"][:].tolist()


@pytest.fixture
def shared() -> Iterator[pathlib.Path]:
    """A folder that every user may write into."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        yield pathlib.Path(folder)


@writers
def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path: pathlib.Path, write: Callable[[pathlib.Path], None]) -> None:
    (tmp_path / "far").mkdir()
    target, link, second = tmp_path / "far/x.h5", tmp_path / "x.h5", tmp_path / "far/second.h5"
    link.symlink_to("far/second.h5")
    second.symlink_to(target)
    for _ in range(2):  # the first time both links are dangling
        write(link)
        assert os.readlink(link) == "far/second.h5" and os.readlink(second) == str(target)
        assert not target.is_symlink() and values(target) == values(link) == [0, 1, 2]
        assert hs.open(link)["x"][:].tolist() == [0, 1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far", "x.h5"]


def test_x_takes_a_link_for_a_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.h5").symlink_to("nothing.h5")
    with pytest.raises(hs.ConflictError, match="there is a file"):
        hs.create(tmp_path / "x.h5", "x")
    with pytest.raises(FileExistsError):
        h5py.File(tmp_path / "x.h5", "x")
    assert os.listdir(tmp_path) == ["x.h5"]


def test_a_link_in_a_circle_is_an_error(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.h5").symlink_to("x.h5")
    for write in WRITERS:
        with pytest.raises(OSError, match="symbolic link"):
            write(tmp_path / "x.h5")


@writers
@pytest.mark.parametrize("mode", [0o664, 0o600, 0o646, 0o444])
def test_the_mode_of_a_replaced_file_stays(tmp_path: pathlib.Path, write: Callable[[pathlib.Path], None], mode: int) -> None:
    path = tmp_path / "x.h5"
    path.write_bytes(b"old")
    path.chmod(mode)
    before = os.umask(0o027)
    try:
        if mode & 0o200 or os.geteuid() == 0:
            write(path)
            assert stat.S_IMODE(path.stat().st_mode) == mode and values(path) == [0, 1, 2]
        path.chmod(0o600)
        path.unlink()
        write(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640  # a new file has the mode of the umask


def test_while_it_is_written_a_replaced_file_is_not_readable_for_others(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with hs.create(path) as f:
        f["x"] = np.arange(3)
        modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in os.listdir(tmp_path)}
        assert len(modes) == 2 and set(modes.values()) == {0o600}


@writers
def test_what_may_not_be_written_is_not_replaced(shared: pathlib.Path, write: Callable[[pathlib.Path], None]) -> None:
    path = shared / "x.h5"
    path.write_bytes(b"old")
    path.chmod(0o444)

    def attempt() -> str:
        if os.geteuid() == 0:
            faults.become(NOBODY)
        with pytest.raises(PermissionError) as raised:
            write(path)
        return str(raised.value)

    said = faults.in_child(attempt)
    assert "x.h5" in said and path.read_bytes() == b"old"
    assert [name for name in os.listdir(shared) if name.endswith(".part")] == []


def access_list(user: int) -> bytes:
    """owner rw, this user rw, group r, mask rw, others none: as `setfacl` writes it."""
    entries = [(0x01, 6, -1), (0x02, 6, user), (0x04, 4, -1), (0x10, 6, -1), (0x20, 0, -1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


@writers
def test_owner_group_and_access_list_of_a_replaced_file_stay(shared: pathlib.Path, write: Callable[[pathlib.Path], None]) -> None:
    path = shared / "x.h5"
    path.write_bytes(b"old")
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    os.setxattr(path, "system.posix_acl_access", access_list(777))
    before = path.stat()
    write(path)
    after = path.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
    assert os.getxattr(path, "system.posix_acl_access") == access_list(777) and values(path) == [0, 1, 2]
    path.unlink()
    path.write_bytes(b"old")
    os.setxattr(shared, "system.posix_acl_default", access_list(777))  # new files get a list, the replaced one has none
    path.chmod(0o640)
    write(path)
    assert "system.posix_acl_access" not in os.listxattr(path) and stat.S_IMODE(path.stat().st_mode) == 0o640


def test_of_another_owner_what_cannot_stay_does_not_let_more_people_in(shared: pathlib.Path) -> None:
    for mode, group, left in [(0o666, 4321, 0o666), (0o662, 4321, 0o622), (0o662, NOBODY, 0o662)]:
        path = shared / f"{mode:o}-{group}.h5"
        path.write_bytes(b"old")
        path.chmod(mode)
        if os.geteuid() != 0:  # only root can give a file to another user
            by_create(path)
            assert stat.S_IMODE(path.stat().st_mode) == mode
            continue
        os.chown(path, 1234, group)
        faults.in_child(lambda path=path: (faults.become(NOBODY), by_create(path)) and None)  # noqa: SIM223
        found = path.stat()
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (NOBODY, NOBODY, left)


@writers
def test_what_is_not_a_file_is_not_replaced(tmp_path: pathlib.Path, write: Callable[[pathlib.Path], None]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        (tmp_path / "link").symlink_to("pipe")
        kinds = {"pipe": "a named pipe", "folder": "a folder", "socket": "a socket", "link": "a named pipe", "/dev/null": "a device"}
        for name, kind in kinds.items():
            with pytest.raises(hs.InvalidInputError, match=kind):
                write(tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode) and (tmp_path / "folder").is_dir()
    assert sorted(os.listdir(tmp_path)) == ["folder", "link", "pipe", "socket"]


def test_exports_follow_links_and_keep_permissions(tmp_path: pathlib.Path) -> None:
    by_table(tmp_path / "x.h5")
    (tmp_path / "far").mkdir()
    (tmp_path / "x.csv").symlink_to("far/x.csv")
    command = [os.path.join(os.path.dirname(sys.executable), "hyperslab"), "export", str(tmp_path / "x.h5"), "/"]
    for mode in [0o664, 0o600]:
        (tmp_path / "far/x.csv").write_text("old")
        (tmp_path / "far/x.csv").chmod(mode)
        subprocess.run([*command, str(tmp_path / "x.csv")], check=True, capture_output=True)
        assert (tmp_path / "x.csv").is_symlink() and (tmp_path / "far/x.csv").read_text().split() == ['"x"', "0", "1", "2"]
        assert stat.S_IMODE((tmp_path / "far/x.csv").stat().st_mode) == mode
    os.mkfifo(tmp_path / "pipe.csv")
    failed = subprocess.run([*command, str(tmp_path / "pipe.csv")], capture_output=True, text=True)
    assert failed.returncode == 1 and "this is a named pipe" in failed.stderr and stat.S_ISFIFO((tmp_path / "pipe.csv").stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["far", "pipe.csv", "x.csv", "x.h5"] and os.listdir(tmp_path / "far") == ["x.csv"]


def test_other_names_of_a_replaced_file_keep_the_old_one(tmp_path: pathlib.Path) -> None:
    by_create(tmp_path / "x.h5")
    os.link(tmp_path / "x.h5", tmp_path / "other.h5")
    with hs.create(tmp_path / "x.h5") as f:
        f["x"] = [7]
    assert (values(tmp_path / "x.h5"), values(tmp_path / "other.h5")) == ([7], [0, 1, 2])


def test_a_container_through_a_link(tmp_path: pathlib.Path) -> None:
    (tmp_path / "store").mkdir()
    link = tmp_path / "link.h5"
    link.symlink_to("store/real.h5")
    by_plan(link, "x")
    by_plan(link, "a", 2)
    assert sorted(os.listdir(tmp_path)) == ["link.h5", "store"]
    assert sorted(os.listdir(tmp_path / "store")) == ["real.h5", "real.h5.d"]
    wanted = [0, 1, 2, 0, 1]
    assert values(link) == hs.open(link)["x"][:].tolist() == hs.open(tmp_path / "store/real.h5")["x"][:].tolist() == wanted
    assert hs.open(link).table("/x").to_arrow()["x"].to_pylist() == wanted
    found = hs.verify(link, values=True)
    assert (found.problems, found.commits, found.subfiles) == ([], 2, 2)
    hs.fuse(link, tmp_path / "one.h5")
    assert values(tmp_path / "one.h5") == wanted
    lost = hs.WritePlan(link, "a")
    lost.task(0).finish()
    assert hs.vacuum(link, hours=0).removed == [lost.id]
    assert hs.index(link, "/x") and hs.query(link, "/", "x > 1").count() == 1
    by_plan(link, "w", 1)
    assert values(link) == [0] and link.is_symlink()


def test_an_index_of_a_file_that_is_reached_by_a_link(tmp_path: pathlib.Path) -> None:
    (tmp_path / "store").mkdir()
    real, link = tmp_path / "store/real.h5", tmp_path / "link.h5"
    with h5py.File(real, "w") as f:
        f.create_dataset("x", data=np.arange(1000), chunks=(100,), compression="gzip")
    link.symlink_to("store/real.h5")
    used = lambda path: "index X on x" in hs.query(path, "/", "x > 900").explain()  # noqa: E731
    for together in [False, True]:
        hs.index(real, "/x", level="X", together=together)
        assert used(real) and used(link) and hs.indexes.status(link) == []
        shutil.rmtree(tmp_path / "store" / ("hyperslab.hsidx" if together else "real.h5.hsidx"))
        assert not used(link)
    hs.index(link, "/x", level="X")  # next to the link, whose folder may be the only writable one
    assert (tmp_path / "link.h5.hsidx").is_dir() and used(link) and not used(real)
    shutil.rmtree(tmp_path / "link.h5.hsidx")
    hs.index(link, "/x", level="X", embedded=True)
    assert link.is_symlink() and used(link) and used(real)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.h5.hsidx").symlink_to("elsewhere")
    with pytest.raises(hs.UnsupportedError, match="is a symbolic link, which is not followed"):
        hs.index(link, "/x", rebuild=True)
    assert os.listdir(tmp_path / "elsewhere") == []


def pointing(path: pathlib.Path, at: str) -> None:
    """A file with an external link, a virtual dataset, and external raw data, all in `at`."""
    with h5py.File(path, "w", libver="latest") as f:
        f["link"] = h5py.ExternalLink(f"{at}source.h5", "/x")
        layout = h5py.VirtualLayout((3,), "i8")
        layout[:] = h5py.VirtualSource(f"{at}source.h5", "x", (3,))
        f.create_virtual_dataset("virtual", layout, fillvalue=-1)
        f.create_dataset("raw", (3,), "i8", external=[(f"{at}raw.bin", 0, 24)])


def read(path: pathlib.Path, name: str, opened: Callable[..., Any]) -> Any:
    try:
        return opened(path)[name][:].tolist()
    except (OSError, KeyError):
        return "missing"


@pytest.mark.parametrize("at", ["", "below/"])
@pytest.mark.parametrize("sources", ["real", "link", "both"])
def test_files_that_point_at_others_through_a_link(tmp_path: pathlib.Path, at: str, sources: str) -> None:
    """HDF5 looks where the link is, then where the file is. It finds external raw data by the working directory only; we
    look for them as for the others."""
    (tmp_path / "store").mkdir()
    pointing(tmp_path / "store/real.h5", at)
    (tmp_path / "link.h5").symlink_to("store/real.h5")
    for number, folder in enumerate(["", "store"]):
        if sources == "both" or sources == ("real" if folder else "link"):
            (tmp_path / folder / at).mkdir(exist_ok=True)
            with h5py.File(tmp_path / folder / at / "source.h5", "w") as f:
                f["x"] = np.arange(3) + 10 * number
            (np.arange(3) + 10 * number).astype("i8").tofile(tmp_path / folder / at / "raw.bin")
    wanted = [0, 1, 2] if sources in ("link", "both") else [10, 11, 12]
    for path in [tmp_path / "link.h5", tmp_path / "store/real.h5"]:
        for name in ["link", "virtual"]:
            there = read(path, name, h5py.File)
            if name == "virtual" and there == [-1, -1, -1]:
                there = "missing"
            assert read(path, name, hs.open) == there, (path.name, name)
    for name in ["link", "virtual", "raw"]:
        assert read(tmp_path / "link.h5", name, hs.open) == wanted
        anywhere = lambda path: hs.open(path, paths="anywhere")  # noqa: E731
        assert read(tmp_path / "link.h5", name, anywhere) == wanted


def test_a_link_widens_the_path_policy_to_the_folder_of_its_file_alone(tmp_path: pathlib.Path) -> None:
    (tmp_path / "store/below").mkdir(parents=True)
    (tmp_path / "links").mkdir()
    link = tmp_path / "links/link.h5"
    with h5py.File(tmp_path / "store/source.h5", "w") as f:
        f["x"] = [5]
    with h5py.File(tmp_path / "store/below/real.h5", "w") as f:
        f["up"] = h5py.ExternalLink("../source.h5", "/x")
        f["absolute"] = h5py.ExternalLink(str(tmp_path / "store/source.h5"), "/x")
        f["inside"] = h5py.ExternalLink(str(tmp_path / "store/below/source.h5"), "/x")
    link.symlink_to("../store/below/real.h5")
    shutil.copy(tmp_path / "store/source.h5", tmp_path / "store/below/source.h5")
    opened = hs.open(link)
    assert opened["inside"][:].tolist() == [5]
    for name in ["up", "absolute"]:
        with pytest.raises(hs.UnsupportedError, match="leaves the folder"):
            opened[name]
    anywhere = hs.open(link, paths="anywhere")
    assert [anywhere[name][:].tolist() for name in ["up", "absolute", "inside"]] == [[5], [5], [5]]
