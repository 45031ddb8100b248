"""Type aliases: types that the signatures of several public functions share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias, TypedDict

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow.dataset

#: A path of a file or folder.
Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
#: A path, a glob, or several paths.
Paths = Path | Iterable[Path]
#: Any dtype, and arrays of any shape: of any dtype, or of the dtype in the name.
AnyDtype = np.dtype[Any]
AnyArray = np.ndarray[Any, AnyDtype]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]
UInt64Array = np.ndarray[Any, np.dtype[np.uint64]]
Int64Array = np.ndarray[Any, np.dtype[np.int64]]
Float32Array = np.ndarray[Any, np.dtype[np.float32]]
Float64Array = np.ndarray[Any, np.dtype[np.float64]]
# What is given is tested when it is used. Any object is accepted, and these names say what it should be:

#: What indexes a dataset: an index, a slice, `...`, a list or array of indexes, a mask, the name of a field, several in a tuple, or a reference to a
#: region.
Key: TypeAlias = object
#: What is stored: what numpy makes an array of, text, references, sequences of any length, or `Empty`.
Values: TypeAlias = object
#: Names of attributes and their values.
AttributeValues = Mapping[str, Values]

#: The value of an argument that is passed on by its name, to a function whose signature has its type: a name for `Any`.
Option = Any

#: The path of an object in a file, or the name of an attribute.
Name: TypeAlias = str | bytes
#: What numpy makes a dtype of.
DtypeLike: TypeAlias = "npt.DTypeLike"
#: A shape: one extent or several; of a largest shape `None` is an extent without limit.
ShapeLike: TypeAlias = SupportsIndex | Iterable[SupportsIndex]
MaxShapeLike: TypeAlias = SupportsIndex | Iterable[SupportsIndex | None]
#: What indexes an array of numpy.
ArrayKey: TypeAlias = (
    "SupportsIndex | slice | EllipsisType | Sequence[int] | AnyArray | tuple[SupportsIndex | slice | EllipsisType | Sequence[int] | AnyArray, ...]"
)
#: The part of a dataset that one task writes: the first element of each dimension, and how many.
Region: TypeAlias = tuple[list[int], list[int]]

# What lies in a file or a document is known only when it is read. The functions that return it have these names for `Any`:

#: Elements of a dataset: an array; for one element a numpy scalar, `bytes`, a `Reference`, or an array if elements have variable
#: length; `Empty` for a null dataspace. The type depends on the key and on the dtype in the file.
Elements = Any
#: The value of an attribute: an array, a numpy scalar, `str` for text, a `Reference`, or `Empty`, by the dtype in the file.
AttributeValue = Any
#: A value of JSON: a text, a number, a truth value, `None`, a list or a dictionary, by the document.
Json = Any
#: An object of JSON.
JsonObject = dict[str, Json]
#: A Python value of the type of a column: a number, a text or a time.
ColumnValue = Any
#: A condition on rows: text such as `"depth < 100"`, or an expression of pyarrow.
Condition: TypeAlias = "str | pyarrow.dataset.Expression"


class Communicator(Protocol):
    """What is used of a communicator of mpi4py."""

    def Get_rank(self) -> int: ...
    def Get_size(self) -> int: ...
    def bcast(self, obj: Any, /, root: int = 0) -> Any: ...
    def gather(self, sendobj: Any, /, root: int = 0) -> Any: ...
    def allgather(self, sendobj: Any, /) -> Any: ...


class OpenOptions(TypedDict, total=False):
    """Options of `hyperslab.open` for files that are read."""

    threads: int | None
    format: str | None
    paths: str | None
    missing_sources: str | None
    limits: Mapping[str, int] | None
    index_folder: Path | None
    chunk_cache_bytes: int | None
    indexes: str | None
    storage_options: Mapping[str, object] | None


class ChangeOptions(OpenOptions, total=False):
    """Options of `hyperslab.open` besides the mode."""

    store: object
    timeout: float | None


class FileOptions(ChangeOptions, total=False):
    """All options of `hyperslab.open`."""

    mode: str


class StorageOptions(TypedDict, total=False):
    """Options of `create_dataset` besides name, shape and dtype."""

    data: object
    chunks: ShapeLike | bool | None
    maxshape: MaxShapeLike | bool | None
    fillvalue: object
    compression: str | int | None
    compression_opts: object
    shuffle: bool
    fletcher32: bool
    scaleoffset: int | bool | None
    track_order: bool | None
    fill_time: str | None
    region: Key | None
    rows: bool


class VariableOptions(TypedDict, total=False):
    """Options of `create_variable` that say how values are stored; `shape` and `regions` only in a plan."""

    chunks: ShapeLike | bool | None
    compression: str | int | None
    compression_opts: object
    shuffle: bool
    fletcher32: bool
    shape: ShapeLike | None
    regions: Iterable[Key] | None


class CreateOptions(StorageOptions, total=False):
    """Options of `create_dataset` besides the name."""

    shape: ShapeLike | None
    dtype: DtypeLike | None


class ScanOptions(TypedDict, total=False):
    """Options of `File.table` besides its path, condition, columns and model."""

    layout: str | None
    raw: bool
    batch_rows: int
    limit: int | None
    omitted: str
    variables: Mapping[str, object] | None
    nonconforming: str


class TableOptions(ScanOptions, total=False):
    """Options of `File.table` besides its path, condition and model."""

    columns: Sequence[str] | None


class FileTableOptions(TableOptions, total=False):
    """Options of `File.table` besides its path."""

    where: Condition | None
    model: str | None
