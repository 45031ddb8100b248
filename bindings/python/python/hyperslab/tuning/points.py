"""Points: combinations of settings. Each is measured once or several times."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, replace
from typing import TypedDict

from ..base.type_aliases import Json, JsonObject

#: Values that are tried of each setting; the first is the default. `None` is what the file system or the machine says.
LEVELS: dict[str, tuple[Json, ...]] = {
    "transfer_bytes": (4 << 20, 1 << 20, 16 << 20, 64 << 20),
    "threads": (None,),
    "chunk_bytes": (1 << 20, 256 << 10, 4 << 20),
    "filter": ("none", "gzip", "zstd", "lz4"),
    "factor": (1, 2, 4),
    "alignment_bytes": (None, 512, 1 << 20),
    "durable": (True, False),
}
#: Settings that a kind of work depends on.
KINDS: dict[str, tuple[str, ...]] = {
    "read": ("transfer_bytes", "threads", "chunk_bytes", "filter", "alignment_bytes"),
    "warm read": ("transfer_bytes", "threads", "chunk_bytes", "filter", "alignment_bytes"),
    "write": ("threads", "chunk_bytes", "filter", "alignment_bytes", "durable"),
    "parallel write": ("chunk_bytes", "filter", "factor", "alignment_bytes", "durable"),
}


class Storage(TypedDict, total=False):
    """Arguments of `create_dataset`."""

    chunks: tuple[int, int]
    compression: str
    shuffle: bool


class Request(TypedDict, total=False):
    """What a measuring process is asked, as a line of JSON: a point and a path, or the kinds `make` and `check`."""

    kind: str
    bytes: int
    path: str
    folder: str
    name: str
    threads: int | None
    chunk_bytes: int
    filter: str
    factor: int
    alignment_bytes: int | None
    durable: bool


@dataclass(frozen=True)
class Point:
    """One combination of settings."""

    kind: str
    transfer_bytes: int = 4 << 20
    threads: int | None = None
    chunk_bytes: int = 1 << 20
    filter: str = "none"
    factor: int = 1
    alignment_bytes: int | None = None
    durable: bool = True

    def to_dict(self) -> JsonObject:
        """As plain values."""
        return asdict(self)


def levels(cores: int) -> dict[str, tuple[Json, ...]]:
    """The values that are tried on a machine with this number of cores."""
    threads: list[int | None] = [None]
    count = 1
    while count <= 2 * cores:
        if count != cores:
            threads.append(count)
        count *= 2
    return LEVELS | {"threads": tuple(threads)}


def design(cores: int, count: int, seed: int = 1) -> list[Point]:
    """Points in the order in which they are measured: the defaults, then each setting alone, then combinations at random."""
    tried = levels(cores)
    found: dict[Point, None] = {}
    for kind, settings in KINDS.items():
        for name in ("none", "zstd"):
            base = Point(kind, filter=name)
            found[base] = None
            for setting in settings:
                for value in tried[setting]:
                    found[replace(base, **{setting: value})] = None
    chance = random.Random(seed)
    while len(found) < count:
        kind = chance.choice(list(KINDS))
        found[Point(kind, **{setting: chance.choice(tried[setting]) for setting in KINDS[kind]})] = None
    first = [Point(kind, filter=name) for name in ("none", "zstd") for kind in KINDS]
    rest = [point for point in found if point not in first]
    # An interrupted run has then tried something of everything.
    chance.shuffle(rest)
    return [*first, *rest][: max(count, len(first))]
