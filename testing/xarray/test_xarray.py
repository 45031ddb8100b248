"""The engine of xarray: what it opens is identical to what the engines `netcdf4` and `h5netcdf` open, with its encoding; lazy reads
equal numpy's; bad input is one clear error."""

import asyncio
import copy
import io
import os
import pathlib
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray as xr
from hyperslab.xarray.engine import HyperslabBackendEntrypoint
from hyperslab.xarray.point_reading import read_points
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sampling import examples

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "data"
ENGINE = HyperslabBackendEntrypoint
pytestmark = pytest.mark.filterwarnings("ignore:The 'phony_dims'")


def netcdf(path, format="NETCDF4"):
    """A file with what a format of netCDF has."""
    with netCDF4.Dataset(path, "w", format=format) as file:
        file.createDimension("time", None)
        file.createDimension("y", 5)
        file.createDimension("x", 7)
        file.createDimension("letters", 4)
        file.title, file.numbers, file.one = "a title é" if format == "NETCDF4" else "a title", np.arange(3, dtype="i4"), np.float32(1.5)
        time = file.createVariable("time", "f8", ("time",))
        time.units, time[:] = "days since 2001-02-03", np.arange(6) * 1.5
        file.createVariable("y", "i4", ("y",))[:] = np.arange(5) * 10
        packed = file.createVariable(
            "packed", "i2", ("time", "y", "x"), fill_value=-999, **({"zlib": True, "chunksizes": (2, 5, 3)} if format == "NETCDF4" else {})
        )
        packed.scale_factor, packed.add_offset, packed.units = 0.25, 3.0, "K"
        packed.set_auto_maskandscale(False)
        packed[:] = np.where(np.arange(210) % 11 == 0, -999, np.arange(210)).reshape(6, 5, 7)
        file.createVariable("scalar", "f4", ())[...] = 2.5
        text = file.createVariable("text", "S1", ("y", "letters"))
        text[:] = np.array([list("abcd"), list("ef  "), list("gh  "), list("ijkl"), list("m   ")], dtype="S1")
        file.createVariable("partly", "f4", ("time", "x"))[2] = np.arange(7)
        if format != "NETCDF4":
            return
        file.createVariable("big", ">i4", ("x",), fletcher32=True, shuffle=True, zlib=True, complevel=7)[:] = np.arange(7)
        names = file.createVariable("names", str, ("x",))
        names[:] = np.array(["a", "", "ü", "long " * 20, "e", "f", "g"], dtype=object)
        names.list, names.word = ["one", "two"], "word"
        colors = file.createEnumType("u1", "color", {"red": 0, "green": 1, "blue": 7})
        file.createVariable("colors", colors, ("y",), fill_value=7)[:] = [0, 1, 7, 1, 0]
        pairs = file.createCompoundType(np.dtype([("a", "i4"), ("b", "f8")]), "pair")
        file.createVariable("pairs", pairs, ("y",))[:] = np.array([(i, i / 2) for i in range(5)], dtype=[("a", "i4"), ("b", "f8")])
        file.createVariable("zstd", "i8", ("x",), compression="zstd", complevel=5)[:] = np.arange(7)
        file.createVariable("szip", "i4", ("y", "x"), compression="szip", szip_pixels_per_block=4)[:] = np.arange(35).reshape(5, 7)
        file.createDimension("long", 2000)
        file.createVariable("blosc", "f4", ("long",), compression="blosc_lz4", complevel=3)[:] = np.arange(2000) // 100
        file.createVariable("unsigned", "u8", ("x",))[:] = np.arange(7)
        group = file.createGroup("group")
        group.createDimension("z", 3)
        group.createVariable("inner", "f8", ("z", "x"))[:] = np.arange(21).reshape(3, 7)
        below = group.createGroup("below")
        below.comment = "deep"
        below.createVariable("deep", "i2", ("z",))[:] = [1, 2, 3]


def plain_hdf5(path):
    """A file of h5py, without dimensions' names but one."""
    with h5py.File(path, "w") as file:
        file["a"] = np.arange(12.0).reshape(3, 4)
        file.create_dataset("b", data=np.arange(20, dtype="u2").reshape(4, 5), chunks=(2, 5), compression="lzf")
        file["c"] = np.arange(3)
        file["c"].make_scale("c")
        file["scaled"] = np.ones(3)
        file["scaled"].dims[0].attach_scale(file["c"])
        file["text"] = ["x", "yy", "zzz"]
        file["fixed"] = np.array([b"x", b"yy"])
        file["truth"] = np.array([True, False])
        file["truth"].attrs["unit"] = "none"
        file.create_group("g").create_dataset("d", data=np.arange(5))


def without_zeros(encoding):
    """What two engines may have in common: keys that say that there is nothing are left out."""
    return {key: value for key, value in encoding.items() if value is not False and value is not None and value != 0}


def check_identical(ours, theirs, same_encoding=True):
    """Whether two datasets are identical: names in their order, dimensions, dtypes, values, attributes and encoding."""
    xr.testing.assert_identical(ours.load(), theirs.load())
    assert list(ours.variables) == list(theirs.variables)
    for name, variable in theirs.variables.items():
        assert ours[name].dtype == variable.dtype, name
        for key, value in variable.attrs.items():
            assert type(ours[name].attrs[key]) is type(value), (name, key)
        keep = dict if same_encoding else without_zeros
        found, expected = keep(ours[name].encoding), keep(variable.encoding)
        assert np.dtype(found.pop("dtype")) == np.dtype(expected.pop("dtype")), name
        assert repr(sorted(found.items())) == repr(sorted(expected.items())), name
    assert ours.encoding == theirs.encoding


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("xarray")
    for format in ("NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"):
        netcdf(made / f"{format}.nc", format)
    plain_hdf5(made / "plain.h5")
    return made


FORMATS = ["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
FILES = sorted(EXAMPLES.glob("*.nc"))
DECODINGS = [{}, {"decode_cf": False}, {"mask_and_scale": False}, {"decode_times": False, "concat_characters": False}, {"decode_coords": "all"}]


@pytest.mark.parametrize("options", DECODINGS, ids=str)
@pytest.mark.parametrize("name", [*FORMATS, *FILES], ids=lambda name: getattr(name, "stem", name))
def test_identical_to_netcdf4(folder, name, options):
    path = folder / f"{name}.nc" if isinstance(name, str) else name
    with xr.open_dataset(path, engine=ENGINE, **options) as ours, xr.open_dataset(path, engine="netcdf4", **options) as theirs:
        check_identical(ours, theirs)


@pytest.mark.parametrize("name", ["NETCDF4", *FILES], ids=lambda name: getattr(name, "stem", name))
def test_identical_to_h5netcdf(folder, name):
    path = folder / f"{name}.nc" if isinstance(name, str) else name
    if not h5py.is_hdf5(path):
        pytest.skip("h5netcdf does not read netCDF-3")
    # h5netcdf says that zstd, szip and blosc are there, not how; enumerations with a fill value have another order of keys.
    drop = ["zstd", "szip", "blosc", "colors"]
    with xr.open_dataset(path, engine=ENGINE, drop_variables=drop) as ours, xr.open_dataset(path, engine="h5netcdf", drop_variables=drop) as theirs:
        check_identical(ours, theirs, same_encoding=False)


def test_groups_and_trees_are_identical(folder):
    path = folder / "NETCDF4.nc"
    ours, theirs = xr.open_groups(path, engine=ENGINE), xr.open_groups(path, engine="netcdf4")
    assert list(ours) == list(theirs) == ["/", "/group", "/group/below"]
    for group in theirs:
        check_identical(ours[group], theirs[group])
        check_identical(xr.open_dataset(path, engine=ENGINE, group=group), theirs[group])
    xr.testing.assert_identical(xr.open_datatree(path, engine=ENGINE), xr.open_datatree(path, engine="netcdf4"))
    xr.testing.assert_identical(xr.open_datatree(path, engine=ENGINE, group="group"), xr.open_datatree(path, engine="netcdf4", group="group"))


def test_plain_hdf5_has_the_dimensions_that_h5netcdf_gives(folder):
    path = folder / "plain.h5"
    for phony_dims in ("sort", "access"):
        for group in ("/", "g"):
            ours = xr.open_dataset(path, engine=ENGINE, group=group, phony_dims=phony_dims)
            theirs = xr.open_dataset(path, engine="h5netcdf", group=group, phony_dims=phony_dims)
            for name, variable in theirs.variables.items():
                assert ours[name].dims == variable.dims or phony_dims == "sort"  # that h5netcdf numbers otherwise than the netCDF library
                np.testing.assert_array_equal(ours[name].values, variable.values)
                assert ours[name].attrs == variable.attrs
    assert xr.open_dataset(path, engine=ENGINE, phony_dims="access").a.dims == ("c", "phony_dim_0")
    assert ours.encoding["unlimited_dims"] == set()
    with pytest.raises(ValueError, match="unknown phony_dims 'wrong'; expected 'sort' or 'access'"):
        xr.open_dataset(path, engine=ENGINE, phony_dims="wrong")


def test_encoding_of_lzf_and_of_filters_without_a_key(folder, tmp_path):
    encoding = xr.open_dataset(folder / "plain.h5", engine=ENGINE)["b"].encoding
    assert encoding["compression"] == "lzf" and encoding["chunksizes"] == (2, 5)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=np.arange(100), chunks=(10,), scaleoffset=0)
    opened = xr.open_dataset(tmp_path / "x.h5", engine=ENGINE)
    assert [name for name, _ in opened["x"].encoding["hdf5_filters"]] == ["scaleoffset"]
    opened.to_netcdf(tmp_path / "again.nc", engine="netcdf4")  # which leaves out keys that it does not know


def test_what_is_written_again_is_identical(folder, tmp_path):
    # xarray writes no compounds, and does not write what it reads of blosc.
    with xr.open_dataset(folder / "NETCDF4.nc", engine=ENGINE, drop_variables=["pairs", "blosc"]) as opened:
        opened.to_netcdf(tmp_path / "again.nc", engine="netcdf4")
        xr.testing.assert_identical(xr.open_dataset(tmp_path / "again.nc", engine=ENGINE), opened)
        hs.to_netcdf(opened, tmp_path / "ours.nc")
        xr.testing.assert_identical(xr.open_dataset(tmp_path / "ours.nc", engine="netcdf4").load(), opened.load())


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    """The same values in chunks, contiguous and compressed, and text."""
    path = tmp_path_factory.mktemp("arrays") / "arrays.h5"
    values = np.random.default_rng(3).integers(0, 1 << 30, (13, 17, 11))
    with h5py.File(path, "w") as file:
        file.create_dataset("chunked", data=values, chunks=(4, 5, 3))
        file.create_dataset("packed", data=values, chunks=(4, 5, 11), compression="gzip")
        file["contiguous"] = values
        file["text"] = values.astype(str).astype(object)
    return path, values


# xarray itself reads slice(-13, 0, -1) of 11 elements as slice(-1, 0, -1), so slices stay within the shortest dimension.
axis_keys = st.one_of(st.slices(11), st.integers(-11, 10), st.lists(st.integers(-11, 10), max_size=6), hnp.arrays(bool, st.just(11)).map(np.flatnonzero))


@settings(max_examples=examples(60), deadline=None)
@given(keys=st.tuples(axis_keys, axis_keys, axis_keys), name=st.sampled_from(["chunked", "packed", "contiguous", "text"]))
def test_outer_indexing_is_numpys(arrays, keys, name):
    path, values = arrays
    data = xr.open_dataset(path, engine=ENGINE)[name]
    expected = xr.Variable(data.dims, values.astype(str).astype(object) if name == "text" else values)[keys]
    found = data.variable[keys]
    assert found.dims == expected.dims
    np.testing.assert_array_equal(found.values, expected.values)


@settings(max_examples=examples(60), deadline=None)
@given(
    data=st.data(),
    name=st.sampled_from(["chunked", "packed", "contiguous", "text"]),
    slices=st.integers(0, 2),
    count=st.integers(0, 40),
    ndim=st.integers(1, 2),
)
def test_vectorized_indexing_is_numpys(arrays, data, name, slices, count, ndim):
    path, values = arrays
    variable = xr.open_dataset(path, engine=ENGINE)[name].variable
    expected = xr.Variable(variable.dims, values.astype(str).astype(object) if name == "text" else values)
    shape = (count,) if ndim == 1 else (2, count)
    sliced = set(data.draw(st.permutations(range(3)))[:slices])
    keys = tuple(
        data.draw(st.slices(extent))
        if axis in sliced
        else xr.Variable(("p", "q")[2 - ndim :], data.draw(hnp.arrays(np.int64, shape, elements=st.integers(-extent, extent - 1))))
        for axis, extent in enumerate(values.shape)
    )
    found, wanted = variable[keys], expected[keys]
    assert found.dims == wanted.dims
    np.testing.assert_array_equal(found.values, wanted.values)


def test_points_read_only_the_chunks_that_hold_them(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(1_000_000).reshape(1000, 1000), chunks=(10, 10), compression="gzip")
    places = np.random.default_rng(1).permutation(1000)[:200]
    before = hs.counters().chunks_decoded
    found = xr.open_dataset(path, engine=ENGINE)["x"].isel(phony_dim_0=xr.DataArray(places, dims="p"), phony_dim_1=xr.DataArray(places[::-1], dims="p"))
    np.testing.assert_array_equal(found.values, places * 1000 + places[::-1])
    assert hs.counters().chunks_decoded - before <= 300  # the product of the indexes would be 10,000 chunks


def test_points_outside_are_an_index_error(arrays):
    dataset = hs.open(arrays[0])["chunked"]
    for bad in (13, -14):
        with pytest.raises(IndexError, match=f"index {bad} is outside of a dimension of 13"):
            read_points(dataset, [np.array([0, bad]), np.array([0, 0]), np.array([0, 0])])
    with pytest.raises(hs.InvalidInputError, match="2 coordinates for 3 dimensions"):
        read_points(dataset, [np.array([0]), np.array([0])])
    with pytest.raises(hs.InvalidInputError, match="integers, not by float64"):
        read_points(dataset, [np.array([0.5])] * 3)


def test_bytes_file_objects_and_paths(folder):
    path = folder / "NETCDF4.nc"
    expected = xr.open_dataset(path, engine="netcdf4").load()
    content = path.read_bytes()
    buffer = io.BytesIO(content)
    buffer.seek(5)
    with open(path, "rb") as file:
        for source in (str(path), path, os.fsencode(path).decode(), content, memoryview(content), buffer, file):
            opened = xr.open_dataset(source, engine=ENGINE)
            xr.testing.assert_identical(opened, expected)
            xr.testing.assert_identical(pickle.loads(pickle.dumps(opened)), expected)
    assert buffer.tell() == 5 and not buffer.closed
    assert opened["x" if "x" in opened else "packed"].encoding["source"] == str(path)  # a file object of a local file
    with pytest.raises(TypeError, match="text, not bytes"):
        xr.open_dataset(io.StringIO("text"), engine=ENGINE)


def test_pickles_copies_and_survives_close(folder):
    opened = xr.open_dataset(folder / "NETCDF4.nc", engine=ENGINE)
    expected = xr.open_dataset(folder / "NETCDF4.nc", engine="netcdf4").load()
    copies = [pickle.loads(pickle.dumps(opened)), copy.deepcopy(opened), copy.copy(opened), opened.copy(deep=True)]
    opened.close()
    opened.close()
    for dataset in (*copies, opened, pickle.loads(pickle.dumps(opened))):
        xr.testing.assert_identical(dataset.load(), expected)


def test_another_process_reads_a_pickle(folder, tmp_path):
    (tmp_path / "pickle").write_bytes(pickle.dumps(xr.open_dataset(folder / "NETCDF4.nc", engine=ENGINE)["packed"]))
    code = "import pickle, sys; print(float(pickle.load(open(sys.argv[1], 'rb')).sum()))"
    printed = subprocess.run([sys.executable, "-c", code, tmp_path / "pickle"], capture_output=True, text=True, check=True).stdout
    assert float(printed) == float(xr.open_dataset(folder / "NETCDF4.nc", engine="netcdf4")["packed"].sum())


def test_dask_reads_along_the_chunks_of_the_file(folder):
    chunked = xr.open_dataset(folder / "NETCDF4.nc", engine=ENGINE, chunks={})
    assert chunked["packed"].chunks == ((2, 2, 2), (5,), (3, 3, 1))
    expected = xr.open_dataset(folder / "NETCDF4.nc", engine="netcdf4")
    np.testing.assert_array_equal(chunked["packed"].mean("time").compute(scheduler="threads"), expected["packed"].mean("time"))


def test_many_threads_and_tasks_read_one_dataset(arrays):
    path, values = arrays
    data = xr.open_dataset(path, engine=ENGINE, cache=False)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda i: data["packed"][i % 13].values, range(100)):
            assert found.shape == (17, 11)

    async def loaded():
        parts = await asyncio.gather(*(data["packed"][i].load_async() for i in range(13)))
        return np.stack([part.values for part in parts])

    np.testing.assert_array_equal(asyncio.run(loaded()), values)


def test_open_mfdataset_of_xarray(tmp_path):
    whole = xr.Dataset({"x": (("time", "y"), np.arange(60.0).reshape(12, 5))}, {"time": np.arange(12)})
    for part in range(4):
        whole.isel(time=slice(part * 3, part * 3 + 3)).to_netcdf(tmp_path / f"{part}.nc")
    with xr.open_mfdataset(str(tmp_path / "*.nc"), engine=ENGINE, parallel=True) as opened:
        xr.testing.assert_identical(opened.load(), whole)


def test_dropped_variables_are_not_looked_at(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["good"] = np.arange(3)
        file["null"] = h5py.Empty("f4")
        file["dangling"] = h5py.SoftLink("/nowhere")
        file.create_dataset("arrays", (2,), np.dtype(("f4", (3,))))
    with pytest.raises(hs.UnsupportedError, match=r"elements of /arrays are arrays.*drop_variables=\['arrays'\]"):
        xr.open_dataset(tmp_path / "x.h5", engine=ENGINE)
    with pytest.raises(hs.UnsupportedError, match=r"/null has a null dataspace.*drop_variables=\['null'\]"):
        xr.open_dataset(tmp_path / "x.h5", engine=ENGINE, drop_variables=["arrays", "dangling"])
    with pytest.warns(UserWarning, match="soft link /dangling leads nowhere"):
        opened = xr.open_dataset(tmp_path / "x.h5", engine=ENGINE, drop_variables=["null", "arrays"])
    assert set(opened.variables) == {"good"}
    assert not xr.open_dataset(tmp_path / "x.h5", engine=ENGINE, drop_variables=("null", "arrays", "dangling", "good")).variables


def test_guesses(folder, tmp_path):
    entry = HyperslabBackendEntrypoint()
    (tmp_path / "text.nc").write_text("no netCDF")
    with h5py.File(tmp_path / "user_block.h5", "w", userblock_size=1024) as file:
        file["x"] = 1
    for format in FORMATS:
        assert entry.guess_can_open(folder / f"{format}.nc") and entry.guess_can_open((folder / f"{format}.nc").read_bytes())
    assert entry.guess_can_open(str(tmp_path / "user_block.h5")) and entry.guess_can_open(tmp_path / "missing.nc")
    with open(folder / "plain.h5", "rb") as file:
        file.seek(3)
        assert entry.guess_can_open(file) and file.tell() == 3
    for other in (tmp_path / "text.nc", tmp_path / "missing.tif", "https://example.org/x.nc", b"no netCDF", io.StringIO("text"), 5):
        assert not entry.guess_can_open(other)


def test_the_entry_point_is_registered():
    if "hyperslab" not in xr.backends.list_engines():
        pytest.skip("the package is not installed with its entry points: run make setup")
    assert type(xr.backends.list_engines()["hyperslab"]) is HyperslabBackendEntrypoint
    path = EXAMPLES / "SOI_Darwin.nc"
    xr.testing.assert_identical(xr.open_dataset(path, engine="hyperslab"), xr.open_dataset(path, engine="netcdf4"))


def test_wrong_files_and_groups(folder, tmp_path):
    path = folder / "NETCDF4.nc"
    with pytest.raises(FileNotFoundError, match="missing.nc"):
        xr.open_dataset(tmp_path / "missing.nc", engine=ENGINE)
    (tmp_path / "text.nc").write_text("this is text")
    with pytest.raises(hs.InvalidInputError, match="not an HDF5 or netCDF file"):
        xr.open_dataset(tmp_path / "text.nc", engine=ENGINE)
    (tmp_path / "short.nc").write_bytes(path.read_bytes()[:3000])
    with pytest.raises(hs.Error, match="truncated|ends at byte|not complete"):
        xr.open_dataset(tmp_path / "short.nc", engine=ENGINE).load()
    for group in ("grope", "group/nothing", "scalar"):
        with pytest.raises(OSError, match="group not found|is a dataset, not a group") as caught:
            xr.open_dataset(path, engine=ENGINE, group=group)
        assert isinstance(caught.value, hs.NotFoundError) and caught.value.file == str(path)
    with pytest.raises(ValueError, match="group must be a string or None, not int"):
        xr.open_dataset(path, engine=ENGINE, group=3)
    with pytest.raises(hs.InvalidInputError, match="int is not a path, bytes or a file object"):
        xr.open_dataset(5, engine=ENGINE)
    with pytest.raises(hs.UnsupportedError, match="hdfs:// are not read"):
        xr.open_dataset("hdfs://bucket/x.nc", engine=ENGINE)


def replaced(path, values):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=values, chunks=(100,), compression="gzip")


def test_a_file_that_is_replaced_under_an_open_dataset(tmp_path):
    path, other = tmp_path / "x.h5", tmp_path / "other.h5"
    first, second = np.random.default_rng(1).random(200_000), np.random.default_rng(2).random(200_001)
    replaced(path, first)
    replaced(other, second)
    opened = xr.open_dataset(path, engine=ENGINE, cache=False)
    pickled = pickle.dumps(opened)
    # Written over: what is read now could be a mixture.
    path.write_bytes(other.read_bytes())
    for read in (lambda: opened["x"].values, lambda: pickle.loads(pickled)["x"].values, lambda: opened["x"][:5].load()):
        with pytest.raises(hs.ConflictError, match="has changed since it was opened"):
            read()
    # Renamed over: the open file is the old one, but it cannot be opened again.
    opened = xr.open_dataset(path, engine=ENGINE, cache=False)
    replaced(other, first)
    os.replace(other, path)
    np.testing.assert_array_equal(opened["x"].values, second)
    opened.close()
    with pytest.raises(hs.ConflictError, match="has changed since it was opened"):
        opened["x"].load()
    np.testing.assert_array_equal(xr.open_dataset(path, engine=ENGINE)["x"], first)
    # Removed: readable as long as it is open.
    opened = xr.open_dataset(path, engine=ENGINE, cache=False)
    path.unlink()
    np.testing.assert_array_equal(opened["x"].values, first)
    opened.close()
    with pytest.raises(FileNotFoundError):
        opened["x"].load()
