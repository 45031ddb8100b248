"""Photon-HDF5 against phconvert: files that it writes and reads."""

from __future__ import annotations

import pathlib
from typing import Any

import hyperslab as hs
import numpy as np
import phconvert
import pytest

RANDOM = np.random.default_rng(8)


def spot(count: int) -> dict[str, Any]:
    return {
        "timestamps": np.sort(RANDOM.integers(0, 10**9, count)),
        "detectors": RANDOM.integers(0, 2, count).astype("u1"),
        "nanotimes": RANDOM.integers(0, 4096, count).astype("u2"),
        "particles": RANDOM.integers(0, 5, count).astype("u1"),
        "timestamps_specs": {"timestamps_unit": 10e-9},
        "nanotimes_specs": {"tcspc_unit": 16e-12, "tcspc_num_bins": 4096, "tcspc_range": 16e-12 * 4096},
        "measurement_specs": {
            "measurement_type": "smFRET-nsALEX",
            "laser_repetition_rate": 40e6,
            "alex_excitation_period1": np.array([0, 1500]),
            "alex_excitation_period2": np.array([1500, 3000]),
            "detectors_specs": {"spectral_ch1": np.atleast_1d(0), "spectral_ch2": np.atleast_1d(1)},
        },
    }


def about(spots: int) -> dict[str, Any]:
    setup = {
        "num_pixels": 2 * spots,
        "num_spots": spots,
        "num_spectral_ch": 2,
        "num_polarization_ch": 1,
        "num_split_ch": 1,
        "modulated_excitation": True,
        "lifetime": True,
        "excitation_cw": [False, False],
        "excitation_alternated": [True, True],
        "excitation_wavelengths": [532e-9, 635e-9],
        "laser_repetition_rates": [40e6, 40e6],
    }
    return {"description": "a test", "setup": setup, "acquisition_duration": 10.0}


@pytest.mark.parametrize("spots", [1, 3])
def test_files_of_phconvert(tmp_path: pathlib.Path, spots: int) -> None:
    names = ["photon_data"] if spots == 1 else [f"photon_data{number}" for number in range(spots)]
    given = about(spots) | {name: spot(100 + 10 * number) for number, name in enumerate(names)}
    stored = {name: {key: given[name][key] for key in ("timestamps", "detectors", "nanotimes", "particles")} for name in names}
    phconvert.hdf5.save_photon_hdf5(given, h5_fname=str(tmp_path / "a.hdf5"), overwrite=True, warnings=False, validate=False)
    loaded = phconvert.hdf5.load_photon_hdf5(str(tmp_path / "a.hdf5"), warnings=False)
    view = hs.models.photon_hdf5.open(tmp_path / "a.hdf5")
    assert view.certainty == "certain" and view.file.models[0].name == "photon_hdf5" and view.validate() == [] and view.omitted == {}
    table = view.photons().to_arrow()
    for number, name in enumerate(names):
        own = table if spots == 1 else table.filter(np.asarray(table["spot"]) == number)
        group = getattr(loaded.root, name)
        assert np.array_equal(own["timestamp"], group.timestamps.read()) and np.array_equal(own["timestamp"], stored[name]["timestamps"])
        assert np.array_equal(own["time"], group.timestamps.read() * group.timestamps_specs.timestamps_unit.read())
        assert np.array_equal(own["nanotime"], group.nanotimes.read()) and np.array_equal(own["particle"], group.particles.read())
        assert np.array_equal(own["decay_time"], group.nanotimes.read() * group.nanotimes_specs.tcspc_unit.read())
        chosen = group.timestamps.read()[group.detectors.read() == group.measurement_specs.detectors_specs.spectral_ch2.read()]
        keywords = {} if spots == 1 else {"spot": number}
        assert view.photons(spectral_ch=2, **keywords).to_arrow()["timestamp"].to_pylist() == chosen.tolist()
    loaded.close()
    assert view.setup["num_spots"] == spots and view.setup["laser_repetition_rates"] == [40e6, 40e6]
    assert view.facts["identity"]["format_name"] == "Photon-HDF5"
