"""Interrupts: Ctrl-C and the end of the process stop an SQL query immediately. DuckDB checks for signals only between its
tasks, which may take long, and a query of a daemon thread that is still running when the interpreter ends aborts the process."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .extras import require

if TYPE_CHECKING:
    import duckdb

MAX_WAIT_SECONDS = 2.0
"""How long the end of the process waits for queries of daemon threads that it has interrupted."""
GRACE_SECONDS = 0.02
POLL_SECONDS = 0.002
NAME = "hyperslab-interrupts"

_connections: weakref.WeakKeyDictionary[duckdb.DuckDBPyRelation, duckdb.DuckDBPyConnection] = weakref.WeakKeyDictionary()
_watched = False
_ready = False
_ending = threading.Event()
_lock = threading.Lock()
_preparing = set[int]()
"""Threads between a connection and the query that it runs."""
_kept: list[object] = []
"""Objects that daemon threads must not destroy while the process ends: DuckDB releases the interpreter to do so."""


def prepare() -> None:
    """Imports DuckDB, then registers `_end`, so that it runs before DuckDB's own handler: handlers run in reverse order, and after
    DuckDB's a stream that is read raises an error. A daemon thread that begins a query while the process ends stops here.

    Raises:
        MissingExtraError: DuckDB is not installed.
    """
    global _ready
    require("SQL", "sql", "duckdb")
    with _lock:
        if not _ready:
            _ready = True
            atexit.register(_end)
    _stay_if_ending()


@contextlib.contextmanager
def preparing() -> Iterator[None]:
    """Around everything from the connection to `watch`: the end of the process waits until daemon threads have left it, and they do not
    go on then."""
    _preparing.add(threading.get_ident())
    try:
        yield
    finally:
        _preparing.discard(threading.get_ident())
    _stay_if_ending()


def _stay_if_ending() -> None:
    if _ending.is_set() and threading.current_thread().daemon:
        threading.Event().wait()


def watch(relation: duckdb.DuckDBPyRelation, connection: duckdb.DuckDBPyConnection) -> None:
    """Interrupts the query of `relation` on Ctrl-C, unless the program has a SIGINT handler or a wakeup descriptor of
    its own, and when the process ends. Signals reach the main thread: the first query of a process, if another thread starts it,
    does not react to Ctrl-C."""
    _connections[relation] = connection
    _stay_if_ending()
    if not _watched and threading.current_thread() is threading.main_thread():
        _start()


def _start() -> None:
    global _watched
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if before != -1:
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        os.close(reader)
        os.close(writer)
        return
    _watched = True
    threading.Thread(target=_run, args=(reader,), name=NAME, daemon=True).start()

    def forget() -> None:
        """A forked child shares the pipe, but has no thread that reads it."""
        global _watched
        if signal.set_wakeup_fd(-1) not in (writer, -1):
            return
        _watched = False

    os.register_at_fork(after_in_child=forget)


def _run(reader: int) -> None:
    while received := os.read(reader, 1):
        if received[0] == signal.SIGINT and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            _interrupt()


def _end() -> None:
    """Interrupts the queries of daemon threads, and waits until those have left DuckDB: a thread that comes back to an
    interpreter which is gone is unwound, and C++ does not survive that."""
    _ending.set()
    daemons = [thread.ident for thread in threading.enumerate() if thread.daemon and thread.name != NAME]
    since = time.monotonic()
    while not _preparing.isdisjoint(daemons) and time.monotonic() - since < MAX_WAIT_SECONDS:
        time.sleep(POLL_SECONDS)
    if not _connections or not daemons:
        return
    import duckdb  # there is a connection, so it is imported

    report = threading.excepthook

    def hook(error: threading.ExceptHookArgs) -> None:
        """A daemon thread ends without a word, as all do that live until the end of the process."""
        interrupted = isinstance(error.exc_value, (duckdb.InterruptException, RuntimeError)) and "nterrupted" in str(error.exc_value)
        if not interrupted or error.thread is None or not error.thread.daemon:
            report(error)

    threading.excepthook = hook
    _kept.extend(_connections.items())
    since = time.monotonic()
    _interrupt()
    time.sleep(GRACE_SECONDS)
    while _in_duckdb(daemons) and time.monotonic() - since < MAX_WAIT_SECONDS:
        _interrupt()
        time.sleep(POLL_SECONDS)


def _interrupt() -> None:
    for connection in tuple(_connections.values()):
        connection.interrupt()


def _in_duckdb(threads: list[int | None]) -> bool:
    """Whether one of the threads is in a call of DuckDB's. Before version 2 a call has no frame of its own: then nothing
    but the time of grace protects it."""
    frames = sys._current_frames()
    innermost = (frames[thread] for thread in threads if thread in frames)
    return any(str(frame.f_globals.get("__name__", "")).partition(".")[0] == "duckdb" for frame in innermost)
