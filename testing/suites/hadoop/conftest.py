"""HDFS in a process of its own, an S3 server by moto in another, Azurite in a third, and a Spark session that reads them. `make test-hadoop` says where their
jars and packages are; what is missing is skipped by name."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from spark_session import builder, live

if importlib.util.find_spec("pyspark") is None:
    collect_ignore_glob = ["test_*.py"]

HERE = pathlib.Path(__file__).resolve().parent
JARS = pathlib.Path(os.environ.get("HYPERSLAB_HADOOP_JARS", pathlib.Path.home() / ".cache/hyperslab/hadoop-jars"))
AZURITE = pathlib.Path(os.environ.get("HYPERSLAB_AZURITE", pathlib.Path.home() / ".cache/hyperslab/azurite"))
#: The account of all emulators of Azure, and its key, which Microsoft's documentation names.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
KEYS = {"fs.s3a.access.key": "the-access-key", "fs.s3a.secret.key": "the-secret-of-the-key"}


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not (JARS / "hdfs").is_dir():
        pytest.skip("NOT TESTED: HDFS. Its jars could not be fetched.")
    folder = tmp_path_factory.mktemp("hdfs")
    command = ["java", "-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{JARS / 'hdfs'}/*", str(HERE / "Cluster.java"), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder) as server:
        assert server.stdout is not None and server.stdin is not None
        address = next(line.split()[1] for line in server.stdout if line.startswith("address "))
        yield address
        server.stdin.close()


MOTO = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(port=0)
server.start()
print("port", server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The endpoint of a server of S3 that has a bucket."""
    python = os.environ.get("HYPERSLAB_MOTO_PYTHON", str(pathlib.Path.home() / ".cache/hyperslab/venvs/stores/bin/python"))
    if not aws().is_dir() or not pathlib.Path(python).exists():
        pytest.skip("NOT TESTED: S3A. Its jars, or moto, could not be fetched.")
    with subprocess.Popen([python, "-c", MOTO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None and server.stdin is not None
        port = next(line.split()[1] for line in server.stdout if line.startswith("port "))
        endpoint = f"http://127.0.0.1:{port}"
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", method="PUT")).close()
        yield endpoint
        server.stdin.close()


@pytest.fixture(scope="session")
def azurite() -> Iterator[str]:
    """The address of a server of Azure's blobs."""
    main = AZURITE / "node_modules/azurite/dist/src/blob/main.js"
    if not azure().is_dir() or not main.exists():
        pytest.skip("NOT TESTED: ABFS. It needs Spark 4, its jars and Azurite, which could not be fetched.")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["node", str(main), "--inMemoryPersistence", "--blobPort", str(port), "--silent", "--disableTelemetry", "--skipApiVersionCheck", "--loose"]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL) as server:
        for _ in range(300):
            assert server.poll() is None, "Azurite has ended"
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"127.0.0.1:{port}"
        server.terminate()


def jars_of(service: str) -> pathlib.Path:
    """The jars of a service for this version of Spark; the folder may be missing."""
    import pyspark

    return JARS / f"{service}{pyspark.__version__.split('.')[0]}"


def aws() -> pathlib.Path:
    return jars_of("aws")


def azure() -> pathlib.Path:
    return jars_of("azure")


@pytest.fixture(scope="session")
def slow_classes(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The compiled classes of `slow://`, and of an S3A where another program is faster."""
    import pyspark

    folder = tmp_path_factory.mktemp("classes")
    jars = ":".join(f"{place}/*" for place in [pathlib.Path(pyspark.__file__).parent / "jars", aws()])
    sources = [HERE / "slow/SlowFileSystem.java", *([HERE / "racing/RacingS3A.java"] if aws().is_dir() else [])]
    subprocess.run(["javac", "--release", "8", "-nowarn", "-Xlint:-options", "-cp", jars, "-d", str(folder), *map(str, sources)], check=True)
    return folder


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, slow_classes: pathlib.Path) -> Iterator[Any]:
    import hyperslab as hs

    classes = [str(slow_classes), *map(str, [*sorted(aws().glob("*.jar")), *sorted(azure().glob("*.jar"))])]
    session_builder = (
        builder(tmp_path_factory.mktemp("spark"), "local[2,2]")
        .config("spark.driver.extraClassPath", ":".join(classes))
        .config("spark.hadoop.fs.slow.impl", "slow.SlowFileSystem")
    )
    session = hs.spark.configure(session_builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    assert live(session) == (0, 0)
    session.stop()


@pytest.fixture(autouse=True)
def nothing_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "spark" in request.fixturenames:
        spark = request.getfixturevalue("spark")
        assert live(spark) == (0, 0)
        assert spark._jvm.slow.SlowFileSystem.openStreams() == 0, "a stream is open"


Upload = Callable[[pathlib.Path, str], str]


class Store:
    """A Hadoop file system that the tests write to through Hadoop itself."""

    def __init__(self, spark: Any, root: str, options: dict[str, str]) -> None:
        self.spark, self.root, self.options = spark, root, options

    def _system(self) -> tuple[Any, Any]:
        jvm = self.spark._jvm
        configuration = jvm.org.apache.hadoop.conf.Configuration(self.spark.sparkContext._jsc.hadoopConfiguration())
        for name, value in self.options.items():
            configuration.set(name, value)
        path = jvm.org.apache.hadoop.fs.Path
        return path(self.root).getFileSystem(configuration), path

    def put(self, file: pathlib.Path, name: str) -> str:
        """Copies a local file and gives its address."""
        system, path = self._system()
        local = path(str(file)).getFileSystem(system.getConf())
        self.spark._jvm.org.apache.hadoop.fs.FileUtil.copy(local, path(str(file)), system, path(f"{self.root}/{name}"), False, True, system.getConf())
        return f"{self.root}/{name}"

    def get(self, name: str, folder: pathlib.Path) -> pathlib.Path:
        """Copies a file or folder into a local folder."""
        system, path = self._system()
        local = path(str(folder)).getFileSystem(system.getConf())
        self.spark._jvm.org.apache.hadoop.fs.FileUtil.copy(system, path(f"{self.root}/{name}"), local, path(str(folder)), False, system.getConf())
        return folder / name

    def all(self, name: str = "") -> list[str]:
        """The paths of all files below a folder, relative to it."""
        system, path = self._system()
        place = f"{self.root}/{name}".rstrip("/")
        if not system.exists(path(place)):
            return []
        names, found = [], system.listFiles(path(place), True)
        while found.hasNext():
            names.append(found.next().getPath().toUri().getPath().split(path(place).toUri().getPath() + "/", 1)[1])
        return sorted(names)

    def age(self, name: str, days: float) -> None:
        """Makes a file look as if it were last changed so long ago."""
        system, path = self._system()
        system.setTimes(path(f"{self.root}/{name}"), int((time.time() - days * 86400) * 1000), -1)

    def remove(self, name: str) -> None:
        system, path = self._system()
        system.delete(path(f"{self.root}/{name}"), True)

    def write(self, frame: Any, name: str, mode: str = "errorifexists", **options: Any) -> str:
        """Writes rows by Spark and gives the address."""
        frame.write.format("hdf5").options(**self.options, **options).mode(mode).save(f"{self.root}/{name}")
        return f"{self.root}/{name}"

    def read(self, where: str | list[str], **options: Any) -> Any:
        return self.spark.read.format("hdf5").options(**self.options, **options).load(where)


@pytest.fixture(params=["hdfs", "s3a", "abfs", "slow"])
def store(request: pytest.FixtureRequest, spark: Any, tmp_path: pathlib.Path) -> Iterator[Store]:
    if request.param == "hdfs":
        yield Store(spark, f"{request.getfixturevalue('hdfs')}/{tmp_path.name}", {})
    elif request.param == "s3a":
        options = {"fs.s3a.endpoint": request.getfixturevalue("s3"), "fs.s3a.path.style.access": "true", "fs.s3a.attempts.maximum": "1", **KEYS}
        options |= {"fs.s3a.connection.ssl.enabled": "false", "fs.s3a.endpoint.region": "us-east-1"}
        yield Store(spark, f"s3a://bucket/{tmp_path.name}", options)
    elif request.param == "abfs":
        # Azurite has the protocol of blobs, which ABFS uses for accounts without a hierarchy of names.
        host = f"{ACCOUNT}.dfs.core.windows.net"
        options = {"fs.azure.abfs.endpoint": request.getfixturevalue("azurite"), f"fs.azure.account.key.{host}": ACCOUNT_KEY}
        options |= {"fs.azure.account.hns.enabled": "false", "fs.azure.fns.account.service.type": "BLOB", "fs.azure.always.use.https": "false"}
        options |= {"fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION", "fs.azure.createRemoteFileSystemDuringInitialization": "true"}
        yield Store(spark, f"abfs://data@{host}/{tmp_path.name}", options | {"fs.azure.io.retry.max.retries": "1"})
    else:
        folder = tmp_path / "slow folder"
        folder.mkdir()
        yield Store(spark, f"slow://{folder}", {"fs.slow.password": "open sesame"})
        shutil.rmtree(folder)
