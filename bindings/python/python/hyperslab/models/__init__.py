"""Data models: what the arrays of a file mean. A module for each model has `open`; `File.models` recognizes them."""

from __future__ import annotations

from ..model_view import ModelArray, ModelView, Problem
from . import anndata, h5block, h5part, matlab, mpas, openpmd, pandas, pytables, ugrid

__all__ = ["ModelArray", "ModelView", "Problem", "anndata", "h5block", "h5part", "matlab", "mpas", "openpmd", "pandas", "pytables", "ugrid"]
