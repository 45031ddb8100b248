"""Loads filters in the one order that works, chooses the parameters of sampled tests, and fills
memory that reads are about to write with garbage, so that what they leave out is found."""

import os
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from command_server import CommandServer
    from range_server import Server

# Read once, when the first read comes.
os.environ["HYPERSLAB_POISON"] = "1"

# netCDF4's wheel points HDF5_PLUGIN_PATH at plug-ins of another libhdf5 when it is imported, which h5py
# would then load: hdf5plugin registers its own first.
import hdf5plugin  # noqa: F401
import numpy as np
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks all but about one in n parameters of a test that is `sampled(n)` as slow: always the same ones, spread over the parameters."""
    seen: set[str] = set()
    for item in items:
        function, sampled = item.nodeid.split("[")[0], item.get_closest_marker("sampled")
        if sampled is not None and function in seen and zlib.crc32(item.name.encode()) % sampled.args[0] != 0:
            item.add_marker(pytest.mark.slow)
        seen.add(function)


#: What is larger is left alone.
MOST_BYTES = 64 << 20


class PoisonedNumpy:
    """numpy whose `empty` has garbage in it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def empty(shape: Any, dtype: Any = float) -> Any:
        array = np.empty(shape, dtype)
        if not array.dtype.hasobject and array.nbytes <= MOST_BYTES:
            array.reshape(-1).view("u1")[...] = 0xE7
        return array


@pytest.fixture(autouse=True)
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `hyperslab.objects.reading` takes from numpy for values."""
    monkeypatch.setattr("hyperslab.objects.reading.np", PoisonedNumpy())


@pytest.fixture
def server() -> "Iterator[Server]":
    """A server of ranges on loopback."""
    from range_server import serving

    with serving() as made:
        yield made


@pytest.fixture(scope="session")
def command_server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[CommandServer]":
    """The command `hyperslab` in a folder, without the time that Python needs to start."""
    from command_server import CommandServer

    server = CommandServer(tmp_path_factory.mktemp("commands"))
    yield server
    server.close()
