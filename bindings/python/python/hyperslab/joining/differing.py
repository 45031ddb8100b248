"""What of a merged file is not as it is in the first file: it comes from the master that shows all files as one, or is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import _native
from ..base.change import Change
from ..objects.dataset import Dataset
from ..objects.native_objects import stored_attribute
from .dimensions import is_placeholder
from .matching import HIDDEN, Joinable, Joined


class Differing:
    """What differs between a whole and the first of its files.

    Attributes:
        changes: What of the first file is left out.
    """

    def __init__(self, joined: Joined) -> None:
        self._joined = joined
        self._left_out = [(path, key) for path, found in joined.objects.items() for key in found.attrs if key not in (*HIDDEN, *joined.attributes[path])]
        self._links = sorted(joined.links.left_out) if joined.links is not None else []
        self.changes = (
            *(Change(path, f"the attribute '{key}' differs between the files, and is left out") for path, key in self._left_out),
            *(Change(path, "the link leads elsewhere in another file, or is not there, and is left out") for path in self._links),
        )

    def write(
        self, first: _native.File, master: _native.File, target: str, replace: bool, progress: Callable[[int, int], object] | None = None
    ) -> _native.Fused:
        """Writes the whole: the first file, with what differs as it is in the master."""
        joined = self._joined
        datasets = [path for path, found in joined.objects.items() if isinstance(found, Dataset) and self._goes_on(path, found)]
        attributes = [(path, key) for path, found in joined.objects.items() for key in self._changed(path, found)]
        new_dimension = None if joined.how.new_dim is None else (f"/{joined.how.new_dim}", list(joined.series))
        return _native.merge_files(first, master, target, replace, datasets, attributes, self._left_out, self._links, new_dimension, progress)

    def _goes_on(self, path: str, found: Dataset) -> bool:
        """Whether the values of a dataset are not those of the first file: references lead to what may have become longer."""
        return path in self._joined.series or path in self._joined.recounted or found.datatype.has_references

    def _changed(self, path: str, found: Joinable) -> Iterator[str]:
        """The attributes whose values are not those of the first file."""
        goes_on = path in self._joined.series
        for key in found.attrs:
            if key not in self._joined.attributes[path]:
                continue
            value = stored_attribute(found, key)
            is_number = key == "_Netcdf4Coordinates" and goes_on and self._joined.how.new_dim is not None
            is_length = key == "NAME" and goes_on and isinstance(found, Dataset) and is_placeholder(found)
            if is_number or is_length or (value is not None and value.datatype.has_references):
                yield key
