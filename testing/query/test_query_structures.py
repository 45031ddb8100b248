"""Components, trajectories and largest values of queries, compared with a search cell by cell and with numpy."""

from __future__ import annotations

import itertools
import pathlib

import hyperslab as hs
import numpy as np
import pytest


def grown(mask: np.ndarray, corners: bool) -> list[list[tuple[int, ...]]]:
    """The components of a mask by a search from cell to cell, in the order of their first cells."""
    offsets = [o for o in itertools.product((-1, 0, 1), repeat=mask.ndim) if any(o) and (corners or sum(map(abs, o)) == 1)]
    left = {tuple(map(int, cell)) for cell in np.argwhere(mask)}
    found = []
    for first in sorted(left):
        if first not in left:
            continue
        left.remove(first)
        component, waiting = [], [first]
        while waiting:
            cell = waiting.pop()
            component.append(cell)
            for offset in offsets:
                other = tuple(a + b for a, b in zip(cell, offset, strict=True))
                if other in left:
                    left.remove(other)
                    waiting.append(other)
        found.append(sorted(component))
    return found


@pytest.mark.parametrize("shape", [(200,), (30, 41), (9, 10, 11), (4, 5, 6, 3)])
@pytest.mark.parametrize("touching", ["faces", "corners"])
@pytest.mark.parametrize("fraction", [0.05, 0.4, 0.7, 1.0])
def test_components_are_those_of_a_search(shape: tuple[int, ...], touching: str, fraction: float, tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(len(shape)).random(shape)
    with hs.create(tmp_path / "a.h5") as f:
        f.create_dataset("t", data=values)
    query = hs.query(tmp_path / "a.h5", "/", f"t < {fraction}")
    found, expected = query.components(touching), grown(values < fraction, touching == "corners")
    assert found.sizes.tolist() == [len(component) for component in expected]
    cells = query.coordinates()
    for number, component in enumerate(expected):
        assert [tuple(cell) for cell in cells[found.labels == number]] == component
        assert found.lower[number].tolist() == np.min(component, axis=0).tolist()
        assert found.upper[number].tolist() == (np.max(component, axis=0) + 1).tolist()


def test_a_long_winding_component(tmp_path: pathlib.Path) -> None:
    mask = np.zeros((201, 200), "i4")
    mask[::2] = 1
    mask[1::4, -1] = mask[3::4, 0] = 1
    with hs.create(tmp_path / "a.h5") as f:
        f.create_dataset("m", data=mask)
    found = hs.query(tmp_path / "a.h5", "/", "m == 1").components()
    assert found.sizes.tolist() == [mask.sum()]
    assert (found.lower.tolist(), found.upper.tolist()) == ([[0, 0]], [[201, 200]])


def test_components_of_steps_and_of_no_cells(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "a.h5") as f:
        for step, values in enumerate(([1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 1, 1])):
            f.create_dataset(f"Step#{step}/x", data=np.array(values))
    found = hs.query(tmp_path / "a.h5", "/Step#*", "x == 1").components()
    assert found.labels.tolist() == [0, 0, 1, 2, 2, 2]
    assert found.steps.tolist() == [0, 0, 2]
    assert found.lower.tolist() == [[0], [3], [1]]
    none = hs.query(tmp_path / "a.h5", "/Step#*", "x == 7").components()
    assert [len(part) for part in none] == [0] * 5
    assert none.lower.shape == (0, 1)


def test_components_of_a_mesh(tmp_path: pathlib.Path) -> None:
    """Cells on a ring, of which every tenth does not match."""
    values = np.arange(100) % 10
    ring = np.stack([np.arange(100), (np.arange(100) + 1) % 100], axis=1)
    with hs.create(tmp_path / "a.h5") as f:
        f.create_dataset("v", data=values)
    query = hs.query(tmp_path / "a.h5", "/", "v > 0")
    found = query.components(neighbors=np.concatenate([ring, [[-1, 3]]]))
    assert found.sizes.tolist() == [9] * 10
    assert hs.query(tmp_path / "a.h5", "/", "v >= 0").components(neighbors=ring).sizes.tolist() == [100]
    for wrong in (np.zeros((3, 3), int), np.zeros((3, 2)), np.zeros(4, int)):
        with pytest.raises(hs.InvalidInputError, match="pairs of row numbers"):
            query.components(neighbors=wrong)
    with pytest.raises(hs.InvalidInputError, match="unknown touching 'edges'; expected 'faces' or 'corners'"):
        query.components("edges")


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u8", "i8"])
@pytest.mark.parametrize("indexed", [False, True])
def test_the_largest_and_smallest_values(dtype: str, indexed: bool, tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(3)
    steps = []
    with hs.create(tmp_path / "a.h5") as f:
        for step in range(3):
            values = (random.normal(size=500) * 50 + 200).astype(dtype)
            if dtype[0] == "f":
                values[::50], values[7] = np.nan, np.inf
            steps.append(values)
            f.create_dataset(f"Step#{step}/e", data=values)
    if indexed:
        hs.index(tmp_path / "a.h5", "/Step#*/e")
    every = np.concatenate(steps)
    rows = [(float(value), step, row) for step, values in enumerate(steps) for row, value in enumerate(values) if not np.isnan(value)]
    query = hs.query(tmp_path / "a.h5", "/Step#*", rows="e")
    for count in (0, 1, 10, 499, 5000):
        for smallest in (False, True):
            found = query.top("e", count, ["Step", "_row"], smallest=smallest)
            expected = sorted(rows, key=lambda one: (one[0] if smallest else -one[0], one[1], one[2]))[:count]
            assert found.column_names == ["e", "Step", "_row"]
            assert list(zip(found["e"].to_pylist(), map(int, found["Step"].to_pylist()), found["_row"].to_pylist(), strict=True)) == expected
    part = hs.query(tmp_path / "a.h5", "/Step#*", "e < 200").top("e", 3)
    assert part["e"].to_pylist() == np.sort(every[every < 200])[::-1][:3].tolist()


@pytest.fixture
def beam(tmp_path: pathlib.Path) -> tuple[pathlib.Path, np.ndarray]:
    """200 particles on circles, in another order in each step; some are missing in some steps."""
    random = np.random.default_rng(4)
    x = np.empty((5, 200))
    with hs.create(tmp_path / "a.h5") as f:
        for step in range(5):
            x[step] = np.cos(np.arange(200) + step / 3)
            ids = random.permutation(200)
            ids = ids[(ids + step) % 7 > 0]
            group = f.create_group(f"Step#{step}")
            group.create_dataset("id", data=ids.astype("u8"))
            group.create_dataset("x", data=x[step][ids])
            group.create_dataset("y", data=-x[step][ids])
    return tmp_path / "a.h5", x


@pytest.mark.parametrize("indexed", [False, True])
def test_particles_are_followed(beam: tuple[pathlib.Path, np.ndarray], indexed: bool) -> None:
    path, x = beam
    if indexed:
        hs.index(path, "/Step#*/id")
    query = hs.query(path, "/Step#*", "x > 0.999")
    chosen = sorted({int(one) for one in query.values("id")})
    found = query.trajectories("id", ["y"])
    expected = [(one, step, -x[step][one]) for one in chosen for step in range(5) if (one + step) % 7]
    assert found.table.column_names == ["id", "step", "y"]
    assert [tuple(row.values()) for row in found.table.to_pylist()] == expected
    assert len(found) == len(chosen) > 5
    assert query.trajectories("id").table.column_names == ["id", "step", "x"]
    # Those of one step, through all of them.
    assert len(query.step(2).trajectories("id")) == query.step(2).count()
    assert set(query.step(2).trajectories("id").table["step"].to_pylist()) == set(range(5))
    assert len(hs.query(path, "/Step#*", "x > 2").trajectories("id")) == 0


def test_wrong_identifiers(beam: tuple[pathlib.Path, np.ndarray], tmp_path: pathlib.Path) -> None:
    query = hs.query(beam[0], "/Step#*", "x > 0.9")
    with pytest.raises(hs.InvalidInputError, match="variable of integers"):
        query.trajectories("y")
    with hs.create(tmp_path / "twice.h5") as f:
        f.create_dataset("id", data=[1, 2, 1])
    with pytest.raises(hs.InvalidInputError, match="id = 1 is there more than once"):
        hs.query(tmp_path / "twice.h5", "/", "id > 0").trajectories("id")


def test_trajectories_are_drawn(beam: tuple[pathlib.Path, np.ndarray], tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    found = hs.query(beam[0], "/Step#*", "x > 0.99").trajectories("id", ["x", "y"])
    assert found.plot("x", "y", str(tmp_path / "paths.png")) == str(tmp_path / "paths.png")
    (axes, bar) = found.plot("step", "y").axes
    (lines,) = axes.collections
    table = found.table.to_pydict()
    consecutive = sum(one == other for one, other in itertools.pairwise(table["id"]))
    assert len(lines.get_segments()) == consecutive
    assert bar.get_ylabel() == "step"
    with pytest.raises(hs.InvalidInputError, match="column 'z' not found"):
        found.plot("x", "z")
