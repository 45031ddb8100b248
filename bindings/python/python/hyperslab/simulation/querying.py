"""A query on values: by reading all of a column, or by a value index, on many cores."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .documents import choice, quantity
from .machine import Machine
from .outcome import Outcome
from .queueing import Engine, Steps
from .storage import FileSystem

_COLUMN_BYTES = 256e6  # of the column for which index_column_seconds was measured


@dataclass(frozen=True)
class QueryScenario:
    """Each core resolves a condition on its share of a column and sends its hits to one process."""

    way: str = choice("how", "index", "scan", default="index")
    nodes: int = quantity("number of nodes", least=1, default=1)
    total_bytes: float = quantity("bytes of the column", above=0, default=1e12)
    hit_bytes: float = quantity("bytes of all hits", least=0, default=0.0)
    requests_per_core: int = quantity("how finely a core's read is simulated", least=1, most=4096, default=4)

    def run(self, machine: Machine, seed: int) -> Outcome:
        """Simulates the query."""
        engine = Engine(seed)
        system = FileSystem(engine, machine, self.nodes)
        cores = self.nodes * machine.nodes.cores
        ours = machine.hyperslab
        column = self.total_bytes / cores
        is_scan = self.way == "scan"
        size = column if is_scan else column * ours.index_fraction * ours.index_read_fraction
        work = column / ours.core_bytes_per_second if is_scan else column / _COLUMN_BYTES * ours.index_column_seconds

        def core(index: int) -> Steps:
            yield system.open()
            for piece in range(self.requests_per_core):
                target = (index * self.requests_per_core + piece) % machine.targets.count
                yield from system.read(index // machine.nodes.cores, target, size / self.requests_per_core, index)
            yield engine.wait(work)

        def job() -> Steps:
            yield engine.env.all_of([engine.start(core(index)) for index in range(cores)])
            yield engine.wait(math.log2(cores + 1) * machine.collectives.latency_seconds + self.hit_bytes / machine.nodes.link_bytes_per_second)

        engine.env.run(engine.start(job()))
        seconds = engine.now
        details = {"cores": float(cores), "fraction of the column that was read": size / column}
        return Outcome("query", self.way, machine.name, seconds, system.moved_bytes, None, {}, system.utilization(seconds), details, engine.requests)
