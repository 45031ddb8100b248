"""NWB as a model: files built by h5py after the schema, judged by numpy. `make test-instruments` has pynwb as judge."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

TEXT = h5py.string_dtype()


def typed(group: h5py.Group, name: str, **attributes: Any) -> h5py.Group:
    made = group.create_group(name)
    for attribute, value in attributes.items():
        made.attrs[attribute] = value
    return made


def column(group: h5py.Group, name: str, values: Any, kind: str = "VectorData", **attributes: Any) -> h5py.Dataset:
    made = group.create_dataset(name, data=values, dtype=TEXT if isinstance(values, list) and isinstance(values[0], str) else None)
    made.attrs["neurodata_type"] = kind
    for attribute, value in attributes.items():
        made.attrs[attribute] = value
    return made


def series(parent: h5py.Group, name: str, data: Any, kind: str = "TimeSeries", **attributes: Any) -> h5py.Group:
    group = typed(parent, name, neurodata_type=kind)
    made = group.create_dataset("data", data=data)
    for attribute, value in ({"unit": "V", "conversion": 1.0} | attributes).items():
        made.attrs[attribute] = value
    return group


def starting(group: h5py.Group, start: float, rate: float) -> None:
    group["starting_time"] = start
    group["starting_time"].attrs["rate"] = rate


def write(path: pathlib.Path, change: Callable[[h5py.File], None] = lambda f: None) -> pathlib.Path:
    random = np.random.default_rng(5)
    with h5py.File(path, "w") as f:
        f.attrs["nwb_version"] = "2.8.0"
        f.create_dataset("identifier", data="id-1", dtype=TEXT)
        f.create_group("specifications/core")["x"] = "{}"
        electrodes = typed(f, "general/extracellular_ephys/electrodes", colnames=["location"], neurodata_type="DynamicTable")
        electrodes["id"] = np.arange(10, 16)
        column(electrodes, "location", [f"area {n}" for n in range(6)])
        raw = series(f.require_group("acquisition"), "raw", random.integers(-99, 99, (100, 3)).astype("i2"), "ElectricalSeries", conversion=1e-6, offset=0.5)
        starting(raw, 2.0, 3.0)
        column(raw, "electrodes", np.array([4, 0, 2]), "DynamicTableRegion", table=electrodes.ref)
        raw["channel_conversion"] = [1.0, 2.0, 4.0]
        raw["channel_conversion"].attrs["axis"] = 1
        plain = series(f["acquisition"], "plain", random.random(50))
        plain["timestamps"] = np.sort(random.random(50))
        linked = series(f["acquisition"], "linked", random.random(50), unit="m")
        linked["timestamps"] = h5py.SoftLink("/acquisition/plain/timestamps")
        f["stimulus/presentation"] = h5py.SoftLink("/acquisition")
        units = typed(f, "units", colnames=["spike_times", "words", "shape", "kind", "electrodes"], neurodata_type="Units")
        units["id"] = np.arange(4)
        column(units, "spike_times", random.random(7))
        column(units, "spike_times_index", np.array([3, 3, 5, 7], "u1"), "VectorIndex", target=units["spike_times"].ref)
        column(units, "words", ["a", "b", "c", "d"])
        column(units, "words_index", np.array([1, 1, 4]), "VectorIndex", target=units["words"].ref)
        column(units, "words_index_index", np.array([2, 2, 2, 3]), "VectorIndex", target=units["words_index"].ref)
        column(units, "shape", random.random((4, 2, 3)))
        elements = column(units, "kind_elements", ["good", "bad"])
        column(units, "kind", np.array([0, 1, 1, 0], "u1"), "EnumData", elements=elements.ref)
        column(units, "electrodes", np.array([0, 5, 2]), "DynamicTableRegion", table=electrodes.ref)
        column(units, "electrodes_index", np.array([1, 1, 3, 3]), "VectorIndex", target=units["electrodes"].ref)
        column(units, "stray", np.zeros(4))
        trials = typed(f, "intervals/trials", colnames=["start_time", "timeseries"], neurodata_type="TimeIntervals")
        trials["id"] = np.arange(3)
        column(trials, "start_time", [0.0, 1.0, 2.0])
        referring = np.zeros(2, [("idx_start", "i4"), ("count", "i4"), ("timeseries", h5py.ref_dtype)])
        referring["count"], referring["timeseries"] = 5, plain.ref
        column(trials, "timeseries", referring, "TimeSeriesReferenceVectorData")
        column(trials, "timeseries_index", np.array([0, 1, 2]), "VectorIndex")
        change(f)
    return path


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return write(tmp_path / "session.nwb")


def test_recognized_with_its_tables_arrays_and_what_is_left_out(path: pathlib.Path) -> None:
    view = hs.models.nwb.open(path)
    assert [(model.name, model.certainty, model.reason) for model in view.file.models] == [("nwb", "certain", "the root has nwb_version 2.8.0")]
    assert view.series == ["acquisition/linked", "acquisition/plain", "acquisition/raw"] and view.validate() == []
    assert set(view.tables) == {*view.series, "general/extracellular_ephys/electrodes", "intervals/trials", "units"}
    assert view.omitted == {"/specifications": "holds the schemas of the format", "/units/stray": "is not named by colnames"}
    assert [array.name for array in view.arrays] == ["identifier", "units/stray"]
    facts = view.facts
    assert facts["identifier"] == "id-1" and facts["series"]["acquisition/raw"]["conversion"] == 1e-6
    assert facts["series"]["acquisition/raw"]["electrodes"] == "/general/extracellular_ephys/electrodes"
    assert facts["tables"]["units"]["columns"]["electrodes"]["table"] == "/general/extracellular_ephys/electrodes"


def test_series_have_times_and_converted_values(path: pathlib.Path) -> None:
    view = hs.models.nwb.open(path)
    with h5py.File(path) as f:
        raw, plain, linked, stamps = (f[f"acquisition/{name}"][...] for name in ("raw/data", "plain/data", "linked/data", "plain/timestamps"))
    values = raw * (1e-6 * np.array([1.0, 2.0, 4.0])) + 0.5
    table = view.table("acquisition/raw").to_arrow()
    assert table.column_names == ["time", "electrode", "channel", "data"] and table.schema.field("data").metadata[b"unit"] == b"V"
    assert np.array_equal(table["data"].to_numpy(), values.ravel())
    assert np.array_equal(table["time"].to_numpy(), np.repeat(np.arange(100) / 3.0 + 2.0, 3)) and table["electrode"].to_pylist()[:4] == [4, 0, 2, 4]
    part = view.table("acquisition/raw", "time >= 5 and time < 6 and electrode = 0")
    assert "9 of 300 rows" not in part.explain() and "3 of 300 rows by dimensions" in part.explain()
    assert part.to_arrow()["data"].to_pylist() == values[9:12, 1].tolist()
    times, read = view.read("acquisition/raw", 10, 20)
    assert np.array_equal(times, np.arange(10, 20) / 3.0 + 2.0) and np.array_equal(read, values[10:20])
    for name, expected in (("plain", plain), ("linked", linked)):
        table = view.table(f"acquisition/{name}").to_arrow()
        assert table["time"].to_pylist() == stamps.tolist() and table["data"].to_pylist() == expected.tolist()
    assert sum(split.read().num_rows for split in view.table("acquisition/raw").splits(4)) == 300
    assert sum(b.num_rows for split in view.table("acquisition/raw", "data > 0.5").splits(4) for b in split.read().to_batches()) == int((values > 0.5).sum())


def test_tables_have_ragged_columns_vectors_categories_and_references(path: pathlib.Path) -> None:
    view = hs.models.nwb.open(path)
    with h5py.File(path) as f:
        spikes, shapes = f["units/spike_times"][...], f["units/shape"][...]
    with pytest.warns(hs.OmittedColumnsWarning, match="stray"):
        view.table("units")
    units = view.units.to_arrow()
    assert units.column_names == ["id", "spike_times", "words", "shape", "kind", "electrodes"]
    assert units["spike_times"].to_pylist() == [part.tolist() for part in np.split(spikes, [3, 3, 5])]
    assert units["words"].to_pylist() == [[["a"], []], [], [], [["b", "c", "d"]]]
    assert units["shape"].to_pylist() == shapes.reshape(4, 6).tolist()
    assert units["kind"].to_pylist() == ["good", "bad", "bad", "good"] and units["electrodes"].to_pylist() == [[0], [], [5, 2], []]
    some = view.table("units", "kind = 'bad' or id = 3", omitted="ignore", columns=["id", "words", "spike_times"]).to_arrow()
    assert some.to_pylist() == [units.select(["id", "words", "spike_times"]).to_pylist()[row] for row in (1, 2, 3)]
    reference = {"idx_start": 0, "count": 5, "timeseries": "/acquisition/plain"}
    assert view.trials.to_arrow()["timeseries"].to_pylist() == [[], [reference], [reference]]
    assert [row for split in view.table("units", omitted="ignore").splits(4) for row in split.read().to_pylist()] == units.to_pylist()
    frame = view.frame("units")
    assert frame.index.tolist() == [0, 1, 2, 3] and frame.index.name == "id"
    with hs.open(path) as f, pytest.warns(hs.OmittedColumnsWarning, match="stray"):
        assert hs.sql("select count(*), sum(len(spike_times)) from units where kind = 'good'", f).fetchall() == [(2, 5)]
        assert hs.sql('select max(time) from "acquisition/raw" where channel = 1', f).fetchall() == [(99 / 3.0 + 2.0,)]


def replaced(path: str, values: Any) -> Callable[[h5py.File], None]:
    def change(f: h5py.File) -> None:
        attributes = dict(f[path].attrs)
        del f[path]
        f[path] = values
        f[path].attrs.update(attributes)

    return change


def renamed(f: h5py.File) -> None:
    f["units"].attrs["colnames"] = ["spike_times", "nothing"]


def circular(f: h5py.File) -> None:
    del f["acquisition/plain/timestamps"]
    f["acquisition/plain/timestamps"] = h5py.SoftLink("/acquisition/linked/timestamps")


def slow(f: h5py.File) -> None:
    f["acquisition/raw/starting_time"].attrs["rate"] = -1.0


@pytest.mark.parametrize(
    ("change", "table", "object", "message"),
    [
        (replaced("acquisition/plain/timestamps", np.zeros(49)), "acquisition/plain", "/acquisition/plain/timestamps", "has 49 timestamps"),
        (replaced("acquisition/raw/electrodes", np.zeros(2, "i8")), "acquisition/raw", "/acquisition/raw/electrodes", "names 2 electrodes"),
        (replaced("acquisition/raw/channel_conversion", np.ones(2)), "acquisition/raw", "/acquisition/raw/channel_conversion", "has 2 factors"),
        (replaced("acquisition/raw/starting_time", [1.0, 2.0]), "acquisition/raw", "/acquisition/raw/starting_time", "is not one number"),
        (replaced("acquisition/raw/starting_time", b"now"), "acquisition/raw", "/acquisition/raw/starting_time", "is not one number"),
        (slow, "acquisition/raw", "/acquisition/raw/starting_time", "the rate -1 is not a positive number"),
        (circular, "acquisition/plain", "/acquisition/plain/timestamps", "links"),
        (renamed, "units", "/units", 'names the column "nothing"'),
        (replaced("units/kind", np.zeros(3, "u1")), "units", "/units/kind", "a column of shape [3] in a table of 4 rows"),
        (replaced("units/spike_times_index", np.array([3, 5, 7])), "units", "/units/spike_times_index", "divides a column into 3 rows"),
        (replaced("units/spike_times_index", np.array([3, 2, 5, 7])), "units", "/units/spike_times_index", "offsets decrease: 3 at 0, 2 at 1"),
        (replaced("units/spike_times_index", np.array([3, 3, 5, 8])), "units", "/units/spike_times_index", "offset 3 is 8, but there are 7 values"),
        (replaced("units/words_index", np.array([1, 1, 5])), "units", "/units/words_index", "offset 2 is 5, but there are 4 values"),
        (replaced("units/spike_times_index", np.array([3.0, 3, 5, 7])), "units", "/units/spike_times_index", "not integers"),
        (replaced("units/kind", np.array([0, 1, 2, 0], "u1")), "units", "/units/kind", "code 2 of 2 categories"),
        (replaced("units/id", np.zeros((4, 2))), "units", "/units/id", "not one dimension"),
    ],
)
def test_bad_input_is_one_error_with_the_object(tmp_path: pathlib.Path, change: Any, table: str, object: str, message: str) -> None:
    view = hs.models.nwb.open(write(tmp_path / "bad.nwb", change))
    with pytest.raises(hs.Error) as error:
        view.table(table, omitted="ignore").to_arrow()
    assert not isinstance(error.value, hs.InternalError)
    assert message in str(error.value) and object in str(error.value) and "\n" not in str(error.value)
    others = [name for name in view.tables if name not in (table, "acquisition/linked")]
    assert all(view.table(name, omitted="ignore").to_arrow().num_rows for name in others)


def test_groups_in_circles_end(tmp_path: pathlib.Path) -> None:
    def change(f: h5py.File) -> None:
        f["acquisition/again"] = f["/"]
        f["acquisition/soft"] = h5py.SoftLink("/acquisition/soft")
        f["acquisition/dangling"] = h5py.SoftLink("/nowhere")

    view = hs.models.nwb.open(write(tmp_path / "loop.nwb", change))
    assert len(view.tables) == 6 and {"/acquisition/soft", "/acquisition/dangling"} <= set(view.omitted)
    assert {"/acquisition/soft", "/acquisition/dangling"} <= {problem.object for problem in view.validate()}


def test_other_files_are_not_nwb(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "old.nwb", "w") as f:
        f["nwb_version"] = "NWB-1.0.6"
    with pytest.raises(hs.InvalidInputError, match="not recognized as nwb"):
        hs.models.nwb.open(tmp_path / "old.nwb")
    with pytest.raises(hs.NotFoundError, match="no table"):
        hs.models.nwb.open(write(tmp_path / "new.nwb")).table("unit")
