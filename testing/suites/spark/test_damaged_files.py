"""With ignoreCorruptFiles or badRecordsPath a damaged file has no rows, whatever a query reads of it."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import h5py
import numpy as np
import pytest

ROWS, CHUNK = 4000, 200


def write(path: pathlib.Path, damaged: str | None = None, chunk: int = 0) -> None:
    """A table of two columns; one chunk of `damaged` is overwritten."""
    with h5py.File(path, "w") as f:
        for name in "xy":
            f.create_dataset(f"g/{name}", data=np.arange(ROWS), chunks=(CHUNK,), compression="gzip")
        place = f[f"g/{damaged}"].id.get_chunk_info(chunk).byte_offset if damaged else 0
    if damaged:
        with open(path, "r+b") as file:
            file.seek(place + 4)
            file.write(b"\xff" * 26)


def sizes(frame: Any) -> list[Any]:
    """The number of rows in seven ways."""
    spark = frame.sparkSession
    frame.createOrReplaceTempView("damaged")
    one = lambda query: spark.sql(f"select {query} from damaged").collect()[0]  # noqa: E731
    return [
        frame.count(),
        len(frame.select("x").collect()),
        len(frame.collect()),
        spark.sql("select count(*) from damaged where x >= 0").collect()[0][0],
        one("count(*), count(y), max(x)")[0],
        one("count(y), sum(y)")[0],
        sum(row[0] for row in spark.sql("select count(*) from damaged group by x % 3").collect()),
    ]


@pytest.mark.parametrize("chunk", [15, 0, 19])
@pytest.mark.parametrize("damaged", ["x", "y"])
@pytest.mark.parametrize("option", ["ignoreCorruptFiles", "badRecordsPath"])
def test_every_query_sees_the_same_size(spark: Any, tmp_path: pathlib.Path, option: str, damaged: str, chunk: int) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        write(tmp_path / "in" / f"{number}.h5", damaged if number == 1 else None, chunk)
    (tmp_path / "in" / "empty.h5").touch()
    (tmp_path / "in" / "page.h5").write_text("<html>")
    whole = (tmp_path / "in" / "0.h5").read_bytes()
    (tmp_path / "in" / "short.h5").write_bytes(whole[:96])
    # One of its columns can be read.
    (tmp_path / "in" / "cut.h5").write_bytes(whole[:3000])
    value = "true" if option == "ignoreCorruptFiles" else str(tmp_path / "bad")
    options = {"dataset": "/g", option: value, "batchRows": "100", "targetPartitionBytes": "4096"}
    frame = spark.read.format("hdf5").options(**options).load(str(tmp_path / "in"))
    assert sizes(frame) == [2 * ROWS] * 7
    # The files with the smallest values are not all readable.
    assert [row.x for row in frame.orderBy("x").limit(3).collect()] == [0, 0, 1]
    alone = spark.read.format("hdf5").options(**options).load(str(tmp_path / "in" / "1.h5"))
    assert sizes(alone) == [0] * 7
    assert tuple(alone.selectExpr("count(*)", "count(x)", "max(x)").collect()[0]) == (0, 0, None)
    if option == "badRecordsPath":
        named = {json.loads(path.read_text())["path"] for path in (tmp_path / "bad" / "bad_files").glob("*.json")}
        assert {pathlib.Path(path).name for path in named} == {"1.h5", "empty.h5", "page.h5", "short.h5", "cut.h5"}


def test_a_file_is_checked_again_when_it_was_damaged_later(spark: Any, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.h5")
    frame = spark.read.format("hdf5").options(dataset="/g", ignoreCorruptFiles="true").load(str(tmp_path / "a.h5"))
    assert sizes(frame) == [ROWS] * 7
    write(tmp_path / "a.h5", "y", 7)
    assert sizes(frame) == [0] * 7


def test_damage_is_an_error_without_these_options(spark: Any, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.h5", "x", 3)
    with pytest.raises(Exception, match=r"Corrupt.*a\.h5"):
        spark.read.format("hdf5").option("dataset", "/g").load(str(tmp_path / "a.h5")).collect()
