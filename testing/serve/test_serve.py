"""`hyperslab serve`: Flight SQL by pyarrow's raw client. `make test-serve` has the drivers of others (ADBC, JDBC)."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest

flight = pytest.importorskip("pyarrow.flight")
pytest.importorskip("google.protobuf")

from hyperslab.engines.reducing import query as reducing  # noqa: E402
from hyperslab.server import FlightSqlServer, Limits  # noqa: E402
from hyperslab.server import database as database_of_server  # noqa: E402
from hyperslab.server.messages import make, pack, unpack  # noqa: E402

TOKEN = "a-token-that-is-long"
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "data"
VALUES = np.random.default_rng(3).integers(-(2**40), 2**40, 200_000)
#: A query that nothing ends by itself.
ENDLESS = "select a.range * b.range as x from range(100000000) a, range(100000000) b"
SILENT = f"select sum(x) from ({ENDLESS})"


class Client:
    """The calls of Flight SQL, as bytes."""

    def __init__(self, server: FlightSqlServer, token: str = TOKEN) -> None:
        self.flight = flight.FlightClient(f"grpc+tcp://127.0.0.1:{server.port}")
        self.options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {token}".encode())], timeout=60)

    def info(self, name: str, **fields: Any) -> Any:
        return self.flight.get_flight_info(flight.FlightDescriptor.for_command(pack(make(name, **fields))), self.options)

    def reader(self, query: str) -> Any:
        return self.flight.do_get(self.info("CommandStatementQuery", query=query).endpoints[0].ticket, self.options)

    def table(self, name: str, **fields: Any) -> pa.Table:
        info = self.info(name, **fields)
        rows = self.flight.do_get(info.endpoints[0].ticket, self.options).read_all()
        assert rows.schema.equals(info.schema), "the announced schema is that of the rows"
        return rows

    def rows(self, query: str) -> list[dict[str, Any]]:
        return self.table("CommandStatementQuery", query=query).to_pylist()

    def action(self, name: str, body: bytes = b"") -> list[bytes]:
        return [result.body.to_pybytes() for result in self.flight.do_action(flight.Action(name, body), self.options)]

    def prepare(self, query: str) -> Any:
        (body,) = self.action("CreatePreparedStatement", pack(make("ActionCreatePreparedStatementRequest", query=query)))
        return unpack(body, "ActionCreatePreparedStatementResult")

    def run(self, handle: bytes, *columns: list[Any], names: list[str] | None = None) -> list[dict[str, Any]]:
        command = make("CommandPreparedStatementQuery", prepared_statement_handle=handle)
        if columns:
            rows = pa.record_batch([pa.array(column) for column in columns], names=names or [str(i) for i in range(len(columns))])
            writer, reader = self.flight.do_put(flight.FlightDescriptor.for_command(pack(command)), rows.schema, self.options)
            with writer:
                writer.write_batch(rows)
                writer.done_writing()
                reader.read()
        return self.table("CommandPreparedStatementQuery", prepared_statement_handle=handle).to_pylist()

    def refused(self, query: str) -> str:
        with pytest.raises((flight.FlightError, pa.ArrowException)) as caught:
            self.rows(query)
        return str(caught.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("served")
    with h5py.File(folder / "numbers.h5", "w") as f:
        f.create_dataset("x", data=VALUES, chunks=(10_000,))
        f["deep/er/y"] = np.arange(12.0).reshape(3, 4)
        f["deep/er/empty"] = np.zeros((0, 2))
    (folder / "sub").mkdir()
    (folder / "sub" / "more.nc").symlink_to(EXAMPLES / "atlantic_profiles.nc")
    (folder / "sub" / "own.nc").write_bytes((EXAMPLES / "atlantic_profiles.nc").read_bytes())
    (folder / "notes.txt").write_text("no data")
    damaged = bytearray((folder / "numbers.h5").read_bytes())
    damaged[48:200] = bytes(152)
    (folder / "damaged.h5").write_bytes(damaged)
    return folder


@pytest.fixture(scope="module")
def server(folder: pathlib.Path) -> Iterator[FlightSqlServer]:
    server = FlightSqlServer(folder, TOKEN)
    yield server
    server.close()


@pytest.fixture
def client(server: FlightSqlServer) -> Client:
    return Client(server)


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_rows_are_those_of_the_file(client: Client, folder: pathlib.Path) -> None:
    rows = client.table("CommandStatementQuery", query='select x from "numbers.h5".x')
    assert np.array_equal(rows["x"].to_numpy(), VALUES)
    assert max(batch.num_rows for batch in rows.to_batches()) <= 65_536
    assert client.rows('select * from hyperslab.numbers."deep/er/y" where y > 9') == [
        {"dim_0": 2, "dim_1": 2, "y": 10.0}, {"dim_0": 2, "dim_1": 3, "y": 11.0},
    ]  # fmt: skip
    assert client.rows("select count(*) as n, sum(x) as s from numbers.x where x > 0") == [{"n": int((VALUES > 0).sum()), "s": int(VALUES[VALUES > 0].sum())}]
    assert (
        client.rows('select avg(theta) a from "sub/own".theta')
        == hs.sql("select avg(theta) a from theta", str(EXAMPLES / "atlantic_profiles.nc")).to_arrow_table().to_pylist()
    )
    assert client.table("CommandStatementQuery", query='select * from numbers."deep/er/empty"').num_rows == 0
    assert client.rows("with q as (select 1 as a union all select 2) select sum(a) as s from q, range(2)") == [{"s": 6}]
    names = client.table("CommandStatementQuery", query="select 1 as a, 2 as a, 3 as A").schema.names
    assert names == ["a", "a", "A"]


@pytest.mark.parametrize(
    "query", ["select count(*) from numbers.x", "select count() from numbers.x", "select count(1) from numbers.x", "from numbers.x select count(*)"]
)
def test_counts_without_a_condition(client: Client, query: str) -> None:
    assert [list(row.values()) for row in client.rows(query)] == [[len(VALUES)]]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("select count(*) from numbers.x where x < 0", int((VALUES < 0).sum())),
        ("select count(*) filter (x < 0) from numbers.x", int((VALUES < 0).sum())),
        ("select count(distinct x % 7) from numbers.x", len(np.unique(np.fmod(VALUES, 7)))),
        ("select count(*) from numbers.x a, numbers.x b where a.dim_0 = b.dim_0 and a.dim_0 < 9", 9),
        ("select count(*) from (select * from numbers.x limit 5)", 5),
        ("select count(*) from numbers.x limit 0", None),
        ("select count(*) from numbers.x having count(*) < 5", None),
        ("select count(*) over () from numbers.x limit 1", len(VALUES)),
        ("with x as (select 1) select count(*) from x", 1),
        ("select count(*) from numbers.x using sample 0 rows", 0),
    ],
)
def test_counts_that_need_the_rows(client: Client, query: str, count: int | None) -> None:
    assert [next(iter(row.values())) for row in client.rows(query)] == ([] if count is None else [count])


def test_metadata(client: Client) -> None:
    assert client.table("CommandGetCatalogs").to_pylist() == [{"catalog_name": "hyperslab"}]
    assert client.table("CommandGetTableTypes").to_pylist() == [{"table_type": "TABLE"}]
    # What a link leads to outside of the folder is not listed, nor what is no data.
    assert client.table("CommandGetDbSchemas")["db_schema_name"].to_pylist() == ["damaged.h5", "numbers.h5", "sub/own.nc"]
    assert client.table("CommandGetDbSchemas", db_schema_filter_pattern="num%.h_")["db_schema_name"].to_pylist() == ["numbers.h5"]
    assert client.table("CommandGetDbSchemas", db_schema_filter_pattern="num\\%").num_rows == 0
    assert client.table("CommandGetDbSchemas", catalog="other").num_rows == 0
    tables = client.table("CommandGetTables", table_name_filter_pattern="%er/%y")
    assert [(row["db_schema_name"], row["table_name"]) for row in tables.to_pylist()] == [("numbers.h5", "deep/er/empty"), ("numbers.h5", "deep/er/y")]
    assert client.table("CommandGetTables", table_types=["VIEW"]).num_rows == 0
    assert client.table("CommandGetPrimaryKeys", table="x").num_rows == 0
    values = dict(zip(*client.table("CommandGetSqlInfo").to_pydict().values()))
    assert values[0] == "Hyperslab" and values[3] is True and values[8] == 0 and "date_trunc" in values[512] and len(values) > 80
    assert client.table("CommandGetSqlInfo", info=[3, 9999])["info_name"].to_pylist() == [3]
    assert client.table("CommandGetXdbcTypeInfo", data_type=12)["type_name"].to_pylist() == ["VARCHAR"]
    assert "damaged" not in str(tables) and client.rows("select 1 as a") == [{"a": 1}]


def test_schemas_of_tables_are_those_of_their_rows() -> None:
    server = FlightSqlServer(EXAMPLES, TOKEN)
    try:
        client, seen = Client(server), 0
        for row in client.table("CommandGetTables", include_schema=True).to_pylist():
            said = pa.ipc.read_schema(pa.py_buffer(row["table_schema"])).remove_metadata()
            info = client.info("CommandStatementQuery", query=f'select * from "{row["db_schema_name"]}"."{row["table_name"]}" limit 0')
            # DuckDB has lists of one kind, and no dictionaries.
            assert said.names == info.schema.names
            same = [(a, b) for a, b in zip(said.types, info.schema.types) if a != b and not pa.types.is_nested(a) and not pa.types.is_dictionary(a)]
            assert [
                (str(a), str(b))
                for a, b in same
                if not (pa.types.is_timestamp(a) or pa.types.is_large_string(a) or pa.types.is_large_binary(a) or pa.types.is_fixed_size_binary(a))
            ] == []
            client.flight.do_get(info.endpoints[0].ticket, client.options).read_all()
            seen += 1
        assert seen > 20
    finally:
        server.close()


def test_prepared_statements(client: Client) -> None:
    prepared = client.prepare("select dim_0, ? as word from numbers.x where dim_0 >= ? and dim_0 < ? and ?::date is null")
    given = pa.ipc.read_schema(pa.py_buffer(prepared.parameter_schema))
    assert given.types == [pa.utf8(), pa.int64(), pa.int64(), pa.date32()]
    assert pa.ipc.read_schema(pa.py_buffer(prepared.dataset_schema)).names == ["dim_0", "word"]
    with pytest.raises(flight.FlightServerError, match="bind them first"):
        client.run(prepared.prepared_statement_handle)
    handle = prepared.prepared_statement_handle
    assert client.run(handle, ["a"], [3], [5], [None]) == [{"dim_0": 3, "word": "a"}, {"dim_0": 4, "word": "a"}]
    assert [row["dim_0"] for row in client.run(handle, ["a", "b"], [7, 1], [8, 2], [None, None])] == [7, 1], "sets of parameters run one after the other"
    assert client.run(handle, [2.5], [3], [4], [None]) == [{"dim_0": 3, "word": 2.5}], "types are those of the values"
    for columns, said in (
        ([["a"], [1]], "4 parameters, and 2"),
        ([["a"], [[1]], [2], [None]], "a list"),
        ([["a"] * 2000, [1] * 2000, [2] * 2000, [None] * 2000], "more than 1000 sets"),
    ):
        with pytest.raises(flight.FlightServerError, match=said):
            client.run(handle, *columns)
    named = client.prepare("select $low::int + 1 as a, $high as b").prepared_statement_handle
    assert client.run(named, ["x"], [1], names=["high", "low"]) == [{"a": 2, "b": "x"}]
    with pytest.raises(flight.FlightServerError, match="are called high, low"):
        client.run(named, ["x"], [1], names=["high", "lower"])
    client.action("ClosePreparedStatement", pack(make("ActionClosePreparedStatementRequest", prepared_statement_handle=handle)))
    with pytest.raises(flight.FlightServerError, match="no such prepared statement"):
        client.run(handle)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("create table t as select 1", "read-only"),
        ("copy (select 1) to '/tmp/x.csv'", "read-only"),
        ("attach '/tmp/x.db'", "read-only"),
        ("set memory_limit = '1TB'", "read-only"),
        ("install httpfs", "read-only"),
        ("pragma database_list", "read-only"),
        ("select 1; select 2", "one statement"),
        ("explain analyze create table t as select 1", "read-only"),
        ("select * from read_csv('/etc/passwd')", "read_csv is not available"),
        ("select * from \"READ_text\"('/etc/passwd')", "not available"),
        ("select (select count(*) from glob('/*'))", "glob is not available"),
        ("with q as (select * from query('select 1')) select * from q", "query is not available"),
        ("select * from query_table('x')", "not available"),
        ("select * from duckdb_settings()", "not available"),
        ("select * from arrow_scan(1, 2, 3)", "not available"),
        ("select * from '/etc/passwd'", "say in which file"),
        ("select * from x", 'say in which file'),
        ("select * from information_schema.tables", "no file 'information_schema'"),
        ("show tables", "ask the client"),
        ("select * from other.numbers.x", "no catalog 'other'"),
        ("select * from nothing.x", "no file 'nothing'"),
        ('select * from "sub/../numbers.h5".x', "no file"),
        ('select * from "/etc/passwd".x', "no file"),
        ('select * from "sub/more.nc".theta', "no file"),
        ('select * from "sub/more".theta', "no file"),
        ('select * from "notes.txt".x', "no file"),
        ("select * from numbers.z", "no table 'z' in 'numbers.h5': there are"),
        ("select z from numbers.x", '"z" not found'),
        ("selec 1", "syntax error"),
        ("", "one statement"),
        ("select error('of its own')", "of its own"),
        ('select * from "damaged.h5".x', ""),
    ],
)  # fmt: skip
def test_what_is_refused(client: Client, folder: pathlib.Path, query: str, said: str) -> None:
    text = client.refused(query)
    assert said in text and str(folder) not in text and "Traceback" not in text and len(text) < 1500
    assert client.rows("select 1 as a") == [{"a": 1}]


def test_damaged_requests(client: Client) -> None:
    for command in (b"", b"\xff\xff\xff", pack(make("CommandStatementUpdate", query="select 1")), pack(make("TicketStatementQuery", statement_handle=b"x"))):
        with pytest.raises((flight.FlightError, pa.ArrowException)):
            client.flight.get_flight_info(flight.FlightDescriptor.for_command(command), client.options)
        with pytest.raises((flight.FlightError, pa.ArrowException)):
            client.flight.do_get(flight.Ticket(command), client.options).read_all()
    for name, body in (("CreatePreparedStatement", b"\xff"), ("CancelFlightInfo", b"\xff\xff"), ("BeginTransaction", b""), ("other", b"")):
        with pytest.raises((flight.FlightError, pa.ArrowException)):
            client.action(name, body)
    assert client.rows("select 1 as a") == [{"a": 1}]
    assert client.action("CloseSession") == [make("CloseSessionResult", status=1).SerializeToString()]


def test_only_the_token_opens(server: FlightSqlServer) -> None:
    for token in ("", "other", TOKEN + "x"):
        with pytest.raises(flight.FlightUnauthenticatedError, match="token is missing or wrong"):
            Client(server, token).rows("select 1")
    plain = flight.FlightClient(f"grpc+tcp://127.0.0.1:{server.port}")
    with pytest.raises(flight.FlightUnauthenticatedError):
        list(plain.list_actions())
    with pytest.raises(flight.FlightUnauthenticatedError):
        plain.authenticate_basic_token("me", "other")
    assert plain.authenticate_basic_token("me", TOKEN) == (b"authorization", f"Bearer {TOKEN}".encode())


def limited(folder: pathlib.Path, **limits: Any) -> tuple[FlightSqlServer, Client]:
    server = FlightSqlServer(folder, TOKEN, limits=Limits(**limits))
    return server, Client(server)


def running(server: FlightSqlServer) -> bool:
    return "hyperslab_running_queries 0\n" not in server.metrics()


def test_limits(folder: pathlib.Path) -> None:
    server, client = limited(folder, rows=1000, bytes=50_000, queries=1, wait_seconds=0.0, memory=64 << 20)
    try:
        assert len(client.rows("select * from range(1000)")) == 1000
        assert "more than 1000 rows" in client.refused("select * from range(100000)")
        assert "more than 50000 bytes" in client.refused("select repeat('x', 1000) from range(900)")
        assert "Memory" in client.refused("select list(range) from range(100000000)")
        info = client.info("CommandStatementQuery", query="select 1 as a")  # it holds the only place until it is fetched
        assert "1 queries run already" in client.refused("select 2")
        assert client.flight.do_get(info.endpoints[0].ticket, client.options).read_all().to_pylist() == [{"a": 1}]
        wait_until(lambda: not running(server))
        assert client.rows("select 3 as a") == [{"a": 3}]
        lines = server.metrics().splitlines()
        assert 'hyperslab_queries_total{outcome="done"} 3' in lines and 'hyperslab_refused_total{reason="busy"} 1' in lines
        assert 'hyperslab_queries_total{outcome="failed"} 3' in lines and client.action("Metrics")[0].decode().splitlines() == lines
    finally:
        server.close()


def test_time_and_results_that_nobody_fetches(folder: pathlib.Path) -> None:
    server, client = limited(folder, seconds=0.2, queries=1)
    try:
        assert "longer than 0.2 seconds" in client.refused(SILENT)
        assert "longer than 0.2 seconds" in client.refused(ENDLESS)
        assert client.rows("select 1 as a") == [{"a": 1}]
    finally:
        server.close()
    server, client = limited(folder, unfetched_seconds=0.1, queries=1)
    try:
        info = client.info("CommandStatementQuery", query=ENDLESS)
        wait_until(lambda: not running(server))
        with pytest.raises(flight.FlightServerError, match="no such result"):
            client.flight.do_get(info.endpoints[0].ticket, client.options).read_all()
    finally:
        server.close()


@pytest.fixture
def reductions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the aggregates of queries are computed, as `explain` would say it."""
    notes: list[str] = []

    def noting(*arguments: Any) -> Any:
        found = reducing.reduced(*arguments)
        notes.extend(found.groups.notes())
        return found

    monkeypatch.setattr(database_of_server, "reduced", noting)
    return notes


@pytest.mark.parametrize(
    "query",
    [
        "select avg(x), count(*) from {}.x where dim_0 % 3 = 1",
        "select dim_0 // 50000 as part, sum(x), min(x), max(x) from {}.x group by part order by part",
        "with x as (select sum(x) as s from {}.x) select s + 1 from x",
        "select a.part, a.s - b.s from (select dim_0 % 4 as part, sum(x) s from {0}.x group by all) a, (select sum(x) s from {0}.x where x > 0) b order by 1",
    ],
)
def test_aggregates_are_computed_on_the_array(client: Client, folder: pathlib.Path, reductions: list[str], query: str) -> None:
    rows = [tuple(row.values()) for row in client.rows(query.format("numbers"))]
    assert rows == hs.sql(query.format("n"), n=str(folder / "numbers.h5")).fetchall()
    assert reductions and all(note.startswith("reduced in the array") for note in reductions)


def test_aggregates_of_prepared_statements(client: Client, reductions: list[str]) -> None:
    handle = client.prepare("select sum(x) as s, count(*) as n from numbers.x where x > ? and dim_0 < ?").prepared_statement_handle
    reductions.clear()
    found = client.run(handle, [0, -5], [1000, 2000])
    chosen = [VALUES[:1000][VALUES[:1000] > 0], VALUES[:2000][VALUES[:2000] > -5]]
    assert found == [{"s": int(one.sum()), "n": len(one)} for one in chosen]
    assert len(reductions) == 2 and all(note.startswith("reduced in the array") for note in reductions)


def test_explained_aggregates_are_plans(client: Client) -> None:
    assert "PLAN" in client.rows("explain select sum(x) from numbers.x")[0]["explain_key"].upper()


def test_a_long_aggregate_ends_at_the_limit_of_time(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "long.h5", "w") as f:
        f.create_dataset("z", (400_000, 500, 500), "f8", chunks=(1, 500, 500), fillvalue=1.5)
    server, client = limited(tmp_path, seconds=0.3)
    try:
        since = time.monotonic()
        assert "longer than 0.3 seconds" in client.refused("select avg(z) from long.z where z > 1")
        wait_until(lambda: not running(server))
        assert time.monotonic() - since < 20
    finally:
        server.close()


def test_cancelling(server: FlightSqlServer, client: Client) -> None:
    info = client.info("CommandStatementQuery", query=ENDLESS)
    reader = client.flight.do_get(info.endpoints[0].ticket, client.options)
    assert reader.read_chunk().data.num_rows > 0
    body = make("CancelFlightInfoRequest")
    body.info.endpoint.add().ticket.ticket = info.endpoints[0].ticket.ticket
    assert client.action("CancelFlightInfo", body.SerializeToString()) == [make("CancelFlightInfoResult", status=1).SerializeToString()]
    with pytest.raises(flight.FlightCancelledError, match="was cancelled"):
        while True:  # `read_all` takes an error of this kind for Ctrl-C
            reader.read_chunk()
    wait_until(lambda: not running(server))
    with pytest.raises(flight.FlightServerError, match="no such result"):
        client.action("CancelFlightInfo", body.SerializeToString())


def test_clients_that_go_away(server: FlightSqlServer, client: Client) -> None:
    reader = client.reader(ENDLESS)
    reader.read_chunk()
    reader.cancel()
    wait_until(lambda: not running(server))
    # One that waits for the first row, which never comes.
    hasty = Client(server)
    hasty.options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {TOKEN}".encode())], timeout=0.3)
    with pytest.raises(flight.FlightTimedOutError):
        hasty.rows(SILENT)
    wait_until(lambda: not running(server))
    # One whose connection breaks.
    broken = Client(server)
    broken.reader(ENDLESS).read_chunk()
    broken.flight.close()
    del broken
    wait_until(lambda: not running(server))
    assert client.rows("select 1 as a") == [{"a": 1}]


def test_many_at_once(server: FlightSqlServer) -> None:
    failed: list[BaseException] = []

    def user(first: int) -> None:
        try:
            client = Client(server)
            for number in range(first, first + 20):
                assert client.rows(f"select count(*) as n from numbers.x where dim_0 < {number}") == [{"n": number}]
        except BaseException as error:
            failed.append(error)

    users = [threading.Thread(target=user, args=(first,)) for first in (0, 50, 100)]
    for one in users:
        one.start()
    for one in users:
        one.join()
    assert not failed and not running(server)


def test_files_that_change(tmp_path: pathlib.Path) -> None:
    server = FlightSqlServer(tmp_path, TOKEN)
    try:
        client = Client(server)
        assert client.table("CommandGetDbSchemas").num_rows == 0
        for values in ([1, 2], [3, 4, 5]):
            with h5py.File(tmp_path / "new.h5", "w") as f:
                f["x"] = values
            os.replace(tmp_path / "new.h5", tmp_path / "a.h5")
            assert [row["x"] for row in client.rows("select x from a.x")] == values
        with h5py.File(tmp_path / "new.h5", "w") as f:
            f["y"] = [1]
        os.replace(tmp_path / "new.h5", tmp_path / "a.h5")
        assert "no table 'x'" in client.refused("select x from a.x") and client.rows("select y from a.y") == [{"y": 1}]
        (tmp_path / "A.h5").write_bytes((tmp_path / "a.h5").read_bytes())
        if len(list(tmp_path.iterdir())) == 2:  # names differ in case
            assert "differ in case only" in client.refused("select y from A.y") and client.rows("select y from a.y") == [{"y": 1}]
            (tmp_path / "A.h5").rename(tmp_path / "B.h5")
        (tmp_path / "a.nc").write_bytes((tmp_path / "a.h5").read_bytes())
        assert "'a' may be a.h5, a.nc: add the suffix" in client.refused("select y from a.y")
        (tmp_path / "a.h5").unlink()
        assert "no file 'a.h5'" in client.refused('select y from "a.h5".y') and client.rows("select y from a.y") == [{"y": 1}]
    finally:
        server.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "give --tls CERTIFICATE KEY and a token"),
        (["--host", "0.0.0.0", "--token", TOKEN], "give --tls CERTIFICATE KEY and a token"),
        (["--token", "short"], "at least 16"),
        (["--tls", "none.pem", "none.key"], "cannot read 'none.pem'"),
    ],
)
def test_the_command_refuses_what_is_not_safe(tmp_path: pathlib.Path, words: list[str], said: str) -> None:
    from hyperslab.cli.serve import serve

    given = {
        words[0].lstrip("-"): tuple(words[1:]) if words[0] == "--tls" else words[1],
        **({"token": words[3]} if len(words) > 3 and words[2] == "--token" else {}),
    }
    defaults = dict.fromkeys(("tls", "token", "token_file", "rows", "megabytes", "seconds", "queries", "memory"))
    with pytest.raises(hs.Error, match=said):
        serve(str(tmp_path), **{"port": 0, "host": "127.0.0.1", **defaults, **given})


def test_a_query_that_comes_while_the_server_ends_is_refused(folder: pathlib.Path) -> None:
    server = FlightSqlServer(folder, TOKEN)
    client = Client(server)
    assert client.rows("select 1 as a") == [{"a": 1}]
    server._queries.close()  # as `close` begins
    assert "the server ends" in client.refused("select * from range(5)")
    with pytest.raises(flight.FlightError, match="the server ends"):
        client.prepare("select 1")
    assert server._queries.count() == 0
    ending = threading.Thread(target=server.close, daemon=True)
    ending.start()
    ending.join(30)
    assert not ending.is_alive()


def test_the_command(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "token").write_text(TOKEN + "\n")
    command = [sys.executable, "-m", "hyperslab", "serve", str(folder), "--token-file", str(tmp_path / "token"), "--rows", "5"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    assert server.stdout is not None
    line = server.stdout.readline()
    assert line.startswith("grpc+tcp://127.0.0.1:"), server.communicate()[1]
    client = Client.__new__(Client)
    client.flight = flight.FlightClient(line.split()[0])
    client.options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {TOKEN}".encode())], timeout=60)
    assert client.rows("select 1 as a") == [{"a": 1}] and "more than 5 rows" in client.refused("select * from range(6)")
    reader = client.reader("select * from range(5)")  # it runs when the signal comes
    server.send_signal(signal.SIGINT)
    output, errors = server.communicate(timeout=60)
    del reader
    assert server.returncode == 130 and errors == "" and TOKEN not in output
