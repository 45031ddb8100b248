"""`make bench-instructions`: how many instructions five small cases take, by valgrind's callgrind.

Unlike time, the count hardly depends on other load on the machine, so that a change of one percent is visible.
It does not measure waiting, memory or the kernel. No result makes it fail: the table shows the last recorded
run (`instructions.json`, written with `--record`) for comparison.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

RECORDED = pathlib.Path(__file__).with_name("instructions.json")
FILES = 100


def make(folder: pathlib.Path) -> dict[str, str]:
    """The data of the cases, and the request of each to the program (see `ours/src/main.rs`)."""
    values = (np.round(np.sin(np.arange(1 << 18) / 700) * 4000) / 64).astype("f4").reshape(512, 512)
    options = {"contiguous": {}, "chunked": {"chunks": (128, 128)}, "gzip": {"chunks": (128, 128), "compression": "gzip", "shuffle": True}}
    for name, creation in options.items():
        with h5py.File(folder / f"{name}.h5", "w") as f:
            f.create_dataset("x", data=values, **creation)
    with h5py.File(folder / "links.h5", "w", libver="latest") as f:
        target = f.create_dataset("x", data=1.0)
        for number in range(2000):
            f[f"link{number}"] = target
    (folder / "small").mkdir()
    for number in range(FILES):
        with h5py.File(folder / f"small/{number:05}.h5", "w") as f:
            f["x"] = np.arange(512) + number
            offset = f["x"].id.get_offset()
    (folder / "small.files").write_text(f"{offset} {512 * 8} {FILES}\n")
    return {
        f"{FILES} small files": f"files\t{folder}/small",
        "2,000 links": f"links\t{folder}/links.h5",
        **{f"1 MiB, {name}": f"dataset\t{folder}/{name}.h5" for name in options},
    }


def counted(program: str, request: str) -> int:
    """Instructions of the program that answers `request`, or no request if it is empty."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program]
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise SystemExit(f"callgrind counted nothing:\n{done.stderr}")
    return int(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="hyperslab-bench, as `cargo build --release -p hyperslab-bench` makes it")
    parser.add_argument("--record", action="store_true", help=f"keep the counts in {RECORDED.name}")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is missing, so no instructions were counted: apt-get install valgrind")
    before = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    with tempfile.TemporaryDirectory(prefix="hyperslab-instructions-") as folder:
        requests = make(pathlib.Path(folder))
        start = counted(options.program, "")
        counts = {name: counted(options.program, f"{request}\t1\treused\n") - start for name, request in requests.items()}
    for name, count in counts.items():
        change = f"{count / before[name] - 1:+8.1%} of {before[name]:,}" if name in before else ""
        print(f"{name:20}{count:>14,}{change}")
    if options.record:
        RECORDED.write_text(json.dumps(counts, indent=1) + "\n")


if __name__ == "__main__":
    main()
