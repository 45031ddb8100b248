"""HDF5 files that are written: objects, filters, tables, and parts by many writers."""
