"""Makes `compare` importable for the tests beside it, and loads filters in the one order that works."""

import pathlib
import sys

# netCDF4's wheel points HDF5_PLUGIN_PATH at plug-ins of another libhdf5 when it is imported, which h5py
# would then load: hdf5plugin registers its own first.
import hdf5plugin  # noqa: F401

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
