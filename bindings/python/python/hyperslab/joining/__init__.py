"""Joining: the arrays of many files as those of one, in memory or as an HDF5 file of virtual datasets."""
