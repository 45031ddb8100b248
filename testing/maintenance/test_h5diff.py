"""`hs.diff` says what `h5diff` says: of a file and itself, of one changed value, of one removed object, and of copies."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import dump_tools
import h5diff
import h5py
import pytest
from test_same_copies import EXAMPLES, MADE

pytestmark = pytest.mark.skipif(dump_tools.program("h5diff") is None, reason="needs h5diff (make dump-tools)")
EXPECTED = {"same": "equal", "changed value": "different", "removed object": "different", "repacked": "equal"}


def check(path: pathlib.Path, folder: pathlib.Path) -> None:
    found = list(h5diff.verdicts(path, folder))
    assert {one.pair for one in found} >= {"same", "removed object", "repacked"}
    assert [one for one in found if {one.theirs, one.ours} - {"unread"} != {EXPECTED[one.pair]} or one.ours == "unread"] == []


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_files_of_each_kind(make: Callable[[pathlib.Path], None], tmp_path: pathlib.Path) -> None:
    make(tmp_path / "original.h5")
    check(tmp_path / "original.h5", tmp_path)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_real_files(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if not h5py.is_hdf5(path):
        pytest.skip("netCDF classic")
    check(path, tmp_path)
