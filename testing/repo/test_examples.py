"""The real files of examples/data: every value equals what h5py and netCDF4 read."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import h5py
import hyperslab as hs
import netCDF4
import notebooks
import numpy as np
import pytest
from compare import compare

DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
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


@pytest.mark.parametrize("program", notebooks.programs(), ids=lambda path: path.stem)
def test_a_notebook_is_that_of_its_program(program: pathlib.Path) -> None:
    assert program.with_suffix(".ipynb").read_text(encoding="utf-8") == notebooks.notebook(program), "python testing/repo/notebooks.py writes it"


@pytest.mark.slow
def test_the_notebook_explores_what_the_codes_have_written(tmp_path: pathlib.Path) -> None:
    cells = json.loads((DATA.parent / "explore_simulation.ipynb").read_text(encoding="utf-8"))["cells"]
    code = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{DATA.parent}"}
    run = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=240)
    assert run.returncode == 0, run.stderr
    for name in ("cloud", "trajectories", "histograms", "map"):
        assert (tmp_path / f"{name}.png").read_bytes()[1:4] == b"PNG"
    # The five particles that the notebook follows, by numpy.
    with h5py.File(tmp_path / "particles.h5part") as f:
        energy, ids = f["Step#39/energy"][:], f["Step#39/id"][:]
        assert len(f) == 40 and f["Step#39"].attrs["TIME"].tolist() == [39 * 0.05]
    fastest = ids[np.argsort(energy)[-5:]]
    assert run.stdout.splitlines()[-1] == str(sorted(fastest.tolist()))
    assert "index X on energy" in run.stdout
    with h5py.File(tmp_path / "fields.h5") as f:
        phi = f["Step#7/Block/phi/0"][:]
        spacing = f["Step#7/Block/phi"].attrs["__Spacing__"]
        inside = (slice(1, -1),) * 3
        assert np.allclose(f["Step#7/Block/E/2"][:][inside], -np.gradient(phi, spacing[2], axis=0)[inside])


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
