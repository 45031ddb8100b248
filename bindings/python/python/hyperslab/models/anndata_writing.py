"""AnnData writing: data frames and matrices in the encodings of anndata 0.8 and later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, Option, Values
from ..files.file import File
from ..objects.dataset import Dataset
from ..objects.group import Group

if TYPE_CHECKING:
    import pandas

#: Names by which data frames have their labels.
_LABELS = "_index"


def write_frame(file: File, path: str, frame: pandas.DataFrame | pa.Table, options: dict[str, Option]) -> int:
    """Writes a data frame, and returns its number of rows. Its labels are pandas' index, or else the first column of an Arrow table."""
    columns, labels = _columns(path, frame)
    group = file.create_group(path)
    _encode(group, "dataframe", "0.2.0")
    group.attrs["_index"] = _LABELS
    group.attrs.create("column-order", np.array(list(columns), object), dtype=_TEXT) if columns else _no_columns(group)
    _texts(file, f"{path}/{_LABELS}", labels, path)
    for name, values in columns.items():
        if "/" in name or name in ("", ".", _LABELS):
            raise InvalidInputError(f"{path}: a column called {name!r}, which HDF5 cannot have")
        _column(file, f"{path}/{name}", values, options)
    return len(labels)


#: The dtype of text.
_TEXT = np.dtype("O", metadata={"vlen": str})


def _no_columns(group: Group) -> None:
    # anndata writes an empty list of numbers.
    group.attrs["column-order"] = np.zeros(0, np.float64)


def _encode(node: Group | Dataset, kind: str, version: str) -> None:
    node.attrs["encoding-type"], node.attrs["encoding-version"] = kind, version


def _columns(path: str, frame: pandas.DataFrame | pa.Table) -> tuple[dict[str, pa.ChunkedArray | pa.Array], list[str]]:
    if hasattr(frame, "index") and hasattr(frame, "columns"):
        names = [str(name) for name in frame.columns]
        arrays = [pa.Array.from_pandas(frame.iloc[:, i]) for i in range(len(names))]
        labels = [str(label) for label in frame.index]
    else:
        table = frame if isinstance(frame, pa.Table) else pa.table(frame)
        if not table.num_columns:
            raise InvalidInputError(f"{path}: a table without columns has no labels: its first column must be the labels of the rows")
        names, arrays = table.column_names[1:], [table.column(i) for i in range(1, table.num_columns)]
        labels = table.column(0).to_pylist()
    if len(set(names)) != len(names):
        raise InvalidInputError(f"{path}: two columns have the same name")
    return dict(zip(names, arrays, strict=True)), labels


def _texts(file: File, path: str, values: Sequence[object], place: str) -> None:
    if any(not isinstance(value, str) for value in values):
        raise InvalidInputError(f"{place}: labels and texts must be text, without missing values")
    dataset = file.create_dataset(path, data=np.array(values, object), dtype=_TEXT)
    _encode(dataset, "string-array", "0.2.0")


def _array(file: File, path: str, values: AnyArray, options: dict[str, Option]) -> None:
    _encode(file.create_dataset(path, data=values, **(options if values.nbytes > 16384 else {})), "array", "0.2.0")


def _column(file: File, path: str, values: pa.ChunkedArray | pa.Array, options: dict[str, Option]) -> None:
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        return _categorical(file, path, array, options)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type):
        if array.null_count:
            # A text that is missing is a missing category: every version of anndata reads that.
            return _categorical(file, path, array.dictionary_encode(), options)
        return _texts(file, path, array.to_pylist(), path)
    if not (pa.types.is_integer(array.type) or pa.types.is_boolean(array.type) or (pa.types.is_floating(array.type))):
        raise InvalidInputError(f"{path}: a column of type {array.type} has no encoding in AnnData")
    if not array.null_count:
        return _array(file, path, array.to_numpy(zero_copy_only=False), options)
    if pa.types.is_floating(array.type):
        return _array(file, path, array.fill_null(float("nan")).to_numpy(zero_copy_only=False), options)
    is_flag = pa.types.is_boolean(array.type)
    group = file.create_group(path)
    _encode(group, "nullable-boolean" if is_flag else "nullable-integer", "0.1.0")
    _array(file, f"{path}/values", array.fill_null(False if is_flag else 0).to_numpy(zero_copy_only=False), options)
    _array(file, f"{path}/mask", np.asarray(array.is_null()), options)
    return None


def _categorical(file: File, path: str, array: pa.DictionaryArray, options: dict[str, Option]) -> None:
    group = file.create_group(path)
    _encode(group, "categorical", "0.2.0")
    group.attrs["ordered"] = np.bool_(array.type.ordered)
    categories = array.dictionary
    if categories.null_count:
        raise InvalidInputError(f"{path}: a category is missing")
    codes = np.asarray(array.indices.cast(pa.int64()).fill_null(-1))
    smallest = np.min_scalar_type(-max(len(categories), 1))
    _array(file, f"{path}/codes", codes.astype(smallest), options)
    if pa.types.is_string(categories.type) or pa.types.is_large_string(categories.type):
        return _texts(file, f"{path}/categories", categories.to_pylist(), path)
    return _array(file, f"{path}/categories", categories.to_numpy(zero_copy_only=False), options)


def write_matrix(file: File, path: str, matrix: Any, options: dict[str, Option]) -> tuple[int, int]:
    """Writes a dense matrix, or one of SciPy as CSR or CSC, and returns its shape."""
    if type(matrix).__module__.partition(".")[0] == "scipy":
        kind = "csc" if getattr(matrix, "format", "") == "csc" else "csr"
        stored = matrix if kind == "csc" else matrix.tocsr()
        group = file.create_group(path)
        _encode(group, f"{kind}_matrix", "0.1.0")
        group.attrs["shape"] = np.array(stored.shape, np.int64)
        for name in ("data", "indices", "indptr"):
            _array(file, f"{path}/{name}", getattr(stored, name), options)
        return int(stored.shape[0]), int(stored.shape[1])
    dense = np.asarray(matrix)
    if dense.ndim != 2 or dense.dtype.kind not in "iufb":
        raise InvalidInputError(f"{path}: a matrix of shape {dense.shape} and dtype {dense.dtype}: give two dimensions of numbers")
    _array(file, path, dense, options)
    return int(dense.shape[0]), int(dense.shape[1])


def write_all(
    file: File, obs: pandas.DataFrame | pa.Table, var: pandas.DataFrame | pa.Table, matrix: Values, layers: Mapping[str, Values], options: dict[str, Option]
) -> None:
    """Writes the file of an AnnData. Extents that contradict each other are `InvalidInputError`."""
    _encode(file, "anndata", "0.1.0")
    shape = write_frame(file, "/obs", obs, options), write_frame(file, "/var", var, options)
    matrices = {"/X": matrix} if matrix is not None else {}
    for name in ("layers", "obsm", "obsp", "uns", "varm", "varp"):
        _encode(file.create_group(f"/{name}"), "dict", "0.1.0")
    for name, layer in layers.items():
        if "/" in name or name in ("", "."):
            raise InvalidInputError(f"a layer called {name!r}, which HDF5 cannot have")
        matrices[f"/layers/{name}"] = layer
    for path, given in matrices.items():
        found = write_matrix(file, path, given, options)
        if found != shape:
            raise InvalidInputError(f"{path} has shape {found}, but there are {shape[0]} observations and {shape[1]} variables")
