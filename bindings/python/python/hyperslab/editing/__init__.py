"""Editing: existing HDF5 files that are changed, with h5py's interface. `hs.open(path, "r+")` leads here."""
