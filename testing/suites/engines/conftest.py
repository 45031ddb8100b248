"""Without DataFusion and Ray, which have an environment of their own (`make test-engines`), the tests are skipped."""

import importlib.util
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib"))

if importlib.util.find_spec("datafusion") is None or importlib.util.find_spec("ray") is None:
    collect_ignore_glob = ["test_*.py"]
