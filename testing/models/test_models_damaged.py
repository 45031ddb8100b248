"""Damaged files of the models of simulations: each view answers, or says what is wrong, by an error that is no bug."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable

import h5py
import hyperslab as hs
import numpy as np
import pytest
import test_models_chombo as chombo
import test_models_flash as flash
import test_models_keras as keras
import test_models_nexus as nexus
import test_models_nwb as nwb
import test_models_openpmd as openpmd
import test_models_photon as photon
import test_models_steps as steps
import test_models_vtkhdf as vtkhdf

MUTATIONS = 150


def series(path: pathlib.Path) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        openpmd.root(f)
        for number in openpmd.COUNTS:
            group = openpmd.iteration(f, number)
            openpmd.particles(group, number)
            openpmd.array(openpmd.mesh(group, "B", "zyx"), "x", np.arange(24.0).reshape(2, 3, 4), position=[0.0, 0.5, 0.0])
    return path


MAKERS = {
    "h5part": steps.write_particles,
    "h5block": steps.write_fields,
    "chombo": chombo.good,
    "flash": flash.good,
    "vtkhdf": vtkhdf.good,
    "vtkhdf_image": vtkhdf.image,
    "vtkhdf_grid": vtkhdf.grid,
    "openpmd": series,
    "nexus": nexus.write,
    "nwb": nwb.write,
    "keras": keras.model,
    "photon_hdf5": photon.write,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_damage_is_an_error_with_a_name(tmp_path: pathlib.Path, make: Callable[[pathlib.Path], pathlib.Path]) -> None:
    whole = make(tmp_path / "whole.h5").read_bytes()
    random, answered, refused = np.random.default_rng(7), 0, 0
    for number in range(MUTATIONS):
        damaged = bytearray(whole)
        for place in random.integers(0, len(whole), 1 + number % 4):
            damaged[place] = random.integers(0, 256)
        if number % 10 == 9:
            del damaged[random.integers(100, len(whole)) :]
        path = tmp_path / f"{number}.h5"
        path.write_bytes(damaged)
        try:
            with hs.open(path) as f, warnings.catch_warnings():
                warnings.simplefilter("ignore", hs.OmittedColumnsWarning)
                for view in f.models:
                    problems = view.validate()
                    assert isinstance(view.facts, dict) and isinstance(view.omitted, dict)
                    assert all(problem.object and problem.message for problem in problems)
                    # A damaged extent may make a table of 10^14 rows, so only some are read.
                    for table in view.tables:
                        view.table(table, limit=1000).to_arrow()
                        answered += 1
        except hs.InternalError:
            raise
        except hs.Error:
            refused += 1
        path.unlink()
    assert answered > MUTATIONS / 2 and refused > 2, (answered, refused)
