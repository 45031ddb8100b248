"""Opening many files before a read can be planned: each by itself, or all from one list of what they hold (a catalog)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .documents import choice, quantity
from .machine import Machine
from .outcome import Outcome
from .queueing import Engine, Steps
from .storage import FileSystem


@dataclass(frozen=True)
class OpenScenario:
    """One process finds out what is in `files` files."""

    way: str = choice("how", "each", "catalog", default="each")
    files: int = quantity("number of files", least=1, default=1000)
    threads: int = quantity("files that are opened side by side", least=1, default=32)
    header_bytes: float = quantity("bytes that are read of each file", above=0, default=float(16 << 10))
    entry_bytes: float = quantity("bytes of a file's entry in the catalog", above=0, default=256.0)

    def run(self, machine: Machine, seed: int) -> Outcome:
        """Simulates it."""
        engine = Engine(seed)
        system = FileSystem(engine, machine, 1)
        done = engine.start(self._each(machine, engine, system) if self.way == "each" else self._catalog(machine, engine, system))
        engine.env.run(done)
        seconds = engine.now
        details = {"files": float(self.files)}
        return Outcome("open", self.way, machine.name, seconds, system.moved_bytes, None, {}, system.utilization(seconds), details, engine.requests)

    def _each(self, machine: Machine, engine: Engine, system: FileSystem) -> Steps:
        pending = iter(range(self.files))

        def thread() -> Steps:
            for file in pending:
                yield system.open()
                yield from system.read(0, file, self.header_bytes, file)
                yield engine.wait(machine.hyperslab.plan_file_seconds)

        yield engine.env.all_of([engine.start(thread()) for _ in range(min(self.threads, self.files))])

    def _catalog(self, machine: Machine, engine: Engine, system: FileSystem) -> Steps:
        yield system.open()
        size = self.files * self.entry_bytes
        pieces = max(1, math.ceil(size / (4 << 20)))
        for piece in range(pieces):
            yield from system.read(0, piece, size / pieces, "catalog")
        # An entry is decoded as a split is: plain data, no parsing of a file.
        yield engine.wait(self.files * machine.hyperslab.plan_split_seconds)
