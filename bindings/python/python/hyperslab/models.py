"""Data models: what the arrays of a file mean. A module for each model has `open`; `File.models` recognizes them."""

from __future__ import annotations

from . import model_anndata as anndata
from . import model_h5block as h5block
from . import model_h5part as h5part
from . import model_matlab as matlab
from . import model_mpas as mpas
from . import model_openpmd as openpmd
from . import model_pandas as pandas
from . import model_pytables as pytables
from . import model_ugrid as ugrid
from .model_view import ModelArray, ModelView, Problem

__all__ = ["ModelArray", "ModelView", "Problem", "anndata", "h5block", "h5part", "matlab", "mpas", "openpmd", "pandas", "pytables", "ugrid"]
