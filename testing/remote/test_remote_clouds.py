"""Files in Google's and Azure's stores. Google's is the tests' own server with its XML interface; Azure's is Azurite, which
`make test-stores` installs and names by HYPERSLAB_AZURITE."""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import h5py
import hyperslab as hs
import numpy as np
import pytest
from range_server import serving

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples/data").glob("*.nc"))
AZURITE = os.environ.get("HYPERSLAB_AZURITE")
#: The account of all emulators of Azure, and its key, which Microsoft's documentation names.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VERSION = "2021-08-06"
LARGE = np.random.default_rng(2701).random(5 << 20)  # 40 MiB: three parts


class Cloud(Protocol):
    """A bucket of a store, which is empty at first."""

    options: dict[str, Any]
    #: Options with a wrong key, or `None` if the store does not look at keys.
    wrong: dict[str, Any] | None

    def address(self, name: str) -> str: ...

    def put(self, name: str, content: bytes) -> None: ...

    def names(self) -> list[str]:
        """What the bucket has, also of uploads that were not completed."""
        ...


class Google:
    wrong = None

    def __init__(self, server: Any) -> None:
        key = {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        self._server, self.options = server, server.google_options(google_service_account_key=json.dumps(key))

    def address(self, name: str) -> str:
        return f"gs://bucket/{name}"

    def put(self, name: str, content: bytes) -> None:
        self._server.put(f"bucket/{name}", content)

    def slow_down(self) -> None:
        """Each request waits."""
        self._server.latency_seconds = 0.5

    def names(self) -> list[str]:
        return sorted([name.removeprefix("bucket/") for name in self._server.objects] + [f"upload {number}" for number in self._server.uploads])


class Azure:
    def __init__(self, port: int, container: str) -> None:
        self._url, self._container = f"http://127.0.0.1:{port}/{ACCOUNT}", container
        self.options = {"account_name": ACCOUNT, "account_key": KEY, "endpoint": self._url, "allow_http": True}
        self.wrong = {**self.options, "account_key": base64.b64encode(b"a wrong key").decode()}
        self._ask("PUT", "", {"restype": "container"})

    def address(self, name: str) -> str:
        return f"az://{self._container}/{name}"

    def put(self, name: str, content: bytes) -> None:
        self._ask("PUT", f"/{urllib.parse.quote(name)}", {}, content, {"x-ms-blob-type": "BlockBlob"})

    def names(self) -> list[str]:
        answer = self._ask("GET", "", {"comp": "list", "include": "uncommittedblobs", "restype": "container"})
        return sorted(urllib.parse.unquote(name) for name in re.findall("<Name>(.*?)</Name>", answer.decode()))

    def _ask(self, method: str, path: str, query: dict[str, str], content: bytes = b"", more: dict[str, str] | None = None) -> bytes:
        """A request that is signed with the account's key:
        https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key."""
        headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": VERSION, **(more or {})}
        signed_headers = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        resource = f"/{ACCOUNT}/{ACCOUNT}/{self._container}{path}" + "".join(f"\n{name}:{query[name]}" for name in sorted(query))
        kind = "application/octet-stream" if content else ""
        to_sign = f"{method}\n\n\n{len(content) or ''}\n\n{kind}\n\n\n\n\n\n\n{signed_headers}{resource}"
        digest = base64.b64encode(hmac.new(base64.b64decode(KEY), to_sign.encode(), hashlib.sha256).digest()).decode()
        headers |= {"Authorization": f"SharedKey {ACCOUNT}:{digest}", "Content-Length": str(len(content))}
        if kind:
            headers["Content-Type"] = kind
        request = urllib.request.Request(f"{self._url}/{self._container}{path}?{urllib.parse.urlencode(query)}", content or None, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return bytes(answer.read())


@pytest.fixture(scope="module")
def azurite() -> Iterator[int]:
    if AZURITE is None:
        pytest.skip("make test-stores starts Azurite")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    main = pathlib.Path(AZURITE) / "node_modules/azurite/dist/src/blob/main.js"
    arguments = ["node", str(main), "--inMemoryPersistence", "--blobPort", str(port), "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL) as process:
        for _ in range(300):
            assert process.poll() is None, "Azurite has ended"
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
        process.terminate()


@pytest.fixture(params=["google", "azure"])
def cloud(request: pytest.FixtureRequest) -> Iterator[Cloud]:
    if request.param == "google":
        with serving() as server:
            yield Google(server)
    else:
        yield Azure(request.getfixturevalue("azurite"), f"test{time.time_ns()}")


def opened(cloud: Cloud, name: str) -> hs.File:
    return hs.open(cloud.address(name), storage_options=cloud.options)


def test_files_are_as_local_ones(cloud: Cloud) -> None:
    for path in EXAMPLES:
        cloud.put(f"data/{path.name}", path.read_bytes())
        assert hs.diff(path, opened(cloud, f"data/{path.name}")).equal, path
    for name in ("first", "second"):
        cloud.put(f"set/{name} run.nc", (ROOT / "examples/data/atlantic_profiles.nc").read_bytes())
    files = hs.open(cloud.address("set/*.nc"), storage_options=cloud.options)
    table = opened(cloud, "data/atlantic_profiles.nc").table("/", "theta > 20")
    assert 0 < table.count() == hs.open(ROOT / "examples/data/atlantic_profiles.nc").table("/", "theta > 20").count()
    assert files.table("/", "theta > 20").count() == 2 * table.count()
    assert hs.sql("select count(*) from profiles where theta > 20", profiles=opened(cloud, "data/atlantic_profiles.nc").table("/")).fetchall() == [
        (table.count(),)
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("values", [np.arange(1000.0), LARGE], ids=["one request", "parts"])
def test_an_object_appears_whole_and_is_replaced_or_kept(cloud: Cloud, values: Any, tmp_path: pathlib.Path) -> None:
    for mode in ("x", "w", "w"):
        with hs.create(cloud.address("run.h5"), mode, storage_options=cloud.options) as f:
            f["x"] = values
            assert mode == "w" or cloud.names() == []
        np.testing.assert_array_equal(opened(cloud, "run.h5")["x"][:], values)
    with pytest.raises(hs.ConflictError, match="an object of this name already"), hs.create(cloud.address("run.h5"), "x", storage_options=cloud.options) as f:
        f["x"] = values + 1
    with pytest.raises(ZeroDivisionError), hs.create(cloud.address("other.h5"), storage_options=cloud.options) as f:
        f["x"] = values
        1 / 0  # noqa: B018
    assert cloud.names() == ["run.h5"]
    np.testing.assert_array_equal(opened(cloud, "run.h5")["x"][:], values)


@pytest.mark.parametrize("values", [np.arange(1000.0), LARGE], ids=["one request", "parts"])
def test_of_several_writers_of_one_name_one_succeeds(cloud: Cloud, values: Any) -> None:
    ready = threading.Barrier(4)

    def write(number: int) -> int | None:
        try:
            with hs.create(cloud.address("run.h5"), "x", storage_options=cloud.options) as f:
                f["x"] = values + number
                ready.wait()
        except hs.ConflictError:
            return None
        return number

    with ThreadPoolExecutor(4) as pool:
        written = [number for number in pool.map(write, range(4)) if number is not None]
    assert len(written) == 1 and cloud.names() == ["run.h5"]
    np.testing.assert_array_equal(opened(cloud, "run.h5")["x"][:], values + written[0])


def test_a_replaced_object_is_a_conflict_and_a_missing_one_is_not_found(cloud: Cloud) -> None:
    for add in (0, 1):
        with hs.create(cloud.address("run.h5"), "w", storage_options=cloud.options) as f:
            f["x"] = LARGE + add
        if add == 0:
            first = opened(cloud, "run.h5")
            kept = pickle.dumps(first)
    with pytest.raises(hs.ConflictError, match="has changed since it was opened"):
        first["x"][:]
    with pytest.raises(hs.ConflictError):
        pickle.loads(kept)["x"][:]
    with pytest.raises(hs.NotFoundError):
        opened(cloud, "none.h5")


def test_keys_are_never_printed(cloud: Cloud) -> None:
    if cloud.wrong is None:
        pytest.skip("this server looks at no keys")
    with hs.create(cloud.address("run.h5"), storage_options=cloud.options) as f:
        f["x"] = [1]
    with pytest.raises(hs.IoError) as refused:
        hs.open(cloud.address("run.h5"), storage_options=cloud.wrong)
    for text in (str(refused.value), repr(opened(cloud, "run.h5")), str(opened(cloud, "run.h5").table("/").explain())):
        assert KEY not in text and cloud.wrong["account_key"] not in text


def write_task(plan: hs.WritePlan, number: int) -> bytes:
    with plan.task(number) as task:
        mine = np.s_[number * len(LARGE) : (number + 1) * len(LARGE)]
        x = task.create_dataset("group/x", (3 * len(LARGE),), "f8", region=mine)
        x[mine] = LARGE + number
        rows = task.create_dataset("rows", (0,), "i4", rows=True)
        rows.append([number] * (number + 1))
        return task.finish()


@pytest.mark.sampled(8)
def test_many_writers_make_a_container_that_is_fused_and_vacuumed(cloud: Cloud, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Credentials do not travel with plans, and all other options do.
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", KEY)
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", cloud.options.get("google_service_account_key", ""))
    plan = hs.WritePlan(cloud.address("run/out.h5"), storage_options=cloud.options)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        fragments = pool.starmap(write_task, [(plan, number) for number in range(3)])
    with pytest.raises(hs.NotFoundError):
        opened(cloud, "run/out.h5")
    plan.commit(fragments)
    expected = np.concatenate([LARGE + number for number in range(3)])
    np.testing.assert_array_equal(opened(cloud, "run/out.h5")["group/x"][:], expected)
    assert opened(cloud, "run/out.h5")["rows"][:].tolist() == [0, 1, 1, 2, 2, 2]

    late = hs.WritePlan(cloud.address("run/out.h5"), "w", storage_options=cloud.options)
    first = hs.WritePlan(cloud.address("run/out.h5"), "w", storage_options=cloud.options)
    theirs = [write_task(late, 0)]
    first.commit([write_task(first, 1)])
    with pytest.raises(hs.ConflictError):
        late.commit(theirs)
    late.abort()
    with pytest.raises(hs.ConflictError):
        hs.WritePlan(cloud.address("run/out.h5"), storage_options=cloud.options)
    np.testing.assert_array_equal(opened(cloud, "run/out.h5")["group/x"][len(LARGE) : 2 * len(LARGE)], LARGE + 1)

    hs.fuse(cloud.address("run/out.h5"), cloud.address("one.h5"), storage_options=cloud.options)
    hs.fuse(cloud.address("run/out.h5"), tmp_path / "one.h5", storage_options=cloud.options)
    assert hs.diff(tmp_path / "one.h5", opened(cloud, "one.h5")).equal
    with h5py.File(tmp_path / "one.h5") as f:
        np.testing.assert_array_equal(f["group/x"][len(LARGE) : 2 * len(LARGE)], LARGE + 1)
    hs.vacuum(cloud.address("run/out.h5"), storage_options=cloud.options, hours=0)
    kept = [name for name in cloud.names() if name.startswith("run/out.h5.d/")]
    assert kept and all(first.id in name for name in kept), kept


def test_an_index_beside_the_object_opens_it_in_one_round(cloud: Cloud) -> None:
    with hs.create(cloud.address("run.h5"), storage_options=cloud.options) as f:
        f.create_dataset("x", data=LARGE, chunks=(1 << 16,))
    hs.indexes.chunk_index(cloud.address("run.h5"), "beside", storage_options=cloud.options)
    before = hs.counters()
    f = hs.open(cloud.address("run.h5"), storage_options={**cloud.options, "chunk_index": "beside"})
    assert hs.counters().since(before).request_rounds == 1
    np.testing.assert_array_equal(f["x"][::1000], LARGE[::1000])


def test_control_c_ends_an_upload_and_leaves_no_object(cloud: Cloud) -> None:
    if isinstance(cloud, Google):
        cloud.slow_down()
    script = """
import _thread, sys, threading, hyperslab as hs, numpy as np
options = eval(sys.argv[2])
f = hs.create(sys.argv[1], storage_options=options)
f["x"] = np.random.default_rng(0).random(40 << 20)
print("closing", flush=True)
threading.Timer(0.1, _thread.interrupt_main).start()
try:
    f.close()
except KeyboardInterrupt:
    print("interrupted")
"""
    command = [sys.executable, "-c", script, cloud.address("run.h5"), repr(cloud.options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["closing", "interrupted"], done.stdout
    if isinstance(cloud, Google):
        assert cloud.names() == []
        return
    # Azurite cannot be slowed down: an upload that was complete before the interruption is there, whole. Azure drops blocks that were not
    # committed by itself, after a week.
    try:
        found = opened(cloud, "run.h5")["x"][:]
    except hs.NotFoundError:
        return
    np.testing.assert_array_equal(found, np.random.default_rng(0).random(40 << 20))
