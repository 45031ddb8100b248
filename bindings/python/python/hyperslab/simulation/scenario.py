"""Scenarios: what is simulated. A scenario is a small text file, or keys and values."""

from __future__ import annotations

import dataclasses
import pathlib
from dataclasses import dataclass
from typing import Any

from ..base.arguments import unknown_choice
from ..base.errors import InvalidInputError
from .documents import build, read
from .machine import Machine
from .object_metadata import MetadataScenario
from .opening import OpenScenario
from .outcome import Outcome
from .querying import QueryScenario
from .reading import ReadScenario
from .transferring import TransferScenario
from .writing import WriteScenario

About = ReadScenario | WriteScenario | MetadataScenario | OpenScenario | QueryScenario | TransferScenario
#: The kinds of scenarios by name.
KINDS: dict[str, type[About]] = {
    "read": ReadScenario,
    "write": WriteScenario,
    "metadata": MetadataScenario,
    "open": OpenScenario,
    "query": QueryScenario,
    "transfer": TransferScenario,
}


def parameters(kind: str) -> tuple[dataclasses.Field[Any], ...]:
    """The parameters of a kind of scenario.

    Args:
        kind: A name of `KINDS`.

    Returns:
        Fields of a dataclass; the metadata `about` of each says what it means.
    """
    return dataclasses.fields(KINDS[kind])


@dataclass(frozen=True)
class Scenario:
    """What is simulated.

    Attributes:
        kind: A name of `KINDS`.
        about: The scenario's own parameters.
    """

    kind: str
    about: About

    def run_on(self, machine: Machine, seed: int = 1) -> Outcome:
        """Simulates the scenario.

        Args:
            machine: The machine.
            seed: Runs with the same seed give the same figures.

        Returns:
            What was found.

        Raises:
            InvalidInputError: The scenario does not fit on the machine.
        """
        nodes = getattr(self.about, "nodes", getattr(self.about, "clients", 1))
        if nodes > machine.nodes.count:
            raise InvalidInputError(f"{nodes} nodes: {machine.name} has {machine.nodes.count}")
        return self.about.run(machine, seed)

    def with_changes(self, **changes: object) -> Scenario:
        """The scenario with other parameters.

        Args:
            changes: Parameters by name.

        Returns:
            A new scenario.

        Raises:
            InvalidInputError: A parameter is unknown or out of range.
        """
        return make_scenario(self.kind, **{**dataclasses.asdict(self.about), **changes})


def make_scenario(kind: str, file: str = "scenario", **parameters: object) -> Scenario:
    """A scenario of given parameters.

    Args:
        kind: A name of `KINDS`.
        file: What messages call the scenario.
        parameters: Parameters of that kind.

    Returns:
        The scenario.

    Raises:
        InvalidInputError: The kind or a parameter is unknown, or a value is out of range.
    """
    if kind not in KINDS:
        raise InvalidInputError(f"{file}: {unknown_choice('kind', kind, KINDS)}")
    return Scenario(kind, build(KINDS[kind], parameters, file))


def load_scenario(path: str, **changes: object) -> tuple[Scenario, str | None]:
    """Reads a scenario.

    Args:
        path: A TOML file with `kind`, perhaps `machine` (a name, or a path relative to the file), and the kind's parameters.
        changes: Parameters that replace parameters of the file.

    Returns:
        The scenario, and the machine that the file names.

    Raises:
        MissingFileError: The file does not exist.
        InvalidInputError: It is not TOML, a key is unknown or missing, or a value is out of range.
    """
    given = read(path)
    kind = given.pop("kind", None)
    if kind is None:
        raise InvalidInputError(f"{path}: key 'kind' is missing: one of {', '.join(KINDS)}")
    machine = given.pop("machine", None)
    if machine is not None and not isinstance(machine, str):
        raise InvalidInputError(f"{path}: 'machine' is {machine!r}; give a name or a path")
    if machine is not None and machine.endswith(".toml") and not pathlib.PurePath(machine).is_absolute():
        machine = str(pathlib.Path(path).parent / machine)
    return make_scenario(str(kind), path, **{**given, **changes}), machine
