"""A program of h5py that knows nothing of connectors: it writes a file, changes it, and tells what it reads.

Run with and without the connector, it must tell the same. Groups are not iterated here: see docs/vol.md.
"""

from __future__ import annotations

import json
import sys

import h5py
import numpy as np

FOLDER = sys.argv[1]
told: dict[str, object] = {}


def tell(name: str, value: object) -> None:
    if isinstance(value, np.ndarray) and value.dtype == object:
        told[name] = [item.tolist() if isinstance(item, np.ndarray) else str(item) for item in value]
    elif isinstance(value, np.ndarray | np.generic):
        told[name] = [str(value.dtype), list(np.shape(value)), repr(value.tolist())]
    else:
        told[name] = repr(value)


def write(path: str) -> None:
    with h5py.File(path, "w") as f:
        x = f.create_dataset("a/b/x", data=np.arange(24, dtype="f8").reshape(2, 3, 4))
        x.attrs["units"] = "m"
        x.attrs["ends"] = np.array([1, -2, 3], "i2")
        x.attrs["names"] = np.array(["ä", ""], dtype=h5py.string_dtype())
        inner = np.dtype([("p", "i2"), ("q", ">i8")])
        particle = np.dtype([("i", "i4"), ("f", ">f8"), ("s", "S3"), ("n", inner), ("v", "f4", (2,))])
        c = f.create_dataset("particles", (4,), dtype=particle, maxshape=(None,))
        c["i"] = np.arange(4)
        c["f"] = np.linspace(0, 1, 4)
        c[1] = (7, 2.5, b"ab", (1, 2), (3, 4))
        f.create_dataset("text", data=["hello", "", "wörld"], dtype=h5py.string_dtype())
        mixed = f.create_dataset("mixed", (2,), dtype=np.dtype([("k", "i4"), ("t", h5py.string_dtype())]))
        mixed[0] = (5, "abc")
        ragged = f.create_dataset("ragged", (3,), dtype=h5py.vlen_dtype("i4"))
        ragged[0], ragged[2] = [1, 2, 3], [9]
        f.create_dataset("flags", data=[True, False])
        f.create_dataset("colours", data=[0, 1, 1], dtype=h5py.enum_dtype({"red": 0, "green": 1}, basetype="i1"))
        f.create_dataset("waves", data=np.array([1 + 2j, 3]))
        f.create_dataset("half", data=np.array([0.5, 65504], "f2"))
        f.create_dataset("big_endian", data=np.arange(300, dtype=">u4").reshape(30, 10))
        f.create_dataset("large", data=np.arange(300_000, dtype="i4").reshape(500, 600), chunks=(100, 100), compression="gzip")
        f.create_dataset("number", data=3.5)
        f["nothing"] = h5py.Empty("f4")
        f["soft"] = h5py.SoftLink("/a/b/x")
        f["hard"] = f["particles"]
        f["type"] = np.dtype("f8")


def grow(path: str) -> None:
    with h5py.File(path, "w") as f:
        for name, fill in (("grown", 7), ("zeros", 0)):
            d = f.create_dataset(name, (2, 3), maxshape=(None, None), dtype="i2", fillvalue=fill)
            d[...] = 1
            d.resize((4, 5))
            d[3, ::2] = 9
            d.resize((3, 4))
            d.resize((5, 4))
    with h5py.File(path, "r+") as f:
        f["grown"].resize((6, 4))
        f["grown"][5] = [1, 2, 3, 4]
        f["late"] = np.arange(3)
        f["zeros"].attrs["changed"] = 1
        del f["late"]
        f["late"] = np.arange(4)
        f.move("late", "sub/later")


def read(path: str) -> None:
    with h5py.File(path) as f:
        for name in ("a/b/x", "soft", "particles", "hard", "text", "mixed", "ragged", "flags", "colours", "waves", "half", "big_endian", "number"):
            if name == "mixed":
                tell("mixed k", f[name]["k"])
                tell("mixed t", f[name]["t"])
            else:
                tell(name, f[name][()])
        x, large = f["a/b/x"], f["large"]
        tell("units", x.attrs["units"])
        tell("ends", x.attrs["ends"])
        tell("names", x.attrs["names"])
        tell("attributes", sorted(x.attrs))
        tell("box", x[:, 1:3, ::2])
        tell("points", large[[3, 77, 400], 5])
        tell("mask", large[100:103, :][np.ones((3, 600), bool)].sum())
        tell("sum", large[...].sum())
        tell("converted", x.astype("f4")[1])
        tell("member", f["particles"]["f"])
        tell("members", f["particles"]["i", "v"])
        tell("empty", f["nothing"].shape)
        tell("there", ["a/b" in f, "a/c" in f, len(f), f["soft"].name, f["hard"] == f["particles"]])
        tell("chunks", [large.chunks, large.compression, f["particles"].maxshape])
        tell("dtype", f["particles"].dtype.descr)
        target = np.zeros((4, 4), "f4")
        x.read_direct(target, np.s_[0, :2, 1:3], np.s_[1:3, 0:2])
        tell("read_direct", target)


def read_grown(path: str) -> None:
    with h5py.File(path) as f:
        for name in ("grown", "zeros", "sub/later"):
            tell(name, f[name][()])
        tell("changed", f["zeros"].attrs["changed"])
        try:
            f["x"] = 1
        except (OSError, ValueError):
            told["read only"] = True


write(FOLDER + "/first.h5")
read(FOLDER + "/first.h5")
grow(FOLDER + "/second.h5")
read_grown(FOLDER + "/second.h5")
print(json.dumps(told))
