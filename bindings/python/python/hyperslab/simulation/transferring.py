"""Clients that access one file side by side: large parts of their own, or the stripes of one target each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from .documents import choice, quantity
from .machine import Machine
from .outcome import Outcome
from .queueing import Engine, Steps
from .storage import FileSystem


@dataclass(frozen=True)
class TransferScenario:
    """Each client transfers `client_bytes` in pieces. `disjoint`: a contiguous part of the file; `one-target`: stripes of one target."""

    way: str = choice("which part of the file a client accesses", "disjoint", "one-target", default="disjoint")
    does: str = choice("what clients do", "read", "write", default="read")
    clients: int = quantity("number of nodes, one process each", least=1, default=10)
    client_bytes: float = quantity("bytes of each client", above=0, default=float(20 << 30))
    transfer_bytes: float = quantity("bytes of a request", above=0, default=float(1 << 20))
    stripe_bytes: float = quantity("bytes of a stripe", above=0, default=float(1 << 20))
    is_aligned: bool = quantity("whether requests begin at stripes", default=True)
    in_flight: int = quantity("requests that a client has under way at a time", least=1, default=8)
    simulated_transfers: int = quantity("requests of a client that are simulated; the rest is scaled", least=1, default=2048)

    def run(self, machine: Machine, seed: int) -> Outcome:
        """Simulates the transfers."""
        engine = Engine(seed)
        system = FileSystem(engine, machine, self.clients)
        total = max(1, math.ceil(self.client_bytes / self.transfer_bytes))
        count = min(total, self.simulated_transfers)
        size = self.client_bytes / total
        random = engine.random("clients")
        shift = 0.0 if self.is_aligned else self.stripe_bytes / 2

        def pieces(client: int, index: int) -> list[tuple[int, float]]:
            """The targets of one request, and bytes on each."""
            targets = machine.targets.count
            if self.way == "one-target":
                # Beyond a stripe's end a request meets the next target's stripe.
                parts = [(client % targets, size)] if self.is_aligned else [(client % targets, size / 2), ((client + 1) % targets, size / 2)]
                return parts
            begin = client * self.client_bytes + index * size + shift
            end, parts = begin + size, []
            while begin < end:
                stripe = math.floor(begin / self.stripe_bytes + 1e-9)
                step = min(end, (stripe + 1) * self.stripe_bytes) - begin
                if step <= 0:
                    break
                parts.append((stripe % targets, step))
                begin += step
            return parts

        def transfer(client: int, target: int, part: float) -> Steps:
            if self.does == "read":
                yield from system.read(client, target, part, client)
            else:
                yield from system.write(client, target, part, client, (target, client))

        def worker(client: int, indexes: Iterator[int]) -> Steps:
            for index in indexes:
                parts = pieces(client, index)
                if len(parts) == 1:
                    yield from transfer(client, *parts[0])
                else:
                    yield engine.env.all_of([engine.start(transfer(client, target, part)) for target, part in parts])

        def run(client: int) -> Steps:
            yield system.open()
            yield engine.wait(random.random() * size / machine.targets.read_bytes_per_second)
            indexes = iter(range(count))
            yield engine.env.all_of([engine.start(worker(client, indexes)) for _ in range(self.in_flight)])

        engine.env.run(engine.env.all_of([engine.start(run(client)) for client in range(self.clients)]))
        # The rest goes on at the same rate.
        seconds = engine.now * total / count
        moved = system.moved_bytes * total / count
        moves = sum(target.lock_moves for target in system.targets) * total / count
        return Outcome(
            "transfer",
            self.way,
            machine.name,
            seconds,
            moved,
            None,
            {},
            system.utilization(engine.now),
            {"requests of a client": float(total), "moves of locks": moves},
            engine.requests,
        )
