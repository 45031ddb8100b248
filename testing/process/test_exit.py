"""The end of a process: scans that were not read to their end, signals, part files, and files that were not closed."""

from __future__ import annotations

import os
import pathlib
import pickle
import pty
import re
import signal
import stat
import subprocess
import sys
import textwrap
import time

import h5py
import hyperslab as hs
import numpy as np
import pytest

COMMAND = pathlib.Path(sys.executable).parent / "hyperslab"
PATIENCE = 60
"""Seconds that a process may take to end; one that hangs takes forever."""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> str:
    """15 billion values that were never written: the file is small, a scan of it long on every machine. A tenth of it was
    filtered in 3 seconds, and a signal that came as the process ended by itself found no handler."""
    path = tmp_path_factory.mktemp("exit") / "long.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("z", (60_000, 500, 500), "f8", chunks=(10, 500, 500), fillvalue=1.5)
    return str(path)


def python(script: str, *words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a script to its end; the test fails if there is none."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(script), *words], capture_output=True, text=True, timeout=PATIENCE, **options)  # type: ignore[call-overload, no-any-return]


UNFINISHED = {
    "sql": "hs.sql('select * from z limit 5', sys.argv[1]).fetchall()",
    "sql kept": "kept = hs.sql('select * from z', sys.argv[1]); kept.limit(5).fetchall()",
    "exists": "hs.sql('select exists(select * from z where z > 1)', sys.argv[1]).fetchall()",
    "duckdb": "import duckdb; d = table.dataset(); duckdb.sql('select * from d limit 5').fetchall()",
    "duckdb of a table": "import duckdb; t = table; duckdb.sql('select * from t limit 5').fetchall()",
    "polars": "import polars; polars.scan_pyarrow_dataset(table.dataset()).head(5).collect()",
    "scan_polars": "hs.scan_polars(table).head(5).collect()",
    "scan_polars streamed": "import polars; hs.scan_polars(table).filter(polars.col('z') > 1).head(5).collect(engine='streaming')",
    "scan_polars batches": "next(iter(hs.scan_polars(table).collect_batches()))",
    "attached": "import duckdb; con = duckdb.connect(); hs.attach(con, sys.argv[1], 'a'); con.sql('select * from a.z limit 5').fetchall()",
    "head": "table.dataset().head(5)",
    "head of an expression": "import pyarrow.compute as pc; hs.open(sys.argv[1]).table('/z', where=pc.field('z') > 1).head(5)",
    "reader": "reader = table.dataset().scanner().to_reader(); reader.read_next_batch()",
    "batches": "batches = table.dataset().to_batches(); next(iter(batches))",
    "stream": "import pyarrow as pa; reader = pa.RecordBatchReader.from_stream(table); reader.read_next_batch()",
    "nothing passes": "batches = table.dataset().to_batches(filter=__import__('pyarrow').compute.field('z') > 2); import threading, time; "
    "threading.Thread(target=lambda: next(iter(batches), None), daemon=True).start(); time.sleep(0.3)",
    "batches given to Arrow": "import pyarrow.dataset as ds; ds.Scanner.from_batches(table.batches()).head(5)",
    "the rest of batches given to Arrow": "import pyarrow.dataset as ds; reader = table.batches(); next(reader); ds.Scanner.from_batches(reader).head(5)",
    "batches of a split given to Arrow": "import pyarrow.dataset as ds; ds.Scanner.from_batches(table.splits(2)[1].batches()).head(5)",
    "batches of a query given to Arrow": "import pyarrow.dataset as ds; ds.Scanner.from_batches(hs.query(sys.argv[1], '/', 'z > 1').batches(['z'])).head(5)",
    "batches of an expression given to Arrow": "import pyarrow.compute as pc, pyarrow.dataset as ds; "
    "ds.Scanner.from_batches(hs.open(sys.argv[1]).table('/z', where=pc.field('z') > 1).batches()).head(5)",
    "batches given to DuckDB": "import duckdb; reader = table.batches(); duckdb.sql('select * from reader limit 5').fetchall()",
    "batches read on a thread": "import threading, time; reader = table.batches(); threading.Thread(target=lambda: [batch for batch in reader], daemon=True).start(); time.sleep(0.3)",
    "batches closed": "reader = table.batches(); next(reader); reader.close()",
}


#: Each form falls off its end; one of each engine, and a thread, end in other ways, too.
ENDS = [(form, "") for form in UNFINISHED] + [
    (form, end) for form in ("sql", "polars", "reader", "batches read on a thread") for end in ("; sys.exit(0)", "; 1 / 0")
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("form", "end"), ENDS)
def test_a_process_ends_after_a_scan_that_was_not_read_to_its_end(long: str, form: str, end: str) -> None:
    done = python(f"import sys, hyperslab as hs; table = hs.open(sys.argv[1]).table('/z'); {UNFINISHED[form]}; print('read', flush=True){end}", long)
    assert done.stdout == "read\n", done.stderr
    assert done.returncode == (1 if "1 / 0" in end else 0), done.stderr
    assert "1 / 0" in end or done.stderr == ""


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seconds", [0.5, 2], ids=["early", "late"])
def test_a_process_ends_whose_daemon_thread_is_in_the_middle_of_a_scan(long: str, seconds: float) -> None:
    """Importing DuckDB takes half a second on a busy machine: early may be before the query."""
    for scan in (
        "hs.sql('select sum(z + 1) from z', sys.argv[1]).fetchall()",
        "table.to_arrow()",
        "table.count()",
        "hs.query(sys.argv[1], '/', 'z > 2').count()",
        "[batch for batch in table.batches()]",
    ):
        done = python(
            f"""
            import sys, threading, time, hyperslab as hs
            table = hs.open(sys.argv[1]).table('/z', where='z > 2')
            threading.Thread(target=lambda: {scan}, daemon=True).start()
            time.sleep({seconds})
        """,
            long,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (scan, done.stderr)


@pytest.mark.parametrize("seconds", [0.2, 0.25, 0.3, 0.35, 0.4, 0.45])
def test_a_process_ends_whose_daemon_thread_is_about_to_ask(long: str, seconds: float) -> None:
    """Between the import of DuckDB and the query, which is when depends on the machine."""
    done = python(
        f"""
        import sys, threading, time, hyperslab as hs
        threading.Thread(target=lambda: hs.sql('select sum(z + 1) from z', sys.argv[1]).fetchall(), daemon=True).start()
        time.sleep({seconds})
    """,
        long,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_a_process_ends_whose_daemon_threads_ask_on_and_on(long: str) -> None:
    for _ in range(3):
        done = python(
            """
            import contextlib, sys, threading, time, hyperslab as hs
            def ask():
                while True:
                    with contextlib.suppress(Exception):
                        hs.sql('select sum(z + 1) from z', sys.argv[1]).fetchall()
            for _ in range(2):
                threading.Thread(target=ask, daemon=True).start()
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
            time.sleep(0.5)
        """,
            long,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_a_forked_child_ends_after_an_unfinished_scan(long: str) -> None:
    done = python(
        """
        import os, sys, hyperslab as hs
        table = hs.open(sys.argv[1]).table('/z')
        next(iter(table.dataset().to_batches()))
        child = os.fork()
        if child == 0:
            reader = table.batches()
            reader.read_next_batch()
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """,
        long,
    )
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


def test_scans_that_are_dropped_give_their_memory_back(long: str) -> None:
    done = python(
        """
        import resource, sys, hyperslab as hs
        table = hs.open(sys.argv[1]).table('/z')
        peaks = []
        for part in range(3):
            for _ in range(8):
                table.dataset().head(5)
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
        print(peaks[-1] - peaks[0])
    """,
        long,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 400, f"16 dropped scans keep {done.stdout} MiB"


def test_errors_of_a_scan_keep_their_class_on_their_way_through_arrow(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.arange(4000.0), chunks=(1000,), compression="gzip")
        place = f["x"].id.get_chunk_info(2)
    with open(tmp_path / "a.h5", "r+b") as file:
        file.seek(place.byte_offset)
        file.write(b"\xff" * place.size)
    dataset = hs.open(tmp_path / "a.h5").table("/x").dataset()
    with pytest.raises(hs.CorruptError):
        dataset.to_table()
    with pytest.raises(hs.CorruptError):
        list(dataset.to_batches())
    table = hs.open(tmp_path / "a.h5").table("/x")
    for rows in (table, hs.open(tmp_path / "a.h5").table("/x", where=__import__("pyarrow").compute.field("x") >= 0), table.splits(1)[0]):
        with pytest.raises(hs.CorruptError):
            list(rows.batches())
        with pytest.raises(hs.CorruptError):
            rows.batches().read_all()
    with pytest.raises(hs.CorruptError):
        hs.query(tmp_path / "a.h5", "/", "x >= 0").batches(["x"]).read_all()
    with pytest.raises(hs.CorruptError):
        dataset.count_rows(filter=__import__("pyarrow").compute.field("x") > 3)


def test_a_reader_of_batches_is_shared_by_python_and_arrow(tmp_path: pathlib.Path) -> None:
    import pyarrow as pa

    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(10.0)
    table = hs.open(tmp_path / "a.h5").table("/x", batch_rows=4)
    with table.batches() as reader:
        assert reader.schema == table.schema and iter(reader) is reader
        first = next(reader)
        rest = pa.RecordBatchReader.from_stream(reader)
        second = rest.read_next_batch()
        assert pa.Table.from_batches([first, second, *reader]) == table.to_arrow()
        assert rest.read_all().num_rows == reader.read_all().num_rows == 0
        with pytest.raises(StopIteration):
            reader.read_next_batch()
    assert pa.table(table.batches()) == table.batches().read_all() == table.to_arrow()
    assert table.batches().read_pandas().equals(table.to_pandas())
    wide = pa.schema([("dim_0", pa.int64()), ("x", pa.float64())])
    assert (
        pa.RecordBatchReader.from_stream(hs.open(tmp_path / "a.h5").table("/x", columns=["dim_0", "x"]).batches(), wide).read_all().schema.names == wide.names
    )
    for read in (lambda: next(reader), reader.read_all, reader.__arrow_c_stream__):
        with pytest.raises(hs.InvalidInputError, match="closed"):
            read()
    reader.close()
    assert hs.write_table(table.batches(), tmp_path / "b.h5") == 10


def start(*words: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload, no-any-return]


def wait_for_handlers(process: subprocess.Popen[str]) -> None:
    """Waits until the command handles signals: before, while Python starts, it ends by them as any process."""
    since = time.monotonic()
    while time.monotonic() - since < PATIENCE and process.poll() is None:
        caught = next(line for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("SigCgt"))
        if int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
            break
        time.sleep(0.05)
    time.sleep(2)


SLOW = "select dim_0, count(distinct z + dim_1), stddev(z) from z group by dim_0 order by dim_0"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "command",
    [
        ["sql", "LONG", SLOW],
        ["sql", "LONG", SLOW, "-o", "out.parquet"],
        ["export", "LONG", "/z", "out.parquet"],
        ["export", "LONG", "/z", "out.csv", "--where", "z > 2"],
        ["query", "LONG", "/", "z > 1", "-o", "out.arrow"],
        ["index", "COPY", "/z", "--level", "X"],
    ],
    ids=["sql", "sql -o", "export", "export where", "query -o", "index"],
)
def test_a_signal_ends_a_command_at_once_and_leaves_nothing(tmp_path: pathlib.Path, long: str, command: list[str], number: signal.Signals) -> None:
    copy = tmp_path / "copy.h5"
    copy.write_bytes(pathlib.Path(long).read_bytes())
    process = start(*(long if word == "LONG" else str(copy) if word == "COPY" else word for word in command), cwd=tmp_path)
    try:
        wait_for_handlers(process)
        assert process.poll() is None, process.communicate()
        process.send_signal(number)
        since = time.monotonic()
        out, errors = process.communicate(timeout=PATIENCE)
        seconds = time.monotonic() - since
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert (out, errors) == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["copy.h5"]
    assert seconds < 5, f"{seconds:.1f} s, where the query takes far longer"


def test_control_c_during_the_imports_of_the_command_prints_nothing() -> None:
    """Importing hyperslab and what it needs takes most of a second the first time."""
    script = """
        import sys, time
        class Slow:
            def find_spec(self, name, *_):
                if name == "hyperslab.cli.menu":
                    print("importing", flush=True)
                    time.sleep(50)
        sys.meta_path.insert(0, Slow())
        from hyperslab_command import main
        main()
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == ("", "")
        assert process.returncode == 128 + signal.SIGINT
    finally:
        process.kill()


@pytest.mark.parametrize("place", ["time.sleep(50)", "try: time.sleep(50)\n    finally: time.sleep(50)"], ids=["at work", "in its cleanup"])
def test_a_signal_does_not_wait_for_what_takes_its_time(tmp_path: pathlib.Path, place: str) -> None:
    """As DuckDB, which has heard of the signal and waits for its threads; `careful` work is waited for."""
    script = f"import sys, time\nfrom hyperslab.cli.stopping import stoppable\nfrom hyperslab.exporting.part_files import complete\nwith stoppable(), complete(sys.argv[1]):\n    {place}"
    process = subprocess.Popen([sys.executable, "-c", script, tmp_path / "a.csv"], text=True)
    try:
        wait_for_handlers(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    finally:
        process.kill()
    assert list(tmp_path.iterdir()) == []
    careful = "with careful():\n        try: time.sleep(50)\n        finally: time.sleep(1); print('cleaned', flush=True)"
    script = f"import time\nfrom hyperslab.cli.stopping import careful, stoppable\nwith stoppable():\n    {careful}"
    process = subprocess.Popen([sys.executable, "-c", script], text=True, stdout=subprocess.PIPE)
    try:
        wait_for_handlers(process)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[0] == "cleaned\n" and process.returncode == 128 + signal.SIGINT
    finally:
        process.kill()


def test_control_c_interrupts_a_query_in_python(long: str) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent("""
        import sys, time, hyperslab as hs
        relation = hs.sql(sys.argv[2], sys.argv[1])
        print("ready", flush=True)
        try:
            relation.fetchall()
        except BaseException as error:
            print(type(error).__name__, flush=True)
    """),
            long,
            SLOW,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        since = time.monotonic()
        # DuckDB raises its own "Query interrupted" if it notices the interrupt before Python's signal.
        assert process.communicate(timeout=PATIENCE)[0] in ("KeyboardInterrupt\n", "RuntimeError\n")
        assert time.monotonic() - since < 5
    finally:
        process.kill()


@pytest.mark.parametrize("options", ["chunks=(1 << 18,), compression='gzip'", "maxshape=(None,), compression='gzip', chunks=(1 << 20,)"])
def test_control_c_interrupts_a_long_write(tmp_path: pathlib.Path, options: str) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(f"""
        import sys, numpy as np, hyperslab as hs
        values = np.random.default_rng(1).random(100 << 20, dtype="f4")
        with hs.create(sys.argv[1]) as f:
            d = f.create_dataset("x", values.shape, "f4", {options})
            print("ready", flush=True)
            for _ in range(50):
                d[...] = values
    """),
            str(tmp_path / "a.h5"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        since = time.monotonic()
        errors = process.communicate(timeout=PATIENCE)[1]
        # One such write takes 10 seconds and more.
        assert time.monotonic() - since < 5
    finally:
        process.kill()
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors
    assert list(tmp_path.iterdir()) == []


def test_control_c_on_a_terminal_shows_the_cursor_again(long: str) -> None:
    leader, follower = pty.openpty()
    process = subprocess.Popen([COMMAND, "sql", long, SLOW], stdin=follower, stdout=follower, stderr=follower, start_new_session=True)
    os.close(follower)
    try:
        wait_for_handlers(process)  # type: ignore[arg-type]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        shown = b""
        while True:
            try:
                more = os.read(leader, 4096)
            except OSError:
                break
            if not more:
                break
            shown += more
    finally:
        process.kill()
        os.close(leader)
    assert b"Traceback" not in shown
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l"), "the progress has hidden the cursor"


def test_a_closed_pipe_ends_a_command_as_any_other(long: str) -> None:
    process = start("head", long, "/z", "--json", "-n", "200000")
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline().startswith("{")
    process.stdout.close()
    assert process.wait(PATIENCE) == -signal.SIGPIPE
    assert process.stderr.read() == ""


def test_a_part_file_has_a_name_that_nobody_can_guess(tmp_path: pathlib.Path) -> None:
    from hyperslab.exporting.part_files import complete

    out, seen = str(tmp_path / "a.csv"), []
    for _ in range(2):
        with complete(out) as part:
            (name,) = os.listdir(tmp_path)
            seen.append(name)
            assert re.fullmatch(r"\.a\.csv\.[0-9a-f]{32}\.part", name)
            part.write(b"done")
        assert pathlib.Path(out).read_text() == "done"
        os.remove(out)
    assert seen[0] != seen[1] and all(str(os.getpid()) not in name for name in seen)
    with pytest.raises(RuntimeError), complete(out) as part:
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="there is no folder"), complete(str(tmp_path / "none" / "a.csv")):
        pass


def test_a_part_file_is_read_by_its_owner_only_and_written_where_it_was_opened(tmp_path: pathlib.Path) -> None:
    from hyperslab.exporting.part_files import complete

    out, victim = tmp_path / "a.csv", tmp_path / "victim"
    out.write_text("old")
    out.chmod(0o640)
    victim.write_text("precious")
    with complete(str(out)) as part:
        (aside,) = tmp_path.glob(".a.csv.*.part")
        assert stat.S_IMODE(aside.stat().st_mode) == 0o600
        part.write(b"new")
        part.flush()
        # Who may write to the folder puts a link in its place: nothing is written through it.
        aside.unlink()
        aside.symlink_to(victim)
    assert victim.read_text() == "precious" and victim.stat().st_mode & 0o777 != 0o640


def test_what_a_killed_export_has_left_goes_with_the_next_one(tmp_path: pathlib.Path) -> None:
    from hyperslab.exporting.part_files import complete

    out = str(tmp_path / "a.csv")
    code = "import os, signal, sys\nfrom hyperslab.exporting.part_files import complete\nwith complete(sys.argv[1]) as part:\n    part.write(b'x')\n    os.kill(os.getpid(), signal.SIGKILL)"
    assert subprocess.run([sys.executable, "-c", code, out]).returncode == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    with complete(out) as part:
        part.write(b"y")
    assert sorted(os.listdir(tmp_path)) == [left, "a.csv"], "a young one may be in use"
    os.utime(tmp_path / left, (0, 0))
    (tmp_path / ".a.csv.notours.part").write_text("")
    with complete(out) as part:
        # One that is being written stays.
        (mine,) = {name for name in os.listdir(tmp_path) if name.endswith(".part")} - {".a.csv.notours.part"}
        os.utime(tmp_path / mine, (0, 0))
        with complete(out) as other:
            other.write(b"other")
        assert mine in os.listdir(tmp_path)
        part.write(b"z")
    assert sorted(os.listdir(tmp_path)) == [".a.csv.notours.part", "a.csv"]
    assert pathlib.Path(out).read_bytes() == b"z"


UNCLOSED = {
    "create": ("f = hs.create(sys.argv[1]); f['x'] = [1]", "was not closed"),
    "create_netcdf": ("f = hs.create_netcdf(sys.argv[1]); f.create_dimension('x', 3)", "was not closed"),
    "task": ("plan = hs.WritePlan(sys.argv[1]); task = plan.task(0); task['x'] = [1]", "was not finished"),
    "task in with": ("plan = hs.WritePlan(sys.argv[1])\nwith plan.task(0) as task: task['x'] = [1]", "was not finished"),
    "plan": ("plan = hs.WritePlan(sys.argv[1])\nwith plan.task(0) as task:\n task['x'] = [1]; task.finish()", "was not committed"),
}


@pytest.mark.parametrize("end", ["", "\nf = task = plan = None; import gc; gc.collect(); print('dropped', flush=True)"], ids=["at exit", "dropped"])
@pytest.mark.parametrize("form", UNCLOSED)
def test_what_was_not_closed_is_said(tmp_path: pathlib.Path, form: str, end: str) -> None:
    script, words = UNCLOSED[form]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, hyperslab as hs\n{script}{end}", tmp_path / "lost.h5"], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0
    assert "UnclosedWarning" in done.stderr and f"{tmp_path / 'lost.h5'}'" in done.stderr and words in done.stderr
    assert len(done.stderr.splitlines()) <= 2, done.stderr
    assert not (tmp_path / "lost.h5").exists()


def test_what_was_closed_or_given_up_is_not_said(tmp_path: pathlib.Path) -> None:
    done = python(
        """
        import os, sys, hyperslab as hs
        os.chdir(sys.argv[1])
        with hs.create("a.h5") as f:
            f["x"] = [1]
        f = hs.create("b.h5"); f.close()
        f = hs.create("c.h5"); f.abort()
        with hs.create_netcdf("d.nc") as f:
            f.create_dimension("x", 3)
        plan = hs.WritePlan("e.h5")
        with plan.task(0) as task:
            task["x"] = [1]
            plan.commit([task.finish()])
        plan = hs.WritePlan("f.h5")
        with plan.task(0) as task:
            task.abort()
        plan.abort()
        handed = bytes(plan)
        child_file = hs.create("g.h5")
        if os.fork() == 0:
            sys.exit(0)
        os.wait()
        child_file.close()
    """,
        str(tmp_path),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert issubclass(hs.UnclosedWarning, ResourceWarning)


def test_errors_travel_by_pickle_with_their_number() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        hs.open("none.h5")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.errno, again.filename, str(again)) == (type(caught.value), 2, "none.h5", str(caught.value))
