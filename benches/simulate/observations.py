"""Reads observations.toml: what the papers print, and the scenario that stands for each."""

from __future__ import annotations

import functools
import pathlib
from dataclasses import dataclass, field
from typing import Any

import tomllib
from hyperslab.simulation import Machine, Outcome, load_machine, make_scenario, simulate

FILE = pathlib.Path(__file__).resolve().parent / "observations.toml"


@dataclass(frozen=True)
class Observation:
    """One figure of a paper: `value`, or a range, or a claim in words that `claims.py` tests."""

    id: str
    figure: str
    paper: str
    place: str
    setting: str
    use: str  # fit, or held back: test
    measure: str  # seconds, GB/s, ratio (seconds of `against` by seconds of `run`) or failed
    run: dict[str, Any]
    machine: str
    unit: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    against: dict[str, Any] = field(default_factory=dict)
    x: float | None = None
    series: str = ""
    note: str = ""

    def ours(self, machine: Machine | None = None) -> float:
        """The simulated figure."""
        about = machine or load_machine(self.machine)
        outcome = run(about, self.run)
        if self.measure == "failed":
            return float(outcome.failed is not None)
        if self.measure == "ratio":
            return run(about, self.against).seconds / outcome.seconds
        return outcome.bytes_per_second / 1e9 if self.measure == "GB/s" else outcome.seconds

    def error(self, ours: float) -> float:
        """Relative error; 0 inside of a range."""
        if self.measure == "failed":
            return 0.0 if ours == self.value else 1.0
        low = self.low if self.low is not None else self.value
        high = self.high if self.high is not None else self.value
        assert low is not None and high is not None
        return ours / low - 1 if ours < low else ours / high - 1 if ours > high else 0.0


def load() -> list[Observation]:
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    made = []
    for table in tables["observation"]:
        shared = tables["figure"][table["figure"]]
        run_of = {**shared.get("run", {}), **table.get("run", {})}
        against = {**run_of, **shared.get("against", {}), **table.get("against", {})} if table["measure"] == "ratio" else {}
        defaults = {key: shared[key] for key in ("paper", "place", "machine") if key in shared}
        made.append(Observation(**{**defaults, **table, "run": run_of, "against": against}))
    for operations in tables["metadata"]["operations"]:
        for count, *rest in tables["metadata"]["rows"]:
            for way, values in zip(tables["metadata"]["ways"], rest, strict=True):
                at = tables["metadata"]["operations"].index(operations)
                made.append(
                    Observation(
                        id=f"metadata-{way}-{count}-{operations}",
                        figure="exahdf5-metadata",
                        paper=tables["metadata"]["paper"],
                        place=tables["metadata"]["place"],
                        setting=f"{way}, {count} processes, {operations} operation{'s' * (operations > 1)}",
                        use="fit" if count in tables["metadata"]["fitted"] and operations != 2 else "test",
                        measure="seconds",
                        unit="s",
                        value=values[at],
                        run={"kind": "metadata", "way": way, "processes": count, "operations": operations},
                        machine=tables["metadata"]["machine"],
                        x=count,
                        series=f"{way}, {operations} operations",
                    )
                )
    return made


_KEPT: dict[Any, Outcome] = {}


def run(machine: Machine, scenario: dict[str, Any]) -> Outcome:
    """Simulates; the same run is made once in a process."""
    key = (repr(machine), repr(sorted(scenario.items())))
    if key not in _KEPT:
        parameters = {name: value for name, value in scenario.items() if name != "kind"}
        _KEPT[key] = simulate(make_scenario(scenario["kind"], file="observations.toml", **parameters), machine)
    return _KEPT[key]


@functools.cache
def figures() -> dict[str, dict[str, Any]]:
    """The figures' titles and axes."""
    tables: dict[str, dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["figure"]
    return tables
