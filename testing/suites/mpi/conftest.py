"""These tests need the environment of `make test-mpi`; elsewhere there is nothing to collect."""

import importlib.util

if importlib.util.find_spec("mpi4py") is None:
    collect_ignore_glob = ["test_*.py"]
