"""Interrupts: Ctrl-C stops an SQL query at once. DuckDB looks for signals only between its tasks, which may take long."""

from __future__ import annotations

import os
import signal
import threading
import weakref

import duckdb

_connections: weakref.WeakKeyDictionary[duckdb.DuckDBPyRelation, duckdb.DuckDBPyConnection] = weakref.WeakKeyDictionary()
_watched = False


def watch(relation: duckdb.DuckDBPyRelation, connection: duckdb.DuckDBPyConnection) -> None:
    """Interrupts the query of `relation` on Ctrl-C, unless the program has a SIGINT handler or a wakeup descriptor of
    its own. Signals reach the main thread: a query that another thread starts first is not watched."""
    _connections[relation] = connection
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
    threading.Thread(target=_run, args=(reader,), name="hyperslab-interrupts", daemon=True).start()

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
            for connection in tuple(_connections.values()):
                connection.interrupt()
