"""h5bench's write kernel, unmodified, in the patterns CI and II: ranks write particles through the connector.

Run with the environment of MPI. The sources come from GitHub into the cache; where GitHub is not reached, put them
into HYPERSLAB_H5BENCH. What was written is compared with what the kernel writes natively.
"""

from __future__ import annotations

import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request

import h5py
import numpy as np
import pyarrow.ipc as ipc

COMMIT = "675c86d11832c625f1d71e63d7626308170ba8c5"
ARCHIVE = f"https://codeload.github.com/hpc-io/h5bench/tar.gz/{COMMIT}"
HOME = pathlib.Path.home() / ".cache" / "hyperslab"
SOURCES = pathlib.Path(os.environ.get("HYPERSLAB_H5BENCH", HOME / "vol" / "h5bench"))
HDF5 = HOME / "hdf5-parallel" / "installed"
ENVIRONMENT = pathlib.Path(sys.prefix)
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HOME / "target"))
PLUGIN = pathlib.Path(os.environ.get("HYPERSLAB_VOL", TARGET / "debug" / "libhyperslab_vol.so"))
PARTICLES, STEPS = 100_000, 3
#: The members of the kernel's particle, and those that it does not draw by lot: MPI draws from the same numbers.
NAMES = ["x", "y", "z", "px", "py", "pz", "id_1", "id_2"]
SURE = ["z", "pz", "id_1", "id_2"]


def sources() -> None:
    if (SOURCES / "h5bench_patterns" / "h5bench_write.c").exists():
        return
    with urllib.request.urlopen(ARCHIVE, timeout=60) as reply, tarfile.open(fileobj=io.BytesIO(reply.read())) as archive:
        inside = [member for member in archive.getmembers() if "/commons/" in member.name or "/h5bench_patterns/" in member.name]
        SOURCES.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=SOURCES.parent) as place:
            archive.extractall(place, inside, filter="data")
            shutil.move(next(pathlib.Path(place).iterdir()), SOURCES)


def build(out: pathlib.Path) -> None:
    parts = [SOURCES / "commons/h5bench_util.c", SOURCES / "h5bench_patterns/h5bench_write.c"]
    subprocess.run(
        [ENVIRONMENT / "bin/mpicc", "-O2", "-w", f"-I{HDF5}/include", *parts, "-o", out, f"-L{HDF5}/lib", "-lhdf5", "-lm", f"-Wl,-rpath,{HDF5}/lib"], check=True
    )


def kernel(program: pathlib.Path, folder: pathlib.Path, name: str, pattern: str, ranks: int, environment: dict[str, str]) -> str:
    words = {"c": "CONTIG", "i": "INTERLEAVED"}
    settings = {
        "IO_OPERATION": "WRITE",
        "MEM_PATTERN": words[pattern[0]],
        "FILE_PATTERN": words[pattern[1]],
        "NUM_PARTICLES": PARTICLES,
        "TIMESTEPS": STEPS,
        "DELAYED_CLOSE_TIMESTEPS": 1,
        "COLLECTIVE_DATA": "YES" if ranks % 2 else "NO",
        "COLLECTIVE_METADATA": "YES",
        "EMULATED_COMPUTE_TIME_PER_TIMESTEP": "0 s",
        "NUM_DIMS": 1,
        "DIM_1": PARTICLES,
        "DIM_2": 1,
        "DIM_3": 1,
    }
    (folder / "config").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    run = subprocess.run(
        [ENVIRONMENT / "bin/mpiexec", "-n", str(ranks), program, folder / "config", folder / name],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=300,
    )
    if run.returncode != 0:
        raise SystemExit(f"h5bench {pattern} with {ranks} ranks: {run.stdout}{run.stderr}")
    return next((line.strip() for line in run.stdout.splitlines() if "Observed write rate" in line), "no rate told")


def main() -> int:
    try:
        sources()
    except (urllib.error.URLError, OSError) as error:
        print(f"*** NOT TESTED: h5bench. Its sources are not in {SOURCES}, and GitHub is not reached: {error} ***")
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        build(folder / "kernel")
        (folder / "plugins").mkdir()
        (folder / "plugins" / PLUGIN.name).symlink_to(PLUGIN)
        plain = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
        ours = plain | {"HDF5_PLUGIN_PATH": str(folder / "plugins"), "HDF5_VOL_CONNECTOR": "arrow"}
        for pattern in ("ci", "ii"):
            for ranks in (1, 2, 3):
                native, made = f"native-{pattern}-{ranks}.h5", f"arrow-{pattern}-{ranks}.h5"
                before = kernel(folder / "kernel", folder, native, pattern, ranks, plain)
                after = kernel(folder / "kernel", folder, made, pattern, ranks, ours)
                catalog = ipc.open_file(folder / made / "catalog.arrow").read_all().to_pylist()
                files = {row["path"]: row["file"] for row in catalog if row["file"]}
                with h5py.File(folder / native) as f:
                    datasets = [f"/{group}/particles" for group in f]
                    assert sorted(files) == sorted(datasets)
                    assert len(datasets) == STEPS
                    for path in datasets:
                        table = ipc.open_file(folder / made / files[path]).read_all()
                        assert table.column_names == NAMES
                        assert table.num_rows == ranks * PARTICLES
                        assert all(len(chunk) == PARTICLES for chunk in table["x"].chunks), "a record batch a rank"
                        values = f[path][()]
                        for name in SURE:
                            assert np.array_equal(values[name], table[name].to_numpy()), (path, name)
                        for name in set(NAMES) - set(SURE):
                            drawn = table[name].to_numpy()
                            assert (drawn >= 0).all() and len(np.unique(drawn)) > PARTICLES // 4, (path, name)
                print(f"h5bench {pattern.upper()} {ranks} rank(s): equal. native: {before}; arrow: {after}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
