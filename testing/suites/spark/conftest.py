"""One Spark session for all tests of a run. Without pyspark, the tests are skipped."""

from __future__ import annotations

import importlib.util
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from spark_session import builder, live

if importlib.util.find_spec("pyspark") is None:
    collect_ignore_glob = ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "once: long, and the same for every version of Spark")
    config.addinivalue_line("markers", "whole: only in `make test-spark-whole`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Runs each test with one of its parameters only. On Spark 3.5, which has the same code of ours, it runs every third test of a file, the first one
    included, and none that is marked `once`. `make test-spark-whole` runs all."""
    if importlib.util.find_spec("pyspark") is None or os.environ.get("HYPERSLAB_SPARK_WHOLE"):
        return
    import pyspark

    is_old = pyspark.__version__.startswith("3.")
    #: By file, how many tests were seen.
    counts: dict[pathlib.Path, int] = {}
    seen: set[str] = set()
    kept, left = [], []
    for item in items:
        name = item.nodeid.split("[")[0]
        is_left = name in seen or item.get_closest_marker("whole") is not None
        if is_old and not is_left:
            is_once = item.get_closest_marker("once") is not None
            is_left = is_once or counts.setdefault(item.path, 0) % 3 != 0
            counts[item.path] = counts.get(item.path, 0) + (not is_once)
        (left if is_left else kept).append(item)
        seen.add(name)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    import hyperslab as hs

    session_builder = (
        builder(tmp_path_factory.mktemp("warehouse"), "local[2]")
        .appName("hyperslab-test")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.sql.session.timeZone", "America/New_York")
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
        assert live(request.getfixturevalue("spark")) == (0, 0)
