"""Photon-HDF5 as a model: files built by h5py after the specification, judged by numpy. `make test-instruments` has phconvert as judge."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

RANDOM = np.random.default_rng(6)
COUNT = 200
TIMES, DETECTORS, NANOTIMES = np.sort(RANDOM.integers(0, 10**9, COUNT)), RANDOM.integers(0, 4, COUNT).astype("u1"), RANDOM.integers(0, 4096, COUNT).astype("u2")


def photons(group: h5py.Group, part: slice, unit: float = 12.5e-9, nanotimes: bool = True) -> None:
    group["timestamps"], group["detectors"] = TIMES[part], DETECTORS[part]
    group["timestamps_specs/timestamps_unit"] = unit
    if nanotimes:
        group["nanotimes"] = NANOTIMES[part]
        group["nanotimes_specs/tcspc_unit"], group["nanotimes_specs/tcspc_num_bins"] = 1.6e-11, 4096
    specs = group.create_group("measurement_specs")
    specs["measurement_type"] = "smFRET"
    for channel, detectors in (("spectral_ch1", [0, 1]), ("spectral_ch2", [2, 3]), ("polarization_ch1", [0, 2]), ("polarization_ch2", [1, 3])):
        specs[f"detectors_specs/{channel}"] = np.array(detectors)


def write(path: pathlib.Path, change: Callable[[h5py.File], None] = lambda f: None, spots: int = 0, version: str = "0.5") -> pathlib.Path:
    with h5py.File(path, "w") as f:
        f.attrs["format_name"], f.attrs["format_version"] = b"Photon-HDF5", version.encode()
        f["description"] = "a file"
        f["setup/excitation_wavelengths"] = np.array([532e-9])
        f["setup/lifetime"] = True
        f["identity/format_name"] = "Photon-HDF5"
        if not spots:
            photons(f.create_group("photon_data"), slice(None))
        for spot in range(spots):
            photons(f.create_group(f"photon_data{spot}"), slice(spot, None, spots), nanotimes=spot != 1)
        change(f)
    return path


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_photons_have_seconds(tmp_path: pathlib.Path, version: str) -> None:
    view = hs.models.photon_hdf5.open(write(tmp_path / "a.hdf5", version=version))
    assert [(found.name, found.certainty, found.reason) for found in view.file.models] == [("photon_hdf5", "certain", f"Photon-HDF5 {version}")]
    assert view.tables == ["photons", "detectors"] and view.validate() == [] and view.omitted == {}
    table = view.photons().to_arrow()
    assert table.column_names == ["time", "timestamp", "detector", "nanotime", "decay_time"] and table.schema.field("time").metadata[b"units"] == b"s"
    assert np.array_equal(table["time"], TIMES * 12.5e-9) and np.array_equal(table["timestamp"], TIMES) and np.array_equal(table["detector"], DETECTORS)
    assert np.array_equal(table["nanotime"], NANOTIMES) and np.array_equal(table["decay_time"], NANOTIMES * 1.6e-11)
    chosen = view.photons("time < 5", ["timestamp"], spectral_ch=2, polarization_ch=1).to_arrow()["timestamp"].to_pylist()
    assert chosen == TIMES[(TIMES * 12.5e-9 < 5) & (DETECTORS == 2)].tolist() and chosen
    assert [row for split in view.photons("detector = 1").splits(3) for row in split.read()["timestamp"].to_pylist()] == TIMES[DETECTORS == 1].tolist()
    assert view.detectors.to_arrow().to_pylist() == [
        {"detector": 0, "spectral_ch": 1, "polarization_ch": 1},
        {"detector": 1, "spectral_ch": 1, "polarization_ch": 2},
        {"detector": 2, "spectral_ch": 2, "polarization_ch": 1},
        {"detector": 3, "spectral_ch": 2, "polarization_ch": 2},
    ]
    joined = "select spectral_ch, count(*) from photons join detectors using (detector) group by spectral_ch order by 1"
    assert hs.sql(joined, view.file).fetchall() == [(1, int((DETECTORS < 2).sum())), (2, int((DETECTORS >= 2).sum()))]
    assert view.setup == {"excitation_wavelengths": 532e-9, "lifetime": True} or view.setup["excitation_wavelengths"] == 532e-9
    facts = view.facts
    assert facts["description"] == "a file" and facts["photon_data"]["measurement_specs"]["measurement_type"] == "smFRET"
    assert facts["photon_data"]["nanotimes_specs"]["tcspc_num_bins"] == 4096 and "timestamps" not in facts["photon_data"]
    with pytest.raises(hs.NotFoundError, match="no detector has spectral_ch 3"):
        view.photons(spectral_ch=3)


def test_several_spots_are_one_table(tmp_path: pathlib.Path) -> None:
    def alone(f: h5py.File) -> None:
        f["photon_data1/measurement_specs/detectors_specs/spectral_ch2"][...] = [2, 9]

    view = hs.models.photon_hdf5.open(write(tmp_path / "a.hdf5", alone, spots=3))
    table = view.photons().to_arrow()
    assert table.column_names == ["spot", "time", "timestamp", "detector", "nanotime"]
    for spot in range(3):
        own = table.filter(np.asarray(table["spot"]) == spot)
        assert own["timestamp"].to_pylist() == TIMES[spot::3].tolist()
        assert own["nanotime"].to_pylist() == ([None] * own.num_rows if spot == 1 else NANOTIMES[spot::3].tolist())
        assert view.photons(spot=spot).to_arrow().num_rows == own.num_rows
    red = view.photons(spectral_ch=2).to_arrow()
    wanted = [(spot, DETECTORS[spot::3], [2, 9] if spot == 1 else [2, 3]) for spot in range(3)]
    assert red.num_rows == sum(int(np.isin(detectors, channel).sum()) for _, detectors, channel in wanted)
    assert view.photons(spectral_ch=2, spot=1).count() == int((DETECTORS[1::3] == 2).sum())
    assert [(array.name, array.step) for array in view.arrays][:2] == [("detectors", 0), ("nanotimes", 0)]


def replaced(path: str, values: Any) -> Callable[[h5py.File], None]:
    def change(f: h5py.File) -> None:
        del f[path]
        if values is not None:
            f[path] = values

    return change


@pytest.mark.parametrize(
    ("change", "table", "object", "message"),
    [
        (replaced("photon_data/detectors", np.zeros(7, "u1")), "photons", "/photon_data/detectors", "has 7 values for 200 timestamps"),
        (replaced("photon_data/timestamps", np.zeros((200, 1))), "photons", "/photon_data/timestamps", "not one dimension"),
        (replaced("photon_data/timestamps_specs/timestamps_unit", None), "photons", "/photon_data", "without timestamps_specs/timestamps_unit"),
        (replaced("photon_data/timestamps_specs/timestamps_unit", 0.0), "photons", "/photon_data/timestamps_specs/timestamps_unit", "is not a positive"),
        (replaced("photon_data/nanotimes_specs/tcspc_unit", b"ns"), "photons", "/photon_data/nanotimes_specs/tcspc_unit", "is not a positive"),
        (
            replaced("photon_data/measurement_specs/detectors_specs/spectral_ch1", [0.5]),
            "detectors",
            "/detectors_specs/spectral_ch1",
            "not numbers of detectors",
        ),
        (replaced("photon_data/measurement_specs/detectors_specs/spectral_ch1", [2]), "detectors", "/detectors_specs/spectral_ch2", "is in two channels"),
    ],
)
def test_bad_input_is_one_error_with_the_object(tmp_path: pathlib.Path, change: Any, table: str, object: str, message: str) -> None:
    view = hs.models.photon_hdf5.open(write(tmp_path / "bad.hdf5", change))
    with pytest.raises(hs.CorruptError) as error:
        view.table(table)
    assert message in str(error.value) and object in str(error.value) and "\n" not in str(error.value)
    assert [problem.message for problem in view.validate()] and view.table({"photons": "detectors", "detectors": "photons"}[table]).count()


def test_names_of_one_array_are_paid_for(tmp_path: pathlib.Path) -> None:
    def change(f: h5py.File) -> None:
        f["user/trace"] = np.zeros(4096)
        for number in range(5000):
            f[f"user/again{number}"] = f["user/trace"]

    view = hs.models.photon_hdf5.open(write(tmp_path / "a.hdf5", change))
    assert view.photons().count() == COUNT
    with pytest.raises(hs.LimitExceededError, match="metadata_bytes"):
        _ = view.facts


def test_large_arrays_that_are_no_columns_are_named(tmp_path: pathlib.Path) -> None:
    def change(f: h5py.File) -> None:
        f["user/trace"] = np.zeros(10_000)

    view = hs.models.photon_hdf5.open(write(tmp_path / "a.hdf5", change))
    assert view.omitted == {"/user/trace": "has more than 4096 values or 1 MiB, which are neither a column nor facts"}
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_group("photon_data")
    with pytest.raises(hs.InvalidInputError, match="not recognized as photon_hdf5"):
        hs.models.photon_hdf5.open(tmp_path / "x.h5")
