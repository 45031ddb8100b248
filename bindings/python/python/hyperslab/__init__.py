"""Hyperslab: HDF5 and netCDF as numpy, Arrow and SQL."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from . import dtypes, indexes, spark
from ._native import __version__, register_filter, unregister_filter
from .batch_reader import BatchReader
from .checking.check import check, recover, stat
from .checking.recovery import LostPart, RecoveredObject, RecoveredValues, Recovery
from .checking.report import CheckReport, Finding
from .checking.space import Stat
from .comparing.diff import diff
from .comparing.difference import Comparison, Difference
from .comparing.values import ValueDifference
from .counters import Counters, counters
from .display.progress import Progress
from .editing.edited_file import EditedDataset, EditedFile, EditedGroup
from .engines.polars_scan import scan_polars
from .errors import (
    CacheWarning,
    CancelledError,
    ConflictError,
    CorruptError,
    Error,
    ErrorKind,
    IndexWarning,
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
from .exporting import rows as _rows  # noqa: F401, it gives tables their method `write`
from .exporting.conversion import Converted, convert
from .extras import importing as _importing
from .file import File, FileSet, open
from .indexes import index
from .joining.each import EachFile, read_each
from .joining.join import JoinedFile, joined, virtual
from .joining.matching import LeftOut
from .joining.merge import Merged, merge
from .maintenance import Fused, Repacked, VacuumResult, Verification, fuse, repack, vacuum, verify
from .netcdf.plan import NetcdfPlan, NetcdfTask
from .netcdf.writing import NewNetcdf, create_netcdf
from .objects.attributes import Attributes, Empty
from .objects.dataset import Dataset
from .objects.datatype import Datatype
from .objects.group import Group
from .profile import Profile, ProfileWarning, profile, warn_of_problem
from .querying.query import Query, query
from .querying.results import CountBounds, HistogramBounds, Step
from .references.writing import References, write_references
from .stand_in import install_as_h5py
from .storage import StorageLayout, StorageWarning, storage_layout
from .tables.histogram import Histogram
from .tables.table import Split, Table
from .values.arrays import Array
from .values.narrow_integers import integer_dtype
from .values.references import AttributeReference, Reference, RegionReference
from .values.regions import RegionSelection
from .writing.collecting import Collector
from .writing.new_file import (
    ExternalLink,
    HardLink,
    NewAttributeReference,
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
from .writing.parallel import Committed, ManySubfilesWarning, Task, WritePlan
from .writing.unclosed import UnclosedWarning
from .writing.write_table import write_table
from .xarray.opening_many import open_mfdataset, to_netcdf
from .xarray.writing import write_xarray

if TYPE_CHECKING:
    from . import models
    from .advising import Advice, advise
    from .batching.batches import Batches, batches
    from .catalog.catalog import Cataloged, open_catalog, write_catalog
    from .engines.duckdb_catalog import Attached, attach
    from .engines.sql import sql
    from .tuning import Tuned, tune

#: The modules of names that are imported when they are first used.
_LATE = {
    "Advice": ".advising",
    "Attached": ".engines.duckdb_catalog",
    "Batches": ".batching.batches",
    "Cataloged": ".catalog.catalog",
    "Tuned": ".tuning",
    "advise": ".advising",
    "attach": ".engines.duckdb_catalog",
    "batches": ".batching.batches",
    "models": "",
    "open_catalog": ".catalog.catalog",
    "sql": ".engines.sql",
    "tune": ".tuning",
    "write_catalog": ".catalog.catalog",
}

__all__ = [
    "Advice",
    "Array",
    "Attached",
    "AttributeReference",
    "Attributes",
    "BatchReader",
    "Batches",
    "CacheWarning",
    "CancelledError",
    "Cataloged",
    "CheckReport",
    "Collector",
    "Committed",
    "Comparison",
    "ConflictError",
    "Converted",
    "CorruptError",
    "CountBounds",
    "Counters",
    "Dataset",
    "Datatype",
    "Difference",
    "EachFile",
    "EditedDataset",
    "EditedFile",
    "EditedGroup",
    "Empty",
    "Error",
    "ErrorKind",
    "ExternalLink",
    "File",
    "FileSet",
    "Finding",
    "Fused",
    "Group",
    "HardLink",
    "Histogram",
    "HistogramBounds",
    "IndexWarning",
    "InternalError",
    "InvalidInputError",
    "IoError",
    "JoinedFile",
    "LeftOut",
    "LimitExceededError",
    "LostPart",
    "ManySubfilesWarning",
    "Merged",
    "MissingExtraError",
    "NetcdfPlan",
    "NetcdfTask",
    "NewAttributeReference",
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
    "Progress",
    "Query",
    "ReadOnlyError",
    "RecoveredObject",
    "RecoveredValues",
    "Recovery",
    "Reference",
    "References",
    "RegionReference",
    "RegionSelection",
    "Repacked",
    "SoftLink",
    "Split",
    "Stat",
    "Step",
    "StorageLayout",
    "StorageWarning",
    "Table",
    "Task",
    "Tuned",
    "UnclosedWarning",
    "UnsupportedError",
    "VacuumResult",
    "ValueDifference",
    "Verification",
    "VirtualLayout",
    "VirtualSource",
    "WritePlan",
    "__version__",
    "advise",
    "attach",
    "batches",
    "check",
    "convert",
    "counters",
    "create",
    "create_netcdf",
    "diff",
    "dtypes",
    "fuse",
    "index",
    "indexes",
    "install_as_h5py",
    "integer_dtype",
    "joined",
    "merge",
    "models",
    "open",
    "open_catalog",
    "open_mfdataset",
    "profile",
    "query",
    "read_each",
    "recover",
    "register_filter",
    "repack",
    "scan_polars",
    "spark",
    "sql",
    "stat",
    "storage_layout",
    "to_netcdf",
    "tune",
    "unregister_filter",
    "vacuum",
    "verify",
    "virtual",
    "write_catalog",
    "write_references",
    "write_table",
    "write_xarray",
]


def load_ipython_extension(shell: object) -> None:
    """`%load_ext hyperslab`: makes `%sql` and `%%sql` known.

    Args:
        shell: The shell of IPython.

    Example:
        >>> load_ipython_extension(get_ipython())
    """
    with _importing():
        from .engines.magic import register
    register(shell)


def __getattr__(name: str) -> Any:
    """What few programs need: `import hyperslab` shall not wait for it, nor for DuckDB, pyarrow's datasets and pandas."""
    if name not in _LATE:
        raise AttributeError(f"module 'hyperslab' has no attribute {name!r}")
    with _importing():
        value = getattr(_import_module(_LATE[name], __name__), name) if _LATE[name] else _import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What completion offers: the public names, and no modules of the inside."""
    return sorted({*__all__, "mpi"})


warn_of_problem()
del warn_of_problem
