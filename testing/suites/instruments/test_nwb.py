"""NWB against pynwb: files that it writes, every table and every series of them."""

from __future__ import annotations

import datetime
import pathlib
import sys
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pandas as pd
import pynwb
import pytest
from hdmf.common import DynamicTable, DynamicTableRegion, EnumData, VectorData, VectorIndex
from pynwb.base import TimeSeriesReference
from pynwb.behavior import Position, SpatialSeries
from pynwb.core import Container
from pynwb.ecephys import LFP, ElectricalSeries
from pynwb.epoch import TimeIntervals
from pynwb.image import ImageSeries
from pynwb.misc import AnnotationSeries, DecompositionSeries, FrequencyBandsTable, IntervalSeries
from pynwb.ophys import ImageSegmentation

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "conformance"))

import packages
import signature

START = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.timezone.utc)
RANDOM = np.random.default_rng(3)


def ecephys(nwb: pynwb.NWBFile) -> None:
    device = nwb.create_device("probe")
    groups = [nwb.create_electrode_group(f"shank{n}", "a shank", "CA1", device) for n in range(2)]
    nwb.add_electrode_column("label", "a label")
    for n in range(6):
        nwb.add_electrode(group=groups[n % 2], location="CA1", x=float(n), y=0.5, label=f"e{n}")
    region = nwb.create_electrode_table_region([5, 0, 3], "three of them")
    raw = RANDOM.integers(-1000, 1000, (500, 3)).astype("i2")
    nwb.add_acquisition(
        ElectricalSeries("raw", raw, region, starting_time=1.5, rate=30_000.0, conversion=2e-7, offset=0.25, channel_conversion=[1.0, 2.0, 0.5])
    )
    lfp = ElectricalSeries("lfp", RANDOM.random((50, 3)), nwb.create_electrode_table_region([1, 2, 4], "others"), timestamps=np.sort(RANDOM.random(50)))
    nwb.create_processing_module("ecephys", "processed").add(LFP(lfp))
    nwb.add_unit_column("quality", "how good")
    for n in range(5):
        nwb.add_unit(
            spike_times=np.sort(RANDOM.random(n * 3)),
            obs_intervals=[[0.0, 1.0], [2.0, 3.0 + n]][: 1 + n % 2],
            quality="good" if n else "bad",
            electrodes=list(range(n % 3 + 1)),
            electrode_group=groups[n % 2],
            waveform_mean=RANDOM.random((4, 2)),
            waveforms=[[RANDOM.random(4).tolist() for _ in range(2)] for _ in range(n + 1)],
        )


def behavior(nwb: pynwb.NWBFile) -> None:
    times = np.arange(40) * 0.1 + 7
    first = pynwb.TimeSeries("first", RANDOM.random(40), "m", timestamps=times, conversion=0.001, description="with times")
    nwb.add_acquisition(first)
    nwb.add_acquisition(pynwb.TimeSeries("second", RANDOM.integers(0, 9, 40), "counts", timestamps=first))
    nwb.add_acquisition(pynwb.TimeSeries("third", first, "m", starting_time=0.1, rate=3.0, control=np.arange(40, dtype="u1"), control_description=["a"]))
    nwb.add_stimulus(pynwb.TimeSeries("volume", RANDOM.random((6, 2, 3)), "m", rate=0.3))
    position = Position(spatial_series=SpatialSeries("position", RANDOM.random((40, 2)), "origin", timestamps=times))
    module = nwb.create_processing_module("behavior", "processed")
    module.add(position)
    module.add(IntervalSeries("licks", data=np.array([1, -1, 2, -2], "i1"), timestamps=[0.0, 1.0, 2.0, 3.0]))
    module.add(AnnotationSeries("notes", data=["begin", "ünd"], timestamps=[0.5, 1.5]))
    bands = FrequencyBandsTable()
    for name, limits in (("alpha", (8.0, 12.0)), ("beta", (13.0, 30.0))):
        bands.add_band(band_name=name, band_limits=limits, band_mean=10.0, band_stdev=1.0)
    module.add(DecompositionSeries("power", RANDOM.random((5, 3, 2)), "power", "V", bands=bands, rate=10.0))
    nwb.add_acquisition(ImageSeries("video", RANDOM.integers(0, 255, (4, 5, 6)).astype("u1"), unit="n.a.", rate=25.0, format="raw"))
    nwb.add_trial_column("correct", "whether")
    nwb.add_trial_column("touches", "ragged", index=True)
    for n in range(4):
        nwb.add_trial(
            start_time=float(n), stop_time=n + 0.5, tags=["a", "b"][: n % 3], timeseries=[first], correct=n % 2 == 0, touches=list(np.arange(n) * 1.5)
        )
    epochs = TimeIntervals("stages", "without ragged columns")
    epochs.add_row(start_time=0.0, stop_time=1.0)
    nwb.add_time_intervals(epochs)


def tables(nwb: pynwb.NWBFile) -> None:
    words = VectorData("words", "doubly ragged", data=["a", "b", "c", "d", "e"])
    inner = VectorIndex("words_index", [2, 2, 5], target=words)
    outer = VectorIndex("words_index_index", [1, 1, 3], target=inner)
    kinds = VectorData("kinds_elements", "the names", data=["x", "yy"])
    kind = EnumData("kinds", "an enum", data=np.array([1, 0, 1], "u1"), elements=kinds)
    region = DynamicTableRegion("region", [2, 0, 1], "rows of the trials", table=nwb.trials)
    columns = [words, inner, outer, kind, kinds, region, VectorData("empty", "nothing", data=np.zeros((3, 0)))]
    made = DynamicTable("made", "all kinds of columns", columns=columns, colnames=["words", "kinds", "region", "empty"])
    nwb.create_processing_module("tables", "tables").add(made)
    segmentation = ImageSegmentation()
    nwb.processing["tables"].add(segmentation)
    plane = nwb.create_imaging_plane(
        name="plane",
        optical_channel=pynwb.ophys.OpticalChannel("c", "c", 500.0),
        description="d",
        device=nwb.devices["probe"],
        excitation_lambda=600.0,
        indicator="GFP",
        location="V1",
        imaging_rate=30.0,
    )
    for name, mask in (("pixels", "pixel_mask"), ("images", "image_mask")):
        rois = segmentation.create_plane_segmentation("rois", plane, name)
        for n in range(3):
            rois.add_roi(**{mask: [(n, k, 0.5) for k in range(n + 1)] if mask == "pixel_mask" else RANDOM.random((4, 5))})


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    nwb = pynwb.NWBFile("a session", "id-1", START, timestamps_reference_time=START, experimenter=["A", "B"], keywords=["k"])
    nwb.subject = pynwb.file.Subject(subject_id="m1", species="Mus musculus", age="P90D")
    ecephys(nwb)
    behavior(nwb)
    tables(nwb)
    path = tmp_path_factory.mktemp("nwb") / "session.nwb"
    with pynwb.NWBHDF5IO(path, "w") as io:
        io.write(nwb)
    return path


def plain(value: Any) -> Any:
    """A cell of a data frame without its container."""
    if isinstance(value, TimeSeriesReference):
        return {"idx_start": value.idx_start, "count": value.count, "timeseries": place(value.timeseries)}
    if isinstance(value, Container):
        return place(value)
    if isinstance(value, np.ndarray) and value.dtype.names:
        return [dict(zip(value.dtype.names, row.tolist())) for row in value]
    if isinstance(value, (np.ndarray, list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def place(container: Any) -> str:
    """The path of an object in its file, by its ID."""
    with h5py.File(container.container_source, "r") as f:
        found: list[str] = []
        f.visititems(lambda name, node: found.append("/" + name) if node.attrs.get("object_id") == container.object_id else None)
        return found[0]


def flattened(value: Any) -> Any:
    """Matrices of a cell, which are vectors in Arrow."""
    return np.ravel(np.asarray(value)).tolist()


def test_every_table_is_that_of_pynwb(path: pathlib.Path) -> None:
    view = hs.models.nwb.open(path)
    assert view.validate() == []
    checked, columns = set(), 0
    with pynwb.NWBHDF5IO(path, "r") as io:
        nwb = io.read()
        for container in nwb.objects.values():
            if not isinstance(container, DynamicTable):
                continue
            name = place(container)[1:]
            expected = container.to_dataframe(index=True) if len(container.colnames) else pd.DataFrame()
            got = view.frame(name)
            assert got.index.tolist() == list(container.id[:]), name
            assert got.columns.tolist() == [column for column in expected.columns if f"/{name}/{column}" not in view.omitted], name
            for column in got.columns:
                for mine, theirs in zip(got[column], expected[column], strict=True):
                    mine, theirs = plain(mine), plain(theirs)
                    if column == "kinds":
                        theirs = container["kinds"].elements.data[theirs]
                    if column in ("waveform_mean", "image_mask"):
                        theirs = flattened(theirs)
                    assert mine == theirs, (name, column, mine, theirs)
                columns += 1
            checked.add(name)
    assert checked == set(view.tables) - set(view.series) and columns > 30
    assert len(checked) == 8, checked


def test_every_series_has_the_times_and_values_of_pynwb(path: pathlib.Path) -> None:
    view = hs.models.nwb.open(path)
    checked = set()
    with pynwb.NWBHDF5IO(path, "r") as io:
        nwb = io.read()
        for container in nwb.objects.values():
            if not isinstance(container, pynwb.TimeSeries):
                continue
            name = place(container)[1:]
            times, values = view.read(name)
            assert np.array_equal(times, np.asarray(container.get_timestamps()[:])), name
            raw = np.asarray(container.data[:])
            expected = raw if raw.dtype.kind not in "iuf" else np.asarray(container.get_data_in_units())
            assert values.shape == raw.shape
            table = view.table(name).to_arrow()
            assert table["time"].to_pylist() == np.repeat(times, int(np.prod(raw.shape[1:]))).tolist(), name
            if raw.dtype.kind in "iuf":
                np.testing.assert_allclose(values, expected, rtol=1e-15)
                np.testing.assert_allclose(table["data"].to_numpy(), expected.ravel(), rtol=1e-15)
                assert np.array_equal(table["data"].to_numpy().reshape(raw.shape), values), name
            else:
                assert values.tolist() == [text.encode() if isinstance(text, str) else text for text in raw] or values.tolist() == raw.tolist()
                assert table["data"].to_pylist() == [str(text) for text in raw]
            checked.add(name)
    assert checked == set(view.series) and len(checked) == 11, checked


def test_what_a_file_says_of_itself(path: pathlib.Path) -> None:
    view = hs.models.nwb.open(path)
    assert [(model.name, model.certainty) for model in view.file.models] == [("nwb", "certain")]
    facts = view.facts
    assert facts["identifier"] == "id-1" and facts["session_start_time"].startswith("2024-05-01T12:00:00") and facts["subject"]["species"] == "Mus musculus"
    raw = facts["series"]["acquisition/raw"]
    assert (raw["neurodata_type"], raw["unit"], raw["rate"], raw["starting_time"]) == ("ElectricalSeries", "volts", 30_000.0, 1.5)
    assert raw["electrodes"] == "/general/extracellular_ephys/electrodes"
    assert facts["tables"]["processing/tables/made"]["columns"]["region"]["table"] == "/intervals/trials"
    assert facts["tables"]["intervals/trials"]["columns"]["correct"]["description"] == "whether"
    assert view.omitted["/specifications"] == "holds the schemas of the format"


def test_pushdown_into_a_series(path: pathlib.Path) -> None:
    view = hs.models.nwb.open(path)
    part = view.table("acquisition/raw", "time >= 1.51 and time < 1.512 and electrode = 0")
    assert "of 1500 rows by dimensions" in part.explain()
    times, values = view.read("acquisition/raw")
    chosen = (times >= 1.51) & (times < 1.512)
    assert part.to_arrow()["data"].to_pylist() == values[chosen, 1].tolist() and chosen.sum() > 50
    assert sum(split.read().num_rows for split in view.table("units").splits(2)) == 5


def real_files() -> list[pathlib.Path]:
    """Files of packages that `make conformance` reads, too, each once."""
    found: dict[str, pathlib.Path] = {}
    for package in packages.listed():
        if package.name in {"bmtk", "hdmf", "pynwb", "spacepy"}:
            for path in sorted(packages.unpack(package).rglob("*.nwb")):
                if signature.kind(path) == "hdf5":
                    found.setdefault(packages.sha256(path), path)
    return list(found.values())


def is_same(mine: Any, theirs: Any) -> bool:
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if mine.shape != theirs.shape:
        return False
    return np.array_equal(mine, theirs, equal_nan=True) if mine.dtype.kind == theirs.dtype.kind == "f" else mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("path", real_files(), ids=lambda path: path.name)
def test_files_of_other_programs(path: pathlib.Path) -> None:
    """Compares the times and raw values of series, and the columns of numbers and texts of tables."""
    try:
        io = pynwb.NWBHDF5IO(path, "r")
        nwb = io.read()
    except Exception as error:
        pytest.skip(f"pynwb cannot read it: {type(error).__name__}")
    view, compared = hs.models.nwb.open(path), 0
    with io:
        for container in nwb.objects.values():
            if isinstance(container, pynwb.TimeSeries):
                name = place(container)[1:]
                if f"/{name}" in view.omitted or "data" not in view.file[name]:
                    continue
                raw = view.file[f"{name}/data"]
                assert is_same(raw[...], container.data[:] if container.data.shape else container.data[()]), name
                if container.timestamps is not None or container.rate is not None:
                    times, _ = view.read(name)
                    assert is_same(times, container.get_timestamps()[:]), name
            elif isinstance(container, DynamicTable):
                name = place(container)[1:]
                if f"/{name}" in view.omitted:
                    continue
                table = view.table(name).to_arrow()
                ragged = {column.target.name for column in container.columns if isinstance(column, VectorIndex)}
                for column in container.columns:
                    is_plain = type(column) is VectorData and getattr(column.data, "ndim", 0) == 1 and column.name not in ragged
                    if is_plain and column.name in table.column_names:
                        theirs = [text.decode() if isinstance(text, bytes) else text for text in column.data[:].tolist()]
                        mine = table[column.name].to_pylist()
                        assert pd.Series(mine).equals(pd.Series(theirs)) or mine == [plain(item) for item in theirs], (name, column.name)
            else:
                continue
            compared += 1
    if not compared:
        pytest.skip("has no series with data and no table")
