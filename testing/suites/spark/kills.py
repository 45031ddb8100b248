"""Drivers that are killed while they write: `kills.py FOLDER [ROUNDS]`, by `make crash-spark`.

Each round starts a driver that replaces a dataset of a file, overwrites a folder of partitions and extends another one, again and
again. It is killed (SIGKILL) at some moment: among the tasks, in the commit, or soon after it was put into effect. Then the file and
the folder must hold what one completed write left, without other files that readers see.
"""

from __future__ import annotations

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import h5py
import hyperslab as hs
import numpy as np

ROWS, PARTITIONS, TASKS = 1_000, 100, 2


def driver(folder: pathlib.Path) -> None:
    """Writes state after state, and names each in `log` before it begins and after it is complete."""
    spark = session()
    log = (folder / "log").open("a", buffering=1)
    for state in range(1, 1000):
        frame = spark.range(0, ROWS, 1, TASKS).selectExpr(f"id + {state} * {ROWS} as v", f"id % {PARTITIONS} as k")
        print(f"began {state}", file=log)
        single = frame.select("v").write.format("hdf5").option("dataset", "/group/v").option("replaceDataset", "true")
        single.mode("overwrite").save(str(folder / "file.h5"))
        frame.write.format("hdf5").partitionBy("k").mode("overwrite").save(str(folder / "overwritten"))
        frame.write.format("hdf5").partitionBy("k").mode("append").save(str(folder / "extended"))
        print(f"ended {state}", file=log)


def session() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "512m")
    options = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    spark = hs.spark.configure(builder.config("spark.driver.extraJavaOptions", options)).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def states(values: Any) -> list[int]:
    """The states whose rows are all there; an error if a state is there in part, or twice."""
    whole, counts = np.unique(np.sort(np.asarray(values)) // ROWS, return_counts=True)
    assert len(np.unique(values)) == len(values) and (counts == ROWS).all(), f"parts of states: {dict(zip(whole, counts, strict=True))}"
    return [int(state) for state in whole]


def logged(folder: pathlib.Path, word: str) -> int:
    """The last state that began or ended."""
    path = folder / "log"
    found = [int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith(word)] if path.exists() else []
    return max(found, default=0)


def interesting(folder: pathlib.Path) -> bool:
    """Whether a write is in effect, and its files are not all at their places."""
    try:
        return any(entry.name.startswith(("_committed-", "_removing-")) for name in ("overwritten", "extended") for entry in os.scandir(folder / name))
    except FileNotFoundError:
        return False


def kill(folder: pathlib.Path, choice: random.Random) -> str:
    """Runs a driver, and kills it; returns the folders and files that it left unfinished."""
    process = subprocess.Popen([sys.executable, __file__, "driver", str(folder)], start_new_session=True)
    try:
        while logged(folder, "ended") < 1:
            assert process.poll() is None, "the driver ended by itself"
            time.sleep(0.05)
        if choice.random() < 0.5:
            time.sleep(choice.uniform(0, 3))
        else:
            deadline = time.monotonic() + 20
            while not interesting(folder) and time.monotonic() < deadline:
                pass
            time.sleep(choice.choice([0, 0, 0.002, 0.005]))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return " ".join(sorted(path.name.split("-")[0] for name in ("overwritten", "extended", ".") for path in (folder / name).glob("[._]*")))


def check(folder: pathlib.Path, spark: Any) -> None:
    ended, began = logged(folder, "ended"), logged(folder, "began")

    def read(name: str) -> list[int]:
        return [row.v for row in spark.read.format("hdf5").load(str(folder / name)).collect()]

    # Spark reads an edit that was interrupted as complete or as not begun; other programs refuse the file before the next edit.
    frame = spark.read.format("hdf5").option("dataset", "/group/v").load(str(folder / "file.h5"))
    assert states([row.v for row in frame.collect()]) in ([ended], [began])
    with hs.open(folder / "file.h5", "r+"):
        pass
    with h5py.File(folder / "file.h5") as f:
        assert f["kept"][:].tolist() == list(range(100)) and states(f["group/v"][:]) in ([ended], [began]) and sorted(f) == ["group", "kept"]
    assert states(read("overwritten")) in ([ended], [began])
    assert states(read("extended")) in (list(range(1, ended + 1)), list(range(1, began + 1)))
    # No reader sees files of an unfinished write.
    for name in ("overwritten", "extended"):
        seen = [path for path in (folder / name).rglob("*.h5") if not any(part[0] in "._" for part in path.relative_to(folder).parts)]
        total = sum(h5py.File(path)["v"].shape[0] for path in seen)
        assert total == len(read(name)) and not list((folder / name).glob("_committed-*"))
    assert {path.name for path in folder.iterdir() if path.name[0] not in "._"} == {"file.h5", "overwritten", "extended", "log"}


def main(folder: pathlib.Path, rounds: int) -> None:
    seed = int(os.environ.get("HYPERSLAB_SEED", time.time()))
    print("seed", seed)
    choice = random.Random(seed)
    spark = session()
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        with h5py.File(place / "file.h5", "w") as f:
            f["kept"] = np.arange(100)
            f["group/v"] = np.arange(ROWS)
        left = kill(place, choice)
        check(place, spark)
        print(f"round {number}: state {logged(place, 'began')}, left: {left}", flush=True)
        shutil.rmtree(place)
    spark.stop()
    print("as it should be")


if __name__ == "__main__":
    if sys.argv[1] == "driver":
        driver(pathlib.Path(sys.argv[2]))
    else:
        main(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
