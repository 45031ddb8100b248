"""NetCDF-4 files that are written: dimensions, variables, times, plans for many writers."""
