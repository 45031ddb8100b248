"""AnnData (h5ad): a matrix of observations and variables with annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..base.errors import CorruptError, InvalidInputError, UnsupportedError
from ..base.extras import require
from ..base.type_aliases import AnyArray, Elements, FileOptions, Option, Path, Paths, Values
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..objects.dataset import Dataset
from ..objects.filters import check_filters
from ..objects.group import Group
from ..objects.native_objects import native_of
from ..tables.table import Table
from ..values.empty import Empty
from ..writing.new_file import create
from . import anndata_elements, anndata_writing, sparse_rows

if TYPE_CHECKING:
    import pandas
    import scipy.sparse
    from typing_extensions import Unpack


#: Key of the metadata of a column of categories, with their path.
_CATEGORIES = b"hyperslab:categories"


class AnnData(ModelView):
    """A file of AnnData. `hyperslab.models.anndata.open` makes one."""

    @property
    def obs(self) -> Table:
        """The annotations of the observations. Categories are Arrow dictionaries, missing values are null."""
        return self.table("obs", omitted="ignore")

    @property
    def var(self) -> Table:
        """The annotations of the variables."""
        return self.table("var", omitted="ignore")

    def frame(self, name: str = "obs") -> pandas.DataFrame:
        """Reads a data frame as pandas has it in AnnData: its labels are the index, missing integers and booleans are `NA`. Needs
        pandas.

        Args:
            name: Name of the data frame: `obs`, `var`, or another of `tables`.

        Returns:
            The data frame.

        Raises:
            NotFoundError: There is no such table.
            CorruptError: A category is there twice, which pandas cannot hold; tables can.
            MissingExtraError: pandas is not installed.

        Example:
            >>> hs.models.anndata.open("cells.h5ad").frame("obs")
        """
        require("data frames of AnnData", "pandas", "pandas")
        import pandas

        table = self.table(name, omitted="ignore").to_arrow()
        label, *columns = table.column_names
        # Labels differ from each other, so that looking for equal ones only takes time.
        index = pandas.Index(table[label].to_pandas(deduplicate_objects=False).array, name=None if label == "_index" else label)
        for column in columns:
            if pa.types.is_dictionary(table.schema.field(column).type):
                for chunk in table[column].chunks[:1]:
                    self._check_categories(chunk.dictionary, f"{name}/{column}")
        frame = table.select(columns).to_pandas()
        for field in table.schema:
            if field.name == label:
                continue
            if _CATEGORIES in (field.metadata or {}) and not pa.types.is_dictionary(field.type):
                frame[field.name] = self._categorical(name, field)
            elif pa.types.is_struct(field.type) and isinstance(self.file.get(f"{name}/{field.name}"), Dataset):
                frame[field.name] = np.asarray(self.file[f"{name}/{field.name}"][...])  # complex numbers
            elif field.nullable and (pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)):
                kind = "boolean" if pa.types.is_boolean(field.type) else f"{'UI' if pa.types.is_unsigned_integer(field.type) else 'I'}nt{field.type.bit_width}"
                frame[field.name] = table[field.name].to_pandas(types_mapper={field.type: pandas.api.types.pandas_dtype(kind)}.get)
        frame.index = index
        # A column whose name the labels have, too, is the same array.
        order = [str(column) for column in np.ravel(self.file[name].attrs.get("column-order", []))]
        if label in order:
            frame.insert(order.index(label), label, index.array)
        return frame

    def _categorical(self, frame: str, field: pa.Field) -> pandas.Categorical:
        """A column whose categories are numbers, which are plain values in Arrow: of its codes and categories."""
        import pandas

        about = {key: (field.metadata or {})[f"hyperslab:{key}".encode()].decode() for key in ("categories", "codes", "ordered")}
        stored, codes = np.asarray(self.file[about["categories"]][...]), self.file[about["codes"]][...]
        self._check_categories(pa.array(stored), f"{frame}/{field.name}")
        codes = codes[field.name] if codes.dtype.names is not None else codes
        return pandas.Categorical.from_codes(codes, stored, ordered=about["ordered"] == "true")

    def _check_categories(self, categories: pa.Array, column: str) -> None:
        if len(categories.unique()) < len(categories):
            counts = categories.value_counts().to_pylist()
            twice = next(each["values"] for each in counts if each["counts"] > 1)
            raise CorruptError(f"the category {twice!r} is there more than once", self.file.filename, f"/{column}")

    @property
    def uns(self) -> dict[str, Any]:
        """The unstructured annotations as a dictionary: arrays, texts and numbers; data frames as tables, which are read when
        they are asked for; sparse matrices as matrices of SciPy."""
        return dict(self._tree("/uns", (), set(self.tables))) if "uns" in self.file else {}

    def _tree(self, path: str, above: tuple[int, ...], tables: set[str]) -> Iterator[tuple[str, Any]]:
        group = self.file[path]
        number = native_of(group)[1]
        if number in above:
            raise CorruptError("this group contains itself", self.file.filename, path)
        for name in group:
            member, place = group[name], f"{path}/{name}"
            if isinstance(member, Dataset):
                yield name, _value(member)
            elif place.lstrip("/") in tables:
                is_sparse = "indptr" in member
                yield name, self.rows(name=place.lstrip("/")) if is_sparse else self.table(place.lstrip("/"), omitted="ignore")
            elif isinstance(member, Group):
                kind = str(member.attrs["encoding-type"]) if "encoding-type" in member.attrs else "dict"
                yield name, dict(self._tree(place, (*above, number), tables)) if kind == "dict" else self._element(member, kind)
            else:
                raise UnsupportedError(f"a {member.kind} in uns", self.file.filename, place)

    def _element(self, group: Group, encoding: str) -> pandas.api.extensions.ExtensionArray:
        require("categories and missing values of AnnData", "pandas", "pandas")
        return anndata_elements.read_element(group, encoding)

    def rows(self, rows: slice | Sequence[int] | AnyArray = slice(None), name: str = "X") -> scipy.sparse.csr_array | scipy.sparse.csc_array:
        """Reads rows of a sparse matrix that is stored by rows (CSR), or columns of one that is stored by columns (CSC). Needs SciPy.

        Args:
            rows: A slice, or increasing indexes, of rows (CSR) or columns (CSC).
            name: Name of the matrix: `X`, or another of `tables`.

        Returns:
            The rows as a matrix of SciPy in the format of the file.

        Raises:
            NotFoundError: There is no such sparse matrix: dense ones are read as arrays, `file["X"][rows]`.
            InvalidInputError: The indexes do not increase, or are out of range.
            CorruptError: The offsets of the matrix decrease, or lead beyond its values.

        Example:
            >>> hs.models.anndata.open("cells.h5ad").rows(slice(0, 100))
        """
        require("rows of a sparse matrix", "scipy", "scipy")
        import scipy.sparse

        attributes = self.file[name].attrs
        kind = str(attributes.get("encoding-type", attributes.get("h5sparse_format", "")))[:3]
        stored = np.asarray(attributes.get("shape", attributes.get("h5sparse_shape", [])))
        if kind not in ("csr", "csc") or stored.shape != (2,) or stored.dtype.kind not in "iuf" or not (np.isfinite(stored) & (stored >= 0)).all():
            raise CorruptError("a sparse matrix without csr or csc, or without a shape of two numbers", self.file.filename, f"/{name}")
        shape = [int(extent) for extent in stored]
        major, minor = shape if kind == "csr" else shape[::-1]
        values, indices, offsets = sparse_rows.read(self.file, name, _increasing(rows, major), major, minor)
        triple, count = (values, indices, offsets), len(offsets) - 1
        if kind == "csr":
            return scipy.sparse.csr_array(triple, shape=(count, minor))
        return scipy.sparse.csc_array(triple, shape=(minor, count))


def _increasing(rows: slice | Sequence[int] | AnyArray, major: int) -> AnyArray:
    """The indexes of rows, which must increase."""
    if isinstance(rows, slice):
        start, stop, step = rows.indices(major)
        if step < 1:
            raise InvalidInputError(f"a step of {step}: rows come in the order of the file")
        return np.arange(start, max(start, stop), step)
    chosen: AnyArray = np.asarray(rows)
    if chosen.dtype == bool:
        if chosen.shape != (major,):
            raise InvalidInputError(f"a mask of shape {chosen.shape} for {major} rows")
        return np.flatnonzero(chosen)
    if chosen.size and (chosen.dtype.kind not in "iu" or chosen.ndim != 1):
        raise InvalidInputError(f"rows of dtype {chosen.dtype} and shape {chosen.shape}: give a slice, increasing indexes, or a mask")
    if chosen.size and (chosen[0] < 0 or chosen[-1] >= major or (chosen[1:] <= chosen[:-1]).any()):
        raise InvalidInputError(f"rows must increase, from 0 to {major - 1}")
    return chosen.astype(np.int64)


def _value(dataset: Dataset) -> Elements:
    """An array, or a single value of a dataset without dimensions; text as `str`."""
    values = dataset[()]
    if isinstance(values, Empty) and str(dataset.attrs.get("encoding-type", "")) == "null":
        return None
    if isinstance(values, bytes):
        return values.decode("utf-8", "replace")
    return anndata_elements.texts_of(values) if isinstance(values, np.ndarray) else values


def write(
    path: Path,
    obs: pandas.DataFrame | pa.Table,
    var: pandas.DataFrame | pa.Table,
    X: Values = None,
    *,
    layers: Mapping[str, Values] | None = None,
    compression: Option = None,
    durable: bool = True,
) -> None:
    """Writes observations, variables and matrices as a file of AnnData, which appears when it is complete.

    Args:
        path: The file. An existing one is replaced.
        obs: The annotations of the observations: a data frame of pandas, whose index has the labels, or an Arrow table, whose
            first column has them.
        var: The annotations of the variables.
        X: The matrix: an array, or a matrix of SciPy, which is stored as CSR unless it is CSC.
        layers: More matrices by their names.
        compression: As in `create_dataset`, for arrays above 16 KiB.
        durable: Wait until the file is on the disk.

    Raises:
        InvalidInputError: Lengths contradict each other, or a column has a type without an encoding; the message has its path.

    Example:
        >>> hs.models.anndata.write("cells.h5ad", obs, var, X, compression="gzip")
    """
    options = {} if compression is None else {"compression": compression}
    check_filters(options)
    with create(path, durable=durable) as file:
        anndata_writing.write_all(file, obs, var, X, layers or {}, options)


def open(file: File | Paths, **options: Unpack[FileOptions]) -> AnnData:
    """Opens a file of AnnData.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It is not a file of AnnData.

    Example:
        >>> hs.models.anndata.open("cells.h5ad").obs.to_pandas()
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "anndata")
    return AnnData(opened, view.name, view.certainty, view.reason)
