"""A container that is one file: written by programs, read by them and by pyarrow, whole at every moment."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest
from programs import files_of_one_file, run, script, tables, tables_of_one_file

ONE_FILE = "arrow form=file"

WRITE = """
    import sys, h5py, numpy as np
    with h5py.File(sys.argv[1], "w") as f:
        f.create_dataset("a/large", data=np.arange(300_000.0).reshape(500, 600), chunks=(100, 100), maxshape=(None, 600))
        f["a/small"] = [1, 2, 3]
        f["text"] = ["hello", "", "wörld"]
        f["a"].attrs["units"] = "m"
        c = f.create_dataset("particles", (4,), dtype=[("i", "i4"), ("f", ">f8")])
        c["i"] = np.arange(4)
"""


@pytest.fixture
def written(plugins: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "out.h5"
    done = run(script(WRITE, path), plugins, ONE_FILE)
    assert done.returncode == 0, done.stderr
    assert path.is_file()
    assert list(tmp_path.iterdir()) == [path], "what was written aside is gone"
    return path


def test_pyarrow_reads_one_file_and_copies_nothing(written: pathlib.Path) -> None:
    before = pa.total_allocated_bytes()
    found = tables_of_one_file(written)
    assert np.array_equal(found["/a/large"]["value"].chunk(0).to_numpy_ndarray(), np.arange(300_000.0).reshape(500, 600))
    assert found["/particles"]["i"].to_pylist() == [0, 1, 2, 3]
    assert found["/text"]["value"].to_pylist() == ["hello", "", "wörld"]
    assert pa.total_allocated_bytes() - before < 100_000
    large = next(file for name, file in files_of_one_file(written).items() if name.startswith("large"))
    values = ipc.open_file(large).read_all()["value"].chunk(0).storage.buffers()[-1]
    assert large.address <= values.address < values.address + values.size <= large.address + large.size, "the values lie in the map"
    with pa.OSFile(str(written)) as file:
        file.seek(8)
        assert ipc.open_stream(file).read_all().num_rows == ipc.open_file(str(written)).read_all().num_rows


def test_every_file_in_it_begins_where_arrow_wants_it(written: pathlib.Path) -> None:
    ipc.open_file(pa.memory_map(str(written))).read_all().validate(full=True)
    files = files_of_one_file(written)
    assert len(files) == 7
    assert all(file.address % 64 == 0 for file in files.values())


def test_a_program_reads_and_changes_one_file(plugins: pathlib.Path, written: pathlib.Path) -> None:
    # The form is what is there, not what the option says.
    done = run(
        script(
            """
            import sys, h5py, numpy as np
            with h5py.File(sys.argv[1], "r+") as f:
                assert f["a/large"][499, 599] == 299_999 and f["text"].asstr()[2] == "wörld" and f["a"].attrs["units"] == "m"
                f["a/large"].resize((501, 600)); f["a/large"][500] = 7
                del f["a/small"]; f["late"] = np.arange(4); f["particles"]["f"] = 1.5
                f.flush()
                f["later"] = 5
            with h5py.File(sys.argv[1]) as f:
                print(f["a/large"][499:, 599].tolist(), sorted(f), f["particles"]["f"].tolist(), f["later"][()])
            """,
            written,
        ),
        plugins,
        "arrow",
    )
    assert done.stdout.strip() == "[299999.0, 7.0] ['a', 'late', 'later', 'particles', 'text'] [1.5, 1.5, 1.5, 1.5] 5", done.stderr
    assert written.is_file()
    assert set(tables_of_one_file(written)) == {"/a/large", "/text", "/particles", "/late", "/later"}
    assert list(written.parent.iterdir()) == [written]


def test_who_has_it_open_keeps_what_was_opened(plugins: pathlib.Path, written: pathlib.Path) -> None:
    done = run(
        script(
            """
            import sys, subprocess, h5py
            change = "import sys, h5py; f = h5py.File(sys.argv[1], 'r+'); f['a/small'][:] = 9; f['text'][0] = 'other'; f.close()"
            with h5py.File(sys.argv[1]) as f:
                subprocess.run([sys.executable, "-c", change, sys.argv[1]], check=True)
                print(f["a/small"][:].tolist(), f["text"].asstr()[0])
            with h5py.File(sys.argv[1]) as f:
                print(f["a/small"][:].tolist(), f["text"].asstr()[0])
            """,
            written,
        ),
        plugins,
    )
    assert done.stdout.splitlines() == ["[1, 2, 3] hello", "[9, 9, 9] other"], done.stderr


def test_two_writers_are_kept_apart_even_when_the_first_has_published(plugins: pathlib.Path, written: pathlib.Path) -> None:
    done = run(
        script(
            """
            import sys, subprocess, h5py
            with h5py.File(sys.argv[1], "r+") as f:
                for turn in range(2):
                    other = subprocess.run([sys.executable, "-c", "import sys, h5py; h5py.File(sys.argv[1], 'r+')", sys.argv[1]], capture_output=True, text=True)
                    print(other.returncode, "open for writing in another process" in other.stderr)
                    f["x" + str(turn)] = 1
                    f.flush()
            """,
            written,
        ),
        plugins,
    )
    assert done.stdout.split() == ["1", "True", "1", "True"], done.stderr


@pytest.mark.sampled(4)
@pytest.mark.parametrize("moment", range(6))
def test_a_writer_killed_under_way_leaves_a_whole_file(plugins: pathlib.Path, written: pathlib.Path, moment: int) -> None:
    """Published states are numbered; whatever is there afterwards is one of them, whole, and can be written again."""
    environment = os.environ | {"HDF5_PLUGIN_PATH": str(plugins), "HDF5_VOL_CONNECTOR": ONE_FILE}
    program = """
        import sys, h5py, numpy as np
        with h5py.File(sys.argv[1], "r+") as f:
            for turn in range(1, 100_000):
                f["a/large"][...] = turn
                f["a"].attrs["turn"] = turn
                f.flush()
                print(turn, flush=True)
    """
    with subprocess.Popen([sys.executable, *script(program, written)], env=environment, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        first = int(writer.stdout.readline())
        time.sleep(0.003 + 0.007 * moment)
        writer.send_signal(signal.SIGKILL)
        seen = [first, *(int(line) for line in writer.stdout)]
    rows = tables_of_one_file(written)
    values = set(rows["/a/large"]["value"].chunk(0).to_numpy_ndarray().ravel().tolist())
    assert len(values) == 1
    assert int(values.pop()) in (seen[-1], seen[-1] + 1)
    done = run(script("import sys, h5py; f = h5py.File(sys.argv[1], 'r+'); f['again'] = int(f['a'].attrs['turn']); f.close()", written), plugins)
    assert done.returncode == 0, done.stderr
    assert list(written.parent.iterdir()) == [written], "the next writer removes what the killed one left"


def refused(plugins: pathlib.Path, text: str, *arguments: object) -> str:
    done = run(
        script(
            "import sys, h5py\ntry:\n    " + text + "\nexcept (OSError, ValueError, RuntimeError, KeyError) as error:\n    print('refused:', error)", *arguments
        ),
        plugins,
        ONE_FILE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused:"), done.stdout
    return done.stdout


@pytest.mark.parametrize("cut", [0, 100, 2100, 5000, -1])
def test_a_damaged_file_is_an_error_and_no_crash(plugins: pathlib.Path, written: pathlib.Path, cut: int) -> None:
    written.write_bytes(written.read_bytes()[:cut])
    refused(plugins, "h5py.File(sys.argv[1])", written)
    refused(plugins, "h5py.File(sys.argv[1], 'r+')", written)
    assert list(written.parent.iterdir()) == [written]


def test_bytes_that_are_changed_are_an_error_or_other_values_and_no_crash(plugins: pathlib.Path, written: pathlib.Path) -> None:
    whole = bytearray(written.read_bytes())
    places = [*range(8, 64), *range(3900, 4200, 7), *range(len(whole) - 900, len(whole), 29)]
    done = run(
        script(
            """
            import sys, h5py
            whole = bytearray(open(sys.argv[1], "rb").read())
            kinds = set()
            for place in eval(sys.argv[2]):
                damaged = whole.copy(); damaged[place] ^= 0xff
                open(sys.argv[1], "wb").write(damaged)
                try:
                    with h5py.File(sys.argv[1]) as f:
                        f["a/large"][3], f["text"][:], f["a"].attrs["units"]
                    kinds.add("read")
                except (OSError, ValueError, RuntimeError, KeyError):
                    kinds.add("refused")
            print(sorted(kinds))
            """,
            written,
            places,
        ),
        plugins,
    )
    assert done.stdout.strip() == "['read', 'refused']", done.stderr


def test_one_form_takes_the_place_of_the_other_and_other_things_stay(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "f"
    for connector in ("arrow form=folder", ONE_FILE, "arrow form=folder", ONE_FILE, ONE_FILE):
        done = run(script("import sys, h5py; f = h5py.File(sys.argv[1], 'w'); f['x'] = [1, 2]; f.close()", path), plugins, connector)
        assert done.returncode == 0, done.stderr
        assert path.is_file() == (connector == ONE_FILE)
        found = tables_of_one_file(path) if path.is_file() else tables(path)
        assert found["/x"]["value"].to_pylist() == [1, 2]
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "note").write_text("precious")
    (tmp_path / "plain.arrow").write_bytes(b"ARROW1\0\0precious")
    for name in ("note", "plain.arrow"):
        assert "not an HDF5 file" in refused(plugins, "h5py.File(sys.argv[1], 'w')", tmp_path / name)
        assert b"precious" in (tmp_path / name).read_bytes()
    native = run(script("import sys, h5py; h5py.File(sys.argv[1])", path))
    assert native.returncode != 0
    assert "superblock" in native.stderr, "HDF5 without the connector says that it cannot read it"


def test_what_was_never_written_takes_no_room(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "sparse"
    done = run(
        script(
            """
            import sys, h5py
            with h5py.File(sys.argv[1], "w") as f:
                f.create_dataset("x", (2**31, 15), "f4")[2**30] = 3
            with h5py.File(sys.argv[1]) as f:
                print(f["x"][2**30, 0], f["x"][2**30 + 1, 0])
            """,
            path,
        ),
        plugins,
        ONE_FILE,
    )
    assert done.stdout.strip() == "3.0 0.0", done.stderr
    assert path.stat().st_blocks * 512 < 10_000_000 < path.stat().st_size


def test_more_datasets_than_files_may_be_open(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    program = script(
        """
        import resource, sys, h5py
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        with h5py.File(sys.argv[1], "w") as f:
            for i in range(200):
                f[f"d{i}"] = [i, i + 1]
        with h5py.File(sys.argv[1]) as f:
            print(len(f), sum(int(f[f"d{i}"][0]) for i in range(200)))
        """,
        tmp_path / "out.h5",
    )
    for connector in (ONE_FILE, "arrow"):
        done = run(program, plugins, connector)
        assert done.stdout.strip() == f"200 {sum(range(200))}", done.stderr
