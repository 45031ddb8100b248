"""Tables as files of other formats: Parquet, Arrow, CSV, JSON, HDF5 and netCDF, written batch by batch; whole files as containers of Arrow files."""
