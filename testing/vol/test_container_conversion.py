"""Conversion of HDF5 files into containers and back: HDF5 reads both as it reads the original."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import compare
import dump_tools
import h5py
import hyperslab as hs
import numpy as np
import pytest
from programs import run, script

FORMS = ("folder", "file")
DATA = pathlib.Path(__file__).parents[2] / "examples/data"

#: What HDF5 sees of a file: every object with its type, shape, attributes, values and links; references as what they lead to.
SEEN = """
    import sys, h5py, numpy as np

    def shown(f, x):
        if isinstance(x, (h5py.Reference, h5py.RegionReference)):
            if not x:
                return None
            # HDF5 may name an object with two hard links by either.
            return f[x].name.replace("/hard", "/compounds/particles"), f[x][x].tolist() if isinstance(x, h5py.RegionReference) else None
        if isinstance(x, h5py.Empty):
            return "empty", str(x.dtype)
        if isinstance(x, np.void) and x.dtype.names:
            return [shown(f, x[name]) for name in x.dtype.names]
        if isinstance(x, np.ndarray) and (x.dtype.hasobject or x.dtype.names):
            return [shown(f, one) for one in x.reshape(-1)]
        return x.tobytes().hex() if hasattr(x, "tobytes") else repr(x)

    def links(f, group):
        for name in group:
            link = group.get(name, getlink=True)
            print(group.name, name, type(link).__name__, getattr(link, "path", None), getattr(link, "filename", None))

    with h5py.File(sys.argv[1]) as f:
        def show(name, x):
            print(name, x.dtype if hasattr(x, "dtype") else "", getattr(x, "shape", None), getattr(x, "maxshape", None), getattr(x, "chunks", None))
            if isinstance(x, h5py.Group):
                links(f, x)
            if isinstance(x, h5py.Dataset):
                print(shown(f, x[()]), x.compression, x.shuffle)
                for i, dimension in enumerate(x.dims):
                    print(i, dimension.label, [scale.name for scale in dimension.values()])
            for key in sorted(x.attrs) if name != "list" else x.attrs:
                if key not in ("DIMENSION_LIST", "REFERENCE_LIST"):
                    print(key, shown(f, x.attrs[key]))
        show("/", f)
        f.visititems(show)
        for name in f["ordered"]:
            print("in order", name)
"""


@pytest.fixture(scope="module", params=FORMS)
def converted(request: pytest.FixtureRequest, native: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("converted") / "out.h5"
    made = hs.convert(native, path, request.param)
    assert made.form == request.param
    assert path.is_dir() == (request.param == "folder")
    return path


def seen(path: pathlib.Path, plugins: pathlib.Path | None = None) -> list[str]:
    done = run(script(SEEN, path), plugins, "arrow")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_hdf5_reads_a_container_like_the_original(converted: pathlib.Path, native: pathlib.Path, plugins: pathlib.Path) -> None:
    expected = seen(native)
    assert len(expected) > 300
    assert seen(converted, plugins) == expected


def test_a_container_has_the_values_of_the_original(converted: pathlib.Path, native: pathlib.Path) -> None:
    results = list(compare.compare(str(native), ours=str(converted)))
    assert [result for result in results if result.outcome != "equal"] == []
    assert len(results) > 100
    assert hs.diff(native, converted).equal


@pytest.mark.parametrize("form", FORMS)
def test_an_hdf5_file_again(form: str, native: pathlib.Path, tmp_path: pathlib.Path) -> None:
    hs.convert(native, tmp_path / "container", form)
    made = hs.convert(tmp_path / "container", tmp_path / "again.h5")
    assert made.form == "hdf5"
    assert made.bytes == (tmp_path / "again.h5").stat().st_size
    assert seen(tmp_path / "again.h5") == seen(native)
    assert hs.diff(native, tmp_path / "again.h5").equal


def dimensions_in_another_order(path: pathlib.Path) -> pathlib.Path:
    """Scales that were not attached in the order of their names, and names that only look like names of other folders."""
    with h5py.File(path, "w") as f:
        for name in ("x", "y"):
            f[name] = np.arange(4.0)
            f[name].make_scale(name)
        for name in ("c", "a", "g/b", ".."):
            f[name] = np.arange(16).reshape(4, 4)
            f[name].dims[1].attach_scale(f["x"])
        f["g/b"].dims[1].attach_scale(f["y"])
        f["a"].dims[0].attach_scale(f["y"])
        f["c"].dims[0].attach_scale(f["y"])
        f["g/../deep"] = h5py.SoftLink("/../none")
    return path


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("file", [*sorted(one.name for one in DATA.iterdir() if one.suffix in (".nc", ".h5ad")), "dimensions"])
def test_h5diff_finds_no_difference(file: str, form: str, tmp_path: pathlib.Path) -> None:
    program = dump_tools.program("h5diff")
    if program is None:
        pytest.skip("there is no h5diff: `make dump-tools` unpacks it")
    command, environment = program
    original = dimensions_in_another_order(tmp_path / "original.h5") if file == "dimensions" else DATA / file
    if not h5py.is_hdf5(original):
        pytest.skip("not an HDF5 file")
    hs.convert(original, tmp_path / "container", form)
    hs.convert(tmp_path / "container", tmp_path / "again.h5")
    hs.repack(original, tmp_path / "repacked.h5")
    for copy in ("again.h5", "repacked.h5"):
        done = subprocess.run([*command, "-r", "-c", original, tmp_path / copy], capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert [line for line in done.stdout.splitlines() if line.endswith("differences found") and not line.startswith("0 ")] == []


@pytest.mark.parametrize("form", FORMS)
def test_references_next_to_values_of_variable_length(form: str, plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """HDF5 refuses older references there in a container: they become references of HDF5 1.12."""
    with h5py.File(tmp_path / "native.h5", "w") as f:
        f["a"], f["b"] = np.arange(12.0).reshape(3, 4), [1, 2, 3]
        lists = f.create_dataset("lists", (3,), dtype=h5py.vlen_dtype(h5py.ref_dtype))
        lists[0] = np.array([f["a"].ref, f["b"].ref], dtype=h5py.ref_dtype)
        lists[2] = np.array([f["b"].ref], dtype=h5py.ref_dtype)
        record = f.create_dataset(
            "records", (2,), dtype=np.dtype([("t", h5py.string_dtype()), ("r", h5py.ref_dtype), ("s", h5py.regionref_dtype), ("x", "<i4")])
        )
        record[0] = ("first", f["a"].ref, f["a"].regionref[1:, ::2], 7)
    made = hs.convert(tmp_path / "native.h5", tmp_path / "out.h5", form)
    assert made.form == form
    with hs.open(tmp_path / "out.h5") as f:
        assert [[f[one].name for one in row] for row in f["lists"][()]] == [["/a", "/b"], [], ["/b"]]
        first, second = f["records"][()]
        assert (f[first["r"]].name, f[first["s"]][first["s"]].tolist(), first["x"]) == ("/a", [[4, 6], [8, 10]], 7)
        assert not second["r"]
        assert not second["s"]
    # h5py has no type for them, but HDF5 reads them and follows them.
    follow = """
        import sys, h5py
        with h5py.File(sys.argv[1]) as f:
            for name in ("lists", "records"):
                datatype = f[name].id.get_type()
                part = datatype.get_super() if name == "lists" else datatype.get_member_type(1)
                print(name, part.get_class() == h5py.h5t.REFERENCE, part.get_size())
                print(f[name].id.get_space().get_simple_extent_dims())
    """
    done = run(script(follow, tmp_path / "out.h5"), plugins, "arrow")
    assert done.stdout.split("\n")[:4] == ["lists True 64", "(3,)", "records True 64", "(2,)"], done.stderr
    hs.convert(tmp_path / "out.h5", tmp_path / "again.h5")
    with hs.open(tmp_path / "again.h5") as f:
        assert [[f[one].name for one in row] for row in f["lists"][()]] == [["/a", "/b"], [], ["/b"]]
        first, second = f["records"][()]
        assert (f[first["r"]].name, f[first["s"]][first["s"]].tolist(), first["x"]) == ("/a", [[4, 6], [8, 10]], 7)
        assert not second["r"] and not second["s"]


def test_nothing_that_exists_is_replaced(native: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("mine")
    with pytest.raises(hs.ConflictError, match="of this name already"):
        hs.convert(native, tmp_path / "there")
    assert (tmp_path / "there" / "file").read_text() == "mine"
    with pytest.raises(hs.InvalidInputError, match="repack"):
        hs.convert(native, tmp_path / "x.h5", "hdf5")
    with pytest.raises(hs.InvalidInputError, match="unknown form 'zip'; expected 'hdf5', 'folder' or 'file'"):
        hs.convert(native, tmp_path / "x.h5", "zip")
    assert not (tmp_path / "x.h5").exists()


@pytest.mark.parametrize("form", FORMS)
def test_what_cannot_be_copied_leaves_nothing(form: str, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "native.h5", "w") as f:
        f["a"] = [1.0, 2.0]
        lists = f.create_dataset("regions", (1,), dtype=h5py.vlen_dtype(h5py.regionref_dtype))
        lists[0] = np.array([f["a"].regionref[:1]], dtype=h5py.regionref_dtype)
    with pytest.raises(hs.UnsupportedError, match="references to regions.*object /regions"):
        hs.convert(tmp_path / "native.h5", tmp_path / "out.h5", form)
    assert [path.name for path in tmp_path.iterdir()] == ["native.h5"]


@pytest.mark.parametrize("form", FORMS)
def test_memory_does_not_grow_with_the_file(form: str, tmp_path: pathlib.Path) -> None:
    rows = 48_000
    with hs.create(tmp_path / "large.h5") as f:
        f.create_dataset("x", shape=(rows, 500), dtype="f8", chunks=(500, 500))
        for first in range(0, rows, 4000):
            f["x"][first : first + 4000] = np.full((4000, 500), float(first))
    program = """
        import resource, sys, hyperslab as hs
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        hs.convert(sys.argv[1], sys.argv[2], sys.argv[3], verify=False)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    """
    done = run(script(program, tmp_path / "large.h5", tmp_path / "out.h5", form))
    assert done.returncode == 0, done.stderr
    # The values have 183 MiB; blocks of 32 MiB are copied.
    assert int(done.stdout) < 110


def test_xarray_reads_a_converted_file(tmp_path: pathlib.Path) -> None:
    xarray = pytest.importorskip("xarray")
    source = pathlib.Path(__file__).parents[2] / "examples/data/atlantic_profiles.nc"
    hs.convert(source, tmp_path / "folder.nc")
    with xarray.open_dataset(tmp_path / "folder.nc", engine="hyperslab") as ours, xarray.open_dataset(source, engine="hyperslab") as theirs:
        xarray.testing.assert_identical(ours.load(), theirs.load())


def test_the_command(native: pathlib.Path, tmp_path: pathlib.Path) -> None:
    command = [sys.executable, "-m", "hyperslab", "convert", str(native), str(tmp_path / "out.arrow")]
    done = subprocess.run([*command, "--form", "file", "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["form"], said["bytes"]) == ("file", (tmp_path / "out.arrow").stat().st_size)
    assert said["changes"] and {change["text"] for change in said["changes"]} == {"empty texts are null in the container"}
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "of this name already" in again.stderr
    assert "Traceback" not in again.stderr
