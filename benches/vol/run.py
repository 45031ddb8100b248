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
STEPS = ["write", "write+sync", "read", "one-member", "subset"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--shapes", type=int, default=3, help="how many of the three shapes")
    asked = parser.parse_args()
    programs = acceptance.build()
    source, build = acceptance.sources() / "src", programs.parent
    plugin = acceptance.TARGET / "release" / "libhyperslab_vol.so"
    with tempfile.TemporaryDirectory(dir=os.environ.get("HYPERSLAB_BENCH_FOLDER")) as place:
        folder = pathlib.Path(place)
        includes = [f"-I{path}" for path in (source, source / "H5FDsubfiling", build / "src")]
        program = folder / "particles"
        subprocess.run(["cc", "-O2", *includes, HERE / "particles.c", "-o", program, f"-L{programs}", "-lhdf5", f"-Wl,-rpath,{programs}"], check=True)
        (folder / "plugins").mkdir()
        (folder / "plugins" / plugin.name).symlink_to(plugin)
        plain = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
        ours = plain | {"HDF5_PLUGIN_PATH": str(folder / "plugins"), "HDF5_VOL_CONNECTOR": "arrow"}
        print(f"{'shape':12} {'pattern':8} {'step':11} {'native s':>9} {'arrow s':>9} {'native/arrow':>13}")
        for rows, columns in SHAPES[: asked.shapes]:
            for pattern in ("ci", "ii"):
                seconds: dict[tuple[str, str], list[float]] = {}
                for _ in range(asked.repeats):
                    for name, environment in (("native", plain), ("arrow", ours)):
                        target = folder / "file"
                        run = subprocess.run([program, target, str(rows), str(columns), pattern], env=environment, capture_output=True, text=True, check=True)
                        for line in run.stdout.splitlines():
                            step, value = line.split()
                            seconds.setdefault((name, step), []).append(float(value))
                        if target.is_dir():
                            shutil.rmtree(target)
                        else:
                            target.unlink()
                for step in STEPS:
                    native, arrow = (statistics.median(seconds[name, step]) for name in ("native", "arrow"))
                    print(f"{rows}x{columns:<7} {pattern.upper():8} {step:11} {native:9.3f} {arrow:9.3f} {native / arrow:13.1f}", flush=True)


if __name__ == "__main__":
    main()
