"""Unmodified programs on the connector: what they read is what they read natively, and pyarrow reads what they wrote."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest
from programs import run, script, tables

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="session")
def told(plugins: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, dict, pathlib.Path]:
    native, ours = tmp_path_factory.mktemp("native"), tmp_path_factory.mktemp("ours")
    first = run([str(HERE / "same_program.py"), str(native)])
    second = run([str(HERE / "same_program.py"), str(ours)], plugins)
    assert first.returncode == 0, first.stderr
    assert second.returncode == 0, second.stderr
    assert (native / "first.h5").is_file()
    assert (ours / "first.h5").is_dir()
    return json.loads(first.stdout), json.loads(second.stdout), ours


def test_h5py_reads_what_it_reads_natively(told: tuple[dict, dict, pathlib.Path]) -> None:
    native, ours, _ = told
    assert ours.keys() == native.keys()
    assert len(native) > 30
    for name, value in native.items():
        assert ours[name] == value, name


def test_pyarrow_reads_what_h5py_wrote(told: tuple[dict, dict, pathlib.Path]) -> None:
    found = tables(told[2] / "first.h5")
    assert found["/a/b/x"].schema.field("value").type == pa.fixed_shape_tensor(pa.float64(), [3, 4])
    tensor = found["/a/b/x"]["value"].chunk(0).to_numpy_ndarray()
    assert np.array_equal(tensor, np.arange(24.0).reshape(2, 3, 4))
    particles = found["/hard"]
    assert particles.column_names == ["i", "f", "s", "n", "v"]
    assert particles["i"].to_pylist() == [0, 7, 2, 3]
    assert particles["f"].to_pylist() == [0, 2.5, 2 / 3, 1]
    assert particles["n"].to_pylist()[1] == {"p": 1, "q": 2}
    assert particles["v"].to_pylist()[1] == [3, 4]
    assert found["/text"]["value"].to_pylist() == ["hello", "", "wörld"]
    assert found["/ragged"]["value"].to_pylist() == [[1, 2, 3], None, [9]]
    assert found["/mixed"].to_pylist() == [{"k": 5, "t": "abc"}, {"k": 0, "t": None}]
    assert np.array_equal(found["/big_endian"]["value"].chunk(0).to_numpy_ndarray(), np.arange(300, dtype="u4").reshape(30, 10))
    assert tables(told[2] / "second.h5")["/grown"]["value"].chunk(0).to_numpy_ndarray().tolist()[5] == [1, 2, 3, 4]


def test_pyarrow_copies_nothing_of_large_values(told: tuple[dict, dict, pathlib.Path]) -> None:
    before = pa.total_allocated_bytes()
    large = tables(told[2] / "first.h5")["/large"]
    values = large["value"].chunk(0).to_numpy_ndarray()
    assert values.sum() == np.arange(300_000).sum()
    assert pa.total_allocated_bytes() - before < 100_000


def test_attributes_are_columns(told: tuple[dict, dict, pathlib.Path]) -> None:
    folder = told[2] / "first.h5"
    metadata = ipc.open_file(folder / "catalog.arrow").schema.metadata
    attributes = ipc.open_file(folder / metadata[b"hyperslab.attributes"].decode()).read_all()
    assert attributes["/a/b/x@units"].to_pylist() == ["m"]
    assert attributes["/a/b/x@ends"].to_pylist() == [[1, -2, 3]]
    assert attributes["/a/b/x@names"].to_pylist() == [["ä", ""]]


def test_netcdf4_writes_what_pyarrow_reads(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = run(
        script(
            """
            import sys, netCDF4, numpy
            with netCDF4.Dataset(sys.argv[1], "w") as d:
                d.createDimension("time", None); d.createDimension("x", 3)
                v = d.createVariable("v", "f4", ("time", "x"))
                v[:] = numpy.arange(6).reshape(2, 3); v.units = "K"; v[2:4] = 7
                s = d.createGroup("g").createVariable("s", str, ("x",))
                s[:] = numpy.array(["a", "bb", "ccc"], dtype=object)
            """,
            tmp_path / "n.nc",
        ),
        plugins,
    )
    assert done.returncode == 0, done.stderr
    found = tables(tmp_path / "n.nc")
    assert found["/v"]["value"].chunk(0).to_numpy_ndarray().tolist() == [[0, 1, 2], [3, 4, 5], [7, 7, 7], [7, 7, 7]]
    assert found["/g/s"]["value"].to_pylist() == ["a", "bb", "ccc"]


def failure(plugins: pathlib.Path, text: str, *arguments: object, connector: str = "arrow") -> str:
    done = run(
        script(
            "import sys, h5py\ntry:\n    " + text + "\nexcept (OSError, ValueError, RuntimeError, KeyError) as error:\n    print('refused:', error)", *arguments
        ),
        plugins,
        connector,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused:"), done.stdout
    return done.stdout


def test_bad_places_are_refused_with_a_sentence(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious.txt").write_text("x")
    (tmp_path / "note.txt").write_text("precious")
    assert "without catalog.arrow" in failure(plugins, "h5py.File(sys.argv[1])", tmp_path / "other")
    assert "other files" in failure(plugins, "h5py.File(sys.argv[1], 'w')", tmp_path / "other")
    assert "not an HDF5 file" in failure(plugins, "h5py.File(sys.argv[1], 'w')", tmp_path / "note.txt")
    assert (tmp_path / "other" / "precious.txt").read_text() == "x"
    assert (tmp_path / "note.txt").read_text() == "precious"
    assert "cannot create" in failure(plugins, "h5py.File(sys.argv[1], 'w')", tmp_path / "no" / "where")
    native = tmp_path / "native.h5"
    assert run(script("import sys, h5py; h5py.File(sys.argv[1], 'w').create_dataset('x', data=1)", native)).returncode == 0
    assert "native HDF5 file" in failure(plugins, "h5py.File(sys.argv[1])", native)


@pytest.mark.parametrize("cut", [0, 100, -1])
def test_a_damaged_container_is_an_error_and_no_crash(plugins: pathlib.Path, tmp_path: pathlib.Path, cut: int) -> None:
    place = tmp_path / "f"
    assert run(script("import sys, h5py; h5py.File(sys.argv[1], 'w').create_dataset('x', data=list(range(9)))", place), plugins).returncode == 0
    catalog = place / "catalog.arrow"
    whole = catalog.read_bytes()
    catalog.write_bytes(whole[:cut])
    assert "catalog.arrow" in failure(plugins, "h5py.File(sys.argv[1])", place)
    catalog.write_bytes(whole)
    values = next(place.glob("x-*.arrow"))
    values.write_bytes(values.read_bytes()[: cut or 20])
    failure(plugins, "h5py.File(sys.argv[1])['x'][()]", place)


def test_readers_see_a_whole_state_while_a_program_writes(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = run(
        script(
            """
            import sys, subprocess, h5py, numpy
            read = "import sys, h5py; f = h5py.File(sys.argv[1]); print('x' in f and f['x'][:].tolist())"
            def seen():
                return subprocess.run([sys.executable, "-c", read, sys.argv[1]], capture_output=True, text=True).stdout.strip()
            with h5py.File(sys.argv[1], "w") as f:
                f["x"] = numpy.arange(3)
                print(seen())
                f.flush()
                print(seen())
                f["x"][1] = 9
                print(seen())
            print(seen())
            """,
            tmp_path / "f",
        ),
        plugins,
    )
    assert done.stdout.splitlines() == ["False", "[0, 1, 2]", "[0, 1, 2]", "[0, 9, 2]"], done.stderr


def test_two_writers_of_one_file_are_kept_apart(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = run(
        script(
            """
            import sys, subprocess, h5py
            with h5py.File(sys.argv[1], "w") as f:
                other = subprocess.run([sys.executable, "-c", "import sys, h5py; h5py.File(sys.argv[1], 'r+')", sys.argv[1]], capture_output=True, text=True)
                print(other.returncode, "open for writing in another process" in other.stderr)
            """,
            tmp_path / "f",
        ),
        plugins,
    )
    assert done.stdout.split() == ["1", "True"], done.stderr


def test_two_libraries_in_one_process_have_tables_of_their_own(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = run(
        script(
            """
            import sys, h5py, netCDF4
            for turn in range(3):
                with h5py.File(sys.argv[1] + "/h", "w") as f:
                    f["x"] = turn
                    with netCDF4.Dataset(sys.argv[1] + "/n", "w") as d:
                        d.createDimension("x", 2)
                        d.createVariable("v", "i4", ("x",))[:] = turn
                    f["y"] = turn
                with h5py.File(sys.argv[1] + "/n") as f, h5py.File(sys.argv[1] + "/h") as g:
                    assert f["v"][:].tolist() == [turn, turn] and g["y"][()] == turn
            print(h5py.version.hdf5_version != netCDF4.__hdf5libversion__)
            """,
            tmp_path,
        ),
        plugins,
    )
    assert done.stdout.strip() == "True", done.stderr


def test_an_option_that_there_is_not_is_refused(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    run(script("import sys, h5py; h5py.File(sys.argv[1], 'w')['x'] = 1", tmp_path / "f"), plugins, "arrow sync=1")
    assert tables(tmp_path / "f")["/x"]["value"].to_pylist() == [1]
    done = run(script("import sys, h5py; h5py.File(sys.argv[1], 'w')", tmp_path / "g"), plugins, "arrow speed=11")
    assert done.returncode != 0
    assert not (tmp_path / "g").is_dir()


def test_a_reader_keeps_the_state_that_it_opened(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    done = run(
        script(
            """
            import os, subprocess, sys, h5py, numpy as np
            path = sys.argv[1]
            with h5py.File(path, "w") as f:
                for name in "ab":
                    f.create_dataset(name, data=np.ones(300_000))
            change = "import sys, h5py; f = h5py.File(sys.argv[1], 'r+'); f['a'][...] = 2; f['b'][...] = 2; f.close()"
            with h5py.File(path) as f:
                print(f["a"][:].sum())
                for _ in range(2):
                    subprocess.run([sys.executable, "-c", change, path], check=True)
                # Values that were not read before the writer replaced them.
                print(f["b"][:].sum())
                many = len(os.listdir(path))
            subprocess.run([sys.executable, "-c", change, path], check=True)
            print(len(os.listdir(path)) < many)
            with h5py.File(path) as f:
                print(f["b"][:].sum())
            """,
            path,
        ),
        plugins,
    )
    assert done.stdout.split() == ["300000.0", "300000.0", "True", "600000.0"], done.stderr
