"""Small files of data models, which the pages of docs/models read: `python examples/model_files.py FOLDER` writes them all."""

from __future__ import annotations

import pathlib
import sys

import h5py
import netCDF4
import numpy as np


def h5part(path: str) -> None:
    """Three steps of four particles of H5Part."""
    with h5py.File(path, "w") as made:
        made.attrs["author"] = "a simulation"
        for step in (0, 1, 2):
            group = made.create_group(f"Step#{step}")
            group.attrs["TIME"] = np.array([step * 0.5])
            group["id"] = np.arange(4) + step
            group["x"] = np.arange(4.0) * (step + 1)


def h5block(path: str) -> None:
    """A vector and a scalar field of H5Block."""
    with h5py.File(path, "w") as made:
        for name, components in (("E", 3), ("phi", 1)):
            field = made.create_group(f"Step#0/Block/{name}")
            field.attrs["__Origin__"], field.attrs["__Spacing__"] = [0.0, 0.0, -1.0], [0.5, 0.5, 1.0]
            for component in range(components):
                field[str(component)] = np.arange(24.0).reshape(2, 3, 4) + 100 * component


def chombo(path: str) -> None:
    """Two levels of Chombo in two dimensions."""
    corners = np.dtype([("lo_i", "i4"), ("lo_j", "i4"), ("hi_i", "i4"), ("hi_j", "i4")])
    with h5py.File(path, "w") as made:
        made.create_group("Chombo_global").attrs["SpaceDim"] = 2
        made.attrs["num_components"], made.attrs["component_0"], made.attrs["num_levels"], made.attrs["time"] = 1, "density", 2, 0.5
        for number, boxes in enumerate([[(0, 0, 3, 1), (0, 2, 3, 3)], [(2, 2, 5, 3)]]):
            level = made.create_group(f"level_{number}")
            level.attrs["dx"], level.attrs["ref_ratio"] = 1.0 / 2**number, 2
            level["boxes"] = np.array(boxes, corners)
            level["data:datatype=0"] = np.arange(8.0 * len(boxes)) + 100 * number
            level["data:offsets=0"] = np.arange(len(boxes) + 1) * 8


def vtkhdf_mesh(path: str) -> None:
    """An adaptive mesh of VTKHDF with two levels."""
    with h5py.File(path, "w") as made:
        group = made.create_group("VTKHDF")
        group.attrs["Version"], group.attrs["Type"], group.attrs["Origin"] = [2, 4], np.bytes_("OverlappingAMR"), [0.0, 0.0, 0.0]
        for number, box in enumerate([(0, 3, 0, 3, 0, 0), (2, 5, 2, 5, 0, 1)]):
            level = group.create_group(f"Level{number}")
            level.attrs["Spacing"], level["AMRBox"] = [0.5**number] * 3, [box]
            level["CellData/rho"] = np.arange(16.0 * (number + 1)) + 100 * number


def vtkhdf_image(path: str) -> None:
    """A regular grid of VTKHDF."""
    with h5py.File(path, "w") as made:
        group = made.create_group("VTKHDF")
        group.attrs["Version"], group.attrs["Type"], group.attrs["WholeExtent"] = [2, 4], np.bytes_("ImageData"), [0, 3, 0, 2, 0, 1]
        group.attrs["Origin"], group.attrs["Spacing"] = [0.0, 0.0, 1.0], [0.5, 0.5, 2.0]
        group["PointData/T"] = np.arange(24.0).reshape(2, 3, 4)
        group["CellData/v"] = np.arange(18.0).reshape(1, 2, 3, 3)


def vtkhdf_grid(path: str) -> None:
    """Two triangles of VTKHDF."""
    with h5py.File(path, "w") as made:
        group = made.create_group("VTKHDF")
        group.attrs["Version"], group.attrs["Type"] = [2, 4], np.bytes_("UnstructuredGrid")
        group["NumberOfPoints"], group["NumberOfCells"], group["NumberOfConnectivityIds"] = [4], [2], [6]
        group["Points"] = [[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
        group["Connectivity"], group["Offsets"], group["Types"] = [0, 1, 2, 0, 2, 3], [0, 3, 6], np.array([5, 5], "u1")
        group["CellData/p"] = [0.5, 1.5]


def flash(path: str) -> None:
    """Four blocks of FLASH along one dimension."""
    with h5py.File(path, "w") as made:
        made["bounding box"] = [[[0.0, 4.0]], [[0.0, 2.0]], [[2.0, 4.0]], [[4.0, 8.0]]]
        made["refine level"], made["node type"], made["gid"] = [1, 2, 2, 1], [2, 1, 1, 1], np.zeros((4, 5), "i4")
        made["unknown names"], made["dens"] = np.array([[b"dens"]]), np.arange(16.0).reshape(4, 1, 1, 4)


def openpmd(path: str) -> None:
    """An iteration of openPMD with two electrons and a field."""
    with h5py.File(path, "w") as made:
        for name, text in {"openPMD": "1.1.0", "basePath": "/data/%T/", "meshesPath": "meshes/", "particlesPath": "particles/"}.items():
            made.attrs[name] = np.bytes_(text)
        step = made.create_group("data/100")
        step.attrs["time"], step.attrs["dt"], step.attrs["timeUnitSI"] = 5.0, 0.05, 1e-15
        for name, values, unit in (("position/x", [0.5, 0.25], 1e-6), ("positionOffset/x", [3, 4], 1e-6), ("charge", [-1.0, -1.0], 1.602e-19)):
            step[f"particles/electrons/{name}"] = values
            step[f"particles/electrons/{name}"].attrs["unitSI"] = unit
        field = step.create_group("meshes/E")
        field.attrs["axisLabels"], field.attrs["dataOrder"] = np.array([b"y", b"x"]), np.bytes_("C")
        field.attrs["gridSpacing"], field.attrs["gridGlobalOffset"], field.attrs["gridUnitSI"] = [1.0, 0.5], [0.0, 10.0], 1e-6
        field["x"] = np.arange(6.0).reshape(2, 3)
        field["x"].attrs["unitSI"], field["x"].attrs["position"] = 1e9, [0.0, 0.5]


def anndata(path: str) -> None:
    """Three cells of AnnData with a sparse matrix."""
    with h5py.File(path, "w") as made:
        made.attrs["encoding-type"] = "anndata"
        for name, columns in (("obs", ["kind"]), ("var", [])):
            frame = made.create_group(name)
            frame.attrs["encoding-type"], frame.attrs["_index"] = "dataframe", "_index"
            frame.attrs["column-order"] = np.array(columns, dtype=h5py.string_dtype())
            frame["_index"] = [f"{name}{i}" for i in range(3)]
        kind = made.create_group("obs/kind")
        kind.attrs["encoding-type"], kind["codes"], kind["categories"] = "categorical", np.array([1, -1, 0], "i1"), ["B", "T"]
        x = made.create_group("X")
        x.attrs["encoding-type"], x.attrs["shape"] = "csr_matrix", [3, 3]
        x["data"], x["indices"], x["indptr"] = [1.5, 2.5, 3.5], [0, 2, 1], [0, 2, 2, 3]


def pytables(path: str) -> None:
    """100,000 rows of PyTables with a completely sorted index of the energy."""
    import tables

    with tables.open_file(path, "w") as made:
        rows = np.zeros(100_000, [("energy", "f8"), ("channel", "i4")])
        rows["energy"], rows["channel"] = np.random.default_rng(1).exponential(10, 100_000), np.arange(100_000) % 64
        made.create_table("/", "hits", rows).cols.energy.create_csindex()


def keras(path: str) -> None:
    """A layer of Keras 2."""
    with h5py.File(path, "w") as made:
        made.attrs["keras_version"], made.attrs["model_config"] = "2.15.0", '{"class_name": "Sequential"}'
        layers = made.create_group("model_weights")
        layers.attrs["layer_names"] = [b"dense"]
        layers.create_group("dense").attrs["weight_names"] = [b"dense/kernel:0"]
        layers["dense/dense/kernel:0"] = np.ones((3, 4), "f4")


def photon_hdf5(path: str) -> None:
    """Three photons of two detectors of Photon-HDF5."""
    with h5py.File(path, "w") as made:
        made.attrs["format_name"], made.attrs["format_version"] = "Photon-HDF5", "0.5"
        made["photon_data/timestamps"], made["photon_data/detectors"] = [100, 250, 300], [0, 1, 0]
        made["photon_data/timestamps_specs/timestamps_unit"] = 1e-8
        for channel, detectors in (("spectral_ch1", [0]), ("spectral_ch2", [1])):
            made[f"photon_data/measurement_specs/detectors_specs/{channel}"] = detectors


def nexus(path: str) -> None:
    """A signal, a log and events of NeXus."""
    with h5py.File(path, "w") as made:
        made.attrs["default"] = "entry"
        for group, kind in (("entry", "NXentry"), ("entry/data", "NXdata"), ("entry/log", "NXlog"), ("entry/events", "NXevent_data")):
            made.create_group(group).attrs["NX_class"] = kind
        made["entry"].attrs["default"] = "data"
        data, log, events = made["entry/data"], made["entry/log"], made["entry/events"]
        data.attrs["signal"], data.attrs["axes"] = "counts", ["y", "tof"]
        data["counts"], data["counts_errors"] = np.arange(6).reshape(2, 3), np.ones((2, 3))
        data["y"], data["tof"] = [0.5, 1.5], [0.0, 10.0, 20.0, 30.0]
        log["time"], log["value"] = [0.0, 60.0], [293.0, 293.5]
        log["time"].attrs["units"], log["time"].attrs["start"] = "s", "2024-05-01T12:00:00+02:00"
        events["event_id"], events["event_time_offset"] = [7, 8, 7, 9], [1.5, 2.5, 0.5, 3.5]
        events["event_index"], events["event_time_zero"] = [0, 3], [0.0, 0.1]


def nwb(path: str) -> None:
    """A series and the units of a session of NWB."""
    with h5py.File(path, "w") as made:
        made.attrs["nwb_version"] = "2.8.0"
        made["identifier"] = "session 1"
        lfp = made.create_group("acquisition/lfp")
        lfp.attrs["neurodata_type"] = "ElectricalSeries"
        lfp["data"] = np.arange(8, dtype="i2").reshape(4, 2)
        lfp["data"].attrs["unit"], lfp["data"].attrs["conversion"] = "V", 0.5
        lfp["starting_time"] = 1.0
        lfp["starting_time"].attrs["rate"] = 4.0
        units = made.create_group("units")
        units.attrs["neurodata_type"], units.attrs["colnames"] = "Units", ["spike_times", "quality"]
        units["id"], units["quality"] = [0, 1, 2], np.array([0.9, 0.5, 0.8])
        units["spike_times"], units["spike_times_index"] = [0.1, 0.7, 0.2], [2, 2, 3]
        units["spike_times_index"].attrs["neurodata_type"] = "VectorIndex"


def cf(path: str) -> None:
    """Temperatures of three days on a grid, with bounds, cell methods and a grid mapping."""
    with netCDF4.Dataset(path, "w") as made:
        made.Conventions = "CF-1.11"
        for name, size in (("time", 3), ("lat", 2), ("lon", 2), ("bnds", 2)):
            made.createDimension(name, size)
        for name, dimensions, values, about in (
            ("time", ("time",), [0.5, 1.5, 2.5], {"units": "days since 2001-01-01", "bounds": "time_bnds"}),
            ("time_bnds", ("time", "bnds"), [[0, 1], [1, 2], [2, 3]], {}),
            ("lat", ("lat",), [45, -45], {"units": "degrees_north"}),
            ("lon", ("lon",), [0, 180], {"units": "degrees_east"}),
            ("height", (), 2, {"units": "m"}),
            ("crs", (), 0, {"grid_mapping_name": "latitude_longitude", "earth_radius": 6371229.0}),
            ("tas", ("time", "lat", "lon"), np.arange(12).reshape(3, 2, 2), {"coordinates": "height", "grid_mapping": "crs"}),
            ("orog", ("lat", "lon"), [[1, 2], [3, 4]], {"units": "m"}),
        ):
            variable = made.createVariable(name, "f8", dimensions)
            variable.setncatts(about)
            variable[...] = values
        made["tas"].cell_methods = "area: mean time: maximum (interval: 3 hr)"


def profiles(path: str) -> None:
    """Profiles of CF in the contiguous ragged representation."""
    with netCDF4.Dataset(path, "w") as made:
        made.Conventions, made.featureType = "CF-1.11", "profile"
        made.createDimension("obs", 5)
        made.createDimension("profile", 3)
        made.createVariable("lat", "f8", ("profile",))[:] = [60, 61, 62]
        made.createVariable("row_size", "i4", ("profile",))[:] = [2, 0, 3]
        made["row_size"].sample_dimension = "obs"
        made.createVariable("z", "f8", ("obs",))[:] = [0, 10, 0, 10, 20]
        made.createVariable("temp", "f8", ("obs",))[:] = [9, 8, 7, 6, 5]
        made["temp"].coordinates = "lat z"


FILES = {
    "run.h5part": h5part,
    "fields.h5": h5block,
    "plot.hdf5": chombo,
    "mesh.vtkhdf": vtkhdf_mesh,
    "image.vtkhdf": vtkhdf_image,
    "grid.vtkhdf": vtkhdf_grid,
    "run_hdf5_chk_0001": flash,
    "openpmd.h5": openpmd,
    "cells.h5ad": anndata,
    "hits.h5": pytables,
    "model.h5": keras,
    "photons.hdf5": photon_hdf5,
    "scan.nxs": nexus,
    "session.nwb": nwb,
    "tas_day.nc": cf,
    "profiles.nc": profiles,
}

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in FILES.items():
        write(str(folder / name))
        print(folder / name)
