"""These tests run programs of other packages; nothing here imports Hyperslab's."""

import pathlib

import pytest
from programs import CONTAINER_PROGRAM, PLUGIN, run


@pytest.fixture
def poisoned() -> None:
    """In place of the one that needs the Python package."""


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    assert PLUGIN.exists(), f"{PLUGIN} is missing: make vol"
    folder = tmp_path_factory.mktemp("plugins")
    (folder / PLUGIN.name).symlink_to(PLUGIN)
    return folder


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The file that the program of containers writes without the connector."""
    path = tmp_path_factory.mktemp("native") / "out.h5"
    done = run([str(CONTAINER_PROGRAM), str(path)])
    assert done.returncode == 0, done.stderr
    return path
