"""Data models: what the arrays of a file mean. A module for each model has `open`; `File.models` recognizes them."""

from __future__ import annotations

from ..files.model_view import ModelArray, ModelView, Problem
from . import anndata, cf, chombo, flash, h5block, h5part, jld2, keras, matlab, mpas, nexus, nwb, openpmd, pandas, photon_hdf5, pytables, ugrid, vtkhdf

__all__ = [
    "ModelArray",
    "ModelView",
    "Problem",
    "anndata",
    "cf",
    "chombo",
    "flash",
    "h5block",
    "h5part",
    "jld2",
    "keras",
    "matlab",
    "mpas",
    "nexus",
    "nwb",
    "openpmd",
    "pandas",
    "photon_hdf5",
    "pytables",
    "ugrid",
    "vtkhdf",
]
