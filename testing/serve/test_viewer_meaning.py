"""Decoded values in the viewer: what the server sends is what xarray decodes, and its description is true of it."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from test_viewer_answers import ask, client

xr = pytest.importorskip("xarray")
pytest.importorskip("cftime")
NAMES = ["good", "suspect", "bad"]


def write_netcdf(path: pathlib.Path) -> None:
    with netCDF4.Dataset(path, "w") as f:
        f.Conventions = "CF-1.8"
        for name, size in (("time", 4), ("lat", 3), ("lon", 5), ("station", 2), ("length", 7)):
            f.createDimension(name, size)
        for name, kind, values, attributes in (
            ("time", "f8", [0, 6, 12, 30], {"units": "hours since 2020-02-28 18:00:00", "long_name": "time"}),
            ("lat", "f4", [60, 40, 20], {"units": "degrees_north", "long_name": "latitude"}),
            ("lon", "f4", [0, 10, 20, 30, 50], {"units": "degrees_east"}),
        ):
            f.createVariable(name, kind, (name,))[:] = values
            f[name].setncatts(attributes)
        packed = f.createVariable("t", "i2", ("time", "lat", "lon"), fill_value=-32767)
        packed.setncatts({"scale_factor": 0.002, "add_offset": 250.0, "units": "K", "long_name": "air temperature", "valid_min": np.int16(-32000)})
        values = np.ma.masked_array(245 + np.arange(60.0).reshape(4, 3, 5) / 2, False)
        values[:, 0, 1] = np.ma.masked
        packed[:] = values
        f.createVariable("filled", "f4", ("lat", "lon"), fill_value=-999.0)[:] = np.ma.masked_less(np.arange(15.0).reshape(3, 5), 3)
        unsigned = f.createVariable("unsigned", "i1", ("lon",))
        unsigned._Unsigned = "true"
        unsigned[:] = np.array([0, 100, -56, -1, 7], "i1")
        seen = f.createVariable("seen", "i4", ("station", "lat"), fill_value=-1)
        seen.units = "seconds since 2021-06-01"
        seen[:] = np.ma.masked_less([[0, 61, 3600], [-1, 86400, 5]], 0)
        flags = f.createVariable("quality", "i1", ("lat", "lon"), fill_value=-1)
        flags.setncatts({"flag_values": np.array([0, 1, 4], "i1"), "flag_meanings": " ".join(NAMES)})
        flags[:] = np.ma.masked_less([[0, 1, 4, 4, -1]] * 3, 0)
        f.createVariable("name", "S1", ("station", "length"))[:] = netCDF4.stringtochar(np.array(["6901000", "OWS-M"], "S7"))
        f.createVariable("plain", "f8", ("lat",))[:] = [1, np.nan, 3]
        f.createVariable("one", "i2", ())[...] = 400
        f["one"].scale_factor = 0.5
        f.createVariable("reference", "i4", ())[...] = 36
        f["reference"].units = "hours since 2020-01-01"
        f.createVariable("broken", "i2", ("lat",))[:] = [1, 2, 3]
        f["broken"].scale_factor = "two"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("meaning") / "packed.nc"
    write_netcdf(path)
    return path


def by_xarray(path: pathlib.Path, name: str) -> Any:
    with xr.open_dataset(path, engine="netcdf4", drop_variables="broken") as dataset:
        return dataset[name].load()


def sent(browser: Any, path: pathlib.Path, name: str, values: str | None, selection: str | None = None) -> Any:
    """Values by the datatype and the shape that the description says, as H5Web takes them."""
    meta = ask(browser, "meta", file=path.name, path=f"/{name}", values=values).json()
    query = {"file": path.name, "path": f"/{name}", "values": values, "selection": selection}
    kind = meta["type"].get("base", meta["type"])
    if kind["class"] == 3:
        return np.array(ask(browser, "data", **query).json(), object)
    found = np.frombuffer(ask(browser, "data", format="bin", dtype="safe", **query).content, kind["dtype"])
    return found.reshape(meta["shape"]) if selection is None else found


@pytest.mark.parametrize("name", ["t", "filled", "unsigned", "plain", "one", "lat"])
def test_decoded_values_are_those_of_xarray(path: pathlib.Path, name: str) -> None:
    found, expected = sent(client(path), path, name, "decoded"), by_xarray(path, name)
    assert found.dtype == expected.dtype.newbyteorder("<")
    np.testing.assert_array_equal(found, expected.values)


def test_stored_values_are_those_of_netcdf4_by_default_and_on_request(path: pathlib.Path) -> None:
    browser = client(path)
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        for name in ("t", "filled", "seen", "quality", "time"):
            for values in (None, "stored"):
                np.testing.assert_array_equal(sent(browser, path, name, values), f[name][:])
    assert ask(browser, "data", file="packed.nc", path="/t", values="raw").status_code == 422


def test_a_part_is_the_same_as_in_the_whole(path: pathlib.Path) -> None:
    browser, whole = client(path), by_xarray(path, "t").values
    np.testing.assert_array_equal(sent(browser, path, "t", "decoded", "1,:,2:4"), whole[1, :, 2:4].ravel())
    assert ask(browser, "data", file="packed.nc", path="/t", values="decoded", selection="0,0,1").json() is None
    assert ask(browser, "data", file="packed.nc", path="/t", values="decoded", selection="0,0,2").json() == whole[0, 0, 2]


def test_dates_are_texts_and_missing_ones_are_empty(path: pathlib.Path) -> None:
    browser = client(path)
    for name in ("time", "seen"):
        expected = by_xarray(path, name).values
        words = ["" if np.isnat(one) else str(one).replace("T", " ").removesuffix(" 00:00:00") for one in expected.astype("M8[s]").reshape(-1)]
        np.testing.assert_array_equal(sent(browser, path, name, "decoded"), np.reshape(words, expected.shape))
    assert "" in sent(browser, path, "seen", "decoded")[1]
    assert ask(browser, "data", file="packed.nc", path="/reference", values="decoded").json() == "2020-01-02 12:00:00"


def test_characters_are_texts(path: pathlib.Path) -> None:
    found = sent(client(path), path, "name", "decoded")
    assert list(found) == [one.decode() for one in by_xarray(path, "name").values] == ["6901000", "OWS-M"]


def test_flags_are_an_enumeration_with_gaps(path: pathlib.Path) -> None:
    browser = client(path)
    found = ask(browser, "meta", file="packed.nc", path="/quality", values="decoded").json()["type"]
    assert found["class"] == 8 and found["members"] == {"good": 0, "suspect": 1, "bad": 4}
    np.testing.assert_array_equal(sent(browser, path, "quality", "decoded"), by_xarray(path, "quality").values)


def test_attributes_that_were_applied_are_not_those_of_decoded_values(path: pathlib.Path) -> None:
    browser = client(path)
    for name in ("t", "time", "filled", "quality", "plain"):
        described = ask(browser, "meta", file="packed.nc", path=f"/{name}", values="decoded").json()["attributes"]
        names = {one["name"] for one in described} - {"DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "_Netcdf4Dimid", "_Netcdf4Coordinates"}
        # xarray keeps valid ranges, which it does not apply; H5Web would compare them with unpacked values.
        assert names == by_xarray(path, name).attrs.keys() - {"valid_min"}, name
        assert names <= set(ask(browser, "attr", file="packed.nc", path=f"/{name}", values="decoded").json()) <= {one["name"] for one in described}
    stored = ask(browser, "meta", file="packed.nc", path="/t").json()
    assert {"_FillValue", "scale_factor", "add_offset", "valid_min"} <= {one["name"] for one in stored["attributes"]} and stored["type"]["dtype"] == "<i2"


def test_statistics_are_those_of_decoded_values(path: pathlib.Path) -> None:
    found = ask(client(path), "stats", file="packed.nc", path="/t", values="decoded").json()
    expected = by_xarray(path, "t").values
    assert found["min"] == np.nanmin(expected) and found["max"] == np.nanmax(expected)
    assert found["mean"] == pytest.approx(np.nanmean(expected)) and found["std"] == pytest.approx(np.nanstd(expected))


def test_a_variable_that_cannot_be_decoded_leaves_the_others_and_says_why(path: pathlib.Path) -> None:
    browser = client(path)
    children = {one["name"]: one for one in ask(browser, "meta", file="packed.nc", path="/", values="decoded").json()["children"]}
    assert children["t"]["type"]["dtype"] == "<f8" and children["broken"]["type"]["dtype"] == "<i2"
    refused = ask(browser, "data", file="packed.nc", path="/broken", values="decoded")
    assert refused.status_code == 422 and "scale_factor" in refused.json()["message"]
    assert ask(browser, "data", file="packed.nc", path="/broken").json() == [1, 2, 3]


def test_what_has_no_meaning_is_the_same_in_both_forms(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["kind"] = np.array([0, 5, 1], h5py.enum_dtype({"RED": 0, "BLUE": 5}))
        f["rows"] = np.array([(1, 2.5, b"a")], [("a", "i4"), ("b", "f8"), ("c", "S3")])
        f["none"], f["words"], f["bool"], f["complex"], f["zero"] = h5py.Empty("f4"), ["a", "é"], [True, False], [1 + 2j], np.zeros((0, 3))
        f["big"], f["opaque"] = np.arange(3, dtype=">i2"), np.void(b"abc")
    browser = client(tmp_path)
    for name in ("kind", "rows", "none", "words", "bool", "complex", "zero", "big", "opaque"):
        for what in ("meta", "data", "attr"):
            stored, decoded = (ask(browser, what, file="a.h5", path=f"/{name}", values=values) for values in ("stored", "decoded"))
            assert stored.status_code == decoded.status_code and stored.content == decoded.content, (name, what)
    assert [(one["name"], one["value"]) for one in legend(browser, tmp_path / "a.h5", "kind")["categories"]] == [("RED", 0), ("BLUE", 5)]


def test_elements_of_arrays_in_records_are_columns(tmp_path: pathlib.Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("tables")
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [-1.0, 4.0], "n": [7, 8]}, index=pd.Index([10, 20]))
    frame.to_hdf(tmp_path / "store.h5", key="frame", format="table")
    browser, place = client(tmp_path), {"file": "store.h5", "path": "/frame/table"}
    described = ask(browser, "meta", values="decoded", **place).json()["type"]
    assert [one["name"] for one in described["members"]] == ["index", "values_block_0[0]", "values_block_0[1]", "values_block_1[0]"]
    assert ask(browser, "data", values="decoded", **place).json() == [[10, 1.5, -1.0, 7], [20, 2.5, 4.0, 8]]
    assert ask(browser, "data", values="decoded", selection="1", **place).json() == [20, 2.5, 4.0, 8]
    assert ask(browser, "data", **place).json() == [[10, [1.5, -1.0], [7]], [20, [2.5, 4.0], [8]]]


def legend(browser: Any, path: pathlib.Path, name: str) -> Any:
    answer = ask(browser, "legend", file=path.name, path=f"/{name}")
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text)


def test_axes_are_the_coordinates_of_xarray(path: pathlib.Path) -> None:
    found, expected = legend(client(path), path, "t"), by_xarray(path, "t")
    assert found["label"] == "air temperature [K]" and found["stored_label"] == "t" and found["is_changed"]
    assert "stored as int16" in found["how"] and "scale_factor 0.002" in found["how"] and "valid_min -32000 (not applied)" in found["how"]
    time, lat, lon = found["axes"]
    assert [one["label"] for one in found["axes"]] == ["time", "latitude [degrees_north]", "lon [degrees_east]"]
    assert [one["kind"] for one in found["axes"]] == ["times", "numbers", "numbers"] and [one["role"] for one in (lat, lon)] == ["latitude", "longitude"]
    np.testing.assert_array_equal(lat["values"], expected["lat"].values)
    np.testing.assert_array_equal(lon["values"], expected["lon"].values)
    np.testing.assert_array_equal(np.array(time["values"]) * 1e9, expected["time"].values.astype("datetime64[ns]").astype("i8"))
    assert (time["is_regular"], lat["is_regular"], lon["is_regular"]) == (False, True, False)
    # A coordinate is not drawn over itself; dates have no unit.
    own = legend(client(path), path, "time")
    assert own["axes"][0]["kind"] == "none" and own["label"] == "time" and own["stored_label"] == "time [hours since 2020-02-28 18:00:00]"


def test_axes_of_other_calendars_have_their_dates(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "noleap.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", 4)
        f.createVariable("time", "f8", ("time",))[:] = [0, 1, 2, 3]
        f["time"].setncatts({"units": "days since 2000-02-27", "calendar": "noleap"})
        f.createVariable("x", "f8", ("time",))[:] = [1, 2, 3, 4]
    browser, expected = client(path), [one.strftime("%Y-%m-%d") for one in by_xarray(path, "time").values]
    assert expected == ["2000-02-27", "2000-02-28", "2000-03-01", "2000-03-02"]
    axis = legend(browser, path, "x")["axes"][0]
    assert axis["kind"] == "texts" and axis["values"] == expected and list(sent(browser, path, "time", "decoded")) == expected
    assert ask(browser, "dimensions", file=path.name, path="/x").json() == [
        {"size": 4, "name": "time", "label": "time", "first": "2000-02-27", "last": "2000-03-02"}
    ]


def test_coordinates_are_those_of_the_object_of_hdf5_not_of_another_with_its_name(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "renamed.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("x", 3)
        f.createDimension("lat", 4)
        f.createVariable("lat", "f4", ("x",))[:] = [1, 2, 3]  # HDF5 has a dimension of this name, and the variable by another one
    browser = client(path)
    assert ask(browser, "meta", file="renamed.nc", path="/lat", values="decoded").json()["shape"] == [4]
    assert ask(browser, "data", file="renamed.nc", path="/_nc4_non_coord_lat", values="decoded").json() == [1, 2, 3]
    assert len(legend(browser, path, "lat")["axes"]) == 1 and legend(browser, path, "lat")["axes"][0]["values"] == []


def test_grids_with_coordinates_of_two_dimensions_have_a_picture(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "swath.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.Conventions = "CF-1.8"
        f.createDimension("y", 3)
        f.createDimension("x", 4)
        for name, unit in (("lat", "degrees_north"), ("lon", "degrees_east")):
            f.createVariable(name, "f4", ("y", "x"))[:] = np.arange(12.0).reshape(3, 4)
            f[name].units = unit
        f.createVariable("bt", "f4", ("y", "x"))[:] = np.arange(12.0).reshape(3, 4)
        f["bt"].coordinates = "lat lon"
    browser = client(path)
    name = legend(browser, path, "bt")["picture"]
    assert name in [one["name"] for one in ask(browser, "pictures", file="swath.nc").json()]
    assert legend(browser, path, "lat")["picture"] is None
    assert ask(browser, "tables", file="swath.nc").json() == ["y_x"]


def test_what_is_shown_first(tmp_path: pathlib.Path, path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "scan.nxs", "w") as f:
        f["aaa"] = np.arange(3.0)
        for name in ("first", "second"):
            data = f.create_group(f"entry/{name}")
            data.attrs["NX_class"], data.attrs["signal"], data.attrs["axes"] = "NXdata", "counts", ["angle"]
            data["counts"], data["angle"] = np.arange(4.0), np.arange(4.0)
        f["entry"].attrs["NX_class"], f["entry"].attrs["default"], f.attrs["default"] = "NXentry", "second", "entry"
    with h5py.File(tmp_path / "plain.h5", "w") as f:
        f["a_text"], f["b_scalar"], f["c_empty"], f["deep/er/x"], f["z/y"] = "words", 1.0, np.zeros((0, 2)), np.arange(3.0), np.arange(4.0)
    with h5py.File(tmp_path / "words.h5", "w") as f:
        f["group/text"] = "words"
    with h5py.File(tmp_path / "nothing.h5", "w") as f:
        f.create_group("empty")
    with h5py.File(tmp_path / "broken.h5", "w") as f:
        f["a"], f["b"], f["c"] = [1.0], h5py.SoftLink("/nowhere"), [2.0]
        place = h5py.h5o.get_info(f["a"].id).addr
    with open(tmp_path / "broken.h5", "rb+") as raw:
        raw.seek(place)
        raw.write(b"\xff" * 16)
    browser = client(path, tmp_path)
    folder = tmp_path.name
    for name, expected in (
        ("packed.nc", "/t"),
        (f"{folder}/scan.nxs", "/entry/second"),
        (f"{folder}/plain.h5", "/z/y"),
        (f"{folder}/words.h5", "/group/text"),
        (f"{folder}/nothing.h5", "/"),
        (f"{folder}/broken.h5", "/c"),
    ):
        assert ask(browser, "start", file=name).json() == {"path": expected}, name
    assert ask(browser, "files").json()[0] == "packed.nc"
    backwards = client(tmp_path, path)
    assert ask(backwards, "files").json()[-1] == "packed.nc"
