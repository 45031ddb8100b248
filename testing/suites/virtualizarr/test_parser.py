"""Parser for VirtualiZarr: values that zarr, xarray, kerchunk and Icechunk read by the references, next to h5py's and netCDF4's."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import fsspec
import h5py
import hdf5plugin
import hyperslab as hs
import icechunk
import netCDF4
import numpy as np
import pytest
import virtualizarr as vz
import xarray as xr
import zarr
from hyperslab.virtualizarr import HyperslabParser
from hyperslab.xarray.engine import HyperslabBackendEntrypoint
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore, MemoryStore

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(0)
DATA = pathlib.Path(__file__).resolve().parents[3] / "examples" / "data"


def registry() -> ObjectStoreRegistry:
    return ObjectStoreRegistry({"file://": LocalStore()})


def parsed(path: pathlib.Path, **options: Any) -> Any:
    return HyperslabParser(**options)(f"file://{path}", registry())


def check(path: pathlib.Path, drop: tuple[str, ...] = ()) -> int:
    """Each dataset by its references and by h5py; how many there were."""
    group, count = zarr.open_group(parsed(path, drop_variables=drop), mode="r", zarr_format=3), 0

    def compare(name: str, found: Any) -> None:
        nonlocal count
        if not isinstance(found, h5py.Dataset) or name.rpartition("/")[2] in drop or is_placeholder(found):
            return
        mine, theirs = group[name][()], found[()]
        assert mine.shape == theirs.shape and mine.dtype.newbyteorder("=") == theirs.dtype.newbyteorder("="), name
        np.testing.assert_array_equal(mine, theirs, err_msg=name)
        count += 1

    with h5py.File(path) as f:
        f.visititems(compare)
    return count


def is_placeholder(found: h5py.Dataset) -> bool:
    return b"netCDF dimension but not" in np.bytes_(found.attrs.get("NAME", b""))


def write_kinds(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        for kind in ("i1", "u2", ">i4", "<u8", "f2", "f4", ">f8", "c8", "c16", "?"):
            values = (RNG.random((7, 5)) * 100).astype(kind)
            f.create_dataset(f"chunked {kind}".replace("<", "l").replace(">", "b").replace("?", "bool"), data=values, chunks=(3, 2), compression="gzip")
            f.create_dataset(f"plain {kind}".replace("<", "l").replace(">", "b").replace("?", "bool"), data=values)
        f["text"] = np.array([b"ab", b"", b"abcd"])
        f["level"] = np.float64(3.25)
        f.create_dataset("enum", data=np.array([0, 2, 1], "i2"), dtype=h5py.enum_dtype({"A": 0, "B": 1, "C": 2}, "i2"))
        f.create_dataset("nothing", (0, 3), "f4")
        f.create_dataset("nothing yet", (0, 3), "f4", maxshape=(None, 3), chunks=(4, 3))
        f.create_dataset("never", (4, 3), "f4", fillvalue=-5)
        f.create_dataset("larger chunk", data=np.arange(3.0), maxshape=(None,), chunks=(8,))
        some = f.create_dataset("some", (10, 9), "i4", chunks=(4, 4), fillvalue=7, compression="gzip", shuffle=True)
        some[4:6, 1:3] = 1
        f.create_dataset("g/h/deep", data=np.arange(6).reshape(2, 3))
        f["g"].attrs["note"] = "of a group"


def write_filters(path: pathlib.Path) -> None:
    values = np.arange(700, dtype="i4").reshape(50, 14) * 3
    with h5py.File(path, "w") as f:
        f.create_dataset("all", data=values, chunks=(8, 5), compression="gzip", compression_opts=9, shuffle=True, fletcher32=True)
        f.create_dataset("fletcher32", data=values, chunks=(8, 5), fletcher32=True)
        f.create_dataset("shuffle", data=values.astype("f8"), chunks=(8, 5), shuffle=True)
        f.create_dataset("zstd", data=values, chunks=(8, 5), compression=hdf5plugin.Zstd(7), shuffle=True)
        f.create_dataset("bz2", data=values, chunks=(8, 5), compression=hdf5plugin.BZip2())
        for name in ("lz4", "blosclz", "zstd", "zlib"):
            f.create_dataset(f"blosc {name}", data=values, chunks=(8, 5), compression=hdf5plugin.Blosc(name, 5, 1))
        f.create_dataset("bit shuffled", data=values, chunks=(8, 5), compression=hdf5plugin.Blosc("lz4", 5, 2))


def write_masked(path: pathlib.Path) -> np.ndarray[Any, Any]:
    """Chunks that skip filters, and values in the header."""
    values = RNG.integers(0, 1000, (10, 6)).astype(">i4")
    with h5py.File(path, "w") as f:
        d = f.create_dataset("masked", data=values, chunks=(4, 6), compression="gzip", shuffle=True)
        d.id.write_direct_chunk((4, 0), values[4:8].tobytes(), filter_mask=0b11)
        last = np.zeros((4, 6), ">i4")
        last[:2] = values[8:]
        shuffled = np.frombuffer(last.tobytes(), "u1").reshape(-1, 4).T.tobytes()
        d.id.write_direct_chunk((8, 0), shuffled, filter_mask=0b10)
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        created = h5py.h5d.create(f.id, b"compact", h5py.h5t.STD_I32BE, h5py.h5s.create_simple((3,)), compact)
        created.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(3, dtype="i4"))
    return values


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_values_are_those_of_h5py(tmp_path: pathlib.Path, libver: str) -> None:
    write_kinds(tmp_path / "kinds.h5")
    assert check(tmp_path / "kinds.h5") == 29
    write_filters(tmp_path / "filters.h5")
    assert check(tmp_path / "filters.h5") == 10
    values = write_masked(tmp_path / "masked.h5")
    assert check(tmp_path / "masked.h5") == 2
    np.testing.assert_array_equal(zarr.open_group(parsed(tmp_path / "masked.h5"), mode="r")["masked"][()], values)
    for index in ((None,), (5, None), (None, None)):  # fixed array, extensible array, B-tree of version 2
        with h5py.File(tmp_path / f"{len(index)}{index[0]}.h5", "w", libver=libver) as f:
            shape = (9,) * len(index)
            f.create_dataset(
                "x", data=RNG.random(shape), maxshape=tuple(9 if limit == 5 else limit for limit in index), chunks=(2,) * len(index), compression="gzip"
            )
            f.create_dataset("y", data=RNG.random(shape), chunks=(2,) * len(index))
        assert check(tmp_path / f"{len(index)}{index[0]}.h5") == 2


def test_files_of_the_examples() -> None:
    count = 0
    for path in sorted(DATA.iterdir()):
        if path.suffix not in (".nc", ".h5", ".h5ad", ".hdf5", ".nc4") or not h5py.is_hdf5(path):
            continue
        drop = list[str]()
        while True:
            try:
                count += check(path, tuple(drop))
                break
            except hs.UnsupportedError as error:
                assert "drop_variables=['" in str(error)
                drop.append(str(error).split("drop_variables=['")[1].split("']")[0])
    assert count > 20


def test_a_dataset_of_xarray(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("x", 4)
        f.createDimension("nothing", 2)
        time = f.createVariable("time", ">f8", ("time",))
        time.units, time[:] = "days since 2000-01-01", np.arange(6)
        t = f.createVariable("t", "i2", ("time", "x"), zlib=True, chunksizes=(4, 3), fill_value=-1)
        t.scale_factor, t.add_offset, t.coordinates = 0.5, 270.0, "x2"
        t[:] = np.ma.masked_equal(np.arange(24).reshape(6, 4), 5)
        f.createVariable("x2", "f4", ("x",))[:] = [1, 2, 3, 4]
        f.createVariable("pair", "f4", ("nothing", "x"))[:] = 3
        f.title, f.number, f.list = "run", np.float32(0.5), [1, 2]
    expected = xr.open_dataset(path, engine="netcdf4")
    found = xr.open_zarr(parsed(path), consolidated=False, zarr_format=3, chunks=None)
    xr.testing.assert_equal(found.load(), expected.load())
    assert found["time"].encoding["units"] == "days since 2000-01-01" and set(found.coords) == {"time", "x2"} and found.attrs["title"] == "run"
    virtual = vz.open_virtual_dataset(f"file://{path}", registry=registry(), parser=HyperslabParser(), loadable_variables=["time"])
    assert virtual["t"].dims == ("time", "x") and virtual["pair"].dims == ("nothing", "x")
    again = vz.open_virtual_dataset(f"file://{path}", registry=registry(), parser=HyperslabParser(drop_variables="pair"), loadable_variables=[])
    assert "pair" not in again


def test_round_trips_through_kerchunk_and_icechunk(tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / f"d{number}.nc" for number in range(3)]
    for number, path in enumerate(paths):
        with netCDF4.Dataset(path, "w") as f:
            f.createDimension("time", None)
            f.createDimension("x", 40)
            time = f.createVariable("time", "f8", ("time",))
            time.units, time[:] = "days since 2000-01-01", np.arange(number * 4, number * 4 + 4)
            field = f.createVariable("t", "f4", ("time", "x"), zlib=True, shuffle=True, chunksizes=(2, 16), fill_value=-99)
            field[:] = RNG.random((4, 40))
    expected = xr.concat([xr.open_dataset(path, engine="netcdf4") for path in paths], dim="time").load()
    virtual = xr.concat(
        [vz.open_virtual_dataset(f"file://{path}", registry=registry(), parser=HyperslabParser(), loadable_variables=["time"]) for path in paths],
        dim="time", coords="minimal", compat="override",
    )  # fmt: skip
    virtual.vz.to_kerchunk(tmp_path / "refs.json", format="json")
    store = fsspec.filesystem("reference", fo=str(tmp_path / "refs.json"), asynchronous=False).get_mapper("")
    xr.testing.assert_equal(xr.open_zarr(store, consolidated=False, zarr_format=2, chunks=None).load(), expected)

    config = icechunk.RepositoryConfig.default()
    place = f"file://{tmp_path}/"
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(place, icechunk.local_filesystem_store(str(tmp_path))))
    access = icechunk.containers_credentials({place: None})
    repository = icechunk.Repository.create(icechunk.in_memory_storage(), config, authorize_virtual_chunk_access=access)
    session = repository.writable_session("main")
    virtual.vz.to_icechunk(session.store)
    session.commit("all")
    xr.testing.assert_equal(xr.open_zarr(repository.readonly_session("main").store, consolidated=False, zarr_format=3, chunks=None).load(), expected)


def test_a_file_in_a_store(tmp_path: pathlib.Path) -> None:
    write_filters(tmp_path / "a.h5")
    store = MemoryStore()
    store.put("folder/a.h5", (tmp_path / "a.h5").read_bytes())
    stores = ObjectStoreRegistry({"memory://files": store})
    group = zarr.open_group(HyperslabParser()("memory://files/folder/a.h5", stores), mode="r")
    np.testing.assert_array_equal(group["zstd"][()], np.arange(700).reshape(50, 14) * 3)


def test_what_zarr_cannot_say(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f["fine"] = [1]
        f["strings"] = ["a", "bb"]
        f["records"] = np.zeros(3, [("a", "i4"), ("b", "f4")])
        f.create_dataset("lzf", data=np.zeros(100), chunks=(10,), compression="lzf")
        f.create_dataset("bits", data=np.zeros(100, "i4"), chunks=(10,), scaleoffset=3)
        f.create_dataset("outside", (4,), "i4", external=[("raw.bin", 0, 16)])
        layout = h5py.VirtualLayout((4,), "i4")
        layout[:] = h5py.VirtualSource("b.h5", "x", (4,))
        f.create_virtual_dataset("virtual", layout)
    names = ["strings", "records", "lzf", "bits", "outside", "virtual"]
    for name in names:
        with pytest.raises(hs.UnsupportedError, match=name):
            parsed(path, drop_variables=[other for other in names if other != name])
    assert list(zarr.open_group(parsed(path, drop_variables=names), mode="r")) == ["fine"]
    (tmp_path / "text.h5").write_text("no file")
    with pytest.raises(hs.InvalidInputError, match=r"text\.h5"):
        parsed(tmp_path / "text.h5")
    with pytest.raises(hs.NotFoundError):
        parsed(path, group="nowhere", drop_variables=names)
    with netCDF4.Dataset(tmp_path / "classic.nc", "w", format="NETCDF3_CLASSIC") as f:
        f.createDimension("x", 2)
        f.createVariable("x", "f4", ("x",))[:] = 1
    with pytest.raises(hs.UnsupportedError, match="classic"):
        parsed(tmp_path / "classic.nc")


def test_files_of_several_members_are_refused(tmp_path: pathlib.Path) -> None:
    with h5py.File(f"{tmp_path}/part%d.h5", "w", driver="family", memb_size=1 << 14) as f:
        f.create_dataset("x", data=RNG.random((100, 100)), chunks=(10, 10))
    with h5py.File(f"{tmp_path}/s", "w", driver="split") as f:
        f.create_dataset("x", data=RNG.random((100, 100)), chunks=(10, 10))
    for name in ("part0.h5", "s-m.h5"):
        with pytest.raises(hs.Error, match="none"):
            parsed(tmp_path / name)
    with h5py.File(tmp_path / "links.h5", "w") as f:
        f["near"], f["far"] = [1, 2], h5py.ExternalLink("other.h5", "/x")
    with pytest.raises(hs.UnsupportedError, match="far"):
        parsed(tmp_path / "links.h5")
    np.testing.assert_array_equal(zarr.open_group(parsed(tmp_path / "links.h5", drop_variables="far"), mode="r")["near"][()], [1, 2])


def write_day(path: pathlib.Path, first: int) -> None:
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("x", 40)
        time = f.createVariable("time", "f8", ("time",))
        time.units, time[:] = "days since 2000-01-01", np.arange(first, first + 4)
        f.createVariable("x", "f4", ("x",))[:] = np.arange(40)
        field = f.createVariable("t", "i2", ("time", "x"), zlib=True, shuffle=True, chunksizes=(2, 16), fill_value=-99)
        field.scale_factor = 0.25
        field[:] = np.ma.masked_less(RNG.random((4, 40)), 0.2)


def test_references_of_others_are_read(tmp_path: pathlib.Path) -> None:
    """Of kerchunk itself, and of VirtualiZarr's own parser in JSON and Parquet, of one file and of several."""
    from kerchunk.hdf import SingleHdf5ToZarr
    from virtualizarr.parsers import HDFParser

    paths = [tmp_path / f"d{number}.nc" for number in range(3)]
    for number, path in enumerate(paths):
        write_day(path, number * 4)
    with xr.open_dataset(paths[0], engine="netcdf4") as expected:
        (tmp_path / "kerchunk.json").write_text(json.dumps(SingleHdf5ToZarr(str(paths[0]), inline_threshold=100).translate()))
        with xr.open_dataset(tmp_path / "kerchunk.json", engine=HyperslabBackendEntrypoint) as found:
            xr.testing.assert_equal(found, expected)
            assert found["t"].isnull().any()
        with h5py.File(paths[0]) as theirs, hs.open(tmp_path / "kerchunk.json") as f:
            for name in theirs:
                np.testing.assert_array_equal(f[name][...], theirs[name][...])
    expected = xr.concat([xr.open_dataset(path, engine="netcdf4") for path in paths], dim="time").load()
    virtual = xr.concat(
        [vz.open_virtual_dataset(f"file://{path}", registry=registry(), parser=HDFParser(), loadable_variables=["time", "x"]) for path in paths],
        dim="time", coords="minimal", compat="override",
    )  # fmt: skip
    for name, form in (("all.json", "json"), ("all.parquet", "parquet")):
        virtual.vz.to_kerchunk(tmp_path / name, format=form)
        f = hs.open(tmp_path / name)
        with h5py.File(paths[1]) as theirs:
            np.testing.assert_array_equal(f["t"][4:8], theirs["t"][...])
        np.testing.assert_array_equal(f["x"][...], expected["x"])
    with xr.open_dataset(tmp_path / "all.json", engine=HyperslabBackendEntrypoint) as found:
        xr.testing.assert_allclose(found["t"].drop_vars("time"), expected["t"].drop_vars("time"))


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_others_read_our_references(tmp_path: pathlib.Path, libver: str) -> None:
    write_day(tmp_path / "day.nc", 0)
    hs.write_references(tmp_path / "day.nc", tmp_path / "day.json")
    store = fsspec.filesystem("reference", fo=str(tmp_path / "day.json"), asynchronous=False).get_mapper("")
    with xr.open_dataset(tmp_path / "day.nc", engine="netcdf4") as expected:
        xr.testing.assert_equal(xr.open_zarr(store, consolidated=False, zarr_format=2, chunks=None).load(), expected)
    write_kinds(tmp_path / "kinds.h5")
    hs.write_references(tmp_path / "kinds.h5", tmp_path / "kinds.json")
    store = fsspec.filesystem("reference", fo=str(tmp_path / "kinds.json"), asynchronous=False).get_mapper("")
    group, ours = zarr.open_group(store, mode="r", zarr_format=2), hs.open(tmp_path / "kinds.json")
    with h5py.File(tmp_path / "kinds.h5") as f:
        names = list[str]()
        f.visititems(lambda name, found: names.append(name) if isinstance(found, h5py.Dataset) else None)
        for name in names:
            np.testing.assert_array_equal(group[name][()], f[name][()], err_msg=name)
            np.testing.assert_array_equal(ours[name][()], f[name][()], err_msg=name)
        assert len(names) == 29


def test_edges_without_filters(tmp_path: pathlib.Path) -> None:
    """Chunks over the edge that a writer left without filters are encoded for readers of Zarr."""
    import library_calls as calls

    values = np.arange(28, dtype="<i4").reshape(4, 7)
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((2, 3))
        creation.set_shuffle()
        calls.leave_edges_unfiltered(creation)
        h5py.h5d.create(f.id, b"x", h5py.h5t.STD_I32LE, h5py.h5s.create_simple(values.shape), creation).write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    np.testing.assert_array_equal(zarr.open_group(parsed(tmp_path / "a.h5"), mode="r")["x"][()], values)
