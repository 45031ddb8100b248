"""The viewer as an extension of a real Jupyter server, next to jupyterlab-h5web, whose requests it answers."""

from __future__ import annotations

import http.cookiejar
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
import pytest
from h5grove.content import get_content_from_file
from h5grove.encoders import encode

TOKEN = "a-token-for-tests"
VALUES = np.random.default_rng(2).normal(size=2_000_000)
CONFIG = {"ServerApp": {"jpserver_extensions": {"hyperslab.viewer.jupyter": True, "jupyterlab_h5web": True}}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("notebooks")
    with h5py.File(folder / "run.h5", "w") as f:
        f["x"] = VALUES
        f["group/table"] = np.array([(1, 2.5)], [("a", "i4"), ("b", "f8")])
        f["x"].attrs["units"] = "m"
    with h5py.File(folder.parent / "secret.h5", "w") as f:
        f["x"] = [1]
    return folder


@pytest.fixture(scope="module")
def address(folder: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = tmp_path_factory.mktemp("settings")
    (settings / "jupyter_server_config.json").write_text(json.dumps(CONFIG))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    words = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        f"--IdentityProvider.token={TOKEN}",
        f"--ServerApp.root_dir={folder}",
        "--ServerApp.base_url=/some/user/",
    ]
    pages = tmp_path_factory.mktemp("pages")
    (pages / "index.html").write_text("<title>pages</title>")
    environment = {**os.environ, **dict.fromkeys(("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"), str(settings))}
    environment["HYPERSLAB_VIEWER_PAGES"] = str(pages)
    with (settings / "log").open("w") as log:
        server = subprocess.Popen([sys.executable, "-m", "jupyter_server", *words], stderr=log, stdout=log, env=environment)
    found = f"http://127.0.0.1:{port}/some/user/"
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{found}api", timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
    yield found
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0
    said = (settings / "log").read_text()
    assert "hyperslab shows the files" in said and "viewer/jupyter.py" not in said and "leaked" not in said, said


def get(address: str, what: str, **query: Any) -> bytes:
    request = urllib.request.Request(f"{address}{what}?{urllib.parse.urlencode(query)}", headers={"Authorization": f"token {TOKEN}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        content: bytes = answer.read()
        return content


def status(address: str, what: str, **query: Any) -> int:
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(address, what, **query)
    return caught.value.code


@pytest.mark.parametrize("end", ["", "/"])
def test_jupyterlab_h5web_gets_the_answers_of_h5grove(address: str, folder: pathlib.Path, end: str) -> None:
    path = folder / "run.h5"
    for name in ("/", "/x", "/group", "/group/table"):
        with get_content_from_file(path, name, lambda code, message: KeyError(message)) as content:
            assert json.loads(get(address, f"h5web/meta{end}", file="run.h5", path=name)) == json.loads(encode(content.metadata()).content)
    assert get(address, f"h5web/data{end}", file="run.h5", path="/x", selection="5:9", format="bin") == VALUES[5:9].tobytes()
    assert json.loads(get(address, f"h5web/attr{end}", file="run.h5", path="/x")) == {"units": "m"}
    assert json.loads(get(address, f"h5web/paths{end}", file="run.h5", path="/")) == ["/", "/group", "/group/table", "/x"]
    # An answer of ours: jupyterlab-h5web opens absolute paths.
    assert status(address, f"h5web/meta{end}", file=str(folder.parent / "secret.h5"), path="/") == 404
    assert status(address, f"h5web/meta{end}", file="../secret.h5", path="/") == 404


def test_the_viewer_is_mounted_and_analyses_work(address: str) -> None:
    assert json.loads(get(address, "hyperslab/files")) == ["run.h5"]
    found = json.loads(get(address, "hyperslab/overview", file="run.h5", path="/x", points=100))
    np.testing.assert_array_equal(found["high"], VALUES.reshape(100, -1).max(axis=1))
    assert json.loads(get(address, "hyperslab/query", file="run.h5", path="/", where="x > 3"))["count"] == (VALUES > 3).sum()
    body = json.dumps({"file": "run.h5", "query": "select max(x) from x"}).encode()
    request = urllib.request.Request(f"{address}hyperslab/sql", body, headers={"Authorization": f"token {TOKEN}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.loads(answer.read())["rows"] == [[pytest.approx(VALUES.max())]]
    assert status(address, "hyperslab/data", file="../secret.h5", path="/x") == 404
    assert status(address, "hyperslab/overview", file="run.h5", path="/group") == 422


def test_without_pages_the_extension_refuses(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hyperslab as hs
    from hyperslab.viewer.jupyter import _load_jupyter_server_extension

    monkeypatch.setenv("HYPERSLAB_VIEWER_PAGES", str(tmp_path))
    with pytest.raises(hs.NotFoundError, match="the pages of the viewer are not built: run `make viewer`"):
        _load_jupyter_server_extension(object())  # type: ignore[arg-type]


def test_each_request_needs_jupyters_login(address: str) -> None:
    for what in ("hyperslab/", "hyperslab/files", "hyperslab/data?file=run.h5&path=/x", "h5web/meta?file=run.h5&path=/"):
        with urllib.request.urlopen(address + what, timeout=60) as answer:
            assert "/login?" in answer.url and b"<title>Jupyter Server" in answer.read()


def test_a_query_of_a_browser_needs_the_cookie_in_a_header(address: str) -> None:
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    browser.open(f"{address}hyperslab/files?token={TOKEN}", timeout=60).close()
    body = json.dumps({"file": "run.h5", "query": "select 1 as one"}).encode()
    with pytest.raises(urllib.error.HTTPError) as caught:
        browser.open(urllib.request.Request(f"{address}hyperslab/sql", body), timeout=60)
    assert caught.value.code == 403
    browser.open(f"{address}login", timeout=60).close()
    (cookie,) = [one.value for one in jar if one.name == "_xsrf"]
    with browser.open(urllib.request.Request(f"{address}hyperslab/sql", body, headers={"X-XSRFToken": str(cookie)}), timeout=60) as answer:
        assert json.loads(answer.read())["rows"] == [[1]]


def test_a_client_that_vanishes_leaves_the_server_running(address: str) -> None:
    parts = urllib.parse.urlsplit(address)
    query = urllib.parse.urlencode({"file": "run.h5", "path": "/x", "format": "bin", "token": TOKEN})
    for _ in range(3):
        with socket.create_connection((parts.hostname, parts.port)) as client:
            client.sendall(f"GET {parts.path}hyperslab/data?{query} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
            client.recv(100)
    assert json.loads(get(address, "hyperslab/data", file="run.h5", path="/x", selection="3")) == VALUES[3]
