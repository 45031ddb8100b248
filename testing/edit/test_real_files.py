"""Files of the conformance corpus are edited: what was added is there, and everything else is bit by bit as it was."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import shutil
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

CORPUS = pathlib.Path.home() / ".cache" / "hyperslab" / "conformance" / "files"
COUNT = int(os.environ.get("EDITING_FILES", "200"))
MAX_BYTES = 4_000_000
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def sample() -> list[pathlib.Path]:
    """HDF5 files of the corpus that h5py opens, the same each time."""
    found = []
    for path in sorted(CORPUS.rglob("*")):
        if path.is_file() and not path.is_symlink() and 0 < path.stat().st_size < MAX_BYTES:
            head = path.read_bytes()[: 1 << 12]
            if any(head[place : place + 8] == SIGNATURE for place in (0, 512, 1024, 2048)):
                found.append(path)
    random.Random(28).shuffle(found)
    return found


def content(path: pathlib.Path) -> dict[str, Any]:
    """Values, attributes and storage of each object, as h5py reads them."""
    found: dict[str, Any] = {}

    def attributes(item: Any) -> list[Any]:
        shown = []
        for name in sorted(item.attrs):
            raw = h5py.h5a.open(item.id, name.encode("utf-8", "surrogateescape"))
            try:
                value = item.attrs[name]
                shown.append((name, raw.shape, repr(value) if getattr(value, "dtype", None) is None or value.dtype.hasobject else value.tobytes()))
            except (OSError, TypeError, ValueError) as error:
                shown.append((name, type(error).__name__))
        return shown

    def look(name: str, item: Any) -> None:
        about: list[Any] = [type(item).__name__, attributes(item)]
        if isinstance(item, h5py.Dataset):
            about += [item.shape, item.maxshape, item.chunks, item.id.get_type().encode() if item.id.get_type().committed() is False else None]
            # Stored chunks without decoding them, and values where they are not compressed.
            if item.chunks is not None and item.shape and all(item.shape):
                for index in range(min(item.id.get_num_chunks(), 50)):
                    chunk = item.id.get_chunk_info(index)
                    about.append((chunk.chunk_offset, item.id.read_direct_chunk(chunk.chunk_offset)))
            elif item.shape is not None and item.size < 100_000:
                try:
                    value = item[()]
                    about.append(repr(value) if item.dtype.hasobject else np.asarray(value).tobytes())
                except (OSError, TypeError, ValueError) as error:
                    about.append(type(error).__name__)
        found[name] = about

    with h5py.File(path, "r") as f:
        look("/", f)
        f.visititems(look)
    return found


@pytest.mark.skipif(not CORPUS.is_dir(), reason="make conformance downloads the files")
def test_files_of_the_corpus_are_edited(tmp_path: pathlib.Path) -> None:
    edited, refused = 0, dict[str, int]()
    files = sample()
    for source in files:
        if edited == COUNT:
            break
        path = tmp_path / "edited.h5"
        shutil.copy(source, path)
        path.chmod(0o600)
        try:
            before = content(path)
        except Exception:
            continue  # h5py does not read all of it
        try:
            with hs.open(path, "r+", format="hdf5") as f:
                f.create_dataset("edited by us/values", data=np.arange(1000), chunks=(100,), compression="gzip")
                f["edited by us"].attrs["text"] = "é"
                f.create_dataset("edited by us/gone", data=np.arange(5000))
                f.commit()
                del f["edited by us/gone"]
                f.attrs["edited by us"] = 28
                f.move("edited by us/values", "edited by us/moved")
        except (hs.UnsupportedError, hs.ConflictError) as error:
            reason = str(error).partition("(file")[0].strip()
            refused[reason] = refused.get(reason, 0) + 1
            # A name that was refused after a commit leaves what was committed.
            continue
        after = content(path)
        assert after.pop("edited by us")[0] == "Group" and after.pop("edited by us/moved")[2] == (1000,)
        with h5py.File(path, "r+") as f:
            assert f.attrs["edited by us"] == 28 and f["edited by us/moved"][999] == 999 and f["edited by us"].attrs["text"] == "é"
            assert "gone" not in f["edited by us"]
            # h5py goes on in it.
            f["edited by us/by h5py"] = 1
        root = after["/"]
        root[1] = [attribute for attribute in root[1] if attribute[0] != "edited by us"]
        assert after == before, source
        with contextlib.suppress(hs.UnsupportedError):
            known = {(one.kind, one.path) for one in hs.check(source).findings if one.severity == "error"}
            assert {(one.kind, one.path) for one in hs.check(path).findings if one.severity == "error"} <= known, source
        edited += 1
    print(f"{edited} files edited; refused: {refused}")
    # Other suites fetch a few of the packages only.
    assert edited >= min(COUNT, 50, len(files) // 2)
