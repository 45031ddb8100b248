"""These tests run programs of other packages; nothing here imports Hyperslab's."""

import pytest


@pytest.fixture
def poisoned() -> None:
    """In place of the one that needs the Python package."""
