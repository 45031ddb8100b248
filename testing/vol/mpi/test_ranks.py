"""A program of parallel HDF5 with two to four real ranks: what it writes together is read by one, and by pyarrow."""

from __future__ import annotations

import itertools
import os
import pathlib
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

HERE = pathlib.Path(__file__).parent
ENVIRONMENT = pathlib.Path(sys.prefix)
HOME = pathlib.Path.home() / ".cache" / "hyperslab"
HDF5 = pathlib.Path(os.environ.get("HYPERSLAB_HDF5_PARALLEL", HOME / "hdf5-parallel")) / "installed"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HOME / "target"))
PLUGIN = pathlib.Path(os.environ.get("HYPERSLAB_VOL", TARGET / "debug" / "libhyperslab_vol.so"))
COLUMNS = 40


def built(name: str, folder: pathlib.Path) -> pathlib.Path:
    out = folder / name
    arguments = [ENVIRONMENT / "bin/mpicc", "-O1", f"-I{HDF5}/include", HERE / f"{name}.c", "-o", out, f"-L{HDF5}/lib", "-lhdf5", f"-Wl,-rpath,{HDF5}/lib"]
    subprocess.run(arguments, check=True)
    return out


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return built("ranks", tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="session")
def ragged(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return built("ragged", tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="session")
def flushed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return built("flushed", tmp_path_factory.mktemp("program"))


@pytest.fixture(params=["folder", "file"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ours(plugin: dict[str, str], form: str) -> dict[str, str]:
    """The environment of a program that writes with the connector, in one form and the other."""
    return plugin | {"HDF5_VOL_CONNECTOR": f"arrow form={form}"}


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    assert PLUGIN.exists(), f"{PLUGIN} is missing: make vol"
    folder = tmp_path_factory.mktemp("plugins")
    (folder / PLUGIN.name).symlink_to(PLUGIN)
    plain = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
    return plain | {"HDF5_PLUGIN_PATH": str(folder)}


def run(program: pathlib.Path, ranks: int, environment: dict[str, str], *arguments: object) -> None:
    command = [ENVIRONMENT / "bin/mpiexec", "-n", str(ranks), program, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def tables(path: pathlib.Path) -> dict[str, pa.Table]:
    """What pyarrow finds in a container, which is a folder or one file."""
    if path.is_file():
        archive = ipc.open_file(pa.memory_map(str(path))).get_batch(0)
        files = dict(zip(archive["name"].to_pylist(), archive["content"].to_pylist(), strict=True))
    else:
        files = {found.name: found.read_bytes() for found in path.glob("*.arrow")}
    catalog = ipc.open_file(files["catalog.arrow"]).read_all().to_pylist()
    return {row["path"]: ipc.open_file(files[row["file"]]).read_all() for row in catalog if row["file"]}


def leftovers(path: pathlib.Path) -> list[pathlib.Path]:
    """Temporary files in a container, or next to it."""
    return [*path.glob(".*"), *path.parent.glob(".*")]


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("rows", [5, 1000])
def test_ranks_write_record_batches_of_one_dataset(program: pathlib.Path, ours: dict[str, str], tmp_path: pathlib.Path, ranks: int, rows: int) -> None:
    folder = tmp_path / "f"
    run(program, ranks, ours, folder, rows)
    found = tables(folder)
    particles, ids = found["/step/particles"], np.arange(rows * COLUMNS, dtype="i4")
    expected = ids.copy()
    for rank in range(ranks):
        expected[rank * COLUMNS : (rank + 1) * COLUMNS] = -1 - rank
    assert np.array_equal(particles["id"], expected)
    assert np.array_equal(particles["e"].to_numpy()[ranks * COLUMNS :], 0.5 * ids[ranks * COLUMNS :])
    # A record batch for each rank's share of the rows, with nothing copied.
    starts = [rows * rank // ranks for rank in range(ranks + 1)]
    assert [len(chunk) for chunk in particles["id"].chunks] == [(end - start) * COLUMNS for start, end in itertools.pairwise(starts)]
    matrix = np.concatenate([chunk.to_numpy_ndarray() for chunk in found["/step/matrix"]["value"].chunks])
    wanted = np.arange(rows * COLUMNS, dtype="i4").reshape(rows, COLUMNS)
    wanted[:, -1] = 7
    wanted[0, -1] = -5
    assert np.array_equal(matrix, wanted)
    grown = np.concatenate([chunk.to_numpy_ndarray() for chunk in found["/grown"]["value"].chunks])
    assert grown[:, 0].tolist() == [turn * 1000 + rank for turn in (1, 2, 3) for rank in range(ranks)]
    assert not leftovers(folder)

    read = """
import sys, json, h5py
with h5py.File(sys.argv[1]) as f:
    print(json.dumps([f["step/particles"]["id"].ravel().tolist(), f["step/matrix"][1:3].tolist(), f["grown"].shape, int(f["step"].attrs["ranks"])]))
"""
    one = subprocess.run([sys.executable, "-c", read, folder], env=ours, capture_output=True, text=True, check=False)
    assert one.returncode == 0, one.stderr
    import json

    ids_read, part, shape, attribute = json.loads(one.stdout)
    assert ids_read == expected.tolist()
    assert part == wanted[1:3].tolist()
    assert (shape, attribute) == ([3 * ranks, COLUMNS], ranks)


def test_the_program_is_one_of_plain_parallel_hdf5(program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    plain = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
    run(program, 2, plain, tmp_path / "native.h5", 100)
    assert (tmp_path / "native.h5").is_file()


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("rows", [5, 1000])
def test_ranks_write_values_of_variable_length(ragged: pathlib.Path, ours: dict[str, str], tmp_path: pathlib.Path, ranks: int, rows: int) -> None:
    folder = tmp_path / "f"
    run(ragged, ranks, ours, folder, rows)
    found = tables(folder)
    assert found["/grown"]["value"].to_pylist() == [*[f"turn {turn} rank {rank}" for turn in range(3) for rank in range(ranks)][:-1], "written again"]
    texts = [f"text {i} of {i % ranks}" for i in range(rows)] + [None]
    assert found["/copy"]["value"].to_pylist() == texts
    assert found["/texts"]["value"].to_pylist() == ["changed alone", *texts[1:]]
    starts = [rows * rank // ranks for rank in range(ranks + 1)]
    writer = [rank for rank in range(ranks) for _ in range(starts[rank], starts[rank + 1])]
    # HDF5 tells no sequence of nothing from none.
    assert found["/sequences"]["value"].to_pylist() == [[10 * n + writer[i] for n in range(i % 5)] or None for i in range(rows)]
    records = found["/records"]
    assert records["id"].to_pylist() == list(range(rows))
    assert records["name"].to_pylist() == [f"rank {i}" if i < ranks else f"name {i}" for i in range(rows)]
    assert records["parts"].to_pylist() == [[10 * n + writer[i] for n in range(1, 1 + (i + 1) % 3)] or None for i in range(rows)]
    assert not leftovers(folder)

    read = """
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    print(f["texts"].asstr()[1], f["grown"].asstr()[-1], f["records"][4]["parts"].tolist())
"""
    one = subprocess.run([sys.executable, "-c", read, folder], env=ours, capture_output=True, text=True, check=False)
    assert one.returncode == 0, one.stderr
    assert one.stdout.strip() == f"text 1 of {1 % ranks} written again {[10 * n + writer[4] for n in range(1, 3)]}"


READ = """
import sys, json, h5py
with h5py.File(sys.argv[1], sys.argv[2]) as f:
    print(json.dumps({name: f[name][:].tolist() for name in f}))
"""


def read_by_one(path: pathlib.Path, environment: dict[str, str], mode: str = "r") -> dict[str, list[int]]:
    import json

    one = subprocess.run([sys.executable, "-c", READ, path, mode], env=environment, capture_output=True, text=True, check=False)
    assert one.returncode == 0, one.stderr
    return json.loads(one.stdout)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_one_file_has_what_ranks_have_closed(flushed: pathlib.Path, plugin: dict[str, str], tmp_path: pathlib.Path, ranks: int) -> None:
    path, environment = tmp_path / "f.h5", plugin | {"HDF5_VOL_CONNECTOR": "arrow form=file"}
    run(flushed, ranks, environment, path, "closes")
    rows = 1000 * ranks
    expected = {f"x{turn}": [turn * 1_000_000 + row for row in range(rows)] for turn in range(5)}
    assert read_by_one(path, environment) == expected and leftovers(path) == []
    run(flushed, ranks, environment, path, "adds")
    expected |= {f"x{turn}": [turn * 1_000_000 + row for row in range(rows)] for turn in range(5, 10)}
    expected["x0"] = [-1] * rows
    assert read_by_one(path, environment) == expected and leftovers(path) == []


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_killed_ranks_have_flushed_is_there_for_the_next_writer(flushed: pathlib.Path, plugin: dict[str, str], tmp_path: pathlib.Path, ranks: int) -> None:
    path, environment = tmp_path / "f.h5", plugin | {"HDF5_VOL_CONNECTOR": "arrow form=file"}
    run(flushed, ranks, environment, path, "closes")
    rows = 1000 * ranks
    old = {f"x{turn}": [turn * 1_000_000 + row for row in range(rows)] for turn in range(5)}
    before = path.read_bytes()
    command = [ENVIRONMENT / "bin/mpiexec", "-n", str(ranks), flushed, str(path), "ends"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert path.read_bytes() == before, "six flushes have not written the file"
    assert read_by_one(path, environment) == old and len(leftovers(path)) == 1
    new = old | {f"x{turn}": [turn * 1_000_000 + row for row in range(rows)] for turn in range(5, 10)} | {"x0": [-1] * rows}
    assert read_by_one(path, environment, "r+") == new
    assert read_by_one(path, environment) == new and leftovers(path) == []
