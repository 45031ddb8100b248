"""Without nbclient, which has an environment of its own (`make test-notebook`), the tests are skipped."""

import importlib.util

if importlib.util.find_spec("nbclient") is None:
    collect_ignore_glob = ["test_*.py"]
