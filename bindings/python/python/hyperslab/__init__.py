"""Hyperslab: HDF5 and netCDF as numpy, Arrow and SQL."""

from ._native import __version__, register_filter, unregister_filter
from .errors import (CancelledError, ConflictError, CorruptError, Error, InternalError, InvalidInputError, IoError,
                     LimitExceededError, NotFoundError, UnsupportedError)
from .file import File, FileSet, open
from .attributes import Attributes, Empty
from .objects import Dataset, Group
from .references import AttributeReference, Reference, RegionReference
from . import dtypes, spark
from .sql import sql
from .table import Split, Table

__all__ = ["AttributeReference", "Attributes", "CancelledError", "ConflictError", "CorruptError", "Dataset", "Empty", "Error", "File", "FileSet",
           "Group", "InternalError", "InvalidInputError", "IoError", "LimitExceededError", "NotFoundError", "Reference", "RegionReference", "Split",
           "Table", "UnsupportedError", "__version__", "open", "register_filter", "spark", "sql", "unregister_filter"]
