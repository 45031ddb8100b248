"""Tables: layouts, predicates, splits and the engines' doors, against numpy on the same arrays."""

from __future__ import annotations

import pathlib
import pickle

import duckdb
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest


@pytest.fixture
def weather(tmp_path: pathlib.Path) -> pathlib.Path:
    """A CF field: packed, with missing values, unlimited time, two coordinates."""
    path = tmp_path / "weather.nc"
    rng = np.random.default_rng(1)
    with netCDF4.Dataset(path, "w") as f:
        f.Conventions = "CF-1.8"
        f.createDimension("time", None)
        f.createDimension("lat", 7)
        f.createDimension("lon", 5)
        time = f.createVariable("time", "f8", ("time",))
        time.units, time.calendar = "hours since 2020-01-01 00:00:00", "standard"
        time[:] = np.arange(48)
        f.createVariable("lat", "f4", ("lat",))[:] = np.linspace(-90, 90, 7)
        f.createVariable("lon", "f4", ("lon",))[:] = np.arange(5) * 10
        t2m = f.createVariable("t2m", "i2", ("time", "lat", "lon"), chunksizes=(10, 3, 5), zlib=True, fill_value=-32768)
        t2m.scale_factor, t2m.add_offset, t2m.units = 0.01, 273.15, "K"
        values = np.ma.masked_less(270 + 20 * rng.random((48, 7, 5)), 271)
        t2m[:] = values
    return path


def expected(path: pathlib.Path) -> pa.Table:
    """The cells of t2m by nested loops over netCDF4-python's decoded values."""
    rows = []
    with netCDF4.Dataset(path) as f:
        times = np.datetime64("2020-01-01T00", "us") + f["time"][:].astype(int) * np.timedelta64(1, "h")
        lat, lon, values = f["lat"][:].data, f["lon"][:].data, f["t2m"][:]
        for i, t in enumerate(times):
            for j, y in enumerate(lat):
                for k, x in enumerate(lon):
                    value = values[i, j, k]
                    rows.append((t.item(), float(y), float(x), None if value is np.ma.masked else float(value)))
    names = ["time", "lat", "lon", "t2m"]
    return pa.table({n: [r[c] for r in rows] for c, n in enumerate(names)})


def pylist(table: pa.Table) -> list[dict[str, object]]:
    return table.to_pylist()


def test_cells_of_a_packed_cf_field_equal_netcdf4(weather: pathlib.Path) -> None:
    table = hs.open(weather).table("/t2m").to_arrow()
    assert table.schema.field("time").type == pa.timestamp("us")
    assert table.schema.field("t2m").metadata[b"units"] == b"K"
    assert pylist(table) == pylist(expected(weather))


PREDICATES = [
    ("lat > 0", lambda t: pc.greater(t["lat"], 0)),
    (
        "0 <= lat < 60 and lon in (10, 30)",
        lambda t: pc.and_(pc.and_(pc.greater_equal(t["lat"], 0), pc.less(t["lat"], 60)), pc.is_in(t["lon"], pa.array([10.0, 30.0]))),
    ),
    (
        "time >= '2020-01-01T06:30' and time < '2020-01-02'",
        lambda t: pc.and_(
            pc.greater(t["time"], pa.scalar(np.datetime64("2020-01-01T06:30", "us"))), pc.less(t["time"], pa.scalar(np.datetime64("2020-01-02", "us")))
        ),
    ),
    ("t2m > 280.5", lambda t: pc.greater(t["t2m"], 280.5)),
    ("t2m is null", lambda t: pc.is_null(t["t2m"])),
    ("not (t2m > 280.5) || lat == -90", lambda t: pc.or_kleene(pc.invert(pc.greater(t["t2m"], 280.5)), pc.equal(t["lat"], -90))),
    (
        "lat between -30 and 30 && t2m between 275 and 285",
        lambda t: pc.and_(pc.less_equal(pc.abs(t["lat"]), 30), pc.and_(pc.greater_equal(t["t2m"], 275), pc.less_equal(t["t2m"], 285))),
    ),
    ("lat > 1000", lambda t: pc.greater(t["lat"], 1000)),
]


@pytest.mark.parametrize(("text", "mask"), PREDICATES, ids=[p[0] for p in PREDICATES])
def test_a_predicate_keeps_the_rows_that_pyarrow_keeps(weather: pathlib.Path, text: str, mask) -> None:
    table = hs.open(weather).table("/t2m", where=text)
    all_rows = expected(weather)
    wanted = all_rows.filter(mask(all_rows))
    assert pylist(table.to_arrow()) == pylist(wanted)
    assert table.count() == wanted.num_rows


def test_a_predicate_on_coordinates_is_a_hyperslab(weather: pathlib.Path) -> None:
    table = hs.open(weather).table("/t2m", where="lat > 50 and lon = 20")
    assert "96 of 1680 rows by dimensions, no test row by row" in table.explain()


@pytest.mark.parametrize("count", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("where", [None, "lat > 0 and t2m > 275"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_same_rows_however_split(weather: pathlib.Path, count: int, where: str | None, threads: int) -> None:
    table = hs.open(weather, threads=threads).table("/t2m", where=where, columns=["_row", "time", "t2m"], batch_rows=100)
    splits = pickle.loads(pickle.dumps(table.splits(count)))
    joined = pa.concat_tables([split.read() for split in splits])
    assert joined.equals(table.to_arrow().cast(joined.schema))
    assert joined.num_rows == table.count()


@pytest.mark.parametrize("limit", [1, 5, 39, 100, 333, 1679])
@pytest.mark.parametrize("batch_rows", [7, 100, 65536])
@pytest.mark.parametrize("where", [None, "t2m > 275"])
def test_a_limit_may_end_anywhere(weather: pathlib.Path, limit: int, batch_rows: int, where: str | None) -> None:
    f = hs.open(weather)
    wanted = f.table("/t2m", where=where).to_arrow().slice(0, limit)
    table = f.table("/t2m", where=where, limit=limit, batch_rows=batch_rows)
    assert table.to_arrow().equals(wanted)
    for count in (1, 3, 50):
        joined = pa.concat_tables([split.read() for split in table.splits(count)])
        assert joined.slice(0, limit).equals(wanted)
        # With a test row by row, each split can only keep to the limit alone.
        assert where is not None or joined.num_rows == limit


def test_duckdb_and_polars_push_into_the_scan(weather: pathlib.Path) -> None:
    f = hs.open(weather)
    wanted = expected(weather)
    wanted = wanted.filter(pc.and_(pc.greater(wanted["lat"], 0), pc.less(wanted["t2m"], 280)))
    t2m = f.table("/t2m").dataset()
    assert duckdb.sql("select count(*) from t2m where lat > 0 and t2m < 280").fetchall() == [(wanted.num_rows,)]
    frame = pl.scan_pyarrow_dataset(t2m).filter((pl.col("lat") > 0) & (pl.col("t2m") < 280)).select("t2m").collect()
    assert frame["t2m"].to_list() == wanted["t2m"].to_pylist()
    rows = hs.sql("select lat, avg(t2m) as mean from t2m group by lat order by lat", f).fetchall()
    means = expected(weather).group_by("lat").aggregate([("t2m", "mean")]).sort_by("lat")
    assert [r[0] for r in rows] == means["lat"].to_pylist()
    np.testing.assert_allclose([r[1] for r in rows], means["t2m_mean"].to_numpy())


def test_a_pyarrow_expression_filters_exactly(weather: pathlib.Path) -> None:
    expression = (pc.field("lat") > 0) & (pc.field("t2m") < 280)
    table = hs.open(weather).table("/t2m", where=expression)
    wanted = expected(weather).filter(expression)
    assert pylist(table.to_arrow()) == pylist(wanted)
    assert table.count() == wanted.num_rows


def test_sql_views_are_named_by_path_and_by_last_part(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"], f["a/x"], f["a/y"], f["b/Y"] = [0], [1, 1], [2, 2, 2], [3, 3, 3, 3]
        f["soft"] = h5py.SoftLink("/a/y")
        f["c/alone"] = [4] * 5
    f = hs.open(tmp_path / "a.h5")
    for view, rows in {"x": 1, '"a/x"': 2, '"a/y"': 3, '"b/Y"': 4, "soft": 3, "alone": 5, "ALONE": 5, '"C/Alone"': 5}.items():
        assert hs.sql(f"select count(*) from {view}", f).fetchall() == [(rows,)], view


def test_explain_knows_of_a_pyarrow_expression(weather: pathlib.Path) -> None:
    table = hs.open(weather).table("/t2m", where=pc.field("lat") > 50)
    assert "480 of 1680 rows by dimensions" in table.explain()


def test_a_pyarrow_expression_may_speak_of_columns_that_are_not_shown(weather: pathlib.Path) -> None:
    f = hs.open(weather)
    wanted = f.table("/t2m", where="lat > 0 and _row < 500", columns=["t2m"]).to_arrow()
    table = f.table("/t2m", where=(pc.field("lat") > 0) & (pc.field("_row") < 500), columns=["t2m"])
    assert table.to_arrow().equals(wanted)
    assert table.to_arrow().column_names == ["t2m"]
    assert table.count() == wanted.num_rows > 0
    assert table.head(3).equals(wanted.slice(0, 3))


def test_rows_records_and_columns_layouts(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "layouts.h5"
    cube = np.arange(24, dtype="f4").reshape(4, 3, 2)
    particles = np.array(
        [(1, 2.5, b"ab", (7, 8)), (2, 3.5, b"c", (9, 10))], dtype=[("id", "i8"), ("x", ">f4"), ("tag", "S2"), ("nested", [("u", "u1"), ("v", "i2")])]
    )
    with h5py.File(path, "w") as f:
        f["cube"], f["particles"] = cube, particles
        for step in (2, 10):
            for name in ("x", "y"):
                f[f"Step#{step}/{name}"] = np.arange(3) + step
    f = hs.open(path)
    rows = f.table("/cube", layout="rows").to_arrow()
    assert rows["cube"].to_pylist() == cube.reshape(4, 6).tolist()
    records = f.table("/particles", model="none").to_arrow()
    assert records.to_pylist() == [
        {"id": 1, "x": 2.5, "tag": "ab", "nested": {"u": 7, "v": 8}},
        {"id": 2, "x": 3.5, "tag": "c", "nested": {"u": 9, "v": 10}},
    ]
    assert f.table("/particles", where="nested.v > 8", columns=["id"], model="none").to_arrow().to_pylist() == [{"id": 2}]
    steps = f.table("/Step#*").to_arrow()
    assert steps.column_names == ["Step", "x", "y"]
    assert steps["Step"].to_pylist() == [2] * 3 + [10] * 3
    assert f.table("/Step#*/x", where="Step = 10").to_arrow()["x"].to_pylist() == [10, 11, 12]
    assert f.table("/cube", columns=["_row", "cube"], where="cube >= 20").to_arrow()["_row"].to_pylist() == [20, 21, 22, 23]
    assert f.table("/cube", columns=["_file"], limit=1).to_arrow()["_file"].to_pylist() == [str(path)]
    assert f.table("/cube", limit=5).count() == 5


def test_many_files_make_one_table(tmp_path: pathlib.Path) -> None:
    for run in (1, 2):
        with h5py.File(tmp_path / f"run{run}.h5", "w") as f:
            f["x"] = np.arange(3) * run
    table = hs.open(str(tmp_path / "run*.h5")).table("/x").to_arrow()
    assert table["x"].to_pylist() == [0, 1, 2, 0, 2, 4]
    assert table["run"].to_pylist() == [1] * 3 + [2] * 3
    with h5py.File(tmp_path / "run10.h5", "w") as f:
        f["x"] = np.arange(1)
    numbers = hs.open(str(tmp_path / "run*.h5")).table("/x").to_arrow()["run"].to_pylist()
    assert numbers == [1, 1, 1, 2, 2, 2, 10], "files come in the order of their numbers"
    assert hs.open(str(tmp_path / "run[13]*.h5")).table("/x").to_arrow()["run"].to_pylist() == [1, 1, 1, 10]


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        (lambda p: hs.open(p / "nowhere.h5"), hs.NotFoundError, "nowhere.h5"),
        (lambda p: hs.open(p / "text.h5"), hs.InvalidInputError, "not an HDF5 or netCDF file"),
        (lambda p: hs.open(p / "a.h5")["/temprature"], hs.NotFoundError, "temperature"),
        (lambda p: hs.open(p / "a.h5").table("/temperature", where="temperature >< 5"), hs.InvalidInputError, "character 14"),
        (lambda p: hs.open(p / "a.h5").table("/temperature", where="temprature > 5"), hs.NotFoundError, "temperature"),
        (lambda p: hs.open(p / "a.h5").table("/temperature", where="temperature > 'x'"), hs.InvalidInputError, "a number"),
        (lambda p: hs.open(p / "a.h5").table("/temperature", columns=["none"]), hs.NotFoundError, "dim_0, temperature"),
        (lambda p: hs.open(p / "cut.h5")["/temperature"][...], hs.CorruptError, "truncated"),
        (lambda p: hs.open(p / "a.h5").table("/temperature", where=pc.field("nope") > 1).to_arrow(), hs.NotFoundError, "dim_0, temperature"),
        (lambda p: hs.open(p / "a.h5").table("/null"), hs.InvalidInputError, "dataspace is null"),
        (lambda p: hs.open(p / "a.h5").table("/temperature").head(-1), hs.InvalidInputError, "n is -1"),
        (lambda p: hs.open(p / "a.h5").table("/temperature", limit=-1), hs.InvalidInputError, "limit is -1"),
        (lambda p: hs.open(p / "a.h5", format="netcdf4"), hs.InvalidInputError, "hdf5, not netcdf4"),
        (lambda p: hs.open(p / "a.h5", format="grib"), hs.InvalidInputError, "grib"),
        (lambda p: hs.open(p / "a.h5")[...], TypeError, "path of a member"),
        (lambda p: hs.sql('select * from "t/x"', p / "case.h5"), hs.InvalidInputError, '\'t/x\' may be "T/x_1", "t/x_2"'),
        (lambda p: hs.sql("select * from paths", p / "a.h5"), hs.InvalidInputError, "temperature"),
        (lambda p: hs.open(p / "a.h5")["/virtual"][...], hs.NotFoundError, "gone.h5"),
    ],
)
def test_bad_input_is_one_clear_error(tmp_path: pathlib.Path, action, error, words: str) -> None:
    (tmp_path / "text.h5").write_text("not a file of ours\n" * 100)
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        layout = h5py.VirtualLayout((5,), "f8")
        layout[...] = h5py.VirtualSource("gone.h5", "x", (5,))
        f.create_virtual_dataset("virtual", layout)
        f["temperature"] = np.arange(1000.0)
        f["null"] = h5py.Empty("f8")
    with h5py.File(tmp_path / "case.h5", "w") as f:
        f["T/x"], f["t/x"] = 1, 2
    whole = (tmp_path / "a.h5").read_bytes()
    (tmp_path / "cut.h5").write_bytes(whole[:-4000])
    with pytest.raises(error, match=words) as caught:
        action(tmp_path)
    assert "\n" not in str(caught.value)
