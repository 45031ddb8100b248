"""Processes that are killed while they create, remove, move, copy and describe objects: the file holds all of a commit, or nothing of it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import h5py
import hyperslab as hs
import pytest
from file_kinds import KINDS
from test_editing_objects import Room, content, differences

#: Kills of each kind of file.
KILLS = int(os.environ.get("EDITING_KILLS", "3"))


def work(folder: pathlib.Path, kind: str, first: int) -> None:
    """Commits random changes. What the file must hold after each commit is in h5py's file of its number, which is there before the commit."""
    draw = random.Random(f"{kind} {first}")
    room = Room.__new__(Room)
    room.draw, room.folder, room.kind, room.model, room.serial = draw, folder, kind, {}, 1000 * first
    room.ours, room.theirs, room.other = folder / "ours.h5", folder / "theirs.h5", folder / "other.h5"
    shutil.copy(folder / f"theirs.{first}.h5", room.theirs)
    for number in range(first + 1, first + 10_000):
        with hs.open(room.ours, "r+") as mine:
            with h5py.File(room.theirs, "r+") as theirs:
                for _ in range(draw.randrange(1, 8)):
                    room.change(mine, theirs)
            shutil.copy(room.theirs, folder / f"theirs.{number}.h5")
            print("commit", flush=True)
            mine.commit()
            print(number, flush=True)
        (folder / f"theirs.{number - 2}.h5").unlink(missing_ok=True)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_edit_of_objects_is_whole_or_not_there(tmp_path: pathlib.Path, kind: str) -> None:
    draw = random.Random(kind)
    room = Room(tmp_path, kind, draw)
    shutil.copy(room.theirs, tmp_path / "theirs.0.h5")
    last, refused = 0, 0
    for _ in range(KILLS):
        child = subprocess.Popen([sys.executable, __file__, str(tmp_path), kind, str(last)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        said = [last]
        for _ in range(draw.randrange(1, 4)):
            assert child.stdout.readline() == "commit\n", "the program ended by itself"
            begun = time.monotonic()
            said.append(int(child.stdout.readline()))
            took = time.monotonic() - begun
        assert child.stdout.readline() == "commit\n", "the program ended by itself"
        # Not a condition of the test: it spreads the kills over the steps of a commit.
        time.sleep(draw.random() * took)
        child.kill()
        said += [int(line) for line in child.stdout.read().split() if line != "commit"]
        child.wait()
        child.stdout.close()
        try:
            h5py.File(room.ours).close()
        except OSError:
            refused += 1
        hs.open(room.ours, "r+").close()
        with h5py.File(room.ours) as f:
            found = content(f)
        for number in (said[-1], said[-1] + 1):
            with contextlib.suppress(FileNotFoundError), h5py.File(tmp_path / f"theirs.{number}.h5", "r") as f:
                if differences(found, content(f)) == []:
                    last = number
                    break
        else:
            raise AssertionError(f"neither the state of commit {said[-1]} nor of the next one")
        assert not [line for line in hs.check(room.ours).findings if line.severity == "error"]
        for path in tmp_path.glob("theirs.*.h5"):
            if path.name != f"theirs.{last}.h5":
                path.unlink()
    print(f"{KILLS} kills, {refused} while an edit was applied")


if __name__ == "__main__":
    work(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
