"""The model `cf` against cf-xarray and netCDF4, on the real files of the conformance run and of the examples."""

from __future__ import annotations

import pathlib
import re
import warnings
from typing import Any

import cf_xarray  # noqa: F401
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray
from cf_xarray.utils import parse_cell_methods_attr

ROOT = pathlib.Path(__file__).parents[3]
CACHE = pathlib.Path.home() / ".cache/hyperslab/conformance/files"
CACHED = list(CACHE.rglob("*.nc"))
FILES = {path.name: path for path in [*(ROOT / "examples/data").glob("*.nc"), *CACHED] if path.stat().st_size < 4 << 20}

real_files = pytest.mark.skipif(not CACHED, reason="NOT TESTED: real files of other projects. `make conformance` fetches them.")

#: Names with one method each, and nothing else.
_SIMPLE = re.compile(r"(\w+: \w+\s*)+")


def opened() -> list[tuple[pathlib.Path, hs.models.cf.Cf]]:
    found = []
    for path in sorted(FILES.values()):
        try:
            views = {view.name: view for view in hs.open(path).models}
        except hs.Error:
            continue  # damaged files of other suites
        if "cf" in views and views["cf"].certainty == "certain":
            found.append((path, hs.models.cf.open(path)))
    return found


@real_files
def test_cell_methods_and_bounds_are_those_of_cf_xarray() -> None:
    methods = bounds = 0
    for path, view in opened():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                data = xarray.open_dataset(path, engine="netcdf4", decode_times=False)
            except Exception:  # files that xarray does not open are no judge
                continue
        with data:
            for name, variable in data.variables.items():
                # cf-xarray takes words of comments, intervals and `where` for names, and knows one name a method.
                if _SIMPLE.fullmatch(variable.attrs.get("cell_methods", "").strip()) and view.validate() == []:
                    theirs = parse_cell_methods_attr(variable.attrs["cell_methods"])
                    ours: dict[str, str] = {}
                    for method in view.cell_methods(str(name)):
                        ours |= dict.fromkeys(method.names, method.method)
                    assert dict(theirs) == ours, f"{path.name} {name}"
                    methods += 1
            for name, of in data.cf.bounds.items():
                tables = [view.table(table, omitted="ignore") for table in view.tables if view.validate() == []]
                if name in data.variables and tables:
                    columns = {column for table in tables for column in table.schema.names}
                    assert columns & {f"{name}_low", f"{name}_bounds"}, f"{path.name} {name} {of}"
                    bounds += 1
    assert methods > 5 and bounds > 20, (methods, bounds)


def owners_of(f: Any, count: int) -> np.ndarray | None:
    for variable in f.variables.values():
        if getattr(variable, "sample_dimension", None) is not None and variable.ndim == 1:
            counts = np.asarray(variable[:]).astype(int)
            if counts.sum() == count:
                return np.repeat(np.arange(len(counts)), counts)
    return None


@real_files
def test_observations_of_real_files() -> None:
    """Contiguous ragged arrays: each observation has the values of its instance, by numpy's `repeat`."""
    compared = 0
    for path, view in opened():
        if "observations" not in view.tables or view.validate():
            continue
        with netCDF4.Dataset(path) as f:
            f.set_auto_maskandscale(False)
            counts = [variable for variable in f.variables.values() if hasattr(variable, "sample_dimension")]
            if not counts:
                continue
            got = view.table("observations", raw=True, omitted="ignore").to_arrow()
            owners = owners_of(f, got.num_rows)
            assert owners is not None, path.name
            for name, variable in f.variables.items():
                if name in got.column_names and variable.dtype.kind in "iuf" and variable.ndim == 1:
                    stored = np.asarray(variable[:])
                    wanted = stored[owners] if variable.dimensions == counts[0].dimensions else stored if len(stored) == got.num_rows else None
                    if wanted is not None:
                        np.testing.assert_array_equal(got[name].to_numpy(), wanted, err_msg=f"{path.name} {name}")
                        compared += 1
    assert compared > 40, compared


@real_files
def test_the_data_of_tables_are_those_of_netcdf4() -> None:
    compared = 0
    for path, view in opened():
        with netCDF4.Dataset(path) as f:
            f.set_auto_maskandscale(False)
            for table in view.tables:
                if "/" in table or table == "observations":
                    continue
                try:
                    got = view.table(table, raw=True, omitted="ignore").to_arrow()
                except hs.Error:
                    continue  # bounds that do not fit and the like: their own tests
                for name in got.column_names:
                    variable = f.variables.get(name)
                    if variable is not None and variable.dtype is not str and variable.dtype.kind in "iuf" and "_".join(variable.dimensions) == table:
                        np.testing.assert_array_equal(got[name].to_numpy(), np.asarray(variable[...]).ravel(), err_msg=f"{path.name} {name}")
                        compared += 1
    assert compared > 400, compared


@pytest.mark.parametrize("name", ["SOI_Darwin.nc", "rotated_pole.nc"])
def test_grid_mappings(name: str) -> None:
    view = hs.models.cf.open(ROOT / "examples/data" / name)
    with xarray.open_dataset(ROOT / "examples/data" / name, engine="netcdf4") as data:
        theirs = {key: value[0] for key, value in data.cf.grid_mapping_names.items()}
    ours = [view.grid_mapping(array.name) for array in view.arrays]
    assert {mapping["grid_mapping_name"]: mapping["variable"] for mapping in ours if mapping} == theirs
