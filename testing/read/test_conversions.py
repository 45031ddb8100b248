"""Numbers of a source that are other numbers in the virtual dataset: converted as the HDF5 library converts."""

from __future__ import annotations

import itertools
import math
import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pytest

KINDS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


def values(kind: str) -> np.ndarray:
    """Random bits, every power of two, and what lies around the bounds of every kind."""
    dtype, random = np.dtype(kind), np.random.default_rng(7)
    bits = random.integers(0, 256, 800 * dtype.itemsize, dtype=np.uint8).view(dtype)
    if dtype.kind != "f":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        around = [sign * 2**power + step for power in range(64) for step in (-1, 0, 1) for sign in (1, -1)]
        # Halfway between two floats, and next to that.
        around += [
            (1 << bit) + (odd << (bit - kept + 1)) + (1 << (bit - kept)) + step
            for kept in (11, 24, 53)
            for bit in range(kept + 1, 63)
            for odd in (0, 1)
            for step in (-1, 0, 1)
        ]
        around += [65504, 65505, 65519, 65520, 65535]
        return np.concatenate(
            [bits] + [bits >> shift for shift in range(0, 8 * dtype.itemsize, 5)] + [np.array([n for n in around if low <= n <= high], dtype)]
        )
    wide: list[float] = [0.0, -0.0, math.inf, -math.inf, math.nan, 0.5, -0.5, 0.99, -0.99, 1.5, 2.5, -1.5]
    for other in map(np.dtype, KINDS):
        if other.kind == "f":
            limits = np.finfo(other)
            wide += [float(n) * factor for n in (limits.max, limits.tiny, limits.smallest_subnormal) for factor in (1, 0.5, 1.5, 1 + 2**-40, 1 - 2**-40)]
        else:
            wide += [float(np.iinfo(other).max), float(np.iinfo(other).min), float(np.iinfo(other).max) + 1, float(np.iinfo(other).min) - 1]
    with np.errstate(over="ignore"):
        edges = np.array(wide, "f8").astype(dtype)
        spread = np.concatenate([random.normal(0, scale, 100) for scale in (1, 1e2, 1e4, 1e9, 1e18, 1e-5, 1e-8, 1e30)]).astype(dtype)
        around_edges = [edges, -edges, np.nextafter(edges, dtype.type(np.inf)), np.nextafter(edges, dtype.type(-np.inf))]
    return np.concatenate([bits, spread, *around_edges])


def converted(given: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The rule, one value after the other, in Python's own numbers."""
    out = np.empty(given.shape, dtype)
    for place, value in enumerate(given.tolist()):
        if dtype.kind != "f":
            low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
            if isinstance(value, float) and not math.isfinite(value):
                out[place] = 0 if math.isnan(value) else high if value > 0 else low
            else:
                out[place] = min(max(int(value), low), high)
        elif math.isfinite(value) and abs(value) > float(np.finfo(dtype).max):
            out[place] = math.copysign(math.inf, value)
        elif isinstance(value, int) and dtype.itemsize > 2:
            out[place] = given.dtype.type(value).astype(dtype)  # rounded once
        else:
            out[place] = dtype.type(value)
    return out


def accidental(given: np.ndarray, wanted: np.ndarray, swapped: str) -> np.ndarray:
    """Where the HDF5 library departs from its own rule: `docs/decisions/0009-numeric-conversion.md` lists these."""
    source, target = given.dtype, wanted.dtype
    if source.kind != "f" and target.kind != "f":
        # Numbers of one size are only put in order, and a sign bit becomes a value.
        other_sign = source.kind != target.kind and source.itemsize == target.itemsize
        return np.full(given.shape, other_sign and swapped == "one")
    with np.errstate(all="ignore"):
        if source.kind == "f" and target.kind != "f":
            high = source.type(np.iinfo(target).max)
            undefined = np.isnan(given) | ((given == high) & (float(high) > np.iinfo(target).max))
            if swapped:
                return undefined | ((given > -1) & (given < 0))
            return undefined | ((given < 0) & (source == np.dtype("f2")) & (target.kind == "u"))
        if not swapped:
            return np.zeros(given.shape, bool)
        large = np.abs(given.astype("f8")) > float(np.finfo(target).max)
        small = (np.abs(given) < float(np.finfo(target).tiny)) & (given != 0) if source.kind == "f" else False
        return large & np.isfinite(given) | small


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind != "f":
        return a == b
    return ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))


@pytest.mark.parametrize("source", KINDS)
def test_numbers_become_other_numbers_as_in_the_library(tmp_path: pathlib.Path, source: str) -> None:
    given, path = values(source), tmp_path / "a.h5"
    pairs = [(first + source, second + target) for target in KINDS for first, second in itertools.product("<>", "<>")]
    with h5py.File(path, "w", libver="latest") as f:
        for order in "<>":
            f[f"source {order}"] = given.astype(order + source)
        for number, (theirs, ours) in enumerate(pairs):
            layout = h5py.VirtualLayout(given.shape, ours)
            layout[...] = h5py.VirtualSource(".", f"source {theirs[0]}", given.shape, theirs)
            f.create_virtual_dataset(f"v{number}", layout)
    compared = 0
    with h5py.File(path) as f:
        opened = hs.open(path)
        for number, (theirs, ours) in enumerate(pairs):
            found = opened[f"v{number}"][...]
            assert found.dtype == np.dtype(ours)
            found, target = found.astype(np.dtype(ours).newbyteorder("=")), np.dtype(ours[1:])
            wanted = given if target == given.dtype else converted(given, target)
            wrong = ~same(found, wanted)
            assert not wrong.any(), (theirs, ours, given[wrong][:5], found[wrong][:5], wanted[wrong][:5])
            if target == given.dtype:
                continue
            library = f[f"v{number}"][...].astype(target)
            swapped = "one" if theirs[0] != ours[0] else "both" if theirs[0] == ">" else ""
            differs = ~same(found, library) & ~accidental(given, wanted, swapped)
            assert not differs.any(), (theirs, ours, given[differs][:5], found[differs][:5], library[differs][:5])
            compared += int((~accidental(given, wanted, swapped)).sum())
    assert compared > 0.6 * len(pairs) * given.size


def test_only_numbers_are_converted(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    sources = {
        "text": np.array([b"1", b"2"]),
        "enum": np.array([0, 1], h5py.enum_dtype({"a": 0, "b": 1}, "i1")),
        "record": np.zeros(2, [("x", "i4")]),
        "complex": np.zeros(2, "c8"),
    }
    with h5py.File(path, "w", libver="latest") as f:
        for name, data in sources.items():
            f.create_dataset(name, data=data, dtype=data.dtype)
            layout = h5py.VirtualLayout((2,), "i4")
            layout[...] = h5py.VirtualSource(f[name])
            f.create_virtual_dataset("v " + name, layout)
    opened = hs.open(path)
    for name in sources:
        with pytest.raises(hs.UnsupportedError, match=f"source /{name}.*another datatype.*as integers of 32 bits"):
            opened["v " + name][...]


def test_references_in_a_virtual_dataset_are_those_of_their_own_file(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "source.h5", "w") as f:
        f["x"] = [1, 2]
        f.create_dataset("refs", data=[f["x"].ref, f.ref], dtype=h5py.ref_dtype)
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        f["y"] = [3.0]
        layout = h5py.VirtualLayout((2,), h5py.ref_dtype)
        layout[...] = h5py.VirtualSource("source.h5", "refs", (2,), h5py.ref_dtype)
        f.create_virtual_dataset("v", layout)
    with pytest.raises(hs.UnsupportedError, match="references in a virtual dataset.*source.h5"):
        hs.open(tmp_path / "a.h5")["v"][...]
