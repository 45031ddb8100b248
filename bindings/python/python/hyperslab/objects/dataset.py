"""Dataset: an array in a file, with numpy's and h5py's interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from .. import _native, dtypes
from ..base.errors import InvalidInputError, InvalidTypeError, LimitExceededError, UnsupportedError
from ..base.extras import LateModule
from ..base.type_aliases import AnyArray, AnyDtype, ArrayKey, DtypeLike, Elements, Key
from ..values import conversion as value_conversion
from ..values import references, tagged_dtypes
from ..values.empty import Empty
from ..values.references import RegionReference
from . import chunk_iteration, dask_collections, dataset_html, dataset_text, html, mapped, plot, reading, value_views
from .dataset_changes import DatasetChanges
from .dataset_reductions import DatasetReductions
from .decoded_view import DecodedView
from .foreign_names import DATASET_HINTS, with_hints, without_operators
from .kept import kept
from .text_view import TextView
from .value_views import ConvertedView, FieldsView

if TYPE_CHECKING:
    import dask.array
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
else:
    pa = LateModule("pyarrow")

#: Bytes of an element whose fill value is not stored in the file, up to which it is made.
MAX_UNSTORED_FILL_BYTES = 16 << 20


@with_hints(DATASET_HINTS)
@without_operators
class Dataset(DatasetReductions, DatasetChanges):
    """A dataset: an array in a file, indexed like a numpy array. `dataset[0, :10]` reads only the chunks that it needs. If the file is
    edited, `dataset[3:5] = values` writes, and `dataset[3:5]` reads what was written."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        return self._shape

    @kept
    def _shape(self) -> tuple[int, ...]:
        return tuple(self._about["shape"] or ())

    @property
    def maxshape(self) -> tuple[int | None, ...]:
        """The maximum extent of each dimension; `None` for unlimited ones."""
        return tuple(self._about.get("maxshape") or self.shape)

    @property
    def dtype(self) -> AnyDtype:
        """The dtype, the same as in h5py."""
        return self._dtype

    @kept
    def _dtype(self) -> AnyDtype:
        return tagged_dtypes.of_datatype(self._about["datatype"])

    @property
    def datatype(self) -> _native.Datatype:
        """How one element is stored."""
        return self._about["datatype"]

    @property
    def dims(self) -> tuple[str | None, ...]:
        """Names of the dimensions."""
        return tuple(name for name, _ in self._dimensions())

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int | None:
        """Number of elements; `None` of a null dataspace, as in h5py."""
        return None if self._about["shape"] is None else int(np.prod(self.shape, dtype=object))

    @property
    def nbytes(self) -> int:
        """The bytes of all values in memory, without variable-length data."""
        return (self.size or 0) * self.dtype.itemsize

    @property
    def compression_ratio(self) -> float | None:
        """The size of the values divided by their size in the file; `None` without filters or values."""
        if not self.filters or self.refusal or not self._backend.is_complete:
            return None
        stored = self.stored_bytes
        return float((self.size or 0) * self._about["datatype"].size / stored) if stored else None

    @property
    def fillvalue(self) -> Elements:
        """The value of unwritten elements: a scalar of the dataset's dtype."""
        datatype = self._about["datatype"]
        if not self._about["fill"] and datatype.size > MAX_UNSTORED_FILL_BYTES:
            raise LimitExceededError(f"a fill value of {datatype.size:,} zeros, which the file does not store", self._file.path, self.path)
        raw = np.frombuffer(self._about["fill"] or bytes(datatype.size), np.uint8).copy()
        return tagged_dtypes.tag(reading.convert(raw, datatype, (), self._file.fill_heap(self._number), self._file), self.dtype)[()]

    def _dimensions(self) -> list[tuple[str | None, int | None]]:
        """Name of each dimension, and the number of the object that holds its coordinates."""
        return self._file.dimensions(self._number)

    def _scale(self, dimension: int) -> Dataset | None:
        """The dataset that holds the coordinates of a dimension."""
        dimensions = self._dimensions()
        number = dimensions[dimension][1] if dimensions else None
        if number is None:
            return None
        found = self._object(self._file, number, self._file.object_path(number))
        return found if isinstance(found, Dataset) else None

    def _summary(self) -> list[str]:
        if self.kind == "unreadable":
            return super()._summary()
        names = self.dims
        extents = [f"{name}={extent}" if name else str(extent) for name, extent in zip(names, self.shape, strict=False)] if names else map(str, self.shape)
        parts = [f"({', '.join(extents)})", dtypes.describe(self._about["datatype"])]
        if self.chunks:
            parts.append(f"chunks {'×'.join(map(str, self.chunks))}")
        if self.filters:
            parts.append("+".join(self.filters))
        if (ratio := self.compression_ratio) is not None:
            parts.append(f"{ratio:.1f}:1")
        if self.refusal:
            parts.append(f"cannot be read: {self.refusal}")
        return parts

    def _parts(self) -> int:
        return 1 if self.kind == "unreadable" else dtypes.count_parts(self._about["datatype"])

    def __len__(self) -> int:
        return self.len()

    def __iter__(self) -> Iterator[Elements]:
        if not self.shape:
            raise InvalidTypeError("a scalar dataset cannot be iterated over", self._file.path, self.path)
        return (self[i] for i in range(self.shape[0]))

    @kept
    def _reader(self) -> _native.DatasetReader | None:
        if self._about["shape"] is None:
            return None
        reader: _native.DatasetReader = self._backend.reader(self, lambda: reading.reader(self._file, self._number, self._about, self.dtype))
        return reader

    def refresh(self) -> None:
        super().refresh()
        for made in ("_reader", "_dtype", "_shape"):
            self.__dict__.pop(made, None)

    def __getitem__(self, key: Key) -> Elements:
        reader = self._reader
        if reader is not None and (values := reader.get(key)) is not None:
            return values
        with self._backend.lock:
            try:
                return self._selected(reader, self._current(key))
            except IndexError as error:
                raise type(error)(f"{error} (dataset {self.path})") from None

    def _selected(self, reader: _native.DatasetReader | None, key: Key) -> Elements:
        """The values for a key that the native reader leaves to Python."""
        if reader is None:
            if key is None:
                raise InvalidTypeError("indexing with None (numpy.newaxis): read the values and index them")
            if key is not Ellipsis and key != ():
                raise InvalidInputError(f"{self.path} has no elements to select: give () or ...")
            return Empty(self.dtype)
        if isinstance(key, RegionReference):
            found = references.dereferenced(key)
            if found is None or found.selection is None or found.object != self._number or found.file != self._file:
                raise InvalidInputError(f"this reference points at {found.path if found else 'nothing'}, not at {self.path}")
            return references.elements(self, found.selection)
        keys = key if isinstance(key, tuple) else (key,)
        if any(k is None for k in keys):
            raise InvalidTypeError("indexing with None (numpy.newaxis): read the values and index them")
        fields = [k for k in keys if isinstance(k, str)]
        rest = tuple(k for k in keys if not isinstance(k, str))
        if fields:
            value_views.FieldsView(self, fields)  # checks the names
        values = tagged_dtypes.tag(reading.values(reader, rest, self._file, self.path, self._about), self.dtype)
        if fields:
            values = value_views.picked(values, fields[0] if len(fields) == 1 else fields)
        # As in h5py, `...` keeps the array of a scalar dataset only.
        keeps_array = not self.shape and any(k is Ellipsis for k in rest)
        return values[()] if isinstance(values, np.ndarray) and values.ndim == 0 and not keeps_array else values

    def len(self) -> int:
        """The extent of the first dimension, which may exceed what `len()` can return.

        Returns:
            A number of elements.

        Raises:
            TypeError: The dataset has no dimensions.
        """
        if not self.shape:
            raise InvalidTypeError("a scalar dataset has no length", self._file.path, self.path)
        return self.shape[0]

    def astype(self, dtype: DtypeLike) -> ConvertedView | Dataset:
        """A view with values of another dtype: `d.astype("f8")[3:5]`.

        Args:
            dtype: A numpy dtype.

        Returns:
            A view whose values are converted after reading, as numpy converts them; the dataset itself for its own dtype.

        Example:
            >>> f["theta"].astype("f8")[0]
        """
        wanted = np.dtype(dtype)
        if wanted.kind == "T":
            self._check_text()
        return self if wanted == self.dtype else ConvertedView(self, wanted)

    def fields(self, names: str | Iterable[str]) -> FieldsView:
        """A view of some fields of a compound dataset: `d.fields(["x", "y"])[3:5]`.

        Args:
            names: The name of one field, for its values, or the names of several, for compounds of these.

        Returns:
            A view.

        Raises:
            InvalidInputError: The dataset is not a compound or has no such field.

        Example:
            >>> f["obs"].fields("n_genes")[:3]
        """
        return FieldsView(self, names if isinstance(names, str) else list(names))

    @property
    def decoded(self) -> DecodedView:
        """A view with the values that the attributes mean, as xarray decodes them: `d.decoded[3:5]`.

        Packed numbers are unpacked (`scale_factor`, `add_offset`, `_Unsigned`), missing ones are NaN or `NaT` (`_FillValue`, `missing_value`), and
        times are `datetime64[ns]`, or dates of cftime if their calendar or range needs it. Valid ranges are not applied, and flags stay numbers.
        `d.decoded[3:5] = values` stores what means these values, in a file that can be written.

        Raises:
            InvalidInputError: An attribute is not what it must be; the message names it.

        Example:
            >>> f["time"].decoded[0]
        """
        return DecodedView(self)

    def iter_chunks(self, sel: Key | None = None) -> Iterator[tuple[slice, ...]]:
        """The parts of a region that lie in one chunk each: `for part in d.iter_chunks(): d[part]`.

        Args:
            sel: A slice or an index of each dimension; by default the whole dataset.

        Returns:
            An iterator of tuples of slices, in the order of the chunks.

        Raises:
            TypeError: The dataset is not chunked.
            InvalidInputError: The region is empty or leaves the dataset.

        Example:
            >>> sum(f["theta"][part].sum() for part in f["theta"].iter_chunks())
        """
        return chunk_iteration.parts(self.shape, self.chunks, sel)

    def flush(self) -> None:
        """Makes all changes of the file visible to others. A file that is open for reading has nothing to write."""
        self._backend.flush()

    def _check_text(self) -> None:
        if self._about["datatype"].class_name not in ("string", "variable string"):
            raise TypeError(f"{self.path} holds {dtypes.describe(self._about['datatype'])}, not strings: it has no HDF5 string datatype")

    def asstr(self, encoding: str = "utf-8", errors: str = "strict") -> TextView:
        """A view of a string dataset with values of type `str`: `d.asstr()[3:5]`.

        Args:
            encoding: The encoding; by default the encoding of the datatype.
            errors: What to do with bytes that are not text, as in `bytes.decode`.

        Returns:
            A view whose elements are `str`.

        Raises:
            TypeError: The dataset is not text.

        Example:
            >>> f["names"].asstr()[0]
        """
        self._check_text()
        return TextView(self, encoding, errors)

    def to_dask(self, chunks: object = "auto") -> dask.array.Array:
        """Makes an array of Dask that reads the dataset block by block. Needs Dask (`pip install 'hyperslab[dask]'`).

        Args:
            chunks: The blocks, as for `dask.array.from_array`; by default about 128 MiB in whole chunks of the dataset.

        Returns:
            A lazy array, for threads and processes. Values are as stored: `f.table` and xarray decode netCDF conventions.

        Raises:
            MissingExtraError: Dask is not installed.
            UnsupportedError: The dataspace is null.

        Example:
            >>> f["theta"].to_dask().mean(axis=0).compute()
        """
        if self._about["shape"] is None:
            raise UnsupportedError("to_dask: the dataspace is null, so there is no array", self.file.filename, self.path)
        return dask_collections.array(self, chunks)

    def mmap(self) -> AnyArray:
        """Maps all values into memory: an array over the file's own pages, which are read when they are touched.

        For values that lie in the file as they are in memory: one run of bytes, without chunks and filters. Nothing is copied, and
        processes that map the same file share its pages. The array keeps the file as it was opened, also after `close` and after
        the file was replaced or removed. What another program writes into the file shows in the array; if it cuts the file, touching
        what is gone ends this process with a signal (SIGBUS). `d[...]` has neither risk.

        Returns:
            A read-only array of the dataset's shape and dtype.

        Raises:
            UnsupportedError: The values cannot be mapped; the message says why.
            CorruptError: The file ends before the values do.

        Example:
            >>> f["particles/x"].mmap()[-1000:].mean()
        """
        return mapped.map_values(self)

    def to_arrow(self, *, zero_copy: bool = False) -> pa.Array:
        """All values as an Arrow array, as stored: `table` makes columns, decodes netCDF conventions, and reads in batches.

        Args:
            zero_copy: Puts the array over the file's own pages, with what `mmap` says about that. Numbers in little-endian byte order
                that begin at a multiple of their size.

        Returns:
            An array of the elements; of more dimensions, an array of Arrow's tensors of fixed shape, one for each index of the
            first dimension. A scalar dataset is an array of one element.

        Raises:
            UnsupportedError: The elements are not numbers, booleans or strings, or `zero_copy` is not possible; the message says why.

        Example:
            >>> pc.sum(f["particles/x"].to_arrow(zero_copy=True))
        """
        if zero_copy:
            return mapped.zero_copy(self)
        values = self[...]
        if isinstance(values, Empty) or values.dtype.kind not in "iufbSO" or self._about["datatype"].class_name in ("sequence", "reference"):
            what = "a null dataspace" if isinstance(values, Empty) else dtypes.describe(self._about["datatype"])
            raise UnsupportedError(f"to_arrow of {what}: table({self.path!r}) of the file has columns of more types", self.file.filename, self.path)
        if values.dtype.kind in "iuf":
            return mapped.numbers(np.ascontiguousarray(values, values.dtype.newbyteorder("=")))
        if values.ndim > 1:
            raise UnsupportedError(f"to_arrow of {values.ndim} dimensions of {dtypes.describe(self._about['datatype'])}", self.file.filename, self.path)
        return pa.array(np.reshape(values if values.dtype.kind == "b" else self.asstr()[...], -1))

    @overload
    def plot(
        self,
        out: None = None,
        index: int | tuple[int, ...] | Mapping[str | int, int] = (),
        *,
        dims: str | int | Sequence[str | int] | None = None,
        kind: str = "auto",
        bins: int = 100,
        cmap: str | Colormap | None = None,
        vmin: float | None = None,
        vmax: float | None = None,
        robust: bool = False,
        log: bool = False,
        coastlines: bool = False,
        ax: Axes | None = None,
    ) -> Figure: ...

    @overload
    def plot(
        self,
        out: str,
        index: int | tuple[int, ...] | Mapping[str | int, int] = (),
        *,
        dims: str | int | Sequence[str | int] | None = None,
        kind: str = "auto",
        bins: int = 100,
        cmap: str | Colormap | None = None,
        vmin: float | None = None,
        vmax: float | None = None,
        robust: bool = False,
        log: bool = False,
        coastlines: bool = False,
        ax: Axes | None = None,
    ) -> str: ...

    def plot(
        self,
        out: str | None = None,
        index: int | tuple[int, ...] | Mapping[str | int, int] = (),
        *,
        dims: str | int | Sequence[str | int] | None = None,
        kind: str = "auto",
        bins: int = 100,
        cmap: str | Colormap | None = None,
        vmin: float | None = None,
        vmax: float | None = None,
        robust: bool = False,
        log: bool = False,
        coastlines: bool = False,
        ax: Axes | None = None,
    ) -> Figure | str:
        """Draws a quick look: one dimension as a line or a profile, more as an image or a map of the last two, or a histogram. Needs
        matplotlib.

        Args:
            out: Path of the picture.
            index: Indexes of the dimensions that are not drawn, in their order or by name; 0 by default.
            dims: The dimensions that are drawn; by default the last two.
            kind, bins, cmap, vmin, vmax, robust, log, coastlines, ax: As in `hyperslab.objects.plot.plot`.

        Returns:
            `out` if it is a path, else the matplotlib figure.

        Example:
            >>> f["theta"].plot("theta.png")
            >>> f["t2m"].plot(dims="time", index={"lat": 30, "lon": 12})  # a time series at a point
            >>> f["t2m"].plot(kind="histogram", bins=50)
        """
        return plot.plot(
            self, out, index, dims=dims, kind=kind, bins=bins, cmap=cmap, vmin=vmin, vmax=vmax, robust=robust, log=log, coastlines=coastlines, ax=ax
        )

    def read_direct(self, out: AnyArray, source_sel: Key | None = None, dest_sel: ArrayKey | None = None) -> None:
        """Reads into an array, without a copy if the destination is contiguous and has the same dtype.

        Args:
            out: The array.
            source_sel: What to read of the dataset; by default all.
            dest_sel: Where to put it in `out`; by default everywhere.

        Raises:
            InvalidInputError: The shapes differ.

        Example:
            >>> f["theta"].read_direct(buffer, np.s_[0])
        """
        with self._backend.lock:
            self._read_direct(out, source_sel, dest_sel)

    def _read_direct(self, out: AnyArray, source_sel: Key | None, dest_sel: ArrayKey | None) -> None:
        place = out if dest_sel is None else out[dest_sel]
        datatype = self._about["datatype"]
        if (
            self._reader is not None
            and np.shares_memory(place, out)
            and place.flags.c_contiguous
            and place.flags.writeable
            and datatype.is_plain
            and not datatype.has_padded_strings
            and place.dtype == self.dtype
            and self._reader.get_into(Ellipsis if source_sel is None else source_sel, place.shape, place.ctypes.data, place.nbytes)
        ):
            return
        values = self[Ellipsis if source_sel is None else source_sel]
        if np.shape(values) != place.shape:
            raise InvalidTypeError(f"shape {np.shape(values)} does not fit {place.shape}")
        numbers = out.dtype.kind in "iuf" and self.dtype.kind in "iuf"
        out[... if dest_sel is None else dest_sel] = value_conversion.converted(values, out.dtype) if numbers else values

    def __array__(self, dtype: DtypeLike | None = None, copy: bool | None = None) -> AnyArray:
        value_views.check_copy(copy)
        values = self[...]
        if isinstance(values, Empty):
            raise InvalidTypeError(f"{self.path} has no elements, so it is not an array")
        array = np.asarray(values)
        wanted = array.dtype if dtype is None else np.dtype(dtype)
        numbers = wanted.kind in "iuf" and array.dtype.kind in "iuf"
        return np.asarray(value_conversion.converted(array, wanted)) if numbers else array.astype(wanted, copy=False)

    def __repr__(self) -> str:
        if not self:
            return self._closed()
        return dataset_text.line(self)

    def _repr_html_(self) -> str:
        if not self:
            return html.closed(self._closed())
        return dataset_html.of_dataset(self, dtypes.describe(self._about["datatype"]), self._file.path)
