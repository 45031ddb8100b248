"""What Hyperslab's design changes, simulated: rows of tables for the page. Each table has a title, a head and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hyperslab.simulation import Machine, load_machine
from observations import run


@dataclass(frozen=True)
class Table:
    """A table of the page."""

    title: str
    head: list[str]
    rows: list[list[str]]


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def order() -> Table:
    """Tasks in the order of the file, and so that neighbors begin on different targets."""
    about = load_machine("lustre-248")
    rows = []
    for nodes in (8, 64):
        for stripe in ("1MiB", "64MiB", "1GiB", "16GiB"):
            scenario = {"kind": "read", "way": "hyperslab", "nodes": nodes, "total_bytes": "1TiB", "stripe_bytes": stripe}
            seconds = [run(about, {**scenario, "order": way}).seconds for way in ("file", "stripes")]
            rows.append([str(nodes), stripe, *map(number, seconds), f"{seconds[0] / seconds[1]:.2f}"])
    return Table("order", ["nodes", "stripes of", "order of the file, s", "by stripes, s", "times as fast"], rows)


def writing() -> Table:
    rows = []
    cases = (("edison-scratch3", 171, 24, 36), ("cori-2017", 128, 32, 128))
    for machine, nodes, per_node, stripe_count in cases:
        about = load_machine(machine)
        scenario = {"kind": "write", "nodes": nodes, "processes_per_node": per_node, "stripe_count": stripe_count}
        shared = run(about, {**scenario, "way": "shared"}).seconds
        for name, changes in (
            ("one shared file, collective", {"way": "shared"}),
            ("one shared file, independent", {"way": "independent"}),
            ("HDF5's subfiles, factor 32", {"way": "subfiles", "factor": 32}),
            *((f"Hyperslab, factor {factor}", {"way": "hyperslab", "factor": factor}) for factor in (1, 8, 32, 256)),
            ("Hyperslab, factor 32, 8 stripes", {"way": "hyperslab", "factor": 32, "stripe_count": 8}),
        ):
            found = run(about, {**scenario, **changes})
            commit = found.phases["commit"]
            rows.append(
                [machine, name, number(found.seconds), number(found.bytes_per_second / 1e9), f"{shared / found.seconds:.2f}", number(commit) if commit else ""]
            )
    return Table("writing", ["machine", "4,096 writers", "seconds", "GB/s", "times the shared file", "commit, s"], rows)


def metadata() -> Table:
    about = load_machine("hopper")
    rows = []
    for processes in (1024, 10240, 100000):
        for operations in (1, 100):
            scenario = {"kind": "metadata", "processes": processes, "operations": operations}
            rows.append(
                [
                    f"{processes:,}",
                    str(operations),
                    *(number(run(about, {**scenario, "way": way}).seconds) for way in ("collective", "server", "locks", "hyperslab")),
                ]
            )
    return Table("metadata", ["processes", "objects", "collective, s", "metadata server, s", "lock manager, s", "Hyperslab, s"], rows)


def indexes() -> Table:
    about = load_machine("hopper")
    rows = []
    for size in ("4TB", "56TB"):
        for way in ("scan", "index"):
            found = run(about, {"kind": "query", "way": way, "nodes": 417, "total_bytes": size})
            rows.append([size, way, f"{100 * found.details['fraction of the column that was read']:.3g} %", number(found.seconds)])
    return Table("indexes", ["column", "by", "bytes read, of the column", "seconds"], rows)


def catalogs() -> Table:
    about = load_machine("lustre-248")
    rows = []
    for count in (1000, 100_000):
        for name, changes in (("each, 1 thread", {"threads": 1}), ("each, 32 threads", {"threads": 32}), ("catalog", {"way": "catalog"})):
            found = run(about, {"kind": "open", "files": count, **changes})
            rows.append([f"{count:,}", name, number(found.seconds), number(found.moved_bytes / 1e6)])
    return Table("catalogs", ["files", "opened", "seconds", "MB read"], rows)


def chunks() -> Table:
    about = load_machine("lustre-248")
    rows = []
    for nodes in (45, 200):
        for locate in ("driver", "tasks"):
            scenario = {"kind": "read", "way": "hyperslab", "nodes": nodes, "total_bytes": "4TiB", "partitions": 12800, "chunks": 1e9, "locate": locate}
            found = run(about, scenario)
            rows.append([str(nodes), locate, number(found.phases["planning"]), number(found.seconds)])
    return Table("chunks", ["nodes", "10^9 chunks located by", "planning, s", "seconds"], rows)


def partitions() -> Table:
    about = load_machine("lustre-248")
    rows = []
    for count in (25_600, 51_200, 102_400, 262_144):
        scenario = {"kind": "read", "way": "hyperslab", "nodes": 1600, "total_bytes": "16TiB", "partitions": count, "requests_per_task": 2}
        found = run(about, scenario)
        rows.append([f"{count:,}", f"{2**44 / count / 2**20:.0f} MiB", number(count / about.spark.tasks_per_second), number(found.seconds)])
    return Table("partitions", ["partitions", "each of", "launching alone, s", "seconds"], rows)


#: Those in SLOW take more than a few seconds of a processor; the tests leave them out.
TABLES: tuple[Any, ...] = (order, writing, metadata, indexes, catalogs, chunks, partitions)
SLOW = {"order", "chunks", "partitions"}


def sources(machine: Machine) -> list[tuple[str, str, str]]:
    """Parameter, value and source of a machine."""
    return [(key, f"{getattr(getattr(machine, key.split('.')[0]), key.split('.')[1]):.4g}", source) for key, source in sorted(machine.sources.items())]
