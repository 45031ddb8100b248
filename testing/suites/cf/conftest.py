"""Without the judges, which have an environment of their own (`make test-cf`), the tests are skipped."""

import importlib.util

if importlib.util.find_spec("cf_xarray") is None:
    collect_ignore_glob = ["test_*.py"]
