"""xarray's own tests of netCDF engines, from its wheel, with Hyperslab's engine for reading.

The classes inherit the tests of `NetCDF4Base`, of netCDF-3, of files in memory, and of data trees. The netCDF4 package or h5netcdf writes;
Hyperslab opens, also where a test names no engine. What is not taken as it is, is overridden below, with its reason."""

import asyncio
import contextlib
import functools

import hyperslab as hs
import pytest
import xarray as xr
from xarray.backends import NetCDF4DataStore
from xarray.tests import conftest, test_backends, test_backends_datatree

ENGINE = "hyperslab"
pytestmark = pytest.mark.filterwarnings("ignore")

# The fixtures of xarray's tests.
use_dask, time_unit = conftest.use_dask, conftest.time_unit
create_test_datatree, simple_datatree = conftest.create_test_datatree, conftest.simple_datatree
unaligned_datatree_nc = test_backends_datatree.unaligned_datatree_nc


def reading(function):
    """A function that opens files, with our engine unless another is named."""

    @functools.wraps(function)
    def opened(*args, engine=None, **options):
        return function(*args, engine=engine or ENGINE, **options)

    return opened


def writing(function, writer):
    """A function that writes files, with `writer` in the place of our engine."""

    @functools.wraps(function)
    def written(*args, **options):
        if options.get("engine") == ENGINE:
            options["engine"] = writer if options.get("format") != "NETCDF3_CLASSIC" else "netcdf4"
        return function(*args, **options)

    return written


@pytest.fixture(autouse=True)
def engines(request, monkeypatch):
    for name in ("open_dataset", "load_dataset", "open_dataarray", "open_datatree", "load_datatree", "open_groups"):
        for module in (test_backends, test_backends_datatree):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, reading(getattr(module, name)))
    for kind in (xr.Dataset, xr.DataArray, xr.DataTree):
        monkeypatch.setattr(kind, "to_netcdf", writing(kind.to_netcdf, request.cls.writer))


class ReadByHyperslab(NetCDF4DataStore):
    """A store that netCDF4 writes and Hyperslab reads."""

    def load(self):
        self.ds.sync()
        with xr.open_dataset(self._filename, engine=ENGINE, decode_cf=False) as dataset:
            return {name: variable.load() for name, variable in dataset.variables.items()}, dataset.attrs


class Ours:
    engine = ENGINE
    writer = "netcdf4"

    @contextlib.contextmanager
    def create_store(self):
        with test_backends.create_tmp_file() as path, ReadByHyperslab.open(path, mode="w", format=self.file_format or "NETCDF4") as store:
            yield store

    # xarray skips it for the engines of netCDF, which cannot load asynchronously.
    def test_load_async(self):
        asyncio.run(test_backends.DatasetIOBase.test_load_async(self))


class TestNetcdf4(Ours, test_backends.TestNetCDF4Data):
    # Skipped for netCDF4 (an issue of that package); not for Hyperslab.
    def test_refresh_from_disk(self):
        test_backends.NetCDFBase.test_refresh_from_disk(self)

    # auto_complex is an option of netCDF4. Complex numbers need none here.
    def test_roundtrip_complex(self):
        expected = xr.Dataset({"x": ("y", [1 + 1j] * 5)})
        with self.roundtrip(expected, save_kwargs={"auto_complex": True}) as actual:
            xr.testing.assert_equal(expected, actual)


class TestNetcdf4Chunked(Ours, test_backends.TestNetCDF4ViaDaskData):
    test_roundtrip_complex = TestNetcdf4.test_roundtrip_complex
    test_refresh_from_disk = TestNetcdf4.test_refresh_from_disk


class TestH5netcdf(Ours, test_backends.TestH5NetCDFData):
    writer = "h5netcdf"
    create_store = Ours.create_store

    # The tests ask for the engine's name where they mean the writer.
    @pytest.fixture(autouse=True)
    def _warnings_of_the_writer(self, request, monkeypatch):
        if request.node.name.startswith("test_encoding_enum"):
            monkeypatch.setattr(type(self), "engine", "h5netcdf")


class TestNetcdf4Tree(Ours, test_backends_datatree.TestNetCDF4DataTree):
    test_roundtrip_complex = TestNetcdf4.test_roundtrip_complex


class TestNetcdf3(Ours, test_backends.TestNetCDF3ViaNetCDF4Data):
    pass


class TestNetcdf4Classic(Ours, test_backends.TestNetCDF4ClassicViaNetCDF4Data):
    pass


class TestInMemory(Ours, test_backends.InMemoryNetCDFWithGroups):
    test_load_async = None


class TestFileObject(Ours, test_backends.FileObjectNetCDF):
    writer = "h5netcdf"
    test_load_async = None


class TestTrees(Ours, test_backends_datatree.TestNetCDF4DatatreeIO):
    test_load_async = None


class TestGenericTrees(Ours, test_backends_datatree.TestGenericNetCDFIO):
    test_load_async = None


class TestH5netcdfTrees(Ours, test_backends_datatree.TestH5NetCDFDatatreeIO):
    writer = "h5netcdf"
    test_load_async = None

    # h5netcdf warns that its default has changed. Hyperslab's has not: test_xarray.py compares the names.
    test_phony_dims_warning = None

    # h5py keeps the file open and has not flushed it; only h5py itself can see what is in its memory. Hyperslab says so.
    def test_compute_false(self, tmp_path, simple_datatree):
        written = simple_datatree.chunk().to_netcdf(tmp_path / "test.nc", engine="h5netcdf", compute=False)
        with pytest.raises(hs.ConflictError, match="open for writing"):
            xr.open_datatree(tmp_path / "test.nc", engine=ENGINE)
        written.compute()
        xr.testing.assert_identical(xr.open_datatree(tmp_path / "test.nc", engine=ENGINE), simple_datatree)
