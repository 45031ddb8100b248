"""Without the libraries of the instruments, which have an environment of their own (`make test-instruments`), the tests are skipped."""

import importlib.util

if importlib.util.find_spec("pynwb") is None:
    collect_ignore_glob = ["test_*.py"]
