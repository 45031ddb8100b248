"""The command that simulates machines that no one has."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table as Grid

from .. import simulation
from ..base.errors import InvalidInputError
from ..exporting.plain_values import plain
from .app import AsJson, command
from .terminal import say


def _parsed(given: str) -> tuple[str, object]:
    """`key=value`, the value as a number if it is one."""
    key, separator, text = given.partition("=")
    if not separator or not key:
        raise typer.BadParameter(f"{given}: give a parameter and a value, as in stripe_bytes=4MiB")
    if text in ("true", "false"):
        return key, text == "true"
    for kind in (int, float):
        try:
            return key, kind(text)
        except ValueError:
            continue
    return key, text


@command(
    "hyperslab simulate --list",
    "hyperslab simulate --nodes 16 --way spark --bytes 1TiB --partitions 1000",
)
def simulate(
    scenario: Annotated[str | None, typer.Argument(metavar="SCENARIO", help="A scenario, as a TOML file.")] = None,
    machine: Annotated[str | None, typer.Option(help="A machine's name (--list), or a TOML file.")] = None,
    kind: Annotated[str | None, typer.Option(help="read, write, metadata, open, query or transfer; read by default.")] = None,
    way: Annotated[str | None, typer.Option(help="How, such as spark, mpi, subfiles or hyperslab.")] = None,
    nodes: Annotated[int | None, typer.Option(help="Number of nodes.")] = None,
    partitions: Annotated[int | None, typer.Option(help="Number of Spark's tasks.")] = None,
    total_bytes: Annotated[str | None, typer.Option("--bytes", help="Size of the array: 16TiB.")] = None,
    stripes: Annotated[int | None, typer.Option(help="Number of targets of a file.")] = None,
    given: Annotated[list[str] | None, typer.Option("--set", help="Another parameter, as in stripe_bytes=4MiB. May be repeated.")] = None,
    seed: Annotated[int, typer.Option(help="Runs with the same seed are equal.")] = 1,
    listed: Annotated[bool, typer.Option("--list", help="List machines, and the parameters of all kinds.")] = False,
    as_json: AsJson = False,
) -> None:
    """Simulate reads, writes and queries on machines of any size. Nothing is measured."""
    if listed:
        _list(as_json)
        return
    options = {"way": way, "nodes": nodes, "partitions": partitions, "total_bytes": total_bytes, "stripe_count": stripes}
    changes = {key: value for key, value in options.items() if value is not None} | dict(map(_parsed, given or ()))
    named = None
    if scenario is None:
        chosen = simulation.make_scenario(kind or "read", "command line", **changes)
    elif kind is not None:
        raise InvalidInputError("a scenario's file has its own kind: leave out --kind")
    else:
        chosen, named = simulation.load_scenario(scenario, **changes)
    found = simulation.simulate(chosen, machine or named or "lustre-248", seed)
    if as_json:
        print(json.dumps(plain(found.to_dict()), ensure_ascii=False))
    else:
        _show(found)
    if found.failed:
        raise typer.Exit(1)


def _show(found: simulation.Outcome) -> None:
    say(f"[bold]SIMULATED[/bold] {escape(found.kind)} by {escape(found.way)} on {escape(found.machine)}: nothing was measured")
    grid = Grid(box=None, show_header=False)
    grid.add_column(overflow="fold")
    grid.add_column(justify="right")
    if found.failed:
        grid.add_row("the job fails", escape(found.failed))
    grid.add_row("seconds", f"{found.seconds:.6g}")
    if found.bytes_per_second:
        grid.add_row("GB/s", f"{found.bytes_per_second / 1e9:.4g}")
    for name, seconds in found.phases.items():
        grid.add_row(f"{name}, seconds", f"{seconds:.4g}")
    for name, value in found.details.items():
        grid.add_row(name, f"{value:.6g}")
    for name, value in found.utilization.items():
        grid.add_row(name, f"{100 * value:.0f} %")
    say(grid)


def _list(as_json: bool) -> None:
    machines = [simulation.load_machine(name) for name in simulation.names()]
    kinds = {kind: {field.name: field.metadata["about"] for field in simulation.parameters(kind)} for kind in simulation.KINDS}
    if as_json:
        print(json.dumps({"machines": [machine.name for machine in machines], "kinds": kinds}))
        return
    grid = Grid(box=None, header_style="bold")
    for name in ("machine", "nodes", "targets", "GB/s"):
        grid.add_column(name, justify="left" if name == "machine" else "right")
    for machine in machines:
        grid.add_row(machine.name, str(machine.nodes.count), str(machine.targets.count), f"{machine.network.path_bytes_per_second / 1e9:.3g}")
    say(grid)
    for kind, about in kinds.items():
        say(f"\n[bold]{kind}[/bold]")
        parameters = Grid(box=None, show_header=False)
        for name, meaning in about.items():
            parameters.add_row(name, escape(meaning))
        say(parameters)
