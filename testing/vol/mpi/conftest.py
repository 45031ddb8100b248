"""These tests run with the environment of MPI; nothing here imports Hyperslab's package."""

import pytest


@pytest.fixture
def poisoned() -> None:
    """In place of the one that needs the Python package."""
