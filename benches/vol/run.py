"""The slides' experiment: native HDF5 and the connector in turn, in one run, on this machine."""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "testing" / "vol"))

import acceptance  # noqa: E402

SHAPES = [(2048, 2048), (4096, 2048), (4096, 4096)]
STEPS = ["write", "write+fsync", "read", "one-member", "subset"]
HOME = pathlib.Path.home() / ".cache" / "hyperslab"
MPI, PARALLEL = HOME / "venvs" / "mpi", HOME / "hdf5-parallel" / "installed"


def programs(folder: pathlib.Path) -> dict[int, list[str]]:
    """The command for each number of ranks: HDF5 1.14.6 for one, and parallel HDF5 2.2 for two where it is built."""
    libraries = acceptance.build()
    source, build = acceptance.sources() / "src", libraries.parent
    includes = [f"-I{path}" for path in (source, source / "H5FDsubfiling", build / "src")]
    subprocess.run(["cc", "-O2", *includes, HERE / "particles.c", "-o", folder / "alone", f"-L{libraries}", "-lhdf5", f"-Wl,-rpath,{libraries}"], check=True)
    commands = {1: [str(folder / "alone")]}
    if (PARALLEL / "lib").exists():
        subprocess.run([MPI / "bin/mpicc", "-O2", "-DRANKS", f"-I{PARALLEL}/include", HERE / "particles.c", "-o", folder / "together", f"-L{PARALLEL}/lib", "-lhdf5", f"-Wl,-rpath,{PARALLEL}/lib"], check=True)
        commands[2] = [str(MPI / "bin/mpiexec"), "-n", "2", str(folder / "together")]
    else:
        print("*** NOT MEASURED: two ranks. Parallel HDF5 is built by `make bench-write`. ***")
    return commands


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--shapes", type=int, nargs="*", default=[0, 1, 2], help="which of the three shapes")
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2])
    asked = parser.parse_args()
    plugin = acceptance.TARGET / "release" / "libhyperslab_vol.so"
    with tempfile.TemporaryDirectory(dir=os.environ.get("HYPERSLAB_BENCH_FOLDER")) as place:
        folder = pathlib.Path(place)
        commands = programs(folder)
        (folder / "plugins").mkdir()
        (folder / "plugins" / plugin.name).symlink_to(plugin)
        plain = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")} | {"LD_LIBRARY_PATH": str(MPI / "lib")}
        ours = plain | {"HDF5_PLUGIN_PATH": str(folder / "plugins"), "HDF5_VOL_CONNECTOR": "arrow"}
        print(f"{'shape':12} {'ranks':5} {'pattern':8} {'step':11} {'native s':>9} {'arrow s':>9} {'native/arrow':>13} {'least/least':>12}")
        for rows, columns in [SHAPES[number] for number in asked.shapes]:
            for ranks, pattern in [(ranks, pattern) for ranks in asked.ranks if ranks in commands for pattern in ("ci", "ii")]:
                seconds: dict[tuple[str, str], list[float]] = {}
                for _ in range(asked.repeats):
                    for name, environment in (("native", plain), ("arrow", ours)):
                        target = folder / "file"
                        run = subprocess.run([*commands[ranks], target, str(rows), str(columns), pattern], env=environment, capture_output=True, text=True, check=False)
                        if run.returncode != 0:
                            raise SystemExit(f"{name}: {run.stdout}{run.stderr}")
                        for line in run.stdout.splitlines():
                            step, value = line.split()
                            seconds.setdefault((name, step), []).append(float(value))
                        if target.is_dir():
                            shutil.rmtree(target)
                        else:
                            target.unlink()
                for step in STEPS:
                    native, arrow = (statistics.median(seconds[name, step]) for name in ("native", "arrow"))
                    least = min(seconds["native", step]) / min(seconds["arrow", step])
                    print(f"{rows}x{columns:<7} {ranks:<5} {pattern.upper():8} {step:11} {native:9.3f} {arrow:9.3f} {native / arrow:13.1f} {least:12.1f}", flush=True)


if __name__ == "__main__":
    main()
