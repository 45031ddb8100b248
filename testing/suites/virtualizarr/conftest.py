"""Without VirtualiZarr and Icechunk, which have an environment of their own (`make test-virtualizarr`), the tests are skipped."""

import importlib.util

if importlib.util.find_spec("virtualizarr") is None or importlib.util.find_spec("icechunk") is None:
    collect_ignore_glob = ["test_*.py"]
