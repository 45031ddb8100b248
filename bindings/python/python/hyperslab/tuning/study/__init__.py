"""Study: the experiments of the 2015 study of HDF5 and netCDF-4 on Lustre, and the sweeps of the 2017 paper on subfiling, run
again on any file system."""

from __future__ import annotations

from .runner import Study, run_study

__all__ = ["Study", "run_study"]
