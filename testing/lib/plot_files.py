"""Small files that pictures are made of: swaths, profiles, flags, dates of calendars, NeXus."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import netCDF4
import numpy as np

Array = Any
FLAGS = {"flag_values": np.array([0, 1, 2, 3], "i1"), "flag_meanings": "good probably_good bad missing", "long_name": "quality"}


def variable(n: Any, name: str, dtype: str, dims: tuple[str, ...], values: Array, fill: float | None = None, **attributes: Any) -> Any:
    """Adds a variable of netCDF."""
    made = n.createVariable(name, dtype, dims, fill_value=fill)
    made.setncatts(attributes)
    made[:] = values
    return made


def places(rows: int, columns: int, west: float = 10.0) -> tuple[Array, Array]:
    """Latitudes and longitudes of a swath that is neither straight nor parallel to the map's axes."""
    i, j = np.mgrid[0:rows, 0:columns] * np.array([200 / rows, 90 / columns])[:, None, None]
    latitude = 20 + i * 0.1 - j * 0.05 + 0.0003 * (j - 45) ** 2
    longitude = (west + j * 0.25 + i * 0.05 + 180) % 360 - 180
    return latitude, longitude


def waves(rows: int, columns: int) -> Array:
    """Values that differ in both directions."""
    i, j = np.mgrid[0:rows, 0:columns] * np.array([200 / rows, 90 / columns])[:, None, None]
    return 240 + 40 * np.sin(i / 20) * np.cos(j / 15)


def swath(path: pathlib.Path, rows: int = 40, columns: int = 30, west: float = 10.0, missing: bool = False) -> pathlib.Path:
    """A swath with brightness temperatures, quality flags and bits."""
    latitude, longitude = places(rows, columns, west)
    values = waves(rows, columns)
    with netCDF4.Dataset(path, "w") as n:
        n.createDimension("y", rows)
        n.createDimension("x", columns)
        if missing:
            latitude = np.ma.masked_array(latitude, np.zeros(latitude.shape, bool))
            latitude[: rows // 8, : columns // 6] = np.ma.masked
        variable(n, "lat", "f8", ("y", "x"), latitude, -999.0, units="degrees_north", standard_name="latitude")
        variable(n, "lon", "f8", ("y", "x"), longitude, -999.0, units="degrees_east", standard_name="longitude")
        variable(n, "bt", "f8", ("y", "x"), values, -999.0, long_name="brightness temperature", units="K", coordinates="lon lat")
        quality = np.clip((values - 200) / 20, 0, 3).astype("i1")
        variable(n, "quality", "i1", ("y", "x"), quality, coordinates="lon lat", **FLAGS)
        bits = quality.astype("u1")
        variable(n, "bits", "u1", ("y", "x"), bits, flag_masks=np.array([1, 2], "u1"), flag_meanings="cloud ice", coordinates="lon lat")
    return path


def hdf_eos(path: pathlib.Path) -> pathlib.Path:
    """A swath as HDF-EOS5 stores it."""
    with h5py.File(path, "w") as f:
        latitude, longitude = places(30, 20)
        data = f.create_group("HDFEOS/SWATHS/Column/Data Fields")
        ozone = data.create_dataset("Ozone", data=waves(30, 20))
        ozone.attrs.update({"Units": b"DU", "Title": b"Ozone column"})
        layers = data.create_dataset("Layers", data=waves(30, 20)[..., None] + np.arange(5))
        layers.attrs["Units"] = b"DU"
        where = f.create_group("HDFEOS/SWATHS/Column/Geolocation Fields")
        for name, values in (("Latitude", latitude), ("Longitude", longitude)):
            where.create_dataset(name, data=values).attrs["Units"] = b"deg"
    return path


def argo(path: pathlib.Path, profiles: int, levels: int = 40) -> pathlib.Path:
    """Profiles of a float: temperatures and pressures, the last levels of some missing."""
    random = np.random.default_rng(7)
    pressure = np.cumsum(random.uniform(8, 40, (profiles, levels)), axis=1)
    temperature = 4 + 20 * np.exp(-pressure / 300) + 3 * np.sin(np.arange(profiles) / 5)[:, None] * np.exp(-pressure / 200)
    is_missing = np.arange(levels)[None] > random.integers(levels - 10, levels, profiles)[:, None]
    with netCDF4.Dataset(path, "w") as n:
        n.createDimension("N_PROF", profiles)
        n.createDimension("N_LEVELS", levels)
        days = 25000 + np.arange(profiles) * 10
        variable(n, "JULD", "f8", ("N_PROF",), days, units="days since 1950-01-01", axis="T", standard_name="time")
        names = {"axis": "Z", "standard_name": "sea_water_pressure", "long_name": "pressure", "units": "decibar"}
        variable(n, "PRES", "f8", ("N_PROF", "N_LEVELS"), np.ma.masked_array(pressure, is_missing), 99999.0, **names)
        variable(n, "TEMP", "f8", ("N_PROF", "N_LEVELS"), np.ma.masked_array(temperature, is_missing), 99999.0, long_name="temperature", units="degree_Celsius")
    return path


def climate(path: pathlib.Path, calendar: str, start: str = "2000-02-27") -> pathlib.Path:
    """Days of a calendar, and a map that changes with them."""
    with netCDF4.Dataset(path, "w") as n:
        for name, extent in (("time", 40), ("lat", 12), ("lon", 24)):
            n.createDimension(name, extent)
        variable(n, "time", "f8", ("time",), np.arange(40), units=f"days since {start}", calendar=calendar)
        variable(n, "lat", "f8", ("lat",), np.linspace(-82.5, 82.5, 12), units="degrees_north")
        variable(n, "lon", "f8", ("lon",), np.arange(24) * 15.0, units="degrees_east")
        time, lat, lon = np.meshgrid(np.arange(40), np.arange(12), np.arange(24), indexing="ij")
        values = 280 + 10 * np.sin(time / 6) + 5 * np.cos(lat / 3) + lon / 4
        variable(n, "t", "f8", ("time", "lat", "lon"), np.ma.masked_where((lat > 9) & (lon < 5), values), -999.0, long_name="temperature", units="K")
    return path


def nexus(path: pathlib.Path) -> pathlib.Path:
    """NXdata with centers of bins on one axis, and edges on the other one."""
    with h5py.File(path, "w") as f:
        f.attrs["default"] = "entry"
        entry = f.create_group("entry")
        entry.attrs.update(NX_class="NXentry", default="data")
        data = entry.create_group("data")
        data.attrs.update(NX_class="NXdata", signal="counts", axes=["angle", "energy"])
        i, j = np.mgrid[0:30, 0:40]
        data.create_dataset("counts", data=np.exp(-((i - 10) ** 2 + (j - 25) ** 2) / 80)).attrs["units"] = "counts"
        data.create_dataset("angle", data=np.linspace(-15, 14, 30)).attrs["units"] = "deg"
        data.create_dataset("energy", data=np.linspace(7, 9, 41)).attrs["units"] = "keV"
    return path


def arrays(path: pathlib.Path) -> pathlib.Path:
    """Arrays of HDF5 that say nothing of themselves, and some that are no arrays."""
    random = np.random.default_rng(3)
    with h5py.File(path, "w") as f:
        points = random.normal(size=(600, 2))
        points[:200] += 5
        f["umap"] = points
        x, y = np.meshgrid(np.linspace(-2, 2, 60), np.linspace(-2, 2, 50))
        f["psi"] = np.exp(-(x**2 + y**2)) * np.exp(3j * x)
        f["psi"].attrs["units"] = "m**-1"
        f["cube"] = np.arange(4 * 5 * 6.0).reshape(4, 5, 6)
        f["scalar"], f["text"], f["records"], f["empty"] = 3.5, "hello", np.zeros(5, [("a", "i4")]), np.zeros((0, 4))
        kinds = h5py.enum_dtype({"CLEAR": 0, "CLOUDY": 1, "RAIN": 2}, "i1")
        f.create_dataset("kinds", data=(x > 0).astype(int) + (y > 0.5), dtype=kinds)
    return path
