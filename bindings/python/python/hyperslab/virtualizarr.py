"""For VirtualiZarr: `HyperslabParser`, a parser of HDF5 and netCDF-4 files."""

from .references.parser import HyperslabParser

__all__ = ["HyperslabParser"]
