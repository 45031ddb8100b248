"""What h5py makes of the same damaged files, in processes of its own: libhdf5 may crash or hang on them."""

from __future__ import annotations

import multiprocessing
import pathlib
import resource
import shutil
import sys
from collections import Counter
from multiprocessing.connection import Connection

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

#: What h5py gets: memory, time for a file, and files before its process is replaced.
MEMORY_BYTES = 4 << 30
TIMEOUT_SECONDS = 10
DATASET_BYTES = 32 << 20


def serve(pipe: Connection) -> None:
    """Compares the files whose paths come in."""
    import compare

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    while True:
        try:
            path = pipe.recv()
        except EOFError:  # the other side is done
            return
        try:
            pipe.send([(r.path, r.outcome, r.detail) for r in compare.compare(path, most_bytes=DATASET_BYTES)])
        except Exception as error:  # h5py cannot open it at all
            pipe.send([("/", "unreadable", f"{type(error).__name__}: {error}"[:160])])


class Oracle:
    """One process that is started anew when it dies."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.process: multiprocessing.Process | None = None

    def start(self) -> None:
        self.pipe, theirs = multiprocessing.get_context("spawn").Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def compare(self, path: pathlib.Path, keep: pathlib.Path) -> list[tuple[str, str, str]]:
        """The objects where we differ; the file is copied to `keep` if there are some."""
        if self.process is None or not self.process.is_alive():
            self.start()
        self.counts["files"] += 1
        results: list[tuple[str, str, str]] = []
        try:
            self.pipe.send(str(path))
            if self.pipe.poll(TIMEOUT_SECONDS):
                results = self.pipe.recv()
            else:
                self.counts["h5py hung"] += 1
                self.stop()
        except (EOFError, OSError):
            self.counts["h5py crashed"] += 1
            self.stop()
        for _, outcome, _ in results:
            self.counts[outcome] += 1
        different = [result for result in results if result[1] == "different"]
        if different and path.parent != keep:
            keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, keep / path.name)
        return different

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None
