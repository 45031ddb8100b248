"""Cases: what libraries that read with h5py make of files, as plain values. Run by `test_libraries.py`, once with h5py and once with
`hyperslab.h5py` in its place: `cases.py write|read CASE PATH [hyperslab]`."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from typing import Any

os.environ["KERAS_BACKEND"] = "numpy"
warnings.simplefilter("ignore")

if sys.argv[4:] == ["hyperslab"]:
    import hyperslab as hs

    hs.install_as_h5py()

import h5py  # noqa: E402
import numpy as np  # noqa: E402


def plain(value: Any) -> Any:
    """A value of numpy, pandas or scipy as something that pickles and compares."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    if hasattr(value, "columns"):
        return {str(key): plain(value[key]) for key in value.columns}
    if hasattr(value, "to_list"):
        return plain(value.to_list())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, plain(value.tolist()))
    return value.item() if isinstance(value, np.generic) else value if isinstance(value, (str, bytes, int, float, bool, type(None))) else str(value)


def write_anndata(path: str) -> None:
    import anndata
    import pandas as pd
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    obs = pd.DataFrame(
        {
            "type": pd.Categorical(["a", "b", "a", "c"]),
            "score": [1.5, np.nan, 3, 4],
            "label": ["x", "ü", "", "z"],
            "flag": pd.array([True, None, False, True], dtype="boolean"),
            "n": pd.array([1, None, 3, 4], dtype="Int64"),
        },
        index=[f"cell{i}" for i in range(4)],
    )
    x = sp.random(4, 6, 0.5, format="csr", random_state=rng, dtype="f4")
    uns = {"text": "words", "list": np.array(["a", "b"]), "nested": {"x": np.arange(3), "none": 2.5, "flag": True}}
    data = anndata.AnnData(
        x, obs=obs, uns=uns, layers={"dense": rng.random((4, 6)), "csc": x.tocsc()}, obsm={"X_pca": rng.random((4, 2))}, obsp={"near": sp.csr_matrix(np.eye(4))}
    )
    data.raw = data
    data.write_h5ad(path, compression="gzip")


def read_anndata(path: str) -> Any:
    import anndata

    found = []
    for backed in (None, "r"):
        data = anndata.read_h5ad(path, backed=backed)
        x = data.X[1:3] if backed else data.X
        found.append(
            [
                plain(x[:]),
                plain(data.obs),
                list(data.obs.index),
                plain(data.var),
                plain(dict(data.uns)),
                plain(data.obsm["X_pca"]),
                plain(data.obsp["near"]),
                {k: plain(data.layers[k]) for k in ("dense", "csc")},
                plain(data.raw.X[:2]),
            ]
        )
    return found


def write_pynwb(path: str) -> None:
    from datetime import datetime, timezone

    from pynwb import NWBHDF5IO, NWBFile, TimeSeries
    from pynwb.ecephys import ElectricalSeries

    nwb = NWBFile("session", "id-1", datetime(2020, 1, 2, tzinfo=timezone.utc), keywords=["a", "b"])
    series = TimeSeries("wave", data=np.arange(30.0).reshape(10, 3), unit="V", rate=10.0)
    nwb.add_acquisition(series)
    device = nwb.create_device("probe")
    group = nwb.create_electrode_group("shank", "a shank", "brain", device)
    for i in range(3):
        nwb.add_electrode(group=group, location=f"place {i}")
    region = nwb.create_electrode_table_region([0, 2], "some")
    nwb.add_acquisition(ElectricalSeries("ephys", np.ones((5, 2)), region, rate=1.0))
    nwb.add_unit_column("quality", "how good")
    nwb.add_unit(spike_times=[0.1, 0.2], quality="good")
    nwb.add_unit(spike_times=[0.3], quality="bad")
    nwb.add_trial(0.0, 1.0, timeseries=[series])
    with NWBHDF5IO(path, "w") as io:
        io.write(nwb)


def read_pynwb(path: str) -> Any:
    from pynwb import NWBHDF5IO

    with NWBHDF5IO(path, "r") as io:
        nwb = io.read()
        electrodes = nwb.electrodes.to_dataframe()
        trials = nwb.trials.to_dataframe()
        return [
            nwb.identifier,
            plain(nwb.keywords[:]),
            str(nwb.session_start_time),
            plain(nwb.acquisition["wave"].data[2:4]),
            plain(nwb.acquisition["ephys"].electrodes.to_dataframe()["location"]),
            plain(electrodes["location"]),
            plain(nwb.units.to_dataframe()["quality"]),
            [plain(times) for times in nwb.units.to_dataframe()["spike_times"]],
            plain(trials["start_time"]),
            [(item[0].idx_start, item[0].count, item[0].timeseries.name) for item in trials["timeseries"]],
        ]


def write_nexusformat(path: str) -> None:
    from nexusformat.nexus import NXdata, NXentry, NXfield, NXlink, NXroot

    x = NXfield(np.linspace(0, 1, 5), name="x", units="mm")
    data = NXdata(NXfield(np.arange(20).reshape(5, 4), name="counts"), [x, NXfield(np.arange(4.0), name="y")])
    root = NXroot(NXentry(data, title=NXfield("a title"), flag=NXfield(True)))
    root["entry/again"] = NXlink("/entry/data/counts")
    root.save(path, "w")


def read_nexusformat(path: str) -> Any:
    from nexusformat.nexus import nxload

    root = nxload(path)
    with root.nxfile:
        pass
    return [
        root.tree.split("\n", 1)[1],
        plain(root["entry/data/counts"].nxdata),
        plain(root["entry/data/x"].attrs["units"]),
        plain(root["entry/title"].nxdata),
        root["entry/data"].nxsignal.nxname,
        plain(root["entry/data/counts"][1:3, 2].nxdata),
    ]


def write_h5grove(path: str) -> None:
    with h5py.File(path, "w") as f:
        f.attrs["title"], f.attrs["numbers"] = "text", [1, 2]
        x = f.create_dataset("group/x", data=np.arange(24.0).reshape(4, 6), chunks=(2, 3), compression="gzip", shuffle=True, maxshape=(None, 6))
        x.attrs["units"] = np.bytes_(b"m")
        f["compound"] = np.array([(1, 2.5, b"a")], dtype=[("a", "i4"), ("b", ">f8"), ("c", "S3")])
        f["enum"] = np.array([1, 2], h5py.enum_dtype({"A": 1, "B": 2}))
        f["text"], f["words"], f["bool"] = "hello", ["a", "é"], np.array([True, False])
        f["soft"], f["dangling"], f["external"] = h5py.SoftLink("/group/x"), h5py.SoftLink("/none"), h5py.ExternalLink("none.h5", "/x")
        f.create_dataset("ragged", (2,), h5py.vlen_dtype("i4"))[0] = [1, 2]
        f["type"] = np.dtype("f4")
        f["opaque"], f["reference"] = np.void(b"abc"), np.array([x.ref], h5py.ref_dtype)
        layout = h5py.VirtualLayout((4,), "f8")
        layout[:] = h5py.VirtualSource(x)[:, 0]
        f.create_virtual_dataset("virtual", layout)


def read_h5grove(path: str) -> Any:
    from h5grove.content import DatasetContent, ResolvedEntityContent, get_content_from_file, get_list_of_paths

    found: Any = []

    def error(kind: str) -> Any:
        return lambda status, message: RuntimeError(f"{status} {message}")

    with h5py.File(path, "r") as f:
        names = sorted(["/", "/group", *(f"/{name}" for name in f), "/group/x"])
    for name in names:
        with get_content_from_file(path, name, error(name), "only_valid") as content:
            found.append((name, plain(content.metadata(depth=2) if hasattr(content, "metadata") and name in ("/", "/group") else content.metadata())))
            if isinstance(content, ResolvedEntityContent):
                found.append(plain(content.attributes()))
            if isinstance(content, DatasetContent) and name not in ("/ragged", "/reference"):
                found.append(plain(content.data()))
                if name in ("/group/x", "/virtual"):
                    found.append((plain(content.data("0:1" if name == "/virtual" else "0, 1:3")), plain(content.data_stats())))
    with get_list_of_paths(path, "/", error("/"), "only_valid") as paths:
        found.append(plain(sorted(paths)))
    return found


def write_kerchunk(path: str) -> None:
    with h5py.File(path, "w") as f:
        f.attrs["title"] = "a file"
        x = f.create_dataset("x", data=np.arange(4.0))
        x.make_scale("x")
        data = f.create_dataset("t", data=np.arange(24, dtype=">i2").reshape(6, 4), chunks=(2, 4), compression="gzip", shuffle=True, fillvalue=-1)
        data.dims[1].attach_scale(x)
        data.attrs["units"] = "K"
        f.create_dataset("group/plain", data=np.arange(10, dtype="i8"))
        f.create_dataset("group/sparse", (100,), "f4", chunks=(10,))[20:30] = 1


def read_kerchunk(path: str) -> Any:
    import json

    from kerchunk.hdf import SingleHdf5ToZarr

    with h5py.File(path, "r") as f:
        return json.loads(json.dumps(SingleHdf5ToZarr(f, url=path, inline_threshold=50).translate(), default=str))


def write_keras(path: str) -> None:
    import keras

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dense(2)])
    model.save(path)
    model.save_weights(f"{path}.weights.h5")


def read_keras(path: str) -> Any:
    import keras

    model = keras.saving.load_model(path, compile=False)
    before = [plain(np.asarray(weight)) for weight in model.get_weights()]
    model.load_weights(f"{path}.weights.h5")
    return before, [plain(np.asarray(weight)) for weight in model.get_weights()], model.to_json()


if __name__ == "__main__":
    action, case, path = sys.argv[1:4]
    result = globals()[f"{action}_{case}"](path)
    if action == "read":
        sys.stdout.buffer.write(pickle.dumps((h5py.__file__.replace("\\", "/").rpartition("/h5py/")[0].rpartition("/")[2], result)))
