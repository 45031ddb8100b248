"""Without the ADBC driver, which has an environment of its own (`make test-serve`), the tests are skipped."""

import importlib.util
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

if importlib.util.find_spec("adbc_driver_flightsql") is None:
    collect_ignore_glob = ["test_*.py"]

TOKEN = "a-token-that-is-long"
ROWS = 2_000_000


@dataclass
class Served:
    """A server, and what clients need."""

    process: subprocess.Popen[str]
    port: int
    certificate: pathlib.Path | None

    def peak_mebibytes(self) -> int:
        """The most memory that the server has used."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) // 1024


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    import h5py
    import numpy as np

    folder = tmp_path_factory.mktemp("served")
    with h5py.File(folder / "numbers.h5", "w") as f:
        f.create_dataset("x", data=np.arange(100_000), chunks=(10_000,))
        f.create_dataset("large", data=np.random.default_rng(1).random(ROWS), chunks=(100_000,))
        f["deep/words"] = np.array([b"one", b"two", b"three"])
        f["flags"] = np.array([True, False])
    return folder


def started(folder: pathlib.Path, *words: object) -> Served:
    python = os.environ.get("HYPERSLAB_PYTHON", sys.executable)
    command = [python, "-m", "hyperslab", "serve", str(folder), *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "HYPERSLAB_TOKEN": TOKEN, "COLUMNS": "200"})
    assert process.stdout is not None
    return Served(process, int(process.stdout.readline().split()[0].rpartition(":")[2]), None)


@pytest.fixture(scope="session")
def served(folder: pathlib.Path) -> Iterator[Served]:
    served = started(folder)
    yield served
    served.process.terminate()
    assert served.process.wait(60) == 143


@pytest.fixture(scope="session")
def secured(folder: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same over TLS."""
    place = tmp_path_factory.mktemp("tls")
    certificate, key = place / "certificate.pem", place / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(words, check=True, capture_output=True)
    served = started(folder, "--tls", certificate, key)
    served.certificate = certificate
    yield served
    served.process.terminate()
    assert served.process.wait(60) == 143
