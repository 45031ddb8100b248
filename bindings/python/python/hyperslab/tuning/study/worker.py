"""Worker: measures cases of one library in a process of its own, because two libraries may bring an HDF5 each.

Reads lines of JSON from standard input, and answers each with a line: seconds of writing and reading, or an error."""

from __future__ import annotations

import json
import sys

import hyperslab as hs

from .cases import Case
from .libraries import measure, values
from .parallel_hdf5 import launch


def main() -> None:
    """Measures until standard input ends."""
    made = None
    for line in sys.stdin:
        about = json.loads(line)
        if made is None:
            made = values(about["bytes"])
        try:
            case, clients = Case.of(about["case"]), about["clients"]
            is_parallel = case.library == "parallel HDF5"
            seconds = launch(about["path"], case, clients, made.nbytes) if is_parallel else measure(about["path"], case, clients, made)
            answer: dict[str, object] = {"seconds": seconds}
        except (hs.Error, OSError, RuntimeError, ValueError) as error:
            answer = {"error": " ".join(str(error).split())}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
