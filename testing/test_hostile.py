"""Damaged files: an error of ours or the right kind of value, never a crash, a hang or a panic."""

from __future__ import annotations

import pathlib
import random

import h5py
import netCDF4
import numpy as np
import pytest

import hyperslab as hs

MUTATIONS = 400


def read_everything(path: pathlib.Path) -> None:
    """Opens and reads all; only our own errors may come out, and never `InternalError`."""
    try:
        pending: list[object] = [hs.open(path)]
        seen: set[object] = set()
        while pending:
            node = pending.pop()
            if node in seen:  # damage may link a group into itself
                continue
            seen.add(node)
            for name in node.attrs:
                try:
                    node.attrs[name]
                except hs.Error as error:
                    assert not isinstance(error, hs.InternalError), error
            if isinstance(node, hs.Dataset):
                if node.size > 1_000_000:
                    continue
                try:
                    node[()]
                except hs.Error as error:
                    assert not isinstance(error, hs.InternalError), error
            elif isinstance(node, hs.Group):
                for name in node:
                    try:
                        pending.append(node[name])
                    except hs.Error as error:
                        assert not isinstance(error, hs.InternalError), error
    except hs.Error as error:
        assert not isinstance(error, hs.InternalError), error


def make_hdf5(path: pathlib.Path, libver: str) -> None:
    with h5py.File(path, "w", libver=libver) as f:
        for i in range(12):
            f[f"group/member {i}"] = np.arange(i)
        f.create_dataset("chunked", data=np.arange(60).reshape(12, 5), chunks=(5, 2), maxshape=(None, 5), compression="gzip", shuffle=True)
        f.create_dataset("fixed", data=np.arange(60.0), chunks=(7,), fletcher32=True, compression="lzf")
        f.create_dataset("tree", data=np.arange(60.0).reshape(6, 10), chunks=(2, 3), maxshape=(None, None))
        f["text"] = ["a", "bc", "def"]
        f["records"] = np.zeros(3, dtype=[("a", "i4"), ("s", "S3"), ("v", "f4", (2,))])
        f["soft"] = h5py.SoftLink("/text")
        for i in range(10):
            f["text"].attrs[f"a{i}"] = np.arange(i)


def make_netcdf(path: pathlib.Path, model: str) -> None:
    with netCDF4.Dataset(path, "w", format=model) as f:
        f.createDimension("t", None)
        f.createDimension("x", 5)
        f.createVariable("a", "f4", ("t", "x"))[:] = np.arange(20).reshape(4, 5)
        f.createVariable("b", "i2", ("t",))[:] = np.arange(4)
        f.createVariable("x", "f8", ("x",))[:] = np.arange(5)
        f["a"].units = "K"


@pytest.mark.parametrize("kind", ["earliest", "latest", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4"])
def test_mutated_files_give_errors_and_never_crash(tmp_path: pathlib.Path, kind: str) -> None:
    whole = tmp_path / "whole"
    make_netcdf(whole, kind) if kind.startswith("NET") else make_hdf5(whole, kind)
    read_everything(whole)
    original = whole.read_bytes()
    rng = random.Random(7)
    damaged = tmp_path / "damaged"
    for _ in range(MUTATIONS):
        data = bytearray(original)
        action = rng.randrange(5)
        if action == 0:
            data = data[: rng.randrange(len(data))]
        elif action == 1:
            at = rng.randrange(len(data))
            data[at:at + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7])
        elif action == 2:
            a, b = (rng.randrange(0, len(data) - 8, 8) for _ in range(2))
            data[a:a + 8], data[b:b + 8] = data[b:b + 8], data[a:a + 8]
        else:
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        damaged.write_bytes(data)
        read_everything(damaged)
