"""Files to be damaged: written by h5py with each kind of chunk index, link storage, heap and superblock, and the real ones of examples/data."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _fill(f: h5py.File, rng: np.random.Generator) -> None:
    """Groups, attributes, values of each layout and kind; smooth numbers, so that compression has something to do."""
    f.attrs["title"], f.attrs["n"] = "a file to be damaged", np.arange(5)
    smooth = np.cumsum(rng.integers(0, 5, (120, 90)), axis=0)
    f["plain/contiguous"] = smooth.astype("f8")
    f.create_dataset("plain/chunked", data=smooth.astype("i4"), chunks=(20, 30))
    f.create_dataset("packed/gzip", data=smooth, chunks=(16, 18), compression="gzip", shuffle=True)
    f.create_dataset("packed/checked", data=smooth.astype("f4"), chunks=(30, 30), fletcher32=True)
    f.create_dataset("packed/lzf", data=smooth.astype("i2"), chunks=(40, 30), compression="lzf")
    f.create_dataset("grows/one", data=smooth.astype("i4"), maxshape=(None, 90), chunks=(8, 90), compression="gzip")
    f.create_dataset("grows/two", data=smooth.astype("i4"), maxshape=(None, None), chunks=(16, 16), compression="gzip")
    f.create_dataset("grows/many", data=np.arange(40_000, dtype="i4"), maxshape=(None,), chunks=(16,), fletcher32=True)
    f.create_dataset("single", data=smooth[:50, :50], chunks=(50, 50), compression="gzip")
    f.create_dataset("partly", (400, 100), "i4", chunks=(20, 100), fillvalue=-7)
    f["partly"][100:160] = 3
    f["text"] = [f"line {n}" * (n % 7 + 1) for n in range(300)]
    f["compound"] = np.array([(n, n / 3, [n, n + 1]) for n in range(500)], [("i", "i4"), ("x", "f8"), ("v", "u2", 2)])
    ragged = f.create_dataset("ragged", (60,), h5py.vlen_dtype("i4"))
    for n in range(60):
        ragged[n] = np.arange(n)
    f["scalar"] = 3.5
    many = f.create_group("many")
    for n in range(60):
        one = many.create_dataset(f"object{n:03}", data=np.arange(n, n + 30, dtype="i8"))
        one.attrs["number"] = n
    for n in range(30):
        f["plain"].attrs[f"attribute{n:02}"] = f"value {n}"
    f["links/hard"] = f["plain/contiguous"]
    f["links/soft"] = h5py.SoftLink("/plain/chunked")
    f["references"] = np.array([f["single"].ref, f["text"].ref], h5py.ref_dtype)


def by_h5py(path: pathlib.Path, **options: object) -> None:
    with h5py.File(path, "w", **options) as f:
        _fill(f, np.random.default_rng(4))


MADE: dict[str, Callable[[pathlib.Path], None]] = {
    "earliest": lambda path: by_h5py(path, libver="earliest"),
    "default": by_h5py,
    "latest": lambda path: by_h5py(path, libver="latest"),
    "v110": lambda path: by_h5py(path, libver=("v110", "v110")),
    "tracked": lambda path: by_h5py(path, libver="latest", track_order=True),
    "pages": lambda path: by_h5py(path, libver="latest", fs_strategy="page", fs_persist=True),
}


def make_all(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Writes all files; also returns the real ones, by name."""
    made = {}
    for name, make in MADE.items():
        made[name] = folder / f"{name}.h5"
        make(made[name])
    for path in sorted((ROOT / "examples" / "data").iterdir()):
        if path.suffix in (".nc", ".h5ad", ".h5") and path.read_bytes()[:4] == b"\x89HDF":
            made[path.stem] = path
    return made
