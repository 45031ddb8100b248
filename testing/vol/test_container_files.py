"""Containers that a program wrote through the VOL connector, a folder and one file, compared with the native file of the same program."""

from __future__ import annotations

import pathlib
import pickle
import shutil
import subprocess
import sys

import compare
import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
from programs import CONTAINER_PROGRAM, run, script

FORMS = {"folder": "arrow", "file": "arrow form=file"}


@pytest.fixture(scope="module", params=FORMS)
def container(request: pytest.FixtureRequest, plugins: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp(request.param) / "out.h5"
    done = run([str(CONTAINER_PROGRAM), str(path)], plugins, FORMS[request.param])
    assert done.returncode == 0, done.stderr
    assert path.is_dir() == (request.param == "folder")
    return path


def test_all_objects_are_those_of_the_native_file(container: pathlib.Path, native: pathlib.Path) -> None:
    results = list(compare.compare(str(native), ours=str(container)))
    assert [result for result in results if result.outcome != "equal"] == []
    assert len(results) > 100


def test_links_and_types_are_those_of_the_native_file(container: pathlib.Path, native: pathlib.Path) -> None:
    with hs.open(container) as ours, h5py.File(native) as theirs:
        for name in theirs:
            link, expected = ours.get(name, getlink=True), theirs.get(name, getlink=True)
            assert type(link).__name__ == type(expected).__name__, name
            assert getattr(link, "path", None) == getattr(expected, "path", None), name
            assert getattr(link, "filename", None) == getattr(expected, "filename", None), name
        assert ours["hard"] == ours["compounds/particles"]
        assert list(ours["ordered"]) == list(theirs["ordered"]) == ["z", "a", "m"]
        assert list(ours["ordered"].attrs) == ["z", "a", "m"]
        assert ours["committed"].dtype == theirs["committed"].dtype

        def of_dataset(name: str, dataset: object) -> None:
            if isinstance(dataset, h5py.Dataset):
                mine = ours[name]
                assert mine.dtype == dataset.dtype, name
                assert dataset.shape is None or mine.maxshape == dataset.maxshape, name
                assert (mine.chunks, mine.compression, mine.shuffle) == (dataset.chunks, dataset.compression, dataset.shuffle), name
                if not dataset.dtype.hasobject:
                    assert np.asarray(mine.fillvalue).tobytes() == np.asarray(dataset.fillvalue).tobytes(), name

        theirs.visititems(of_dataset)


def test_references_lead_to_the_same_objects(container: pathlib.Path, native: pathlib.Path) -> None:
    with hs.open(container) as ours, h5py.File(native) as theirs:
        for mine, its in zip(ours["references/objects"][()], theirs["references/objects"][()], strict=True):
            assert bool(mine) == bool(its)
            if its:
                assert ours[mine].name == theirs[its].name
        for mine, its in zip(ours["references/regions"][()], theirs["references/regions"][()], strict=True):
            assert ours[mine].name == theirs[its].name
            assert np.array_equal(ours[mine][mine], theirs[its][its])
        assert ours[ours["references/in_records"][0]["r"]] == ours["compounds/particles"]
        group = ours["references"]
        assert ours[group.attrs["object"]].name == "/numbers/large"
        assert np.array_equal(ours[group.attrs["region"]][group.attrs["region"]].reshape(-1), theirs["numbers/large"][0:2, 3])


def test_selections_of_every_kind(container: pathlib.Path, native: pathlib.Path) -> None:
    keys = [np.s_[...], np.s_[3], np.s_[::7], np.s_[-5:], np.s_[2:40:3], np.s_[0:0]]
    with hs.open(container) as ours, h5py.File(native) as theirs:
        for name in ("numbers/large", "compounds/particles", "compounds/mixed", "ragged/integers", "texts/variable"):
            for key in keys:
                if isinstance(key, int) and key >= theirs[name].shape[0]:
                    continue
                assert compare.same(ours[name][key], theirs[name][key]), (name, key)
        assert np.array_equal(ours["numbers/large"][3:500:11, 7:999:13], theirs["numbers/large"][3:500:11, 7:999:13])
        assert np.array_equal(ours["numbers/large"][[1, 5, 600], 4], theirs["numbers/large"][[1, 5, 600], 4])
        assert np.array_equal(ours["compounds/particles_2d"][1:4, ::2]["m"], theirs["compounds/particles_2d"][1:4, ::2]["m"])


def test_tables_and_sql(container: pathlib.Path, native: pathlib.Path) -> None:
    with hs.open(container) as ours, hs.open(native) as theirs:
        for name in ("compounds/particles", "spaces/grown", "numbers/large", "texts/variable", "scales/field"):
            assert ours.table(name).to_arrow().equals(theirs.table(name).to_arrow()), name
        few = "i >= 10 and i < 20"
        assert ours.table("compounds/particles", where=few).to_arrow().equals(theirs.table("compounds/particles", where=few).to_arrow())
        sql = 'select count(*), sum(f) from f."compounds/particles" where i > 7'
        assert hs.sql(sql, f=ours).fetchall() == hs.sql(sql, f=theirs).fetchall()


def test_splits_are_read_by_other_sessions(container: pathlib.Path, native: pathlib.Path) -> None:
    with hs.open(container) as ours, hs.open(native) as theirs:
        splits = pickle.loads(pickle.dumps(ours.table("numbers/large").splits(3)))
        assert len(splits) == 3
        assert pa.concat_tables([split.read() for split in splits]).equals(theirs.table("numbers/large").to_arrow())


MANY = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    for i in range(300):
        group = f.require_group(f"g{i % 7}")
        group[f"numbers{i}"] = np.arange(10.0) + i
        group.create_dataset(f"texts{i}", data=[f"ä{i}", ""], dtype=h5py.string_dtype())
        group[f"records{i}"] = np.array([(k, i) for k in range(i % 4)], [("k", "<i4"), ("i", ">f8")])
        group[f"table{i}"] = (np.arange(6) + i).reshape(2, 3)
        group[f"number{i}"] = i
    f["large"] = np.arange(100_000)
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("form", FORMS)
def test_many_small_datasets_are_in_a_pack(form: str, plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    ours, native = tmp_path / "ours.h5", tmp_path / "native.h5"
    assert run(script(MANY, native)).returncode == 0
    done = run(script(MANY, ours), plugins, FORMS[form])
    assert done.returncode == 0, done.stderr
    if form == "folder":
        assert len(list(ours.iterdir())) == 5, "a catalog of three files, a pack, and the file of the large dataset"
    results = list(compare.compare(str(native), ours=str(ours)))
    assert [result for result in results if result.outcome != "equal"] == []
    assert len(results) > 1500
    with hs.open(ours) as f:
        assert f.table("g3/records3").to_arrow().to_pydict() == {"k": [0, 1, 2], "i": [3.0, 3.0, 3.0]}
        # What was opened stays, also if a program replaces all of it.
        change = (
            MANY.replace('"w"', '"r+"').replace("with h5py", "import os\nwith h5py").replace("    for i", "    for name in list(f): del f[name]\n    for i", 1)
        )
        done = run(script(change.replace("arange(10.0)", "arange(20.0)"), ours), plugins)
        assert done.returncode == 0, done.stderr
        assert all(f[f"g{i % 7}/numbers{i}"].shape == (10,) and f[f"g{i % 7}/numbers{i}"][9] == i + 9 for i in range(300))
    with hs.open(ours) as f:
        assert all(f[f"g{i % 7}/numbers{i}"].shape == (20,) for i in range(300))
    hs.repack(ours, tmp_path / "repacked.h5")
    with h5py.File(tmp_path / "repacked.h5") as f:
        assert f["g4/texts4"].asstr()[:].tolist() == ["ä4", ""] and f["g5/number299"][()] == 299
    for path in ours.glob("datasets.*.arrow"):
        path.write_bytes(path.read_bytes()[:1000])
        with pytest.raises(hs.CorruptError, match="datasets"):
            hs.open(ours)


def test_a_value_index_answers_the_same(container: pathlib.Path, native: pathlib.Path, tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "out.h5"
    shutil.copytree(container, copy) if container.is_dir() else shutil.copyfile(container, copy)
    with hs.open(copy) as f:
        hs.index(f, ["/numbers/large"])
    with hs.open(copy) as ours, hs.open(native) as theirs:
        where = "large > 123456.5 and large < 123999"
        found = ours.table("numbers/large", where=where).to_arrow()
        assert found.equals(theirs.table("numbers/large", where=where).to_arrow())
        assert found.num_rows == 542


def test_a_glob_finds_containers(container: pathlib.Path) -> None:
    found = hs.open(str(container.parent / "*.h5"))
    assert [pathlib.Path(file.filename) for file in found.files] == [container]


@pytest.mark.parametrize("form", FORMS)
def test_a_container_becomes_the_hdf5_file_that_it_would_have_been(form: str, plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """By `repack`, with the chunks and filters that the program asked for."""
    program = f"""
        import sys
        sys.path.insert(0, {str(CONTAINER_PROGRAM.parent)!r})
        import container_program, h5py
        with h5py.File(sys.argv[1], "w") as f:
            for name in ("numbers", "texts", "compounds", "ragged", "scales"):
                getattr(container_program, "_" + name)(f.create_group(name))
            container_program._links(f)
    """
    assert run(script(program, tmp_path / "native.h5")).returncode == 0
    assert run(script(program, tmp_path / "out.h5"), plugins, FORMS[form]).returncode == 0
    hs.repack(tmp_path / "out.h5", tmp_path / "again.h5")
    with h5py.File(tmp_path / "native.h5") as one, h5py.File(tmp_path / "again.h5") as other:

        def same(name: str, node: h5py.Group | h5py.Dataset | h5py.Datatype) -> None:
            assert sorted(other[name].attrs) == sorted(node.attrs), name
            if isinstance(node, h5py.Dataset):
                found = other[name]
                facts = [(d.dtype, d.shape, d.chunks, d.compression, d.shuffle, d.maxshape) for d in (found, node)]
                assert facts[0] == facts[1], name
                assert compare.same(found[()], node[()]), name

        one.visititems(same)
        assert other["scales/field"].dims[0][0] == other["scales/t"]
        assert other.get("external", getlink=True).filename == "other.h5"
        assert other.get("dangling", getlink=True).path == "/nowhere"


def test_a_container_that_is_rewritten_is_never_mixed(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    write = """
        import sys, h5py, numpy as np
        with h5py.File(sys.argv[1], sys.argv[2]) as f:
            for name in ("a", "b"):
                if name in f:
                    f[name][...] = int(sys.argv[3])
                else:
                    f.create_dataset(name, data=np.full(300_000, int(sys.argv[3])))
    """
    assert run(script(write, path, "w", 1), plugins).returncode == 0
    with hs.open(path) as f:
        assert (f["a"][()] == 1).all()
        assert run(script(write, path, "r+", 2), plugins).returncode == 0
        assert (f["a"][()] == 1).all()
        # The old values stay until the last reader closes the container.
        assert (f["b"][()] == 1).all()
        old = {file.name for file in path.iterdir()}
    with hs.open(path) as f:
        assert (f["a"][()] == 2).all() and (f["b"][()] == 2).all()
    assert run(script(write, path, "r+", 3), plugins).returncode == 0
    assert len({file.name for file in path.iterdir()}) < len(old)


def test_a_damaged_container_is_an_error(container: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Each byte of the beginning of each file, and the end, changed."""
    generator = np.random.default_rng(7)
    files = sorted(container.glob("*.arrow")) if container.is_dir() else [container]
    small = [file for file in files if file.stat().st_size < 200_000 or not container.is_dir()][:12]
    for file in small:
        original = file.read_bytes()
        for _ in range(8):
            target = tmp_path / "damaged.h5"
            shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
            shutil.copytree(container, target) if container.is_dir() else shutil.copyfile(container, target)
            place = target / file.name if container.is_dir() else target
            changed = bytearray(original)
            for at in generator.integers(0, len(changed), 20):
                changed[at] ^= 1 << int(generator.integers(8))
            place.write_bytes(changed)
            try:
                with hs.open(target) as f:
                    f.visititems(lambda _, node: node[()] if isinstance(node, hs.Dataset) else list(node.attrs.items()))
            except hs.Error as error:
                assert not isinstance(error, hs.InternalError), error


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "command",
    [
        ["ls", "{}", "/compounds"],
        ["info", "{}"],
        ["head", "{}", "/compounds/particles"],
        ["export", "{}", "/numbers/large", "{out}"],
        ["diff", "{}", "{}"],
    ],
    ids=lambda command: command[0],
)
def test_commands(container: pathlib.Path, tmp_path: pathlib.Path, command: list[str]) -> None:
    words = [word.format(container, out=tmp_path / "out.parquet") for word in command]
    done = subprocess.run([sys.executable, "-m", "hyperslab", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_xarray(container: pathlib.Path, native: pathlib.Path) -> None:
    xarray = pytest.importorskip("xarray")
    with (
        xarray.open_dataset(container, engine="hyperslab", group="scales") as ours,
        xarray.open_dataset(native, engine="hyperslab", group="scales") as theirs,
    ):
        xarray.testing.assert_identical(ours.load(), theirs.load())


@pytest.mark.parametrize("form", FORMS)
def test_netcdf4_files(form: str, plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("netCDF4")
    program = """
        import sys, netCDF4, numpy as np
        with netCDF4.Dataset(sys.argv[1], "w") as f:
            f.createDimension("t", None)
            f.createDimension("x", 5)
            f.Conventions = "CF-1.8"
            f.createVariable("x", "f4", ("x",))[:] = np.arange(5) / 2
            v = f.createVariable("v", "i2", ("t", "x"), fill_value=-9)
            v.units = "m"
            v[0:7] = np.arange(35).reshape(7, 5)
            f.createGroup("g").createVariable("w", "f8", ("t",))[0:7] = np.arange(7)
    """
    assert run(script(program, tmp_path / "native.nc")).returncode == 0
    done = run(script(program, tmp_path / "out.nc"), plugins, FORMS[form])
    assert done.returncode == 0, done.stderr
    with hs.open(tmp_path / "out.nc") as ours, hs.open(tmp_path / "native.nc") as theirs:
        assert (ours.format, theirs.format) == ("netcdf_container", "netcdf4")
        for name in ("v", "g/w", "x"):
            assert ours[name].shape == theirs[name].shape
            assert ours[name].dims == theirs[name].dims
            assert ours.table(name).to_arrow().equals(theirs.table(name).to_arrow())


def test_other_readers_of_arrow(container: pathlib.Path) -> None:
    """Values in the files of a folder, in place."""
    if not container.is_dir():
        pytest.skip("pyarrow reads one file in testing/vol/test_one_file.py")
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    catalog = pa.ipc.open_file(container / "catalog.arrow").read_all()
    files = {path: str(container / file) for path, file in zip(catalog["path"].to_pylist(), catalog["file"].to_pylist(), strict=True) if file}
    before = pa.total_allocated_bytes()
    # A dataset with two names is listed under one of them.
    name = "/hard" if "/hard" in files else "/compounds/particles"
    particles = pa.ipc.open_file(pa.memory_map(files[name])).read_all()
    assert particles["i"].to_pylist() == list(range(50))
    large = pa.ipc.open_file(pa.memory_map(files["/numbers/large"])).read_all()
    assert np.array_equal(large["value"].chunk(0).to_numpy_ndarray(), np.arange(700_000.0).reshape(700, 1000))
    assert pa.total_allocated_bytes() - before < 1_000_000
    assert polars.read_ipc(files["/numbers/flags"])["value"].to_list() == [1, 0, 1]
    frame = polars.read_ipc(files[name])
    assert frame["f"].sum() == pytest.approx(25.0)
    assert duckdb.sql("select sum(i), max(f) from particles").fetchall() == [(1225, 1.0)]
