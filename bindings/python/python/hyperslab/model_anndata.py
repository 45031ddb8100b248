"""AnnData (h5ad): a matrix of observations and variables with annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .errors import InvalidInputError
from .extras import require
from .file import File
from .file import open as open_files
from .model_view import ModelView, required
from .table import Table
from .type_aliases import AnyArray, Paths

if TYPE_CHECKING:
    import scipy.sparse


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

    def rows(self, rows: Any = slice(None), name: str = "X") -> scipy.sparse.csr_array | scipy.sparse.csc_array:
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
        kind = str(attributes["encoding-type"] if "encoding-type" in attributes else attributes["h5sparse_format"])[:3]
        shape = [int(extent) for extent in attributes["shape" if "shape" in attributes else "h5sparse_shape"]]
        major, minor = shape if kind == "csr" else shape[::-1]
        read = self._lists(name, rows, major)
        count = read.num_rows
        offsets = np.zeros(count + 1, np.int64)
        indices, values = (read[column].combine_chunks() for column in ("indices", "values"))
        np.cumsum(np.asarray(indices.value_lengths()), out=offsets[1:])
        triple = np.asarray(values.flatten()), np.asarray(indices.flatten()), offsets
        if kind == "csr":
            return scipy.sparse.csr_array(triple, shape=(count, minor))
        return scipy.sparse.csc_array(triple, shape=(minor, count))

    def _lists(self, name: str, rows: Any, major: int) -> pa.Table:
        columns = ["indices", "values"]
        if isinstance(rows, slice):
            start, stop, step = rows.indices(major)
            if step < 1:
                raise InvalidInputError(f"a step of {step}: rows come in the order of the file")
            if step == 1:
                return self.table(name, f"_row >= {start} and _row < {stop}", columns=columns).to_arrow()
            rows = np.arange(start, stop, step)
        chosen: AnyArray = np.asarray(rows)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        if chosen.size and (chosen[0] < 0 or chosen[-1] >= major or (np.diff(chosen) <= 0).any()):
            raise InvalidInputError(f"rows must increase, from 0 to {major - 1}")
        if not chosen.size:
            return self.table(name, "_row < 0", columns=columns).to_arrow()
        return self.table(name, "_row in chosen", columns=columns, variables={"chosen": chosen}).to_arrow()


def open(file: File | Paths, **options: Any) -> AnnData:
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
