"""Chunk indexes that are objects next to their files: opening takes one round trip, and an index of another version is not used."""

from __future__ import annotations

import subprocess
import sys
import warnings

import h5py
import hyperslab as hs
import numpy as np
import pytest


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Metadata at the beginning, in the middle and at the end of 4 MB."""
    path = tmp_path_factory.mktemp("beside") / "sample.h5"
    random = np.random.default_rng(4)
    with h5py.File(path, "w") as f:
        f["filler"] = random.integers(0, 255, 2 << 20, dtype=np.uint8)
        f.create_dataset("chunked", data=random.normal(size=(300, 400)), chunks=(10, 40), compression="gzip")
        for number in range(50):
            f[f"group/member{number}"] = np.full(3, number)
            f["group"].attrs[f"attribute{number}"] = number
    with h5py.File(path, "a") as f:
        f["more"] = random.integers(0, 255, 1 << 20, dtype=np.uint8)
        f.create_dataset("late", data=np.arange(90_000).reshape(300, 300), chunks=(7, 50))
        f["late"].attrs["units"] = "m"
    return path


@pytest.fixture
def remote(server, sample):
    # Bytes: equal ones have equal entity tags, as in S3.
    server.put("bucket/run/x.h5", sample.read_bytes())
    return "s3://bucket/run/x.h5", server.s3_options()


def look(f):
    return sorted(f["group"].attrs), f["late"].attrs["units"], f["late"].shape, f["chunked"].chunks, list(f["group"])


def test_one_round_trip_opens_a_file_with_the_index_beside_it(server, sample, remote):
    address, options = remote
    made = hs.indexes.chunk_index(address, "beside", storage_options=options)
    assert made.path == f"{address}.chunks" and made.bytes == len(server.objects["bucket/run/x.h5.chunks"])
    expected = look(hs.open(address, storage_options=options))
    server.forget()
    before = hs.counters()
    f = hs.open(address, storage_options=options | {"chunk_index": "beside"})
    assert look(f) == expected
    assert hs.counters().since(before).request_rounds == 1
    assert len(server.asked) == 2, "the index, and the beginning of the file"
    with h5py.File(sample) as there:
        for name in ("late", "chunked", "more"):
            np.testing.assert_array_equal(f[name][...], there[name][...])
        assert f["group/member7"][1] == 7


def test_an_address_elsewhere_can_be_named(server, remote):
    address, options = remote
    elsewhere = "s3://bucket/indexes/x.chunks"
    assert hs.indexes.chunk_index(address, elsewhere, storage_options=options).path == elsewhere
    assert "late" in hs.open(address, storage_options=options | {"chunk_index": elsewhere})
    with pytest.raises(hs.NotFoundError, match=r"s3://bucket/indexes/y\.chunks"):
        hs.open(address, storage_options=options | {"chunk_index": "s3://bucket/indexes/y.chunks"})


@pytest.mark.parametrize("how", ["replaced", "longer", "renamed", "damaged", "cut", "other bytes"])
def test_an_index_that_does_not_fit_is_not_used(server, sample, remote, how):
    address, options = remote
    hs.indexes.chunk_index(address, "beside", storage_options=options)
    index = server.objects["bucket/run/x.h5.chunks"]
    content = sample.read_bytes()
    if how == "replaced":
        # Another name for the same dataset, of the same length.
        content = content.replace(b"late", b"lite")
        server.objects["bucket/run/x.h5"] = content
    elif how == "longer":
        server.objects["bucket/run/x.h5"] = content = content + b"x"
    elif how == "renamed":
        address = "s3://bucket/run/y.h5"
        server.objects["bucket/run/y.h5"], server.objects["bucket/run/y.h5.chunks"] = content, index
    elif how == "damaged":
        server.objects["bucket/run/x.h5.chunks"] = index[:-100] + bytes([index[-100] ^ 1]) + index[-99:]
    else:
        server.objects["bucket/run/x.h5.chunks"] = index[:-10] if how == "cut" else b"<html>no</html>"
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        f = hs.open(address, storage_options=options | {"chunk_index": "beside"})
        late = f["lite" if how == "replaced" else "late"]
        np.testing.assert_array_equal(late[...], np.arange(90_000).reshape(300, 300))
    assert [warning.category for warning in heard] == [hs.CacheWarning] and ".chunks is not used" in str(heard[0].message)
    if how != "renamed":
        with pytest.raises((hs.ConflictError, hs.CorruptError), match="make it again"):
            hs.open(address, storage_options=options | {"chunk_index": "s3://bucket/run/x.h5.chunks"})


def test_without_an_index_beside_it_a_file_opens_as_always(server, remote):
    address, options = remote
    server.objects.pop("bucket/run/x.h5.chunks", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = hs.open(address, storage_options=options | {"chunk_index": "beside"})
        assert f["late"].attrs["units"] == "m" and f["late"][2, 1] == 601
    with pytest.raises(hs.NotFoundError, match=r"x2\.h5"):
        hs.open("s3://bucket/run/x2.h5", storage_options=options | {"chunk_index": "beside"})


def test_a_file_that_is_replaced_after_opening_is_a_conflict(server, sample, remote):
    address, options = remote
    hs.indexes.chunk_index(address, "beside", inline_threshold=1000, storage_options=options)
    f = hs.open(address, storage_options=options | {"chunk_index": "beside"})
    assert f["group/member3"][0] == 3
    server.objects["bucket/run/x.h5"] = sample.read_bytes()[:-1] + b"x"
    with pytest.raises(hs.ConflictError, match="since it was opened"):
        f["chunked"][...]


def test_the_command_line_puts_an_index_beside_a_file(server, remote):
    address, options = remote
    server.objects.pop("bucket/run/x.h5.chunks", None)
    arguments = [f"--storage-option={name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in options.items()]
    command = [sys.executable, "-m", "hyperslab", *arguments]
    run = subprocess.run([*command, "chunk-index", "--out", "beside", address], capture_output=True, text=True, check=True)
    assert f"wrote {address}.chunks" in run.stdout and "bucket/run/x.h5.chunks" in server.objects
    run = subprocess.run([*command, "--storage-option=chunk_index=beside", "ls", address], capture_output=True, text=True, check=True)
    assert "late" in run.stdout


def test_servers_without_strong_tags_and_web_servers_have_no_index_beside(server, sample, remote):
    address, options = remote
    hs.indexes.chunk_index(address, "beside", storage_options=options)
    over_http = f"{server.url}/bucket/run/x.h5"
    f = hs.open(over_http, storage_options={"chunk_index": "beside"})
    assert f["late"].attrs["units"] == "m", "read, but not written"
    with pytest.raises(hs.UnsupportedError, match="not to HTTP servers"):
        hs.indexes.chunk_index(over_http, "beside")


def fetched_of_index(server):
    return sum(min(asked.range[1], server.length(asked.path)) - asked.range[0] for asked in server.asked if asked.path.endswith(".chunks"))


def test_an_index_that_is_longer_than_the_file_justifies_is_not_fetched(server, sample, remote, tmp_path):
    address, options = remote
    long = tmp_path / "long"
    with long.open("wb") as file:
        file.truncate(200 << 20)
    server.put("bucket/run/x.h5.chunks", long)
    server.forget()
    with pytest.warns(hs.CacheWarning, match=f"it has {200 << 20} bytes, more than {(32 << 20) + sample.stat().st_size}"):
        f = hs.open(address, storage_options=options | {"chunk_index": "beside"})
    assert f["late"].attrs["units"] == "m" and fetched_of_index(server) == 4 << 20
    with pytest.raises(hs.LimitExceededError, match="more than"):
        hs.open(address, storage_options=options | {"chunk_index": f"{address}.chunks"})
    # The reader's budget decides.
    with long.open("wb") as file:
        file.truncate(8 << 20)
    server.forget()
    with pytest.warns(hs.CacheWarning, match=f"more than {1000 + sample.stat().st_size}"):
        hs.open(address, storage_options=options | {"chunk_index": "beside"}, limits={"metadata_bytes": 1000})
    assert fetched_of_index(server) == 4 << 20


def test_a_long_index_is_fetched_in_a_second_round(server, tmp_path):
    values = np.random.default_rng(8).integers(0, 255, 9 << 20, dtype=np.uint8)
    with h5py.File(tmp_path / "long.h5", "w") as f:
        f["x"] = values
    server.put("bucket/run/long.h5", (tmp_path / "long.h5").read_bytes())
    address, options = "s3://bucket/run/long.h5", server.s3_options()
    made = hs.indexes.chunk_index(address, "beside", inline_threshold=10 << 20, storage_options=options)
    assert made.bytes > 9 << 20
    server.forget()
    f = hs.open(address, storage_options=options | {"chunk_index": "beside"})
    assert fetched_of_index(server) == made.bytes and max(asked.range[1] - asked.range[0] for asked in server.asked) <= 8 << 20
    server.forget()
    np.testing.assert_array_equal(f["x"][...], values)
    assert server.asked == []
