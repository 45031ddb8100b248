"""Without VTK, which has an environment of its own (`make test-vtk`), the tests are skipped."""

import importlib.util

if importlib.util.find_spec("vtkmodules") is None:
    collect_ignore_glob = ["test_*.py"]
