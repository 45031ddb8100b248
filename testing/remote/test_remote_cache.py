"""Chunk indexes and the cache on disk: remote files without requests, replaced objects, torn files, full disks, other users."""

from __future__ import annotations

import json
import os
import pathlib
import pickle
import stat
import subprocess
import sys
import warnings

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A file of 5 MB with chunks of all kinds of locators, dense groups and attributes, and members far from the beginning."""
    path = tmp_path_factory.mktemp("cache") / "sample.h5"
    random = np.random.default_rng(3)
    with h5py.File(path, "w", libver="latest") as f:
        f["filler"] = random.integers(0, 255, 2 << 20, dtype=np.uint8)
        f.create_dataset("fixed", data=random.normal(size=(300, 400)), chunks=(10, 40), compression="gzip")
        f.create_dataset("growing", data=np.arange(60_000), chunks=(100,), maxshape=(None,))
        f.create_dataset("tree", data=np.arange(40_000).reshape(200, 200), chunks=(10, 10), maxshape=(None, None), shuffle=True)
        for number in range(100):
            f[f"group/member{number}"] = np.full(3, number)
            f["group"].attrs[f"attribute{number}"] = f"text {number}"
    with h5py.File(path, "a") as f:
        f.create_dataset("old", data=np.arange(90_000).reshape(300, 300), chunks=(7, 50))
        f["text"] = ["one", "two"]
    return path


def remote(server, path, cache=None, **options):
    server.objects["bucket/x.h5"] = path if isinstance(path, bytes) else path.read_bytes()
    given = server.s3_options(**({} if cache is None else {"cache_storage": str(cache)}), **options)
    return "s3://bucket/x.h5", given


def walk(f) -> list[str]:
    """All that metadata says, and where all chunks lie."""
    found = []

    def visit(name, item):
        found.append(f"{name} {sorted((key, str(value)) for key, value in item.attrs.items())}")
        if isinstance(item, hs.Dataset):
            found.append(f"{item.shape} {item.dtype} {item.chunks}")

    f.visititems(visit)
    return found


def requests(work):
    before = hs.counters()
    result = work()
    return result, hs.counters().since(before).requests


def test_with_a_chunk_index_nothing_is_asked_before_the_first_value(server, sample, tmp_path):
    address, options = remote(server, sample)
    options["chunk_index"] = str(tmp_path / "x.chunks")
    made = hs.indexes.chunk_index(address, tmp_path / "x.chunks", storage_options=options | {"chunk_index": "none"})
    assert made.path == options["chunk_index"] and made.bytes == os.path.getsize(made.path) < sample.stat().st_size / 4
    assert made.objects == 108 and made.unreadable == 0
    expected = walk(hs.open(address, storage_options=options | {"chunk_index": False}))
    server.forget()
    f, count = requests(lambda: hs.open(address, storage_options=options))
    assert walk(f) == expected and f["group/member7"].shape == (3,) and "group/none" not in f
    assert (count, server.asked) == (0, [])
    with h5py.File(sample) as there:
        for name in ("old", "growing", "tree", "fixed"):
            server.forget()
            g = hs.open(address, storage_options=options)
            np.testing.assert_array_equal(g[name][25], there[name][25])
            assert len(server.asked) <= 8 and all("if-match" in asked.headers for asked in server.asked), "chunks only"
        np.testing.assert_array_equal(f["fixed"][:], there["fixed"][:])
        assert list(f["text"][:]) == list(there["text"][:])
    clone = pickle.loads(pickle.dumps(f))
    assert clone["group/member9"][1] == 9


def test_the_cache_folder_is_asked_by_itself(server, sample, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    address, options = remote(server, sample)
    arguments = [f"--storage-option={name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in options.items()]
    run = subprocess.run([sys.executable, "-m", "hyperslab", *arguments, "chunk-index", address, "--json"], capture_output=True, text=True, check=True)
    made = pathlib.Path(json.loads(run.stdout)["path"])
    assert made.parent == tmp_path / "caches" / "hyperslab" / "chunks"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600 and stat.S_IMODE(made.parent.stat().st_mode) == 0o700
    server.forget()
    assert "fixed" in hs.open(address, storage_options=options) and not server.asked
    hs.open(address, storage_options=options | {"chunk_index": False})
    assert server.asked


@pytest.mark.parametrize("how", ["values", "small", "vanished"])
def test_a_replaced_object_is_a_conflict_and_its_index_goes(server, sample, tmp_path, how):
    address, options = remote(server, sample, tmp_path)
    made = hs.indexes.chunk_index(address, storage_options=options)
    if how == "vanished":
        del server.objects["bucket/x.h5"]
    else:
        server.objects["bucket/x.h5"] = sample.read_bytes()[:-1] + b"x"
    f = hs.open(address, storage_options=options)
    with pytest.raises(hs.NotFoundError if how == "vanished" else hs.ConflictError, match=None if how == "vanished" else "since its chunk index was made"):
        f["group/member3"][:] if how == "small" else f["fixed"][:]
    assert not os.path.exists(made.path)
    if how != "vanished":
        with h5py.File(sample) as there:
            np.testing.assert_array_equal(hs.open(address, storage_options=options)["fixed"][:], there["fixed"][:])


def test_small_values_are_in_the_index_if_it_was_made_so(server, sample, tmp_path):
    address, options = remote(server, sample, tmp_path)
    made = hs.indexes.chunk_index(address, storage_options=options)
    inlined = hs.indexes.chunk_index(address, inline_threshold=1000, storage_options=options)
    # 100 members of 3 numbers each, next to some of which metadata was read.
    assert 1000 < inlined.metadata_bytes - made.metadata_bytes <= 100 * 24 + 1000
    server.forget()
    f = hs.open(address, storage_options=options)
    with h5py.File(sample) as there:
        for number in range(100):
            np.testing.assert_array_equal(f[f"group/member{number}"][:], there[f"group/member{number}"][:])
        assert f.table("/group/member7").to_arrow().num_rows == 3
        assert server.asked == []
        np.testing.assert_array_equal(f["fixed"][7], there["fixed"][7])
        assert server.asked and list(f["text"][:]) == [b"one", b"two"]
    # Values of the version that was indexed are read without a request, as attributes are. What is fetched says that it was replaced.
    server.objects["bucket/x.h5"] = sample.read_bytes()[:-1] + b"x"
    f = hs.open(address, storage_options=options)
    assert list(f["group/member3"][:]) == [3, 3, 3] and os.path.exists(made.path)
    with pytest.raises(hs.ConflictError, match="since its chunk index was made"):
        f["fixed"][:]
    assert not os.path.exists(made.path)
    with pytest.raises(hs.InvalidInputError, match="negative"):
        hs.indexes.chunk_index(address, inline_threshold=-1, storage_options=options)


def test_an_index_of_another_object_or_a_damaged_one_is_an_error(server, sample, tmp_path):
    address, options = remote(server, sample)
    server.put("bucket/y.h5", sample)
    made = hs.indexes.chunk_index(address, tmp_path, storage_options=options)
    with pytest.raises(hs.InvalidInputError, match="is of s3://bucket/x.h5, not of s3://bucket/y.h5"):
        hs.open("s3://bucket/y.h5", storage_options=options | {"chunk_index": made.path})
    assert "fixed" in hs.open("s3://bucket/y.h5", storage_options=options | {"chunk_index": str(tmp_path)}), "a folder has indexes of some files"
    content = bytearray(pathlib.Path(made.path).read_bytes())
    content[len(content) // 2] ^= 1
    pathlib.Path(made.path).write_bytes(content)
    with pytest.raises(hs.CorruptError, match="not a valid chunk index"):
        hs.open(address, storage_options=options | {"chunk_index": made.path})
    with pytest.raises(hs.UnsupportedError, match="local file"):
        hs.indexes.chunk_index(str(sample))
    server.etags = "weak"
    with pytest.raises(hs.UnsupportedError, match="strong entity tag"):
        hs.indexes.chunk_index(address, tmp_path, storage_options=options)


def test_a_damaged_index_of_the_cache_folder_is_left_out_with_a_warning(server, sample, tmp_path):
    address, options = remote(server, sample, tmp_path)
    made = hs.indexes.chunk_index(address, storage_options=options)
    os.truncate(made.path, 1000)
    with pytest.warns(hs.CacheWarning, match="is not used"):
        assert "fixed" in hs.open(address, storage_options=options)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.nc")) + sorted(EXAMPLES.glob("*.h5")), ids=lambda path: path.name)
def test_files_of_examples_need_no_request_for_metadata(server, path, tmp_path):
    address, options = remote(server, path)
    hs.indexes.chunk_index(address, tmp_path, storage_options=options)
    expected = walk(hs.open(path))
    server.forget()
    f = hs.open(address, storage_options=options | {"chunk_index": str(tmp_path)})
    assert walk(f) == expected and not server.asked


def test_netcdf_files_too(server, tmp_path):
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as f:
        f.createDimension("t", None)
        f.createVariable("t", "f8", ("t",))[:] = np.arange(500)
        f.createVariable("v", "f4", ("t",), zlib=True, chunksizes=(50,))[:] = np.arange(500)
    address, options = remote(server, tmp_path / "a.nc")
    hs.indexes.chunk_index(address, tmp_path, storage_options=options)
    server.forget()
    import xarray as xr

    with xr.open_dataset(address, engine="hyperslab", storage_options=options | {"chunk_index": str(tmp_path)}, decode_times=False) as ds:
        assert ds["v"].shape == (500,)
        np.testing.assert_array_equal(ds["v"], np.arange(500))


def blocks_of(cache) -> list[pathlib.Path]:
    return [path for path in (cache / "blocks").rglob("*") if path.is_file()]


def test_what_was_read_is_read_from_disk_the_next_time(server, sample, tmp_path):
    address, options = remote(server, sample, tmp_path / "cache")
    with h5py.File(sample) as there:
        expected = {name: there[name][()] for name in ("fixed", "old", "growing", "tree", "filler")}

        def read():
            f = hs.open(address, storage_options=options)
            for name, values in expected.items():
                np.testing.assert_array_equal(f[name][()], values, err_msg=name)

        _, cold = requests(read)
        before = hs.counters()
        _, warm = requests(read)
        assert (cold > 2, warm) == (True, 1), "opening asks for the version"
        assert hs.counters().since(before).remote_disk_hits > 20
        hs.indexes.chunk_index(address, storage_options=options)
        server.forget()
        read()
        assert len(server.asked) == 1 and "if-match" in server.asked[0].headers, "the version is asked for once"
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in blocks_of(tmp_path / "cache"))
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


def test_torn_and_changed_blocks_are_fetched_again(server, sample, tmp_path):
    address, options = remote(server, sample, tmp_path)
    with h5py.File(sample) as there:
        expected = there["filler"][()]
    hs.open(address, storage_options=options)["filler"][:]
    for number, path in enumerate(blocks_of(tmp_path)):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes([content, content[:-5], b""][number % 3])
    np.testing.assert_array_equal(hs.open(address, storage_options=options)["filler"][:], expected)


def test_versions_are_never_mixed(server, sample, tmp_path):
    address, options = remote(server, sample, tmp_path)
    old = hs.open(address, storage_options=options)
    first = old["filler"][: 1 << 20]
    other = bytearray(sample.read_bytes())
    at = bytes(other).index(first[-1000:].tobytes())
    other[at : at + 1000] = b"\0" * 1000
    server.objects["bucket/x.h5"] = bytes(other)
    new = hs.open(address, storage_options=options)
    assert not new["filler"][(1 << 20) - 1000 : 1 << 20].any()
    # What metadata brought along is still of the old version; what is fetched now would not be.
    with pytest.raises(hs.ConflictError):
        old["filler"][1 << 20 :]


READ = """
import sys, h5py, hyperslab as hs, numpy as np
address, sample, options = sys.argv[1], sys.argv[2], eval(sys.argv[3])
with h5py.File(sample) as there:
    for name in ("fixed", "filler", "tree"):
        np.testing.assert_array_equal(hs.open(address, storage_options=options)[name][()], there[name][()])
"""


def test_processes_share_it(server, sample, tmp_path):
    address, options = remote(server, sample, tmp_path, cache_bytes=1 << 20)
    arguments = [sys.executable, "-W", "error::UserWarning", "-c", READ, address, str(sample), repr(options)]
    running = [subprocess.Popen(arguments) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert sum(path.stat().st_size for path in blocks_of(tmp_path)) <= (1 << 20) + 3 * (1 << 17)
    assert not [path for path in blocks_of(tmp_path) if path.suffix == ".part"]


def read_with_warning(address, options, sample, text):
    with h5py.File(sample) as there, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.testing.assert_array_equal(hs.open(address, storage_options=options)["fixed"][()], there["fixed"][()])
    assert any(warning.category is hs.CacheWarning and text in str(warning.message) for warning in caught), caught


def test_a_folder_that_is_open_to_others_or_is_no_folder_is_not_used(server, sample, tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    address, options = remote(server, sample, tmp_path / "open")
    read_with_warning(address, options, sample, "other users may write")
    (tmp_path / "file").write_bytes(b"")
    address, options = remote(server, sample, tmp_path / "file")
    read_with_warning(address, options, sample, "is not used")
    assert not list((tmp_path / "open").iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_the_cache_of_another_user_is_not_used(server, sample, tmp_path):
    address, options = remote(server, sample, tmp_path / "cache")
    made = hs.indexes.chunk_index(address, storage_options=options)
    os.chown(made.path, 65534, 65534)
    read_with_warning(address, options, sample, "belongs to another user")
    os.chown(tmp_path / "cache", 65534, 65534)
    # This process has the folder open already; another one looks at its owner.
    code = f"import hyperslab as hs; hs.open({address!r}, storage_options={options!r})['fixed'][:]"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "CacheWarning" in run.stderr and "belongs to another user" in run.stderr


LIMITED = """
import resource, signal, sys, h5py, hyperslab as hs, numpy as np
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with h5py.File(sys.argv[2]) as there:
    np.testing.assert_array_equal(hs.open(sys.argv[1], storage_options=eval(sys.argv[3]))["fixed"][()], there["fixed"][()])
"""


def test_a_full_disk_ends_keeping_and_not_reading(server, sample, tmp_path):
    address, options = remote(server, sample, tmp_path)
    run = subprocess.run([sys.executable, "-c", LIMITED, address, str(sample), repr(options)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "CacheWarning: nothing more is kept in the cache folder" in run.stderr and not blocks_of(tmp_path)


def test_settings_are_checked(server, sample, tmp_path):
    address, options = remote(server, sample, tmp_path, cache_bytes="1 GB")
    with pytest.raises(hs.InvalidInputError, match="cache_bytes is '1 GB': give a whole number of bytes"):
        hs.open(address, storage_options=options)
