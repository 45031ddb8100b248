"""NeXus as a model: files built by h5py after the manual, judged by numpy. `make test-instruments` has nexusformat as judge, with real files."""

from __future__ import annotations

import datetime
import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest


def group(parent: h5py.Group, name: str, kind: str, **attributes: Any) -> h5py.Group:
    made = parent.create_group(name)
    made.attrs["NX_class"] = kind
    for attribute, value in attributes.items():
        made.attrs[attribute] = value
    return made


def field(parent: h5py.Group, name: str, values: Any, **attributes: Any) -> h5py.Dataset:
    made = parent.create_dataset(name, data=values)
    for attribute, value in attributes.items():
        made.attrs[attribute] = value
    return made


RANDOM = np.random.default_rng(2)
IMAGE, STAGE = RANDOM.random((4, 5)), RANDOM.random((4, 5))
EVENTS = np.array([0, 3, 3, 7])


def write(path: pathlib.Path, change: Callable[[h5py.File], None] = lambda f: None) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        f.attrs["default"] = "scan"
        other = group(f, "another", "NXentry")
        field(group(other, "first", "NXdata", signal="x"), "x", np.arange(3))
        scan = group(f, "scan", "NXentry", default="image")
        scan["title"] = "a scan"
        image = group(scan, "image", "NXdata", signal="counts", axes=["y", "x"], auxiliary_signals=["dark"], y_indices=0, x_indices=1, stage_indices=[0, 1])
        detector = group(scan, "detector", "NXdetector")
        field(detector, "counts", IMAGE, units="counts", long_name="counts of all")
        image["counts"] = h5py.SoftLink("/scan/detector/counts")
        field(image, "counts_errors", IMAGE / 10)
        field(image, "dark", IMAGE * 0)
        field(image, "y", np.arange(4) * 0.5, units="mm")
        field(image, "y_errors", np.full(4, 0.1))
        field(image, "x", np.arange(6) - 2.5, units="mm")
        field(image, "stage", STAGE)
        field(image, "scaling_factor", 2.0)
        log = group(scan, "temperature", "NXlog")
        field(log, "time", np.array([0.0, 1.5, 60.0]), units="s", start="2024-05-01T12:00:00+02:00")
        field(log, "value", np.array([1.0, 2.0, 3.0], "f4"), units="K")
        field(log, "raw_value", np.arange(6).reshape(3, 2))
        events = group(scan, "events", "NXevent_data")
        field(events, "event_id", np.arange(9, dtype="u4") * 2)
        field(events, "event_time_offset", np.arange(9) / 3, units="us")
        field(events, "event_index", EVENTS.astype("u8"))
        field(events, "event_time_zero", np.arange(4) * 0.1, units="second", offset="2024-05-01T12:00:00")
        change(f)
    return path


@pytest.fixture
def view(tmp_path: pathlib.Path) -> Any:
    return hs.models.nexus.open(write(tmp_path / "scan.nxs"))


def test_recognized_with_its_tables_and_the_default(view: Any) -> None:
    assert [(model.name, model.certainty, model.reason) for model in view.file.models] == [("nexus", "certain", "/another is NXentry")]
    assert view.default == "scan/image" and view.entries == {"another": {}, "scan": {"title": "a scan"}}
    assert view.tables == ["scan/image", "another/first", "scan/events", "scan/events/pulses", "scan/temperature"]
    assert view.validate() == [] and view.omitted == {"/scan/image/scaling_factor": "is not applied to the signal"}
    assert view.signal().name == "/scan/image/counts" or view.signal()[...].tolist() == IMAGE.tolist()
    assert [axis[...].tolist() for axis in view.axes()] == [(np.arange(4) * 0.5).tolist(), (np.arange(6) - 2.5).tolist()]
    assert view.axes("another/first") == [None] and view.facts["data"]["scan/image"]["auxiliary_signals"] == ["/scan/image/dark"]
    assert "scan/detector/counts" in [array.name for array in view.arrays]


def test_a_signal_with_axes_edges_errors_and_further_signals(view: Any) -> None:
    table = view.data()
    got = table.to_pandas()
    assert got.columns.tolist() == ["y", "x_lower", "x_upper", "stage", "y_errors", "counts", "counts_errors", "dark"]
    y, x = np.indices((4, 5)).reshape(2, -1)
    assert got.y.tolist() == (y * 0.5).tolist() and got.x_lower.tolist() == (x - 2.5).tolist() and got.x_upper.tolist() == (x - 1.5).tolist()
    assert got.counts.tolist() == IMAGE.ravel().tolist() and got.stage.tolist() == STAGE.ravel().tolist() and set(got.y_errors) == {0.1}
    assert got.counts_errors.tolist() == (IMAGE / 10).ravel().tolist() and table.schema.field("counts").metadata[b"units"] == b"counts"
    part = view.data(where="y > 0.5 and x_lower < -1", columns=["y", "x_upper", "stage", "counts"])
    assert "4 of 20 rows by dimensions" in part.explain()
    assert part.to_arrow()["counts"].to_pylist() == IMAGE[2:, :2].ravel().tolist() and part.to_arrow()["stage"].to_pylist() == STAGE[2:, :2].ravel().tolist()
    some = view.data(where="stage > 0.5").to_arrow()
    assert some["counts"].to_pylist() == IMAGE[STAGE > 0.5].tolist()
    splits = [split.read() for split in view.data().splits(3)]
    assert [row for part in splits for row in part["stage"].to_pylist()] == STAGE.ravel().tolist()
    assert hs.sql('select sum(counts) from "scan/image" where y >= 1', view.file).fetchall()[0][0] == pytest.approx(IMAGE[2:].sum())


def test_logs_are_tables_of_times(view: Any) -> None:
    table = view.table("scan/temperature").to_arrow()
    start = datetime.datetime(2024, 5, 1, 10)
    assert table["time"].to_pylist() == [0.0, 1.5, 60.0] and table["value"].to_pylist() == [1, 2, 3]
    assert table["timestamp"].to_pylist() == [start + datetime.timedelta(seconds=seconds) for seconds in (0, 1.5, 60)]
    assert table["raw_value"].to_pylist() == [[0, 1], [2, 3], [4, 5]]
    later = view.table("scan/temperature", "timestamp > '2024-05-01T10:00:01'")
    assert later.to_arrow()["time"].to_pylist() == [1.5, 60.0]
    assert [row for split in later.splits(2) for row in split.read()["timestamp"].to_pylist()] == table["timestamp"].to_pylist()[1:]


def test_events_know_their_pulses(view: Any) -> None:
    events = view.table("scan/events").to_arrow()
    pulses = [0] * 3 + [2] * 4 + [3] * 2
    assert events["pulse"].to_pylist() == pulses and events["event_id"].to_pylist() == list(range(0, 18, 2))
    assert events["event_time_zero"].to_pylist() == [np.arange(4)[pulse] * 0.1 for pulse in pulses]
    assert events["pulse_timestamp"].to_pylist()[8] == datetime.datetime(2024, 5, 1, 12, 0, 0, 300_000)
    assert view.table("scan/events", "pulse = 2 and event_id > 8", columns=["event_id"]).to_arrow()["event_id"].to_pylist() == [10, 12]
    assert [row for split in view.table("scan/events").splits(4) for row in split.read()["pulse"].to_pylist()] == pulses
    by_pulse = view.table("scan/events/pulses").to_arrow()
    assert by_pulse["event_id"].to_pylist() == [[0, 2, 4], [], [6, 8, 10, 12], [14, 16]] and by_pulse["pulse"].to_pylist() == [0, 1, 2, 3]
    assert hs.sql('select pulse, count(*) from "scan/events" group by pulse order by pulse', view.file).fetchall() == [(0, 3), (2, 4), (3, 2)]


def test_events_before_the_first_pulse_have_none(tmp_path: pathlib.Path) -> None:
    def change(f: h5py.File) -> None:
        f["scan/events/event_index"][...] = [2, 3, 3, 9]

    events = hs.models.nexus.open(write(tmp_path / "late.nxs", change)).table("scan/events").to_arrow()
    assert events["pulse"].to_pylist() == [None, None, 0] + [2] * 6
    assert events["event_time_zero"].to_pylist()[:3] == [None, None, 0.0]


@pytest.mark.parametrize("old", ["colon", "brackets", "numbers", "attribute"])
def test_older_conventions(tmp_path: pathlib.Path, old: str) -> None:
    with h5py.File(tmp_path / "old.h5", "w") as f:
        data = group(group(f, "entry", "NXentry"), "data", "NXdata")
        field(data, "counts", np.arange(12).reshape(3, 4), signal=np.int32(1) if old == "numbers" else "1")
        field(data, "second", np.arange(12).reshape(3, 4) * 2, signal=2)
        field(data, "errors", np.ones((3, 4)))
        field(data, "phi", np.arange(3) * 10.0)
        field(data, "q", np.arange(4) * 0.1)
        if old == "numbers":
            data["phi"].attrs["axis"], data["q"].attrs["axis"] = 1, 2
            field(data, "angle", np.arange(3) + 0.5, axis=1, primary=2)
            field(data, "unrelated", np.zeros(1), axis=0)
        elif old == "attribute":
            data.attrs["axes"] = "phi:q"
        else:
            data["counts"].attrs["axes"] = "phi:q" if old == "colon" else "[phi,q]"
    view = hs.models.nexus.open(tmp_path / "old.h5")
    assert view.default == "entry/data" and view.validate() == []
    got = view.data(where="phi = 20 and q > 0.15").to_pandas()
    angle = ["angle"] if old == "numbers" else []
    assert got.columns.tolist() == ["phi", *angle, "q", "counts", "errors", "second"]
    assert got.counts.tolist() == [10, 11] and got.second.tolist() == [20, 22]


@pytest.mark.parametrize("value", [1, np.int8(1), "1", np.bytes_("1"), [1]])
def test_a_dataset_says_that_it_is_the_signal(tmp_path: pathlib.Path, value: Any) -> None:
    with h5py.File(tmp_path / "marked.nxs", "w") as f:
        data = f.create_group("entry/data")
        f["entry"].attrs["NX_class"], data.attrs["NX_class"] = "NXentry", "NXdata"
        for name, number in ("a", 2), ("counts", value):
            data[name] = np.arange(3.0)
            data[name].attrs["signal"] = number
        data["x"] = np.arange(3.0)
    view = hs.models.nexus.open(tmp_path / "marked.nxs")
    assert view.tables == ["entry/data"] and view.signal().name == view.signal("entry/data").name == "/entry/data/counts"


@pytest.mark.parametrize("value", [None, 0, 2, "none"])
def test_data_without_a_signal_are_named(tmp_path: pathlib.Path, value: Any) -> None:
    """Also if a dataset is a second signal: only the first is to be plotted."""
    with h5py.File(tmp_path / "without.nxs", "w") as f:
        data = f.create_group("entry/data")
        f["entry"].attrs["NX_class"], data.attrs["NX_class"] = "NXentry", "NXdata"
        data["counts"] = np.arange(3.0)
        if value is not None:
            data["counts"].attrs["signal"] = value
    view = hs.models.nexus.open(tmp_path / "without.nxs")
    assert view.tables == [] and view.default is None and view.omitted == {"/entry/data": "is NXdata without a signal"}
    for ask in view.signal, view.axes, view.data:
        with pytest.raises(hs.NotFoundError, match="entry/data is NXdata without a signal: neither its attribute 'signal'"):
            ask("entry/data")


def test_a_single_value_and_a_dimension_of_one(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "one.h5", "w") as f:
        entry = group(f, "entry", "NXentry")
        field(group(entry, "value", "NXdata", signal="v"), "v", 2.5)
        frame = group(entry, "frame", "NXdata", signal="v", axes=["x"])
        field(frame, "v", np.arange(3)[None])
        field(frame, "x", np.arange(3) * 2)
    view = hs.models.nexus.open(tmp_path / "one.h5")
    assert view.data("entry/value").to_arrow().to_pydict() == {"v": [2.5]}
    assert view.data("entry/frame").to_arrow().to_pydict() == {"index_0": [0, 0, 0], "x": [0, 2, 4], "v": [0, 1, 2]}


def test_plots_use_the_axes(view: Any, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    figure = view.plot(name="another/first")
    assert figure.axes[0].lines[0].get_ydata().tolist() == [0, 1, 2]
    figure = view.plot()
    assert figure.axes[0].get_ylabel() == "y [mm]" and view.plot(str(tmp_path / "p.png")) == str(tmp_path / "p.png")


def test_a_line_is_drawn_over_the_values_of_its_axis(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    with h5py.File(tmp_path / "scan.nxs", "w") as f:
        data = group(group(f, "entry", "NXentry"), "data", "NXdata")
        data.attrs.update(signal="counts", axes=["energy"])
        data["counts"], data["energy"] = np.arange(5), np.linspace(8, 7, 5)
    figure = hs.models.nexus.open(tmp_path / "scan.nxs").plot()
    assert figure.axes[0].lines[0].get_xdata().tolist() == np.linspace(8, 7, 5).tolist()


def attribute(path: str, name: str, value: Any) -> Callable[[h5py.File], None]:
    def change(f: h5py.File) -> None:
        f[path].attrs[name] = value

    return change


def replaced(path: str, values: Any) -> Callable[[h5py.File], None]:
    def change(f: h5py.File) -> None:
        attributes = dict(f[path].attrs)
        del f[path]
        f[path] = values
        f[path].attrs.update(attributes)

    return change


@pytest.mark.parametrize(
    ("change", "table", "object", "message"),
    [
        (attribute("scan/image", "signal", "nothing"), "scan/image", "/scan/image", 'the signal "nothing" is named, but is not there'),
        (attribute("scan/image", "signal", 5), "scan/image", "/scan/image", "the attribute signal does not hold a name"),
        (attribute("scan/image", "axes", ["y", "z"]), "scan/image", "/scan/image", 'the axis "z" is named, but is not there'),
        (attribute("scan/image", "axes", ["y", "x", "dark"]), "scan/image", "/scan/image", "names 3 axes for a signal of 2 dimensions, without dark_indices"),
        (attribute("scan/image", "x_indices", 2), "scan/image", "/scan/image", "x_indices does not hold dimensions"),
        (attribute("scan/image", "stage_indices", [0, 0]), "scan/image", "/scan/image", "stage_indices holds a dimension twice"),
        (attribute("scan/image", "auxiliary_signals", ["y"]), "scan/image", "/scan/image/y", "has shape [4]"),
        (replaced("scan/image/x", np.zeros(9)), "scan/image", "/scan/image/x", "an axis of shape [9]"),
        (replaced("scan/image/counts_errors", np.zeros((5, 4))), "scan/image", "/scan/image/counts_errors", "has shape [5, 4]"),
        (replaced("scan/temperature/value", np.zeros(2)), "scan/temperature", "/scan/temperature/value", "has 3 times"),
        (replaced("scan/temperature/time", np.zeros((3, 1))), "scan/temperature", "/scan/temperature/time", "not one dimension"),
        (replaced("scan/events/event_id", np.zeros(8)), "scan/events", "/scan/events/event_time_offset", "has 9 values, event_id has 8"),
        (replaced("scan/events/event_time_zero", np.zeros(3)), "scan/events", "/scan/events/event_time_zero", "has 3 times, but event_index has 4"),
        (replaced("scan/events/event_index", np.array([0, 3, 2, 7])), "scan/events", "/scan/events/event_index", "run 2 begins at 2, before 3"),
        (replaced("scan/events/event_index", np.array([0, 3, 3, 10])), "scan/events", "/scan/events/event_index", "there are 9 rows"),
        (replaced("scan/events/event_index", np.array([0, 3, 2, 7])), "scan/events/pulses", "/scan/events/event_index", "offsets decrease"),
        (replaced("scan/events/event_index", np.array([-1, 3, 3, 7])), "scan/events/pulses", "/scan/events/event_index", "offset 0 is -1"),
    ],
)
def test_bad_input_is_one_error_with_the_object(tmp_path: pathlib.Path, change: Any, table: str, object: str, message: str) -> None:
    view = hs.models.nexus.open(write(tmp_path / "bad.nxs", change))
    with pytest.raises(hs.Error) as error:
        view.table(table).to_arrow()
    assert not isinstance(error.value, hs.InternalError)
    assert message in str(error.value) and object in str(error.value) and "\n" not in str(error.value)
    others = [name for name in view.tables if not name.startswith(table.removesuffix("/pulses")) and not table.startswith(name)]
    assert others and all(view.table(name).to_arrow().num_rows for name in others)


@pytest.mark.parametrize(("value", "message"), [("nothing", "is named, but is not there"), ("/", "in a circle")])
def test_a_default_that_leads_nowhere(tmp_path: pathlib.Path, value: str, message: str) -> None:
    view = hs.models.nexus.open(write(tmp_path / "bad.nxs", attribute("scan", "default", value)))
    with pytest.raises(hs.CorruptError, match=message):
        view.plot()
    assert [problem.message for problem in view.validate()] and len(view.tables) == 5


def test_times_without_units_are_named(tmp_path: pathlib.Path) -> None:
    def change(f: h5py.File) -> None:
        del f["scan/temperature/time"].attrs["units"]
        f["scan/events/event_time_zero"].attrs["offset"] = "yesterday"

    view = hs.models.nexus.open(write(tmp_path / "bad.nxs", change))
    assert "timestamp" not in view.table("scan/temperature").to_arrow().column_names
    assert "it has no units" in view.omitted["/scan/temperature/time"] and "is not understood as times" in view.omitted["/scan/events/event_time_zero"]


def test_other_files_are_not_nexus(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_group("entry")
    with pytest.raises(hs.InvalidInputError, match="not recognized as nexus"):
        hs.models.nexus.open(tmp_path / "x.h5")
