"""A server for tests that write to an object store."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Iterator

import pytest
from range_server import Server, serving


@pytest.fixture
def clean_server(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A store, and a folder for temporary files that must be empty at the end."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with serving() as made:
        yield made
    assert os.listdir(tmp_path / "temporary") == [] and made.uploads == {}
