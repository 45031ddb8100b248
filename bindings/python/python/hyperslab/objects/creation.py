"""Creation: what creates groups and datasets, with the arguments of h5py, in files that are edited and in files that are created."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import _native
from ..backends.backend import Notes, TaskOptions
from ..base.errors import InvalidTypeError, UnsupportedError
from ..base.type_aliases import CreateOptions, DtypeLike, MaxShapeLike, Name, ShapeLike, StorageOptions
from ..values import dtype_encoding, empty, times
from ..values.described import DescribedType
from . import definition, stored_references
from .dataset import Dataset
from .datatype import Datatype
from .node import Node
from .virtual_layouts import VirtualLayout

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Creation(Node):
    """What a group has that creates members. If the file is open for reading, each of these methods is a `ReadOnlyError`."""

    if TYPE_CHECKING:
        # Defined by the group class.
        def __getitem__(self, path: Name) -> Any: ...

        def _below(self, name: Name) -> str:
            """The absolute path of a member that is changed."""

    def create_dataset(
        self,
        name: Name,
        shape: ShapeLike | None = None,
        dtype: DtypeLike | None = None,
        data: object = None,
        *,
        chunks: ShapeLike | bool | None = None,
        maxshape: MaxShapeLike | bool | None = None,
        fillvalue: object = None,
        compression: str | int | None = None,
        compression_opts: object = None,
        shuffle: bool = False,
        fletcher32: bool = False,
        scaleoffset: int | bool | None = None,
        track_order: bool | None = None,
        fill_time: str | None = None,
        **more: object,
    ) -> Dataset:
        """Creates a dataset, with the arguments of h5py.

        Args:
            name: Path of the dataset; groups above it are created.
            shape: The shape; by default the shape of `data`.
            dtype: The dtype; by default the dtype of `data`, or 4-byte floats.
            data: The values.
            chunks: Shape of the chunks; chosen if needed and not given, or if `True`.
            maxshape: How far each dimension may grow; `None` for no limit.
            fillvalue: The value of unwritten elements.
            compression: gzip (deflate), zstd, lz4, bitshuffle, or a number of a filter.
            compression_opts: The level of the compression, or parameters of the filter.
            shuffle: Use the shuffle filter.
            fletcher32: Store checksums of chunks.
            scaleoffset: Store integers in as few bits as a chunk needs (`True`, or at least this many), floats with this many decimal places.
            track_order: Record the order in which attributes are created; by default as the file does.
            fill_time: `ifset`, `alloc` or `never`: stored for programs that change the file later.
            more: Other options of h5py. Those that do not change a file are accepted.

        Returns:
            The dataset.

        Raises:
            InvalidInputError: There is an object of this name, or `data` does not fit `shape`.
            UnsupportedError: HDF5 has no such type, or an option of h5py is not supported.

        Example:
            >>> f.create_dataset("x", data=np.zeros((1000, 1000)), chunks=(100, 100), compression="zstd")
        """
        if name is None:
            raise UnsupportedError("a dataset without a name: give one", self._changes.path)
        path, options = self._below(name), self._changes.own_options(definition.checked(more), shape)
        asked = definition.Asked(
            shape, dtype, empty.as_ours(data), chunks, maxshape, fillvalue, compression, compression_opts, shuffle, fletcher32, scaleoffset, fill_time
        )
        return self._make_dataset(path, asked, track_order, options)

    def _make_dataset(self, path: str, asked: definition.Asked, track_order: bool | None, options: TaskOptions) -> Dataset:
        """If the values cannot be written, nothing is created."""
        changes, data = self._changes, asked.data
        if changes.create_given(path, asked, track_order):
            given: Dataset = self[path]
            return given
        asked, place = changes.placed(asked, options)
        stated = asked.stated()
        fillvalue, fill = definition.fill(stated, asked.fillvalue, stored_references.values_of(self))
        committed = asked.dtype.name if isinstance(asked.dtype, Datatype) and asked.dtype._backend is self._backend else None
        made_of = definition.native(stated, asked.storage(stated), fill, committed, asked.fill_time)
        with changes.lock:
            changes.make(lambda editor: editor.create_dataset(path, made_of, track_order, **options))
            try:
                made: Dataset = self[path]
                if fillvalue is not None or stated.times is not None:
                    changes.notes[made._number] = Notes(fillvalue, stated.times)
                for key, value in (times.attributes(stated.times) if stated.times is not None else {}).items():
                    made.attrs[key] = value
                if place is Ellipsis and stated.data is not None:
                    made[...] = stated.data
                elif place is None and data is not None:
                    made.append(data)
                elif place not in (Ellipsis, None):
                    made[place] = data
            except BaseException:
                changes.discard(path)
                raise
            return made

    def require_dataset(self, name: Name, shape: ShapeLike, dtype: DtypeLike, exact: bool = False, **options: Unpack[StorageOptions]) -> Dataset:
        """Returns the dataset of this name, or creates it. An existing one must have this shape, and a dtype to which `dtype` can be cast safely, or
        with `exact` the same dtype.

        Args:
            name: Path of the dataset.
            shape: The shape that it must have, or gets.
            dtype: The dtype that it must have, or gets.
            exact: Whether the dtype must be the same.
            options: As in `create_dataset`.

        Returns:
            The dataset.

        Raises:
            InvalidTypeError: There is an object of this name that does not fit.

        Example:
            >>> f.require_dataset("x", (100,), "f8")
        """
        with self._changes.lock:
            if not self._file.exists(self._below(name)):
                return self.create_dataset(name, shape, dtype, **options)
            found: Dataset = self[name]
            if found.kind != "dataset":
                raise InvalidTypeError(f"{found.path} is not a dataset", self._changes.path, found.path)
            if options.get("maxshape") is None:
                definition.check_required(found, shape, dtype, exact, self._changes.path)
            else:
                definition.check_largest(found, options["maxshape"], self._changes.path)
                definition.check_required(found, found.shape, dtype, exact, self._changes.path)
            return found

    def create_dataset_like(self, name: Name, other: Any, **options: Unpack[CreateOptions]) -> Dataset:
        """Creates a dataset with the shape, dtype and storage of another; `options` override them.

        Args:
            name: Path of the dataset.
            other: A dataset of this or of another file.
            options: As in `create_dataset`.

        Returns:
            The dataset, without values.

        Example:
            >>> f.create_dataset_like("y", f["x"], compression="zstd")
        """
        return self.create_dataset(name, **definition.like(other, options))

    def create_virtual_dataset(self, name: Name, layout: VirtualLayout, fillvalue: object = None) -> Dataset:
        """Creates a dataset whose values are in other datasets, as `layout` says; elements without a source have `fillvalue`.

        Args:
            name: Path of the dataset.
            layout: Shape, dtype and sources.
            fillvalue: The value of elements without a source.

        Returns:
            The dataset.

        Example:
            >>> layout = hs.VirtualLayout((2, 100), "f8")
            >>> layout[0] = hs.VirtualSource("a.h5", "x", (100,))
            >>> f.create_virtual_dataset("all", layout)
        """
        datatype = layout.dtype.datatype if isinstance(layout.dtype, DescribedType) else dtype_encoding.of_dtype(layout.dtype)
        path = self._below(name)
        here = os.path.abspath(self._changes.path)
        sources = [("." if os.path.abspath(file) == here else file, source, part, place) for file, source, part, place in layout.sources]
        fill = dtype_encoding.fill_of(fillvalue, datatype)
        made_of = _native.DatasetDefinition(datatype, list(layout.shape), maxshape=layout.maxshape, fill=fill)
        with self._changes.lock:
            self._changes.make(lambda editor: editor.create_virtual(path, made_of, sources))
            made: Dataset = self[path]
            return made

    @contextlib.contextmanager
    def build_virtual_dataset(
        self, name: Name, shape: ShapeLike, dtype: DtypeLike, maxshape: MaxShapeLike | None = None, fillvalue: object = None
    ) -> Iterator[VirtualLayout]:
        """Creates a virtual dataset at the end of a `with` block, which fills its layout.

        Args:
            name: Path of the dataset.
            shape: Its shape.
            dtype: Its dtype.
            maxshape: How far each dimension may grow; `None` for no limit.
            fillvalue: The value of elements without a source.

        Returns:
            A context manager, which gives the layout.

        Example:
            >>> with f.build_virtual_dataset("all", (2, 100), "f8") as layout:
            ...     layout[0] = hs.VirtualSource("a.h5", "x", (100,))
        """
        layout = VirtualLayout(shape, dtype, maxshape, self._changes.path)
        yield layout
        self.create_virtual_dataset(name, layout, fillvalue)
