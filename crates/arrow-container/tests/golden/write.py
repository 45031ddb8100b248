"""Writes the golden containers of one version: `HDF5_VOL_CONNECTOR=arrow python write.py FOLDER`, with the connector of that version.
`write.py FOLDER packed` writes one whose values are in a pack (version 2).

Only for a new version of the format: the containers that are here are never written again (see README.md).
"""

from __future__ import annotations

import sys

import h5py
import numpy as np

PARTICLE = np.dtype([("i", "<i4"), ("f", ">f8"), ("s", "S3"), ("n", [("p", "<i2"), ("q", ">i8")]), ("v", "<f4", (2,))])


def write(path: str) -> None:
    with h5py.File(path, "w", track_order=True) as f:
        x = f.create_dataset("a/b/x", data=np.arange(24, dtype="<f8").reshape(2, 3, 4))
        x.attrs["units"] = "m"
        x.attrs["ends"] = np.array([1, -2, 3], "<i2")
        x.attrs["names"] = np.array(["ä", ""], dtype=h5py.string_dtype())
        x.attrs["nothing"] = h5py.Empty("<f4")
        f.attrs["title"] = "golden"
        particles = f.create_dataset("particles", (4,), dtype=PARTICLE, maxshape=(None,), chunks=(4,))
        particles[...] = [(k, k / 2, b"ab", (k, -k), (k, k + 0.5)) for k in range(4)]
        f.create_dataset("text", data=["hello", "", "wörld"], dtype=h5py.string_dtype())
        mixed = f.create_dataset("mixed", (2,), dtype=np.dtype([("k", "<i4"), ("t", h5py.string_dtype())]))
        mixed[0] = (5, "abc")
        ragged = f.create_dataset("ragged", (3,), dtype=h5py.vlen_dtype("<i4"))
        ragged[0], ragged[2] = [1, 2, 3], [9]
        f.create_dataset("colors", data=np.array([0, 1, 1], "i1"), dtype=h5py.enum_dtype({"red": 0, "green": 1}, basetype="i1"))
        f.create_dataset("big_endian", data=np.arange(12, dtype=">u4").reshape(3, 4))
        f.create_dataset("half", data=np.array([0.5, 65504], "<f2"))
        grown = f.create_dataset("grown", (2, 3), maxshape=(None, None), chunks=(2, 3), dtype="<i2", fillvalue=7)
        grown[...] = 1
        grown.resize((3, 4))
        f.create_dataset("number", data=np.float64(3.5))
        f["nothing"] = h5py.Empty("<f4")
        f["reference"] = x.ref
        f["soft"] = h5py.SoftLink("/a/b/x")
        f["external"] = h5py.ExternalLink("other.h5", "/y")
        f["hard"] = f["particles"]
        f["type"] = np.dtype("<f8")


def pack(path: str) -> None:
    """Puts the values into a pack, by adding enough datasets to make one, and removing them again."""
    with h5py.File(path, "r+") as f:
        for name in ("a/b/x", "particles", "text", "mixed", "ragged", "colors", "big_endian", "half", "grown", "number", "reference"):
            # Reading and writing the same makes the values new ones.
            f[name][...] = f[name][...]
        for i in range(300):
            f[f"filler/{i}"] = i
    with h5py.File(path, "r+") as f:
        del f["filler"]


write(sys.argv[1])
if sys.argv[2:] == ["packed"]:
    pack(sys.argv[1])
