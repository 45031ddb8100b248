"""References: where the chunks of HDF5 files lie, for readers of Zarr: VirtualiZarr, kerchunk, Icechunk."""
