"""Files that a writer still appends to (SWMR): open, read what is promised, see more after a refresh."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import hyperslab as hs
import numpy as np

WRITER = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w", libver="latest") as f:
    for name, maxshape in (("rows", (None, 5)), ("both", (None, None))):
        f.create_dataset(name, (0, 5), "i4", maxshape=maxshape, chunks=(3, 5), fillvalue=-1)
    f.swmr_mode = True
    print("open", flush=True)
    rows = 0
    for line in sys.stdin:
        for _ in range(int(line)):
            rows += 1
            for name in ("rows", "both"):
                f[name].resize((rows, 5))
                f[name][rows - 1] = np.arange(5) + 10 * rows
                f[name].flush()
        print(rows, flush=True)
"""


def test_a_reader_sees_what_was_flushed_and_more_after_a_refresh(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
        f = hs.open(path)
        d = f["rows"]
        assert d.shape == (0, 5)
        written = 0
        for more in (1, 2, 10, 300):
            writer.stdin.write(f"{more}\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == f"{written + more}\n"
            assert d.shape == (written, 5), "a snapshot does not change under its reader"
            written += more
            wanted = np.arange(5) + 10 * np.arange(1, written + 1)[:, None]
            d.refresh()
            assert d.shape == (written, 5)
            np.testing.assert_array_equal(d[...], wanted)
            f.refresh()
            np.testing.assert_array_equal(f["both"][...], wanted)
            assert f.table("/rows", layout="rows").count() == written
    finally:
        writer.kill()


def test_reading_while_the_writer_is_busy_never_shows_damage(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
        writer.stdin.write("3000\n")
        writer.stdin.flush()
        seen, f = 0, hs.open(path)
        for _ in range(200):
            f.refresh()
            rows = f["rows"][...]
            assert len(rows) >= seen
            seen = len(rows)
            complete = rows[: max(0, seen - 1)]  # the last row may have its extent before its values
            np.testing.assert_array_equal(complete, np.arange(5) + 10 * np.arange(1, len(complete) + 1)[:, None])
        assert seen > 0
    finally:
        writer.kill()
