"""The viewer shows files at addresses: plain HTTP and an object store, read by ranges."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
from range_server import Server, serving

starlette_testclient = pytest.importorskip("starlette.testclient")

from hyperslab.viewer import Shown, application  # noqa: E402

VALUES = np.random.default_rng(4).normal(size=(400, 5000))


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[Server]:
    with h5py.File(tmp_path / "run.h5", "w") as f:
        f.create_dataset("x", data=VALUES, chunks=(10, 5000))
        f["x"].attrs["units"] = "m"
    with netCDF4.Dataset(tmp_path / "map.nc", "w", format="NETCDF3_CLASSIC") as f:
        f.createDimension("time", 12)
        f.createVariable("t", "f4", ("time",))[:] = np.arange(12)
    with serving() as made:
        for name in ("run.h5", "map.nc"):
            made.put(f"bucket/{name}", (tmp_path / name).read_bytes())
        yield made


def client(*places: str) -> Any:
    app = application(Shown(places), "token", hosts=("testserver",))
    return starlette_testclient.TestClient(app, base_url="http://testserver", raise_server_exceptions=False)


def ask(browser: Any, what: str, status: int = 200, **query: Any) -> Any:
    answer = browser.get(f"/token/{what}", params=query)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_files_on_a_web_server(server: Server) -> None:
    browser = client(f"{server.url}/bucket/run.h5?signature=secret", f"{server.url}/bucket/map.nc")
    assert ask(browser, "files") == ["run.h5", "map.nc"]  # in the order in which they were named
    assert [child["name"] for child in ask(browser, "meta", file="run.h5", path="/")["children"]] == ["x"]
    asked = sum(one.range[1] - one.range[0] for one in server.asked if one.range)
    assert ask(browser, "data", file="run.h5", path="/x", selection="7,3:5") == VALUES[7, 3:5].tolist()
    assert sum(one.range[1] - one.range[0] for one in server.asked if one.range) - asked < VALUES.nbytes / 4, "only what is shown is read"
    found = ask(browser, "overview", file="run.h5", path="/x", selection=":,17", points=10)
    assert found["high"] == VALUES[:, 17].reshape(10, -1).max(axis=1).tolist() and found["is_complete"]
    assert ask(browser, "query", file="run.h5", path="/", where="x > 3")["count"] == (VALUES > 3).sum()
    assert ask(browser, "overview", file="map.nc", path="/t")["axes"][0]["label"] == "time"
    assert ask(browser, "data", file="map.nc", path="/t") == list(range(12))


def test_a_file_that_was_replaced_on_the_server(server: Server, tmp_path: pathlib.Path) -> None:
    browser = client(f"{server.url}/bucket/run.h5")
    assert ask(browser, "data", file="run.h5", path="/x", selection="0,0") == VALUES[0, 0]
    with h5py.File(tmp_path / "new.h5", "w") as f:
        f.create_dataset("x", data=VALUES + 1, chunks=(10, 5000))
        f["more"] = np.zeros(1000)
    server.put("bucket/run.h5", (tmp_path / "new.h5").read_bytes())
    refused = ask(browser, "data", 409, file="run.h5", path="/x", selection="399,0")
    assert "changed" in refused["message"]
    assert ask(browser, "data", file="run.h5", path="/x", selection="399,0") == VALUES[399, 0] + 1
    del server.objects["bucket/run.h5"]
    assert browser.get("/token/data", params={"file": "run.h5", "path": "/x", "selection": "200,0"}).status_code in (404, 409, 500)


def test_files_of_a_bucket_by_a_glob(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ENDPOINT": server.url, "ALLOW_HTTP": "true", "SKIP_SIGNATURE": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    browser = client("s3://bucket/*.h5")
    assert ask(browser, "files") == ["run.h5"]
    assert ask(browser, "attr", file="run.h5", path="/x") == {"units": "m"}


def test_addresses_that_lead_nowhere(server: Server, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ENDPOINT": server.url, "ALLOW_HTTP": "true", "SKIP_SIGNATURE": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    browser = client(f"{server.url}/bucket/none.h5")
    assert "none.h5" in ask(browser, "meta", 404, file="none.h5", path="/")["message"]
    server.put("bucket/none.h5", b"no data" * 100)
    assert ask(browser, "meta", 422, file="none.h5", path="/")["message"]
    with pytest.raises(hs.NotFoundError, match="none"):
        Shown(["s3://bucket/none*.h6"])
    with pytest.raises(hs.InvalidInputError, match="two of the files are called 'run.h5'"):
        Shown([f"{server.url}/bucket/run.h5", tmp_path / "run.h5"])
