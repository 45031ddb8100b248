"""A pytest plugin for h5netcdf's own suite: what it opens for reading with h5py is opened with `hyperslab.h5py`.

h5py itself writes the files. h5netcdf keeps the module that it reads with in each of its files, so that its `h5py` is replaced
while a file is opened for reading."""

from __future__ import annotations

import sys
from typing import Any

import h5netcdf.core
import h5py
import hyperslab as hs

_real = {name: module for name, module in sys.modules.items() if name == "h5py" or name.startswith("h5py.")}
hs.install_as_h5py()
_ours = sys.modules["h5py"]
# Ours keeps h5py's names, by which h5netcdf tells its backends apart; the tests import the real one.
for _name in [name for name in sys.modules if name == "h5py" or name.startswith("h5py.")]:
    del sys.modules[_name]
sys.modules.update(_real)

#: It reads a file that h5netcdf's wheel does not contain.
LEFT_OUT = ("test_is_classic",)

_before = h5netcdf.core.File.__init__
#: Opened with Hyperslab, and left to h5py, in the whole run.
opened: dict[str, int] = {"hyperslab": 0, "h5py": 0}


def _init(self: Any, path: Any, mode: str = "r", *arguments: Any, **options: Any) -> None:
    backend = options.get("backend") or (arguments[3] if len(arguments) > 3 else None)
    takes = mode == "r" and backend in (None, "h5py") and not isinstance(path, h5py.File) and not str(path).startswith(("http", "hdf5:", "s3:"))
    opened["hyperslab" if takes else "h5py"] += 1
    h5netcdf.core.h5py = _ours if takes else h5py
    try:
        _before(self, path, mode, *arguments, **options)
    finally:
        h5netcdf.core.h5py = h5py


h5netcdf.core.File.__init__ = _init


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    left_out = [item for item in items if item.name in LEFT_OUT]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"files opened: {opened}")
