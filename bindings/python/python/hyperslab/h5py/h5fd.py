"""As `h5py.h5fd`: drivers of HDF5. Hyperslab has none."""

from __future__ import annotations

from ._missing import missing_from

__getattr__ = missing_from("h5py.h5fd")
