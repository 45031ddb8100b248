"""Writing H5Part and H5Block by one writer and many, judged by h5py and by the models' own reading."""

from __future__ import annotations

import ctypes
import multiprocessing
import pathlib
import pickle
from typing import Any

import h5py
import hyperslab as hs
import library_calls
import numpy as np
import pytest
from thread_communicator import ThreadCommunicator, everyone

h5part, h5block = hs.models.h5part, hs.models.h5block


def mine(rank: int, step: int) -> dict[str, np.ndarray]:
    """The particles of a writer: each has another number of them, one has none."""
    rng = np.random.default_rng([rank, step])
    count = 0 if rank == 1 else 40 + 7 * rank + step
    return {"x": rng.normal(size=count), "q": rng.normal(size=count).astype("f4"), "id": rng.integers(0, 1000, count)}


def whole(size: int, step: int) -> dict[str, np.ndarray]:
    parts = [mine(rank, step) for rank in range(size)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def check_particles(path: pathlib.Path, size: int, steps: list[int], name: str = "Step#{}") -> None:
    with h5py.File(path) as f:
        assert sorted(f) == sorted(name.format(step) for step in steps)
        for step in steps:
            group = f[name.format(step)]
            assert group.attrs["TIME"].tolist() == [step * 0.5] and group["x"].attrs["unit"] == b"m"
            for key, values in whole(size, step).items():
                assert group[key].dtype == values.dtype and np.array_equal(group[key][:], values)
        assert f.attrs["author"] == b"a simulation"
    view = h5part.open(path)
    assert view.validate() == [] and view.omitted == {}
    got = view.particles(columns=["step", "time", "id", "q", "x"]).to_pandas()
    assert np.array_equal(got.x, np.concatenate([whole(size, step)["x"] for step in steps]))
    assert np.array_equal(got.step, np.concatenate([np.full(len(whole(size, step)["x"]), step) for step in steps]))
    if pathlib.Path(f"{path}.d").exists():
        assert hs.verify(path, values=True).problems == []


def write(run: Any, rank: int, step: int, number: int | None = None) -> None:
    run.write_step(mine(rank, step), step=number, time=step * 0.5, attrs={"label": "a"}, array_attrs={"x": {"unit": "m"}})


def test_one_process_writes_a_plain_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5part"
    with h5part.create(path, attrs={"author": "a simulation"}) as run:
        for step in range(3):
            write(run, 0, step)
        assert run.steps == [0, 1, 2] and not path.exists()
    assert list(tmp_path.iterdir()) == [path]
    check_particles(path, 1, [0, 1, 2])
    with pytest.raises(hs.ConflictError):
        h5part.create(path)
    with h5part.create(path, "w", attrs={"author": "a simulation"}, padding=4, compression="gzip", chunks=(16,)) as run:
        write(run, 0, 12, 12)
        write(run, 0, 13)
    check_particles(path, 1, [12, 13], "Step#{:04d}")
    with h5py.File(path) as f:
        assert f["Step#0012/x"].chunks == (16,) and f["Step#0012/x"].compression == "gzip"
    with pytest.raises(ZeroDivisionError), h5part.create(path, "w") as run:
        write(run, 0, 0)
        raise ZeroDivisionError
    check_particles(path, 1, [12, 13], "Step#{:04d}")


def as_h5hut(path: pathlib.Path, place: str, name: str) -> bytes:
    """A text attribute as a program in C sees it that reads with the calls of H5hut: the buffer has the type of the file."""
    with h5py.File(path) as f:
        attribute = f[place].attrs.get_id(name)
        buffer = ctypes.create_string_buffer(b"?" * 256)
        read = library_calls.LIBRARY.H5Aread
        read.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
        assert read(attribute.id, attribute.get_type().id, buffer) == 0
        return buffer.value


def h5part_file(path: pathlib.Path, how: str, attrs: dict[str, Any]) -> tuple[str, str]:
    if how == "plan":
        plan = h5part.plan(path, attrs=attrs, name="Turn", padding=6)
        with plan.task(0) as task:
            h5part.writer(task).write_step({"x": [1.0]}, attrs=attrs, array_attrs={"x": attrs})
            fragment = task.finish()
        plan.commit([fragment])
    else:
        with h5part.create(path, attrs=attrs, name="Turn", padding=6, commit=how) as run:
            run.write_step({"x": [1.0]}, attrs=attrs, array_attrs={"x": attrs})
    return "/Turn#000000", "/Turn#000000/x"


def h5block_file(path: pathlib.Path, how: str, attrs: dict[str, Any]) -> tuple[str, str]:
    if how == "plan":
        plan = h5block.plan(path, (2, 2, 2), attrs=attrs, name="Turn", padding=6)
        with plan.task(0) as task:
            h5block.writer(task).write_step({"phi": np.zeros((2, 2, 2))}, attrs=attrs, field_attrs={"phi": attrs})
            fragment = task.finish()
        plan.commit([fragment])
    else:
        with h5block.create(path, (2, 2, 2), attrs=attrs, name="Turn", padding=6, commit=how) as run:
            run.write_step({"phi": np.zeros((2, 2, 2))}, attrs=attrs, field_attrs={"phi": attrs})
    return "/Turn#000000", "/Turn#000000/Block/phi"


@pytest.mark.parametrize("make", [h5part_file, h5block_file])
@pytest.mark.parametrize("how", ["close", "step", "plan"])
def test_texts_are_what_h5hut_reads(tmp_path: pathlib.Path, make: Any, how: str) -> None:
    path = tmp_path / "run.h5"
    given = {"plain": "somebody", "empty": "", "greek": "\u03bcm", "bytes": b"raw", "numpy": np.str_("text"), "long": "x" * 200, "np_bytes": np.bytes_(b"ab")}
    places = ("/", *make(path, how, given))
    for place in places:
        for name, value in given.items():
            expected = value if isinstance(value, bytes) else value.encode()
            assert as_h5hut(path, place, name) == expected, (place, name)
            with h5py.File(path) as f:
                kind = f[place].attrs.get_id(name).get_type()
                assert not kind.is_variable_str() and kind.get_strpad() == h5py.h5t.STR_NULLTERM and kind.get_size() == len(expected) + 1
                assert f[place].attrs.get_id(name).shape == ()
    # The name of the steps is an attribute, too.
    assert as_h5hut(path, "/", "__stepname__") == b"Turn"
    with pytest.raises(hs.InvalidInputError, match="NUL"):
        make(tmp_path / "nul.h5", how, {"label": "a\0b"})


def test_texts_of_variable_length_are_still_read(tmp_path: pathlib.Path) -> None:
    """Files that Hyperslab wrote before have them."""
    path = tmp_path / "run.h5part"
    with h5py.File(path, "w") as f:
        f.attrs["__stepname__"], f.attrs["__stepnumwidth__"], f.attrs["author"] = "Turn", 6, "somebody"
        f["Turn#000003/x"] = [1.0, 2.0]
        f["Turn#000003"].attrs["label"] = "a"
    view = h5part.open(path)
    assert view.particles(columns=["step", "x"]).to_arrow().to_pydict() == {"step": [3, 3], "x": [1.0, 2.0]} and view.validate() == []


def of_task(plan: bytes, rank: int) -> bytes:
    with pickle.loads(plan).task(rank) as task:
        run = h5part.writer(task)
        for step in range(2):
            write(run, rank, step)
        return task.finish()


def test_processes_write_through_tasks(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5part"
    plan = h5part.plan(path, attrs={"author": "a simulation"})
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        fragments = pool.starmap(of_task, [(pickle.dumps(plan), rank) for rank in range(4)])
    plan.commit(fragments)
    check_particles(path, 4, [0, 1])
    more = h5part.plan(path, "a")
    with more.task(0) as task:
        with pytest.raises(hs.InvalidInputError, match="step 1 is in the file already"):
            write(h5part.writer(task), 0, 1, 1)
        with pytest.raises(hs.InvalidInputError, match="x is float32 in step 2 and float64 in step 1"):
            h5part.writer(task).write_step({"x": np.zeros(3, "f4")})
        task.abort()
    hs.fuse(path, tmp_path / "one.h5part")
    check_particles(tmp_path / "one.h5part", 4, [0, 1])


@pytest.mark.parametrize("commit", ["step", "close"])
@pytest.mark.parametrize("options", [{}, {"compression": "gzip", "chunks": (16,)}], ids=["plain", "gzip"])
def test_the_processes_of_a_communicator_write_step_by_step(tmp_path: pathlib.Path, commit: str, options: dict[str, Any]) -> None:
    path, size = tmp_path / "run.h5part", 4

    def work(comm: ThreadCommunicator, mode: str, steps: list[int]) -> list[bool]:
        seen = []
        with h5part.create(path, mode, comm=comm, commit=commit, attrs={"author": "a simulation"}, **options) as run:
            for step in steps:
                write(run, comm.rank, step, step if step == 5 else None)
                seen.append(path.exists() and f"Step#{step}" in hs.open(path))
        return seen

    for mode, steps in (("x", [0, 1]), ("a", [2, 5])):
        outcomes = everyone(size, lambda comm, mode=mode, steps=steps: work(comm, mode, steps))
        assert outcomes == [[commit == "step"] * 2] * size, outcomes
    check_particles(path, size, [0, 1, 2, 5])
    # What a commit notes in the file is nothing that the simulation says.
    assert "_hyperslab_commit" in hs.open(path).attrs
    view = h5part.open(path)
    for columns in (view.steps.column_names, view.table("particles_with_attributes").to_arrow().column_names):
        assert "file_author" in columns and not any("hyperslab" in name for name in columns)
    if commit == "step" and not options:
        # The processes share the subfile of a step.
        assert sum(p.name.startswith("shared") for p in tmp_path.rglob("*.h5")) == 4


def test_a_step_without_particles_and_views(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5part"

    def work(comm: ThreadCommunicator) -> None:
        with h5part.create(path, comm=comm) as run:
            run.write_step({"x": np.zeros(0)}, time=0.0)
            run.write_step({"x": np.arange(3.0) + 3 * comm.rank}, time=1.0, rows=(3 * comm.rank, 3 * comm.rank + 3), total=6)

    assert everyone(2, work) == [None, None]
    with h5py.File(path) as f:
        assert f["Step#0/x"].shape == (0,) and f["Step#0/x"].dtype == "f8" and f["Step#1/x"][:].tolist() == [0, 1, 2, 3, 4, 5]
    assert h5part.open(path).particles().count() == 6


def refused(tmp_path: pathlib.Path, name: str, change: Any, kinds: list[type[Exception]], match: str, place: str | None, **options: Any) -> None:
    """One step is written, the next fails on all processes, and a third is written."""
    path = tmp_path / f"{name}.h5part"

    def work(comm: ThreadCommunicator) -> tuple[Any, int]:
        with h5part.create(path, comm=comm) as run:
            run.write_step({"x": np.arange(3.0), "id": np.arange(3)}, time=0.0)
            try:
                change(run, comm.rank)
            except Exception as error:
                caught = error
            return caught, run.write_step({"x": np.arange(3.0), "id": np.arange(3)}, time=2.0)

    outcomes = everyone(2, work)
    assert [type(error) for error, _ in outcomes] == kinds and [number for _, number in outcomes] == [1, 1], outcomes
    errors = [error for error, _ in outcomes if not isinstance(error, hs.CancelledError)]
    for error in errors:
        assert match in str(error) and (not isinstance(error, hs.Error) or error.object == place), (error, error.object)
    with h5py.File(path) as f:
        assert sorted(f) == ["Step#0", "Step#1"] and f["Step#1"].attrs["TIME"][0] == 2.0


def test_bad_steps_of_a_communicator_are_one_error_and_write_nothing(tmp_path: pathlib.Path) -> None:
    x, ids = np.arange(3.0), np.arange(3)
    bad, gone = hs.InvalidInputError, hs.CancelledError

    def dies(run: Any, rank: int) -> None:
        if rank == 1:
            run.write_step({"x": object(), "id": ids})
        run.write_step({"x": x, "id": ids})

    cases = {
        "lengths": (lambda run, rank: run.write_step({"x": x, "id": ids[: 3 - rank]}), [gone, bad], "id has 2 values and x has 3 in step 1", "/Step#1/id"),
        "arrays": (lambda run, rank: run.write_step({"x": x, "id": ids} if rank else {"x": x}), [bad, bad], "give the same", "/Step#1/x"),
        "types": (lambda run, rank: run.write_step({"x": x.astype("f4"), "id": ids}), [bad, bad], "x is float32 in step 1 and float64 in step 0", "/Step#1/x"),
        "overlap": (
            lambda run, rank: run.write_step({"x": x, "id": ids}, rows=(2 * rank, 2 * rank + 3), total=6),
            [hs.ConflictError] * 2,
            "writers 0 and 1 have overlapping parts",
            "/Step#1/id",
        ),
        "gap": (
            lambda run, rank: run.write_step({"x": x, "id": ids}, rows=(4 * rank, 4 * rank + 3), total=7),
            [bad, bad],
            "the writers have 6 of the 7 elements",
            "/Step#1/id",
        ),
        "time": (lambda run, rank: run.write_step({"x": x, "id": ids}, time=rank), [bad, bad], "different attributes of step 1", "/Step#1"),
        "number": (lambda run, rank: run.write_step({"x": x, "id": ids}, step=1 + rank), [bad, bad], "process 0 writes step 1, process 1 step 2", None),
        "there": (lambda run, rank: run.write_step({"x": x, "id": ids}, step=0), [bad, bad], "step 0 is in the file already", "/Step#0"),
        "no numbers": (dies, [gone, bad], "give integers or floats", "/Step#1/x"),
    }
    for name, (change, kinds, match, place) in cases.items():
        refused(tmp_path, name, change, kinds, match, place)


def test_bad_steps_of_tasks_are_found_before_the_commit(tmp_path: pathlib.Path) -> None:
    def commit(name: str, *steps: Any) -> None:
        plan = h5part.plan(tmp_path / name)
        fragments = []
        for number, step in enumerate(steps):
            with plan.task(number) as task:
                step(h5part.writer(task))
                fragments.append(task.finish())
        try:
            plan.commit(fragments)
        finally:
            plan.abort()

    x = np.arange(3.0)
    with pytest.raises(hs.InvalidInputError, match="writer 1 has 0 values of id and 3 of x in /Step#0: give equally many") as caught:
        commit("a.h5", lambda run: run.write_step({"x": x, "id": x}), lambda run: run.write_step({"x": x}))
    assert caught.value.object == "/Step#0/x"
    with pytest.raises(hs.ConflictError, match="Step#0/x"):
        commit("b.h5", lambda run: run.write_step({"x": x}), lambda run: run.write_step({"x": x.astype("f4")}))
    with pytest.raises(hs.ConflictError, match="writers 0 and 1 have overlapping parts of /Step#0/x"):
        commit("c.h5", *[lambda run, at=at: run.write_step({"x": x}, rows=(at, at + 3), total=6) for at in (0, 2)])
    with pytest.raises(hs.InvalidInputError, match="the writers have 3 of the 6 elements"):
        commit("d.h5", lambda run: run.write_step({"x": x}, rows=(0, 3), total=6))
    with pytest.raises(hs.ConflictError, match="different values"):
        commit("e.h5", *[lambda run, time=time: run.write_step({"x": x}, time=time) for time in (0.0, 1.0)])
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []
    # A writer that dies leaves a task without a fragment; its steps are not in the file, or the whole write is given up.
    plan = hs.WritePlan(tmp_path / "f.h5")
    with plan.task(0) as task, pytest.raises(hs.InvalidInputError, match="not of a plan of h5part"):
        h5part.writer(task)
    plan.abort()
    for given, match in [
        ({"x/y": x}, "cannot be the name"),
        ({"x": np.zeros((3, 2))}, "one value for each particle"),
        ({"x": ["a", "b"]}, "integers or floats"),
        ({"x": np.ma.masked_equal([1, 2], 2)}, "masked"),
        ({}, "without arrays"),
    ]:
        with h5part.create(tmp_path / "g.h5") as run:
            with pytest.raises(hs.InvalidInputError, match=match):
                run.write_step(given)
            run.abort()


SHAPE = (6, 4, 5)


def field(name: str, step: int, component: int = 0) -> np.ndarray:
    return np.random.default_rng([len(name), step, component]).normal(size=SHAPE)


def with_ghosts(values: np.ndarray, part: tuple[slice, ...], ghosts: int) -> np.ndarray:
    """A writer's part with cells of its neighbors, and NaN outside of the grid."""
    padded = np.pad(values, ghosts, constant_values=np.nan)
    return padded[tuple(slice(axis.start, axis.stop + 2 * ghosts) for axis in part)]


PARTS = [np.s_[0:2, 0:4, 0:5], np.s_[2:6, 0:4, 0:3], np.s_[2:6, 0:1, 3:5], np.s_[2:6, 1:4, 3:5]]


def write_fields(run: Any, rank: int, step: int, ghosts: int = 1) -> None:
    part = PARTS[rank]
    fields = {"E": [with_ghosts(field("E", step, c), part, ghosts) for c in range(3)], "phi": with_ghosts(field("phi", step), part, ghosts)}
    run.write_step(fields, time=step / 2, partition=part, ghosts=ghosts, field_attrs={"E": {"unit": "V/m"}})


def check_fields(path: pathlib.Path, steps: list[int]) -> None:
    with h5py.File(path) as f:
        for step in steps:
            assert f[f"Step#{step}"].attrs["TIME"].tolist() == [step / 2] and f[f"Step#{step}/Block/E"].attrs["unit"] == b"V/m"
            for name, components in (("E", 3), ("phi", 1)):
                group = f[f"Step#{step}/Block/{name}"]
                assert sorted(group) == [str(c) for c in range(components)]
                assert group.attrs["__Origin__"].tolist() == [1, 2, 3] and group.attrs["__Spacing__"].tolist() == [0.5, 0.25, 2]
                for c in range(components):
                    assert np.array_equal(group[str(c)][:], field(name, step, c))
    view = h5block.open(path)
    assert view.validate() == [] and view.omitted == {} and view.fields == {"E": 3, "phi": 1}
    cells = view.cells("k = 3 and j = 2 and i = 4", ["step", "x", "y", "z", "E_1"]).to_arrow().to_pylist()
    assert cells == [{"step": step, "x": 3.0, "y": 2.5, "z": 9.0, "E_1": field("E", step, 1)[3, 2, 4]} for step in steps]


GRID = {"origin": (1, 2, 3), "spacing": (0.5, 0.25, 2)}


@pytest.mark.parametrize("commit", ["step", "close"])
@pytest.mark.parametrize("options", [{}, {"compression": "gzip", "chunks": (2, 2, 2)}], ids=["plain", "gzip"])
def test_partitions_with_ghost_zones_make_one_field(tmp_path: pathlib.Path, commit: str, options: dict[str, Any]) -> None:
    path = tmp_path / "fields.h5"

    def work(comm: ThreadCommunicator, mode: str, steps: list[int]) -> None:
        with h5block.create(path, SHAPE, mode, comm=comm, commit=commit, **GRID, **options) as run:
            for step in steps:
                write_fields(run, comm.rank, step)

    for mode, steps in (("x", [0, 1]), ("a", [2])):
        assert everyone(4, lambda comm, mode=mode, steps=steps: work(comm, mode, steps)) == [None] * 4
    check_fields(path, [0, 1, 2])


def test_one_process_and_tasks_write_fields(tmp_path: pathlib.Path) -> None:
    with h5block.create(tmp_path / "one.h5", SHAPE, **GRID) as run:
        for step in range(2):
            run.write_step(
                {"E": np.stack([field("E", step, c) for c in range(3)]), "phi": field("phi", step)}, time=step / 2, field_attrs={"E": {"unit": "V/m"}}
            )
    check_fields(tmp_path / "one.h5", [0, 1])
    plan = h5block.plan(tmp_path / "many.h5", SHAPE, **GRID)
    fragments = []
    for rank in range(4):
        with plan.task(rank) as task:
            write_fields(h5block.writer(task), rank, 0, ghosts=2)
            fragments.append(task.finish())
    with pytest.raises(hs.InvalidInputError, match=r"the writers have 96 of the 120 elements of /Step#0/Block/E/0"):
        plan.commit(fragments[:3])
    plan.commit(fragments)
    check_fields(tmp_path / "many.h5", [0])


def test_bad_fields_are_one_error(tmp_path: pathlib.Path) -> None:
    def work(comm: ThreadCommunicator) -> Any:
        with h5block.create(tmp_path / "a.h5", SHAPE, comm=comm) as run:
            part = np.s_[0:4, :, :] if comm.rank == 0 else np.s_[3:6, :, :]
            run.write_step({"phi": field("phi", 0)[part]}, partition=part)

    for error in everyone(2, work):
        assert isinstance(error, hs.ConflictError) and "writers 0 and 1 have overlapping parts of /Step#0/Block/phi/0" in str(error), error
        assert error.object == "/Step#0/Block/phi/0"
    with h5block.create(tmp_path / "b.h5", SHAPE) as run:
        for given, options, match in [
            ({"phi": np.zeros((6, 4, 4))}, {}, r"has shape \(6, 4, 4\); the partition has \(6, 4, 5\)"),
            ({"phi": np.zeros(SHAPE)}, {"ghosts": 1}, r"with ghost cells .* has \(8, 6, 7\)"),
            ({"phi": np.zeros((2, 4, 5))}, {"partition": np.s_[:2]}, "the writers have 40 of the 120 elements"),
            ({"phi": np.zeros(SHAPE)}, {"ghosts": -1}, "ghosts=-1"),
            ({"E": []}, {}, "without components"),
            ({"phi": np.zeros(SHAPE)}, {"field_attrs": {"E": {}}}, "none of the fields"),
        ]:
            with pytest.raises(hs.InvalidInputError, match=match):
                run.write_step(given, **options)
        run.write_step({"phi": field("phi", 0)})
        with pytest.raises(hs.InvalidInputError, match="Block/phi/0 is float32 in step 1"):
            run.write_step({"phi": field("phi", 0).astype("f4")})
    for shape, options in [((2, 2), {}), ((2, 2, 0), {}), (SHAPE, {"origin": (0, 0, 0)}), (SHAPE, {"origin": (0, 0, 0), "spacing": (1, 1, np.inf)})]:
        with pytest.raises(hs.InvalidInputError):
            h5block.create(tmp_path / "c.h5", shape, **options)
