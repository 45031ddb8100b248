"""The command `hyperslab view`: a real server, with real clients, some of which go away."""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.viewer import Shown

pytest.importorskip("uvicorn")
VALUES = np.random.default_rng(1).random((400, 50_000), "f4")
PART = VALUES[:25]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("server") / "a.h5"
    with h5py.File(path, "w") as f:
        f["x"], f["part"] = VALUES, PART
        damaged = f.create_dataset("damaged", data=VALUES[:10], chunks=(1, 50_000), compression="gzip")
        place = damaged.id.get_chunk_info(3)
    with open(path, "rb+") as raw:
        raw.seek(place.byte_offset)
        raw.write(bytes(64))
    return path


@pytest.fixture(scope="module", autouse=True)
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Pages for the command, which npm may not have built."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "index.html").write_text("<title>pages</title>")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYPERSLAB_VIEWER_PAGES", str(folder))
        yield


def started(*words: object) -> tuple[subprocess.Popen[str], str]:
    """A server, and its address."""
    command = [sys.executable, "-m", "hyperslab", "view", "--no-browser", *map(str, words)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    assert server.stdout is not None
    line = server.stdout.readline()
    if not line:
        raise AssertionError(server.communicate()[1])
    return server, line.split()[0]


@pytest.fixture(scope="module")
def address(path: pathlib.Path, pages: None) -> Iterator[str]:
    server, address = started(path)
    yield address
    server.send_signal(signal.SIGINT)
    _, errors = server.communicate(timeout=20)
    assert server.returncode == 130 and errors == ""


def get(address: str, what: str, context: ssl.SSLContext | None = None, **query: str) -> bytes:
    with urllib.request.urlopen(f"{address}{what}?{urllib.parse.urlencode(query)}", timeout=60, context=context) as answer:
        content: bytes = answer.read()
        return content


def test_fifty_clients_at_once_get_their_values(address: str) -> None:
    def row(number: int) -> bool:
        content = get(address, "data", file="a.h5", path="/x", selection=f"{number}:{number + 20}", format="bin")
        return content == VALUES[number : number + 20].tobytes()

    with ThreadPoolExecutor(50) as pool:
        assert all(pool.map(row, range(0, 350, 7)))


def test_small_answers_do_not_wait_for_acknowledgments(address: str) -> None:
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port)
    seconds = []
    for number in range(20):
        since = time.perf_counter()
        connection.request("GET", f"{parts.path}data?file=a.h5&path=/x&selection={number},7&format=bin")
        assert connection.getresponse().read() == VALUES[number, 7].tobytes()
        seconds.append(time.perf_counter() - since)
    assert sorted(seconds)[10] < 0.035, seconds
    connection.close()


def test_clients_that_vanish_and_requests_that_fail_leave_the_server_running(address: str) -> None:
    parts = urllib.parse.urlsplit(address)
    query = urllib.parse.urlencode({"file": "a.h5", "path": "/x", "format": "bin"})
    for _ in range(5):
        with socket.create_connection((parts.hostname, parts.port)) as client:
            # 80 MB are asked for, and a little is taken.
            client.sendall(f"GET {parts.path}data?{query} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
            client.recv(1000)
            # A reset: the server writes more before it hears of it, and says nothing on its terminal.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with socket.create_connection((parts.hostname, parts.port)) as client:
        client.sendall(b"nonsense\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 400")
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(address, "data", file="a.h5", path="/damaged")
    assert caught.value.code == 500 and "damaged" in json.loads(caught.value.read())["message"]
    assert get(address, "data", file="a.h5", path="/x", selection="3,5:7", format="bin") == VALUES[3, 5:7].tobytes()


def test_clients_that_vanish_end_their_analyses(address: str) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("google.protobuf")
    parts = urllib.parse.urlsplit(address)
    body = json.dumps({"file": "a.h5", "query": "select count(*) from range(1000000000000) a"}).encode()
    clients = [socket.create_connection((parts.hostname, parts.port)) for _ in range(6)]
    for client in clients:
        client.sendall(f"POST {parts.path}sql HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    time.sleep(0.5)  # four of them run, two wait
    for client in clients:
        client.close()
    started = time.monotonic()
    assert json.loads(get(address, "query", file="a.h5", path="/x", where="x < 0.5"))["count"] == (VALUES < 0.5).sum()
    assert time.monotonic() - started < 10, "the queries of clients that are gone would run for 30 seconds"


def test_fifty_analyses_at_once_stay_within_the_memory(path: pathlib.Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("google.protobuf")
    server, address = started(path, "--seconds", "60")
    try:

        def one(number: int) -> bool:
            kind = number % 4
            if kind == 0:
                found = json.loads(get(address, "overview", file="a.h5", path="/part", width="100", height="100"))
                return max(found["high"]) == pytest.approx(float(PART.max())) and found["is_complete"]
            if kind == 1:
                return sum(json.loads(get(address, "histogram", file="a.h5", path="/part"))["lower"]) == PART.size
            if kind == 2:
                return bool(json.loads(get(address, "query", file="a.h5", path="/", where="part > 0.9999"))["count"] == (PART > 0.9999).sum())
            body = json.dumps({"file": "a.h5", "query": f"select count(*) from part where dim_0 = {number % len(PART)}"}).encode()
            with urllib.request.urlopen(urllib.request.Request(f"{address}sql", body), timeout=60) as answer:
                return bool(json.loads(answer.read())["rows"] == [[PART.shape[1]]])

        one(3)
        before = peak_bytes(server.pid)
        with ThreadPoolExecutor(50) as pool:
            assert all(pool.map(one, range(50)))
        # Four at once, each with at most 64 MB of values.
        assert peak_bytes(server.pid) - before < 500 << 20
    finally:
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=20)
    assert server.returncode == 130 and errors == ""


def peak_bytes(process: int) -> int:
    """The most memory that a process has used."""
    try:
        lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    except FileNotFoundError:
        pytest.skip("only Linux tells the peak of another process")
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


@pytest.mark.slow
def test_other_machines_only_with_a_certificate(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for words, said in (
        (["--host", "0.0.0.0"], "give --certificate and --key"),
        (["--certificate", "a.pem"], "give --certificate and --key together"),
        (["--port", "1", "--host", "127.0.0.2"], "give --certificate and --key"),
    ):
        done = subprocess.run([sys.executable, "-m", "hyperslab", "view", path, *words], capture_output=True, text=True)
        assert done.returncode == 1 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    pair = [tmp_path / "c.pem", tmp_path / "k.pem"]
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.2"]
    try:
        subprocess.run([*words, "-out", pair[0], "-keyout", pair[1]], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl makes the certificate")
    server, address = started(path, "--host", "127.0.0.2", "--certificate", pair[0], "--key", pair[1])
    try:
        assert address.startswith("https://127.0.0.2:")
        assert json.loads(get(address, "files", ssl.create_default_context(cafile=str(pair[0])))) == ["a.h5"]
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 143


def test_without_pages_the_command_refuses_and_the_doctor_says_it(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    without = {**os.environ, "HYPERSLAB_VIEWER_PAGES": str(tmp_path), "HYPERSLAB_PROFILE": "", "COLUMNS": "300"}
    command = [sys.executable, "-m", "hyperslab"]
    done = subprocess.run([*command, "view", "--no-browser", path], capture_output=True, text=True, env=without, timeout=60)
    assert done.returncode == 1 and not done.stdout and done.stderr.count("\n") == 1, done
    assert "the pages of the viewer are not built: run `make viewer`" in done.stderr and str(tmp_path) in done.stderr
    for environment, state in ((without, "broken"), (dict(os.environ), "ok")):
        report = subprocess.run([*command, "doctor", "--json"], capture_output=True, text=True, env={**environment, "HYPERSLAB_PROFILE": ""})
        (check,) = [check for check in json.loads(report.stdout) if (check["topic"], check["name"]) == ("extras", "viewer")]
        assert check["state"] == state and ("make viewer" in check["advice"]) == (state == "broken"), check
    assert hs.viewer.pages.pages() == pathlib.Path(os.environ["HYPERSLAB_VIEWER_PAGES"])


@pytest.mark.slow
def test_what_cannot_be_shown_is_one_line(tmp_path: pathlib.Path) -> None:
    (tmp_path / "notes.txt").write_text("no data")
    for words, status, said in (
        ([tmp_path / "none.h5"], 1, "none.h5"),
        ([tmp_path / "notes.txt"], 1, "not an HDF5 or netCDF file: this is text"),
        (["http://127.0.0.1:1/a.h5"], 1, "Connection refused"),
        (["ftp://example.org/a.h5"], 1, "addresses of ftp:// are not read"),
        ([tmp_path, "--port", "99999"], 2, "65535"),
    ):
        done = subprocess.run([sys.executable, "-m", "hyperslab", "view", *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == status and said in done.stderr and "Traceback" not in done.stderr and not done.stdout, (words, done)
        assert status == 2 or done.stderr.count("\n") == 1, done.stderr


def test_files_that_cannot_be_read_are_warnings_if_others_can(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "notes.txt").write_text("no data")
    (tmp_path / "empty").mkdir()
    assert Shown([path]).problems() == []
    assert [problem.partition(" (")[0] for problem in Shown([path, tmp_path / "notes.txt"]).problems()] == ["not an HDF5 or netCDF file: this is text"]
    server, address = started(path, tmp_path / "notes.txt")
    try:
        assert json.loads(get(address, "files")) == ["a.h5", "notes.txt"]
    finally:
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=20)
    assert server.returncode == 130 and errors.startswith("hyperslab: warning: not an HDF5 or netCDF file") and errors.count("\n") == 1
    assert Shown([tmp_path / "empty"]).problems() == ["there is no file of HDF5 or netCDF yet; the page shows those that come later"]


def test_a_container_of_the_connector_is_shown_as_a_file(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "small.h5", "w") as f:
        f["group/x"] = [1.5, 2.5]
    hs.convert(tmp_path / "small.h5", tmp_path / "made", form="folder")
    assert (tmp_path / "made").is_dir() and Shown([tmp_path / "made"]).names() == ["made"]
    server, address = started(tmp_path / "made")
    try:
        assert json.loads(get(address, "data", file="made", path="/group/x")) == [1.5, 2.5]
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 143


def test_two_files_of_one_name_are_refused(tmp_path: pathlib.Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.h5").write_bytes(b"")
    with pytest.raises(hs.InvalidInputError, match="two of the files are called 'same.h5'"):
        Shown([tmp_path / "a" / "same.h5", tmp_path / "b" / "same.h5"])
