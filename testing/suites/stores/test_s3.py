"""Files through moto's S3 server equal the same files read locally; stores of obstore; fsspec over HTTP."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time

import boto3
import fsspec
import h5py
import hyperslab as hs
import numpy as np
import obstore
import pytest
from moto.server import ThreadedMotoServer
from range_server import serving

ROOT = pathlib.Path(__file__).resolve().parents[3]
GATHERED = pathlib.Path(os.environ.get("HYPERSLAB_CORPUS", pathlib.Path.home() / ".cache/hyperslab/conformance/files"))
ENDINGS = {".h5", ".hdf5", ".nc", ".nc4", ".he5", ".h5ad", ".loom", ".mat", ".nwb", ".nxs"}
KEYS = {"access_key_id": "test", "secret_access_key": "testing", "region": "us-east-1"}
#: Files with references into other files.
REFERRING = {"trefer_ext2.h5"}
#: Larger files say nothing that smaller ones do not.
MAX_FILE_BYTES = 64 << 20


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    found = (path for path in sorted(folder.rglob("*")) if path.suffix.lower() in ENDINGS and path.is_file())
    return [path for path in found if path.stat().st_size <= MAX_FILE_BYTES]


@pytest.fixture(scope="session")
def s3():
    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    options = {"endpoint": f"http://{host}:{port}", "allow_http": True, **KEYS}
    client = boto3.client("s3", endpoint_url=options["endpoint"], aws_access_key_id="test", aws_secret_access_key="testing", region_name="us-east-1")
    client.create_bucket(Bucket="bucket")
    yield client, options
    server.stop()


def outcome(read):
    """A value, or the kind of the error and what it says apart from the file's name."""
    try:
        return read()
    except hs.Error as error:
        return type(error).__name__


def plain(value):
    """A value as one that is equal in another file: references by what they lead to, because those of two files differ, and bytes, because NaN
    is equal to nothing."""
    if isinstance(value, hs.Reference):
        return type(value).__name__, outcome(lambda: value.path), outcome(lambda: repr(getattr(value, "selection", None)))
    if isinstance(value, np.ndarray) and value.dtype.names:  # what lies between fields has no value
        return value.shape, {name: plain(value[name]) for name in value.dtype.names}
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, [plain(one) for one in value.ravel()] if value.dtype.hasobject else value.tobytes()
    if isinstance(value, np.void) and value.dtype.names:
        return {name: plain(value[name]) for name in value.dtype.names}
    if isinstance(value, np.generic):
        return value.dtype.str, value.tobytes()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return repr(value) if isinstance(value, float) else value


def assert_same(local, remote, where: str) -> None:
    assert plain(remote) == plain(local), where


def compare(local: hs.File, remote: hs.File) -> int:
    """Compares all members, attributes and values; gives the number of arrays."""
    count, pending, seen = 0, ["/"], set()
    while pending:
        path = pending.pop()
        if isinstance(outcome(lambda path=path: local.get(path, getlink=True)), hs.ExternalLink):
            continue  # the other file lies next to the local one only
        ours, theirs = outcome(lambda path=path: remote[path]), outcome(lambda path=path: local[path])
        assert type(ours) is type(theirs), path
        if isinstance(theirs, str) or theirs._number in seen:
            continue
        seen.add(theirs._number)
        assert_same(outcome(lambda: dict(theirs.attrs)), outcome(lambda: dict(ours.attrs)), f"{path}@")
        if isinstance(theirs, hs.Group):
            names = outcome(lambda: list(theirs))
            assert names == outcome(lambda: list(ours)), path
            pending += [f"{path.rstrip('/')}/{name}" for name in names] if isinstance(names, list) else []
        elif isinstance(theirs, hs.Dataset):
            length = outcome(lambda: theirs.nbytes)
            assert length == outcome(lambda: ours.nbytes), path
            if isinstance(length, int) and length > 64 << 20:
                continue
            assert_same(outcome(lambda: theirs[()]), outcome(lambda: ours[()]), path)
            count += 1
    return count


@pytest.mark.parametrize("path", [*files(ROOT / "examples/data"), *files(GATHERED)], ids=lambda path: path.name)
def test_a_file_of_s3_equals_the_local_one(s3, path):
    client, options = s3
    client.upload_file(str(path), "bucket", "file.h5")
    local, remote = outcome(lambda: hs.open(path)), outcome(lambda: hs.open("s3://bucket/file.h5", storage_options=options))
    if isinstance(local, str):
        assert remote == local
        return
    if remote == "InvalidInputError" or path.name in REFERRING:
        pytest.skip("it is one of several files or refers into another one, and the others lie beside the local one only")
    # Other files that it names lie next to the local one only.
    if any(isinstance(found, hs.Dataset) and (found.is_virtual or found.external) for found in everything(local)):
        pytest.skip("it has values in other files")
    compare(local, remote)


def everything(file: hs.File):
    pending, seen = ["/"], set()
    while pending:
        path = pending.pop()
        found = outcome(lambda path=path: file[path])
        if isinstance(found, str) or found._number in seen:
            continue
        seen.add(found._number)
        yield found
        names = outcome(lambda found=found: list(found)) if isinstance(found, hs.Group) else []
        pending += [f"{path.rstrip('/')}/{name}" for name in names] if isinstance(names, list) else []


SAMPLE = ROOT / "examples/data/atlantic_profiles.nc"


def test_credentials_come_from_the_environment(s3, monkeypatch):
    client, options = s3
    client.upload_file(str(SAMPLE), "bucket", "sample.nc")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-environment")
    monkeypatch.setenv("AWS_ENDPOINT_URL", options["endpoint"])
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    f = hs.open("s3://bucket/sample.nc")
    assert compare(hs.open(SAMPLE), f) > 0
    assert b"secret-of-the-environment" not in pickle.dumps(f)


def test_globs_and_missing_objects(s3):
    client, options = s3
    for name in ("glob/b10.nc", "glob/b9.nc", "glob/c.nc"):
        client.upload_file(str(SAMPLE), "bucket", name)
    assert hs.open("s3://bucket/glob/b*.nc", storage_options=options).filenames == ["s3://bucket/glob/b9.nc", "s3://bucket/glob/b10.nc"]
    with pytest.raises(hs.NotFoundError, match="there is no such object"):
        hs.open("s3://bucket/glob/none.nc", storage_options=options)


def test_a_replaced_object_is_a_conflict(s3, tmp_path):
    client, options = s3
    with hs.create(tmp_path / "x.h5") as out:
        out["x"] = np.random.default_rng(1).normal(size=(1000, 500))
    client.upload_file(str(tmp_path / "x.h5"), "bucket", "x.h5")
    f = hs.open("s3://bucket/x.h5", storage_options=options)
    client.put_object(Bucket="bucket", Key="x.h5", Body=(tmp_path / "x.h5").read_bytes()[::-1])
    with pytest.raises(hs.ConflictError):
        f["x"][:]


def test_stores_of_obstore(s3):
    client, options = s3
    client.upload_file(str(SAMPLE), "bucket", "folder/sample.nc")
    store = obstore.store.S3Store("bucket", endpoint=options["endpoint"], client_options={"allow_http": True}, **KEYS)
    memory = obstore.store.MemoryStore()
    obstore.put(memory, "folder/sample.nc", SAMPLE.read_bytes())
    for one in (store, memory, obstore.store.LocalStore(SAMPLE.parent)):
        f = hs.open(SAMPLE.name if isinstance(one, obstore.store.LocalStore) else "folder/sample.nc", store=one)
        assert compare(hs.open(SAMPLE), f) > 0


def test_fsspec_over_http():
    with serving() as server:
        address = server.put("data/sample.nc", SAMPLE)
        with fsspec.open(address) as source:
            assert compare(hs.open(SAMPLE), hs.open(source)) > 0


@pytest.mark.parametrize("values", [np.arange(10), np.random.default_rng(1).integers(0, 1 << 30, 9 << 20, dtype="i4")], ids=["one request", "in parts"])
def test_files_are_written_whole_and_once(s3, values):
    client, options = s3
    path = f"s3://bucket/written/{values.size}.h5"
    with hs.create(path, "x", storage_options=options) as f:
        f["x"] = values
    np.testing.assert_array_equal(hs.open(path, storage_options=options)["x"][:], values)
    with pytest.raises(hs.ConflictError):
        hs.create(path, "x", storage_options=options)
    with hs.create(path, storage_options=options) as f:
        f["x"] = values[::-1]
        with hs.create(f"{path}.late", "x", storage_options=options) as late:
            late["x"] = values
            client.put_object(Bucket="bucket", Key=f"written/{values.size}.h5.late", Body=b"another writer's")
            with pytest.raises(hs.ConflictError):
                late.close()
    np.testing.assert_array_equal(hs.open(path, storage_options=options)["x"][:], values[::-1])
    listed = [found["Key"] for found in client.list_objects_v2(Bucket="bucket", Prefix="written/")["Contents"]]
    assert not [name for name in listed if name.endswith(".part")] and not client.list_multipart_uploads(Bucket="bucket").get("Uploads")


ROWS = 5 << 20  # 20 MiB of a task: two parts


def write_part(plan, options, number):
    # Credentials do not travel with the plan.
    plan.set_storage_options(options)
    with plan.task(number) as task:
        x = task.create_dataset("x", (4 * ROWS,), "i4", region=np.s_[number * ROWS : (number + 1) * ROWS])
        x[number * ROWS : (number + 1) * ROWS] = np.arange(number * ROWS, (number + 1) * ROWS, dtype="i4")
        rows = task.create_dataset("rows", (0,), "f8", rows=True, compression="gzip")
        rows.append(np.full(number + 1, number / 2))
        return task.finish()


def names_below(client, prefix):
    return [found["Key"] for found in client.list_objects_v2(Bucket="bucket", Prefix=prefix).get("Contents", [])]


def test_processes_write_one_container(s3, tmp_path):
    client, options = s3
    address = "s3://bucket/plans/big.h5"
    plan, late = hs.WritePlan(address, storage_options=options), hs.WritePlan(address, storage_options=options)
    assert b"testing" not in pickle.dumps(plan)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        fragments = pool.starmap(write_part, [(plan, options, number) for number in range(4)])
        other = pool.apply(write_part, (late, options, 0))
    assert "plans/big.h5" not in names_below(client, "plans/")
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda _: plan.commit(fragments).repeated, range(4)))
    assert sorted(outcomes) == [False, True, True, True]
    with pytest.raises(hs.ConflictError, match="plan again"):
        late.commit([other])
    late.abort()
    expected, rows = np.arange(4 * ROWS, dtype="i4"), [number / 2 for number in range(4) for _ in range(number + 1)]
    f = hs.open(address, storage_options=options)
    np.testing.assert_array_equal(f["x"][:], expected)
    assert f["rows"][:].tolist() == rows
    names = names_below(client, "plans/")
    assert len(names) == 6, "four subfiles, the record and the master"
    for name in names:
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        client.download_file("bucket", name, str(place))
    with h5py.File(tmp_path / "plans/big.h5") as there:
        np.testing.assert_array_equal(there["x"][:], expected)
        assert there["rows"][:].tolist() == rows
    assert hs.verify(tmp_path / "plans/big.h5").remarks == []
    first, second = (hs.WritePlan(address, "w", storage_options=options) for _ in range(2))
    parts = [(one, [write_part(one, options, 0)]) for one in (first, second)]
    first.commit(parts[0][1])
    with pytest.raises(hs.ConflictError, match="plan again"):
        second.commit(parts[1][1])
    second.abort()
    assert hs.open(address, storage_options=options)["rows"].shape == (1,)
    assert hs.vacuum(address, hours=0, storage_options=options).removed == [plan.id]
    assert len(names_below(client, "plans/")) == 3 and not client.list_multipart_uploads(Bucket="bucket").get("Uploads")


HERE = pathlib.Path(__file__).resolve().parent
KILLED = """
import json, os, pathlib, pickle, signal, sys, threading, time
sys.path[:0] = sys.argv[1].split(os.pathsep)
from test_s3 import write_part
plan, options = pickle.loads(pathlib.Path(sys.argv[2]).read_bytes())
def kill():
    while not sys.stdin.readline():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=kill, daemon=True).start()
write_part(plan, options, 0)
"""


def test_an_abort_ends_the_upload_of_a_killed_task(s3, tmp_path):
    client, options = s3
    plan = hs.WritePlan("s3://bucket/killed/big.h5", storage_options=options)
    (tmp_path / "plan").write_bytes(pickle.dumps((plan, options)))
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, os.pathsep.join(map(str, (HERE, HERE.parents[1] / "lib"))), str(tmp_path / "plan")], stdin=subprocess.PIPE, text=True
    )
    while not any(name.endswith(".upload") for name in names_below(client, "killed/")) and process.poll() is None:
        time.sleep(0.001)
    process.communicate("now\n")
    # It may have ended before it was killed.
    assert process.returncode in (0, -signal.SIGKILL) and "killed/big.h5" not in names_below(client, "killed/")
    plan.abort()
    assert names_below(client, "killed/") == [] and not client.list_multipart_uploads(Bucket="bucket").get("Uploads")
