"""Threads of one program: a C program on a thread-safe HDF5, and h5py's. What they write together is what native HDF5 has."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import acceptance  # noqa: E402
import run  # noqa: E402

ROUNDS = 300
#: How long a deadlock is waited for, in seconds.
PATIENCE = 240
IN_PYTHON = """
import sys, threading, h5py, numpy as np
path, failures = sys.argv[1], []
def work(thread):
    try:
        group = shared.create_group(f"thread{thread}")
        for turn in range(40):
            values = np.arange(5000.0) + 1e6 * thread + turn
            group[f"x{turn}"] = values
            assert np.array_equal(group[f"x{turn}"][::3], values[::3])
            assert np.array_equal(shared["large"][turn : turn + 5], np.arange(turn, turn + 5))
            group.attrs["turn"] = turn
            assert len(list(group)) == turn + 1 and f"thread{thread}" in list(shared)
            with h5py.File(f"{path}.{thread}.h5", "w") as own:
                own["y"] = values
                assert own["y"][7] == values[7]
    except BaseException as fault:
        failures.append(repr(fault))
with h5py.File(path, "w") as shared:
    shared["large"] = np.arange(1 << 19)
    made = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    [one.start() for one in made], [one.join() for one in made]
    print(failures, sorted(shared), sum(float(shared[f"thread{i}/x{t}"][-1]) for i in range(6) for t in range(40)))
"""


def told(command: list[pathlib.Path | str], environment: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout if done.returncode == 0 else done.stdout + done.stderr


def main() -> int:
    run.build()
    installed, good = run.INSTALLED, True
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        program = folder / "threads"
        link = [f"-L{installed}/lib", f"-Wl,-rpath,{installed}/lib", "-lhdf5", "-lpthread"]
        subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{installed}/include", HERE / "threads.c", "-o", program, *link], check=True)
        (folder / "plugins").mkdir()
        (folder / "plugins" / acceptance.PLUGIN.name).symlink_to(acceptance.PLUGIN)
        plain = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
        sides = {form: plain | ({"HDF5_PLUGIN_PATH": str(folder / "plugins"), "HDF5_VOL_CONNECTOR": name} if name else {}) for form, name in run.FORMS.items()}
        for threads in (4, 8):
            dumped = {}
            for form, environment in sides.items():
                work = folder / f"{form}-{threads}"
                work.mkdir()
                outcome = told([program, work, str(threads), str(ROUNDS)], environment)
                good &= outcome[0] == 0
                files = sorted(path for path in work.iterdir() if not path.name.startswith("."))
                dumps = [told([installed / "bin/h5dump", path], environment) for path in files]
                # The first line names the file.
                dumped[form] = [path.name for path in files], [(status, text.split("\n", 1)[1]) for status, text in dumps]
                print(f"C, {form}: {outcome[1].strip()}", flush=True)
            same = all(one == dumped["native"] for one in dumped.values()) and len(dumped["native"][0]) == threads + 1
            print(f"what {threads} threads wrote is {'the same natively and in both forms' if same else 'NOT THE SAME'}")
            good &= same
        spoken = {form: told([sys.executable, "-c", IN_PYTHON, folder / f"h5py-{form}.h5"], environment) for form, environment in sides.items()}
        same = all(one == spoken["native"] for one in spoken.values()) and spoken["native"][1].startswith("[] [")
        print(f"six threads of h5py tell {'the same natively and in both forms' if same else f'OTHER THINGS: {spoken}'}")
    return 0 if good and same else 1


if __name__ == "__main__":
    sys.exit(main())
