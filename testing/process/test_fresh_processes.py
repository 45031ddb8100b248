"""Objects that go to another process by pickle are whole there, whatever that process has imported."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.h5py
import numpy as np
import pytest

#: What each object tells of itself, as an expression of `it`.
TOLD = {
    "file": "[sorted(it), it['g/x'][3], it['g'].file.filename == it.filename]",
    "group": "[sorted(it), it['x'][3], type(it.parent).__name__, sorted(it.file), it.attrs['units']]",
    "dataset": "[it[3], type(it.parent).__name__, sorted(it.parent), sorted(it.file), it.parent.attrs['units']]",
    "datatype": "[str(it.dtype), type(it.parent).__name__, sorted(it.file)]",
    "h5py dataset": "[it[3], type(it.parent).__module__, sorted(it.file)]",
    "reference": "[it.kind]",
    "files": "[len(it.files), it.table('/g/x').count()]",
    "table": "[it.count(), it.to_arrow().num_rows]",
    "split": "[it.read().num_rows]",
    "again": "[pickle.loads(pickle.dumps(it))[3]]",
}


def objects(path: pathlib.Path) -> dict[str, Any]:
    with h5py.File(path, "w") as f:
        f["g/x"], f["t"] = np.arange(10.0), np.dtype("<i4")
        f["g"].attrs["units"] = "K"
        f["r"] = f["g"].ref
    f = hs.open(path)
    table = f.table("/g/x")
    return {
        "file": f,
        "group": f["g"],
        "dataset": f["g/x"],
        "datatype": f["t"],
        "h5py dataset": hyperslab.h5py.File(path)["g/x"],
        "reference": f["r"][()],
        "files": hs.open([path, path]),
        "table": table,
        "split": table.splits(1)[0],
        "again": f["g/x"],
    }


def told(pickled: bytes, expression: str) -> str:
    script = f"import pickle, sys\nit = pickle.load(sys.stdin.buffer)\nprint({expression})"
    done = subprocess.run([sys.executable, "-c", script], input=pickled, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TOLD)
def test_an_object_is_whole_in_a_process_that_imported_nothing(tmp_path: pathlib.Path, name: str) -> None:
    it = objects(tmp_path / "f.h5")[name]
    assert told(pickle.dumps(it), TOLD[name]) == str(eval(TOLD[name], {"it": it, "pickle": pickle}))


def test_plans_are_of_their_kind_in_a_process_that_imported_nothing(tmp_path: pathlib.Path) -> None:
    netcdf = hs.NetcdfPlan(tmp_path / "n.nc", writers=1)
    netcdf.create_dimension("x", 3)
    netcdf.create_variable("v", ["x"], "f8")
    plans = {
        "WritePlan": hs.WritePlan(tmp_path / "w.h5", writers=1),
        "NetcdfPlan": netcdf,
        "StepPlan": hs.models.h5part.plan(tmp_path / "s.h5part", writers=1),
    }
    for kind, plan in plans.items():
        assert told(pickle.dumps(plan), "type(it).__name__") == kind
        script = f"import hyperslab as hs, sys\nprint(type(hs.WritePlan.from_bytes(bytes.fromhex({bytes(plan).hex()!r}))).__name__)"
        assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == kind
        plan.abort()
