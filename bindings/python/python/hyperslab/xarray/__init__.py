"""xarray: the engine that opens files, many files as one, and Datasets that are written."""
