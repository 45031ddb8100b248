"""Queries: names in groups and files, parts of arrays, what is refused, and the faults of FastQuery."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def run(tmp_path: pathlib.Path) -> pathlib.Path:
    """Two files of a simulation with three steps each, and a mesh next to the steps."""
    random = np.random.default_rng(5)
    for number in (1, 2):
        with h5py.File(tmp_path / f"run{number}.h5", "w") as f:
            for step in (0, 1, 10):
                group = f.create_group(f"Step#{step}")
                for name in ("x", "px", "py", "energy"):
                    group.create_dataset(name, data=random.normal(size=500).astype("f4"), chunks=(64,))
                group["id"] = np.arange(500, dtype="u8") + 2**63
            f["mesh/E"] = random.normal(size=(20, 25, 4))
            f["mesh/weight"] = random.random(500)
    return tmp_path


def arrays(folder: pathlib.Path, name: str) -> list[np.ndarray]:
    found = []
    for number in (1, 2):
        with h5py.File(folder / f"run{number}.h5") as f:
            found += [f[f"Step#{step}/{name}"][:] for step in (0, 1, 10)]
    return found


def test_a_condition_is_asked_of_every_step_of_every_file(run: pathlib.Path) -> None:
    query = hs.query(str(run / "run*.h5"), "/Step#*", "energy > 1 && -0.5 < x && x < 0.5 || id in (9223372036854775815, 9223372036854775817)")
    x, energy, ident = arrays(run, "x"), arrays(run, "energy"), arrays(run, "id")
    masks = [(e > 1) & (a > -0.5) & (a < 0.5) | np.isin(i, np.array([2**63 + 7, 2**63 + 9], "u8")) for a, e, i in zip(x, energy, ident)]
    assert [step.group for step in query.steps] == ["/Step#0", "/Step#1", "/Step#10"] * 2
    assert query.steps[0].shape == (500,)
    np.testing.assert_array_equal(query.counts(), [m.sum() for m in masks])
    assert query.count() == sum(m.sum() for m in masks)
    np.testing.assert_array_equal(query.positions(), np.concatenate([np.flatnonzero(m) for m in masks]))
    px, py = query.values("px", "py")
    np.testing.assert_array_equal(px, np.concatenate([a[m] for a, m in zip(arrays(run, "px"), masks)]))
    np.testing.assert_array_equal(py, np.concatenate([a[m] for a, m in zip(arrays(run, "py"), masks)]))
    table = query.table(columns=["run", "Step", "_row", "x"])
    assert table.schema.names == ["run", "Step", "_row", "x"]
    assert set(table["Step"].to_pylist()) <= {0, 1, 10} and set(table["run"].to_pylist()) == {1, 2}
    assert query.step(1).count() == masks[1].sum()
    np.testing.assert_array_equal(query.where("py > 0").values("py"), py[py > 0])


def test_wildcard_columns_are_conditions(run: pathlib.Path) -> None:
    query = hs.query(str(run / "run*.h5"), "/Step#*", "x > 0 and Step >= 1 and run = 2")
    assert query.count() == sum((a > 0).sum() for a in arrays(run, "x")[4:])


def test_regular_expressions_choose_groups_and_files(run: pathlib.Path) -> None:
    pattern = re.compile(re.escape(str(run)) + r"/run(?P<number>\d)\.h5")
    query = hs.query(pattern, re.compile(r"/Step#(?P<step>1\d*)"), "x > 0 && step == 10")
    assert query.count() == sum((arrays(run, "x")[n] > 0).sum() for n in (2, 5))
    assert {(s.group) for s in query.steps} == {"/Step#1", "/Step#10"} and len(query.steps) == 4
    assert set(query.table(["number", "step"])["number"].to_pylist()) == {1, 2}
    assert hs.query(f"re:{re.escape(str(run))}/run2.*", "re:/Step#0", "x > 0").count() == (arrays(run, "x")[3] > 0).sum()
    with pytest.raises(hs.InvalidInputError, match="regular expression"):
        hs.query(str(run / "run1.h5"), "re:/Step#(", "x > 0")
    with pytest.raises(hs.NotFoundError):
        hs.query(str(run / "run1.h5"), "re:/Nothing", "x > 0")


def test_parts_of_arrays_of_other_groups_stand_beside_each_other(run: pathlib.Path) -> None:
    with h5py.File(run / "run1.h5") as f:
        field, weight, x = f["mesh/E"][:], f["mesh/weight"][:], f["Step#0/x"][:]
    query = hs.query(str(run / "run1.h5"), "/Step#0", "/mesh/weight > 0.5 && x > 0")
    np.testing.assert_array_equal(query.positions(), np.flatnonzero((weight > 0.5) & (x > 0)))
    part = hs.query(str(run / "run1.h5"), "/mesh", "E[0:10, :, 3] > 0 && E[10:20,:,-1] < 0.5")
    a, b = field[0:10, :, 3], field[10:20, :, -1]
    mask = (a > 0) & (b < 0.5)
    np.testing.assert_array_equal(part.positions(), np.flatnonzero(mask))
    np.testing.assert_array_equal(part.coordinates(), np.argwhere(mask))
    np.testing.assert_array_equal(part.values("E[0:20:2,:,1]"), field[0:20:2, :, 1][mask])
    np.testing.assert_array_equal(
        hs.query(str(run / "run1.h5"), "/mesh", "E[3:20:4, 5:, 2] > 0 and dim_0 >= 2").positions(),
        np.flatnonzero((field[3:20:4, 5:, 2] > 0) & (np.arange(5)[:, None] >= 2)),
    )


def test_variables_come_from_other_files_and_from_arrays_of_python(run: pathlib.Path) -> None:
    x = arrays(run, "x")
    mine = np.random.default_rng(1).random(500)
    query = hs.query(str(run / "run1.h5"), "/Step#0", "x > other && mine < 0.5", variables={"other": f"{run}/run2.h5:/Step#10/x", "mine": mine})
    np.testing.assert_array_equal(query.positions(), np.flatnonzero((x[0] > x[5]) & (mine < 0.5)))
    dataset = hs.open(run / "run2.h5")["Step#1/x"]
    assert hs.query(str(run / "run1.h5"), "/Step#0", "x > d", variables={"d": dataset}).count() == (x[0] > x[4]).sum()
    part = hs.query(str(run / "run1.h5"), "/Step#0", "x[0:100] > e", variables={"e": f"{run}/run2.h5:/Step#1/x[400:]"})
    assert part.count() == (x[0][:100] > x[4][400:]).sum()


def test_what_does_not_conform_is_refused_with_both_shapes(run: pathlib.Path) -> None:
    with pytest.raises(
        hs.InvalidInputError, match=r"x has shape \[500\] and /mesh/E has shape \[20, 25, 4\]|/mesh/E has shape \[20, 25, 4\] and x has shape \[500\]"
    ):
        hs.query(str(run / "run1.h5"), "/Step#0", "x > 0 && /mesh/E > 0")
    query = hs.query(str(run / "run1.h5"), "/Step#0", "x > 0")
    with pytest.raises(hs.InvalidInputError, match=r"\[500\].*\[20, 25, 4\]"):
        query.values("/mesh/E")


def test_an_unknown_name_is_pointed_at(run: pathlib.Path) -> None:
    with pytest.raises(hs.NotFoundError, match=r"no array \"enrgy\" at character 10 of: x > 0 && enrgy > 1; nearest: energy"):
        hs.query(str(run / "run1.h5"), "/Step#0", "x > 0 && enrgy > 1")
    with pytest.raises(hs.NotFoundError):
        hs.query(str(run / "run1.h5"), "/Nowhere#*", "x > 0")


# FastQuery's faults, from its source.


def test_parentheses_on_the_right_side_are_not_dropped(run: pathlib.Path) -> None:
    x = arrays(run, "x")[0]
    assert hs.query(str(run / "run1.h5"), "/Step#0", "x > 0.25*(1+3)").count() == (x > 1).sum()
    assert hs.query(str(run / "run1.h5"), "/Step#0", "x > px*(1+3)").count() == (x.astype("f8") > arrays(run, "px")[0].astype("f8") * 4).sum()


def test_conditions_have_parentheses_and_not(run: pathlib.Path) -> None:
    x, y = arrays(run, "px")[0], arrays(run, "py")[0]
    file = str(run / "run1.h5")
    assert hs.query(file, "/Step#0", "!(px > 0 || py > 0) && not (px < -1)").count() == (~((x > 0) | (y > 0)) & ~(x < -1)).sum()
    assert hs.query(file, "/Step#0", "(px > 0 || py > 0) && px < 1").count() == (((x > 0) | (y > 0)) & (x < 1)).sum()


def test_signed_integers_of_64_bits_are_signed(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["i"] = np.array([-1, -(2**63), 2**63 - 1, 0], "i8")
        f["u"] = np.array([2**64 - 1, 2**63, 1, 0], "u8")
    assert hs.query(tmp_path / "a.h5", "/", "i < 0").positions().tolist() == [0, 1]
    assert hs.query(tmp_path / "a.h5", "/", "u > 9223372036854775808").positions().tolist() == [0]
    assert hs.query(tmp_path / "a.h5", "/", "u > i").positions().tolist() == [0, 1]
    assert hs.query(tmp_path / "a.h5", "/", "u + i = 18446744073709551614").positions().tolist() == [0]


def test_a_type_that_cannot_be_asked_is_refused_and_has_not_0_hits(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["opaque"] = np.array([b"abc", b"def"], "V3")
        f["lists"] = np.arange(6).reshape(3, 2).astype(np.dtype(("i4", (2,))) if False else "i4")
        f["x"] = np.arange(2.0)
    with pytest.raises((hs.UnsupportedError, hs.InvalidInputError)):
        hs.query(tmp_path / "a.h5", "/", "opaque > 1")
    with pytest.raises(hs.InvalidInputError, match="only numbers"):
        hs.query(tmp_path / "a.h5", "/", "opaque + x > 1")
    with pytest.raises(hs.InvalidInputError):
        hs.query(tmp_path / "a.h5", "/", "x = 'one'")


def test_a_name_that_may_be_two_arrays_is_refused(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["run/a/x"], f["run/b/x"], f["run/a/y"] = np.arange(3), np.arange(3) * 2, np.arange(3)
        f["Step#1/x"], f["Step#1/Step"] = np.arange(3), np.arange(3)
    with pytest.raises(hs.InvalidInputError, match=r"\"x\" may be /run/a/x and /run/b/x.* at character 1 of"):
        hs.query(tmp_path / "a.h5", "/run", "x > 1")
    assert hs.query(tmp_path / "a.h5", "/run", "y > 1").count() == 1  # there is one
    assert hs.query(tmp_path / "a.h5", "/run", "`a/x` > 1 && `b/x` > 1").count() == 1
    with pytest.raises(hs.InvalidInputError, match="may be"):
        hs.query(tmp_path / "a.h5", "/Step#*", "x > 1 && Step > 0")


def test_a_file_that_changes_is_asked_anew(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    for values in (np.arange(10.0), np.arange(10.0) + 100):
        with h5py.File(path, "w") as f:
            f["x"] = values
        assert hs.query(path, "/", "x >= 100").count() == (values >= 100).sum()


# Values of other kinds.


def test_texts_enums_and_records(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["names"] = ["electron", "muon", "electron neutrino", "tau"]
        f.create_dataset("kind", data=np.array([0, 1, 1, 2], "i1"), dtype=h5py.enum_dtype({"solid": 0, "fluid": 1, "gas": 2}, "i1"))
        f["records"] = np.array([(1.5, 2), (2.5, 3), (3.5, -1)], [("e", "f4"), ("n", "i8")])
        f["group/records"] = np.array([(1.5, 2), (2.5, 3), (3.5, -1)], [("e", "f4"), ("n", "i8")])
        f["group/x"] = np.arange(3)

    def positions(group: str, text: str) -> list[int]:
        return hs.query(tmp_path / "a.h5", group, text).positions().tolist()

    assert positions("/", "names = 'muon' or names like 'electron%'") == [0, 1, 2]
    assert positions("/", "names in ('tau', 'muon') and kind != 'gas'") == [1]
    assert positions("/", "kind = 'fluid'") == [1, 2]
    assert positions("/records", "e + n > 4 and n > 0") == [1]
    assert positions("/group", "records.e > x + 1 && records.n < 3") == [0, 2]


def test_a_netcdf_dimension_without_values_is_its_index(tmp_path: pathlib.Path) -> None:
    path, values = tmp_path / "plain.nc", np.arange(99).reshape(9, 11)
    with netCDF4.Dataset(path, "w") as d:
        d.createDimension("x", 9)
        d.createDimension("y", 11)
        d.createVariable("v", "f4", ("x", "y"))[:] = values
    q, passing = hs.query(path, "/", "v > 50 && y < 3"), (values > 50) & (np.arange(11) < 3)
    assert q.positions().tolist() == np.flatnonzero(passing).tolist()
    table = q.table(columns=["x", "v", "y"])
    for name, wanted in zip("xy", np.nonzero(passing)):
        assert table[name].to_pylist() == wanted.tolist()
    with pytest.raises(hs.NotFoundError, match='no array "x"'):
        hs.query(path, "/", "x < 3")  # nothing says of which rows


def test_dimensions_and_coordinates_are_conditions() -> None:
    path = "examples/data/atlantic_profiles.nc"
    query = hs.query(pathlib.Path(__file__).parents[2] / path, "/", "theta > 299 and depth <= 100 and lat > -5")
    assert "240 of 1920 rows by dimensions" in query.explain()
    table = hs.open(pathlib.Path(__file__).parents[2] / path).table(
        "/theta", where="theta > 299 and depth <= 100 and lat > -5", columns=["_row", "theta", "lat"]
    )
    wanted = table.to_arrow()
    np.testing.assert_array_equal(query.positions(), wanted["_row"].to_numpy())
    np.testing.assert_array_equal(query.values("lat"), wanted["lat"].to_numpy())


def test_the_rows_may_be_named_where_the_condition_does_not_say_them() -> None:
    path = pathlib.Path(__file__).parents[2] / "examples/data/atlantic_profiles.nc"
    everything = hs.query(path, "/", rows="theta")
    assert everything.count() == 1920
    assert hs.query(path, "/", "depth < 10", rows="theta").count() == hs.open(path).table("/theta", where="depth < 10").count()
    with pytest.raises(hs.InvalidInputError, match="names no array"):
        hs.query(path, "/").count()


# Histograms.


def test_histograms_are_numpys(run: pathlib.Path) -> None:
    query = hs.query(str(run / "run*.h5"), "/Step#*", "energy > 0")
    mask = np.concatenate(arrays(run, "energy")) > 0
    x, px, py = (np.concatenate(arrays(run, name)).astype("f8")[mask] for name in ("x", "px", "py"))
    weights = np.concatenate(arrays(run, "energy")).astype("f8")[mask]
    values, (edges,) = query.histogram("x", bins=64)
    wanted, wanted_edges = np.histogram(x, 64)
    np.testing.assert_array_equal(values, wanted)
    np.testing.assert_array_equal(edges, wanted_edges)
    np.testing.assert_allclose(query.histogram("x", 64, weights="energy").values, np.histogram(x, 64, weights=weights)[0], rtol=1e-12)
    values, edges = query.histogram2d("x", "px", bins=(8, 5), range=[(-1, 1), (-2, 2)])
    np.testing.assert_array_equal(values, np.histogram2d(x, px, (8, 5), [(-1, 1), (-2, 2)])[0])
    values, edges = query.histogram3d("x", "px", "py", bins=7)
    np.testing.assert_array_equal(values, np.histogramdd(np.stack([x, px, py], 1), 7)[0])
    many = query.histogram3d("x", "px", "py", bins=50, weights="energy").values
    np.testing.assert_allclose(many, np.histogramdd(np.stack([x, px, py], 1), 50, weights=weights)[0], rtol=1e-12)
    values, (edges,) = query.histogram("energy", 10, log=True)
    np.testing.assert_allclose(edges[1:] / edges[:-1], np.full(10, edges[1] / edges[0]))
    assert values.sum() == len(weights)
    values, (edges,) = query.histogram("x", "adaptive:8")
    assert values.sum() == len(x) and values.max() - values.min() <= 1 + len(x) // 100
    np.testing.assert_allclose(query.quantile("x", [0.0, 0.1, 0.5, 0.99, 1.0]), np.quantile(x, [0.0, 0.1, 0.5, 0.99, 1.0]), rtol=1e-15)
    assert query.sum("x") == pytest.approx(x.sum())
    with pytest.raises(hs.LimitExceededError, match="fewer bins"):
        query.histogram3d("x", "px", "py", bins=10_000)
    with pytest.raises(hs.InvalidInputError, match="increase"):
        query.histogram("x", [1.0, 1.0])
    with pytest.raises(hs.InvalidInputError, match="log has 1 entries for 2 variables"):
        query.histogram2d("x", "px", bins=4, log=(True,))


def test_sums_of_weights_do_not_depend_on_threads(tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(2)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=random.normal(size=3_000_000), chunks=(50_000,))
        f.create_dataset("w", data=random.normal(size=3_000_000) * 1e9, chunks=(30_000,))
    found = {hs.query(tmp_path / "a.h5", "/", "x > -1", threads=threads).histogram("x", 9, weights="w").values.tobytes() for threads in (1, 2, 5)}
    assert len(found) == 1


# Arrays of others.


class Squares:
    """An array that holds nothing."""

    shape, dtype, chunks = (30, 40), np.dtype("i8"), (7, 11)

    def __getitem__(self, key: tuple[slice, ...]) -> np.ndarray:
        row, column = (np.arange(s.start, s.stop) for s in key)
        return row[:, None] ** 2 + column[None, :]


def test_anything_with_shape_dtype_and_items_is_asked(tmp_path: pathlib.Path) -> None:
    squares = np.arange(30)[:, None] ** 2 + np.arange(40)
    memory = np.memmap(tmp_path / "m", dtype=">f4", mode="w+", shape=(30, 40))
    memory[:] = np.random.default_rng(0).random((30, 40))
    texts = np.where(squares % 2 == 0, "gerade", "ü")
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("flags", data=squares % 3 == 0, chunks=(4, 40))
    with h5py.File(tmp_path / "a.h5") as f:
        query = hs.query({"s": Squares(), "m": memory, "t": texts, "flags": f["flags"]}, "/", "s > 100 and m < 0.5 and t = 'ü' and not flags")
        mask = (squares > 100) & (memory < 0.5) & (texts == "ü") & ~(squares % 3 == 0)
        np.testing.assert_array_equal(query.positions(), np.flatnonzero(mask))
        np.testing.assert_array_equal(query.values("s"), squares[mask])
    with pytest.raises(hs.InvalidInputError, match="no shape"):
        hs.query({"s": object()}, "/", "s > 1")
    with pytest.raises(hs.UnsupportedError, match="complex"):
        hs.query({"s": np.zeros(3, complex)}, "/", "s > 1")


def test_an_array_that_fails_says_what(tmp_path: pathlib.Path) -> None:
    class Broken(Squares):
        def __getitem__(self, key: tuple[slice, ...]) -> np.ndarray:
            raise OSError("the tape is gone")

    class Short(Squares):
        def __getitem__(self, key: tuple[slice, ...]) -> np.ndarray:
            return super().__getitem__(key)[:-1]

    with pytest.raises(hs.InvalidInputError, match="array s says.*tape is gone"):
        hs.query({"s": Broken()}, "/", "s > 1").count()
    with pytest.raises(hs.InvalidInputError, match="shape"):
        hs.query({"s": Short()}, "/", "s > 1").count()


@pytest.mark.parametrize("type", [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()])
def test_arrow_and_parquet_columns_are_asked_with_their_nulls(tmp_path: pathlib.Path, type: pa.DataType) -> None:
    every = list(range(256)) if type == pa.uint8() else list(range(-128, 128)) if type == pa.int8() else [0, 1, 5, 100]
    column = pa.array([None, *every, None, *every], type)
    table = pa.table({"v": column, "n": pa.array(np.arange(len(column)))})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=50)
    wanted = [n for n, v in enumerate(column.to_pylist()) if v is not None and v >= 1]
    for source in (table, str(tmp_path / "t.parquet")):
        assert hs.query(source, "/", "v >= 1").positions().tolist() == wanted
        assert hs.query(source, "/", "v is null").values("n").tolist() == [0, len(every) + 1]
        assert hs.query(source, "/", "n > 3 and n < 60").count() == sum(3 < n < 60 for n in range(len(column)))


def test_masked_values_stay_masked(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"], f["y"] = np.array([1, -9, 3], "i4"), np.array([1.0, 2.0, 3.0])
        f["x"].attrs["_FillValue"] = np.int32(-9)
    values = hs.query(tmp_path / "a.h5", "/", "y > 1").values("x")
    assert values.mask.tolist() == [True, False] and values[1] == 3


# The command.


def command(*arguments: str) -> str:
    done = subprocess.run([str(pathlib.Path(sys.executable).parent / "hyperslab"), "query", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_answers(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    files, count = str(run / "run*.h5"), sum(int((a > 0).sum()) for a in arrays(run, "x"))
    assert command(files, "/Step#*", "x > 0", "--count").strip() == str(count)
    assert json.loads(command(files, "/Step#*", "x > 0", "--count", "--json")) == {"count": count}
    found = json.loads(command(files, "/Step#*", "x > 0", "--histogram", "x", "--bins", "5", "--json"))
    assert sum(found["values"]) == count and len(found["edges"][0]) == 6
    rows = [json.loads(line) for line in command(files, "/Step#*", "x > 0", "--values", "Step,x", "-n", "3", "--json").splitlines()]
    assert len(rows) == 3 and all(row["x"] > 0 for row in rows)
    assert json.loads(command(files, "/Step#*", "x > 0", "--quantile", "x:0.5", "--json"))["0.5"] > 0
    assert "wrote" in command(files, "/Step#*", "x > 0", "-o", str(tmp_path / "p.png"))
    assert "wrote" in command(files, "/Step#*", "x > 0", "--values", "x", "-o", str(tmp_path / "p.parquet"))
    assert pq.read_table(tmp_path / "p.parquet").num_rows == count
    assert "rows by dimensions" in command(files, "/Step#*", "x > 0", "--explain")


def test_a_plot_of_two_variables_takes_what_the_histogram_takes(run: pathlib.Path) -> None:
    from matplotlib.figure import Figure

    query = hs.query(str(run / "run1.h5"), "/Step#0", where="energy > 0")
    figure = Figure()
    axes = figure.subplots()
    options = {"bins": (8, 5), "range": [(-1, 1), (-2, 2)], "weights": "energy"}
    assert query.plot(names=["x", "px"], cmap="magma", ax=axes, **options) is figure
    counts, (x, y) = query.histogram2d("x", "px", **options)
    (mesh,) = axes.collections
    np.testing.assert_array_equal(np.ma.filled(mesh.get_array(), 0), counts.T)
    assert mesh.get_cmap().name == "magma" and axes.get_xlim() == (-1, 1) and axes.get_ylim() == (-2, 2)
    assert [other.get_ylabel() for other in figure.axes] == ["px", "sum of energy"]


def test_magnitudes_are_looked_up_in_indexes(tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(3)
    x = np.concatenate([random.normal(size=20_000), [np.nan, np.inf, -np.inf, 0.0, -0.0, 2.5, -2.5]])
    n = np.concatenate([random.integers(-128, 128, 20_000), [-128, 127, 0, 5, -5, 100, -100]]).astype("i1")
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=x, chunks=(1000,))
        f.create_dataset("n", data=n, chunks=(1000,))
    conditions = {
        f"abs({name}) {comparison} {constant}": (np.abs(values.astype("f8")), comparison, float(constant))
        for name, values, constants in (("x", x, ("2.5", "0", "-1", "3.5e0")), ("n", n, ("5", "0", "-5", "127.5", "128")))
        for comparison in ("<", "<=", ">", ">=", "=", "!=")
        for constant in constants
    }

    def expected(magnitude: np.ndarray, comparison: str, constant: float) -> np.ndarray:
        compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "=": np.equal, "!=": np.not_equal}[comparison]
        return np.flatnonzero(compare(magnitude, constant))

    for indexed in (False, True):
        if indexed:
            hs.index(tmp_path / "a.h5", ["/x", "/n"])
        for text, (magnitude, comparison, constant) in conditions.items():
            np.testing.assert_array_equal(hs.query(tmp_path / "a.h5", "/", text).positions(), expected(magnitude, comparison, constant), text)
    assert "index P on x" in hs.query(tmp_path / "a.h5", "/", "abs(x) > 3 and abs(n) < 5").explain()
    assert hs.query(tmp_path / "a.h5", "/", "3 < abs(x)").count() == (np.abs(x) > 3).sum()
