"""Without PyTorch, which has an environment of its own (`make test-torch`), the tests are skipped."""

import importlib.util

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
