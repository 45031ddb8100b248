"""Files written to an object store: whole or not at all. The store is the tests' own server with S3's protocol (`make test-stores` has moto's)."""

from __future__ import annotations

import io
import json
import pathlib
import signal
import subprocess
import sys
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import xarray
from range_server import Asked, Server

RNG = np.random.default_rng(27)
LARGE = RNG.integers(0, 1 << 30, 9 << 20, dtype="i4")  # 36 MiB: three parts


@pytest.fixture
def server(clean_server: Server) -> Server:
    return clean_server


def content(server: Server, name: str) -> h5py.File:
    return h5py.File(io.BytesIO(server.objects[f"bucket/{name}"]), "r")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("values", [np.arange(10), LARGE], ids=["one request", "in parts"])
@pytest.mark.parametrize("mode", ["w", "x"])
def test_a_file_appears_when_it_is_closed(server: Server, values: Any, mode: str) -> None:
    options = server.s3_options()
    with hs.create("s3://bucket/run/a b.h5", mode, storage_options=options) as f:
        f["x"] = values
        f.attrs["title"] = "far away"
        assert f.filename == "s3://bucket/run/a b.h5" and list(server.objects) == []
        np.testing.assert_array_equal(f["x"][5:9], values[5:9])
    assert list(server.objects) == ["bucket/run/a b.h5"]
    with content(server, "run/a b.h5") as f:
        assert f.attrs["title"] == "far away"
        np.testing.assert_array_equal(f["x"][:], values)
    np.testing.assert_array_equal(hs.open("s3://bucket/run/a b.h5", storage_options=options)["x"][:], values)


def test_writers_of_tables_netcdf_and_xarray(server: Server) -> None:
    options = server.s3_options()
    table = pa.table({"x": [1, 2, 3], "y": [0.5, 1.5, 2.5]})
    assert hs.write_table(table, "s3://bucket/t.h5", storage_options=options) == 3
    assert content(server, "t.h5")["y"][:].tolist() == [0.5, 1.5, 2.5]
    with hs.create_netcdf("s3://bucket/n.nc", storage_options=options) as f:
        f.create_dimension("x", 3)
        f.create_variable("x", ["x"], data=[1, 2, 3], units="m")
    with netCDF4.Dataset("memory", memory=server.objects["bucket/n.nc"]) as f:
        assert f["x"][:].tolist() == [1, 2, 3] and f["x"].units == "m"
    dataset = xarray.Dataset({"v": (("t", "y"), RNG.random((4, 5)))}, {"t": np.arange(4)})
    hs.to_netcdf(dataset, "s3://bucket/x.nc", storage_options=options)
    xarray.testing.assert_identical(xarray.open_dataset("s3://bucket/x.nc", engine="hyperslab", storage_options=options).load(), dataset)
    rows = hs.open("s3://bucket/t.h5", storage_options=options).table("/", "x > 1")
    for ending in ("parquet", "csv", "h5", "nc"):
        assert rows.write(f"s3://bucket/rows.{ending}", storage_options=options) == 2
    assert pyarrow.parquet.read_table(io.BytesIO(server.objects["bucket/rows.parquet"])).to_pydict() == {"x": [2, 3], "y": [1.5, 2.5]}
    assert content(server, "rows.h5")["x"][:].tolist() == [2, 3]


@pytest.mark.parametrize("values", [np.arange(10), LARGE], ids=["one request", "in parts"])
def test_what_is_there_is_kept_with_x_and_replaced_with_w(server: Server, values: Any) -> None:
    options, path = server.s3_options(), "s3://bucket/x.h5"
    server.put("bucket/x.h5", b"old")
    with pytest.raises(hs.ConflictError, match="there is an object of this name already"):
        hs.create(path, "x", storage_options=options)
    with hs.create(path, storage_options=options) as f:
        f["x"] = values
    np.testing.assert_array_equal(content(server, "x.h5")["x"][:], values)
    # One that comes while the file is written.
    f = hs.create("s3://bucket/y.h5", "x", storage_options=options)
    f["x"] = values
    server.put("bucket/y.h5", b"another writer's")
    with pytest.raises(hs.ConflictError, match="there is an object of this name already"):
        f.close()
    assert server.objects == {"bucket/x.h5": server.objects["bucket/x.h5"], "bucket/y.h5": b"another writer's"}


def test_an_exception_leaves_nothing(server: Server) -> None:
    with pytest.raises(ZeroDivisionError), hs.create("s3://bucket/x.h5", storage_options=server.s3_options()) as f:
        f["x"] = LARGE
        1 / 0  # noqa: B018
    assert server.objects == {} and [asked for asked in server.asked if asked.method != "HEAD"] == []


@pytest.mark.parametrize("values", [np.arange(10), LARGE], ids=["one request", "in parts"])
@pytest.mark.parametrize(("fault", "kind", "says"), [(403, hs.IoError, "403"), (501, hs.IoError, "Fault501"), ("expired", hs.IoError, "expired")])
def test_what_a_store_refuses_is_one_error(server: Server, values: Any, fault: Any, kind: type[hs.Error], says: str) -> None:
    last = "PUT"
    server.fault = lambda asked: fault if asked.method == last and (values is not LARGE or asked.query.startswith("partNumber=2")) else None
    f = hs.create("s3://bucket/x.h5", storage_options=server.s3_options(max_retries=1))
    f["x"] = values
    with pytest.raises(kind, match=says) as raised:
        f.close()
    assert "s3://bucket/x.h5" in str(raised.value) and "secret" not in str(raised.value) and server.objects == {}


def test_what_passes_is_tried_again(server: Server) -> None:
    failed: set[str] = set()

    def fault(asked: Asked) -> int | None:
        if asked.method == "GET" or asked.query in failed:
            return None
        failed.add(asked.query)
        return 503

    server.fault = fault
    with hs.create("s3://bucket/x.h5", storage_options=server.s3_options()) as f:
        f["x"] = LARGE
    np.testing.assert_array_equal(content(server, "x.h5")["x"][:], LARGE)
    assert len(failed) > 4


def test_addresses_that_cannot_be_written(server: Server, tmp_path: pathlib.Path) -> None:
    options = server.s3_options()
    with pytest.raises(hs.UnsupportedError, match="not to HTTP servers"):
        hs.create(f"{server.url}/x.h5")
    with pytest.raises(hs.InvalidInputError, match="no name of an object"):
        hs.create("s3://bucket", storage_options=options)
    with pytest.raises(hs.UnsupportedError, match="written whole"):
        hs.write_table(pa.table({"x": [1]}), "s3://bucket/x.h5", mode="a", storage_options=options)
    with pytest.raises(hs.InvalidInputError, match="'endpoints' is not a storage option"):
        hs.create("s3://bucket/x.h5", storage_options={"endpoints": "x"})
    server.missing_buckets.add("nowhere")
    f = hs.create("s3://nowhere/x.h5", storage_options=options)
    with pytest.raises(hs.NotFoundError, match="no such bucket"):
        f.close()


def test_the_command_line_exports_to_a_store(server: Server, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(10)
    words = [word for name, value in server.s3_options().items() for word in ("--storage-option", f"{name}={str(value).lower()}")]
    command = [str(pathlib.Path(sys.executable).parent / "hyperslab"), *words, "export", str(tmp_path / "a.h5"), "/x", "s3://bucket/x.parquet"]
    done = subprocess.run([*command, "--where", "x > 6"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("wrote s3://bucket/x.parquet: 3 rows"), done
    assert pyarrow.parquet.read_table(io.BytesIO(server.objects["bucket/x.parquet"]))["x"].to_pylist() == [7, 8, 9]


def test_control_c_ends_an_upload_and_leaves_no_part(server: Server) -> None:
    server.fault = lambda asked: "stall" if asked.query.startswith("partNumber=3") else None
    server.stall_seconds = 4
    script = "import sys, json, numpy as np, hyperslab as hs\nf = hs.create('s3://bucket/x.h5', storage_options=json.loads(sys.argv[1]))\nf['x'] = np.ones(12 << 20)\nprint('ready', flush=True)\nf.close()"
    process = subprocess.Popen([sys.executable, "-c", script, json.dumps(server.s3_options())], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    while not any(asked.query.startswith("partNumber=3") for asked in list(server.asked)):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode != 0 and "KeyboardInterrupt" in errors and server.objects == {}
