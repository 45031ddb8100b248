"""Values that are mapped into memory, and datasets as Arrow arrays: against h5py, and all that cannot be."""

from __future__ import annotations

import io
import os
import pathlib
import struct
import subprocess
import sys

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pytest

NUMBERS = ["i1", "u1", "<i2", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"]


def test_mapped_values_are_those_that_are_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    record = np.dtype([("x", "<f4"), ("n", "<i8", (3,))])
    with h5py.File(path, "w", userblock_size=1024) as file:
        for kind in [*NUMBERS, ">i2", ">f8", "<c8", "bool"]:
            file[f"one {kind}".replace("<", "little ").replace(">", "big ")] = np.arange(-3, 997).astype(kind)
        file["box"] = np.arange(24.0).reshape(2, 3, 4)
        file["scalar"] = 7.5
        file["fixed"] = np.array([b"ab", b"c"])
        file["records"] = np.zeros(5, record)
        file["empty"] = np.zeros((3, 0), "i4")
        file.create_dataset("arrays", (4,), np.dtype(("<i4", (2, 3))))[...] = np.arange(24, dtype="i4").reshape(4, 2, 3)
        wide = file.create_dataset("wide", data=np.random.default_rng(1).random(3_000_000))[:]  # several blocks
    with hs.open(path) as opened, h5py.File(path) as judge:
        for name, wanted in judge.items():
            if wanted.id.get_create_plist().get_layout() == h5py.h5d.COMPACT:
                continue
            mapped = opened[name].mmap()
            assert mapped.dtype == wanted[...].dtype and mapped.shape == wanted[...].shape and not mapped.flags.writeable, name
            assert mapped.tobytes() == np.asarray(wanted[...]).tobytes(), name
        mapped = opened["wide"].mmap()
    # After the file was closed, replaced and removed, the array is what it was.
    (tmp_path / "b.h5").write_bytes(b"x")
    os.replace(tmp_path / "b.h5", path)
    os.remove(path)
    assert np.array_equal(mapped, wide)


def test_mapped_values_are_the_files_pages(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(100_000, dtype="f8")
        place = file["x"].id.get_offset()
    mapped = hs.open(path)["x"].mmap()
    arrow = hs.open(path)["x"].to_arrow(zero_copy=True)
    with open(path, "r+b") as file:
        file.seek(place + 8 * 99_999)
        file.write(struct.pack("<d", -1.0))
    assert mapped[-1] == -1.0 == arrow[99_999].as_py()


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 4), (2, 3, 4), (0, 3)])
def test_arrow_arrays_hold_the_values(kind: str, shape: tuple[int, ...], tmp_path: pathlib.Path) -> None:
    values = np.arange(int(np.prod(shape)), dtype=kind).reshape(shape)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = values
    dataset = hs.open(tmp_path / "a.h5")["x"]
    for array in (dataset.to_arrow(), dataset.to_arrow(zero_copy=True)):
        array.validate(full=True)
        if len(shape) < 2:
            assert array.type == pa.from_numpy_dtype(values.dtype) and array.to_pylist() == values.reshape(-1).tolist()
        else:
            assert array.type == pa.fixed_shape_tensor(pa.from_numpy_dtype(values.dtype), shape[1:])
            assert len(array) == shape[0] and (not shape[0] or array.to_numpy_ndarray().tolist() == values.tolist())


def test_arrow_arrays_of_other_values_are_converted(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["big"] = np.arange(5, dtype=">f8").reshape(5, 1)
        file["text"] = ["a", "", "ü"]
        file["fixed"] = np.array([b"ab", b"c"])
        file["flags"] = np.array([True, False, True])
        file["complex"] = np.zeros(2, "c16")
        file["null"] = h5py.Empty("f4")
        file["flags2"] = np.zeros((2, 2), bool)
    opened = hs.open(tmp_path / "a.h5")
    assert opened["big"].to_arrow().to_numpy_ndarray().tolist() == [[0], [1], [2], [3], [4]]
    assert opened["text"].to_arrow().to_pylist() == ["a", "", "ü"] and opened["fixed"].to_arrow().to_pylist() == ["ab", "c"]
    assert opened["flags"].to_arrow().to_pylist() == [True, False, True]
    for name, why in {"complex": "complex", "null": "null", "flags2": "2 dimensions"}.items():
        with pytest.raises(hs.UnsupportedError, match=f"to_arrow of .*{why}"):
            opened[name].to_arrow()


def test_what_cannot_be_mapped_says_why(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("chunked", data=np.arange(10), chunks=(5,))
        file.create_dataset("packed", data=np.arange(10), compression="gzip")
        file["text"] = ["a", "b"]
        padded = h5py.h5t.C_S1.copy()
        padded.set_size(4)
        padded.set_strpad(h5py.h5t.STR_SPACEPAD)
        h5py.h5d.create(file.id, b"padded", padded, h5py.h5s.create_simple((3,)))
        file["null"] = h5py.Empty("f4")
        file.create_dataset("unwritten", (10,), "f4")
        layout = h5py.VirtualLayout((10,), "i8")
        layout[:] = h5py.VirtualSource(path, "chunked", (10,))
        file.create_virtual_dataset("virtual", layout)
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(file.id, b"compact", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((3,)), properties)
        one, two = [(str(tmp_path / "one.raw"), 16, 80)], [(str(tmp_path / name), 0, 40) for name in ("two.raw", "three.raw")]
        file.create_dataset("external", data=np.arange(10), external=one)
        file.create_dataset("externals", data=np.arange(10), external=two)
        file.create_dataset("short", (10,), "i8", external=[(str(tmp_path / "short.raw"), 0, 80)])[:4] = 1
        file["big"] = np.arange(3, dtype=">i4")
    reasons = {
        "chunked": "in chunks",
        "packed": "in chunks",
        "text": "converted",
        "padded": "converted",
        "null": "null",
        "unwritten": "never written",
        "virtual": "virtual layout",
        "compact": "compact layout",
        "externals": "several files",
        "short": "several files, or in memory",
    }
    opened = hs.open(path)
    for name, why in reasons.items():
        with pytest.raises(hs.UnsupportedError, match=f"cannot be mapped: .*{why}") as error:
            opened[name].mmap()
        assert f"/{name}" in str(error.value) and str(path) in str(error.value)
        with pytest.raises(hs.UnsupportedError):
            opened[name].to_arrow(zero_copy=True)
    assert opened["external"].mmap().tolist() == list(range(10))
    with pytest.raises(hs.UnsupportedError, match="another way"):
        opened["big"].to_arrow(zero_copy=True)
    with pytest.raises(hs.UnsupportedError, match="several files, or in memory"):
        hs.open(io.BytesIO(path.read_bytes()))["big"].mmap()
    opened.close()
    with pytest.raises(hs.InvalidInputError, match="closed"):
        opened["big"].mmap()


def test_netcdf3_variables_are_mapped_and_records_are_not(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("t", None)
        file.createDimension("x", 5)
        file.createVariable("fixed", "f8", ("x",))[:] = np.arange(5)
        for name in ("a", "b"):
            file.createVariable(name, "f4", ("t", "x"))[:3] = np.arange(15).reshape(3, 5)
    opened = hs.open(path)
    assert opened["fixed"].mmap().tolist() == [0, 1, 2, 3, 4] and opened["fixed"].mmap().dtype == ">f8"
    with pytest.raises(hs.UnsupportedError, match="netCDF-3"):
        opened["a"].mmap()


def test_values_that_begin_anywhere_are_mapped_but_not_for_arrow(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.raw").write_bytes(b"abc" + np.arange(10, dtype="i8").tobytes())
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", (10,), "i8", external=[(str(tmp_path / "x.raw"), 3, 80)])
    dataset = hs.open(tmp_path / "a.h5")["x"]
    assert dataset.mmap().tolist() == list(range(10))
    with pytest.raises(hs.UnsupportedError, match="a multiple of 8"):
        dataset.to_arrow(zero_copy=True)


@pytest.mark.parametrize("left", [1, 30_000, 799_999])
def test_a_cut_file_is_an_error_before_it_is_mapped(left: int, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(100_000)
        place = file["x"].id.get_offset()
    opened = hs.open(path)
    os.truncate(path, place + left)
    with pytest.raises(hs.ConflictError):
        opened["x"].mmap()
    with pytest.raises(hs.CorruptError):
        hs.open(path)["x"].mmap()


def test_mapping_a_large_dataset_costs_nothing(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (1 << 33,), "i4")[0] = 1  # 32 GiB, sparse
    script = (
        "import sys, resource, hyperslab as hs\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "x = hs.open(sys.argv[1])['x'].mmap()\n"
        "print(x.shape, x[0], x[-1], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000)"
    )
    run = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout == "(8589934592,) 1 0 True\n"
