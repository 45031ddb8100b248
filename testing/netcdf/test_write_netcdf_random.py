"""Random netCDF-4 files, written by one writer, by plans and by netCDF4-python: dimensions, groups, types, rows, regions."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import hyperslab as hs
import netCDF4
import numpy as np
import pytest

GROUPS = ["", "a", "a/b", "c"]
#: Tasks of the commit that creates and of the one that appends.
TASKS = (3, 2)


class Example:
    """What a random file has, and the values of each task."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.sizes: dict[str, int | None] = {"t": None, "u": None, **{f"d{i}": int(rng.integers(1, 6)) for i in range(rng.integers(1, 4))}}
        self.owner = {name: str(rng.choice(GROUPS[:2])) if rng.random() < 0.4 else "" for name in self.sizes}
        self.variables: list[tuple[str, list[str], str, int | None, bool]] = []
        for number in range(rng.integers(2, 7)):
            group = str(rng.choice(GROUPS))
            seen = [name for name in self.sizes if self.owner[name] == "" or group == self.owner[name] or group.startswith(self.owner[name] + "/")]
            dims = [str(name) for name in rng.choice(seen, size=min(int(rng.integers(0, 3)), len(seen)), replace=False)]
            dims = [d for d in dims if self.sizes[d] is None][:1] + [d for d in dims if self.sizes[d] is not None]
            kind = str(rng.choice(["i1", "u2", "i4", "f4", "f8", "i8", "str", "enum"]))
            path = f"{group}/v{number}".strip("/")
            if dims and rng.random() < 0.3 and self.owner[dims[0]] == group and f"{group}/{dims[0]}".strip("/") not in [v[0] for v in self.variables]:
                path = f"{group}/{dims[0]}".strip("/")
            fill = None if kind in ("str", "enum") or rng.random() < 0.5 else 7
            self.variables.append((path, dims, kind, fill, kind != "str" and rng.random() < 0.5))
        self.rows = {(path, commit, task): int(rng.integers(0, 3)) for path, *_ in self.variables for commit in range(2) for task in range(TASKS[commit])}

    def grows(self, dims: list[str]) -> bool:
        return bool(dims) and self.sizes[dims[0]] is None

    def inner(self, dims: list[str]) -> tuple[int, ...]:
        return tuple(self.sizes[name] or 0 for name in dims[1:])

    def define(self, f: Any) -> None:
        groups = {"": f, **{path: f.createGroup("/" + path) for path in GROUPS[1:]}}
        for name, size in self.sizes.items():
            groups[self.owner[name]].createDimension(name, size)
        kind_t = f.createEnumType("i2", "kind_t", {"p": 1, "q": 2, "z": 0})
        for path, dims, kind, fill, packed in self.variables:
            above, _, name = path.rpartition("/")
            made = groups[above].createVariable(name, {"str": str, "enum": kind_t}.get(kind, kind), tuple(dims), zlib=bool(packed and dims), fill_value=fill)
            made.setncattr("note", f"of {path}")

    def parts(self, path: str, dims: list[str], kind: str) -> list[tuple[int, int, Any, Any]]:
        """Commit and task, where in the whole, and values."""
        if self.grows(dims):
            place, out = 0, []
            for commit in range(2):
                for task in range(TASKS[commit]):
                    count = self.rows[path, commit, task]
                    out.append((commit, task, slice(place, place + count), values(kind, (count, *self.inner(dims)), 10 * commit + task)))
                    place += count
            return out
        if not dims:
            return [(0, 0, (), values(kind, (1,), 3)[0])]
        return [(0, row % TASKS[0], row, values(kind, (1, *self.inner(dims)), row)[0]) for row in range(self.sizes[dims[0]] or 0)]


def values(kind: str, shape: tuple[int, ...], first: int) -> Any:
    count = np.arange(int(np.prod(shape))).reshape(shape) + first
    if kind == "str":
        return np.array([f"s{n}ä" for n in count.reshape(-1)], object).reshape(shape)
    return (count % 3).astype("i2") if kind == "enum" else (count % 50).astype(kind)


def same(ours: pathlib.Path, theirs: pathlib.Path, example: Example) -> None:
    def walk(f: Any, g: Any) -> None:
        assert {n: (len(d), d.isunlimited()) for n, d in f.dimensions.items()} == {n: (len(d), d.isunlimited()) for n, d in g.dimensions.items()}
        assert list(f.variables) == list(g.variables) and list(f.groups) == list(g.groups)
        for name, v in g.variables.items():
            u = f[name]
            assert u.dimensions == v.dimensions and u.shape == v.shape and u.dtype == v.dtype and sorted(u.ncattrs()) == sorted(v.ncattrs()), name
            assert (
                np.ma.getmaskarray(u[...]).tolist() == np.ma.getmaskarray(v[...]).tolist() and np.ma.filled(u[...]).tolist() == np.ma.filled(v[...]).tolist()
            ), name
        for name in g.groups:
            walk(f[name], g[name])

    with netCDF4.Dataset(ours) as f, netCDF4.Dataset(theirs) as g:
        walk(f, g)
    with hs.open(ours) as f, hs.open(theirs) as g:
        for path, *_ in example.variables:
            assert f[path].dims == g[path].dims and f[path][...].tolist() == g[path][...].tolist(), path


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(12))
def test_random_files_are_those_of_netcdf4(tmp_path: pathlib.Path, seed: int) -> None:
    example = Example(seed)
    with netCDF4.Dataset(tmp_path / "theirs.nc", "w") as f, hs.create_netcdf(tmp_path / "one.nc") as g:
        for file in (f, g):
            example.define(file)
        for path, dims, kind, *_ in example.variables:
            above, _, name = path.rpartition("/")
            ours = (g["/" + above] if above else g).variables[name]
            for _, _, place, data in example.parts(path, dims, kind):
                if np.size(data):
                    f[path][place] = data
                    if example.grows(dims):
                        ours.append(data)
                    else:
                        ours[place] = data
    for commit, mode in enumerate(("x", "a")):
        plan = hs.NetcdfPlan(tmp_path / "plan.nc", mode)
        example.define(plan)
        plan = pickle.loads(pickle.dumps(plan))
        fragments = []
        for number in range(TASKS[commit]):
            with plan.task(number) as task:
                for path, dims, kind, *_ in example.variables:
                    for _, _, place, data in (part for part in example.parts(path, dims, kind) if part[:2] == (commit, number) and np.size(part[3])):
                        if example.grows(dims):
                            task.variable(path).append(data)
                        else:
                            task.variable(path)[place] = data
                fragments.append(task.finish())
        plan.commit(fragments)
    hs.fuse(tmp_path / "plan.nc", tmp_path / "fused.nc")
    with netCDF4.Dataset(tmp_path / "plan.nc") as f:
        assert "_hyperslab_commit" in f.ncattrs()
    for name in ("one.nc", "plan.nc", "fused.nc"):
        same(tmp_path / name, tmp_path / "theirs.nc", example)
    for name in ("one.nc", "fused.nc", "theirs.nc"):
        with netCDF4.Dataset(tmp_path / name, "a") as f:
            for path, dims, kind, *_ in example.variables:
                if example.grows(dims):
                    end = f[path].shape[0]
                    f[path][end : end + 2] = values(kind, (2, *example.inner(dims)), 1)
    for name in ("one.nc", "fused.nc"):
        same(tmp_path / name, tmp_path / "theirs.nc", example)


def test_masked_enumerations(tmp_path: pathlib.Path) -> None:
    """Missing values of an enumeration are what netCDF4 takes for missing; of one byte they need a fill value."""
    masked = np.ma.array([1, 2, 1], mask=[0, 1, 0])
    with hs.create_netcdf(tmp_path / "x.nc") as f:
        f.create_dimension("n", 3)
        f.create_variable("wide", ["n"], f.create_enum_type("wide_t", "i2", {"a": 1, "b": 2}), masked)
        small = f.create_enum_type("small_t", "u1", {"a": 1, "b": 2, "none": 9})
        with pytest.raises(hs.InvalidInputError, match="give fill_value="):
            f.create_variable("refused", ["n"], small, masked)
        f.create_variable("small", ["n"], small, masked, fill_value=9)
    with netCDF4.Dataset(tmp_path / "x.nc") as f:
        assert f["wide"][:].tolist() == f["small"][:].tolist() == [1, None, 1]
