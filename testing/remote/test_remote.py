"""Files of object stores and web servers, read through servers on loopback, compared with the same files read locally and by h5py."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import h5py
import hyperslab as hs
import hyperslab.base.errors
import netCDF4
import numpy as np
import pytest
import xarray as xr
from range_server import MODIFIED, Server

BUCKET = "bucket"


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """An HDF5 file of several MiB, whose datasets lie behind its first MiB."""
    path = tmp_path_factory.mktemp("remote") / "sample.h5"
    random = np.random.default_rng(7)
    with h5py.File(path, "w") as f:
        f["filler"] = random.integers(0, 255, 2 << 20, dtype=np.uint8)
        f.create_dataset("chunked", data=random.normal(size=(500, 400)), chunks=(10, 40), compression="gzip", shuffle=True)
        f.create_dataset("big", data=random.integers(0, 1 << 30, (300, 10_000)), chunks=(3, 10_000))
        f["plain"] = np.arange(100_000).reshape(100, 1000)
        f["text"] = [f"word {i}" for i in range(300)]
        f["chunked"].attrs["units"] = "K"
        for i in range(200):
            f[f"group/member{i}"] = np.full(3, i)
        f["rows"] = np.zeros(1000, dtype=[("a", "i4"), ("b", "f8")])
    return path


def s3(server: Server, name: str, content) -> tuple[str, dict]:
    server.put(f"{BUCKET}/{name}", content)
    return f"s3://{BUCKET}/{name}", server.s3_options()


def assert_equal_files(path, remote: hs.File) -> None:
    with h5py.File(path, "r") as expected:

        def compare(name, there):
            if isinstance(there, h5py.Dataset):
                np.testing.assert_array_equal(remote[name][()], there[()], err_msg=name)

        expected.visititems(compare)
        assert sorted(remote) == sorted(expected)


@pytest.mark.parametrize("scheme", ["http", "s3"])
def test_values_equal_those_of_h5py(server, sample, scheme):
    address, options = s3(server, "run/sample.h5", sample)
    if scheme == "http":
        address, options = f"{server.url}/{BUCKET}/run/sample.h5", None
    with hs.open(address, storage_options=options) as f:
        assert_equal_files(sample, f)
        assert f["chunked"].attrs["units"] == "K"
        with h5py.File(sample) as expected:
            np.testing.assert_array_equal(f["chunked"][3:77:5, [1, 50, 399]], expected["chunked"][3:77:5, [1, 50, 399]])
            np.testing.assert_array_equal(f["plain"][:, 7], expected["plain"][:, 7])
        assert f.filename == address
    assert all(asked.range is not None for asked in server.asked), "nothing is read whole"
    assert all("if-match" in asked.headers for asked in server.asked[1:])


def test_opening_is_one_request_and_reading_few_rounds(server, sample):
    address, options = s3(server, "sample.h5", sample)
    before = hs.counters()
    f = hs.open(address, storage_options=options)
    opened = hs.counters().since(before)
    assert opened.requests <= 4 and opened.request_rounds <= 3, opened
    f["chunked"][:]
    read = hs.counters().since(before)
    assert read.request_rounds <= 7, read
    assert read.requests == len(server.asked)
    assert read.remote_bytes_fetched >= read.remote_bytes_wanted - (1 << 20) > 0
    again = hs.counters()
    f["chunked"].attrs["units"]
    assert hs.counters().since(again).requests == 0, "metadata is kept"


def test_requests_run_side_by_side(server, sample):
    address, options = s3(server, "sample.h5", sample)
    f = hs.open(address, storage_options=options, threads=1)
    big = f["big"]
    server.forget()
    server.latency_seconds = 0.2
    start = time.monotonic()
    big[:]
    assert time.monotonic() - start < 1.8, [asked.range for asked in server.asked]
    assert max(end - start for start, end in (asked.range for asked in server.asked)) <= 8 << 20


def test_members_of_a_group_are_fetched_together(server, sample):
    address, options = s3(server, "sample.h5", sample)
    f = hs.open(address, storage_options=options)
    server.forget()
    shapes = [member.shape for member in f["group"].values()]
    assert shapes == [(3,)] * 200
    assert len(server.asked) < 20


def test_tables_sql_and_xarray(server, tmp_path):
    path = tmp_path / "cf.nc"
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("x", 5000)
        nc.createVariable("x", "f8", ("x",))[:] = np.arange(5000.0)
        nc.createVariable("t", "f4", ("x",), chunksizes=(100,), zlib=True)[:] = np.sin(np.arange(5000))
    address, options = s3(server, "cf.nc", path)
    f = hs.open(address, storage_options=options)
    local = hs.open(path)
    assert f.table("/t", "t > 0.5").to_arrow().equals(local.table("/t", "t > 0.5").to_arrow())
    assert (
        hs.sql("select count(*) n, avg(t) t from f.t where t > 0.5", f=f).fetchall()
        == hs.sql("select count(*) n, avg(t) t from f.t where t > 0.5", f=local).fetchall()
    )
    with xr.open_dataset(address, engine="hyperslab", storage_options=options) as remote, xr.open_dataset(path, engine="netcdf4") as expected:
        xr.testing.assert_identical(remote.load(), expected.load())
        clone = pickle.loads(pickle.dumps(remote))
        np.testing.assert_array_equal(clone["t"], expected["t"])


def test_globs_over_a_prefix(server, tmp_path):
    for name in ["run/a2.h5", "run/a10.h5", "run/b1.h5", "run/deep/a3.h5", "run/a4.txt"]:
        with h5py.File(tmp_path / "x.h5", "w") as f:
            f["name"] = name
        s3(server, name, (tmp_path / "x.h5").read_bytes())
    options = server.s3_options()

    def names(pattern):
        return [f["name"][()].decode() for f in hs.open(pattern, storage_options=options).files]

    assert names("s3://bucket/run/a*.h5") == ["run/a2.h5", "run/a10.h5"]
    assert names("s3://bucket/run/**/a*.h5") == ["run/a2.h5", "run/a10.h5", "run/deep/a3.h5"]
    assert names("s3://bucket/run/[!a]?.h5") == ["run/b1.h5"]
    with pytest.raises(hs.NotFoundError, match="no object matches"):
        hs.open("s3://bucket/run/c*.h5", storage_options=options)


def test_a_replaced_object_is_a_conflict(server, sample):
    for scheme, etags in [("s3", "strong"), ("http", "strong"), ("http", "weak"), ("http", "none")]:
        server.etags = etags
        address, options = s3(server, "changing.h5", sample.read_bytes())
        server.modified[f"{BUCKET}/changing.h5"] = MODIFIED
        f = hs.open(address if scheme == "s3" else f"{server.url}/{BUCKET}/changing.h5", storage_options=options if scheme == "s3" else None)
        dump = pickle.dumps(f)
        content = bytearray(sample.read_bytes())
        content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
        server.put(f"{BUCKET}/changing.h5", bytes(content))
        server.modified[f"{BUCKET}/changing.h5"] = MODIFIED + 60
        with pytest.raises(hs.ConflictError, match="has changed since it was opened"):
            f["chunked"][:]
        with pytest.raises(hs.ConflictError, match="pickled"):
            pickle.loads(dump)


def test_splits_know_the_entity_tag(server, tmp_path):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(1000)
    address, options = s3(server, "t.h5", path.read_bytes())
    table = hs.open(address, storage_options=options).table("/x")
    (split,) = table.splits(1)
    changed = bytearray(path.read_bytes())
    changed[-1] ^= 1
    server.put(f"{BUCKET}/t.h5", bytes(changed))
    with pytest.raises(hs.ConflictError):
        list(split.batches())


FAULTS = [
    (404, hs.NotFoundError, "there is no such object"),
    (403, hs.IoError, "access is denied .403.*Fault403"),
    (401, hs.IoError, "credentials"),
    ("expired", hs.IoError, "credentials have expired"),
    (400, hs.IoError, "Fault400"),
    (500, hs.IoError, "status 500"),
    ("whole", hs.UnsupportedError, "ignores requests for ranges"),
    ("short", hs.IoError, "where .* were asked for"),
    ("long", hs.IoError, "where .* were asked for"),
    ("shifted", hs.IoError, "other bytes"),
    ("cut", hs.IoError, "broke off|store cannot be read"),
    ("reset", hs.IoError, "cannot be read"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fault, kind, text", FAULTS)
@pytest.mark.parametrize("when", ["opening", "reading"])
def test_each_fault_is_one_clear_error(server, sample, fault, kind, text, when):
    server.put("bucket/faulty.h5", sample)
    address = f"http://me:hunter2@127.0.0.1:{server.url.rpartition(':')[2]}/bucket/faulty.h5?X-Amz-Signature=verysecret"
    begins = 0 if when == "opening" else 1
    server.fault = lambda asked: fault if asked.number >= begins else None
    with pytest.raises(kind, match=text) as raised:
        hs.open(address, storage_options={"max_retries": 1, "retry_timeout": 5})["chunked"][:]
    said = str(raised.value)
    assert "bucket/faulty.h5" in said
    assert "hunter2" not in said and "verysecret" not in said and "StringToSign" not in said and "\n" not in said


@pytest.mark.parametrize("fault", [500, 503, "reset", "cut", "short", "long"])
def test_what_may_pass_is_tried_again(server, sample, fault):
    address, options = s3(server, "sample.h5", sample)
    server.fault = lambda asked: fault if asked.number % 3 == 0 else None
    with h5py.File(sample) as expected:
        np.testing.assert_array_equal(hs.open(address, storage_options=options)["chunked"][:], expected["chunked"][:])


def test_nothing_that_grants_access_is_shown_or_pickled_unless_given(server, sample, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAENVIRONMENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-environment")
    address, options = s3(server, "sample.h5", sample)
    del options["skip_signature"]
    f = hs.open(address, storage_options=options)
    assert "AKIAENVIRONMENT" in server.asked[0].headers["authorization"]
    dump = pickle.dumps(f)
    assert b"secret-of-the-environment" not in dump and b"AKIAENVIRONMENT" not in dump
    assert server.url.encode() in dump, "options that were given travel"
    assert pickle.loads(dump)["text"][3] == b"word 3"
    signed = hs.open(f"{server.url}/{BUCKET}/sample.h5?sig=verysecret")
    assert "verysecret" not in signed.filename + repr(signed) + signed.table("/rows").explain()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(signed))["plain"][0], np.arange(1000))


def test_profiles_of_aws(server, sample, monkeypatch, tmp_path):
    address, _ = s3(server, "sample.h5", sample)
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(
        f"[default]\nregion = eu-west-1\n\n[profile lab]\nregion=us-west-2\nendpoint_url = {server.url}\n[profile web]\nsso_session = x\n"
    )
    keys = tmp_path / ".aws" / "credentials"
    keys.write_text("[default]\naws_access_key_id = AKIADEFAULT\naws_secret_access_key = s1\n[lab]\naws_access_key_id=AKIALAB\naws_secret_access_key=s2\n")

    def signed(**options) -> str:
        server.forget()
        f = hs.open(address, storage_options=options)
        assert f["text"][3] == b"word 3" and ("access_key_id" in options or b"AKIA" not in pickle.dumps(f))
        return server.asked[0].headers.get("authorization", "")

    here = {"endpoint": server.url, "allow_http": True}
    assert "AKIADEFAULT/" in signed(**here) and "/eu-west-1/" in signed(**here)
    assert "AKIALAB/" in signed(profile="lab") and "/us-west-2/" in signed(profile="lab"), "its endpoint, too"
    assert signed(**here, skip_signature=True) == ""
    assert "AKIAGIVEN/" in signed(profile="lab", access_key_id="AKIAGIVEN", secret_access_key="s3")
    monkeypatch.setenv("AWS_PROFILE", "lab")
    assert "AKIALAB/" in signed()
    keys.write_text(keys.read_text().replace("AKIALAB", "AKIARENEWED"))
    assert "AKIARENEWED/" in signed()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAENVIRONMENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s4")
    assert "AKIAENVIRONMENT/" in signed() and "AKIARENEWED/" in signed(profile="lab")
    with pytest.raises(hs.UnsupportedError, match="'web' has its credentials by sso_session: set what 'aws configure export-credentials --profile web"):
        hs.open(address, storage_options={**here, "profile": "web"})
    with pytest.raises(hs.InvalidInputError, match="there is no profile 'none'"):
        hs.open(address, storage_options={**here, "profile": "none"})
    with pytest.raises(hs.InvalidInputError, match="'profile' is not a storage option of gs"):
        hs.open("gs://bucket/x.h5", storage_options={"profile": "lab", "skip_signature": True})


def test_options_are_checked(server, sample):
    address, options = s3(server, "sample.h5", sample)
    with pytest.raises(hs.InvalidInputError, match="'endpoints' is not a storage option of s3"):
        hs.open(address, storage_options={"endpoints": server.url})
    with pytest.raises(hs.InvalidInputError, match="give a text"):
        hs.open(address, storage_options={"endpoint": [server.url]})
    with pytest.raises(hs.UnsupportedError, match="hdfs:// are not read"):
        hs.open("hdfs://host/x.h5")
    with pytest.raises(hs.InvalidInputError, match="%3F"):
        hs.open("s3://bucket/a.h5#x", storage_options=options)


def test_empty_objects_and_other_formats(server):
    for content in (b"", b"x", b"not a file of ours" * 100):
        address, options = s3(server, "other.h5", content)
        with pytest.raises(hs.InvalidInputError):
            hs.open(address, storage_options=options)


def test_linked_files_lie_beside_and_nothing_else_is_asked(server, tmp_path):
    with h5py.File(tmp_path / "part.h5", "w") as f:
        f["x"] = np.arange(10)
    layout = h5py.VirtualLayout((10,), "i8")
    layout[:] = h5py.VirtualSource("part.h5", "x", (10,))
    with h5py.File(tmp_path / "whole.h5", "w") as f:
        f.create_virtual_dataset("virtual", layout)
        f["link"] = h5py.ExternalLink("part.h5", "/x")
        f["away"] = h5py.ExternalLink(f"{server.url}/elsewhere/x.h5", "/x")
    for name in ("part.h5", "whole.h5"):
        s3(server, f"run/{name}", (tmp_path / name).read_bytes())
    f = hs.open("s3://bucket/run/whole.h5", storage_options=server.s3_options())
    np.testing.assert_array_equal(f["virtual"][:], np.arange(10))
    np.testing.assert_array_equal(f["link"][:], np.arange(10))
    for opened in (f, hs.open(tmp_path / "whole.h5")):
        with pytest.raises(hs.UnsupportedError, match="is an address"):
            opened["away"][:]
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        with pytest.raises(hs.UnsupportedError, match="is an address"):
            hs.open("whole.h5")["away"][:]
    finally:
        os.chdir(here)
    assert not any("elsewhere" in asked.path for asked in server.asked)


@pytest.mark.parametrize("name", ["run #1.h5", "what?.h5", "100%25.h5", "a b+c&d=e.h5", "sub/#2 of?.h5", "é~.h5"])
def test_names_of_linked_files_mean_themselves(server, tmp_path, name):
    """HDF5's names are not URLs: `#`, `?`, `%` and a space are parts of them."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    with h5py.File(tmp_path / name, "w") as f:
        f["x"] = np.arange(10)
    layout = h5py.VirtualLayout((10,), "i8")
    # In names of sources, a percent sign is written twice.
    layout[:] = h5py.VirtualSource(name.replace("%", "%%"), "x", (10,))
    with h5py.File(tmp_path / "whole.h5", "w") as f:
        f.create_virtual_dataset("virtual", layout)
        f["link"] = h5py.ExternalLink(name, "/x")
    for part in (name, "whole.h5"):
        server.put(f"bucket/run/{part}", (tmp_path / part).read_bytes())
    local = hs.open(tmp_path / "whole.h5")
    by_web, by_s3 = hs.open(f"{server.url}/bucket/run/whole.h5"), hs.open("s3://bucket/run/whole.h5", storage_options=server.s3_options())
    for f in (local, by_web, by_s3):
        np.testing.assert_array_equal(f["virtual"][:], np.arange(10))
        np.testing.assert_array_equal(f["link"][:], np.arange(10))
        assert f.table("/virtual").count() == 10


@pytest.mark.parametrize("name", ["..\\..\\secret.h5", "%2e%2e/%2e%2e/secret.h5", ".\t./.\t./secret.h5", "x?/../../secret.h5"])
def test_no_name_leads_out_of_the_folder_of_an_address(server, tmp_path, name):
    """As a URL, each of these is a file two folders above."""
    with h5py.File(tmp_path / "whole.h5", "w") as f:
        f["link"] = h5py.ExternalLink(name, "/x")
    with h5py.File(tmp_path / "secret.h5", "w") as f:
        f["x"] = np.arange(10)
    server.put("bucket/a/b/whole.h5", (tmp_path / "whole.h5").read_bytes())
    server.put("bucket/secret.h5", (tmp_path / "secret.h5").read_bytes())
    for f in (hs.open(f"{server.url}/bucket/a/b/whole.h5"), hs.open("s3://bucket/a/b/whole.h5", storage_options=server.s3_options())):
        with pytest.raises(hs.Error):
            f["link"][:]
    assert not any(asked.path.endswith("secret.h5") and "/a/b/" not in asked.path for asked in server.asked)


def test_ctrl_c_ends_waiting(server, sample):
    server.put("bucket/slow.h5", sample)
    server.stall_seconds = 90
    for begins in (0, 1):
        code = (
            "import hyperslab as hs, sys, threading, os, signal, time\n"
            f"threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
            f"f = hs.open('{server.url}/bucket/slow.h5')\n"
            "f['chunked'][:]\n"
        )
        server.forget()
        server.fault = lambda asked, begins=begins: "stall" if asked.number >= begins else None
        start = time.monotonic()
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        assert "KeyboardInterrupt" in run.stderr, run.stderr
        assert time.monotonic() - start < 45


def _read_plain(address, out):
    out.put(hs.open(address)["plain"][5, :3].tolist())


def _read_open(f, out):
    out.put(f["plain"][5, :3].tolist() + f["chunked"][0, :2].tolist())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_reads_by_connections_of_its_own(server, sample):
    address = server.put("bucket/sample.h5", sample)
    f = hs.open(address)
    expected = f["plain"][5, :3].tolist(), f["chunked"][0, :2].tolist()
    context = multiprocessing.get_context("fork")
    for work, argument, wanted in [(_read_plain, address, expected[0]), (_read_open, f, expected[0] + expected[1])]:
        out = context.Queue()
        child = context.Process(target=work, args=(argument, out))
        child.start()
        assert out.get(timeout=120) == wanted
        child.join(30)
        assert child.exitcode == 0
    assert f["plain"][5, :3].tolist() == expected[0]


def test_a_process_ends_while_requests_run(server, sample):
    hs.open(server.put("bucket/slow.h5", sample))["chunked"]
    opening = len(server.asked)
    server.stall_seconds = 90
    server.forget()
    server.fault = lambda asked: "stall" if asked.number >= opening else None
    code = (
        "import hyperslab as hs, threading, time\n"
        f"f = hs.open('{server.url}/bucket/slow.h5')['chunked']\n"
        "threading.Thread(target=lambda: f[:], daemon=True).start()\n"
        "time.sleep(0.5)\n"
    )
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, capture_output=True)
    assert time.monotonic() - start < 45


class Seeks(io.RawIOBase):
    """A file object that is neither in memory nor at a path."""

    def __init__(self, content: bytes) -> None:
        self._file, self.bytes_read = io.BytesIO(content), 0

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self._file.tell()

    def seek(self, offset, whence=0):
        return self._file.seek(offset, whence)

    def read(self, count=-1):
        found = self._file.read(count)
        self.bytes_read += len(found)
        return found


def test_file_objects_are_read_by_ranges(sample):
    source = Seeks(sample.read_bytes())
    source.seek(5)
    f = hs.open(source)
    assert source.bytes_read <= 2 << 20 < sample.stat().st_size
    assert_equal_files(sample, f)
    assert source.tell() == 5
    source = Seeks(sample.read_bytes())
    f = hs.open(source)
    source._file.close()
    with pytest.raises(hs.IoError, match="file object .*failed.*closed"):
        f["big"][:]
    with xr.open_dataset(Seeks(sample.read_bytes()), engine="hyperslab", phony_dims="sort", drop_variables=["rows"]) as ds, h5py.File(sample) as expected:
        np.testing.assert_array_equal(ds["plain"], expected["plain"][:])


def test_files_of_fsspec(sample):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/fs/sample.h5", sample.read_bytes())
    asked = []
    original = type(memory).cat_ranges

    class Watched(type(memory)):
        protocol = "memory"

        def cat_ranges(self, paths, starts, ends, **options):
            asked.extend(zip(starts, ends, strict=True))
            return original(self, paths, starts, ends, **options)

    watched = Watched(skip_instance_cache=True)
    with watched.open("/fs/sample.h5") as source:
        f = hs.open(source)
    assert_equal_files(sample, f)
    assert sum(end - start for start, end in asked) < 4 * sample.stat().st_size
    f = hs.open(fsspec.open("memory://fs/sample.h5"))
    assert f["text"][3] == b"word 3"
    clone = pickle.loads(pickle.dumps(f))
    assert clone["text"][4] == b"word 4"
    memory.pipe("/fs/sample.h5", sample.read_bytes()[:-1])
    with pytest.raises(hs.ConflictError):
        pickle.loads(pickle.dumps(f))


class Store:
    """The part of obspec that reading needs."""

    def __init__(self, content):
        self.content, self.asked = content, []

    def head(self, path):
        return {"path": path, "size": len(self.content[path]), "e_tag": "1", "version": None}

    def get_ranges(self, path, *, starts, ends=None, lengths=None):
        self.asked.append(list(starts))
        return [memoryview(self.content[path])[start : start + length] for start, length in zip(starts, lengths, strict=True)]


def test_stores_of_obspec(sample):
    store = Store({"run/sample.h5": sample.read_bytes()})
    f = hs.open("run/sample.h5", store=store)
    assert_equal_files(sample, f)
    assert max(len(starts) for starts in store.asked) > 1, "many ranges at once"
    with pytest.raises(hs.IoError, match="KeyError"):
        hs.open("other.h5", store=store)
    with pytest.raises(hyperslab.base.errors.InvalidTypeError, match="obspec"):
        hs.open("x.h5", store=object())


def test_wrong_ranges_of_a_store_are_errors(sample):
    class Short(Store):
        def get_ranges(self, path, *, starts, ends=None, lengths=None):
            return [part[:-1] for part in super().get_ranges(path, starts=starts, lengths=lengths)]

    with pytest.raises(hs.IoError, match="bytes came where"):
        hs.open("run/sample.h5", store=Short({"run/sample.h5": sample.read_bytes()}))


def test_the_command_line(server, sample, capfd):
    address, options = s3(server, "sample.h5", sample)
    given = [f"--storage-option={name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in options.items()]
    run = subprocess.run([sys.executable, "-m", "hyperslab", *given, "info", address, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["file_bytes"] == sample.stat().st_size


def test_many_threads_read_at_once(server, sample):
    address, options = s3(server, "sample.h5", sample)
    f = hs.open(address, storage_options=options)
    with h5py.File(sample) as expected:
        values = {name: expected[name][()] for name in ("chunked", "plain", "big")}
    failures = []

    def read(seed):
        random = np.random.default_rng(seed)
        for _ in range(6):
            name = random.choice(list(values))
            first = int(random.integers(0, 90))
            if not np.array_equal(f[name][first : first + 10], values[name][first : first + 10]):
                failures.append(name)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures


@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="this process was started without Ctrl-C")
def test_signals_are_left_alone():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
