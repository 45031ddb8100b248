"""Bytes that earlier versions wrote are read as they were meant, or refused by name (testing/golden/README.md)."""

from __future__ import annotations

import collections.abc
import fcntl
import json
import pathlib
import shutil

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
import make  # noqa: E402

# The versions that this code reads. The others must be refused with a word about their version.
READ = {"split": {"v5"}, "plan": {"v5.6"}, "index": {"v2"}, "index-task": {"v2"}, "container": {"v1"}}


def versions(kind: str) -> set[str]:
    """The versions that there are."""
    found = {path.name for path in (GOLDEN / kind).iterdir()}
    assert READ[kind] <= found, "python testing/golden/make.py writes what is missing"
    return found


@pytest.fixture
def placed(request: pytest.FixtureRequest) -> collections.abc.Iterator[pathlib.Path]:
    """A copy of a golden folder at the place that its bytes name."""
    with pathlib.Path(f"{make.PLACE}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(make.PLACE, ignore_errors=True)
        shutil.copytree(request.param, make.PLACE)
        source = make.PLACE / "source.h5"
        if source.exists():
            make.dated(source.rename(make.PLACE / "data.h5"))
        yield make.PLACE
        shutil.rmtree(make.PLACE)


def every(kind: str) -> pytest.MarkDecorator:
    assert versions(kind)
    return pytest.mark.parametrize("placed", [GOLDEN / kind / version for version in sorted(READ[kind])], indirect=True, ids=sorted(READ[kind]))


@every("split")
def test_a_split(placed: pathlib.Path) -> None:
    data, schema = (
        json.loads((placed / "splits.json").read_text()),
        pa.schema([pa.field("x", pa.int32(), nullable=False), pa.field("y", pa.float64(), nullable=False)]),
    )
    found = pa.concat_tables([hs.Split(part.encode(), schema).read() for part in data])
    values = make.values()
    few = values["x"] < 500
    assert found["x"].to_pylist() == values["x"][few].tolist() and found["y"].to_pylist() == values["y"][few].tolist()


@every("plan")
def test_a_plan_and_its_fragments(placed: pathlib.Path) -> None:
    plan = hs.WritePlan.from_bytes((placed / "plan").read_bytes())
    done = plan.commit([(placed / f"fragment-{number}").read_bytes() for number in range(2)])
    assert not done.repeated and hs.verify(placed / "out.h5", values=True).problems == []
    with h5py.File(placed / "out.h5") as theirs:
        for file in (theirs, hs.open(placed / "out.h5")):
            assert file["whole"][:].tolist() == np.repeat([1.0, 1.0, 2.0, 2.0], 6).reshape(4, 6).tolist()
            assert file["rows"][:].tolist() == list(range(20))


@every("index")
def test_an_index(placed: pathlib.Path) -> None:
    values = make.values()
    assert hs.indexes.status(placed / "data.h5", indexes="any") == [] and hs.indexes.verify(placed / "data.h5", indexes="any") == []
    query = hs.query(placed / "data.h5", "/", "x < 100 and y > 20", indexes="any")
    before = hs.counters()
    assert query.count() == ((values["x"] < 100) & (values["y"] > 20)).sum()
    assert sorted(query.table(["x"])["x"].to_pylist()) == sorted(values["x"][(values["x"] < 100) & (values["y"] > 20)].tolist())
    assert hs.counters() != before


@every("index-task")
def test_an_index_task_and_its_fragment(placed: pathlib.Path) -> None:
    assert hs.indexes.build((placed / "task").read_bytes())
    hs.indexes.commit([(placed / "fragment").read_bytes()])
    assert hs.indexes.status(placed / "data.h5") == [] and hs.indexes.verify(placed / "data.h5") == []
    assert hs.query(placed / "data.h5", "/", "x < 100").count() == (make.values()["x"] < 100).sum()


@every("container")
def test_a_container(placed: pathlib.Path) -> None:
    path, expected = placed / "run.h5", [0.0] * 5 + [1.0] * 5 + [2.0] * 5

    def check() -> None:
        with h5py.File(path) as theirs:
            for file in (theirs, hs.open(path)):
                assert file["x"][:, 3].tolist() == expected and file["fixed"][:].tolist() == np.arange(12).reshape(3, 4).tolist()
                assert file.attrs["title"] == "golden"

    check()
    done = hs.verify(path, values=True)
    assert done.problems == [] and done.commits == 3
    plan = hs.WritePlan(path, "a")
    with plan.task(0) as task:
        task.create_dataset("x", data=np.full((2, 4), 9.0), rows=True)
        plan.commit([task.finish()])
    expected += [9.0, 9.0]
    check()
    hs.fuse(path, placed / "one.h5")
    assert hs.open(placed / "one.h5")["x"][:, 0].tolist() == expected


def test_versions_that_are_not_read_are_refused_by_name() -> None:
    for kind, file, use in (("split", "splits.json", None), ("plan", "plan", hs.WritePlan.from_bytes), ("index-task", "task", hs.indexes.build)):
        for version in versions(kind) - READ[kind]:
            data = (GOLDEN / kind / version / file).read_bytes()
            with pytest.raises(hs.InvalidInputError, match="version"):
                use(data) if use else hs.Split(json.loads(data)[0].encode(), pa.schema([])).read()
