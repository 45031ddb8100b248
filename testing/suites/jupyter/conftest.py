"""Without a Jupyter server, which has an environment of its own (`make test-jupyter`), the tests are skipped."""

import importlib.util

if importlib.util.find_spec("jupyter_server") is None:
    collect_ignore_glob = ["test_*.py"]
