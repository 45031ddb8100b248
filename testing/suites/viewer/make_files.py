"""Writes the files that the browser shows: `make_files.py FOLDER`."""

from __future__ import annotations

import pathlib
import sys

import h5py
import hyperslab as hs
import netCDF4
import numpy as np


def main(folder: pathlib.Path) -> None:
    y, x = np.mgrid[0:200, 0:300]
    with h5py.File(folder / "shown.h5", "w") as f:
        f.attrs["title"] = "a demonstration"
        maps = f.create_dataset("maps/temperature", data=(np.sin(y / 30) * np.cos(x / 40) * 20 + 280 + np.zeros((10, 1, 1))).astype("f4"), compression="gzip")
        maps.attrs["units"] = "K"
        f["signal"] = np.sin(np.arange(1000) / 50)
        f["table"] = np.array([(row, row * 1.5, b"abc") for row in range(50)], [("id", "i4"), ("value", "f8"), ("name", "S4")])
        f["text"] = "some words"
        f["long"] = np.array([(1_704_067_200_000_000_000 + row * 10**9, row) for row in range(3)], [("stamp", "i8"), ("id", "i4")])
        entry = f.create_group("entry")
        entry.attrs["NX_class"], entry.attrs["default"], f.attrs["default"] = "NXentry", "data", "entry"
        data = entry.create_group("data")
        data.attrs["NX_class"], data.attrs["signal"], data.attrs["axes"] = "NXdata", "counts", ["angle"]
        data["counts"], data["angle"] = np.exp(-(((np.arange(100) - 40) / 9) ** 2)) * 100, np.linspace(0, 20, 100)
    with h5py.File(folder / "long.h5", "w") as f:
        signal = np.random.default_rng(5).normal(size=10_000_000).astype("f4")
        signal[7_654_321] = 100  # one sample that stands out
        f.create_dataset("signal", data=signal, chunks=(1 << 16,))
        f.create_dataset("wide", data=signal.reshape(4000, 2500), chunks=(250, 250))
    hs.index(folder / "long.h5", "/signal", level="X")
    with netCDF4.Dataset(folder / "map.nc", "w") as f:
        for name, unit, values in (("lat", "degrees_north", np.linspace(-80, 80, 33)), ("lon", "degrees_east", np.linspace(0, 350, 36))):
            f.createDimension(name, len(values))
            f.createVariable(name, "f8", (name,))[:] = values
            f[name].units = unit
        f.Conventions = "CF-1.8"
        f.createVariable("t2m", "f4", ("lat", "lon"))[:] = 280 + 20 * np.cos(np.deg2rad(f["lat"][:]))[:, None] + np.sin(np.deg2rad(f["lon"][:]))
        f["t2m"].units, f["t2m"].long_name = "K", "temperature"
    with netCDF4.Dataset(folder / "packed.nc", "w") as f:
        f.Conventions = "CF-1.8"
        for name, unit, values in (
            ("time", "hours since 2020-01-01", np.arange(40) * 12),
            ("latitude", "degrees_north", np.linspace(80, -80, 33)),
            ("longitude", "degrees_east", np.arange(36) * 10),
        ):
            f.createDimension(name, len(values))
            f.createVariable(name, "f8", (name,))[:] = values
            f[name].units = unit
        t = f.createVariable("t", "i2", ("time", "latitude", "longitude"), fill_value=-32767)
        t.setncatts({"scale_factor": 0.002, "add_offset": 250.0, "units": "K", "long_name": "air temperature"})
        values = np.ma.masked_array(np.broadcast_to(np.linspace(240, 290, 33)[:, None], (40, 33, 36)), False)
        values[:, :4, :6] = np.ma.masked
        t[:] = values
        f.createVariable("mean", "f4", ("time",), fill_value=-1)[:] = np.ma.masked_inside(np.linspace(250, 260, 40), 253, 255)
        f["mean"].units = "K"
        quality = f.createVariable("quality", "i1", ("latitude", "longitude"), fill_value=-1)
        quality.setncatts({"flag_values": np.array([0, 1, 2], "i1"), "flag_meanings": "good suspect bad"})
        quality[:] = np.arange(36) // 12
    with netCDF4.Dataset(folder / "swath.nc", "w") as f:
        f.Conventions = "CF-1.8"
        y, x = np.mgrid[0:30, 0:40]
        for name, size in (("y", 30), ("x", 40)):
            f.createDimension(name, size)
        for name, unit, values in (("lat", "degrees_north", 40 + y * 0.1 + x * 0.03), ("lon", "degrees_east", 5 + x * 0.1 - y * 0.05), ("bt", "K", 250 + x)):
            f.createVariable(name, "f4", ("y", "x"))[:] = values
            f[name].units = unit
        f["bt"].coordinates, f["bt"].long_name = "lat lon", "brightness temperature"
    z, y, x = np.mgrid[0:40, 0:50, 0:60]
    with h5py.File(folder / "fields.h5", "w") as f:
        for step in range(3):
            for name, components in (("E", 3), ("phi", 1)):
                field = f.create_group(f"Step#{step}/Block/{name}")
                field.attrs["__Origin__"], field.attrs["__Spacing__"] = [0.0, 0.0, -1.0], [0.5, 0.5, 1.0]
                for component in range(components):
                    field[str(component)] = np.exp(-((x - 30 - 5 * step) ** 2 + (y - 25) ** 2 * (1 + component) + (z - 20) ** 2) / 100)
    with hs.models.openpmd.create(folder / "laser.h5") as series:
        wave = np.sin(x / 2) * np.exp(-((x - 35) ** 2 + (y - 25) ** 2 + (z - 20) ** 2) / 90)
        for number in (0, 100):
            mesh = hs.models.openpmd.Mesh(
                values={"x": wave * (1 + number), "y": wave / 9},
                dimension=(1, 1, -3, -1, 0, 0, 0),
                axes=("z", "y", "x"),
                spacing=(1, 1, 0.5),
                offset=(0, -25, number),
                grid_unit_si=1e-6,
                position=(0.5, 0.5, 0),
            )
            series.write_iteration(number, time=number * 1.0, dt=1.0, time_unit_si=1e-15, meshes={"E": mesh})
    with h5py.File(folder / "damaged.h5", "w") as f:
        wave = f.create_dataset("wave", data=np.sin(np.arange(200_000) / 3000), chunks=(1000,), compression="gzip")
        place = wave.id.get_chunk_info(30).byte_offset
        f["lost"] = 1
        header = h5py.h5o.get_info(f["lost"].id).addr
        f["hits"] = np.array([(number, number**0.5) for number in range(5000)], [("id", "i4"), ("energy", "f8")])
    with open(folder / "damaged.h5", "rb+") as raw:
        raw.seek(place)
        raw.write(bytes(64))
        raw.seek(header)
        raw.write(b"\xff" * 16)
    with h5py.File(folder / "sparse.h5", "w") as f:
        # 10 GB, of which one chunk is written.
        wide = f.create_dataset("cube", (100, 10_000, 10_000), "u1", chunks=(1, 1000, 1000), fillvalue=3)
        wide[50, :1000, :1000] = 200
    with hs.create(folder / "many.h5", durable=False) as f:
        for number in range(100_000):
            f.create_dataset(f"d{number:06d}", data=number)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
