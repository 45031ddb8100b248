"""The jar for Spark is looked for where wheels have it."""

from __future__ import annotations

import pathlib

import hyperslab as hs
import pytest

ROOT = pathlib.Path(__file__).parents[2]


def test_the_jar_is_in_the_folder_of_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYPERSLAB_SPARK_JAR", raising=False)
    try:
        found = str(hs.spark.jar())
    except hs.NotFoundError as error:
        found = str(error)
    included = "bindings/python/python/hyperslab/jars/"
    assert f'path = "{included}*.jar"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"{included.removeprefix('bindings/python/python/')}hyperslab-spark.jar" in found
