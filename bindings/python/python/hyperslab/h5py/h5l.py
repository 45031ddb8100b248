"""As `h5py.h5l`: links; `Group.get(getlink=True)` reads them."""

from __future__ import annotations

from ._missing import missing_from

__getattr__ = missing_from("h5py.h5l")
