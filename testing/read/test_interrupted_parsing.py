"""Ctrl-C ends what parses a file: opening it, listing it, and netCDF-4's look at all objects. Afterwards the file can be used."""

from __future__ import annotations

import pathlib
import signal
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import blocks as b
import hyperslab as hs
import pytest

GROUPS, MEMBERS = 10, 4000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A netCDF-4 file of 40,000 variables without dimension scales, so that all are looked at to name one's dimensions."""
    image = b.Image()
    layout = b.message(8, bytes([3, 1]) + struct.pack("<QQ", b.UNDEFINED, 4))
    variable = b.header_v2([b.message(1, b.dataspace([4])), b.message(3, b.integer()), layout])
    groups = []
    for _ in range(GROUPS):
        links = [b.message(6, b.link(b"v%d" % i, image.put(variable))) for i in range(MEMBERS)]
        groups.append(image.put(b.header_v2([b.link_info(), *links])))
    wrote = b.message(0x0C, b.attribute(b"_NCProperties", b.integer(), b.dataspace([1]), b"1"))
    root = image.put(b.header_v2([b.link_info(), wrote, *(b.message(6, b.link(b"g%d" % i, at)) for i, at in enumerate(groups))]))
    path = tmp_path_factory.mktemp("many") / "many.nc"
    path.write_bytes(image.finish(root, 2))
    return path


@contextmanager
def interrupt_after(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def test_the_look_at_all_objects_is_interrupted_and_can_be_repeated(many: pathlib.Path) -> None:
    whole, wanted = seconds_of(lambda: hs.open(many, threads=1)["g3/v7"].dims)
    file = hs.open(many, threads=1)
    start = time.process_time()
    with pytest.raises(KeyboardInterrupt), interrupt_after(0.02):
        file["g3/v7"].dims  # noqa: B018
    assert time.process_time() - start < whole / 2, whole
    assert file["g3/v7"].dims == wanted


def test_planning_a_table_is_interrupted(many: pathlib.Path) -> None:
    """`table` parses all objects that match, on other threads than the one that the signal comes to."""

    def table(file: hs.File) -> None:
        with pytest.raises(hs.Error, match="do not make one"):
            file.table("/*/v1*", where="v1 > 3", columns=["v1"])

    whole, _ = seconds_of(lambda: table(hs.open(many)))
    file = hs.open(many)
    start = time.process_time()
    with pytest.raises(KeyboardInterrupt), interrupt_after(0.02):
        table(file)
    assert time.process_time() - start < whole / 2, whole


def test_opening_many_files_is_interrupted(many: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for number in range(3000):
        (tmp_path / f"{number}.nc").symlink_to(many)
    whole, files = seconds_of(lambda: hs.open(f"{tmp_path}/*.nc", threads=1))
    files.close()
    start = time.process_time()
    with pytest.raises(KeyboardInterrupt), interrupt_after(0.02):
        while True:
            hs.open(f"{tmp_path}/*.nc", threads=1).close()
    assert time.process_time() - start < whole + 0.5
