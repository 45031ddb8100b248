"""Structured Streaming: new files and rows that are appended to files, each exactly once."""

from __future__ import annotations

import itertools
import pathlib
import threading
import time
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest


def flat(batches: list[list[float]]) -> list[float]:
    return list(itertools.chain.from_iterable(batches))


def write(path: pathlib.Path, first: int, count: int) -> None:
    """A file appears when it is complete."""
    hidden = path.with_name("." + path.name)
    with hs.create(hidden) as f:
        f.create_dataset("x", data=np.arange(first, first + count, dtype="f8"), maxshape=(None,), chunks=(100,))
    hidden.rename(path)


def append(path: pathlib.Path, first: int, count: int) -> None:
    with hs.open(path, mode="r+") as f:
        length = f["x"].shape[0]
        f["x"].resize((length + count,))
        f["x"][length:] = np.arange(first, first + count, dtype="f8")


class Run:
    """A stream into a Parquet sink, with a checkpoint of its own."""

    def __init__(self, spark: Any, folder: pathlib.Path, **options: str) -> None:
        self.spark, self.folder, self.options = spark, folder, {"dataset": "/x", **options}
        self.out, self.checkpoint = folder / "out", folder / "checkpoint"
        self.batches: list[list[float]] = []

    def start(self, trigger: dict[str, Any], fail: bool = False) -> Any:
        rows = self.spark.readStream.format("hdf5").options(**self.options).load(str(self.folder / "in"))

        def keep(frame: Any, _: int) -> None:
            self.batches.append([row.x for row in frame.select("x").collect()])
            if fail:
                raise RuntimeError("the sink failed")

        return rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(self.checkpoint)).trigger(**trigger).start()

    def run(self, fail: bool = False) -> list[list[float]]:
        """Reads all that is there, and returns the rows of each new batch."""
        before = len(self.batches)
        query = self.start({"availableNow": True}, fail)
        try:
            query.awaitTermination(60)
        finally:
            query.stop()
        return self.batches[before:]


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "run_2.h5", 0, 250)
    return tmp_path


def test_new_files_and_appended_rows_come_once(spark: Any, folder: pathlib.Path) -> None:
    stream = Run(spark, folder)
    assert flat(stream.run()) == list(range(250))
    assert flat(stream.run()) == []
    write(folder / "in" / "run_10.h5", 1000, 120)
    append(folder / "in" / "run_2.h5", 250, 77)
    # Files are in natural order.
    assert flat(stream.run()) == [*range(250, 327), *range(1000, 1120)]
    append(folder / "in" / "run_10.h5", 1120, 1)
    assert flat(stream.run()) == [1120]


def test_a_failed_batch_has_the_same_rows_again(spark: Any, folder: pathlib.Path) -> None:
    stream = Run(spark, folder)
    with pytest.raises(Exception, match="the sink failed"):
        stream.run(fail=True)
    # What was appended since belongs to the next batch.
    append(folder / "in" / "run_2.h5", 250, 50)
    again = stream.run()
    assert [rows for rows in again if rows] == [list(range(250)), list(range(250, 300))]


def test_batches_of_a_number_of_files(spark: Any, folder: pathlib.Path) -> None:
    for number in range(3, 6):
        write(folder / "in" / f"run_{number}.h5", number * 1000, 10)
    stream = Run(spark, folder, maxFilesPerTrigger="2")
    batches = [rows for rows in stream.run() if rows]
    assert [len(rows) for rows in batches] == [260, 20]
    assert sorted(flat(batches)) == [*range(250), *range(3000, 3010), *range(4000, 4010), *range(5000, 5010)]


@pytest.mark.once
def test_rows_that_come_while_the_stream_runs(spark: Any, folder: pathlib.Path) -> None:
    stream = Run(spark, folder)
    query = stream.start({"processingTime": "100 milliseconds"})

    def produce() -> None:
        for step in range(5):
            append(folder / "in" / "run_2.h5", 250 + 10 * step, 10)
            write(folder / "in" / f"step_{step}.h5", 10_000 + 10 * step, 10)
            time.sleep(0.1)

    producer = threading.Thread(target=produce)
    producer.start()
    producer.join()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert sorted(flat(stream.batches)) == [*range(300), *range(10_000, 10_050)]


def test_a_file_that_is_not_complete_is_read_when_it_is(spark: Any, folder: pathlib.Path) -> None:
    whole = folder / "whole.h5"
    write(whole, 5000, 40)
    content = whole.read_bytes()
    stream = Run(spark, folder, ignoreCorruptFiles="true")
    (folder / "in" / "run_3.h5").write_bytes(content[:96])
    assert flat(stream.run()) == list(range(250))
    query = stream.start({"processingTime": "100 milliseconds"})
    try:
        query.processAllAvailable()
        assert len(flat(stream.batches)) == 250
        (folder / "in" / "run_3.h5").write_bytes(content)
        query.processAllAvailable()
    finally:
        query.stop()
    assert flat(stream.batches) == [*range(250), *range(5000, 5040)]


@pytest.mark.parametrize("first", [b"", b"<html>not yet</html>", b"\x89HDF"])
def test_a_running_stream_waits_for_a_file_that_is_being_made(spark: Any, folder: pathlib.Path, first: bytes) -> None:
    whole = folder / "whole.h5"
    write(whole, 5000, 40)
    stream = Run(spark, folder)
    query = stream.start({"processingTime": "100 milliseconds"})
    try:
        query.processAllAvailable()
        before = len(flat(stream.batches))
        (folder / "in" / "run_3.h5").write_bytes(first)
        (folder / "in" / "notes.txt").write_bytes(first or b"text")
        query.processAllAvailable()
        time.sleep(0.5)
        assert query.isActive and len(flat(stream.batches)) == before
        (folder / "in" / "run_3.h5").write_bytes(whole.read_bytes())
        query.processAllAvailable()
    finally:
        query.stop()
    assert flat(stream.batches)[before:] == list(range(5000, 5040))


def test_a_damaged_file_has_no_rows_in_a_stream(spark: Any, folder: pathlib.Path) -> None:
    with h5py.File(folder / "in" / "run_3.h5", "w") as f:
        f.create_dataset("x", data=np.arange(9000.0, 9100.0), maxshape=(None,), chunks=(10,), compression="gzip")
        place = f["x"].id.get_chunk_info(7).byte_offset
    with open(folder / "in" / "run_3.h5", "r+b") as file:
        file.seek(place + 4)
        file.write(b"\xff" * 8)
    stream = Run(spark, folder, ignoreCorruptFiles="true", targetPartitionBytes="80")
    assert [x for x in flat(stream.run()) if x >= 9000] == []


def test_a_stream_of_a_folder_that_was_empty_when_it_was_loaded(spark: Any, tmp_path: pathlib.Path) -> None:
    (tmp_path / "in").mkdir()
    rows = spark.readStream.format("hdf5").option("dataset", "/x").schema("x double").load(str(tmp_path / "in"))
    writer = rows.writeStream.format("memory").queryName("begun").trigger(availableNow=True)
    with pytest.raises(Exception, match="NotFound: the folder has no files: a stream needs one"):
        writer.option("checkpointLocation", str(tmp_path / "none")).start().awaitTermination(60)
    write(tmp_path / "in" / "run_1.h5", 0, 30)
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination(60)
    assert spark.table("begun").count() == 30


def test_a_stream_as_sink_is_refused_by_name(spark: Any, folder: pathlib.Path) -> None:
    stream = spark.readStream.format("hdf5").option("dataset", "/x").load(str(folder / "in"))
    with pytest.raises(Exception, match="a stream cannot be written as hdf5: use foreachBatch"):
        stream.writeStream.format("hdf5").option("checkpointLocation", str(folder / "other")).start(str(folder / "out.h5"))
    assert not (folder / "out.h5").exists()


def test_a_file_that_became_shorter_is_an_error(spark: Any, folder: pathlib.Path) -> None:
    stream = Run(spark, folder)
    stream.run()
    (folder / "in" / "run_2.h5").unlink()
    write(folder / "in" / "run_2.h5", 0, 100)
    with pytest.raises(Exception, match="files of a stream may only grow"):
        stream.run()


def test_options_apply_to_streams(spark: Any, folder: pathlib.Path) -> None:
    stream = Run(spark, folder, where="x >= 240")
    assert flat(stream.run()) == list(range(240, 250))
    append(folder / "in" / "run_2.h5", 100, 5)
    append(folder / "in" / "run_2.h5", 900, 5)
    assert flat(stream.run()) == list(range(900, 905))
