"""Compound particles through native HDF5 and through the connector, in turns.

A turn runs every shape, number of ranks and pattern once, natively and through the connector. With --keep, its seconds are
added to a file, so that turns can run in parts, when the machine is quiet; the table covers all turns in the file.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "testing" / "vol"))

import acceptance  # noqa: E402

SHAPES = [(2048, 2048), (4096, 2048), (4096, 4096)]
STEPS = ["write", "write+fsync", "read", "one-member", "subset"]
COLUMNS = [(pattern, step) for pattern in ("ci", "ii") for step in STEPS]
HOME = pathlib.Path.home() / ".cache" / "hyperslab"
MPI, PARALLEL = HOME / "venvs" / "mpi", HOME / "hdf5-parallel" / "installed"


def programs(folder: pathlib.Path) -> dict[int, list[str]]:
    """The command for each number of ranks: HDF5 1.14.6 for one, and parallel HDF5 2.2 for two and four if it is built."""
    libraries = acceptance.build()
    source, build = acceptance.sources() / "src", libraries.parent
    includes = [f"-I{path}" for path in (source, source / "H5FDsubfiling", build / "src")]
    subprocess.run(["cc", "-O2", *includes, HERE / "particles.c", "-o", folder / "alone", f"-L{libraries}", "-lhdf5", f"-Wl,-rpath,{libraries}"], check=True)
    commands = {1: [str(folder / "alone")]}
    if (PARALLEL / "lib").exists():
        subprocess.run(
            [
                MPI / "bin/mpicc",
                "-O2",
                "-DRANKS",
                f"-I{PARALLEL}/include",
                HERE / "particles.c",
                "-o",
                folder / "together",
                f"-L{PARALLEL}/lib",
                "-lhdf5",
                f"-Wl,-rpath,{PARALLEL}/lib",
            ],
            check=True,
        )
        commands |= {ranks: [str(MPI / "bin/mpiexec"), "-n", str(ranks), str(folder / "together")] for ranks in (2, 4)}
    else:
        print("*** NOT MEASURED: two and four ranks. Parallel HDF5 is built by `make bench-write`. ***")
    return commands


# Seconds of every turn: (shape, ranks, pattern, who, step).
Key = tuple[int, int, str, str, str]
Seconds = dict[Key, list[float]]


def kept(path: pathlib.Path | None) -> Seconds:
    seconds: Seconds = {}
    for line in path.read_text().splitlines() if path and path.exists() else []:
        add(seconds, json.loads(line))
    return seconds


def add(seconds: Seconds, run: dict) -> None:
    for step, value in run["seconds"].items():
        seconds.setdefault((run["shape"], run["ranks"], run["pattern"], run["who"], step), []).append(value)


def one(command: list[str], target: pathlib.Path, shape: int, pattern: str, environment: dict[str, str]) -> dict[str, float]:
    """The seconds of each step."""
    run = subprocess.run([*command, target, *map(str, SHAPES[shape]), pattern], env=environment, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"{command}: {run.stdout}{run.stderr}")
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()
    return {step: float(value) for step, value in (line.split() for line in run.stdout.splitlines())}


#: What is measured in turns, and the connector with its options.
WAYS = {"native": None, "arrow": "arrow", "one file": "arrow form=file"}


def compared(seconds: Seconds, shape: int, ranks: int, pattern: str, step: str, way: str = "arrow") -> tuple[list[float], list[float]] | None:
    native, arrow = (seconds.get((shape, ranks, pattern, who, step)) for who in ("native", way))
    return (native, arrow) if native and arrow else None


def table(seconds: Seconds) -> None:
    """The medians of all seconds, and the table of docs/vol.md: speed as a multiple of native HDF5."""
    rows = sorted({(shape, ranks) for shape, ranks, *_ in seconds})
    print(f"{'shape':12} {'ranks':5} {'pattern':8} {'step':11} {'turns':>5} {'native s':>9} {'arrow s':>9} {'native/arrow':>13} {'least/least':>12}")
    for shape, ranks in rows:
        for pattern, step in COLUMNS:
            if found := compared(seconds, shape, ranks, pattern, step):
                native, arrow = map(statistics.median, found)
                least = min(found[0]) / min(found[1])
                print(
                    f"{'x'.join(map(str, SHAPES[shape])):12} {ranks:<5} {pattern.upper():8} {step:11} {len(found[1]):5} {native:9.4f} {arrow:9.4f} {native / arrow:13.1f} {least:12.1f}"
                )
    print("\n| shape, ranks | " + " | ".join(f"{pattern.upper()} {step}" for pattern, step in COLUMNS) + " |\n|---|" + "--:|" * len(COLUMNS))
    for shape, ranks in rows:
        for way in ("arrow", "one file"):
            both = [compared(seconds, shape, ranks, pattern, step, way) for pattern, step in COLUMNS]
            cells = [f"{statistics.median(pair[0]) / statistics.median(pair[1]):.1f}" if pair else "" for pair in both]
            print(f"| {' by '.join(map(str, SHAPES[shape]))}, {ranks}{', one file' if way == 'one file' else ''} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10, help="turns; 0 prints the table of what is kept")
    parser.add_argument("--shapes", type=int, nargs="*", default=[0, 1, 2], help="which of the three shapes")
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--patterns", nargs="*", choices=["ci", "ii"], default=["ci", "ii"])
    parser.add_argument("--keep", type=pathlib.Path, help="add the seconds of each turn to this file, a line of JSON a program")
    asked = parser.parse_args()
    plugin = acceptance.TARGET / "release" / "libhyperslab_vol.so"
    seconds = kept(asked.keep)
    with tempfile.TemporaryDirectory(dir=os.environ.get("HYPERSLAB_BENCH_FOLDER")) as place:
        folder = pathlib.Path(place)
        commands = programs(folder) if asked.repeats else {}
        (folder / "plugins").mkdir()
        (folder / "plugins" / plugin.name).symlink_to(plugin)
        plain = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")} | {"LD_LIBRARY_PATH": str(MPI / "lib")}
        with_plugin = plain | {"HDF5_PLUGIN_PATH": str(folder / "plugins")}
        for turn in range(asked.repeats):
            start = time.monotonic()
            for shape, ranks, pattern in [
                (shape, ranks, pattern) for shape in asked.shapes for ranks in asked.ranks if ranks in commands for pattern in asked.patterns
            ]:
                for who, connector in WAYS.items():
                    environment = plain if connector is None else with_plugin | {"HDF5_VOL_CONNECTOR": connector}
                    run = {
                        "shape": shape,
                        "ranks": ranks,
                        "pattern": pattern,
                        "who": who,
                        "seconds": one(commands[ranks], folder / "file", shape, pattern, environment),
                    }
                    add(seconds, run)
                    if asked.keep:
                        with asked.keep.open("a") as kept_file:
                            kept_file.write(json.dumps(run) + "\n")
            print(f"turn {turn + 1} of {asked.repeats}: {time.monotonic() - start:.0f} s", flush=True)
    table(seconds)


if __name__ == "__main__":
    main()
