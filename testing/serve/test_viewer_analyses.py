"""The viewer's answers that h5grove has no words for: overviews, histograms, conditions and SQL, compared with numpy and h5py."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import test_viewer_answers

starlette_testclient = pytest.importorskip("starlette.testclient")

from hyperslab.viewer import Shown, application, downsampling  # noqa: E402
from hyperslab.viewer.budget import Budget  # noqa: E402
from hyperslab.viewer.watching import Gone, Watch  # noqa: E402

TOKEN = "token"
ROWS, SPIKE = 300_001, 123_456


def client(*places: pathlib.Path, seconds: float = 30.0, budget: Budget | None = None) -> Any:
    app = application(Shown(places), TOKEN, hosts=("testserver",), seconds=seconds, budget=budget)
    return starlette_testclient.TestClient(app, base_url="http://testserver", raise_server_exceptions=False)


def ask(browser: Any, what: str, status: int = 200, **query: Any) -> Any:
    answer = browser.get(f"/{TOKEN}/{what}", params=query)
    assert answer.status_code == status, (what, query, answer.text[:500])
    return answer.json()


@pytest.fixture(autouse=True)
def _ending(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ends the database of each server, as the end of a real one does."""
    boxes: list[Any] = []
    if importlib.util.find_spec("duckdb") and importlib.util.find_spec("google.protobuf"):
        from hyperslab.viewer.sql_box import SqlBox

        begin = SqlBox.__init__
        monkeypatch.setattr(SqlBox, "__init__", lambda self, *given: (boxes.append(self), begin(self, *given))[1])
    yield
    for box in boxes:
        box.close()


def sql(browser: Any, query: str, status: int = 200, **more: Any) -> Any:
    answer = browser.post(f"/{TOKEN}/sql", json={"file": "a.h5", "query": query, **more})
    assert answer.status_code == status, (query, answer.text[:500])
    return answer.json()


@pytest.fixture(scope="module")
def values() -> dict[str, np.ndarray[Any, Any]]:
    random = np.random.default_rng(7)
    line = random.normal(size=ROWS).astype("f4")
    line[SPIKE], line[5000:5010] = 99, np.nan
    line[7] = np.inf
    return {
        "line": line,
        "image": random.integers(-1000, 1000, (457, 611)).astype(">i2"),
        "cube": random.random((3, 40, 50)),
        "packed": random.integers(0, 200, 5000).astype("u1"),
        "flags": random.random(1000) < 0.01,
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]) -> pathlib.Path:
    path = tmp_path_factory.mktemp("analyses") / "a.h5"
    with h5py.File(path, "w") as f:
        for name, array in values.items():
            f.create_dataset(name, data=array, chunks=True, compression="gzip" if name == "image" else None)
        f["packed"].attrs.update(scale_factor=-0.5, add_offset=10.0, _FillValue=np.uint8(7), units="K", long_name="a packed thing")
        f["wide"], f["text"], f["group/empty"], f["complex"] = np.arange(10) + (1 << 60), ["a", "b"], np.zeros((0, 3)), np.array([1j])
        f["table"] = values_of_a_table(values["line"][:9000])
        for axis, name in enumerate(("lat", "lon")):
            f[name] = np.linspace(-10, 10, 40 + 10 * axis)
            f[name].make_scale(name)
            f["cube"].dims[axis + 1].attach_scale(f[name])
    return path


def values_of_a_table(energy: Any) -> Any:
    table = np.zeros(len(energy), [("id", "i4"), ("energy", "f4"), ("name", "S3")])
    table["id"], table["energy"], table["name"] = np.arange(len(energy)), energy, b"abc"
    return table


def oracle(array: Any, steps: list[int]) -> tuple[Any, Any]:
    """Minimum and maximum of each cell, one by one."""
    shape = [-(-extent // step) for extent, step in zip(array.shape, steps, strict=True)]
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    for cell in np.ndindex(*shape):
        part = array[tuple(slice(at * step, (at + 1) * step) for at, step in zip(cell, steps, strict=True))]
        part = part[np.isfinite(part)]
        if part.size:
            low[cell], high[cell] = part.min(), part.max()
    return low, high


def cells(answer: dict[str, Any]) -> tuple[Any, Any]:
    return tuple(np.array(answer[name], float).reshape(answer["shape"]) for name in ("low", "high"))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("name", "selection", "key", "query"),
    [
        ("line", None, np.s_[:], {"points": 1000}),
        ("line", "100:250000", np.s_[100:250000], {"points": 333}),
        ("line", "5001:5009", np.s_[5001:5009], {}),
        ("image", None, np.s_[:], {"width": 100, "height": 90}),
        ("image", "3:400,611", None, {}),
        ("image", "3:400,5", np.s_[3:400, 5], {"points": 50}),
        ("image", "7,10:600", np.s_[7, 10:600], {"points": 50}),
        ("cube", None, np.s_[0], {"width": 25, "height": 10}),
        ("cube", "2,:,:", np.s_[2], {}),
        ("cube", ":,3,:", np.s_[:, 3], {"width": 7, "height": 2}),
        ("cube", "-1", np.s_[-1], {}),
        ("flags", None, np.s_[:], {"points": 10}),
    ],
)
@pytest.mark.parametrize("block", [1 << 21, 700])
def test_an_overview_has_the_extremes_of_each_cell(
    path: Any, values: Any, name: Any, selection: Any, key: Any, query: Any, block: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(downsampling, "BLOCK_VALUES", block)
    more = {} if selection is None else {"selection": selection}
    answer = ask(client(path), "overview", 200 if key is not None else 422, file="a.h5", path=f"/{name}", **query, **more)
    if key is None:
        assert "outside" in answer["message"]
        return
    expected = values[name][key].astype(float)
    assert answer["steps"] == [-(-extent // limit) for extent, limit in zip(expected.shape, _limits(expected.ndim, query), strict=True)]
    for found, wanted in zip(cells(answer), oracle(expected, answer["steps"]), strict=True):
        np.testing.assert_array_equal(found, wanted)
    finite = expected[np.isfinite(expected)]
    assert answer["values"] == expected.size and answer["is_complete"] and answer["damaged"] == []
    assert answer["mean"] == pytest.approx(finite.mean()) if finite.size else answer["mean"] is None
    assert answer["is_exact"] == all(step == 1 for step in answer["steps"])


def _limits(rank: int, query: dict[str, int]) -> list[int]:
    return [query.get("points", 1000)] if rank == 1 else [query.get("height", 700), query.get("width", 700)]


def test_a_single_sample_of_many_is_seen(path: pathlib.Path) -> None:
    answer = ask(client(path), "overview", file="a.h5", path="/line", points=200)
    high = np.array(answer["high"], float)
    assert high[SPIKE // answer["steps"][0]] == 99 and np.sort(high)[-2] < 10


def test_an_overview_unpacks_and_names_its_axes(path: pathlib.Path, values: Any) -> None:
    answer = ask(client(path), "overview", file="a.h5", path="/packed", points=50)
    unpacked = np.where(values["packed"] == 7, np.nan, values["packed"] * -0.5 + 10)
    for found, wanted in zip(cells(answer), oracle(unpacked, answer["steps"]), strict=True):
        np.testing.assert_allclose(found, wanted)
    assert answer["label"] == "a packed thing [K]" and answer["mean"] == pytest.approx(np.nanmean(unpacked))
    axes = ask(client(path), "overview", file="a.h5", path="/cube", width=25, height=40)["axes"]
    assert [axis["label"] for axis in axes] == ["lat", "lon"] and axes[0]["coordinate"] == pytest.approx(np.linspace(-10, 10, 40))
    assert axes[1]["coordinate"] == pytest.approx(np.linspace(-10, 10, 50)[1::2])
    assert ask(client(path), "overview", file="a.h5", path="/line")["axes"][0]["label"] == "dimension 0"


def test_damaged_chunks_are_gaps_with_a_message(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    array = np.arange(100_000.0)
    with h5py.File(path, "w") as f:
        dataset = f.create_dataset("x", data=array, chunks=(1000,), compression="gzip")
        places = [dataset.id.get_chunk_info(number).byte_offset for number in (3, 57)]
    with open(path, "rb+") as raw:
        for place in places:
            raw.seek(place)
            raw.write(bytes(64))
    answer = ask(client(path), "overview", file="a.h5", path="/x", points=100)
    low, high = cells(answer)
    assert list(np.flatnonzero(np.isnan(low))) == [3, 57] and len(answer["damaged"]) == 2 and "/x" in answer["damaged"][0]
    expected = np.where(np.isnan(low), np.nan, array.reshape(100, 1000).max(axis=1))
    np.testing.assert_array_equal(high, expected)
    assert "damaged" in ask(client(path), "histogram", 500, file="a.h5", path="/x")["message"]
    assert ask(client(path), "histogram", file="a.h5", path="/x", selection="0:3000", bins=3)["lower"] == [1000] * 3


def test_an_overview_without_time_says_so_and_is_spread_over_the_whole(path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert downsampling.spread(list(range(8))) == [0, 4, 2, 6, 1, 5, 3, 7]
    assert sorted(downsampling.spread(list(range(1000)))) == list(range(1000)) and downsampling.spread([5]) == [5]
    monkeypatch.setattr(downsampling, "BLOCK_VALUES", 3000)
    clock = iter(range(10_000))
    monkeypatch.setattr(Watch, "elapsed", property(lambda self: next(clock)))
    answer = ask(client(path, seconds=50), "overview", file="a.h5", path="/line", points=100)
    read = np.flatnonzero(~np.isnan(cells(answer)[0]))
    assert not answer["is_complete"] and 10 < len(read) < 60 and read[0] < 10 and read[-1] > 90 and np.diff(read).max() < 15


def test_a_client_that_left_ends_its_analysis(path: pathlib.Path) -> None:
    watch = Watch(30)
    watch.leave()
    with hs.open(path) as f, pytest.raises(Gone):
        downsampling.overview(f["line"], (slice(0, 1000),), [10], watch)
    stopped = []
    watch = Watch(0.05)
    with watch.stopping(lambda: stopped.append(1)):
        time.sleep(0.3)
    assert stopped == [1]


def test_histograms_are_those_of_numpy(path: pathlib.Path, values: Any) -> None:
    browser = client(path)
    for name, selection, key in (
        ("line", None, ...),
        ("line", "10:5005", np.s_[10:5005]),
        ("cube", "1", 1),
        ("cube", ":,3:7,::2", np.s_[:, 3:7, ::2]),
        ("image", None, ...),
    ):
        more = {} if selection is None else {"selection": selection}
        answer = ask(browser, "histogram", file="a.h5", path=f"/{name}", bins=37, **more)
        array = values[name][key].astype(float)
        counts, edges = np.histogram(array[np.isfinite(array)], 37)
        assert answer["lower"] == answer["upper"] == counts.tolist() and answer["edges"] == pytest.approx(edges)
        assert answer["is_exact"] and answer["source"] == "values"
    ranged = ask(browser, "histogram", file="a.h5", path="/line", bins=4, range="-1,1")
    assert ranged["lower"] == np.histogram(values["line"], 4, (-1, 1))[0].tolist()
    for query in ({"bins": 0}, {"bins": 10**9}, {"range": "1"}, {"range": "2,1"}, {"range": "a,b"}, {"range": "0,inf"}):
        assert ask(browser, "histogram", 422, file="a.h5", path="/line", **query)["message"]
    late = ask(client(path, seconds=0), "histogram", 503, file="a.h5", path="/line")
    assert "hyperslab index" in late["message"]


@pytest.mark.parametrize("level", ["K", "X"])
def test_histograms_come_from_an_index(tmp_path: pathlib.Path, level: str) -> None:
    path, random = tmp_path / "a.h5", np.random.default_rng(3)
    array = random.normal(size=200_000)
    array[3] = np.nan
    with h5py.File(path, "w") as f:
        f.create_dataset("some/x", data=array, chunks=(65536,), compression="gzip")
    hs.index(path, "/some/x", level=level)
    answer = ask(client(path), "histogram", file="a.h5", path="/some/x", bins=20)
    counts, edges = np.histogram(array[~np.isnan(array)], 20)
    assert answer["source"] == f"index {level} on x" and answer["edges"] == pytest.approx(edges)
    assert (np.array(answer["lower"]) <= counts).all() and (counts <= np.array(answer["upper"])).all()
    assert answer["is_exact"] == (level == "X")
    assert (np.array(answer["upper"]) - answer["lower"]).max() <= 2 * 128 * 4
    exact = ask(client(path), "histogram", file="a.h5", path="/some/x", bins=20, exact=True)
    assert exact["is_exact"] and exact["lower"] == counts.tolist() and exact["source"] == "values"


def test_fields_of_a_table_are_drawn_counted_and_found(path: pathlib.Path, values: Any) -> None:
    browser, energy = client(path), values["line"][:9000]
    answer = ask(browser, "overview", file="a.h5", path="/table", field="energy", points=30)
    for found, wanted in zip(cells(answer), oracle(energy.astype(float), answer["steps"]), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert answer["label"] == "energy"
    counted = ask(browser, "histogram", file="a.h5", path="/table", field="energy", bins=11)
    assert counted["lower"] == np.histogram(energy[np.isfinite(energy)].astype(float), 11)[0].tolist()
    rows = ask(browser, "query", file="a.h5", path="/table", where="energy > 3 && id < 8000", rows=2)
    assert rows["count"] == ((energy > 3) & (np.arange(9000) < 8000)).sum()
    assert ask(browser, "query", file="a.h5", path="/table", rows=2)["count"] == 9000
    assert "id or energy or name" in ask(browser, "overview", 422, file="a.h5", path="/table")["message"]
    assert "no field 'x'" in ask(browser, "histogram", 422, file="a.h5", path="/table", field="x")["message"]
    assert "no fields" in ask(browser, "histogram", 422, file="a.h5", path="/line", field="x")["message"]
    assert ask(browser, "overview", 422, file="a.h5", path="/table", field="name")["message"]


def test_conditions_count_and_read_rows(path: pathlib.Path, values: Any) -> None:
    browser, line = client(path), values["line"]
    answer = ask(browser, "query", file="a.h5", path="/", where="line > 3", rows=5)
    rows = np.flatnonzero(line > 3)
    assert answer["count"] == len(rows) and answer["is_exact"] and "line" in answer["explain"]
    assert answer["columns"][0]["name"] == "_row" and [row[0] for row in answer["rows"]] == rows[:5].tolist()
    assert [row[1] for row in answer["rows"]] == [pytest.approx(value) if np.isfinite(value) else "inf" for value in line[rows[:5]].tolist()]
    whole = ask(browser, "query", file="a.h5", path="/wide", rows=2)
    assert whole["count"] == 10 and whole["rows"] == [[0, str(1 << 60)], [1, str((1 << 60) + 1)]], "JavaScript would round these"
    assert ask(browser, "query", file="a.h5", path="/line", where="line > 3", rows=0)["rows"] == []
    named = ask(browser, "query", file="a.h5", path="/", where="packed > 5", rows=1, column=["packed"])
    assert [column["name"] for column in named["columns"]] == ["packed"]
    for query, status in (({"where": "nothing > 3"}, 404), ({"where": "line >"}, 422), ({"where": "line > 3", "rows": 10**6}, 422)):
        assert ask(browser, "query", status, file="a.h5", path="/", **query)["message"]
    assert "nowhere" in ask(browser, "query", 404, file="a.h5", path="/nowhere", where="x > 1")["message"]


def test_sql_reads_the_shown_files_and_nothing_else(path: pathlib.Path, values: Any, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("google.protobuf")
    browser, line = client(path), values["line"]
    answer = sql(browser, "select count(*) as n from line where line > 3 and not isnan(line)")
    assert answer["columns"] == [{"name": "n", "type": "int64"}] and answer["rows"] == [[int((line > 3).sum())]] and not answer["has_more"]
    assert sql(browser, 'select sum(packed) from "a.h5".packed')["rows"][0][0] == pytest.approx(
        float((values["packed"][values["packed"] != 7] * -0.5 + 10).sum())
    )
    assert sql(browser, "with t as (select 1 as x) select x from t")["rows"] == [[1]]
    first = sql(browser, "select dim_0 from line", rows=3)
    assert first["rows"] == [[0], [1], [2]] and first["has_more"]
    for query, status, said in (
        ("select from", 422, "yntax"),
        ("select * from nowhere", 422, "no table 'nowhere'"),
        ("select nothing from line", 422, "nothing"),
        ("select 1; select 2", 422, "one statement"),
        (" ", 422, "the query is empty"),
        ("select * from read_text('/etc/passwd')", 403, "read_text"),
        ("select * from '/etc/passwd'", 422, "passwd"),
        (f"copy line to '{tmp_path}/out'", 403, "read-only"),
        ("attach '/tmp/x.db'", 403, "read-only"),
        ("set enable_external_access = true", 403, "read-only"),
        ("install httpfs", 403, "read-only"),
        ('select * from "../secret.h5".x', 422, "is shown here"),
    ):
        assert said in sql(browser, query, status)["message"], query
    assert list(tmp_path.iterdir()) == []
    assert sql(browser, "select 1", 404, file="b.h5")["message"] == "no file 'b.h5' is shown here"
    assert browser.post(f"/{TOKEN}/sql", content=b"{").status_code == 422
    assert browser.get(f"/{TOKEN}/sql").status_code in (404, 405)
    late = sql(client(path, seconds=0.5), "select count(*) from range(1000000000000) a", 503)
    assert "longer than 0.5 seconds" in late["message"]


def test_sql_that_reads_without_finding_anything_is_stopped(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("google.protobuf")
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", (1 << 38,), "u1", chunks=(1 << 20,), fillvalue=3)
        f["y"] = np.arange(10)
    browser, started = client(tmp_path / "a.h5", seconds=1), time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        late = [pool.submit(sql, browser, "select count(*) from x where x > 5", 503) for _ in range(3)]
        assert sql(browser, "select sum(y) from y where y > 5")["rows"] == [[30]]
        assert all("longer than 1 seconds" in one.result()["message"] for one in late)
    assert time.monotonic() - started < 10
    assert sql(browser, "select x from x limit 1")["rows"] == [[3]]


def test_sql_follows_a_file_that_is_replaced(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("google.protobuf")
    browser = client(_made(tmp_path / "a.h5", 1))
    assert sql(browser, "select x from x")["rows"] == [[1]] * 5
    _made(tmp_path / "b.h5", 2).replace(tmp_path / "a.h5")
    assert sql(browser, "select x from x")["rows"] == [[2]] * 5


def _made(path: pathlib.Path, value: int) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        f["x"] = np.full(5, value)
    return path


def test_wrong_requests_have_a_status_and_a_message(path: pathlib.Path) -> None:
    browser = client(path)
    for what, query, status in (
        ("overview", {"path": "/text"}, 422),
        ("overview", {"path": "/complex"}, 422),
        ("overview", {"path": "/group"}, 422),
        ("overview", {"path": "/group/empty"}, 422),
        ("overview", {"path": "/cube", "selection": ":,:,:"}, 422),
        ("overview", {"path": "/cube", "selection": "0,0,0"}, 422),
        ("overview", {"path": "/cube", "selection": "0,::2"}, 422),
        ("overview", {"path": "/line", "selection": "5:5"}, 422),
        ("overview", {"path": "/line", "points": 10**6}, 422),
        ("overview", {"path": "/cube", "width": "-1"}, 422),
        ("overview", {"path": "/nowhere"}, 404),
        ("histogram", {"path": "/text"}, 422),
        ("histogram", {"path": "/group/empty"}, 422),
        ("picture", {"name": "cf:nothing"}, 404),
    ):
        assert ask(browser, what, status, file="a.h5", **query)["message"], (what, query)
    assert "file=NAME" in ask(browser, "overview", 422, path="/line")["message"]
    assert ask(browser, "overview", 404, file="../a.h5", path="/line")["message"]
    small = client(path, budget=Budget(1 << 20, 1 << 20))
    assert ask(small, "overview", 413, file="a.h5", path="/line")["message"]


def test_datasets_that_claim_to_be_huge(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        for name, shape, chunks in (("line", (1 << 60,), (1 << 20,)), ("image", (1 << 30, 1 << 30), (1024, 1024)), ("cube", (1 << 20,) * 3, (64, 64, 64))):
            f.create_dataset(name, shape, "u1", chunks=chunks, fillvalue=3)
    browser, started = client(tmp_path / "a.h5", seconds=0.5), time.monotonic()
    for name in ("line", "image", "cube"):
        assert "select less" in ask(browser, "overview", 413, file="a.h5", path=f"/{name}")["message"]
        assert ask(browser, "histogram", 503, file="a.h5", path=f"/{name}")["message"]
        found = ask(browser, "overview", file="a.h5", path=f"/{name}", selection=",".join(["5:105"] + ["7"] * (["line", "image", "cube"].index(name))))
        assert found["low"] == found["high"] == [3.0] * 100
    # More than there is time for: a part of it.
    part = ask(browser, "overview", file="a.h5", path="/image", selection=f":{1 << 18},:{1 << 18}", width=100, height=100)
    assert not part["is_complete"] and 0 < np.isfinite(cells(part)[0]).sum() < 10_000
    assert time.monotonic() - started < 20


def test_the_page_can_say_how_many_values_it_draws(path: pathlib.Path) -> None:
    browser = client(path)
    refused = ask(browser, "data", 413, file="a.h5", path="/line", max_values=1000)
    assert "300,001 values" in refused["message"] and "Overview" in refused["message"]
    assert len(ask(browser, "data", file="a.h5", path="/line", selection="0:1000", max_values=1000)) == 1000


def test_dimensions_have_the_names_and_coordinates_of_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "named.nc"
    with netCDF4.Dataset(path, "w") as f:
        for name, count in (("time", 3), ("lat", 4), ("bare", 5), ("wild", 2)):
            f.createDimension(name, count)
        f.createVariable("time", "i4", ("time",))[:] = [0, 6, 12]
        f["time"].units = "hours since 2026-01-01"
        f.createVariable("lat", "f4", ("lat",))[:] = [60, 40, 20, 0]
        f["lat"].units, f["lat"].long_name = "degrees_north", "latitude"
        f.createVariable("wild", "f4", ("wild",))[:] = [3, np.nan]
        f.createVariable("t", "f4", ("time", "lat", "bare", "wild"))
    with h5py.File(tmp_path / "plain.h5", "w") as f:
        f["x"], f["scalar"] = np.zeros((2, 3)), 1
    browser = client(tmp_path)
    found = ask(browser, "dimensions", file="named.nc", path="/t")
    assert found == [
        {"size": 3, "name": "time", "label": "time", "first": "2026-01-01", "last": "2026-01-01 12:00:00"},
        {"size": 4, "name": "lat", "label": "latitude [degrees_north]", "first": "60", "last": "0"},
        {"size": 5, "name": "bare", "label": "bare", "first": None, "last": None},
        {"size": 2, "name": "wild", "label": "wild", "first": None, "last": None},
    ]
    assert ask(browser, "dimensions", file="plain.h5", path="/x")[1] == {"size": 3, "name": None, "label": None, "first": None, "last": None}
    assert ask(browser, "dimensions", file="plain.h5", path="/scalar") == ask(browser, "dimensions", file="plain.h5", path="/") == []
    ask(browser, "dimensions", 404, file="plain.h5", path="/nothing")


def test_analyses_of_any_object_are_answers_or_refusals(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "all.h5"
    test_viewer_answers.write_everything(path)
    browser, answered = client(path), 0
    for name in test_viewer_answers.objects(path):
        for what, query in (("dimensions", {}), ("overview", {}), ("histogram", {}), ("query", {"where": ""})):
            answer = browser.get(f"/{TOKEN}/{what}", params={"file": "all.h5", "path": name, **query})
            assert answer.status_code in (200, 404, 422), (what, name, answer.text)
            answered += answer.status_code == 200
    assert answered > 60
    scalar = ask(browser, "histogram", file="all.h5", path="/scalar", bins=3)
    assert scalar["lower"] == [0, 1, 0] and scalar["edges"] == pytest.approx([6.5, 6.5 + 1 / 3, 6.5 + 2 / 3, 7.5])


def test_times_before_the_first_year_and_factors_that_are_text(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "odd.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", 3)
        f.createVariable("time", "f8", ("time",))[:] = [15.5, 45.25, 900_000]
        # Python and matplotlib begin with the year 1.
        f["time"].units, f["time"].calendar = "days since 0000-01-01", "proleptic_gregorian"
        f.createVariable("rain", "f4", ("time",))[:] = [1, 2, 3]
        f.createDimension("early", 3)
        f.createVariable("early", "f8", ("early",))[:] = [0, 30, 60]
        f["early"].units, f["early"].calendar = "days since 0001-01-01", "proleptic_gregorian"  # a cell begins half of a step before it
        f.createVariable("snow", "f4", ("time", "early"))[:] = 1
        f.createVariable("bad", "i2", ("time",))[:] = [1, 2, 3]
        f["bad"].add_offset = "c"
    browser = client(path)
    rows = ask(browser, "query", file="odd.nc", path="/time", where="", rows=5)["rows"]
    assert [row[-1] for row in rows] == ["0000-01-16 12:00:00", "0000-02-15 06:00:00", "2464-02-12 00:00:00"]
    assert ask(browser, "overview", file="odd.nc", path="/rain")["axes"][0]["label"] == "time"
    for what in ("overview", "histogram"):
        assert "add_offset" in ask(browser, what, 422, file="odd.nc", path="/bad")["message"]
    with hs.open(path) as f:
        assert "0000-01-16 12:00:00" in f.table("/time")._repr_html_()
        for name in ("rain", "snow"):
            f[name].plot(str(tmp_path / f"{name}.png"))
    done = subprocess.run([sys.executable, "-m", "hyperslab", "head", path, "/time", "--json"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.splitlines()[0] == '{"time": "0000-01-16 12:00:00"}', done


def test_histograms_from_the_smallest_double_to_the_largest(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "huge.h5", "w") as f:
        f["x"] = np.array([-1.7976931348623157e308, -1, 1, 2, 1.7976931348623157e308])
    browser = client(tmp_path / "huge.h5")
    for query in ({}, {"range": "-1.7e308,1.7e308"}):
        found = ask(browser, "histogram", file="huge.h5", path="/x", bins=4, **query)
        assert found["lower"] == ([1, 1, 2, 1] if not query else [0, 1, 2, 0]) and found["edges"] == sorted(found["edges"]) and found["edges"][2] == 0
