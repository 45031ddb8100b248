"""As `h5py.h5pl`: HDF5's plugins. Hyperslab loads none."""

from __future__ import annotations

from ._missing import missing_from

__getattr__ = missing_from("h5py.h5pl")
