"""Stand-in: `hyperslab.h5py` in h5py's place, for libraries that import h5py."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from ..base.type_aliases import OpenOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

_OURS = "hyperslab.h5py"

#: Modules of h5py that were loaded before, and what was changed, as long as ours stand in.
_replaced: dict[str, ModuleType] | None = None
_renamed: list[tuple[object, str, str]] = []


class H5pyInstallation:
    """What `install_as_h5py` returns: `undo` or the end of `with` ends it."""

    def undo(self) -> None:
        """Puts h5py back. Modules that imported ours meanwhile keep it."""
        global _replaced
        if _replaced is None:
            return
        for name in list(_h5py_modules()):
            del sys.modules[name]
        sys.modules.update(_replaced)
        for thing, attribute, before in reversed(_renamed):
            setattr(thing, attribute, before)
        _renamed.clear()
        _replaced = None

    def __enter__(self) -> H5pyInstallation:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()


def install_as_h5py(**options: Unpack[OpenOptions]) -> H5pyInstallation:
    """Puts `hyperslab.h5py` in h5py's place for this process: `import h5py` is Hyperslab from then on.

    Call it before the libraries that import h5py: modules that have imported h5py keep it.

    Args:
        options: Arguments of `hyperslab.open` for all files, such as `threads=2` or `paths="below"`. By default, links may lead
            to any file, and missing sources of virtual datasets are the fill value, as in h5py.

    Returns:
        An object whose `undo()`, or the end of a `with` block of it, puts h5py back.

    Example:
        >>> with hs.install_as_h5py():
        ...     import anndata
        ...     cells = anndata.read_h5ad("cells.h5ad")
    """
    global _replaced
    ours = importlib.import_module(_OURS)
    importlib.import_module(f"{_OURS}._hl.files").open_options.update(options)
    if _replaced is not None:
        return H5pyInstallation()
    _replaced = {name: sys.modules.pop(name) for name in list(_h5py_modules())}
    for name, module in [(name, module) for name, module in sys.modules.items() if name == _OURS or name.startswith(f"{_OURS}.")]:
        sys.modules["h5py" + name[len(_OURS) :]] = module
        # Libraries look at the names of classes and modules to tell h5py's objects from others.
        for thing, attribute in [(module, "__name__"), *((kind, "__module__") for kind in vars(module).values() if isinstance(kind, type))]:
            before = getattr(thing, attribute)
            if before == _OURS or before.startswith(f"{_OURS}."):
                _renamed.append((thing, attribute, before))
                setattr(thing, attribute, "h5py" + before[len(_OURS) :])
    sys.modules["h5py"] = ours
    return H5pyInstallation()


def _h5py_modules() -> Iterator[str]:
    return (name for name in sys.modules if name == "h5py" or name.startswith("h5py."))
