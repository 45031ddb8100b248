"""One Spark for all tests of a run; without pyspark there is nothing to test."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

if importlib.util.find_spec("pyspark") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    import hyperslab as hs

    folder = tmp_path_factory.mktemp("warehouse")
    builder = (SparkSession.builder.master("local[2]").appName("hyperslab-test")
               .config("spark.ui.enabled", "false")
               .config("spark.sql.shuffle.partitions", "2")
               .config("spark.sql.execution.arrow.pyspark.enabled", "true")
               .config("spark.sql.session.timeZone", "America/New_York")
               .config("spark.sql.warehouse.dir", str(folder))
               .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder} -Dhyperslab.native.folder={folder}/native"))
    session = hs.spark.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    assert live(session) == (0, 0)
    session.stop()


def live(spark: Any) -> tuple[int, int]:
    """Exported structures and readers that are not given back."""
    jvm = spark._jvm.io.hyperslab
    return jvm.NativeBatch.live(), jvm.NativeReader.live()


@pytest.fixture(autouse=True)
def nothing_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "spark" in request.fixturenames:
        assert live(request.getfixturevalue("spark")) == (0, 0)
