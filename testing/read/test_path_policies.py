"""Which other files a file may make us open: external links, virtual sources, external raw data, members of family files."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

VALUES = np.arange(12)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with links that stay in it and links that lead out of it, to an HDF5 file and to raw numbers each."""
    here = tmp_path / "here"
    (here / "below").mkdir(parents=True)
    for place in (here / "inside", here / "below" / "inside", tmp_path / "secret"):
        with h5py.File(f"{place}.h5", "w") as f:
            f["x"] = VALUES
        VALUES.astype("<i8").tofile(f"{place}.raw")
    for kind in ("h5", "raw"):
        (here / f"leads_in.{kind}").symlink_to(f"below/inside.{kind}")
        (here / f"leads_back.{kind}").symlink_to(here / "below" / f"inside.{kind}")
        (here / f"leads_out.{kind}").symlink_to(f"../secret.{kind}")
    (here / "up").symlink_to("..")
    os.mkfifo(here / "pipe.h5")
    os.mkfifo(here / "pipe.raw")
    return here


INSIDE = ["inside", "below/inside", "leads_in", "leads_back"]
OUTSIDE = ["leads_out", "up/secret", "../secret"]


def asking(folder: pathlib.Path, name: str) -> list[pathlib.Path]:
    """A file that names `name` by an external link, a virtual dataset and external raw data."""
    made = []
    stem = name.replace("/", "_").replace(".", "_")
    for how in ("link", "virtual", "raw"):
        path = folder / f"{how}_{stem}.h5"
        with h5py.File(path, "w", libver="latest") as f:
            if how == "link":
                f["x"] = h5py.ExternalLink(f"{name}.h5", "/x")
            elif how == "virtual":
                layout = h5py.VirtualLayout(VALUES.shape, VALUES.dtype)
                layout[:] = h5py.VirtualSource(f"{name}.h5", "x", VALUES.shape)
                f.create_virtual_dataset("x", layout)
            else:
                f.create_dataset("x", VALUES.shape, "<i8", external=[(f"{name}.raw", 0, VALUES.nbytes)])
        made.append(path)
    return made


def read(path: pathlib.Path, **options: Any) -> list[int]:
    return hs.open(path, threads=1, **options)["x"][:].tolist()


@pytest.mark.parametrize("name", [*INSIDE, *OUTSIDE])
def test_names_are_followed_as_far_as_the_policy_says(folder: pathlib.Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in asking(folder, name):
        assert read(path, paths="anywhere") == VALUES.tolist()
        with pytest.raises(hs.UnsupportedError, match='paths=\\\\?"none'):
            read(path, paths="none")
        for options in ({}, {"paths": "below"}, {"paths": "folder"}):
            if name in INSIDE:
                assert read(path, **options) == VALUES.tolist()
            else:
                with pytest.raises(hs.UnsupportedError, match="anywhere"):
                    read(path, **options)
        # The same by a path without a folder.
        monkeypatch.chdir(folder)
        if name in INSIDE:
            assert read(pathlib.Path(path.name)) == VALUES.tolist()
        else:
            with pytest.raises(hs.UnsupportedError, match="anywhere"):
                read(pathlib.Path(path.name))


@pytest.mark.parametrize("policy", ["below", "anywhere"])
def test_a_pipe_is_refused_and_not_waited_for(folder: pathlib.Path, policy: str) -> None:
    for path in asking(folder, "pipe"):
        with pytest.raises(hs.Error, match="named pipe"):
            read(path, paths=policy)


def test_members_of_a_family_follow_the_policy(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "f%d.h5", "w", driver="family", memb_size=1 << 12) as f:
        f["x"] = np.arange(5000)
    first = tmp_path / "f0.h5"
    wanted = list(range(5000))
    assert read(first) == read(first, paths="anywhere") == wanted
    with pytest.raises(hs.UnsupportedError, match="several members"):
        read(first, paths="none")
    (tmp_path / "out").mkdir()
    moved = tmp_path / "out" / "f1.h5"
    (tmp_path / "f1.h5").rename(moved)
    (tmp_path / "f1.h5").symlink_to(moved)
    folder = tmp_path / "in"
    folder.mkdir()
    for member in sorted(tmp_path.glob("f*.h5")):
        (folder / member.name).write_bytes(member.read_bytes()) if member.name != "f1.h5" else (folder / member.name).symlink_to(moved)
    with pytest.raises(hs.UnsupportedError, match="leads out"):
        read(folder / "f0.h5")


def test_a_file_alone_needs_no_other(folder: pathlib.Path) -> None:
    assert read(folder / "inside.h5", paths="none") == VALUES.tolist()
    with pytest.raises(hs.InvalidInputError, match="none"):
        read(folder / "inside.h5", paths="nowhere")


def test_a_file_that_is_opened_by_a_link_finds_its_sources(folder: pathlib.Path) -> None:
    (path, *_) = asking(folder, "below/inside")
    elsewhere = folder.parent / "elsewhere.h5"
    elsewhere.symlink_to(path)
    assert read(elsewhere) == VALUES.tolist()
