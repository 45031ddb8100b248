"""Hyperslab: HDF5 and netCDF as numpy, Arrow and SQL."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from ._native import __version__, register_filter, unregister_filter
from .base.counters import counters
from .base.errors import (
    CacheWarning,
    CalendarWarning,
    CancelledError,
    ConflictError,
    CorruptError,
    DecodingWarning,
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
from .base.extras import importing as _importing
from .base.profile import ProfileWarning, profile, warn_of_problem

if TYPE_CHECKING:
    from . import dtypes, indexes, models, spark
    from .advising import advise
    from .backends.unclosed import UnclosedWarning
    from .base.progress import Progress
    from .batching.batches import Batches, batches
    from .catalog.catalog import open_catalog, write_catalog
    from .checking.check import check, recover, stat
    from .comparing.diff import diff
    from .engines.duckdb_catalog import attach
    from .engines.polars_scan import scan_polars
    from .engines.sql import sql
    from .exporting.conversion import convert
    from .files.file import File, FileSet, open
    from .h5py.stand_in import install_as_h5py
    from .indexes import index
    from .joining.each import read_each
    from .joining.join import joined, virtual
    from .joining.merge import merge
    from .maintenance.operations import fuse, repack, vacuum, verify
    from .netcdf.plan import NetcdfPlan, NetcdfTask
    from .netcdf.writing import create_netcdf
    from .objects.attributes import Attributes
    from .objects.dataset import Dataset
    from .objects.datatype import Datatype
    from .objects.group import Group
    from .objects.links import ExternalLink, HardLink, SoftLink
    from .objects.virtual_layouts import VirtualLayout, VirtualSource
    from .querying.query import Query, query
    from .references.writing import write_references
    from .sources.storage import StorageLayout, StorageWarning, storage_layout
    from .tables.histogram import Histogram
    from .tables.table import Split, Table
    from .tables.times import elapsed
    from .tuning import tune
    from .values.arrays import Array
    from .values.batch_reader import BatchReader
    from .values.empty import Empty
    from .values.narrow_integers import integer_dtype
    from .values.new_references import NewAttributeReference, NewReference, NewRegionReference
    from .values.references import AttributeReference, Reference, RegionReference
    from .values.regions import RegionSelection
    from .writing.collecting import Collector
    from .writing.new_file import create
    from .writing.parallel import ManySubfilesWarning, Task, WritePlan
    from .writing.write_table import write_table
    from .xarray.opening_many import open_mfdataset
    from .xarray.writing import to_netcdf

#: Modules of the package that are public by their own names.
_MODULES = ("dtypes", "indexes", "models", "mpi", "ray", "spark")
#: The public names of each other module. Both are imported when they are first used: `import hyperslab` waits for no module that a
#: program may not need, nor for numpy and pyarrow.
_NAMES = {
    "advising": "advise",
    "backends.unclosed": "UnclosedWarning",
    "values.batch_reader": "BatchReader",
    "batching.batches": "Batches batches",
    "catalog.catalog": "open_catalog write_catalog",
    "checking.check": "check recover stat",
    "comparing.diff": "diff",
    "base.progress": "Progress",
    "engines.duckdb_catalog": "attach",
    "engines.polars_scan": "scan_polars",
    "engines.sql": "sql",
    "exporting.conversion": "convert",
    "files.file": "File FileSet open",
    "indexes": "index",
    "joining.each": "read_each",
    "joining.join": "joined virtual",
    "joining.merge": "merge",
    "maintenance.operations": "fuse repack vacuum verify",
    "netcdf.plan": "NetcdfPlan NetcdfTask",
    "netcdf.writing": "create_netcdf",
    "objects.attributes": "Attributes",
    "objects.dataset": "Dataset",
    "objects.datatype": "Datatype",
    "objects.group": "Group",
    "objects.links": "ExternalLink HardLink SoftLink",
    "objects.virtual_layouts": "VirtualLayout VirtualSource",
    "querying.query": "Query query",
    "references.writing": "write_references",
    "h5py.stand_in": "install_as_h5py",
    "sources.storage": "StorageLayout StorageWarning storage_layout",
    "tables.histogram": "Histogram",
    "tables.table": "Split Table",
    "tables.times": "elapsed",
    "tuning": "tune",
    "values.arrays": "Array",
    "values.empty": "Empty",
    "values.narrow_integers": "integer_dtype",
    "values.new_references": "NewAttributeReference NewReference NewRegionReference",
    "values.references": "AttributeReference Reference RegionReference",
    "values.regions": "RegionSelection",
    "writing.collecting": "Collector",
    "writing.new_file": "create",
    "writing.parallel": "ManySubfilesWarning Task WritePlan",
    "writing.write_table": "write_table",
    "xarray.opening_many": "open_mfdataset",
    "xarray.writing": "to_netcdf",
}
#: Classes of what functions return. They are documented, and imported from their modules if their names are needed.
_RESULTS = {
    "advising": "Advice",
    "catalog.catalog": "Cataloged",
    "checking.recovery": "LostPart RecoveredObject RecoveredValues Recovery",
    "checking.report": "CheckReport Finding",
    "checking.space": "Stat",
    "comparing.difference": "Comparison Difference",
    "comparing.values": "ValueDifference",
    "base.counters": "Counters",
    "engines.duckdb_catalog": "Attached",
    "exporting.conversion": "Converted",
    "joining.each": "EachFile",
    "joining.join": "JoinedFile",
    "joining.matching": "LeftOut",
    "joining.merge": "Merged",
    "maintenance.operations": "Fused Repacked VacuumResult Verification",
    "base.profile": "Profile",
    "querying.results": "CountBounds HistogramBounds Step",
    "references.writing": "References",
    "tuning": "Tuned",
    "writing.parallel": "Committed",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Array",
    "AttributeReference",
    "Attributes",
    "BatchReader",
    "Batches",
    "CacheWarning",
    "CalendarWarning",
    "CancelledError",
    "Collector",
    "ConflictError",
    "CorruptError",
    "Dataset",
    "Datatype",
    "DecodingWarning",
    "Empty",
    "Error",
    "ErrorKind",
    "ExternalLink",
    "File",
    "FileSet",
    "Group",
    "HardLink",
    "Histogram",
    "IndexWarning",
    "InternalError",
    "InvalidInputError",
    "IoError",
    "LimitExceededError",
    "ManySubfilesWarning",
    "MissingExtraError",
    "NetcdfPlan",
    "NetcdfTask",
    "NewAttributeReference",
    "NewReference",
    "NewRegionReference",
    "NotFoundError",
    "OmittedColumnsWarning",
    "ProfileWarning",
    "Progress",
    "Query",
    "ReadOnlyError",
    "Reference",
    "RegionReference",
    "RegionSelection",
    "SoftLink",
    "Split",
    "StorageLayout",
    "StorageWarning",
    "Table",
    "Task",
    "UnclosedWarning",
    "UnsupportedError",
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
    "elapsed",
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


#: What other libraries call the same, and what to write here.
_OTHER_WORDS = {
    "open_dataset": "xarray.open_dataset(path, engine='hyperslab'), or hyperslab.open(path)",
    "open_dataarray": "xarray.open_dataarray(path, engine='hyperslab'), or hyperslab.open(path)",
    "open_datatree": "xarray.open_datatree(path, engine='hyperslab'), or hyperslab.open(path)",
    "open_file": "hyperslab.open(path)",
    "read_hdf": "hyperslab.models.pandas.open(path)[key]",
    "HDFStore": "hyperslab.models.pandas.open(path)",
    "read_table": "hyperslab.open(path).table(name)",
    "MFDataset": "hyperslab.joined(paths)",
}


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used."""
    module = name if name in _MODULES else _MODULE_OF.get(name)
    if module is None:
        from difflib import get_close_matches

        hint = _OTHER_WORDS.get(name) or ", ".join(get_close_matches(name, __all__, 3))
        raise AttributeError(f"module 'hyperslab' has no attribute {name!r}" + (f": {hint}" if hint else ""))
    with _importing():
        found = _import_module(f".{module}", __name__)
    value = found if name in _MODULES else getattr(found, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What completion offers: the public names, and no modules of the inside."""
    return sorted({*__all__, "mpi", "ray"})


warn_of_problem()
del warn_of_problem
