"""Joining: the arrays of many files as the arrays of one, in memory or as an HDF5 file of virtual datasets."""
