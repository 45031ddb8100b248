"""netCDF4-python, PyTables and pandas on the connector: what they tell is what they tell of native files."""

from __future__ import annotations

import pathlib

import numpy as np
import pyarrow.ipc as ipc
import pytest
from programs import run, script, tables, tables_of_one_file

ONE_FILE = "arrow form=file"


def same(plugins: pathlib.Path, folder: pathlib.Path, text: str, connectors: tuple[str, ...]) -> list[pathlib.Path]:
    """Runs a program natively and with each connector; the paths of what the latter wrote."""
    (folder / "native").mkdir()
    native = run(script(text, folder / "native" / "out.h5"))
    assert native.returncode == 0, native.stderr
    assert len(native.stdout) > 30
    made = []
    for number, connector in enumerate(connectors):
        (folder / str(number)).mkdir()
        made.append(folder / str(number) / "out.h5")
        done = run(script(text, made[-1]), plugins, connector)
        assert done.returncode == 0, done.stderr
        assert done.stdout == native.stdout
    return made


NETCDF = """
    import sys, netCDF4, numpy as np
    p = sys.argv[1]
    with netCDF4.Dataset(p, "w") as d:
        d.createDimension("time", None); d.createDimension("x", 3)
        v = d.createVariable("v", "f4", ("time", "x"), fill_value=-9, zlib=True)
        v[0:2] = np.arange(6).reshape(2, 3); v.units = "K"
        g = d.createGroup("g/h"); s = g.createVariable("s", str, ("x",)); s[:] = np.array(["a", "", "ccc"], dtype=object)
        g.title = "group"; t = d.createVariable("time", "f8", ("time",)); t[:] = [10, 20]
        kind = d.createCompoundType(np.dtype([("i", "i4"), ("f", "f8")]), "kind")
        c = d.createVariable("c", kind, ("x",)); c[:] = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], dtype=kind.dtype)
        ragged = d.createVLType("i2", "ragged"); r = d.createVariable("r", ragged, ("x",)); r[0] = np.array([1, 2, 3], "i2")
        colours = d.createEnumType("u1", "colours", {"red": 0, "blue": 3}); e = d.createVariable("e", colours, ("x",)); e[:] = [0, 3, 0]
    for mode in ("a", "r+"):
        with netCDF4.Dataset(p, mode) as d:
            n = len(d.dimensions["time"])
            d["v"][n : n + 2] = n; d["time"][n : n + 1] = 30 + n
            d["g/h/s"][1] = mode; d.history = mode
            d.createVariable("new_" + mode.strip("+"), "i2", ("time",))[:] = n
            if mode == "a":
                d["g"].createDimension("y", None); d.renameVariable("r", "q")
    with netCDF4.Dataset(p) as d:
        print(list(d.variables), list(d.groups), d.history, len(d.dimensions["time"]))
        for name in d.variables:
            v = d[name]; print(name, v.dtype, v.dimensions, v.shape, v.ncattrs(), [np.asarray(x).tolist() for x in v[:]])
        print(d["g/h/s"][:].tolist(), d["g/h"].title, d["v"].units, d["v"].filters()["zlib"], d["c"][:]["f"].tolist())
"""


def test_netcdf4_changes_what_it_wrote(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder, one_file = same(plugins, tmp_path, NETCDF, ("arrow", ONE_FILE))
    for found in (tables(folder), tables_of_one_file(one_file)):
        assert found["/v"]["value"].chunk(0).to_numpy_ndarray().tolist()[2:] == [[2.0] * 3] * 2 + [[4.0] * 3] * 2
        assert found["/g/h/s"]["value"].to_pylist() == ["a", "r+", "ccc"]


PYTABLES = """
    import sys, tables as tb, numpy as np
    p = sys.argv[1]
    class Particle(tb.IsDescription):
        name = tb.StringCol(16, pos=0); n = tb.Int64Col(pos=1); x = tb.Float32Col(pos=2); v = tb.Float64Col(shape=(2, 3), pos=3)
        class sub(tb.IsDescription):
            _v_pos = 4
            a = tb.Int16Col(); b = tb.BoolCol()
    with tb.open_file(p, "w", title="T") as f:
        g = f.create_group("/", "g", "a group")
        f.create_array(g, "arr", np.arange(12.0).reshape(3, 4), "an array"); f.create_array(g, "s", [b"a", b"bb"])
        c = f.create_carray(g, "c", tb.Int32Atom(), (100, 50), filters=tb.Filters(complevel=1, complib="zlib")); c[10:20] = 7
        e = f.create_earray(g, "e", tb.Float64Atom(), (0, 3)); e.append(np.ones((5, 3))); e.append(np.zeros((2, 3)))
        v = f.create_vlarray(g, "v", tb.Int32Atom()); v.append([1, 2, 3]); v.append([]); v.append([9])
        f.create_vlarray(g, "u", tb.VLUnicodeAtom()).append("héllo"); f.create_vlarray(g, "o", tb.ObjectAtom()).append({"a": 1})
        t = f.create_table("/", "t", Particle, "a table"); r = t.row
        for i in range(10):
            r["name"] = f"n{i}"; r["n"] = i; r["x"] = i / 2; r["v"] = np.full((2, 3), i); r["sub/a"] = i; r["sub/b"] = i % 2; r.append()
        t.flush(); t.attrs.note = "hi"; f.root._v_attrs.d = {"x": [1, 2]}
        f.create_soft_link("/", "soft", "/t"); f.create_external_link("/", "ext", "other.h5:/x"); f.create_hard_link("/", "hard", "/t")
    with tb.open_file(p) as f:
        print(f.root, f.root.g.arr[:], f.root.g.s[:], f.root.g.c[8:12, :3], f.root.g.e[:], f.root.g.v[:], f.root.g.u[:], f.root.g.o[:])
        t = f.root.t
        print(t[3], [x["n"] for x in t.where("n > 6")], t.read_where("x == 1.5")["name"], t.attrs.note, f.root._v_attrs.d, f.root.soft().nrows, t.cols.v[2], repr(t.description))
    with tb.open_file(p, "a") as f:
        t = f.root.t; t.append(t[:2]); t.modify_column(0, 1, 1, [b"zz"], "name"); t.remove_rows(1, 3); t.cols.n.create_index()
        f.root.g.e.append(np.full((1, 3), 5.0)); f.remove_node("/g/c"); f.rename_node("/g/arr", "arr2"); f.copy_node("/t", newname="copied"); f.move_node("/g/v", "/")
    with tb.open_file(p) as f:
        print(f.root.t[:]["n"], f.root.t[0]["name"], f.root.g.e[-1], sorted(f.root._v_children), [r["n"] for r in f.root.t.where("n == 5")], f.root.t.indexed, f.root.copied.nrows)
        f.copy_file(p + ".copy")
    with tb.open_file(p + ".copy") as f:
        print(f.root.copied[:]["n"])
"""


def test_pytables_works_on_one_file(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (made,) = same(plugins, tmp_path, PYTABLES, (ONE_FILE,))
    assert tables_of_one_file(made)["/g/e"]["value"].chunk(0).to_numpy_ndarray().tolist()[-1] == [5.0] * 3


def test_pytables_says_that_it_wants_a_file(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    program = script("import sys, tables; tables.open_file(sys.argv[1], 'w').close(); tables.open_file(sys.argv[1])", tmp_path / "f")
    done = run(program, plugins, "arrow")
    assert "is not a regular file" in done.stderr
    assert run(program, plugins, ONE_FILE).returncode != 0, "PyTables asks before it calls HDF5, so the form stays that of the folder"
    assert (
        run(
            script("import sys, tables; tables.open_file(sys.argv[1], 'w').close(); tables.open_file(sys.argv[1])", tmp_path / "g"), plugins, ONE_FILE
        ).returncode
        == 0
    )


PANDAS = """
    import sys, warnings, numpy as np, pandas as pd
    warnings.simplefilter("ignore")
    p = sys.argv[1]
    df = pd.DataFrame({"i": range(6), "f": np.linspace(0, 1, 6), "s": list("abcdef"), "t": pd.date_range("2020", periods=6), "b": [True, False] * 3})
    df.to_hdf(p, key="fixed", mode="w"); df.to_hdf(p, key="table", format="table", data_columns=True)
    df.to_hdf(p, key="table", format="table", data_columns=True, append=True); df["f"].to_hdf(p, key="g/series")
    df.assign(c=pd.Categorical(list("xyxyxy"))).to_hdf(p, key="cat", format="table"); df.to_hdf(p, key="packed", complevel=5, complib="blosc")
    with pd.HDFStore(p) as s:
        print(s.keys(), s.select("table", "i > 3 & s == 'e'"), s.get_storer("table").nrows); s.remove("packed"); s.remove("table", "i < 2")
    for key in ("fixed", "table", "g/series", "cat"):
        print(pd.read_hdf(p, key), pd.read_hdf(p, key).dtypes)
    pd.testing.assert_frame_equal(pd.read_hdf(p, "fixed"), df)
"""


def test_pandas_works_on_one_file(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (made,) = same(plugins, tmp_path, PANDAS, (ONE_FILE,))
    assert tables_of_one_file(made)["/table/table"]["i"].to_pylist() == [2, 3, 4, 5] * 2


H5PY = """
    import sys, h5py, numpy as np
    p = sys.argv[1]
    inner = np.dtype([("k", "i2"), ("t", h5py.string_dtype())])
    with h5py.File(p, "a") as f:
        g, d = f.create_group("g/h", track_order=True), f.create_dataset("g/d", data=np.arange(20).reshape(4, 5))
        g.attrs["o"] = f["g"].ref
        r = f.create_dataset("refs", (3,), dtype=h5py.ref_dtype); r[0], r[1] = g.ref, d.ref
        q = f.create_dataset("regions", (2,), dtype=h5py.regionref_dtype); q[0], q[1] = d.regionref[1:3, 2], d.regionref[[0, 2], 1:4]
        for name, kind, fill in (("text", h5py.string_dtype(), b"bar"), ("fixed", h5py.string_dtype(length=10), b"foo")):
            f.create_dataset(name, (2,), dtype=kind, fillvalue=fill, maxshape=(None,), chunks=(2,))
        nested = f.create_dataset("nested", (2,), dtype=np.dtype([("n", inner), ("f", "f8"), ("v", h5py.vlen_dtype("i4"))]))
        nested[1] = ((7, "deep"), 2.5, np.array([1, 2], "i4"))
        for name in "zxay":
            g[name] = ord(name)
    with h5py.File(p, "r+") as f:
        f["text"].resize((4,)); f["text"][1] = "x"; f["text"][3] = "y"; f["fixed"].resize((3,))
    with h5py.File(p) as f:
        r = f["refs"]
        print([f[x].name for x in r[:2]], bool(r[2]), f[f["g/h"].attrs["o"]].name)
        for x in f["regions"][:]:
            print(f[x].name, f["g/d"][x].tolist(), f["g/d"].regionref.shape(x), f["g/d"].regionref.selection(x))
        print(f["text"][:].tolist(), f["text"].fillvalue, f["fixed"][:].tolist(), f["fixed"].fillvalue, list(f["g/h"]))
        print(f["nested"][1]["n"]["t"], f["nested"][1]["n"]["k"], f["nested"][1]["f"], f["nested"][1]["v"].tolist())
    try:
        h5py.File(p + ".no")
    except FileNotFoundError as error:
        print(error.errno)
    try:
        h5py.File(p, "x")
    except FileExistsError as error:
        print(error.errno)
"""


def test_h5py_keeps_references_fill_values_and_nested_text(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder, one_file = same(plugins, tmp_path, H5PY, ("arrow", ONE_FILE))
    for found in (tables(folder), tables_of_one_file(one_file)):
        assert found["/nested"]["n"].to_pylist()[1] == {"k": 7, "t": "deep"}
        assert found["/text"]["value"].to_pylist() == ["bar", "x", "bar", "y"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [("driver='core', backing_store=False", "only in memory"), ("driver='family'", "several files"), ("libver='latest', swmr=True", "SWMR")],
)
def test_what_a_container_cannot_be_is_refused_by_name(plugins: pathlib.Path, tmp_path: pathlib.Path, options: str, reason: str) -> None:
    path = tmp_path / "f"
    run(script("import sys, h5py; h5py.File(sys.argv[1], 'w').close()", path), plugins)
    mode = "r" if "swmr" in options else "w"
    done = run(script(f"import sys, h5py\ntry:\n    h5py.File(sys.argv[1], '{mode}', {options})\nexcept OSError as error:\n    print(error)", path), plugins)
    assert reason in done.stdout, done.stderr


def test_values_in_files_of_a_programs_own_are_refused(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = run(
        script(
            "import sys, h5py\ntry:\n    h5py.File(sys.argv[1], 'w').create_dataset('x', (4,), 'i4', external=[(sys.argv[1] + '.raw', 0, 16)])\nexcept ValueError as error:\n    print(error)",
            tmp_path / "f",
        ),
        plugins,
    )
    assert "H5Pset_external" in done.stdout, done.stderr


def test_filters_are_kept_and_values_stay_plain(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = run(
        script(
            "import sys, h5py, numpy as np\nwith h5py.File(sys.argv[1], 'w') as f: f.create_dataset('x', data=np.zeros((300, 300)), chunks=(10, 10), compression='gzip', shuffle=True)\nwith h5py.File(sys.argv[1]) as f: print(f['x'].chunks, f['x'].compression, f['x'].shuffle)",
            tmp_path / "f",
        ),
        plugins,
    )
    assert done.stdout.strip() == "(10, 10) gzip True", done.stderr
    (values,) = (tmp_path / "f").glob("x-*.arrow")
    assert values.stat().st_size > 300 * 300 * 8
    assert np.array_equal(ipc.open_file(values).read_all()["value"].chunk(0).to_numpy_ndarray(), np.zeros((300, 300)))


def test_hdf5_1_14_finds_the_connector_itself_and_hdf5_2_is_kept_from_it(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """HDF5 asks the connectors in HDF5_PLUGIN_PATH when it cannot open a file; HDF5 2 would then end the program."""
    path = tmp_path / "f"
    assert run(script("import sys, h5py; h5py.File(sys.argv[1], 'w')['x'] = [1, 2]", path), plugins, ONE_FILE).returncode == 0
    unnamed = "import os, sys; os.environ.pop('HDF5_VOL_CONNECTOR')\n"
    read = run(script(unnamed + "import tables; print(tables.open_file(sys.argv[1]).root.x[:].tolist())", path), plugins)
    assert read.stdout.strip() == "[1, 2]", read.stderr
    kept = run(script(unnamed + "import h5py; h5py.File(sys.argv[1])", path), plugins)
    assert kept.returncode == 1
    assert "OSError" in kept.stderr
