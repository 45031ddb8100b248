"""The server by ADBC's driver of Flight SQL, in Go."""

from __future__ import annotations

import datetime
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import adbc_driver_flightsql
import adbc_driver_flightsql.dbapi as adbc
import adbc_driver_manager
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.flight as flight
import pytest
from conftest import ROWS, TOKEN, Served

ENDLESS = "select a.range * b.range as x from range(100000000) a, range(100000000) b"
OPTIONS = adbc_driver_flightsql.DatabaseOptions


def connected(served: Served, token: str = TOKEN, **options: str) -> Any:
    scheme = "grpc+tls" if served.certificate else "grpc"
    given = {OPTIONS.AUTHORIZATION_HEADER.value: f"Bearer {token}", **options}
    return adbc.connect(
        f"{scheme}://localhost:{served.port}" if served.certificate else f"{scheme}://127.0.0.1:{served.port}", db_kwargs=given, autocommit=True
    )


@pytest.fixture
def cursor(served: Served) -> Iterator[Any]:
    with connected(served) as connection, connection.cursor() as cursor:
        yield cursor


def running(served: Served) -> int:
    client = flight.FlightClient(f"grpc://127.0.0.1:{served.port}")
    options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {TOKEN}".encode())])
    (answer,) = client.do_action(flight.Action("Metrics", b""), options)
    return int(answer.body.to_pybytes().decode().split("\nhyperslab_running_queries ")[1].split()[0])


def wait_until_idle(served: Served) -> None:
    until = time.monotonic() + 60
    while running(served):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_rows(cursor: Any, folder: pathlib.Path) -> None:
    with h5py.File(folder / "numbers.h5") as f:
        cursor.execute('select large from "numbers.h5".large')
        assert np.array_equal(cursor.fetch_arrow_table()["large"].to_numpy(), f["large"][:])
        cursor.execute('select words from numbers."deep/words"')
        assert [row[0].encode() for row in cursor.fetchall()] == f["deep/words"][:].tolist()
        cursor.execute("select flags::int from numbers.flags")
        assert [row[0] for row in cursor.fetchall()] == f["flags"][:].astype(int).tolist()
        cursor.execute("select count(*), sum(large), max(large) from numbers.large")
        count, total, largest = cursor.fetchone()
        assert count == ROWS and abs(total - f["large"][:].sum()) < 1e-3 and largest == f["large"][:].max()


def test_prepared_statements(cursor: Any) -> None:
    query = "select count(*) from numbers.x where x >= ? and x < ?"
    schema = cursor.adbc_prepare(query)
    assert schema.types == [pa.int64(), pa.int64()]
    for low in range(0, 200, 10):
        cursor.execute(query, (low, low + 7))
        assert cursor.fetchall() == [(7,)]
    cursor.execute(query, (2.5, 5.5))
    assert cursor.fetchall() == [(3,)]
    cursor.execute("select ? || '!', ?::date + 1, ? is null", ("ä", datetime.date(2026, 1, 31), None))
    assert cursor.fetchall() == [("ä!", datetime.date(2026, 2, 1), True)]
    with pytest.raises(adbc_driver_manager.ProgrammingError, match="read-only"):  # it is for statements that change something
        cursor.executemany("select count(*) from numbers.x where x < ?", [(3,), (5,)])
    assert cursor.adbc_execute_schema("select 1::smallint as a").types == [pa.int16()]


def test_metadata(served: Served) -> None:
    with connected(served) as connection:
        (catalog,) = connection.adbc_get_objects(depth="all").read_all().to_pylist()
        assert catalog["catalog_name"] == "hyperslab"
        (schema,) = catalog["catalog_db_schemas"]
        assert schema["db_schema_name"] == "numbers.h5"
        tables = {table["table_name"]: [column["column_name"] for column in table["table_columns"]] for table in schema["db_schema_tables"]}
        assert tables["x"] == ["dim_0", "x"] and "deep/words" in tables
        assert connection.adbc_get_info()["vendor_name"] == "Hyperslab" and connection.adbc_get_table_types() == ["TABLE"]
        assert connection.adbc_get_table_schema("large", db_schema_filter="numbers.h5").types == [pa.int64(), pa.float64()]


def test_two_users_and_200_queries(served: Served) -> None:
    failed: list[BaseException] = []

    def user(first: int) -> None:
        try:
            with connected(served) as connection, connection.cursor() as cursor:
                for number in range(first, first + 100):
                    cursor.execute(f"select sum(x) from numbers.x where x < {number}")
                    assert cursor.fetchall() == [(number * (number - 1) // 2,)]
        except BaseException as error:
            failed.append(error)

    users = [threading.Thread(target=user, args=(first,)) for first in (1, 5000)]
    for one in users:
        one.start()
    for one in users:
        one.join()
    assert not failed
    wait_until_idle(served)


def test_cancellation(served: Served, cursor: Any) -> None:
    cursor.execute(ENDLESS)
    cursor.fetchmany(10)
    cursor.adbc_cancel()
    with pytest.raises(adbc_driver_manager.Error):
        while True:
            cursor.fetchmany(100_000)
    wait_until_idle(served)
    with connected(served) as connection, connection.cursor() as other:
        waiting = threading.Timer(0.5, other.adbc_cancel)
        waiting.start()
        with pytest.raises(adbc_driver_manager.Error):
            other.execute(f"select sum(x) from ({ENDLESS})")
        waiting.join()
    wait_until_idle(served)


def test_a_client_that_is_killed(served: Served) -> None:
    script = f"""
import sys, adbc_driver_flightsql.dbapi as adbc
connection = adbc.connect("grpc://127.0.0.1:{served.port}", db_kwargs={{"adbc.flight.sql.authorization_header": "Bearer {TOKEN}"}}, autocommit=True)
cursor = connection.cursor()
cursor.execute(sys.argv[1])
cursor.fetchmany(5)
print("running", flush=True)
while cursor.fetchmany(1000): pass
"""
    client = subprocess.Popen([sys.executable, "-c", script, ENDLESS], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None and client.stdout.readline() == "running\n"
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    wait_until_idle(served)


def test_a_slow_client_costs_no_memory(served: Served) -> None:
    wait_until_idle(served)
    before = served.peak_mebibytes()
    with connected(served) as connection, connection.cursor() as cursor:
        cursor.execute("select range as a, range * 2 as b, range / 3 as c from range(2000000000)")  # 48 GB
        reader = cursor.fetch_record_batch()
        for _ in range(50):
            reader.read_next_batch()
            time.sleep(0.02)
    wait_until_idle(served)
    assert served.peak_mebibytes() - before < 300


def test_wrong_tokens(served: Served) -> None:
    for options in ({"token": "wrong"}, {"token": ""}):
        with pytest.raises(adbc_driver_manager.ProgrammingError, match="token is missing or wrong"), connected(served, **options) as connection:
            connection.cursor().execute("select 1")
    with pytest.raises(adbc_driver_manager.ProgrammingError, match="token is missing or wrong"):
        adbc.connect(f"grpc://127.0.0.1:{served.port}", db_kwargs={"username": "me", "password": "wrong"}, autocommit=True).cursor().execute("select 1")
    with (
        adbc.connect(f"grpc://127.0.0.1:{served.port}", db_kwargs={"username": "me", "password": TOKEN}, autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("select 1")
        assert cursor.fetchall() == [(1,)]


def test_tls(secured: Served) -> None:
    assert secured.certificate is not None
    trusted = {OPTIONS.TLS_ROOT_CERTS.value: secured.certificate.read_text()}
    with connected(secured, **trusted) as connection, connection.cursor() as cursor:
        cursor.execute("select count(*) from numbers.large")
        assert cursor.fetchall() == [(ROWS,)]
    with pytest.raises(adbc_driver_manager.Error), connected(secured) as connection:  # a certificate that nobody vouches for
        connection.cursor().execute("select 1")
    with pytest.raises(adbc_driver_manager.Error), connected(secured, token="wrong", **trusted) as connection:
        connection.cursor().execute("select 1")
    with pytest.raises(adbc_driver_manager.Error):  # no TLS
        adbc.connect(f"grpc://localhost:{secured.port}", db_kwargs={OPTIONS.AUTHORIZATION_HEADER.value: f"Bearer {TOKEN}"}, autocommit=True).cursor().execute(
            "select 1"
        )
