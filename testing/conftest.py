"""Makes `compare` importable for the tests beside it, loads filters in the one order that works, and fills
memory that reads are about to write with garbage, so that what they leave out is found."""

import os
import pathlib
import sys
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: long; `make test-slow` runs it, and `make test` does not")
    config.addinivalue_line("markers", "sampled(n): long with all of its parameters; `make test` runs about one in n of them, and `make test-slow` the others")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what takes long, or with HYPERSLAB_TESTS=slow what does not. HYPERSLAB_TESTS=all, and tests that are named one by one, leave out nothing."""
    wanted = os.environ.get("HYPERSLAB_TESTS", "quick")
    if wanted == "all" or any("::" in argument for argument in config.args) or config.getoption("keyword"):
        return
    parts: dict[bool, list[pytest.Item]] = {True: [], False: []}
    seen: set[str] = set()
    for item in items:
        function, sampled = item.nodeid.split("[")[0], item.get_closest_marker("sampled")
        # The same ones each time, in no step with the order of the parameters.
        left_out = sampled is not None and function in seen and zlib.crc32(item.nodeid.encode()) % sampled.args[0] != 0
        parts[left_out or item.get_closest_marker("slow") is not None].append(item)
        seen.add(function)
    config.hook.pytest_deselected(items=parts[wanted != "slow"])
    items[:] = parts[wanted == "slow"]


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
