"""These tests need the environment of `make test-vol-mpi`; elsewhere there is nothing to collect."""

import importlib.util

import pytest

if importlib.util.find_spec("mpi4py") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def poisoned() -> None:
    """In place of the one that needs the Python package."""
