"""Backend: how a file was opened. All objects of an open file hold one, and ask it for what they show and change."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from types import EllipsisType, MappingProxyType
from typing import Any, ClassVar, Protocol, TypeAlias, TypedDict, TypeVar

import numpy as np

from .. import _native
from ..base.description import Description
from ..base.type_aliases import AnyDtype, DtypeLike, Elements, Key, MaxShapeLike, Name, Region, ShapeLike
from ..values import dtype_encoding, times
from ..values.encoded import Encoded

Result = TypeVar("Result")
Asked = TypeVar("Asked", bound="Creation")
#: Where the values of a new dataset go: all of it, a part of it, or, with `None`, its end.
Place: TypeAlias = EllipsisType | tuple[slice, ...] | None


class Named(Protocol):
    """An object of a file, as an error calls it."""

    @property
    def path(self) -> str:
        """The absolute path."""


class State(Protocol):
    """An object of a file that changes, as it is now."""

    @property
    def name(self) -> str:
        """The absolute path."""

    @property
    def file(self) -> Any:
        """The file: a `_native.File`, or what has its methods."""

    @property
    def about(self) -> Description:
        """The description of the object."""


class Holder(Named, Protocol):
    """An object of a file, as a backend sees it."""

    _backend: Backend
    _file: _native.File
    _number: int
    _about: Description
    _state: State
    _own_name: str

    def _own_number(self) -> int:
        """The number of the object, which was not removed."""


class Writable(Holder, Protocol):
    """A dataset, as what is known of it sees it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""

    def resize(self, size: ShapeLike) -> None:
        """Changes the extent."""

    def write_stored(self, key: Key, values: object) -> None:
        """Writes a selection of values as they are stored."""


class Creation(Protocol):
    """The arguments of `create_dataset`."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    @property
    def shape(self) -> ShapeLike | None: ...

    @property
    def dtype(self) -> DtypeLike | None: ...

    @property
    def data(self) -> Any: ...

    @property
    def maxshape(self) -> MaxShapeLike | bool | None: ...


class TaskOptions(TypedDict, total=False):
    """Options of `create_dataset` that only a task of a parallel write has."""

    #: The part of the dataset that the task writes.
    region: Region
    #: Whether the task writes rows of its own.
    rows: bool


class Notes:
    """What is known of a dataset that was created since the file was opened.

    Attributes:
        fill: The fill value as it was given, which masked values become; `None` if there is none.
        times: The dtype of times that are stored as counts.
    """

    def __init__(self, fill: Elements, times: AnyDtype | None) -> None:
        self.fill, self.times = fill, times

    def prepared(self, values: object) -> object:
        """Values as they are stored: times are counts."""
        return values if self.times is None else times.counts(values, self.times)

    def write(self, dataset: Writable, key: Key, values: object) -> None:
        """Writes a selection: times become counts, and masked values the fill value."""
        dataset.write_stored(key, self.filled(dataset, self.prepared(values)))

    def filled(self, dataset: Writable, values: object) -> object:
        """Values without masked ones."""
        if self.fill is None or not np.ma.is_masked(values):
            return values
        return dtype_encoding.filled(np.ma.asanyarray(values), self.fill, dataset._about["datatype"])


class Changes(Protocol):
    """What makes changes to a file."""

    #: Whether objects have addresses, as for a `Backend`.
    is_complete: ClassVar[bool]
    #: Held while a change is made and while values are read, so that threads see whole changes.
    lock: contextlib.AbstractContextManager[object]
    #: Counts changes: cached definitions of a netCDF file are up to date if the count has not changed.
    edits: int
    #: Those definitions, if they were looked at.
    netcdf: Any
    #: What is known of datasets that were created since the file was opened, by their numbers.
    notes: dict[int, Notes]

    @property
    def path(self) -> str:
        """The path by which the file was opened."""

    @property
    def raw(self) -> _native.File:
        """The file with all changes so far, read as HDF5: netCDF's own attributes are shown, too."""

    def make(self, change: Callable[[Any], Result]) -> Result:
        """Makes one change: what `change` does with the native editor, or with what has its methods.

        Raises:
            InvalidInputError: The file is closed.
        """

    def put(self, node: Holder, encoded: Encoded) -> None:
        """Writes values of a dataset."""

    def own_options(self, given: Mapping[str, Any], shape: ShapeLike | None) -> TaskOptions:
        """Options of `create_dataset` that h5py does not have."""

    def placed(self, asked: Asked, options: TaskOptions) -> tuple[Asked, Place]:
        """The definition of a dataset that is created with these options, and where its values go; `None` are rows that are appended."""

    def create_given(self, path: str, asked: Creation, track_order: bool | None) -> bool:
        """Creates a dataset that must have its values from the beginning, and returns whether it is such a one."""

    def discard(self, path: str) -> None:
        """Removes an object whose creation has failed."""

    def create_hard_link(self, path: str, target: str) -> None:
        """Gives the object at a path one more name."""

    def remove(self, path: str) -> None:
        """Removes a link, and the object if it has no other name."""

    def rename(self, path: str, to: str) -> None:
        """Gives a link another name."""

    def commit(self) -> None:
        """Makes the changes visible to others, and waits until they are on the disk."""

    def roll_back(self) -> None:
        """Drops the changes since they were last made visible."""


class Backend(abc.ABC):
    """How a file was opened."""

    #: `r` or `r+`.
    mode: ClassVar[str]
    #: Whether what objects show stays as it is.
    is_fixed: ClassVar[bool]
    #: Whether objects have addresses, and values have places in the file. In a file that is being created, they get them when it is complete.
    is_complete: ClassVar[bool] = True
    #: The class of attributes, if they are not stored as h5py stores them.
    attributes: Any = None
    #: What is known of datasets that were created since the file was opened, by their numbers.
    notes: Mapping[int, Notes] = MappingProxyType({})
    #: Whether several writers write the file, each a part of it.
    is_shared: ClassVar[bool] = False
    #: Held while more than one look at the file has to see one state of it.
    lock: contextlib.AbstractContextManager[object]
    #: What h5py's `File` was opened with.
    settings: Any = None

    def was_removed(self, number: int) -> bool:
        """Whether an object was removed since the file was opened. A new object may have its number."""
        return False

    def key(self, number: int) -> object:
        """What the hash of an object comes from, by its number."""
        return self, number

    @property
    @abc.abstractmethod
    def file(self) -> _native.File:
        """The file as it is now; of one that is being created what has been written so far, with the same methods."""

    @property
    def native(self) -> _native.File:
        """The file for tables and queries.

        Raises:
            UnsupportedError: It is being created.
        """
        return self.file

    @property
    @abc.abstractmethod
    def path(self) -> str:
        """The path by which it was opened."""

    @property
    @abc.abstractmethod
    def closed(self) -> bool:
        """Whether it was closed."""

    @abc.abstractmethod
    def hold(self, node: Holder, name: str, about: Description | None) -> None:
        """Gives a new object what it shows: its file, its name and its description."""

    @abc.abstractmethod
    def changes(self, node: Named) -> Changes:
        """What makes changes to an object.

        Raises:
            ReadOnlyError: The file is open for reading.
        """

    def own_options(self, given: Mapping[str, Any], shape: ShapeLike | None) -> TaskOptions:
        """Options of `create_dataset` that h5py does not have: there are none, except in a parallel write."""
        if given:
            raise TypeError(f"create_dataset() got an unexpected keyword argument {next(iter(given))!r}")
        return {}

    def placed(self, asked: Asked, options: TaskOptions) -> tuple[Asked, Place]:
        """The definition of a dataset that is created with these options, and where its values go: all of it."""
        return asked, Ellipsis

    def create_given(self, path: str, asked: Creation, track_order: bool | None) -> bool:
        """Whether a dataset must have its values from the beginning, and was created with them: only in a parallel write."""
        return False

    def group_path(self, path: Name) -> Name:
        """The path of a group that is created: netCDF has its own rules of names."""
        return path

    @abc.abstractmethod
    def refreshed(self, name: str) -> tuple[Backend, int] | None:
        """The file as it is now, and the number of the object of this name in it; `None` if objects show each change at once."""

    @abc.abstractmethod
    def reader(self, node: Holder, make: Callable[[], _native.DatasetReader | None]) -> Any:
        """The reader of a dataset, which `make` makes of the file as it is now."""

    @abc.abstractmethod
    def flush(self) -> None:
        """Makes changes visible to others."""

    @abc.abstractmethod
    def close(self) -> None:
        """Makes changes visible to others, and closes the file."""

    @abc.abstractmethod
    def abandon(self) -> None:
        """Closes the file, without changes since they were last made visible."""
