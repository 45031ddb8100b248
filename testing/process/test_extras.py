"""Extras: without their packages hyperslab reads and writes, and each feature that needs one says how to install it."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
import textwrap

import h5py
import hyperslab as hs
import numpy as np
import pytest

BLOCK = """
import sys

class Blocked:
    names = sys.argv[1].split(",")

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in Blocked.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked)
"""
PACKAGES = "duckdb,matplotlib,typer,rich,pandas,polars,pyspark,simpy,dask"


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(10.0)
    return tmp_path / "a.h5"


def without(packages: str, script: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Runs a script in a process that cannot import the packages."""
    return subprocess.run([sys.executable, "-c", BLOCK + textwrap.dedent(script), packages, *map(str, words)], capture_output=True, text=True, timeout=60)


def test_reading_and_writing_need_no_extra(path: pathlib.Path) -> None:
    done = without(
        PACKAGES,
        """
        import hyperslab as hs, numpy as np
        f = hs.open(sys.argv[2])
        assert f["x"][3:5].tolist() == [3, 4] and "x" in str(f)
        assert f.table("/x", "x > 6").to_arrow().num_rows == 3
        assert sum(batch.num_rows for batch in f.table("/x").batches()) == 10
        assert hs.query(f, "/", "x > 6").values("x").tolist() == [7, 8, 9]
        hs.index(sys.argv[2], "/x")
        with hs.create(sys.argv[3]) as out:
            out["y"] = np.arange(3)
        hs.write_table(f.table("/x"), sys.argv[3] + ".2")
        assert not any(sys.modules.get(name) for name in sys.argv[1].split(","))
    """,
        path,
        path.parent / "b.h5",
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_hyperslab_imports_no_package_of_an_extra_but_duckdb() -> None:
    script = "import sys, hyperslab; print([name for name in sys.argv[1].split(',') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script, "matplotlib,typer,rich,polars,pyspark,simpy,dask"], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("package", "extra", "use"),
    [
        ("duckdb", "sql", "hs.sql('select 1 from x', f)"),
        ("matplotlib", "plot", "f['x'].plot()"),
        ("matplotlib", "plot", "hs.query(f, '/', 'x > 1').plot()"),
        ("pandas", "pandas", "f.table('/x').to_pandas()"),
        ("pandas", "pandas", "f.table('/x').batches().read_pandas()"),
        ("polars", "polars", "f.table('/x').to_polars()"),
        ("polars", "polars", "hs.scan_polars(f, '/x')"),
        ("duckdb", "sql", "hs.attach(None, f, 'a')"),
        ("dask", "dask", "f['x'].to_dask()"),
        ("dask", "dask", "f.table('/x').to_dask()"),
        ("pandas", "dask", "f.table('/x').to_dask()"),
        ("pyspark", "spark", "hs.spark.session()"),
        ("pyspark", "spark", "hs.spark.configure(None)"),
        ("simpy", "simulate", "from hyperslab.simulation import make_scenario, simulate; simulate(make_scenario('metadata'))"),
    ],
)
def test_a_feature_without_its_extra_names_it(path: pathlib.Path, package: str, extra: str, use: str) -> None:
    done = without(
        package,
        f"""
        import hyperslab as hs
        f = hs.open(sys.argv[2])
        try:
            {use}
        except hs.MissingExtraError as error:
            assert isinstance(error, ImportError) and error.kind == "Unsupported" and error.name == {package!r}
            print(error)
    """,
        path,
    )
    assert done.returncode == 0, done.stderr
    assert f"needs the package {package}, which is not installed: pip install 'hyperslab[{extra}]'\n" in done.stdout


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_the_command_without_its_extra_is_one_line(package: str) -> None:
    done = without(package, "from hyperslab.cli import main\nmain()")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"hyperslab: the command hyperslab needs the package {package}, which is not installed: pip install 'hyperslab[cli]'\n"


def test_a_command_without_the_extra_of_what_it_does_is_one_line(path: pathlib.Path) -> None:
    done = without("duckdb", "file = sys.argv[2]\nsys.argv = ['hyperslab', 'sql', file, 'select 1 from x']\nfrom hyperslab.cli import main\nmain()", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "hyperslab: SQL needs the package duckdb, which is not installed: pip install 'hyperslab[sql]'\n"


def test_a_package_that_is_there_but_broken_is_not_called_missing(tmp_path: pathlib.Path) -> None:
    (tmp_path / "duckdb.py").write_text("import something_that_is_not_there\n")
    done = subprocess.run([sys.executable, "-c", "import hyperslab as hs; hs.sql('select 1', 'a.h5')"], cwd=tmp_path, capture_output=True, text=True)
    assert "No module named 'something_that_is_not_there'" in done.stderr and "hyperslab[" not in done.stderr


def test_the_error_travels_by_pickle() -> None:
    error = pickle.loads(pickle.dumps(hs.MissingExtraError("SQL needs duckdb", name="duckdb")))
    assert (type(error), str(error), error.name, error.message) == (hs.MissingExtraError, "SQL needs duckdb", "duckdb", "SQL needs duckdb")
