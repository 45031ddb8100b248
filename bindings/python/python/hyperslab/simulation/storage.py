"""The file system in simulated time: targets with locks and caches, metadata servers, and the network before them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING

from .machine import Machine
from .queueing import Engine, Queue, Steps

if TYPE_CHECKING:
    import simpy


class ReadCache:
    """The read cache of a server: blocks by key, least recently used ones leave first."""

    __slots__ = ("_blocks", "_capacity_bytes", "_used_bytes", "hits")

    def __init__(self, capacity_bytes: float) -> None:
        self._blocks: OrderedDict[Hashable, float] = OrderedDict()
        self._capacity_bytes = capacity_bytes
        self._used_bytes = 0.0
        self.hits = 0

    def holds(self, key: Hashable, size_bytes: float) -> bool:
        """Whether a block is there. If not, it is from now on, unless it is larger than the cache."""
        if key in self._blocks:
            self._blocks.move_to_end(key)
            self.hits += 1
            return True
        if size_bytes <= self._capacity_bytes:
            self._blocks[key] = size_bytes
            self._used_bytes += size_bytes
            while self._used_bytes > self._capacity_bytes:
                self._used_bytes -= self._blocks.popitem(last=False)[1]
        return False


class Target:
    """One object storage target and its server."""

    __slots__ = ("_about", "_holder", "_random", "_stream", "bytes", "cache", "lock_moves", "queue")

    def __init__(self, engine: Engine, machine: Machine, index: int) -> None:
        self._about = machine.targets
        self._random = engine.random(f"target {index}")
        self._stream: Hashable = None  # what the last request belonged to
        self._holder: dict[Hashable, Hashable] = {}  # the client that has the lock of an object
        self.queue = Queue(engine)
        self.cache = ReadCache(machine.targets.server_cache_bytes)
        self.bytes = 0.0
        self.lock_moves = 0

    def read(self, size_bytes: float, stream: Hashable, block: Hashable = None) -> simpy.Event:
        """Reads; a request of the stream that was served last needs no positioning, a `block` in the cache no disk."""
        self.bytes += size_bytes
        if block is not None and self.cache.holds(block, size_bytes):
            return self.queue.serve(0.0)
        return self.queue.serve(self._seconds(size_bytes, self._about.read_bytes_per_second, stream))

    def write(self, size_bytes: float, stream: Hashable, lock: tuple[Hashable, Hashable] | None = None, pieces: int = 1) -> simpy.Event:
        """Writes; `lock` is the object and the client, `pieces` how often another client may take the lock in between."""
        self.bytes += size_bytes
        seconds = self._seconds(size_bytes, self._about.write_bytes_per_second, stream)
        if lock is not None:
            item, client = lock
            holder = self._holder.get(item)
            if holder is not None and holder != client:
                self.lock_moves += pieces
                seconds += pieces * self._about.lock_move_seconds
            self._holder[item] = client
        return self.queue.serve(seconds)

    def _seconds(self, size_bytes: float, bytes_per_second: float, stream: Hashable) -> float:
        seconds = size_bytes / bytes_per_second
        if stream != self._stream:
            seconds += self._about.positioning_seconds
            self._stream = stream
        return seconds * self._random.lognormvariate(0.0, self._about.noise) if self._about.noise else seconds


class FileSystem:
    """Targets, metadata servers and the network of a machine."""

    def __init__(self, engine: Engine, machine: Machine, nodes: int) -> None:
        self.engine = engine
        self.machine = machine
        self.targets = [Target(engine, machine, index) for index in range(machine.targets.count)]
        self.path = Queue(engine)
        self.links = [Queue(engine) for _ in range(nodes)]
        self.metadata = Queue(engine, machine.metadata.count)

    def open(self) -> simpy.Event:
        """Opens a file, at the metadata server."""
        return self.metadata.serve(self.machine.metadata.open_seconds, self.machine.network.latency_seconds)

    def create(self, stripe_count: int) -> simpy.Event:
        """Creates a file with objects on some targets."""
        about = self.machine.metadata
        return self.metadata.serve(about.create_seconds + stripe_count * about.create_object_seconds, self.machine.network.latency_seconds)

    def read(self, node: int, target: int, size_bytes: float, stream: Hashable, block: Hashable = None) -> Steps:
        """A read of one target by a node: disk, routers, the node's link, one after the other."""
        machine = self.machine
        yield self.targets[target % len(self.targets)].read(size_bytes, stream, block)
        yield self.path.serve(size_bytes / machine.network.path_bytes_per_second)
        yield self._link(node, size_bytes)

    def write(self, node: int, target: int, size_bytes: float, stream: Hashable, lock: tuple[Hashable, Hashable] | None = None, pieces: int = 1) -> Steps:
        """A write to one target by a node: the node's link, routers, disk."""
        machine = self.machine
        yield self._link(node, size_bytes)
        yield self.path.serve(size_bytes / machine.network.path_bytes_per_second)
        yield self.targets[target % len(self.targets)].write(size_bytes, stream, lock, pieces)

    def _link(self, node: int, size_bytes: float) -> simpy.Event:
        return self.links[node].serve(size_bytes / self.machine.nodes.link_bytes_per_second, self.machine.network.latency_seconds)

    @property
    def moved_bytes(self) -> float:
        """Bytes that targets have read or written."""
        return sum(target.bytes for target in self.targets)

    def utilization(self, seconds: float) -> dict[str, float]:
        """How busy each part was, of the given time: the busiest target and link, all metadata servers, the network."""
        if seconds <= 0:
            return {}
        return {
            "busiest target": max(target.queue.busy_seconds for target in self.targets) / seconds,
            "targets used": sum(1 for target in self.targets if target.queue.served) / len(self.targets),
            "network": self.path.busy_seconds / seconds,
            "busiest node link": max(link.busy_seconds for link in self.links) / seconds,
            "metadata servers": self.metadata.busy_seconds / seconds / self.machine.metadata.count,
        }
