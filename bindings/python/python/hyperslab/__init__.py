"""Hyperslab: HDF5 and netCDF as numpy, Arrow and SQL."""

from . import dtypes, indexes, models, spark
from ._native import __version__, register_filter, unregister_filter
from .advising import Advice, advise
from .arrays import Array
from .attributes import Attributes, Empty
from .batch_reader import BatchReader
from .batches import Batches, batches
from .counters import Counters, counters
from .dataset import Dataset
from .datatype import Datatype
from .duckdb_catalog import Attached, attach
from .errors import (
    CancelledError,
    ConflictError,
    CorruptError,
    Error,
    ErrorKind,
    InternalError,
    InvalidInputError,
    IoError,
    LimitExceededError,
    MissingExtraError,
    NotFoundError,
    OmittedColumnsWarning,
    ReadOnlyError,
    UnsupportedError,
)
from .file import File, FileSet, open
from .group import Group
from .indexes import index
from .maintenance import Fused, VacuumResult, Verification, fuse, vacuum, verify
from .mfdataset import open_mfdataset, to_netcdf
from .narrow_integers import integer_dtype
from .netcdf_plan import NetcdfPlan, NetcdfTask
from .netcdf_writing import NewNetcdf, create_netcdf
from .netcdf_xarray import write_xarray
from .parallel import Committed, ManySubfilesWarning, Task, WritePlan
from .polars_scan import scan_polars
from .profile import Profile, ProfileWarning, profile, warn_of_problem
from .query import Query, query
from .query_results import CountBounds, Histogram, HistogramBounds, Step
from .references import AttributeReference, Reference, RegionReference, RegionSelection
from .sql import sql
from .stand_in import install_as_h5py
from .storage import StorageLayout, StorageWarning, storage_layout
from .table import Split, Table
from .tuning import Tuned, tune
from .unclosed import UnclosedWarning
from .write_table import write_table
from .writing import (
    ExternalLink,
    HardLink,
    NewDataset,
    NewDatatype,
    NewFile,
    NewGroup,
    NewReference,
    NewRegionReference,
    SoftLink,
    VirtualLayout,
    VirtualSource,
    create,
)

__all__ = [
    "Advice",
    "Array",
    "Attached",
    "AttributeReference",
    "Attributes",
    "BatchReader",
    "Batches",
    "CancelledError",
    "Committed",
    "ConflictError",
    "CorruptError",
    "CountBounds",
    "Counters",
    "Dataset",
    "Datatype",
    "Empty",
    "Error",
    "ErrorKind",
    "ExternalLink",
    "File",
    "FileSet",
    "Fused",
    "Group",
    "HardLink",
    "Histogram",
    "HistogramBounds",
    "InternalError",
    "InvalidInputError",
    "IoError",
    "LimitExceededError",
    "ManySubfilesWarning",
    "MissingExtraError",
    "NetcdfPlan",
    "NetcdfTask",
    "NewDataset",
    "NewDatatype",
    "NewFile",
    "NewGroup",
    "NewNetcdf",
    "NewReference",
    "NewRegionReference",
    "NotFoundError",
    "OmittedColumnsWarning",
    "Profile",
    "ProfileWarning",
    "Query",
    "ReadOnlyError",
    "Reference",
    "RegionReference",
    "RegionSelection",
    "SoftLink",
    "Split",
    "Step",
    "StorageLayout",
    "StorageWarning",
    "Table",
    "Task",
    "Tuned",
    "UnclosedWarning",
    "UnsupportedError",
    "VacuumResult",
    "Verification",
    "VirtualLayout",
    "VirtualSource",
    "WritePlan",
    "__version__",
    "advise",
    "attach",
    "batches",
    "counters",
    "create",
    "create_netcdf",
    "dtypes",
    "fuse",
    "index",
    "indexes",
    "install_as_h5py",
    "integer_dtype",
    "models",
    "open",
    "open_mfdataset",
    "profile",
    "query",
    "register_filter",
    "scan_polars",
    "spark",
    "sql",
    "storage_layout",
    "to_netcdf",
    "tune",
    "unregister_filter",
    "vacuum",
    "verify",
    "write_table",
    "write_xarray",
]

warn_of_problem()
del warn_of_problem
