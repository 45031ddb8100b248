"""Without openpmd-api, which has an environment of its own (`make test-openpmd`), the tests are skipped."""

import importlib.util

if importlib.util.find_spec("openpmd_api") is None:
    collect_ignore_glob = ["test_*.py"]
