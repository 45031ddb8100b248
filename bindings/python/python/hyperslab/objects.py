"""Objects: groups and datasets of open files, with h5py's interface."""

from __future__ import annotations

import html
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from . import _native, dtypes, indexing_keys, plot, reading, references, tree
from .attributes import Attributes, Empty
from .errors import READ_ONLY, InvalidInputError, NotFoundError, ReadOnlyError
from .kept_property import kept_property
from .references import Reference, RegionReference
from .type_aliases import AnyArray, Elements

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Default = TypeVar("Default")
Result = TypeVar("Result")


class Node:
    """An object of a file: a group, a dataset, or another one."""

    def __init__(self, file: _native.File, number: int, name: str, about: dict[str, Any] | None = None) -> None:
        self._file, self._number, self.name = file, number, name
        self._about = file.describe(number, name) if about is None else about

    @property
    def kind(self) -> str:
        """`group`, `dataset`, `datatype` (a committed one) or `unreadable`."""
        return str(self._about["kind"])

    @property
    def refusal(self) -> str | None:
        """Why the object cannot be read; `None` if it can."""
        return self._about.get("refusal")

    @property
    def attrs(self) -> Attributes:
        """The attributes."""
        return Attributes(self._file, self._number)

    @property
    def path(self) -> str:
        """The absolute path."""
        return self.name

    def __eq__(self, other: object) -> bool:
        """Whether it is the same object of the same open file, under any path. Copies are equal, and so is what comes out of a
        pickle in a process where the file is still open."""
        return isinstance(other, Node) and self._number == other._number and self._file == other._file

    def __hash__(self) -> int:
        return hash((self._file, self._number))

    def __bool__(self) -> bool:
        """Whether its file is open, as in h5py."""
        return not self._file.closed

    def __reduce__(self) -> tuple[Any, ...]:
        return make, (self._file, self._number, self.name)

    def refresh(self) -> None:
        """Reads the metadata of the file again: a dataset that has grown shows its new shape."""
        self._file, self._number = self._file.reopen().find(self.name)
        self._about = self._file.describe(self._number, self.name)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise ReadOnlyError(READ_ONLY, self._file.path, self.name)

    def __delitem__(self, key: Any) -> None:
        raise ReadOnlyError(READ_ONLY, self._file.path, self.name)

    def _summary(self) -> str:
        """The object in one line of a tree."""
        if self.kind == "unreadable":
            return f"cannot be read: {self.refusal}"
        return "" if self.kind == "group" else self.kind

    def _entries(self, ancestors: frozenset[int]) -> Iterator[tree.Entry]:
        """The links of a group, in the order of the file; only groups have some."""
        return iter(())

    def _closed(self) -> str:
        """What `repr` shows of an object whose file is closed."""
        return f"<closed {self.kind} {self.name}>"

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>" if self else self._closed()

    def _repr_html_(self) -> str:
        return tree.as_html(self, self.name) if self else html.escape(self._closed())


def make(file: _native.File, number: int, name: str) -> Member:
    """The object with this number: a `Dataset`, a `Group` or a `Node`."""
    return _CLASSES.get(file.kind(number), Node)(file, number, name)


class Names(KeysView[str]):
    """The names of a group's members."""

    _mapping: Group

    def __eq__(self, other: object) -> bool:
        return list(self) == other if isinstance(other, list) else super().__eq__(other)

    def __repr__(self) -> str:
        return f"Names({list(self)})"


class Members(ValuesView["Member | None"]):
    """The members of a group; `None` for a dangling link."""

    _mapping: Group

    def __iter__(self) -> Iterator[Member | None]:
        return (self._mapping.get(name) for name in self._mapping)

    def __repr__(self) -> str:
        return f"Members of {self._mapping.name}"


class NamedMembers(ItemsView[str, "Member | None"]):
    """Names and members of a group; `None` for a dangling link."""

    _mapping: Group

    def __iter__(self) -> Iterator[tuple[str, Member | None]]:
        return ((name, self._mapping.get(name)) for name in self._mapping)

    def __repr__(self) -> str:
        return f"NamedMembers of {self._mapping.name}"


class Group(Node, Mapping[str, "Member | None"]):
    """A group: a mapping from the names of its members to groups and datasets. Iteration follows the file's order of
    names; `f["a/b"]` follows a path."""

    def keys(self) -> Names:
        """The members' names.

        Returns:
            A view, in the order of the file.

        Example:
            >>> list(f.keys())
        """
        return Names(self)

    def values(self) -> Members:
        """The members; `None` for a dangling link.

        Returns:
            A view, in the order of the file.

        Example:
            >>> [member.name for member in f.values() if member is not None]
        """
        return Members(self)

    def items(self) -> NamedMembers:
        """Names and members; the member is `None` for a dangling link.

        Returns:
            A view, in the order of the file.

        Example:
            >>> dict(f.items())
        """
        return NamedMembers(self)

    @overload
    def get(self, path: str | Reference, default: None = None) -> Member | None: ...

    @overload
    def get(self, path: str | Reference, default: Default) -> Member | Default: ...

    def get(self, path: str | Reference, default: Default | None = None) -> Member | Default | None:
        """The member at a path, or `default` if there is none.

        Args:
            path: Path of the member.
            default: What is returned if there is none.

        Returns:
            A group, a dataset, or `default`.

        Example:
            >>> f.get("theta")
        """
        try:
            return self[path]
        except NotFoundError:
            return default

    def visit(self, function: Callable[[str], Result | None]) -> Result | None:
        """Calls `function` with the path of each object below this group, until it returns something other than `None`.

        The order and what is visited are as in `visititems`, which says more.

        Args:
            function: Called with the path relative to this group.

        Returns:
            The last result of `function`.

        Raises:
            CorruptError: The members of this group cannot be listed.

        Example:
            >>> f.visit(print)
        """
        visit = _native.Visit(self._file, self._number, self.name)
        while paths := visit.paths():
            for path in paths:
                result = function(path)
                if result is not None:
                    return result
        return None

    def visititems(self, function: Callable[[str, Member], Result | None]) -> Result | None:
        """Calls `function` with the path of each object below this group and the object, until it returns something other
        than `None`.

        As in h5py, the order is that of the names, and a group comes before its members. Each object is visited once, under its
        first path, even if several hard links lead to it. Soft and external links are not followed. An object that cannot be read
        is visited as a `Node` with a `refusal`, and raises its error when it is used. Objects are parsed ahead, in parallel.

        Args:
            function: Called with the path relative to this group, and the object.

        Returns:
            The last result of `function`.

        Raises:
            CorruptError: The members of this group cannot be listed.

        Example:
            >>> f.visititems(lambda path, member: print(path, member.attrs))
        """
        file, above = self._file, self.name.rstrip("/") + "/"
        visit = _native.Visit(file, self._number, self.name)
        while found := visit.objects():
            for path, number, about in found:
                result = function(path, _CLASSES.get(about["kind"], Node)(file, number, above + path, about))
                if result is not None:
                    return result
        return None

    def _links(self) -> _native.Links:
        return self._file.links(self._number)

    def _entries(self, ancestors: frozenset[int]) -> Iterator[tree.Entry]:
        links = self._links()
        for name, kind, number, target in zip(links.names, links.kinds, links.objects, links.targets, strict=True):
            path = f"{self.name.rstrip('/')}/{name}"
            if number is None:
                yield tree.Entry(name, path, f"{kind} link", None, target, False)
                continue
            found = make(self._file, number, path)
            yield tree.Entry(name, path, found.kind, found, "", number in ancestors)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names())

    def __len__(self) -> int:
        return self._file.link_count(self._number)

    def _names(self) -> list[str]:
        return self._file.names(self._number)

    def __contains__(self, path: object) -> bool:
        return self._file.exists(self._absolute(str(path)))

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.name.rstrip('/')}/{path}"

    def __getitem__(self, path: str | Reference) -> Member:
        if isinstance(path, Reference):
            found = path._found()
            if found is None:
                raise InvalidInputError("this reference points at nothing")
            found.file.check(found.object)
            return make(found.file, found.object, found.path)
        if not isinstance(path, str):
            raise TypeError(f"a group is indexed by the path of a member, not by {path!r}")
        absolute = self._absolute(path)
        file, number = self._file.find(absolute)
        file.check(number)
        return make(file, number, "/" + "/".join(p for p in absolute.split("/") if p))

    def __repr__(self) -> str:
        return tree.text(self) if self else self._closed()


class Dataset(Node):
    """A dataset: an array in a file, indexed like a numpy array. `dataset[0, :10]` reads only the chunks that it needs."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        return self._shape

    @kept_property
    def _shape(self) -> tuple[int, ...]:
        return tuple(self._about["shape"] or ())

    @property
    def maxshape(self) -> tuple[int | None, ...]:
        """The maximum extent of each dimension; `None` for unlimited ones."""
        return tuple(self._about.get("maxshape") or self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype, the same as in h5py."""
        return self._dtype

    @kept_property
    def _dtype(self) -> np.dtype[Any]:
        return dtypes.value_dtype(self._about["datatype"])

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """The shape of a chunk; `None` if the dataset is not chunked."""
        return tuple(self._about["chunks"]) if self._about["chunks"] else None

    @property
    def filters(self) -> list[str]:
        """The names of the filters, in the order in which a writer applies them."""
        return [name for _, name, _ in self._about["filters"]]

    @property
    def dims(self) -> tuple[str | None, ...]:
        """Names of the dimensions."""
        return tuple(name for name, _ in self._dimensions())

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return 0 if self._about["shape"] is None else int(np.prod(self.shape, dtype=object))

    @property
    def nbytes(self) -> int:
        """The bytes of all values in memory, without variable-length data."""
        return self.size * self.dtype.itemsize

    @property
    def compression_ratio(self) -> float | None:
        """The size of the values divided by their size in the file; `None` without filters or values."""
        if not self.filters or self.refusal or not self.stored_bytes:
            return None
        return float(self.size * self._about["datatype"]["size"] / self.stored_bytes)

    @property
    def fillvalue(self) -> Elements:
        """The value of unwritten elements: a scalar of the dataset's dtype."""
        datatype = self._about["datatype"]
        raw = np.frombuffer(self._about["fill"] or bytes(datatype["size"]), np.uint8).copy()
        return reading.convert(raw, datatype, (), _native.Heap(), self._file)[()]

    @property
    def stored_bytes(self) -> int:
        """The bytes of the values in the file, after filters."""
        return self._file.stored_bytes(self._number)

    def _dimensions(self) -> list[tuple[str | None, int | None]]:
        """Name of each dimension, and the number of the object that holds its coordinates."""
        return self._file.dimensions(self._number)

    def _scale(self, dimension: int) -> Dataset | None:
        """The dataset that holds the coordinates of a dimension."""
        dimensions = self._dimensions()
        number = dimensions[dimension][1] if dimensions else None
        if number is None:
            return None
        found = make(self._file, number, self._file.object_path(number))
        return found if isinstance(found, Dataset) else None

    def _summary(self) -> str:
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
        return "  ".join(parts)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar dataset has no length")
        return self.shape[0]

    @kept_property
    def _reader(self) -> _native.DatasetReader | None:
        return reading.reader(self._file, self._number, self._about)

    def refresh(self) -> None:
        super().refresh()
        for made in ("_reader", "_dtype", "_shape"):
            self.__dict__.pop(made, None)

    def __getitem__(self, key: Any) -> Elements:
        if self._reader is not None and (values := self._reader.get(key)) is not None:
            return values
        if self._about["shape"] is None:
            return Empty(self.dtype)
        if isinstance(key, RegionReference):
            found = key._found()
            if found is None or found.selection is None or found.object != self._number or found.file != self._file:
                raise InvalidInputError(f"this reference points at {found.path if found else 'nothing'}, not at {self.name}")
            return references.elements(self, found.selection)
        keys = key if isinstance(key, tuple) else (key,)
        fields = [k for k in keys if isinstance(k, str)]
        rest = tuple(k for k in keys if not isinstance(k, str))
        selected = indexing_keys.select(rest or (Ellipsis,), self.shape)
        values = reading.select(self._file, self._number, self.name, self._about, selected)
        if fields:
            values = values[fields[0] if len(fields) == 1 else fields]
        scalar = isinstance(values, np.ndarray) and values.ndim == 0 and Ellipsis not in [k for k in rest if k is Ellipsis]
        return values[()] if scalar else values

    def asstr(self, encoding: str = "utf-8", errors: str = "strict") -> TextView:
        """A view of a string dataset with values of type `str`: `d.asstr()[3:5]`.

        Args:
            encoding: The encoding; by default that of the datatype.
            errors: What to do with bytes that are not text, as in `bytes.decode`.

        Returns:
            A view whose elements are `str`.

        Raises:
            TypeError: The dataset is not text.

        Example:
            >>> f["names"].asstr()[0]
        """
        if self._about["datatype"]["class"] not in ("string", "variable string"):
            raise TypeError(f"{self.name} holds {dtypes.describe(self._about['datatype'])}, not strings")
        return TextView(self, encoding, errors)

    @overload
    def plot(
        self,
        out: None = None,
        index: int | tuple[int, ...] = (),
        *,
        cmap: Any = None,
        vmin: float | None = None,
        vmax: float | None = None,
        log: bool = False,
        ax: Axes | None = None,
    ) -> Figure: ...

    @overload
    def plot(
        self,
        out: str,
        index: int | tuple[int, ...] = (),
        *,
        cmap: Any = None,
        vmin: float | None = None,
        vmax: float | None = None,
        log: bool = False,
        ax: Axes | None = None,
    ) -> str: ...

    def plot(
        self,
        out: str | None = None,
        index: int | tuple[int, ...] = (),
        *,
        cmap: Any = None,
        vmin: float | None = None,
        vmax: float | None = None,
        log: bool = False,
        ax: Axes | None = None,
    ) -> Figure | str:
        """Draws a quick look: one dimension as a line, more as an image of the last two. Needs matplotlib.

        Args:
            out: Path of the picture.
            index: Index of the leading dimensions that are not drawn; 0 by default.
            cmap, vmin, vmax, log, ax: As in `hyperslab.plot.plot`.

        Returns:
            `out` if it is a path, else the matplotlib figure.

        Example:
            >>> f["theta"].plot("theta.png")
        """
        return plot.plot(self, out, index, cmap=cmap, vmin=vmin, vmax=vmax, log=log, ax=ax)

    def read_direct(self, out: np.ndarray[Any, Any], source_sel: Any = None, dest_sel: Any = None) -> None:
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
        selected = indexing_keys.select(Ellipsis if source_sel is None else source_sel, self.shape)
        place = out if dest_sel is None else out[dest_sel]
        datatype = self._about["datatype"]
        plain = selected.mask is None and all(isinstance(p, slice) or np.ndim(p) == 0 for p in selected.pick)
        if (
            plain
            and np.shares_memory(place, out)
            and place.flags.c_contiguous
            and place.flags.writeable
            and dtypes.is_plain(datatype)
            and not reading.has_strings(datatype)
            and place.dtype == self.dtype
            and place.shape == selected.shape
        ):
            self._file.read_into(self._number, selected.axes, place.ctypes.data, place.nbytes)
            return
        values = self[Ellipsis if source_sel is None else source_sel]
        if np.shape(values) != place.shape:
            raise InvalidInputError(f"shape {np.shape(values)} does not fit {place.shape}")
        out[... if dest_sel is None else dest_sel] = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("values are read from a file, which is a copy")
        return np.asarray(self[...], dtype=dtype)

    def __repr__(self) -> str:
        if not self:
            return self._closed()
        return f"<Dataset {self.name}: shape {self.shape}, {dtypes.describe(self._about['datatype'])}>"

    def _repr_html_(self) -> str:
        return tree.as_html(self, f"{self.name}  {self._summary()}") if self else html.escape(self._closed())


#: What a group contains. A `Node` is a committed datatype or an object that cannot be read.
Member = Group | Dataset | Node

#: Classes of objects by their kind; others are a `Node`.
_CLASSES: dict[str, type[Group | Dataset]] = {"dataset": Dataset, "group": Group}


class TextView:
    """A string dataset with values of type `str`."""

    def __init__(self, dataset: Any, encoding: str, errors: str) -> None:
        self._dataset, self._encoding, self._errors = dataset, encoding, errors

    def __getitem__(self, key: Any) -> str | AnyArray:
        # A dataset that is being written has none.
        reader = getattr(self._dataset, "_reader", None)
        if reader is not None and self._encoding == "utf-8" and self._errors == "strict" and (text := reader.get_text(key)) is not None:
            return text  # type: ignore[no-any-return]
        values = self._dataset[key]
        if isinstance(values, bytes):
            return values.decode(self._encoding, self._errors)
        out = np.empty(values.shape, dtype=object)
        out.reshape(-1)[:] = [v.decode(self._encoding, self._errors) for v in values.reshape(-1)]
        return out

    def __len__(self) -> int:
        return len(self._dataset)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self[...], dtype=dtype)
