"""The real files of examples/data: every value equals what h5py and netCDF4 read."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import hyperslab as hs
import netCDF4
import numpy as np
import pytest
from compare import compare

DATA = pathlib.Path(__file__).resolve().parent.parent / "examples" / "data"
FILES = sorted(p for p in DATA.iterdir() if p.suffix in (".nc", ".h5ad"))


def is_hdf5(path: pathlib.Path) -> bool:
    return path.read_bytes()[:4] == b"\x89HDF"


@pytest.mark.parametrize("path", [p for p in FILES if is_hdf5(p)], ids=lambda p: p.name)
def test_a_real_hdf5_file_equals_h5py(path: pathlib.Path) -> None:
    results = list(compare(str(path)))
    assert len(results) > 5
    assert [r for r in results if r.outcome != "equal"] == []


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix == ".nc"], ids=lambda p: p.name)
def test_a_real_netcdf_file_equals_netcdf4(path: pathlib.Path) -> None:
    f = hs.open(path)
    with netCDF4.Dataset(path) as theirs:
        theirs.set_auto_mask(False)
        theirs.set_auto_scale(False)
        assert sorted(f.keys()) == sorted(theirs.variables)
        for name, variable in theirs.variables.items():
            ours = f[name]
            assert ours.dims == variable.dimensions
            assert ours.shape == variable.shape
            np.testing.assert_array_equal(ours[...], variable[...])
            assert sorted(ours.attrs) == sorted(variable.ncattrs())


def test_the_demo_runs(tmp_path: pathlib.Path) -> None:
    scripts = str(pathlib.Path(sys.executable).parent)
    run = subprocess.run(
        ["bash", str(DATA.parent / "demo.sh")],
        capture_output=True,
        text=True,
        env={"PATH": f"{scripts}:/usr/bin:/bin", "HOME": str(tmp_path), "MPLBACKEND": "Agg"},
    )
    assert run.returncode == 0, run.stderr
    assert "theta.parquet" in run.stdout
    assert "pressure.png" in run.stdout


def test_the_halo_of_a_beam_is_found_and_drawn(tmp_path: pathlib.Path) -> None:
    sys.path.insert(0, str(DATA.parent))
    try:
        import halo
    finally:
        sys.path.pop(0)
    halo.make_beam(tmp_path / "beam.h5", 3000, 12)
    found = halo.analyse(tmp_path / "beam.h5", tmp_path / "halo.png")
    assert (tmp_path / "halo.png").read_bytes()[1:4] == b"PNG"
    f = hs.open(tmp_path / "beam.h5")
    x, y, z = (np.concatenate([f[f"Step#{step}/{name}"][:] for step in range(12)]).astype("f8") for name in "xyz")
    low, high = np.quantile(x.astype("f4"), [0.15865, 0.84135])
    far = np.sqrt(x * x + y * y) > 6 * (float(high - low) / 2)
    assert found == {"particles": 36_000, "halo": far.sum(), "first_half": (far & (z < 50)).sum(), "second_half": (far & (z >= 50)).sum()}
    assert found["second_half"] > 2 * found["first_half"]


@pytest.mark.parametrize(
    "name, printed",
    [
        ("write_processes.py", "(4000,) 277.149 (6,)"),
        ("write_dask.py", "(3000, 8) 6"),
    ],
)
def test_an_example_of_parallel_writing_runs(tmp_path: pathlib.Path, name: str, printed: str) -> None:
    program = DATA.parent / name
    run = subprocess.run([sys.executable, program, tmp_path / "out.h5"], capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == printed, run.stderr
    assert hs.verify(tmp_path / "out.h5", values=True).problems == []
