"""Without moto, which has an environment of its own (`make test-stores`), the tests are skipped. The folder above has the conformance
corpus and the server of ranges."""

import importlib.util
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
if importlib.util.find_spec("moto") is None or importlib.util.find_spec("boto3") is None:
    collect_ignore_glob = ["test_*.py"]
