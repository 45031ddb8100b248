"""hyperslab.mpi with real processes: mpiexec of the wheel mpich, 2 to 4 of them."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import h5py
import hyperslab as hs
import numpy as np
import pytest

PROGRAM = pathlib.Path(__file__).with_name("program.py")
ROWS = 1000


def mpiexec(count: int, case: str, folder: pathlib.Path, *more: str) -> subprocess.CompletedProcess[str]:
    program = pathlib.Path(sys.executable).with_name("mpiexec")
    return subprocess.run([program, "-n", str(count), sys.executable, PROGRAM, case, folder, *more], capture_output=True, text=True, timeout=120)


def check(path: pathlib.Path, count: int) -> None:
    expected = np.repeat(np.arange(1, count + 1), ROWS)
    rows = np.concatenate([np.full(n + 1, n) for n in range(count)])
    with h5py.File(path) as f:
        for opened in (f, hs.open(path)):
            assert (opened["run"][:] == expected[:, None]).all() and (opened["packed"][:] == expected).all()
            assert (opened["odd"][:] == np.concatenate([np.full(7 + n, n + 1) for n in range(count)])).all()
            assert opened["rows"][: len(rows)].tolist() == rows.tolist() and opened.attrs["processes"] == count
    assert hs.verify(path, values=True).problems == []


@pytest.mark.parametrize("count", [2, 3, 4])
def test_processes_write_one_file(tmp_path: pathlib.Path, count: int) -> None:
    path = tmp_path / "out.h5"
    run = mpiexec(count, "write", tmp_path)
    assert run.returncode == 0, run.stderr
    check(path, count)
    # Two of them share a subfile; each has one of its own for its rows.
    assert sum(p.name.startswith("shared") for p in tmp_path.rglob("*.h5")) == -(-count // 2)
    before = sorted(tmp_path.rglob("*"))
    for case in ("one fails", "plan fails", "conflict"):
        run = mpiexec(count, case, tmp_path)
        assert run.returncode == 0, (case, run.stderr)
        check(path, count)
    hs.vacuum(path, hours=0)
    assert sorted(tmp_path.rglob("*")) == before
    run = mpiexec(count, "append", tmp_path)
    assert run.returncode == 0, run.stderr
    check(path, count)
    assert hs.open(path)["rows"][-2 * count :].tolist() == [100 + n for n in range(count) for _ in range(2)]


def test_a_process_that_is_killed_leaves_the_old_file(tmp_path: pathlib.Path) -> None:
    assert mpiexec(3, "write", tmp_path).returncode == 0
    assert mpiexec(3, "killed", tmp_path).returncode != 0
    check(tmp_path / "out.h5", 3)
    assert len(hs.vacuum(tmp_path / "out.h5", hours=0).removed) == 1


@pytest.mark.parametrize("count", [2, 3])
def test_processes_build_one_index(tmp_path: pathlib.Path, count: int) -> None:
    path = tmp_path / "out.h5"
    values = np.random.default_rng(1).random(500_000)
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=values, chunks=(65_536,), compression="gzip")
        f.create_dataset("y", data=values, chunks=(65_536,), compression="gzip")
    run = mpiexec(count, "index fails", tmp_path)
    assert run.returncode == 0, run.stderr
    assert "index X" not in hs.query(path, "/", "x > 0.999").explain()
    run = mpiexec(count, "index", tmp_path)
    assert run.returncode == 0, run.stderr
    q = hs.query(path, "/", "x > 0.999")
    assert "index X on x" in q.explain() and np.array_equal(q.positions(), np.flatnonzero(values > 0.999))


def test_the_example_runs(tmp_path: pathlib.Path) -> None:
    bin = pathlib.Path(sys.executable).parent
    example = PROGRAM.parents[3] / "examples" / "write_mpi.py"
    run = subprocess.run([bin / "mpiexec", "-n", "2", sys.executable, example, tmp_path / "out.h5"], capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "(20000,) True", run.stderr


@pytest.mark.parametrize("count", [2, 3, 4])
def test_processes_write_their_faces_of_all_times(tmp_path: pathlib.Path, count: int) -> None:
    done = mpiexec(count, "mesh", tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("divided", "own"):
        with hs.open(tmp_path / f"{name}.nc") as f:
            assert f["t"].dims == ("time", "mesh_nfaces") and (f["t"][:] == np.arange(4)[:, None] * 1000 + np.arange(100)).all()


def test_processes_write_one_netcdf_file(tmp_path: pathlib.Path) -> None:
    done = mpiexec(3, "netcdf", tmp_path)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "out.h5"
    with h5py.File(path) as f:
        assert (
            f["field"][:].tolist() == np.repeat(np.arange(3.0), ROWS).tolist() and f["series"][:].tolist() == [0, 1, 2] * 2 and f["series"].maxshape == (None,)
        )
        assert f["field"].dims[0][0] == f["x"] and f["series"].dims[0][0] == f["time"] and f["x"][:].tolist() == list(range(3 * ROWS))
        assert f["time"].attrs["units"] == b"hours since 1970-01-01 00:00:00" and (f["time"][:] - f["time"][0]).tolist() == [0, 1, 2] * 2
    with hs.open(path) as f:
        assert f["series"].dims == ("time",) and f["field"].dims == ("x",) and f.table("time").to_arrow().num_rows == 6


@pytest.mark.parametrize(("count", "case"), [(1, "collect"), (3, "collect"), (4, "collect nodes")])
def test_the_processes_of_a_node_hand_their_rows_to_one_of_them(tmp_path: pathlib.Path, count: int, case: str) -> None:
    path = tmp_path / "out.h5"

    def check_rows() -> None:
        with h5py.File(path) as f:
            assert np.array_equal(f["x"][...], np.arange(1003 * 4).reshape(1003, 4)) and np.array_equal(f["y"][...], np.arange(1003))
        assert hs.verify(path, values=True).problems == []

    done = mpiexec(count, case, tmp_path)
    assert done.returncode == 0, done.stderr
    check_rows()
    # One subfile a node.
    assert len(list((tmp_path / "out.h5.d").rglob("*.h5"))) <= (2 if "nodes" in case else 1)
    for failing in ("one fails", "create fails", "plan fails", "late", "twice"):
        if failing == "twice" and (count == 1 or "nodes" in case):
            continue
        done = mpiexec(count, f"{case} {failing}", tmp_path)
        assert done.returncode == 0, (failing, done.stderr)
        check_rows()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_processes_write_particles_step_by_step(tmp_path: pathlib.Path, count: int) -> None:
    path = tmp_path / "out.h5"

    def check_steps(steps: range) -> None:
        with h5py.File(path) as f:
            assert sorted(f) == [f"Step#{step}" for step in steps] and f.attrs["processes"] == count
            for step in steps:
                counts = [100 * rank + step for rank in range(count)]
                assert f[f"Step#{step}"].attrs["TIME"].tolist() == [step / 2]
                assert np.array_equal(f[f"Step#{step}/x"][:], np.repeat(np.arange(count) + step / 2, counts))
                assert np.array_equal(f[f"Step#{step}/id"][:], np.concatenate([np.arange(one) for one in counts]))
        view = hs.models.h5part.open(path)
        assert view.validate() == [] and view.particles().count() == sum(100 * rank + step for rank in range(count) for step in steps)
        assert hs.verify(path, values=True).problems == []

    # A process that dies in the third step: the steps before are there.
    assert mpiexec(count, "particles", tmp_path, "killed").returncode != 0
    check_steps(range(2))
    for file in (path, *sorted(path.with_name("out.h5.d").rglob("*"), reverse=True), path.with_name("out.h5.d")):
        file.rmdir() if file.is_dir() else file.unlink()
    done = mpiexec(count, "particles", tmp_path)
    assert done.returncode == 0, done.stderr
    check_steps(range(3))


@pytest.mark.parametrize("commit", ["step", "close"])
def test_processes_write_partitions_of_fields(tmp_path: pathlib.Path, commit: str) -> None:
    done = mpiexec(3, "fields", tmp_path, commit)
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "out.h5") as f:
        for step in range(2):
            wanted = np.repeat(np.arange(3) + step * 10, 4)[:, None, None] * np.ones((12, 3, 5))
            assert np.array_equal(f[f"Step#{step}/Block/phi/0"][:], wanted)
    assert hs.models.h5block.open(tmp_path / "out.h5").validate() == []


def test_processes_write_openpmd(tmp_path: pathlib.Path) -> None:
    done = mpiexec(3, "openpmd", tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.glob("*.h5")) == ["out.h5", "out_0.h5", "out_10.h5"]
    for name, numbers in (("out.h5", (0, 10)), ("out_0.h5", (0,)), ("out_10.h5", (10,))):
        with h5py.File(tmp_path / name) as f:
            assert sorted(f["data"]) == sorted(map(str, numbers)) and f.attrs["author"] == b"processes"
            for number in numbers:
                counts = [rank + number for rank in range(3)]
                e, field = f[f"data/{number}/particles/e"], f[f"data/{number}/meshes/E"]
                assert e["position/x"][:].tolist() == [100 * rank + n for rank in range(3) for n in range(counts[rank])]
                assert e["positionOffset/x"].attrs["shape"].tolist() == [sum(counts)] and field["y"].attrs["shape"].tolist() == [9, 4]
                patches = e["particlePatches"]
                assert patches["numParticles"][:].tolist() == counts and patches["numParticlesOffset"][:].tolist() == [0, counts[0], counts[0] + counts[1]]
                assert patches["offset/x"][:].tolist() == [0, 100, 200] and np.array_equal(field["x"][:], np.repeat([0, 1, 2], 3)[:, None] * np.ones((9, 4)))
        view = hs.models.openpmd.open(tmp_path / name)
        assert view.validate() == [] and view.iterations == list(numbers) and view.cells("E").count() == 36 * len(numbers)


def test_the_example_codes_write_the_same_by_four_processes_as_by_one(tmp_path: pathlib.Path) -> None:
    bin, examples = pathlib.Path(sys.executable).parent, PROGRAM.parents[3] / "examples"
    for count in (1, 4):
        for name, out, options in (("particle_code.py", "particles.h5", ["--particles", "1000"]), ("field_code.py", "fields.h5", ["--cells", "10"])):
            command = [bin / "mpiexec", "-n", str(count), sys.executable, examples / name, tmp_path / f"{count}-{out}", "--steps", "3", *options]
            run = subprocess.run(command, capture_output=True, text=True, timeout=120)
            assert run.returncode == 0 and "3 steps" in run.stdout, run.stderr
    with h5py.File(tmp_path / "1-fields.h5") as one, h5py.File(tmp_path / "4-fields.h5") as four:
        for step in range(3):
            for path in ("phi/0", "E/0", "E/1", "E/2"):
                assert np.array_equal(one[f"Step#{step}/Block/{path}"][:], four[f"Step#{step}/Block/{path}"][:]), (step, path)
    with h5py.File(tmp_path / "4-particles.h5") as f:
        assert all(f[f"Step#{step}/id"][:].tolist() == list(range(1000)) and f[f"Step#{step}/x"].shape == (1000,) for step in range(3))
    for path in tmp_path.glob("*.h5"):
        assert hs.open(path).models[0].validate() == []
