"""The Spark session of tests, and what it must not leave."""

from __future__ import annotations

import pathlib
from typing import Any


def builder(folder: pathlib.Path, master: str) -> Any:
    """A session that keeps its tables and libraries in `folder`, without what short tests do not need."""
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder))
        .config("spark.driver.memory", "1g")
        # Tests are too short to benefit from the optimizing compiler.
        .config(
            "spark.driver.extraJavaOptions", f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={folder} -Dhyperslab.native.folder={folder}/native"
        )
    )


def live(spark: Any) -> tuple[int, int]:
    """The numbers of exported structures, and of readers and writers, that are not released."""
    jvm = spark._jvm.io.hyperslab
    return jvm.NativeBatch.live(), jvm.NativeReader.live() + jvm.NativeWrite.live()
