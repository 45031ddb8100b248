"""Fits the parameters that machines call "fitted", each to one observation, by bisection; those of metadata to several.

    fit.py [MACHINE ...]

Prints the value of each next to the one in force. Put what differs into the machine's file (machines/*.toml)."""

from __future__ import annotations

import math
import sys

from hyperslab.simulation import Machine, load_machine
from observations import Observation, load

#: machine, figure, observation, lower and upper bound. Those of a machine influence each other, so that there are two rounds.
FITTED = (
    ("lustre-248", "network.path_bytes_per_second", "mpi-135", 50e9, 600e9),
    ("lustre-248", "spark.core_bytes_per_second", "stripes-248", 5e6, 200e6),
    ("lustre-248", "spark.noise", "executors-90", 0.0, 0.8),
    ("lustre-248", "nodes.link_bytes_per_second", "mpi-gap-45", 0.3e9, 10e9),
    ("lustre-248", "spark.python_core_bytes_per_second", "stripes-24-python", 2e6, 100e6),
    ("cori-2017", "nodes.link_bytes_per_second", "cori-16k-rate", 0.3e9, 0.6e9),
    ("cori-burst-buffer", "nodes.link_bytes_per_second", "bb-16k-rate", 0.6e9, 1.6e9),
    ("edison-scratch3", "targets.write_bytes_per_second", "scratch3-2k-rate", 1e9, 2e9),
    ("edison-scratch3", "collectives.seconds_per_process", "scratch3-4k", 10e-6, 60e-6),
    ("edison-cscratch", "collectives.seconds_per_process", "edison-cscratch-4k", 50e-6, 300e-6),
)
STEPS = 8


def fit(machine: Machine, key: str, observation: Observation, low: float, high: float) -> float:
    """The value at which the simulation gives the paper's figure."""
    section = key.replace(".", "__")

    def found(value: float) -> float:
        return observation.ours(machine.with_changes(**{section: value}))

    grows = found(high) > found(low)
    assert observation.value is not None
    for _ in range(STEPS):
        middle = math.sqrt(low * high) if low else (low + high) / 2
        if (found(middle) < observation.value) == grows:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high) if low else (low + high) / 2


def metadata(observations: list[Observation], way: str) -> tuple[float, float]:
    """First cost and cost of each operation of a process, so that the mean square of log(ours / theirs) is least."""
    rows = [
        (o.run["processes"], o.run["operations"], o.value or 0.0)
        for o in observations
        if o.use == "fit" and o.run.get("way") == way and o.run["kind"] == "metadata"
    ]

    def miss(first: float, each: float) -> float:
        return sum(math.log(((first if way == "collective" else first * p) + each * p * k) / seconds) ** 2 for p, k, seconds in rows)

    first, each, step = 1e-4, 1e-5, 4.0
    while step > 1.0005:
        around = [(first * a, each * b) for a in (1 / step, 1, step) for b in (1 / step, 1, step)]
        best = min(around, key=lambda pair: miss(*pair))
        if best == (first, each):
            step = math.sqrt(step)
        first, each = best
    return first, each


def main() -> None:
    only = sys.argv[1:]
    observations = load()
    by_id = {observation.id: observation for observation in observations}
    machines = {name: load_machine(name) for name, *_ in FITTED}
    for turn in range(1 if only else 2):
        for name, key, observation, low, high in FITTED:
            if turn and not name.startswith("lustre"):
                continue  # fitted once: its parameters do not influence each other
            if only and name not in only:
                continue
            section, field = key.split(".")
            value = float(f"{fit(machines[name], key, by_id[observation], low, high):.3g}")
            before = getattr(getattr(machines[name], section), field)
            machines[name] = machines[name].with_changes(**{f"{section}__{field}": value})
            print(f"{name} {key} = {value:g}  (in force: {before:g}; {observation})", flush=True)
    for way in ("collective", "server", "locks"):
        print(f"{way}: first {metadata(observations, way)[0]:.3g} s, each operation {metadata(observations, way)[1]:.3g} s, for each process")


if __name__ == "__main__":
    main()
