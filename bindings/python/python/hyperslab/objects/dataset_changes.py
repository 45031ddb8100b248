"""Dataset changes: values of a dataset are written, with h5py's selections, if the file can be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _native
from ..backends.backend import Notes
from ..base.errors import Error, InvalidInputError
from ..base.type_aliases import Key, Name
from ..values import compounds
from ..values.encoded import encode
from . import scales, stored_references
from .attributes import attribute_name
from .netcdf4_names import AttributeNames
from .value_changes import ValueChanges


class DatasetChanges(ValueChanges, AttributeNames):
    """What changes a dataset. If the file is open for reading, each of these methods is a `ReadOnlyError`."""

    if TYPE_CHECKING:
        # Defined by the dataset class.
        @property
        def _shape(self) -> tuple[int, ...]: ...
        @property
        def dims(self) -> tuple[str | None, ...]: ...

    def __setitem__(self, key: Key, values: object) -> None:
        """Writes a selection: slices, indexes, lists of indexes and masks, as in h5py. Names of fields in the key (`d["a", 0:3]`)
        restrict it to these fields; other fields keep their values."""
        with self._changes.lock:
            notes = self._notes
            if notes is None:
                self.write_stored(key, values)
            else:
                notes.write(self, key, values)

    @property
    def dimensions(self) -> tuple[str | None, ...]:
        """Names of the dimensions, by netCDF4-python's name; not of a file that is open for reading."""
        if self._backend.is_fixed:
            raise AttributeError("netCDF4-python's name of the dimensions in a file that is open for reading")
        dims: tuple[str | None, ...] = self.dims
        return dims

    def make_scale(self, name: Name = "") -> None:
        """Makes the dataset a dimension scale.

        Args:
            name: The name of the scale.

        Raises:
            InvalidInputError: The dataset has scales of its own.

        Example:
            >>> f["time"].make_scale("time")
        """
        with self._changes.lock:
            scales.make(self, attribute_name(name))

    def attach_scale(self, axis: int, scale: scales.Scaled) -> None:
        """Attaches a scale to a dimension. A dataset that is not a scale becomes one.

        Args:
            axis: The dimension.
            scale: A dataset of this file.

        Raises:
            InvalidInputError: There is no such dimension, or the scale has scales itself.

        Example:
            >>> f["wind"].attach_scale(0, f["time"])
        """
        with self._changes.lock:
            scales.attach(self, axis, scale)

    def detach_scale(self, axis: int, scale: scales.Scaled) -> None:
        """Detaches a scale from a dimension.

        Args:
            axis: The dimension.
            scale: The scale.

        Raises:
            ObjectNotFoundError: It is not attached there.

        Example:
            >>> f["wind"].detach_scale(0, f["time"])
        """
        with self._changes.lock:
            scales.detach(self, axis, scale)

    def set_label(self, axis: int, label: str) -> None:
        """Sets the label of a dimension.

        Args:
            axis: The dimension.
            label: The label.

        Raises:
            InvalidInputError: There is no such dimension.

        Example:
            >>> f["wind"].set_label(0, "time")
        """
        with self._changes.lock:
            scales.set_label(self, axis, label)

    def write_stored(self, key: Key, values: object) -> None:
        """Writes values as they are stored: times are counts, and no value is masked.

        Args:
            key: The selection, as in `dataset[key] = values`.
            values: The values.

        Example:
            >>> f["time"].write_stored(0, 86400)
        """
        about = self._about
        if about["shape"] is None:
            raise InvalidInputError("a dataset with a null dataspace has no elements", self._changes.path, self.path)
        key, names = compounds.selected(key)
        try:
            encoded = encode(key, names, values, tuple(about["shape"]), _writable(about["datatype"]), stored_references.values_of(self))
        except Error as error:
            if error.file is None:
                error.file, error.object = self._changes.path, self.path
            raise
        if not encoded.is_empty:
            self._changes.put(self, encoded)

    @property
    def _notes(self) -> Notes | None:
        """What is known of the dataset if it was created since the file was opened."""
        return self._backend.notes.get(self._number)


def _writable(datatype: _native.Datatype) -> _native.Datatype:
    """The datatype as values are encoded for it."""
    if datatype.class_name == "bitfield":
        return _native.Datatype.integer(datatype.size, signed=False, order=datatype.order)
    return datatype
