"""The command line: what it prints, what it writes, and how it fails."""

from __future__ import annotations

import csv
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from command_server import CommandServer

DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
PROFILES = str(DATA / "atlantic_profiles.nc")
COMMAND = pathlib.Path(sys.executable).parent / "hyperslab"
SERVED = COMMAND


@pytest.fixture(scope="module", autouse=True)
def served(command_server: CommandServer) -> None:
    """`run` calls the command server; pipes, terminals and signals are for the installed command."""
    global SERVED
    SERVED = command_server.folder / "hyperslab"


def run(*words: str, status: int = 0) -> str:
    done = subprocess.run([SERVED, *words], capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"})
    assert done.returncode == status, done.stderr
    if status == 0:
        assert done.stderr == "", "no progress and no chatter where there is no terminal"
        assert not any(line.endswith(" ") for line in done.stdout.splitlines()), "no trailing blanks in pipes"
    return done.stdout if status == 0 else done.stderr


def test_ls_shows_shape_type_chunks_and_attributes() -> None:
    text = run("ls", PROFILES)
    assert "theta  (depth=40, lat=6, lon=8)  float32  chunks 1×6×8" in text
    assert "@units = K" in run("ls", "--attributes", PROFILES, "/theta")


def test_objects_that_lack_columns(tmp_path: pathlib.Path) -> None:
    for name, columns in (("a.h5", ["x", "y"]), ("b.h5", ["x"])):
        with h5py.File(tmp_path / name, "w") as f:
            for column in columns:
                f[f"g/{column}"] = [1, 2]
    both = str(tmp_path / "?.h5")
    assert "nonconforming='null'" in run("head", both, "/g", status=1)
    rows = [json.loads(line) for line in run("head", both, "/g", "--nonconforming", "null", "--columns", "x,y", "--json").splitlines()]
    assert rows == [{"x": 1, "y": 1}, {"x": 2, "y": 2}, {"x": 1, "y": None}, {"x": 2, "y": None}]


def test_ls_shows_some_levels() -> None:
    cells = str(DATA / "10x_pbmc68k_reduced.h5ad")
    shown = run("ls", cells, "--depth", "1")
    assert len(shown.splitlines()) == 1 + len(hs.open(cells)) and "uns/  9 members" in shown
    assert "connectivities" not in run("ls", cells, "--depth", "2")
    paths = [fact["path"] for fact in json.loads(run("ls", "--json", cells, "-d", "1"))]
    assert sorted(paths) == sorted(f"/{name}" for name in hs.open(cells))


def test_ls_as_json_names_every_object() -> None:
    facts = {fact["path"]: fact for fact in json.loads(run("ls", "--json", PROFILES))}
    assert set(facts) == {"/" + name for name in hs.open(PROFILES)}
    assert facts["/theta"]["shape"] == [40, 6, 8]
    below = json.loads(run("ls", "--json", str(DATA / "10x_pbmc68k_reduced.h5ad"), "/uns"))
    assert below and all(fact["path"].startswith("/uns") for fact in below)
    assert any(fact.get("ratio") for fact in json.loads(run("ls", "--json", str(DATA / "10x_pbmc68k_reduced.h5ad"))))


def test_info_of_a_file_and_of_a_dataset() -> None:
    facts = json.loads(run("info", "--json", PROFILES))
    assert (facts["format"], facts["datasets"], facts["groups"]) == ("netcdf4", 6, 1)
    assert json.loads(run("info", "--json", PROFILES, "/theta"))["bytes"] == 40 * 6 * 8 * 4
    assert "netCDF-4" in run("info", PROFILES)


def test_head_prints_rows() -> None:
    rows = [json.loads(line) for line in run("head", "--json", "-n", "3", PROFILES, "/theta").splitlines()]
    table = hs.open(PROFILES).table("/theta").head(3)
    assert [row["theta"] for row in rows] == table["theta"].to_pylist()
    chosen = run("head", PROFILES, "/theta", "--columns", "lat,theta", "--where", "depth > 100 and theta < 280", "-n", "2")
    assert "lat" in chosen and "depth" not in chosen


def test_json_of_what_json_cannot_say(tmp_path: pathlib.Path) -> None:
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.array([1.0, np.nan, np.inf])
        f["raw"] = np.array([b"\xff\xfe", b"ab"], dtype="V2")
    rows = [json.loads(line) for line in run("head", "--json", str(tmp_path / "a.h5"), "/x").splitlines()]
    assert [row["x"] for row in rows] == [1.0, None, None]
    rows = [json.loads(line) for line in run("head", "--json", str(tmp_path / "a.h5"), "/raw").splitlines()]
    assert [row["raw"] for row in rows] == ["//4=", "ab"]


def test_sql_prints_and_writes(tmp_path: pathlib.Path) -> None:
    query = "select depth, count(*) as n from theta group by depth order by depth limit 2"
    rows = [json.loads(line) for line in run("sql", "--json", PROFILES, query).splitlines()]
    assert [row["n"] for row in rows] == [48, 48]
    out = tmp_path / "out.parquet"
    assert f"wrote {out}: 2 rows" in run("sql", PROFILES, query, "-o", str(out))
    assert pyarrow.parquet.read_table(out).to_pylist() == rows


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_export_writes_the_table(tmp_path: pathlib.Path, ending: str) -> None:
    out = tmp_path / f"theta.{ending}"
    assert f"wrote {out}: 1,920 rows" in run("export", PROFILES, "/theta", str(out))
    wanted = hs.open(PROFILES).table("/theta").to_arrow()
    if ending == "csv":
        with out.open() as lines:
            found = list(csv.DictReader(lines))
        # Arrow writes a narrow float by its double; what is read back is the same narrow float.
        assert [np.float32(row["theta"]) for row in found if row["theta"]] == [np.float32(v) for v in wanted["theta"].to_pylist() if v is not None]
        return
    found = pyarrow.parquet.read_table(out) if ending == "parquet" else pa.ipc.open_file(out).read_all()
    assert found.to_pylist() == wanted.to_pylist()


def to_standard_output(*words: str) -> bytes:
    return subprocess.run([SERVED, *words], capture_output=True, check=True).stdout


READERS: dict[str, Callable[[bytes], pa.Table]] = {
    "parquet": lambda given: pyarrow.parquet.read_table(pa.BufferReader(given)),
    "arrow": lambda given: pa.ipc.open_file(given).read_all(),
    "feather": lambda given: pyarrow.feather.read_table(pa.BufferReader(given)),
    "arrows": lambda given: pa.ipc.open_stream(given).read_all(),
    "jsonl": lambda given: pa.Table.from_pylist([json.loads(line) for line in given.splitlines()]),
    "csv": lambda given: pyarrow.csv.read_csv(pa.BufferReader(given)),
    "csv.gz": lambda given: pyarrow.csv.read_csv(pa.BufferReader(gzip.decompress(given))),
}


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("to_file", [False, True])
def test_every_format_is_read_by_others(tmp_path: pathlib.Path, format: str, to_file: bool) -> None:
    out = tmp_path / f"out.{format}"
    words = ["export", PROFILES, "/theta", str(out) if to_file else "-", "--where", "theta > 298", "--columns", "depth,theta"]
    written = to_standard_output(*words, *([] if to_file else ["--format", format]))
    found = READERS[format](out.read_bytes() if to_file else written)
    wanted = hs.open(PROFILES).table("/theta", "theta > 298", ["depth", "theta"]).to_arrow()
    assert found.num_rows > 100 and found.column_names == wanted.column_names
    for name in wanted.column_names:
        assert np.array_equal(found[name].to_numpy().astype("f4"), wanted[name].to_numpy().astype("f4"))


def test_a_table_is_exported_as_hdf5(tmp_path: pathlib.Path) -> None:
    import h5py

    out = tmp_path / "out.h5"
    assert f"wrote {out}: 1,920 rows" in run("sql", PROFILES, "from theta", "-o", str(out))
    with h5py.File(out) as f:
        assert f["theta"].shape == (1920,) and np.isnan(f["theta"][:]).any()


def test_a_table_is_exported_as_netcdf(tmp_path: pathlib.Path) -> None:
    import netCDF4
    import xarray

    out = tmp_path / "out.nc"
    assert f"wrote {out}: 1,920 rows" in run("export", PROFILES, "/theta", str(out))
    wanted = hs.open(PROFILES).table("/theta").to_arrow()
    with netCDF4.Dataset(out) as f:
        assert set(f.variables) == set(wanted.column_names) and f["theta"].dimensions == ("row",)
        theta = f["theta"][:]
        assert theta.mask.sum() == wanted["theta"].null_count > 0
        assert theta.filled(np.nan).tolist()[:5] == wanted["theta"].fill_null(float("nan")).to_pylist()[:5]
    with xarray.open_dataset(out, engine="netcdf4") as f:
        assert np.array_equal(f["theta"], np.array(wanted["theta"].to_pylist(), "f4"), equal_nan=True)
    times = "select timestamp '2020-01-01 00:00:01' as t, date '1900-02-03' as d, 'é' as s, true as b, null::int as n, 255::utinyint as u, 10::hugeint as h"
    run("sql", PROFILES, times, "-o", str(out))
    with xarray.open_dataset(out, engine="netcdf4") as f:
        assert (f["t"].values[0], f["d"].values[0]) == (np.datetime64("2020-01-01T00:00:01"), np.datetime64("1900-02-03"))
        assert (f["s"].values[0], f["b"].values[0], f["u"].values[0], f["h"].values[0]) == ("é", True, 255, 10.0)
        assert f["b"].dtype == bool and np.isnan(f["n"].values[0])


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("select [1, 2] as x", "column 'x' of Arrow type list"),
        ("select null::text as x", "column 'x' has 1 nulls"),
        ("select -2147483647 as x", "column 'x' contains -2147483647"),
        ("select 1::hugeint * 9007199254740993 as x", "column 'x' has values of decimal"),
        ("select 1 as row", "a column is called 'row'"),
    ],
)
def test_what_netcdf_cannot_hold_leaves_no_file(tmp_path: pathlib.Path, query: str, says: str) -> None:
    assert says in run("sql", PROFILES, query, "-o", str(tmp_path / "out.nc"), status=1)
    assert list(tmp_path.iterdir()) == []


def test_sql_says_that_the_file_comes_first() -> None:
    assert "the file comes first" in run("sql", "from theta", PROFILES, status=1)


def test_sql_prints_some_rows_and_says_so() -> None:
    query = "select depth, theta from theta order by all"
    for words, rows, said in (([], 1000, "first 1000 rows"), (["--rows", "7"], 7, "first 7 rows"), (["--rows", "1920"], 1920, ""), (["-n", "0"], 1920, "")):
        done = subprocess.run([SERVED, "sql", PROFILES, query, *words], capture_output=True, text=True, check=True)
        shown = [line for line in done.stdout.splitlines() if line.strip()[:1].isdigit()]
        assert len(shown) == rows
        assert (said in done.stderr) if said else done.stderr == ""
    assert len(to_standard_output("sql", PROFILES, query, "--json").splitlines()) == 1920
    assert "depth" in run("sql", PROFILES, "select depth from theta where depth < 0")


def test_head_says_how_many_rows_there_are() -> None:
    for words, said in (
        (["--count"], "hyperslab: the first 10 of 1,920 rows\n"),
        (["--count", "--where", "theta > 299"], "hyperslab: the first 10 of 195 rows that match\n"),
        (["--count", "-n", "195", "--where", "theta > 299"], ""),
        (["--where", "theta > 299"], ""),
    ):
        assert subprocess.run([SERVED, "head", PROFILES, "/theta", *words], capture_output=True, text=True, check=True).stderr == said


def test_rows_come_before_all_are_there(tmp_path: pathlib.Path) -> None:
    """A pipe that is closed after some rows ends the command: 20 million rows would take minutes to print."""
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", (20_000_000,), "f8", chunks=(1 << 20,), fillvalue=1.5)
    for words in (["sql", "from x", "--rows", "0"], ["sql", "from x", "--json"], ["sql", "from x", "--format", "csv"]):
        process = subprocess.Popen([COMMAND, words[0], str(tmp_path / "a.h5"), *words[1:]], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert len([process.stdout.readline() for _ in range(5)]) == 5
        process.stdout.close()
        assert process.wait(timeout=60) == -signal.SIGPIPE


@pytest.mark.parametrize("format", ["h5", "nc"])
def test_hdf5_and_netcdf_go_to_standard_output(tmp_path: pathlib.Path, format: str) -> None:
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    words = [COMMAND, "export", PROFILES, "/theta", "-", "--format", format]
    with open(tmp_path / f"piped.{format}", "wb") as out:
        subprocess.run(words, stdout=out, env=environment, check=True)
    run("export", PROFILES, "/theta", str(tmp_path / f"file.{format}"))
    assert hs.diff(tmp_path / f"piped.{format}", tmp_path / f"file.{format}").equal and hs.open(tmp_path / f"piped.{format}")["theta"].shape == (1920,)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=60) == -signal.SIGPIPE
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("format", ["parquet", "h5"])
def test_bytes_are_not_written_to_a_terminal(format: str) -> None:
    import pty

    leader, follower = pty.openpty()
    done = subprocess.run([COMMAND, "export", PROFILES, "/theta", "-", "--format", format], stdout=follower, stderr=subprocess.PIPE, text=True)
    os.close(follower)
    os.close(leader)
    assert done.returncode == 1 and "terminal" in done.stderr


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "hyperslab", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == hs.__version__


def test_plot_draws_a_picture(tmp_path: pathlib.Path) -> None:
    for path, index in (("/theta", "3"), ("/depth", None)):
        out = tmp_path / "out.png"
        printed = run("plot", PROFILES, path, str(out), *(["--index", index] if index else []))
        assert printed == f"wrote {out}: {out.stat().st_size:,} bytes\n"
        assert out.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ls", "nowhere.nc"], "nowhere.nc"),
        (["ls", PROFILES, "/thta"], "nearest: theta"),
        (["head", PROFILES, "/theta", "--where", "theta >"], "theta >"),
        (["head", PROFILES, "/theta", "--columns", "nothing"], "nothing"),
        (["sql", PROFILES, "select nothing from theta"], "nothing"),
        (["sql", PROFILES, "selec 1"], "syntax error"),
        (["export", PROFILES, "/theta", "theta.xlsx"], ".parquet, .arrow, .feather, .arrows, .csv, .csv.gz, .jsonl, .h5 or .nc"),
        (["export", PROFILES, "/theta", "-"], "standard output: add --format parquet"),
        (["export", PROFILES, "/theta", "-", "--format", "xls"], "--format xls: give parquet"),
        (["export", PROFILES, "/theta", "out.csv", "--format", "xlsx"], "--format xlsx: give parquet"),
        (["export", PROFILES, "/theta", "no/such/folder/theta.csv"], "no/such/folder"),
        (["plot", PROFILES, "/", "out.png"], "is not a dataset"),
        (["plot", PROFILES, "/theta", "out.png", "--index", "99"], "99"),
        (["plot", PROFILES, "/theta", "out.png", "--index", "1,2,3"], "index is (1, 2, 3), but /theta has 1 dimension that is not drawn"),
        (["plot", PROFILES, "/theta", "out.xyz"], "xyz"),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, list) else value,
)
def test_an_error_is_one_line_that_says_what_is_wrong(words: list[str], says: str, tmp_path: pathlib.Path) -> None:
    error = run(*words, status=1)
    assert error.startswith("hyperslab: ") and error.count("\n") == 1, error
    assert says in error
    assert "Traceback" not in error


@pytest.mark.parametrize("words", [[], ["--where", "x > 0", "--count"]])
def test_progress_is_shown_on_a_terminal_only(tmp_path: pathlib.Path, words: list[str]) -> None:
    import pty

    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = values = np.random.default_rng(1).normal(size=3_000_000)
    total = np.count_nonzero(values > 0) if words else len(values)
    # As the command does, with less patience, so that the test need not last.
    script = "import hyperslab.cli.progress as p, hyperslab.cli as c; p.PATIENCE_SECONDS = 0.05; c.main()"
    command = [sys.executable, "-c", script, "export", str(tmp_path / "a.h5"), "/x", str(tmp_path / "x.csv"), *words]
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, env={**os.environ, "TERM": "xterm", "COLUMNS": "80"})
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert process.wait() == 0
    assert f"of {total:,} rows".encode() in shown and b"x.csv" in shown
    assert run("export", str(tmp_path / "a.h5"), "/x", str(tmp_path / "x.arrow")).startswith("wrote")


def test_a_failed_export_leaves_no_file(tmp_path: pathlib.Path) -> None:
    whole = pathlib.Path(PROFILES).read_bytes()
    (tmp_path / "cut.nc").write_bytes(whole[: len(whole) // 2])
    run("export", str(tmp_path / "cut.nc"), "/theta", str(tmp_path / "out.parquet"), status=1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cut.nc"]


@pytest.mark.parametrize(
    "raised",
    [
        "MemoryError",
        'RuntimeError("can\'t start new thread")',
        "BlockingIOError(11, 'Resource temporarily unavailable')",
        "SystemError('error return without exception set')",
    ],
)
def test_a_limit_of_memory_is_one_line(tmp_path: pathlib.Path, raised: str) -> None:
    """What Python and its libraries raise under `ulimit -v`, in the middle of an export. A real limit is met somewhere else each time."""
    script = f"""
        import resource, sys
        import hyperslab.cli.query, hyperslab_command
        from hyperslab.cli import output
        def format_of(*_, **__):
            raise {raised}
        output.format_of = hyperslab.cli.query.format_of = format_of
        sys.argv = ["hyperslab", "export", {PROFILES!r}, "/theta", "theta.parquet"]
        resource.setrlimit(resource.RLIMIT_AS, (1 << 40, resource.RLIM_INFINITY))
        hyperslab_command.main()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, cwd=tmp_path)
    says = "hyperslab: not enough memory: this process may have 1,048,576 MiB of addresses (ulimit -v), of which some are reserved and never used; allow more\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", says) and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("ending", ["h5", "nc"])
def test_a_signal_during_an_export_leaves_nothing(tmp_path: pathlib.Path, ending: str, number: signal.Signals) -> None:
    script = f"""
        import sys, time
        import hyperslab as hs, hyperslab_command, pyarrow as pa
        batches = hs.Table.batches
        def slow(table):
            def some():
                yield from batches(table)
                print("written", flush=True)
                time.sleep(100)
            return pa.RecordBatchReader.from_batches(table.schema, some())
        hs.Table.batches = slow
        sys.argv = ["hyperslab", "export", {PROFILES!r}, "/theta", "theta.{ending}"]
        hyperslab_command.main()
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        assert process.stdout is not None and process.stdout.readline() == "written\n"
        process.send_signal(number)
        assert process.communicate(timeout=60) == ("", "")
    finally:
        process.kill()
    assert process.returncode == 128 + number and list(tmp_path.iterdir()) == []
