"""openPMD as it is written, read by h5py and by the model. `make test-openpmd` has openPMD's own libraries as judges."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.models.openpmd import Mesh, Record

openpmd = hs.models.openpmd
LENGTH = (1, 0, 0, 0, 0, 0, 0)


def content(number: int) -> dict[str, Any]:
    random = np.random.default_rng(number)
    count = 5 + number
    electrons = {
        "position": Record(values={"x": random.random(count).astype("f4"), "y": random.random(count)}, unit_si={"x": 1e-6, "y": 1.0}, dimension=LENGTH),
        "charge": Record(values=-1.0, unit_si=1.602e-19, dimension=(0, 0, 1, 1, 0, 0, 0), attrs={"note": "constant"}),
        "id": Record(values=np.arange(count, dtype="u8") + 2**63, dimension=(0,) * 7),
    }
    field = Mesh(
        values={"x": random.normal(size=(2, 3, 4)), "y": random.normal(size=(2, 3, 4)), "z": 7.5},
        dimension=(1, 1, -3, -1, 0, 0, 0),
        unit_si=2.0,
        axes=("z", "y", "x"),
        spacing=(1.0, 2.0, 3.0),
        offset=(10.0, 0.0, -1.0),
        grid_unit_si=1e-3,
        position=(0.0, 0.5, 0.0),
    )
    density = Mesh(
        values=random.normal(size=(3, 5)).astype("f4"),
        dimension=(-3, 0, 1, 1, 0, 0, 0),
        axes=("y", "x"),
        spacing=(1.0, 0.5),
        offset=(0.0, 0.0),
        grid_unit_si=1.0,
        position=(0.5, 0.5),
    )
    return {"particles": {"electrons": electrons}, "meshes": {"E": field, "rho": density}}


@pytest.mark.parametrize("name", ["run.h5", "run_%T.h5", "run_%06T.h5"])
def test_what_is_written_is_read(tmp_path: pathlib.Path, name: str) -> None:
    with openpmd.create(tmp_path / name, attrs={"author": "me"}, compression="gzip") as series:
        for number in (0, 100):
            series.write_iteration(number, time=number * 0.5, dt=0.5, time_unit_si=1e-15, attrs={"cycle": number}, **content(number))
        assert series.iterations == [0, 100]
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == {
        "run.h5": ["run.h5"],
        "run_%T.h5": ["run_0.h5", "run_100.h5"],
        "run_%06T.h5": ["run_000000.h5", "run_000100.h5"],
    }[name]
    view = openpmd.open([str(path) for path in files])
    assert view.tables == ["particles_electrons", "cells_E", "cells_rho"] and view.validate() == [] and view.omitted == {}
    for number in (0, 100):
        wanted = content(number)
        records, field = wanted["particles"]["electrons"], wanted["meshes"]["E"]
        rows = view.particles("electrons", iterations=number).to_pandas()
        assert set(rows.time) == {number * 0.5 * 1e-15} and rows.id.tolist() == records["id"].values.tolist()
        assert rows.position_x.tolist() == (records["position"].values["x"].astype("f8") * 1e-6).tolist()
        assert rows.position_y.tolist() == records["position"].values["y"].tolist() and set(rows.charge) == {-1.602e-19}
        cells = view.cells("E", iterations=number).to_pandas()
        assert cells.E_x.tolist() == (field.values["x"].ravel() * 2).tolist() and set(cells.E_z) == {15.0}
        assert cells.y.tolist() == pytest.approx(((np.indices((2, 3, 4))[1].ravel() + 0.5) * 2.0 * 1e-3).tolist())
    with h5py.File(files[-1]) as f:
        assert (
            f.attrs["openPMD"] == b"1.1.0"
            and f.attrs["author"] == b"me"
            and f.attrs["iterationFormat"] == (b"/data/%T/" if name == "run.h5" else name.encode())
        )
        step = f["data/100"]
        assert step.attrs["timeUnitSI"] == 1e-15 and step.attrs["cycle"] == 100
        assert step["particles/electrons/position/x"].compression == "gzip" and step["particles/electrons/position/x"].dtype == "f4"
        assert step["particles/electrons/positionOffset/y"].attrs["value"] == 0 and step["particles/electrons/positionOffset/y"].attrs["shape"].tolist() == [
            105
        ]
        assert step["particles/electrons/charge"].attrs["note"] == b"constant" and step["meshes/E"].attrs["axisLabels"].tolist() == [b"z", b"y", b"x"]
        assert step["meshes/rho"].attrs["unitDimension"].tolist() == [-3, 0, 1, 1, 0, 0, 0] and step["meshes/rho"].attrs["position"].tolist() == [0.5, 0.5]


def test_what_contradicts_itself_is_refused_before_it_is_written(tmp_path: pathlib.Path) -> None:
    good = content(0)
    electrons, field = good["particles"]["electrons"], good["meshes"]["E"]

    def species(**records: Any) -> dict[str, Any]:
        return {"particles": {"electrons": electrons | records}}

    def mesh(**changes: Any) -> dict[str, Any]:
        return {"meshes": {"E": Mesh(**({name: getattr(field, name) for name in field.__dataclass_fields__} | changes))}}

    base = "/data/0"
    cases = [
        (species(id=Record(values=np.arange(3), dimension=(0,) * 7)), "shape (3,)", f"{base}/particles/electrons/id"),
        ({"particles": {"electrons": {"id": electrons["id"]}}}, "without the record position", f"{base}/particles/electrons"),
        ({"particles": {"a b": electrons}}, "letters, digits", base),
        (species(q=Record(values=np.zeros(5), dimension=(1, 0))), "7 finite numbers", f"{base}/particles/electrons/q"),
        (species(q=Record(values=np.array(["a"] * 5), dimension=LENGTH)), "integers or floats", f"{base}/particles/electrons/q"),
        (species(q=Record(values={"x": np.zeros(5)}, unit_si={"y": 1.0}, dimension=LENGTH)), "unit_si has nothing", f"{base}/particles/electrons/q"),
        (species(q=np.zeros(5)), "give a Record", f"{base}/particles/electrons/q"),
        ({"particles": {"e": {"position": Record(values={"x": 1.0}, dimension=LENGTH)}}}, "at least one", f"{base}/particles/e"),
        (mesh(axes=("y", "x")), "3 different names", f"{base}/meshes/E"),
        (mesh(spacing=(1.0, np.nan, 1.0)), "3 finite numbers", f"{base}/meshes/E"),
        (mesh(position={"x": (0.0, 0.0, 0.0)}), "position is given for", f"{base}/meshes/E"),
        (mesh(values={"x": np.zeros((2, 3)), "y": np.zeros((3, 2))}), "shape (3, 2)", f"{base}/meshes/E/y"),
        (mesh(values=1.0), "all constant", f"{base}/meshes/E"),
        ({"meshes": {"E": electrons["id"]}}, "give a Mesh", f"{base}/meshes/E"),
    ]
    with openpmd.create(tmp_path / "run.h5") as series:
        for given, message, place in cases:
            with pytest.raises(hs.InvalidInputError) as caught:
                series.write_iteration(0, time=0.0, dt=1.0, **given)
            assert message in str(caught.value) and caught.value.object == place, message
        series.write_iteration(0, time=0.0, dt=1.0, **good)
        with pytest.raises(hs.InvalidInputError, match="written already"):
            series.write_iteration(0, time=0.0, dt=1.0)
    assert openpmd.open(tmp_path / "run.h5").validate() == []
    with pytest.raises(hs.ConflictError):
        openpmd.create(tmp_path / "run.h5")
    with pytest.raises(ZeroDivisionError), openpmd.create(tmp_path / "other.h5") as series:
        series.write_iteration(0, time=0.0, dt=1.0, **good)
        raise ZeroDivisionError
    assert not (tmp_path / "other.h5").exists()
    with pytest.raises(hs.InvalidInputError, match="closed"):
        series.write_iteration(1, time=0.0, dt=1.0)
