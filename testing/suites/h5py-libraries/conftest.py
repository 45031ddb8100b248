"""These tests need the libraries of requirements.txt: without them, `make test-python` leaves them out."""

import importlib.util

collect_ignore_glob = [] if all(map(importlib.util.find_spec, ("anndata", "pynwb", "kerchunk"))) else ["test_*.py"]
