"""Each: the function `hyperslab.read_each`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..base.arguments import check_choice
from ..base.errors import Error, InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyDtype, Elements, OpenOptions, Paths
from ..dtypes import is_plain, stored_dtype
from ..files.file import File
from ..objects import reading
from ..objects.dataset import Dataset
from ..sources.addresses import options_of
from ..sources.sessions import session
from .join import paths_of
from .matching import LeftOut

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Files that are read together: at most 1 MiB of each is in memory.
_BATCH = 256
#: Paths that an error names.
_MAX_NAMED = 3


class EachFile:
    """The values of one dataset in each of many files: an iterator of `(path, array)`. `read_each` makes one."""

    def __init__(self, native: _native.Session, paths: list[str], dataset: str, raises: bool) -> None:
        #: The paths of all files, in order.
        self.paths = paths
        #: The files so far whose dataset cannot be read, and why.
        self.left_out: list[LeftOut] = []
        self._dataset = dataset
        self._items = self._read(native, raises)

    def __iter__(self) -> Iterator[tuple[str, Elements]]:
        return self._items

    def __next__(self) -> tuple[str, Elements]:
        return next(self._items)

    def __repr__(self) -> str:
        return f"<{self._dataset} of {len(self.paths)} files>"

    def _read(self, native: _native.Session, raises: bool) -> Iterator[tuple[str, Elements]]:
        known: _native.Datatype | None = None
        dtype: AnyDtype | None = None
        error: Error | None = None
        batches = [self.paths[first : first + _BATCH] for first in range(0, len(self.paths), _BATCH)]
        begun = [native.begin_each(names, self._dataset) for names in batches[:1]]
        for number, names in enumerate(batches):
            outcomes = begun.pop().outcomes()
            # The next files are read while the caller looks at these.
            begun += [native.begin_each(following, self._dataset) for following in batches[number + 1 : number + 2]]
            for name, found in zip(names, outcomes, strict=True):
                if isinstance(found, tuple):
                    datatype, shape, raw = found
                    if datatype != known:
                        known, dtype = datatype, stored_dtype(datatype) if is_plain(datatype) else None
                    if dtype is not None:
                        yield name, np.ndarray(shape, dtype, raw)
                    else:
                        yield name, reading.convert(np.frombuffer(raw, np.uint8), datatype, shape, _NO_HEAP, _NO_FILE)
                    continue
                try:
                    values = self._of_open(found)
                except Error as failed:
                    error = error or failed
                    self.left_out.append(LeftOut(name, failed.message))
                    continue
                yield name, values
        if error is not None and raises:
            raise self._broken(error)

    def _of_open(self, found: _native.File | Exception) -> Elements:
        """The values of a dataset that is not a small one of numbers."""
        if isinstance(found, Exception):
            raise found
        with File(found) as file:
            dataset = file[self._dataset]
            if not isinstance(dataset, Dataset):
                raise InvalidInputError("this is not a dataset", file.filename, self._dataset)
            if dataset.refusal:
                raise UnsupportedError(dataset.refusal, file.filename, self._dataset)
            return dataset[...]

    def _broken(self, first: Error) -> Error:
        """The error of all files that cannot be read: of the kind of the first one."""
        if len(self.left_out) == 1:
            return first
        some = "; ".join(f"{left.path}: {left.reason}" for left in self.left_out[:_MAX_NAMED])
        return type(first)(f"{len(self.left_out)} of {len(self.paths)} files cannot be read (errors='leave_out' lists them): {some}")


#: Numbers are converted without them.
_NO_HEAP: Any = None
_NO_FILE: Any = None


def read_each(files: Paths | File, dataset: str, *, errors: str = "raise", **options: Unpack[OpenOptions]) -> EachFile:
    """Reads one dataset of each of many files, in parallel: 256 files are opened, read and closed at a time, so that a hundred thousand files need
    neither their descriptors nor their memory at once.

    Args:
        files: A glob, paths, or a set of open files.
        dataset: The path of the dataset in each file.
        errors: If there are files whose dataset cannot be read: one error after all other files, which says how many there are (`raise`), or they are
            only listed in `left_out` (`leave_out`).
        options: Those of `hyperslab.open`, such as `threads` and `format`.

    Returns:
        An iterator of `(path, array)` in the order of the files, as `hyperslab.open(path)[dataset][...]` reads the array.

    Raises:
        MissingFileError: No file matches.
        InvalidInputError: An argument is not valid.

    Example:
        >>> total = sum(values.sum() for path, values in hs.read_each("run/*.h5", "/adc"))
    """
    check_choice("errors", errors, ("raise", "leave_out"))
    if (given := options.get("format")) not in (None, "hdf5"):
        raise InvalidInputError(f"format={given!r} is not taken: give hdf5 to read netCDF-4 files as plain HDF5, or leave it out")
    kept = {"limits": tuple(sorted((options.get("limits") or {}).items())), "storage_options": options_of(options.get("storage_options"))}
    return EachFile(session(**{**options, **kept}), paths_of(files, options.get("storage_options")), dataset, errors == "raise")
