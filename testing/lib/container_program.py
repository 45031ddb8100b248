"""A program of h5py that knows nothing of connectors: it writes objects of every kind into the file that its argument names."""

from __future__ import annotations

import sys

import h5py
import numpy as np


def write(path: str) -> None:
    with h5py.File(path, "w", track_order=False) as f:
        _numbers(f.create_group("numbers"))
        _texts(f.create_group("texts"))
        _compounds(f.create_group("compounds"))
        _ragged(f.create_group("ragged"))
        _spaces(f.create_group("spaces"))
        _references(f)
        _links(f)
        _scales(f.create_group("scales"))
        f.attrs["title"] = "of every kind"


def _numbers(g: h5py.Group) -> None:
    for code in ("i1", "u1", "<i2", ">i2", "<u4", ">u4", "<i8", ">i8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "g", "<c8", ">c16"):
        name = code.replace("<", "le_").replace(">", "be_")
        values = (np.arange(60) * 7 % 50 - (0 if "u" in code else 9)).astype(code)
        g.create_dataset(name, data=values.reshape(3, 4, 5))
        g[name].attrs["first"] = values[0]
        g[name].attrs["some"] = values[:6].reshape(2, 3)
    g.create_dataset("large", data=np.arange(700_000, dtype="f8").reshape(700, 1000), chunks=(100, 100), compression="gzip", shuffle=True)
    g.create_dataset("flags", data=[True, False, True])
    g.create_dataset("colors", data=[0, 1, 1], dtype=h5py.enum_dtype({"red": 0, "green": 1}, basetype="i2"))
    bits = h5py.h5t.STD_B16BE.copy()
    h5py.h5d.create(g.id, b"bits", bits, h5py.h5s.create_simple((3,))).write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 2, 0x300], ">u2"), bits)
    odd = h5py.h5t.STD_I32LE.copy()
    odd.set_precision(20)
    odd.set_offset(4)
    h5py.h5d.create(g.id, b"twenty_bits", odd, h5py.h5s.create_simple((4,))).write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, -2, 300, -40000], "i4"))
    g.create_dataset("opaque", data=np.array([b"\x01\x02\x03", b"\xff\x00\x07"], "V3"))
    g.create_dataset("of_arrays", (5,), dtype=np.dtype((">f4", (2, 3))))[...] = np.arange(30, dtype=">f4").reshape(5, 2, 3)


def _texts(g: h5py.Group) -> None:
    g.create_dataset("fixed", data=np.array([b"a", b"", b"abc"], "S3"))
    utf8 = h5py.string_dtype("utf-8", 7)
    g.create_dataset("fixed_utf8", data=np.array(["ä".encode(), b"wxyz"], utf8))
    g.create_dataset("variable", data=["hello", "", "wörld", "x" * 5000], dtype=h5py.string_dtype())
    g.create_dataset("variable_ascii", data=["one", "two"], dtype=h5py.string_dtype("ascii"))
    g.create_dataset("variable_2d", data=np.array([["a", "bb"], ["", "dddd"], ["ee", "f"]], dtype=object), dtype=h5py.string_dtype())
    g.create_dataset("scalar", data="alone")
    g.attrs["text"] = "ünicode"
    g.attrs["texts"] = np.array(["ä", "", "ccc"], dtype=h5py.string_dtype())
    g.attrs["fixed"] = np.bytes_(b"fixed")
    g.attrs["no text"] = ""


def _compounds(g: h5py.Group) -> None:
    inner = np.dtype([("p", "<i2"), ("q", ">i8")])
    particle = np.dtype([("i", "<i4"), ("f", ">f8"), ("s", "S3"), ("n", inner), ("v", "<f4", (2, 2)), ("m", inner, (3,))])
    values = np.zeros(50, particle)
    values["i"], values["f"], values["s"] = np.arange(50), np.linspace(0, 1, 50), b"ab"
    values["n"]["p"], values["n"]["q"] = np.arange(50) * 3, -np.arange(50)
    values["v"] = np.arange(200).reshape(50, 2, 2)
    values["m"]["q"] = np.arange(150).reshape(50, 3)
    g.create_dataset("particles", data=values, maxshape=(None,))
    g.create_dataset("particles_2d", data=values.reshape(5, 10))
    padded = np.dtype({"names": ["a", "b"], "formats": ["i1", "<f8"], "offsets": [0, 16], "itemsize": 32})
    gaps = np.zeros(7, padded)
    gaps["a"], gaps["b"] = np.arange(7), np.arange(7) / 2
    g.create_dataset("with_gaps", data=gaps)
    mixed = np.dtype([("k", "<i4"), ("t", h5py.string_dtype()), ("l", h5py.vlen_dtype("<i2")), ("z", "<f8")])
    d = g.create_dataset("mixed", (4,), dtype=mixed)
    for row in range(4):
        d[row] = (row, "abc" * row, np.arange(row, dtype="i2"), row / 4)
    g.attrs["record"] = values[3]
    g.attrs["records"] = values[:2]


def _ragged(g: h5py.Group) -> None:
    d = g.create_dataset("integers", (5,), dtype=h5py.vlen_dtype("<i4"))
    d[0], d[2], d[4] = [1, 2, 3], [], [9]
    e = g.create_dataset("floats_2d", (2, 2), dtype=h5py.vlen_dtype(">f8"))
    e[0, 0], e[1, 1] = [0.5], [1.5, 2.5]
    pair = np.dtype([("a", "<i4"), ("b", "<f8")])
    p = g.create_dataset("pairs", (3,), dtype=h5py.vlen_dtype(pair))
    p[1] = np.array([(1, 0.5), (2, 1.5)], pair)
    g.attrs.create("lists", np.array([np.array([1, 2], "i4"), np.array([3], "i4")], dtype=object), dtype=h5py.vlen_dtype("i4"))


def _spaces(g: h5py.Group) -> None:
    g.create_dataset("number", data=3.5)
    g["nothing"] = h5py.Empty("f4")
    g.create_dataset("no_rows", (0, 3), dtype="i2", maxshape=(None, 3))
    g.create_dataset("unwritten", (4, 5), dtype="i4", fillvalue=-7)
    g.create_dataset("unwritten_zeros", (6,), dtype="f8")
    grown = g.create_dataset("grown", (2, 3), maxshape=(None, None), dtype="i2", fillvalue=7)
    grown[...] = 1
    grown.resize((4, 5))
    grown[3, ::2] = 9
    g.create_dataset("filled", (3,), dtype=h5py.string_dtype(), fillvalue="none")[1] = "some"
    g.attrs["empty"] = h5py.Empty("i4")
    g.attrs["no values"] = np.zeros((0, 2), "f4")


def _references(f: h5py.File) -> None:
    g = f.create_group("references")
    targets = np.array([f["numbers"].ref, f["texts/fixed"].ref, None], dtype=h5py.ref_dtype)
    g.create_dataset("objects", data=targets, dtype=h5py.ref_dtype)
    regions = g.create_dataset("regions", (2,), dtype=h5py.regionref_dtype)
    regions[0] = f["numbers/large"].regionref[2:5, ::7]
    regions[1] = f["spaces/grown"].regionref[1]
    record = g.create_dataset("in_records", (2,), dtype=np.dtype([("x", "<f8"), ("r", h5py.ref_dtype)]))
    record[0] = (0.5, f["compounds/particles"].ref)
    g.attrs["object"] = f["numbers/large"].ref
    g.attrs["region"] = f["numbers/large"].regionref[0:2, 3]


def _links(f: h5py.File) -> None:
    f["soft"] = h5py.SoftLink("/numbers/large")
    f["dangling"] = h5py.SoftLink("/nowhere")
    f["hard"] = f["compounds/particles"]
    f["external"] = h5py.ExternalLink("other.h5", "/there")
    f["committed"] = np.dtype([("a", "<i4"), ("b", ">f8")])
    f["committed"].attrs["about"] = "a type"
    f.create_dataset("of_committed", (3,), dtype=f["committed"])["a"] = [1, 2, 3]
    ordered = f.create_group("ordered", track_order=True)
    for name in ("z", "a", "m"):
        ordered[name] = [1, 2]
        ordered.attrs[name] = 1
    f["ä/ünicode"] = 5


def _scales(g: h5py.Group) -> None:
    g["t"] = np.arange(4.0)
    g["y"] = np.arange(3.0)
    g.create_dataset("field", data=np.arange(12.0).reshape(4, 3))
    g["t"].make_scale("time")
    g["y"].make_scale("latitude")
    g["field"].dims[0].attach_scale(g["t"])
    g["field"].dims[1].attach_scale(g["y"])
    g["field"].dims[0].label = "t"


if __name__ == "__main__":
    write(sys.argv[1])
