"""A file of a million chunks as references of VirtualiZarr: our parser and VirtualiZarr's own, in turns."""

from __future__ import annotations

import argparse
import pathlib
import statistics
import time
from typing import Any

import h5py
import numpy as np
from hyperslab.virtualizarr import HyperslabParser
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr.parsers import HDFParser


def make(path: pathlib.Path, side: int) -> None:
    """A matrix of `side` times `side` chunks, in the indexes of h5py's default and of HDF5 1.10."""
    with h5py.File(path, "w", libver="latest" if "latest" in path.name else "earliest") as f:
        matrix = f.create_dataset("matrix", (side, side), "u1", chunks=(1, 1))
        for row in range(side):
            matrix[row] = row % 251


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/bench-references"))
    arguments.add_argument("--side", type=int, default=1000)
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    registry, parsers = ObjectStoreRegistry({"file://": LocalStore()}), {"hyperslab": HyperslabParser(), "virtualizarr": HDFParser()}
    for version in ("earliest", "latest"):
        path = given.folder / f"{version}-{given.side}.h5"
        if not path.exists():
            make(path, given.side)
        seconds: dict[str, list[float]] = {name: [] for name in parsers}
        manifests: dict[str, Any] = {}
        for _ in range(given.rounds):
            for name, parser in parsers.items():
                start = time.perf_counter()
                store = parser(f"file://{path.resolve()}", registry)
                seconds[name].append(time.perf_counter() - start)
                manifests[name] = store._group.arrays["matrix"].manifest
        assert manifests["hyperslab"] == manifests["virtualizarr"]
        ours, theirs = (statistics.median(seconds[name]) for name in parsers)
        spread = {name: f"{min(found):.2f} to {max(found):.2f}" for name, found in seconds.items()}
        print(f"{given.side**2:,} chunks, libver {version}: {ours:.3f} s and {theirs:.3f} s (medians; {spread}), {theirs / ours:.1f} times as fast", flush=True)


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
