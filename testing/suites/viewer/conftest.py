"""Without Playwright, which has an environment of its own (`make test-viewer`), the tests are skipped."""

import importlib.util

if importlib.util.find_spec("playwright") is None:
    collect_ignore_glob = ["test_*.py"]
