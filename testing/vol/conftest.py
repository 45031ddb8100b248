"""These tests run programs of other packages; nothing here imports Hyperslab's."""

import pathlib

import pytest
from programs import PLUGIN


@pytest.fixture
def poisoned() -> None:
    """In place of the one that needs the Python package."""


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    assert PLUGIN.exists(), f"{PLUGIN} is missing: make vol"
    folder = tmp_path_factory.mktemp("plugins")
    (folder / PLUGIN.name).symlink_to(PLUGIN)
    return folder
