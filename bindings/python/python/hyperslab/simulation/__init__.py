"""A discrete-event simulation of parallel file systems, Spark and MPI, for scales that no single machine has.

Everything here is **simulated**: figures of a model whose parameters are from papers, vendors, fits and measurements on other
machines. Each parameter of a machine names its source.
"""

from __future__ import annotations

from .machine import Machine, load_machine, names
from .outcome import Outcome
from .scenario import KINDS, Scenario, load_scenario, make_scenario, parameters

__all__ = ["KINDS", "Machine", "Outcome", "Scenario", "load_machine", "load_scenario", "make_scenario", "names", "parameters", "simulate"]


def simulate(scenario: Scenario | str, machine: Machine | str | None = None, seed: int = 1) -> Outcome:
    """Simulates a scenario on a machine.

    Args:
        scenario: A scenario, or the path of a TOML file with one.
        machine: A machine, the name of one (`names()`), or the path of a TOML file. By default the one that the scenario's
            file names, else `lustre-248`.
        seed: Runs with the same seed give the same figures.

    Returns:
        What was found; none of it was measured.

    Raises:
        InvalidInputError: A key is unknown, a value out of range, or the scenario does not fit on the machine.
        MissingExtraError: SimPy is not installed: it comes with `pip install 'hyperslab[simulate]'`.

    Example:
        >>> hyperslab.simulation.simulate(make_scenario("metadata", processes=10240)).seconds
    """
    chosen = machine
    if isinstance(scenario, str):
        scenario, named = load_scenario(scenario)
        chosen = machine or named
    about = chosen if isinstance(chosen, Machine) else load_machine(chosen or "lustre-248")
    return scenario.run_on(about, seed)
