"""Open files for xarray: many files. No more are open at a time than the system permits."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from ..base.errors import ConflictError
from ..sources.addresses import is_address
from ..sources.sessions import Arguments, session
from .opening import FileVersion, OpenedFile

#: Files that are opened in parallel at a time.
_BATCH_FILES = 4096


def _max_open_files() -> int:
    """How many files of a dataset are kept open: a quarter of what this process may have open."""
    try:
        import resource
    except ImportError:  # not on this system
        return 256
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else max(soft // 4, 16)


class OpenFiles:
    """Files that are opened when they are asked for. Those that were not asked for lately are closed if there are too many.

    A pickle has the paths and the versions of the files, which are opened again where it is read."""

    def __init__(self, paths: Sequence[str], options: Arguments) -> None:
        self.paths, self._options = list(paths), options
        self._versions: list[FileVersion | None] = [None] * len(self.paths)
        self._reset()

    def _reset(self) -> None:
        self._open: OrderedDict[int, OpenedFile] = OrderedDict()
        self._lock, self._max = threading.Lock(), _max_open_files()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> OpenedFile:
        """A file; `ConflictError` if it is not the one that was opened first, or was written to since."""
        with self._lock:
            found = self._open.get(index)
            if found is not None:
                self._open.move_to_end(index)
        if found is None:
            (found,) = self._opened(index, index + 1)
        found.check_unchanged()
        return found

    def each(self) -> Iterator[OpenedFile]:
        """All files in order, opened in parallel."""
        step = min(self._max, _BATCH_FILES)
        for first in range(0, len(self.paths), step):
            yield from self._opened(first, min(first + step, len(self.paths)))

    def close(self) -> None:
        """Closes all files; one that is asked for later is opened again."""
        with self._lock:
            self._open.clear()

    def _opened(self, first: int, stop: int) -> list[OpenedFile]:
        with self._lock:
            while self._open and len(self._open) + stop - first > self._max:
                self._open.popitem(last=False)  # closed once the last read of it has ended
        natives = session(*self._options).open(self.paths[first:stop])
        opened = []
        for index, native in enumerate(natives, first):
            file = OpenedFile(native, None if is_address(native.path) else FileVersion.of(native.path))
            known = self._versions[index]
            if known is not None and file.version is not None and known[1:] != file.version[1:]:
                raise ConflictError("the file has changed since it was opened: open it again", native.path)
            self._versions[index] = file.version
            opened.append(file)
        with self._lock:
            self._open.update(enumerate(opened, first))
        return opened

    def __getstate__(self) -> dict[str, object]:
        return {"paths": self.paths, "_options": self._options, "_versions": self._versions}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._reset()
